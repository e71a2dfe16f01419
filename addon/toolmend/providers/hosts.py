"""Which requests go to an LLM API, and which API: decided by method, host and path.

Data: a provider is a row with its hosts and the paths of its APIs. What happens to a matching request is decided elsewhere.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

from ..core.fastclass import value

type Api = Literal["chat", "responses", "messages", "gemini", "ollama", "cohere", "dashscope", "bedrock"]
type Path = tuple[Api, str]
"""An API, and a glob for the end of the path at which it is served."""

CHAT: Path = ("chat", "/chat/completions")
RESPONSES: Path = ("responses", "/responses")
MESSAGES: Path = ("messages", "/messages")  # does not match /messages/count_tokens, which does not stream
GEMINI: tuple[Path, ...] = (("gemini", ":streamGenerateContent"), ("gemini", ":generateContent"))
OLLAMA: tuple[Path, ...] = (("ollama", "/api/chat"), ("ollama", "/api/generate"))
BEDROCK: tuple[Path, ...] = (("bedrock", "/invoke-with-response-stream"), ("bedrock", "/converse-stream"))

ALL = (CHAT, RESPONSES, MESSAGES)
ANTHROPIC: Path = ("messages", "/anthropic/v1/messages")
# a local machine also runs other servers, so the whole path of the API is required
LOCAL: tuple[Path, ...] = tuple((api, f"/v1{end}") for api, end in ALL)

ANYWHERE = (*ALL, *GEMINI, *OLLAMA, *BEDROCK)
"""The APIs that a host configured by the user may serve."""


def _local(port: int) -> tuple[str, ...]:
    return (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}")


@value
class Provider:
    """A provider: hosts and the paths of its APIs.

    Attributes:
        name: The folder of its recordings.
        hosts: Globs. One without a port matches every port; a `*` matches no dot.
        paths: Where its APIs are served.
        others: Hosts that match a glob but serve no API: accounts, telemetry, files.
    """

    name: str
    hosts: tuple[str, ...]
    paths: tuple[Path, ...] = ALL
    others: tuple[str, ...] = ()


PROVIDERS = (
    Provider("openai", ("api.openai.com",), (CHAT, RESPONSES)),  # /v1/threads/*/messages is not Messages
    Provider(
        "chatgpt",
        ("chatgpt.com", "*.chatgpt.com"),
        (("responses", "/backend-api/codex/responses"),),
        others=tuple(
            f"{name}.chatgpt.com"
            for name in ("ab", "ab2", "auth", "cdn", "connectors", "desktop", "events", "files", "sentinel", "status", "ws")
        ),
    ),
    Provider(
        "azure",
        ("*.openai.azure.com", "*.cognitiveservices.azure.com", "*.services.ai.azure.com"),
        (CHAT, RESPONSES, ANTHROPIC),
    ),
    Provider("anthropic", ("api.anthropic.com",), (("messages", "/v1/messages"),)),
    Provider("openrouter", ("openrouter.ai",)),
    Provider("moonshot", ("api.moonshot.ai", "api.moonshot.cn")),
    Provider("kimi", ("api.kimi.com",)),
    Provider(
        "dashscope",
        (
            "dashscope.aliyuncs.com",
            "dashscope-intl.aliyuncs.com",
            "dashscope-us.aliyuncs.com",  # unverified
            "coding.dashscope.aliyuncs.com",
            "coding-intl.dashscope.aliyuncs.com",
        ),
        (*ALL, ("dashscope", "/api/v1/services/aigc/*")),
    ),
    Provider("deepseek", ("api.deepseek.com",)),
    Provider("zai", ("api.z.ai", "open.bigmodel.cn")),
    Provider("minimax", ("api.minimax.io", "api.minimaxi.com")),
    Provider("huggingface", ("router.huggingface.co",)),
    Provider(
        "copilot",
        (
            "api.githubcopilot.com",
            "api.individual.githubcopilot.com",
            "api.business.githubcopilot.com",
            "api.enterprise.githubcopilot.com",
        ),
    ),
    Provider("github", ("models.github.ai",)),
    Provider("google", ("generativelanguage.googleapis.com",), (CHAT, *GEMINI)),
    Provider(
        "vertex",
        ("aiplatform.googleapis.com", "*-aiplatform.googleapis.com"),
        (
            CHAT,
            *GEMINI,
            ("messages", "/publishers/anthropic/models/*:streamRawPredict"),
            ("messages", "/publishers/anthropic/models/*:rawPredict"),
        ),
    ),
    Provider("code-assist", ("cloudcode-pa.googleapis.com",), GEMINI),
    Provider(
        "bedrock",
        ("bedrock-runtime.[a-z][a-z]-*-[0-9].amazonaws.com",),  # a region: bedrock-runtime.s3.amazonaws.com is a bucket
        BEDROCK,
    ),
    Provider("ollama", (*_local(11434), "ollama.com"), (*LOCAL, *OLLAMA)),
    Provider("lmstudio", _local(1234), LOCAL),
    Provider("vllm", _local(8000), LOCAL),
    Provider("llamacpp", _local(8080), LOCAL),
    Provider("litellm", _local(4000), LOCAL),
    # OpenAI-compatible; some of them serve responses and messages as well
    Provider("baseten", ("inference.baseten.co",)),
    Provider("cerebras", ("api.cerebras.ai",)),  # unverified
    Provider("charm", ("hyper.charm.land",)),
    Provider("chutes", ("llm.chutes.ai",)),
    Provider("cohere", ("api.cohere.com",), (CHAT, ("cohere", "/v2/chat"))),
    Provider("deepinfra", ("api.deepinfra.com",)),
    Provider("fireworks", ("api.fireworks.ai",)),
    Provider("groq", ("api.groq.com",)),
    Provider("iflow", ("apis.iflow.cn",)),
    Provider("kilo", ("api.kilo.ai",)),
    Provider("mistral", ("api.mistral.ai", "codestral.mistral.ai")),
    Provider("modelscope", ("api-inference.modelscope.cn",)),
    Provider("nebius", ("api.tokenfactory.nebius.com", "api.studio.nebius.ai")),
    Provider("novita", ("api.novita.ai",)),
    Provider("nvidia", ("integrate.api.nvidia.com",)),
    Provider("opencode", ("opencode.ai",)),
    Provider("perplexity", ("api.perplexity.ai",)),
    Provider("poe", ("api.poe.com",)),
    Provider("qwen", ("portal.qwen.ai",)),  # unverified
    Provider("requesty", ("router.requesty.ai",)),
    Provider("sambanova", ("api.sambanova.ai",)),
    Provider("siliconflow", ("api.siliconflow.com", "api.siliconflow.cn")),
    Provider("stepfun", ("api.stepfun.com",)),
    Provider("synthetic", ("api.synthetic.new",)),
    Provider("together", ("api.together.xyz", "api.together.ai")),  # .ai unverified
    Provider("venice", ("api.venice.ai",)),  # unverified
    Provider("vercel", ("ai-gateway.vercel.sh",)),
    Provider("xai", ("api.x.ai", "cli-chat-proxy.grok.com")),
    Provider("xiaomi", ("api.xiaomimimo.com",)),
)

_GLOBS = tuple((glob, row) for row in PROVIDERS for glob in row.hosts if "*" in glob)
_EXACT = {host: row for row in PROVIDERS for host in row.hosts if "*" not in host}

MAX_PATH = 1000
"""Characters at the end of a path that are matched."""

OWN_NAMES = frozenset(("example", "internal", "invalid", "local", "localhost", "test"))
"""Top-level names that are not on the public internet: RFC 6761, RFC 6762, and ICANN on `internal` (Docker's)."""

_ALL = (*ANYWHERE, *(path for row in PROVIDERS for path in row.paths))
"""The paths of all APIs, for any host."""

_SECOND_LEVEL = frozenset({"ac", "co", "com", "edu", "gov", "net", "org"})
"""Labels before a country code that are not an owner's name, as in `example.co.uk`."""


def match(method: str, host: str, path: str, extra_globs: Sequence[str] = ()) -> Api | None:
    """Returns the API of a request, or None if it is not for an LLM API.

    Args:
        method: Only POST matches.
        host: May include a port.
        path: May include a query.
        extra_globs: The user's hosts, `llm.example.com`, `*.corp.example:8443` …; they may serve any API at its path.
    """
    if method.upper() != "POST":
        return None
    served = _paths(host, tuple(extra_globs))
    return _api_at(served, path.partition("?")[0].rstrip("/")[-MAX_PATH:]) if served else None


@lru_cache(256)
def _api_at(served: tuple[Path, ...], path: str) -> Api | None:
    """Returns the API served at a path; cached, as clients call one or two paths."""
    return next((api for api, end in served if fnmatchcase(path, f"*{end}")), None)


@lru_cache(1024)
def _paths(host: str, extra_globs: tuple[str, ...]) -> tuple[Path, ...]:
    """Returns the paths of a host's APIs; empty if it is not an LLM host."""
    name, port = split_port(host)
    if row := _row(name, port):
        return row.paths
    return ANYWHERE if any(fits(name, port, glob) for glob in extra_globs) else ()


def paths(host: str) -> tuple[Path, ...]:
    """Returns the APIs of a built-in host with the ends of their paths; empty if it is unknown."""
    return _paths(host, ())


def api_at(path: str) -> Api | None:
    """Returns the API served at a path, regardless of the host."""
    return _api_at(_ALL, path.partition("?")[0].rstrip("/")[-MAX_PATH:])


def known(host: str, extra_globs: Sequence[str] = ()) -> bool:
    """Whether a host is an LLM API's, regardless of the path."""
    name, port = split_port(host)
    return _row(name, port) is not None or any(fits(name, port, glob) for glob in extra_globs)


def provider(host: str) -> str:
    """Returns a short name for a host's recordings, of lower-case letters, digits, dashes: `openrouter`."""
    name, port = split_port(host)
    if row := _row(name, port):
        return row.name
    labels = [label for label in name.split(".") if label]
    if len(labels) > 1 and not (labels[-1].isdigit() or ":" in name):  # an IP address stays whole
        del labels[-1]
        if len(labels) > 1 and labels[-1] in _SECOND_LEVEL:
            del labels[-1]
        del labels[:-1]
    return re.sub(r"[^a-z0-9]+", "-", "-".join(labels)).strip("-")[:40] or "unknown"


def is_public_name(host: str) -> bool:
    """Whether a host name is on the public internet: its owner could point it at this machine, for a web page (DNS rebinding)."""
    name, _ = split_port(host)
    labels = name.split(".")
    return len(labels) > 1 and not (labels[-1] in OWN_NAMES or labels[-1].isdecimal() or ":" in name)


def has_one_owner(glob: str) -> bool:
    """Whether all names that match a glob have one owner: `*.corp.example`, `example.com`; but not `*`, `api.*`, `*.co.uk`."""
    labels = glob.split(".")
    owned = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    return not any(mark in label for label in labels[-owned:] for mark in "*?[")


@lru_cache(1024)
def split_port(host: str) -> tuple[str, str]:
    """Splits a host: `LLM.example.com.:8443` → ("llm.example.com", "8443"), `[::1]` → ("::1", "")."""
    host = host.strip().lower()
    if host.startswith("["):
        name, _, rest = host[1:].partition("]")
        return name, rest.removeprefix(":")
    if host.count(":") > 1:  # a bare IPv6 address
        return host, ""
    name, _, port = host.partition(":")
    return name.rstrip("."), port


def _row(name: str, port: str) -> Provider | None:
    full = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
    if row := _EXACT.get(name) or _EXACT.get(full):
        return row
    return next((row for glob, row in _GLOBS if _fits_each(name.split("."), glob.split(".")) and name not in row.others), None)


def fits(name: str, port: str, glob: str) -> bool:
    """Whether a glob matches a host, given as `split_port` returns it."""
    wanted, wanted_port = split_port(glob)
    return wanted_port in ("", port) and fits_name(name, wanted)


def fits_name(name: str, glob: str) -> bool:
    """Whether a user's glob without a port matches a host.

    A `*` at the beginning (`*.corp.example`) or at the end (`192.168.*`) matches any labels; elsewhere it matches no dot: in
    `llm.*.amazonaws.com`, `*` could be `bucket.s3`, which has another owner.
    """
    names, globs = name.split("."), glob.split(".")
    more = len(names) - len(globs)
    if more > 0 and globs[0].startswith("*"):
        names = [".".join(names[: more + 1]), *names[more + 1 :]]
    elif more > 0 and globs[-1].endswith("*"):
        names = [*names[: -more - 1], ".".join(names[-more - 1 :])]
    return _fits_each(names, globs)


def _fits_each(labels: Sequence[str], globs: Sequence[str]) -> bool:
    return len(labels) == len(globs) and all(map(fnmatchcase, labels, globs))
