"""socket_calls.py: calls that only the client has stand before their results; every other request is unchanged."""

import json
from typing import Any

import pytest

from toolmend.proxy.websocket.socket_calls import MAX_CALLS, SocketCalls
from toolmend.proxy.websocket.socket_frames import Binary

CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


def done(item: dict[str, Any]) -> bytes:
    return json.dumps({"type": "response.output_item.done", "item": {"id": "fc", "status": "completed", **item}}).encode()


def output(call_id: str = "c") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "sun"}


def request(*items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "response.create", "previous_response_id": "r", "input": list(items), **more}


def sent(made: SocketCalls, given: dict[str, Any]) -> list[Any] | None:
    frame = made.with_missing_calls(given)
    return None if frame is None else json.loads(frame)["input"]


def calls(*frames: bytes) -> SocketCalls:
    made = SocketCalls()
    for frame in frames:
        made.sent_to_client(frame)
    return made


def test_a_call_stands_before_its_result() -> None:
    made = calls(done(CALL))
    assert sent(made, request("x", output(), output("other"))) == ["x", CALL, output(), output("other")]
    assert sent(made, request(output())) == [CALL, output()]  # each later request, too


@pytest.mark.parametrize(
    "given",
    [
        request(CALL, output()),
        request(output("other")),
        request({"role": "user", "content": "c"}),
        {**request(output()), "previous_response_id": None},
        {**request(), "input": "text"},
    ],
)
def test_other_requests_are_unchanged(given: dict[str, Any]) -> None:
    assert calls(done(CALL)).with_missing_calls(given) is None


def test_a_call_of_the_upstream_is_known_to_it() -> None:
    made = SocketCalls()
    made.received(done(CALL))
    made.sent_to_client(done(CALL))
    assert made.with_missing_calls(request(output())) is None


@pytest.mark.parametrize(
    "frame",
    [
        Binary(done(CALL)),
        b"no JSON response.output_item.done",
        done({"type": "message"}),
        done({"type": "function_call", "call_id": 1}),
        json.dumps({"type": "response.output_item.added", "item": CALL}).encode(),
    ],
)
def test_other_frames_hold_no_call(frame: bytes) -> None:
    assert calls(frame).with_missing_calls(request(output())) is None


@pytest.mark.parametrize("call", [{**CALL, "namespace": "n"}, {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "raw"}])
def test_fields_that_a_request_may_have(call: dict[str, Any]) -> None:
    kind = f"{call['type']}_output"
    assert (sent(calls(done({**call, "extra": 1})), request({**output(), "type": kind})) or [None])[0] == call


def test_frames_are_ascii() -> None:
    frame = calls(done({**CALL, "arguments": '{"a":"日本"}'})).with_missing_calls(request(output()))
    assert frame
    assert frame.isascii()


def test_calls_are_bounded() -> None:
    made = calls(*(done({**CALL, "call_id": f"c{at}"}) for at in range(MAX_CALLS + 1)))
    assert sent(made, request(output("c0"))) is None
    assert sent(made, request(output(f"c{MAX_CALLS}"))) is not None
