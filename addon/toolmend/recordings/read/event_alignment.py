"""Aligns received and sent bytes: what the client got for each event, and which rule made the difference.

    <|tool_call     held      by kimi_k2, which fired at event 5; until event 5
    _begin|>func    held      likewise
    tions.read:0    changed   by kimi_k2

If today's mending gives the recorded bytes, these are aligned; otherwise a notice says so. document.py lists the kinds.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby

from ...apis import APIS, decoder_of
from ...core.fastclass import mutable
from ...dialects import DIALECTS, REASONING_TAGS
from ...pipeline.rules import RULES
from .library import Entry
from .replay import Recording
from .trace import Step, steps

_DIFFERENT = ("held", "changed", "added")

_PREFIXES = ("argument", "duplicate_", "policy_", "stop_")
REACHING = frozenset((*DIALECTS, REASONING_TAGS.name, *(name for name in RULES if name.startswith(_PREFIXES))))
"""Rules whose effect extends beyond the event at which they fire."""


@mutable
class EventRow:
    """A step, its number, and what was inferred about it."""

    n: int
    step: Step
    kind: str
    until: int | None = None
    by: tuple[str, int] | None = None


def client_streams(recording: Recording) -> bool:
    """Whether the client got a stream."""
    return bool(recording.meta.get("client_stream", recording.stream))


def steps_of(entry: Entry, recording: Recording, notices: list[str]) -> list[Step]:
    """Returns the steps of a replay, if it gives the recorded bytes, or else what can be said without."""
    if recording.stream != client_streams(recording) or entry.status >= 400 or not recording.stream:
        return _unaligned(recording)
    try:
        found = list(steps(recording)) if entry.api in APIS else _unchanged(recording)
    except Exception as error:  # a truncated or hand-written recording may lack anything
        notices.append(f"It cannot be replayed ({type(error).__name__}: {error}), so received and sent bytes are not aligned.")
        return _unaligned(recording)
    sent = b"".join(step.sent for step in found)
    if sent == recording.client:
        return found
    if entry.state != "complete" and sent.startswith(recording.client):
        return list(_cut(found, len(recording.client)))
    notices.append("The client got other bytes than are shown: the mending has changed since.")
    return found


def _unaligned(recording: Recording) -> list[Step]:
    """Returns received and sent bytes, side by side if both are whole, otherwise one after the other."""
    rules = tuple(map(str, recording.meta.get("rules") or ()))
    if not recording.stream:
        return [Step(b"".join(recording.chunks), recording.client, rules, 0.0)]
    decoder = decoder_of(str(recording.meta.get("api") or ""))
    time = 0.0
    found = []
    for chunk, time in zip(recording.chunks, recording.times, strict=True):
        found += [Step(event.raw, b"", (), time) for event in decoder.feed(chunk)]
    found += [Step(event.raw, b"", (), time) for event in decoder.close()]
    return [*found, Step(b"", recording.client, rules, time)]


def _unchanged(recording: Recording) -> list[Step]:
    """Returns a stream of an API that is not decoded: it passed unchanged."""
    decoder, time = decoder_of(str(recording.meta.get("api") or "")), 0.0
    found = []
    for chunk, time in zip(recording.chunks, recording.times, strict=True):
        found += [Step(event.raw, event.raw, (), time) for event in decoder.feed(chunk)]
    return found + [Step(event.raw, event.raw, (), time) for event in decoder.close()]


def _cut(found: Sequence[Step], left: int) -> Iterator[Step]:
    """Yields the steps up to `left` sent bytes: the client got no more."""
    for step in found:
        sent = step.sent[:left]
        left -= len(sent)
        if step.raw or sent:
            yield Step(step.raw, sent, step.rules, step.time)


def align(found: Sequence[Step], *, translated: bool) -> list[EventRow]:
    """Returns the steps as rows; `translated`: the client's API is another."""
    rows = []
    held: list[EventRow] = []
    for n, step in enumerate(found, 1):
        if translated:
            kind = "translated" if step.sent else "silent"
        elif step.raw == step.sent:
            kind = "same"  # if something is held, this is a comment, which is sent at once
        elif not step.sent:
            kind = "held"
        elif held and b"".join([*(row.step.raw for row in held), step.raw]) == step.sent:
            kind = "released"
        else:
            kind = "changed" if step.raw else "added"
        row = EventRow(n, step, kind)
        rows.append(row)
        if kind == "held":
            held.append(row)
        elif kind != "same":
            for other in held:
                other.until = n
            held.clear()
    _attribute(rows)
    return rows


def _attribute(rows: Sequence[EventRow]) -> None:
    """Finds the rule that caused each difference: the row's own, or that of its call."""
    for row in rows:
        if row.step.rules:
            row.by = (row.step.rules[-1], row.n)
    released = {row.n for row in rows if row.kind == "released"}
    for _, run in groupby(rows, lambda row: row.kind in _DIFFERENT or row.step.raw.startswith(b":")):
        found = list(run)
        fired = [(name, row.n) for row in found for name in row.step.rules if name in REACHING]
        numbers = [n for _, n in fired]
        for row in found:
            if row.kind in _DIFFERENT and not row.by and row.until not in released and fired:
                at = bisect_right(numbers, row.n)
                ahead = at < len(fired) and numbers[at] <= (row.until or row.n)  # it fired before anything was sent for this row
                row.by = fired[at if ahead or not at else at - 1]
