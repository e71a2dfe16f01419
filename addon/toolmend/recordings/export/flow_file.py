"""Recordings as a mitmproxy flow file: for `mitmweb -r FILE` and `mitmdump -S FILE`.

Deterministic: the same recordings make the same bytes, so exported files can be compared.
"""

from collections.abc import Iterable
from typing import IO
from uuid import NAMESPACE_URL, uuid5

from mitmproxy import connection, http
from mitmproxy.flow import Error
from mitmproxy.io import FlowWriter

from ..read.replay import RecordingError
from .export import Headers, Side


def write(file: IO[bytes], exchanges: Iterable[Side]) -> None:
    """Writes the file. Raises RecordingError for values that mitmproxy does not accept, such as an invalid host."""
    writer = FlowWriter(file)  # type: ignore[no-untyped-call]
    for side in exchanges:
        try:
            writer.add(flow_of(side))
        except (ValueError, OverflowError) as error:
            raise RecordingError(f"{side.name}: {error}") from None


def flow_of(side: Side) -> http.HTTPFlow:
    """Returns the flow as mitmproxy would have seen it."""
    began = side.started.timestamp()
    came = began + side.wait
    ended = came + side.receive
    request = http.Request.make(side.method, side.url, side.request, _fields(side.request_headers))
    response = http.Response.make(side.status, side.body, _fields(side.response_headers))
    request.http_version = response.http_version = side.http_version
    response.reason = side.reason
    request.timestamp_start = request.timestamp_end = began
    response.timestamp_start, response.timestamp_end = came, ended
    client = connection.Client(
        id=_id(side, "client"), peername=("127.0.0.1", 0), sockname=("127.0.0.1", 0), timestamp_start=began, timestamp_end=ended
    )
    server = connection.Server(id=_id(side, "server"), address=(request.host, request.port))
    flow = http.HTTPFlow(client, server)
    flow.id = _id(side, "flow")
    flow.timestamp_created = began
    flow.request, flow.response = request, response
    flow.comment = side.comment
    if side.state != "complete":
        flow.error = Error(side.error or side.state, ended)
    rules = list(side.rules) if side.kind == "rewritten" else []
    flow.metadata["toolmend"] = {"api": side.api, "rules": rules, "folder": None, "error": side.error}
    return flow


def _fields(headers: Headers) -> http.Headers:
    return http.Headers([(name.encode(errors="replace"), value.encode(errors="replace")) for name, value in headers])


def _id(side: Side, part: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"toolmend:{side.name}/{side.kind}/{part}"))
