"""The socket addon, message by message as mitmproxy calls it; what a real socket makes of it is e2e's business."""

import json
import logging
from typing import Any

import pytest
from mitmproxy.test import taddons, tflow
from mitmproxy.websocket import WebSocketMessage
from wsproto.frame_protocol import Opcode

from tests.support.judges import responses as responses_judge
from tests.support.upstream_answers import Asked, Text, speak
from toolmend.core.reasoning_state import ReasoningState, envelope
from toolmend.proxy.addon import Toolmend
from toolmend.proxy.patches.socket_relay import Relay
from toolmend.proxy.websocket.socket_frames import frames_of
from toolmend.proxy.websocket.sockets import MAX_SHOWN, Sockets

LEAK = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>"
)
ANSWER = frames_of(speak("responses", [Text(LEAK)]))
PROSE = frames_of(speak("responses", [Text("A marker, <|tool_calls_section_begin|><|tool_call_begin|> say, is nothing. " * 3)]))
CREATE = json.dumps({"type": "response.create", "model": "kimi-k2", "tools": [{"type": "function", "name": "a"}]}).encode()


class Playing:
    """A socket that is open; `relays`: whether mitmproxy's layer is found."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, relays: bool = True, path: str = "/v1/responses") -> None:
        monkeypatch.setattr(Relay, "attach", lambda *_: relays)
        self.toolmend = Toolmend()
        self.addon = Sockets(self.toolmend)
        self.flow = tflow.twebsocketflow(messages=False, close_code=1000)
        self.flow.request.path, self.flow.request.host, self.flow.request.scheme = path, "api.openai.com", "https"
        self.flow.request.port = 443
        self.flow.request.headers["host"] = "api.openai.com"

    def says(self, content: bytes, *, client: bool = False, kind: Opcode = Opcode.TEXT, injected: bool = False) -> list[bytes]:
        """What the other side gets for a message."""
        assert self.flow.websocket
        message = WebSocketMessage(kind, client, content, injected=injected)
        self.flow.websocket.messages.append(message)
        self.addon.websocket_message(self.flow)
        socket = self.addon._sockets.get(self.flow)
        told: list[bytes] = []
        if socket:
            told, socket._relay._queue = socket._relay._queue, []
        return told if message.dropped else [message.content, *told]


@pytest.fixture
def playing(monkeypatch: pytest.MonkeyPatch) -> Playing:
    return Playing(monkeypatch)


@pytest.fixture(autouse=True)
def _mitmproxy(playing: Playing) -> Any:
    with taddons.context(playing.toolmend) as context:
        context.configure(playing.toolmend, toolmend_flows="off")
        playing.addon.websocket_start(playing.flow)
        yield


def types(frames: list[bytes]) -> list[str]:
    return [json.loads(frame)["type"] for frame in frames]


def test_an_answer(playing: Playing) -> None:
    assert playing.says(CREATE, client=True) == [CREATE]
    got = [out for frame in ANSWER for out in playing.says(frame)]
    assert "response.function_call_arguments.done" in types(got)
    assert types(got)[-1] == "response.completed"
    assert playing.flow.metadata["toolmend"]["rules"]


def output(*more: dict[str, Any], **fields: Any) -> bytes:
    """The client's next request: the result of the call, and what it says beside."""
    result = {"type": "function_call_output", "call_id": "functions.a:0", "output": "日本" * 3000}
    return json.dumps({"type": "response.create", "previous_response_id": "r", "input": [*more, result], **fields}).encode()


def test_result_of_an_unknown_call_comes_with_the_call(playing: Playing) -> None:
    playing.says(CREATE, client=True)
    for frame in ANSWER:
        playing.says(frame)
    (forwarded,) = playing.says(output(model="kimi-k2"), client=True)
    sent = json.loads(forwarded)
    call, result = sent["input"]
    assert call == {"type": "function_call", "call_id": "functions.a:0", "name": "a", "arguments": "{}"}
    assert (result["call_id"], sent["model"]) == ("functions.a:0", "kimi-k2")
    assert forwarded.isascii()


def test_a_summary_of_another_upstream_goes_up_as_text(playing: Playing) -> None:
    items = [{"type": "compaction", "id": "cmp_1", "encrypted_content": envelope(ReasoningState("summary", "Goal: 日本"))}]
    request = json.dumps({"type": "response.create", "input": items}).encode()
    (forwarded,) = playing.says(request, client=True)
    (message,) = json.loads(forwarded)["input"]
    assert (message["role"], "Goal: 日本" in message["content"][0]["text"]) == ("user", True)
    assert forwarded.isascii()


OWN = frames_of(speak("responses", [Asked("functions.a:0", "a", "{}")], "tool_calls"))


@pytest.mark.parametrize(
    ("answer", "request_"),
    [
        pytest.param(OWN, output(), id="the upstream's own call"),
        pytest.param(ANSWER, output({"type": "function_call", "call_id": "functions.a:0", "name": "a", "arguments": "{}"}), id="told"),
        pytest.param(ANSWER, output(previous_response_id=None), id="nothing is remembered"),
        pytest.param(ANSWER, output().replace(b"functions.a:0", b"call_7"), id="another call"),
    ],
)
def test_a_request_that_says_all_is_not_changed(playing: Playing, answer: list[bytes], request_: bytes) -> None:
    playing.says(CREATE, client=True)
    for frame in answer:
        playing.says(frame)
    assert playing.says(request_, client=True) == [request_]


@pytest.mark.parametrize(
    ("content", "more"),
    [
        (ANSWER[0], {"kind": Opcode.BINARY}),
        (ANSWER[0], {"injected": True}),
        (b"\xff\xfe", {"kind": Opcode.BINARY}),
        (b"no JSON", {}),
        (b"[1]", {"client": True}),
        (b'{"type":"response.cancel"}', {"client": True}),
    ],
    ids=["binary", "of another addon's", "no UTF-8", "no JSON", "a list", "cancel"],
)
@pytest.mark.parametrize("asked", [True, False])
def test_what_passes(playing: Playing, content: bytes, more: dict[str, Any], asked: bool) -> None:
    if asked:
        playing.says(CREATE, client=True)
    assert playing.says(content, **more) == [content]


@pytest.mark.parametrize("content", [b"\x00\xff", ANSWER[-1], b"null"], ids=["no text", "an end", "JSON"])
@pytest.mark.parametrize("at", range(len(ANSWER)))
def test_a_binary_frame_overtakes_nothing(playing: Playing, at: int, content: bytes) -> None:
    """It has the place that a text of no meaning has, and what is held is mended none the less."""
    for answer in (ANSWER, PROSE):
        playing.says(CREATE, client=True)
        got = [out for frame in answer[:at] for out in playing.says(frame)]
        got += playing.says(content, kind=Opcode.BINARY)
        got += [out for frame in answer[at:] for out in playing.says(frame)]
        if answer is PROSE:
            assert got == [*answer[:at], content, *answer[at:]]
            continue
        got.remove(content)
        heard = responses_judge.read(b"".join(b"event: %b\ndata: %b\n\n" % (json.loads(frame)["type"].encode(), frame) for frame in got))
        assert heard.asked == [("a", {})]
        assert not [fault for fault in heard.faults if not fault.startswith("an empty ")]  # it came between its begin and its text


def test_nobody_asked(playing: Playing) -> None:
    assert [playing.says(frame) for frame in ANSWER] == [[frame] for frame in ANSWER]


def test_an_error_of_ours(playing: Playing, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    playing.says(CREATE, client=True)

    def fail(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr("toolmend.proxy.websocket.sockets.response_boundary", fail)
    with caplog.at_level(logging.WARNING):
        assert [playing.says(frame) for frame in ANSWER] == [[frame] for frame in ANSWER]
    assert "a frame passes unchanged: ValueError" in caplog.text


def test_a_mitmproxy_that_is_not_known(monkeypatch: pytest.MonkeyPatch, playing: Playing) -> None:
    monkeypatch.setattr(Relay, "attach", lambda *_: False)
    playing.addon.websocket_start(playing.flow)
    playing.says(CREATE, client=True)
    assert [playing.says(frame) for frame in ANSWER] == [[frame] for frame in ANSWER]
    assert "unknown WebSocket layer" in playing.flow.metadata["toolmend"]["error"]


def test_another_path(playing: Playing) -> None:
    playing.flow.request.path = "/v1/realtime"
    playing.addon.websocket_end(playing.flow)
    playing.addon.websocket_start(playing.flow)
    playing.says(CREATE, client=True)
    assert [playing.says(frame) for frame in ANSWER] == [[frame] for frame in ANSWER]


def test_the_end_of_the_socket(playing: Playing) -> None:
    playing.says(CREATE, client=True)
    assert playing.flow.websocket
    playing.flow.websocket.closed_by_client, playing.flow.websocket.close_code = False, 1006
    playing.addon.websocket_end(playing.flow)
    assert "the upstream closed the socket (1006" in playing.flow.metadata["toolmend"]["error"]
    playing.addon.websocket_end(playing.flow)


def test_what_mitmproxy_keeps_is_bounded(playing: Playing) -> None:
    for _ in range(3 * MAX_SHOWN):
        playing.says(b"{}")
    assert playing.flow.websocket
    assert len(playing.flow.websocket.messages) <= 2 * MAX_SHOWN
