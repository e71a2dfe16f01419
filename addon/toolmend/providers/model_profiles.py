"""Profiles of model families: which dialects to look for and how reasoning arrives, by the model's id, or else by its host.

Data: a family is a row, and the first matching row applies: the user's rows before the built-in ones; the vendor (`moonshotai/*`)
before the model (`*kimi*`) before the host. Kimi, Qwen and DeepSeek are first, in this order; but
`deepseek/deepseek-r1-distill-qwen-7b` is DeepSeek's, by its vendor.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from ..core.fastclass import replace, value
from .hosts import fits, split_port

MAX_MODEL = 500
"""Characters of a model id that are matched: the longest are file paths."""


_BARE = ("json_array", "json_object", "fence")
"""JSON without any token; models that write it also put it in a fence."""


_HERMES = ("hermes", "hermes_openerless")
"""An envelope between tags, or with only the last tag. Not searched where bare JSON already is a call."""

_CODER = ("qwen3_coder", "qwen3_named", "qwen3_cut")
"""The elements of Qwen3-Coder, also with attributes, or without their first character."""


@value
class Profile:
    """What is known about a family of models.

    Attributes:
        models: Globs for the lower-cased id; one with a slash matches `vendor/model`, one without a part between slashes.
        hosts: Globs, with or without a port.
        dialects: What the family writes; ambiguous dialects are only searched for with their profile.
        reasoning_field: Where a delta has reasoning; empty: as the host does.
        think_tags: `<think>` in the text is reasoning.
        think_unopened: The text may begin inside reasoning; None: derived from the model's template and the host.
        think_always: If it may, it does.
        tools: "prompt" if the model has no native tools and they are described in its prompt.
        system_role: Whether it accepts a system message; otherwise that goes into the first user message.
        takes: The user's facts of requests/request_limits.py; they apply if both model and host match.
        only_takes: The user's table has nothing else and is not a profile.
        first_party: Its maker serves it, so it is certain what it writes; set by `find`.
    """

    name: str
    models: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    reasoning_field: Literal["", "reasoning_content", "reasoning"] = ""
    think_tags: bool = False
    think_unopened: bool | None = None
    think_always: bool = False
    tools: Literal["native", "prompt"] = "native"
    system_role: bool = True
    takes: tuple[tuple[str, Any], ...] = ()
    only_takes: bool = False
    first_party: bool = False


PROFILES = (
    # K2-Horizon and K2-Think are not Kimi's, despite the name
    Profile(
        "k2-horizon",
        ("llm360/*", "k2-horizon*", "k2-think", "k2-think[!i]*", "k2-v2*"),
        dialects=("k2_horizon", *_HERMES),
        think_tags=True,
    ),
    Profile(
        "kimi",
        ("moonshot/*", "moonshotai/*", "*kimi*", "*moonshot*", "k2*", "*[-_.]k2*"),
        ("api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"),
        ("kimi_k2", "kimi_k3", "anthropic"),
        think_tags=True,
    ),
    Profile(  # its template asks for tags, it writes bare JSON (ollama#12174, omlx#2565) or a fence (kronk#950)
        "qwen2.5-coder",
        ("qwen/qwen*2.5-coder*", "*qwen2[.p]5-coder*", "*qwen-2.5-coder*", "qwen-coder*"),
        dialects=("hermes", *_CODER, "json_tools", *_BARE),
    ),
    Profile(
        "qwen",
        ("qwen/*", "*qwen*", "*qwq*", "*qvq*"),
        ("dashscope*.aliyuncs.com", "*.dashscope.aliyuncs.com", "portal.qwen.ai"),
        (*_HERMES, *_CODER, "json_tools"),
        think_tags=True,
    ),
    Profile(
        "deepseek",
        ("deepseek/*", "deepseek-ai/*", "*deepseek*", "r1-1776*", "*mai-ds-r1*"),
        ("api.deepseek.com",),
        ("deepseek_v3", "dsml", "anthropic", "xml_misspelt"),
        think_tags=True,
    ),
    # before Llama and Mistral: fine-tunes keep those names
    Profile(
        "hermes",  # and others with the same envelope
        ("nousresearch/*", "*hermes*", "nous-*", "*nanbeige*", "*exaone*", "*smollm3*"),
        dialects=(*_HERMES, *_CODER),
        think_tags=True,
    ),
    Profile(
        "step",
        ("stepfun/*", "stepfun-ai/*", "step-*", "step[0-9]*"),
        ("api.stepfun.com",),
        ("step3", *_HERMES, *_CODER),
        think_tags=True,
    ),
    Profile(
        "mimo",
        ("xiaomi/*", "xiaomimimo/*", "mimo*"),
        ("api.xiaomimimo.com",),
        (*_HERMES, *_CODER),
        think_tags=True,
    ),
    Profile("nemotron", ("*nemotron*",), dialects=("nemotron", "hermes", *_CODER, *_BARE), think_tags=True),
    Profile("gpt-oss", ("*gpt-oss*", "*gpt_oss*", "*gptoss*"), dialects=("harmony", "harmony_stripped")),
    Profile(
        "glm",  # Ling 3, Spark 2.5 and Poolside write the same; gpt-5.3-codex-spark does not
        ("z-ai/*", "zai/*", "zai-org/*", "thudm/*", "poolside/*", "*glm*", "zai-*", "ling3*", "ling-3*", "spark*"),
        ("api.z.ai", "open.bigmodel.cn"),
        ("glm", *_HERMES),
        think_tags=True,
    ),
    Profile(
        "minimax",
        ("minimax/*", "minimaxai/*", "*minimax*"),
        ("api.minimax.io", "api.minimaxi.com"),
        ("minimax_m2", "minimax_m3", "minimax_invoke", "anthropic"),
        think_tags=True,
    ),
    Profile(
        "seed",
        ("bytedance-seed/*", "*seed-oss*", "*doubao*", "seed-[0-9]*"),
        ("ark.*.volces.com", "ark.*.bytepluses.com"),
        ("seed_oss", *_CODER),
        think_tags=True,
    ),
    Profile("granite", ("ibm-granite/*", "*granite*"), dialects=("granite", *_HERMES), think_tags=True),
    Profile("xlam", ("*xlam*",), dialects=("hermes", *_BARE), think_tags=True),
    Profile(
        "mistral",
        (
            *("mistralai/*", "*mistral*", "*ministral*", "*devstral*", "*magistral*", "*codestral*", "*mixtral*"),
            *("*pixtral*", "*voxtral*"),
        ),
        ("api.mistral.ai", "codestral.mistral.ai"),
        ("mistral", *_BARE),
        think_tags=True,
    ),
    Profile(  # third-party templates make Gemma 3 write Hermes envelopes (ollama#18357)
        "gemma",
        ("*gemma*",),
        dialects=("gemma4", "functiongemma", "gemini", "gemma_stripped", "gemma_headless", "tool_code", *_HERMES),
        think_tags=True,
    ),
    Profile(  # its API names the model in the path
        "gemini",
        ("*gemini*",),
        ("generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "*aiplatform.googleapis.com"),
        dialects=("gemini", "tool_code", "call_record"),
    ),
    Profile("phi", ("microsoft/phi*", "phi[-0-9]*"), dialects=("phi", *_BARE), think_tags=True),
    Profile("internlm", ("internlm/*", "*internlm*", "*intern-s1*"), dialects=("internlm",), think_tags=True),
    Profile("jamba", ("ai21/*", "ai21labs/*", "*jamba*"), dialects=("jamba", *_HERMES), think_tags=True),
    Profile("hunyuan", ("tencent/*", "*hunyuan*", "hy3*"), dialects=("hunyuan",), think_tags=True),
    Profile(
        "cohere",
        ("cohere/*", "coherelabs/*", "*command-[ar]*"),
        ("api.cohere.com",),
        dialects=("cohere", "cohere_action", *_BARE),
        think_tags=True,
    ),
    Profile("grok", ("x-ai/*", "xai/*", "*grok*"), ("api.x.ai",), dialects=("grok",)),
    Profile(  # its own markup, with the tokens stripped, in the text of the Responses API (codex#13114)
        "gpt", ("openai/gpt-[0-9]*", "gpt-[0-9]*", "*codex*"), ("api.openai.com", "chatgpt.com"), dialects=("harmony_recipient",)
    ),
    Profile("apertus", ("swiss-ai/*", "*apertus*"), dialects=("apertus",), think_tags=True),
    Profile("olmo", ("allenai/*", "*olmo*"), dialects=("olmo3",), think_tags=True),
    # its tokens are special tokens: a detokenizer that skips those leaves a bare list
    Profile("lfm2", ("liquid/*", "liquidai/*", "*lfm2*"), dialects=("lfm2", "python_list"), think_tags=True),
    Profile("ernie", ("baidu/*", "ernie*"), dialects=(*_HERMES,), think_tags=True),
    Profile("minicpm", ("openbmb/*", "*minicpm*"), dialects=("minicpm", *_HERMES), think_tags=True),
    Profile("gigachat", ("ai-sage/*", "*gigachat*"), dialects=("gigachat",)),
    Profile("dots", ("rednote-hilab/*", "dots[.0-9]*"), dialects=("dots",)),
    Profile("longcat", ("meituan/*", "meituan-longcat/*", "*longcat*"), dialects=("longcat",), think_tags=True),
    Profile("plamo", ("pfnet/*", "*plamo*"), dialects=("plamo3",), think_tags=True),
    Profile(  # last, because many other names contain it; `ollama` does not match
        "llama",
        ("meta-llama/*", "llama*", "*[!o]llama*", "*toolace*"),
        dialects=("llama", *_BARE, "python_list", "qwen3_coder", "hermes"),
    ),
    Profile(  # by vendor or host only: others name their models like Claude for the sake of Claude Code
        "claude", ("anthropic/*", "*anthropic.claude*"), ("api.anthropic.com",), dialects=("claude",)
    ),
    Profile("standard"),  # all others
)
STANDARD = PROFILES[-1].name
BUILT_IN = {row.name: row for row in PROFILES}

MAKERS: Mapping[str, tuple[str, ...]] = {
    **{row.name: row.hosts for row in PROFILES if row.hosts},
    "gpt": ("api.openai.com", "chatgpt.com", "*.openai.azure.com", "*.cognitiveservices.azure.com", "*.services.ai.azure.com"),
    "claude": ("api.anthropic.com", "bedrock-runtime.*.amazonaws.com"),  # and Vertex, which is in the row of Gemini
}
"""Hosts that serve a family as its maker does and parse its calls: what leaks there is in its row. Another host may serve any
model under any name.
"""

ESCAPING = frozenset({"grok"})
"""Profiles of models that HTML-escape their arguments."""

REASONING_HOSTS = (
    *("openrouter.ai", "api.groq.com", "api.cerebras.ai", "api.together.xyz", "api.together.ai"),
    *("ollama.com", "*:11434"),  # Ollama; other local servers use reasoning_content, or either by version
)
"""Hosts whose deltas have reasoning in `reasoning`; others use `reasoning_content`, as DeepSeek introduced it."""

_SPECIAL = re.compile(r"[*?]|\[.[^\]]*\]")
"""The parts of a glob that are not literal text."""

PARSING_HOSTS = (
    *("api.deepseek.com", "api.moonshot.ai", "api.moonshot.cn", "api.kimi.com", "api.z.ai", "open.bigmodel.cn"),
    *("dashscope*.aliyuncs.com", "*.dashscope.aliyuncs.com", "portal.qwen.ai", "api.stepfun.com", "api.xiaomimimo.com"),
    *("api.minimax.io", "api.minimaxi.com", "ark.*.volces.com", "ark.*.bytepluses.com"),
    *("openrouter.ai", "api.groq.com", "ollama.com"),
)
"""Hosts known to parse the reasoning of their models: no text begins inside a thought.

MiniMax leaves it in the text, between both tags.
"""

_THINKS = re.compile(
    r"deepseek.?r1|r1-1776|mai-ds-r1|-r1-.*qwen|qwq|minimax.?m[12]|glm-?z1|exaone-?deep"
    r"|^(?=.*(qwen|kimi|k2|ernie|longcat)).*(?<!no)(?<!no-)(?<!non)(?<!non-)thinking"
)
"""Models that always think and whose template opens the tag in the prompt, so that only `</think>` is in the text."""

_MAY_THINK = re.compile(
    r"glm-?(4[.p]?[5-9]|4-[5-9]|[5-9])(?![0-9]*b)|nemotron(?!.*(instruct|mini))|seed-oss|step-?3|qwen-?3[.p][5-9]"
    r"|k2-(horizon|think|v2)|intern-?s1|olmo-?3.*think|jamba.*reasoning|kimi-?k3"
)
"""Models that think unless disabled. XX Kimi K2.5 and DeepSeek V4 are not listed although their templates open the tag:
nearly all hosts parse it, so the first response of another host shows the thought as content.
"""


class FoundProfile(NamedTuple):
    """The applicable profile with all fields resolved, and the glob that decided: of a model, a host, or none."""

    profile: Profile
    part: Literal["model", "host", ""]
    glob: str


def profile_for(model: Any, host: str, providers: Sequence[Profile] = ()) -> Profile:
    """Returns the profile of a model at a host. `model`: from the request; `providers`: the user's own profiles."""
    return find(model, host, providers).profile


def find(model: Any, host: str, providers: Sequence[Profile] = ()) -> FoundProfile:
    """Returns the profile as `profile_for` does, with the reason."""
    return _find(model[:MAX_MODEL].lower().rstrip("/") if isinstance(model, str) else "", host, tuple(providers))


@lru_cache(256)
def _find(name: str, host: str, providers: tuple[Profile, ...]) -> FoundProfile:
    own, built_in = table(providers)
    found = _first(own, name, host) or _first(built_in, name, host) or FoundProfile(built_in[-1], "", "")
    profile = found.profile
    opened, always = profile.think_unopened, bool(_THINKS.search(name))
    if opened is None:
        opened = (always or bool(_MAY_THINK.search(name))) and not _fitting(host, PARSING_HOSTS)
    elif opened:
        always = True
    opened = opened and profile.think_tags
    return found._replace(
        profile=replace(
            profile,
            reasoning_field=profile.reasoning_field
            or ("reasoning" if _fitting(host, REASONING_HOSTS) else "reasoning_content"),
            think_unopened=opened,
            think_always=opened and always,
            first_party=bool(_fitting(host, MAKERS.get(profile.name, ()))),
        )
    )


def table(providers: Sequence[Profile]) -> tuple[list[Profile], list[Profile]]:
    """Returns the user's own rows, and the built-in rows, replaced where the user overrides one by name."""
    given = {row.name: row for row in providers if not row.only_takes}
    built_in = [given.pop(row.name, row) for row in PROFILES]
    return list(given.values()), built_in


def taken(model: Any, host: str, providers: Sequence[Profile]) -> dict[str, tuple[Any, str]]:
    """Returns the facts of the user's tables for a model at a host, each with its table's name; a later table overrides."""
    name = model[:MAX_MODEL].lower().rstrip("/") if isinstance(model, str) else ""
    found: dict[str, tuple[Any, str]] = {}
    for row in providers if any(row.takes for row in providers) else ():
        fits_model = not row.models or any(
            ("/" in glob) == slash and fnmatchcase(text, glob) for text, slash in _readings(name) for glob in row.models
        )
        if row.takes and fits_model and (not row.hosts or _fitting(host, row.hosts)):
            found |= {fact: (given, row.name) for fact, given in row.takes}
    return found


def _first(rows: Sequence[Profile], name: str, host: str) -> FoundProfile | None:
    globs = [(row, glob) for row in rows for glob in row.models]
    for text, slash in _readings(name):
        for row, glob in globs:
            if ("/" in glob) == slash and all(word in text for word in _words(glob)) and fnmatchcase(text, glob):
                return FoundProfile(row, "model", glob)
    for row in rows:
        if glob := _fitting(host, row.hosts):
            return FoundProfile(row, "host", glob)
    return None


@cache
def _words(glob: str) -> list[str]:
    """Returns the literal words of a glob. Checking these first avoids compiling a hundred patterns."""
    return [word for word in _SPECIAL.split(glob) if word]


def _readings(name: str) -> Iterator[tuple[str, bool]]:
    """What the globs are held against, in order, and whether it is for those with a slash.

    `hf:moonshotai/kimi-k2` and `openrouter/moonshotai/kimi-k2` have the vendor before the last slash; in
    `/models/qwen3-8b/snapshots/0f1e` the name is further to the front.
    """
    *path, last = name.split("/")
    yield name, True
    if path:
        yield f"{path[-1].rpartition(':')[2]}/{last}", True
    for part in (last, *reversed(path)):
        yield part, False


def _fitting(host: str, globs: Sequence[str]) -> str:
    name, port = split_port(host)
    return next((glob for glob in globs if fits(name, port, glob)), "")
