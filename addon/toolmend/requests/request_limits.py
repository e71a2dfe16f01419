"""What an upstream accepts in a request: by API, host and model.

HOSTS and MODELS are the tables, model_facts.py has the facts of models, and a user's `[[provider]]` table may override each
fact. Matching rows apply in order, later over earlier: API, host, model (its family, the generated line, the lines kept by hand),
model at a host, user. An unknown upstream has the defaults of Quirks, which most accept. Sources: the providers' documentation,
and reports of their users.
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
"""The names of schemas.RULES."""

_FORMATS = "date-time time date duration email hostname ipv4 ipv6 uuid"


@value
class Quirks:
    """The facts of one upstream; a bool is true where the upstream accepts or has the thing.

    Conversation:
        parts: Text in several parts.
        images, documents: Such parts.
        system_inside: A system message that is not the first.
        developer: The role; "only": it replaces the role `system`.
        names: `name` of a message.
        blank: Text that is only white space.
        prefill: A last message of the assistant, which the model continues; "prefix", "partial": the member that requests it.
        user_after_tool: A user message directly after a tool message.
        needs_user: A request must have a user message.
        refusals: `refusal` of an assistant message.
        cache_control: The field.
        breakpoints: Only a prompt with breakpoints is cached.
        custom_tools: Freeform tools.
        tool_name: Regex for names of tools.
        tool_id: Row of tool_ids.STYLES.
        max_tools: Number of tools, at most.
        empty_content: Null content of a message with calls.
        empty_results: Empty content of a result.
        result_parts: Several parts in a result.

    Schemas:
        formats: Known values of `format`.
        schema_rules: Rows of schemas.RULES to apply.
        schema_lacks: Unknown keywords.
        strict: `strict` of a tool.

    Reasoning of earlier turns:
        replay: The field for it (`details`: OpenRouter's list); empty: it is left out.
        details: A list of details, or a signature of a call, goes back to the upstream that made it.
        placeholder: Text for calls without reasoning, where the upstream requires some.
        needs_replay: The upstream requires the original reasoning; without it, thinking has to be disabled.
        unsigned: Thinking blocks without a signature.
        keep_thinking: The member in which `clear_thinking: false` shows the reasoning to the model; empty: none.

    Thinking:
        thinking: The way to set how much to think.
        efforts: The effort words, least first.
        default_effort: The effort of a request that sets none.
        thinks: The model thinks unless thinking is disabled.
        can_stop_thinking: Thinking can be disabled.
        stream_to_think: The model thinks only in streamed responses.
        thinking_kinds: The types of `thinking` in Messages.
        display: Thinking comes back empty unless `display` requests it.
        summary: `reasoning.summary`.
        reasoning_split: `reasoning_split` requests the reasoning in a separate field.
        effort_with_tools: Effort in a request with tools: any word, no field ("omit"), only the word none, or not possible
            ("never").

    Limits:
        max_tokens_field: The name of the field.
        max_tokens: Output tokens, at most.
        context: Input tokens, at most.
        stops: Number of stop sequences; None: any.
        sampling: Temperature and top_p: "all", only "one" of the two, only with effort none ("at_none"), or "none".
        min_temperature, max_temperature, min_top_p: The ranges.
        top_k: The field.
        forced_choice: Whether a tool can be forced.
        named_choice: A forced tool by name.
        json_schema: A response format with a schema.
        json_with_tools: A response format together with tools.
        json_word: json_object requires the word JSON in the prompt.

    Other fields and features:
        user, parallel, include_usage: The fields.
        options: Accepted fields of options.py.
        service_tiers, cache_retentions: Accepted values of these options.
        search_tool: The form of the provider's web search, see web_search.py; empty: none.
        phases: `phase` of an assistant message.
        drop_blocks: Requests ask to drop thinking that is bound to another conversation; set after a refusal of such thinking.
        compaction: The upstream compacts conversations on request.
        compact_threshold: The upstream compacts a conversation in an answer, from a number of tokens on.

    Body:
        body: The host's variant of the body.
        refuses: Edits to apply last, in the text form of edits.py; most drop a path.
        refuses_betas: Globs for values of the header `anthropic-beta`.
        ends: The date on which the provider retires the model.
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
    compact_threshold: bool = False
    drop_blocks: bool = False
    body: Literal["", "vertex", "bedrock", "codex"] = ""
    refuses: tuple[str, ...] = ()
    refuses_betas: tuple[str, ...] = ()
    ends: str = ""

    @property
    def default_max_tokens(self) -> int:
        """The limit where the API requires one and the client sets none: the model's maximum.

        DEFAULT_MAX_TOKENS for a model whose maximum is unknown, or is more than half of its context.
        """
        limit = self.max_tokens
        usable = limit and (limit <= DEFAULT_MAX_TOKENS or not self.context or limit * 2 <= self.context)
        return limit if limit and usable else DEFAULT_MAX_TOKENS


DEFAULT_MAX_TOKENS = 32_000
"""Claude Code's default."""

NOT_SETTABLE = frozenset({"tool_name", "formats", "details", "body"})
"""Fields that follow from the API's format, so a user cannot set them."""

SETTABLE = {field.name: field for field in fields(Quirks) if field.name not in NOT_SETTABLE}


def checked(name: str, given: object) -> Any:
    """Returns a fact from the user's settings as a value of the Quirks field. Raises ValueError with what would be right."""
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
    """Facts for matching upstreams. `models`: globs for the lower-case model id without vendor; `hosts`: globs for the host."""

    facts: Mapping[str, Any]
    apis: tuple[str, ...] = ("chat",)
    models: tuple[str, ...] = ("*",)
    hosts: tuple[str, ...] = ("*",)


def _row(*, api: str = "chat", models: str = "*", hosts: str = "*", **facts: Any) -> _Row:
    return _Row(facts, tuple(api.split()), tuple(models.split()), tuple(hosts.split()))


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
_SHARED = ("verbosity", "prompt_cache_key", "prompt_cache_retention", "service_tier", "safety_identifier", "logprobs")

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
    # these refuse unknown fields
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
    _row(hosts=_LOCAL, documents=False, top_k=True, options=("logprobs",)),
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
    _row(api="responses", hosts="api.openai.com", compact_threshold=True),
    _row(api="messages", hosts="api.anthropic.com", compact_threshold=True),
    _row(api="responses", hosts="api.x.ai", strict=False, summary=False, options=("prompt_cache_key",)),
    # messages
    _row(api="messages", tool_name=_ANY_NAME, tool_id="messages", parts=True, cache_control=True, top_k=True, max_temperature=1,
         unsigned=True, names=False, blank=False, schema_rules=("valid", "root", "names"), json_word=True,
         efforts=("low", "medium", "high", "xhigh", "max")),
    _row(api="messages", hosts="api.anthropic.com", system_inside=True, options=("service_tier",),
         service_tiers=("auto", "standard_only"), search_tool="web_search_20250305"),
)
"""Facts of hosts, for all models."""

MODELS = (
    _row(hosts=f"{_MOONSHOT} {_ZAI} {_MISTRAL} api.deepseek.com api.fireworks.ai api.deepinfra.com integrate.api.nvidia.com",
         max_tokens_field="max_tokens"),
    _row(hosts=_AZURE, models="*mistral* *ministral* *codestral*", max_tokens_field="max_tokens"),  # pydantic-ai#6593
    _row(hosts=_VLLM, models="*qwen3* *glm-4.* *glm-5*", thinking="template"),  # their chat templates read a switch
    _row(hosts="api.together.xyz api.together.ai", models="*glm-*", keep_thinking="template"),  # litellm#38263
    _row(models="*kimi*", tool_id="kimi"),
    _row(models="*claude*", blank=False, schema_rules=("valid", "root", "names")),  # at any host, the request ends at Anthropic
    _row(api=_OPENAI_APIS, models="*qwen*", system_inside=False),  # refused by its template (dynamo#10206, inspect_ai#3842)
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
"""Facts of models at any host, and of models at certain hosts; they override model_facts.py."""


def quirks_for(api: str, host: str, model: str, own: Mapping[str, Any] | None = None) -> Quirks:
    """Returns the facts of an upstream.

    Args:
        api: The upstream's API.
        host: The upstream's host, possibly with a port.
        model: The model id, possibly with a vendor.
        own: Facts that override the tables, as from a `[[provider]]` table.
    """
    found = _quirks_for(api, host, model.lower()[-MAX_MODEL:])
    return replace(found, **own) if own else found


@lru_cache(64)  # a client uses one or two models, and waits for this
def _quirks_for(api: str, host: str, model: str) -> Quirks:
    quirks = Quirks()
    for layer in known(api, host, model):
        quirks = replace(quirks, **layer.facts)
    return quirks


def known(api: str, host: str, model: str) -> Iterator[Layer]:
    """The facts that apply, in order, with their sources."""
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
            yield Layer(row.facts, f"built in, by the {' and the '.join(of) or 'API'}")
