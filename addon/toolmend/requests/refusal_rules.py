"""Refusals that concern more than the field they name: a row is the APIs, what the text holds, and what is done.

    ("messages", r"does not support the effort parameter", …)      no effort is asked of this model any more
    ("chat", r"thinking mode does not support this tool_choice", …)     thinking is disabled where a tool is demanded

Sources: public reports, as upstreams word them; a text is the same wherever the model is served, so no row is for a host.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from ..core.fastclass import value
from .refusal_places import MAX_ENTRIES, Places, at
from .request_limits import Quirks
from .schemas import OPTIONAL


@value
class Remedy:
    """What is changed.

    `path`: what is refused, without indices. `edits`: changes of the request, as edits.edit_of reads them; `facts`: fields of
    Quirks, by which it is translated anew. `once`: it is a matter of this conversation, and not of the model.
    """

    path: str
    edits: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    once: bool = False


class Asked:
    """The request that was refused, and what was known of its upstream. `translated`: from another API, so that facts count."""

    def __init__(self, request: Mapping[str, Any], api: str, quirks: Quirks, *, translated: bool = True) -> None:
        self.request, self.api, self.quirks, self.translated = request, api, quirks, translated
        self.places = Places(request)

    @property
    def free_choice(self) -> str:
        """The edit that lets no tool be forced: in Messages the choice is an object."""
        return "tool_choice" if self.api == "messages" else "tool_choice in auto none"

    def same(self, *edits: str) -> tuple[str, ...]:
        """Edits for a request in the client's own API, for which facts count nothing."""
        return () if self.translated else edits


type Cure = Callable[[re.Match[str], Asked], Remedy | None]


def _facts(path: str, *edits: str, once: bool = False, **facts: Any) -> Cure:
    return lambda _found, _asked: Remedy(path, edits, facts, once)


_SCHEMA = {"chat": "tools[].function.parameters", "messages": "tools[].input_schema", "responses": "tools[].parameters"}
"""Where the schemas of tools are."""


def rule(name: str) -> Cure:
    """Rules of schemas.py are needed."""

    def cure(_found: re.Match[str], asked: Asked) -> Remedy:
        rules = asked.quirks.schema_rules
        more = tuple(rule for rule in ("valid", *name.split()) if rule not in rules)
        path = _SCHEMA[asked.api]
        return Remedy(path, asked.same(f"{path} ~ {' '.join(('valid', *name.split()))}"), {"schema_rules": (*rules, *more)})

    return cure


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
"""Where the schema of the answer's format is."""


def keyword(name: str, asked: Asked, *, of_format: bool = False) -> Remedy:
    """A keyword that is not known in schemas: of tools, or of the answer's format."""
    if of_format:
        path = _FORMAT[asked.api]
        return Remedy(f"{path}.{name}", (f"{path} ~ -{name}",))
    if name in _OF_KEYWORD:
        return rule(_OF_KEYWORD[name])(_NONE, asked)  # type: ignore[return-value]
    lacks = tuple(dict.fromkeys((*asked.quirks.schema_lacks, name)))
    return Remedy(f"schema.{name}", asked.same(f"{_SCHEMA[asked.api]} ~ -{name}"), {"schema_lacks": lacks})


_NONE: Any = None


def _kind(found: re.Match[str], asked: Asked) -> Remedy:
    """A kind of `thinking` is refused; which ones are taken may be told."""
    wrong, right = found["kind"].lower(), [word for word in (found.groupdict().get("right") or "").lower().split() if word]
    known = [kind for kind in asked.quirks.thinking_kinds if kind != wrong]
    kinds = tuple(dict.fromkeys([*right, *known])) if set(right) <= _KINDS else tuple(known)
    edits = asked.same("thinking")
    facts = {"thinking_kinds": kinds, "display": "adaptive" in kinds} if asked.api == "messages" else {}
    return Remedy("thinking.type", edits, facts)


def thinking_kinds(words: Sequence[str], asked: Asked) -> Remedy | None:
    """The kinds of `thinking` that are taken."""
    kinds = tuple(word for word in words if word in _KINDS)
    facts = {"thinking_kinds": kinds, "display": "adaptive" in kinds} if asked.api == "messages" else {}
    return Remedy("thinking.type", ("thinking",) if not facts else asked.same("thinking"), facts) if kinds else None


_KINDS = frozenset({"enabled", "adaptive", "disabled", "between_tools"})


def _forced(found: re.Match[str], asked: Asked) -> Remedy:  # noqa: ARG001
    """Forced tools while the model thinks."""
    quirks = asked.quirks
    off = {"forced_choice": "unless_thinking"} if asked.api == "messages" or quirks.thinking in _SWITCHES else {}
    return Remedy("tool_choice", asked.same(asked.free_choice), off or {"forced_choice": "never"}, once=not asked.translated)


_SWITCHES = ("thinking", "enable_thinking", "reasoning", "reasoning_switch", "template")


_OFF = {"thinking": ('thinking = {"type": "disabled"}', "reasoning_effort"), "enable_thinking": ("enable_thinking = false",)}
"""How thinking is disabled, by the switch."""


_STRICT = ("response_format.json_schema.strict", "text.format.strict")
"""Where the schema of the answer's format is strict."""


def _while_thinking(path: str, thinking: str, **facts: Any) -> Cure:
    """What cannot be while a model thinks, where the text is that of a host whose switch is known."""
    known = {"thinking": thinking, "thinks": True, **facts}
    return lambda _found, asked: Remedy(path, asked.same(*_OFF[thinking]), known, once=not asked.translated)


def strictly(found: re.Match[str], asked: Asked) -> Remedy:
    """A strict tool, or the answer's format, is too much for the upstream."""
    of_format = found is not None and re.search(r"response_format|text\.format", found.string)
    if of_format and (path := next((path for path in _STRICT if at(asked.request, path)), "")):
        return Remedy(path, (f"{path} = false",))
    strict = any(at(asked.request, path) for path in ("tools[].strict", "tools[].function.strict"))
    if strict:
        path = "tools[].function.strict" if asked.api == "chat" else "tools[].strict"
        return Remedy(path, (path,), {"strict": False})
    form = {"chat": "response_format", "responses": "text.format", "messages": "output_config.format"}.get(asked.api, "")
    return Remedy(form, asked.same(form), {"json_schema": False})


_UNFIT = re.compile(
    r"[`'\"](?P<word>[\w$]+)[`'\"] is not (?:permitted|allowed|supported)|is not a '?regex|unsupported (?:pattern|regex)"
)


def _schema(found: re.Match[str], asked: Asked) -> Remedy | None:
    """A schema of a tool is refused: for one keyword, or for its form."""
    unfit = _UNFIT.search(found.string)
    word = (unfit["word"] or "pattern") if unfit else ""
    return keyword(word, asked) if word in OPTIONAL else rule("items refs root")(found, asked)


def no_schema(_found: re.Match[str], asked: Asked) -> Remedy:
    """The answer's format cannot have a schema."""
    edits = asked.same("response_format")
    return Remedy("response_format.type", edits, {"json_schema": False, "json_word": True})


def _with_tools(_found: re.Match[str], asked: Asked) -> Remedy:
    """No effort beside tools at Chat Completions; where none was sent, it is the default one that is too much."""
    if "reasoning_effort" in asked.request and "none" not in asked.quirks.efforts:
        return Remedy("reasoning_effort", asked.same("reasoning_effort"), {"effort_with_tools": "omit"})
    edits = asked.same('reasoning_effort = "none"')
    return Remedy("reasoning_effort", edits, {"effort_with_tools": "none"}, once=not asked.translated)


def _either_switch(_found: re.Match[str], asked: Asked) -> Remedy:
    path = "reasoning_effort" if asked.quirks.thinking in ("thinking", "enable_thinking", "template") else "thinking"
    return Remedy(path, (path,))


def _roles(_found: re.Match[str], asked: Asked) -> Remedy | None:
    """A role that is not known; a developer's words are the system's elsewhere, and the other way round."""
    roles = {at(entry, "role") for entry in (at(asked.request, "messages") or at(asked.request, "input") or [])[:MAX_ENTRIES]}
    where = "input[].role" if asked.api == "responses" else "messages[].role"
    if "developer" in roles:
        return Remedy(where, (f"{where} in system user assistant tool",), {"developer": ""})
    if "system" in roles and asked.api == "messages":
        return Remedy(where, (), {"system_inside": False})
    return Remedy(where, (f"{where} in developer user assistant tool",), {"developer": "only"}) if "system" in roles else None


def _thoughts(_found: re.Match[str], asked: Asked) -> Remedy | None:
    """Thoughts of earlier turns that the upstream does not take back: without them for this time."""
    match asked.api:
        case "messages":
            return Remedy("messages[].content", ("messages[].content - redacted_thinking thinking",), once=True)
        case "responses":
            return Remedy("input", ("input - reasoning",), once=True)
    paths = [f"messages[].{name}" for name in ("reasoning_content", "reasoning", "reasoning_details")]
    found = tuple(path for path in paths if at(asked.request, path) is not None)
    return Remedy(found[0], found, once=True) if found else None


def _budget(_found: re.Match[str], asked: Asked) -> Remedy | None:
    most = at(asked.request, "max_tokens")
    if not isinstance(most, int) or most <= 1024:
        return Remedy("thinking", ("thinking",), once=True)
    return Remedy("thinking.budget_tokens", (f"thinking.budget_tokens <= {most - 1}",), once=True)


def _needed(found: re.Match[str], asked: Asked) -> Remedy | None:
    """`Stream must be set to true`; of the fields that have such values."""
    name = found["name"].lower()
    if name not in ("store", "stream", "enable_thinking", "parallel_tool_calls", "logprobs", "background"):
        return None
    if name == "stream" and not asked.translated:
        return None  # the client reads a whole answer
    return Remedy(name, (f"{name} = {found['value'].lower()}",))


_STYLES = (("{9}", "mistral"), ("functions", "kimi"), ("{1,40}", "40"), ("{1,64}", "64"), ("_-", "messages"))
"""What a pattern of ids has in it, and the row of tool_ids.STYLES that fits it."""


def _pattern(found: re.Match[str], asked: Asked) -> Remedy | None:
    """Ids that are not taken; names are fitted already, and those of properties have a rule."""
    style = next((name for sign, name in _STYLES if sign in found[0]), "messages" if asked.api == "messages" else "")
    return Remedy("tools[].id", (), {"tool_id": style}) if asked.translated and style else None


def _betas(found: re.Match[str], asked: Asked) -> Remedy | None:
    """Words of the header `anthropic-beta`; where none is named, all of them."""
    words = re.findall(r"[`'\"]([\w.-]{1,80})[`'\"]", found.groupdict().get("list") or "") or ["*"]
    return Remedy("anthropic-beta", (), {"refuses_betas": tuple(dict.fromkeys((*asked.quirks.refuses_betas, *words[:20])))})


def _temperature(_found: re.Match[str], asked: Asked) -> Remedy:
    """None of the three is taken any more."""
    names = [name for name in ("temperature", "top_p", "top_k") if name in asked.request]
    return Remedy("temperature", tuple(names), {"sampling": "none"})


Q = r"[`'\"]?"
RULES: Sequence[tuple[str, str, Cure]] = (
    # APIs, what the text holds, what to do: from error bodies that providers sent
    ("chat", r"function tools with reasoning_effort are not supported", _with_tools),
    (
        "chat responses",
        (
            r"'required' is required to be supplied and to be an array including|"
            r"'?additionalProperties'? is required to be supplied and to be false"
        ),
        strictly,
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
        lambda _found, asked: Remedy("tool_choice", asked.same(asked.free_choice), {"forced_choice": "never"}),
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
        _facts("messages", prefill=""),
    ),
    ("messages", r"role .?system.? is not supported on this model", _facts("messages[].role", system_inside=False)),
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
            r"role.{0,60}developer|unknown variant .?developer"
        ),
        _roles,
    ),
    (
        "chat",
        (
            r"system message must be at the beginning|system (?:message|role) (?:must|should) be (?:the )?first|"
            r"(?:multiple|several|only one) system message"
        ),
        _facts("messages", system_inside=False),
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
        _facts("messages[].content", blank=False, empty_content=False, empty_results=False),
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
        strictly,
    ),
    (
        "messages",
        r"budget_tokens.{0,40}greater than or equal to 1024",
        _facts("thinking.budget_tokens", "thinking.budget_tokens >= 1024"),
    ),
    ("messages", r"max_tokens\W{0,2} must be greater than \W{0,2}thinking\.budget_tokens", _budget),
    ("messages", r"input tag '(?:web_search|web_fetch|code_execution)\w*' found using 'type'", _facts("tools[]", search_tool="")),
    ("messages chat responses", rf"{Q}(?:temperature|top_p){Q} is deprecated for this model", _temperature),
    ("messages chat", r"temperature\W{0,2} and \W{0,2}top_p\W{0,2} cannot both be", _facts("top_p", "top_p", sampling="one")),
    ("messages chat", r"temperature\W{0,2} may only be set to 1", _facts("temperature", "temperature")),
    ("chat", r"unexpected role 'user' after role 'tool'", _facts("messages[].role", user_after_tool=False)),
    (
        "chat",
        (
            r"reasoning_content\W{0,2} in the thinking mode must be passed back|missing \W?reasoning_content|"
            r"reasoning_content is missing"
        ),
        _while_thinking("messages[].reasoning_content", "thinking", needs_replay=True, replay="reasoning_content"),
    ),
    (
        "chat",
        (
            r"response_format(?: type|\.type).{0,20}(?:json_schema.{0,5} )?is unavailable|"
            r"json_schema.{0,40}(?:not (?:supported|available|enabled|in)|unsupported|enabled only)|"
            r"(?:does not|doesn't) support.{0,40}json_schema"
        ),
        no_schema,
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
        lambda _found, asked: Remedy("response_format", asked.same("response_format"), {"json_with_tools": False}),
    ),
    (
        "chat",
        r"string_above_max_length.{0,80}tool_call|tool_call.{0,80}maximum length 40",
        _facts("messages[].tool_calls[].id", tool_id="40"),
    ),
    ("responses", r"call_id.{0,80}maximum length 64", _facts("input[].call_id", tool_id="64")),
    ("chat messages", r"(?:tool_use_id|tool_use\.id|\.id|call_id).{0,20}string should match pattern .{1,60}", _pattern),
    ("chat", r"must contain the word .?json", _facts("response_format", json_word=True)),
    ("chat", r"tool_choice.{0,12}only auto", _facts("tool_choice", "tool_choice in auto none", forced_choice="never")),
    ("chat responses messages", r"\b(?P<name>\w+) must be (?:set to )?[`'\"]?(?P<value>true|false)\b", _needed),
)
"""The first that fits counts."""

COMPILED = [(apis.split(), re.compile(pattern, re.IGNORECASE | re.DOTALL), cure) for apis, pattern, cure in RULES]
