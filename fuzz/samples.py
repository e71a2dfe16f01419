"""What the targets build their inputs of: markup of all dialects, models, tools, turns of a conversation, recordings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dice import Dice
from tests.support import upstream_answers

PAIRS = [(source, target) for source in upstream_answers.APIS for target in upstream_answers.APIS]
TOOLS = (("get_weather", {"city": {"type": "string"}, "days": {"type": "integer"}}), ("task", {"description": {"type": "string"}}))
MODELS = ("kimi-k2", "qwen3-coder", "deepseek-v3.2", "minimax-m2", "glm-4.6", "gpt-oss-120b", "mistral-large", "llama-3.3", "unknown")

MARKUP = sorted({
    *(f"<{slash}{word}>" for slash in ("", "/") for word in (
        "tool_call", "function_call", "tools", "parameter", "invoke", "arg_key", "arg_value", "think", "minimax:tool_call", "seed:tool_call",
        "steptml:invoke", "TOOLCALL", "｜tool▁calls▁begin｜", "｜tool▁call▁begin｜", "｜tool▁sep｜", "｜tool▁call▁end｜", "｜DSML｜function_calls",
        "｜DSML｜invoke", "｜DSML｜parameter",
    )),
    "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>",
    "<function=get_weather>", "</function>", "<parameter=city>", "</parameter>", '<invoke name="get_weather">', '<parameter name="city">',
    "<|channel|>commentary to=functions.get_weather", "<|constrain|>json<|message|>", "<|call|>", "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>",
    "functions.get_weather:0", "get_weather", "task", "```json\n", "```tool_call\n", "```", '{"name": "get_weather", "arguments": ',
    '{"city": "', '"}', "{}", "}", "[", "]", "(", ")", 'city="', "<", "<|", "|>", ">", "\n", " ", '"', "\\", "\\u003c", "call:", "{city:",
})  # fmt: skip
"""Pieces of all dialects: what a model writes when it calls, and when it only seems to."""


SEEDS = sorted(path.parent for path in (Path(__file__).resolve().parent.parent / "flows").rglob("meta.json"))
"""Recordings to begin with."""

TALK = {"chat": "messages", "messages": "messages", "responses": "input"}
HISTORY: Mapping[str, list[dict[str, Any]]] = {
    "chat": [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "task", "arguments": '{"description":"x"}'}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "done"},
        {"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
    ],
    "messages": [
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "task", "input": {"description": "x"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": [{"type": "text", "text": "no"}]}]},
    ],
    "responses": [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "e"},
        {"type": "function_call", "call_id": "call_1", "name": "task", "arguments": '{"description":"x"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "done"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
    ],
}  # fmt: skip
"""Turns of a conversation with a call in it."""


def asked(api: str, model: str = "unknown") -> dict[str, Any]:
    """A client's request with these tools."""
    return upstream_answers.asked(api, *TOOLS, model=model)


def parts(dice: Dice) -> list[upstream_answers.Part]:
    """What a regular answer says."""
    made: list[upstream_answers.Part] = []
    for turn in dice.more(dice.number(6)):
        match dice.number(3):
            case 0:
                made.append(upstream_answers.Text(dice.one(("Hello there.", "日本 🙂", "a < b, {x}", "x" * 50))))
            case 1:
                made.append(upstream_answers.Thought(dice.one(("Hm.", "so it\nis", "日本"))))
            case _:
                made.append(upstream_answers.Asked(f"call_{turn}", dice.one(("get_weather", "task")), dice.one(('{"city":"Paris"}', "{}", '{"description":"a\\u003cb"}'))))
    return sorted(made, key=lambda part: (isinstance(part, upstream_answers.Asked), isinstance(part, upstream_answers.Text)))
