"""What was changed in a recorded stream, as data: where, by which rules, from what and to what.

    Change(first=2, last=9, rules=("kimi_k2",), came="text '<|tool_calls_section_begin|>…'", went='call 0 get_weather (…) {"ci…')

A change is a run of events that the client got changed or later. If text, calls or ends changed, it is described as a client
folds them; if only their form was mended, such as an id or an index, by the bytes of the first event concerned.

It describes today's replay, step by step; nothing is guessed from the bytes.
"""

from collections.abc import Iterator, Sequence

from ...core.events import Event, Finish, ReasoningDelta, RefusalDelta, StreamError, TextDelta, ToolCallDelta, ToolCallStart
from ...core.fastclass import value
from ...dialects import DIALECTS, REASONING_TAGS
from ...pipeline.event_reader import EventReader, events_of
from ...pipeline.rules import RULES
from .replay import Recording, own_names
from .trace import Step, steps

MAX_TEXT = 400
"""Characters that describe either side of a change."""

AROUND = 60
"""Characters shown before a difference of bytes."""

_DECIDED = [name for name in RULES if name.startswith(("duplicate_", "finish_", "policy_", "reasoning_"))]
FOLDED = frozenset((*DIALECTS, REASONING_TAGS.name, *_DECIDED))
"""Rules that change the content of a stream; others change its form."""


@value
class Change:
    """A run of upstream events, counted from 1; 0 is what was sent after the last one. `time`: of the first, in seconds."""

    first: int
    last: int
    time: float
    rules: tuple[str, ...]
    came: str
    went: str


def changes(recording: Recording) -> Iterator[Change]:
    """Yields the changes of a recording, in order. A whole response that was changed is one."""
    meta = recording.meta
    folded = FOLDED | own_names(meta)
    source, target = meta["api"], meta.get("client_api") or meta["api"]
    reads = _Decoded(source, stream=recording.stream)
    writes = _Decoded(target, stream=recording.stream and meta.get("client_stream") is not False)
    run: list[tuple[int, Step]] = []
    came: list[Event] = []
    went: list[Event] = []
    for number, step in enumerate(steps(recording), 1):
        read, written = reads.feed(step.raw), writes.feed(step.sent)
        if step.rules or (source == target and step.touched):
            run.append((number if step.raw else 0, step))
            came += read
            went += written
        elif run:
            yield _change(run, came, went, folded)
            run, came, went = [], [], []
    if run:
        yield _change(run, came, went, folded)


class _Decoded:
    """Decodes the bytes of one side as a client does."""

    def __init__(self, api: str, *, stream: bool) -> None:
        self._api = api
        self._stream = EventReader(api) if stream else None

    def feed(self, data: bytes) -> Sequence[Event]:
        if self._stream:
            return self._stream.feed(data)
        return list(events_of(self._api, [data], stream=False)) if data else []


def _change(
    run: Sequence[tuple[int, Step]], came: Sequence[Event], went: Sequence[Event], folded: frozenset[str]
) -> Change:
    rules = tuple(dict.fromkeys(rule for _, step in run for rule in step.rules))
    if folded.intersection(rules):
        before, after = _in_words(came), _in_words(went)
    else:
        before, after = _raw(next((step for _, step in run if step.rules), run[0][1]))
    numbers = [number for number, _ in run if number]
    return Change(run[0][0], max(numbers, default=0), run[0][1].time, rules, before, after)


def _in_words(events: Sequence[Event]) -> str:
    """Describes events; pieces of one text or call are joined."""
    parts: list[tuple[str, str]] = []
    for event in events:
        match event:
            case TextDelta():
                kind, text = "text", event.text
            case ReasoningDelta():
                kind, text = "reasoning", event.text
            case RefusalDelta():
                kind, text = "refusal", event.text
            case ToolCallStart():
                kind, text = f"call {event.index}", f"{event.name} ({event.id}) "
            case ToolCallDelta():
                kind, text = f"call {event.index}", event.arguments
            case Finish():
                kind, text = "finish reason", event.finish_reason
            case StreamError():
                kind, text = "error", event.message
            case _:
                continue
        if parts and parts[-1][0] == kind:
            parts[-1] = (kind, parts[-1][1] + text)
        else:
            parts.append((kind, text))
    return _cut("; ".join(f"{kind} {text!r}" if kind in ("text", "reasoning") else f"{kind} {text}" for kind, text in parts))


def _raw(step: Step) -> tuple[str, str]:
    """Returns the bytes of both sides, from shortly before the difference."""
    texts = [data.decode(errors="backslashreplace").strip() for data in (step.raw, step.sent)]
    equal = next((n for n, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, equal - AROUND)
    before, after = (_cut("… " * (start > 0) + text[start:]) for text in texts)
    return before, after


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT // 2]} … {text[-MAX_TEXT // 2 :]}"
