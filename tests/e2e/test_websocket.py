"""Responses over WebSocket, as Codex speaks them: a real socket over TLS through a real mitmdump, mended and recorded."""

import itertools
import json
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as websocket
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as listen

from tests.e2e.clients import Share, Start, eventually
from tests.support.judges import responses as responses_judge
from tests.support.upstream_answers import Text, speak
from toolmend.cli.launcher.proxy import Mitmdump, addon_path
from toolmend.proxy.websocket.socket_frames import frames_of
from toolmend.recordings.fixtures.verification import check
from toolmend.recordings.playback.server import Script, Upstream
from toolmend.recordings.read.replay import load, replay

PATH = "/v1/responses"
NUMBERS = itertools.count()
KEY = "sk-test-aaaaaaaaaaaaaaaaaaaaaaaaaaaa"
TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
LEAK = (
    "I will look, 日本.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
    '{"city": "北京"}<|tool_call_end|><|tool_calls_section_end|>'
)
PROSE = "A marker, <|tool_call_begin|> say, 日本 is nothing."

type Frames = list[str | bytes]
type Talk = Callable[[ServerConnection], None]


def frames(text: str, id_: str = "resp_1", **more: Any) -> Frames:
    """The frames of one answer; `more` is in its response object, as an upstream repeats the instructions."""
    said: Frames = []
    for number, frame in enumerate(frames_of(speak("responses", [Text(text)]))):
        event = json.loads(frame) | {"sequence_number": number}
        if "response" in event:
            event["response"] |= {"id": id_, **more}
        said.append(json.dumps(event, ensure_ascii=False))
    return said


def create(**more: Any) -> str:
    return json.dumps({"type": "response.create", "model": "kimi-k2.5", "input": [], "stream": True, **more})


def says(*answers: Frames) -> Talk:
    """An upstream that answers each request with the next of these."""

    def talk(socket: ServerConnection) -> None:
        for answer, _ in zip(answers, requests(socket), strict=False):
            for frame in answer:
                socket.send(frame)

    return talk


def requests(socket: ServerConnection) -> Iterator[Any]:
    for message in socket:
        if json.loads(message)["type"] == "response.create":
            yield message


@pytest.fixture
def serve(certificate: tuple[Path, Path]) -> Iterator[Callable[[Talk], str]]:
    """Starts an upstream; returns its URL, with a path of its own to find its recordings by."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with ExitStack() as stack:

        def serve(talk: Talk) -> str:
            server = stack.enter_context(listen(talk, "127.0.0.1", 0, ssl=context, max_size=None))
            thread = threading.Thread(target=server.serve_forever)
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            thread.start()
            return f"wss://localhost:{server.socket.getsockname()[1]}/test-{next(NUMBERS)}"

        yield serve


@contextmanager
def connect(proxy: Mitmdump, url: str, **more: Any) -> Iterator[ClientConnection]:
    context = ssl.create_default_context(cafile=proxy.ca)
    # the client reads in a thread of its own, and with TLS 1.3 there is something to read at once: at times OpenSSL then sends nothing
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    headers = {"authorization": f"Bearer {KEY}", "openai-beta": "responses_websockets=2026-02-06"}
    options: dict[str, Any] = {"ssl": context, "proxy": proxy.url, "additional_headers": headers, "max_size": None, **more}
    with websocket(f"{url}{PATH}", **options) as socket:
        yield socket


def answer(socket: ClientConnection, request: str) -> Frames:
    """What comes for a request, up to its end."""
    socket.send(request)
    got: Frames = []
    for frame in socket:
        got.append(frame)
        if '"response.completed"' in str(frame):
            break
    return got


def output(frames: Frames) -> list[tuple[str, Any]]:
    """The calls of an answer, that keeps every rule of its API."""
    body = b"".join(b"event: %s\ndata: %s\n\n" % (json.loads(frame)["type"].encode(), str(frame).encode()) for frame in frames)
    heard = responses_judge.read(body)
    assert not heard.faults
    return heard.asked


def recordings(flows: Path, number: int, upstream: str) -> list[dict[str, Any]]:
    """The meta.json of each recording of an upstream, in their order, when all are finished."""

    def look() -> list[dict[str, Any]] | None:
        metas = [json.loads(file.read_bytes()) | {"folder": file.parent} for file in flows.glob("*/*/meta.json")]
        done = [meta for meta in metas if meta["sha256"] and meta["path"] == urlsplit(upstream).path + PATH]
        return sorted(done, key=lambda meta: meta["recorded_at"]) if len(done) == number else None

    return eventually(look)


@pytest.mark.parametrize("compression", ["deflate", None])
def test_a_leaked_call_is_a_call(share: Share, serve: Callable[[Talk], str], flows: Path, compression: str | None) -> None:
    """Two on one socket; the second request says neither its tools nor what was before."""
    upstream = serve(says(frames(LEAK), frames(LEAK, "resp_2")))
    proxy = share()
    with connect(proxy, upstream, compression=compression) as socket:
        for request in (create(tools=[TOOL]), create(previous_response_id="resp_1")):
            assert output(answer(socket, request)) == [("get_weather", {"city": "北京"})]
    first, second = recordings(flows, 2, upstream)
    for meta in (first, second):
        assert (meta["transport"], meta["state"], meta["api"], meta["stream"]) == ("websocket", "complete", "responses", True)
        assert "kimi_k2" in meta["rules"]
        assert KEY not in (meta["folder"] / "meta.json").read_text()
        assert replay(load(meta["folder"]))[0] == load(meta["folder"]).client
        assert check(meta["folder"]).passed
    assert frames_of((first["folder"] / "upstream.sse").read_bytes()) == [str(frame).encode() for frame in frames(LEAK)]
    asked = json.loads((second["folder"] / "request.json").read_bytes())
    assert asked["tools"] == [TOOL]
    said = (second["folder"] / "client_messages.jsonl").read_text().splitlines()
    assert [json.loads(line)["message"] for line in said] == [json.loads(create(previous_response_id="resp_1"))]
    assert not (first["folder"] / "client_messages.jsonl").exists()


def test_frames_that_need_no_mending(share: Share, serve: Callable[[Talk], str], flows: Path) -> None:
    """Character for character: blanks and line ends between values, what is no JSON, what is binary."""
    odd: Frames = ['{"type" : "response.custom",\r\n "x": "日本"}\n', "no JSON", "", b"\x00\xff", '{"type":"codex.rate_limits"}']
    said = frames(PROSE)
    sent = [said[0], *odd, *said[1:]]
    proxy, upstream = share(), serve(says(sent))
    with connect(proxy, upstream) as socket:
        assert answer(socket, create(tools=[TOOL])) == sent
    meta = recordings(flows, 1, upstream)[0]
    assert (meta["state"], meta["rules"]) == ("complete", [])


def test_a_binary_frame_behind_what_is_held(share: Share, serve: Callable[[Talk], str]) -> None:
    """It waits there, and is what it was."""
    binary, held, called = b"\x00\xff" * 3000, frames(PROSE), frames(LEAK, "resp_2")
    at = next(at for at, frame in enumerate(held) if "call" in str(json.loads(frame).get("delta"))) + 1
    proxy = share(toolmend_flows="off")
    with connect(proxy, serve(says([*held[:at], binary, *held[at:]], [*called[:at], binary, *called[at:]]))) as socket:
        assert answer(socket, create(tools=[TOOL])) == [*held[:at], binary, *held[at:]]
        got = answer(socket, create(tools=[TOOL]))
    got.remove(binary)
    assert output(got) == [("get_weather", {"city": "北京"})]


def test_large_frames(share: Share, serve: Callable[[Talk], str]) -> None:
    """mitmproxy cuts what was changed and is longer than 4000 bytes, without regard to characters."""
    said = frames(LEAK, instructions="日本" * 50_000)
    proxy = share(toolmend_flows="off")
    with connect(proxy, serve(says(said))) as socket:
        got = answer(socket, create(tools=[TOOL]))
    assert output(got) == [("get_weather", {"city": "北京"})]
    assert got[0] == said[0]
    assert json.loads(got[-1])["response"]["instructions"] == "日本" * 50_000


def test_everything_at_once(share: Share, serve: Callable[[Talk], str]) -> None:
    """All frames and the end of the socket in one write: none is lost, and none overtakes another."""

    def talk(socket: ServerConnection) -> None:
        next(requests(socket))
        sending = socket.protocol
        for frame in frames(LEAK):
            sending.send_text(str(frame).encode())
        sending.send_close(1000)
        socket.socket.sendall(b"".join(sending.data_to_send()))

    proxy = share(toolmend_flows="off")
    with connect(proxy, serve(talk)) as socket:
        assert output(answer(socket, create(tools=[TOOL]))) == [("get_weather", {"city": "北京"})]
        with pytest.raises(ConnectionClosed):
            socket.recv()


@pytest.mark.parametrize("how", ["upstream closes", "upstream closes later", "upstream drops", "client closes"])
def test_an_answer_that_is_cut_off(share: Share, serve: Callable[[Talk], str], flows: Path, how: str) -> None:
    """What was held comes before the end."""
    held = frames(LEAK)
    at = next(at for at, frame in enumerate(held) if "call" in str(json.loads(frame).get("delta")))
    arrived = threading.Event()

    def talk(socket: ServerConnection) -> None:
        next(requests(socket))
        for frame in held[: at + 1]:
            socket.send(frame)
        if how == "upstream drops":
            socket.socket.close()
        elif how != "upstream closes":  # later, so that the proxy reads what closes the socket alone
            arrived.wait(20)

    proxy, upstream = share(), serve(talk)
    with connect(proxy, upstream) as socket:
        socket.send(create(tools=[TOOL]))
        got: Frames = []
        try:
            for frame in socket:
                got.append(frame)
                if len(got) == at - 1:
                    if how == "client closes":
                        break
                    arrived.set()
        except ConnectionClosed:
            pass
    arrived.set()
    meta = recordings(flows, 1, upstream)[0]
    assert meta["state"] == ("client_closed" if how == "client closes" else "upstream_error")
    assert "closed the socket" in meta["error"]
    if how != "client closes":
        text = "".join(event.get("delta", "") for event in map(json.loads, got))
        assert text == "".join(json.loads(frame).get("delta", "") for frame in held[: at + 1])
        assert frames_of((meta["folder"] / "client.sse").read_bytes()) == [str(frame).encode() for frame in got]


def test_the_script_is_reloaded_in_the_middle(start: Start, serve: Callable[[Talk], str], tmp_path: Path) -> None:
    """The new one knows nothing of the socket: what is held comes first, and the rest as it comes."""
    (tmp_path / "toolmend").symlink_to(addon_path().with_name("toolmend"))
    script = tmp_path / "main.py"
    script.write_bytes(addon_path().read_bytes())
    said, reloaded = frames(LEAK), threading.Event()
    at = next(at for at, frame in enumerate(said) if "call" in str(json.loads(frame).get("delta"))) + 1

    def talk(socket: ServerConnection) -> None:
        next(requests(socket))
        for frame in said[:at]:
            socket.send(frame)
        reloaded.wait(20)
        for frame in said[at:]:
            socket.send(frame)
        socket.recv()

    proxy = start([script])
    with connect(proxy, serve(talk)) as socket:
        socket.send(create(tools=[TOOL]))
        socket.recv()
        later = script.stat().st_mtime + 2
        os.utime(script, (later, later))
        proxy.wait_for(r"(?s)toolmend: listens.*toolmend: listens", 20)
        reloaded.set()
        got = [json.loads(socket.recv(10)) for _ in said[1:]]
        socket.send("{}")
    assert [event.get("delta") for event in got] == [json.loads(frame).get("delta") for frame in said[1:]]


def test_what_else_a_client_says(share: Share, serve: Callable[[Talk], str], flows: Path) -> None:
    def talk(socket: ServerConnection) -> None:
        next(requests(socket))
        socket.send(frames(PROSE)[0])
        assert "cancel" in socket.recv()
        for frame in frames(PROSE)[1:]:
            socket.send(frame)

    proxy, upstream = share(), serve(talk)
    with connect(proxy, upstream) as socket:
        socket.send(create(tools=[TOOL]))
        socket.recv()
        socket.send(json.dumps({"type": "response.cancel", "api_key": KEY}))
        for _ in frames(PROSE)[1:]:
            socket.recv()
    meta = recordings(flows, 1, upstream)[0]
    (line,) = (meta["folder"] / "client_messages.jsonl").read_text().splitlines()
    assert json.loads(line)["message"] == {"type": "response.cancel", "api_key": "[REDACTED]"}
    assert check(meta["folder"]).passed


def test_several_at_once_pass_as_they_come(share: Share, serve: Callable[[Talk], str], flows: Path) -> None:
    one, two = frames(LEAK, "resp_1"), frames(LEAK, "resp_2")

    def talk(socket: ServerConnection) -> None:
        asked = requests(socket)
        next(asked)
        next(asked)
        for pair in zip(one, two, strict=True):
            for frame in pair:
                socket.send(frame)
        next(asked)
        for frame in frames(LEAK, "resp_3"):
            socket.send(frame)

    proxy, upstream = share(), serve(talk)
    with connect(proxy, upstream) as socket:
        socket.send(create(tools=[TOOL]))
        socket.send(create(tools=[TOOL]))
        assert [socket.recv() for _ in (*one, *two)] == [frame for pair in zip(one, two, strict=True) for frame in pair]
        assert output(answer(socket, create(tools=[TOOL]))) == [("get_weather", {"city": "北京"})]
    assert len(recordings(flows, 3, upstream)) == 3


@pytest.mark.parametrize("setting", ["toolmend_dialects=off", "toolmend_hosts=llm.example"])
def test_what_is_not_to_be_mended(share: Share, serve: Callable[[Talk], str], setting: str) -> None:
    name, _, value = setting.partition("=")
    sent = frames(LEAK)
    proxy = share(**{name: value, "toolmend_intercept": "all", "toolmend_flows": "off"})
    with connect(proxy, serve(says(sent))) as socket:
        assert answer(socket, create(tools=[TOOL])) == sent


# --- where there is no socket -------------------------------------------------------------------------------------------------


def test_a_route_sends_the_client_to_http(start: Start, tmp_path: Path) -> None:
    """At once, and although the host does not exist."""
    config = tmp_path / "toolmend.toml"
    config.write_text('[[route]]\nfrom = "https://api.openai.com"\nto = "https://gone.invalid/v1/chat/completions"\n')
    proxy = start(toolmend_config=str(config))
    with pytest.raises(InvalidStatus) as refused, connect(proxy, "wss://api.openai.com"):
        pass
    assert refused.value.response.status_code == 426
    assert json.loads(refused.value.response.body)["error"]["code"] == "websocket_not_supported"
    proxy.wait_for(r"api\.openai\.com: no WebSocket \(426\): this is served by the route at .*toolmend\.toml:1")


def test_recordings_answer_by_http(start: Start, serve: Callable[[Talk], str], tmp_path: Path) -> None:
    upstream, flows = serve(says(frames(LEAK))), tmp_path / "flows"
    proxy = start()
    with connect(proxy, upstream) as socket:
        answer(socket, create(tools=[TOOL]))
    recordings(flows, 1, upstream)
    proxy.stop()
    player = start(toolmend_replay=str(flows), toolmend_flows="off")
    with pytest.raises(InvalidStatus) as refused, connect(player, upstream):
        pass
    assert refused.value.response.status_code == 426


def test_the_upstreams_own_refusal_passes(share: Share, certificate: tuple[Path, Path]) -> None:
    script = Script(((0, b"{}"),), status=403, headers=(("Content-Type", "application/json"),), framing="content-length")
    with Upstream([script], tls=certificate, alpn=("http/1.1",)) as upstream:
        proxy = share(toolmend_flows="off")
        with pytest.raises(InvalidStatus) as refused, connect(proxy, upstream.url.replace("https", "wss")):
            pass
    assert refused.value.response.status_code == 403
