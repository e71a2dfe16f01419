"""Plays recordings to a client: the bytes that an upstream, or toolmend, sent, in the recorded chunks and at the recorded pace.

    shelf(entries, "upstream")                    the recordings that can be played, and why others cannot
    script(recording, "upstream", speed=2.0)      a response for the local server: status, headers, chunks, waits, and the end
    Player(shelf, "upstream")(request)            a whole local provider, for `toolmend serve` and for tests

One side of a recording is played: the "upstream"'s bytes, for clients of the upstream's API, which a proxy with toolmend mends
again; or the "client"'s bytes, already mended (and translated, if they were), for clients of the client's API.

It returns scripts and words; it neither listens nor logs. What cannot be played is reported, never guessed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Literal

from ...apis import decoder_of
from ...apis.shared.errors import Fault, is_error, translate_error, write_error
from ...config.data_folder import on_one_line
from ...core import content_encoding, json_text
from ...core.exchange_record import REPLAYED_FROM
from ...core.fastclass import replace
from ...core.ids import new_call_id
from ...providers.hosts import api_at, is_public_name
from ...providers.routes import Origin, Route
from ...providers.web_origin import is_of, page_of
from ...requests.local_responses import LocalRequest, answer
from ...secrets.redactor import REDACTED
from ..read.library import Entry
from ..read.replay import Clock, Recording, RecordingError, load, pipeline_of
from ..read.safe_read import read
from .request_fingerprint import Ask, ask_of
from .request_matching import Miss, Shelf, Take
from .server import Request, Script

type Side = Literal["upstream", "client"]

PLAYED_HEADERS = frozenset(
    (
        *("anthropic-version", "cache-control", "openai-processing-ms", "openai-version", "request-id"),
        *("retry-after", "retry-after-ms", "x-accel-buffering", "x-request-id", "x-should-retry"),
    )
)
"""Response headers that are played, next to the content type. Others belong to another connection or day, or are redacted."""

_HARMLESS = re.compile(r"[ -~]{0,1000}")
"""A header that is safe to write: a line end would start another header or response."""

JSON, EVENTS = "application/json", "text/event-stream; charset=utf-8"
LIMIT = 64 * 1024 * 1024
"""Bytes of a request that are decoded, as in the addon."""


def shelf(entries: Iterable[Entry], side: Side, *, order: bool = False) -> tuple[Shelf, list[str]]:
    """Returns the recordings that can be played, in order of recording, and for each other one the reason."""
    takes, left_out = [], []
    every = sorted(entries, key=lambda entry: (entry.recorded_at, entry.name))
    names = {entry.name for entry in every}
    for entry in every:
        try:
            if entry.settings.get(REPLAYED_FROM) in names:
                raise RecordingError(f"{on_one_line(entry.folder)}: it is a replay of {entry.settings[REPLAYED_FROM]}")  # noqa: TRY301
            takes.append(take(entry, side))
        except RecordingError as error:
            left_out.append(str(error))
    return Shelf(takes, order=order), left_out


def take(entry: Entry, side: Side) -> Take:
    """Returns a playable recording. Raises RecordingError."""
    if entry.state == "unreadable":
        raise RecordingError(f"{on_one_line(entry.folder)}: {entry.error}")
    if not entry.api or not 200 <= entry.status < 600:
        raise RecordingError(f"{on_one_line(entry.folder)}: it has no response")
    api = entry.client_api if side == "client" else entry.api
    try:
        path = str(json_text.loads(read(entry.folder / "meta.json"))["path"])
        files = [("request.json", entry.client_api), ("upstream_request.json", entry.api)]
        bodies = [read(entry.folder / name) for name, its_api in files if its_api == api and (entry.folder / name).exists()]
        requests = [value for body in bodies if isinstance(value := json_text.loads(body), dict)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordingError(f"{on_one_line(entry.folder)}: {error}") from None
    asks = tuple(ask_of(api, path, request) for request in requests) or (Ask(api, entry.model, entry.stream),)
    return Take(entry.folder, asks, entry.api, entry.client_api, entry.state in ("complete", "upstream_error"))


def script(recording: Recording, side: Side, *, speed: float = 1.0, http2: bool = False) -> Script:
    """Returns the response that a server sends for a recording; `speed` 2.0 is twice as fast, 0 without waits."""
    meta = recording.meta
    status, headers = int(meta["status"]), [(str(name).lower(), str(value)) for name, value in meta.get("response_headers", ())]
    sse, pieces = recording.stream, list(zip(recording.times, recording.chunks, strict=True))
    headers = [(name, value) for name, value in headers if _HARMLESS.fullmatch(value) and REDACTED not in value]
    kind = next((value for name, value in headers if name == "content-type"), "")
    body = b"".join(recording.chunks)
    if side == "client" and recording.client != body:
        sse = (recording.folder / "client.sse").exists()
        pieces = list(_client_pieces(recording, sse=sse))
        kind = kind if sse == recording.stream and not meta.get("client_api") else ""
        if meta.get("client_api") and (status >= 400 or is_error(body)):
            now, new_id = datetime.now(UTC), new_call_id()
            status, given, _ = translate_error(status, headers, body, meta["api"], meta["client_api"], now=now, new_id=new_id)
            headers = list(given)
    kept = [(name, value) for name, value in headers if name in PLAYED_HEADERS]
    return Script(
        tuple(_waits(pieces, float(meta.get("wait_ms") or 0) / 1000, speed)),
        status,
        (("content-type", kind or (EVENTS if sse else JSON)), *kept),
        framing="chunked" if sse else "content-length",
        end="clean" if meta.get("state") == "complete" else "reset" if http2 else "drop",
    )


def refusal(fault: Fault, api: str) -> Script:
    """Returns toolmend's own error in an API."""
    if fault.overflow:  # a recording's name may contain such words, and a client would compact its conversation
        fault = replace(fault, message="toolmend: no recording answers this request")
    status, body = write_error(fault, api, new_call_id())
    return Script(((0, body),), status, (("content-type", JSON),), framing="content-length")


def local(
    method: str, path: str, headers: Iterable[tuple[str, str]], body: Mapping[str, Any] | None, takes: Iterable[Take]
) -> Script | None:
    """Returns what is answered without a recording: a request for the models gets those of the recordings."""
    models = dict.fromkeys(ask.model for take in takes for ask in take.asks)
    asked = LocalRequest("http", "localhost", 0, method, path, {name.lower(): value for name, value in headers}, body)
    given = answer(asked, [_route(model) for model in models], new_call_id())
    if given is None:
        return None
    headers = (("content-type", given.content_type), *given.headers)
    return Script(((0, given.body),), given.status, headers, framing="content-length")


class Player:
    """Answers requests like a provider: with a recording, or with a valid error that names the nearest one.

    `report` is called with each request and a description of its answer; `misses` counts the unanswered ones.
    """

    def __init__(self, shelf: Shelf, side: Side, *, speed: float = 1.0) -> None:
        self.shelf, self.side, self.speed = shelf, side, speed
        self.report: Callable[[Request, str], None] = lambda *_: None
        self.misses = 0

    def __call__(self, request: Request) -> Script:
        if is_public_name(request.header("host") or ""):
            self.report(request, "refused: a public host name was called, as by a page in a browser")
            return refusal(Fault(403, "toolmend: recordings are for this machine, call localhost or an address"), "chat")
        page = page_of(request.headers)
        if page and not is_of(page, request.header("host") or "", "http"):
            self.report(request, "refused: it was sent by a web page, and recordings are for programs")
            return refusal(Fault(403, "toolmend: a web page sent this request, and only programs may"), "chat")
        body = _object(request)
        api = api_at(request.path) if request.method == "POST" else None
        if api is None:
            given = local(request.method, request.path, request.headers, body, self.shelf.takes)
            self.report(request, "answered locally" if given else "no API at this path")
            return given or refusal(Fault(404, "toolmend: no API at this path"), "chat")
        if body is None:
            return self._miss(request, api, Miss("the request's body is not a JSON object"))
        found = self.shelf.find(ask_of(api, request.path, body))
        if isinstance(found, Miss):
            return self._miss(request, api, found)
        try:
            played = script(load(found.folder), self.side, speed=self.speed, http2=request.http_version == "HTTP/2")
        except (KeyError, TypeError, ValueError) as error:
            return self._miss(request, api, Miss(f"the recording {found.name} cannot be played: {error}"))
        self.report(request, found.name)
        return played

    def _miss(self, request: Request, api: str, miss: Miss) -> Script:
        self.misses += 1
        self.report(request, f"{miss.words} ({miss.excerpt})" if miss.excerpt else miss.words)
        return refusal(fault_of(miss), api)


def fault_of(miss: Miss) -> Fault:
    """Returns the client's error. With 400 clients show the message and do not retry; with 404 some report a wrong model."""
    return Fault(400, f"toolmend: {miss.words}")


def _object(request: Request) -> dict[str, Any] | None:
    try:
        value = json_text.loads(content_encoding.whole(request.body, request.header("content-encoding") or "", LIMIT))
    except (content_encoding.CodingError, json_text.NotJSON):
        return None
    return value if isinstance(value, dict) else None


def _client_pieces(recording: Recording, *, sse: bool) -> Iterator[tuple[float, bytes]]:
    """Yields the client's bytes with their times, which are not recorded: today's pipeline determines them.

    If it would send other bytes, the recorded ones are sent event by event, evenly over the upstream's time.
    """
    pieces = _replayed(recording) if recording.stream else []
    if b"".join(piece for _, piece in pieces) == recording.client:
        yield from ((time, piece) for time, piece in pieces if piece)
        return
    decoder = decoder_of(str(recording.meta.get("api") or ""))
    events = [event.raw for event in (*decoder.feed(recording.client), *decoder.close())] if sse else [recording.client]
    last = recording.times[-1] if recording.times else 0.0
    for at, event in enumerate(events):
        yield last * at / max(1, len(events) - 1), event


def _replayed(recording: Recording) -> list[tuple[float, bytes]]:
    """Returns what is sent for each chunk today."""
    pieces = []
    try:
        clock = Clock(recording)
        pipeline = pipeline_of(recording, clock)
        for time, chunk in zip(recording.times, recording.chunks, strict=True):
            clock.fed += len(chunk)
            pieces.append((time, pipeline.feed(chunk)))
        pieces.append((recording.times[-1], pipeline.close()))
    except (LookupError, ValueError):  # an API or settings of another version; or an empty body
        return []
    return pieces


def _waits(pieces: Iterable[tuple[float, bytes]], before: float, speed: float) -> Iterator[tuple[float, bytes]]:
    """Converts times since the first byte to the waits between them."""
    for (earlier, _), (time, piece) in pairwise(((0.0, b""), *pieces)):
        yield (max(0.0, before + time - earlier) / speed if speed else 0.0), piece
        before = 0.0


def _route(model: str) -> Route:
    """Returns the route for local_responses.py that offers a model."""
    to = Origin("http", "localhost", 0)
    return Route("", "", "", "", "*", 0, "*", "", to, "", "chat", use_model=model)
