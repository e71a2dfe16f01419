"""The arguments of a native call, followed as they come: their JSON, where it ends, and what should not be around it.

    feed('```json\\n{"a": "') → ('{"a": "', "")        feed('x"}') → ('x"}', "")        feed("\\n```") → ("", "\\n```")
    feed("{}") → ("", "")        feed('{"a": 1}') → ('{"a": 1}', "")                  of a tool that requires something

Rule of this file: a regular text passes at once, as it is and in its pieces, at a cost that does not grow with its
length. Held is only what does not begin with `{`: a fence or a tag, `null`, a string (R5, R17 of dialects.md), and what may be
a word of Python's, which becomes JSON's. Inside a string what JSON forbids becomes an escape, as in leaked calls: raw control
characters (R3), and a backslash in front of what JSON has no escape for (`"\\d+"`). A first brace that comes twice, `{` and then
`{"a": 1}` (vLLM#51697), is one; so are `{}` and what comes behind it, where the tool requires more: behind some gateways calls of
Bedrock and Gemini begin like that (litellm#4537, openai-agents-js#712, autogen#6843). A dict of Python's, and any
object that begins as no JSON does, is held up to its end.
"""

import re

from .. import json_text
from ..lenient_json import repaired
from ..values import MAX_LITERAL, object_of

MAX_OPENING = 128
"""Characters of a fence or of tags in front of the arguments: `<|channel|>commentary<|message|>` is a long one."""

MAX_STRING = 1024 * 1024
"""Characters of arguments that are one JSON string, held up to its end."""

_NO_JSON = frozenset("'/#_$")
"""What no member of an object begins with: it is held up to its end, and repaired as a whole."""

_OPENING = re.compile(r"(?:(?:```[ \t]*\w*|(?i:json)\b:?|<[^<>{}\s]{1,64}>)\s*)+\{")
_OUTSIDE = re.compile(r'["{}\[\]TFN]')
_INSIDE = re.compile(r'[^"\\\x00-\x1f]*+(?:\\["\\/bfnrtu][^"\\\x00-\x1f]*+)*+')


class Arguments:
    """`complete` tells that the text is a whole object; what comes then stands behind the arguments."""

    __slots__ = ("_depth", "_escaped", "_held", "_in_string", "_read", "_size", "complete", "demands", "named")

    def __init__(self) -> None:
        self.complete = False
        self.demands = False  # the tool takes no call without arguments
        self.named = ""  # arguments that stood in the call's name: they count where no others come
        self._held: list[str] = []
        self._size = 0  # characters that are held
        self._depth = 0
        self._in_string = False
        self._escaped = False  # the text ended between a backslash and what it escapes
        self._read = self._begin

    def feed(self, text: str) -> tuple[str, str]:
        """The next text, which is not empty → what goes to the client now, and what stands behind the arguments."""
        return self._read(text)

    @property
    def in_string(self) -> bool:
        """Whether the text ends inside a string of the object, so that course.IN_STRING tells what passes."""
        return self._in_string and not self._escaped and self._read == self._object

    @property
    def waits(self) -> bool:
        """Whether `{}` came, and is held: what the tool demands may come behind it."""
        return self._read == self._nothing

    @property
    def holds(self) -> bool:
        """Whether some of the text that came is not sent yet."""
        return bool(self._held)

    @property
    def within_string(self) -> bool:
        """Whether the text ends inside a string, if need be in the middle of an escape."""
        return self._in_string

    def end(self, *, broken: bool) -> str:
        """Nothing more will come. The rest for the client: if nothing or `null` came, it is `{}`; not if broken off."""
        if self._read == self._python:
            return self._from_python()
        held = self.settle() or self._release()
        if broken or self.complete or not (self._read == self._begin or held.strip() == "null"):
            return held
        self.complete = True
        self._read = self._behind
        return self.named or "{}"

    def settle(self) -> str:
        """Nothing comes behind `{}`, if that is held: it was all. It goes to the client."""
        if not self.waits:
            return ""
        self.complete = True
        self._read = self._behind
        held = self._release()
        return self.named.removeprefix("{" if self._depth else "") or held

    def _begin(self, text: str) -> tuple[str, str]:
        """Nothing but blanks yet."""
        value = text.lstrip()
        if not value:
            return text, ""
        match value[0]:
            case "{":
                self._read = self._brace
            case "`" | "<" | "j" | "J":
                self._read = self._opening
            case '"':
                self._read = self._string
            case "n":
                self._read = self._null
            case _:
                self._read = self._other
        sent, behind = self._read(value)
        return text[: len(text) - len(value)] + sent, behind

    def _opening(self, text: str) -> tuple[str, str]:
        self._hold(text)
        held = "".join(self._held)
        match = _OPENING.match(held)
        if match:
            self._release()
            self._read = self._brace
            return self._brace(held[match.end() - 1 :])
        return ("", "") if "{" not in held and self._size < MAX_OPENING else self._give_up()

    def _null(self, text: str) -> tuple[str, str]:
        self._hold(text)
        held = "".join(self._held)
        return ("", "") if self._size < MAX_OPENING and "null".startswith(held.rstrip()) else self._give_up()

    def _string(self, text: str) -> tuple[str, str]:
        self._hold(text)
        _, end = self._follow(text)
        if end is None:
            return ("", "") if self._size < MAX_STRING else self._give_up()
        held = "".join(self._held)
        size = len(held) - len(text) + end
        try:
            value = json_text.loads(held[:size].encode())
            inner = json_text.loads(value.encode())
        except (json_text.NotJSON, UnicodeEncodeError):
            return self._give_up()
        if not isinstance(inner, dict):
            return self._give_up()
        self._release()
        self.complete = True
        self._read = self._behind
        return value, held[size:]

    def _hold(self, text: str) -> None:
        self._held.append(text)
        self._size += len(text)

    def _release(self) -> str:
        held = "".join(self._held)
        self._held.clear()
        return held

    def _give_up(self) -> tuple[str, str]:
        self._read = self._other
        return self._release(), ""

    def _brace(self, text: str) -> tuple[str, str]:
        """The first brace of an object, and blanks behind it: no other brace may follow."""
        first = "" if self._depth else "{"
        rest = text[len(first) :]
        inner = rest.lstrip()
        if (self.demands or self.named) and inner.startswith("}") and inner[1:].lstrip()[:1] in ("", "{"):
            cut = len(text) - len(inner) + 1
            self._hold(text[:cut])
            self._read = self._nothing
            return self._nothing(text[cut:])
        if inner[:1].isalpha() or (inner and inner[0] in _NO_JSON):
            self._read = self._python
            return self._python(text)
        self._depth = 1
        if not inner:
            return text, ""
        self._read = self._object
        sent, behind = self._object(inner[1:] if inner[0] == "{" else rest)
        return first + sent, behind

    def _nothing(self, text: str) -> tuple[str, str]:
        """Behind an object that is empty, where it must not be."""
        value = text.lstrip()
        if value.startswith("{"):
            self._release()
            self._read = self._brace
            return self._brace(value[self._depth :])  # of which the client may have the first brace
        if value or self._size > MAX_OPENING:
            return self.settle(), value
        self._hold(text)
        return "", ""

    def _python(self, text: str) -> tuple[str, str]:
        """A dict of Python's, up to its end."""
        self._hold(text)
        return ("", "") if self._size <= MAX_LITERAL else self._give_up()

    def _from_python(self) -> str:
        """The dict as JSON, without the brace that went out before; as it came if it is none."""
        held = self._release()
        first = "{" if self._depth else ""
        whole = first + held
        value = object_of(whole) or repaired(whole)
        self.complete = value is not None
        self._read = self._behind if self.complete else self._other
        return held if value is None else value.removeprefix(first)

    def _object(self, text: str) -> tuple[str, str]:
        if self._held:  # what may be a word
            text = self._release() + text
        sent, end = self._follow(text)
        if end is None:
            return sent, ""
        self.complete = True
        self._read = self._behind
        behind = text[end:]
        return (sent, behind) if behind.strip() else (sent + behind, "")

    def _behind(self, text: str) -> tuple[str, str]:
        return "", text

    def _other(self, text: str) -> tuple[str, str]:
        """No object, or none that could be found: the client's to judge."""
        return text, ""

    def _follow(self, text: str) -> tuple[str, int | None]:
        """The text up to the end of the value, as JSON has it; and that end, if it is in it. A word that is cut is held."""
        at = sent = 0
        size, depth, in_string = len(text), self._depth, self._in_string
        pieces: list[str] = []
        end = None
        if self._escaped:
            self._escaped = False
            if text[0] in json_text.ESCAPED:
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
                    self._escaped = at == size
                    if not self._escaped:  # it escapes nothing: it was to be one itself
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
                    in_string = True
                    continue
                if character in "TFN":
                    word = next(word for word in json_text.WORDS if word[0] == character)
                    if text.startswith(word, at - 1):
                        pieces += text[sent : at - 1], json_text.WORDS[word]
                        at = sent = at - 1 + len(word)
                    elif word.startswith(text[at - 1 :]):
                        self._hold(text[at - 1 :])
                        text = text[: at - 1]
                        break
                    continue
                depth += 1 if character in "{[" else -1
            if depth <= 0:
                end = at
        self._depth, self._in_string = depth, in_string
        return "".join((*pieces, text[sent:end])) if pieces or end is not None else text, end
