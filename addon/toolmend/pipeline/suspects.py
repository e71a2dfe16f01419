"""Finds text in an answer that looks like a tool call, but was not made one.

    find_suspects("CALL read_file WITH {\\"path\\": \\"a.md\\"}", tools)
        → [Suspect("read_file", "unknown_markup", '…', 'CALL read_file WITH {"path": "a.md"}')]

The text that the client received is searched when the message is complete, without its code (fences, spans, quotations). A
suspect is an offered tool's name at the beginning of a line or in markup, with declared arguments next to it; or a token or an
envelope that only calls have.

1. No answer is changed.
2. The cost is bounded: MOST_TEXT characters are searched, and MOST_SUSPECTS are returned.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from ..core import json_text
from ..core.events import ToolCallDelta, ToolCallEnd, ToolCallStart
from ..core.fastclass import value
from ..core.fold import Message
from ..core.tools import Tools
from ..dialects import DIALECTS
from ..dialects.engine.markup_parser import MarkupParser
from ..dialects.engine.opener_index import opener_index

MOST_TEXT = 64 * 1024
"""Characters searched at the end of a text: a call ends an answer."""

MOST_CALL = 8 * 1024
"""Characters read of a possible call."""

MOST_SUSPECTS = 8
MOST_PLACES = 128
"""Occurrences of tool names that are examined, the last ones."""

MOST_BEFORE = 1024
"""Characters examined of a line before a name: its beginning and its end. Longer than any markup."""

MOST_LINES = 8
"""Lines of markup alone before a name that belong to the call."""

AROUND = 200
"""Characters kept of a suspect."""

NEAR = 80
"""Characters between a tool's name and its arguments."""

type Kind = Literal["not_looked_for", "doubtful", "does_not_fit", "not_offered", "cut_off", "unknown_markup", "unknown_token"]

WHY: Mapping[Kind, str] = {
    "not_looked_for": "it is written as {dialect}, which is not looked for with this model at this host",
    "doubtful": "it is written as {dialect}, and may be a quotation or a thought: it does not stand, or end, as a call must",
    "does_not_fit": "its arguments do not fit the schema of {name}",
    "not_offered": "no tool of this name is offered",
    "cut_off": "the answer broke off before the call was complete",
    "unknown_markup": "the name of an offered tool with arguments next to it, in markup that no dialect has",
    "unknown_token": "a special token that no dialect has",
}


@value
class Suspect:
    """A possible call.

    Attributes:
        name: Of the tool; "" if unknown.
        kind: Why it was not made a call.
        why: The same as a sentence.
        text: Its first characters.
        dialect: The dialect that it is written in, if any.
    """

    name: str
    kind: Kind
    why: str
    text: str
    dialect: str = ""

    def to_json(self) -> dict[str, str]:
        """The form in meta.json."""
        return {
            "name": self.name,
            "kind": self.kind,
            "why": self.why,
            "text": self.text,
            **({"dialect": self.dialect} if self.dialect else {}),
        }


@value
class SuspectContext:
    """The conditions under which an answer was decoded: tools that a call may name, and dialects that were searched for."""

    tools: Tools
    dialects: frozenset[str] = frozenset()


NO_CONTEXT = SuspectContext(Tools())


def in_messages(messages: Iterable[Message], sought: SuspectContext) -> list[Suspect]:
    """The suspects of all choices of an answer."""
    texts = ((message.text, message.reasoning) for message in messages)
    return in_texts(texts, sought)


def in_texts(texts: Iterable[tuple[str, str]], sought: SuspectContext) -> list[Suspect]:
    """The suspects of pairs of text and reasoning."""
    tools, armed = sought.tools, sought.dialects
    found = [one for text, reasoning in texts for one in find_suspects(text, tools, reasoning=reasoning, armed=armed)]
    return found[:MOST_SUSPECTS]


def remedy(suspect: Suspect, model: str, dialects: Sequence[str]) -> str:
    """The setting that would repair it, or what else to do. `dialects`: those of the model's profile."""
    if suspect.kind in ("not_looked_for", "doubtful") and suspect.dialect:
        words = ", ".join(f'"{name}"' for name in dict.fromkeys((*dialects, suspect.dialect)))
        name = json_text.quote(model or "mine")
        return f"[[provider]] with name = {name}, models = [{name}], dialects = [{words}]"
    if suspect.kind in ("unknown_markup", "unknown_token"):
        return "a [[dialect]] of your own, which `toolmend learn` finds"
    if suspect.kind == "cut_off":
        return "not a matter of toolmend: allow more output tokens, or ask again"
    return "not a matter of toolmend: the model has to call a tool as it is offered"


_FENCE = re.compile(r"^[ \t]{0,3}(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_TOOL_FENCE = re.compile(r"[ \t]*(?:```|~~~)[ \t]*(?:tool|tool_codes?|tool_calls?|function_calls?)[ \t]*")
_SPAN = re.compile(r"(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_QUOTED = re.compile(r"^(?:[ \t]*>(?!>> \w+(?: ?[:=]|$))|(?: {4}|\t))[^\n]*$", re.MULTILINE)
_TOKEN = re.compile(r"<[|｜]\s?[A-Za-z_][^<>|｜\n]{0,40}[|｜]>|<[|｜][a-z_▁]{2,40}>|<[a-z_]{2,40}[|｜]>|\[/?[A-Z]+_[A-Z_]+\]")
_ENDS = frozenset(
    {"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|assistant|>", "<|user|>"}
    | {"<|system|>", "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|return|>"}
    | {"<|end_of_sentence|>", "<|END_OF_TURN_TOKEN|>", "<|pad|>", "<|sep|>", "<|eos|>", "<|bos|>", "<｜end▁of▁sentence｜>"}
)
"""Tokens that begin or end a turn, and contain no call."""

RARE_BRACKETS = tuple(zip("⟦⟨⟪⟬【〔〖〈《「『«‹", "⟧⟩⟫⟭】〕〗〉》」』»›", strict=True))
"""Pairs of brackets other than those of ASCII."""

_MARKUP = frozenset("<>|[]{}()=:\"'｜/@#§$%&~^▁→").union(*RARE_BRACKETS)
_TIGHT = frozenset("<>|[{=\"'｜@⟦⟨⟪⟬【«")
"""What immediately precedes a name in markup that begins within a line."""

_BARE = frozenset("<[{(|｜@#`").union(pair[0] for pair in RARE_BRACKETS)
"""What begins a line of markup alone."""

_LABEL = re.compile(
    r"[A-Z_]{2,}|(?i:tools?|calls?|calling|using|actions?|function|invoke|use|run|execute|name|cmd|command|exec|assistant|to|recipient)"
)
_LIST = re.compile(r"\s*(?:[-*+#]+|\d+[.)])\s|\*\*|__")
_TABLE = re.compile(r"\s*(?:\|\s|\[?\d|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\b)")
_CODE = re.compile(
    r"\b(?:await|return|def|class|import|from|function|const|let|var|type|new)\s+(?:\w+\s*=\s*)?$|\w\.$"
    r"|^\s*<(?:div|span|p|a|li|ul|td|form|input|button|label|select|option|section|table|code|pre)\b|^(?i:usage):"
)
"""Text before a name that is a word of code, of a page, or of a command's help."""

_DIFF = re.compile(r"[+-]\s*")
_SIGNATURE = re.compile(
    r"\([^()\n]{0,400}\)\s*(?:[:{]|=>|->)|:?\s*\{\s*\w+\??\s*:\s*(?:string|number|integer|boolean|str|int|bool|float|any)\b|\]\("
)
_AFTER_IN_CODE = re.compile(
    r"\(\s?\w+(?:,\s?\w+){0,16}\s?\)|[ \t]+--?\w|\{\w+=\"[^\"\n]{0,80}\"[^}\n]{0,400}\}[ \t]+\d|[^<>\n]{0,80}=\{[A-Za-z_][\w.]*\}"
)
"""What follows a name in code: parameters without values, a command's options, a metric's labels, JSX."""

_STATEMENT = re.compile(r"[^<\n]{0,400};[ \t]*$", re.MULTILINE)
_ARGUMENT = re.compile(r"(\w+)\(\[?[\"']?$")
_SECTION = re.compile(r"\[(?:[\w-]+\.)*$")
_IN_SENTENCE = re.compile(r"(?:\([^()\n]{0,400}\)|[^<>\n]{0,40}>)[ \t]+[a-z]+[ \t]+[a-z]+\b(?![=:(])")
"""What follows a name in code that defines it or in a link, and in a sentence about a call."""

_GOES_ON = re.compile(r"[\s})\]]*[a-z]+ [a-z]+ [a-z]+")
"""What follows an object that is part of a sentence."""

_SCALAR = re.compile(r":[ \t]*\w")
_CAPITALS = re.compile(r"\b[A-Z]{3,}\b")

_ASSIGNED = re.compile(r"(?:^|\s)[A-Za-z_]\w*\s*=\s*$")
_IN_JSON = re.compile(r'[:\[{,]\s*"\Z')
_NAMESPACE = re.compile(r"\b(?:functions|tools?|default_api)(?:[./]|::?)$")
_FOLLOWS = re.compile(r"\s*[({\[<:=|>@→«⟦]|\s*\n|\s*->|[ \t]+\w+\s*[=:]\s*[^\s=]")
_OF_TOOLS = frozenset({"description", "properties", "$schema"})
"""Members of a tool's description, which calls do not have."""

_NAME_MEMBER = re.compile(r'"(?:name|tool_name|function|tool|action)"\s*:\s*"([\w.:/-]{1,128})"')
_ARGUMENTS_MEMBER = re.compile(r'"(?:arguments|parameters|input|args|params)"\s*:\s*[{"]')
_WRAPPED = re.compile(r"^[ \t]{0,3}(?:</?[\w:.-]*(?:tool|call|func|invo)[\w:.-]*(?:[ =][^<>\n]*)?>\s*)+", re.MULTILINE)


def find_suspects(text: str, tools: Tools, *, reasoning: str = "", armed: Iterable[str] = ()) -> list[Suspect]:
    """Returns the suspects of a message.

    Args:
        text: Its text.
        tools: The offered tools.
        reasoning: Its reasoning.
        armed: The dialects that were searched for.
    """
    if not tools.offered or not tools.schemas:
        return []
    found: dict[tuple[str, str], Suspect] = {}
    for part in (text, reasoning):
        for suspect in _in(part[-MOST_TEXT:], tools, frozenset(armed)):
            found.setdefault((suspect.name, suspect.text), suspect)
            if len(found) == MOST_SUSPECTS:
                break
    return list(found.values())


def _in(text: str, tools: Tools, armed: frozenset[str]) -> Iterator[Suspect]:
    if not any(mark in text for mark in "<[{(:=|"):
        return
    plain = without_code(text)
    covered = 0
    judged = 0
    for first, end, name in _candidates(plain, tools):
        if end > covered and judged < MOST_SUSPECTS:
            judged += 1
            begin, covered = max(first, covered), max(end, first + 1)
            yield _judged(plain, begin, name, tools, armed)
    for match in () if covered else _TOKEN.finditer(plain):
        token = match.group()
        if token not in _ENDS and _opens(plain, match):
            after = plain[match.end() :].lstrip()
            name = next((name for name in tools.schemas if after.startswith(name)), "")
            dialect = next((one.name for one in DIALECTS.values() if token in one.openers), "")
            kind: Kind = "doubtful" if dialect in armed else "not_looked_for" if dialect else "unknown_token"
            yield _suspect(name, kind, plain, match.start(), dialect)
            return  # one is enough: where there is one, there are more


def _opens(text: str, token: re.Match[str]) -> bool:
    """Whether a token begins something, and is not a word in a sentence."""
    line = text.rfind("\n", 0, token.start()) + 1
    return not text[line : token.start()].strip() or re.compile(r"[\w{\[<\"]").match(text, token.end()) is not None


def _suspect(name: str, kind: Kind, text: str, begin: int, dialect: str = "") -> Suspect:
    looks = re.sub(r"\s+", " ", text[begin : begin + AROUND + 1].strip())
    looks = looks if len(looks) <= AROUND else looks[: AROUND - 1] + "…"
    return Suspect(name, kind, WHY[kind].format(dialect=dialect, name=name), looks, dialect)


def without_code(text: str) -> str:
    """Replaces code and quotations in a text by blanks.

    JSON in a fence that is the whole text, and a fence of tool calls at the end of the text, are not code.
    """
    parts: list[str] = []
    at, fence = 0, ""
    marks = list(_FENCE.finditer(text))
    alone = len(marks) == 2 and not text[: marks[0].start()].strip() and not text[marks[1].end() :].strip()
    if alone and text[marks[0].end() :].lstrip()[:1] in ("{", "["):
        return _blank(text, marks[0].span(), marks[1].span())
    if len(marks) >= 2 and _TOOL_FENCE.fullmatch(marks[-2].group()) and not text[marks[-1].end() :].strip():
        del marks[-2:]
    for mark in marks:
        if not fence:
            parts.append(text[at : mark.start()])
            fence, at = mark[1], mark.start()
        elif mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
            parts.append(_blanks(text[at : mark.end()]))
            fence, at = "", mark.end()
    parts.append(_blanks(text[at:]) if fence else text[at:])
    plain = _SPAN.sub(lambda match: _blanks(match.group()), "".join(parts))
    return _QUOTED.sub(lambda match: _blanks(match.group()), plain) if _QUOTED.search(plain) else plain


def _blank(text: str, *spans: tuple[int, int]) -> str:
    for begin, end in spans:
        text = text[:begin] + _blanks(text[begin:end]) + text[end:]
    return text


def _blanks(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _candidates(text: str, tools: Tools) -> Iterator[tuple[int, int, str]]:
    """Yields start, end and tool name of each possible call."""
    matches = deque(_names(tuple(tools.schemas)).finditer(text), MOST_PLACES)
    places = [(*found, match.group()) for match in matches if (found := _call_at(text, match, tools))]
    for match in _WRAPPED.finditer(text):  # an envelope with a tool that is not offered, or with other arguments
        named = _NAME_MEMBER.search(text, match.end(), match.end() + 4 * NEAR)
        known = named and any(first <= named.start() < end for first, end, _ in places)
        if named and not known and _ARGUMENTS_MEMBER.search(text, match.end(), match.end() + 8 * NEAR):
            places.append((match.start(), named.end(), named[1]))
    yield from sorted(places)


@lru_cache(64)
def _names(names: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for the names as whole words."""
    one_of = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    spaces = "|".join(rf"(?<={space}\.)" for space in ("functions", "tools", "tool", "default_api"))
    pattern = rf"(?:(?<![\w./-])|(?<=^/)|(?<=\w/)|{spaces})(?:{one_of})(?![\w-])"
    return re.compile(pattern, re.MULTILINE)


def _call_at(text: str, match: re.Match[str], tools: Tools) -> tuple[int, int] | None:
    """Start and end of a possible call with this name; None if there is no call."""
    at = match.end()
    line = text.rfind("\n", 0, match.start()) + 1
    before = text[line : match.start()]
    if len(before) > MOST_BEFORE:
        before = before[: MOST_BEFORE // 2] + before[-MOST_BEFORE // 2 :]
    before = _NAMESPACE.sub("", before)
    if _TABLE.match(before) or _CODE.search(before) or (text[at : at + 1] == "(" and _ASSIGNED.search(before)):
        return None
    if _SIGNATURE.match(text, at) or _IN_SENTENCE.match(text, at) or (_DIFF.fullmatch(before) and text[at : at + 1] == "("):
        return None
    if _is_in_code(text, before, at):
        return None
    stands = _is_markup(before) and (bool(before.strip()) or _FOLLOWS.match(text, at) is not None)
    if not stands and before.rstrip(" ")[-1:] not in _TIGHT:
        return None
    weak = bool(_LIST.match(before)) and not _LABEL.search(before)
    evidence = _arguments_of(text, match, tools, weak=weak)
    bare = not before.strip() and re.compile(r":[ \t]*\n").match(text, at)  # as in YAML
    if evidence is None or (text[evidence - 1] == "}" and _GOES_ON.match(text, evidence)):
        return None
    if not ((stands and not bare) or _is_rest(text[evidence:])):
        return None
    begin = line
    if not stands:
        begin = next(place for place in range(line, match.start()) if text[place] in _TIGHT)
    for _ in range(MOST_LINES if begin == line else 0):  # lines above that are markup alone belong to it
        above = text.rfind("\n", 0, begin - 1) + 1
        if begin == 0 or not _is_bare_markup(text[above : begin - 1]):
            break
        begin = above
    return begin, evidence


def _is_in_code(text: str, before: str, at: int) -> bool:
    """Whether a name is part of code or settings outside a fence; `before` is its line up to the name, which ends at `at`."""
    if not before.strip() and re.compile(r"[ \t]*=(?!=)").match(text, at):
        return True
    if _SECTION.fullmatch(before) and re.compile(r"\][ \t]*\n\w+[ \t]*=").match(text, at):
        return True
    call = _ARGUMENT.search(before)
    if call and call[1] != "print" and not _LABEL.fullmatch(call[1]):
        return True
    return bool(_AFTER_IN_CODE.match(text, at) or (_STATEMENT.match(text, at) and "<" not in before))


def _is_markup(before: str) -> bool:
    """Whether the text before a name in its line is markup, not a sentence."""
    if len(before) > 4 * NEAR:
        return False
    bare = re.sub(r"<[^<>]*>?|[\[(【⟦][^\[\]()]{0,40}[\])】⟧]|\"[^\"]*\"", " ", before)
    words = re.findall(r"[^\W\d_][\w'’-]*", bare)
    if not words:
        return True
    if len(words) == 1 and before.rstrip()[-1:] in _MARKUP:
        return True
    return len(words) <= 2 and all(_LABEL.fullmatch(word) for word in words)


def _is_rest(rest: str) -> bool:
    """Whether only markup is left at the end of a text."""
    bare = re.sub(r"<[^<>]*>?|\{[^{}]*\}", " ", rest)
    return len(re.findall(r"[^\W\d_]{2,}", bare)) <= 1


def _is_bare_markup(line: str) -> bool:
    line = line.strip()
    return (
        bool(line) and len(line) <= NEAR and line[0] in _BARE and not re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", line)
    )


def _arguments_of(text: str, match: re.Match[str], tools: Tools, *, weak: bool) -> int | None:
    """The end of the tool's arguments next to its name; None if there are none."""
    name, at = match.group(), match.end()
    properties = frozenset(tools.properties(name))
    required = frozenset(key for key in properties if key in tools.schemas[name].get("required", ()))
    in_json = _IN_JSON.search(text, max(0, match.start() - NEAR), match.start()) is not None and text[at : at + 1] == '"'
    if in_json and re.compile(r'"\s*:').match(text, at) and not _is_only_member(text, match.start() - 1):
        return None
    brace = text.find("{", at, at + NEAR)
    if brace >= 0 and not _is_sentence(text[at:brace]) and not (in_json and "[" in text[at:brace]):
        keys, end = _object_at(text, brace)
        if keys & properties and not keys & _OF_TOOLS:
            return end or len(text)
        if end is not None and not keys and not required and not weak:
            return end
        nested = re.compile(r"\{\s*(?:\"\w+\"\s*:\s*)?\{").match(text, brace)
        if nested:
            keys, end = _object_at(text, nested.end() - 1)
            if keys & properties and not keys & _OF_TOOLS:
                return end or len(text)
    if in_json:
        around = text.rfind("{", max(0, match.start() - 4 * NEAR), match.start())
        keys, end = _object_at(text, around) if around >= 0 else (frozenset(), None)
        fits = keys & properties and required <= keys and not keys & _OF_TOOLS
        return (end or len(text)) if fits else None
    if weak or not properties:
        return _empty_element(text, at, properties)
    window = text[at : at + 8 * NEAR + 4096]
    window = window[: found.start()] if (found := re.search(r"\n[ \t]*\n", window)) else window
    line = text.rfind("\n", 0, match.start()) + 1
    if not text[line : match.start()].strip() and _SCALAR.match(window):
        window = window.partition("\n")[0]
    listed = _CAPITALS.search(text, line, match.start()) is not None
    ends = {key: end for key in properties if (end := _given(window, key, listed=listed))}
    if ends and "\n" not in (between := window[: min(ends.values())]) and _is_sentence(between.rpartition(" ")[0]):
        return None
    if ends and (required <= ends.keys() or re.match(r"[^\n]{0,8}[<>|｜(\[\]]", window)):
        return at + max(ends.values())
    return None


def _is_only_member(text: str, at: int) -> bool:
    """Whether the member that begins at `at` is the only one of its object."""
    before = text[:at].rstrip()
    if not before.endswith("{"):
        return False
    end = _end_of_object(text, len(before) - 1)
    value = _loaded(text[len(before) - 1 : end]) if end else None
    return not isinstance(value, dict) or len(value) == 1


def _empty_element(text: str, at: int, properties: frozenset[str]) -> int | None:
    """The end of an empty tag or call, of a tool without parameters."""
    if properties:
        return None
    match = re.compile(r"\(\)|\s*/>|>\s*</").match(text, at)
    return match.end() if match else None


def _given(window: str, key: str, *, listed: bool) -> int:
    """The end of a parameter's name in markup, followed by a value; 0 if it is missing. `listed`: it may be a list's item."""
    one, item = re.escape(key), r"(?:[-*][^\S\n]+)?" if listed else ""
    pattern = (
        rf"(?!\{{{one}\}}(?!\}}))[\"'<(=,|>\[:｜{{@$&#~%^]\s*{one}\s*(?![\"']\s*[\],])[\"'<>=:|\]｜)}}]"
        rf"|^[^\S\n]*{item}{one}[^\S\n]*(?:[:=]|->|→|<-|\|)[^\S\n]*\S|[ ,(]{one}=[^=\s]"
    )
    match = re.search(pattern, window, re.MULTILINE | re.IGNORECASE)
    return match.end() if match else 0


def _is_sentence(between: str) -> bool:
    """Whether the text between a name and an object is prose."""
    bare = re.sub(r"<[^<>]*>?|\"[^\"]*\"", " ", between)
    return len(re.findall(r"[^\W\d_][\w'’-]*", bare)) > 2 or "\n\n" in between


def _object_at(text: str, at: int) -> tuple[frozenset[str], int | None]:
    """The names of an object's members, and its end; None if it is incomplete or not JSON."""
    end = _end_of_object(text, at)
    part = text[at : end or len(text)]
    value = _loaded(part) if end else None
    if isinstance(value, dict):
        inner = [found for key in value if isinstance(found := _unpacked(value[key]), dict)]
        return frozenset(value) | frozenset().union(*inner), end
    return frozenset(re.findall(r"[\"']?(\w[\w-]*)[\"']?\s*[:=]", part[:2048])), end


def _loaded(text: str) -> object:
    """The value of a JSON text; None if it is not JSON."""
    try:
        return json_text.loads(text.encode())
    except (ValueError, UnicodeEncodeError):
        return None


def _unpacked(value: object) -> object:
    """An object that is written as a JSON string."""
    return _loaded(value) if isinstance(value, str) and value.startswith("{") else value


def _end_of_object(text: str, at: int) -> int | None:
    depth, in_string = 0, False
    for match in re.compile(r'["{}]|\\.', re.DOTALL).finditer(text, at, at + MOST_CALL):
        mark = match.group()
        if mark == '"':
            in_string = not in_string
        elif not in_string and mark in "{}":
            depth += 1 if mark == "{" else -1
            if depth == 0:
                return match.end()
    return None


def _judged(text: str, begin: int, name: str, tools: Tools, armed: frozenset[str]) -> Suspect:
    """Decides why a candidate was not made a call, by parsing it with all dialects."""
    if name not in tools.schemas:
        return _suspect(name, "not_offered", text, begin)
    dialect, arguments = _played(text[begin : begin + MOST_CALL], tools)
    if not dialect:
        brace = text.find("{", begin)
        whole = brace < 0 or _end_of_object(text, brace) is not None
        return _suspect(name, "unknown_markup" if whole else "cut_off", text, begin)
    if arguments is None:
        return _suspect(name, "cut_off", text, begin, dialect)
    if not tools.suits(name, arguments):
        return _suspect(name, "does_not_fit", text, begin, dialect)
    return _suspect(name, "doubtful" if dialect in armed else "not_looked_for", text, begin, dialect)


def _played(text: str, tools: Tools) -> tuple[str, str | None]:
    """The dialect of the first call in a text, and its arguments; None if incomplete. ("", None) if there is no call."""
    rules: list[str] = []
    reader = MarkupParser(opener_index(tuple(DIALECTS.values())), tools, 0, lambda: "call", rules.append, whole=True)
    ops = [*reader.feed(text), *reader.close(cut=True)]
    start = next((number for number, op in enumerate(ops) if isinstance(op, ToolCallStart)), None)
    dialect = next((rule for rule in rules if rule in DIALECTS), "")
    if start is None or not dialect:
        return "", None
    pieces: list[str] = []
    for op in ops[start + 1 :]:
        if isinstance(op, ToolCallDelta):
            pieces.append(op.arguments)
        elif isinstance(op, ToolCallEnd):
            return dialect, "".join(pieces)
    return dialect, None
