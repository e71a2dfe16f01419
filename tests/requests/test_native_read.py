"""native_read.py: requests of Gemini and Ollama as a conversation, for views."""

from typing import Any

import pytest

from toolmend.requests import RequestError
from toolmend.requests.conversation import Image, Other, TextPart, ThinkingPart, Tool, ToolResult, ToolUse, Turn
from toolmend.requests.native_read import gemini, ollama

GEMINI: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Weather?"}, {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}]},
        {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"functionCall": {"name": "get", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "get", "response": {"b": 2}}}, {"text": "So?"}]},
        {"role": "user", "parts": [{"executableCode": {"code": "1"}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "get", "description": "d", "parameters": {"type": "OBJECT"}}]}, {"googleSearch": {}}],
}
TURNS = (
    Turn("system", (TextPart("Be brief."),)),
    Turn("user", (TextPart("Weather?"), Image(data="iVBO", media_type="image/png"))),
    Turn("assistant", (ThinkingPart("Hm."), ToolUse("get", "get", '{"a":1}'))),
    Turn("tool", (ToolResult("get", (TextPart('{"b":2}'),)),)),
    Turn("user", (TextPart("So?"),)),
    Turn("user", (Other("gemini", {"executableCode": {"code": "1"}}),)),
)


@pytest.mark.parametrize("request_", [GEMINI, {"model": "m", "request": GEMINI}], ids=["Gemini", "Code Assist"])
def test_gemini(request_: dict[str, Any]) -> None:
    read = gemini(request_, [])
    assert (read.api, read.turns) == ("gemini", TURNS)
    assert read.tools == (Tool("get", "d", {"type": "OBJECT"}), Other("gemini", {"type": "googleSearch", "googleSearch": {}}))


def test_ollama() -> None:
    function = {"name": "get", "description": "d", "parameters": {"type": "object"}}
    read = ollama(
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Weather?", "images": ["iVBO"]},
                {"role": "assistant", "thinking": "Hm.", "content": "", "tool_calls": [{"function": {"name": "get", "arguments": {"a": 1}}}]},
                {"role": "tool", "tool_name": "get", "content": "sun"},
            ],
            "tools": [{"type": "function", "function": function}],
        },
        [],
    )
    assert read.turns == (
        Turn("system", (TextPart("Be brief."),)),
        Turn("user", (TextPart("Weather?"), Image(data="iVBO", media_type="image"))),
        Turn("assistant", (ThinkingPart("Hm."), ToolUse("get", "get", '{"a":1}'))),
        Turn("tool", (ToolResult("get", (TextPart("sun"),)),)),
    )
    assert (read.api, read.tools) == ("ollama", (Tool("get", "d", {"type": "object"}),))


def test_generate_has_a_prompt() -> None:
    assert ollama({"system": "s", "prompt": "p"}, []).turns == (Turn("system", (TextPart("s"),)), Turn("user", (TextPart("p"),)))


@pytest.mark.parametrize(("read", "request_"), [(gemini, {"contents": ["x"]}), (gemini, {"contents": [{"parts": 1}]}), (ollama, {"messages": "x"}), (ollama, {"tools": [1]})])
def test_wrong_types_are_errors(read: Any, request_: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="is not a list of objects"):
        read(request_, [])


@pytest.mark.parametrize("read", [gemini, ollama])
def test_nothing_is_an_empty_conversation(read: Any) -> None:
    assert (read({}, []).turns, read({}, []).tools) == ((), ())
