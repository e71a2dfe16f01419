"""Watches the folder: finds new and growing recordings, and reads answers while they are written.

    watcher = FolderWatcher(root, index, publish)
    await watcher.run()                    until it is cancelled; publish({"rows": […], "gone": […], "live": {…}}) at each change
    watcher.follow(7)                      what a page gets first of an answer in progress: everything so far

Nothing is written except the mark of ui_mark.py. Slow work is done in a thread, in batches.
"""

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ...core.events import ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta, ToolCallStart
from ...recordings.read.safe_read import opened
from ...recordings.write import ui_mark
from .index import Index
from .reading import Row, parts_of, row_of

TICK = 0.1
"""Seconds between two checks for new or growing recordings: 0.2 ms for a folder of 360."""

IDLE = 0.4
"""The same while no page is open."""

WALK = 30.0
"""Seconds between two walks through all folders."""

ROUNDS = 10
"""After this many walks, one looks into every folder again."""

BATCH = 100
"""Recordings that are read in one batch in the thread."""

MAX_TAIL = 4 * 1024 * 1024
"""Bytes of an answer in progress that are read at once."""

TAIL = 160
"""Characters of an answer's end that a list shows."""

MAX_PIECES = 5000
"""Bound of the pieces kept of an answer in progress; more than any answer has calls and thoughts."""

GAPS, ENOUGH_GAPS = 64, 5
"""Latest gaps between arrivals, whose median is an answer's usual silence, and how many are needed for that."""

PIECES = 200_000
"""Characters of an answer that a page gets first."""

if TYPE_CHECKING:
    from ...pipeline.event_reader import EventReader

type Piece = list[str]
"""["text" | "reasoning" | "call" | "arguments", the text]"""


@dataclass
class Growing:
    """A recording in progress."""

    row: Row
    stream: "EventReader | None" = None
    file: str = ""
    offset: int = 0
    received: int = 0  # bytes from the upstream
    changed: float = 0.0  # time of the last byte
    asked: float = 0.0
    gaps: deque[float] = field(default_factory=lambda: deque(maxlen=GAPS))  # seconds between arrivals
    pieces: list[Piece] = field(default_factory=list)
    doing: str = "waiting"
    checked: float = 0.0

    def feed(self, data: bytes) -> list[Piece]:
        """Returns what the client got as pieces; consecutive pieces of one kind are joined."""
        new: list[Piece] = []
        for event in self.stream.feed(data) if self.stream else ():
            match event:
                case TextDelta() | RefusalDelta():
                    self._add(new, "text", event.text)
                case ReasoningDelta():
                    self._add(new, "reasoning", event.text)
                case ToolCallStart():
                    new.append(["call", event.name])
                    self.doing = f"call {event.name}"
                case ToolCallDelta():
                    self._add(new, "arguments", event.arguments)
        for kind, text in new:
            if self.pieces and self.pieces[-1][0] == kind != "call":
                self.pieces[-1][1] = (self.pieces[-1][1] + text)[-PIECES:]
            elif len(self.pieces) < MAX_PIECES:
                self.pieces.append([kind, text])
        return new

    def _add(self, new: list[Piece], kind: str, text: str) -> None:
        if kind != "arguments":
            self.doing = kind
        if new and new[-1][0] == kind:
            new[-1][1] += text
        else:
            new.append([kind, text])

    @property
    def shown(self) -> dict[str, Any]:
        """The fields that a list shows in addition to its row."""
        tail = next((text for kind, text in reversed(self.pieces) if kind != "call"), "")
        usual = median(self.gaps) if len(self.gaps) >= ENOUGH_GAPS else 0.0
        return {"bytes": self.received, "changed_at": self.changed, "doing": self.doing, "tail": tail[-TAIL:], "usual_gap": usual}


class FolderWatcher:
    """Watches a folder. `publish` gets the changes; `has_pages` returns whether a page is open."""

    def __init__(
        self, root: Path, index: Index, publish: Callable[[dict[str, Any]], None], has_pages: Callable[[], bool] = lambda: True
    ) -> None:
        self.root, self.index, self.growing = root, index, dict[str, Growing]()
        self.port = 0  # the server's
        self._publish, self._has_pages = publish, has_pages
        self._pool = ThreadPoolExecutor(1, "toolmend-ui")
        self._known = index.modification_times()
        self._days: dict[str, set[str]] = {}
        self.first = True  # the first walk is not finished
        self._new = asyncio.Event()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        tasks = [asyncio.create_task(step()) for step in (self._walking, self._ticking, self._reading, self._marking)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            self._pool.shutdown(wait=False, cancel_futures=True)

    def follow(self, key: int) -> dict[str, Any] | None:
        """Returns everything of an answer in progress so far."""
        found = next((one for one in self.growing.values() if one.row["id"] == key), None)
        return {"from": 0, "pieces": found.pieces, **found.shown} if found else None

    def shown(self, row: Row) -> Row:
        """Returns a row as pages get it."""
        found = self.growing.get(row["path"])
        return row | found.shown if found else row

    async def _thread(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *args)

    # all that lies there

    async def _walking(self) -> None:
        walk = Walk(self.root)
        while True:
            found = await self._thread(walk)
            changed = [path for path, at in found if self._known.get(path) != at]
            seen = {path for path, _ in found}
            for at in range(0, len(changed), BATCH):
                rows = await self._thread(_read_rows, changed[at : at + BATCH])
                self._update([row for row in rows if row["path"] not in self.growing])
            absent = await self._thread(_missing, [path for path in self._known if path not in seen and path not in self.growing])
            if absent:
                keys = [row["id"] for path in absent if (row := self.index.by_path(path))]
                self.index.delete_paths(absent)
                for path in absent:
                    del self._known[path]
                self._publish({"gone": keys})
            if self.first:
                self.first = False
                self._publish({"ready": True})
            await asyncio.sleep(WALK)

    def _update(self, rows: list[Row]) -> None:
        """Puts new or changed rows into the index and to the pages, and starts to watch those in progress."""
        if not rows:
            return
        self.index.put(rows)
        shown_rows = []
        for one in rows:
            row = self.index.by_path(one["path"])
            if row is None:
                continue
            self._known[row["path"]] = 0.0 if row["live"] else row["changed"]
            if row["live"]:
                self.growing[row["path"]] = Growing(row, asked=row["at"], changed=row["at"])
            shown_rows.append(row)
        self._new.set()
        self._publish({"rows": [self.shown(row) for row in shown_rows]})

    # what is new, and what grows

    async def _ticking(self) -> None:
        while True:
            with suppress(OSError):
                if new := self._find_new():
                    self._update([row for path in new if (row := row_of(Path(path)))])
            self._check_growing()
            await asyncio.sleep(TICK if self._has_pages() else IDLE)

    def _find_new(self) -> list[str]:
        """Returns the new recordings of today, and of yesterday shortly after midnight."""
        now = datetime.now(UTC)
        new = []
        for day in {f"{now:%Y-%m-%d}", f"{now - timedelta(minutes=10):%Y-%m-%d}"}:
            folder = self.root / day
            try:
                names = set(os.listdir(folder))  # noqa: PTH208  ten times faster
            except OSError:
                continue
            before = self._days.get(day, set())
            for name in names - before:
                path = str(folder / name)
                if path in self._known or path in self.growing:
                    before.add(name)
                elif (folder / name / "meta.json").exists():
                    before.add(name)
                    new.append(path)
            self._days[day] = before & names
        return new

    def _check_growing(self) -> None:
        """Checks recordings in progress for new bytes and for their end."""
        rows: list[Row] = []
        live: dict[str, Any] = {}
        for path, one in list(self.growing.items()):
            try:
                changed = (Path(path) / "meta.json").stat().st_mtime
            except OSError:
                del self.growing[path]
                self.index.delete_paths([path])
                self._known.pop(path, None)
                self._publish({"gone": [one.row["id"]]})
                continue
            pieces = self._new_pieces(one)
            if changed != one.row["changed"] or self._is_dead(one):
                rows += self._reread(one)
            if pieces is not None:
                live[str(one.row["id"])] = {"pieces": pieces, **one.shown}
        if rows or live:
            self._publish({"rows": rows, "live": live})

    def _is_dead(self, one: Growing) -> bool:
        """Returns whether its proxy is gone, so that it will not change any more."""
        now = time.monotonic()
        if now - one.checked < 1:
            return False
        one.checked = now
        row = row_of(Path(one.row["path"]))
        return row is not None and not row["live"]

    def _reread(self, one: Growing) -> list[Row]:
        """Reads its row again, keeping what is known of its request."""
        row = row_of(Path(one.row["path"]))
        if row is None:
            return []
        kept = ("title", "session", "tip", "tools") if one.row["whole"] else ()
        row |= {name: one.row[name] for name in kept}
        row["whole"] = one.row["whole"] if row["live"] else 0
        self.index.put([row])
        row = self.index.by_path(row["path"]) or row
        one.row = row
        self._known[row["path"]] = 0.0 if row["live"] else row["changed"]
        shown = self.shown(row)
        if not row["live"]:
            del self.growing[row["path"]]
            shown = row
        self._new.set()
        return [shown]

    def _new_pieces(self, one: Growing) -> list[Piece] | None:
        """Returns the new pieces since the last check, or None."""
        folder = Path(one.row["path"])
        grown = False
        for name in ("upstream.sse", "upstream.json"):
            with suppress(OSError):
                stat = (folder / name).stat()
                if stat.st_size != one.received:
                    if one.received:
                        one.gaps.append(stat.st_mtime - one.changed)
                    one.received, one.changed, grown = stat.st_size, stat.st_mtime, True
        if not grown:
            return None
        if one.doing == "waiting":
            one.doing = "begins"
        file = folder / "client.sse"
        if one.stream is None and file.exists():
            one.stream = _stream(one.row["client_api"] or one.row["api"])
        if one.stream is None:
            return []
        try:
            with opened(file) as body:
                body.seek(one.offset)
                data = body.read(MAX_TAIL)
        except OSError:
            return []
        one.offset += len(data)
        return one.feed(data)

    # parts, one after the other

    async def _reading(self) -> None:
        while True:
            for one in list(self.growing.values()):
                if not one.row["whole"]:
                    whole = await self._thread(parts_of, one.row)
                    if self.growing.get(one.row["path"]) is one and not one.row["whole"]:
                        one.row = self.index.put_parts(one.row, whole)
                        self._publish({"rows": [self.shown(one.row)]})
            row = self.index.next_unread()
            if row is None:
                self._new.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._new.wait(), WALK)
                continue
            whole = await self._thread(parts_of, row)
            now = self.index.row(row["id"])
            if now and now["changed"] == row["changed"]:
                self._publish({"rows": [self.index.put_parts(now, whole)]})
            await asyncio.sleep(0)

    async def _marking(self) -> None:
        """Marks the folder as watched while the server runs."""
        try:
            while True:
                if self.root.is_dir():
                    with suppress(OSError):  # the folder may be read-only
                        ui_mark.mark(self.root, self.port)
                await asyncio.sleep(ui_mark.INTERVAL)
        finally:
            with suppress(OSError):
                ui_mark.unmark(self.root)


def _stream(api: str) -> "EventReader | None":
    from ...apis import APIS  # noqa: PLC0415  slow
    from ...pipeline.event_reader import EventReader  # noqa: PLC0415

    return EventReader(api) if api in APIS else None


def _read_rows(paths: list[str]) -> list[Row]:
    return [row for path in paths if (row := row_of(Path(path)))]


def _missing(paths: list[str]) -> list[str]:
    return [path for path in paths if not Path(path).exists()]


class Walk:
    """Finds all recordings below a folder, without following links.

    A folder that contains only recordings, and as many as before, is skipped for ROUNDS walks: its recordings are finished, or
    watched separately.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._full: dict[str, tuple[int, list[tuple[str, float]]]] = {}  # folders that contain only recordings
        self._round = 0

    def __call__(self) -> list[tuple[str, float]]:
        """Returns the paths, each with the modification time of meta.json."""
        if self._round % ROUNDS == 0:
            self._full.clear()
        self._round += 1
        found, waiting = list[tuple[str, float]](), [self._root]
        while waiting:
            found += self._within(waiting.pop(), waiting)
        return found

    def _within(self, folder: str, waiting: list[str]) -> list[tuple[str, float]]:
        found: list[tuple[str, float]] = []
        others: list[str] = []
        try:
            changed = os.stat(folder).st_mtime_ns  # noqa: PTH116  called ten thousand times
            if folder in self._full and self._full[folder][0] == changed:
                return self._full[folder][1]
            with os.scandir(folder) as files:
                entries = {file.name: file for file in files}
            if "meta.json" in entries:
                return [(folder, entries["meta.json"].stat(follow_symlinks=False).st_mtime)]
            for file in entries.values():
                if file.is_dir(follow_symlinks=False):
                    try:
                        found.append((file.path, os.lstat(f"{file.path}/meta.json").st_mtime))
                    except OSError:
                        others.append(file.path)
        except OSError:  # not readable, or gone meanwhile
            return found
        if found and not others:
            self._full[folder] = changed, found
        waiting += others
        return found
