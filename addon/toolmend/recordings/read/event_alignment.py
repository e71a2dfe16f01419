"""What came and what went out, matched: which bytes the client got for an event, and which rule made the difference.

    <|tool_call     held      by kimi_k2, which fired at event 5; until event 5
    _begin|>func    held      likewise
    tions.read:0    changed   by kimi_k2

Rule of this file: what the client got is what was recorded, where the mending of today gives the same; else a notice says so.
The kinds are told in document.py.
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
"""Rules that are at work beyond the event at which they fire."""


@mutable
class Row:
    """A step, its number, and what is made out about it."""

    n: int
    step: Step
    kind: str
    until: int | None = None
    by: tuple[str, int] | None = None


def streams(recording: Recording) -> bool:
    """Whether the client got a stream."""
    return bool(recording.meta.get("client_stream", recording.stream))


def played(entry: Entry, recording: Recording, notices: list[str]) -> list[Step]:
    """The steps, as far as they can be told apart; what the client got is what was recorded, where that can be."""
    if recording.stream != streams(recording) or entry.status >= 400 or not recording.stream:
        return _unplayed(recording)
    try:
        told = list(steps(recording)) if entry.api in APIS else _passed(recording)
    except Exception as error:  # a recording that was cut off, or written by hand, may lack anything
        notices.append(f"It cannot be played ({type(error).__name__}: {error}), so what came is not matched with what went out.")
        return _unplayed(recording)
    sent = b"".join(step.sent for step in told)
    if sent == recording.client:
        return told
    if entry.state != "complete" and sent.startswith(recording.client):
        return list(_cut(told, len(recording.client)))
    notices.append("The client got something else than is shown: the mending of today is not that of then.")
    return told


def _unplayed(recording: Recording) -> list[Step]:
    """What came and what went out, side by side where both are whole, else one behind the other."""
    rules = tuple(map(str, recording.meta.get("rules") or ()))
    if not recording.stream:
        return [Step(b"".join(recording.chunks), recording.client, rules, 0.0)]
    decoder = decoder_of(str(recording.meta.get("api") or ""))
    time = 0.0
    told = []
    for chunk, time in zip(recording.chunks, recording.times, strict=True):
        told += [Step(event.raw, b"", (), time) for event in decoder.feed(chunk)]
    told += [Step(event.raw, b"", (), time) for event in decoder.close()]
    return [*told, Step(b"", recording.client, rules, time)]


def _passed(recording: Recording) -> list[Step]:
    """A stream of an API that is not read: it passed as it came."""
    decoder, time = decoder_of(str(recording.meta.get("api") or "")), 0.0
    told = []
    for chunk, time in zip(recording.chunks, recording.times, strict=True):
        told += [Step(event.raw, event.raw, (), time) for event in decoder.feed(chunk)]
    return told + [Step(event.raw, event.raw, (), time) for event in decoder.close()]


def _cut(told: Sequence[Step], left: int) -> Iterator[Step]:
    """The steps, up to so many bytes sent: the client got no more."""
    for step in told:
        sent = step.sent[:left]
        left -= len(sent)
        if step.raw or sent:
            yield Step(step.raw, sent, step.rules, step.time)


def matched(told: Sequence[Step], *, translated: bool) -> list[Row]:
    """The steps in rows; `translated`: the client's API is another."""
    rows = []
    held: list[Row] = []
    for n, step in enumerate(told, 1):
        if translated:
            kind = "translated" if step.sent else "silent"
        elif step.raw == step.sent:
            kind = "same"  # a comment, if something is held: that goes ahead
        elif not step.sent:
            kind = "held"
        elif held and b"".join([*(row.step.raw for row in held), step.raw]) == step.sent:
            kind = "released"
        else:
            kind = "changed" if step.raw else "added"
        row = Row(n, step, kind)
        rows.append(row)
        if kind == "held":
            held.append(row)
        elif kind != "same":
            for other in held:
                other.until = n
            held.clear()
    _attribute(rows)
    return rows


def _attribute(rows: Sequence[Row]) -> None:
    """Finds the rule behind each difference: its own, or that of the call it belongs to."""
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
                ahead = at < len(fired) and numbers[at] <= (row.until or row.n)  # it fired before anything went out for this one
                row.by = fired[at if ahead or not at else at - 1]
