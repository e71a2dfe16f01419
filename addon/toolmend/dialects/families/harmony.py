"""Harmony: gpt-oss, with its tokens (`harmony`) and without (`harmony_stripped`).

    <|channel|>analysis<|message|>The user wants …<|end|><|start|>assistant<|channel|>commentary to=functions.read_file
    <|constrain|>json<|message|>{"path": "a.md"}<|call|>

A recipient makes a message a call, on whatever channel (47 % of the calls come on analysis, with type `code`). Without
one, analysis is reasoning, commentary and final are content; the tokens are never content. The header holds role, channel,
recipient and type in any order. Source: openai/harmony, docs/format.md; glued and doubled headers from streams in the wild.

Where a server strips the tokens, `commentary to=functions.read_file json{…}` is left of a call, and of an answer
`analysisThe user wants …assistantfinalHello`. OpenAI's own models write such calls into the text of the Responses API
(codex#13114); there the recipient alone counts (`harmony_recipient`).
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
"""What follows a part of a header, even where something else is glued to it."""

_TYPES = ("json", "code")
_NOBODY = ("", "assistant", "user", "all")
"""Recipients that are no tools."""

_NAME = re.compile(r"[A-Za-z0-9_.:/-]*")
_GLUED = re.compile(r"""[\w"'`*#(\[]""")
_NEXT = re.compile(r"assistant(?:analysis|commentary|final|\s{0,8}to=)")
MAX_NEXT = 20
"""Characters of what separates two messages without tokens."""


@mutable
class _Header:
    """What stands before a body. `complete`: so did `<|message|>`."""

    role: str = ""
    channel: str = ""
    recipient: str = ""
    type: str = ""
    complete: bool = False


class Harmony(CustomDialect):
    """Messages between tokens."""

    def read(self, reader: "MarkupParser") -> Reading[bool]:
        scanner = reader.scanner
        place = reader.place
        ours = reader.channels is self
        ended = yield from scanner.literal(_ENDS)
        wrapped = reader.aside[0] > 0  # only a call may stand in another dialect's wrapper
        if ended and ours and not wrapped:
            reader.switch_channel(self, "")
            return True
        yield from scanner.blanks()
        if not (yield from scanner.ahead(_STARTS)):
            return False
        header = yield from _read_header(scanner)
        if header is None:
            return False
        if _called(reader, header):
            return (yield from _read_call(reader, self, header))
        if wrapped or not header.complete or (header.channel not in _CHANNELS and (header.channel or not header.role)):
            return False
        if header.role in ("", "assistant"):
            # the first one stands behind an end, or at the beginning of a line, or says its role; quoted, it is text
            if not ours and (place.in_fence or not (ended or (not place.in_code and (header.role or place.line_start)))):
                return False
            thought = header.channel == "analysis" or header.recipient not in _NOBODY
        else:  # the model goes on with what the tool, or the user, might say
            if not ours:
                return False
            thought = True
        reader.switch_channel(self, "reasoning" if thought else "content")
        return True


class HarmonyStripped(CustomDialect):
    """The same without the tokens."""

    def read(self, reader: "MarkupParser") -> Reading[bool]:
        scanner = reader.scanner
        at_start = reader.place.message_start
        silent = reader.in_reasoning
        assistant = yield from scanner.literal(("assistant",))
        channel = yield from scanner.literal(_CHANNELS)
        behind, guess = scanner.pos - scanner.start, False
        yield from scanner.blanks()
        directed = yield from scanner.ahead(("to=",))
        if directed and (assistant or not silent):
            header = yield from _read_header(scanner)
            if header and _called(reader, header) and (yield from _read_call(reader, self, header)):
                return True
        scanner.pos = scanner.start + behind
        if channel is None:
            return False
        if not assistant:
            if not at_start or channel == "final" or directed:
                return False
            is_channel = yield from self._is_channel(scanner, None if reader.whole else DOUBT)
            guess = is_channel is None and channel == "analysis"
            if not (is_channel or guess):
                return False
            scanner.pos = scanner.start + behind
        elif not at_start and reader.channels is not self:
            return False
        reader.switch_channel(self, "reasoning" if channel == "analysis" or directed else "content", guess=guess)
        return True

    def _is_channel(self, scanner: Scanner, most: int | None) -> Reading[bool | None]:
        """Whether the word that was read is a channel: its message is glued to it, and another message follows.

        None if that does not show in `most` characters.
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
    """Reads a header, up to its body or to what cannot stand in one; None for what is no header."""
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
                return None  # a word that no part of a header names: prose
            case None:
                header.type = found
    return None


def _called(reader: "MarkupParser", header: _Header) -> bool:
    """Whether the recipient is a tool; its name may have been glued to what follows it."""
    if header.recipient in _NOBODY:
        return False
    name = bare_name(reader, header.recipient)
    for word in (*_TYPES, *_CHANNELS):
        if name not in reader.tools:
            name = name.removesuffix(word)
    header.recipient = name if name in reader.tools else header.recipient
    return name in reader.tools


def _read_call(reader: "MarkupParser", dialect: "Dialect", header: _Header) -> Reading[bool]:
    """Reads the body of a message to a tool."""
    if not header.complete and ((yield from reader.scanner.peek()) != "{" or header.type not in ("", *_TYPES)):
        return False

    def commit() -> None:
        found = HARMONY if header.complete else dialect
        reader.switch_channel(found, "")
        reader.start(found, reader.new_id(), header.recipient)

    return (yield from read_arguments(reader, commit, _ENDS + _STARTS))


HARMONY = Harmony("harmony", (*_STARTS, *_ENDS), offered_only=True)
class HarmonyRecipient(CustomDialect):
    """Only calls, only where they name their module: what other text says of channels is text."""

    def read(self, reader: "MarkupParser") -> Reading[bool]:
        scanner = reader.scanner
        yield from scanner.literal(("assistant",))
        yield from scanner.literal(_CHANNELS)
        yield from scanner.blanks()
        if not (yield from scanner.ahead(("to=functions.",))):
            return False
        header = yield from _read_header(scanner)
        return bool(header and _called(reader, header) and (yield from _read_call(reader, self, header)))


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
