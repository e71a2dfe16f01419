"""Infers how a model writes calls: the markup around tools' names and arguments, in texts with calls that nothing recognised.

    learn([Sample('<|go|>read_file<|with|>{"path": "a.md"}<|done|>', tools), …])
        → {"name": "learnt", "arguments": "json", "begin": ["<|go|>"], "separator": ["<|with|>"], "end": ["<|done|>"]}

A call is a tool's name next to arguments that the tool declares: as JSON, in an envelope, attributes, elements, or lines. The
text common to all calls before the names, after them and after the arguments is the markup; digits and varying parts are ids.

1. In doubt nothing is learnt: the inferred dialect must find every sample's calls, and none in harmless texts.
2. Deterministic: the same samples give the same table.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, Literal

from ..config.checks import SettingsError
from ..config.dialect_tables import dialects
from ..core import json_text
from ..core.events import ToolCallEnd, ToolCallStart
from ..core.fastclass import mutable, value
from ..core.tools import Tools
from ..dialects.engine.emitter import ContentSpan, Op, ReasoningSpan
from ..dialects.engine.markup_parser import MarkupParser
from ..dialects.engine.opener_index import opener_index
from ..dialects.own import OwnDialect, engine_dialect
from ..pipeline.suspects import RARE_BRACKETS, without_code
from .harmless import texts as harmless_texts

NEAR = 160
"""Characters between a name and its arguments."""

type Kind = Literal["json", "envelope", "attributes", "parameters", "lines"]
KINDS: tuple[Kind, ...] = ("json", "attributes", "parameters", "lines", "envelope")

_PAIRS = (("<", ">"), ("[", "]"), *RARE_BRACKETS)
_OPENING = "".join(pair[0] for pair in _PAIRS) + "{@"
_OPEN = _OPENING + "(#$%"
_OPENING_SET, _CLOSING_SET = re.escape(_OPENING), re.escape("".join(pair[1] for pair in _PAIRS) + "}")
_INSIDE = rf"[^{re.escape(''.join(map(''.join, _PAIRS)))}{{}}\n]"
_TAG = "|".join(rf"{re.escape(a)}[^{re.escape(a + z)}\n]{{1,60}}{re.escape(z)}" for a, z in _PAIRS)
_TAG = rf"(?:{_TAG}|\{{\{{[^{{}}\n]{{1,60}}\}}\}}|@@[^@\n]{{1,60}}@@)"
_TAGS = re.compile(_TAG)
_ATTRIBUTES = re.compile(r"""(?:\s+[\w.:-]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))+""", re.DOTALL)
_ATTRIBUTE = re.compile(r"""([\w.:-]+)\s*=\s*["']""")
_SEPARATORS = (": ", ":", " = ", "=", " -> ", " => ", " := ", " | ")
_COMMON = ("**", "--", "__", "##", "//", "| ", '("', "('")
"""Signs that precede words in ordinary text."""

_ID, _ANY, _NUMBER = r"[\w-]*", r"[^<>{}\"\n]*", r"(?P<id>[\w-]+)"
"""Patterns for an id, for a part of a tag, and for an id that the end tag repeats."""

_VARIES = re.compile(r"[0-9a-fA-F]{6,}|\d+")


@value
class Sample:
    """A text with calls in it, and the offered tools."""

    text: str
    tools: Tools


class NothingLearnt(ValueError):
    """Nothing can be inferred; the message gives the reason."""


@mutable
class _Call:
    """A call in a text: the spans of its name and its arguments, and what they contain."""

    sample: int
    name: str
    at: tuple[int, int]
    body: tuple[int, int]
    keys: frozenset[str] = frozenset()
    given: dict[str, Any] | None = None  # the arguments, if they are JSON
    extra: dict[str, Any] = field(default_factory=dict)


def learn(samples: Sequence[Sample], name: str = "learnt") -> dict[str, Any]:
    """Returns the fields of a `[[dialect]]` table. Raises NothingLearnt."""
    tried = []
    for kind in KINDS:
        calls = [call for number, sample in enumerate(samples) for call in _calls(kind, number, sample)]
        if {call.sample for call in calls} != set(range(len(samples))):
            continue
        for fields in _tables(kind, calls, samples, name):
            problem = _problem(fields, calls, samples)
            if problem is None:
                return fields
            tried.append(problem)
    if tried:
        raise NothingLearnt(tried[0])
    raise NothingLearnt("no offered tool's name stands next to arguments of it in all of the texts, or not in the same way")


def played(dialect: OwnDialect, text: str, tools: Tools) -> tuple[list[tuple[str, Any]], str]:
    """Returns the calls that a dialect finds in a text, and the remaining text."""
    calls, remains = _read(_ops(dialect, text, tools), text)
    return calls, "".join(remains)


def _ops(dialect: OwnDialect, text: str, tools: Tools) -> list[Op]:
    reader = MarkupParser(opener_index((engine_dialect(dialect),)), tools, 0, lambda: "call", lambda _: None, whole=True)
    return [*reader.feed(text), *reader.close()]


def _read(ops: Iterable[Op], text: str) -> tuple[list[tuple[str, Any]], list[str]]:
    """Returns the calls, and the texts before, between and after the parts that were dropped as markup."""
    calls: list[tuple[str, list[str]]] = []
    remains, at = [""], 0
    for op in ops:
        match op:
            case int():
                if op > 0:
                    remains[-1] += text[at : at + op]
                else:
                    remains.append("")
                at += abs(op)
            case ReasoningSpan() | ContentSpan():
                remains[-1] += text[at : at + op.size]
                at += op.size
            case ToolCallStart():
                calls.append((op.name, []))
            case ToolCallEnd():
                pass
            case _ if calls and hasattr(op, "arguments"):
                calls[-1][1].append(op.arguments)
    return [(name, _loaded("".join(pieces))) for name, pieces in calls], remains


def _loaded(text: str) -> Any:
    try:
        return json_text.loads(text.encode())
    except ValueError:
        return None


def _problem(fields: dict[str, Any], calls: Sequence[_Call], samples: Sequence[Sample]) -> str | None:
    """Returns why a table is rejected; None if it finds the calls of all samples and nothing else."""
    begin = fields["begin"]
    if any(not _is_marked(text, (*fields.get("separator", ()), *fields.get("end", ()))) for text in begin):
        return f"the text before the names is too common to be searched for: {begin[0]!r}"
    try:
        (dialect,) = dialects("learnt", "", [fields])
    except SettingsError as error:
        return str(error)
    leftovers = []
    for number, sample in enumerate(samples):
        found, remains = _read(_ops(dialect, sample.text, sample.tools), sample.text)
        wanted = [call for call in calls if call.sample == number]
        if [(name, frozenset(given or ())) for name, given in found] != [(call.name, call.keys) for call in wanted]:
            return f"the markup is not the same in all texts: {begin[0]!r} begins it in some"
        if any(call.given not in (None, given) for call, (_, given) in zip(wanted, found, strict=True)):
            return f"the arguments would not be those in the texts: {begin[0]!r} is not all that begins them"
        if fields["arguments"] == "lines" and any("\n" in str(value) for _, given in found for value in given.values()):
            return f"the end of the calls is not clear: {begin[0]!r} begins them"
        if _leaves_markup(remains):
            return f"some of the markup would stay in the text: {begin[0]!r} is not all that begins it"
        leftovers.append([text.strip().partition("\n")[0].rstrip() for text in remains[1:] if text.strip()])
        for text in harmless_texts(sample.tools):
            if played(dialect, text, sample.tools)[0]:
                return f"it would make a call of a harmless text: {begin[0]!r} is too common"
    if len(samples) > 1 and all(leftovers) and len({line for lines in leftovers for line in lines}) == 1:
        return f"the same text follows all calls, and would stay: {leftovers[0][0]!r}"
    return None


def _leaves_markup(remains: Sequence[str]) -> bool:
    """Whether tags or signs remain before or after the dropped parts."""
    bare = rf"(?:{_TAG}|[^\w\s]{{2,}}|[\[{{,])"
    lines = [text.rstrip().rsplit("\n", 1)[-1].strip() for text in remains[:-1]]
    before = re.compile(rf"(?:^|\s){bare}$|{_TAG}$")
    return any(before.search(line) for line in lines) or any(re.match(bare, text.lstrip()) for text in remains[1:])


def _is_marked(begin: str, others: Sequence[str]) -> bool:
    """Whether a text is markup: not a word or a common sign; an upper-case word only with a separator or an end tag."""
    bare = begin.strip()
    if bare.isalpha():
        return len(bare) > 2 and bare.isupper() and any(text.strip() for text in others)
    return bare in ("{", "[") or (len(bare) >= 2 and not bare.replace(" ", "").isalnum() and bare not in _COMMON)


# where calls stand


def _calls(kind: Kind, number: int, sample: Sample) -> Iterator[_Call]:
    text = without_code(sample.text)
    find = {"json": _json, "envelope": _envelope, "attributes": _attributes, "parameters": _parameters, "lines": _lines}[kind]
    until = 0
    for match in _named(sample.tools).finditer(text):
        if match.start() < until:
            continue
        call = find(text, match, sample.tools)
        if call:
            call.sample = number
            until = call.body[1]
            yield call


def _named(tools: Tools) -> re.Pattern[str]:
    one_of = "|".join(re.escape(name) for name in sorted(tools.schemas, key=len, reverse=True))
    return re.compile(rf"(?<![A-Za-z0-9_])(?:{one_of})(?![A-Za-z0-9_-])")


def _object(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    depth, in_string = 0, False
    for match in re.compile(r'"|[{}]|\\.', re.DOTALL).finditer(text, at):
        mark = match.group()
        if mark == '"':
            in_string = not in_string
        elif not in_string and mark in "{}":
            depth += 1 if mark == "{" else -1
            if depth == 0:
                given = _loaded(text[at : match.end()])
                return (given, match.end()) if isinstance(given, dict) else (None, at)
    return None, at


def _fits(tools: Tools, name: str, keys: Iterable[str]) -> bool:
    wanted = tools.schemas[name].get("required", ())
    return set(keys) <= tools.properties(name).keys() and set(wanted) <= set(keys)


def _json(text: str, match: re.Match[str], tools: Tools) -> _Call | None:
    at = text.find("{", match.end(), match.end() + NEAR)
    if at < 0 or re.search(r"\w \w+ \w", text[match.end() : at]):
        return None
    given, end = _object(text, at)
    if given is None or not _fits(tools, match.group(), given):
        return None
    return _Call(0, match.group(), match.span(), (at, end), frozenset(given), given)


def _envelope(text: str, match: re.Match[str], tools: Tools) -> _Call | None:
    name = match.group()
    at = match.start()
    for _ in range(3):  # the object with the name, the one with the arguments, or one around both
        at = text.rfind("{", 0, at)
        if at < 0:
            return None
        given, end = _object(text, at)
        if given is None or end <= match.end():
            continue
        called = next((key for key, inner in given.items() if inner == name), None)
        objects = {key: found for key, inner in given.items() if (found := _as_object(inner)) is not None}
        arguments = next((key for key, inner in objects.items() if _fits(tools, name, inner)), None)
        flat = {key: inner for key, inner in given.items() if key in tools.properties(name)}
        if called and (arguments or _fits(tools, name, flat)):
            found = objects[arguments] if arguments else flat
            ids = [key for key, inner in given.items() if isinstance(inner, str) and key not in (called, arguments, *flat)]
            extra = {"name": called, "arguments": arguments, "ids": ids}
            return _Call(0, name, (at, at), (at, end), frozenset(found), found, extra)
        return None
    return None


def _as_object(inner: Any) -> dict[str, Any] | None:
    """An object, or one in a string."""
    inner = _loaded(inner) if isinstance(inner, str) and inner.lstrip().startswith("{") else inner
    return inner if isinstance(inner, dict) else None


def _attributes(text: str, match: re.Match[str], tools: Tools) -> _Call | None:
    quote = text[match.end() : match.end() + 1]
    begin = match.end() + (quote in ("'", '"'))
    found = _ATTRIBUTES.match(text, begin)
    keys = _ATTRIBUTE.findall(found.group()) if found else []
    if not found or not _fits(tools, match.group(), keys):
        return None
    return _Call(0, match.group(), match.span(), (begin, found.end()), frozenset(keys))


def _parameters(text: str, match: re.Match[str], tools: Tools) -> _Call | None:
    keys = "|".join(re.escape(key) for key in sorted(tools.properties(match.group()), key=len, reverse=True))
    if not keys:
        return None
    opens = rf"([{_OPENING_SET}]{_INSIDE}{{0,40}}?(?<!\w))({keys})(?!\w)"
    typed = re.compile(rf"{opens}(\"\s[\w:-]+=\"[^\"<>]*\"\s?>)")
    within = re.compile(rf"{opens}({_INSIDE}{{0,20}}?[{_CLOSING_SET}]+)")
    quoted = re.compile(rf"{opens}(\"\s+[\w:-]+=\")(?=(?:[^\"\\]|\\.)*+\"\s?/>)")
    between = re.compile(rf"({_TAG}\s?)({keys})(\s?{_TAG}(?:\s?{_TAG})?)")
    following = _named(tools).search(text, match.end())
    while following and not _parameters_begin(text, following, within, quoted, typed, between):
        following = _named(tools).search(text, following.end())
    until = following.start() if following else len(text)
    for style in (between, quoted, typed, within):
        tags = [found for found in style.finditer(text, match.end(), until) if not found[2].startswith("/")]
        if style is not between:
            tags = [found for found in tags if "/" not in found[1][:2]]
        if not tags or tags[0].start() > match.end() + NEAR:
            continue
        forms = [(found[1].strip(), *_form(found[3], varies=style is typed)) for found in tags]
        begin, separator, pattern = forms[0]
        tags = [found for found, form in zip(tags, forms, strict=True) if form == forms[0]]
        given = [found[2] for found in tags]
        if len(set(given)) == len(given) and _fits(tools, match.group(), given):
            extra = {"tags": [found.span() for found in tags], "begin": begin, "separator": separator, "pattern": pattern}
            extra |= {"until": until, "keys": given}
            return _Call(0, match.group(), match.span(), (tags[0].start(), tags[-1].end()), frozenset(given), None, extra)
    return None


def _form(separator: str, *, varies: bool) -> tuple[str, str]:
    """The separator of a parameter's tag, and a pattern for its header if the value of an attribute after the name varies."""
    if not varies:
        return separator, ""
    attribute, _, _ = separator.strip('" ').partition("=")
    return ">", rf'(?P<name>[\w.:-]+)" {attribute}="[^"]*"'


def _parameters_begin(text: str, match: re.Match[str], *styles: re.Pattern[str]) -> bool:
    """Whether a tool's name begins the next call rather than being a word of a value: its parameters follow."""
    return any(style.search(text, match.end(), match.end() + NEAR) for style in styles)


def _lines(text: str, match: re.Match[str], tools: Tools) -> _Call | None:
    name = match.group()
    known = {key.casefold() for key in tools.properties(name)}
    end = text.find("\n", match.end())
    if end < 0 or not known:
        return None
    at, last, keys, forms = end + 1, end + 1, [], set[tuple[str, str]]()
    for line in text[end + 1 :].split("\n"):
        found = re.match(r"([^\w\n]*)([\w.-]+)(.*)", line)
        separator = next((sign for sign in _SEPARATORS if found and found[3].startswith(sign)), None)
        if found and separator and found[2].casefold() in known and found[2].casefold() not in keys:
            keys.append(found[2].casefold())
            forms.add((found[1], separator))
            last = at + len(line)
        elif (line.strip() and not keys and at > end + 1 + NEAR) or keys:
            break
        at += len(line) + 1
    given = [key for key in tools.properties(name) if key.casefold() in keys]
    if len(forms) != 1 or not _fits(tools, name, given):
        return None
    ((prefix, separator),) = forms
    first = end + 1
    return _Call(0, name, match.span(), (first, last), frozenset(given), None, {"prefix": prefix, "separator": separator})


# what stands around them


def _tables(kind: Kind, calls: Sequence[_Call], samples: Sequence[Sample], name: str) -> Iterator[dict[str, Any]]:
    """Yields the possible tables, the best first."""
    if kind == "parameters" and not _close_parameters(calls, samples):
        return
    fronts, mids, tails = [], [], []
    for number, call in enumerate(calls):
        text = samples[call.sample].text
        before = calls[number - 1] if number and calls[number - 1].sample == call.sample else None
        after = calls[number + 1] if number + 1 < len(calls) and calls[number + 1].sample == call.sample else None
        fronts.append(text[before.body[1] if before else 0 : call.at[0]])
        mids.append(text[call.at[1] : call.body[0]])
        tails.append(text[call.body[1] : after.at[0] if after else len(text)])
    if kind == "envelope":  # the calls of an array are parsed together
        fronts = [front.rstrip().removesuffix("[") for front in fronts if front.strip() != ","]
        tails = [tail.lstrip().removeprefix("]") for tail in tails if tail.strip() != ","]
        calls = [call for number, call in enumerate(calls) if not _in_array(calls, samples, number)]
    numbers = [call.sample for call in calls]
    firsts = [front for n, front in enumerate(fronts) if n == numbers.index(numbers[n])]
    lasts = [tail for n, tail in enumerate(tails) if numbers[n] not in numbers[n + 1 :]]
    begin, pattern = _begin(fronts)
    end = _end(tails, calls)
    separators, varying = _separators(mids)
    if numbered := _numbered_end(fronts, tails, calls, pattern):
        pattern, end = numbered
    wrapper = _wrapper(firsts, lasts, begin, end)
    if not wrapper:
        begin, end, wrapper = _unwrapped(begin, end)
    bare = kind == "envelope" and not begin.strip()
    fields: dict[str, Any] = {"name": name, "arguments": kind, "begin": ["{" if bare else begin.strip(" \n")]}
    if kind == "lines":
        fields["begin"] = [begin.lstrip()]
    if kind != "envelope" and separators:
        fields["separator"] = separators
    if end.strip():
        fields["end"] = [end.strip()]
    if pattern or varying:
        fields["pattern"] = f"{pattern}(?P<name>[\\w.:/-]+?){varying}"
    if wrapper:
        fields["wrapper"] = {"begin": [wrapper[0]], "end": [wrapper[1]]}
        fields["bare"] = False
    if kind == "parameters":
        extra = calls[0].extra
        fields["parameter"] = {"begin": [extra["begin"]], "separator": [extra["separator"]], "end": [extra["end"]]}
        fields["parameter"] |= {"pattern": extra["pattern"]} if extra["pattern"] else {}
    if kind == "lines":
        prefix, separator = calls[0].extra["prefix"], calls[0].extra["separator"]
        fields["parameter"] = {**({"begin": [prefix.strip()]} if prefix.strip() else {}), "separator": [separator]}
    if kind == "envelope":
        fields["keys"] = _keys(calls)
    line = all(_begins_line(front, begin, wrapper) for front in fronts)
    yield fields | {"place": "line" if line or bare else "any"}


def _in_array(calls: Sequence[_Call], samples: Sequence[Sample], number: int) -> bool:
    """Whether a call follows another one and a comma."""
    before, call = calls[number - 1], calls[number]
    between = samples[call.sample].text[before.body[1] : call.at[0]]
    return number > 0 and before.sample == call.sample and between.strip() == ","


def _keys(calls: Sequence[_Call]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"name": sorted({call.extra["name"] for call in calls})}
    if arguments := sorted({call.extra["arguments"] for call in calls if call.extra["arguments"]}):
        found["arguments"] = arguments
    common = set.intersection(*(set(call.extra["ids"]) for call in calls))
    ids = sorted(key for key in common if "id" in key.lower())
    return found | ({"id": ids} if ids else {})


def _begins_line(front: str, begin: str, wrapper: tuple[str, str] | None) -> bool:
    at = front.rfind(begin.strip()) if begin.strip() else len(front)
    before = front[: max(at, 0)].rstrip(" ")
    if wrapper and before.rstrip().endswith(wrapper[0]):
        before = before.rstrip()[: -len(wrapper[0])].rstrip(" ")
    if not before or before.endswith("\n"):
        return True
    line = before.splitlines()[-1]  # a call, or the beginning of the wrapper
    return _TAGS.search(line[-60:]) is not None and not re.search(r"\w \w", line)


def _common_suffix(texts: Sequence[str]) -> str:
    return _common_prefix([text[::-1] for text in texts])[::-1]


def _common_prefix(texts: Sequence[str]) -> str:
    shortest = min(texts, key=len)
    size = next((n for n, character in enumerate(shortest) if any(text[n] != character for text in texts)), len(shortest))
    return shortest[:size]


def _begin(fronts: Sequence[str]) -> tuple[str, str]:
    """Returns what precedes all names, from a markup sign on, and a pattern for what varies after it."""
    lines = [_markup_before(front) for front in fronts]
    suffix = _common_suffix(lines)
    if all(suffix.strip() == line.strip() for line in lines) or suffix[:1] in _OPEN or _is_label(suffix.strip()):
        return _constant(suffix)
    cut = next((n for n, sign in enumerate(suffix) if sign in _OPEN), None)
    if cut is not None and re.fullmatch(rf"(?:\s*{_TAG})+\s*", suffix[cut:]):
        return _constant(suffix[cut:])
    heads = [line[max(line.rfind(sign) for sign in _OPENING) :] for line in lines]
    prefix = _common_prefix(heads)
    rest = [head[len(prefix) :] for head in heads]
    last = _common_suffix(rest)
    if prefix[:1] and prefix[:1] in _OPEN and len(prefix) > 1:
        return prefix, f"{_ANY}{re.escape(last)}" if last else r"[\w.:/-]*?"
    return _constant(suffix[cut:]) if cut is not None else (suffix, "")


def _is_label(text: str) -> bool:
    """Whether a text is a word with a sign after it, as `TOOL:`."""
    return re.fullmatch(r"[A-Za-z_ ]{2,24}\s*(?::|=|->|=>|>>)", text) is not None


def _constant(begin: str) -> tuple[str, str]:
    """Returns the beginning up to a number, which is assumed to vary, and a pattern for the rest."""
    number = _VARIES.search(begin)
    if not number or not begin[: number.start()].strip():
        return begin, ""
    return begin[: number.start()], f"{_ID}{re.escape(begin[number.end() :])}"


def _markup_before(front: str) -> str:
    """Returns the end of a text that may begin a call: its last line, and the lines of only tags before it."""
    *above, line = front.split("\n")
    while above and (_TAGS.fullmatch(above[-1].strip()) or re.fullmatch(r"[^\w\s]{2,}", above[-1].strip())):
        line = f"{above.pop()}\n{line}"
    return line.lstrip()


def _end(tails: Sequence[str], calls: Sequence[_Call]) -> str:
    """Returns what follows all arguments: tags, signs, upper-case words, or a line that is the same in several texts."""
    named = [_with_name(tail, call.name).lstrip() for tail, call in zip(tails, calls, strict=True)]
    prefix = _common_prefix(named)
    rest = [tail[len(prefix) :] for tail in named]
    if any(rest):  # without half of a tag, or of a word
        prefix = re.sub(rf"[{_OPENING_SET}]{_INSIDE}*$", "", prefix)
        prefix = re.sub(r"\w+$", "", prefix) if any(text[:1].isalnum() for text in rest) else prefix
    signs = r"[)\]}>/;|]+|[^\w\s]{2,}\w{0,20}[^\w\s]{0,4}|<\|[^|\n]+\|>|[A-Z][A-Z_]+(?!\w)"
    found = re.match(rf"(?:\s*(?:{_TAG}|{signs}))+", prefix)
    end = found.group().strip() if found else ""
    lines = {tail.partition("\n")[0].rstrip() for tail in named}
    line = min(lines)
    is_line = len(lines) == 1 and calls[0].sample != calls[-1].sample and _is_end_line(line)
    return line if is_line and len(line) > len(end) else end


def _is_end_line(line: str) -> bool:
    """Whether a line may be an end tag: an upper-case word, or a few words with signs around them."""
    signed = r"[^\w\s]+ ?[\w-]+(?: [\w-]+)?\W*|\w+[>|/\])}#]+"
    return len(line) <= 60 and (line.isupper() or re.fullmatch(signed, line) is not None)


def _numbered_end(
    fronts: Sequence[str], tails: Sequence[str], calls: Sequence[_Call], pattern: str
) -> tuple[str, str] | None:
    """Returns a pattern that binds the id in the begin tags, and the end tag with `{id}`, if all end tags repeat that id."""
    if not pattern.startswith((_ID, _ANY)):
        return None
    filled = []
    for front, tail in zip(fronts, tails, strict=True):
        tag, numbers = _TAGS.match(tail.lstrip()), _VARIES.findall(_markup_before(front))
        if not tag or not numbers:
            return None
        one = rf"(?<![0-9A-Za-z]){numbers[-1]}(?![0-9A-Za-z])"
        filled.append(re.sub(one, "{id}", tag.group()) + tail.lstrip()[tag.end() :])
    end = _end(filled, calls)
    return (_NUMBER + pattern.removeprefix(_ID).removeprefix(_ANY), end) if "{id}" in end else None


def _with_name(tail: str, name: str) -> str:
    """Returns what follows a call, with `{name}` for the tool's name in its first tag."""
    tag = _TAGS.match(tail.lstrip())
    if not tag or not re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![\w-])", tag.group()):
        return tail
    return tail.replace(name, "{name}", 1)


def _separators(mids: Sequence[str]) -> tuple[list[str], str]:
    """Returns the texts between names and arguments, and a pattern for what varies in them."""
    plain = sorted(set(mids), key=lambda mid: (-len(mid), mid))
    varied = {_VARIES.sub("0", mid) for mid in mids}
    if len(plain) <= 2 and not any(_VARIES.search(mid) for mid in mids):
        return [mid for mid in plain if mid], ""
    prefix, suffix = _common_prefix([*varied]), _common_suffix([*varied])
    cut = prefix.find("0") if "0" in prefix else len(prefix)
    prefix = prefix[:cut]
    rest = [mid[len(prefix) :] for mid in mids]
    suffix = _common_suffix(rest)
    at = next((n for n, sign in enumerate(suffix) if not sign.isalnum() and sign not in "-_"), None)
    suffix = suffix[at:] if at is not None else ""
    return ([suffix] if suffix else [], rf"{re.escape(prefix)}[\w-]*") if suffix or prefix else ([], "")


def _wrapper(firsts: Sequence[str], lasts: Sequence[str], begin: str, end: str) -> tuple[str, str] | None:
    """Returns the tags before only the first call and after only the last one."""
    if not begin.strip() or not end.strip():
        return None
    before = [front[: front.rfind(begin.strip())].rstrip() for front in firsts]
    after = [tail.lstrip()[len(end.strip()) :].lstrip() for tail in lasts]
    opens = {match.group() if (match := re.search(rf"{_TAG}$", text)) else "" for text in before}
    closes = {match.group() if (match := re.match(_TAG, text)) else "" for text in after}
    if len(opens) == len(closes) == 1 and "" not in opens | closes:
        return opens.pop(), closes.pop()
    return None


def _unwrapped(begin: str, end: str) -> tuple[str, str, tuple[str, str] | None]:
    """Splits nested tags at both ends: the outer ones are a wrapper."""
    opens, closes = re.match(rf"\s*({_TAG})\s*(?=\S)", begin), re.search(rf"(?<=\S)\s*({_TAG})\s*$", end)
    if not opens or not closes or not end[: closes.start()].strip() or "{name}" in closes[1]:
        return begin, end, None
    word, other = (re.sub(r"[^\w]", "", tag[1]) for tag in (opens, closes))
    if word.rstrip("s") != other.rstrip("s") and not (word[:4] == other[:4] and len(word) > 3):
        return begin, end, None
    return begin[opens.end() :], end[: closes.start()], (opens[1], closes[1])


def _close_parameters(calls: Sequence[_Call], samples: Sequence[Sample]) -> bool:
    """Finds what ends the values, and where the calls' arguments end."""
    begin, separator = calls[0].extra["begin"], calls[0].extra["separator"]
    if any((call.extra["begin"], call.extra["separator"]) != (begin, separator) for call in calls):
        return False
    ends = []
    for call in calls:
        text, tags = samples[call.sample].text, call.extra["tags"]
        for number, (_, at) in enumerate(tags[:-1]):
            key = call.extra["keys"][number]
            ends.append(re.sub(rf"(?<=/){re.escape(key)}(?!\w)", "{key}", text[at : tags[number + 1][0]].rstrip()))
    word = re.sub(r"\W", "", re.split(r"[ =:]", begin.strip(f"{_OPENING}|"), maxsplit=1)[0])
    candidates = [f"{a}/{word}{z}" for a, z in _PAIRS] + [f"<|/{word}|>", "</value>", "</arg_value>"] if word else []
    candidates += [f"{a}/{{key}}{z}" for a, z in (*_PAIRS, ("{{", "}}"))]
    if separator.endswith('"'):
        candidates = ['"/>', '" />']
    elif ends and (suffix := _common_suffix(ends)):
        at = next((n for n, sign in enumerate(suffix) if sign in _OPEN), None)
        candidates = [suffix[at:]] if at is not None else ["\n"] if suffix.endswith("\n") else []
    for end in candidates:
        if all(_ended(call, samples[call.sample].text, end) for call in calls):
            for call in calls:
                call.extra["end"] = end
                call.body = (call.body[0], _ended(call, samples[call.sample].text, end))
            return True
    return False


def _ended(call: _Call, text: str, end: str) -> int:
    """Returns where the end of the last value ends; 0 if it is missing."""
    at = call.extra["tags"][-1][1]
    closer = end.replace("{key}", call.extra["keys"][-1])
    found = text.find(closer, at, call.extra["until"])
    return found + len(closer) if found >= 0 else 0
