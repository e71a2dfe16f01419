"""tags.py: a dialect of tags as data: openers, names, missing ends and wrappers."""

import json
import re
from typing import Any

import pytest

from toolmend.core.events import ToolCallDelta, ToolCallEnd, ToolCallStart
from toolmend.core.tools import Tools
from toolmend.dialects.engine.markup_parser import MarkupParser
from toolmend.dialects.engine.opener_index import opener_index
from toolmend.dialects.engine.tag import Tag
from toolmend.dialects.engine.tags import MAX_HEADER, MAX_OPENERS, TagDialect

TOOLS = Tools({"read": {"properties": {"path": {"type": "string"}}}, "now": {"properties": {}}})
JSON = TagDialect("json", Tag(("<call>",), ("<args>",), ("</call>",)), Tag(("<calls>",), (), ("</calls>",)))
WRAPPED = TagDialect("wrapped", JSON.call, JSON.wrapper, bare=False)
PARAMETERS = TagDialect(
    "parameters",
    Tag(("<fn=",), (">",), ("</fn>",)),
    arguments="parameters",
    parameter=Tag(("<p=",), (">",), ("</p>",)),
)
ENVELOPE = TagDialect("envelope", Tag(("<call>",), (), ("</call>",)), arguments="envelope")


def parsed(dialect: TagDialect, text: str, size: int = 1000) -> tuple[list[tuple[str, Any]], str]:
    """The complete calls of a text, and the text that stays."""
    parser = MarkupParser(opener_index((dialect,)), TOOLS, 0, lambda: "call_1", lambda _: None)
    ops: list[Any] = []
    for at in range(0, len(text), size):
        ops += parser.feed(text[at : at + size])
    ops += parser.close(cut=False)
    names, pieces, ended, content, place = list[str](), dict[int, str](), list[int](), "", 0
    for op in ops:
        match op:
            case ToolCallStart():
                names.append(op.name)
            case ToolCallDelta():
                pieces[op.index] = pieces.get(op.index, "") + op.arguments
            case ToolCallEnd():
                ended.append(op.index)
            case int():
                content += text[place : place + op] if op > 0 else ""
                place += abs(op)
    return [(names[index], json.loads(pieces[index])) for index in ended], content


READ = ("read", {"path": "a"})
OBJECT = '{"path": "a"}'
CASES: list[tuple[TagDialect, str, list[tuple[str, Any]], str]] = [
    (JSON, f"<call>read<args>{OBJECT}</call>", [READ], ""),
    (JSON, f"Hi <call> read <args> {OBJECT} </call> you", [READ], "Hi  you"),
    (JSON, f"<calls><call>read<args>{OBJECT}</call><call>read<args>{OBJECT}</call></calls>", [READ, READ], ""),
    (JSON, f"<call><call>read<args>{OBJECT}</call>", [READ], ""),
    (JSON, f"<call>read{OBJECT}</call>", [READ], ""),
    (JSON, f"<call>unknown{OBJECT}</call>", [], f"<call>unknown{OBJECT}</call>"),
    (JSON, f"<call>read<|x|>to<args>{OBJECT}</call>", [READ], ""),
    (JSON, f"<call>read me<args>{OBJECT}</call>", [], f"<call>read me<args>{OBJECT}</call>"),
    (JSON, "a <call> in prose", [], "a <call> in prose"),
    (JSON, "<call>" + "n" * (MAX_HEADER + 1) + "<args>{}</call>", [], "<call>" + "n" * (MAX_HEADER + 1) + "<args>{}</call>"),
    (WRAPPED, f"<calls><call>read<args>{OBJECT}</call></calls>", [READ], ""),
    (WRAPPED, f"<call>read<args>{OBJECT}</call>", [], f"<call>read<args>{OBJECT}</call>"),
    (PARAMETERS, "<fn=read><p=path>a</p></fn>", [READ], ""),
    (PARAMETERS, "<fn=read><p=path>a</p>", [READ], ""),
    (PARAMETERS, "<fn=read<p=path>a</p></fn>", [READ], ""),
    (PARAMETERS, "<fn=now/>", [("now", {})], ""),
    (PARAMETERS, "<fn=unknown/>", [], "<fn=unknown/>"),
    (ENVELOPE, '<call>{"name": "read", "arguments": {"path": "a"}}</call>', [READ], ""),
]


@pytest.mark.parametrize(("dialect", "text", "calls", "content"), CASES, ids=lambda value: getattr(value, "name", None))
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_calls(dialect: TagDialect, text: str, calls: list[tuple[str, Any]], content: str, size: int) -> None:
    assert parsed(dialect, text, size) == (calls, content)


def test_openers_in_a_row_are_bounded() -> None:
    assert parsed(JSON, "<call>" * MAX_OPENERS + f"read<args>{OBJECT}</call>")[0] == [READ]
    _, stays = parsed(JSON, "<call>" * 200)
    assert stays == "<call>" * 200


@pytest.mark.parametrize(
    ("dialect", "openers", "inner", "wrappers", "closers"),
    [
        (JSON, ("<calls>", "<call>"), (), ("<calls>",), ("</call>", "</calls>")),
        (WRAPPED, ("<calls>", "<call>"), ("<call>",), ("<calls>",), ("</call>", "</calls>")),
        (PARAMETERS, ("<fn=",), (), (), ("</fn>",)),
        (ENVELOPE, ("<call>",), (), ("<call>",), ("</call>",)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_tokens(dialect: TagDialect, openers: tuple[str, ...], inner: tuple[str, ...], wrappers: tuple[str, ...], closers: tuple[str, ...]) -> None:
    assert (dialect.openers, dialect.inner, dialect.wrappers, dialect.closers) == (openers, inner, wrappers, closers)


def test_ambiguous_tags_are_doubtful() -> None:
    made = TagDialect("d", JSON.call, ambiguous=True)
    assert (made.offered_only, made.in_reasoning) == (True, "doubtful")
    assert (JSON.offered_only, JSON.in_reasoning) == (False, "call")


@pytest.mark.parametrize(("text", "ends"), [("<calls><call>", ("</calls>",)), ("<call>", ("</call>",)), ("x", ("</call>",))])
def test_ends_of_the_element(text: str, ends: tuple[str, ...]) -> None:
    assert JSON.ends_of(text, "read") == ends


def test_a_header_has_its_pattern() -> None:
    numbered = TagDialect("d", Tag(("<call>",), ("<args>",), ("</call>",), header=re.compile(r"functions\.(?P<name>\w+):\d+")))
    assert parsed(numbered, f"<call>functions.read:0<args>{OBJECT}</call>")[0] == [READ]
    assert parsed(numbered, f"<call>read<args>{OBJECT}</call>")[0] == []
