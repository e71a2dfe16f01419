"""routed_response.py: what the client of a routed request gets."""

import json
from typing import Any

import pytest
from mitmproxy.flow import Error

from tests.support.addon import Log, asked, log, proxy, sent
from tests.support.content_encodings import CODERS
from tests.support.routed_flows import ANSWER, ASK, HELLO, PAIRS, THEIRS, Routes, error_of, post, routed
from tests.support.routes import SECRET
from toolmend.proxy.routed_response import EVENTS, unanswered
from toolmend.recordings.read import replay

__all__ = ["log", "proxy", "routed"]


def spoken(body: bytes) -> list[str]:
    return [line.removeprefix("event: ") for line in body.decode().splitlines() if line.startswith("event: ")]


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("http_version", ["HTTP/1.1", "HTTP/2.0"])
def test_a_stream_is_translated_and_recorded(routed: Routes, coding: str, http_version: str) -> None:
    flow = post(http_version=http_version)
    proxy = routed()
    body = CODERS[coding](HELLO)
    out = proxy.run(flow, [body[:50], body[50:]], content_encoding=coding, set_cookie="a=b", x_request_id="r1")
    assert spoken(out)[0] == "message_start"
    assert spoken(out)[-1] == "message_stop"
    assert flow.response
    headers = dict(flow.response.headers)
    assert headers.pop("request-id").startswith("req_")
    chunked = {"transfer-encoding": "chunked"} if http_version == "HTTP/1.1" else {}
    assert headers == {"content-type": EVENTS, "x-upstream-request-id": "r1"} | chunked
    kept = proxy.recording()
    assert (kept["api"], kept["client_api"], kept["state"], kept["provider"]) == ("chat", "messages", "complete", "openrouter")
    assert (kept["upstream"], kept["client"]) == (HELLO, out)
    assert json.loads(kept["request"])["model"] == ASK["model"]
    assert json.loads(kept["upstream_request"])["model"] == "kimi-k2.5"
    (folder,) = replay.find(proxy.flows)
    assert replay.replay(replay.load(folder))[0] == out
    assert SECRET not in json.dumps(kept, default=bytes.decode)


@pytest.mark.parametrize("streamed", [True, False])
def test_a_whole_answer(routed: Routes, streamed: bool) -> None:
    flow = post(json.dumps(ASK | {"stream": streamed}).encode())
    proxy = routed()
    response = proxy.open(flow, content_type="application/json")
    response.raw_content = ANSWER
    proxy.addon.response(flow)
    out = response.content or b""
    assert response.headers["content-type"] == (EVENTS if streamed else "application/json")
    assert response.headers["content-length"] == str(len(out))
    assert "transfer-encoding" not in response.headers
    if streamed:
        assert spoken(out)[-1] == "message_stop"
    else:
        assert json.loads(out)["content"] == [{"type": "text", "text": "Hello."}]
    assert proxy.recording()["client"] == out
    (folder,) = replay.find(proxy.flows)
    assert replay.replay(replay.load(folder))[0] == out


BROKEN = [
    # status, headers, body; the client's status, type, and some of the words
    (429, {"content_type": "application/json"}, b'{"error":{"message":"slow"}}', 429, "rate_limit_error", "slow"),
    (500, {"content_type": "text/html"}, b"<html>", 500, "api_error", "500"),
    (401, {"content_type": "text/plain", "x_request_id": SECRET}, f"bad key {SECRET}".encode(), 401, "authentication_error", f"bad key {'*' * len(SECRET)}"),
    (200, {"content_type": "application/json"}, b'{"error":{"message":"busy","code":503}}', 529, "overloaded_error", "busy"),
    (200, {"content_type": "application/json"}, b"", 500, "api_error", "empty"),
    (204, {"content_type": "application/json"}, b"", 500, "api_error", "empty"),
    (200, {"content_type": "text/html"}, b"<html>", 500, "api_error", "JSON object"),
    (307, {"location": f"https://me:{THEIRS}@evil.example/?key={THEIRS}"}, b"", 500, "api_error", "redirects to evil.example"),
    (301, {"location": "/v2"}, b"", 500, "api_error", "redirects to another path"),
    (302, {"location": "https://[bad/"}, b"", 500, "api_error", "redirects"),
    (200, {"location": "/v2", "content_type": "text/html"}, b"<html>", 500, "api_error", "JSON object"),
    (301, {}, b"", 500, "api_error", "redirects to another path"),
    (304, {"content_type": "application/json"}, b"", 500, "api_error", "answers with status 304"),
    (300, {"content_type": "application/json"}, ANSWER, 500, "api_error", "answers with status 300"),
    (101, {"upgrade": "foo"}, b"", 500, "api_error", "answers with status 101"),
    (103, {"link": "</a>"}, b"", 500, "api_error", "sends an interim status 103"),
    (200, {"content_type": "application/json", "content_encoding": "gzip"}, b"no gzip", 500, "api_error", "cannot be decoded"),
    (200, {"content_encoding": "snappy"}, HELLO, 500, "api_error", "cannot be decoded"),
]


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(("status", "headers", "body", "out", "kind", "words"), BROKEN)
def test_a_client_gets_an_error_of_its_own_api(
    routed: Routes, status: int, headers: dict[str, str], body: bytes, out: int, kind: str, words: str, streamed: bool
) -> None:
    flow = post(json.dumps(ASK | {"stream": streamed}).encode())
    proxy = routed()
    response = proxy.open(flow, None, status, **headers)
    assert not response.stream
    response.raw_content = body
    proxy.addon.response(flow)
    code, name, message = error_of(response)
    assert (code, name) == (out, kind)
    assert words in message
    assert not {"location", "set-cookie", "content-encoding", "transfer-encoding"} & set(response.headers)
    assert not {SECRET, THEIRS} & set(message.split())
    assert SECRET not in str(response.headers)
    kept = proxy.recording()
    assert kept["client"] == response.content
    assert kept["status"] == status
    assert SECRET not in json.dumps(kept, default=bytes.decode)


@pytest.mark.parametrize(
    ("why", "reached", "words"),
    [
        ("server closed connection", True, "is incomplete (server closed connection): try again"),
        ("[Errno 111] Connect call failed ('::1', 1)", False, "cannot be reached ([Errno 111] Connect call failed ('::1', 1)): check that it runs"),
        ("Certificate verify failed: self-signed certificate", False, "ssl_verify_upstream_trusted_ca"),
        (f"unexpected server response: b'{'a' * 160} {SECRET}", True, "unexpected server response: b'aaa"),
    ],
)
def test_a_client_gets_an_error_of_its_own_api_where_there_is_no_answer(routed: Routes, why: str, reached: bool, words: str) -> None:
    flow = post()
    proxy = routed()
    proxy.ask(flow)
    call = proxy.addon.exchanges[flow].routed
    assert call
    status, kind, message = error_of(unanswered(flow, call, why, reached=reached))
    assert (status, kind) == (500, "api_error")
    assert words in message
    assert message.endswith(f"the route is the one at {call.route.where}")
    assert SECRET[:6] not in message


NOT_SAID: list[dict[str, Any]] = [
    # what Messages cannot say: arguments that are no JSON object, and nothing
    {"index": 0, "finish_reason": "tool_calls", "message": {"tool_calls": [{"id": "a", "function": {"name": "b", "arguments": text}}]}}
    for text in ("<<<", "[1]")
] + [{}]


@pytest.mark.parametrize("choice", NOT_SAID)
def test_an_answer_that_cannot_be_said_is_no_success(routed: Routes, choice: dict[str, Any]) -> None:
    flow = post(json.dumps(ASK | {"stream": False}).encode())
    proxy = routed()
    response = proxy.open(flow, content_type="application/json")
    response.raw_content = json.dumps({"choices": [choice] if choice else []}).encode()
    proxy.addon.response(flow)
    assert (response.status_code, response.reason) == (500, "Internal Server Error")
    assert json.loads(response.content or b"")["error"]["type"] == "api_error"
    proxy.addon.done()
    (folder,) = replay.find(proxy.flows)
    assert replay.replay(replay.load(folder))[0] == response.content


def test_a_stream_where_none_was_asked_for(routed: Routes) -> None:
    """Some upstreams know nothing else."""
    flow = post(json.dumps(ASK | {"stream": False}).encode())
    proxy = routed()
    response = proxy.open(flow)
    assert response.stream is False
    response.raw_content = HELLO
    proxy.addon.response(flow)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    answer = json.loads(response.content or b"")
    assert (answer["content"], answer["stop_reason"]) == ([{"type": "text", "text": "Hello."}], "end_turn")
    proxy.addon.done()
    (folder,) = replay.find(proxy.flows)
    kept = replay.load(folder)
    assert replay.replay(kept)[0] == kept.client == response.content


def test_an_upstream_that_breaks_off(routed: Routes) -> None:
    flow = post()
    proxy = routed()
    response = proxy.open(flow)
    assert b"message_start" in sent(response, HELLO[:300])
    flow.error = Error("peer closed connection")
    proxy.addon.error(flow)
    assert proxy.recording()["state"] == "upstream_error"


def test_an_upstream_that_cannot_be_reached_is_told(routed: Routes, log: Log) -> None:
    flow = post()
    proxy = routed()
    proxy.ask(flow)
    flow.error = Error("[Errno 111] Connect call failed")
    proxy.addon.error(flow)
    level, message = log()[-1]
    assert (level, "https://openrouter.ai" in message) == ("WARNING", True)
    assert "Connect call failed" in message


@pytest.mark.parametrize("key", ["env:ROUTE_KEY", "env:WORD"])
def test_the_same_api_without_mending_is_routed_all_the_same(routed: Routes, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """What passes as it came still has none of the other host's cookies. A coding is undone only to mask a key."""
    monkeypatch.setenv("WORD", "ollama")
    body = json.dumps({"model": "a", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}).encode()
    proxy = routed(**{"from": "llm.invalid", "key": key})
    proxy.set(dialects="off")
    flow = asked(host="llm.invalid", body=body)
    coded, masks = CODERS["gzip"](HELLO), key == "env:ROUTE_KEY"
    assert proxy.run(flow, [coded], content_encoding="gzip", set_cookie="a=b") == (HELLO if masks else coded)
    assert flow.response
    coding = {} if masks else {"content-encoding": "gzip"}
    assert dict(flow.response.headers) == {"content-type": EVENTS, "transfer-encoding": "chunked"} | coding


WHOLE_ERRORS = {
    "chat": {"error": {"message": "slow", "type": "requests", "param": None, "code": "rate_limit_exceeded"}},
    "messages": {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}, "request_id": "req_1"},
    "responses": {"error": {"message": "slow", "type": "requests", "param": None, "code": "rate_limit_exceeded"}},
}


@pytest.mark.parametrize("client", PAIRS)
@pytest.mark.parametrize("upstream", PAIRS)
def test_errors_of_every_pair(routed: Routes, client: str, upstream: str) -> None:
    path, request, _ = PAIRS[client]
    proxy = routed(**{"from": "llm.invalid", "to": f"https://a.example{PAIRS[upstream][0]}"})
    flow = asked(host="llm.invalid", path=path, body=json.dumps({"model": "a", "stream": True} | request).encode())
    response = proxy.open(flow, None, 429, content_type="application/json", retry_after="3")
    response.raw_content = json.dumps(WHOLE_ERRORS[upstream]).encode()
    proxy.addon.response(flow)
    body = json.loads(response.content or b"")
    assert (response.status_code, response.headers["retry-after"]) == (429, "3")
    assert (list(body), list(body["error"])) == (list(WHOLE_ERRORS[client]), list(WHOLE_ERRORS[client]["error"]))
    assert body["error"]["message"] == "slow"
