"""The arguments of a native call, followed as they come: their JSON, where it ends, and what should not be around it.

    feed('```json\\n{"a": "') → ('{"a": "', "")        feed('x"}') → ('x"}', "")        feed("\\n```") → ("", "\\n```")
    feed("{}") → ("", "")        feed('{"a": 1}') → ('{"a": 1}', "")                  of a tool that requires something

Rule of this file: a regular text passes at once, as it is and in its pieces, at a cost that does not grow with its
length. Held is only what does not begin with `{`: a fence or a tag, `null`, a string (dialect-rules.md: R5, R17), and what may be
a word of Python's, which becomes JSON's. Inside a string what JSON forbids becomes an escape, as in leaked calls: raw control
characters (R3), and a backslash in front of what JSON has no escape for (`"\\d+"`); `\\'` is an apostrophe. A first brace
that comes twice, `{` and then `{"a": 1}` (vLLM#51697), is one; so are `{}` and what comes behind it, where the tool requires
more: behind some gateways calls of Bedrock and Gemini begin like that (litellm#4537, openai-agents-js#712, autogen#6843). From
where an object goes on as no JSON does (a comment, a single quote, a name without quotes, a bracket that closes another) the
rest is held up to the end, and repaired as a whole (lenient_json.py) or left.
"""

import re
from collections.abc import Iterator

from ...core import json_text
from ...core.lenient_json import closers, repaired
from ...core.schema_values import object_of
from ...core.tools import Tools

MAX_OPENING = 128
"""Characters of a fence or of tags in front of the arguments: `<|channel|>commentary<|message|>` is a long one."""

MAX_STRING = 1024 * 1024
"""Characters of arguments that are one JSON string, held up to its end."""

_OPENING = re.compile(r"(?:(?:```[ \t]*\w*|(?i:json)\b:?|<[^<>{}\s]{1,64}>)\s*)+\{")
MAX_IRREGULAR = 256 * 1024
"""Characters of an object that is no JSON, from where that shows; to repair so much takes half a second at most."""

_OUTSIDE = re.compile(r"""["{}\[\]'/#A-Za-z_$]""")
_WORD_END = re.compile(r"[\w$]*")
_PYTHON = ("True", "False", "None")
_CLOSES = {"{": "}", "[": "]"}
_INSIDE = re.compile(r'[^"\\\x00-\x1f]*+(?:\\["\\/bfnrtu][^"\\\x00-\x1f]*+)*+')


class Arguments:
    """`complete` tells that the text is a whole object; what comes then stands behind the arguments."""

    __slots__ = (
        *("_before", "_escaped", "_held", "_in_string", "_open", "_quote", "_read", "_size"),
        *("as_is", "complete", "demands", "named", "rule"),
    )

    def __init__(self) -> None:
        self.complete = False
        self.demands = False  # the tool takes no call without arguments
        self.named = ""  # arguments that stood in the call's name: they count where no others come
        self.as_is = False  # nothing is repaired
        self.rule = "argument_json"  # what a change is called
        self._held: list[str] = []
        self._size = 0  # characters that are held
        self._open: list[str] = []  # brackets
        self._before = ""  # the last character outside of strings that is no blank
        self._quote = False  # the last character of the string is an apostrophe
        self._in_string = False
        self._escaped = False  # the text ended between a backslash and what it escapes
        self._read = self._begin

    def feed(self, text: str) -> tuple[str, str]:
        """The next text, which is not empty → what goes to the client now, and what stands behind the arguments."""
        if not self._held:
            self.rule = "argument_json"
        return self._read(text)

    @property
    def in_string(self) -> bool:
        """Whether the text ends inside a string of the object, so that text_state.IN_STRING applies."""
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
        if self._read == self._irregular:
            return self._repaired(ended=not broken)
        self.rule = "arguments"
        if self.as_is and self._read == self._other:
            self.complete = not broken
        held = self.settle() or self._release()
        if broken or self.complete or not (self._read == self._begin or held.strip() == "null"):
            return held
        self.complete = True
        self._read = self._behind
        return self.named or "{}"

    def closing(self, sent: str, tools: Tools, name: str) -> str:
        """The brackets that an object lacks at its very end; "" if more is missing, or what the tool `name` requires.

        `sent`: all that `feed` gave. Nothing more will come, and the upstream takes the call for complete.
        """
        if self.complete or self._read != self._object or self._held:
            return ""
        added = closers(sent)
        if not added or not tools.has_required(name, sent.rstrip().removesuffix(",") + added):
            return ""
        self.complete = True
        self._read = self._behind
        self.rule = "argument_json"
        return added

    def settle(self) -> str:
        """Nothing comes behind `{}`, if that is held: it was all. It goes to the client."""
        if not self.waits:
            return ""
        self.complete = True
        self._read = self._behind
        held = self._release()
        return self.named.removeprefix("".join(self._open)) or held

    def _begin(self, text: str) -> tuple[str, str]:
        """Nothing but blanks yet."""
        value = text.lstrip()
        if not value:
            return text, ""
        match value[0]:
            case "n":
                self._read = self._null
            case _ if self.as_is:
                self._read = self._other
            case "{":
                self._read = self._brace
            case "`" | "<" | "j" | "J":
                self._read = self._opening
            case '"':
                self._read = self._string
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
        self.rule = "arguments"
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
            value = str(json_text.loads(held[:size].encode()))
            right = value.lstrip().startswith("{") and json_text.is_json(value.encode())
        except (json_text.NotJSON, UnicodeEncodeError):
            return self._give_up()
        inner = value if right else repaired(value)
        if inner is None:
            return self._give_up()
        self._release()
        self.complete = True
        self._read = self._behind
        return inner, held[size:]

    def _hold(self, text: str) -> None:
        self._held.append(text)
        self._size += len(text)

    def _release(self) -> str:
        held = "".join(self._held)
        self._held.clear()
        self._size = 0
        return held

    def _give_up(self) -> tuple[str, str]:
        self._read = self._other
        return self._release(), ""

    def _brace(self, text: str) -> tuple[str, str]:
        """The first brace of an object, and blanks behind it: no other brace may follow."""
        first = "" if self._open else "{"
        rest = text[len(first) :]
        inner = rest.lstrip()
        if (self.demands or self.named) and inner.startswith("}") and inner[1:].lstrip()[:1] in ("", "{"):
            cut = len(text) - len(inner) + 1
            self.rule = "arguments"
            self._hold(text[:cut])
            self._read = self._nothing
            return self._nothing(text[cut:])
        self._open, self._before = ["{"], "{"
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
            return self._brace(value[len(self._open) :])  # of which the client may have the first brace
        if value or self._size > MAX_OPENING:
            return self.settle(), value
        self._hold(text)
        return "", ""

    def _irregular(self, text: str) -> tuple[str, str]:
        """The rest of an object that is no JSON."""
        self._hold(text)
        return ("", "") if self._size <= MAX_IRREGULAR else self._give_up()

    def _repaired(self, *, ended: bool) -> str:
        """The rest of an object as JSON; as it came if it cannot be repaired."""
        held = self._release()
        first = self._before == "{" and len(self._open) == 1
        rest = object_of("{" + held) if first else None
        rest = rest and rest.removeprefix("{")
        for before in self._likes():
            rest = rest or repaired(held, before, ended=ended)
        self.complete = rest is not None
        self._read = self._behind if self.complete else self._other
        return held if rest is None else rest

    def _likes(self) -> Iterator[str]:
        """JSON that goes on as the object does from where it is no JSON."""
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
            case _:
                yield start + key + value
                if key:  # behind a name
                    yield start + key[:-1]

    def _object(self, text: str) -> tuple[str, str]:
        if self._held:  # what may be a word
            text = self._release() + text
        sent, end = self._follow(text)
        if self._read == self._irregular:
            return sent, ""
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
        """The text up to the end of the value, as JSON has it; and that end, if it is in it.

        A word that is cut is held, and from where it is no JSON all.
        """
        at = sent = 0
        size, in_string, opened = len(text), self._in_string, self._open
        pieces: list[str] = []
        end = None
        apostrophe = -1  # the place of the last one that was escaped
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
                    # 'it'\''s' is the shell's way to write an apostrophe in single quotes
                    quoted = text[at - 2] == "'" and at - 2 != apostrophe if at > 1 else self._quote
                    if at == size:
                        self._escaped, self._quote = True, quoted
                    elif text[at] == "'" and not quoted:
                        pieces += text[sent : at - 1], "\\u0027"
                        apostrophe = at
                        at = sent = at + 1
                    else:  # it escapes nothing: it was to be one itself
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
                    before = "," if character in "'/#" else self._last_before(text, start)
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
                            pass  # a word that was cut, or the exponent of a number
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
        """From `start` on the text is no JSON: it is held. What is in front of that."""
        self._before = self._last_before(text, start)
        self._read = self._irregular
        self._hold(text[start:])
        return text[:start]

    def _last_before(self, text: str, end: int) -> str:
        """The last character in front of a place that is no blank."""
        while end and text[end - 1] in " \t\r\n":
            end -= 1
        return text[end - 1] if end else self._before
