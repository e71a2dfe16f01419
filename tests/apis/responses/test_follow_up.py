"""follow_up.py: what a client has after events that passed: the items, whichever event comes next."""

from typing import Any

import pytest

from tests.support.responses_streams import call, message, reasoning, turn
from toolmend.apis.codec import Reply
from toolmend.apis.responses.codec import Responses
from toolmend.apis.responses.follow_up import FollowedOutput, announcement_key
from toolmend.core import json_text
from toolmend.core.sse import ServerSentEvent
from toolmend.core.tools import UNKNOWN

STREAMS: dict[str, list[dict[str, Any]]] = {
    "a text": turn(message(0, ["Hel", "lo."])),
    "a call": turn(call(0, ['{"a":', "1}"])),
    "all": turn(reasoning(0, ["Hm."]), message(1, ["Hi."]), call(2, ["{}"])),
}


def followed(events: list[dict[str, Any]]) -> FollowedOutput:
    reply = Reply(UNKNOWN, lambda: "call_new", lambda _: None)
    codec, made = Responses(reply), FollowedOutput(reply)
    for data in events:
        raw = json_text.dumps(data).encode()
        made.follow(data, codec.decode(ServerSentEvent(b"data: " + raw + b"\n\n", raw)).events)
    return made


@pytest.mark.parametrize("name", STREAMS)
def test_in_the_end_it_has_what_the_upstream_says(name: str) -> None:
    events = STREAMS[name]
    assert followed(events).output() == events[-1]["response"]["output"]


@pytest.mark.parametrize("name", STREAMS)
def test_after_each_event_it_has_the_text_so_far(name: str) -> None:
    events = STREAMS[name]
    for end in range(1, len(events)):
        made = followed(events[:end])
        sent = "".join(data["delta"] for data in events[:end] if isinstance(data.get("delta"), str))
        had = "".join(
            str(item.get("arguments", "")) + "".join(part.get("text", "") for holder in ("content", "summary") for part in item.get(holder) or ())
            for item in made.output()
        )
        assert had == sent, end
        assert made.place == sum(data["type"] == "response.output_item.added" for data in events[:end])


def test_numbers_follow_the_upstreams() -> None:
    made = followed([{"type": "response.created", "sequence_number": 7, "response": {}}])
    assert made.sequence == 8
    made.follow({"type": "response.in_progress", "response": {}}, ())
    assert made.sequence == 9


@pytest.mark.parametrize(
    ("wire", "key"),
    [
        ({"type": "function_call", "call_id": "c", "id": "fc"}, "c"),
        ({"type": "function_call", "id": "fc"}, "fc"),
        ({"type": "function_call"}, "function_call"),
        ({"type": "message", "id": "msg"}, "message"),
    ],
)
def test_key_of_an_item(wire: dict[str, Any], key: str) -> None:
    assert announcement_key(wire) == key
