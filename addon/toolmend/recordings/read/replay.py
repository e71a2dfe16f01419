"""Loads recordings and replays them through the real pipeline. A recording is a regression test: see architecture.md, Recordings.

flows/<provider>/<case>/  meta.json  request.json  upstream.sse  upstream.idx  client.sse      (or upstream.json, client.json)
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from ...apis import APIS
from ...apis.decode_failure_event import unreadable
from ...apis.shared.errors import Fault, is_error, translate_error, write_error
from ...config.data_folder import on_one_line
from ...config.settings import parse
from ...core.fastclass import value
from ...core.ids import new_call_id
from ...pipeline.dry_run import DryRunPipeline
from ...pipeline.pipeline import Pipeline
from ...requests.edits import edit_of
from ...requests.request_limits import SETTABLE, checked
from ...requests.translate import translate
from .library import NO_ANSWER
from .safe_read import read

_TEXTS = ("api", "host", "http_version", "method", "path", "recorded_at", "state")
_LISTS = ("ids", "request_headers", "response_headers", "rules")
_KINDS: dict[str, type] = dict.fromkeys((*_TEXTS, "client_api", "fault", "model", "route"), str) | dict.fromkeys(_LISTS, list)
_KINDS |= {"settings": dict, "status": int}
_WORDS = {str: "a text", list: "a list", dict: "an object", int: "a number"}
"""The fields of meta.json that are used, and their types."""

LONGEST = 1e12
"""Milliseconds that a stream may have taken; longer values are not sensible."""


class RecordingError(ValueError):
    """A folder is not a recording, or cannot be read."""


@value
class Recording:
    """One recorded exchange. `chunks`: the upstream's body as it arrived at `times`; `client`: what was sent for it."""

    folder: Path
    meta: dict[str, Any]
    request: dict[str, Any] | None
    chunks: tuple[bytes, ...]
    times: tuple[float, ...]
    client: bytes
    stream: bool


def load(folder: Path) -> Recording:
    """Loads a recording. Raises RecordingError with the problem and its place."""
    try:
        meta = json.loads(read(folder / "meta.json"))
        request_file = folder / "request.json"
        request = json.loads(read(request_file)) if request_file.exists() else None
        if isinstance(meta, dict) and meta.get("state") in NO_ANSWER:
            return _checked(Recording(folder, meta, request, (), (), b"", stream=True))
        stream = (folder / "upstream.sse").exists()
        body = read(folder / f"upstream.{'sse' if stream else 'json'}")
        client = read(folder / f"client.{'sse' if (folder / 'client.sse').exists() else 'json'}")
        timed = list(_chunks(body, folder / "upstream.idx")) if stream else [(body, 0.0)]
    except RecursionError:
        raise RecordingError(f"{on_one_line(folder)}: its JSON is nested too deeply") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordingError(f"{on_one_line(folder)}: {error}") from None
    chunks, times = tuple(chunk for chunk, _ in timed), tuple(time for _, time in timed)
    return _checked(Recording(folder, meta, request, chunks, times, client, stream))


def _checked(recording: Recording) -> Recording:
    if wrong := _wrong(recording.meta, recording.request):
        raise RecordingError(f"{on_one_line(recording.folder)}: {wrong}")
    return recording


def _wrong(meta: Any, request: Any) -> str:
    """Returns what is invalid in a recording, which may be foreign; empty if nothing is."""
    if not isinstance(meta, dict):
        return "meta.json is not a JSON object"
    if meta.get("api") is None:
        return "meta.json: api is missing"
    other = [name for name, kind in _KINDS.items() if not isinstance(meta.get(name), kind | None)]
    if other:
        return f"meta.json: {other[0]} is not {_WORDS[_KINDS[other[0]]]}"
    return "" if request is None or isinstance(request, dict) else "request.json is not a JSON object"


def _chunks(body: bytes, index: Path) -> Iterator[tuple[bytes, float]]:
    """Yields the chunks of the body by its index, with their times; the rest is one more chunk.

    After a crash the index may be torn, or ahead of the body; it then covers what it can. Each chunk must begin where the one
    before it ends: overlapping chunks would multiply the body. Raises ValueError.
    """
    end, time = 0, 0.0
    if index.exists():
        lines = read(index).splitlines()
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:
                if line is lines[-1]:
                    break
                raise
            off, size, ms = row["off"], row["len"], row["t_ms"]
            if not (type(off) is type(size) is int and size >= 0 and abs(ms) < LONGEST):
                raise ValueError("upstream.idx: a line is not a chunk")
            if off >= max(end, len(body)):
                break
            if off != end:
                raise ValueError(f"upstream.idx: a chunk begins at {off}, and the one before it ends at {end}")
            end, time = off + size, ms / 1000
            yield body[off:end], time
    if body[end:]:
        yield body[end:], time


def find(root: Path) -> list[Path]:
    """Returns the folders of all recordings below `root`, in order."""
    return sorted(path.parent for path in root.rglob("meta.json"))


def replay(recording: Recording, chunks: Sequence[bytes] | None = None) -> tuple[bytes, list[str]]:
    """Returns what the client gets today for a recorded upstream body, in its chunks or in others, and the rules that fired.

    Time passes as recorded: it is that of the last byte so far. Raises RecordingError if the mending fails: the client would get
    the upstream's bytes, and the failure would go unnoticed.
    """
    client, pipeline = _played(recording, chunks)
    if pipeline and pipeline.error:
        raise RecordingError(f"{on_one_line(recording.folder)}: the mending failed: {pipeline.error}")
    return client, pipeline.rules if pipeline else []


def _played(recording: Recording, chunks: Sequence[bytes] | None) -> tuple[bytes, Pipeline | None]:
    """Returns the client's bytes and their pipeline; None if there was no pipeline: an error, or an undecoded body."""
    meta = recording.meta
    source, target = meta["api"], meta.get("client_api") or meta["api"]
    status, whole = meta.get("status") or 200, b"".join(recording.chunks if chunks is None else chunks)
    if not (whole or ended(recording)):
        return b"", None
    if meta.get("fault"):
        return write_error(Fault(502, meta["fault"]), target, _ids(meta)())[1], None
    if meta.get("route") and (status >= 400 or (not recording.stream and is_error(whole))):
        now = datetime.fromtimestamp(0, UTC)  # only used in headers
        return translate_error(status, (), whole, source, target, now=now, new_id=_ids(meta)())[2], None
    if source not in APIS or status >= 300:
        return whole, None
    clock = Clock(recording)
    pipeline = pipeline_of(recording, clock)
    if not recording.stream:
        streams = meta.get("client_stream") and pipeline.translates
        return pipeline.as_stream(whole) if streams else pipeline.message(whole), pipeline
    if meta.get("client_stream") is False:
        return pipeline.folded(whole), pipeline
    out = []
    for chunk in recording.chunks if chunks is None else chunks:
        clock.fed += len(chunk)
        out.append(pipeline.feed(chunk))
    client = b"".join(out) + (pipeline.close() if ended(recording) else b"")
    return client + (unreadable(target, client) if meta.get("unreadable") else b""), pipeline


def ended(recording: Recording) -> bool:
    """Whether the client received the end of a stream; one that disconnected, or was not recorded to the end, did not."""
    return recording.meta.get("state") not in ("client_closed", "partial", *NO_ANSWER)


class Clock:
    """The time of a replay in seconds: that of the last of the bytes `fed` so far."""

    def __init__(self, recording: Recording) -> None:
        self.fed = 0
        self._times = recording.times
        self._ends = list(accumulate(map(len, recording.chunks)))

    def __call__(self) -> float:
        return self._times[min(bisect_left(self._ends, self.fed), len(self._ends) - 1)]


def pipeline_of(
    recording: Recording, clock: Callable[[], float], *, watch: Callable[[str], None] = lambda _: None
) -> Pipeline:
    """Returns today's pipeline for a recording; `watch` is called with each rule that fires. Raises RecordingError."""
    meta = recording.meta
    settings = meta.get("settings", {})
    target = meta.get("client_api") or meta["api"]
    if target not in APIS:
        raise RecordingError(f"{on_one_line(recording.folder)}: meta.json: no such API: {target!r}")
    try:
        given = parse({name: text for name, text in settings.items() if name != "config"})  # reads no other file
        asked = _asked(recording, meta["api"], target)
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # of another version, or foreign
        raise RecordingError(f"{on_one_line(recording.folder)}: meta.json: {error}") from None
    return (DryRunPipeline if given.mode == "observe" else Pipeline)(
        settings=given,
        new_id=_ids(meta),
        let_go=settings.get("let_go") == "yes",
        now=clock,
        watch=watch,
        begins=str(settings.get("text_begins", "")),
        seen=str(settings.get("seen_dialects", "")).split(),
        **asked,
    )


def own_names(meta: Mapping[str, Any]) -> frozenset[str]:
    """Returns the names of the user's own dialects in a recording."""
    try:
        return frozenset(row["name"] for row in json.loads(meta.get("settings", {}).get("own_dialects", "[]")))
    except (AttributeError, KeyError, TypeError, ValueError):
        return frozenset()


def _ids(meta: Mapping[str, Any]) -> Callable[[], str]:
    """Returns a function that returns the recorded ids, and then new ones."""
    ids = iter(meta.get("ids", ()))
    return lambda: next(ids, None) or new_call_id()


def _asked(recording: Recording, source: str, target: str) -> dict[str, Any]:
    """Returns the pipeline's arguments about the request, as in addon.py; a translation is repeated."""
    request = recording.request if recording.request is not None else {}
    settings = recording.meta.get("settings", {})
    host = settings.get("upstream") or recording.meta.get("host", "")
    if recording.meta.get("model") and not recording.meta.get("route"):  # the model was only in the path
        request = {"model": recording.meta["model"], **request}
    asked: dict[str, Any] = {"request": request, "source": source, "target": target, "host": host}
    if recording.meta.get("route") or settings.get("template"):
        asked["translated"] = translate(
            request,
            target,
            source,
            model=settings.get("use_model", ""),
            host=host,
            template=settings.get("template", ""),
            system_role=settings.get("system_role") != "no",
            facts=_facts(settings.get("facts", "{}")),
            compact=settings.get("compact") == "yes",
            edits=tuple(edit for edit in json.loads(settings.get("edits", "[]")) if edit_of(edit)),
        )
    return asked


def _facts(text: str) -> dict[str, Any]:
    """Returns the user's facts about the upstream, as recorded."""
    given = json.loads(text)
    return {name: checked(name, value) for name, value in given.items() if name in SETTABLE}
