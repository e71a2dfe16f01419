"""strict_dialect.py: a call of an unknown model counts only where it is certain."""

import json

import pytest

from toolmend.core.events import ToolCallDelta, ToolCallStart
from toolmend.core.tools import Tools
from toolmend.dialects import DIALECTS
from toolmend.dialects.engine.markup_parser import MarkupParser
from toolmend.dialects.engine.opener_index import opener_index
from toolmend.dialects.engine.strict_dialect import FOR_UNKNOWN_MODELS, StrictDialect, is_balanced

TOOLS = Tools({"read": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}})
CALL = '{"name": "read", "arguments": {"path": "a"}}'
CERTAIN = [
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"I read.\n<tool_call>\n{CALL}\n</tool_call>",
    f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{CALL}\n</tool_call>",
    CALL,
    f"[{CALL}]",
    f"```json\n{CALL}\n```",
    "<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
]
UNCERTAIN = [
    f"Write <tool_call>{CALL}</tool_call> to call.",
    f"<tool_call>\n{CALL}",
    f"I answer: {CALL}",
    f"{CALL}\nThat is it.",
    f"    <tool_call>\n    {CALL}\n    </tool_call>",
    f"```\n<tool_call>\n{CALL}\n</tool_call>\n```",
    CALL.replace("read", "write"),
    CALL.replace("read", "functions.read"),
    CALL.replace("path", "file"),
    CALL[:-1],
]


def names(text: str, size: int = 10_000) -> list[str]:
    parser = MarkupParser(opener_index(tuple(FOR_UNKNOWN_MODELS.values())), TOOLS, 0, lambda: "call_1", lambda _: None)
    ops = [op for at in range(0, len(text), size) for op in parser.feed(text[at : at + size])] + parser.close(cut=False)
    assert all(json.loads(op.arguments) == {"path": "a"} for op in ops if isinstance(op, ToolCallDelta))
    return [op.name for op in ops if isinstance(op, ToolCallStart)]


@pytest.mark.parametrize("text", CERTAIN)
@pytest.mark.parametrize("size", [1, 10_000])
def test_certain(text: str, size: int) -> None:
    assert set(names(text, size)) == {"read"}


@pytest.mark.parametrize("text", UNCERTAIN)
@pytest.mark.parametrize("size", [1, 10_000])
def test_uncertain(text: str, size: int) -> None:
    assert names(text, size) == []


@pytest.mark.parametrize(
    ("text", "balanced"),
    [("", True), ('{"a": [1]}', True), ('{"a": "{"}', True), ('{"a": "\\"{"}', True), ('{"a": [1}', False), ('{"a": 1', False), ("]", False)],
)
def test_is_balanced(text: str, balanced: bool) -> None:
    assert is_balanced(text) == balanced


def test_it_is_ambiguous_whatever_it_wraps() -> None:
    made = StrictDialect(DIALECTS["kimi_k2"])
    assert (made.name, made.openers, made.wrappers) == ("kimi_k2", DIALECTS["kimi_k2"].openers, ())
    assert (made.ambiguous, made.offered_only, made.place) == (True, True, "line")


def test_the_names_are_those_of_the_rules() -> None:
    assert FOR_UNKNOWN_MODELS.keys() <= DIALECTS.keys()
    assert all(dialect.name == DIALECTS[name].name for name, dialect in FOR_UNKNOWN_MODELS.items())
