r"""Masks echoes in an AWS event stream, whose messages may have their JSON in base64, as Claude's have on Bedrock.

    … {"bytes":"eyJkZWx0YSI6eyJ0ZXh0Ijoic2stQUIifX0="} …     {"delta":{"text":"sk-AB"}}  →  {"delta":{"text":"*****"}}

Rule of this file: it is used as EchoMask is, and keeps its promises: what is inside is masked at equal length, and written in
base64 again, which has an equal length, too. A message that is masked on suspicion is kept until it is known to be innocent.
"""

import re
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterable

from ..core.aws_event_stream import FrameDecoder
from .echo_mask import EchoMask

MAX_MASKED = 1000
"""Messages that are kept as they were masked; an older one stays so. Most that are innocent are known for it in the next."""

_BYTES = re.compile(rb'"bytes"\s*:\s*"([A-Za-z0-9+/]+={0,2})"')
_LINES = bytes.maketrans(b"\r\n", b"  ")


class FrameMask:
    """One body; see EchoMask."""

    def __init__(self, secrets: Iterable[str]) -> None:
        secrets = tuple(secrets)
        self.restored: list[tuple[int, bytes]] = []
        self._frames = FrameDecoder()
        self._inside, self._all = EchoMask(secrets), EchoMask(secrets)
        self._read = self._at = self._written = 0  # bytes: of what is inside, of all that came, of all that was returned
        self._masked: deque[tuple[int, int, bytearray]] = deque(maxlen=MAX_MASKED)  # where it is inside, and in the body
        self._innocent: list[tuple[int, bytes]] = []  # and not yet returned

    def feed(self, data: bytes) -> bytes:
        """The messages that `data` completes, masked."""
        return self._returned(self._all.feed(b"".join(self._frame(frame.raw) for frame in self._frames.feed(data))))

    def close(self) -> bytes:
        """The rest of the body."""
        rest = self._all.feed(b"".join(self._frame(frame.raw) for frame in self._frames.close()))
        self._inside.close()
        return self._returned(rest + self._all.close())

    def _frame(self, raw: bytes) -> bytes:
        out = bytearray(raw)
        for found in _BYTES.finditer(raw):
            try:
                text = b64decode(found[1], validate=True)
            except ValueError:
                continue
            line = text.translate(_LINES)
            masked = self._inside.feed(line + b"\n")[:-1]
            if masked != line:
                kept = bytearray(new if new != old else was for new, old, was in zip(masked, line, text, strict=True))
                out[slice(*found.span(1))] = b64encode(kept)
                self._masked.append((self._read, self._at + found.start(1), kept))
            self._read += len(line) + 1
        self._at += len(raw)
        return bytes(out)

    def _returned(self, out: bytes) -> bytes:
        self._written += len(out)
        changed: dict[int, bytearray] = {}
        for offset, piece in self._inside.restored:
            for read, at, text in self._masked:
                if read <= offset < read + len(text):
                    text[offset - read : offset - read + len(piece)] = piece
                    changed[at] = text
        self._innocent += [(at, b64encode(text)) for at, text in changed.items()]
        self.restored += self._all.restored
        self.restored += [one for one in self._innocent if one[0] + len(one[1]) <= self._written]
        self._innocent = [one for one in self._innocent if one[0] + len(one[1]) > self._written]
        self._inside.restored, self._all.restored = [], []
        return out


def mask_of(api: str, secrets: Iterable[str]) -> EchoMask | FrameMask:
    """What masks an answer of an API."""
    return FrameMask(secrets) if api == "bedrock" else EchoMask(secrets)
