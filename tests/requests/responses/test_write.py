"""write.py: a conversation as a request of Responses, by what its upstream takes."""

from typing import Any

import pytest

from toolmend.core.reasoning_state import ReasoningState
from toolmend.requests.conversation import (
    Conversation,
    Document,
    Format,
    Image,
    Part,
    Reasoning,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolResult,
    ToolUse,
    Turn,
)
from toolmend.requests.request_limits import Quirks
from toolmend.requests.responses.read import ENCRYPTED
from toolmend.requests.responses.write import INSTRUCTIONS, MIN_TOKENS, write
from toolmend.requests.stand_ins import ERROR

HI = Turn("user", (TextPart("Hi"),))
SEAL = ReasoningState("encrypted", '{"encrypted_content":"e","id":"rs_1"}')


def written(*turns: Turn, notes: list[str] | None = None, quirks: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    return write(Conversation(**{"model": "m", "turns": turns or (HI,), **given}), Quirks(**(quirks or {})), [] if notes is None else notes)


def items(part: Part, role: Any = "user", **quirks: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = written(HI, Turn(role, (part,)), quirks=quirks)["input"]
    return made[1:]


def test_a_conversation() -> None:
    made = written(Turn("system", (TextPart("s"),)), HI, stream=True)
    assert made == {"model": "m", "instructions": "s", "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}], "store": False, "stream": True}


def test_the_input_is_never_empty() -> None:
    made = written(Turn("system", (TextPart("s"),)))
    assert "instructions" not in made
    assert len(made["input"]) == 1


@pytest.mark.parametrize(
    ("part", "role", "item"),
    [
        (ToolUse("1", "f", '{"a":1}'), "assistant", {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"a":1}'}),
        (ToolUse("1", "f", ""), "assistant", {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}),
        (ToolUse("1", "f", "raw", kind="custom"), "assistant", {"type": "custom_tool_call", "call_id": "1", "name": "f", "input": "raw"}),
        (ToolResult("1", (TextPart("x"),)), "tool", {"type": "function_call_output", "call_id": "1", "output": "x"}),
        (ToolResult("1"), "tool", {"type": "function_call_output", "call_id": "1", "output": ""}),
        (ToolResult("1", (TextPart("x"),), is_error=True), "tool", {"type": "function_call_output", "call_id": "1", "output": f"{ERROR}x"}),
        (ToolResult("1", is_error=True, kind="custom"), "tool", {"type": "custom_tool_call_output", "call_id": "1", "output": f"{ERROR}the tool failed"}),
    ],
)
def test_calls_and_results_are_items(part: Part, role: str, item: dict[str, Any]) -> None:
    assert items(part, role) == [item]


@pytest.mark.parametrize(
    ("part", "role", "content"),
    [
        (TextPart("a"), "user", {"type": "input_text", "text": "a"}),
        (TextPart("a"), "assistant", {"type": "output_text", "text": "a"}),
        (RefusalPart("No."), "assistant", {"type": "refusal", "refusal": "No."}),
        (Image(data="x", media_type="image/png"), "user", {"type": "input_image", "image_url": "data:image/png;base64,x", "detail": "auto"}),
        (Document(text="w", title="T"), "user", {"type": "input_text", "text": "T\n\nw"}),
        (Document(data="x", media_type="application/pdf"), "user", {"type": "input_file", "file_data": "data:application/pdf;base64,x", "filename": "document.pdf"}),
    ],
)
def test_other_parts_are_content(part: Part, role: Any, content: dict[str, Any]) -> None:
    made = written(Turn(role, (part,)), Turn("tool", (ToolResult("1"),)))["input"][0]
    assert made == {"type": "message", "role": role, "content": [content]}


def test_reasoning_goes_back_sealed_before_what_follows() -> None:
    thought = ThinkingPart("Hm.", SEAL)
    made = written(HI, Turn("assistant", (thought, TextPart("a"))))["input"]
    assert made[1] == {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "e"}
    notes: list[str] = []
    assert len(written(HI, Turn("assistant", (TextPart("a"), thought)), notes=notes)["input"]) == 2
    assert notes == ["Reasoning at the end of a turn is left out: Responses wants what follows from it"]
    assert len(written(HI, Turn("assistant", (ThinkingPart("Hm."), TextPart("a"))), notes=notes)["input"]) == 2


def test_phases() -> None:
    made = written(HI, Turn("assistant", (TextPart("a"), ToolUse("1", "f", "{}"), TextPart("b"))), quirks={"phases": True})["input"]
    assert [item.get("phase") for item in made] == [None, "commentary", None, "final_answer"]


@pytest.mark.parametrize(("given", "most", "made"), [(1, None, MIN_TOKENS), (99, 50, 50), (99, None, 99)])
def test_output_tokens(given: int, most: int | None, made: int) -> None:
    notes: list[str] = []
    assert written(max_tokens=given, quirks={"max_tokens": most}, notes=notes)["max_output_tokens"] == made
    assert bool(notes) == (given != made)


@pytest.mark.parametrize(
    ("reasoning", "efforts", "members"),
    [
        (None, (), {}),
        (Reasoning(effort="high"), (), {}),
        (Reasoning(effort="high"), ("low", "high"), {"reasoning": {"effort": "high"}, "include": [ENCRYPTED]}),
        (Reasoning(effort="none"), ("none", "low"), {"reasoning": {"effort": "none"}}),
    ],
)
def test_reasoning(reasoning: Reasoning | None, efforts: tuple[str, ...], members: dict[str, Any]) -> None:
    made = written(reasoning=reasoning, quirks={"efforts": efforts, "thinks": False})
    assert {key: made[key] for key in ("reasoning", "include") if key in made} == members


def test_a_format() -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    made = written(format=Format("json_schema", schema, "n"))["text"]["format"]
    assert made == {"type": "json_schema", "name": "n", "schema": schema, "strict": True}
    assert written(format=Format("json_object"))["text"] == {"format": {"type": "json_object"}}


def test_the_body_of_codex() -> None:
    made = written(quirks={"body": "codex"})
    assert (made["instructions"], made["stream"]) == (INSTRUCTIONS, True)


def test_files_of_another_provider_are_left_out() -> None:
    notes: list[str] = []
    made = written(Turn("user", (TextPart("a"), Image(file_id="f"))), api="messages", notes=notes)
    assert len(made["input"][0]["content"]) == 1
    assert len(notes) == 1
    assert written(Turn("user", (Image(file_id="f"),)), api="responses")["input"][0]["content"][0]["file_id"] == "f"
