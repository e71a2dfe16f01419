"""A codec some of whose rules are off: what is irregular by these alone leaves as it came.

    off: role      data: {"choices":[{"delta":{"content":"Hi"}}]}     its bytes, as if it had a role

Rule of this file: what a codec reads of an event is the same, be a rule off or not; only whether the event is written anew is
decided here. So a rule that is on finds what it needs, and one that is off changes nothing by itself.
"""

from collections.abc import Callable

from ..apis.codec import Codec, Reply
from ..core.events import Frame
from ..core.fastclass import replace
from ..core.sse import ServerSentEvent


class RuleFilter:
    """The codec that `make` makes of the reply; `reply.fired` is told of rules that are on."""

    def __init__(self, make: Callable[[Reply], Codec], reply: Reply, off: frozenset[str]) -> None:
        self._codec = make(replace(reply, fired=self._fired))
        self._tell = reply.fired
        self._off = off
        self._left: list[bool] = []  # of the rules that fired at this event: whether it is off
        self._ever: set[bool] = set()  # the same of all events

    def decode(self, sse: ServerSentEvent) -> Frame:
        self._left.clear()
        return self._as_came(self._codec.decode(sse))

    def decode_message(self, body: bytes) -> Frame:
        self._left.clear()
        return self._as_came(self._codec.decode_message(body))

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
        self._left.append(off)
        self._ever.add(off)
        if not off:
            self._tell(rule)

    def _as_came(self, frame: Frame) -> Frame:
        # an event may be irregular for what fired at one before it, as where a name comes in two pieces
        fired = set(self._left) or self._ever
        return replace(frame, touched=False) if frame.touched and fired == {True} else frame
