"""What an upstream takes: by its API, its host and the model.

A table of hosts stands in ROWS; facts of models are data of their own (model_facts.py), and a user's `[[provider]]` table may
override each. What fits applies in order, the later over the earlier: an API, a host, a model (its family, the generated line,
the lines kept by hand), a model at a host, the user. What is not known of an upstream is what most take. Sources: the providers'
documentation, and what their users report.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin

from ..core.fastclass import replace, value
from ..providers import model_facts
from ..providers.hosts import fits, split_port
from ..providers.model_facts import MAX_MODEL, Layer
from .edits import is_edit

RULE_NAMES = ("valid", "items", "refs", "root", "names", "const", "moonshot", "bare_required")
"""Of schemas.RULES."""

_FORMATS = "date-time time date duration email hostname ipv4 ipv6 uuid"


@value
class Quirks:
    """One upstream.

    Conversation: `parts`: text may stand in several parts. `images`, `documents`: it takes them. `system_inside`: a system
    message need not be the first. `developer`: the role is known, or is the "only" one for what the system says. `names`: a
    message may have one. `blank`: text may be white space alone. `prefill`: the last message may be the assistant's, which
    is continued; "prefix" and "partial" name the member that asks for it. `user_after_tool`: one may follow the other;
    `needs_user`: one has to speak. `refusals` of the assistant have a field.
    `cache_control` is known; `breakpoints`: a prompt is cached only where that is asked for. `custom_tools`: freeform tools are
    known. `tool_name` is a regex; `tool_id` a row of tool_ids.STYLES; `max_tools`. `empty_content`: that of calls may be null;
    `empty_results`: that of results may be empty; `result_parts`: it may have several parts.

    Schemas: `formats` of strings that are known; `schema_rules` are rows of schemas.RULES; `schema_lacks` are
    keywords that are not known; `strict` is.

    Reasoning of earlier turns: `replay` says where it goes (`details` is OpenRouter's list), empty: nowhere; `details`: an
    upstream that gave such a list, or something beside a call, gets it back. `placeholder` stands for it at calls that have
    none, where that is demanded; `needs_replay`: nothing may stand for it, so that the model cannot think. `unsigned`: thinking
    blocks need no signature. `keep_thinking`: the field in which `clear_thinking: false` shows it to the model.

    Thinking: `thinking` is how to say how much to think, `efforts` the words for it, least first, `default_effort` that of a
    request without. `thinks`: the model does unless told not to; `can_stop_thinking`; `stream_to_think`: only if the answer is
    streamed. `thinking_kinds`: of Messages' `thinking`; `display`: it comes back empty unless asked for; `summary`: the field is
    known. `reasoning_split`: the answer has reasoning in a field of its own where that is asked for. `effort_with_tools`: what a
    request with tools may say of effort: any word, none of it ("omit"), the word none alone, or nothing will do ("never").

    Limits: `max_tokens_field`; `max_tokens` is the most that may be asked for, `context` the most that the model reads; `stops`,
    the number of stop sequences, None: any. `sampling`: temperature and top_p are both taken, "one" of the two, at effort none
    alone ("at_none"), or none; the ranges; `top_k`. `forced_choice`: a tool may be demanded. `named_choice`: by its name.
    `json_schema`: a response format may have one; `json_with_tools`: and tools beside it; `json_word`: json_object needs the word
    in the prompt. `user`, `parallel`, `include_usage`: the field is known. `options`: fields that other APIs have, too, and are
    known here; `service_tiers`, `cache_retentions`: their words. `search_tool`: the form of the web search that the
    provider runs, see web_search.py; empty: it has none.

    `phases`: a message of the assistant tells what it is for. `compaction`: the upstream compacts a conversation itself.

    `body`: which members stand elsewhere than in the body, or are demanded by the host. `refuses`: changes that are made in
    the end, as edits.edit_of reads them: of most, a path that is dropped. `refuses_betas`: globs of
    words of the header `anthropic-beta`. `ends`: the date on which the provider ends the model.
    """

    parts: bool = False
    images: bool = True
    documents: bool = True
    system_inside: bool = False
    developer: Literal["", "taken", "only"] = ""
    names: bool = True
    blank: bool = True
    prefill: Literal["", "yes", "prefix", "partial"] = "yes"
    user_after_tool: bool = True
    needs_user: bool = False
    refusals: bool = False
    cache_control: bool = False
    breakpoints: bool = False
    custom_tools: bool = False
    tool_name: str = r"[A-Za-z][\w-]{0,63}"
    tool_id: Literal["any", "40", "64", "kimi", "mistral", "messages"] = "any"
    max_tools: int | None = None
    empty_content: bool = True
    empty_results: bool = True
    result_parts: bool = False
    formats: frozenset[str] = frozenset(_FORMATS.split())
    schema_rules: tuple[str, ...] = ()
    schema_lacks: tuple[str, ...] = ()
    strict: bool = True
    replay: Literal["", "reasoning_content", "reasoning", "details"] = "reasoning_content"
    details: bool = True
    placeholder: str = ""
    needs_replay: bool = False
    unsigned: bool = False
    thinking: Literal[
        "", "reasoning_effort", "reasoning", "reasoning_switch", "thinking", "enable_thinking", "template", "disable_reasoning"
    ] = "reasoning_effort"
    keep_thinking: Literal["", "thinking", "template"] = ""
    reasoning_split: bool = False
    efforts: tuple[str, ...] = ("low", "medium", "high")
    default_effort: str = ""
    thinks: bool = False
    can_stop_thinking: bool = True
    stream_to_think: bool = False
    thinking_kinds: tuple[str, ...] = ("enabled", "adaptive", "disabled")
    display: bool = False
    summary: bool = True
    effort_with_tools: Literal["any", "omit", "none", "never"] = "any"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    max_tokens: int | None = None
    context: int | None = None
    stops: int | None = None
    sampling: Literal["all", "one", "at_none", "none"] = "all"
    min_temperature: float = 0
    max_temperature: float = 2
    min_top_p: float = 0
    top_k: bool = False
    forced_choice: Literal["always", "unless_thinking", "never"] = "always"
    named_choice: bool = True
    json_schema: bool = True
    json_with_tools: bool = True
    json_word: bool = False
    user: bool = True
    parallel: bool = True
    include_usage: bool = True
    options: tuple[str, ...] = ()
    service_tiers: tuple[str, ...] = ()
    cache_retentions: tuple[str, ...] = ("in_memory", "24h")
    search_tool: str = ""
    phases: bool = False
    compaction: bool = False
    body: Literal["", "vertex", "bedrock", "codex"] = ""
    refuses: tuple[str, ...] = ()
    refuses_betas: tuple[str, ...] = ()
    ends: str = ""

    @property
    def default_max_tokens(self) -> int:
        """What is asked for where the API demands a limit and the client names none: all that the model gives.

        But for a model whose limit is its whole context, or is not known: then what Claude Code asks for by itself.
        """
        most = self.max_tokens
        known = most and (most <= DEFAULT_MAX_TOKENS or not self.context or most * 2 <= self.context)
        return most if most and known else DEFAULT_MAX_TOKENS


DEFAULT_MAX_TOKENS = 32_000

NOT_SETTABLE = frozenset({"tool_name", "formats", "details", "body"})
"""Fields that belong to the form of an API, and are no facts that a user may know better."""

SETTABLE = {one.name: one for one in fields(Quirks) if one.name not in NOT_SETTABLE}


def checked(name: str, given: object) -> Any:
    """A fact that a user's settings hold, as a field of Quirks has it. Raises ValueError, with what would be right."""
    kind: Any = SETTABLE[name].type
    words = get_args(kind)  # of a Literal, or int and None
    if isinstance(SETTABLE[name].default, tuple):
        known = RULE_NAMES if name == "schema_rules" else given
        if isinstance(given, list) and all(isinstance(word, str) and word in known for word in given):  # type: ignore[operator]
            if name == "refuses" and not all(map(is_edit, given)):
                raise ValueError('changes that leave messages, tools and model: ["stream_options", "max_tokens <= 8192"]')
            return tuple(given)
        raise ValueError(f"a list of texts{', some of: ' + ', '.join(RULE_NAMES) if name == 'schema_rules' else ''}")
    number = isinstance(given, int | float) and not isinstance(given, bool) and given >= 0
    right: dict[Any, tuple[bool, str]] = {
        bool: (isinstance(given, bool), "true or false"),
        float: (number, "a number"),
        str: (isinstance(given, str), '"text"'),
        Literal: (isinstance(given, str) and given in words, " or ".join(f'"{word}"' for word in words)),
        int: (number and isinstance(given, int), "a whole number"),
    }
    fits_kind, text = right[kind if kind in right else Literal if get_origin(kind) is Literal else int]
    if not fits_kind:
        raise ValueError(text)
    return given


@value
class _Row:
    """`models` and `hosts` are globs, on the lower-cased model id without its vendor, and on the host."""

    takes: Mapping[str, Any]
    apis: tuple[str, ...] = ("chat",)
    models: tuple[str, ...] = ("*",)
    hosts: tuple[str, ...] = ("*",)


def _row(*, api: str = "chat", models: str = "*", hosts: str = "*", **takes: Any) -> _Row:
    return _Row(takes, tuple(api.split()), tuple(models.split()), tuple(hosts.split()))


_ANY_NAME = r"[A-Za-z0-9_-]{1,64}"
_AZURE = "*.openai.azure.com *.cognitiveservices.azure.com *.services.ai.azure.com"
_OPENAI = f"api.openai.com {_AZURE}"
_COPILOT = "api.githubcopilot.com api.*.githubcopilot.com"
_MOONSHOT = "api.moonshot.ai api.moonshot.cn api.kimi.com"
_QWEN = "dashscope*.aliyuncs.com *.dashscope.aliyuncs.com"
_ZAI = "api.z.ai open.bigmodel.cn"
_MISTRAL = "api.mistral.ai codestral.mistral.ai"
_GOOGLE = "generativelanguage.googleapis.com aiplatform.googleapis.com *-aiplatform.googleapis.com"
_VERTEX = "aiplatform.googleapis.com *-aiplatform.googleapis.com"
_BEDROCK = "bedrock-runtime.*.amazonaws.com"
_VLLM = "*:8000 *:8080 *:30000"
_LOCAL = "*:8000 *:8080 *:1234 *:30000"
_OPENAI_APIS = "chat responses"
_TIERS = ("auto", "default", "flex", "priority", "scale", "fast")
_SHARED = ("verbosity", "prompt_cache_key", "prompt_cache_retention", "service_tier", "safety_identifier")

HOSTS = (
    # chat
    _row(hosts=_OPENAI, parts=True, result_parts=True, system_inside=True, developer="taken", custom_tools=True,
         tool_name=_ANY_NAME, tool_id="40", max_tools=128, stops=4, replay="", details=False, thinking="",
         max_tokens_field="max_completion_tokens", json_word=True, refusals=True, schema_rules=("valid", "items", "root"),
         options=_SHARED, service_tiers=_TIERS),
    _row(hosts=_AZURE, documents=False),
    _row(hosts=_COPILOT, tool_id="40"),
    _row(hosts="openrouter.ai", parts=True, result_parts=True, system_inside=True, refusals=True, top_k=True, replay="details",
         thinking="reasoning", efforts=("minimal", "low", "medium", "high", "xhigh"), search_tool="openrouter:web_search"),
    _row(hosts="api.deepseek.com", images=False, documents=False, system_inside=True, stops=16, details=False, needs_replay=True,
         thinking="thinking", efforts=("low", "high", "max"), json_schema=False, json_word=True, parallel=False, user=False),
    _row(hosts=_MOONSHOT, documents=False, system_inside=True, details=False, thinking="thinking", efforts=(), user=False,
         prefill="partial", schema_rules=("valid", "root", "moonshot"), options=("prompt_cache_key",)),
    _row(hosts=_ZAI, documents=False, details=False, thinking="thinking", efforts=(), json_schema=False, parallel=False, stops=1,
         max_temperature=1, min_top_p=0.01, forced_choice="never", blank=False, empty_results=False,
         needs_user=True, user=False, search_tool="web_search"),
    _row(hosts="api.perplexity.ai", search_tool="web_search_options"),
    _row(hosts=_QWEN, parts=True, documents=False, cache_control=True, top_k=True, details=False, thinking="enable_thinking",
         max_temperature=1.99, json_word=True, search_tool="enable_search"),
    _row(hosts="api.minimax.io api.minimaxi.com", documents=False, min_temperature=0.01, max_temperature=1, reasoning_split=True),
    # these refuse fields that they do not know
    _row(hosts=_MISTRAL, parts=True, tool_id="mistral", replay="", details=False, thinking="", user=False, include_usage=False,
         names=False, documents=False, prefill="prefix", user_after_tool=False, max_temperature=1.5, min_top_p=0.01,
         empty_content=False, schema_rules=("valid", "refs"), options=("prompt_cache_key",)),
    _row(hosts="api.groq.com", documents=False, replay="", details=False, thinking="", stops=4, names=False, max_tools=128),
    _row(hosts="api.cerebras.ai", documents=False, replay="reasoning", details=False, thinking="", stops=4, include_usage=False,
         json_with_tools=False, names=False),
    _row(hosts="api.fireworks.ai", documents=False, details=False, include_usage=False, json_with_tools=False,
         schema_rules=("valid", "bare_required")),
    _row(hosts="api.together.xyz api.together.ai", documents=False, details=False, thinking="reasoning_switch"),
    _row(hosts="api.deepinfra.com", documents=False, details=False, forced_choice="never", named_choice=False),
    _row(hosts="integrate.api.nvidia.com", documents=False, details=False, thinking="template", user=False, names=False),
    _row(hosts="api.x.ai", documents=False, names=False, details=False),
    _row(hosts="*:11434 ollama.com", documents=False, top_k=True, replay="reasoning", details=False, parallel=False, thinking=""),
    _row(hosts=_LOCAL, documents=False, top_k=True),
    _row(hosts="*:1234 *:8080", named_choice=False),
    _row(hosts="bedrock-mantle.*.api.aws", models="*gpt-oss*", forced_choice="never"),
    _row(hosts=_GOOGLE, parts=True, stops=5, replay="", user=False, parallel=False, schema_rules=("valid", "items", "const")),
    # responses
    _row(api="responses", parts=True, system_inside=True, developer="taken", custom_tools=True, tool_name=_ANY_NAME, tool_id="64",
         options=(*_SHARED, "metadata"), service_tiers=(*_TIERS, "ultrafast"), json_word=True, search_tool="web_search"),
    _row(api="responses", hosts=_OPENAI, max_tools=128, schema_rules=("valid", "items")),
    _row(api="responses", hosts="chatgpt.com *.chatgpt.com", developer="only", body="codex", user=False,
         service_tiers=("default", "priority"), options=("verbosity", "prompt_cache_key", "service_tier"),
         refuses=("max_output_tokens", "temperature", "top_p", "truncation")),
    _row(api="responses", hosts=f"{_OPENAI} chatgpt.com *.chatgpt.com",
         models="gpt-5.3-codex* gpt-5.4* gpt-5.5* gpt-5.6* gpt-6*", phases=True),
    _row(api="responses", hosts=f"{_OPENAI} chatgpt.com *.chatgpt.com openrouter.ai", compaction=True),
    _row(api="messages", hosts=f"api.anthropic.com {_BEDROCK} {_VERTEX} {_AZURE}", compaction=True),
    _row(api="responses", hosts="api.x.ai", strict=False, summary=False, options=("prompt_cache_key",)),
    # messages
    _row(api="messages", tool_name=_ANY_NAME, tool_id="messages", parts=True, cache_control=True, top_k=True, max_temperature=1,
         unsigned=True, names=False, blank=False, schema_rules=("valid", "root", "names"), json_word=True,
         efforts=("low", "medium", "high", "xhigh", "max")),
    _row(api="messages", hosts="api.anthropic.com", system_inside=True, options=("service_tier",),
         service_tiers=("auto", "standard_only"), search_tool="web_search_20250305"),
)
"""What holds for a host, whatever the model."""

MODELS = (
    _row(hosts=f"{_MOONSHOT} {_ZAI} {_MISTRAL} api.deepseek.com api.fireworks.ai api.deepinfra.com integrate.api.nvidia.com",
         max_tokens_field="max_tokens"),
    _row(hosts=_AZURE, models="*mistral* *ministral* *codestral*", max_tokens_field="max_tokens"),  # pydantic-ai#6593
    _row(hosts=_VLLM, models="*qwen3* *glm-4.* *glm-5*", thinking="template"),  # their chat templates read a switch
    _row(hosts="api.together.xyz api.together.ai", models="*glm-*", keep_thinking="template"),  # litellm#38263
    _row(models="*kimi*", tool_id="kimi"),
    _row(models="*claude*", blank=False, schema_rules=("valid", "root", "names")),  # by whomever, Anthropic reads it in the end
    _row(api=_OPENAI_APIS, models="*qwen*", system_inside=False),  # its template refuses others (dynamo#10206, inspect_ai#3842)
    _row(models="*-search-preview*", search_tool="web_search_options"),
    _row(hosts="api.groq.com", models="*gpt-oss*", search_tool="browser_search"),
    _row(models="gpt-5-search-api*", search_tool="web_search_options"),
    _row(api="messages", models="*claude*", unsigned=False, breakpoints=True),
    _row(api="messages", hosts="api.anthropic.com", unsigned=False, breakpoints=True),
    _row(api="messages", hosts=f"{_BEDROCK} {_VERTEX} {_AZURE}", system_inside=False, search_tool=""),
    _row(api="messages", hosts=_BEDROCK, body="bedrock", refuses=("**.cache_control.scope", "service_tier")),
    _row(api="messages", hosts=_BEDROCK, models="*claude-3* *claude-opus-4-1* *claude-opus-4-2* *claude-sonnet-4-2*",
         refuses=("**.cache_control.scope", "**.cache_control.ttl", "service_tier")),  # claude-code#12122
    _row(api="messages", hosts=_VERTEX, body="vertex", strict=False, search_tool="web_search_20250305",
         refuses=("**.cache_control.scope", "service_tier", "context_management")),
    _row(api="messages", hosts=f"{_AZURE} {_COPILOT}", refuses=("**.cache_control.scope",)),
    _row(hosts="openrouter.ai", max_tokens_field="max_tokens", thinking="reasoning", replay="details", sampling="all", stops=None,
         effort_with_tools="any", efforts=("minimal", "low", "medium", "high", "xhigh")),
    _row(hosts="openrouter.ai", models="*claude* *gemini*", cache_control=True),
    _row(hosts="openrouter.ai", models="*claude*", breakpoints=True),
)
"""What holds for models wherever they are served, and for models at hosts, over the facts of model_facts.py."""


def quirks_for(api: str, host: str, model: str, own: Mapping[str, Any] | None = None) -> Quirks:
    """What an upstream takes. `host` may have a port, `model` a vendor; `own` are the facts of a `[[provider]]` table."""
    found = _quirks_for(api, host, model.lower()[-MAX_MODEL:])
    return replace(found, **own) if own else found


@lru_cache(64)
def _quirks_for(api: str, host: str, model: str) -> Quirks:
    """A client asks for one model or two, and its user waits."""
    quirks = Quirks()
    for layer in known(api, host, model):
        quirks = replace(quirks, **layer.facts)
    return quirks


def known(api: str, host: str, model: str) -> Iterator[Layer]:
    """What applies, in its order, with its source."""
    name = model.lower().rpartition("/")[2]
    yield from _rows(HOSTS, api, host, name)
    yield from model_facts.layers(api, host, model)
    yield from _rows(MODELS, api, host, name)


def _rows(rows: tuple[_Row, ...], api: str, host: str, model: str) -> Iterator[Layer]:
    name, port = split_port(host)
    for row in rows:
        at = "*" in row.hosts or any(fits(name, port, glob) for glob in row.hosts)
        if api in row.apis and at and any(fnmatchcase(model, glob) for glob in row.models):
            of = [word for word, globs in (("model", row.models), ("host", row.hosts)) if "*" not in globs]
            yield Layer(row.takes, f"built in, by the {' and the '.join(of) or 'API'}")
