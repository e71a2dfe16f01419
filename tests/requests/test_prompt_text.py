"""prompt_text.py: tools, choice, calls and results as text, in the form of a call that the parser reads."""

import json
from typing import Any

import pytest

from toolmend.requests.conversation import Image, TextPart, Tool, ToolChoice, ToolResult, ToolUse
from toolmend.requests.prompt_text import DEFAULT, calls_text, check, choice_text, result_text, tools_text

A, B = ToolUse("1", "read", '{"path": "a"}'), ToolUse("2", "read", '{"path": "b"}')


def test_the_default_template_is_right() -> None:
    check(DEFAULT)


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("no tools", "the template has no place for the tools"),
        ("{tools} and {tools}", "the template has 2 places for the tools"),
        ("{{tools}}", "the template has {{tools}}, with two braces on each side"),
    ],
)
def test_a_wrong_template(template: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"write \{tools\} once") as raised:
        check(template)
    assert str(raised.value).startswith(sentence)


def test_tools_are_a_line_each() -> None:
    tools = [Tool("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}}), Tool("now")]
    read, now = map(json.loads, tools_text(tools).split("\n"))
    assert read == {"name": "read", "description": "Reads.", "parameters": tools[0].schema}
    assert now == {"name": "now", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("choice", "parallel", "text"),
    [
        (None, None, ""),
        (ToolChoice("auto"), True, ""),
        (ToolChoice("none"), False, "Do not call a function now: answer in words."),
        (ToolChoice("required"), None, "Now you must call a function, whatever else you would say."),
        (ToolChoice("tool", ("read",)), None, "Now you must call the function read, whatever else you would say."),
        (ToolChoice("auto", ("a", "b")), None, "Now you may call only: a, b."),
        (None, False, "Call one function at a time: the array holds one object."),
    ],
)
def test_choice(choice: ToolChoice | None, parallel: bool | None, text: str) -> None:
    assert choice_text(choice, parallel) == text


@pytest.mark.parametrize(
    ("arguments", "value"),
    [('{"path": "a"}', {"path": "a"}), (' {"a": 1} ', {"a": 1}), ("", {}), ("  ", {}), ("[1]", "[1]"), ("no JSON", "no JSON"), ('{"a"', '{"a"')],
)
def test_earlier_calls_are_an_array(arguments: str, value: Any) -> None:
    calls = [ToolUse("1", 'a "b"', arguments), A]
    assert json.loads(calls_text(calls)) == [{"name": 'a "b"', "arguments": value}, {"name": "read", "arguments": {"path": "a"}}]


@pytest.mark.parametrize(
    ("result", "calls", "text"),
    [
        (ToolResult("1", (TextPart("x"),)), [A], "The function read returned:\nx"),
        (ToolResult("2", (TextPart("x"), TextPart("y"))), [A, B], "The function read (call 2 of 2) returned:\nx\ny"),
        (ToolResult("1", (TextPart("x"),), is_error=True), [A], "The function read failed:\nx"),
        (ToolResult("9", (TextPart("x"),)), [A], "A function that was called earlier returned:\nx"),
        (ToolResult("1"), [A], "The function read returned, and said nothing."),
        (ToolResult("1", (Image(url="u"),)), [A], "The function read returned:"),
    ],
)
def test_results(result: ToolResult, calls: list[ToolUse], text: str) -> None:
    assert result_text(result, calls) == text
