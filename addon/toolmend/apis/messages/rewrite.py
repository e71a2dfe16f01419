"""Frames of a Messages stream → the bytes for a client of Messages.

    nothing was touched yet     the bytes they came in, and it is watched what the client has got
    from the first touched on   written anew: blocks opened, closed and numbered by blocks.py

Rule of this file: events say what is in text, thinking and tool_use blocks, and why the message stopped; all else stays the
upstream's, but for the index of its block: blocks of server tools, citations, members of `message_delta`, events that nobody
knows. What the client has been sent already is never said again, and no block is begun within another. The start of a text
waits for what the text begins with: if that is a call, there is no text.

A thinking block of the upstream's is over when it says so, and calls that were found in it come behind it: so it is one, and
its signature is in it. Text has none, and is divided where a call was. Why the message stopped is told behind all content, some
of which may come behind it: so it waits for the end, which is on its heels. Where it went out as it came, it is told once more.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, Frame, MessageEnd, StreamError, ToolCallEnd, ToolCallStart
from ...core.sse import ServerSentEvent
from ..codec import Reply
from ..shared.error_words import error_in
from ..shared.indices import index_of
from .block_types import BLOCKS, DELTAS, typed
from .blocks import BROKEN_CALL, Block, Blocks, event
from .errors import error_body, error_type
from .usage import BROKEN_OFF, counted, same_stop

_TOLD = ("text_delta", "thinking_delta", "signature_delta")
"""Deltas that events tell, the signature's when its block stops."""


class Encoder:
    """One stream."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._blocks: Blocks | None = None  # none while frames leave as they came
        self._next = 0  # index of the next block then
        self._open: tuple[Block, int | None] | None = None  # the open block then, and the index of its call
        self._at: dict[Any, Block] = {}  # blocks by the upstream's index
        self._started = self._over = False
        self._finished: Finish | None = None  # it is to be told at the end
        self._told = False  # it was told, and no content came behind it
        self._said: dict[str, Any] = {}  # the last message_delta
        self._usage: dict[str, Any] = {}
        self._waiting: list[tuple[ServerSentEvent, Frame]] = []  # the start of a text, and pings behind it

    def encode(self, frame: Frame) -> bytes:
        """A frame → the bytes for the client."""
        sse = frame.sse
        if sse is not None and sse.data is None:
            return self._waited() + sse.raw
        before = ""
        if self._blocks is None:
            if sse is not None and not frame.touched:
                if _begins_text(sse) or self._stops_short(sse, frame) or (sse.event == b"ping" and self._holds_pings):
                    self._waiting.append((sse, frame))
                    return b""
                out = self._waited()
                self._watch(sse, frame)
                return out + sse.raw
            self._blocks = Blocks(self._reply.new_id, self._next)
            if self._open:
                self._blocks.adopt(*self._open)
                if self._open[1] is None:  # a call is over when its events say so
                    self._at[self._open[0].index] = self._open[0]
            waiting, self._waiting = self._waiting, []
            before = "".join([self._rewrite(frame, self._blocks) for _, frame in waiting])
        return (before + self._rewrite(frame, self._blocks)).encode(errors="surrogateescape")

    def held(self) -> bytes:
        """What is kept back: for the end of the body."""
        return self._waited() if self._blocks is None or self._over else self._broken_off(self._blocks).encode()

    def _waited(self) -> bytes:
        """What waits, as it came."""
        waiting, self._waiting = self._waiting, []
        for sse, frame in waiting:
            self._watch(sse, frame)
        return b"".join([sse.raw for sse, _ in waiting])

    @property
    def _holds_pings(self) -> bool:
        """Whether a ping waits with what does: behind the start of a text; one, behind the stop of a call, and no more."""
        return len(self._waiting) == 1 or (len(self._waiting) > 1 and self._waiting[0][0].event == b"content_block_start")

    def _stops_short(self, sse: ServerSentEvent, frame: Frame) -> bool:
        """Whether the block of a call stops that is not complete. What comes next tells whether more of it does."""
        if sse.event != b"content_block_stop" or self._open is None or self._open[1] is None:
            return False
        return not any(isinstance(each, ToolCallEnd) for each in frame.events)

    def _watch(self, sse: ServerSentEvent, frame: Frame) -> None:
        """A frame leaves as it came: what the client knows then."""
        if frame.events and sse.event == b"content_block_delta":
            return  # nearly all are
        data = _data(sse)
        index, content = data.get("index"), data.get("content_block")
        match type_of(sse, data):
            case "message_start":
                self._start(data)
            case "content_block_start" if isinstance(index, int) and isinstance(content, dict):
                call = next((each.index for each in frame.events if isinstance(each, ToolCallStart)), None)
                self._next, self._told = index + 1, False
                self._open = Block(content, lasts=content.get("type") != "text", index=index), call
            case "content_block_delta" if self._open:
                self._open[0].signed |= _delta_of(data).get("type") == "signature_delta"
            case "content_block_stop":
                self._open = None
            case "message_delta":
                self._message_delta(data)
                self._told |= bool(_delta_of(data).get("stop_reason"))
            case "message_stop" | "error":
                self._over = True
            case _:
                pass

    def _rewrite(self, frame: Frame, blocks: Blocks) -> str:
        """What a frame comes to."""
        if self._over:
            return ""
        sse = frame.sse
        out: list[str] = []
        # of a delta that has events they say all
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
                self._told &= bool(_delta_of(data).get("stop_reason"))
            case "error":
                for each in frame.events:  # what waited for the end
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
        return self._sent(blocks, out)

    def _message_delta(self, data: dict[str, Any]) -> None:
        """A message_delta. One that says no reason takes none back."""
        before, delta = _delta_of(self._said), _delta_of(data)
        told = {**before, **{name: value for name, value in delta.items() if value is not None or name not in before}}
        usage = data.get("usage")
        counts = counted(usage) if isinstance(usage, dict) else {}
        self._said = {**self._said, **data, "delta": told, "usage": {**self._said.get("usage", {}), **counts}}

    def _begin(self, data: Mapping[str, Any], blocks: Blocks) -> None:
        """A block of the upstream's. It opens when it says something; those that are not ours do so at once."""
        content = _content_of(data)
        kind = content.get("type")
        known = self._at.get(_index(data))
        if known and known.kind == kind and not (known.over or content.get(known.kind)):
            return  # it is the same, said again
        match kind:
            case "tool_use" | "redacted_thinking":
                return  # they are events
            case _ if not content:
                return  # what its deltas say opens one
            case "text":
                block = Block({**content, "text": ""})
            case "thinking":
                block = Block({**content, "thinking": "", "signature": ""}, lasts=True)
            case _:
                block = Block(content, lasts=True, bare=True)
        self._at[_index(data)] = blocks.begin(block)

    def _pass(self, data: Mapping[str, Any], blocks: Blocks) -> None:
        """A delta that is no event goes where its block is now."""
        delta = _delta_of(data)
        block = self._at.get(_index(data))
        if block is None or not delta or delta.get("type") in _TOLD or (block.kind == "tool_use" and "partial_json" in delta):
            return
        if block.kind == "text" and block.over:
            block = blocks.text
        if block is not None:
            blocks.say(block, json_text.dumps(delta))

    def _event(self, each: Event, data: Mapping[str, Any], blocks: Blocks, out: list[str]) -> None:
        match each:
            case Finish():
                self._finished = each
                self._finish(blocks)
            case MessageEnd():
                self._finish(blocks)
                self._sent(blocks, out)
                if self._over:
                    return
                self._over = True
                out += (self._why(blocks), event("message_stop", '{"type":"message_stop"}'))
            case ToolCallStart():
                content = _content_of(data)
                blocks.feed(each, content if content.get("id") == each.id else None)
            case _:
                blocks.feed(each)

    def _finish(self, blocks: Blocks) -> None:
        """What was said so far is over."""
        blocks.finish(cut=self._finished is not None and self._finished.finish_reason in BROKEN_OFF)
        if blocks.error == BROKEN_CALL:
            self._finished = None  # it is not to be run for its reason

    def _why(self, blocks: Blocks) -> str:
        """The event that tells why the message stopped, if it must be told."""
        finish = self._finished
        if self._told and finish is None:
            return ""
        said = _delta_of(self._said)
        called = blocks.called or (finish is not None and finish.finish_reason == "tool_calls")
        data = {
            **self._said,
            "type": "message_delta",
            "delta": {**said, **same_stop(said, finish, called=called)},
            "usage": {"output_tokens": 0, **self._usage, **self._said.get("usage", {})},
        }
        return event("message_delta", json_text.dumps(data))

    def _sent(self, blocks: Blocks, out: list[str]) -> str:
        """All that goes out; where too much waits, an error is the last of it."""
        if content := blocks.take():
            out.append(content)
            self._told = False
        if blocks.error and not self._over:
            self._over = True
            error = event("error", error_body("api_error", blocks.error))
            out.append(self._broken_off(blocks) + error)
        return "".join(out)

    def _broken_off(self, blocks: Blocks) -> str:
        """What waits for a call that never ends, or for the end of the message."""
        blocks.break_off()
        return blocks.take() + (self._why(blocks) if self._finished else "")

    def _start(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """A message_start, whole."""
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
            whole["id"] = "msg_" + self._reply.new_id().removeprefix("call_")
        return {"type": "message_start", "message": whole}


def _legal(data: Mapping[str, Any], events: Sequence[Event]) -> dict[str, Any]:
    """The data of an error, as the API has it: of a form of the upstream's own, what it says."""
    given = data.get("error")
    error = given if isinstance(given, dict) else {}
    told = next((each for each in events if isinstance(each, StreamError)), None)
    if told is None or all(isinstance(error.get(name), str) for name in ("type", "message")):
        return {**data, "type": "error"}
    error = {**error, "type": error_type(told.status, told.type, told.message), "message": told.message}
    return {"type": "error", "error": error, **({"request_id": data["request_id"]} if "request_id" in data else {})}


def _begins_text(sse: ServerSentEvent) -> bool:
    if sse.event != b"content_block_start":
        return False
    content = _content_of(_data(sse))
    return content.get("type") == "text" and not content.get("text")


def type_of(sse: ServerSentEvent, data: Mapping[str, Any]) -> str:
    """The type of an event: the data's, or if it has none, the one that the event is named by."""
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
