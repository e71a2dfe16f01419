"""Parses an upstream's refusal of a request: which field or value it names, and the remedy with which the request passes.

    {"error":{"message":"Unsupported parameter: 'store'…","param":"store"}}     Remedy("store", edits=("store",))
    {"detail":[{"loc":["body","messages",1,"name"],"type":"extra_forbidden"}]}  Remedy("messages[].name", edits=(…))
    "`temperature` is deprecated for this model"                                Remedy("temperature", facts={"sampling": "none"})

Names in a refusal are looked up in the request that was sent, and ignored if it lacks them. The rows of refusal_rules.py come
first, then renamed fields, enumerations and limits, then fields to drop.

1. The error text is untrusted: a remedy contains paths of the request, numbers and known words, never text of the error.
2. A remedy never removes the conversation, the tools or the model: see edits.py.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from ..apis.messages.errors import too_long
from ..apis.shared.errors import read_fault
from ..core.fastclass import replace
from .edits import KEPT, WORDS, Edit, is_edit, text_of
from .efforts import WORDS as EFFORTS
from .estimate import tokens
from .fields import words
from .refusal_body import MAX_BODY, MAX_SHOWN, MAX_WORDS, STATUSES, Problem, problems
from .refusal_places import SAME, SCHEMAS, TOKEN, Places, at, snake
from .refusal_rules import COMPILED, Q, RefusedRequest, Remedy, keyword, less_strict, rule, thinking_kinds, without_schema
from .schemas import OPTIONAL

MAX_REMEDIES = 8


def remedies(status: int, body: bytes, refused: RefusedRequest) -> tuple[Remedy, ...]:
    """The remedies for a refusal; empty if it names nothing that can be changed."""
    if status not in STATUSES or len(body) > MAX_BODY or not body.strip():
        return ()
    found = problems(body)
    if _NEVER.search(" ".join(f"{problem.code} {problem.text}" for problem in found)) or read_fault(status, body).overflow:
        return ()
    known: dict[str, Remedy] = {}
    for problem in found:
        for remedy in _remedies(problem, refused):
            known.setdefault(remedy.path, remedy)
    return tuple(_joined(islice(known.values(), MAX_REMEDIES)))


def _joined(found: Iterable[Remedy]) -> Iterator[Remedy]:
    """The remedies; the words of the same fact are added to those of the remedies before."""
    words: dict[str, tuple[str, ...]] = {}
    for remedy in found:
        for name in ("schema_lacks", "schema_rules", "refuses_betas"):
            if name in remedy.facts:
                words[name] = tuple(dict.fromkeys((*words.get(name, ()), *remedy.facts[name])))
        yield replace(remedy, facts={name: words.get(name, given) for name, given in remedy.facts.items()})


def shorter_remedy(status: int, body: bytes, refused: RefusedRequest) -> Remedy | None:
    """The remedy for a request for a summary that exceeds the model's context: the conversation is reduced to what fits.

    The context is counted as estimate.tokens counts; the upstream's own numbers give the ratio.
    """
    fault = read_fault(status, body[:MAX_BODY])
    if status not in STATUSES or not fault.overflow:
        return None
    counts = _TOO_LONG.search(too_long(fault.message))
    count, maximum = (int(counts[1]), int(counts[2])) if counts else (0, 0)
    ratio = maximum / count if count > maximum + 1 else _SHORTER
    return Remedy("context", facts={"context": int(tokens(refused.request, refused.api) * ratio)}, once=True)


_TOO_LONG = re.compile(r"(\d+) tokens > (\d+) maximum")
_SHORTER = 0.7
"""The share of a conversation that is kept if the upstream does not count its tokens."""


def shown_text(body: bytes, refused: RefusedRequest) -> str:
    """The upstream's error text for the user, without quoted values, which may be the user's data."""
    if len(body) > MAX_BODY:
        return ""
    texts = dict.fromkeys(problem.text for problem in problems(body) if problem.text)
    return " ".join(_without_values("; ".join(texts)[:MAX_WORDS], refused.places).split())[:MAX_SHOWN]


_NEVER = re.compile(
    r"content[ _-]?(?:filter|policy|management)|moderation|safety (?:system|policy)|usage polic|blocked by|flagged"
    r"|insufficient[ _](?:quota|balance|credit)|billing|payment|api[ _-]?key|unauthori[sz]ed|authenticat"
    r"|rate.?limit|too many requests|overloaded|tool_use_failed|unsupported_api_for_model|model_not_found"
    r"|requires --enable-auto-tool-choice|does not support (?:tools|function calling|tool (?:use|calling))"
    r"|no endpoints found|(?:model|deployment)\S* (?:[`'\"]?\S+[`'\"]? )?(?:does not exist|was not found|not found|is not available)",
    re.IGNORECASE,
)
"""Refusals that no allowed change of the request resolves."""


def _remedies(problem: Problem, refused: RefusedRequest) -> Iterator[Remedy]:
    text = f"{problem.place}: {problem.text} {problem.code}" if problem.place else f"{problem.text} {problem.code}"
    for apis, pattern, make in COMPILED:
        if refused.api in apis and (found := pattern.search(text)) and (remedy := _allowed(make(found, refused))):
            yield remedy
            return
    text = problem.text.replace("invalid type: ", "unexpected ")  # the type is not the field of that name
    problem = replace(problem, text=_with_field_names(text, refused.request))
    for find in (_keyword, _renamed, _enumeration, _limits):
        if remedy := _allowed(find(problem, refused)):
            yield remedy
            return
    yield from filter(None, map(_allowed, _dropped(problem, refused)))


_EFFORT = re.compile(r"\b(?:reasoning|think(?:ing)?)[ _](?:effort|level|value)\b", re.IGNORECASE)
_MAX_TOKENS = re.compile(r"\bmax(?:imum)? (?:output )?tokens\b", re.IGNORECASE)


def _with_field_names(text: str, request: Mapping[str, Any]) -> str:
    """The text with field names in place of the phrases that servers use for them, such as "reasoning effort"."""
    effort = ("reasoning_effort", "reasoning.effort", "output_config.effort", "think")
    for words_, paths in ((_EFFORT, effort), (_MAX_TOKENS, SAME[0])):
        if path := next((path for path in paths if at(request, path) is not None), ""):
            text = words_.sub(path, text)
    return text


def _allowed(remedy: Remedy | None) -> Remedy | None:
    """The remedy without edits that are not allowed; None if nothing remains."""
    if remedy is None:
        return None
    kept = tuple(edit for edit in remedy.edits if is_edit(edit))
    return replace(remedy, edits=kept) if kept or remedy.facts else None


_KEYWORD = re.compile(
    r"(?:property|keyword|field)s? [`'\"](\$?\w+)[`'\"] (?:is|are) (?:not|un)"
    r"|unknown name [`'\"](\$?\w+)[`'\"] (?:at|in) [`'\"][^`'\"]{0,200}?(?:parameters|schema|function_declarations\[\d+\]\.\*)"
    r"|\b(?:parameters|input_schema|schema)\b[\w.\[\]]{0,200}?(?<!properties)\.(\$?\w+): only "
    r"|for [`'\"]?\w+[`'\"]? type, propert(?:y|ies) [`'\"]?(\$?\w+)[^.]{0,80} not supported",
    re.IGNORECASE,
)
_IN_SCHEMA = re.compile(r"parameters|schema|type, propert|function_declarations", re.IGNORECASE)
_OF_FORMAT = re.compile(r"output_config|response_format|text\.format|\bformat\.")


def _keyword(problem: Problem, refused: RefusedRequest) -> Remedy | None:
    """An unknown keyword of JSON Schema."""
    found = _KEYWORD.search(problem.text)
    if not (found and _IN_SCHEMA.search(f"{problem.place} {problem.text}")):
        return None
    name = next(filter(None, found.groups()))
    if name == "type":  # refused together with a union
        return rule("root moonshot")(found, refused)
    of_format = _OF_FORMAT.search(f"{problem.place} {problem.text}") is not None
    return (
        keyword(name, refused, of_format=of_format)
        if name in OPTIONAL or name in ("$ref", "$defs", "anyOf", "oneOf", "allOf")
        else None
    )


# fields, words, limits

_P = r"(?P<p>[A-Za-z_$][\w$.\[\]-]{0,120}[\w\]])"
_MOVED = re.compile(rf"moved to {Q}{_P}", re.IGNORECASE)
_INSTEAD = re.compile(rf"use {Q}{_P}{Q} instead|did you mean to use {Q}{_P.replace('<p>', '<q>')}", re.IGNORECASE)
_TARGETS = words(
    "max_tokens max_completion_tokens max_output_tokens reasoning_effort reasoning.effort reasoning text.format text.verbosity "
    "response_format random_seed seed stop stop_sequences safety_identifier prompt_cache_key user tool_choice verbosity "
    "output_config.effort output_config.format thinking enable_thinking reasoning_content"
)
"""New names that a renamed field may have."""

_NAMED = (
    (
        rf"(?:unsupported|unknown|unrecognized|unexpected|invalid|extra|extraneous|disallowed)(?: request)? "
        rf"(?:parameter|argument|field|key|property|option|value|request argument)s?(?: supplied| provided)?(?: for| in)?:? {Q}{_P}"
    ),
    rf"{_P}{Q}: (?:extra inputs|extra fields|unknown field|unsupported|this field is not)",
    rf"\binvalid {Q}{_P}{Q}(?: value)?[:,]",
    rf"(?:#|\bbody)/{_P}\b",
    rf"struct field (?:\w+\.)?{_P} of type",
    rf"extra inputs are not permitted, field: {Q}{_P}",
    rf"unknown name {Q}{_P}",
    (
        rf"(?:property|properties|parameter|field|argument|option|key)s? {Q}{_P}{Q},? "
        rf"(?:should not exist|(?:is|are) (?:currently )?(?:not |un|no longer |disallowed|forbidden|deprecated))"
    ),
    rf"unknown field {Q}{_P}",
    rf"unexpected keyword argument {Q}{_P}",
    rf"(?:does not|doesn't|do not|not) support (?:the )?(?:parameter|argument|field|option|use of)s?:? {Q}{_P}",
    rf"not supported (?:on|by|for|with) this (?:model|endpoint|api|provider|deployment): {Q}{_P}",
    rf"(?:not permitted|not allowed|not supported|unsupported|not recognized): {Q}{_P}",
    rf"[`'\"]{_P}[`'\"] (?:is|are|was|were) (?:currently )?(?:not|un|no longer|deprecated|disallowed|forbidden|unexpected|ignored)",
    rf"(?:does not|doesn't|cannot|can't) (?:support|accept|take|use|set|handle) (?:the )?[`'\"]{_P}[`'\"]",
    (
        r"\b(?P<p>[a-z]+(?:[_.][a-z0-9]+)+|[a-z]+[A-Z]\w+|temperature|stop|seed|thinking|logprobs|store|metadata|verbosity)\b "
        r"(?:is|are) (?:currently )?(?:not |un|no longer |deprecated|disallowed|forbidden)"
    ),
    r"\b(?P<p>temperature|top_p|top_k|[a-z]+(?:_[a-z]+)+)\W{0,2} (?:must|should|may|can) ?(?:not be|be unset|be omitted|only be|cannot)",
    rf"(?:remove|omit|drop|unset) (?:the )?(?:parameter |field |property )?{Q}{_P}",
    rf"(?:does not|doesn't|do not|don't|cannot|can't) (?:support|accept|take|use|set|handle|allow) (?:the )?{_P}",
    rf"\b(?:the |parameter |field |option |argument |property )[`'\"\[]?{_P}[`'\"\]]? (?:option |parameter |field |argument |property )?(?:is |are )?(?:not|un|in)",
    rf"[`'\"\[/.]?\b{_P}[`'\"\]]? (?:is |are |was )?(?:not (?:supported|recognized|allowed|permitted|valid|a valid|known|available)|unsupported)",
    rf"\b{_P}[`'\"\]]?(?: -|:) (?:unexpected|unevaluated|unknown|unrecognized|not )",
    rf"\b{_P}[`'\"\]]? (?:cannot be|can't be|must not be|may not be|should not be|must be (?:omitted|unset|removed|null))",
)
_DROPPED = [re.compile(pattern, re.IGNORECASE | re.ASCII) for pattern in _NAMED]
_LISTED = re.compile(
    r"(?:unrecognized request arguments? supplied:|unrecognized key(?:\(s\)|s)?(?: in object)?:?|additional properties are not allowed"
    r"|unsupported json schema fields:|un(?:known|supported|expected|recognized) (?:parameter|field|argument)(?:s|\(s\))(?: in (?:the )?\w+)?:"
    r"|(?:does not|doesn't) support (?:the )?(?:following )?(?:parameters|fields|arguments|options):)\s*[({\[]?"
    r"(?P<list>(?:[`'\"]?[A-Za-z_][\w.]*[`'\"]?(?:: ?[^,{}\[\]]{1,40})?(?:,\s*|\s+and\s+)?)+)",
    re.IGNORECASE,
)
_AT = re.compile(r"(?:at|for|in) '(?P<at>[\w.\[\]/]+)'|^\W*'(?P<b>[\w.\[\]]+)' ?:", re.IGNORECASE)
_WORD = re.compile(r"(?<!: )(?<![\w.])[A-Za-z_][\w.]*")


def _renamed(problem: Problem, refused: RefusedRequest) -> Remedy | None:
    moved, instead = _MOVED.search(problem.text), _INSTEAD.search(problem.text)
    target = moved["p"] if moved else (instead["p"] or instead["q"]) if instead else ""
    if target not in _TARGETS:
        return None
    old = next((path for path in _named(problem, refused) if path != target and path.split(".")[0] not in KEPT), "")
    last = target.rpartition(".")[2]
    old = old or next((path for path in (f"reasoning_{last}", last, "response_format") if path in refused.request), "")
    if not old or target in refused.request or "[]" in old or "." in old:
        return None
    return Remedy(old, (text_of(Edit(old, "rename", target)),))


_WORDS_OF = re.compile(
    r"(?:(?<!un)supported (?:value|type|level|option|effort)s?(?: are| is)?|must be (?=[`'\"])|must be (?:one of|either)|expected (?:one of|`)|input should be|allowed values?(?: are| is)?"
    r"|valid (?:values|options|choices)(?: are)?|one of|options are|permitted(?: values)?(?: are)?|accepts? only|only supports?|choose (?:from|one of)|not in(?= \[)|(?<!un)expected)"
    r"[:\s]*(?P<list>.+)",
    re.IGNORECASE | re.DOTALL,
)
_SENT = re.compile(r"\[type=.*|,? (?:but|and) (?:got|received|was given)\b.*| \(default\)", re.IGNORECASE | re.DOTALL)
"""The value that was sent, after the accepted words, and "(default)" among them."""
_QUOTED = re.compile(r"[`'\"‘’“”]([A-Za-z][\w.-]{0,31})[`'\"‘’“”]")
_LOOSE = re.compile(r"[A-Za-z][\w.-]{0,31}")
_UNKNOWN_FIELD = re.compile(r"unknown field|extra inputs", re.IGNORECASE)
"""A list of words then has the fields that are known."""
_ONLY_DEFAULT = re.compile(r"only the default|only \S+ is (?:allowed|supported)", re.IGNORECASE)


def _enumeration(problem: Problem, refused: RefusedRequest) -> Remedy | None:
    """A value that is not one of the words the text lists."""
    if _ONLY_DEFAULT.search(problem.text) or _UNKNOWN_FIELD.search(problem.text):
        return None
    found = _WORDS_OF.search(_SENT.sub("", problem.text))
    if not found:
        return None
    listed = _QUOTED.findall(found["list"])
    if not listed and (inside := re.match(r"[\[({]([^\])}]*)", found["list"])):
        listed = _LOOSE.findall(inside[1])
    if not listed and re.match(r"(?:[\w-]+, )+", found["list"]):
        listed = [word for word in _LOOSE.findall(found["list"].split(".")[0]) if word not in ("or", "and")]
    words = tuple(dict.fromkeys(listed))[:20]
    for path in _named(problem, refused, by_value=True) or _valued(problem.text[: found.start("list")], refused.request):
        given = at(refused.request, path)
        if not isinstance(given, str) or given in words or not words:
            continue
        if path in ("reasoning_effort", "reasoning.effort", "output_config.effort"):
            words = tuple(word for word in (*EFFORTS, "default") if word in words)
            if not words:
                return Remedy(path, (path,), {"efforts": ()})
        if path.startswith("tool_choice"):
            return _without(path, refused)
        edit = Edit(path, "one_of", words)
        if path == "response_format.type":
            return without_schema(found, refused) if given == "json_schema" else Remedy("response_format", ("response_format",))
        if path == "thinking.type":
            return thinking_kinds(words, refused)
        return Remedy(path, (text_of(edit),)) if edit.allowed else None
    return None


def _valued(text: str, request: Mapping[str, Any]) -> Iterator[str]:
    """The paths of values that the text quotes, outside the conversation: `Invalid value: 'xhigh'`."""
    quoted = _QUOTED.findall(text)
    for name, given in request.items():
        if name in KEPT:
            continue
        if given in quoted:
            yield name
        elif isinstance(given, Mapping):
            yield from (f"{name}.{inner}" for inner, value in given.items() if value in quoted)


_N = r"[`'\"]?(?P<n>-?\d[\d,_]*(?:\.\d+)?)"
_MOST = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"> {_N},? which is the maximum",
        rf"(?:less than or equal to|<=|at most|no (?:more|greater|larger) than|not (?:be )?(?:greater|larger|more) than|cannot exceed|up to) {_N}",
        rf"(?:maximum|max|limit|upper bound)(?: allowed)?(?: (?:value|number|limit|output|length|tokens?)(?: (?:of|for) [a-z_ .]+?)?)?(?: (?:of|for) [`'\"]?[a-z_.]+[`'\"]?)?(?: allowed)?(?: is| of|:| =|=)? {_N}",
        rf"(?:between|range of?|in) [\[(]?-?[\d.,_]+?,? ?(?:and|,|to|-) ?{_N}",
        rf"(?:range|范围).{{0,40}}?[\[(]-?[\d.]+, ?{_N}[\])]",
        rf"to {_N} \(inclusive\)",
        rf"exceeds? [^\d]{{0,60}}{_N}",
    )
]
_BELOW = re.compile(rf"(?:less than|lower than|smaller than|below|<) {_N}|to {_N.replace('<n>', '<m>')} \(exclusive\)", re.IGNORECASE)
_LEAST = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:greater than or equal to|>=|at least|no (?:less|fewer|smaller) than|minimum(?: value)?(?: (?:of|for) [`'\"]?[a-z_.]+[`'\"]?)?(?: is| of|:)?) {_N}",
        rf"(?:between|range of?|in) [\[(]?{_N} ?(?:and|,|to)",
        rf"(?:range|范围).{{0,40}}?[\[(]{_N}, ",
    )
]
_ABOVE = re.compile(rf"(?:greater than|more than|larger than|above|(?<![<\d] )>) {_N}", re.IGNORECASE)
_LENGTH = re.compile(
    rf"(?:maximum(?= \d+ (?:items|elements|entries))|not have more than|maximum length|max(?:imum)? (?:number of )?(?:items|elements|entries|characters|sequences)|at most|up to|no more than|maximum of|"
    rf"should have at most|<=|length.{{0,30}}?(?:is|of|:)) {_N}(?! tokens)",
    re.IGNORECASE,
)


def _limits(problem: Problem, refused: RefusedRequest) -> Remedy | None:
    """A number out of range, or a list or text that is too long."""
    for path in _named(problem, refused, by_value=True):
        given = at(refused.request, path)
        if isinstance(given, list | str) and (found := _LENGTH.search(problem.text)):
            limit = int(_number(found))
            edit = Edit(path, "cut", limit)
            return Remedy(path, (text_of(edit),)) if edit.allowed and 0 < limit < len(given) else None
        if isinstance(given, bool) or not isinstance(given, int | float):
            continue
        if edit_ := _bound(problem.text, path, given):
            return Remedy(path, (text_of(edit_),))
    return None


_RATIOS = ("temperature", "top_p", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty")
"""Fields with fractions, which have no next number after an exclusive limit."""


def _bound(text: str, path: str, given: float) -> Edit | None:
    for pattern in _MOST:
        if (found := pattern.search(text)) and (most := _number(found)) < given:
            return Edit(path, "at_most", most) if most >= 1 or isinstance(given, float) else None
    for pattern in _LEAST:
        if (found := pattern.search(text)) and (least := _number(found)) > given:
            return Edit(path, "at_least", least)
    whole = isinstance(given, int) and path not in _RATIOS
    if whole and (found := _BELOW.search(text)) and 1 < (most := _number(found)) <= given:
        return Edit(path, "at_most", most - 1)
    if whole and (found := _ABOVE.search(text)) and (least := _number(found)) >= given:
        return Edit(path, "at_least", least + 1)
    return None


def _number(found: re.Match[str]) -> float:
    text = (found.groupdict().get("m") or found["n"]).replace(",", "").replace("_", "")
    return float(text) if "." in text else int(text)


_FORBIDDEN = re.compile(
    r"extra_forbidden|unknown_parameter|unsupported_(?:parameter|value)|extra inputs|extra fields|not permitted|unexpected|unknown|"
    r"unrecognized|unsupported|illegal|supported range|非法|不合法|不支持|无效|不允许|not (?:supported|allowed|recognized|available|valid|accepted|enabled)|does(?: not|n't) support|"
    r"malformed|invalid|deprecated|no longer|forbidden|must be|should be|may only|unset|removed|only the default|only \S+ is|cannot|incompatible|error|\bnot\b|unavailable|unevaluated",
    re.IGNORECASE,
)


def _dropped(problem: Problem, refused: RefusedRequest) -> Iterator[Remedy]:
    """Fields that are refused with any value."""
    if not _FORBIDDEN.search(f"{problem.text} {problem.code}"):
        return
    for path in _named(problem, refused):
        if path == "tool_choice" and (_is_free(refused.request.get(path)) or _UNKNOWN.search(f"{problem.text} {problem.code}")):
            yield Remedy(path, (path,))
        elif remedy := _without(path, refused):
            yield remedy


_UNKNOWN = re.compile(
    r"extra_forbidden|un(?:known|supported)_parameter|extra inputs|un(?:known|supported|recognized|expected) (?:request )?"
    r"(?:parameter|name|field|argument|key)|(?:argument|parameter|field|property) .{0,60}(?:not supported|unsupported|not accepted)"
    r"|does(?: not|n't) support parameter",
    re.IGNORECASE,
)
"""Says that a field is not known, whatever its value."""


def _is_free(choice: Any) -> bool:
    """Whether a tool choice forces no tool."""
    return (choice.get("type") if isinstance(choice, Mapping) else choice) in ("auto", "none")


def _without(path: str, refused: RefusedRequest) -> Remedy | None:
    """The remedy that removes the value at a path, or replaces it where it may not be removed."""
    names = [name for name in path.replace("[]", ".[]").split(".") if name]
    root, last = names[0], names[-1]
    inside = [index for index, name in enumerate(names[:-1]) if name in SCHEMAS]
    if inside and root in ("tools", "response_format", "text", "output_config"):
        if last in OPTIONAL:
            return keyword(last, refused, of_format=root != "tools")
        return rule("items refs root")(_NOTHING, refused) if root == "tools" else less_strict(_NOTHING, refused)
    if root == "tool_choice":
        return Remedy("tool_choice", (refused.free_choice,), once=True)  # the refusal may concern only this tool
    if root == "response_format" and len(names) > 1 and last not in ("strict", "description"):
        return without_schema(_NOTHING, refused)
    if root not in KEPT and last in ("type", "name", "effort", "format") and len(names) > 1 and root != "output_config":
        path = ".".join(names[:-1]) if root != "reasoning" or last != "effort" else path
    if path in ("max_tokens", "stream") and (refused.api == "messages" or path == "stream"):
        return None
    edit = Edit(path)
    return Remedy(path, (text_of(edit),), _FACTS.get(path, {})) if edit.allowed else None


_NOTHING: Any = None
_FACTS: Mapping[str, Mapping[str, Any]] = {
    "max_tokens": {},
    "parallel_tool_calls": {"parallel": False},
    "stream_options": {"include_usage": False},
    "user": {"user": False},
    "messages[].name": {"names": False},
    "tools[].strict": {"strict": False},
    "tools[].function.strict": {"strict": False},
}
"""Facts that are equivalent to dropping a field."""


def _named(problem: Problem, refused: RefusedRequest, *, by_value: bool = False) -> list[str]:
    """The paths in the request that a problem names: in its `place`, at the start of its text, or quoted.

    `by_value`: returns all of them, so that the caller selects one by its value.
    """
    text, found = problem.text, list[str]()
    listed = _LISTED.search(text)
    if problem.place:
        path = refused.places.located(problem.place).removesuffix("[]")
        if path and not by_value and not listed and _without(path, refused):
            return [path]
        found.append(path)
    if listed:
        where = _AT.search(text)
        names = [name for name in _WORD.findall(listed["list"]) if name not in ("and", "or")]
        if "schema" in listed[0].lower():
            return [f"tools[].parameters.{name}" for name in names]
        paths = [f"{(where['at'] or where['b']) + '.' if where else ''}{name}" for name in names]
        found += [place for path in paths for place in refused.places.named(path)]
    for pattern in _DROPPED:
        for match in islice(pattern.finditer(text), MAX_REMEDIES):
            where = _AT.search(text)
            inside = refused.places.located(f"{where['at'] or where['b']}.{match['p']}") if where else ""
            found += [inside] if inside else refused.places.named(match["p"])
        if not by_value and any(path and _without(path, refused) for path in found):
            break
    if by_value or not any(path and _without(path, refused) for path in found):
        head = re.match(rf"\W*{_P}{Q}(?: ->|:| )", text)
        if head and ("." in head["p"] or "_" in head["p"] or head["p"] in refused.request):
            found.append(refused.places.located(head["p"]))
        found += _quoted(text, refused.places)
    return [path for path in dict.fromkeys(one.removesuffix("[]") for one in found) if path]


_PLAIN_WORDS = ("temperature", "logprobs", "metadata", "verbosity", "penalty", "seed")
"""Names of fields that are plain words, and do not occur in the prose of errors."""
_MEMBERS = re.compile(
    r"[`'\"]([A-Za-z_][\w.\[\]]*)[`'\"]|\b([a-z]+(?:[_.][a-z]+)+)\b|\b([a-z]+[A-Z]\w+)\b|"
    rf"\b((?i:{'|'.join(_PLAIN_WORDS)}))\b",
    re.ASCII,
)


def _quoted(text: str, places: Places) -> Iterable[str]:
    """Members of the request that a text names in quotes, or with an underscore or a dot in the name."""
    for word in dict.fromkeys(_MEMBERS.findall(text)[:50]):
        name = next(filter(None, word))
        if name in WORDS or name in KEPT or (name == "user" and "assistant" in text):  # a role
            continue
        if path := places.located(name):
            yield path
        yield from places.anywhere(name.lower())[:MAX_REMEDIES] if name.lower() in _PLAIN_WORDS else ()


# text for the user

_VALUE = re.compile(r"[`'\"“”‘’]([^`'\"“”‘’\n]{1,2000})[`'\"“”‘’]|\b(?:sk|pk|key)-[\w-]{6,}|[\w.+-]+@[\w-]+\.[\w.]+|https?://\S+")
_PLAIN = re.compile(r"[a-z][a-z0-9_.\[\]]{0,40}|[A-Z][\w.]{0,30}")


def _without_values(text: str, places: Places) -> str:
    """The text without its quoted values, except names of fields and known words."""
    known = {*EFFORTS, *WORDS, *KEPT, *OPTIONAL, *_TARGETS, "true", "false", "auto", "required", "default", *places.names}

    def shown(found: re.Match[str]) -> str:
        word = found[1] or ""
        parts = TOKEN.findall(word)
        named = bool(parts) and (word in known or all(part in known or snake(part) in known or part.isdigit() for part in parts))
        return found[0] if named and _PLAIN.fullmatch(word) else "'…'"

    return _VALUE.sub(shown, re.sub(r"(?i)(value|input|got|given|received): ?[^,;.]*", r"\1: …", text))
