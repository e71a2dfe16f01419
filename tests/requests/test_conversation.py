"""conversation.py: what is unset is empty, and which turns are the system's."""

import pytest

from toolmend.requests.conversation import Conversation, Image, TextPart, Tool, ToolUse, Turn


@pytest.mark.parametrize(("role", "of_system"), [("system", True), ("developer", True), ("user", False), ("assistant", False), ("tool", False)])
def test_turns_of_the_system(role: str, of_system: bool) -> None:
    assert Turn(role).of_system == of_system  # type: ignore[arg-type]


def test_an_empty_conversation_sets_nothing() -> None:
    unset = {name: getattr(Conversation(), name) for name in Conversation.__match_args__}
    assert not any(unset.values())
    none = {"tool_choice", "parallel", "max_tokens", "temperature", "top_p", "top_k", "reasoning", "format", "cache"}
    assert {name for name, value in unset.items() if value is None} == none  # 0 and False are the client's own


def test_parts_are_values() -> None:
    assert TextPart("a") == TextPart("a", None) != TextPart("a", {"type": "ephemeral"})
    assert Image(url="u") != Image(data="u")
    assert (ToolUse("1", "f", "{}").kind, Tool("f").schema) == ("function", None)


def test_conversations_share_no_options() -> None:
    assert Conversation().options is not Conversation().options
    assert ToolUse("1", "f", "").extra is not ToolUse("1", "f", "").extra
