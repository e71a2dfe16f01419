"""write.py: a conversation as a request of Messages, by what its upstream takes."""

from typing import Any

import pytest

from toolmend.core.reasoning_state import ReasoningState
from toolmend.requests.conversation import (
    Conversation,
    Reasoning,
    TextPart,
    ThinkingPart,
    Tool,
    ToolChoice,
    ToolResult,
    ToolUse,
    Turn,
)
from toolmend.requests.messages.write import MIN_BUDGET, write
from toolmend.requests.request_limits import Quirks
from toolmend.requests.stand_ins import BEGINNING

HI = Turn("user", (TextPart("Hi"),))
THINKS = {"thinking_kinds": ("enabled", "disabled")}


def written(*turns: Turn, notes: list[str] | None = None, quirks: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    conversation = Conversation(**{"model": "m", "max_tokens": 5000, "turns": turns or (HI,), **given})
    return write(conversation, Quirks(**(quirks or {})), [] if notes is None else notes)


def test_a_conversation() -> None:
    assert written(Turn("system", (TextPart("s"),)), HI, stream=True) == {
        "model": "m",
        "max_tokens": 5000,
        "system": "s",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
    }


def test_turns_alternate() -> None:
    use, result = ToolUse("1", "f", "{}"), ToolResult("1", (TextPart("x"),))
    made = written(HI, Turn("assistant", (use,)), Turn("tool", (result,)), HI)
    assert [message["role"] for message in made["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in made["messages"][2]["content"]] == ["tool_result", "text"]


def test_messages_begins_with_the_user() -> None:
    made = written(Turn("assistant", (TextPart("a"),)), HI)
    assert made["messages"][0] == {"role": "user", "content": BEGINNING}


def test_the_system_alone_is_the_user() -> None:
    assert written(Turn("system", (TextPart("s"),)))["messages"] == [{"role": "user", "content": "s"}]


def test_no_turn_ends_in_thinking_or_blanks() -> None:
    thought = ThinkingPart("t", ReasoningState("signature", "s"))
    made = written(HI, Turn("assistant", (TextPart("On "), thought)))
    assert made["messages"][1] == {"role": "assistant", "content": "On"}


@pytest.mark.parametrize(
    ("body", "members"),
    [
        ("bedrock", {"anthropic_version": "bedrock-2023-05-31"}),
        ("vertex", {"anthropic_version": "vertex-2023-10-16", "stream": True}),
        ("", {"model": "m", "stream": True}),
    ],
)
def test_the_body_of_a_cloud(body: Any, members: dict[str, Any]) -> None:
    made = written(stream=True, quirks={"body": body})
    assert {key: made[key] for key in ("anthropic_version", "model", "stream") if key in made} == members


@pytest.mark.parametrize(
    ("choice", "parallel", "member"),
    [
        (None, None, None),
        (ToolChoice("required"), None, {"type": "any"}),
        (ToolChoice("tool", ("f",)), None, {"type": "tool", "name": "f"}),
        (ToolChoice("none"), False, {"type": "none"}),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        (ToolChoice("auto"), False, {"type": "auto", "disable_parallel_tool_use": True}),
    ],
)
def test_choice(choice: ToolChoice | None, parallel: bool | None, member: Any) -> None:
    made = written(tools=(Tool("f"),), tool_choice=choice, parallel=parallel)
    assert made.get("tool_choice") == member
    assert made["tools"] == [{"name": "f", "input_schema": {"type": "object", "properties": {}}}]


@pytest.mark.parametrize(
    ("reasoning", "more", "thinking"),
    [
        (None, {}, None),
        (Reasoning(enabled=True, budget=2000), {}, {"type": "enabled", "budget_tokens": 2000}),
        (Reasoning(enabled=True, budget=9000), {}, {"type": "enabled", "budget_tokens": 4999}),
        (Reasoning(enabled=True, budget=9), {}, {"type": "enabled", "budget_tokens": MIN_BUDGET}),
        (Reasoning(enabled=False), {}, {"type": "disabled"}),
        (Reasoning(enabled=True), {"max_tokens": MIN_BUDGET}, None),
        (Reasoning(enabled=True), {"quirks": {"thinking_kinds": ()}}, None),
        (Reasoning(enabled=True), {"quirks": {"thinking_kinds": ("adaptive",)}}, {"type": "adaptive"}),
    ],
)
def test_thinking(reasoning: Reasoning | None, more: dict[str, Any], thinking: Any) -> None:
    assert written(reasoning=reasoning, **{"quirks": THINKS, **more}).get("thinking") == thinking


def test_a_tool_cannot_be_forced_while_it_thinks() -> None:
    notes: list[str] = []
    made = written(tools=(Tool("f"),), tool_choice=ToolChoice("tool", ("f",)), reasoning=Reasoning(enabled=True), quirks=THINKS, notes=notes)
    assert made["tool_choice"] == {"type": "auto"}
    assert notes == ["`tool_choice` is auto: this upstream lets no tool be forced while it thinks"]


def test_sampling_is_left_out_while_it_thinks() -> None:
    made = written(reasoning=Reasoning(enabled=True), temperature=0.2, top_p=0.5, top_k=3, quirks=THINKS)
    assert not {"temperature", "top_p", "top_k"} & made.keys()
    assert written(temperature=0.2, quirks=THINKS)["temperature"] == 0.2


@pytest.mark.parametrize(("given", "limit", "made"), [(None, None, Quirks().default_max_tokens), (None, 3000, 3000), (9000, 3000, 3000), (9000, None, 9000)])
def test_max_tokens_is_always_there(given: int | None, limit: int | None, made: int) -> None:
    assert written(max_tokens=given, quirks={"max_tokens": limit})["max_tokens"] == made


@pytest.mark.parametrize(("user", "kept"), [("user_1", True), ("ann@x.example", False), ("+49 170 1234567", False), ("u" * 300, False)])
def test_a_user_is_no_person(user: str, kept: bool) -> None:
    assert (written(user=user)["metadata"]["user_id"] == user) == kept


def test_stop_sequences_of_blanks_are_refused() -> None:
    assert written(stop=("a", "\n"))["stop_sequences"] == ["a"]
