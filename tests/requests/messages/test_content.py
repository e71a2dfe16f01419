"""content.py: parts as blocks of Messages, in the same order; arguments as objects."""

from typing import Any

import pytest

from toolmend.core.reasoning_state import ReasoningState
from toolmend.requests import RequestError
from toolmend.requests.conversation import (
    Document,
    Image,
    Other,
    Part,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolResult,
    ToolUse,
    Turn,
)
from toolmend.requests.messages.content import INVALID, blocks_of, input_of, short
from toolmend.requests.request_limits import Quirks

CACHE = {"type": "ephemeral"}


def blocks(part: Part, **quirks: Any) -> tuple[list[dict[str, Any]], list[str]]:
    notes: list[str] = []
    return blocks_of(Turn("user", (part,)), Quirks(**quirks), notes), notes


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (TextPart("a"), {"type": "text", "text": "a"}),
        (TextPart("a", CACHE), {"type": "text", "text": "a", "cache_control": CACHE}),
        (RefusalPart("No."), {"type": "text", "text": "No."}),
        (Image(data="x", media_type="image/jpg"), {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "x"}}),
        (Image(url="https://x"), {"type": "image", "source": {"type": "url", "url": "https://x"}}),
        (Document(data="x", media_type="application/pdf", title="T"), {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "x"}, "title": "T"}),
        (Document(text="w"), {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "w"}}),
        (ThinkingPart("t", ReasoningState("signature", "s")), {"type": "thinking", "thinking": "t", "signature": "s"}),
        (ThinkingPart("", ReasoningState("redacted", "r")), {"type": "redacted_thinking", "data": "r"}),
        (ToolUse("1", "f", '{"a":1}'), {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}),
        (ToolResult("1", (TextPart("x"),)), {"type": "tool_result", "tool_use_id": "1", "content": "x"}),
        (ToolResult("1", is_error=True), {"type": "tool_result", "tool_use_id": "1", "content": "", "is_error": True}),
        (Other("messages", {"type": "odd"}), {"type": "odd"}),
    ],
)
def test_a_part_is_a_block(part: Part, block: dict[str, Any]) -> None:
    assert blocks(part, cache_control=True) == ([block], [])


@pytest.mark.parametrize("part", [TextPart(""), RefusalPart("")])
def test_empty_text_is_no_block(part: Part) -> None:
    assert blocks(part) == ([], [])


@pytest.mark.parametrize(
    ("part", "note"),
    [
        (Image(data="x", media_type="image/tiff"), "An image of the type image/tiff is left out: Messages takes JPEG, PNG, GIF and WebP"),
        (Image(file_id="f"), "An image that is a file of the provider's is left out: another provider has no such file"),
        (Document(data="x", media_type="text/csv"), "A document of the type text/csv is left out: Messages takes PDF and text"),
        (ThinkingPart("t"), "Reasoning of earlier turns is left out: this upstream takes only what it has signed itself"),
        (Other("chat", {"type": "odd"}), "A part of the type odd is left out: Messages has no such block"),
    ],
)
def test_what_is_left_out_is_noted(part: Part, note: str) -> None:
    assert blocks(part)[1] == [note]


def test_an_upstream_may_take_unsigned_thinking() -> None:
    assert blocks(ThinkingPart("t"), unsigned=True) == ([{"type": "thinking", "thinking": "t", "signature": ""}], [])


def test_audio_must_not_be_dropped() -> None:
    with pytest.raises(RequestError, match="`input_audio` cannot be said in Messages"):
        blocks(Other("chat", {"type": "input_audio"}))


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (' {"a": 1} ', {"a": 1}),
        ("", {}),
        ("null", {}),
        ("{'a': True}", {"a": True}),
        ("[1]", {INVALID: "[1]"}),
        ("no JSON", {INVALID: "no JSON"}),
    ],
)
def test_arguments_are_an_object(arguments: str, value: dict[str, Any]) -> None:
    notes: list[str] = []
    assert input_of(ToolUse("1", "f", arguments), notes) == value
    assert bool(notes) == (INVALID in value)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ([{"type": "text", "text": "a"}], "a"),
        ([{"type": "text", "text": "a", "cache_control": CACHE}], None),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], None),
        ([{"type": "image"}], None),
        ([], None),
    ],
)
def test_short(given: list[dict[str, Any]], made: str | None) -> None:
    assert short(given) == (given if made is None else made)
