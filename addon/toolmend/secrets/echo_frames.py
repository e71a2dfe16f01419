r"""Masks echoes in an AWS event stream whose messages may carry base64 JSON, as Bedrock's Claude messages do.

    … {"bytes":"eyJkZWx0YSI6eyJ0ZXh0Ijoic2stQUIifX0="} …     {"delta":{"text":"sk-AB"}}  →  {"delta":{"text":"*****"}}

Same interface and guarantees as EchoMask: the decoded content is masked at equal length and encoded again, which keeps the
length, too. A message that is masked on suspicion is kept until it is cleared.
"""

import re
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterable

from ..core.aws_event_stream import FrameDecoder
from .echo_mask import EchoMask

MAX_MASKED = 1000
"""Masked messages that are kept; older ones stay masked. Most innocent ones are cleared by the next message."""

_BYTES = re.compile(rb'"bytes"\s*:\s*"([A-Za-z0-9+/]+={0,2})"')
_LINES = bytes.maketrans(b"\r\n", b"  ")


class FrameMask:
    """Masks one body; see EchoMask."""

    def __init__(self, secrets: Iterable[str]) -> None:
        secrets = tuple(secrets)
        self.restored: list[tuple[int, bytes]] = []
        self._frames = FrameDecoder()
        self._inside, self._all = EchoMask(secrets), EchoMask(secrets)
        self._read = self._at = self._written = 0  # bytes of decoded content, of input, of output
        self._masked: deque[tuple[int, int, bytearray]] = deque(maxlen=MAX_MASKED)  # offsets in content and body, text
        self._innocent: list[tuple[int, bytes]] = []  # cleared, and beyond the output so far

    def feed(self, data: bytes) -> bytes:
        """Returns the messages that `data` completes, masked."""
        return self._returned(self._all.feed(b"".join(self._frame(frame.raw) for frame in self._frames.feed(data))))

    def close(self) -> bytes:
        """Returns the rest of the body, masked."""
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
        self.restored += [piece for piece in self._innocent if piece[0] + len(piece[1]) <= self._written]
        self._innocent = [piece for piece in self._innocent if piece[0] + len(piece[1]) > self._written]
        self._inside.restored, self._all.restored = [], []
        return out


def mask_of(api: str, secrets: Iterable[str]) -> EchoMask | FrameMask:
    """Returns the mask for a response of an API."""
    return FrameMask(secrets) if api == "bedrock" else EchoMask(secrets)
