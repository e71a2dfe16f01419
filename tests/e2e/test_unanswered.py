"""A route's upstream that gives no answer, each in its way: the client has an error of its own API, and its next request an answer.

Where there is no route, the client has what mitmproxy says.
"""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import StreamEnded

from tests.e2e.bare_upstream import BareUpstream
from tests.e2e.clients import CHAT, context_for, http2_options, recording
from tests.support.streams import stream
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.fixtures.verification import check
from toolmend.recordings.playback.server import make_certificate
from toolmend.recordings.read.replay import load

type Serving = Callable[[socket.socket], None]

HELLO = stream(["Hello."])
PATHS = {"messages": "/v1/messages", "chat": CHAT, "responses": "/v1/responses"}
ASKS: dict[str, dict[str, Any]] = {
    "messages": {"max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Hello"}]},
    "chat": {"stream": True, "messages": [{"role": "user", "content": "Hello"}]},
    "responses": {"stream": True, "input": "Hello"},
}


def asked(connection: socket.socket) -> bool:
    """Whether a request came; it is read to its end."""
    got = b""
    while b"\r\n\r\n" not in got or not got.endswith(b"}"):
        data = connection.recv(65536)
        if not data:
            return False
        got += data
    return True


def says(answer: bytes, *, then: str = "closes") -> Serving:
    """Reads a request and answers it; then it `closes`, `resets`, or `waits` until the other side closes; or it `ends`, as TLS does."""

    def serve(connection: socket.socket) -> None:
        if not asked(connection):
            return
        connection.sendall(answer)
        if then == "waits":
            while connection.recv(65536):
                pass
        elif then == "ends":
            assert isinstance(connection, ssl.SSLSocket)
            connection.unwrap()
        elif then == "resets":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return serve


def resets(code: ErrorCodes) -> Serving:
    """Reads a request of HTTP/2, and resets its stream."""

    def serve(connection: socket.socket) -> None:
        h2 = H2Connection(H2Configuration(client_side=False))
        h2.initiate_connection()
        connection.sendall(h2.data_to_send())
        while data := connection.recv(65536):
            for event in h2.receive_data(data):
                if isinstance(event, StreamEnded):
                    h2.reset_stream(event.stream_id, code)
            connection.sendall(h2.data_to_send())

    return serve


GOOD = says(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%b" % (len(HELLO), HELLO))
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = WHOLE + b"Transfer-Encoding: chunked\r\n\r\n"
SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "
FAULTS: dict[str, tuple[str, Serving, str]] = {
    # the route's model, what its upstream does, and some of the words
    "refused": ("refused", says(b""), "Connect call failed"),
    "another certificate": ("stranger", says(b""), "ssl_verify_upstream_trusted_ca"),
    "no TLS": ("no-tls", lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "cannot be reached"),
    "closes": ("broken", says(b""), "response is incomplete (server closed connection)"),
    "resets": ("broken", says(b"", then="resets"), "response is incomplete (server closed connection)"),
    "no HTTP": ("broken", says(b"SSH-2.0-x\r\n"), "response is incomplete"),
    "no HTTP, and a blank line": ("broken", says(b"SSH-2.0-x\r\n\r\n", then="ends"), "response is incomplete"),
    "a line that is no header": ("broken", says(b"HTTP/1.1 200 OK\r\nhello\r\n\r\n", then="ends"), "Invalid header line"),
    "a chunk that is none": ("broken", says(CHUNKED + b"2\r\n{}\r\nx\r\n", then="ends"), "illegal chunk header"),
    "half a head": ("broken", says(b"HTTP/1.1 200 OK\r\nContent-Ty"), "response is incomplete"),
    "a head that smuggles": ("broken", says(WHOLE + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), "smuggling"),
    "half a body": ("broken", says(WHOLE + b'Content-Length: 99\r\n\r\n{"id":'), "response is incomplete"),
    "resets, in HTTP/2": ("broken-h2", resets(ErrorCodes.INTERNAL_ERROR), "(INTERNAL_ERROR)"),
    "cancels, in HTTP/2": ("broken-h2", resets(ErrorCodes.CANCEL), "(CANCEL)"),
    "wants HTTP/1.1": ("broken-h2", resets(ErrorCodes.HTTP_1_1_REQUIRED), "(HTTP_1_1_REQUIRED)"),
    "switches protocols": ("broken", says(SWITCHING + b"other\r\n\r\n", then="waits"), "answers with status 101"),
    "switches to a socket": ("broken", says(SWITCHING + b"websocket\r\n\r\n", then="waits"), "answers with status 101"),
    "switches, and goes on at once": ("broken", says(SWITCHING + b"other\r\n\r\nHello", then="waits"), "answers with status 101"),
    "hints": ("broken", says(b"HTTP/1.1 103 Early Hints\r\n\r\n", then="waits"), "sends an interim status 103"),
    "nothing has changed": ("broken", says(b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n"), "answers with status 304"),
}


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
NO_ANSWERS: dict[str, tuple[bytes, str]] = {
    # what comes of an answer, and the state of its recording
    "half a body": (WHOLE + b'Content-Length: 99\r\n\r\n{"id":', "upstream_error"),
    "half a chunked body": (WHOLE + b'Transfer-Encoding: chunked\r\n\r\n6\r\n{"id":\r\n', "upstream_error"),
    "half an error": (WHOLE.replace(b"200 OK", b"429 Too") + b'Content-Length: 99\r\n\r\n{"er', "upstream_error"),
    "no body": (STREAM + b"Content-Length: 0\r\n\r\n", "complete"),
    "a page": (STREAM.replace(b"event-stream", b"html") + b"Content-Length: 6\r\n\r\n<html>", "complete"),
    "elsewhere": (b"HTTP/1.1 307 No\r\nLocation: /v2\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>", "complete"),
    "a coding": (WHOLE + b"Content-Encoding: x\r\nContent-Length: 2\r\n\r\n{}", "complete"),
}


class Faulty(BareUpstream):
    """Its next connection is served by `then`, others get a whole answer."""

    then: Serving | None = None

    def serve(self, connection: socket.socket) -> None:
        then, self.then = self.then, None
        (then or GOOD)(connection)


@dataclass
class Routed:
    """A proxy and the upstreams of its routes, by the models they serve; `late` are places where nobody listens yet."""

    proxy: Mitmdump
    upstreams: dict[str, Faulty]
    late: dict[str, socket.socket]
    flows: Path

    def client(self, http2: bool) -> httpx.Client:
        """Either offers both protocols, and the proxy takes what it offers first."""
        return httpx.Client(**http2_options(self.proxy) | ({} if http2 else {"verify": context_for(self.proxy.ca)}))


@pytest.fixture(scope="module")
def routed(
    confdir: Path, options: dict[str, str], certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Routed]:
    folder = tmp_path_factory.mktemp("unanswered")
    stranger = make_certificate(tmp_path_factory.mktemp("stranger"))
    with ExitStack() as stack:
        late = {model: stack.enter_context(socket.socket()) for model in ("refused", "late", "late, HTTP/2")}
        upstreams = {
            "broken": stack.enter_context(Faulty(certificate)),
            "broken-h2": stack.enter_context(Faulty(certificate, "h2")),
            "stranger": stack.enter_context(Faulty(stranger)),
            "no-tls": stack.enter_context(Faulty()),
        }
        places = {model: f"https://{upstream.host}" for model, upstream in upstreams.items()}
        for model, place in late.items():
            place.bind(("127.0.0.1", 0))
            places[model] = f"http://127.0.0.1:{place.getsockname()[1]}"
        lines: list[str] = []
        for model, to in places.items():
            lines += ["[[route]]", 'from = "https://*.invalid"', f'model = "{model}"', f'to = "{to}{CHAT}"']
        file = folder / "toolmend.toml"
        file.write_text("\n".join(lines))
        given = {**options, "toolmend_config": str(file), "toolmend_flows": str(folder / "flows")}
        proxy = stack.enter_context(Mitmdump(given, confdir=confdir))
        yield Routed(proxy, upstreams, late, folder / "flows")
        assert "Traceback" not in proxy.log, proxy.log
        assert "has crashed" not in proxy.log, proxy.log


def error_of(api: str, answer: httpx.Response) -> str:
    """The words of an error of ours, that keeps the rules of its API."""
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    if api == "messages":
        assert (answer.status_code, body["type"], body["error"]["type"]) == (500, "error", "api_error")
        assert answer.headers["request-id"] == body["request_id"]
    else:
        assert (answer.status_code, body["error"]["type"]) == (502, "server_error")
    return str(body["error"]["message"])


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
@pytest.mark.parametrize("api", PATHS)
@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_of_the_clients_own_api(routed: Routed, fault: str, api: str, http2: bool) -> None:
    model, does, words = FAULTS[fault]
    if model in routed.upstreams:
        routed.upstreams[model].then = does
    with routed.client(http2) as client:
        url = f"https://{api}.invalid{PATHS[api]}"
        message = error_of(api, client.post(url, json={**ASKS[api], "model": model}))
        assert words in message
        assert "toolmend.toml:" in message
        again = client.post(url, json={**ASKS[api], "model": "broken"})
        assert (again.status_code, again.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
        assert "Hello." in again.text


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("api", PATHS)
@pytest.mark.parametrize("fault", NO_ANSWERS)
def test_the_recording_has_the_error_and_can_be_played(routed: Routed, fault: str, api: str, stream: bool) -> None:
    answer, state = NO_ANSWERS[fault]
    routed.upstreams["broken"].then = says(answer)
    path = f"{PATHS[api]}?{list(NO_ANSWERS).index(fault)}{stream}"
    with routed.client(http2=False) as client:
        got = client.post(f"https://{api}.invalid{path}", json={**ASKS[api], "stream": stream, "model": "broken"})
    assert error_of(api, got)
    kept = recording(routed.flows, path)
    assert kept.meta["state"] == state
    assert load(kept.folder).client == got.content
    result = check(kept.folder)
    assert result.passed, result


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
def test_an_upstream_that_comes_up(routed: Routed, http2: bool) -> None:
    """A client that tries again on the connection that it has is not told of the first try for ever."""
    model = "late, HTTP/2" if http2 else "late"
    late = routed.late[model]

    def serve() -> None:
        with late.accept()[0] as connection:
            GOOD(connection)

    with routed.client(http2) as client:
        assert "cannot be reached" in error_of("chat", client.post(f"https://a.invalid{CHAT}", json={**ASKS["chat"], "model": model}))
        late.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        answer = client.post(f"https://a.invalid{CHAT}", json={**ASKS["chat"], "model": model})
        assert (answer.status_code, answer.content) == (200, HELLO)
    thread.join()
