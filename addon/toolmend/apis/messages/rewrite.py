"""Frames of a Messages stream → the bytes for a client of Messages.

    no frame was touched yet        the upstream's bytes; what the client received is tracked
    from the first touched frame    rewritten: blocks are opened, closed and numbered by blocks.py

1. Events replace the content of text, thinking and tool_use blocks and the stop reason. Everything else stays the upstream's,
   but for the index of its block: blocks of server tools, citations, members of `message_delta`, unknown events.
2. Nothing is sent twice, and no block starts within another. The start of a text is held until the text begins: if that is a
   call, there is no text.
3. A thinking block ends where the upstream ends it, and calls found in it follow: so it stays one block with its signature.
   Text has no signature, and is split where a call was.
4. The stop reason follows all content, some of which may arrive after the upstream sent it: so it is held until the end of the
   message. If it had passed before, it is repeated.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, Frame, MessageEnd, StreamError, ToolCallEnd, ToolCallStart
from ...core.ids import with_prefix
from ...core.sse import ServerSentEvent
from ..codec import Reply
from ..shared.error_words import error_in
from ..shared.numbers import index_of
from .block_types import BLOCKS, DELTAS, typed
from .blocks import BROKEN_CALL, Block, Blocks, event
from .errors import error_body, error_type
from .usage import CUT_OFF, counted, same_stop

_IN_EVENTS = ("text_delta", "thinking_delta", "signature_delta")
"""Deltas whose content is in events; a signature's event comes when its block stops."""


class MessagesRewriter:
    """Rewrites one stream."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._blocks: Blocks | None = None  # None while frames pass unchanged
        self._next = 0  # index of the next block, while frames pass
        self._open: tuple[Block, int | None] | None = None  # the open block while frames pass, and the index of its call
        self._at: dict[Any, Block] = {}  # blocks by the upstream's index
        self._started = self._over = False
        self._finished: Finish | None = None  # to be sent at the end
        self._stop_sent = False  # the stop reason was sent, and no content followed
        self._last_delta: dict[str, Any] = {}  # the members of all message_delta so far
        self._usage: dict[str, Any] = {}
        self._held: list[tuple[ServerSentEvent, Frame]] = []  # the start of a text, and pings after it

    def encode(self, frame: Frame) -> bytes:
        """Returns the bytes of a frame for the client."""
        sse = frame.sse
        if sse is not None and sse.data is None:
            return self._release() + sse.raw
        before = ""
        if self._blocks is None:
            if sse is not None and not frame.touched:
                if _begins_text(sse) or self._stops_short(sse, frame) or (sse.event == b"ping" and self._holds_pings):
                    self._held.append((sse, frame))
                    return b""
                out = self._release()
                self._track(sse, frame)
                return out + sse.raw
            self._blocks = Blocks(self._reply.new_id, self._next)
            if self._open:
                self._blocks.adopt(*self._open)
                if self._open[1] is None:  # a call ends with its events
                    self._at[self._open[0].index] = self._open[0]
            waiting, self._held = self._held, []
            before = "".join([self._rewrite(frame, self._blocks) for _, frame in waiting])
        return (before + self._rewrite(frame, self._blocks)).encode(errors="surrogateescape")

    def held(self) -> bytes:
        """Returns what is held, at the end of the body."""
        return self._release() if self._blocks is None or self._over else self._broken_off(self._blocks).encode()

    def _release(self) -> bytes:
        """Releases the held events unchanged."""
        waiting, self._held = self._held, []
        for sse, frame in waiting:
            self._track(sse, frame)
        return b"".join([sse.raw for sse, _ in waiting])

    @property
    def _holds_pings(self) -> bool:
        """Whether a ping must be held to keep its place: any after the start of a text, one after the stop of a call."""
        return len(self._held) == 1 or (len(self._held) > 1 and self._held[0][0].event == b"content_block_start")

    def _stops_short(self, sse: ServerSentEvent, frame: Frame) -> bool:
        """Whether the block of an incomplete call stops. The next event shows whether more of the call follows."""
        if sse.event != b"content_block_stop" or self._open is None or self._open[1] is None:
            return False
        return not any(isinstance(each, ToolCallEnd) for each in frame.events)

    def _track(self, sse: ServerSentEvent, frame: Frame) -> None:
        """Tracks what the client knows after a frame passes unchanged."""
        if frame.events and sse.event == b"content_block_delta":
            return  # nearly all events
        data = _data(sse)
        index, content = data.get("index"), data.get("content_block")
        match type_of(sse, data):
            case "message_start":
                self._start(data)
            case "content_block_start" if isinstance(index, int) and isinstance(content, dict):
                call = next((each.index for each in frame.events if isinstance(each, ToolCallStart)), None)
                self._next, self._stop_sent = index + 1, False
                self._open = Block(content, lasts=content.get("type") != "text", index=index), call
            case "content_block_delta" if self._open:
                self._open[0].signed |= _delta_of(data).get("type") == "signature_delta"
            case "content_block_stop":
                self._open = None
            case "message_delta":
                self._message_delta(data)
                self._stop_sent |= bool(_delta_of(data).get("stop_reason"))
            case "message_stop" | "error":
                self._over = True
            case _:
                pass

    def _rewrite(self, frame: Frame, blocks: Blocks) -> str:
        """Returns the output for a touched frame."""
        if self._over:
            return ""
        sse = frame.sse
        out: list[str] = []
        # a delta with events is replaced by them
        data = {} if sse is None or (sse.event == b"content_block_delta" and frame.events) else _data(sse)
        name = type_of(sse, data) if sse else ""
        if frame.events and not self._started and name != "error":
            out.append(event("message_start", json_text.dumps(self._start(data))))
        match name:
            case "content_block_start":
                self._begin(data, blocks)
            case "content_block_delta" if not frame.events:
                self._pass(data, blocks)
            case "message_delta":
                self._message_delta(data)
                self._stop_sent &= bool(_delta_of(data).get("stop_reason"))
            case "error":
                for each in frame.events:  # held until the end
                    self._event(each, data, blocks, out)
                self._over = True
                return self._broken_off(blocks) + event("error", json_text.dumps(_legal(data, frame.events)))
            case "message_start" | "content_block_delta" | "content_block_stop" | "message_stop":
                pass
            case _ if sse is not None:
                if frame.touched and name.isascii() and name.isprintable():
                    return event(name, json_text.dumps({**data, "type": name}))
                return sse.raw.decode(errors="surrogateescape")
        for each in frame.events:
            self._event(each, data, blocks, out)
        if name == "content_block_stop" and (block := self._at.pop(_index(data), None)):
            blocks.end(block)
        return self._output(blocks, out)

    def _message_delta(self, data: dict[str, Any]) -> None:
        """Merges the members of a message_delta. One without a reason does not withdraw an earlier one."""
        before, delta = _delta_of(self._last_delta), _delta_of(data)
        merged = {**before, **{name: value for name, value in delta.items() if value is not None or name not in before}}
        usage = data.get("usage")
        counts = counted(usage) if isinstance(usage, dict) else {}
        self._last_delta = {
            **self._last_delta,
            **data,
            "delta": merged,
            "usage": {**self._last_delta.get("usage", {}), **counts},
        }

    def _begin(self, data: Mapping[str, Any], blocks: Blocks) -> None:
        """Starts a block of the upstream. It opens with its first content; a block that is not rewritten opens at once."""
        content = _content_of(data)
        kind = content.get("type")
        known = self._at.get(_index(data))
        if known and known.kind == kind and not (known.over or content.get(known.kind)):
            return  # the same block, started again
        match kind:
            case "tool_use" | "redacted_thinking":
                return  # events start it
            case _ if not content:
                return  # its first delta starts one
            case "text":
                block = Block({**content, "text": ""})
            case "thinking":
                block = Block({**content, "thinking": "", "signature": ""}, lasts=True)
            case _:
                block = Block(content, lasts=True, bare=True)
        self._at[_index(data)] = blocks.begin(block)

    def _pass(self, data: Mapping[str, Any], blocks: Blocks) -> None:
        """Sends a delta without events to the block that its own has become."""
        delta = _delta_of(data)
        block = self._at.get(_index(data))
        if block is None or not delta or delta.get("type") in _IN_EVENTS:
            return
        if block.kind == "tool_use" and "partial_json" in delta:
            return
        if block.kind == "text" and block.over:
            block = blocks.text
        if block is not None:
            blocks.send_delta(block, json_text.dumps(delta))

    def _event(self, each: Event, data: Mapping[str, Any], blocks: Blocks, out: list[str]) -> None:
        match each:
            case Finish():
                self._finished = each
                self._finish(blocks)
            case MessageEnd():
                self._finish(blocks)
                self._output(blocks, out)
                if self._over:
                    return
                self._over = True
                out += (self._stop_event(blocks), event("message_stop", '{"type":"message_stop"}'))
            case ToolCallStart():
                content = _content_of(data)
                blocks.feed(each, content if content.get("id") == each.id else None)
            case _:
                blocks.feed(each)

    def _finish(self, blocks: Blocks) -> None:
        """Ends the content received so far."""
        blocks.finish(cut=self._finished is not None and self._finished.finish_reason in CUT_OFF)
        if blocks.error == BROKEN_CALL:
            self._finished = None  # a client must not run it because of the reason

    def _stop_event(self, blocks: Blocks) -> str:
        """Returns the message_delta with the stop reason; "" if it need not be sent."""
        finish = self._finished
        if self._stop_sent and finish is None:
            return ""
        own = _delta_of(self._last_delta)
        called = blocks.called or (finish is not None and finish.finish_reason == "tool_calls")
        data = {
            **self._last_delta,
            "type": "message_delta",
            "delta": {**own, **same_stop(own, finish, called=called)},
            "usage": {"output_tokens": 0, **self._usage, **self._last_delta.get("usage", {})},
        }
        return event("message_delta", json_text.dumps(data))

    def _output(self, blocks: Blocks, out: list[str]) -> str:
        """Returns the output; if too much is held, it ends in an error."""
        if content := blocks.take():
            out.append(content)
            self._stop_sent = False
        if blocks.error and not self._over:
            self._over = True
            error = event("error", error_body("api_error", blocks.error))
            out.append(self._broken_off(blocks) + error)
        return "".join(out)

    def _broken_off(self, blocks: Blocks) -> str:
        """Releases what is held for a call that never ends, or for the end of the message."""
        blocks.break_off()
        return blocks.take() + (self._stop_event(blocks) if self._finished else "")

    def _start(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a complete message_start."""
        self._started = True
        message = data.get("message") if data.get("type") == "message_start" else None
        message = message if isinstance(message, dict) else {}
        counts = counted(message["usage"]) if isinstance(message.get("usage"), dict) else {}
        least = {"input_tokens": max(1, self._reply.input_tokens), "output_tokens": 0}
        self._usage = {**counts, **{name: count for name, count in least.items() if name not in counts}}
        whole = {
            "id": "",
            "type": "message",
            "role": "assistant",
            "model": self._reply.request.get("model") or "",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            **message,
            "usage": self._usage,
        }
        if not isinstance(whole["content"], list):
            whole["content"] = []
        if not whole["id"]:
            whole["id"] = with_prefix("msg_", self._reply.new_id())
        return {"type": "message_start", "message": whole}


def _legal(data: Mapping[str, Any], events: Sequence[Event]) -> dict[str, Any]:
    """Returns an error event's data in the API's form."""
    own = data.get("error")
    error = own if isinstance(own, dict) else {}
    read = next((each for each in events if isinstance(each, StreamError)), None)
    if read is None or all(isinstance(error.get(name), str) for name in ("type", "message")):
        return {**data, "type": "error"}
    error = {**error, "type": error_type(read.status, read.type, read.message), "message": read.message}
    return {"type": "error", "error": error, **({"request_id": data["request_id"]} if "request_id" in data else {})}


def _begins_text(sse: ServerSentEvent) -> bool:
    if sse.event != b"content_block_start":
        return False
    content = _content_of(_data(sse))
    return content.get("type") == "text" and not content.get("text")


def type_of(sse: ServerSentEvent, data: Mapping[str, Any]) -> str:
    """The type of an event: that in its data, or else the name of the SSE event."""
    name = data.get("type")
    if isinstance(name, str) and name:
        return name
    return "error" if error_in(data) else sse.event.decode(errors="replace")


def _data(sse: ServerSentEvent) -> dict[str, Any]:
    try:
        data = json_text.loads(sse.data or b"")
    except json_text.NotJSON:
        return {}
    return data if isinstance(data, dict) else {}


def _content_of(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return typed(data.get("content_block"), BLOCKS)


def _delta_of(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return typed(data.get("delta"), DELTAS)


def _index(data: Mapping[str, Any]) -> int | None:
    return index_of(data.get("index"), None)
