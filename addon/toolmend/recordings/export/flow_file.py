"""Recordings as a flow file of mitmproxy's: for `mitmweb -r FILE`, and for `mitmdump -S FILE`.

Rule of this file: the same recordings make the same bytes, so a file that was exported twice can be compared.
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
    """Writes the file. Raises RecordingError for what mitmproxy cannot have, as a host that is none."""
    writer = FlowWriter(file)  # type: ignore[no-untyped-call]
    for one in exchanges:
        try:
            writer.add(flow_of(one))
        except (ValueError, OverflowError) as error:
            raise RecordingError(f"{one.name}: {error}") from None


def flow_of(one: Side) -> http.HTTPFlow:
    """The flow as mitmproxy would have seen it."""
    began = one.started.timestamp()
    came = began + one.wait
    ended = came + one.receive
    request = http.Request.make(one.method, one.url, one.request, _fields(one.request_headers))
    response = http.Response.make(one.status, one.body, _fields(one.response_headers))
    request.http_version = response.http_version = one.http_version
    response.reason = one.reason
    request.timestamp_start = request.timestamp_end = began
    response.timestamp_start, response.timestamp_end = came, ended
    client = connection.Client(
        id=_id(one, "client"), peername=("127.0.0.1", 0), sockname=("127.0.0.1", 0), timestamp_start=began, timestamp_end=ended
    )
    server = connection.Server(id=_id(one, "server"), address=(request.host, request.port))
    flow = http.HTTPFlow(client, server)
    flow.id = _id(one, "flow")
    flow.timestamp_created = began
    flow.request, flow.response = request, response
    flow.comment = one.comment
    if one.state != "complete":
        flow.error = Error(one.error or one.state, ended)
    rules = list(one.rules) if one.kind == "rewritten" else []
    flow.metadata["toolmend"] = {"api": one.api, "rules": rules, "folder": None, "error": one.error}
    return flow


def _fields(headers: Headers) -> http.Headers:
    return http.Headers([(name.encode(errors="replace"), value.encode(errors="replace")) for name, value in headers])


def _id(one: Side, what: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"toolmend:{one.name}/{one.kind}/{what}"))
