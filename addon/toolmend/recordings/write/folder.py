"""One recording on the disk: its files, masked and redacted on the way there. architecture.md has what they hold.

    meta.json  request.json  [upstream_request.json  refused_request.json]  upstream.sse  upstream.idx  client.sse  [message.json]
    [client_messages.jsonl]: what a client said on a socket beside its request, each {"t_ms": since that, "message": …}

    create: "waiting"  →  answer: "partial"  →  seal: "complete", …          create: "waiting"  →  seal: "unanswered"

Rule of this file: every method is a step of the recorder's writer thread, and may raise; what it raises costs this recording.
But `settle` is for a thread that may wait for the disk.

A folder says "waiting" or "partial" from its first moment until it is finished, so what a crash leaves is known for what it is.
Between two writes no file is open: streams take no descriptors from the proxy, and a folder that is gone is noticed.
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
from ..read.message_json import reading
from . import safe_write
from .session_ids import kept, own_key

if TYPE_CHECKING:
    from ...core.exchange_record import Chunks, ExchangeRecord

FORMAT = 1
"""The version of meta.json and of the files beside it."""

KNOWN = ("host", "method", "path", "status", "http_version", "api", "provider", "model", "stream")
"""What meta.json says of every exchange, beside headers and settings."""

WHERE_SET = ("flow_id", "scheme", "transport", "client_api", "client_stream", "route", "notes", "refused", "learnt", "wait_ms")
"""What it says of those that have it."""

META = ("meta.json", "meta.json.new")
"""Where all of this is told, and the same while it is written."""

_ASKED, _REFUSED = "upstream_request.json", "refused_request.json"
"""The request as it was forwarded; and as it was at first, where the upstream refused it and it was changed."""

BLOCK = 256 * 1024
"""Bytes that are read at a time."""

MOST_WRITTEN = 1024 * 1024
"""Bytes that are written at once: while they are, there are several of each."""

MOST_OWED = 64 * 1024
"""Bytes that the client has not had yet, and that are taken for what it gets next: what is held is less, most often."""

_BLANK_LINE = re.compile(rb"\n\r?\n|\r\r")


class Words(TypedDict, total=False):
    """What is told of an end.

    `error`: what went wrong of ours; `end`: why it ended, in mitmproxy's words; `fault`: what the client of a route was told in
    place of an answer; `sought`: what that was read with, for its suspects; `unreadable`: that was told in place of the rest of a
    stream, see decode_failure_event.py. Of a request that was not answered, `waited_ms`: from its end until somebody gave up;
    `status`: that of what came instead, which is no LLM's.
    """

    error: str | None
    end: str | None
    sought: SuspectContext
    fault: str
    unreadable: bool
    waited_ms: float | None
    status: int


class Folder:
    """One recording. `pause` is called within what takes long in one step."""

    def __init__(self, path: Path, pause: Pause = no_pause) -> None:
        self.path, self._pause = path, pause
        self.lost = False  # set by the event loop: the queue was full
        self.broken: str | None = None  # why nothing more is written
        self.begun = False  # there is a meta.json
        self.finished = False
        self.answered = False  # set by the event loop: `answer` is to come
        self._began: datetime | None = None
        self._meta: dict[str, Any] = {}
        self._redactor, self._secrets = Redactor(()), tuple[str, ...]()
        self._client_api = ""
        self._bodies: dict[str, _Body] = {}
        self._sums: dict[str, str] = {}  # SHA-256 of the other files
        self._gathered = 0  # bytes that are not written yet
        self._first = 0.0  # when the first byte came
        self._offset = 0
        self._alike = True  # so far the client got what came, but for what it is
        self._owed = b""  # yet
        self._whole = False  # the client got the end of the message
        self._texts: list[tuple[str, str]] = []  # of each choice that the client got, and its reasoning

    def create(self, exchange: "ExchangeRecord", now: datetime) -> Iterator[None]:
        """All that there is before the answer, in steps; before its first chunk, if the exchange has a status."""
        secrets = secrets_of(exchange, self._pause)
        yield
        self._redactor, self._secrets = Redactor(secrets, self._pause), secrets
        yield
        try:
            _make_folder(self.path)
        except FileExistsError:  # another process has begun one of this name in this second
            self.path = self.path.with_name(f"{self.path.name}-{token_hex(4)}")
            _make_folder(self.path)
        yield
        self._began = now
        if exchange.status:
            yield from self.answer(exchange)
        else:
            yield from self._describe(exchange, "waiting", tell=not self.answered)  # or the next step does it
        self._request("request.json", exchange.request)
        if exchange.upstream_request not in (None, exchange.request):
            yield
            self._request(_ASKED, exchange.upstream_request or b"")

    def answer(self, exchange: "ExchangeRecord") -> Iterator[None]:
        """The response headers are in. In steps."""
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

    def _describe(self, exchange: "ExchangeRecord", state: str, *, tell: bool = True) -> Iterator[None]:
        """What is known so far, and written if `tell`. In steps."""
        assert self._began
        meta = {
            "format": FORMAT,
            "state": state,
            "pid": os.getpid(),  # who writes it, until it is finished: what a crash left waits for nobody
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
            "omitted": self._meta.get("omitted", []),  # files that are not kept: a body that is no JSON cannot be redacted
            "sha256": {},
        }
        yield
        self._meta = self._redactor.value(meta)
        yield
        if tell:
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
        """Lets go of each as it goes; in steps, where there is much to write."""
        if self.broken:
            return
        upstream, client, index = self._bodies["upstream"], self._bodies["client"], self._bodies.get("index")
        next_ = chunks.popleft
        while chunks:
            received, when, sent, size = next_(), next_(), next_(), next_()
            if self._alike and (sent is not received or self._owed):
                self._compare(received, sent)
            if received:
                self._first = self._first or when
                upstream.parts.append(received)
                for length in sizes_of(received):
                    if index:
                        row = (self._offset, length, (when - self._first) * 1000)
                        index.parts.append(b'{"off":%d,"len":%d,"t_ms":%.3f}\n' % row)
                    self._offset += length
            if sent and not self._alike:
                client.parts.append(sent)
            self._gathered += size
            if self._gathered > MOST_WRITTEN:
                yield from self.flush()

    def _compare(self, received: bytes, sent: bytes) -> None:
        """Whether the client goes on to get what came: an event that is cut goes out with the chunk that ends it."""
        came = self._owed + received
        if sent == came:
            self._owed = b""
        elif len(came) <= MOST_OWED and came.startswith(sent):
            self._owed = came[len(sent) :]
        else:
            self._part()

    def _part(self) -> None:
        """What goes out is no longer what came in."""
        if self._offset:  # something came in before
            _all(self._written())
        self._alike, self._owed = False, b""
        upstream, client = self._bodies["upstream"], self._bodies["client"]
        client.mask, client.sum = deepcopy(upstream.mask), upstream.sum and upstream.sum.copy()

    def said(self, data: bytes, t_ms: float) -> None:
        if self.broken:
            return
        if "said" not in self._bodies:
            self._bodies["said"] = _Body(self.path / "client_messages.jsonl", EchoMask(()))  # redacted line by line
        message = self._redactor.body(data) or b'"[omitted: no JSON]"'
        self._bodies["said"].parts.append(b'{"t_ms":%.3f,"message":%b}\n' % (t_ms, message))

    def flush(self, *, held: bool = False) -> Iterator[None]:
        """Writes what has come together, in steps; what the client has not had yet only if it is whole events, or `held`."""
        if not self.broken and not self.finished:
            if self._owed and (held or _BLANK_LINE.search(self._owed)):
                self._part()
            yield from self._written()

    def _written(self, *, last: bool = False) -> Iterator[None]:
        """In steps."""
        self._gathered = 0
        for side, body in self._bodies.items():
            if not (self._alike and side == "client"):  # it stands behind "upstream", whose bytes are its own
                masked = body.masked(len(self._owed) if side == "upstream" else 0, last=last)
                yield
            body.write(*masked)
            yield

    def lose(self) -> None:
        _all(self.flush(held=True))
        raise OSError(ENOBUFS, "the disk did not keep up")

    def cut(self) -> None:
        """What is here is kept, and it is not all."""
        _all(self.flush(held=True))
        self.broken = self.broken or "recording incomplete"

    def end(self) -> Iterator[None]:
        """All that is done at the end, in steps: for a long stream it takes seconds, in which others are written as well."""
        if self.broken:
            return
        if self._owed:
            self._part()
        yield from self._written(last=True)
        if "client" in self._bodies:  # it was answered
            yield from self._message(self._bodies["client"].path)
            if self._alike:
                self._bodies["client"].sum = self._bodies["upstream"].sum
        sums = self._sums | {body.path.name: body.sum.hexdigest() for body in self._bodies.values() if body.sum}
        for path in sorted(self.path.glob("*.*")):
            if path.name not in META:
                self._meta["sha256"][path.name] = sums.get(path.name) or (yield from _sha256(path))

    def _message(self, body: Path) -> Iterator[None]:
        """Writes message.json, of the bytes as they lie there."""
        try:
            with safe_read.opened(body) as file:
                message = yield from reading(self._client_api, file, stream=body.suffix == ".sse")
        except OSError:
            raise
        except Exception:  # an error in a codec of ours costs this file alone
            self._meta["omitted"].append("message.json")
        else:
            if message is not None:
                self._whole = message["ended"]
                self._texts = [(one["text"], one["reasoning"]) for one in (message, *message.get("choices", ()))]
                yield
                self._file("message.json", json_text.lines(self._redactor.value(message)))

    def seal(self, state: str, rules: Sequence[str] = (), ids: Sequence[str] = (), **words: Unpack[Words]) -> Iterator[None]:
        """The last words, in steps. They hold from `settle` on."""
        end, fault = words.get("end"), words.get("fault")
        self.finished = True
        self._bodies.clear()
        if state == "client_closed" and self._whole:  # nothing more came that it could have waited for
            state, end = "complete", None
        if self._meta:
            error = "; ".join(filter(None, (end, words.get("error"), self.broken))) or None
            told = {"error": error, "rules": rules, "ids": ids} | ({"fault": fault} if fault else {})
            self._meta.pop("pid", None)
            self._meta |= self._redactor.value(told) | {"state": "partial" if self.broken else state}
            self._meta |= {"unreadable": True} if words.get("unreadable") else {}
            if (sought := words.get("sought")) and (found := in_texts(self._texts, sought)):
                yield
                self._meta["suspects"] = self._redactor.value([one.to_json() for one in found])
            self._meta |= {name: words[name] for name in ("waited_ms", "status") if words.get(name) is not None}
            yield from self._write_meta()

    def settle(self) -> None:
        """Has the disk keep all of it, and then lets it say that it is finished."""
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

    `sum`: of all that was appended; None once some of it was written anew.
    """

    def __init__(self, path: Path, mask: EchoMask | FrameMask) -> None:
        self.path, self.mask = path, mask
        self.parts: list[bytes] = []  # what is to be written
        self.sum: hashlib._Hash | None = hashlib.sha256()
        self._size = -1  # there is none yet

    def masked(self, behind: int = 0, *, last: bool = False) -> tuple[bytes, list[tuple[int, bytes]]]:
        """What is to be appended, and (offset, bytes) of what was written as `*` and is innocent. `behind`: bytes that wait."""
        data = b"".join(self.parts) if len(self.parts) != 1 else self.parts[0]
        end = len(data) - behind
        self.parts = [data[end:]] if behind else []
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
            self._size, data = len(data), b""  # and some of it may be innocent already
        if data or restored:
            safe_write.append(self.path, self._size, data, restored)
            self._size += len(data)


def _all(steps: Iterator[None]) -> None:
    for _ in steps:
        pass


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


def _sha256(path: Path) -> Generator[None, None, str]:
    """In steps."""
    found = hashlib.sha256()
    with safe_read.opened(path) as file:
        while data := file.read(BLOCK):
            found.update(data)
            yield
    return found.hexdigest()
