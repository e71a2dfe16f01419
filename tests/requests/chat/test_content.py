"""content.py: parts as content of Chat Completions messages: a string where it can be, a text for what the upstream cannot read."""

from typing import Any

import pytest

from toolmend.core.reasoning_state import ReasoningState
from toolmend.requests.chat.content import SHOWN, Content, replay_members
from toolmend.requests.conversation import Document, Image, Other, Part, TextPart, ThinkingPart, ToolResult
from toolmend.requests.request_limits import Quirks
from toolmend.requests.stand_ins import EMPTY_RESULT, ERROR

CACHE = {"type": "ephemeral"}
ALL = Quirks(parts=True, images=True, documents=True, cache_control=True, result_parts=True, empty_results=True)
LEAST = Quirks(parts=False, images=False, documents=False, cache_control=False, result_parts=False, empty_results=False)
PNG, PDF = Image(data="iVBO", media_type="image/png"), Document(data="JVBE", media_type="application/pdf", title="a.pdf")
PNG_ENTRY = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


@pytest.mark.parametrize(
    ("parts", "all_", "least"),
    [
        ((), "", ""),
        ((TextPart("a"),), "a", "a"),
        ((TextPart("a"), TextPart(""), TextPart("b")), [text("a"), text("b")], "a\n\nb"),
        ((TextPart("a", CACHE),), [text("a", cache_control=CACHE)], "a"),
        ((PNG,), [PNG_ENTRY], "[An image is left out: this upstream sees none]"),
        ((PDF,), [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}}], "[A document is left out: this upstream reads none]"),
        ((Document(text="words", title="T"),), "T\n\nwords", "T\n\nwords"),
        ((Document(url="https://x"),), "[document https://x]", "[document https://x]"),
        ((Other("chat", {"type": "video_url"}),), [{"type": "video_url"}], [{"type": "video_url"}]),
        ((Other("messages", {"type": "odd"}),), "", ""),
    ],
)
def test_parts(parts: tuple[Part, ...], all_: Any, least: Any) -> None:
    assert Content(ALL, []).of(parts) == all_
    assert Content(LEAST, []).of(parts) == least


@pytest.mark.parametrize(
    ("part", "note"),
    [
        (Image(file_id="f"), "An image that is a file of the provider's is left out: another provider has no such file"),
        (Image(), "An image is left out: it is empty"),
        (Document(file_id="f"), "A document that is a file of the provider's is left out: another provider has no such file"),
        (Other("messages", {"type": "odd"}), "A block of the type odd is left out: Chat Completions has no such part"),
    ],
)
def test_what_is_left_out_is_noted(part: Part, note: str) -> None:
    notes: list[str] = []
    Content(ALL, notes).of((part,))
    assert notes == [note]


@pytest.mark.parametrize(
    ("result", "quirks", "content"),
    [
        (ToolResult("1", (TextPart("a"),)), ALL, "a"),
        (ToolResult("1", (TextPart("a"), TextPart("b"))), ALL, [text("a"), text("b")]),
        (ToolResult("1", (TextPart("a"), TextPart("b"))), LEAST, "a\n\nb"),
        (ToolResult("1", (TextPart("a"),), is_error=True), ALL, f"{ERROR}a"),
        (ToolResult("1", is_error=True), ALL, f"{ERROR}the tool failed"),
        (ToolResult("1"), ALL, ""),
        (ToolResult("1"), LEAST, EMPTY_RESULT),
        (ToolResult("1", (TextPart("a"),), cache=CACHE), ALL, [text("a", cache_control=CACHE)]),
    ],
)
def test_results(result: ToolResult, quirks: Quirks, content: Any) -> None:
    assert Content(quirks, []).of_result(result, []) == content


def test_images_of_results_are_shown_later() -> None:
    shown: list[dict[str, Any]] = []
    content = Content(ALL, [])
    assert content.of_result(ToolResult("1", (PNG,)), shown) == "[image 1 of those shown below]"
    assert content.of_result(ToolResult("2", (PDF,)), shown) == "[file 2 of those shown below]"
    assert shown[:2] == [text(SHOWN), PNG_ENTRY]


@pytest.mark.parametrize(
    ("replay", "thoughts", "members"),
    [
        ("", [ThinkingPart("a")], {}),
        ("reasoning_content", [ThinkingPart("a"), ThinkingPart("b")], {"reasoning_content": "ab"}),
        ("reasoning_content", [ThinkingPart("", ReasoningState("redacted", "r"))], {}),
        ("details", [ThinkingPart("a")], {"reasoning": "a"}),
        (
            "details",
            [ThinkingPart("a", ReasoningState("signature", "s")), ThinkingPart("", ReasoningState("redacted", "r"))],
            {
                "reasoning": "a",
                "reasoning_details": [
                    {"type": "reasoning.text", "text": "a", "signature": "s", "format": "anthropic-claude-v1", "index": 0},
                    {"type": "reasoning.encrypted", "data": "r", "format": "anthropic-claude-v1", "index": 1},
                ],
            },
        ),
        (
            "details",
            [ThinkingPart("", ReasoningState("encrypted", '{"encrypted_content":"e","id":"rs_1"}'))],
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "e", "format": "openai-responses-v1", "index": 0, "id": "rs_1"}]},
        ),
        ("details", [ThinkingPart("a", ReasoningState("details", '[{"type":"x"}]'))], {"reasoning": "a", "reasoning_details": [{"type": "x"}]}),
        ("details", [ThinkingPart("a", ReasoningState("details", "broken"))], {"reasoning": "a"}),
    ],
)
def test_reasoning_of_earlier_turns(replay: Any, thoughts: list[ThinkingPart], members: dict[str, Any]) -> None:
    notes: list[str] = []
    assert replay_members(thoughts, Quirks(replay=replay), notes) == members
    broken = any(thought.seal and thought.seal.data == "broken" for thought in thoughts)
    foreign = replay != "details" and any(thought.seal for thought in thoughts)
    assert bool(notes) == (broken or foreign or not replay)
