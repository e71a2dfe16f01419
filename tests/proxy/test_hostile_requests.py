"""Requests that would have a key or themselves sent elsewhere: where they go is told by the route, and by nothing they hold (R19).

CVE-2024-6587 is the model: a body's `api_base` had a proxy send its own key to a stranger.
"""

import base64
import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from mitmproxy import http

from tests.support.addon import Proxy, log, proxy, sent
from tests.support.echoes import chat, forms, seen
from tests.support.hostile_flows import CLIENTS, UPSTREAMS, ask, routed
from tests.support.routed_flows import THEIRS
from tests.support.routes import SECRET

__all__ = ["log", "proxy", "routed"]

EVIL = "https://evil.example:8443/v1"
NAMES = ("api_base", "base_url", "apiBase", "baseURL", "api_url", "endpoint", "url", "host", "server", "proxy", "proxies", "api_key", "api_version", "custom_llm_provider")


def everywhere(value: Any) -> Any:
    """The same with all of these names in every object, at any depth."""
    if isinstance(value, dict):
        return dict.fromkeys(NAMES, EVIL) | {key: everywhere(inner) for key, inner in value.items()}
    return [everywhere(inner) for inner in value] if isinstance(value, list) else value


BODIES: dict[str, Any] = {
    "at the top": lambda body: body | dict.fromkeys(NAMES, EVIL),
    "in the tools": lambda body: body | {"tools": everywhere(body["tools"])},
    "in the metadata": lambda body: body | {"metadata": dict.fromkeys(NAMES, EVIL), "extra_body": {"api_base": EVIL}},
    "in objects": lambda body: body | {name: {"url": EVIL, "api_base": EVIL} for name in NAMES},
    "everywhere": everywhere,
    "in the model": lambda body: body | {"model": f"{EVIL}/m"},
    "in the model, as a path": lambda body: body | {"model": "../../../evil.example/m?api_base=https://evil.example#"},
    "in the model, as lines": lambda body: body | {"model": "m\r\nHost: evil.example\r\n\r\n"},
}

HEADERS: dict[str, dict[str, str]] = {
    "a Host": {"host": "evil.example"},
    "a Host with a port": {"host": "evil.example:8443"},
    "a Host with a key": {"host": "me:sk@evil.example"},
    "a forwarded host": {"x-forwarded-host": "evil.example", "forwarded": "host=evil.example", "x-forwarded-proto": "http"},
    "a base": {"x-api-base": EVIL, "api-base": EVIL, "x-base-url": EVIL, "helicone-target-url": EVIL, "x-portkey-custom-host": EVIL},
    "a way to rewrite": {"x-original-url": EVIL, "x-rewrite-url": EVIL, "x-http-method-override": "GET", "destination": EVIL},
    "lines in a header": {"user-agent": "a\r\nHost: evil.example"},
}

PATHS = {
    "a query": "?api_base=https://evil.example&key=x",
    "a fragment": "#@evil.example",
    "a slash": "/",
}


def check(flow: http.HTTPFlow, upstream: str, *, key: bool = True) -> None:
    """It went to the route's upstream with the route's key, or was answered here; nothing goes anywhere else."""
    request = flow.request
    if flow.response:
        assert flow.response.status_code in (400, 404)
        assert SECRET.encode() not in (flow.response.content or b"")
        return
    assert request.url == UPSTREAMS[upstream]
    assert (request.method, request.headers["host"]) == ("POST", UPSTREAMS[upstream].split("/")[2])
    held = {name: value for name, value in request.headers.items() if SECRET in value}
    assert held == ({("x-api-key" if upstream == "messages" else "authorization"): SECRET if upstream == "messages" else f"Bearer {SECRET}"} if key else {})
    told = repr([request.headers.fields, request.data.host, request.data.authority, request.data.path])
    assert "evil.example" not in told
    assert THEIRS not in told
    assert all(b"\r" not in part and b"\n" not in part for field in request.headers.fields for part in field)


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_bodies(routed: Proxy, tmp_path: Path, client: str, upstream: str, body: Any) -> None:
    flow = ask(routed, tmp_path, client, upstream, body)
    check(flow, upstream)


@pytest.mark.parametrize("key", [True, False], ids=["key", "no key"])
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS)
def test_headers(routed: Proxy, tmp_path: Path, upstream: str, headers: dict[str, str], key: bool) -> None:
    check(ask(routed, tmp_path, "messages", upstream, key=key, **headers), upstream, key=key)


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("suffix", PATHS.values(), ids=PATHS)
def test_paths(routed: Proxy, tmp_path: Path, upstream: str, suffix: str) -> None:
    flow = ask(routed, tmp_path, "chat", upstream, suffix=suffix)
    if "#" in suffix and not flow.response:  # it is no path of ours: it goes where the client sends it, without our key
        assert flow.request.host == "llm.invalid"
        assert SECRET not in repr(flow.request.get_state())
    else:
        check(flow, upstream)


@pytest.mark.parametrize("named", ["route.example", "route.example:444", "ROUTE.example."])
def test_a_host_header_does_not_make_the_clients_key_the_routes(routed: Proxy, tmp_path: Path, named: str) -> None:
    """A client that calls a stranger's host under the name of the upstream's keeps its key."""
    flow = ask(routed, tmp_path, "messages", "messages", key=False, host=named)
    assert flow.request.url == UPSTREAMS["messages"]
    assert THEIRS not in repr(flow.request.get_state())


LOCATIONS = {
    "elsewhere": "https://evil.example/v1/messages",
    "without a scheme": "//evil.example/v1/messages",
    "with a key": f"https://evil.example/?key={SECRET}",
    "to a path": "/v2/messages",
    "to http": "http://route.example/v1/messages",
}


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", LOCATIONS.values(), ids=LOCATIONS)
def test_redirects(routed: Proxy, tmp_path: Path, location: str, status: int, streamed: bool) -> None:
    """None reaches the client, which would follow with its body and its own key; and none is followed here."""
    flow = ask(routed, tmp_path, "messages", "messages", lambda body: body | {"stream": streamed})
    flow.response = http.Response.make(status, b"", {"location": location, "refresh": f"0; url={location}", "content-location": location})
    flow.response.raw_content = None
    routed.addon.responseheaders(flow)
    assert flow.response.stream is False
    flow.response.raw_content = b'{"moved":true}'
    routed.addon.response(flow)
    assert flow.response.status_code == 500
    assert not {"location", "refresh", "content-location"} & {name.lower() for name in flow.response.headers}
    said = flow.response.content or b""
    assert SECRET.encode() not in said
    assert json.loads(said)["type"] == "error"
    assert flow.request.url == UPSTREAMS["messages"]


ERRORS: dict[str, tuple[bytes, ...]] = {
    "chat": (
        b'data: {"error":{"message":"Incorrect API key provided: %s","code":401}}\n\n',
        b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}\n\ndata: {"id":"c","error":"%s","choices":[{"index":0,"delta":{}}]}\n\n',
        b'data: {"detail":"bad %s"}\n\n',
    ),
    "messages": (b'event: error\ndata: {"type":"error","error":{"type":"authentication_error","message":"bad %s"}}\n\n',),
    "responses": (
        b'event: error\ndata: {"type":"error","code":"x","message":"bad %s","param":null}\n\n',
        b'event: response.failed\ndata: {"type":"response.failed","response":{"id":"r","status":"failed","output":[],"error":{"code":"x","message":"bad %s"}}}\n\n',
    ),
}


def streamed(routed: Proxy, flow: http.HTTPFlow, *chunks: bytes) -> bytes:
    flow.response = http.Response.make(200, b"", {"content-type": "text/event-stream"})
    flow.response.raw_content = None
    routed.addon.responseheaders(flow)
    assert callable(flow.response.stream)
    parts = [flow.response.stream(chunk) for chunk in (*chunks, b"")]
    return b"".join(part if isinstance(part, bytes) else b"".join(part) for part in parts)


@pytest.mark.parametrize(("upstream", "error"), [(upstream, error) for upstream, errors in ERRORS.items() for error in errors])
@pytest.mark.parametrize("client", CLIENTS)
def test_errors_in_a_stream(routed: Proxy, tmp_path: Path, client: str, upstream: str, error: bytes) -> None:
    """They are told, and without the route's key, which is none of the client's."""
    out = streamed(routed, ask(routed, tmp_path, client, upstream), error % SECRET.encode())
    assert b"*" * len(SECRET) in out
    assert SECRET.encode() not in out


@pytest.mark.parametrize(("stream", "called"), [(False, "text/event-stream"), (False, "application/json"), (True, "application/json")])
@pytest.mark.parametrize(("upstream", "error"), [(upstream, error) for upstream, errors in ERRORS.items() for error in errors])
@pytest.mark.parametrize("client", CLIENTS)
def test_errors_in_a_stream_that_came_whole(
    routed: Proxy, tmp_path: Path, client: str, upstream: str, error: bytes, stream: bool, called: str
) -> None:
    """To a client that asked for none, or under another name."""
    flow = ask(routed, tmp_path, client, upstream, lambda body: body | {"stream": stream})
    flow.response = http.Response.make(200, error % SECRET.encode(), {"content-type": called})
    routed.addon.responseheaders(flow)
    routed.addon.response(flow)
    out = flow.response.content or b""
    assert SECRET.encode() not in out
    if client != upstream or stream:  # else it is told that there was a stream, and no more
        assert b"*" * len(SECRET) in out
    assert SECRET.encode() not in out


SPELLED = {
    # what writes it so: a key of base64
    "PHP": lambda key: key.replace("/", "\\/"),
    ".NET": lambda key: key.replace("+", "\\u002B"),
    "Gson": lambda key: key.replace("=", "\\u003d"),
}


@pytest.mark.parametrize("kind", ["a stream", "an error", "an error behind 200", "no JSON"])
@pytest.mark.parametrize("writer", SPELLED)
@pytest.mark.parametrize(("client", "upstream"), [*((api, api) for api in CLIENTS), ("messages", "chat")])
def test_a_key_that_json_spells_otherwise(
    routed: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str, upstream: str, writer: str, kind: str
) -> None:
    key = "sk-aB+cd/efGh12345678=="
    monkeypatch.setenv("ROUTE_KEY", key)
    error = ERRORS[upstream][0] % SPELLED[writer](key).encode()
    if kind == "a stream":
        out = streamed(routed, ask(routed, tmp_path, client, upstream), error)
    else:
        flow = ask(routed, tmp_path, client, upstream, lambda body: body | {"stream": False})
        body = error.partition(b"data: ")[2].strip().removeprefix(b"{" * (kind == "no JSON"))
        flow.response = http.Response.make(200 if "200" in kind else 401, body, {"content-type": "application/json"})
        routed.addon.responseheaders(flow)
        routed.addon.response(flow)
        out = flow.response.content or b""
    assert b"efGh12345678" not in out
    assert b"*" * len(key) in out


@pytest.mark.parametrize("client", CLIENTS)
def test_the_words_of_a_model_stay(routed: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str) -> None:
    """The key of a local server is a word."""
    monkeypatch.setenv("ROUTE_KEY", "lm-studio")
    said = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"error: lm-studio"}}]}\n\n'
    half = said.index(b'"}}') + 1
    for chunks in ((said,), (said[:half], said[half:]), (said[:20], said[20:])):
        assert b"lm-studio" in streamed(routed, ask(routed, tmp_path, client, "chat"), *chunks)


SAID: dict[str, str] = {
    # what an upstream of each API says, with the key in it
    "chat": 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n',
    "messages": 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}\n\n',
    "responses": 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"%s"}\n\n',
}
BEGUN: dict[str, str] = {
    "chat": "",
    "messages": 'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m","usage":{}}}\n\n'
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
    "responses": 'event: response.created\ndata: {"type":"response.created","response":{"id":"r","object":"response","status":"in_progress","output":[]}}\n\n',
}


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_no_stream_holds_the_key(subtests: pytest.Subtests, routed: Proxy, tmp_path: Path, client: str, upstream: str) -> None:
    """In any form, as an error or as words of the model, in one chunk or cut, mended or not."""
    routed.set(flows="off")
    bodies = {name: body for name, body in forms(SECRET).items() if "Gemini" not in name and "Ollama" not in name}
    for size in (1, 3, 7):
        deltas = [SAID[upstream] % SECRET[at : at + size] for at in range(0, len(SECRET), size)]
        bodies[f"words of {size}"] = (BEGUN[upstream] + "".join(deltas)).encode()
    for name, body in bodies.items():
        for cut in (len(body), 1 if len(body) < 300 else 11):
            with subtests.test(f"{name}, cut at {cut}"):
                chunks = [body[at : at + cut] for at in range(0, len(body), cut)]
                assert not seen(streamed(routed, ask(routed, tmp_path, client, upstream), *chunks), SECRET)


@pytest.mark.parametrize("dialects", ["auto", "off"])
def test_no_coding_hides_the_key(routed: Proxy, tmp_path: Path, dialects: str) -> None:
    """Also where nothing is mended, and the stream would pass coded."""
    body = chat("It is ", SECRET[:9], SECRET[9:], ".")
    routed.set(dialects=dialects)
    flow = ask(routed, tmp_path, "chat", "chat")
    flow.response = http.Response.make(200, b"", {"content-type": "text/event-stream", "content-encoding": "gzip"})
    flow.response.raw_content = None
    routed.addon.responseheaders(flow)
    out = b"".join(sent(flow.response, chunk) for chunk in (gzip.compress(body)[:50], gzip.compress(body)[50:], b""))
    assert "content-encoding" not in flow.response.headers
    assert b"It is " in out
    assert not seen(out, SECRET)
    flow = ask(routed, tmp_path, "chat", "chat")
    flow.response = http.Response.make(200, b"", {"content-type": "text/event-stream", "content-encoding": "gzip"})
    flow.response.raw_content = None
    routed.addon.responseheaders(flow)
    assert b"cannot be undone" in sent(flow.response, SECRET.encode()) + sent(flow.response, b"")
    routed.set(dialects="auto")


def test_neither_headers_nor_trailers_nor_the_reason_hold_the_key(routed: Proxy, tmp_path: Path) -> None:
    for whole in (True, False):
        flow = ask(routed, tmp_path, "chat", "chat", lambda body, whole=whole: body | {"stream": not whole})
        coded = base64.b64encode(SECRET.encode()).decode()
        named = {"x-request-id": SECRET, "openai-processing-ms": SECRET.encode().hex(), "retry-after": coded, "openai-version": quote(f"a {SECRET}"), "openai-organization": "mine"}
        flow.response = http.Response.make(200, b"", {"content-type": "application/json" if whole else "text/event-stream", SECRET: "1", **named})
        flow.response.reason = f"OK {SECRET}"
        flow.response.raw_content = b'{"id":"c","choices":[{"index":0,"message":{"content":"Hello."}}]}' if whole else None
        routed.addon.responseheaders(flow)
        if not whole:
            sent(flow.response, b"data: [DONE]\n\n")
        flow.response.trailers = http.Headers(x_sum=SECRET)
        routed.addon.response(flow)
        told = repr((flow.response.headers.fields, flow.response.reason, flow.response.trailers))
        assert not seen(told.encode(), SECRET)


@pytest.mark.parametrize("stream", [True, False])
def test_no_whole_body_holds_the_key(subtests: pytest.Subtests, routed: Proxy, tmp_path: Path, stream: bool) -> None:
    for name, body in forms(SECRET).items():
        for status in (200, 401):
            with subtests.test(f"{name}, {status}"):
                flow = ask(routed, tmp_path, "messages", "messages", lambda body: body | {"stream": stream})
                flow.response = http.Response.make(status, body, {"content-type": "application/json"})
                routed.addon.responseheaders(flow)
                routed.addon.response(flow)
                assert not seen(flow.response.content or b"", SECRET)
