"""JSON in prose, bare and in fences."""

from typing import Any

from tests.support.streams import pieces, request

from . import Pattern
from .family import TOOLS, dumps

OFFER = request(*TOOLS, model="qwen2.5-coder-7b")
READ, TIME = '{"path": "a.md", "limit": 20}', '{"zone": "UTC"}'
BOTH: list[tuple[str | None, str, str]] = [(None, "read_file", READ), (None, "get_time", TIME)]
LIST = '[{"name": "read_file", "arguments": ' + READ + '}, {"name": "get_time", "arguments": ' + TIME + "}]"
ONE = '{"name": "get_time", "parameters": ' + TIME + "}"


def calls(text: str, seed: int, rule: str, wanted: list[tuple[str | None, str, str]] = BOTH, model: str = "", **more: Any) -> Pattern:
    offer = {**OFFER, "model": model} if model else OFFER
    return Pattern(offer, pieces(text, seed), wanted, rules=(rule, "finish_reason"), **more)


def prose(text: str, seed: int, model: str = "xlam-2-8b") -> Pattern:
    return Pattern({**OFFER, "model": model}, pieces(text, seed), content=text, expected_finish="stop")


def fenced(inner: str, fence: str = "```", language: str = "json") -> str:
    return f"{fence}{language}\n{inner}\n{fence}"


def _nest(key: str, deep: int = 50) -> str:
    """No call, but what is in it might be one, and what is in that."""
    return f'{{"{key}": ' * deep + "1" + "}" * deep


PATTERNS: dict[str, Pattern] = {
    "array": calls(LIST, 1, "json_array", model="xlam-2-8b"),
    "array-between-text": calls(f"Sure: {LIST} Done.", 2, "json_array", model="xlam-2-8b", content="Sure:  Done."),
    "two-arrays": calls(
        f'One:\n[{ONE}]\ntwo:\n[{{"name": "read_file", "arguments": {READ}}}]', 3, "json_array", [BOTH[1], BOTH[0]], "xlam-2-8b",
        content="One:\n\ntwo:\n",
    ),
    "array-pretty": calls(LIST.replace("{", "{\n  ").replace("}", "\n}").replace(", ", ",\n "), 4, "json_array",
        [(None, "read_file", READ.replace("{", "{\n  ").replace("}", "\n}").replace(", ", ",\n ")),
         (None, "get_time", TIME.replace("{", "{\n  ").replace("}", "\n}"))], "xlam-2-8b"),
    "object": calls(f"\n{ONE}", 5, "json_object", BOTH[1:], "meta-llama/llama-3.2-3b", content="\n"),
    "object-of-type-function": calls(
        '{"type": "function", "function": {"name": "get_time", "arguments": ' + dumps(TIME) + "}}", 6, "json_object", BOTH[1:],
        "meta-llama/llama-3.2-3b",
    ),
    **{
        f"behind-{key}-in-{key}": calls(
            f"{_nest(key)}\n{ONE}", 27, "json_object", BOTH[1:], "meta-llama/llama-3.2-3b", content=f"{_nest(key)}\n"
        )
        for key in ("arguments", "function", "x")
    },
    "object-null-arguments": calls('{"name": "get_time", "arguments": null}', 7, "json_object", [(None, "get_time", "{}")], "meta-llama/llama-3.2-3b"),
    "hard-string": calls(
        '[{"name": "write_file", "arguments": {"path": "x", "content": "a \\"}]} ``` [{\\\\\\" b\\n"}}]', 8, "json_array",
        [(None, "write_file", '{"path": "x", "content": "a \\"}]} ``` [{\\\\\\" b\\n"}')], "xlam-2-8b",
    ),
    "fence": calls(f"Let me see.\n{fenced(LIST)}\nDone.", 9, "fence", content="Let me see.\n\nDone."),
    "fence-no-language": calls(fenced(ONE, language=""), 10, "fence", BOTH[1:]),
    "fence-of-two-lists": calls(f"Let me see.\n{fenced(f'[{ONE}]{chr(10)}[{ONE}]')}\nDone.", 25, "fence", [BOTH[1], BOTH[1]], content="Let me see.\n\nDone."),
    "fence-of-a-call-and-text": calls(fenced(f"{ONE}\nthat is it"), 26, "fence", BOTH[1:], content="\nthat is it\n```"),
    "fence-capitals": calls(fenced(ONE, language="JSON"), 10, "fence", BOTH[1:]),
    "fence-tildes": calls(fenced(LIST, "~~~"), 11, "fence"),
    "fence-tool-code": calls(fenced(LIST, language="tool_code"), 12, "fence"),
    "fence-not-closed": calls(fenced(ONE)[:-4], 13, "fence", BOTH[1:]),
    "fence-hard-string": calls(
        fenced('{"name": "write_file", "arguments": {"path": "x", "content": "```\\n"}}'), 14, "fence",
        [(None, "write_file", '{"path": "x", "content": "```\\n"}')],
    ),
    "data": prose(
        '[1, 2] [] {} [{"name": "x", "size": 3}] {"name": "get_time", "description": "t"} [ ] - [ ] task [a](b) {"a": {"name": "get_time"}} '
        '[{"name": "rm", "arguments": {}}] {"name": "get_time", "arguments": [1]} {"name": "get_time"}', 15,
    ),
    "code": prose('```python\nx = [{"name": "get_time", "arguments": {}}]\n```\nand `[{"name": "get_time", "arguments": {}}]`', 16),
    "fence-with-data": prose('```json\n{"a": 1, "b": [2]}\n```\n```js\nlet x = {}\n```\n```\ntext\n```', 17, "qwen2.5-coder-7b"),
    "tools-are-no-calls": prose(
        '[{"type": "function", "function": {"name": "get_time", "description": "t", "parameters": {"type": "object"}}}] '
        '{"name": "get_time", "parameters": {"type": "object", "properties": {}}}', 20,
    ),
    "fence-with-tools": prose(
        fenced('{"type": "function", "function": {"name": "get_time", "parameters": {"properties": {}}}}'), 21, "qwen2.5-coder-7b",
    ),
    "fence-in-a-longer-fence": prose(f"````md\n{fenced(ONE)}\n````", 22, "qwen2.5-coder-7b"),
    "fence-of-four": calls(f"````json\n{LIST}\n````", 23, "fence"),
    "fence-xlam": calls(fenced(LIST), 24, "fence", model="xlam-2-8b"),
    "array-coder": calls(LIST, 25, "json_array"),
    "tools": calls(f"Let me see.\n<tools>\n{LIST}\n</tools>\nDone.", 28, "json_tools", content="Let me see.\n\nDone."),
    "tools-one-by-one": calls(f"<tools>{ONE}</tools>\n<tools>\n{ONE}\n{ONE}", 29, "json_tools", [BOTH[1]] * 3, "qwen/qwen3-8b"),
    "tools-as-they-are-told": prose(
        '<tools>\n{"type": "function", "function": {"name": "get_time", "description": "t", "parameters": {"type": "object"}}}\n'
        '{"name": "get_time", "parameters": {"type": "object", "properties": {}}}\n{"name": "rm", "arguments": {}}\n</tools>', 30, "qwen2.5-coder-7b",
    ),
    "surplus-brace": calls(ONE + "}", 26, "json_object", BOTH[1:], "meta-llama/llama-3.2-3b"),
    "surplus-brace-between": calls(
        f'<|python_tag|>{{"name": "read_file", "parameters": {READ}}}}}; {ONE}}}', 27, "llama", model="meta-llama/llama-3.2-3b"
    ),
    "reasoning-is-never-a-call": Pattern(
        {**OFFER, "model": "xlam-2-8b"}, pieces(LIST, 18), reasoning=LIST, field="reasoning_content", expected_finish="stop",
    ),
    "broken-off": Pattern(
        {**OFFER, "model": "xlam-2-8b"}, pieces(LIST[:50], 19), [(None, "read_file", LIST[36:50])], finish="length",
        expected_finish="length", rules=("json_array",),
    ),
}  # fmt: skip
