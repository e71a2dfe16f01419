"""The output around the text of a delta, when texts become arguments or are written in another API.

    data: {"id":"x8", … "arguments":"Let me"} …     the text, in quotes, once or twice; other values that vary in deltas,
                                                    unchanged; and the number that an event may have

Learnt from output alone, for any API.
"""

import re
from collections.abc import Callable, Sequence
from itertools import batched
from typing import NamedTuple

from ...apis.shared.delta_template import DeltaTemplate, text_of
from ...core import json_text
from ...core.text_state import HALF, Escapes, TextState, cut_off

_SEQUENCE = re.compile(rb'(?<="sequence_number":)\d+')
_MEMBER = re.compile(rb'("[^"\\]*")\s*:\s*(["\[]?)\Z')

TEXT = -1
"""Stands for the text among the varying values."""

type Renderer = Callable[[Sequence[bytes], int], bytes]
"""Returns the output for deltas, from their varying values. The int is the sequence offset of the first one."""


class OutputTemplate(NamedTuple):
    """The output for a delta: `parts`, and what `varies` between them.

    Attributes:
        values: The varying values in this output.
        parts: The bytes around them.
        varies: TEXT, which stands in quotes, or the index of a hole of the delta.
        number: The sequence number of the event; -1 if it has none.
        end: The bytes after the number.
        missing: The values of holes that are not in the output.
    """

    values: tuple[bytes, ...]
    parts: tuple[bytes, ...]
    varies: tuple[int, ...]
    number: int = -1
    end: bytes = b""
    missing: tuple[bytes, ...] = ()

    @property
    def holes(self) -> bool:
        """Whether anything but the text varies."""
        return self.varies.count(TEXT) < len(self.varies)

    def render(self, text: str, delta: Sequence[bytes], count: int, *, escapes: Escapes | None) -> bytes:
        """Returns the output for another delta.

        Args:
            text: Its text.
            delta: The values of its holes; empty if only the text varies.
            count: Its sequence offset.
            escapes: How text is escaped in the output.
        """
        quoted_text = quoted(text, escapes=escapes)
        if delta:
            values = [quoted_text if place == TEXT else delta[place] for place in self.varies]
            output = self.parts[0] + b"".join(map(bytes.__add__, values, self.parts[1:]))
        else:
            output = quoted_text.join(self.parts)
        return output if self.number < 0 else output + b"%d" % (self.number + count) + self.end

    def same_around(self, other: "OutputTemplate") -> bool:
        """Whether two outputs differ only in what varies and in their numbers, and all that varies differs."""
        if (self.parts, self.varies, self.end) != (other.parts, other.varies, other.end):
            return False
        if any(one == another for one, another in zip(self.missing, other.missing, strict=True)):
            return False  # it may be in the output in another form
        # a text may equal the name of a member
        return self.varies == (TEXT,) or all(one != another for one, another in zip(self.values, other.values, strict=True))


def learn_output(output: bytes, text: bytes, others: Sequence[tuple[int, bytes, bytes]] = ()) -> OutputTemplate | None:
    """Learns a template from the output for one delta; None if the text cannot be located with certainty.

    Args:
        output: The output.
        text: The delta's text, quoted as in the output.
        others: The delta's other holes: index, the literal before it, and value.
    """
    *parts, last = output.split(text)
    if not 1 <= len(parts) <= 2 or output.rfind(text) + len(text) + len(last) != len(output):  # `":"` occurs twice in `"a":":"`
        return None
    at = len(parts[0])
    places = [(at, at + len(text), TEXT)]
    if len(parts) > 1:
        at += len(text) + len(parts[1])
        places.append((at, at + len(text), TEXT))
    missing = []
    for place, before, value in others:
        member = _MEMBER.search(before)
        if member and member[1] == b'"sequence_number"':
            continue
        spans = []
        if member:
            name, opens, literal = map(re.escape, (*member.groups(), value))
            found = re.finditer(rb"%b\s*+:\s*+%b(%b)(?![0-9.eE])" % (name, opens, literal), output)
            spans = [(*match.span(1), place) for match in found]
        if len(spans) > 1:
            return None
        places += spans
        missing += [] if spans else [value]
    places.sort()
    bounds = [0, *(at for first, end, _ in places for at in (first, end)), len(output)]
    if bounds != sorted(bounds):
        return None
    literals = [output[first:end] for first, end in zip(bounds[::2], bounds[1::2], strict=True)]
    values, varies = tuple(output[first:end] for first, end, _ in places), tuple(place for *_, place in places)
    numbers = _SEQUENCE.findall(output)
    if not numbers:
        return OutputTemplate(values, tuple(literals), varies, missing=tuple(missing))
    number = _SEQUENCE.search(literals[-1])
    if number is None or len(numbers) > 1:
        return None
    rest = literals[-1]
    return OutputTemplate(
        values, (*literals[:-1], rest[: number.start()]), varies, int(number[0]), rest[number.end() :], tuple(missing)
    )


def quoted(text: str, *, escapes: Escapes | None) -> bytes:
    """Quotes a text as JSON, after escaping it for arguments if needed."""
    return json_text.quote(escapes(text) if escapes else text).encode()


def render(wrap: OutputTemplate, state: TextState) -> Renderer:
    """Returns a renderer for outputs in which only the text varies."""
    escapes, moves_escapes = state.escapes, state.defers_backslash
    quotes = [b'"%b"' % part for part in wrap.parts]
    parts = (quotes[0][1:], *quotes[1:-1], quotes[-1][:-1])
    between, number, end = parts[-1] + parts[0], wrap.number, wrap.end

    def render_all(texts: Sequence[bytes], count: int) -> bytes:
        if moves_escapes:
            texts = move_escapes(texts)
        joined = b"".join(texts)
        if joined.find(b"\\") >= 0 or not joined.isascii():
            return b"".join([wrap.render(text_of(text) or "", (), at, escapes=escapes) for at, text in enumerate(texts, count)])
        if number >= 0:
            return b"".join([text.join(parts) + b"%d" % (number + at) + end for at, text in enumerate(texts, count)])
        if len(parts) > 2:
            return b"".join([text.join(parts) for text in texts])
        return parts[0] + between.join(texts) + parts[1]

    return render_all


def render_varying(wrap: OutputTemplate, shape: DeltaTemplate, state: TextState) -> Renderer:
    """Returns a renderer for outputs in which more than the text varies: it takes the values of all holes of each delta."""
    escapes, moves_escapes = state.escapes, state.defers_backslash
    width, place = len(shape.rest), shape.place
    first, *literals = (part.replace(b"%", b"%%") for part in wrap.parts)
    slots = [b'"%b"' if where == TEXT else b"%b" for where in wrap.varies]
    form = first + b"".join(slot + literal for slot, literal in zip(slots, literals, strict=True))
    places = [place if where == TEXT else where for where in wrap.varies]

    def render_all(values: Sequence[bytes], count: int) -> bytes:
        out = []
        if moves_escapes:
            values = list(values)
            values[place::width] = move_escapes(values[place::width])
        for at, delta in enumerate(batched(values, width), count):
            text = delta[place]
            if wrap.number >= 0 or text.find(b"\\") >= 0 or not text.isascii():
                out.append(wrap.render(text_of(text) or "", delta, at, escapes=escapes))
            else:
                out.append(form % tuple([delta[where] for where in places]))
        return b"".join(out)

    return render_all


def move_escapes(texts: Sequence[bytes]) -> Sequence[bytes]:
    """Moves half of an escape at the end of a text to the front of the next one. The last text has none."""
    if not any(text.endswith(HALF) for text in texts[:-1]):
        return texts
    out: list[bytes] = []
    before = b""
    for text in texts:
        whole = before + text
        before = cut_off((whole,))
        out.append(whole.removesuffix(before))
    return out
