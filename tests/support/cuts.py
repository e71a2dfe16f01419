"""How a stream may be cut into chunks: every test that tries several ways takes them from here.

Rule of this file: that the cuts change nothing is proven at every place where there is an engine of its own (`everywhere`: the
SSE decoder, the reader of markup, one recording for each dialect and set of rules). All other tests take `cuts`: whole, byte by
byte where a line begins and ends, and twice at random.

The random cuts are others in each run. A run that failed tells `TESTS_CUTS=…`, which makes the same ones again.
TESTS_DEEP=1, as scripts/test-slow has it, adds two-way splits to `cuts`.
"""

import os
import random
import zlib
from collections.abc import Iterator
from itertools import pairwise

DEEP = bool(os.environ.get("TESTS_DEEP"))
"""Whether all is tried, and not a part of it that differs from run to run."""

SEED = os.environ.setdefault("TESTS_CUTS", str(random.SystemRandom().randrange(1_000_000)))
"""Of the random cuts; the workers of xdist inherit it."""

SIZES = (1, 2, 3, 7, 20, 90, 400)
MANY = 40
"""Two-way splits that `cuts` adds in a deep run."""

PIECE = 16
"""Bytes of a small piece; an event of most recordings has 180."""

NEAR = 8
"""Bytes of a line's beginning that come one by one: a field's name, its colon and a blank."""


def dice_for(what: object) -> random.Random:
    """Dice that fall alike for the same thing in one run, whatever other tests ran, and otherwise in another run."""
    return random.Random(zlib.crc32(f"{SEED} {what!r}".encode()))


def cuts(body: bytes) -> Iterator[list[bytes]]:
    """The body whole, finely, and twice at random; in a deep run byte by byte and at many two-way splits as well."""
    yield [body]
    yield finely(body)
    dice = dice_for(body)
    yield at_random(body, dice)
    yield at_random(body, dice)
    if DEEP:
        yield byte_by_byte(body)
        places = range(1, len(body))
        for at in dice.sample(places, min(MANY, len(places))):
            yield [body[:at], body[at:]]


def everywhere(body: bytes) -> Iterator[list[bytes]]:
    """The body whole, byte by byte, at random, and at every two-way split."""
    yield [body]
    yield byte_by_byte(body)
    for seed in range(4):
        yield at_random(body, random.Random(seed))
    for at in range(1, len(body)):
        yield [body[:at], body[at:]]


def at_every_place(body: bytes, piece: int = PIECE) -> Iterator[list[bytes]]:
    """The body in pieces of one size, from each offset on: cut at every place, a piece's length apart at a time.

    So it takes as many ways as a piece has bytes, and not as many as the body has.
    """
    for first in range(1, piece + 1):
        yield [body[at:to] for at, to in pairwise([0, *range(first, len(body), piece), len(body)])]


def byte_by_byte(body: bytes) -> list[bytes]:
    return [body[at : at + 1] for at in range(len(body))]


def finely(body: bytes) -> list[bytes]:
    """Byte by byte where a line begins and ends, since the SSE decoder decides there; what lies between, in small pieces.

    A chunk for each byte would take eight times as long and cut no place where anything is decided.
    """
    out: list[bytes] = []
    for line in body.splitlines(keepends=True):
        text = line.rstrip(b"\r\n")
        near = min(NEAR, len(text))
        out += byte_by_byte(text[:near])
        out += (text[at : at + PIECE] for at in range(near, len(text), PIECE))
        out += byte_by_byte(line[len(text) :])
    return out


def at_random(body: bytes, dice: random.Random) -> list[bytes]:
    """In pieces of random sizes."""
    out, at = [], 0
    while at < len(body):
        size = dice.choice(SIZES)
        out.append(body[at : at + size])
        at += size
    return out
