"""Follows the JSON of a native call's arguments as they come: where it ends, and what does not belong around it.

    feed('```json\\n{"a": "') → ('{"a": "', "")        feed('x"}') → ('x"}', "")        feed("\\n```") → ("", "\\n```")
    feed("{}") → ("", "")        feed('{"a": 1}') → ('{"a": 1}', "")                  of a tool that requires something

1. Regular text passes at once, in its own pieces, at a cost that does not grow with its length.
2. Held is only what does not begin with `{`: a fence or a tag, `null`, a string (dialect-rules.md: R5, R17), and what may be a
   word of Python's, which becomes JSON's.
3. Inside a string, what JSON forbids becomes an escape, as in leaked calls: raw control characters (R3), and a backslash before
   what JSON has no escape for (`"\\d+"`); `\\'` is an apostrophe.
4. A first brace that comes twice, `{` and then `{"a": 1}` (vLLM#51697), counts once. So do `{}` and what follows it, if the
   tool requires more: calls of Bedrock and Gemini begin like that at some gateways (litellm#4537, openai-agents-js#712,
   autogen#6843).
5. From where an object continues as JSON cannot (a comment, a single quote, a bare name, a bracket that closes another one),
   the rest is held up to the end, and repaired as a whole (lenient_json.py) or left.
"""

import re
from collections.abc import Iterator

from ...core import json_text
from ...core.lenient_json import closers, repaired
from ...core.schema_values import object_of
from ...core.tools import Tools

MAX_OPENING = 128
"""Characters of a fence or of tags before the arguments: `<|channel|>commentary<|message|>` is a long one."""

MAX_STRING = 1024 * 1024
"""Characters of arguments that are one JSON string, which is held up to its end."""

MOST_STRINGS = 4
"""Strings within one another, the innermost an object."""

_OPENING = re.compile(
    r"\ufeff?\s*(?:(?:```[ \t]*\w*|(?i:json)\b:?|<[^<>{}\s]{1,64}>|(?://|\#)[^\n]*\n|/\*[^*]*\*/)\s*)*\{"
)
MAX_IRREGULAR = 256 * 1024
"""Characters of an object from where it is not JSON; repairing that many takes half a second at most."""

_OUTSIDE = re.compile(r"""["{}\[\]('/#A-Za-z_$]""")
_WORD_END = re.compile(r"[\w$]*")
_PYTHON = ("True", "False", "None")
_CLOSES = {"{": "}", "[": "]"}
_INSIDE = re.compile(r'[^"\\\x00-\x1f]*+(?:\\["\\/bfnrtu][^"\\\x00-\x1f]*+)*+')


class Arguments:
    """The arguments of one call. `complete`: they are a whole object, and further text is trailing."""

    __slots__ = (
        *("_before", "_escaped", "_held", "_in_string", "_names", "_open", "_quote", "_read", "_size"),
        *("as_is", "complete", "demands", "named", "rule"),
    )

    def __init__(self) -> None:
        self.complete = False
        self.demands = False  # the tool accepts no call without arguments
        self.named = ""  # arguments from the call's name: used if there are no others
        self.as_is = False  # nothing is repaired
        self.rule = "argument_json"  # the name of the rule for a change
        self._held: list[str] = []
        self._size = 0  # of held text
        self._open: list[str] = []  # brackets
        self._before = ""  # the last character outside of strings that is not white space
        self._names = False  # the last string is a member's name
        self._quote = False  # the last character inside the string is an apostrophe
        self._in_string = False
        self._escaped = False  # the text ended between a backslash and the escaped character
        self._read = self._begin

    def feed(self, text: str) -> tuple[str, str]:
        """Takes the next text, which is not empty. Returns what goes to the client now, and what follows the arguments."""
        if not self._held:
            self.rule = "argument_json"
        return self._read(text)

    @property
    def in_string(self) -> bool:
        """Whether the text ends inside a string of the object, so that text_state.IN_STRING applies."""
        return self._in_string and not self._escaped and self._read == self._object

    @property
    def waits(self) -> bool:
        """Whether `{}` is held, after which required arguments may come."""
        return self._read == self._empty_object

    @property
    def holds(self) -> bool:
        """Whether some of the text is held."""
        return bool(self._held)

    @property
    def within_string(self) -> bool:
        """Whether the text ends inside a string, possibly within an escape."""
        return self._in_string

    def end(self, *, broken: bool, last: bool = True) -> str:
        """Ends the arguments. Returns the rest for the client.

        Empty arguments, and `null`, become `{}` unless the call was broken off.

        Args:
            broken: The call was broken off.
            last: False if that is not known yet: what lacks brackets is held until `closing`, or the last `end`.
        """
        if self._read == self._irregular:
            rest = self._repaired(ended=last and not broken)
            return self._end_irregular(rest) if last or rest is not None else ""
        self.rule = "arguments"
        if self.as_is and self._read == self._unchanged:
            self.complete = not broken
        held = self.settle() or self._release()
        if broken or self.complete or not (self._read == self._begin or held.strip() == "null"):
            return held
        self.complete = True
        self._read = self._trailing
        return self.named or "{}"

    def closing(self, sent: str, tools: Tools, name: str) -> str:
        """Returns what a call lacks at its end: brackets, and before them what is held because of these.

        It is "", or what is held unchanged, if more is missing, or something that the tool requires. The upstream calls the call
        complete, and no more text follows.

        Args:
            sent: All that `feed` returned for the client.
            tools: The offered tools.
            name: The tool's name.
        """
        if self._read == self._irregular:
            rest = self._repaired(ended=True)
            return self._end_irregular(rest if rest and tools.has_required(name, sent + rest) else None)
        if self.complete or self._read != self._object or self._held:
            return ""
        added = closers(sent)
        if not added or not tools.has_required(name, sent.rstrip().removesuffix(",") + added):
            return ""
        self.complete = True
        self._read = self._trailing
        self.rule = "argument_json"
        return added

    def settle(self) -> str:
        """Ends arguments that are a held `{}`. Returns it."""
        if not self.waits:
            return ""
        self.complete = True
        self._read = self._trailing
        held = self._release()
        return self.named.removeprefix("".join(self._open)) or held

    def _begin(self, text: str) -> tuple[str, str]:
        """Only white space so far."""
        value = text.lstrip()
        if not value:
            return text, ""
        match value[0]:
            case "n":
                self._read = self._null
            case _ if self.as_is:
                self._read = self._unchanged
            case "{":
                self._read = self._brace
            case "`" | "<" | "j" | "J" | "/" | "#" | "\ufeff":
                self._read = self._opening
            case '"':
                self._read = self._string
            case _:
                self._read = self._unchanged
        sent, trailing = self._read(value)
        return text[: len(text) - len(value)] + sent, trailing

    def _opening(self, text: str) -> tuple[str, str]:
        self._hold(text)
        held = "".join(self._held)
        match = _OPENING.match(held)
        if match:
            self._release()
            self._read = self._brace
            return self._brace(held[match.end() - 1 :])
        return ("", "") if "{" not in held and self._size < MAX_OPENING else self._pass_unchanged()

    def _null(self, text: str) -> tuple[str, str]:
        self.rule = "arguments"
        self._hold(text)
        held = "".join(self._held)
        return ("", "") if self._size < MAX_OPENING and "null".startswith(held.rstrip()) else self._pass_unchanged()

    def _string(self, text: str) -> tuple[str, str]:
        self._hold(text)
        _, end = self._follow(text)
        if end is None:
            return ("", "") if self._size < MAX_STRING else self._pass_unchanged()
        held = "".join(self._held)
        size = len(held) - len(text) + end
        inner = _object_in(held[:size])
        if inner is None:
            return self._pass_unchanged()
        self._release()
        self.complete = True
        self._read = self._trailing
        return inner, held[size:]

    def _hold(self, text: str) -> None:
        self._held.append(text)
        self._size += len(text)

    def _release(self) -> str:
        held = "".join(self._held)
        self._held.clear()
        self._size = 0
        return held

    def _pass_unchanged(self) -> tuple[str, str]:
        self._read = self._unchanged
        return self._release(), ""

    def _brace(self, text: str) -> tuple[str, str]:
        """After the first brace and white space: no other brace may follow."""
        first = "" if self._open else "{"
        rest = text[len(first) :]
        inner = rest.lstrip()
        if (self.demands or self.named) and inner.startswith("}") and inner[1:].lstrip()[:1] in ("", "{"):
            cut = len(text) - len(inner) + 1
            self.rule = "arguments"
            self._hold(text[:cut])
            self._read = self._empty_object
            return self._empty_object(text[cut:])
        self._open, self._before = ["{"], "{"
        if not inner:
            return text, ""
        self._read = self._object
        sent, trailing = self._object(inner[1:] if inner[0] == "{" else rest)
        return first + sent, trailing

    def _empty_object(self, text: str) -> tuple[str, str]:
        """After an empty object where arguments are required."""
        value = text.lstrip()
        if value.startswith("{"):
            self._release()
            self._read = self._brace
            return self._brace(value[len(self._open) :])  # the client may have its first brace
        if value or self._size > MAX_OPENING:
            return self.settle(), value
        self._hold(text)
        return "", ""

    def _irregular(self, text: str) -> tuple[str, str]:
        """The rest of an object that is not JSON."""
        self._hold(text)
        return ("", "") if self._size <= MAX_IRREGULAR else self._pass_unchanged()

    def _repaired(self, *, ended: bool) -> str | None:
        """Returns the rest of an object as JSON; None if it cannot be repaired."""
        held = "".join(self._held)
        first = self._before == "{" and len(self._open) == 1
        rest = object_of("{" + held) if first else None
        rest = rest and rest.removeprefix("{")
        for before in self._prefixes():
            rest = rest or repaired(held, before, ended=ended)
        return rest

    def _end_irregular(self, rest: str | None) -> str:
        """Ends an object with its repaired rest; with what is held, if there is none."""
        held = self._release()
        self.complete = rest is not None
        self._read = self._trailing if self.complete else self._unchanged
        return held if rest is None else rest

    def _prefixes(self) -> Iterator[str]:
        """Yields JSON that ends in the state in which the object stopped being JSON."""
        *outer, last = self._open
        start = "".join('{"":' if each == "{" else "[" for each in outer) + last
        key, value = ('"":', "0") if last == "{" else ("", "0")
        match self._before:
            case "{" | "[":
                yield start
            case ",":
                yield start + key + value + ","
            case ":":
                yield start + key
            case '"' if self._names:
                yield start + key[:-1]
            case _:
                yield start + key + value

    def _object(self, text: str) -> tuple[str, str]:
        if self._held:  # the start of a word
            text = self._release() + text
        sent, end = self._follow(text)
        if self._read == self._irregular:
            return sent, ""
        if end is None:
            return sent, ""
        self.complete = True
        self._read = self._trailing
        trailing = text[end:]
        return (sent, trailing) if trailing.strip() else (sent + trailing, "")

    def _trailing(self, text: str) -> tuple[str, str]:
        return "", text

    def _unchanged(self, text: str) -> tuple[str, str]:
        """Not an object: it passes unchanged."""
        return text, ""

    def _follow(self, text: str) -> tuple[str, int | None]:
        """Follows the value to its end. Returns its text as JSON, and the index after it if the value ends here.

        An incomplete word is held; so is everything from where the text is not JSON.
        """
        at = sent = 0
        size, in_string, opened = len(text), self._in_string, self._open
        pieces: list[str] = []
        end = None
        apostrophe = -1  # index of the last one that was escaped
        if self._escaped:
            self._escaped = False
            if text[0] == "'" and not self._quote:
                pieces.append("u0027")
                at = sent = 1
                apostrophe = 0
            elif text[0] in json_text.ESCAPED:
                at = 1
            else:
                pieces.append("\\")
        while at < size and end is None:
            if in_string:
                match = _INSIDE.match(text, at)
                assert match
                at = match.end()
                if at == size:
                    break
                character = text[at]
                at += 1
                if character == '"':
                    in_string = False
                elif character == "\\":
                    # 'it'\''s' is how a shell writes an apostrophe in single quotes
                    quoted = text[at - 2] == "'" and at - 2 != apostrophe if at > 1 else self._quote
                    if at == size:
                        self._escaped, self._quote = True, quoted
                    elif text[at] == "'" and not quoted:
                        pieces += text[sent : at - 1], "\\u0027"
                        apostrophe = at
                        at = sent = at + 1
                    else:  # it escapes nothing: a literal backslash was meant
                        pieces += text[sent:at], "\\"
                        sent = at
                    continue
                else:
                    pieces += text[sent : at - 1], json_text.inside(character)
                    sent = at
                    continue
            else:
                match = _OUTSIDE.search(text, at)
                if match is None:
                    break
                at = match.end()
                character = match.group()
                if character == '"':
                    before = self._last_before(text, at - 1)
                    if before and (before in '"}]' or before.isalnum()):  # a comma is missing
                        text = self._leave(text, at - 1)
                        break
                    self._names = before != ":" and opened[-1:] == ["{"]
                    in_string = True
                    continue
                if character in "{[":
                    opened.append(character)
                    continue
                start = at - 1
                if character in "}]":
                    if _CLOSES[opened[-1]] == character:
                        opened.pop()
                    else:
                        text = self._leave(text, start)
                        break
                else:
                    before = "," if character in "'/#(" else self._last_before(text, start)
                    word = _WORD_END.match(text, start)
                    assert word
                    at = word.end()
                    match before:
                        case ":" | "[" | "," if character.isalpha() and not (before == "," and opened[-1] == "{"):
                            if at == size and any(each.startswith(word.group()) for each in _PYTHON):
                                self._hold(word.group())
                                text = text[:start]
                                break
                            if word.group() in _PYTHON:
                                pieces += text[sent:start], json_text.WORDS[word.group()]
                                sent = at
                        case "{" | ",":
                            text = self._leave(text, start)
                            break
                        case _:
                            pass  # an incomplete word, or the exponent of a number
                    continue
            if not opened:
                end = at
        self._in_string = in_string
        if in_string:
            self._quote = self._quote if self._escaped else text[-1:] == "'" and size - 1 != apostrophe
        elif end is None and text:
            self._before = text[-1] if text[-1] > " " else self._last_before(text, len(text))
        return "".join((*pieces, text[sent:end])) if pieces or end is not None else text, end

    def _leave(self, text: str, start: int) -> str:
        """Holds the text from `start` on, where it is not JSON. Returns the text before."""
        self._before = self._last_before(text, start)
        self._read = self._irregular
        self._hold(text[start:])
        return text[:start]

    def _last_before(self, text: str, end: int) -> str:
        """The last character before `end` that is not white space."""
        while end and text[end - 1] in " \t\r\n":
            end -= 1
        return text[end - 1] if end else self._before


def _object_in(string: str) -> str | None:
    """Returns the object in a JSON string, which may be in further strings; None if there is none."""
    for _ in range(MOST_STRINGS):
        try:
            value = str(json_text.loads(string.encode()))
            right = json_text.is_json(value.encode())
        except (json_text.NotJSON, UnicodeEncodeError):
            return None
        if right and not value.lstrip().startswith("{"):
            string = value
        else:
            return value if right else repaired(value)
    return None
