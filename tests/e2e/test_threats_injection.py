"""Line ends and other things that end a header or an event, in every field that a request or an answer brings (R18).

Rule of this file: what the upstream and the client get is read from the socket, by a reader that forgives nothing. However a
field is told, there is one request, one answer, and no header, event or line that somebody else wrote.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients import Raw, Reply, Serve, Start, chunks, parse
from tests.support.streams import WEATHER, chunk, event
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script

EVIL = {
    "CRLF": 'a\r\nX-Injected: yes\r\n\r\ndata: {"injected":1}\r\n\r\n',
    "LF": 'a\nX-Injected: yes\n\nevent: injected\ndata: {"injected":1}\n\n',
    "CR": "a\rX-Injected: yes\r\revent: injected\r\r",
    "NUL": "a\0X-Injected: yes\0",
    "NBSP": "a\u00a0X-Injected:\u0085yes\u2028event: injected\u2029",
    "long": "a" * 70_000,
    "controls": "".join(map(chr, range(32))) + "\x7f",
    "surrogate": "a\ud800b",
}

ANSWERS: dict[str, Callable[[str], list[dict[str, Any]]]] = {
    # deltas of an upstream that has the text in one place
    "content": lambda evil: [chunk({"content": evil})],
    "model": lambda evil: [chunk({"content": "x"}, model=evil)],
    "id": lambda evil: [chunk({"content": "x"}, id=evil)],
    "fingerprint": lambda evil: [chunk({"content": "x"}, system_fingerprint=evil, provider=evil)],
    "a call's id": lambda evil: [
        chunk({"tool_calls": [{"index": 0, "id": evil, "function": {"name": "get_weather", "arguments": "{}"}}]})
    ],
    "a call's name": lambda evil: [
        chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": evil, "arguments": "{}"}}]})
    ],
    "a call's arguments": lambda evil: [
        chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "get_weather", "arguments": evil}}]})
    ],
    "leaked name": lambda evil: [
        chunk(
            {
                "content": f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{evil}:0<|tool_call_argument_begin|>{{}}<|tool_call_end|><|tool_calls_section_end|>"
            }
        )
    ],
    "leaked arguments": lambda evil: [
        chunk(
            {
                "content": f"<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{evil}<|tool_call_end|><|tool_calls_section_end|>"
            }
        )
    ],
    "reasoning": lambda evil: [chunk({"reasoning_content": evil})],
    "a reason": lambda evil: [chunk({"content": "x"}), chunk({}, evil)],
    "an error": lambda evil: [{"error": {"message": evil, "type": evil, "code": evil, "param": evil}}],
    "a role": lambda evil: [chunk({"role": evil, "content": "x"})],
}

REQUESTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "model": lambda evil: {"model": evil},
    "user": lambda evil: {"metadata": {"user_id": evil}, "user": evil},
    "stop": lambda evil: {"stop_sequences": [evil], "stop": [evil]},
    "tool": lambda evil: {"tools": [{"name": evil, "input_schema": {"type": "object"}}]},
    "choice": lambda evil: {"tool_choice": {"type": "tool", "name": evil}},
    "system": lambda evil: {"system": evil, "service_tier": evil},
    "effort": lambda evil: {"thinking": {"type": evil}, "reasoning_effort": evil, "reasoning": {"effort": evil}},
}
ASK = {"model": "claude", "max_tokens": 99, "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
ROUTES = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
HELLO = event(chunk({"role": "assistant", "content": "Hello."})) + event(chunk({}, "stop")) + b"data: [DONE]\n\n"


def ask(proxy: Mitmdump, url: str, path: str, body: dict[str, Any], *headers: str) -> Reply:
    data = json.dumps(body).encode()
    with Raw(proxy, url, alpn=("http/1.1",)) as raw:
        lines = [
            f"POST {path} HTTP/1.1",
            f"Host: {raw.host}",
            "Content-Type: application/json",
            f"Content-Length: {len(data)}",
            "Connection: close",
        ]
        raw.send("\r\n".join([*lines, *headers, "", ""]).encode() + data)
        got = raw.read_until(b"\r\n\r\n")
        chunked = b"transfer-encoding: chunked" in got.lower()
        while not (got.endswith(b"\r\n0\r\n\r\n") if chunked else parse(got).terminated):
            more = raw.sock.recv(65536)  # behind a route the connection stays open
            assert more, got[-500:]
            got += more
        return parse(got)


def check(reply: Reply) -> None:
    """One answer, whose lines are all its own."""
    assert reply.terminated
    assert reply.rest == b""
    head = reply.raw.partition(b"\r\n\r\n")[0]
    assert b"x-injected" not in head.lower()
    assert all(len(line) < 20_000 for line in head.split(b"\r\n"))
    assert b"\n" not in head.replace(b"\r\n", b"")
    for line in reply.body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
        assert line.partition(b":")[0] in (b"", b"data", b"event") or line.startswith((b"{", b" ", b"}"))
        assert line not in (b"event: injected", b'data: {"injected":1}')


def lines_are_ours(proxy: Mitmdump) -> None:
    assert "Traceback" not in proxy.log
    assert not [line for line in proxy.log.splitlines() if line.startswith(("X-Injected", "event: injected", "data:"))]


@pytest.fixture
def routed(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Mitmdump]:
    monkeypatch.setenv("ROUTE_KEY", "sk-route-0123456789abcdef")

    def routed(url: str) -> Mitmdump:
        file = tmp_path / "own.toml"
        tables = [
            f'[[route]]\nfrom = "https://{api}.invalid"\nto = "{url}{path}"\nkey = "env:ROUTE_KEY"\n'
            for api, path in ROUTES.items()
        ]
        file.write_text("\n".join(tables))
        return start(toolmend_config=str(file))

    return routed


def test_what_a_model_says(proxy: Mitmdump, routed: Callable[[str], Mitmdump], serve: Serve) -> None:
    """To a client of the same API, and to one of another."""
    bodies = [
        b"".join(event(data) for data in make(evil)) + event(chunk({}, "stop")) + b"data: [DONE]\n\n"
        for make in ANSWERS.values()
        for evil in EVIL.values()
    ]
    mended = serve(*(Script(chunks(body)) for body in bodies))
    translated = serve(*(Script(chunks(body)) for body in bodies))
    other = routed(translated.url)
    for number, body in enumerate(bodies):
        check(ask(proxy, mended.url, "/v1/chat/completions", WEATHER))
        check(ask(other, "https://chat.invalid:443", "/v1/messages", ASK))
        assert (len(mended.requests), len(translated.requests)) == (number + 1, number + 1), body
    assert "Traceback" not in other.log


def test_what_a_client_asks(routed: Callable[[str], Mitmdump], serve: Serve) -> None:
    cases = [make(evil) for make in REQUESTS.values() for evil in EVIL.values()]
    upstream = serve(*[Script(chunks(HELLO))] * (2 * len(cases)))
    proxy = routed(upstream.url)
    for more in cases:
        for api in ROUTES:
            before = len(upstream.requests)
            check(ask(proxy, f"https://{api}.invalid:443", "/v1/messages", ASK | more))
            assert len(upstream.requests) <= before + 1
    assert {one.path for one in upstream.requests} <= set(ROUTES.values())
    for one in upstream.requests:
        assert "x-injected" not in {name.lower() for name, _ in one.headers}
        assert all(value.isascii() and value.isprintable() and len(value) < 20_000 for _, value in one.headers)
        assert isinstance(json.loads(one.body), dict)
    lines_are_ours(proxy)


def test_what_an_upstream_fails_with(routed: Callable[[str], Mitmdump], serve: Serve) -> None:
    """The error's words become the client's, and no line of the log."""
    errors = [
        json.dumps({"error": {"message": evil, "type": evil, "code": evil, "param": evil}}).encode() for evil in EVIL.values()
    ]
    upstream = serve(
        *(
            Script(((0, error),), status=status, headers=(("content-type", "application/json"),))
            for error in errors
            for status in (200, 400, 429, 500)
        )
    )
    proxy = routed(upstream.url)
    for _ in range(4 * len(errors)):
        reply = ask(proxy, "https://chat.invalid:443", "/v1/messages", ASK)
        check(reply)
        if reply.header("content-type") == "application/json":
            assert json.loads(reply.body)["type"] == "error"
    lines_are_ours(proxy)


HEADERS = {"CR": "a\rX-Injected: yes", "LF": "a\nX-Injected: yes", "NUL": "a\0b", "NBSP": "a\u00a0b\u0085", "long": "a" * 20_000}
"""What a header of HTTP/1 can be made to bring; the rest ends it."""
ASKED = ("User-Agent", "X-Request-Id", "Accept-Language", "OpenAI-Beta", "X-Title")
SAID = ("x-request-id", "retry-after", "retry-after-ms", "x-ratelimit-reset-tokens", "cache-control", "content-type")


def test_headers_that_both_bring(routed: Callable[[str], Mitmdump], serve: Serve) -> None:
    """To a client of the same API and to one of another, with an answer and with an error."""
    error = b'{"error":{"message":"slow down","type":"tokens","code":"rate_limit_exceeded"}}'
    kinds = ((200, "text/event-stream", HELLO), (429, "application/json", error))
    scripts = []
    for evil in HEADERS.values():
        for status, kind, body in kinds:
            said = tuple((name, f"{kind}; a={evil}" if name == "content-type" else evil) for name in SAID)
            scripts += [Script(((0, body),), status=status, headers=said)] * 2
    upstream = serve(*scripts)
    proxy = routed(upstream.url)
    for number, evil in enumerate(evil for evil in HEADERS.values() for _ in kinds):
        told = [f"{name}: {evil}" for name in ASKED]
        for more, (path, body) in enumerate((("/v1/chat/completions", WEATHER), ("/v1/messages", ASK))):
            reply = ask(proxy, "https://chat.invalid:443", path, body, *told)
            check(reply)
            assert all(char.isprintable() and char.isascii() for _, value in reply.headers for char in value)
            assert len(upstream.requests) <= 2 * number + more + 1
    for one in upstream.requests:
        assert "x-injected" not in {name for name, _ in one.headers}
        assert all(value.isascii() and value.isprintable() and len(value) < 20_000 for _, value in one.headers)
    assert len(upstream.requests) >= 12  # of 20: what the proxy itself refuses is none
    lines_are_ours(proxy)
