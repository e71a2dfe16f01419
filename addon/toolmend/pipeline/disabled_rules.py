"""A codec with some rules off: a frame that only these would change passes unchanged.

    off: role      data: {"choices":[{"delta":{"content":"Hi"}}]}     its bytes, as if it had a role

The codec decodes the same events with a rule on or off; only whether the SSE event is rewritten is decided here. So rules that
are on find what they need.
"""

from collections.abc import Callable

from ..apis.codec import Codec, Reply
from ..core.events import Frame
from ..core.fastclass import replace
from ..core.sse import ServerSentEvent


class RuleFilter:
    """Wraps the codec that `make` returns for the reply. `reply.fired` receives only rules that are on."""

    def __init__(self, make: Callable[[Reply], Codec], reply: Reply, off: frozenset[str]) -> None:
        self._codec = make(replace(reply, fired=self._fired))
        self._report = reply.fired
        self._off = off
        self._fired_now: list[bool] = []  # for each rule that fired at this event: whether it is off
        self._fired_before: set[bool] = set()  # the same for all events so far

    def decode(self, sse: ServerSentEvent) -> Frame:
        self._fired_now.clear()
        return self._filtered(self._codec.decode(sse))

    def decode_message(self, body: bytes) -> Frame:
        self._fired_now.clear()
        return self._filtered(self._codec.decode_message(body))

    def close(self) -> Frame:
        return self._codec.close()

    def encode(self, frame: Frame) -> bytes:
        return self._codec.encode(frame)

    def held(self) -> bytes:
        return self._codec.held()

    def encode_message(self, frame: Frame) -> bytes:
        return self._codec.encode_message(frame)

    def _fired(self, rule: str) -> None:
        off = rule in self._off
        self._fired_now.append(off)
        self._fired_before.add(off)
        if not off:
            self._report(rule)

    def _filtered(self, frame: Frame) -> Frame:
        # an event may be irregular because of an earlier one, as when a name comes in two pieces
        fired = set(self._fired_now) or self._fired_before
        return replace(frame, touched=False) if frame.touched and fired == {True} else frame
