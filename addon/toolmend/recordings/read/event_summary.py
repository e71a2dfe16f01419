"""An event in a few words, for a list of events.

    data: {"choices":[{"delta":{"content":"Hello"}}]}   →   text “Hello”
    data: {"type":"content_block_start", …"tool_use"…}  →   call weather

One line for any event; an unknown event is shown by its own name.
"""

from collections.abc import Sequence

from ...apis import APIS, decoder_of
from ...core import json_text
from ...core.events import (
    Event,
    Finish,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    ReasoningSeal,
    RefusalDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from ...core.sse import BOM
from ...pipeline.event_reader import EventReader, events_of

MAX = 90
"""Characters of a summary: a line."""

MAX_QUOTED = 60
"""Characters of an event's content that are quoted."""

_TOKENS = (TextDelta, ReasoningDelta, RefusalDelta, ToolCallStart, ToolCallDelta)


class Summary:
    """Summarises the events of one side of a recording, in order. `tokens`: whether the last one contained output."""

    def __init__(self, api: str, *, stream: bool) -> None:
        self.tokens = False
        self._api = api
        self._reading = EventReader(api) if stream and api in APIS else None

    def of(self, raw: bytes) -> str:
        """Returns the words for the bytes of events; empty for no bytes."""
        if not raw:
            return ""
        found = self._reading.feed(raw) if self._reading else list(events_of(self._api, [raw], stream=False))
        self.tokens = any(isinstance(event, _TOKENS) for event in found)
        return _short(", ".join(filter(None, _merged(found)))) if found else _named(self._api, raw)


def _named(api: str, raw: bytes) -> str:
    """Returns the name of an event without content."""
    decoder = decoder_of(api)
    events = [*decoder.feed(raw), *decoder.close()]
    sse = events[0]
    if sse.data is None:
        return "comment" if sse.raw.lstrip(BOM).startswith(b":") else "no data"
    name = sse.event.decode(errors="replace")
    if not sse.data:
        return name or "no data"
    try:
        value = json_text.loads(sse.data)
    except json_text.NotJSON:
        return name or f"data {_quoted(sse.data[:200].decode(errors='replace'))}"
    kind = value.get("type") if isinstance(value, dict) else None
    return _short(name or (kind if isinstance(kind, str) else "") or "nothing for the response")


def _merged(events: Sequence[Event]) -> list[str]:
    """Returns the words, with consecutive deltas of one kind merged."""
    words: list[str] = []
    last, text = "", ""
    for event in (*events, None):
        kind, piece = _delta(event)
        if last and kind != last:
            words.append(f"{last} {_quoted(text)}")
            text = ""
        if kind:
            text += piece[: MAX_QUOTED + 1]
        elif event is not None:
            words.append(_word(event))
        last = kind
    return words


def _delta(event: Event | None) -> tuple[str, str]:
    match event:
        case TextDelta():
            return "text", event.text
        case ReasoningDelta():
            return "reasoning", event.text
        case RefusalDelta():
            return "refusal", event.text
        case ToolCallDelta():
            return "arguments", event.arguments
    return "", ""


def _word(event: Event) -> str:
    match event:
        case MessageStart():
            return "start"
        case ToolCallStart():
            return f"call {event.name}"
        case ToolCallEnd():
            return "end of call"
        case ReasoningSeal():
            return "seal"
        case Finish():
            return f"finish {event.finish_reason}"
        case Usage():
            return f"usage {event.input_tokens:,} → {event.output_tokens:,}"
        case StreamError():
            return f"error {event.type}"
        case MessageEnd():
            return "end"
    return ""


def _quoted(text: str) -> str:
    cut = text[:MAX_QUOTED] + "…" * (len(text) > MAX_QUOTED)
    return "“" + cut.replace("\n", "⏎").replace("\t", "⇥") + "”"


def _short(text: str) -> str:
    return text if len(text) <= MAX else text[: MAX - 1] + "…"
