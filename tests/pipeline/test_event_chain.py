"""event_chain.py: an event is decoded, or repaired where its meaning is certain, and passes each transformer in turn."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from toolmend.apis.chat.codec import Chat
from toolmend.apis.codec import Reply
from toolmend.core import json_text
from toolmend.core.events import Event, Finish, Frame, StreamError, TextDelta
from toolmend.core.sse import ServerSentEvent
from toolmend.core.tools import UNKNOWN
from toolmend.pipeline.event_chain import CUT, EventChain, is_body, is_idle

TEXT = b'{"choices":[{"index":0,"delta":{"content":"Hi"}}]}'
ERROR = b'{"error":{"message":"slow down","type":"rate_limit_error","code":429}}'


class Upper:
    """Upper case, and an exclamation mark at the end."""

    def feed(self, frame: Frame) -> Sequence[Frame]:
        return [Frame(frame.sse, tuple(TextDelta(event.text.upper()) if isinstance(event, TextDelta) else event for event in frame.events), touched=True)]

    def close(self) -> Sequence[Frame]:
        return [Frame(None, (TextDelta("!a"),))]


class Twice:
    """Each frame twice."""

    def feed(self, frame: Frame) -> Sequence[Frame]:
        return [frame, frame]

    def close(self) -> Sequence[Frame]:
        return []


def chain(*transformers: Any, fired: list[str] | None = None, notes: list[str] | None = None) -> EventChain:
    return EventChain(Chat(Reply(UNKNOWN, lambda: "call_0", lambda _: None)), transformers, ([] if notes is None else notes).append, None if fired is None else fired.append)


def event(data: bytes, name: bytes = b"") -> ServerSentEvent:
    return ServerSentEvent(b"data: " + data + b"\n\n", data, name)


def texts(frames: Sequence[Frame]) -> list[str]:
    return [each.text for frame in frames for each in frame.events if isinstance(each, TextDelta)]


def errors(frames: Sequence[Frame]) -> list[str]:
    return [each.message for frame in frames for each in frame.events if isinstance(each, StreamError)]


@pytest.mark.parametrize(
    "data",
    [TEXT, b"data: " + TEXT, b"\xef\xbb\xbf" + TEXT, json.dumps(json.loads(TEXT), indent=1).encode()],
)
def test_data_is_decoded_or_repaired(data: bytes) -> None:
    assert texts([chain().decode(event(data))]) == ["Hi"]


def test_what_is_no_json_passes_with_a_note() -> None:
    notes: list[str] = []
    made = chain(notes=notes).decode(event(b"Hello"))
    assert (made.events, made.touched) == ((), False)
    assert notes == ["data that is no JSON passed as it came"]


@pytest.mark.parametrize("data", [b"[" + TEXT + b"," + TEXT + b"]", TEXT + TEXT, TEXT + b"\n" + TEXT])
def test_several_events_in_one(data: bytes) -> None:
    assert texts(chain().translate_event(event(data))) == ["Hi", "Hi"]


def test_frames_pass_each_transformer() -> None:
    assert texts(chain(Upper(), Twice()).translate_event(event(TEXT))) == ["HI", "HI"]
    assert texts(chain(Twice(), Upper()).transform([Frame(None, (TextDelta("a"),))], first=1)) == ["A"]


def test_what_is_held_passes_the_transformers_after_it() -> None:
    assert texts([*chain(Upper(), Twice()).flush()]) == ["!a", "!a"]
    assert texts([*chain(Twice(), Upper()).flush()]) == ["!a"]


def test_a_whole_response() -> None:
    body = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}'
    _, events, touched = chain(Upper()).transform_message(body)
    assert (texts([Frame(None, events)]), touched) == (["HI", "!a"], True)
    assert any(isinstance(each, Finish) for each in events)
    with pytest.raises(json_text.NotJSON):
        chain().transform_message(b"Hello")


CUT_TEXT = event(TEXT[:-4])


def test_a_cut_event_is_an_error_where_it_is_translated() -> None:
    made = chain()
    assert errors(made.translate_event(CUT_TEXT)) == []
    assert errors(made.translate_event(event(TEXT))) == [CUT]


def test_the_upstreams_own_error_takes_its_place() -> None:
    made = chain(fired=[])
    made.translate_event(CUT_TEXT)
    assert errors(made.translate_event(event(ERROR))) == ["slow down"]


def test_a_cut_event_waits_for_an_error() -> None:
    fired: list[str] = []
    made = chain(fired=fired)
    frame, leaving = made.next_frames(CUT_TEXT)
    assert (frame.events, leaving) == ((), [])
    frame, leaving = made.next_frames(event(ERROR))
    assert (leaving, fired) == ([frame], ["error_form"])


def test_a_cut_event_leaves_before_others() -> None:
    made = chain(fired=[])
    cut, _ = made.next_frames(CUT_TEXT)
    frame, leaving = made.next_frames(event(TEXT))
    assert leaving == [cut, frame]
    made.next_frames(CUT_TEXT)
    assert [each.sse for each in made.end_of_body()] == [CUT_TEXT]


def test_the_last_error() -> None:
    made = chain()
    assert made.last_error() is None
    made.skip_event(ServerSentEvent(b": a comment\n\n"))
    assert made.last_error() is None
    made.skip_event(ServerSentEvent(ERROR + b"\n\n"))
    error = made.last_error()
    assert error
    assert error.message == "slow down"


@pytest.mark.parametrize(
    ("sse", "body", "idle"),
    [
        (ServerSentEvent(ERROR + b"\n\n"), True, False),
        (ServerSentEvent(b"\xef\xbb\xbf [1]\n\n"), True, False),
        (ServerSentEvent(b": comment\n\n"), False, True),
        (event(TEXT), False, False),
        (event(b"{}", b"ping"), False, True),
    ],
)
def test_kinds_of_events(sse: ServerSentEvent, body: bool, idle: bool) -> None:
    assert (is_body(sse), is_idle(sse)) == (body, idle)


def kinds(events: Sequence[Event]) -> list[str]:
    return [type(each).__name__ for each in events]


def test_a_bare_error_in_a_stream_gets_its_form() -> None:
    fired: list[str] = []
    made = chain(fired=fired).decode(ServerSentEvent(ERROR + b"\n\n"))
    assert (kinds(made.events), made.touched, fired) == (["StreamError"], True, ["error_form"])
    assert errors([chain().decode(event(b"oops", b"error"))]) == ["oops"]
