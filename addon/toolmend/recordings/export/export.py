"""A recording as two HTTP exchanges, for other programs: with the provider, and with the client.

    raw        POST https://openrouter.ai/api/v1/chat/completions     request as forwarded, body as received
    rewritten  POST https://api.anthropic.com/v1/messages             request as the client sent it, body as sent

har.py and flow_file.py write these without additions. Bodies are recorded without content encoding, so headers about encoding,
length and framing are left out.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from ...apis.shared.errors import translate_error
from ...config.data_folder import on_one_line
from ...core.fastclass import value
from ...providers.routes import PORTS
from ..read.replay import Recording, RecordingError, load
from ..read.safe_read import read

type Kind = Literal["raw", "rewritten"]
type Headers = tuple[tuple[str, str], ...]

WIRE_HEADERS = frozenset(
    {
        "connection",
        "content-digest",
        "content-encoding",
        "content-length",
        "content-md5",
        "digest",
        "etag",
        "repr-digest",
        "trailer",
        "transfer-encoding",
    }
)
"""Headers that describe the body as it was on the wire."""

LOCAL = ("localhost", "127.0.0.1", "[::1]")
"""Hosts called over plain HTTP, if a recording of an older version has no scheme."""

_REASONS = {int(status): status.phrase for status in HTTPStatus}


@value
class Side:
    """One of the two exchanges.

    Attributes:
        wait, receive: Seconds.
        chunks: (bytes, seconds since the first) of what was received.
    """

    kind: Kind
    name: str
    api: str
    method: str
    url: str
    http_version: str
    request_headers: Headers
    request: bytes
    status: int
    reason: str
    response_headers: Headers
    body: bytes
    chunks: tuple[tuple[int, float], ...]
    started: datetime
    wait: float
    receive: float
    rules: tuple[str, ...]
    state: str
    error: str | None

    @property
    def comment(self) -> str:
        """A sentence that names the side."""
        words = "raw: what the provider sent" if self.kind == "raw" else "rewritten: what the client got"
        mended = f", mended by {', '.join(self.rules)}" if self.kind == "rewritten" and self.rules else ""
        ended = f"; it ended as {self.state}" if self.state != "complete" else ""
        return f"{words}{mended} (toolmend recording {self.name}){ended}"


def sides(folder: Path) -> tuple[Side, Side]:
    """Returns the raw and the rewritten exchange. Raises RecordingError."""
    recording = load(folder)
    try:
        return _side(recording, "raw"), _side(recording, "rewritten")
    except (AttributeError, KeyError, OSError, TypeError, ValueError, OverflowError) as error:
        raise RecordingError(f"{on_one_line(folder)}: {type(error).__name__}: {error}") from None


def _side(recording: Recording, kind: Kind) -> Side:
    meta, folder = recording.meta, recording.folder
    raw = kind == "raw"
    wait = float(meta.get("wait_ms") or 0) / 1000
    received_at = datetime.fromisoformat(meta["recorded_at"])
    body = b"".join(recording.chunks) if raw else recording.client
    routed = raw and bool(meta.get("route"))
    url = _target(meta) if routed else _called(meta)
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError(f"{url!r} is not a URL")
    sent = (("host", parts.netloc), ("content-type", "application/json")) if routed else _headers(meta["request_headers"])
    status = int(meta["status"]) if raw else _status(recording)
    return Side(
        kind,
        folder.resolve().name,
        str(meta["api"] if raw else meta.get("client_api") or meta["api"]),
        str(meta["method"]),
        url,
        str(meta["http_version"]),
        sent,
        _request_body(folder, forwarded=raw),
        status,
        _REASONS.get(status, ""),
        _response_headers(_headers(meta["response_headers"]), recording.stream, (folder / "client.sse").exists(), raw=raw),
        body,
        tuple((len(chunk), time) for chunk, time in zip(recording.chunks, recording.times, strict=True)),
        (received_at if received_at.tzinfo else received_at.replace(tzinfo=UTC)) - timedelta(seconds=wait),
        wait,
        recording.times[-1] if recording.times else 0.0,
        tuple(map(str, meta.get("rules") or ())),
        str(meta["state"]),
        str(meta["error"]) if meta.get("error") is not None else None,
    )


_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s/@:.]{1,63}(\.[^\s/@:.]{1,63})*\.?)(:[0-9]{1,5})?")


def _called(meta: Mapping[str, Any]) -> str:
    """Returns the URL that the client called."""
    host = str(meta["host"])
    if not _HOST.fullmatch(host):
        raise ValueError(f"{host!r} is not a host")
    scheme = meta.get("scheme") or ("http" if host.rpartition(":")[0] in LOCAL else "https")
    return f"{scheme}://{host}{meta['path']}"


def _target(meta: Mapping[str, Any]) -> str:
    """Returns the URL that the route calls."""
    return str(meta["route"]).rpartition(" → ")[2]


def _request_body(folder: Path, *, forwarded: bool) -> bytes:
    """Returns the request's body; empty if it was not JSON, which is not recorded."""
    names = (["upstream_request.json"] if forwarded else []) + ["request.json"]
    found = next((folder / name for name in names if (folder / name).exists()), None)
    return read(found) if found else b""


def _headers(pairs: Iterable[tuple[str, str]]) -> Headers:
    return tuple((str(name), str(value)) for name, value in pairs if name.lower() not in WIRE_HEADERS)


def _response_headers(headers: Headers, streamed: bool, sent_stream: bool, *, raw: bool) -> Headers:
    """Returns a response's headers; the client's have the content type of its own body."""
    if raw or streamed == sent_stream:
        return headers
    kind = "text/event-stream; charset=utf-8" if sent_stream else "application/json"
    return (("content-type", kind), *(pair for pair in headers if pair[0].lower() != "content-type"))


def _status(recording: Recording) -> int:
    """Returns the status that the client got: a translated error has another one than the upstream's."""
    meta, body = recording.meta, b"".join(recording.chunks)
    status, source = int(meta["status"]), meta["api"]
    target = meta.get("client_api") or source
    if status < 400 or target == source:
        return status
    try:
        return translate_error(status, (), body, source, target, now=datetime.fromtimestamp(0, UTC), new_id="")[0]
    except (KeyError, ValueError):  # an unknown API
        return status
