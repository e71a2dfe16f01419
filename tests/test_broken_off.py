"""Answers that break off, or end in an error: all that had come of them goes out, however they are cut.

Rule of this file: nothing is asked of how the end is told; that is the matter of the APIs' own tests.
"""

from typing import Any

import pytest

import legal
from patterns.kimi import ONE
from spoken import WEATHER, asked
from streams import cuts, play
from toolmend.ids import ids_for
from toolmend.pipeline import Pipeline


def heard(api: str, body: bytes) -> bytes:
    """What a client of the same API gets, the same for every cut."""
    outs = {play(lambda: Pipeline(asked(api, *WEATHER), source=api, target=api, new_id=ids_for(b"")), parts) for parts in cuts(body, 40)}
    assert len(outs) == 1
    return outs.pop()


HALF: dict[str, Any] = {"type": "tool_use", "id": "t0", "name": "task", "input": {}}
IN_TURNS = [  # a text within a call that never ends
    *legal.messages(stop=None),
    {"type": "content_block_start", "index": 0, "content_block": HALF},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a'}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi"}},
]


@pytest.mark.parametrize("end", [[], [legal.broken()]], ids=["cut", "error"])
def test_messages(end: list[legal.Data]) -> None:
    out = heard("messages", legal.sse(IN_TURNS + end))
    assert b'"text":"Hi"' in out
    assert (out.rindex(b"event: error") > out.index(b'"text":"Hi"')) if end else b"event: error" not in out


CREATED = legal.responses(legal.say("x"))[0]["response"]
FAILED = {**CREATED, "status": "failed", "error": {"code": "server_error", "message": "no"}}


@pytest.mark.parametrize(
    "end",
    [[], [{"type": "error", "code": "server_error", "message": "no", "param": None}], [{"type": "response.failed", "response": FAILED}]],
    ids=["cut", "error", "failed"],
)
def test_responses(end: list[legal.Data]) -> None:
    call, text = legal.call("c0", "task", '{"a'), legal.say("Hi ", ONE)
    events = legal.responses(call, text)
    half = [each for each in events if each.get("output_index") == 0][:2]
    out = heard("responses", legal.sse([*events[:2], *half, *(each for each in events if each.get("output_index") == 1), *end]))
    assert b'"output_text","text":"Hi "' in out
    assert b'"arguments":"{\\"city\\": \\"Beijing\\"}"' in out
    assert out.count(b"event: response.failed") + out.count(b"event: error") == len(end)
