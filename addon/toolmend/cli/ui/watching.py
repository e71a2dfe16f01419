"""The folder, looked at again and again: what is new, what grows, and what an answer says while it is written.

    watcher = Watcher(root, index, tell)
    await watcher.run()                    until it is cancelled; tell({"rows": […], "gone": […], "live": {…}}) at each change
    watcher.follow(7)                      what a page gets first of an answer that is being written: all so far

Nothing is written but the mark of ui_mark.py. What takes long is done in a thread, in pieces.
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
from .reading import Row, row_of, whole_of

TICK = 0.1
"""Seconds between two looks at what is new or grows: a folder of 360 takes 0.2 ms."""

IDLE = 0.4
"""The same while no page is open, or nothing has come for a while."""

WALK = 30.0
"""Seconds between two looks at all."""

ROUNDS = 10
"""Such looks, of which one goes into every folder."""

BATCH = 100
"""Recordings that are read in one go in the thread."""

MAX_TAIL = 4 * 1024 * 1024
"""Bytes of an answer that are read at once while it is written."""

KEPT = 160
"""Characters of the last words that a list shows."""

MAX_PIECES = 5000
"""Pieces that are kept of an answer that is being written; more of them than any answer has calls and thoughts in turn."""

GAPS, ENOUGH_GAPS = 64, 5
"""Latest arrivals whose median gap says what silence is usual for an answer, and how many of them that takes."""

PIECES = 200_000
"""Characters of an answer that a page gets when it begins to look."""

if TYPE_CHECKING:
    from ...pipeline.event_reader import EventReader

type Piece = list[str]
"""["text" | "reasoning" | "call" | "arguments", what was said]"""


@dataclass
class Growing:
    """A recording that is being written."""

    row: Row
    stream: "EventReader | None" = None
    file: str = ""
    offset: int = 0
    came: int = 0  # bytes of the upstream
    changed: float = 0.0  # the time of the last byte
    asked: float = 0.0
    gaps: deque[float] = field(default_factory=lambda: deque(maxlen=GAPS))  # seconds between arrivals
    pieces: list[Piece] = field(default_factory=list)
    doing: str = "waiting"
    checked: float = 0.0

    def feed(self, data: bytes) -> list[Piece]:
        """What the client got, as pieces; alike ones in a row are one."""
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
        """What a list shows of it, beside its row."""
        tail = next((text for kind, text in reversed(self.pieces) if kind != "call"), "")
        usual = median(self.gaps) if len(self.gaps) >= ENOUGH_GAPS else 0.0
        return {"bytes": self.came, "changed_at": self.changed, "doing": self.doing, "tail": tail[-KEPT:], "usual_gap": usual}


class Watcher:
    """`tell` gets what has changed; `looked_at` says whether a page is open."""

    def __init__(
        self, root: Path, index: Index, tell: Callable[[dict[str, Any]], None], looked_at: Callable[[], bool] = lambda: True
    ) -> None:
        self.root, self.index, self.growing = root, index, dict[str, Growing]()
        self.port = 0  # of the server
        self._tell, self._looked_at = tell, looked_at
        self._pool = ThreadPoolExecutor(1, "toolmend-ui")
        self._known = index.known()
        self._days: dict[str, set[str]] = {}
        self._busy = 0.0  # when something came last
        self.first = True  # the first look at all is not over
        self._new = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        tasks = [asyncio.create_task(step()) for step in (self._walking, self._ticking, self._reading, self._marking)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            self._pool.shutdown(wait=False, cancel_futures=True)

    def follow(self, key: int) -> dict[str, Any] | None:
        """All that an answer has said so far."""
        found = next((one for one in self.growing.values() if one.row["id"] == key), None)
        return {"from": 0, "pieces": found.pieces, **found.shown} if found else None

    def shown(self, row: Row) -> Row:
        """A row as pages have it."""
        found = self.growing.get(row["path"])
        return row | found.shown if found else row

    async def _thread(self, what: Callable[..., Any], *given: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, what, *given)

    # all that lies there

    async def _walking(self) -> None:
        walk = Walk(self.root)
        while True:
            found = await self._thread(walk)
            changed = [path for path, at in found if self._known.get(path) != at]
            seen = {path for path, _ in found}
            for at in range(0, len(changed), BATCH):
                rows = await self._thread(_rows, changed[at : at + BATCH])
                self._put([row for row in rows if row["path"] not in self.growing])
            gone = await self._thread(_gone, [path for path in self._known if path not in seen and path not in self.growing])
            if gone:
                keys = [row["id"] for path in gone if (row := self.index.by_path(path))]
                self.index.gone(gone)
                for path in gone:
                    del self._known[path]
                self._tell({"gone": keys})
            if self.first:
                self.first = False
                self._tell({"ready": True})
            await asyncio.sleep(WALK)

    def _put(self, rows: list[Row]) -> None:
        """New or changed ones: into the index, to the pages, and those that are being written are watched from now on."""
        if not rows:
            return
        self.index.put(rows)
        told = []
        for one in rows:
            row = self.index.by_path(one["path"])
            if row is None:
                continue
            self._known[row["path"]] = 0.0 if row["live"] else row["changed"]
            if row["live"]:
                self.growing[row["path"]] = Growing(row, asked=row["at"], changed=row["at"])
            told.append(row)
        self._new.set()
        self._tell({"rows": [self.shown(row) for row in told]})

    # what is new, and what grows

    async def _ticking(self) -> None:
        while True:
            with suppress(OSError):
                if new := self._look():
                    self._put([row for path in new if (row := row_of(Path(path)))])
                    self._busy = time.monotonic()
            self._grow()
            near = self._looked_at() and (self.growing or time.monotonic() - self._busy < WALK)
            await asyncio.sleep(TICK if near or self._looked_at() else IDLE)

    def _look(self) -> list[str]:
        """Recordings of today, or of yesterday where it has just ended, that were not there before."""
        now = datetime.now(UTC)
        new = []
        for day in {f"{now:%Y-%m-%d}", f"{now - timedelta(minutes=10):%Y-%m-%d}"}:
            folder = self.root / day
            try:
                names = set(os.listdir(folder))  # noqa: PTH208  ten times as fast
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

    def _grow(self) -> None:
        """What is being written: its bytes, what they say, and its end."""
        rows: list[Row] = []
        live: dict[str, Any] = {}
        for path, one in list(self.growing.items()):
            try:
                changed = (Path(path) / "meta.json").stat().st_mtime
            except OSError:
                del self.growing[path]
                self.index.gone([path])
                self._known.pop(path, None)
                self._tell({"gone": [one.row["id"]]})
                continue
            pieces = self._grown(one)
            if changed != one.row["changed"] or self._is_dead(one):
                rows += self._renewed(one)
            if pieces is not None:
                live[str(one.row["id"])] = {"pieces": pieces, **one.shown}
        if rows or live:
            self._busy = time.monotonic()
            self._tell({"rows": rows, "live": live})

    def _is_dead(self, one: Growing) -> bool:
        """Whether its proxy is gone: it will stay as it is."""
        now = time.monotonic()
        if now - one.checked < 1:
            return False
        one.checked = now
        row = row_of(Path(one.row["path"]))
        return row is not None and not row["live"]

    def _renewed(self, one: Growing) -> list[Row]:
        """Its row, as it is now; what is known of its request stays."""
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

    def _grown(self, one: Growing) -> list[Piece] | None:
        """What came since the last look; None: nothing."""
        folder = Path(one.row["path"])
        grown = False
        for name in ("upstream.sse", "upstream.json"):
            with suppress(OSError):
                stat = (folder / name).stat()
                if stat.st_size != one.came:
                    if one.came:
                        one.gaps.append(stat.st_mtime - one.changed)
                    one.came, one.changed, grown = stat.st_size, stat.st_mtime, True
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
                    whole = await self._thread(whole_of, one.row)
                    if self.growing.get(one.row["path"]) is one and not one.row["whole"]:
                        one.row = self.index.put_whole(one.row, whole)
                        self._tell({"rows": [self.shown(one.row)]})
            row = self.index.unread()
            if row is None:
                self._new.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._new.wait(), WALK)
                continue
            whole = await self._thread(whole_of, row)
            now = self.index.row(row["id"])
            if now and now["changed"] == row["changed"]:
                self._tell({"rows": [self.index.put_whole(now, whole)]})
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


def _rows(paths: list[str]) -> list[Row]:
    return [row for path in paths if (row := row_of(Path(path)))]


def _gone(paths: list[str]) -> list[str]:
    return [path for path in paths if not Path(path).exists()]


class Walk:
    """Looks for all recordings below a folder. No link is followed.

    A folder of recordings that has none more and none less is not looked into again for ROUNDS times: what is in it is finished,
    or watched by itself.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._full: dict[str, tuple[int, list[tuple[str, float]]]] = {}  # folders that hold nothing but recordings
        self._round = 0

    def __call__(self) -> list[tuple[str, float]]:
        """Their paths, and when each meta.json was changed."""
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
            changed = os.stat(folder).st_mtime_ns  # noqa: PTH116  ten thousand of them
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
        except OSError:  # it may not be read, or is gone meanwhile
            return found
        if found and not others:
            self._full[folder] = changed, found
        waiting += others
        return found
