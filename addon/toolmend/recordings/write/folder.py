"""One recording on disk: its files, masked and redacted before they are written. architecture.md describes them.

    meta.json  request.json  [upstream_request.json  refused_request.json]  upstream.sse  upstream.idx  client.sse  [message.json]
    [client_messages.jsonl]: what a client sent on a WebSocket besides its request, each {"t_ms": since that, "message": …}

    create: "waiting"  →  answer: "partial"  →  seal: "complete", …          create: "waiting"  →  seal: "unanswered"

1. Every method is a step of the recorder's writer thread, and may raise; an exception costs this recording. Only `settle` is
   called by a thread that may wait for the disk.
2. A folder has the state "waiting" or "partial" from its first moment until it is finished, so what a crash leaves is
   recognisable.
3. Between two writes no file is open: streams take no descriptors from the proxy, and a removed folder is noticed.
"""

import hashlib
import os
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import datetime
from errno import ENOBUFS, ENOTDIR
from functools import partial
from itertools import takewhile
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ... import __version__
from ...core import json_text
from ...core.joined_chunks import sizes_of
from ...pipeline.suspects import SuspectContext, in_texts
from ...secrets.echo_frames import FrameMask, mask_of
from ...secrets.echo_mask import EchoMask
from ...secrets.key_patterns import Pause, no_pause
from ...secrets.redactor import Redactor
from ...secrets.request_secrets import secrets_of
from ..read import safe_read
from ..read.message_json import folding
from . import safe_write
from .session_ids import kept, own_key

if TYPE_CHECKING:
    from ...core.exchange_record import Chunks, ExchangeRecord

FORMAT = 1
"""The version of meta.json and the other files."""

KNOWN = ("host", "method", "path", "status", "http_version", "api", "provider", "model", "stream")
"""Fields of every meta.json, in addition to headers and settings."""

WHERE_SET = ("flow_id", "scheme", "transport", "client_api", "client_stream", "route", "notes", "refused", "learnt", "wait_ms")
"""Fields of meta.json that are only present if set."""

META = ("meta.json", "meta.json.new")
"""The file of these fields, and its name while it is written."""

_ASKED, _REFUSED = "upstream_request.json", "refused_request.json"
"""The forwarded request; and the first one, if the upstream refused it and it was changed."""

BLOCK = 256 * 1024
"""Bytes read at once."""

MOST_WRITTEN = 1024 * 1024
"""Bytes written at once: writing takes several times as much memory."""

MOST_DELAYED = 64 * 1024
"""Bytes not yet sent to the client that are assumed to be sent next: usually less is held."""

_BLANK_LINE = re.compile(rb"\n\r?\n|\r\r")


class EndDetails(TypedDict, total=False):
    """Details about the end of an exchange.

    Attributes:
        error: A fault of toolmend.
        end: Why it ended, in mitmproxy's words.
        sought: The context for suspects in which the response was decoded.
        fault: The error that the client of a route got instead of a response.
        unreadable: An error event replaced the rest of a stream: see decode_failure_event.py.
        waited_ms: Of an unanswered request: from its end until it was given up.
        status: Of an unanswered request: the status of the response that came instead, which is not an LLM's.
    """

    error: str | None
    end: str | None
    sought: SuspectContext
    fault: str
    unreadable: bool
    waited_ms: float | None
    status: int


class Folder:
    """One recording. `pause` is called during long steps."""

    def __init__(self, path: Path, pause: Pause = no_pause) -> None:
        self.path, self._pause = path, pause
        self.lost = False  # set by the event loop: the queue was full
        self.broken: str | None = None  # the reason why nothing more is written
        self.begun = False  # meta.json exists
        self.finished = False
        self.answered = False  # set by the event loop: `answer` follows
        self._began: datetime | None = None
        self._meta: dict[str, Any] = {}
        self._redactor, self._secrets = Redactor(()), tuple[str, ...]()
        self._client_api = ""
        self._bodies: dict[str, _Body] = {}
        self._sums: dict[str, str] = {}  # SHA-256 of the other files
        self._gathered = 0  # unwritten bytes
        self._first = 0.0  # time of the first byte
        self._offset = 0
        self._identical = True  # so far the client got the upstream's bytes, except for _delayed
        self._delayed = b""  # received and not yet sent
        self._whole = False  # the client got the end of the message
        self._texts: list[tuple[str, str]] = []  # text and reasoning of each choice that the client got

    def create(self, exchange: "ExchangeRecord", now: datetime) -> Iterator[None]:
        """Writes what is known before the response, in steps; if the exchange has a status, also what its headers add."""
        secrets = secrets_of(exchange, self._pause)
        yield
        self._redactor, self._secrets = Redactor(secrets, self._pause), secrets
        yield
        try:
            _make_folder(self.path)
        except FileExistsError:  # another process uses the name in this second
            self.path = self.path.with_name(f"{self.path.name}-{token_hex(4)}")
            _make_folder(self.path)
        yield
        self._began = now
        if exchange.status:
            yield from self.answer(exchange)
        else:
            yield from self._describe(exchange, "waiting", publish=not self.answered)  # otherwise the next step does
        self._request("request.json", exchange.request)
        if exchange.upstream_request not in (None, exchange.request):
            yield
            self._request(_ASKED, exchange.upstream_request or b"")

    def answer(self, exchange: "ExchangeRecord") -> Iterator[None]:
        """The response headers have arrived. In steps."""
        if self.broken:
            return
        yield from self._describe(exchange, "partial")
        mask = partial(mask_of, exchange.api, self._secrets)
        self._client_api = exchange.client_api or exchange.api
        streams = {"upstream": exchange.stream, "client": exchange.stream}
        if exchange.client_stream is not None:
            streams["client"] = exchange.client_stream
        for side, stream in streams.items():
            self._bodies[side] = _Body(self.path / f"{side}.{'sse' if stream else 'json'}", mask())
        if exchange.stream:
            self._bodies["index"] = _Body(self.path / "upstream.idx", EchoMask(()))
        if exchange.refused and exchange.upstream_request is not None and _ASKED in self._sums:
            yield
            (self.path / _ASKED).replace(self.path / _REFUSED)
            self._sums[_REFUSED] = self._sums.pop(_ASKED)
            self._request(_ASKED, exchange.upstream_request)

    def _describe(self, exchange: "ExchangeRecord", state: str, *, publish: bool = True) -> Iterator[None]:
        """Collects meta.json, and writes it if `publish`. In steps."""
        assert self._began
        meta = {
            "format": FORMAT,
            "state": state,
            "pid": os.getpid(),  # the writer, until it is finished: after a crash that process is gone
            "recorded_at": self._began.isoformat(timespec="milliseconds"),
            **{name: getattr(exchange, name) for name in KNOWN},
            **{name: value for name in WHERE_SET if (value := getattr(exchange, name)) not in ("", (), None)},
            "path": self._redactor.path(exchange.path),
            **({"session": kept(exchange.session, own_key())} if exchange.session else {}),
            "request_headers": self._redactor.headers(exchange.request_headers),
            "response_headers": self._redactor.headers(exchange.response_headers),
            "toolmend": __version__,
            "settings": dict(exchange.settings),
            "rules": [],
            "ids": [],
            "error": None,
            "omitted": self._meta.get("omitted", []),  # files not recorded: a body that is not JSON cannot be redacted
            "sha256": {},
        }
        yield
        self._meta = self._redactor.value(meta)
        yield
        if publish:
            yield from self._write_meta()
            self._publish_meta()
            yield

    def _request(self, name: str, body: bytes) -> None:
        redacted = self._redactor.body(body)
        if redacted is None:
            self._meta["omitted"].append(name)
        else:
            self._file(name, redacted)

    def _file(self, name: str, data: bytes) -> None:
        safe_write.create(self.path / name, data)
        self._sums[name] = hashlib.sha256(data).hexdigest()

    def passed(self, chunks: "Chunks") -> Iterator[None]:
        """Takes chunks and releases each; in steps if there is much to write."""
        if self.broken:
            return
        upstream, client, index = self._bodies["upstream"], self._bodies["client"], self._bodies.get("index")
        next_ = chunks.popleft
        while chunks:
            received, when, sent, size = next_(), next_(), next_(), next_()
            if self._identical and (sent is not received or self._delayed):
                self._compare(received, sent)
            if received:
                self._first = self._first or when
                upstream.parts.append(received)
                for length in sizes_of(received):
                    if index:
                        row = (self._offset, length, (when - self._first) * 1000)
                        index.parts.append(b'{"off":%d,"len":%d,"t_ms":%.3f}\n' % row)
                    self._offset += length
            if sent and not self._identical:
                client.parts.append(sent)
            self._gathered += size
            if self._gathered > MOST_WRITTEN:
                yield from self.flush()

    def _compare(self, received: bytes, sent: bytes) -> None:
        """Checks whether the client still gets the upstream's bytes: a cut event is sent with the chunk that ends it."""
        came = self._delayed + received
        if sent == came:
            self._delayed = b""
        elif len(came) <= MOST_DELAYED and came.startswith(sent):
            self._delayed = came[len(sent) :]
        else:
            self._diverge()

    def _diverge(self) -> None:
        """From here on the client's bytes differ from the upstream's."""
        if self._offset:  # bytes were received before
            _all(self._written())
        self._identical, self._delayed = False, b""
        upstream, client = self._bodies["upstream"], self._bodies["client"]
        client.mask, client.sum = deepcopy(upstream.mask), upstream.sum and upstream.sum.copy()

    def client_message(self, data: bytes, t_ms: float) -> None:
        if self.broken:
            return
        if "said" not in self._bodies:
            self._bodies["said"] = _Body(self.path / "client_messages.jsonl", EchoMask(()))  # redacted line by line
        message = self._redactor.body(data) or b'"[omitted: no JSON]"'
        self._bodies["said"].parts.append(b'{"t_ms":%.3f,"message":%b}\n' % (t_ms, message))

    def flush(self, *, held: bool = False) -> Iterator[None]:
        """Writes what was gathered, in steps; delayed bytes only if they contain a whole event, or with `held`."""
        if not self.broken and not self.finished:
            if self._delayed and (held or _BLANK_LINE.search(self._delayed)):
                self._diverge()
            yield from self._written()

    def _written(self, *, last: bool = False) -> Iterator[None]:
        """Writes all bodies. In steps."""
        self._gathered = 0
        for side, body in self._bodies.items():
            if not (self._identical and side == "client"):  # it follows "upstream" and has the same bytes
                masked = body.masked(len(self._delayed) if side == "upstream" else 0, last=last)
                yield
            body.write(*masked)
            yield

    def lose(self) -> None:
        _all(self.flush(held=True))
        raise OSError(ENOBUFS, "the disk did not keep up")

    def cut(self) -> None:
        """Keeps what is written and marks the recording as incomplete."""
        _all(self.flush(held=True))
        self.broken = self.broken or "recording incomplete"

    def end(self) -> Iterator[None]:
        """Finishes the files, in steps: a long stream takes seconds, in which other recordings are written as well."""
        if self.broken:
            return
        if self._delayed:
            self._diverge()
        yield from self._written(last=True)
        if "client" in self._bodies:  # it was answered
            yield from self._message(self._bodies["client"].path)
            if self._identical:
                self._bodies["client"].sum = self._bodies["upstream"].sum
        sums = self._sums | {body.path.name: body.sum.hexdigest() for body in self._bodies.values() if body.sum}
        for path in sorted(self.path.glob("*.*")):
            if path.name not in META:
                self._meta["sha256"][path.name] = sums.get(path.name) or (yield from _sha256(path))

    def _message(self, body: Path) -> Iterator[None]:
        """Writes message.json from the bytes on disk."""
        try:
            with safe_read.opened(body) as file:
                message = yield from folding(self._client_api, file, stream=body.suffix == ".sse")
        except OSError:
            raise
        except Exception:  # an error in a codec only costs this file
            self._meta["omitted"].append("message.json")
        else:
            if message is not None:
                self._whole = message["ended"]
                choices = (message, *message.get("choices", ()))
                self._texts = [(choice["text"], choice["reasoning"]) for choice in choices]
                yield
                self._file("message.json", json_text.lines(self._redactor.value(message)))

    def seal(self, state: str, rules: Sequence[str] = (), ids: Sequence[str] = (), **words: Unpack[EndDetails]) -> Iterator[None]:
        """Writes the final meta.json, in steps. It takes effect in `settle`."""
        end, fault = words.get("end"), words.get("fault")
        self.finished = True
        self._bodies.clear()
        if state == "client_closed" and self._whole:  # nothing was missing
            state, end = "complete", None
        if self._meta:
            error = "; ".join(filter(None, (end, words.get("error"), self.broken))) or None
            result = {"error": error, "rules": rules, "ids": ids} | ({"fault": fault} if fault else {})
            self._meta.pop("pid", None)
            self._meta |= self._redactor.value(result) | {"state": "partial" if self.broken else state}
            self._meta |= {"unreadable": True} if words.get("unreadable") else {}
            if (sought := words.get("sought")) and (found := in_texts(self._texts, sought)):
                yield
                self._meta["suspects"] = self._redactor.value([suspect.to_json() for suspect in found])
            self._meta |= {name: words[name] for name in ("waited_ms", "status") if words.get(name) is not None}
            yield from self._write_meta()

    def settle(self) -> None:
        """Waits until the disk has stored all files, and then publishes the final state."""
        new = self.path / META[1]
        if new.exists():
            for path in (new,) if self.broken else self.path.glob("*.*"):
                safe_write.keep(path)
            self._publish_meta()

    def _write_meta(self) -> Iterator[None]:
        new, text = self.path / META[1], json_text.lines(self._meta)
        yield
        try:
            safe_write.create(new, text)
        except OSError:
            new.unlink(missing_ok=True)
            raise

    def _publish_meta(self) -> None:
        (self.path / META[1]).replace(self.path / META[0])
        self.begun = True


class _Body:
    """A file that grows: gathered, masked, appended.

    `sum`: the checksum of the appended bytes; None once some were overwritten.
    """

    def __init__(self, path: Path, mask: EchoMask | FrameMask) -> None:
        self.path, self.mask = path, mask
        self.parts: list[bytes] = []  # to be written
        self.sum: hashlib._Hash | None = hashlib.sha256()
        self._size = -1  # the file does not exist yet

    def masked(self, delayed: int = 0, *, last: bool = False) -> tuple[bytes, list[tuple[int, bytes]]]:
        """Returns what to append, and (offset, bytes) of innocent bytes written as `*`. `delayed`: bytes at the end that wait."""
        data = b"".join(self.parts) if len(self.parts) != 1 else self.parts[0]
        end = len(data) - delayed
        self.parts = [data[end:]] if delayed else []
        data = self.mask.feed(data[:end])
        if last:
            data += self.mask.close()
        restored, self.mask.restored = self.mask.restored, []
        if restored:
            self.sum = None
        elif self.sum:
            self.sum.update(data)
        return data, restored

    def write(self, data: bytes, restored: list[tuple[int, bytes]]) -> None:
        if self._size < 0:
            safe_write.create(self.path, data)
            self._size, data = len(data), b""  # some of it may already be innocent
        if data or restored:
            safe_write.append(self.path, self._size, data, restored)
            self._size += len(data)


def _all(steps: Iterator[None]) -> None:
    for _ in steps:
        pass


def _make_folder(path: Path) -> None:
    """Creates <root>/<day>/<name> for the user alone. The root may be a link, but nothing below it."""
    day = path.parent
    for folder in reversed([*takewhile(lambda folder: not folder.exists(), (day, *day.parents))]):
        with suppress(FileExistsError):  # created by another process
            _make(folder)
    if day.is_symlink():
        raise OSError(ENOTDIR, "it is a link, not a folder", str(day))
    _make(path)


def _make(folder: Path) -> None:
    folder.mkdir(0o700)
    folder.chmod(0o700)  # the umask may have removed bits


def _sha256(path: Path) -> Generator[None, None, str]:
    """Computes a checksum in steps."""
    found = hashlib.sha256()
    with safe_read.opened(path) as file:
        while data := file.read(BLOCK):
            found.update(data)
            yield
    return found.hexdigest()
