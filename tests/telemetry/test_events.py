"""events.py: what receivers may rely on: names of classes and fields, values without text, and what is unknown."""

import typing

import pytest

from toolmend.telemetry.events import About, Event, FailedOpen, RecordingLost, RuleFired, StreamFinished, StreamStarted

ABOUT = About("f", 0.0, "h", "p", "chat", "chat", "m", "kimi", 200, stream=True)


def test_names_that_scripts_compare() -> None:
    assert {kind.__name__ for kind in typing.get_args(Event.__value__)} == {
        "StreamStarted", "RuleFired", "FailedOpen", "StreamFinished", "RecordingLost",
    }  # fmt: skip


def test_unknown_figures_are_none_and_not_zero() -> None:
    finished = StreamFinished(ABOUT, "complete", 10, 12, 1.0, 0.5)
    assert (finished.first_token, finished.calls, finished.usage, finished.content) == (None, None, None, None)
    assert (finished.finish_reasons, finished.rules, finished.error_type, finished.failed_open) == ((), (), "", False)


@pytest.mark.parametrize("event", [StreamStarted(ABOUT), RuleFired(ABOUT, "r"), FailedOpen(ABOUT, "e"), StreamFinished(ABOUT, "partial", 0, 0, 0.0, 0.0)])
def test_an_event_of_a_stream_tells_which(event: StreamStarted | RuleFired | FailedOpen | StreamFinished) -> None:
    assert event.about is ABOUT


def test_a_lost_recording_is_of_no_stream() -> None:
    assert not hasattr(RecordingLost("disk full"), "about")


def test_names_of_fields_stay() -> None:
    assert About.__match_args__ == (
        "flow_id", "at", "host", "provider", "api", "upstream_api", "model", "profile", "status", "stream",
    )  # fmt: skip
    assert set(StreamFinished.__match_args__) == {
        "about", "state", "received", "sent", "seconds", "first_byte", "first_token", "calls", "usage", "finish_reasons",
        "rules", "error_type", "failed_open", "response_id", "response_model", "content", "suspects",
    }  # fmt: skip
