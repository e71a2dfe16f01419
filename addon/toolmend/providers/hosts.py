"""Which requests go to an LLM, and which wire API they speak: told by method, host and path.

Rule of this file: it is a table. A provider is a row; a row says where it lives and which paths it answers; nothing
here knows what is done with a request that matched.
"""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

from ..core.fastclass import value

type Api = Literal["chat", "responses", "messages", "gemini", "ollama", "cohere", "dashscope", "bedrock"]
type Path = tuple[Api, str]
"""An API and a glob for the end of the path at which it is spoken."""

CHAT: Path = ("chat", "/chat/completions")
RESPONSES: Path = ("responses", "/responses")
MESSAGES: Path = ("messages", "/messages")  # /messages/count_tokens does not end so, and streams nothing
GEMINI: tuple[Path, ...] = (("gemini", ":streamGenerateContent"), ("gemini", ":generateContent"))
OLLAMA: tuple[Path, ...] = (("ollama", "/api/chat"), ("ollama", "/api/generate"))
BEDROCK: tuple[Path, ...] = (("bedrock", "/invoke-with-response-stream"), ("bedrock", "/converse-stream"))

ALL = (CHAT, RESPONSES, MESSAGES)
ANTHROPIC: Path = ("messages", "/anthropic/v1/messages")
# a machine of one's own also runs other things: the whole path of the API is asked for
LOCAL: tuple[Path, ...] = tuple((api, f"/v1{end}") for api, end in ALL)

ANYWHERE = (*ALL, *GEMINI, *OLLAMA, *BEDROCK)
"""What a host that the user named may speak."""


def _local(port: int) -> tuple[str, ...]:
    return (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}")


@value
class Provider:
    """`name` is what recordings are filed under; a host glob without a port stands for every port, and a `*` in it for no dot.

    `others`: hosts that fit a glob of the row, and speak no API: accounts, telemetry, files.
    """

    name: str
    hosts: tuple[str, ...]
    paths: tuple[Path, ...] = ALL
    others: tuple[str, ...] = ()


PROVIDERS = (
    Provider("openai", ("api.openai.com",), (CHAT, RESPONSES)),  # /v1/threads/*/messages is another thing
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
        ("bedrock-runtime.[a-z][a-z]-*-[0-9].amazonaws.com",),  # `s3` is no region: bedrock-runtime.s3.amazonaws.com is a bucket
        BEDROCK,
    ),
    Provider("ollama", (*_local(11434), "ollama.com"), (*LOCAL, *OLLAMA)),
    Provider("lmstudio", _local(1234), LOCAL),
    Provider("vllm", _local(8000), LOCAL),
    Provider("llamacpp", _local(8080), LOCAL),
    Provider("litellm", _local(4000), LOCAL),
    # OpenAI-compatible; some of them speak responses and messages as well
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
"""Characters at the end of a path by which it is told."""

OWN_NAMES = frozenset(("example", "internal", "invalid", "local", "localhost", "test"))
"""What names of one's own end in, and none of the internet's: RFC 6761, RFC 6762, and ICANN of `internal` (Docker's)."""

_ALL = (*ANYWHERE, *(path for row in PROVIDERS for path in row.paths))
"""What any host answers at."""

_SECOND_LEVEL = frozenset({"ac", "co", "com", "edu", "gov", "net", "org"})
"""Labels that are no name of anybody when a country follows, as in `example.co.uk`."""


def match(method: str, host: str, path: str, extra_globs: Sequence[str] = ()) -> Api | None:
    """The API that a request speaks, or None: it is none of ours.

    `host` may carry a port; `path` may carry a query. An extra glob is `llm.example.com`, `*.corp.example:8443` and so
    on; a host that one of them names may speak any API at any path that ends as the API's does.
    """
    if method.upper() != "POST":
        return None
    there = _paths(host, tuple(extra_globs))
    return _spoken(there, path.partition("?")[0].rstrip("/")[-MAX_PATH:]) if there else None


@lru_cache(256)
def _spoken(there: tuple[Path, ...], path: str) -> Api | None:
    """What an LLM's host speaks at a path: clients call one of two."""
    return next((api for api, end in there if fnmatchcase(path, f"*{end}")), None)


@lru_cache(1024)
def _paths(host: str, extra_globs: tuple[str, ...]) -> tuple[Path, ...]:
    """What a host answers at; nothing, if it is none of ours."""
    name, port = split_port(host)
    if row := _row(name, port):
        return row.paths
    return ANYWHERE if any(fits(name, port, glob) for glob in extra_globs) else ()


def paths(host: str) -> tuple[Path, ...]:
    """The APIs of a host, with the ends of their paths; nothing, if it is not known."""
    return _paths(host, ())


def spoken(path: str) -> Api | None:
    """The API that is spoken at a path, whatever the host."""
    return _spoken(_ALL, path.partition("?")[0].rstrip("/")[-MAX_PATH:])


def known(host: str, extra_globs: Sequence[str] = ()) -> bool:
    """Whether a host is an LLM's, whatever it is asked."""
    name, port = split_port(host)
    return _row(name, port) is not None or any(fits(name, port, glob) for glob in extra_globs)


def provider(host: str) -> str:
    """A short name for the folder of a host's recordings, of lower-case letters, digits, dashes: `openrouter`."""
    name, port = split_port(host)
    if row := _row(name, port):
        return row.name
    labels = [label for label in name.split(".") if label]
    if len(labels) > 1 and not (labels[-1].isdigit() or ":" in name):  # an address has no name in it: it stays whole
        del labels[-1]
        if len(labels) > 1 and labels[-1] in _SECOND_LEVEL:
            del labels[-1]
        del labels[:-1]
    return re.sub(r"[^a-z0-9]+", "-", "-".join(labels)).strip("-")[:40] or "unknown"


def anybodys(host: str) -> bool:
    """Whether it is a name that anybody can have: a page could have it lead here, and read what answers (DNS rebinding)."""
    name, _ = split_port(host)
    labels = name.split(".")
    return len(labels) > 1 and not (labels[-1] in OWN_NAMES or labels[-1].isdecimal() or ":" in name)


def names_an_owner(glob: str) -> bool:
    """Whether all names that fit a glob belong to one owner: `*.corp.example`, `example.com`; but not `*`, `api.*`, `*.co.uk`."""
    labels = glob.split(".")
    owned = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    return not any(mark in label for label in labels[-owned:] for mark in "*?[")


@lru_cache(1024)
def split_port(host: str) -> tuple[str, str]:
    """`LLM.example.com.:8443` is ("llm.example.com", "8443"), `[::1]` is ("::1", "")."""
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
    """Whether a glob means a host, whose parts are as `split_port` gives them."""
    wanted, wanted_port = split_port(glob)
    return wanted_port in ("", port) and fits_name(name, wanted)


def fits_name(name: str, glob: str) -> bool:
    """Whether a glob of the user's, without a port, means a host.

    A `*` at the beginning (`*.corp.example`), or at the end (`192.168.*`), stands for any labels; elsewhere it stands for no dot:
    in `llm.*.amazonaws.com`, `*` could be `bucket.s3`, whose owner is another.
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
