"""tool_names.py: the client's names, and the kinds of call it offered."""

from collections.abc import Sequence

import pytest

from tests.support.streams import event as sse
from toolmend.core.events import (
    Event,
    Finish,
    Frame,
    MessageEnd,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from toolmend.core.sse import ServerSentEvent
from toolmend.pipeline.transformers.tool_names import Naming

SPACES = {"mcp__files__read": ("mcp__files", "read")}
NAMES = {"ls_1f3a": "mcp__" + "x" * 80, "patch": "apply_patch"}
CUSTOM = frozenset({"apply_patch", "sh"})


def through(events: Sequence[Event], sizes: int = 1) -> list[Event]:
    """What comes out of frames of so many events."""
    naming = Naming(NAMES, CUSTOM, SPACES, "tool_search")
    frames = [Frame(None, tuple(events[at : at + sizes])) for at in range(0, len(events), sizes)]
    out = [made for frame in frames for made in naming.feed(frame)]
    assert len(out) == len(frames)
    return [event for frame in [*out, *naming.close()] for event in frame.events]


def call(start: ToolCallStart, *pieces: str) -> list[Event]:
    return [start, *(ToolCallDelta(start.index, piece, start.choice) for piece in pieces), ToolCallEnd(start.index, start.choice)]


CASES: dict[str, tuple[list[Event], list[Event]]] = {
    "nothing to do": (
        [TextDelta("x"), *call(ToolCallStart(0, "a", "ls"), '{"input":"x"}'), *call(ToolCallStart(1, "b", "sh", kind="custom"), '{"'),
         Finish("tool_calls"), Usage(1), MessageEnd()],
        [TextDelta("x"), *call(ToolCallStart(0, "a", "ls"), '{"input":"x"}'), *call(ToolCallStart(1, "b", "sh", kind="custom"), '{"'),
         Finish("tool_calls"), Usage(1), MessageEnd()],
    ),
    "a name": (
        call(ToolCallStart(0, "a", "ls_1f3a", 1, extra={"x": 1}, in_text=True), "{}"),
        call(ToolCallStart(0, "a", NAMES["ls_1f3a"], 1, extra={"x": 1}, in_text=True), "{}"),
    ),
    "a function that is custom": (
        call(ToolCallStart(0, "a", "patch"), '{"in', 'put":"***', "\\n", "x", '"}'),
        call(ToolCallStart(0, "a", "apply_patch", kind="custom"), "***", "\n", "x"),
    ),
    "the name of a custom tool, by the client": (
        call(ToolCallStart(0, "a", "sh"), '{"input":"ls"}'), call(ToolCallStart(0, "a", "sh", kind="custom"), "ls"),
    ),
    "a search for tools": (
        call(ToolCallStart(0, "a", "tool_search"), '{"query"', ':"x"}'),
        call(ToolCallStart(0, "a", "tool_search", kind="search"), '{"query":"x"}'),
    ),
    "a search that is broken off": (
        [ToolCallStart(0, "a", "tool_search"), ToolCallDelta(0, '{"que'), MessageEnd()],
        [ToolCallStart(0, "a", "tool_search", kind="search"), ToolCallDelta(0, '{"que'), MessageEnd()],
    ),
    "no arguments": (call(ToolCallStart(0, "a", "sh"), "{}"), call(ToolCallStart(0, "a", "sh", kind="custom"))),
    "what is held comes before the end": (
        call(ToolCallStart(0, "a", "sh"), '{"command":"ls"'), call(ToolCallStart(0, "a", "sh", kind="custom"), '{"command":"ls"'),
    ),
    "a custom call that is a function": (
        call(ToolCallStart(0, "a", "ls", kind="custom"), "x", '"'), call(ToolCallStart(0, "a", "ls"), '{"input":"x', '\\"', '"}'),
    ),
    "an empty custom call that is a function": (
        call(ToolCallStart(0, "a", "ls", kind="custom")), call(ToolCallStart(0, "a", "ls"), '{"input":""}'),
    ),
    "interleaved, and of two choices": (
        [ToolCallStart(0, "a", "sh"), ToolCallStart(1, "b", "sh"), ToolCallStart(0, "c", "ls", 1), ToolCallDelta(0, '{"input":"a'),
         ToolCallDelta(1, '{"input":"b'), ToolCallDelta(0, '{"input":"c', 1), ToolCallDelta(0, 'A"}'), ToolCallEnd(0), ToolCallEnd(1)],
        [ToolCallStart(0, "a", "sh", kind="custom"), ToolCallStart(1, "b", "sh", kind="custom"), ToolCallStart(0, "c", "ls", 1),
         ToolCallDelta(0, "a"), ToolCallDelta(1, "b"), ToolCallDelta(0, '{"input":"c', 1), ToolCallDelta(0, "A"), ToolCallEnd(0),
         ToolCallEnd(1)],
    ),
    "broken off, with a reason": (
        [ToolCallStart(0, "a", "sh"), ToolCallDelta(0, '{"in'), ToolCallStart(0, "b", "sh", 1), ToolCallDelta(0, "{", 1), Finish("length")],
        [ToolCallStart(0, "a", "sh", kind="custom"), ToolCallStart(0, "b", "sh", 1, kind="custom"), Finish("length"),
         ToolCallDelta(0, '{"in'), ToolCallDelta(0, "{", 1)],
    ),
    "going on behind the reason": (
        [ToolCallStart(0, "a", "sh"), ToolCallDelta(0, '{"input'), Finish("stop"), ToolCallDelta(0, '":"x"}'), ToolCallEnd(0), MessageEnd()],
        [ToolCallStart(0, "a", "sh", kind="custom"), Finish("stop"), ToolCallDelta(0, "x"), ToolCallEnd(0), MessageEnd()],
    ),
    "broken off, with the end of the message": (
        [ToolCallStart(0, "a", "sh"), ToolCallDelta(0, '{"in'), MessageEnd()],
        [ToolCallStart(0, "a", "sh", kind="custom"), ToolCallDelta(0, '{"in'), MessageEnd()],
    ),
    "broken off": (
        [ToolCallStart(0, "a", "sh"), ToolCallDelta(0, '{"in')], [ToolCallStart(0, "a", "sh", kind="custom"), ToolCallDelta(0, '{"in')],
    ),
    "a custom call that is broken off is no whole function": (
        [ToolCallStart(0, "a", "ls", kind="custom"), ToolCallDelta(0, "x"), Finish("length"), MessageEnd()],
        [ToolCallStart(0, "a", "ls"), ToolCallDelta(0, '{"input":"x'), Finish("length"), MessageEnd()],
    ),
    "another call at the same index": (
        [*call(ToolCallStart(0, "a", "sh"), '{"input":"x"}'), *call(ToolCallStart(0, "b", "ls"), '{"input":"x"}')],
        [*call(ToolCallStart(0, "a", "sh", kind="custom"), "x"), *call(ToolCallStart(0, "b", "ls"), '{"input":"x"}')],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_calls(name: str) -> None:
    events, expected = CASES[name]
    for sizes in (1, 2, 3, 100):
        assert through(events, sizes) == expected


def test_what_is_not_changed_is_the_very_frame() -> None:
    naming = Naming(NAMES, CUSTOM, SPACES)
    raw = ServerSentEvent(sse("x"), b"x")
    for events in ((), (TextDelta("x"), ReasoningDelta("y")), tuple(call(ToolCallStart(0, "a", "ls"), "{}")), (Finish("stop"), MessageEnd())):
        frame = Frame(raw, events)
        (out,) = naming.feed(frame)
        assert out is frame
    assert naming.close() == ()
    (out,) = naming.feed(Frame(raw, (ToolCallStart(0, "a", "patch"),)))
    assert out == Frame(raw, (ToolCallStart(0, "a", "apply_patch", kind="custom"),), touched=True)
    (out,) = naming.feed(Frame(raw, (ToolCallDelta(0, '{"'),)))
    assert out == Frame(raw, (), touched=True)
    assert naming.close() == (Frame(None, (ToolCallDelta(0, '{"'),), touched=True),)
    assert naming.close() == ()


def test_a_namespace_is_told_beside_the_name() -> None:
    naming = Naming(NAMES, CUSTOM, SPACES)
    start = ToolCallStart(0, "a", "mcp__files__read", extra={"x": 1})
    (frame,) = naming.feed(Frame(None, (start,)))
    assert frame.events == (ToolCallStart(0, "a", "read", extra={"x": 1, "namespace": "mcp__files"}),)
    assert frame.touched
