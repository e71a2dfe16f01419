"""What goes out around the text of a delta, where texts become arguments, or are told in another API.

    data: {"id":"x8", … "arguments":"Let me"} …     the text, in quotes, once or twice; what else varies in deltas, as it
                                                    came; and the number that an event may have

Rule of this file: it works on what went out, and knows no API.
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
"""The text, among what varies."""

type Around = Callable[[Sequence[bytes], int], bytes]
"""What goes out for deltas, of which all that varies is given, the first of them the one that is the next but so many."""


class OutputTemplate(NamedTuple):
    """What went out for a delta: `parts`, and what `varies` between them.

    That is TEXT, which stands in quotes, or a place in the delta; `told` is what it was. `number`: of this event, where
    events have one; `end`: behind it. `absent`: what varies in deltas and was not found.
    """

    told: tuple[bytes, ...]
    parts: tuple[bytes, ...]
    varies: tuple[int, ...]
    number: int = -1
    end: bytes = b""
    absent: tuple[bytes, ...] = ()

    @property
    def holes(self) -> bool:
        """Whether more than the text varies."""
        return self.varies.count(TEXT) < len(self.varies)

    def around(self, text: str, delta: Sequence[bytes], count: int, *, escapes: Escapes | None) -> bytes:
        """What goes out for another text, of the delta that is the next but so many; `delta`: what else varies, if anything."""
        said = quoted(text, escapes=escapes)
        if delta:
            told = [said if place == TEXT else delta[place] for place in self.varies]
            around = self.parts[0] + b"".join(map(bytes.__add__, told, self.parts[1:]))
        else:
            around = said.join(self.parts)
        return around if self.number < 0 else around + b"%d" % (self.number + count) + self.end

    def alike(self, other: "OutputTemplate") -> bool:
        """Whether nothing else went out around what varies, but for its number; and whether all of that did vary."""
        if (self.parts, self.varies, self.end) != (other.parts, other.varies, other.end):
            return False
        if any(one == another for one, another in zip(self.absent, other.absent, strict=True)):
            return False  # it may be there in other words
        # a text may say just what a member is called
        return self.varies == (TEXT,) or all(one != another for one, another in zip(self.told, other.told, strict=True))


def wrap_of(given: bytes, text: bytes, others: Sequence[tuple[int, bytes, bytes]] = ()) -> OutputTemplate | None:
    """What is around a text in what went out for it; None where that cannot be told.

    `others`: what else varies in the delta: its place, the literal that stands there before it, and itself.
    """
    *parts, last = given.split(text)
    if not 1 <= len(parts) <= 2 or given.rfind(text) + len(text) + len(last) != len(given):  # `":"` stands twice in `"a":":"`
        return None
    at = len(parts[0])
    places = [(at, at + len(text), TEXT)]
    if len(parts) > 1:
        at += len(text) + len(parts[1])
        places.append((at, at + len(text), TEXT))
    absent = []
    for place, before, value in others:
        member = _MEMBER.search(before)
        if member and member[1] == b'"sequence_number"':
            continue
        spans = []
        if member:
            name, opens, said = map(re.escape, (*member.groups(), value))
            found = re.finditer(rb"%b\s*+:\s*+%b(%b)(?![0-9.eE])" % (name, opens, said), given)
            spans = [(*match.span(1), place) for match in found]
        if len(spans) > 1:
            return None
        places += spans
        absent += [] if spans else [value]
    places.sort()
    bounds = [0, *(at for first, end, _ in places for at in (first, end)), len(given)]
    if bounds != sorted(bounds):
        return None
    literals = [given[first:end] for first, end in zip(bounds[::2], bounds[1::2], strict=True)]
    told, varies = tuple(given[first:end] for first, end, _ in places), tuple(place for *_, place in places)
    numbers = _SEQUENCE.findall(given)
    if not numbers:
        return OutputTemplate(told, tuple(literals), varies, absent=tuple(absent))
    number = _SEQUENCE.search(literals[-1])
    if number is None or len(numbers) > 1:
        return None
    rest = literals[-1]
    return OutputTemplate(
        told, (*literals[:-1], rest[: number.start()]), varies, int(number[0]), rest[number.end() :], tuple(absent)
    )


def quoted(text: str, *, escapes: Escapes | None) -> bytes:
    """A text as it stands in JSON, or what it becomes in arguments."""
    return json_text.quote(escapes(text) if escapes else text).encode()


def around(wrap: OutputTemplate, state: TextState) -> Around:
    """What goes out for a text, and around it."""
    escapes, moves = state.escapes, state.defers_backslash
    quotes = [b'"%b"' % part for part in wrap.parts]
    parts = (quotes[0][1:], *quotes[1:-1], quotes[-1][:-1])
    between, number, end = parts[-1] + parts[0], wrap.number, wrap.end

    def put(texts: Sequence[bytes], count: int) -> bytes:
        if moves:
            texts = moved(texts)
        said = b"".join(texts)
        if said.find(b"\\") >= 0 or not said.isascii():
            return b"".join([wrap.around(text_of(text) or "", (), at, escapes=escapes) for at, text in enumerate(texts, count)])
        if number >= 0:
            return b"".join([text.join(parts) + b"%d" % (number + at) + end for at, text in enumerate(texts, count)])
        if len(parts) > 2:
            return b"".join([text.join(parts) for text in texts])
        return parts[0] + between.join(texts) + parts[1]

    return put


def around_all(wrap: OutputTemplate, shape: DeltaTemplate, state: TextState) -> Around:
    """`around`, where more than the text goes out as it varies: all that does is given, of each delta."""
    escapes, moves = state.escapes, state.defers_backslash
    width, place = len(shape.rest), shape.place
    first, *literals = (part.replace(b"%", b"%%") for part in wrap.parts)
    slots = [b'"%b"' if where == TEXT else b"%b" for where in wrap.varies]
    form = first + b"".join(slot + literal for slot, literal in zip(slots, literals, strict=True))
    places = [place if where == TEXT else where for where in wrap.varies]

    def put(given: Sequence[bytes], count: int) -> bytes:
        out = []
        if moves:
            given = list(given)
            given[place::width] = moved(given[place::width])
        for at, delta in enumerate(batched(given, width), count):
            text = delta[place]
            if wrap.number >= 0 or text.find(b"\\") >= 0 or not text.isascii():
                out.append(wrap.around(text_of(text) or "", delta, at, escapes=escapes))
            else:
                out.append(form % tuple([delta[where] for where in places]))
        return b"".join(out)

    return put


def moved(texts: Sequence[bytes]) -> Sequence[bytes]:
    """Texts, each without half of an escape at its end, which stands in front of the next one. The last has none."""
    if not any(text.endswith(HALF) for text in texts[:-1]):
        return texts
    out: list[bytes] = []
    before = b""
    for text in texts:
        said = before + text
        before = cut_off((said,))
        out.append(said.removesuffix(before))
    return out
