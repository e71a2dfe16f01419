"""OpenAI Chat Completions ⇄ neutral events: streams of `chat.completion.chunk` and whole messages.

    data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",
           "choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}

Rule of this file: what is not understood stays. A touched chunk is the upstream's own text with nothing but the value of
`choices` written anew, and of a choice nothing but the fields that events speak for. Source: the openai SDK's types, and the
tolerances of streams seen in the wild (missing index or role, `delta: null`, empty finish reasons …).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .. import json_text
from ..events import (
    Event,
    Finish,
    Frame,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from ..sse import ServerSentEvent
from ..tools import Tools
from .chat_calls import Calls

_REASONING = ("reasoning_content", "reasoning")
_COMMON = frozenset({"id", "object", "created", "model", "system_fingerprint", "service_tier", "provider", "choices"})
"""Members that every chunk of a stream carries: a chunk with nothing else says nothing."""


_MOST_MISSES = 32
"""Chunks of one stream that are learnt from. Where each has something of its own, learning costs and gains nothing."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What chunks of text have in common: all that stands before and behind the text."""

    head: bytes
    tail: bytes
    event: type[TextDelta | ReasoningDelta]
    choice: int

    def text(self, data: bytes) -> str | None:
        """The text of a chunk of this shape; None for any other."""
        if not (data.startswith(self.head) and data.endswith(self.tail)):
            return None
        text = data[len(self.head) : -len(self.tail)]
        if not text:
            return None
        try:
            if b'"' not in text and b"\\" not in text:
                decoded = text.decode()
                return decoded if decoded.isprintable() else None
            value = json_text.loads(b'"' + text + b'"')
        except ValueError:
            return None
        return value if isinstance(value, str) else None


class Chat:
    """The codec of one response."""

    def __init__(self, tools: Tools, new_id: Callable[[], str], fired: Callable[[str], None]) -> None:
        self._tools = tools
        self._new_id = new_id
        self._fired = fired
        self._calls: dict[int, Calls] = {}
        self._roles: set[int] = set()
        self._reasoning_field = _REASONING[0]
        self._last: ServerSentEvent | None = None
        self._shape: _Shape | None = None
        self._misses = 0
        self._wraps: dict[int, tuple[str, str]] = {}

    def decode(self, sse: ServerSentEvent) -> Frame:
        """One server-sent event → its frame. Raises json_text.NotJSON where the data is no JSON."""
        if not sse.data:
            return Frame(sse)
        if sse.data == b"[DONE]":
            return Frame(sse, (MessageEnd(),))
        if self._shape is not None:
            text = self._shape.text(sse.data)
            if text is not None:
                return Frame(sse, (self._shape.event(text, self._shape.choice),))
        chunk = json_text.loads(sse.data)
        if not isinstance(chunk, dict):
            return Frame(sse)
        events, regular = self._decode(chunk, "delta")
        if chunk.get("choices"):
            self._last = sse
        if len(events) == 1 and regular and self._misses < _MOST_MISSES:
            self._learn(sse.data, events[0])
        return Frame(sse, tuple(events), touched=not regular)

    def _learn(self, data: bytes, event: Event) -> None:
        """Most chunks of a stream are like the one before but for their text: such ones need not be parsed."""
        self._misses += 1
        if isinstance(event, TextDelta | ReasoningDelta):
            text = json_text.quote(event.text).encode()
            head, found, tail = data.partition(text)
            if found and b"\\" not in text and text not in tail:
                shape = _Shape(head + b'"', b'"' + tail, type(event), event.choice)
                # that it is the text which stands there is seen by putting another in its place
                probe, _ = self._decode(json_text.loads(shape.head + b"?" + shape.tail), "delta")
                if probe == [shape.event("?", shape.choice)]:
                    self._shape = shape
                    self._wraps.clear()

    def decode_message(self, body: bytes) -> Frame:
        """A whole `chat.completion` → one frame, whose data is the body. Raises json_text.NotJSON."""
        message = json_text.loads(body)
        if not isinstance(message, dict):
            raise json_text.NotJSON("no JSON object")
        events, regular = self._decode(message, "message")
        return Frame(ServerSentEvent(body, body), tuple(events), touched=not regular)

    def encode(self, frame: Frame) -> bytes:
        """A frame → the bytes of its server-sent event; none where nothing is left of it."""
        if not frame.touched and frame.sse is not None:
            return frame.sse.raw
        sse = frame.sse or self._last
        assert sse is not None and sse.data is not None
        ended = frame.sse is None and MessageEnd() in frame.events
        data = "[DONE]" if ended else self._arguments(frame) or self._encode(sse.data, frame, "delta")
        return sse.with_data(data.encode()) if data else b""

    def _arguments(self, frame: Frame) -> str | None:
        """A chunk of text that became a piece of arguments, which is nearly all that is ever mended."""
        event = frame.events[0] if len(frame.events) == 1 else None
        if not isinstance(event, ToolCallDelta) or self._shape is None or frame.sse is None or not frame.sse.data:
            return None
        if self._shape.text(frame.sse.data) is None:
            return None
        wrap = self._wraps.get(event.index)
        if wrap is None:
            probe = self._encode(frame.sse.data, replace(frame, events=(replace(event, arguments="?"),)), "delta")
            head, _, tail = probe.partition('"arguments":"?"')
            wrap = self._wraps[event.index] = (head + '"arguments":', tail)
        return wrap[0] + json_text.quote(event.arguments) + wrap[1]

    def encode_message(self, frame: Frame) -> bytes:
        """A frame that `decode_message` made → the body."""
        assert frame.sse is not None
        if not frame.touched:
            return frame.sse.raw
        return self._encode(frame.sse.raw, frame, "message").encode()

    def _decode(self, chunk: Mapping[str, Any], key: str) -> tuple[list[Event], bool]:
        events: list[Event] = []
        regular = True
        choices = chunk.get("choices")
        for place, choice in enumerate(choices if isinstance(choices, list) else ()):
            if isinstance(choice, dict):
                regular &= self._decode_choice(choice, place, key, events)
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            events.append(_usage(usage))
        error = chunk.get("error")
        if error:
            events.append(_error(error))
        return events, regular

    def _decode_choice(self, choice: Mapping[str, Any], place: int, key: str, events: list[Event]) -> bool:
        regular = True
        index = choice.get("index")
        if not isinstance(index, int):
            index = place
            self._fired("choice_index")
            regular = False
        delta = choice.get(key)
        if isinstance(delta, dict):
            if key == "message" and isinstance(delta.get("tool_calls"), list):  # here they stand in order, without index
                entries = [{**e, "index": n} for n, e in enumerate(delta["tool_calls"]) if isinstance(e, dict)]
                delta = {**delta, "tool_calls": entries}
            regular &= self._decode_delta(delta, index, events)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            ends, complete = self._calls_of(index).close(index)
            events += ends
            regular &= complete
            events.append(Finish(reason, index))
        return regular

    def _decode_delta(self, delta: Mapping[str, Any], index: int, events: list[Event]) -> bool:
        regular = True
        if index not in self._roles and delta:
            self._roles.add(index)
            events.append(MessageStart(index))
            if not delta.get("role"):
                self._fired("role")
                regular = False
        for name in _REASONING:
            reasoning = delta.get(name)
            if isinstance(reasoning, str) and reasoning:
                self._reasoning_field = name
                events.append(ReasoningDelta(reasoning, index))
                break  # the two fields say the same
        content = delta.get("content")
        if isinstance(content, str) and content:
            events.append(TextDelta(content, index))
        entries = delta.get("tool_calls")
        if isinstance(entries, list) and entries:
            calls, as_sent = self._calls_of(index).feed(entries, index)
            events += calls
            regular &= as_sent
        return regular

    def _calls_of(self, choice: int) -> Calls:
        if choice not in self._calls:
            self._calls[choice] = Calls(self._tools, self._new_id, self._fired)
        return self._calls[choice]

    def _encode(self, data: bytes, frame: Frame, key: str) -> str:
        text = data.decode()
        chunk = json_text.loads(data)
        sources: dict[int, Mapping[str, Any]] = {}
        if frame.sse is not None:
            for place, choice in enumerate(chunk.get("choices") or ()):
                if isinstance(choice, dict):
                    index = choice.get("index")
                    sources[index if isinstance(index, int) else place] = choice
        by_choice: dict[int, list[Event]] = {index: [] for index in sources}
        for event in frame.events:
            if not isinstance(event, Usage | StreamError | MessageEnd):
                by_choice.setdefault(event.choice, []).append(event)
        choices = []
        for index, events in by_choice.items():
            source = sources.get(index, {})
            built = {"index": index, **source, key: self._build(source.get(key) or {}, events, key)}
            built["finish_reason"] = next((e.finish_reason for e in events if isinstance(e, Finish)), None)
            if source.get("logprobs") and source[key].get("content") != built[key].get("content"):
                built["logprobs"] = None  # they tell the text that was taken out
            choices.append(built)
        rest = {name for name, value in chunk.items() if value and name not in _COMMON}
        if key == "delta" and not rest:
            choices = [choice for choice in choices if _says(choice)]
            if not choices:
                return ""
        if frame.sse is None and rest:
            text = json_text.dumps({name: value for name, value in chunk.items() if name in _COMMON})
        return json_text.replace_member(text, "choices", json_text.dumps(choices))

    def _build(self, source: Mapping[str, Any], events: Iterable[Event], key: str) -> dict[str, Any]:
        """A delta (or message) from the upstream's own and the events that now speak for it."""
        delta = dict(source)
        text: list[str] = []
        reasoning: list[str] = []
        calls: dict[int, dict[str, Any]] = {}
        for event in events:
            match event:
                case MessageStart():
                    delta = {"role": delta.pop("role", None) or "assistant", **delta}
                case TextDelta():
                    text.append(event.text)
                case ReasoningDelta():
                    reasoning.append(event.text)
                case ToolCallStart():
                    calls[event.index] = _call(event)
                case ToolCallDelta():
                    call = calls.setdefault(event.index, {"index": event.index, "function": {"arguments": ""}})
                    inner = call.get("custom") or call["function"]
                    inner["input" if "custom" in call else "arguments"] += event.arguments
                case _:
                    pass
        _set(delta, "content", "".join(text), None if key == "message" else "")
        self._set_reasoning(delta, "".join(reasoning))
        delta.pop("tool_calls", None)
        if calls:
            entries = list(calls.values())
            if key == "message":
                for entry in entries:
                    del entry["index"]
            delta["tool_calls"] = entries
        return delta

    def _set_reasoning(self, delta: dict[str, Any], text: str) -> None:
        fields = [name for name in _REASONING if delta.get(name)]
        details = delta.get("reasoning_details")
        if isinstance(details, list) and len(details) == 1 and isinstance(details[0], dict) and fields:
            if details[0].get("text") == delta[fields[0]]:  # the same text a third time
                if text:
                    delta["reasoning_details"] = [{**details[0], "text": text}]
                else:
                    del delta["reasoning_details"]
        for name in fields or ([self._reasoning_field] if text else []):
            _set(delta, name, text, "")


def _set(delta: dict[str, Any], name: str, text: str, empty: str | None) -> None:
    """Puts text in its field. A field that had text and lost it goes; one that was empty stays as it was."""
    if text:
        delta[name] = text
    elif delta.get(name):
        if empty is None:
            delta[name] = None
        else:
            del delta[name]


def _call(event: ToolCallStart) -> dict[str, Any]:
    inner = {"name": event.name, "input" if event.kind == "custom" else "arguments": ""}
    return {"index": event.index, "id": event.id, "type": event.kind, event.kind: inner, **(event.extra or {})}


def _says(choice: Mapping[str, Any]) -> bool:
    """Whether a choice of a chunk tells a client anything."""
    return bool(choice["finish_reason"]) or any(value for value in choice["delta"].values())


def _usage(usage: Mapping[str, Any]) -> Usage:
    prompt = usage.get("prompt_tokens_details")
    completion = usage.get("completion_tokens_details")
    prompt = prompt if isinstance(prompt, dict) else {}
    completion = completion if isinstance(completion, dict) else {}
    cached = prompt.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens")
    return Usage(
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        _count(cached),
        _count(prompt.get("cache_write_tokens") or usage.get("cache_write_tokens")),
        _count(completion.get("reasoning_tokens")),
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _error(error: Any) -> StreamError:
    if not isinstance(error, dict):
        return StreamError("error", str(error))
    status = error.get("code")
    return StreamError(
        str(error.get("type") or "error"), str(error.get("message") or ""), status if isinstance(status, int) else 0
    )
