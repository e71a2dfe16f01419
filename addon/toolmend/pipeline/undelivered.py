"""Tracks which of the upstream's bytes the client has not received, so that failing open can send them: none lost, none twice.

    received     data: {…A…}  data: {…<call…}  data: {…>…}  data: {…B…}         chunks, until all of each is accounted for
    sent         data: {…A…}                                                     accounts for the first event
    left         ──────────►                   ───────────►                      frames left; the last one had no output yet
    rest         data: {…<call…}  data: {…>…}  data: {…B…}                       sent if the pipeline fails now

Updates are atomic. Only output returned by the current call counts as sent; a run that is decoded late was sent before.
"""

from collections import deque

from ..core.sse import ServerSentEvent

MAX_AHEAD, MAX_WITHIN = 64 * 1024, 64 * 1024 * 1024
"""Bounds for comments sent ahead of held content, and for the bytes of both: days of an upstream that sends only keep-alives."""


class TooManyCommentsError(Exception):
    """No answer may be held for so long: all that is held is sent."""


class UndeliveredInput:
    """One response. `out`: the parts of the current call's output."""

    def __init__(self) -> None:
        self.out: list[bytes] = []
        self._received: list[bytes] = []  # chunks that are not fully accounted for
        self._size = 0  # their bytes
        self._current = 0  # number of chunks before, or in, the call that `out` belongs to
        self._sent = (0, 0)  # number of parts of `out` that are sent, and the bytes of `_received` they account for
        self._left = 0  # the same bytes, plus those of frames that left without output
        self._ahead: list[tuple[int, int, int]] = []  # comments sent ahead: their span in `_received`, and their part of `out`
        self._sent_ahead = 0  # number of them that were sent before the current call
        self._inside: deque[ServerSentEvent | bytes] = deque()  # events that have not left; bytes: a comment that was sent ahead
        self._inside_size = 0  # their bytes

    def begin(self, data: bytes, out: list[bytes]) -> None:
        """Starts a call: `out` will account for `data`. What is accounted for is dropped."""
        chunks: list[bytes] = []  # list[bytes]() takes forty times as long
        ahead: list[tuple[int, int, int]] = []
        size = self._size
        if self._sent[1] != size:  # it is equal most of the time
            chunks, size = self._unaccounted()
            ahead = self._ahead  # not copied for each chunk
            if size:
                ahead = [(first - size, last - size, 0) for first, last, _ in ahead if last > size]
        left, whole, sure = self._left - size, self._size - size + len(data), (0, self._sent[1] - size)
        if data:
            chunks.append(data)
        # one step, so that it is never half done
        self._received, self._size, self._current, self._sent, self._left, self._ahead, self._sent_ahead, self.out = (
            chunks, whole, len(chunks), sure, left, ahead, len(ahead), out
        )  # fmt: skip

    def _unaccounted(self) -> tuple[list[bytes], int]:
        """The chunks that are not fully accounted for, and the bytes before them."""
        size = gone = 0
        for chunk in self._received:
            if size + len(chunk) > self._sent[1]:
                break
            size += len(chunk)
            gone += 1
        return self._received[gone:] if gone else self._received, size  # not copied for each chunk

    def mark_sent(self, out: list[bytes], size: int = 0) -> None:
        """Counts all of `out` as sent; it accounts for `size` more bytes."""
        self._left += size
        if out is self.out:
            self._sent = (len(out), self._left)

    def mark_all_sent(self) -> None:
        """Counts all input as sent, by output that is in no `out`. No event may be inside."""
        self._left, self._sent = self._size, (0, self._size)

    def enter(self, sse: ServerSentEvent) -> None:
        """Records an event in the pipeline, until its frame leaves."""
        self._inside.append(sse)
        self._inside_size += len(sse.raw)

    def leave(self, sse: ServerSentEvent, out: list[bytes], *, has_output: bool) -> None:
        """Records that an event's frame left. `has_output`: `out` accounts for it, and for comments sent ahead of it."""
        size = 0
        first: ServerSentEvent | bytes | None = None
        while first is not sse:
            first = self._inside.popleft()
            size += len(first if isinstance(first, bytes) else first.raw)
        self._inside_size -= size
        if has_output:
            self.mark_sent(out, size)
        else:
            self._left += size

    def comment_sent(self, comment: bytes, out: list[bytes]) -> None:
        """Records a comment that was sent ahead of held content. Raises TooManyCommentsError instead of sending it."""
        if not self._inside and self._left == self._sent[1]:
            self.mark_sent(out, len(comment))
            return
        if len(self._ahead) == MAX_AHEAD or self._inside_size > MAX_WITHIN:
            raise TooManyCommentsError
        at = self._left + self._inside_size
        self._inside.append(comment)
        self._inside_size += len(comment)
        self._ahead.append((at, at + len(comment), len(out)))

    def ignore_reread(self) -> None:
        """Drops the account of a run that was decoded late: its input was sent before."""
        self._left = self._sent[1]

    def take_rest(self) -> list[bytes]:
        """Returns the bytes that were not sent, for the last time."""
        out: list[bytes] = []
        at = self._sent[1]
        raw, self._received = b"".join(self._received), []
        for first, last, _ in self._ahead:
            if first >= at:
                out.append(raw[at:first])
                at = last
        return [*out, raw[at:]]

    def recover(self, out: list[bytes], data: bytes) -> list[bytes]:
        """Returns the output of a call that failed: what was sent of `out`, the rest, and `data` if the call did not begin it."""
        if out is self.out:
            self._ahead[self._sent_ahead :] = [each for each in self._ahead[self._sent_ahead :] if each[2] <= self._sent[0]]
            return [*out[: self._sent[0]], *self.take_rest()]
        chunks = len(self._received) > self._current  # it failed after `begin`
        return [*self.take_rest(), *([] if chunks else [data])]
