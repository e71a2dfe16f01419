"""What a flow says of itself, in the words that mitmproxy has for it."""


import pytest
from mitmproxy import connection, http
from mitmproxy.flow import Error
from mitmproxy.test import tflow, tutils

from tests.support.flows import response
from toolmend.proxy import flow_info


@pytest.mark.parametrize(
    ("content_type", "sse", "json"),
    [
        ("text/event-stream", True, False),
        ("Text/Event-Stream ; charset=utf-8", True, False),
        ("text/event-streams", False, False),
        ("application/json", False, True),
        ("application/json;charset=utf-8", False, True),
        ("application/problem+json", False, True),
        ("application/x-ndjson", False, False),
        ("text/plain, text/event-stream", False, False),
        ("text/event-stream, text/event-stream", True, False),
        ("", False, False),
    ],
)
def test_media_types(content_type: str, sse: bool, json: bool) -> None:
    of = response(content_type=content_type)
    assert (flow_info.is_sse(of), flow_info.is_json(of)) == (sse, json)
    assert not flow_info.is_sse(response())
    assert not flow_info.is_json(response())


STREAMS = {
    # name: (API, path, request, content type, status, whether it is a stream)
    "chat": ("chat", "/v1/chat/completions", {}, "text/event-stream", 200, True),
    "chat, whole": ("chat", "/v1/chat/completions", {}, "application/json", 200, False),
    "gemini": ("gemini", "/v1beta/models/g:streamGenerateContent?alt=sse", {}, "text/event-stream", 200, True),
    "gemini, an array": ("gemini", "/v1beta/models/g:streamGenerateContent?key=k", {}, "application/json; charset=UTF-8", 200, True),
    "gemini, an error": ("gemini", "/v1beta/models/g:streamGenerateContent", {}, "application/json", 429, False),
    "gemini, whole": ("gemini", "/v1beta/models/g:generateContent", {}, "application/json", 200, False),
    "ollama": ("ollama", "/api/chat", {}, "application/x-ndjson", 200, True),
    "ollama, as JSON": ("ollama", "/api/chat", {"stream": True}, "application/json", 200, True),
    "ollama, whole": ("ollama", "/api/chat", {"stream": False}, "application/json; charset=utf-8", 200, False),
    "ollama, nothing known": ("ollama", "/api/chat", None, "application/json", 200, False),
    "bedrock": ("bedrock", "/model/m/converse-stream", {}, "application/vnd.amazon.eventstream", 200, True),
    "bedrock, an error": ("bedrock", "/model/m/converse-stream", {}, "application/json", 400, False),
    "no type": ("chat", "/v1/chat/completions", {"stream": True}, "", 200, True),
    "text": ("messages", "/v1/messages", {"stream": True}, "text/plain; charset=utf-8", 200, True),
    "bytes": ("responses", "/v1/responses", {"stream": True}, "application/octet-stream", 201, True),
    "text, whole": ("chat", "/v1/chat/completions", {"stream": False}, "text/plain", 200, False),
    "text, nothing asked": ("chat", "/v1/chat/completions", {"stream": None}, "text/plain", 200, False),
    "text, nothing known": ("chat", "/v1/chat/completions", None, "text/plain", 200, False),
    "gemini, as text": ("gemini", "/v1beta/models/g:streamGenerateContent?alt=sse", {}, "text/plain", 200, True),
    "ollama, as text": ("ollama", "/api/chat", {}, "text/plain", 200, True),
    "JSON where a stream was asked for": ("chat", "/v1/chat/completions", {"stream": True}, "application/json", 200, False),
    "lines of another API": ("chat", "/v1/chat/completions", {}, "application/x-ndjson", 200, False),
}


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_a_stream(name: str) -> None:
    api, path, request, kind, status, stream = STREAMS[name]
    of = response(content_type=kind)
    of.status_code = status
    assert flow_info.is_llm_response(of)
    assert flow_info.is_stream(api, path, request, of) == stream


@pytest.mark.parametrize(("kind", "status"), [("text/html", 200), ("image/png", 200), ("text/plain", 404), ("", 500)])
def test_what_is_no_answer(kind: str, status: int) -> None:
    of = response(content_type=kind)
    of.status_code = status
    assert not flow_info.is_llm_response(of)
    assert not flow_info.is_stream("chat", "/v1/chat/completions", {"stream": True}, of)


@pytest.mark.parametrize(
    ("request_", "path", "model"),
    [
        ({"model": "a"}, "/models/b:generateContent", "a"),
        ({}, "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "gemini-2.5-pro"),
        (None, "/model/us.anthropic.claude-x%3A0/converse-stream", "us.anthropic.claude-x:0"),
        ({"model": None}, "/openai/deployments/gpt/chat/completions", "gpt"),
        ({}, "/v1/chat/completions", ""),
    ],
)
def test_the_model(request_: dict[str, object] | None, path: str, model: str) -> None:
    assert flow_info.requested_model(request_, path) == model


def test_headers_are_text_whatever_they_hold() -> None:
    message = tutils.tresp(headers=http.Headers([(b"x-a", b"\xff"), (b"content-encoding", b"gzip"), (b"x-a", b"2")]))
    assert flow_info.headers(message) == (("x-a", "\ufffd"), ("content-encoding", "gzip"), ("x-a", "2"))
    assert flow_info.encoding(message) == "gzip"
    assert flow_info.encoding(response()) == ""


@pytest.mark.parametrize(
    ("transfer", "content", "codings"),
    [
        ("chunked", "br", "br"),
        ("Chunked", "", ""),
        ("gzip, chunked", "", "gzip"),
        ("gzip,chunked", "br, zstd", "br, zstd,gzip"),
        ("deflate, gzip , chunked", "", "deflate, gzip "),
        ("gzip, chunked, chunked", "", "gzip"),
        ("identity", "gzip", "gzip,identity"),
    ],
)
def test_a_coding_of_the_transfer(transfer: str, content: str, codings: str) -> None:
    """Of an answer: what a request has is mitmproxy's to hand on."""
    given = {"transfer-encoding": transfer} | ({"content-encoding": content} if content else {})
    headers = http.Headers([(name.encode(), value.encode()) for name, value in given.items()])
    assert flow_info.encoding(tutils.tresp(headers=headers)) == codings
    assert flow_info.encoding(tutils.treq(headers=headers)) == content


@pytest.mark.parametrize(
    ("host", "header", "sni", "names"),
    [
        ("a.example", "a.example", "a.example", ["a.example"]),
        ("10.0.0.7", "a.example:443", None, ["a.example", "10.0.0.7"]),
        ("10.0.0.7", "", "a.example", ["10.0.0.7", "a.example"]),
        ("a.example", "localhost:8080", None, ["localhost", "a.example"]),
        ("::1", "", None, ["[::1]"]),
    ],
)
def test_places(host: str, header: str, sni: str | None, names: list[str]) -> None:
    flow = tflow.tflow(req=tutils.treq(host=host, port=443, headers=http.Headers(host=header)))
    flow.client_conn.sni = sni
    assert list(flow_info.host_candidates(flow)) == [(name, 443) for name in names]


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"model": "k"}', {"model": "k"}),
        (b"[1]", None),
        (b"", None),
        (b"\xff", None),
        (b"{" * 10, None),
        (b'{"a": ' * 100_000 + b"1" + b"}" * 100_000, None),
    ],
    ids=["object", "list", "nothing", "bytes", "broken", "deep"],
)
def test_json_object(body: bytes, value: object) -> None:
    assert flow_info.json_object(body) == value


@pytest.mark.parametrize(("body", "encoding"), [(None, ""), (b"x", "snappy"), (b"x", "gzip")])
def test_a_body_that_cannot_be_read_is_empty(body: bytes | None, encoding: str) -> None:
    assert flow_info.decode_body(body, encoding) == b""


@pytest.mark.parametrize(
    ("body", "encoding", "told"),
    [
        (b"{}", "", []),
        (b"", "", []),
        (b"[]", "", []),
        (b"{", "", ["the request passes unread: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"]),
        (b"{}", "snappy", ["the request passes unread: content-encoding 'snappy' is not supported"]),
    ],
    ids=["read", "nothing", "no object", "broken", "coded"],
)
def test_why_a_request_passes_unread(body: bytes, encoding: str, told: list[str]) -> None:
    why: list[str] = []
    flow_info.json_object(flow_info.decode_body(body, encoding, why), why)
    assert why == told


@pytest.mark.parametrize(
    ("started", "ended", "answered", "wait"),
    [
        (1.0, 2.0, 2.25, 250.0),
        (1.0, None, 2.25, 1250.0),
        (1.0, 2.0, 0.0, None),
        (1.0, 2.0, 1.5, 0.0),  # it answers before it was asked all, or a clock was set
        (0.0, 0.0, 1.0, None),  # another addon made the request
    ],
)
def test_the_wait(started: float, ended: float | None, answered: float, wait: float | None) -> None:
    request, answer = tutils.treq(timestamp_start=started, timestamp_end=ended), tutils.tresp(timestamp_start=answered)
    assert flow_info.wait_ms(request, answer) == wait


@pytest.mark.parametrize("at", [0, flow_info.MAX_ERROR - 5, flow_info.MAX_ERROR + 5])
def test_words_of_an_error_are_bounded_and_have_no_key(at: int) -> None:
    key = "Zq8-" + "x7Kd" * 300
    flow = tflow.tflow(req=tutils.treq(headers=[(b"x-api-key", key.encode())]))
    told = flow_info.mask_keys(flow, "v" * at + key + "w" * 1_000_000)
    assert len(told) == flow_info.MAX_ERROR
    assert "x7Kd" not in told
    assert "Zq8-" not in told


def test_usual_headers_are_all_kept() -> None:
    request = tutils.treq(headers=[(b"authorization", b"k" * 60_000), *((b"x-%d" % n, b"v" * 1000) for n in range(800))])
    assert len(flow_info.headers(request)) == 801
    assert flow_info.omitted_headers(request, "request") == flow_info.omitted_headers(None, "response") == ()


def test_printable() -> None:
    assert flow_info.printable("kimi-k2.5\r\n\x1b[2J\u202e月") == "kimi-k2.5???[2J?月"
    assert len(flow_info.printable("x" * 1000)) == 200


def test_a_key_in_the_place_of_a_name_is_not_printable() -> None:
    """Somebody puts it where the model goes, and a log is kept for ever."""
    assert flow_info.printable(f"api.host sk-proj-{'Ab9' * 20}") == "api.host [REDACTED]"
    assert flow_info.printable("x" * 190 + f" sk-proj-{'Ab9' * 40}") == "x" * 190 + " [REDACTED"


@pytest.mark.parametrize(
    ("message", "client", "server", "is_open", "state"),
    [
        ("Client disconnected.", "http/1.1", "http/1.1", True, "client_closed"),
        ("HTTP/1 protocol error: peer closed connection without …", "http/1.1", "http/1.1", True, "upstream_error"),
        ("HTTP/1 protocol error: peer closed connection without …", "h2", "http/1.1", True, "upstream_error"),
        ("peer closed connection", "h2", "h2", False, "client_closed"),
        ("peer closed connection", "h2", "h2", True, "upstream_error"),
        ("stream reset by client (CANCEL)", "h2", "http/1.1", True, "client_closed"),
        ("stream reset by client (CANCEL)", "h2", "h2", True, "client_closed"),
        ("stream reset by client (INTERNAL_ERROR)", "h2", "h2", True, "upstream_error"),
        ("stream reset by client (CANCEL)", "http/1.1", "h2", True, "upstream_error"),
        (Error.KILLED_MESSAGE, "h2", "h2", False, "partial"),
        (f"{flow_info.EARLY_END}: …", "http/1.1", "http/1.1", False, "partial"),
    ],
)
def test_who_ended_it(message: str, client: str, server: str, is_open: bool, state: str) -> None:
    flow = tflow.tflow()
    flow.client_conn.alpn, flow.server_conn.alpn = client.encode(), server.encode()
    flow.client_conn.state = connection.ConnectionState.OPEN if is_open else connection.ConnectionState.CLOSED
    assert flow_info.end_state(flow, message) == state
    known = ("partial", "partial") if state == "partial" else ("client_closed", "upstream_error")
    assert tuple(flow_info.end_state(flow, message, left) for left in (True, False)) == known
