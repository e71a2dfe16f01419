"""One session, one recording, or two requests side by side, as the pages show them.

    session(index, "2f0f…")             lanes, requests, and each part of the conversation once
    recording(row)                      what came, what was sent, and why; runs of similar deltas are one line
    difference(index, row, other)       which parts of a request are new, and how that affected the cache

Only the index and the recording's own folder are read.
"""

import difflib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from ...recordings.read.library import entry
from ...recordings.read.safe_read import read
from .index import Index
from .reading import ANSWER, Row

MAX_SHOWN = 20_000
"""Characters of a part that are sent with a session; the page requests the rest."""

MAX_RUN = 4_000
"""Characters of the joined text of a run of deltas."""

MAX_RUNS = 4_000
"""Lines of a recording that are sent at once."""

MAX_RAW = 200_000
"""Characters of an event's bytes."""

type Json = dict[str, Any]


def session(index: Index, key: str, since: float = 0.0) -> Json | None:
    """Returns a session: its lanes, and the requests since a time in seconds with everything that is shown of them."""
    rows = index.of_session(key)
    if not rows:
        return None
    [totals] = index.sessions(session=key)
    firsts: dict[int, list[Row]] = {}
    for part in index.firsts(key, since):
        firsts.setdefault(part["recording"], []).append(part)
    turns: list[Json] = []
    answered: set[str] = set()
    for row in rows:
        lane, parts = row["sub"], firsts.get(row["id"], [])
        if row["at"] < since:
            answered |= {lane} if row["said"] or row["calls"] else set()
            continue
        shown = []
        for part in parts:
            if part["place"] == ANSWER:
                continue
            if part["role"] == "assistant" and lane in answered and row["tip"] != "-":
                continue  # shown above as the answer
            shown.append(_shown(part, json.loads(part["value"])))
        answer = index.answer(row["id"])
        if answer:
            answered.add(lane)
        turns.append({"recording": row["id"], "sub": lane, "parts": shown, "answer": _answer(answer)})
    return {
        "session": totals,
        "recordings": [row for row in rows if row["at"] >= since],
        "lanes": _lanes(rows),
        "turns": turns,
        "misses": _misses(index, rows, since),
    }


def _lanes(rows: Sequence[Row]) -> list[Json]:
    """Returns the main agent and the subagents in the order they began; each with the one that started it."""
    lanes: dict[str, Json] = {}
    for row in rows:
        begun = {"sub": row["sub"], "name": row["sub_name"], "parent": row["parent"], "requests": 0, "title": ""}
        lane = lanes.setdefault(row["sub"], begun)
        lane["requests"] += 1
        lane["title"] = lane["title"] or row["title"]
    return sorted(lanes.values(), key=lambda lane: lane["sub"] != "")


def _shown(part: Row, value: Mapping[str, Any]) -> Json:
    text = str(value.get("text", ""))
    shown: Json = {name: part[name] for name in ("part", "kind", "role", "size", "cls")}
    shown |= {name: value[name] for name in ("id", "name", "error", "images") if value.get(name)}
    if part["kind"] == "tools":
        return shown | {"names": [tool.get("name") for tool in value.get("tools", ())]}
    if len(text) > MAX_SHOWN:
        shown["more"] = len(text) - MAX_SHOWN
    shown["text"] = text[:MAX_SHOWN]
    if part["kind"] == "text" and part["role"] == "assistant":
        shown["tree"] = _tree(text[:MAX_SHOWN])
    return shown


def _tree(text: str) -> list[Any]:
    from .markdown import tree  # noqa: PLC0415  slow

    return tree(text)


def _answer(message: Mapping[str, Any] | None) -> Json | None:
    if not message:
        return None
    text = str(message.get("text") or "")
    return {
        "text": text[:MAX_SHOWN],
        "tree": _tree(text[:MAX_SHOWN]),
        "more": max(0, len(text) - MAX_SHOWN),
        "reasoning": str(message.get("reasoning") or "")[:MAX_SHOWN],
        "refusal": message.get("refusal") or "",
        "calls": [
            {"id": call.get("id"), "name": call.get("name"), "arguments": str(call.get("arguments") or "")[:MAX_SHOWN]}
            for call in message.get("tool_calls") or ()
            if isinstance(call, dict)
        ],
        "finish": message.get("finish_reason"),
        "error": message.get("error"),
        "usage": message.get("usage"),
    }


def _misses(index: Index, rows: Sequence[Row], since: float) -> Json:
    """Explains cache misses: for each request that read less from the cache than the one before had put there, what changed."""
    found: Json = {}
    last: dict[tuple[str, str], Row] = {}
    for row in rows:
        lane = row["sub"], row["model"]
        before = last.get(lane)
        if before and row["at"] >= since and row["tokens_in"] and (before["cached"] or before["cache_write"]):
            had = (before["cached"] or 0) + (before["cache_write"] or 0)
            if (row["cached"] or 0) < had * 0.5:
                found[str(row["id"])] = first_change(index.parts(before["id"]), index.parts(row["id"]))
        if row["tokens_in"]:
            last[lane] = row
    return found


def first_change(old: Sequence[Row], new: Sequence[Row]) -> str:
    """Returns the first part of a request that differs from the request before, in words."""
    before, now = ([part for part in parts if part["place"] != ANSWER] for parts in (old, new))
    for at, (one, other) in enumerate(zip(before, now, strict=False)):
        if one["hash"] != other["hash"]:
            return f"{_place(other, at)} changed"
    if len(now) < len(before):
        return f"{_place(before[len(now)], len(now))} is gone"
    return "nothing before it changed: the cache had expired, or was not kept"


def _place(part: Row, at: int) -> str:
    words = {"tools": "the list of tools", "system": "the system prompt", "results": "a tool result", "user": "a user text"}
    return f"{words.get(part['cls'], 'a part of the conversation')} (part {at + 1})"


def recording(row: Row) -> Json:
    """Returns a recording: the document of document.py, with its events as runs."""
    shown = _document(row["path"], row["changed"])
    if "problem" in shown:
        return {"row": row, **shown}
    facts = {name: value for name, value in shown.items() if name not in ("events", "chunks", "request", "forwarded")}
    answer = {side: _answer(message) for side, message in shown["answer"].items()}
    notices = list(shown["notices"])
    times = dict(shown["times"])
    if times["first_token"] is not None and times["wait"] is not None:
        times["ttft"] = times["wait"] + times["first_token"]
    runs = _runs(shown["events"])
    return {
        "row": row,
        **facts,
        "notices": notices,
        "times": times,
        "answer": answer,
        "request": {name: shown["request"][name] for name in ("fields", "notes")} if shown["request"] else None,
        "forwarded": shown["forwarded"],
        "runs": runs[:MAX_RUNS],
        "events": len(shown["events"]),
        "more_runs": max(0, len(runs) - MAX_RUNS),
        "pace": _pace(shown["events"]),
    }


def events(row: Row, first: int, count: int) -> list[Json]:
    """Returns events by number, from 1, with their bytes."""
    every = _document(row["path"], row["changed"]).get("events", [])
    return [_bounded(event) for event in every[max(0, first - 1) : max(0, first - 1) + min(count, 500)]]


def _bounded(event: Json) -> Json:
    return event | {side: event[side] and event[side][:MAX_RAW] for side in ("raw", "sent")}


@lru_cache(3)
def _document(path: str, changed: float) -> Json:  # noqa: ARG001  part of the cache's key
    """Returns the whole document of a recording, or its `problem`."""
    from ...recordings.read.document import document  # noqa: PLC0415
    from ...recordings.read.replay import RecordingError, load  # noqa: PLC0415  slow: imports the whole pipeline

    folder = Path(path)
    try:
        loaded = load(folder)
        return document(entry(folder), loaded, _forwarded(folder))
    except (RecordingError, OSError) as error:
        return {"problem": str(error).removeprefix(f"{path}: ")}


def _forwarded(folder: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(read(folder / "upstream_request.json"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _runs(every: Sequence[Json]) -> list[Json]:
    """Joins consecutive untouched events of one kind into one line; each mended event has its own."""
    runs: list[Json] = []
    for event in every:
        description = str(event["says"])
        word = description.partition(" ")[0]
        quiet = event["kind"] in ("same", "translated", "silent") and not event["rules"]
        last = runs[-1] if runs else None
        if quiet and last and last["quiet"] and last["word"] == word and last["kind"] == event["kind"]:
            last["to"], last["end"] = event["n"], event["ms"]
            if len(last["text"]) < MAX_RUN:
                last["text"] += _quoted(description)
        else:
            runs.append(
                {
                    "from": event["n"],
                    "to": event["n"],
                    "ms": event["ms"],
                    "end": event["ms"],
                    "kind": event["kind"],
                    "word": word,
                    "quiet": quiet,
                    "says": description,
                    "gives": event["gives"],
                    "text": _quoted(description),
                    "rules": event["rules"],
                    "by": event["by"],
                    "until": event["until"],
                }
            )
    return runs


def _quoted(description: str) -> str:
    at, end = description.find("“"), description.rfind("”")
    return description[at + 1 : end] if 0 <= at < end else ""


def _pace(every: Sequence[Json]) -> list[list[float]]:
    """Returns about 200 points of the curve: milliseconds, and the number of events until then."""
    step = max(1, len(every) // 200)
    return [[event["ms"], event["n"]] for event in every[::step]] + ([[every[-1]["ms"], every[-1]["n"]]] if every else [])


def parts(index: Index, row: Row) -> list[Json]:
    """Returns the request part by part."""
    return [_shown(part, json.loads(part["value"])) for part in index.parts(row["id"]) if part["place"] != ANSWER]


def part(index: Index, key: int) -> Json | None:
    """Returns a whole part."""
    found = index.part(key)
    if found is None:
        return None
    value = json.loads(found["value"])
    return {**{name: found[name] for name in ("part", "kind", "role", "size", "cls")}, "value": value}


def image(index: Index, key: int, name: str) -> tuple[str, bytes] | None:
    """The media type and the bytes of an image of a part, from the latest readable request that has the part."""
    from ...recordings.read.images import find_image  # noqa: PLC0415  rare

    for path in index.paths_with(key):
        with suppress(OSError, ValueError, RecursionError):
            if found := find_image(json.loads(read(Path(path) / "request.json")), name):
                return found
    return None


def difference(index: Index, row: Row, other: Row | None) -> Json:
    """Compares a request with another: parts that were added and removed."""
    now = [one for one in index.parts(row["id"]) if one["place"] != ANSWER]
    if other is None:
        return {"against": None, "added": [], "removed": [], "same": 0, "changes": []}
    before = [one for one in index.parts(other["id"]) if one["place"] != ANSWER]
    matcher = difflib.SequenceMatcher(None, [one["hash"] for one in before], [one["hash"] for one in now], autojunk=False)
    added, removed, same, changes = [], [], 0, []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            same += i2 - i1
            continue
        removed += [_shown(one, json.loads(one["value"])) | {"at": i1 + n} for n, one in enumerate(before[i1:i2])]
        added += [_shown(one, json.loads(one["value"])) | {"at": j1 + n} for n, one in enumerate(now[j1:j2])]
        if tag == "replace":
            changes += [
                {"place": _place(now[j1 + n], j1 + n), "lines": lines(_text(before[i1 + n]), _text(now[j1 + n]))}
                for n in range(min(i2 - i1, j2 - j1, 20))
            ]
    system, tools = (_same(before, now, cls) for cls in ("system", "tools"))
    brief = {name: other[name] for name in ("id", "name", "at", "model")}
    why = first_change(before, now) if (row["cached"] or 0) < (other["cached"] or 0) else ""
    parts = {"added": added, "removed": removed, "same": same, "changes": changes}
    return {"against": brief, **parts, "system": system, "tools": tools, "why": why}


def _same(before: Iterable[Row], now: Iterable[Row], cls: str) -> bool:
    """Returns whether the parts of a class before the conversation are the same."""
    fronts = (takewhile(lambda one: one["cls"] in ("system", "tools"), parts) for parts in (before, now))
    one, other = ([part["hash"] for part in front if part["cls"] == cls] for front in fronts)
    return one == other


def _text(one: Row) -> str:
    value = json.loads(one["value"])
    return str(value.get("text", "")) if "text" in value else json.dumps(value, indent=1, ensure_ascii=False)


def lines(old: str, new: str, context: int = 2) -> list[list[str]]:
    """Returns the difference of two texts line by line: [" " | "-" | "+" | "@", text]."""
    diff = difflib.unified_diff(old[:400_000].splitlines(), new[:400_000].splitlines(), lineterm="", n=context)
    return [[line[:1], line[1:] if line[:1] != "@" else line] for line in list(diff)[2:1000]]


def context(index: Index, row: Row) -> list[Json]:
    """Returns the size of each part of a request with its class."""
    return [
        {"part": one["part"], "cls": one["cls"], "kind": one["kind"], "size": one["size"], "at": one["place"], "name": _name(one)}
        for one in index.parts(row["id"])
        if one["place"] != ANSWER
    ]


def _name(one: Row) -> str:
    value = json.loads(one["value"])
    if one["kind"] == "tools":
        return f"{len(value.get('tools', ()))} tools"
    return str(value.get("name") or " ".join(str(value.get("text", ""))[:80].split()))


def curl(row: Row) -> str:
    """Returns the request as a shell command, with $KEY instead of the key."""
    folder = Path(row["path"])
    meta = json.loads(read(folder / "meta.json"))
    scheme = str(meta.get("scheme") or "https")
    words = ["curl", f"{scheme}://{row['host']}{meta.get('path', '')}"]
    name = "x-api-key: $KEY" if row["client_api"] == "messages" else "authorization: Bearer $KEY"
    kept = [(str(one), str(value)) for one, value in meta.get("request_headers", ()) if "[REDACTED]" not in str(value)]
    for one, value in kept:
        if one.lower() not in ("host", "content-length", "connection", "accept-encoding", "transfer-encoding"):
            words += ["-H", f"{one}: {value}"]
    command = " ".join(map(shlex.quote, words))
    return f'{command} -H "{name}" --data-binary @{shlex.quote(str(folder / "request.json"))}'
