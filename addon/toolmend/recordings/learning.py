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
from ..pipeline.suspects import without_code
from .harmless import texts as harmless_texts

NEAR = 160
"""Characters between a name and its arguments."""

type Kind = Literal["json", "envelope", "attributes", "parameters", "lines"]
KINDS: tuple[Kind, ...] = ("json", "attributes", "parameters", "lines", "envelope")

_OPEN = "<[{(⟦【«@#$%"
_TAG = (
    r"(?:<[^<>\n]{1,60}>|\[[^\[\]\n]{1,60}\]|⟦[^⟦⟧\n]{1,60}⟧|\{\{[^{}\n]{1,60}\}\}|【[^【】\n]{1,60}】"
    r"|«[^«»\n]{1,60}»|@@[^@\n]{1,60}@@)"
)
_TAGS = re.compile(_TAG)
_ATTRIBUTES = re.compile(r"""(?:\s+[\w.:-]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))+""", re.DOTALL)
_ATTRIBUTE = re.compile(r"""([\w.:-]+)\s*=\s*["']""")
_SEPARATORS = (": ", ":", " = ", "=", " -> ", " => ", " := ", " | ")
_COMMON = ("**", "--", "__", "##", "//", "| ", '("', "('")
"""Signs that precede words in ordinary text."""

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
    """A call in a text: the spans of its name and its arguments."""

    sample: int
    name: str
    at: tuple[int, int]
    body: tuple[int, int]
    keys: frozenset[str] = frozenset()
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
    reader = MarkupParser(opener_index((engine_dialect(dialect),)), tools, 0, lambda: "call", lambda _: None, whole=True)
    ops = [*reader.feed(text), *reader.close()]
    return _read(ops, text)


def _read(ops: Iterable[Op], text: str) -> tuple[list[tuple[str, Any]], str]:
    calls: list[tuple[str, list[str]]] = []
    remains, at = [], 0
    for op in ops:
        match op:
            case int():
                if op > 0:
                    remains.append(text[at : at + op])
                at += abs(op)
            case ReasoningSpan() | ContentSpan():
                remains.append(text[at : at + op.size])
                at += op.size
            case ToolCallStart():
                calls.append((op.name, []))
            case ToolCallEnd():
                pass
            case _ if calls and hasattr(op, "arguments"):
                calls[-1][1].append(op.arguments)
    return [(name, _loaded("".join(pieces))) for name, pieces in calls], "".join(remains)


def _loaded(text: str) -> Any:
    try:
        return json_text.loads(text.encode())
    except ValueError:
        return None


def _problem(fields: dict[str, Any], calls: Sequence[_Call], samples: Sequence[Sample]) -> str | None:
    """Returns why a table is rejected; None if it finds the calls of all samples and nothing else."""
    begin = fields["begin"]
    if any(not _is_marked(text, fields.get("separator", ())) for text in begin):
        return f"the text before the names is too common to be searched for: {begin[0]!r}"
    try:
        (dialect,) = dialects("learnt", "", [fields])
    except SettingsError as error:
        return str(error)
    for number, sample in enumerate(samples):
        found, remains = played(dialect, sample.text, sample.tools)
        wanted = [(call.name, call.keys) for call in calls if call.sample == number]
        if [(name, frozenset(given or ())) for name, given in found] != wanted:
            return f"the markup is not the same in all texts: {begin[0]!r} begins it in some"
        if _leaves_markup(sample.text, remains):
            return f"some of the markup would stay in the text: {begin[0]!r} is not all that begins it"
        for text in harmless_texts(sample.tools):
            if played(dialect, text, sample.tools)[0]:
                return f"it would make a call of a harmless text: {begin[0]!r} is too common"
    return None


def _leaves_markup(text: str, remains: str) -> bool:
    """Whether tags or signs remain in the text at the place of a call."""
    size = len(_common_prefix([text, remains]))
    before, after = remains[:size].rstrip(), remains[size:].strip()
    line = before.rsplit("\n", 1)[-1].strip()
    bare = rf"(?:{_TAG}|[^\w\s]{{2,}}|[\[{{,])"
    return bool(re.search(rf"(?:^|\s){bare}$|{_TAG}$", line) or re.match(bare, after))


def _is_marked(begin: str, separators: Sequence[str]) -> bool:
    """Whether a text is markup: not a word or a common sign; an upper-case word only with a separator after it."""
    bare = begin.strip()
    if bare.isalpha():
        return len(bare) > 2 and bare.isupper() and any(separator.strip() for separator in separators)
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
    return _Call(0, match.group(), match.span(), (at, end), frozenset(given))


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
        arguments = next((key for key, inner in given.items() if isinstance(inner, dict) and _fits(tools, name, inner)), None)
        flat = frozenset(given) & tools.properties(name).keys()
        if called and (arguments or _fits(tools, name, flat)):
            keys = frozenset(given[arguments]) if arguments else flat
            ids = [key for key, inner in given.items() if isinstance(inner, str) and key not in (called, *flat)]
            return _Call(0, name, (at, at), (at, end), keys, {"name": called, "arguments": arguments, "ids": ids})
        return None
    return None


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
    inside = r"[^<>\[\]{}⟦⟧【】«»\n]"
    within = re.compile(rf"([<\[{{⟦【«@]{inside}{{0,40}}?(?<!\w))({keys})(?!\w)({inside}{{0,20}}?[>\]}}⟧】»]+)")
    between = re.compile(rf"({_TAG}\s?)({keys})(\s?{_TAG}(?:\s?{_TAG})?)")
    following = _named(tools).search(text, match.end())
    while following and not _parameters_begin(text, following, within, between):
        following = _named(tools).search(text, following.end())
    until = following.start() if following else len(text)
    for style in (between, within):
        tags = [found for found in style.finditer(text, match.end(), until) if not found[2].startswith("/")]
        if style is within:
            tags = [found for found in tags if "/" not in found[1][:2]]
        if not tags or tags[0].start() > match.end() + NEAR:
            continue
        first = tags[0]
        tags = [found for found in tags if (found[1].strip(), found[3]) == (first[1].strip(), first[3])]
        given = [found[2] for found in tags]
        if len(set(given)) == len(given) and _fits(tools, match.group(), given):
            extra = {"tags": [found.span() for found in tags], "begin": first[1].strip(), "separator": first[3]}
            extra |= {"until": until, "keys": given}
            return _Call(0, match.group(), match.span(), (first.start(), tags[-1].end()), frozenset(given), extra)
    return None


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
    return _Call(0, name, match.span(), (first, last), frozenset(given), {"prefix": prefix, "separator": separator})


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
    heads = [line[max(line.rfind(sign) for sign in "<[{⟦【«@") :] for line in lines]
    prefix = _common_prefix(heads)
    rest = [head[len(prefix) :] for head in heads]
    last = _common_suffix(rest)
    if prefix[:1] and prefix[:1] in _OPEN and len(prefix) > 1:
        return prefix, rf"[^<>{{}}\"\n]*{re.escape(last)}" if last else r"[\w.:/-]*?"
    return _constant(suffix[cut:]) if cut is not None else (suffix, "")


def _is_label(text: str) -> bool:
    """Whether a text is a word with a sign after it, as `TOOL:`."""
    return re.fullmatch(r"[A-Za-z_ ]{2,24}\s*(?::|=|->|=>|>>)", text) is not None


def _constant(begin: str) -> tuple[str, str]:
    """Returns the beginning up to a number, which is assumed to vary, and a pattern for the rest."""
    number = _VARIES.search(begin)
    if not number or not begin[: number.start()].strip():
        return begin, ""
    return begin[: number.start()], rf"[\w-]*{re.escape(begin[number.end() :])}"


def _markup_before(front: str) -> str:
    """Returns the end of a text that may begin a call: its last line, and the lines of only tags before it."""
    *above, line = front.split("\n")
    while above and (_TAGS.fullmatch(above[-1].strip()) or re.fullmatch(r"[^\w\s]{2,}", above[-1].strip())):
        line = f"{above.pop()}\n{line}"
    return line.lstrip()


def _end(tails: Sequence[str], calls: Sequence[_Call]) -> str:
    """Returns what follows all arguments: tags, or signs that are not words."""
    named = [_with_name(tail, call.name) for tail, call in zip(tails, calls, strict=True)]
    prefix = _common_prefix([tail.lstrip() for tail in named])
    if any(tail.lstrip() != prefix for tail in named):  # without half of a tag
        prefix = re.sub(r"[<\[{⟦【«][^<>\[\]{}⟦⟧【】«»]*$", "", prefix)
    signs = r"[)\]}>/;|]+|[^\w\s]{2,}\w{0,20}[^\w\s]{0,4}|<\|[^|\n]+\|>|END(?:_\w+)?|###\s?END"
    found = re.match(rf"(?:\s*(?:{_TAG}|{signs}))+", prefix)
    return found.group().strip() if found else ""


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
    word = re.sub(r"\W", "", re.split(r"[ =:]", begin.strip("<[{⟦【«|"), maxsplit=1)[0])
    candidates = [f"</{word}>", f"[/{word}]", f"<|/{word}|>", f"⟦/{word}⟧", "</value>", "</arg_value>"] if word else []
    candidates += ["</{key}>", "[/{key}]", "{{/{key}}}", "⟦/{key}⟧"]
    if ends and (suffix := _common_suffix(ends)):
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
