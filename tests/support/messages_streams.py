"""Streams of Messages, and what the pipeline makes of one."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from toolmend.apis.codec import Reply
from toolmend.apis.messages.codec import Messages
from toolmend.config.settings import Settings
from toolmend.core import tools
from toolmend.core.events import Event, Frame
from toolmend.core.json_text import NotJSON
from toolmend.core.sse import ServerSentEvent, SseDecoder
from toolmend.dialects import REASONING_TAGS
from toolmend.dialects.engine.markup_parser import MarkupParser
from toolmend.dialects.engine.opener_index import opener_index
from toolmend.pipeline.dialect_choice import armed
from toolmend.pipeline.transformers.duplicates import Duplicates
from toolmend.pipeline.transformers.finish import FinishReason
from toolmend.pipeline.transformers.markup import Markup
from toolmend.providers.model_profiles import profile_for

WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}}}}
OFFERED = tools.of_chat({"tools": [WEATHER]})


def reply(rules: list[str] | None = None) -> Reply:
    numbers = count()
    fired = (rules if rules is not None else []).append
    return Reply(OFFERED, lambda: f"call_{next(numbers):032x}", fired, {"model": "claude-x"})


def decoded(body: bytes) -> tuple[list[Event], list[str]]:
    """The events of a stream, and the rules that fired."""
    rules: list[str] = []
    codec = Messages(reply(rules))
    reading = SseDecoder()
    return [event for each in (*reading.feed(body), *reading.close()) for event in codec.decode(each).events], rules


CITY = '{"city": "Bonn"}'
LEAK = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
    + CITY
    + "<|tool_call_end|><|tool_calls_section_end|>"
)
ID = "functions.get_weather:0"
DIALECTS = [*armed(Settings().dialects, profile_for("kimi-k2.5", "", Settings().providers)), REASONING_TAGS]


class Loop:
    """Bytes → codec → transformers → codec → bytes, with nothing in between that forgives."""

    error = None

    def __init__(self, *, mends: bool = True) -> None:
        self.rules: list[str] = []
        given = reply(self.rules)
        self._codec = Messages(given)
        self._decoder = SseDecoder()
        markup = Markup(lambda choice: MarkupParser(opener_index(tuple(DIALECTS)), OFFERED, choice, given.new_id, given.fired))
        self._transformers: list[Any] = [markup, Duplicates(given.fired), FinishReason(given.fired)] if mends else []

    def feed(self, data: bytes) -> bytes:
        return self._take(self._decoder.feed(data))

    def close(self) -> bytes:
        out = self._take(self._decoder.close())
        last = self._codec.close()
        out += b"".join(map(self._codec.encode, self._through([last], 0))) if last.events else b""
        for at, transformer in enumerate(self._transformers):
            out += b"".join(map(self._codec.encode, self._through(transformer.close(), at + 1)))
        return out + self._codec.held()

    def message(self, body: bytes) -> bytes:
        frame = self._codec.decode_message(body)
        frames = self._through([frame], 0)
        for at, transformer in enumerate(self._transformers):
            frames = [*frames, *self._through(transformer.close(), at + 1)]
        events = tuple(event for each in frames for event in each.events)
        touched = any(each.touched for each in frames)
        return self._codec.encode_message(Frame(frame.sse, events, touched)) if touched else body

    def _take(self, found: Sequence[ServerSentEvent]) -> bytes:
        return b"".join(self._codec.encode(out) for each in found for out in self._through([self._decode(each)], 0))

    def _decode(self, each: ServerSentEvent) -> Frame:
        try:
            return self._codec.decode(each)
        except NotJSON:
            return Frame(each)

    def _through(self, frames: Sequence[Frame], first: int) -> Sequence[Frame]:
        for transformer in self._transformers[first:]:
            frames = [out for frame in frames for out in transformer.feed(frame)]
        return frames


def message(*content: Any, stop: str | None = "end_turn", **more: Any) -> dict[str, Any]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(content)}
    return {**head, "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 4}, **more}


def said(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def used(id_: str, name: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": value, **more}


def thought(words: str, signature: str = "s") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}
