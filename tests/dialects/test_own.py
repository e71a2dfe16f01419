"""own.py: dialects of the user, in each form of arguments: calls are read, and end tags may hold names."""

import json
from typing import Any

import pytest

from toolmend.config.dialect_tables import make
from toolmend.core.events import ToolCallDelta, ToolCallEnd, ToolCallStart
from toolmend.core.tools import Tools
from toolmend.dialects.engine.markup_parser import MarkupParser
from toolmend.dialects.engine.opener_index import opener_index
from toolmend.dialects.engine.strict_dialect import StrictDialect
from toolmend.dialects.engine.tag import Tag
from toolmend.dialects.own import Keys, OwnDialect, engine_dialect, head, own_of

TOOLS = Tools({"read_file": {"type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}}})
JSON = OwnDialect("json", Tag(("<|tool_start|>",), ("<|tool_args|>",), ("<|tool_stop|>",)), strict=False)
PARAMETERS = make(
    {
        "begin": ('<call tool="',), "separator": ('">',), "end": ("</call>",), "place": "any", "strict": False,
        "parameter": {"begin": ('<arg key="',), "separator": ('">',), "end": ("</arg>",)},
    },
    "parameters",
    "parameters",
)  # fmt: skip
ATTRIBUTES = OwnDialect("attributes", Tag(('<use tool="',), ('"',), ("/>",)), body="attributes", strict=False)
LINES = OwnDialect("lines", Tag(("TOOL: ",), ("\n",), ("END",)), parameter=Tag((), (": ",), ()), body="lines", strict=False)
ENVELOPE = OwnDialect("envelope", Tag(("<act>",), (), ("</act>",)), body="envelope", keys=Keys(("fn",), ("with",)), strict=False)
NAMED_END = OwnDialect("named", Tag(("<do ",), (">",), ("</{name}>",)), strict=False)

CALLS = [
    (JSON, '<|tool_start|>read_file<|tool_args|>{"path": "a.md"}<|tool_stop|>', {"path": "a.md"}),
    (PARAMETERS, '<call tool="read_file"><arg key="path">a.md</arg><arg key="lines">3</arg></call>', {"path": "a.md", "lines": 3}),
    (ATTRIBUTES, '<use tool="read_file" path="a.md" lines="3"/>', {"path": "a.md", "lines": 3}),
    (ENVELOPE, '<act>{"fn": "read_file", "with": {"path": "a.md"}}</act>', {"path": "a.md"}),
    (NAMED_END, '<do read_file>{"path": "a.md"}</read_file>', {"path": "a.md"}),
]


def calls(dialect: OwnDialect, text: str, size: int = 1000) -> list[tuple[str, Any]]:
    parser = MarkupParser(opener_index((engine_dialect(dialect),)), TOOLS, 0, lambda: "call_1", lambda _: None)
    ops = [op for at in range(0, len(text), size) for op in parser.feed(text[at : at + size])] + parser.close(cut=False)
    names = [op.name for op in ops if isinstance(op, ToolCallStart)]
    texts = ["".join(op.arguments for op in ops if isinstance(op, ToolCallDelta) and op.index == index) for index in range(len(names))]
    ended = [op.index for op in ops if isinstance(op, ToolCallEnd)]
    return [(names[index], json.loads(texts[index])) for index in ended]


@pytest.mark.parametrize(("dialect", "text", "arguments"), CALLS, ids=lambda value: getattr(value, "name", ""))
@pytest.mark.parametrize("size", [1, 6, 1000])
def test_each_form_is_read(dialect: OwnDialect, text: str, arguments: dict[str, Any], size: int) -> None:
    assert calls(dialect, f"Hi. {text}", size) == [("read_file", arguments)]
    assert calls(dialect, f"{text}\n{text}", size) == [("read_file", arguments)] * 2


@pytest.mark.parametrize(("dialect", "text", "arguments"), CALLS, ids=lambda value: getattr(value, "name", ""))
def test_an_unknown_form_is_text(dialect: OwnDialect, text: str, arguments: dict[str, Any]) -> None:
    assert arguments
    assert calls(dialect, text.replace("read_file", "read file!")) == []


@pytest.mark.parametrize("strict", [True, False])
def test_strict_conditions(strict: bool) -> None:
    dialect = OwnDialect("json", JSON.call, strict=strict)
    assert isinstance(engine_dialect(dialect), StrictDialect) == strict
    text = CALLS[0][1]
    assert calls(dialect, text)
    assert bool(calls(dialect, text.removesuffix("<|tool_stop|>"))) != strict


def test_an_end_with_a_name_is_no_closer_of_its_own() -> None:
    assert NAMED_END.closers == ()
    assert NAMED_END.ends_of("<do read>", "read") == ("</read>",)


@pytest.mark.parametrize(("text", "name"), [("read_file<|", "read_file"), ("a.b<|", "a.b"), ("two words<|", None), ("<|", None)])
def test_head(text: str, name: str | None) -> None:
    match = head(JSON.pattern, ("<|",)).match(text)
    assert (match["name"] if match else None) == name


def test_own_of_names() -> None:
    rows = (JSON, ENVELOPE)
    assert [each.name for each in own_of(rows, None)] == ["json", "envelope"]
    assert [each.name for each in own_of(rows, ["envelope", "kimi_k2"])] == ["envelope"]
