"""A recording for display: one document, shared by the terminal, the page and `--json`.

    {"format": 1, "name": "183401-openrouter-1", "state": "complete", …, "notices": [], "request": {…}, "answer": {…},
     "events": [{"n": 3, "ms": 31.0, "kind": "held", "says": "text “<|tool”", "gives": "", "raw": "data: …", "sent": "",
                 "rules": [], "by": ["kimi_k2", 5], "until": 5}, …]}

An event is one of the upstream; the last may lack `raw`, if something was sent at the end of the body. Its `kind`:

    same        the client got the same bytes: `sent` is None
    held        nothing was sent at once; `until` is the event with which something was, None if nothing ever was
    released    the held bytes were sent unchanged
    changed     the client got other bytes
    added       something was sent without input
    translated  the client's API is another: its bytes for this event; `silent` if there are none

`rules` fired at this event; `by` is the rule that caused a difference, and the event where it fired. This is inferred: a rule
fires once per call, but its effect begins earlier (the held marker) and ends later (the rest of the call).

It only shows what was recorded. If today's mending gives other bytes, or the recording cannot be replayed, a notice says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from io import BytesIO
from itertools import accumulate, pairwise
from math import isfinite
from typing import Any

from ...pipeline.rules import rule
from .event_alignment import EventRow, align, client_streams, steps_of
from .event_summary import Summary
from .library import Entry
from .message_json import message_of
from .replay import Recording
from .suspected import remedy_of
from .turns import folded

FORMAT = 1
"""The version of the document."""

MIN_RATE = 0.5
"""Seconds of output from which on a rate is meaningful."""


def document(entry: Entry, recording: Recording, forwarded: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns all that is shown of a recording; `forwarded`: the upstream's request, if it differs from the client's."""
    notices = [f"{note}." for note in entry.notes]
    if entry.state != "complete":
        error = f": {entry.error}" if entry.error else ""
        notices.insert(0, f"The recording is not a complete response, its state is {entry.state.replace('_', ' ')}{error}.")
    if entry.observed:
        notices.append("It was only observed, and nothing was changed; the rules are those that would have fired.")
    rows = align(steps_of(entry, recording, notices), translated=entry.client_api != entry.api)
    events, first_token = _events(rows, entry, recording)
    upstream = b"".join(recording.chunks)
    answers = {
        "raw": message_of(entry.api, BytesIO(upstream), stream=recording.stream),
        "mended": message_of(entry.client_api, BytesIO(recording.client), stream=client_streams(recording)),
    }
    return {
        "format": FORMAT,
        **_known(entry, recording.meta),
        "notices": notices,
        "rules": _rules(rows, entry.rules),
        "suspects": [{**suspect, "remedy": remedy_of(suspect, entry)} for suspect in entry.suspects],
        "times": _times(entry, recording, first_token, answers["raw"]),
        "bytes": {"raw": len(upstream), "mended": len(recording.client)},
        "request": folded(recording.request, entry.client_api) if isinstance(recording.request, Mapping) else None,
        "forwarded": folded(forwarded, entry.api) if forwarded is not None else None,
        "answer": answers,
        "headers": {side: _headers(recording.meta.get(f"{side}_headers")) for side in ("request", "response")},
        "chunks": _chunks(recording),
        "events": events,
    }


def _known(entry: Entry, meta: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": entry.name,
        "folder": entry.place,
        "state": entry.state,
        "recorded_at": entry.recorded_at.isoformat(timespec="milliseconds") if entry.recorded_at.timestamp() else None,
        "agent": entry.agent,
        "host": entry.host,
        "provider": entry.provider,
        "model": entry.model,
        "method": str(meta.get("method") or ""),
        "path": str(meta.get("path") or ""),
        "http_version": str(meta.get("http_version") or ""),
        "status": entry.status,
        "api": entry.api,
        "client_api": entry.client_api,
        "route": entry.route or None,
        "stream": entry.stream,
        "toolmend": str(meta.get("toolmend") or ""),
        "settings": {str(name): str(value) for name, value in entry.settings.items()},
    }


def _headers(value: Any) -> list[list[str]]:
    pairs = value if isinstance(value, list) else ()
    return [[str(part) for part in pair] for pair in pairs if isinstance(pair, list) and len(pair) == 2]


def _events(rows: Sequence[EventRow], entry: Entry, recording: Recording) -> tuple[list[dict[str, Any]], float | None]:
    """Returns the rows for display, and the time of the first token in milliseconds."""
    received = Summary(entry.api, stream=recording.stream)
    sent = Summary(entry.client_api, stream=client_streams(recording))
    first_token = None
    shown = []
    for row in rows:
        step = row.step
        says = received.of(step.raw)
        if received.tokens and first_token is None:
            first_token = step.time * 1000
        same = row.kind == "same"
        gives = sent.of(step.sent)
        shown.append(
            {
                "n": row.n,
                "ms": round(step.time * 1000, 3),
                "kind": row.kind,
                "says": says,
                "gives": "" if same else gives,
                "raw": _text(step.raw),
                "sent": None if same else _text(step.sent),
                "rules": step.rules,
                "by": row.by,
                "until": row.until,
            }
        )
    return shown, first_token


def _text(raw: bytes) -> str:
    return raw.decode(errors="backslashreplace")


def _rules(rows: Sequence[EventRow], recorded: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the rules in the order in which they fired, with their events."""
    fired: dict[str, list[int]] = {}
    for row in rows:
        for name in row.step.rules:
            fired.setdefault(name, []).append(row.n)
    return [{"name": name, **_words(name), "events": fired.get(name, [])} for name in dict.fromkeys((*fired, *recorded))]


def _words(name: str) -> dict[str, str]:
    try:
        return asdict(rule(name))
    except KeyError:  # recorded by another version
        return {"what": "A rule of another version.", "why": ""}


def _times(
    entry: Entry, recording: Recording, first_token: float | None, answer: Mapping[str, Any] | None
) -> dict[str, float | None]:
    """Returns times in milliseconds since the first byte; `wait`: from the request to the first byte."""
    times = [time * 1000 for time in recording.times]
    last = times[-1] if times else 0.0
    usage = (answer or {}).get("usage") or {}
    seconds, written = (last - (first_token or 0.0)) / 1000, usage.get("output_tokens")
    return {
        "wait": entry.wait_ms if entry.wait_ms is not None and isfinite(entry.wait_ms) else None,
        "first_token": first_token,
        "last": last,
        "longest_gap": max((after - before for before, after in pairwise(times)), default=0.0),
        "tokens_per_second": round(written / seconds, 1) if seconds >= MIN_RATE and written else None,
    }


def _chunks(recording: Recording) -> list[tuple[int, int, float]]:
    """Returns offset, length and milliseconds of each chunk."""
    ends = accumulate(map(len, recording.chunks))
    return [
        (end - len(chunk), len(chunk), round(time * 1000, 3))
        for chunk, time, end in zip(recording.chunks, recording.times, ends, strict=True)
    ]
