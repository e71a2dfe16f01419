"""Writes every LLM flow to a folder of its own while it flows; architecture.md has the files.

    recorder = Recorder(root, log, keep)
    recording = recorder.start(exchange)               when the request has gone out; or when the response headers are in
    recording.answered(exchange)                       when they are, if it began before
    recording.passed(chunk, mended)                    for each chunk
    recording.finish("complete", rules=.., ids=..)     at the end, by whichever hook comes first
    recorder.close()                                   at shutdown

Rule of this file: traffic neither waits for the disk nor fails with it. The event loop only puts on a queue; ONE thread
per recorder does the rest, and another waits for the disk. Whatever goes wrong there costs one recording, and is said once.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Unpack

from ...config.data_folder import on_one_line
from ...config.retention import Keep
from ...core.background_worker import BackgroundWorker
from ...core.exchange_record import Chunks, ExchangeRecord
from ...core.fastclass import mutable
from .folder import Folder, Words
from .pruning import Sweeper
from .watched import is_watched

if TYPE_CHECKING:
    from .spool import Spool

GATHER, SHARE, AT_MOST = 0.25, 100, 4.0
"""Seconds of events that are written in one go; so many times as much as the processor had to do for the last ones, while others
flow; but at most: a crash may cost as much of forty streams. The work for a stream goes by how often it is written, hardly by how
much. An end waits as events do: the client's next request is on its heels, and its first byte would wait for what ends."""

GATHERED = 1024 * 1024
"""Bytes that are written without waiting for more."""

PRESSING = 2560 * 1024
"""Bytes that wait, as of which the writer thread rests no more: then events come tens of milliseconds late. Forty mended streams
have 2 MiB and more wait while they all begin and those before them end; on a machine that is slow just then, as much as this."""

LAGGING = 3 * 1024 * 1024
"""Bytes that wait, as of which the event loop lets the writer thread have the interpreter first."""

ROOM = 128 * 1024
"""Bytes that may wait beside for each stream that flows, of a CROWD: a fast one has as much in AT_MOST seconds."""

BIT = 4 * 1024
"""Bytes for which it has it once: a piece of an answer that comes fast has many events, and each takes its time."""

HOLD = 8
"""Where one ends, the event loop lets it have it for such a part of what it is behind by: clients that pause for nothing end more
than it keeps up with. Only there, not at each chunk: a disk that hangs would not get on by it."""

MAX_WAITING = 16 * 1024 * 1024
"""Bytes that wait for a disk that hangs: a quarter of a minute of twenty fast streams. Then recordings lose, not the proxy."""

LARGE = MAX_WAITING // 2
"""Bytes; a request that is larger counts as this much: it is kept where most of the room is free, whatever its size, and what
comes behind it has the rest. There is no room for a second one: what two could take has no bound."""

SLICE = 0.01
"""Seconds for what ends, between two writes, however much there is to write; or as long as the last one took.

As long again is for what goes: who is last in line still gets on while the event loop has the interpreter almost all of the time.
"""

ENDING = 32 * 1024
"""Bytes that one which ends counts as, of those behind a CROWD: hundreds of them wait for a thread that hangs, as bytes do."""

TURN, REST = 0.0002, 3
"""Seconds of work behind which the writer thread lets the event loop go ahead, and so many times as long, unless something is
to be written at once. Python takes it from a thread only after 0.005 s, and no short call of the system hands it over."""

A_MOMENT = 1e-6
"""Seconds in which another thread that wants the interpreter gets it; not 0, for which some Pythons wait for nobody."""

AT_ONCE = 8
"""Of those that end take turns, so that a long one keeps nobody waiting; the others have no file open yet."""

CROWD = 64
"""Of those that end, as of which it rests no longer than it works: where hundreds more wait, recordings are lost."""

UNSETTLED = 1000
"""Recordings that wait for the disk to keep them; beyond that, the writer thread waits itself."""

SETTLES, AT_LONGEST = 5, 0.05
"""So many times as long as the disk took to keep one it is left alone, but no longer than so many seconds: where forty end
together and forty others flow, what that takes of the processor makes events late."""

FIRST_WAIT = 0.1
"""Seconds that the end of the first exchange waits to learn whether a folder can be made; a disk that hangs costs this once."""

PATIENCE = 5.0
"""Seconds that the end of the proxy waits for what is to be written."""

NO_LIMIT = Keep()

type Act = Callable[[], Iterator[None] | None]
"""What is to be done, at once or in steps."""

type Step = tuple[Folder, Act, int]
"""What is to be done for a folder, and the bytes that it keeps alive."""

_OVER = object()

OVERHEAD = 256
"""Bytes that a chunk takes in the queue beside its own."""


@mutable
class Run:
    """Chunks of a recording in a row: the writer thread takes all that are there in one step. `waits`: that step is to come."""

    chunks: Chunks = field(default_factory=deque)
    waits: bool = False


class Recorder:
    """Records below `root`, which is made when it is needed.

    `log` gets sentences, and `lost` why a recording is incomplete, for each that is; both from another thread. `keep` says
    what stays of the finished ones; it may be set anew at any time. `spool` gets each that is finished, if `root` is one's. All
    but the writer thread's own work is called by one thread, the event loop's.
    """

    def __init__(
        self,
        root: Path,
        log: Callable[[str], None],
        keep: Keep = NO_LIMIT,
        lost: Callable[[str], None] = lambda _: None,
        spool: "Spool | None" = None,
    ) -> None:
        self.keep = keep
        self._root, self._log, self._lost, self._spool = root, log, lost, spool
        self._sweeper = Sweeper(root, log)
        self._queue: SimpleQueue[Step | None] = SimpleQueue()
        self._ends: deque[tuple[Folder, Iterator[None], Act]] = deque()  # what is left of each, and its last step
        self._settling: BackgroundWorker[Folder] | None = None  # waits for the disk, which may take seconds to keep a gigabyte
        self._hurry = threading.Event()  # something is to be written at once
        self._enough = PRESSING  # bytes that wait, as of which that is so
        self._thread: threading.Thread | None = None
        self._closed = False
        self._rests = True
        self._watched = False  # a UI shows the folder: a new request is written at once
        self._names: set[str] = set()  # of the folders begun in this second
        self._begun = self._finished = self._over = 0  # recordings ever; the last counted by the writer thread
        self._put = self._done = 0  # bytes ever, counted by the event loop and by the writer thread
        self._turn = 0.0  # what the processor had done for the writer thread when that gave way last, in seconds
        self._taken = 0  # bytes of chunks, by the writer thread, until they are written
        self._said: set[str] = set()
        self.failing: bool | None = None  # whether the last folder could not be made; None before the first
        self.first_tried = threading.Event()  # `failing` is known, or was waited for

    def start(self, exchange: ExchangeRecord) -> "LiveRecording":
        """The recording of a flow. Never raises; what goes wrong is logged."""
        now = datetime.now(UTC)
        name = f"{now:%H%M%S}-{_safe(exchange.provider, 40)}-{_safe(exchange.flow_id, 8)}"
        if self._spool:
            name += f"-{self._spool.worker}"
        self._names = {other for other in self._names if other[:6] == name[:6]}
        if name in self._names:
            name += f"-{len(self._names)}"
        self._names.add(name)
        folder = Folder(self._root / f"{now:%Y-%m-%d}" / name, self._give_way)
        size = len(exchange.request) + len(exchange.upstream_request or b"")
        self._begun += 1
        self.put(folder, partial(self._create, folder, exchange, now), size)
        if self.failing is None or self._watched:  # the end of the first exchange has to know whether it is recorded
            self._hurry.set()
        return LiveRecording(self, folder, self._spool.place(folder.path) if self._spool else str(folder.path))

    def _create(self, folder: Folder, exchange: ExchangeRecord, now: datetime) -> Iterator[None]:
        try:
            yield from folder.create(exchange, now)
        except Exception:
            self.failing = True
            raise
        else:
            self.failing = False
        finally:
            self.first_tried.set()

    def close(self, timeout: float = PATIENCE) -> None:
        """Finishes what is open as "partial"; waits until all is written, but at most `timeout` seconds. 0: while others flow."""
        self._closed, self._rests = True, not timeout
        if self._thread:
            self._queue.put(None)
            self._hurry.set()
            self._thread.join(timeout)

    def finish(self, folder: Folder, seal: Act) -> None:
        """Has the writer thread end it."""
        self._finished += 1
        self.put(folder, partial(self._end, folder, seal), last=True)

    def put(self, folder: Folder, step: Act, size: int = 0, *, last: bool = False) -> None:
        """Has the writer thread do a step, which keeps `size` bytes alive, for a folder. Never blocks or raises."""
        if self._closed or (folder.lost and not last):
            return
        waiting = self._waiting()
        behind = waiting + self._ending()
        size = min(size, LARGE)
        if behind + self._room() + size > MAX_WAITING and not last:
            folder.lost, step, size = True, folder.lose, 0
        elif behind > LAGGING:
            self._let_write((behind - LAGGING) // HOLD if last else size)
        size += OVERHEAD
        self._queue.put((folder, step, size))
        self._put += size  # what there was no memory for is not waited for
        if waiting > self._enough:
            self._hurry.set()
        if not self._thread:
            thread = threading.Thread(target=self._run, name="toolmend-recorder", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads; the next chunk tries again
                self._log_once("thread", f"recording waits: {error}")
            else:
                self._thread = thread

    def _waiting(self) -> int:
        """Bytes that wait, beyond the room of those that they are of."""
        return self._put - self._done - self._room()

    def _room(self) -> int:
        """Bytes that may wait for all of a crowd that flow, or whose end waits as well."""
        return ROOM * min(self._begun - self._over, CROWD)

    def _ending(self) -> int:
        """Bytes that those count as which end, beyond a CROWD."""
        return max(0, len(self._ends) - CROWD) * ENDING

    def _lags(self) -> bool:
        """Whether the writer thread is so far behind that the event loop lets it go first."""
        return self._waiting() + self._ending() > LAGGING

    def _let_write(self, size: int) -> None:
        """Lets the writer thread have the interpreter, until it has caught up, or once for each BIT of that size."""
        for _ in range(0, size + 1, BIT):
            time.sleep(A_MOMENT)  # a thread that is in a write does not want it
            if not self._lags():
                return

    def add(self, folder: Folder, run: Run, chunk: tuple[bytes, float, bytes, int]) -> bool:
        """Has the writer thread write one of Chunks with those of the run that wait; False where it needs a step of its own."""
        waiting = self._waiting()
        if waiting + self._ending() > LAGGING or folder.lost or self._closed:
            return False
        if waiting > self._enough and not self._hurry.is_set():
            self._hurry.set()
        run.chunks.extend(chunk)
        if not run.waits:  # the thread says that it does not wait, and looks for chunks then
            run.waits = True
            self.put(folder, partial(self._take, folder, run))
        self._put += chunk[-1] + OVERHEAD
        return True

    def _take(self, folder: Folder, run: Run) -> Iterator[None]:
        run.waits = False
        chunks = deque(run.chunks.popleft() for _ in range(len(run.chunks)))
        self._taken += sum(size + OVERHEAD for size in islice(chunks, 3, None, 4))
        return folder.passed(chunks)

    def _run(self) -> None:
        unfinished: set[Folder] = set()
        ending = False
        took = 0.0
        while not ending:
            steps = self._gathered(min(SHARE * took, AT_MOST))
            ending = None in steps
            began = time.thread_time()
            unfinished |= self._do(steps)
            took = time.thread_time() - began
            share = max(SLICE, took)
            self._end_some(share)
            unfinished = {folder for folder in unfinished if not folder.finished}
            if not ending:
                self._sweep({folder.path for folder in unfinished}, share)
        while self._ends:
            self._end_one()
        for folder in unfinished:
            if not folder.finished:
                self._ends.append((folder, folder.end(), partial(folder.seal, "partial", error="the proxy was shut down")))
        while self._ends:
            self._end_one()
        if self._settling:
            self._settling.close(PATIENCE)

    def _sweep(self, mine: Collection[Path], share: float) -> None:
        until = time.monotonic() + share

        def idle() -> bool:
            return self._queue.empty() or time.monotonic() < until

        for _ in self._sweeper.run(self.keep, mine, idle, self._done, self._over):
            self._give_way()

    def _gathered(self, pause: float) -> "deque[Step | None]":
        """What is to be done now, and came in so many seconds. Waits no longer if much comes meanwhile, or nothing flows."""
        steps: deque[Step | None] = deque()
        if not self._ends:
            steps.append(self._queue.get())
            self._enough = GATHERED
            self._watched = is_watched(self._root)
            while not self._hurry.wait(GATHER) and (pause := pause - GATHER) > 0 and self._begun > self._finished:
                if self._watched:
                    break
            self._enough = PRESSING
        self._hurry.clear()
        steps.extend(self._queue.get() for _ in range(self._queue.qsize()))
        return steps

    def _do(self, steps: "deque[Step | None]") -> set[Folder]:
        """Does it, and writes whenever enough has come together. The folders that it was for."""
        touched: set[Folder] = set()
        unwritten: set[Folder] = set()
        done = 0
        while steps:
            if step := steps.popleft():
                folder, act, size = step
                self._attempt(folder, act)
                unwritten.add(folder)
                done += size + self._taken
                self._taken = 0
            if done > GATHERED or not steps:
                for folder in unwritten:
                    self._attempt(folder, folder.flush)
                touched |= unwritten
                unwritten.clear()
                self._done += done
                done = 0
        return touched

    def _end(self, folder: Folder, seal: Act) -> None:
        """A step: it is over, as soon as all has been done that takes long."""
        self._over += 1
        self._ends.append((folder, folder.end(), seal))

    def _end_some(self, share: float) -> None:
        """Goes on with what ends, in turn; for no more than `share` seconds if there is something to write."""
        began = time.monotonic()
        while self._ends and time.monotonic() - began < (share if self._hurry.is_set() else GATHER):
            self._end_one()

    def _end_one(self) -> None:
        folder, rest, seal = self._ends[0]
        more = False

        def go_on() -> None:
            nonlocal more
            more = next(rest, _OVER) is None

        self._attempt(folder, go_on)
        if not more:
            self._attempt(folder, seal)
            self._settling = self._settling or BackgroundWorker("settling", self._settle_in_turn, lambda _: None, UNSETTLED)
            if not self._settling.put(folder):  # no room, or no thread
                self._settle(folder)
        self._ends.popleft()
        if more:
            self._ends.insert(AT_ONCE - 1, (folder, rest, seal))

    def _attempt(self, folder: Folder, act: Act) -> None:
        """Does it; whatever it raises costs this recording only."""
        try:
            for _ in act() or ():
                self._give_way()
        except Exception as error:
            self._failed(folder, error)
        self._give_way()

    def _settle_in_turn(self, folder: Folder) -> None:
        began = time.monotonic()
        self._settle(folder)
        if self._rests and self._settling and self._settling.waiting < CROWD:
            time.sleep(min(SETTLES * (time.monotonic() - began), AT_LONGEST))

    def _settle(self, folder: Folder) -> None:
        try:
            folder.settle()
        except Exception as error:
            self._failed(folder, error)
        else:
            if not folder.broken:
                self._said.clear()
        if self._spool:
            self._spool.put(folder.path)

    def _failed(self, folder: Folder, error: Exception) -> None:
        # an error that is not the system's may quote what it failed on, so only its kind is told
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else type(error).__name__
        if not folder.broken:
            folder.broken = f"recording incomplete: {reason}"
            self._lost(reason)
        self._log_once(reason, f"recording incomplete: {reason}: {on_one_line(folder.path)}")

    def _give_way(self) -> None:
        worked = time.thread_time() - self._turn  # a disk that is slow keeps nobody waiting
        if worked > TURN and self._rests:
            rest = REST if len(self._ends) < CROWD else 1
            if self._lags() or self._hurry.wait(rest * worked):
                time.sleep(A_MOMENT)
            self._turn = time.thread_time()

    def _log_once(self, kind: str, message: str) -> None:
        """Logs each kind of failure once, until a recording succeeds."""
        if kind not in self._said:
            self._said.add(kind)
            with suppress(Exception):
                self._log(message)


class LiveRecording:
    """One flow, as the hook sees it. Nothing here raises or waits.

    `folder` is where the files are written.
    """

    def __init__(self, recorder: Recorder, folder: Folder, place: str) -> None:
        self.folder, self._place = folder.path, place
        self._recorder, self._folder = recorder, folder
        self._run = Run()
        self._finished = False

    @property
    def place(self) -> str | None:
        """Where the files come to lie: a path, or a URL. None where the folder, or the last one before, could not be made.

        The very first exchange waits up to FIRST_WAIT seconds for its folder, else a full disk would be noticed too late.
        """
        if self._folder.begun:
            return self._place
        self._recorder.first_tried.wait(FIRST_WAIT)
        self._recorder.first_tried.set()  # a disk that hangs is waited for once
        failed = self._folder.broken or self._folder.lost or self._recorder.failing is not False
        return None if failed else self._place

    @property
    def finished(self) -> bool:
        """Whether nothing more is taken."""
        return self._finished

    def answered(self, exchange: ExchangeRecord) -> None:
        """The response headers are in; `exchange` is the one that it was started with, and what they say."""
        if not self._finished:
            self._folder.answered = True
            self._put(partial(self._folder.answer, exchange))

    def passed(self, received: bytes, sent: bytes) -> None:
        """A chunk as it arrived, content coding undone, and what went to the client for it; b"" for nothing."""
        if (received or sent) and not self._finished:
            size = len(received) if sent is received else len(received) + len(sent)
            chunk = received, time.monotonic(), sent, size
            if not self._recorder.add(self._folder, self._run, chunk):
                self._put(partial(self._folder.passed, deque(chunk)), size)

    def cut(self) -> None:
        """Bytes are missing from here on, so it stays "partial", however it ends."""
        self._put(self._folder.cut)

    def said(self, data: bytes, t_ms: float) -> None:
        """A message of the client's beside its request, milliseconds after that: a socket has them."""
        if not self._finished:
            self._put(partial(self._folder.said, data, t_ms), len(data))

    def finish(self, state: str, *, rules: Sequence[str] = (), ids: Sequence[str] = (), **words: Unpack[Words]) -> None:
        """The end: "complete", "upstream_error", "client_closed", "partial" or "unanswered". Only the first call counts."""
        if not self._finished:
            self._finished = True
            seal = partial(self._folder.seal, state, tuple(rules), tuple(ids), **words)
            self._recorder.finish(self._folder, seal)

    def _put(self, step: Act, size: int = 0) -> None:
        self._run = Run()  # what comes behind it is no more of the run before it
        self._recorder.put(self._folder, step, size)


def _safe(text: str, length: int) -> str:
    """A part of a file name: whatever the text, only a-z, 0-9, `.`, `_` and `-`, and no two dots."""
    return re.sub(r"[^a-z0-9._-]+|\.{2,}", "-", text.lower())[:length].strip(".-") or "unknown"
