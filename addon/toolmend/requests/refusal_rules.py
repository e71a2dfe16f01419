"""Table of refusals that concern more than the field they name: APIs, a pattern of the text, and the remedy.

    ("messages", r"does not support the effort parameter", …)      requests to this model have no effort from then on
    ("chat", r"thinking mode does not support this tool_choice", …)     thinking is disabled where a tool is forced

Sources: public reports with upstreams' error texts. A text is the same wherever the model is served, so no row is for a host.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from ..core.fastclass import value
from .edits import HOSTED_TOOLS
from .refusal_places import MAX_ENTRIES, Places, at
from .request_limits import Quirks
from .schemas import OPTIONAL


@value
class Remedy:
    """The changes that make a refused request acceptable.

    Attributes:
        path: What is refused, without indices.
        edits: Edits of the request, in the text form of edits.edit_of.
        facts: Fields of Quirks with which the request is translated again.
        once: The refusal concerns this conversation, not the model, so nothing is learnt.
    """

    path: str
    edits: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    once: bool = False


class RefusedRequest:
    """The refused request and the known facts of its upstream. `translated`: from another API, so that facts have an effect."""

    def __init__(self, request: Mapping[str, Any], api: str, quirks: Quirks, *, translated: bool = True) -> None:
        self.request, self.api, self.quirks, self.translated = request, api, quirks, translated
        self.places = Places(request)

    @property
    def free_choice(self) -> str:
        """The edit that removes a forced tool; in Messages the choice is an object."""
        return "tool_choice" if self.api == "messages" else "tool_choice in auto none"

    def same(self, *edits: str) -> tuple[str, ...]:
        """The edits if the upstream has the client's API, where facts have no effect; otherwise none."""
        return () if self.translated else edits


type MakeRemedy = Callable[[re.Match[str], RefusedRequest], Remedy | None]


def _facts(path: str, *edits: str, once: bool = False, **facts: Any) -> MakeRemedy:
    return lambda _found, _refused: Remedy(path, edits, facts, once)


def _kept(rule: str, **facts: Any) -> MakeRemedy:
    """A remedy that applies a rule for messages: message_rules.py within one API, facts in a translation."""

    def remedy(_found: re.Match[str], refused: RefusedRequest) -> Remedy:
        path = "input" if refused.api == "responses" else "messages"
        return Remedy(f"{path}: {rule}", refused.same(f"{path}: {rule}"), facts)

    return remedy


def _images(rule: str) -> MakeRemedy:
    """A remedy for too many or too large images: keeps the newest, or those within the limit."""

    def remedy(found: re.Match[str], refused: RefusedRequest) -> Remedy:
        path = "input" if refused.api == "responses" else "messages"
        return Remedy(f"{path}: {rule}", (f"{path}: {rule}_{found['n']}",))

    return remedy


_SCHEMA = {"chat": "tools[].function.parameters", "messages": "tools[].input_schema", "responses": "tools[].parameters"}
"""The paths of the tools' schemas."""


def rule(name: str) -> MakeRemedy:
    """A remedy that applies rules of schemas.py; `name`: the rules, separated by spaces."""

    def remedy(_found: re.Match[str], refused: RefusedRequest) -> Remedy:
        rules = refused.quirks.schema_rules
        more = tuple(rule for rule in ("valid", *name.split()) if rule not in rules)
        path = _SCHEMA[refused.api]
        return Remedy(path, refused.same(f"{path} ~ {' '.join(('valid', *name.split()))}"), {"schema_rules": (*rules, *more)})

    return remedy


_OF_KEYWORD = {
    "$ref": "refs",
    "$defs": "refs",
    "$id": "refs",
    "$schema": "refs",
    "const": "const",
    "anyOf": "root",
    "oneOf": "root",
    "allOf": "root",
}


_FORMAT = {
    "chat": "response_format.json_schema.schema",
    "messages": "output_config.format.schema",
    "responses": "text.format.schema",
}
"""The paths of the response format's schema."""


def keyword(name: str, refused: RefusedRequest, *, of_format: bool = False) -> Remedy:
    """The remedy for an unknown keyword in the schemas of tools, or in that of the response format (`of_format`)."""
    if of_format:
        path = _FORMAT[refused.api]
        return Remedy(f"{path}.{name}", (f"{path} ~ -{name}",))
    if name in _OF_KEYWORD:
        return rule(_OF_KEYWORD[name])(_NONE, refused)  # type: ignore[return-value]
    lacks = tuple(dict.fromkeys((*refused.quirks.schema_lacks, name)))
    return Remedy(f"schema.{name}", refused.same(f"{_SCHEMA[refused.api]} ~ -{name}"), {"schema_lacks": lacks})


_NONE: Any = None


def _kind(found: re.Match[str], refused: RefusedRequest) -> Remedy:
    """A refused kind of `thinking`; the text may name the accepted ones."""
    kind, accepted = found["kind"].lower(), (found.groupdict().get("right") or "").lower().split()
    known = [other for other in refused.quirks.thinking_kinds if other != kind]
    kinds = tuple(dict.fromkeys([*accepted, *known])) if set(accepted) <= _KINDS else tuple(known)
    edits = refused.same("thinking")
    facts = {"thinking_kinds": kinds, "display": "adaptive" in kinds} if refused.api == "messages" else {}
    return Remedy("thinking.type", edits, facts)


def thinking_kinds(words: Sequence[str], refused: RefusedRequest) -> Remedy | None:
    """The remedy from the accepted kinds of `thinking`."""
    kinds = tuple(word for word in words if word in _KINDS)
    facts = {"thinking_kinds": kinds, "display": "adaptive" in kinds} if refused.api == "messages" else {}
    return Remedy("thinking.type", ("thinking",) if not facts else refused.same("thinking"), facts) if kinds else None


def _kinds(found: re.Match[str], refused: RefusedRequest) -> Remedy | None:
    """The accepted kinds of `thinking`, under the name `type` only."""
    return thinking_kinds(re.findall(r"\w+", found["kinds"]), refused)


_KINDS = frozenset({"enabled", "adaptive", "disabled", "between_tools"})


def _forced(found: re.Match[str], refused: RefusedRequest) -> Remedy:  # noqa: ARG001
    """A forced tool while the model thinks."""
    quirks = refused.quirks
    has_switch = refused.api == "messages" or quirks.thinking in _SWITCHES
    facts = {"forced_choice": "unless_thinking" if has_switch else "never"}
    return Remedy("tool_choice", refused.same(refused.free_choice), facts, once=not refused.translated)


_SWITCHES = ("thinking", "enable_thinking", "reasoning", "reasoning_switch", "template")


_OFF = {"thinking": ('thinking = {"type": "disabled"}', "reasoning_effort"), "enable_thinking": ("enable_thinking = false",)}
"""The edits that disable thinking, by switch."""


_STRICT = ("response_format.json_schema.strict", "text.format.strict")
"""The paths of the switch for a strict response format."""


def _while_thinking(path: str, thinking: str, **facts: Any) -> MakeRemedy:
    """An option that excludes thinking, at a host whose switch for thinking follows from the text."""
    known = {"thinking": thinking, "thinks": True, **facts}
    return lambda _found, refused: Remedy(path, refused.same(*_OFF[thinking]), known, once=not refused.translated)


def less_strict(found: re.Match[str], refused: RefusedRequest) -> Remedy:
    """A strict tool or a response format that exceeds what the upstream supports."""
    of_format = found is not None and re.search(r"response_format|text\.format", found.string)
    if of_format and (path := next((path for path in _STRICT if at(refused.request, path)), "")):
        return Remedy(path, (f"{path} = false",))
    strict = any(at(refused.request, path) for path in ("tools[].strict", "tools[].function.strict"))
    if strict:
        path = "tools[].function.strict" if refused.api == "chat" else "tools[].strict"
        return Remedy(path, (path,), {"strict": False})
    form = {"chat": "response_format", "responses": "text.format", "messages": "output_config.format"}.get(refused.api, "")
    return Remedy(form, refused.same(form), {"json_schema": False})


_UNFIT = re.compile(
    r"[`'\"](?P<word>[\w$]+)[`'\"] is not (?:permitted|allowed|supported)|is not a '?regex|unsupported (?:pattern|regex)"
)


def _schema(found: re.Match[str], refused: RefusedRequest) -> Remedy | None:
    """A refused schema of a tool: because of one keyword, or of its form."""
    unfit = _UNFIT.search(found.string)
    word = (unfit["word"] or "pattern") if unfit else ""
    return keyword(word, refused) if word in OPTIONAL else rule("items refs root")(found, refused)


def without_schema(_found: re.Match[str], refused: RefusedRequest) -> Remedy:
    """A response format with a schema, where the upstream supports none."""
    edits = refused.same("response_format")
    return Remedy("response_format.type", edits, {"json_schema": False, "json_word": True})


def _with_tools(_found: re.Match[str], refused: RefusedRequest) -> Remedy:
    """Effort together with tools at Chat Completions; if the request has no effort, the refused one is the model's default."""
    if "reasoning_effort" in refused.request and "none" not in refused.quirks.efforts:
        return Remedy("reasoning_effort", refused.same("reasoning_effort"), {"effort_with_tools": "omit"})
    edits = refused.same('reasoning_effort = "none"')
    return Remedy("reasoning_effort", edits, {"effort_with_tools": "none"}, once=not refused.translated)


def _either_switch(_found: re.Match[str], refused: RefusedRequest) -> Remedy:
    path = "reasoning_effort" if refused.quirks.thinking in ("thinking", "enable_thinking", "template") else "thinking"
    return Remedy(path, (path,))


def _roles(found: re.Match[str], refused: RefusedRequest) -> Remedy | None:
    """An unknown role: `developer` becomes `system`, or `system` becomes `developer`."""
    roles = {at(entry, "role") for entry in (at(refused.request, "messages") or at(refused.request, "input") or [])[:MAX_ENTRIES]}
    where = "input[].role" if refused.api == "responses" else "messages[].role"
    if "developer" in roles:
        return Remedy(where, (f"{where} in system user assistant tool",), {"developer": ""})
    if "system" in roles and refused.api == "messages":
        return Remedy(where, (), {"system_inside": False})
    if "system" not in roles or re.search(r"[`'\"]system[`'\"].*assistant", found.string):
        return None
    return Remedy(where, (f"{where} in developer user assistant tool",), {"developer": "only"})


def _may_bind(refused: RefusedRequest) -> bool:
    """Whether the upstream can be asked to drop thinking that is bound to another conversation; Bedrock has betas in the body."""
    return refused.translated and refused.quirks.body != "bedrock" and not refused.quirks.drop_blocks


def _thoughts(found: re.Match[str], refused: RefusedRequest) -> Remedy | None:
    """Reasoning of earlier turns that the upstream does not accept: removed from this request only."""
    match refused.api:
        case "messages" if "different conversation" in found.string.lower() and _may_bind(refused):
            return Remedy("thinking.block_binding", (), {"drop_blocks": True})
        case "messages":
            return Remedy("messages[].content", ("messages[].content - redacted_thinking thinking",), once=True)
        case "responses":
            return Remedy("input", ("input - reasoning",), once=True)
    paths = [f"messages[].{name}" for name in ("reasoning_content", "reasoning", "reasoning_details")]
    places = tuple(path for path in paths if at(refused.request, path) is not None)
    return Remedy(places[0], places, once=True) if places else None


def _budget(_found: re.Match[str], refused: RefusedRequest) -> Remedy | None:
    limit = at(refused.request, "max_tokens")
    if not isinstance(limit, int) or limit <= 1024:
        return Remedy("thinking", ("thinking",), once=True)
    return Remedy("thinking.budget_tokens", (f"thinking.budget_tokens <= {limit - 1}",), once=True)


def _needed(found: re.Match[str], refused: RefusedRequest) -> Remedy | None:
    """`Stream must be set to true`, for fields that are known to be boolean."""
    name = found["name"].lower()
    if name not in ("store", "stream", "enable_thinking", "parallel_tool_calls", "logprobs", "background"):
        return None
    if name == "stream" and not refused.translated:
        return None  # the client expects a JSON response
    return Remedy(name, (f"{name} = {found['value'].lower()}",))


_STYLES = (("{9}", "mistral"), ("functions", "kimi"), ("{1,40}", "40"), ("{1,64}", "64"), ("_-", "messages"))
"""Part of a pattern for ids → the row of tool_ids.STYLES that fits it."""


def _pattern(found: re.Match[str], refused: RefusedRequest) -> Remedy | None:
    """Call ids that do not match the upstream's pattern. Tool names always match, and property names have a rule."""
    style = next((name for sign, name in _STYLES if sign in found[0]), "messages" if refused.api == "messages" else "")
    return Remedy("tools[].id", (), {"tool_id": style}) if refused.translated and style else None


def _betas(found: re.Match[str], refused: RefusedRequest) -> Remedy | None:
    """Values of the header `anthropic-beta`; all of them if the text names none."""
    words = re.findall(r"[`'\"]([\w.-]{1,80})[`'\"]", found.groupdict().get("list") or "") or ["*"]
    return Remedy("anthropic-beta", (), {"refuses_betas": tuple(dict.fromkeys((*refused.quirks.refuses_betas, *words[:20])))})


def _tool(found: re.Match[str], refused: RefusedRequest) -> Remedy:
    """A tool that the provider runs elsewhere; the choice of it is removed with it."""
    edits = refused.same(f"tools - {found['tool']}") + (refused.same("tool_choice") if _forces_it(found, refused) else ())
    return Remedy(f"tools: {found['tool']}", edits, {"search_tool": ""} if found["tool"].startswith("web_search") else {})


def _additional(_found: re.Match[str], refused: RefusedRequest) -> Remedy | None:
    """Tools in the items of the input, which only OpenAI has."""
    items = refused.request.get("input")
    present = isinstance(items, list) and any(at(item, "type") == "additional_tools" for item in items)
    return Remedy("input: top_tools", ("input: top_tools",)) if present and not refused.translated else None


_HOSTED = rf"(?P<tool>{HOSTED_TOOLS})"


def _hosted(found: re.Match[str], refused: RefusedRequest) -> Remedy | None:
    """Tools that the upstream does not run: the named type, or all of them where only functions are supported."""
    tools = refused.request.get("tools")
    types = {kind for tool in tools if isinstance(kind := at(tool, "type"), str)} if isinstance(tools, list) else set()
    named = found.groupdict().get("tool")
    hosted = sorted(kind for kind in types if re.fullmatch(_HOSTED, kind) and named in (None, kind))
    if not hosted:
        return None
    edits = refused.same(f"tools - {' '.join(hosted)}")
    edits += refused.same("tool_choice") if at(refused.request, "tool_choice.type") in hosted else ()
    return Remedy(f"tools: {' '.join(hosted)}", edits, {"search_tool": ""} if hosted[-1].startswith("web_search") else {})


def _forces_it(found: re.Match[str], refused: RefusedRequest) -> bool:
    choice = refused.request.get("tool_choice")
    tools = refused.request.get("tools")
    names = [tool.get("name") for tool in tools if tool.get("type") == found["tool"]] if isinstance(tools, list) else []
    return isinstance(choice, Mapping) and choice.get("name") in names


def _temperature(_found: re.Match[str], refused: RefusedRequest) -> Remedy:
    """Sampling options, which the model no longer accepts."""
    names = [name for name in ("temperature", "top_p", "top_k") if name in refused.request]
    return Remedy("temperature", tuple(names), {"sampling": "none"})


Q = r"[`'\"]?"
RULES: Sequence[tuple[str, str, MakeRemedy]] = (
    # APIs, pattern, remedy: from error bodies that providers sent
    ("chat", r"function tools with reasoning_effort are not supported", _with_tools),
    (
        "chat responses",
        (
            r"'required' is required to be supplied and to be an array including|"
            r"'?additionalProperties'? is required to be supplied and to be false"
        ),
        less_strict,
    ),
    (
        "chat responses",
        (
            r"schema must (?:be|have) (?:a )?(?:type|JSON Schema of)|invalid schema for function|"
            r"invalid_function_parameters|array schema missing items"
        ),
        _schema,
    ),
    (
        "responses",
        (
            r"of type 'reasoning' was provided without its required following item|invalid_encrypted_content|"
            r"encrypted content .{0,80}could not be"
        ),
        _thoughts,
    ),
    (
        "chat responses messages",
        (
            r"thinking\.type\.(?P<kind>\w+)\W{1,4}is not supported.{0,80}?"
            r"use \W{0,2}thinking\.type\.(?P<right>\w+)"
        ),
        _kind,
    ),
    ("messages", r"thinking\.type\.(?P<kind>\w+)\W{1,4}(?:is )?not supported", _kind),
    ("messages", r"(?P<kind>adaptive|between_tools) thinking is not supported", _kind),
    ("messages", r"thinking (?:cannot|can not|may not) be (?P<kind>disabled)", _kind),
    (
        "messages",
        r"effort.{0,40}is not supported when thinking is disabled",
        _facts("output_config.effort", "output_config.effort in low medium high"),
    ),
    ("messages", r"does not support the effort parameter", _facts("output_config.effort", "output_config.effort", efforts=())),
    (
        "messages",
        r"tool_choice.{0,60}are not supported for this model|tool_choice.{0,40}not supported for this model",
        lambda _found, refused: Remedy("tool_choice", refused.same(refused.free_choice), {"forced_choice": "never"}),
    ),
    ("chat messages", r"thinking may not be enabled when tool_choice forces|tool_choice.{0,80}forces? tool use", _forced),
    (
        "chat",
        r"thinking mode does not support this tool_choice|tool_choice .{1,20} is incompatible with thinking",
        _while_thinking("tool_choice", "thinking", forced_choice="unless_thinking"),
    ),
    (
        "chat",
        r"tool_choice parameter does not support being set to .{0,40}in thinking mode",
        _while_thinking("tool_choice", "enable_thinking", forced_choice="unless_thinking"),
    ),
    ("chat", r"json mode response is not supported when enable_thinking", _while_thinking("response_format", "enable_thinking")),
    (
        "chat",
        r"enable_thinking must be set to false for non-streaming",
        _while_thinking("enable_thinking", "enable_thinking", stream_to_think=True),
    ),
    (
        "chat messages",
        (
            r"does not support assistant message prefill|conversation must end with a user message|"
            r"expected last role user or tool"
        ),
        _kept("user_last", prefill=""),
    ),
    ("messages", r"role .?system.? is not supported on this model", _kept("system_first", system_inside=False)),
    (
        "chat responses",
        r"system messages are not allowed|role .?system.? is not (?:supported|allowed)",
        _facts(
            "input[].role",
            "input[].role in developer user assistant",
            "messages[].role in developer user assistant tool",
            developer="only",
        ),
    ),
    (
        "chat responses",
        (
            r"tokenization failed|(?:unknown|unsupported|invalid|unexpected)[^\n]{0,40}role.{0,60}developer|"
            r"role.{0,60}developer|unknown variant .?developer|invalid value: .?developer|\bdeveloper\W{1,3}is not one of|"
            r"\brole\W{1,3}input should be (?!.*developer)"
        ),
        _roles,
    ),
    (
        "chat",
        (
            r"system message must be at the beginning|system (?:message|role) (?:must|should) be (?:the )?first|"
            r"(?:multiple|several|only one) system message"
        ),
        _kept("system_first", system_inside=False),
    ),
    ("messages", r"expected .?thinking.? or .?redacted_thinking.?, but found", _facts("thinking", "thinking", once=True)),
    (
        "messages",
        (
            r"thinking.{0,5} block|thinking\.signature|bound to a different conversation|"
            r"each thinking block must contain"
        ),
        _thoughts,
    ),
    ("messages", r"unexpected value\(s\) (?P<list>.{1,600}?) for the .{0,3}anthropic-beta|invalid beta flag", _betas),
    ("messages", r"stop_sequences.{0,60}non-whitespace", _facts("stop_sequences", "stop_sequences", once=True)),
    (
        "messages chat",
        (
            r"text content blocks must|must contain non-whitespace|cannot end with trailing whitespace|"
            r"content (?:must|may|can) ?not be (?:empty|blank)"
        ),
        _kept("no_blank", blank=False, empty_content=False, empty_results=False),
    ),
    (
        "messages",
        r"maximum of 4 blocks with cache_control|ttl=.1h. cache_control block must not come after",
        _facts("cache_control", "**.cache_control", once=True),
    ),
    ("messages chat responses", r"does not support oneof, allof, or anyof at the top level", rule("root")),
    ("messages chat", r"property keys should match pattern", rule("names")),
    ("messages chat", r"json schema is invalid|must match json schema draft", rule("refs")),
    (
        "chat responses messages",
        (
            r"'?additionalproperties'? must be explicitly set to false|schema is too complex|"
            r"compiled grammar is too large|too many (?:strict|optional)"
        ),
        less_strict,
    ),
    (
        "messages",
        r"budget_tokens.{0,40}greater than or equal to 1024",
        _facts("thinking.budget_tokens", "thinking.budget_tokens >= 1024"),
    ),
    ("messages", r"max_tokens\W{0,2} must be greater than \W{0,2}thinking\.budget_tokens", _budget),
    ("messages", r"input tag '(?P<tool>(?:web_search|web_fetch|code_execution|advisor|tool_search_tool)\w*)' found using", _tool),
    ("responses", r"\badditional_tools\b|invalid 'input': value did not match any expected variant", _additional),
    (
        "chat responses messages",
        r"\btools\b.{0,40}description\W{1,4}empty string|\bdescription\b.{0,60}empty_string",
        _kept("described"),
    ),
    ("responses", r"only \W*(?:type\W*)?function\W* tools? (?:is|are) (?:supported|allowed|accepted)", _hosted),
    (
        "responses",
        (
            r"(?:(?:unsupported|unknown|unrecognized|invalid)[^.,\n]{0,40}?\btool[^.,\n]{0,20}?[`'\":\s]|unknown variant \W|"
            rf"tools\W{{0,2}}\d+\W{{0,2}}type\W{{1,3}}invalid value\W{{1,4}}){_HOSTED}\b"
        ),
        _hosted,
    ),
    ("responses", rf"\b{_HOSTED}{Q}(?: tools?)? (?:is|are) (?:not (?:supported|available|enabled|allowed)|unsupported)", _hosted),
    ("messages chat responses", rf"{Q}(?:temperature|top_p){Q} is deprecated for this model", _temperature),
    ("messages chat", r"temperature\W{0,2} and \W{0,2}top_p\W{0,2} cannot both be", _facts("top_p", "top_p", sampling="one")),
    ("messages chat", r"temperature\W{0,2} may only be set to 1", _facts("temperature", "temperature")),
    ("chat", r"unexpected role 'user' after role 'tool'", _kept("reply_after_tool", user_after_tool=False)),
    (
        "chat",
        (
            r"\bcontent\b(?!\W{0,2}\d).{0,40}(?:expected|must be|should be|to be)(?: of type)?(?: an?)?(?: valid)? ?"
            r"\W?str(?:ing)?\b(?! with)(?!.{0,20}\bnull)|"
            r"expected (?:a )?string at field \W?messages?\W.{0,12}content|"
            r"messages\W{0,2}\d+\W{1,3}invalid type: sequence, expected a string"
        ),
        _kept("text_content", parts=False, result_parts=False),
    ),
    (
        "chat",
        r"do(?:es)? not contain .{0,20}role of user|(?:at least one|needs? a|no) user (?:message|role|query)",
        _kept("has_user", needs_user=True),
    ),
    (
        "chat",
        (
            r"reasoning_content\W{0,2} in the thinking mode must be passed back|missing \W?reasoning_content|"
            r"reasoning_content is missing"
        ),
        _while_thinking("messages[].reasoning_content", "thinking", needs_replay=True, replay="reasoning_content"),
    ),
    (
        "messages",
        r"reasoning_content is missing|content\[\]\.thinking\W{1,3}in the thinking mode must be passed back",
        _facts("thinking", 'thinking = {"type": "disabled"}', once=True),
    ),
    ("messages chat", r"\btype\W{1,3}must be (?:in|one of) (?P<kinds>\[[^\]]*\bdisabled\b[^\]]*\])", _kinds),
    (
        "chat",
        (
            r"response_format(?: type|\.type).{0,20}(?:json_schema.{0,5} )?is unavailable|"
            r"json_schema.{0,40}(?:not (?:supported|available|enabled|in)|unsupported|enabled only)|"
            r"(?:does not|doesn't) support.{0,40}json_schema"
        ),
        without_schema,
    ),
    (
        "chat",
        (
            r"(?:both|only one of|combination of|either) .{0,20}\b"
            r"(?:thinking\W.{0,20}reasoning_effort|reasoning_effort.{0,20}thinking)|"
            r"\b(?:thinking\W{1,3}(?:and|with) \W?reasoning_effort|reasoning_effort\W{1,3}(?:and|with) \W?thinking)\b"
            r".{0,60}(?:mutually exclusive|together|at the same time|both)"
        ),
        _either_switch,
    ),
    ("chat", r"only type=enabled is allowed", _facts("thinking", "thinking", can_stop_thinking=False)),
    ("chat", r"moonshot flavored json schema", rule("root moonshot")),
    ("chat", r"could not understand the instance", rule("bare_required")),
    (
        "chat",
        r"does not support thinking|does not support reasoning effort",
        _facts("reasoning_effort", "reasoning_effort", "think", "reasoning", efforts=()),
    ),
    (
        "chat responses",
        r"reasoning is mandatory",
        _facts("reasoning", "reasoning", "reasoning_effort in minimal low medium high", can_stop_thinking=False),
    ),
    (
        "chat",
        r"invalid tool_choice type: 'object'",
        _facts("tool_choice", "tool_choice in required auto none", named_choice=False),
    ),
    (
        "chat",
        r"tools\W{0,2} (?:is|are) incompatible with \W{0,2}response_format|json mode cannot be combined with tool",
        lambda _found, refused: Remedy("response_format", refused.same("response_format"), {"json_with_tools": False}),
    ),
    (
        "chat",
        r"string_above_max_length.{0,80}tool_call|tool_call.{0,80}maximum length 40",
        _facts("messages[].tool_calls[].id", tool_id="40"),
    ),
    ("responses", r"call_id.{0,80}maximum length 64", _facts("input[].call_id", tool_id="64")),
    ("chat messages", r"(?:tool_use_id|tool_use\.id|\.id|call_id).{0,20}string should match pattern .{1,60}", _pattern),
    ("chat responses", r"must contain the word .?json", _kept("json_word", json_word=True)),
    (
        "chat messages responses",
        (
            r"must be followed by tool messages|must be a response to a prec\w+ message|no tool output found for function call|"
            r"no tool call found for function call output|ids were found without .{0,3}tool_result|"
            r"unexpected .{0,3}tool_use_id.{0,3} found|tool_result.{0,60}must have a corresponding|"
            r"tool call result does not follow|not the same number of function calls and responses"
        ),
        _kept("pairs"),
    ),
    ("chat messages responses", r"dimensions? exceeds?.{0,80}? (?P<n>\d+) pixels", _images("image_pixels")),
    ("chat messages responses", r"image exceeds .{0,60}? (?:> |limit of |at most )(?P<n>\d+) bytes", _images("image_bytes")),
    ("chat messages responses", r"too (?:much media|many images).{0,80}? > (?P<n>\d+)", _images("images")),
    ("chat messages responses", r"(?:at most|maximum of|up to|limit of|no more than) (?P<n>\d+) images?\b", _images("images")),
    ("chat", r"tool_choice.{0,12}only auto", _facts("tool_choice", "tool_choice in auto none", forced_choice="never")),
    ("chat responses messages", r"\b(?P<name>\w+) must be (?:set to )?[`'\"]?(?P<value>true|false)\b", _needed),
)
"""The first matching row applies."""

COMPILED = [(apis.split(), re.compile(pattern, re.IGNORECASE | re.DOTALL), make) for apis, pattern, make in RULES]
