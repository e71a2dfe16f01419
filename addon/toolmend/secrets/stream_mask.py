r"""Masks a route's key in the bytes sent to the client, while they stream.

    upstream   data: {…"content":"Your key is sk-or"}      data: {…"content":"-v1-0123456789"}
    client     data: {…"content":"Your key is sk              -or"}   data: {…"content":"**************"}
                                                 ^ held here until the next delta decides

It masks what echo_mask.py masks in recordings: the key in one piece or across deltas, escaped, in base64, hex and percents. The
differences:

1. A recording can be corrected later, the client's bytes cannot. So text that begins like the key is held until the next text
   either continues the key, and is masked, or does not, and is sent unchanged.
2. At least SHORT bytes are held, and the first SPARED characters of a split key may pass: hardly any other text is held.
3. The part of a line that cannot belong to the key is sent at once, before the line is complete.

Invariants: the number and order of the bytes stay; bytes outside of the key are unchanged; at most MAX_HELD bytes are held.
"""

import re
from collections.abc import Iterable

from .echo_mask import EchoMask
from .needles import opening
from .request_secrets import MIN_SECRET

SPARED = 3
"""Characters of a split key that may pass: `sk-` is not a secret, and many texts end with an `s`."""

SHORT = 3
"""Bytes of a text that begins like a key; fewer are not held."""

MAX_HELD = 64 * 1024
"""Bytes: 200 deltas. An upstream that begins a key and then sends other deltas forever must not stop the stream."""

MAX_LINE = 256 * 1024
"""Bytes of one line. A longer one is not a delta and is masked in parts."""

OVERLAP = 16 * 1024
"""Bytes at the end of such a part that wait for the next one: the longest form of a piece of a key has a quarter of that."""

WORD = re.compile(r"[a-z_-]{1,15}|[A-Z_-]{1,15}")
"""Placeholder keys for local servers that need none: `lm-studio`, `not-needed`, `EMPTY`. Models use such words in text."""


_ESCAPES = rb"0123456789ABCDEFabcdefux\%&#;"
_ESCAPE_BEGUN = re.compile(rb"\\+(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?\Z")
"""Half of an escape before a `*` would not be JSON."""


class StreamMask(EchoMask):
    """Masks one body. `feed` its bytes and `close`; both return the bytes to send next. `restored` is always empty."""

    def __init__(self, secrets: Iterable[str], spared: int = SPARED) -> None:
        secrets = frozenset(secrets)
        super().__init__(secrets, spared)
        self._compares = False
        self._opening = opening(secrets, spared, SHORT)
        self._alphabet = bytes({*_ESCAPES, *b"".join(self._needles)})
        self._held = bytearray()  # complete lines, masked
        self._base = 0  # the offset of the first held byte
        self._sent = 0  # the offset of the next byte to send, possibly inside an incomplete line

    def feed(self, data: bytes) -> bytes:
        """Returns what can be sent: usually `data` itself, after one search."""
        if not (self._held or self._tails or self._line) and data.endswith(b"\n") and not self._begins.search(data):
            self._at += len(data)
            self._base = self._sent = self._at
            return data
        return b"".join(self._feed(data[at : at + MAX_LINE]) for at in range(0, len(data), MAX_LINE))

    def close(self) -> bytes:
        """Returns the held bytes, with the beginning of a key masked if it is most of one."""
        self._held += super().close()
        self._restore()
        return self._send(self._at)

    def _feed(self, data: bytes) -> bytes:
        self._held += super().feed(data)
        if len(self._line) > MAX_LINE:
            end = self._part()
            line, self._line = bytes(self._line[:end]), self._line[end:]
            self._held += self._lines(line)
        self._restore()
        self._spare()
        out = self._send(self._decided())
        if len(self._held) > MAX_HELD:
            self._release()
            out += self._send(self._at)
        return out + self._early()

    def _send(self, end: int) -> bytes:
        """Returns the unsent bytes before the offset `end`."""
        out = bytes(self._held[max(0, self._sent - self._base) : end - self._base])
        del self._held[: end - self._base]
        self._base, self._sent = end, max(self._sent, end)
        return out

    def _early(self) -> bytes:
        """Returns the decided part of an incomplete line."""
        if self._held or self._tails or not self._line:
            return b""
        start = self._sent - self._at
        begun = self._opening.search(self._line, max(0, start - 12 * SHORT)) or _ESCAPE_BEGUN.search(self._line, start)
        out = bytes(self._line[start : begun.start() if begun else None])
        self._sent += len(out)
        return out

    def _part(self) -> int:
        """Returns how much of an overlong line is masked at once: up to a byte that no form of a key contains, if possible."""
        most = len(self._line) - OVERLAP
        return len(self._line[:most].rstrip(self._alphabet)) or most

    def _spare(self) -> None:
        """Sends suspected text that is too short to be held; it still counts if the key continues."""
        for tail in self._tails.values():
            if len(tail) < SHORT:
                self.restored += [unit[1:] for unit in tail if unit[2]]
                tail[:] = _sent(tail)
        self._restore()

    def _release(self) -> None:
        """Sends suspected text because too much is held, masked if it is most of a key."""
        for tail in self._tails.values():
            self._settle(tail)
            tail[:] = _sent(tail)
        self._restore()

    def _restore(self) -> None:
        for offset, piece in self.restored:
            if offset >= self._base:
                self._held[offset - self._base : offset - self._base + len(piece)] = piece
        self.restored.clear()

    def _decided(self) -> int:
        """Returns the offset of the first byte that may belong to the key."""
        undecided = (offset for tail in self._tails.values() for _, offset, spelling in tail if spelling)
        return min(undecided, default=self._at)


def _sent(tail: Iterable[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    """Returns a tail whose bytes are sent and cannot be changed."""
    return [(byte, offset, b"") for byte, offset, _ in tail]


def masked(body: bytes, secrets: Iterable[str]) -> bytes:
    """Returns a whole body, masked."""
    if not (secrets := frozenset(secrets)):
        return body
    mask = StreamMask(secrets, 0)
    return mask.feed(body) + mask.close()


def guarded(key: str) -> frozenset[str]:
    """Returns a key as a set, empty if it is a placeholder that protects nothing."""
    return frozenset((key,)) if len(key) >= MIN_SECRET and not WORD.fullmatch(key) else frozenset()
