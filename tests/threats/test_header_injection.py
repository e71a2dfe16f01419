"""Line ends and other things that end a header, in every field that reaches one, or a path, or an event of another API (R18, R19).

e2e/test_threats_injection.py has the socket's view of some of these; here are all pairs of APIs and all the headers, hook by hook.

Rule of this file: a flow's headers are looked at as mitmproxy writes them, byte by byte.
"""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from mitmproxy import http

from tests.support.addon import LEAK, Log, Proxy, answered, asked, log, proxy, sent
from tests.support.hostile_flows import CLIENTS, UPSTREAMS, ask, routed
from tests.support.other_api_streams import gemini_chunks, gemini_request, gemini_sse
from tests.support.routes import SECRET
from tests.support.streams import chunk, event
from toolmend.core.sse import SseDecoder
from toolmend.pipeline.pipeline import Pipeline

__all__ = ["log", "proxy", "routed"]

EVIL: dict[str, str] = {
    "CRLF": 'a\r\nX-Injected: yes\r\n\r\nevent: injected\r\ndata: {"injected":1}\r\n\r\n',
    "LF": "a\nX-Injected: yes\n\nevent: injected\n\n",
    "CR": "a\rX-Injected: yes\r\revent: injected\r\r",
    "NUL": "a\0X-Injected: yes\0",
    "NBSP": "a\u00a0X-Injected:\u0085yes\u2028event: injected\u2029",
    "controls": "".join(map(chr, range(32))) + "\x7f\x80",
    "long": "a" * 70_000,
}
evil = pytest.mark.parametrize("evil", EVIL.values(), ids=EVIL)
pairs = pytest.mark.parametrize(("client", "upstream"), [(one, other) for one in CLIENTS for other in UPSTREAMS])


def harmless(headers: http.Headers) -> None:
    for name, value in headers.fields:
        assert re.fullmatch(rb"[!-9;-~]+", name)
        assert re.fullmatch(rb"[ -~]*", value), (name, value)
        assert len(value) <= 16 * 1024
        assert name.lower() != b"x-injected"


# headers

ASKED = (
    "accept", "accept-language", "anthropic-beta", "anthropic-dangerous-direct-browser-access", "anthropic-version", "content-type",
    "cookie", "http-referer", "idempotency-key", "openai-beta", "openai-organization", "request-id", "traceparent", "user-agent",
    "x-app", "x-goog-api-key", "x-request-id", "x-stainless-retry-count", "x-title",
)  # fmt: skip
SAID = (
    "anthropic-organization-id", "anthropic-ratelimit-requests-limit", "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-unified-status", "cache-control", "date", "openai-model",
    "openai-processing-ms", "request-id", "retry-after", "retry-after-ms", "x-accel-buffering", "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens", "x-request-id", "x-should-retry", "x-upstream-request-id",
)  # fmt: skip


@evil
@pairs
def test_headers_of_a_request(routed: Proxy, tmp_path: Path, client: str, upstream: str, evil: str) -> None:
    """Without a key of the route's, so that the client's own is looked for."""
    more = dict.fromkeys(ASKED, evil) | {"authorization": f"Bearer {evil}", "x-api-key": evil}
    flow = ask(routed, tmp_path, client, upstream, key=False, **more)
    assert flow.response is None
    assert flow.request.url == UPSTREAMS[upstream]
    harmless(flow.request.headers)


ERROR = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
ANSWERS: dict[str, tuple[int, str, bytes]] = {
    "a stream": (200, "text/event-stream", b""),
    "an error": (429, "application/json", json.dumps(ERROR).encode()),
    "an error behind 200": (200, "application/json", json.dumps(ERROR).encode()),
    "an error as a stream": (500, "text/event-stream", event(ERROR)),
    "a page": (502, "text/html", b"<html>"),
    "a redirect": (307, "text/plain", b""),
    "nothing": (200, "application/json", b""),
}


@pairs
@pytest.mark.parametrize("kind", ANSWERS)
def test_headers_of_an_answer(routed: Proxy, tmp_path: Path, client: str, upstream: str, kind: str) -> None:
    """All of these in each, one after the other."""
    status, content_type, body = ANSWERS[kind]
    flow = ask(routed, tmp_path, client, upstream)
    response = answered(flow, None, status)
    given = [(name, value) for value in EVIL.values() for name in (*SAID, "location", "set-cookie", "x-kept")]
    given.append(("content-type", f"{content_type}; charset={''.join(EVIL.values())}"))
    response.headers = http.Headers([(name.encode(), value.encode()) for name, value in given])
    routed.addon.responseheaders(flow)
    if callable(response.stream):
        sent(response, b"")
    else:
        response.raw_content = body
    routed.addon.response(flow)
    harmless(response.headers)
    assert "set-cookie" not in response.headers


# what a model says, from each API to each


TOLD = ("SENTINELid", "SENTINELmodel", "SENTINELcall", "SENTINELname", "SENTINELargument", "SENTINELtext", "SENTINELthought")


def clean() -> bytes:
    """A stream of Chat Completions with a word of its own in each field."""
    more = {"id": TOLD[0], "model": TOLD[1]}
    call = {"index": 0, "id": TOLD[2], "type": "function", "function": {"name": TOLD[3], "arguments": json.dumps({"a": TOLD[4]})}}
    deltas = [{"role": "assistant", "reasoning_content": TOLD[6]}, {"content": TOLD[5]}, {"tool_calls": [call]}]
    return b"".join(event(chunk(delta, **more)) for delta in deltas) + event(chunk({}, "tool_calls", **more)) + event("[DONE]")


def asks(api: str) -> dict[str, Any]:
    return {"model": "m", "stream": True} | CLIENTS[api][1]


def translated(body: bytes, source: str, target: str) -> bytes:
    pipeline = Pipeline(asks(target), source=source, target=target)
    return pipeline.feed(body) + pipeline.close()


@evil
@pairs
def test_what_a_model_says(client: str, upstream: str, evil: str) -> None:
    plain = translated(clean(), "chat", upstream)
    for field in TOLD:
        body = plain.replace(field.encode(), json.dumps(evil)[1:-1].encode())
        out = translated(body, upstream, client)
        assert len(SseDecoder().feed(out)) == out.count(b"\n\n")
        assert b"\r" not in out
        for line in out.split(b"\n"):
            name, _, value = line.partition(b": ")
            assert name in (b"", b"data", b"event")
            assert value != b"injected"
            assert name != b"data" or value == b"[DONE]" or isinstance(json.loads(value), dict)


# what a client says of the past


HISTORY: dict[str, Any] = {
    "chat": lambda evil: {
        "messages": [
            {"role": "user", "name": evil, "content": evil},
            {"role": "assistant", "tool_calls": [{"id": evil, "type": "function", "function": {"name": evil, "arguments": json.dumps({evil: evil})}}]},
            {"role": "tool", "tool_call_id": evil, "content": evil},
        ]
    },
    "messages": lambda evil: {
        "messages": [
            {"role": "user", "content": evil},
            {"role": "assistant", "content": [{"type": "tool_use", "id": evil, "name": evil, "input": {evil: evil}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": evil, "content": evil}]},
        ]
    },
    "responses": lambda evil: {
        "previous_response_id": None,
        "input": [
            {"type": "message", "role": "user", "id": evil, "content": evil},
            {"type": "function_call", "id": evil, "call_id": evil, "name": evil, "arguments": json.dumps({evil: evil})},
            {"type": "function_call_output", "call_id": evil, "output": evil},
        ],
    },
}  # fmt: skip


@evil
@pairs
def test_ids_and_names_of_the_past(routed: Proxy, tmp_path: Path, client: str, upstream: str, evil: str) -> None:
    flow = ask(routed, tmp_path, client, upstream, lambda body: body | HISTORY[client](evil) | {"model": evil})
    if flow.response:
        assert flow.response.status_code == 400
        harmless(flow.response.headers)
        return
    assert flow.request.url == UPSTREAMS[upstream]
    harmless(flow.request.headers)
    assert isinstance(json.loads(flow.request.content or b""), dict)


# a model in a path


@evil
@pytest.mark.parametrize("escape", [".", "../../", "%2e%2e%2f"])
def test_a_model_in_a_path(proxy: Proxy, log: Log, tmp_path: Path, evil: str, escape: str) -> None:
    """The path goes on as it came; log and recording have the model on one line, in a folder of ours."""
    path = f"/v1beta/models/{quote(evil, safe='')}{escape}x:streamGenerateContent?alt=sse"
    flow = asked(host="generativelanguage.googleapis.com", path=path, body=json.dumps(gemini_request()).encode())
    proxy.run(flow, [gemini_sse(gemini_chunks([LEAK.decode()[:9]]))])
    assert flow.request.path == path
    for kept in proxy.recordings():
        assert len(kept["model"]) <= 200
    assert all(message.isprintable() for _, message in log())
    assert {file.parents[2] for file in tmp_path.rglob("meta.json")} == {proxy.flows}


@evil
@pytest.mark.parametrize("anthropic", [True, False])
def test_a_model_that_is_answered_here(routed: Proxy, tmp_path: Path, evil: str, anthropic: bool) -> None:
    ask(routed, tmp_path, "messages", "chat")
    flow = asked(host="llm.invalid", path=f"/v1/models/{quote(evil, safe='')}", method="GET", body=b"")
    if anthropic:
        flow.request.headers["anthropic-version"] = evil
    routed.ask(flow)
    assert flow.response is not None
    harmless(flow.response.headers)
    assert isinstance(json.loads(flow.response.content or b""), dict)
    assert SECRET not in repr(flow.get_state())
