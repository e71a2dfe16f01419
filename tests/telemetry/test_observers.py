"""Observers: what they are told, of whom, and that nothing of theirs comes back."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.cuts import cuts
from tests.support.streams import chunk, event, stream
from toolmend.core.events import (
    Event,
    Finish,
    MessageStart,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from toolmend.core.fold import Message, fold
from toolmend.pipeline.event_reader import events_of
from toolmend.telemetry import observers
from toolmend.telemetry.observers import CUT_OFF, ObservedResponse, Observers, WatchedMessage

CALL = [
    {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_time", "arguments": ""}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": '{"zone": '}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": '"日本"}'}}]},
]
BODY = stream(["I will ", "look.", *CALL], finish="tool_calls")
CUT = BODY[: BODY.index(b'"finish_reason": "tool_calls"')]
ERROR = event({"error": {"message": "busy", "type": "overloaded", "code": 529}})


@dataclass
class Notes:
    """An observer that writes down all it hears."""

    heard: list[tuple[str, Message, Any]] = field(default_factory=list)
    text_so_far: list[str] = field(default_factory=list)

    def on_message(self, message: Message, event: Event) -> None:
        self.heard.append(("message", message, event))
        self.text_so_far.append(message.text)

    def on_complete(self, message: Message) -> None:
        self.heard.append(("complete", message, None))

    def on_error(self, message: Message, error: StreamError) -> None:
        self.heard.append(("error", message, error))

    @property
    def ends(self) -> list[tuple[str, Any]]:
        return [(what, of) for what, _, of in self.heard if what != "message"]


def watch(*who: object) -> ObservedResponse:
    watcher = Observers([].append).watcher([addon(one) for one in who], "chat", "flow-1")
    assert watcher
    return watcher


def addon(observer: object) -> object:
    return SimpleNamespace(toolmend_observer=observer)


def run(watcher: ObservedResponse, chunks: Sequence[bytes]) -> None:
    for data in chunks:
        watcher.sent(data)
    watcher.close()


def test_a_stream() -> None:
    for chunks in cuts(BODY):
        notes = Notes()
        run(watch(notes), chunks)
        events = [of for what, _, of in notes.heard if what == "message"]
        assert [type(of) for of in events] == [
            *(MessageStart, TextDelta, TextDelta, ToolCallStart, ToolCallDelta, ToolCallDelta, ToolCallEnd, Finish, Usage),
        ]
        assert notes.ends == [("complete", None)]
        [message] = {id(message): message for _, message, _ in notes.heard}.values()
        assert isinstance(message, WatchedMessage)
        assert (message.flow_id, message.choice) == ("flow-1", 0)
        folded = fold(events_of("chat", [BODY], stream=True))
        assert vars_of(message) == vars_of(folded)
        assert (message.text, message.calls[0].arguments) == ("I will look.", '{"zone": "日本"}')
        assert notes.text_so_far[:3] == ["", "I will ", "I will look."]


def vars_of(message: Message) -> dict[str, Any]:
    names = ("text", "refusal", "thinking", "calls", "finish", "usage", "error", "ended", "omitted")
    return {name: getattr(message, name) for name in names}


def test_a_whole_body() -> None:
    body = b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}'
    notes = Notes()
    watch(notes).message(body)
    assert notes.ends == [("complete", None)]
    assert notes.heard[-1][1].text == "Hi"


def test_each_choice_is_a_message() -> None:
    notes = Notes()
    run(watch(notes), [b"".join(event(chunk({"role": "assistant", "content": text}, "stop", index)) for index, text in enumerate("ab"))])
    ended = [message for what, message, _ in notes.heard if what == "complete"]
    assert [(message.text, message.choice) for message in ended if isinstance(message, WatchedMessage)] == [("a", 0), ("b", 1)]


ENDS: dict[str, tuple[list[bytes], str | None, list[tuple[str, Any]]]] = {
    "no [DONE], but a finish reason": ([BODY.replace(b"data: [DONE]\n\n", b"")], None, [("complete", None)]),
    "cut off": ([CUT], None, [("error", CUT_OFF)]),
    "nothing came": ([], None, [("error", CUT_OFF)]),
    "what is no API's": ([b"<html>", b"data: what\n\n"], None, [("error", CUT_OFF)]),
    "an error in the stream": ([CUT, b"\n\n", ERROR], None, [("error", StreamError("overloaded", "busy", 529))]),
    "the client went": ([CUT], "client_closed", [("error", StreamError("connection", "client_closed"))]),
    "the client went, but had it all": ([BODY], "client_closed", [("complete", None)]),
    "it broke before anything came": ([], "refused", [("error", StreamError("connection", "refused"))]),
}


@pytest.mark.parametrize("name", ENDS)
def test_ends(name: str) -> None:
    chunks, failure, ends = ENDS[name]
    notes = Notes()
    watcher = watch(notes)
    for data in chunks:
        watcher.sent(data)
    if failure:
        watcher.fail(failure)
    watcher.close()
    watcher.sent(BODY)
    watcher.fail("again")
    assert notes.ends == ends
    assert not notes.heard or notes.heard[-1][1].error == ends[-1][1]


def test_nobody_and_unknown_apis() -> None:
    registry = Observers([].append)
    assert registry.watcher([SimpleNamespace(), addon(None)], "chat") is None
    assert registry.watcher([addon(Notes())], "cohere") is None
    assert registry.watcher([], "chat") is None


def test_an_observer_has_what_it_wants_to_have() -> None:
    ended: list[str] = []
    run(watch(SimpleNamespace(on_complete=lambda message: ended.append(message.text)), object()), [BODY])
    assert ended == ["I will look."]


def test_an_observer_that_two_addons_have_is_told_once() -> None:
    notes = Notes()
    run(watch(notes, notes), [BODY])
    assert notes.ends == [("complete", None)]


def test_one_that_raises_is_told_of_once_and_never_called_again() -> None:
    calls: list[str] = []
    log: list[str] = []

    class Bad:
        def on_message(self, message: Message, event: Event) -> None:
            calls.append("message")
            raise KeyError(message.text)

        def on_complete(self, message: Message) -> None:
            calls.append("complete")

    bad, good = Bad(), Notes()
    registry = Observers(log.append)
    addons = [addon(bad), addon(good)]
    first, second = registry.watcher(addons, "chat"), registry.watcher(addons, "chat")
    assert first
    assert second
    run(first, [BODY])
    run(second, [BODY])
    assert registry.watcher(addons[:1], "chat") is None
    assert calls == ["message"]
    assert good.ends == [("complete", None)] * 2
    [said] = log
    assert said.startswith("Bad, a toolmend_observer, is dropped: KeyError in on_message (test_observers.py:")
    assert registry.watcher([addon(Bad())], "chat") is not None


def test_an_error_of_ours_ends_the_looking_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object, data: bytes) -> list[Event]:
        raise AssertionError(data)

    notes = Notes()
    watcher = watch(notes)
    watcher.sent(CUT)
    monkeypatch.setattr(observers.EventReader, "feed", broken)
    watcher.sent(b"data: secret")
    watcher.sent(b"data: secret")
    watcher.close()
    assert notes.ends == [("error", StreamError("toolmend", "the response could not be read: AssertionError"))]


def test_what_is_beyond_the_bound_is_told_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observers, "MAX_KEPT", 9)
    notes = Notes()
    run(watch(notes), [stream(["I will ", "look.", "Now"])])
    [*_, (what, message, _)] = notes.heard
    assert (what, message.text, message.omitted) == ("complete", "I will ", 8)
    assert "".join(of.text for _, _, of in notes.heard if isinstance(of, TextDelta)) == "I will look.Now"
