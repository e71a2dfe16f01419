"""frame_queue.py: frames leave in order, an untouched one is the same object, and the size is that of what is held."""

import pytest

from toolmend.core.events import Frame, MessageEnd, ReasoningDelta, TextDelta, ToolCallDelta
from toolmend.core.sse import ServerSentEvent
from toolmend.pipeline.transformers.frame_queue import FrameQueue, bytes_of, with_events

SSE = ServerSentEvent(b"data: {}\n\n", b"{}")


def frame(*texts: str) -> Frame:
    return Frame(SSE, tuple(map(TextDelta, texts)))


def queue(*frames: Frame) -> FrameQueue:
    made = FrameQueue()
    for one in frames:
        made.add(one)
    return made


@pytest.mark.parametrize(
    ("wanted", "left"),
    [([], 0), ([None], 0), ([0], 3), ([1, None], 2), ([2, 1], 2), ([3], 0)],
)
def test_frames_before_the_first_wanted_one_leave(wanted: list[int | None], left: int) -> None:
    frames = [frame("a"), frame("b"), frame("c")]
    made = queue(*frames)
    out = made.release(wanted)
    assert [*out, *made.frames] == frames
    assert (len(made.frames), made.first, made.next) == (left, 3 - left, 3)


def test_numbers_go_on() -> None:
    made = queue(frame("a"))
    made.release([])
    made.add(frame("b"))
    assert (made.first, made.next) == (1, 2)
    assert made.release([1]) == []


@pytest.mark.parametrize(
    ("event", "size"),
    [(TextDelta("abc"), 4), (ReasoningDelta("é"), 3), (ToolCallDelta(0, "{}"), 3), (MessageEnd(), 1), (TextDelta("\ud83d"), 4)],
)
def test_size(event: TextDelta, size: int) -> None:
    made = queue(Frame(SSE, (event,)), Frame(SSE))
    assert made.size == size + 1
    made.release([])
    assert made.size == 0


def test_edit_removes_events_from_a_number_on() -> None:
    frames = [frame("x"), frame("a", "x"), frame("a")]
    made = queue(*frames)
    made.edit(1, lambda event: event != TextDelta("x"))
    assert [[event.text for event in one.events if isinstance(event, TextDelta)] for one in made.frames] == [["x"], ["a"], ["a"]]
    assert [one.touched for one in made.frames] == [False, True, False]
    assert made.frames[2] is frames[2]
    assert made.size == sum(queue(one).size for one in made.frames)


def test_with_the_same_events_a_frame_is_itself() -> None:
    given = frame("a", "b")
    assert with_events(given, list(given.events)) is given
    assert with_events(given, given.events[:1]) == Frame(SSE, given.events[:1], touched=True)
    assert with_events(given, [*given.events[:1], TextDelta("b")]).touched  # an equal event is another one


@pytest.mark.parametrize(("text", "size"), [("", 0), ("abc", 3), ("é", 2), ("🙂", 4), ("\ud83d", 3)])
def test_bytes_of(text: str, size: int) -> None:
    assert bytes_of(text) == size
