"""write.py: a conversation as a request of Chat Completions, by what its upstream takes."""

from typing import Any

import pytest

from toolmend.requests.chat.write import REPLY, write
from toolmend.requests.conversation import (
    Conversation,
    Image,
    Other,
    RefusalPart,
    TextPart,
    ThinkingPart,
    Tool,
    ToolChoice,
    ToolResult,
    ToolUse,
    Turn,
)
from toolmend.requests.request_limits import Quirks

HI = Turn("user", (TextPart("Hi"),))
CALLS = Turn("assistant", (ThinkingPart("Hm."), TextPart("Ok."), ToolUse("1", "f", '{"a":1}')))
PNG = Image(data="iVBO", media_type="image/png")


def messages(*turns: Turn, **quirks: Any) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = write(Conversation(model="m", turns=turns), Quirks(**quirks), [])["messages"]
    return written


def test_a_conversation() -> None:
    given = Conversation(model="m", turns=(Turn("system", (TextPart("s"),)), HI), stream=True, max_tokens=9)
    assert write(given, Quirks(include_usage=True), []) == {
        "model": "m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Hi"}],
        "max_tokens": 9,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_calls_and_results() -> None:
    made = messages(HI, CALLS, Turn("tool", (ToolResult("1", (TextPart("sun"),)),)), replay="reasoning_content")
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    assert made[1:] == [
        {"role": "assistant", "content": "Ok.", "reasoning_content": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "sun"},
    ]


@pytest.mark.parametrize(("empty_content", "content"), [(True, None), (False, "")])
def test_a_call_without_text(empty_content: bool, content: str | None) -> None:
    made = messages(HI, Turn("assistant", (ToolUse("1", "f", ""),)), empty_content=empty_content)
    assert made[1]["content"] == content
    assert made[1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_custom_call_has_its_input() -> None:
    made = messages(HI, Turn("assistant", (ToolUse("1", "f", "raw", kind="custom"),)))
    assert made[1]["tool_calls"] == [{"id": "1", "type": "custom", "custom": {"name": "f", "input": "raw"}}]


@pytest.mark.parametrize(("developer", "role"), [(True, "developer"), (False, "system")])
def test_the_developers_role(developer: bool, role: str) -> None:
    assert messages(Turn("developer", (TextPart("d"),)), HI, developer=developer)[0]["role"] == role


def test_images_of_results_follow_in_a_users_message() -> None:
    result = Turn("tool", (ToolResult("1", (PNG,)),))
    for after in ((), (Turn("user", (TextPart("So?"),)),), (Turn("assistant", (TextPart("A."),)),)):
        made = messages(HI, CALLS, result, *after, images=True)
        assert [message["role"] for message in made[:4]] == ["user", "assistant", "tool", "user"]
        assert any(entry["type"] == "image_url" for entry in made[3]["content"])


def test_a_message_stands_between_tool_and_user() -> None:
    turns = (HI, CALLS, Turn("tool", (ToolResult("1", (TextPart("x"),)),)), HI)
    assert messages(*turns, user_after_tool=False)[3] == {"role": "assistant", "content": REPLY}
    assert messages(*turns, user_after_tool=True)[3]["role"] == "user"


@pytest.mark.parametrize(("refusals", "message"), [(True, {"role": "assistant", "content": None, "refusal": "No."}), (False, {"role": "assistant", "content": "No."})])
def test_a_refusal(refusals: bool, message: dict[str, Any]) -> None:
    assert messages(HI, Turn("assistant", (RefusalPart("No."),)), refusals=refusals)[1] == message


@pytest.mark.parametrize("member", ["prefix", "partial"])
def test_a_last_message_is_continued(member: Any) -> None:
    assert messages(HI, Turn("assistant", (TextPart("On"),)), prefill=member)[1] == {"role": "assistant", "content": "On", member: True}


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        (None, None),
        (ToolChoice("auto"), "auto"),
        (ToolChoice("none"), "none"),
        (ToolChoice("required"), "required"),
        (ToolChoice("tool", ("g",)), {"type": "custom", "custom": {"name": "g"}}),
        (ToolChoice("tool", ("f",)), {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_choice(choice: ToolChoice | None, written: Any) -> None:
    tools = (Tool("f", schema={"type": "object"}), Tool("g", kind="custom", format={"type": "grammar", "syntax": "lark"}))
    made = write(Conversation(turns=(HI,), tools=tools, tool_choice=choice), Quirks(), [])
    assert made.get("tool_choice") == written
    assert made["tools"][1] == {"type": "custom", "custom": {"name": "g", "format": {"type": "grammar", "grammar": {"syntax": "lark"}}}}


def test_only_allowed_tools_are_offered() -> None:
    made = write(Conversation(turns=(HI,), tools=(Tool("f"), Tool("g")), tool_choice=ToolChoice("auto", ("g",))), Quirks(), [])
    assert [tool["function"]["name"] for tool in made["tools"]] == ["g"]


@pytest.mark.parametrize(
    ("given", "quirks", "note"),
    [
        ({"rest": {"x": 1}, "api": "messages"}, {}, "`x` is left out: Chat Completions has no such field, or another meaning for it"),
        ({"cache": {"type": "ephemeral"}}, {"cache_control": False}, "`cache_control` is left out: this upstream has no such field"),
        ({"tools": (Tool("f"),), "parallel": False}, {"parallel": False}, "`parallel_tool_calls` is left out: this upstream has no such field"),
        ({"tools": (Tool("f", strict=True),)}, {"strict": False}, "`strict` of the tool f is left out: this upstream cannot hold the model to its schema"),
        ({"turns": (Turn("user", (TextPart("Hi"),), "ann"),)}, {"names": False}, "`name` of a message is left out: this upstream has no such field"),
        ({"tools": (Other("messages", {"type": "odd_2025"}),)}, {}, "odd_2025"),
    ],
)
def test_what_is_left_out_is_noted(given: dict[str, Any], quirks: dict[str, Any], note: str) -> None:
    notes: list[str] = []
    write(Conversation(**{"turns": (HI,), **given}), Quirks(**quirks), notes)
    assert len(notes) == 1
    assert note in notes[0]
