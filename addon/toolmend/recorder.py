"""Writes every LLM flow to a folder of its own while it flows; DESIGN.md section 7 has the files.

    recorder = Recorder(root, log)
    recording = recorder.start(exchange)               when the response headers are in
    recording.received(chunk); recording.sent(mended)  for each chunk
    recording.finish("complete", rules=.., ids=..)     at the end, by whichever hook comes first
    recorder.close()                                   at shutdown

Rule of this file: traffic neither waits for the disk nor fails with it. The event loop only puts on a queue; ONE thread
per recorder does the rest. Whatever goes wrong there costs one recording, and is said once.

A folder says "partial" from its first moment until it is finished, so what a crash leaves is known for what it is.
Between two writes no file is open: streams take no descriptors from the proxy, and a folder that is gone is noticed.
"""

import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from errno import ENOBUFS, ENOTDIR
from functools import partial
from itertools import takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

from . import __version__
from .echo import EchoMask
from .redaction import Redactor, secrets_of

FORMAT = 1
"""The version of meta.json and of the files beside it."""

GATHER = 0.25
"""Seconds of events that are written in one go; a crash may cost a second of a stream."""

KNOWN = ("host", "method", "path", "status", "http_version", "api", "provider", "model", "stream")
"""What meta.json says of the exchange, beside headers and settings."""

MAX_WAITING = 64 * 1024 * 1024
"""Bytes that wait for a disk that hangs: a minute of twenty fast streams. Then recordings lose, not the proxy."""

OVERHEAD = 256
"""Bytes that a chunk takes in the queue beside its own."""

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has none


@dataclass(frozen=True, slots=True)
class Exchange:
    """A flow as it is known when the response headers are in. `path` has the query; bodies have no content coding."""

    flow_id: str
    provider: str
    api: str
    model: str
    method: str
    host: str
    path: str
    http_version: str
    status: int
    request_headers: tuple[tuple[str, str], ...]
    response_headers: tuple[tuple[str, str], ...]
    request: bytes
    upstream_request: bytes | None
    stream: bool
    settings: Mapping[str, str]


class Recorder:
    """Records below `root`, which is made when it is needed. `log` gets sentences, from the writer thread.

    All but the writer thread's own work is called by one thread, the event loop's.
    """

    def __init__(self, root: Path, log: Callable[[str], None]) -> None:
        self._root, self._log = root, log
        self._queue: SimpleQueue[tuple[_Folder, Callable[[], None], int] | None] = SimpleQueue()
        self._hurry = threading.Event()  # something is to be written at once
        self._thread: threading.Thread | None = None
        self._closed = False
        self._names: set[str] = set()  # of the folders begun in this second
        self._put = self._done = 0  # bytes ever, counted by the event loop and by the writer thread
        self._said: set[str] = set()

    def start(self, exchange: Exchange) -> "Recording":
        """The recording of a flow. Never raises; what goes wrong is logged."""
        now = datetime.now(UTC)
        name = f"{now:%H%M%S}-{_safe(exchange.provider, 40)}-{_safe(exchange.flow_id, 8)}"
        self._names = {other for other in self._names if other[:6] == name[:6]}
        if name in self._names:
            name += f"-{len(self._names)}"
        self._names.add(name)
        folder = _Folder(self._root / f"{now:%Y-%m-%d}" / name)
        size = len(exchange.request) + len(exchange.upstream_request or b"")
        self.put(folder, partial(folder.create, exchange, now), size)
        return Recording(self, folder)

    def close(self, timeout: float = 5.0) -> None:
        """Finishes what is open as "partial"; waits until all is written, but at most `timeout` seconds."""
        self._closed = True
        if self._thread:
            self._queue.put(None)
            self._hurry.set()
            self._thread.join(timeout)

    def put(self, folder: "_Folder", step: Callable[[], None], size: int = 0, *, last: bool = False) -> None:
        """Has the writer thread do a step, which keeps `size` bytes alive, for a folder. Never blocks or raises."""
        if self._closed or (folder.lost and not last):
            return
        if self._put - self._done + size > MAX_WAITING and not last:
            folder.lost, step, size = True, folder.lose, 0
        size += OVERHEAD
        self._put += size
        self._queue.put((folder, step, size))
        if last:
            self._hurry.set()
        if not self._thread:
            thread = threading.Thread(target=self._run, name="toolmend-recorder", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # no more threads; the next chunk tries again
                self._say("thread", f"recording waits: {error}")
            else:
                self._thread = thread

    def _run(self) -> None:
        unfinished: set[_Folder] = set()
        ending = False
        while not ending:
            steps = [self._queue.get()]
            self._hurry.wait(GATHER)
            self._hurry.clear()
            steps += [self._queue.get() for _ in range(self._queue.qsize())]
            touched: set[_Folder] = set()
            done = 0
            for step in steps:
                if step is None:
                    ending = True
                    continue
                folder, act, size = step
                self._attempt(folder, act)
                touched.add(folder)
                done += size
            for folder in touched:
                self._attempt(folder, folder.flush)
            self._done += done
            unfinished = {folder for folder in unfinished | touched if not folder.finished}
        for folder in unfinished:
            self._attempt(folder, folder.end)
            self._attempt(folder, partial(folder.seal, "partial", error="the proxy was shut down"))

    def _attempt(self, folder: "_Folder", act: Callable[[], None]) -> None:
        """Does one step; whatever it raises costs this recording only."""
        try:
            act()
        except Exception as error:
            # an error that is not the system's may quote what it failed on, so only its kind is told
            reason = (error.strerror or str(error)) if isinstance(error, OSError) else type(error).__name__
            folder.broken = folder.broken or f"recording incomplete: {reason}"
            self._say(reason, f"recording incomplete: {reason}: {folder.path}")
        else:
            if folder.finished and not folder.broken:
                self._said.clear()

    def _say(self, kind: str, message: str) -> None:
        """Logs each kind of failure once, until a recording succeeds."""
        if kind not in self._said:
            self._said.add(kind)
            with suppress(Exception):
                self._log(message)


class Recording:
    """One flow, as the hook sees it. Nothing here raises or waits; `folder` is where the files come to lie."""

    def __init__(self, recorder: Recorder, folder: "_Folder") -> None:
        self.folder = folder.path
        self._recorder, self._folder = recorder, folder
        self._finished = False

    def received(self, data: bytes) -> None:
        """A chunk as it arrived, content coding undone."""
        if data and not self._finished:
            self._recorder.put(self._folder, partial(self._folder.received, data, time.monotonic()), len(data))

    def sent(self, data: bytes) -> None:
        """What went to the client for it; b"" for nothing."""
        if data and not self._finished:
            self._recorder.put(self._folder, partial(self._folder.sent, data), len(data))

    def finish(
        self, state: str, *, rules: Sequence[str] = (), ids: Sequence[str] = (), error: str | None = None
    ) -> None:
        """The end: "complete", "upstream_error", "client_closed" or "partial". Only the first call counts."""
        if not self._finished:
            self._finished = True
            seal = partial(self._folder.seal, state, rules=tuple(rules), ids=tuple(ids), error=error)
            self._recorder.put(self._folder, self._folder.end, last=True)
            self._recorder.put(self._folder, seal, last=True)


class _Folder:
    """One recording, as the writer thread sees it: every method is a step of that thread, and may raise."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lost = False  # set by the event loop: the queue was full
        self.broken: str | None = None  # why nothing more is written
        self.finished = False
        self._meta: dict[str, Any] = {}
        self._redactor = Redactor(())
        self._bodies: dict[str, _Body] = {}
        self._first = 0.0  # when the first byte came
        self._offset = 0

    def create(self, exchange: Exchange, now: datetime) -> None:
        secrets = secrets_of(exchange)
        self._redactor = Redactor(secrets)
        _make_folder(self.path)
        self._meta = {
            "format": FORMAT,
            "state": "partial",
            "recorded_at": now.isoformat(timespec="milliseconds"),
            **{name: getattr(exchange, name) for name in KNOWN},
            "path": self._redactor.path(exchange.path),
            "request_headers": self._redactor.headers(exchange.request_headers),
            "response_headers": self._redactor.headers(exchange.response_headers),
            "toolmend": __version__,
            "settings": dict(exchange.settings),
            "rules": [],
            "ids": [],
            "error": None,
            "omitted": [],  # bodies that are no JSON: they cannot be redacted, and so are not kept
            "sha256": {},
        }
        self._write_meta()
        self._request("request.json", exchange.request)
        if exchange.upstream_request not in (None, exchange.request):
            self._request("upstream_request.json", exchange.upstream_request or b"")
        ending = "sse" if exchange.stream else "json"
        for side in ("upstream", "client"):
            self._bodies[side] = _Body(self.path / f"{side}.{ending}", secrets)
        if exchange.stream:
            self._bodies["index"] = _Body(self.path / "upstream.idx", ())

    def _request(self, name: str, body: bytes) -> None:
        redacted = self._redactor.body(body)
        if redacted is None:
            self._meta["omitted"].append(name)
        else:
            _create(self.path / name, redacted)

    def received(self, data: bytes, when: float) -> None:
        if self.broken:
            return
        self._first = self._first or when
        self._bodies["upstream"].add(data)
        if "index" in self._bodies:
            t_ms = (when - self._first) * 1000
            self._bodies["index"].add(f'{{"off":{self._offset},"len":{len(data)},"t_ms":{t_ms:.3f}}}\n'.encode())
        self._offset += len(data)

    def sent(self, data: bytes) -> None:
        if not self.broken:
            self._bodies["client"].add(data)

    def flush(self) -> None:
        if not self.broken and not self.finished:
            for body in self._bodies.values():
                body.flush()

    def lose(self) -> None:
        self.flush()
        raise OSError(ENOBUFS, "the disk did not keep up")

    def end(self) -> None:
        if not self.broken:
            for body in self._bodies.values():
                body.flush(last=True)
            self._meta["sha256"] = {path.name: _sha256(path) for path in sorted(self.path.glob("[!m]*"))}

    def seal(self, state: str, rules: Sequence[str] = (), ids: Sequence[str] = (), error: str | None = None) -> None:
        self.finished = True
        self._bodies.clear()
        if self._meta:
            self._meta["state"] = "partial" if self.broken else state
            self._meta["error"] = "; ".join(filter(None, (error, self.broken))) or None
            self._meta |= {"rules": rules, "ids": ids}
            self._write_meta(durable=True)

    def _write_meta(self, *, durable: bool = False) -> None:
        text = json.dumps(self._redactor.value(self._meta), ensure_ascii=False, indent=2)
        new = self.path / "meta.json.new"
        try:
            # half a surrogate pair has no UTF-8; what replaces it is its JSON escape
            _create(new, text.encode(errors="backslashreplace") + b"\n", durable=durable)
            new.replace(self.path / "meta.json")
        except OSError:
            new.unlink(missing_ok=True)
            raise


class _Body:
    """A file that grows: gathered, masked, appended."""

    def __init__(self, path: Path, secrets: Iterable[str]) -> None:
        self._path = path
        self._mask = EchoMask(secrets)
        self._parts: list[bytes] = []
        self._size = 0
        _create(path)

    def add(self, data: bytes) -> None:
        self._parts.append(data)

    def flush(self, *, last: bool = False) -> None:
        data = bytearray(self._mask.feed(b"".join(self._parts)))
        self._parts.clear()
        if last:
            data += self._mask.close()
        restored, self._mask.restored = self._mask.restored, []
        if not (data or restored or last):
            return
        with _open(self._path, "r+b") as file:
            for offset, piece in restored:
                if offset >= self._size:
                    data[offset - self._size : offset - self._size + len(piece)] = piece
                else:
                    file.seek(offset)
                    file.write(piece)
            file.seek(self._size)
            file.write(data)
            self._size += len(data)
            if last:
                file.flush()
                os.fsync(file.fileno())


def _safe(text: str, length: int) -> str:
    """A part of a file name: whatever the text, only a-z, 0-9, `.`, `_` and `-`, and no two dots."""
    return re.sub(r"[^a-z0-9._-]+|\.{2,}", "-", text.lower())[:length].strip(".-") or "unknown"


def _make_folder(path: Path) -> None:
    """Makes <root>/<day>/<name>, for the user alone. The user's root may be a link; what is below it may not."""
    day = path.parent
    for folder in reversed([*takewhile(lambda folder: not folder.exists(), (day, *day.parents))]):
        with suppress(FileExistsError):  # another process was faster
            _make(folder)
    if day.is_symlink():
        raise OSError(ENOTDIR, "a link stands in the place of a folder", str(day))
    _make(path)


def _make(folder: Path) -> None:
    folder.mkdir(0o700)
    folder.chmod(0o700)  # what the umask took


def _open(path: Path, mode: str) -> IO[bytes]:
    return open(path, mode, opener=lambda name, flags: os.open(name, flags | NO_FOLLOW, 0o600))


def _create(path: Path, data: bytes = b"", *, durable: bool = False) -> None:
    """A new file; nothing may stand in its place."""
    with _open(path, "xb") as file:
        path.chmod(0o600)
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
