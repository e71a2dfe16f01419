"""Which of the upstream's bytes the client has not had, so that failing open passes on the rest: none lost, none twice.

    came in      data: {…A…}  data: {…<call…}  data: {…>…}  data: {…B…}         chunks, whole, until all of them is answered for
    went out     data: {…A…}                                                     it answers for the first event
    left         ──────────►                   ───────────►                      frames left; of the last, nothing went out yet
    passed on                 data: {…<call…}  data: {…>…}  data: {…B…}         if all fails now

Rule of this file: a step that may fail halfway changes nothing that was sure. Only what the current call gives is sure to reach
the client, and that alone is answered for; what is worked out elsewhere, as for a run that is read late, has gone out before.
"""

from collections import deque

from ..core.sse import ServerSentEvent

MAX_AHEAD, MAX_WITHIN = 64 * 1024, 64 * 1024 * 1024
"""Comments that went ahead of what is held, and bytes of both: days of an upstream that says nothing but that it lives."""


class TooManyCommentsError(Exception):
    """No answer keeps anybody waiting for so long: all that is held goes out."""


class UndeliveredInput:
    """One response. `out`: what the current call gives, in parts."""

    def __init__(self) -> None:
        self.out: list[bytes] = []
        self._came: list[bytes] = []  # chunks, and not all of them is answered for
        self._size = 0  # of them all, in bytes
        self._begun = 0  # so many of them came before, or in, the call that `out` is of
        self._sure = (0, 0)  # so many parts of `out`, and the bytes of `_came` that they answer for
        self._left = 0  # the same bytes, and those of frames that left and gave nothing yet
        self._ahead: list[tuple[int, int, int]] = []  # where in `_came` comments are that go ahead, and in which part of `out`
        self._told = 0  # so many of them went out before the current call
        self._inside: deque[ServerSentEvent | bytes] = deque()  # events that have not left; bytes: a comment that went ahead
        self._within = 0  # so many bytes they are together

    def begin(self, data: bytes, out: list[bytes]) -> None:
        """A chunk came, which `out` is to answer for. What is answered for is needed no more."""
        came: list[bytes] = []  # list[bytes]() takes forty times as long
        ahead: list[tuple[int, int, int]] = []
        size = self._size
        if self._sure[1] != size:  # not all of it is answered for, as it is most often
            came, size = self._unanswered()
            ahead = self._ahead  # no copy for each of many, either
            if size:
                ahead = [(first - size, last - size, 0) for first, last, _ in ahead if last > size]
        left, whole, sure = self._left - size, self._size - size + len(data), (0, self._sure[1] - size)
        if data:
            came.append(data)
        # in one step: it is never half done
        self._came, self._size, self._begun, self._sure, self._left, self._ahead, self._told, self.out = (
            came, whole, len(came), sure, left, ahead, len(ahead), out
        )  # fmt: skip

    def _unanswered(self) -> tuple[list[bytes], int]:
        """The chunks of which not all is answered for, and the bytes of those before."""
        size = gone = 0
        for chunk in self._came:
            if size + len(chunk) > self._sure[1]:
                break
            size += len(chunk)
            gone += 1
        return self._came[gone:] if gone else self._came, size  # no copy for each of many

    def goes(self, out: list[bytes], size: int = 0) -> None:
        """All in `out` goes to the client, and answers for so many bytes more."""
        self._left += size
        if out is self.out:
            self._sure = (len(out), self._left)

    def settles(self) -> None:
        """What goes to the client now, in no `out`, answers for all that came before. Nothing may be inside."""
        self._left, self._sure = self._size, (0, self._size)

    def enter(self, sse: ServerSentEvent) -> None:
        """An event is in the pipeline until its frame leaves."""
        self._inside.append(sse)
        self._within += len(sse.raw)

    def leave(self, sse: ServerSentEvent, out: list[bytes], *, given: bool) -> None:
        """The frame of an event left; `given`: something went out for it. It answers for comments that went ahead of it, too."""
        size = 0
        first: ServerSentEvent | bytes | None = None
        while first is not sse:
            first = self._inside.popleft()
            size += len(first if isinstance(first, bytes) else first.raw)
        self._within -= size
        if given:
            self.goes(out, size)
        else:
            self._left += size

    def went_ahead(self, comment: bytes, out: list[bytes]) -> None:
        """A comment went out, ahead of what gave nothing yet. Raises TooManyCommentsError: it does not."""
        if not self._inside and self._left == self._sure[1]:
            self.goes(out, len(comment))
            return
        if len(self._ahead) == MAX_AHEAD or self._within > MAX_WITHIN:
            raise TooManyCommentsError
        at = self._left + self._within
        self._inside.append(comment)
        self._within += len(comment)
        self._ahead.append((at, at + len(comment), len(out)))

    def was_read(self) -> None:
        """What went in and left since was sure before."""
        self._left = self._sure[1]

    def rest(self) -> list[bytes]:
        """The bytes that nothing answers for, for the last time: nothing of ours comes behind them."""
        out: list[bytes] = []
        at = self._sure[1]
        raw, self._came = b"".join(self._came), []
        for first, last, _ in self._ahead:
            if first >= at:
                out.append(raw[at:first])
                at = last
        return [*out, raw[at:]]

    def instead(self, out: list[bytes], data: bytes) -> list[bytes]:
        """What goes out where something failed: what is sure of `out`, and the rest; with it `data`, if that has not begun."""
        if out is self.out:
            self._ahead[self._told :] = [each for each in self._ahead[self._told :] if each[2] <= self._sure[0]]
            return [*out[: self._sure[0]], *self.rest()]
        came = len(self._came) > self._begun  # it failed behind the append
        return [*self.rest(), *([] if came else [data])]
