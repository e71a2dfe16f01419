"""Frames as events and back, what begins and ends a response, and what a socket's requests leave out."""

import json
from typing import Any

import pytest

from toolmend.proxy.websocket.socket_frames import Binary, ToolMemory, event_of, frames_of, response_boundary

FRAMES = [
    b'{"type":"response.created"}',
    '{ "a" : "日本\u2028" }'.encode(),
    b'{\n  "a": 1\n}\n',
    b"\n\n",
    b" two blanks ",
    b"",
    b"data: x",
    b": no comment",
    b"\xef\xbb\xbf{}",
    Binary(b"\x00\xff\n\n"),
    Binary(b'{"type":"response.failed"}'),
    Binary(b""),
    b"event: binary\ndata: AA==",
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: f"{type(frame).__name__} {frame!r}")
def test_there_and_back(frame: bytes) -> None:
    (got,) = frames_of(event_of(frame))
    assert (type(got), got) == (type(frame), frame)


def test_many() -> None:
    assert frames_of(b"".join(map(event_of, FRAMES))) == FRAMES


def test_what_an_event_cannot_hold() -> None:
    assert frames_of(event_of(b'{\r\n"a": 1\r}')) == [b'{ \n"a": 1 }']


def test_events_with_more_than_data() -> None:
    assert frames_of(b': a comment\n\nevent: x\ndata: {"a":1}\n\n: another\n\n') == [b'{"a":1}']


def test_what_a_binary_frame_holds_begins_and_ends_nothing() -> None:
    assert response_boundary(Binary(b'{"type":"response.completed","response":{"id":"r1"}}')) == ("", "")


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        ({"type": "response.created", "response": {"id": "r1"}}, ("response.created", "r1")),
        ({"type": "response.completed", "response": {"id": "r1"}}, ("response.completed", "r1")),
        ({"response": {"id": "r1"}, "type": "response.failed"}, ("response.failed", "r1")),
        ({"type": "response.incomplete", "response": {}}, ("response.incomplete", "")),
        ({"type": "error", "status": 400, "error": {"message": "no"}}, ("error", "")),
        ({"type": "response.completed", "response": {"id": 1}}, ("response.completed", "")),
        # others, which say such words
        ({"type": "response.in_progress", "response": {"id": "r1", "error": None}}, ("", "")),
        ({"type": "response.output_text.delta", "delta": '"response.completed"'}, ("", "")),
        ({"type": "response.output_text.done", "error": "error"}, ("", "")),
        (["error"], ("", "")),
        ({"type": ["error"]}, ("", "")),
    ],
)
def test_what_begins_and_ends(frame: Any, told: tuple[str, str]) -> None:
    assert response_boundary(json.dumps(frame).encode()) == told
    assert response_boundary(json.dumps(frame, separators=(",", ":")).encode()) == told


TOOLS, OTHERS = [{"type": "function", "name": "a"}], [{"type": "function", "name": "b"}]
ADDING = {"type": "additional_tools", "tools": TOOLS}
SAID = {"type": "message", "role": "user"}


@pytest.mark.parametrize(
    ("before", "request_", "more"),
    [
        ([], {"model": "m"}, {}),
        ([{"tools": TOOLS}], {"previous_response_id": "r1"}, {"tools": TOOLS}),
        ([{"tools": TOOLS}], {}, {"tools": TOOLS}),
        ([{"tools": TOOLS}, {}], {}, {"tools": TOOLS}),
        ([{"tools": TOOLS}], {"tools": OTHERS}, {}),
        ([{"tools": TOOLS}], {"tools": []}, {}),
        ([{"tools": TOOLS}, {"tools": []}], {}, {}),
        ([{"input": [ADDING, SAID]}], {"previous_response_id": "r1", "input": [SAID]}, {"input": [ADDING, SAID]}),
        ([{"input": [ADDING]}], {"input": [SAID]}, {}),
        ([{"input": [ADDING]}, {"input": [SAID]}], {"previous_response_id": "r2", "input": [SAID]}, {}),
        ([{"input": "hello"}], {"previous_response_id": "r1", "input": "you"}, {}),
        (
            [{"input": [ADDING, 1, None]}],
            {"previous_response_id": "r1", "input": "you"},
            {"input": [ADDING, {**SAID, "content": "you"}]},
        ),
    ],
)
def test_what_a_request_leaves_out(before: list[dict[str, Any]], request_: dict[str, Any], more: dict[str, Any]) -> None:
    memory = ToolMemory()
    for one in before:
        memory.complete(one)
    whole = memory.complete(request_)
    assert whole == {**request_, **more}
    assert (whole is request_) == (not more)
