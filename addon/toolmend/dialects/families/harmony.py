"""Harmony: gpt-oss, with its tokens (`harmony`) and without (`harmony_stripped`).

    <|channel|>analysis<|message|>The user wants …<|end|><|start|>assistant<|channel|>commentary to=functions.read_file
    <|constrain|>json<|message|>{"path": "a.md"}<|call|>

A message with a recipient is a call, on any channel (47 % of the calls are on analysis, with type `code`). Without a recipient,
analysis is reasoning, commentary and final are content; the tokens are never content. The header has role, channel, recipient and
type in any order. Source: openai/harmony, docs/format.md; glued and doubled headers from streams in the wild.

If a server strips the tokens, a call is `commentary to=functions.read_file json{…}`, and an answer is
`analysisThe user wants …assistantfinalHello`. OpenAI's own models write such calls into the text of the Responses API
(codex#13114); there only the recipient counts (`harmony_recipient`).
"""

import re
from typing import TYPE_CHECKING

from ...core.fastclass import mutable
from ...core.scanner import Reading, Scanner
from ..engine.dialect import DOUBT, CustomDialect
from ..engine.json_body import read_arguments
from ..engine.names import bare_name

if TYPE_CHECKING:
    from ..engine.dialect import Dialect
    from ..engine.markup_parser import MarkupParser

MAX_HEADER = 512
"""Characters between the beginning of a message and its body."""

_STARTS = ("<|start|>", "<|channel|>")
_ENDS = ("<|end|>", "<|call|>", "<|return|>")
_PARTS = (*_STARTS, "<|constrain|>", "<|message|>", "to=")
_CHANNELS = ("analysis", "commentary", "final")
_KNOWN: dict[str | None, tuple[str, ...]] = {"<|start|>": ("assistant",), "<|channel|>": _CHANNELS}
"""Known words after a part of a header; the next part may be glued to them."""

_TYPES = ("json", "code")
_NO_TOOL = ("", "assistant", "user", "all")
"""Recipients that are not tools."""

_NAME = re.compile(r"[A-Za-z0-9_.:/-]*")
_GLUED = re.compile(r"""[\w"'`*#(\[]""")
_NEXT = re.compile(r"assistant(?:analysis|commentary|final|\s{0,8}to=)")
MAX_NEXT = 20
"""Characters between two messages without tokens."""


@mutable
class _Header:
    """The header of a message. `complete`: it ended with `<|message|>`."""

    role: str = ""
    channel: str = ""
    recipient: str = ""
    type: str = ""
    complete: bool = False


class Harmony(CustomDialect):
    """Messages between tokens."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        place = parser.place
        continues = parser.channels is self  # the text has already contained harmony messages
        ended = yield from scanner.literal(_ENDS)
        wrapped = parser.aside[0] > 0  # in another dialect's wrapper, only a call counts
        if ended and continues and not wrapped:
            parser.switch_channel(self, "")
            return True
        yield from scanner.blanks()
        if not (yield from scanner.ahead(_STARTS)):
            return False
        header = yield from _read_header(scanner)
        if header is None:
            return False
        if _names_tool(parser, header):
            return (yield from _read_call(parser, self, header))
        if wrapped or not header.complete or (header.channel not in _CHANNELS and (header.channel or not header.role)):
            return False
        if header.role in ("", "assistant"):
            # the first message follows an end token, begins a line, or has a role; in quoted code it is text
            if not continues and (place.in_fence or not (ended or (not place.in_code and (header.role or place.line_start)))):
                return False
            thought = header.channel == "analysis" or header.recipient not in _NO_TOOL
        else:  # the model imagines a message of the tool or the user
            if not continues:
                return False
            thought = True
        parser.switch_channel(self, "reasoning" if thought else "content")
        return True


class HarmonyStripped(CustomDialect):
    """Messages whose tokens were stripped."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        at_start = parser.place.message_start
        in_reasoning = parser.in_reasoning
        assistant = yield from scanner.literal(("assistant",))
        channel = yield from scanner.literal(_CHANNELS)
        body, guess = scanner.pos - scanner.start, False
        yield from scanner.blanks()
        directed = yield from scanner.ahead(("to=",))
        if directed and (assistant or not in_reasoning):
            header = yield from _read_header(scanner)
            if header and _names_tool(parser, header) and (yield from _read_call(parser, self, header)):
                return True
        scanner.pos = scanner.start + body
        if channel is None:
            return False
        if not assistant:
            if not at_start or channel == "final" or directed:
                return False
            is_channel = yield from self._is_channel(scanner, None if parser.whole else DOUBT)
            guess = is_channel is None and channel == "analysis"
            if not (is_channel or guess):
                return False
            scanner.pos = scanner.start + body
        elif not at_start and parser.channels is not self:
            return False
        parser.switch_channel(self, "reasoning" if channel == "analysis" or directed else "content", guess=guess)
        return True

    def _is_channel(self, scanner: Scanner, most: int | None) -> Reading[bool | None]:
        """Whether the word before the scanner's position is a channel: its text is glued to it, and another message follows.

        None if the next `most` characters do not show it.
        """
        begin = scanner.pos - scanner.start
        if not _GLUED.match((yield from scanner.peek())):
            return False
        while not _NEXT.search(scanner.text, scanner.pos):
            if most and len(scanner.text) - scanner.start - begin > most:
                return None
            if scanner.ended:
                return False
            scanner.pos = max(scanner.pos, len(scanner.text) - MAX_NEXT)
            yield
        return True


def _read_header(scanner: Scanner) -> Reading[_Header | None]:
    """Parses a header up to its body, or up to text that is not part of a header; None if it is not a header."""
    header = _Header()
    before = scanner.pos - scanner.start
    while scanner.pos - scanner.start - before <= MAX_HEADER:
        yield from scanner.blanks()
        part = yield from scanner.literal(_PARTS)
        if part == "<|message|>":
            header.complete = True
            return header
        yield from scanner.blanks()
        known = yield from scanner.literal(_KNOWN.get(part, ()))
        found = known or (yield from scanner.run(_NAME, 160))
        if found is None or (not found and part in ("<|start|>", "to=")):
            return None
        match part:
            case "<|start|>":
                header.role = found
            case "<|channel|>":
                header.channel = found
            case "to=":
                header.recipient = found
            case None if not found:
                return header
            case None if found in _CHANNELS and not header.channel:
                header.channel = found
            case None if header.type or not (header.recipient or found in _TYPES):
                return None  # an unknown word: prose
            case None:
                header.type = found
    return None


def _names_tool(parser: "MarkupParser", header: _Header) -> bool:
    """Whether the recipient is an offered tool; a type or channel that is glued to its name is cut off."""
    if header.recipient in _NO_TOOL:
        return False
    name = bare_name(parser, header.recipient)
    for word in (*_TYPES, *_CHANNELS):
        if name not in parser.tools:
            name = name.removesuffix(word)
    header.recipient = name if name in parser.tools else header.recipient
    return name in parser.tools


def _read_call(parser: "MarkupParser", dialect: "Dialect", header: _Header) -> Reading[bool]:
    """Parses the body of a message to a tool. Returns whether it is a call."""
    if not header.complete and ((yield from parser.scanner.peek()) != "{" or header.type not in ("", *_TYPES)):
        return False

    def commit() -> None:
        found = HARMONY if header.complete else dialect
        parser.switch_channel(found, "")
        parser.start(found, parser.new_id(), header.recipient)

    return (yield from read_arguments(parser, commit, _ENDS + _STARTS))


class HarmonyRecipient(CustomDialect):
    """Only calls with the prefix `functions.`, without any channels."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner = parser.scanner
        yield from scanner.literal(("assistant",))
        yield from scanner.literal(_CHANNELS)
        yield from scanner.blanks()
        if not (yield from scanner.ahead(("to=functions.",))):
            return False
        header = yield from _read_header(scanner)
        return bool(header and _names_tool(parser, header) and (yield from _read_call(parser, self, header)))


HARMONY = Harmony("harmony", (*_STARTS, *_ENDS), offered_only=True)
HARMONY_RECIPIENT = HarmonyRecipient(
    "harmony_recipient",
    ("assistant to=", "assistantcommentary to=", "assistantanalysis to=", "commentary to=", "analysis to=", "to=functions."),
    ambiguous=True,
    offered_only=True,
    in_reasoning="never",
)
HARMONY_STRIPPED = HarmonyStripped(
    "harmony_stripped",
    ("assistant", "analysis", "commentary", "to="),
    ambiguous=True,
    offered_only=True,
    in_reasoning="never",
)
