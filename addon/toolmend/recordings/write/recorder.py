"""Writes every LLM exchange to a folder of its own while it flows; docs/dev/architecture.md lists the files.

    recorder = Recorder(root, log, keep)
    recording = recorder.start(exchange)               when the request has gone out, or when the response headers are in
    recording.answered(exchange)                       when they are, if it was started before
    recording.passed(chunk, mended)                    for each chunk
    recording.finish("complete", rules=.., ids=..)     at the end, by whichever hook comes first
    recorder.close()                                   at shutdown

1. The event loop only puts steps on a queue. It neither waits for the disk nor fails with it.
2. One writer thread takes all steps, and writes every FLUSH_INTERVAL seconds. At most MAX_WAITING bytes wait for it; beyond
   that, recordings lose data and the proxy does not.
3. A second thread waits for the disk (fsync) where a recording ends, so that a slow disk holds up no stream.
4. An error costs one recording, and each kind of error is logged once.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Unpack

from ...config.data_folder import on_one_line
from ...config.retention import Keep
from ...core.background_worker import BackgroundWorker
from ...core.error_text import reason
from ...core.exchange_record import Chunks, ExchangeRecord
from ...core.log_once import LogOnce
from .folder import EndDetails, Folder
from .pruning import Sweeper

if TYPE_CHECKING:
    from .spool import Spool

FLUSH_INTERVAL = 0.25
"""Seconds of events that are written together: what a crash can lose, and how late a page that watches sees them."""

FLUSH_BYTES = 1024 * 1024
"""Bytes that are written without waiting for more."""

BUSY = 3 * FLUSH_BYTES
"""Waiting bytes from which the event loop hands the interpreter to the writer thread at each chunk: streams without pauses
produce more than it writes."""

MAX_WAITING = 16 * 1024 * 1024
"""Bytes that may wait for a disk that hangs: a quarter of a minute of twenty fast streams."""

LARGE = MAX_WAITING // 2
"""The most bytes that one request counts as: a larger one is recorded while the queue is half empty, but never two at once."""

END_COST = 32 * 1024
"""Bytes that the end of a recording counts as until it is done: it takes as long as writing them."""

OVERHEAD = 256
"""Bytes that a step takes in the queue besides its data."""

END_SLICE = 0.01
"""Seconds of finishing recordings between two writes: finishing a long one takes seconds, in which others flow."""

YIELD_AFTER, YIELD = 0.0002, 1e-6
"""Seconds of work after which the writer thread lets the event loop run, and the sleep that does so: CPython takes the
interpreter from a thread only after 0.005 s, and does not hand it over at a sleep of 0."""

MAX_UNSETTLED = 1000
"""Recordings that wait for fsync; beyond that, the writer thread calls it itself."""

FIRST_WAIT = 0.1
"""Seconds that the end of the first exchange waits to learn whether a folder can be made; a disk that hangs costs this once."""

PATIENCE = 5.0
"""Seconds that the shutdown of the proxy waits for what is left to write."""

NO_LIMIT = Keep()

type Act = Callable[[], Iterator[None] | None]
"""Work of the writer thread, at once or in steps."""

type Chunk = tuple[bytes, float, bytes, int]
"""What arrived, when, what went to the client, and the bytes of both."""

type Step = tuple[Folder, Act | Chunk, int]
"""Work for a folder, and the bytes that it keeps alive."""

_OVER = object()


class Recorder:
    """Records below `root`, which is created when the first recording needs it.

    Everything but the writer thread's own methods is called by the event loop's thread.

    Args:
        root: the folder of all recordings.
        log: gets a sentence for each kind of failure, from another thread.
        keep: what stays of the finished recordings; may be set again at any time.
        lost: gets the reason for each recording that is incomplete, from another thread.
        spool: gets each finished folder, if `root` is the spool of a remote store.
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
        self._root, self._log_once, self._lost, self._spool = root, LogOnce(log), lost, spool
        self._sweeper = Sweeper(root, log)
        self._queue: SimpleQueue[Step | None] = SimpleQueue()
        self._put = self._done = 0  # bytes ever: the event loop counts one, the writer thread the other
        self._urgent = threading.Event()  # there is something to write at once
        self._ends: deque[tuple[Folder, Iterator[None], Act]] = deque()  # the rest of each end, and its last step
        self._settling: BackgroundWorker[Folder] | None = None  # the thread that waits for the disk
        self._thread: threading.Thread | None = None
        self._closed = False
        self._shares = True  # streams flow, so that the writer thread must not keep the interpreter
        self._worked = 0.0  # the writer thread's processor time when it last yielded, in seconds
        self._names: set[str] = set()  # of the folders begun in this second
        self._open = self._finished = 0  # recordings that flow; and that ever ended
        self.failing: bool | None = None  # whether the last folder could not be made; None before the first
        self.first_tried = threading.Event()  # `failing` is known, or was waited for

    def start(self, exchange: ExchangeRecord) -> "LiveRecording":
        """The recording of an exchange. Never raises; failures are logged."""
        now = datetime.now(UTC)
        name = f"{now:%H%M%S}-{_safe(exchange.provider, 40)}-{_safe(exchange.flow_id, 8)}"
        if self._spool:
            name += f"-{self._spool.worker}"
        self._names = {other for other in self._names if other[:6] == name[:6]}
        if name in self._names:
            name += f"-{len(self._names)}"
        self._names.add(name)
        folder = Folder(self._root / f"{now:%Y-%m-%d}" / name, self._yield)
        size = len(exchange.request) + len(exchange.upstream_request or b"")
        self._open += 1
        self.put(folder, partial(self._create, folder, exchange, now), size)
        if self.failing is None:  # the end of the first exchange has to know whether it is recorded
            self._urgent.set()
        return LiveRecording(self, folder, self._spool.place(folder.path) if self._spool else str(folder.path))

    def finish(self, folder: Folder, seal: Act) -> None:
        """Ends a recording, with `seal` as its last step."""
        self._open -= 1
        self._finished += 1
        self.put(folder, partial(self._end, folder, seal), last=True)
        self._put += END_COST
        if not self._open:
            self._urgent.set()

    def put(self, folder: Folder, act: Act | Chunk, size: int = 0, *, last: bool = False) -> None:
        """Queues work for a folder. Never blocks or raises.

        Args:
            folder: the recording.
            act: a chunk, or a step of the writer thread.
            size: the bytes that it keeps alive.
            last: the end of the recording, for which there is always room.
        """
        if self._closed or (folder.lost and not last):
            return
        waiting = self._put - self._done
        size = min(size, LARGE)
        if waiting + size > MAX_WAITING and not last:
            folder.lost, act, size = True, folder.lose, 0
        elif waiting > BUSY:
            time.sleep(YIELD)
        self._queue.put((folder, act, size + OVERHEAD))
        self._put += size + OVERHEAD
        if waiting > FLUSH_BYTES and not self._urgent.is_set():
            self._urgent.set()
        if not self._thread:
            thread = threading.Thread(target=self._run, name="toolmend-recorder", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads; the next chunk tries again
                self._log_once("thread", f"recording waits: {error}")
            else:
                self._thread = thread

    def close(self, timeout: float = PATIENCE) -> None:
        """Finishes open recordings as "partial" and waits `timeout` seconds for the writer thread; 0 where streams go on."""
        self._closed, self._shares = True, not timeout
        if self._thread:
            self._queue.put(None)
            self._urgent.set()
            self._thread.join(timeout)

    # the writer thread

    def _run(self) -> None:
        unfinished: set[Folder] = set()
        closing = False
        while not closing:
            steps = self._next_steps()
            closing = None in steps
            unfinished |= self._do(steps)
            self._end_some()
            unfinished = {folder for folder in unfinished if not folder.finished}
            if not closing:
                self._sweep({folder.path for folder in unfinished})
        while self._ends:
            self._end_step()
        for folder in unfinished:
            if not folder.finished:
                self._ends.append((folder, folder.end(), partial(folder.seal, "partial", error="the proxy was shut down")))
        while self._ends:
            self._end_step()
        if self._settling:
            self._settling.close(PATIENCE)

    def _next_steps(self) -> "deque[Step | None]":
        """What is queued, after waiting for more; at once while a recording is being finished."""
        steps: deque[Step | None] = deque()
        if not self._ends:
            steps.append(self._queue.get())
            self._urgent.wait(FLUSH_INTERVAL)
        self._urgent.clear()
        steps.extend(self._queue.get() for _ in range(self._queue.qsize()))
        return steps

    def _do(self, steps: "deque[Step | None]") -> set[Folder]:
        """Takes the steps, and writes whenever FLUSH_BYTES have come together. Returns the folders of the steps."""
        touched: set[Folder] = set()
        unwritten: set[Folder] = set()
        chunks: dict[Folder, Chunks] = {}
        done = 0
        while steps:
            if step := steps.popleft():
                folder, act, size = step
                if isinstance(act, tuple):
                    chunks.setdefault(folder, deque()).extend(act)
                else:
                    if folder in chunks:
                        self._attempt(folder, partial(folder.passed, chunks.pop(folder)))
                    self._attempt(folder, act)
                unwritten.add(folder)
                done += size
            if done > FLUSH_BYTES or not steps:
                for folder, some in chunks.items():
                    self._attempt(folder, partial(folder.passed, some))
                for folder in unwritten:
                    self._attempt(folder, folder.flush)
                touched |= unwritten
                unwritten.clear()
                chunks.clear()
                self._done += done
                done = 0
        return touched

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

    def _end(self, folder: Folder, seal: Act) -> None:
        self._ends.append((folder, folder.end(), seal))

    def _end_some(self) -> None:
        """Goes on with the recordings that end, one after the other, so that few files are open."""
        until = time.monotonic() + END_SLICE
        while self._ends and time.monotonic() < until:
            self._end_step()

    def _end_step(self) -> None:
        folder, rest, seal = self._ends[0]
        more = False

        def step() -> None:
            nonlocal more
            more = next(rest, _OVER) is None

        self._attempt(folder, step)
        if more:
            return
        self._attempt(folder, seal)
        self._settling = self._settling or BackgroundWorker("settling", self._settle, lambda _: None, MAX_UNSETTLED)
        if not self._settling.put(folder):  # no room, or no thread
            self._settle(folder)
        self._ends.popleft()
        self._done += END_COST

    def _settle(self, folder: Folder) -> None:
        """Waits until the disk has the recording. Called by the settling thread."""
        try:
            folder.settle()
        except Exception as error:
            self._failed(folder, error)
        else:
            if not folder.broken:
                self._log_once.kinds.clear()  # the next failure is news again
        if self._spool:
            self._spool.put(folder.path)

    def _sweep(self, open_: Collection[Path]) -> None:
        """Removes some of the recordings that `keep` does not keep."""
        until = time.monotonic() + END_SLICE

        def idle() -> bool:
            return self._queue.empty() or time.monotonic() < until

        for _ in self._sweeper.run(self.keep, open_, idle, self._done, self._finished):
            self._yield()

    def _attempt(self, folder: Folder, act: Act) -> None:
        """Does work for a folder; what it raises costs this recording alone."""
        try:
            for _ in act() or ():
                self._yield()
        except Exception as error:
            self._failed(folder, error)
        self._yield()

    def _failed(self, folder: Folder, error: Exception) -> None:
        text = reason(error)
        if not folder.broken:
            folder.broken = f"recording incomplete: {text}"
            self._lost(text)
        self._log_once(text, f"recording incomplete: {text}: {on_one_line(folder.path)}")

    def _yield(self) -> None:
        """Lets the event loop run, unless it produces more than is written, or waits for the end itself."""
        if self._shares and time.thread_time() - self._worked > YIELD_AFTER:
            if self._put - self._done <= BUSY:
                time.sleep(YIELD)
            self._worked = time.thread_time()


class LiveRecording:
    """The recording of one exchange, as the hooks see it. Nothing here raises or waits for the disk.

    `folder` is where the files are written.
    """

    def __init__(self, recorder: Recorder, folder: Folder, place: str) -> None:
        self.folder, self._place = folder.path, place
        self._recorder, self._folder = recorder, folder
        self._finished = False

    @property
    def place(self) -> str | None:
        """The path or URL of the recording. None where its folder, or the one of the recording before, could not be made.

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
        """Whether nothing more is recorded."""
        return self._finished

    def answered(self, exchange: ExchangeRecord) -> None:
        """The response headers are in; `exchange` is the one of the start, completed by them."""
        if not self._finished:
            self._folder.answered = True
            self._recorder.put(self._folder, partial(self._folder.answer, exchange))

    def passed(self, received: bytes, sent: bytes) -> None:
        """A chunk as it arrived, content coding undone, and what went to the client for it; b"" for nothing."""
        if (received or sent) and not self._finished:
            size = len(received) if sent is received else len(received) + len(sent)
            self._recorder.put(self._folder, (received, time.monotonic(), sent, size), size)

    def cut(self) -> None:
        """Bytes are missing from here on: the recording stays "partial", however the exchange ends."""
        self._recorder.put(self._folder, self._folder.cut)

    def client_message(self, data: bytes, t_ms: float) -> None:
        """A message of the client besides its request (WebSocket), `t_ms` milliseconds after the request."""
        if not self._finished:
            self._recorder.put(self._folder, partial(self._folder.client_message, data, t_ms), len(data))

    def finish(self, state: str, *, rules: Sequence[str] = (), ids: Sequence[str] = (), **words: Unpack[EndDetails]) -> None:
        """Ends the recording. Only the first call counts.

        Args:
            state: "complete", "upstream_error", "client_closed", "partial" or "unanswered".
            rules: the rules that fired.
            ids: the ids of the calls.
            words: see `EndDetails`.
        """
        if not self._finished:
            self._finished = True
            self._recorder.finish(self._folder, partial(self._folder.seal, state, tuple(rules), tuple(ids), **words))


def _safe(text: str, length: int) -> str:
    """A part of a file name: only a-z, 0-9, `.`, `_` and `-`, and no two dots in a row."""
    return re.sub(r"[^a-z0-9._-]+|\.{2,}", "-", text.lower())[:length].strip(".-") or "unknown"
