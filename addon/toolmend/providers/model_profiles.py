"""Which dialects to look for, and what else is peculiar to a model: told by its id, or else by the host that serves it.

Rule of this file: it is a table. A family of models is a row, and the first row that fits applies: the user's before
the built-in ones; by the vendor (`moonshotai/*`) before by the model (`*kimi*`) before by the host. Kimi > Qwen >
DeepSeek stand first; but `deepseek/deepseek-r1-distill-qwen-7b` is DeepSeek's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from ..core.fastclass import replace, value
from .hosts import fits, split_port

MAX_MODEL = 500
"""Characters of a model id that are looked at: the longest are paths of files."""


_BARE = ("json_array", "json_object", "fence")
"""JSON without any token, of models that write it so; those that do put it in a fence as well."""


_HERMES = ("hermes", "hermes_openerless")
"""An envelope between tags, or with the last of them; where bare JSON is a call in any case, that is not looked for."""

_CODER = ("qwen3_coder", "qwen3_named", "qwen3_cut")
"""The elements of Qwen3-Coder, with attributes as well, or without their first character."""


@value
class Profile:
    """What is known of a family of models.

    `models`: globs on the lower-cased id; one with a slash is of `vendor/model`, one without of a part between slashes.
    `hosts`: globs, with a port or without. `dialects`: what the family writes; the ambiguous ones are looked for only
    with this profile. `reasoning_field`: where a delta carries reasoning; empty: as the host does. `think_tags`:
    whether `<think>` in the text is reasoning. `think_unopened`: whether the text may begin inside it; None: as the
    template is known to do, and the host to parse; `think_always`: if it may, it does.
    `tools`: "prompt" where the model has none of its own, and is told of them in its prompt;
    `system_role`: whether it knows a system message, else that goes into the first of the user's. `takes`: the user's facts of
    requests/quirks.py, which hold where both model and host fit; `only_takes`: the table has nothing else, and is no profile.
    `first_party`: whether its maker serves it, so that it is known what it writes; set where the profile is found.
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
    # K2-Horizon and K2-Think are not Kimi's, whatever the name
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
    # before Llama and Mistral, whose names their fine-tunes keep
    Profile(
        "hermes",  # and others that write its envelope
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
        "glm",  # Ling 3, Spark 2.5 and Poolside write the same; gpt-5.3-codex-spark is another thing
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
    Profile(  # templates of others' make Gemma 3 write Hermes envelopes (ollama#18357)
        "gemma",
        ("*gemma*",),
        dialects=("gemma4", "functiongemma", "gemini", "gemma_stripped", "gemma_headless", *_HERMES),
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
    # its tokens are special ones: a detokenizer that skips those leaves the list bare
    Profile("lfm2", ("liquid/*", "liquidai/*", "*lfm2*"), dialects=("lfm2", "python_list"), think_tags=True),
    Profile("ernie", ("baidu/*", "ernie*"), dialects=(*_HERMES,), think_tags=True),
    Profile("minicpm", ("openbmb/*", "*minicpm*"), dialects=("minicpm", *_HERMES), think_tags=True),
    Profile("gigachat", ("ai-sage/*", "*gigachat*"), dialects=("gigachat",)),
    Profile("dots", ("rednote-hilab/*", "dots[.0-9]*"), dialects=("dots",)),
    Profile("longcat", ("meituan/*", "meituan-longcat/*", "*longcat*"), dialects=("longcat",), think_tags=True),
    Profile("plamo", ("pfnet/*", "*plamo*"), dialects=("plamo3",), think_tags=True),
    Profile(  # last, for its name is in those of many others; `ollama` is none
        "llama",
        ("meta-llama/*", "llama*", "*[!o]llama*", "*toolace*"),
        dialects=("llama", *_BARE, "python_list", "qwen3_coder", "hermes"),
    ),
    Profile(  # by the vendor or the host alone: others give their models Claude's names for the sake of Claude Code
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
"""Whose hosts serve a family of models as its maker does, and parse its calls: what leaks there is in its row. What another host
serves may be anything, whatever it is called.
"""

ESCAPING = frozenset({"grok"})
"""Profiles of models that escape their arguments as HTML does."""

REASONING_HOSTS = (
    *("openrouter.ai", "api.groq.com", "api.cerebras.ai", "api.together.xyz", "api.together.ai"),
    *("ollama.com", "*:11434"),  # Ollama; what else is local says reasoning_content, or either by its version
)
"""Whose deltas carry reasoning as `reasoning`; other hosts, as DeepSeek began it, as `reasoning_content`."""

_SPECIAL = re.compile(r"[*?]|\[.[^\]]*\]")
"""What of a glob is no text."""

PARSING_HOSTS = (
    *("api.deepseek.com", "api.moonshot.ai", "api.moonshot.cn", "api.kimi.com", "api.z.ai", "open.bigmodel.cn"),
    *("dashscope*.aliyuncs.com", "*.dashscope.aliyuncs.com", "portal.qwen.ai", "api.stepfun.com", "api.xiaomimimo.com"),
    *("api.minimax.io", "api.minimaxi.com", "ark.*.volces.com", "ark.*.bytepluses.com"),
    *("openrouter.ai", "api.groq.com", "ollama.com"),
)
"""Hosts that are known to parse the reasoning of the models they serve: no text of theirs begins inside a thought.

MiniMax leaves it in the text, between both tags.
"""

_THINKS = re.compile(
    r"deepseek.?r1|r1-1776|mai-ds-r1|-r1-.*qwen|qwq|minimax.?m[12]|glm-?z1|exaone-?deep"
    r"|^(?=.*(qwen|kimi|k2|ernie|longcat)).*(?<!no)(?<!no-)(?<!non)(?<!non-)thinking"
)
"""Models that always think, and whose template opens the tag in the prompt, so that only `</think>` is in the text."""

_MAY_THINK = re.compile(
    r"glm-?(4[.p]?[5-9]|4-[5-9]|[5-9])(?![0-9]*b)|nemotron(?!.*(instruct|mini))|seed-oss|step-?3|qwen-?3[.p][5-9]"
    r"|k2-(horizon|think|v2)|intern-?s1|olmo-?3.*think|jamba.*reasoning"
)
"""Those that think unless they are told not to. XX Kimi K2.5, K3 and DeepSeek V4 are none, though their templates open it: nearly
all hosts parse it, so the first answer of another host shows the thought as content."""


class FoundProfile(NamedTuple):
    """The profile that applies, nothing of it left open, and the glob that decided: of a model, of a host, or none."""

    profile: Profile
    part: Literal["model", "host", ""]
    glob: str


def profile_for(model: Any, host: str, providers: Sequence[Profile] = ()) -> Profile:
    """What is known of a model at a host; `model` is what a request says, `providers` are the user's own profiles."""
    return find(model, host, providers).profile


def find(model: Any, host: str, providers: Sequence[Profile] = ()) -> FoundProfile:
    """`profile_for`, and why."""
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
    """The user's own rows, and the built-in ones with those replaced that the user has overridden by name."""
    given = {row.name: row for row in providers if not row.only_takes}
    built_in = [given.pop(row.name, row) for row in PROFILES]
    return list(given.values()), built_in


def taken(model: Any, host: str, providers: Sequence[Profile]) -> dict[str, tuple[Any, str]]:
    """The facts that the user's tables hold for a model at a host, each with the name of its table; the last one counts."""
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
    """What stands in every text that fits. To look for that first saves the making of a hundred patterns."""
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
