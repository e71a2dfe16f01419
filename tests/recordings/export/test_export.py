"""export.py, flow_file.py and har.py: what a recording becomes for other programs."""

import json
import shutil
from datetime import datetime
from io import BytesIO
from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.io import FlowReader

from tests.support.exported import META, RAW, SENT, entries, flows, make
from tests.support.paths import FLOWS
from toolmend.recordings.export.export import sides
from toolmend.recordings.export.har import har
from toolmend.recordings.read.replay import RecordingError, find

FIXTURE = find(FLOWS / "kimi")[0]


def test_a_flow(tmp_path: Path) -> None:
    folder = make(tmp_path)
    (flow,) = flows(folder)
    assert flow.response
    assert (flow.request.method, flow.request.url) == ("POST", "https://llm.example/v1/chat/completions?beta=true&key=[REDACTED]")
    assert flow.request.raw_content == b'{"stream":true}'
    assert flow.request.headers["authorization"] == "[REDACTED]"
    assert flow.response.raw_content == flow.response.content == RAW
    lengths = ((b"content-length", b"36"),)
    assert flow.response.headers.fields == ((b"content-type", b"text/event-stream"), (b"x-request-id", b"r1"), *lengths)
    assert (flow.response.status_code, flow.response.reason, flow.error) == (200, "OK", None)
    assert flow.comment == "raw: what the provider sent (toolmend recording 183401-example-1)"
    assert flow.metadata["toolmend"] == {"api": "chat", "rules": [], "folder": None, "error": None}
    came = datetime.fromisoformat(META["recorded_at"]).timestamp()
    assert (flow.request.timestamp_start, flow.response.timestamp_start) == (came - 0.5, came)
    assert flow.response.timestamp_end == pytest.approx(came + 0.250125)
    (client,) = flows(folder, "rewritten")
    assert client.response
    assert client.response.raw_content == SENT
    assert client.comment.startswith("rewritten: what the client got, mended by kimi_k2 (")
    assert client.metadata["toolmend"]["rules"] == ["kimi_k2"]
    assert client.id != flow.id == flows(folder)[0].id


ROUTE = "https://api.anthropic.com → https://openrouter.ai:8443/api/v1/chat/completions"


def test_a_route(tmp_path: Path) -> None:
    """The raw side is what went to the route's upstream; the client asked another host, and for no stream."""
    files = {"request.json": b"{}", "upstream_request.json": b'{"up":1}', "upstream.sse": RAW, "client.json": b'{"type":"message"}'}
    more = {"route": ROUTE, "client_api": "messages", "client_stream": False, "host": "api.anthropic.com", "path": "/v1/messages"}
    folder = make(tmp_path, files, **more)
    raw, client = sides(folder)
    assert (raw.url, raw.api, raw.request) == ("https://openrouter.ai:8443/api/v1/chat/completions", "chat", b'{"up":1}')
    assert raw.request_headers == (("host", "openrouter.ai:8443"), ("content-type", "application/json"))
    assert (client.url, client.api, client.request) == ("https://api.anthropic.com/v1/messages", "messages", b"{}")
    assert client.response_headers == (("content-type", "application/json"), ("x-request-id", "r1"))
    assert flows(folder)[0].server_conn.address == ("openrouter.ai", 8443)


def test_an_error_that_a_route_translated(tmp_path: Path) -> None:
    """Its status is another one for the client."""
    body = b'{"error":{"message":"Overloaded","code":"overloaded"}}'
    files = {"upstream.json": body, "client.json": b'{"type":"error"}'}
    raw, client = sides(make(tmp_path, files, route=ROUTE, client_api="messages", status=503, stream=False))
    assert (raw.status, raw.reason, client.status) == (503, "Service Unavailable", 529)
    assert client.reason == ""


@pytest.mark.parametrize(
    ("scheme", "host", "url"),
    [
        ("http", "llm.example", "http://llm.example/"),
        (None, "llm.example", "https://llm.example/"),
        (None, "llm.example:8443", "https://llm.example:8443/"),
        (None, "localhost:1234", "http://localhost:1234/"),
        ("https", "localhost:1234", "https://localhost:1234/"),
        (None, "[::1]:1234", "http://[::1]:1234/"),
    ],
)
def test_where_it_went(tmp_path: Path, scheme: str | None, host: str, url: str) -> None:
    assert sides(make(tmp_path, scheme=scheme, host=host, path="/"))[0].url == url


@pytest.mark.parametrize("name", [str(folder.relative_to(FLOWS)) for folder in find(FLOWS)])
def test_every_fixture(name: str) -> None:
    """As a flow, as a HAR, and from that HAR as mitmproxy reads it: the same bytes."""
    folder = FLOWS / name
    raw, rewritten = ((folder / f"{side}.sse").read_bytes() for side in ("upstream", "client"))
    assert [flow.response and flow.response.raw_content for flow in flows(folder)] == [raw]
    document = json.dumps({"log": {**har(sides(folder))["log"]}}).encode()
    assert entries(folder)
    imported = [flow.response.raw_content for flow in FlowReader(BytesIO(document)).stream() if isinstance(flow, http.HTTPFlow) and flow.response]
    assert imported == [raw, rewritten]


@pytest.mark.parametrize("meta", ['{"api":"chat"}', "[]", json.dumps({**META, "request_headers": 7}), json.dumps({**META, "recorded_at": "x"})])
def test_what_cannot_be_read_says_so(tmp_path: Path, meta: str) -> None:
    folder = tmp_path / "x"
    shutil.copytree(FIXTURE, folder)
    (folder / "meta.json").write_text(meta)
    with pytest.raises(RecordingError, match=str(folder)):
        sides(folder)
