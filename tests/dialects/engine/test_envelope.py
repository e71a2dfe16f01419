"""envelope.py: calls that are JSON objects: members in any order, arrays, other names of members, and what is no call."""

import json
from typing import Any

import pytest

from tests.support.markup import Told
from toolmend.core.tools import Tools

TOOLS = Tools({"read": {"properties": {"path": {"type": "string"}, "name": {"type": "string"}}}, "now": {"properties": {}}})
READ: tuple[str, dict[str, Any]] = ("read", {"path": "a"})

CALLS: dict[str, tuple[str, list[tuple[str, dict[str, Any]]]]] = {
    "name first": ('{"name": "read", "arguments": {"path": "a"}}', [READ]),
    "arguments first": ('{"arguments": {"path": "a"}, "name": "read"}', [READ]),
    "parameters": ('{"name": "read", "parameters": {"path": "a"}}', [READ]),
    "input": ('{"tool_name": "read", "input": {"path": "a"}}', [READ]),
    "another name of the name": ('{"tool": "read", "args": {"path": "a"}}', [READ]),
    "an id": ('{"id": "c9", "name": "read", "arguments": {"path": "a"}}', [READ]),
    "a type": ('{"type": "function", "function": {"name": "read", "arguments": {"path": "a"}}}', [READ]),
    "arguments as text": ('{"name": "read", "arguments": "{\\"path\\": \\"a\\"}"}', [READ]),
    "members that the tool declares": ('{"name": "read", "path": "a"}', [READ]),
    "a name of a function": ('{"name": "functions.read", "arguments": {"path": "a"}}', [READ]),
    "as a tag": ('{"function=read", "arguments": {"path": "a"}}', [READ]),
    "a Python dict": ("{'name': 'read', 'arguments': {'path': 'a'}}", [READ]),
    "two": ('{"name": "read", "arguments": {"path": "a"}}\n{"name": "read", "arguments": {"path": "a"}}', [READ, READ]),
    "an array": ('[{"name": "read", "arguments": {"path": "a"}}, {"name": "now", "arguments": {}}]', [READ, ("now", {})]),
    "a list of calls": ('{"tool_calls": [{"name": "read", "arguments": {"path": "a"}}]}', [READ]),
    "no arguments": ('{"name": "now"}', [("now", {})]),
    "null arguments": ('{"name": "now", "arguments": null}', [("now", {})]),
}
NO_CALLS = ['{"path": "a"}', '{"name": 1}', '{"name": ""}', "{}", "[]", '{"name": "read me", "arguments": {}}', "{x"]


def wrapped(text: str) -> str:
    return f"<tool_call>\n{text}\n</tool_call>"


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_calls(name: str, size: int) -> None:
    text, calls = CALLS[name]
    whole = wrapped(text)
    told = Told([whole[at : at + size] for at in range(0, len(whole), size)], TOOLS, ("hermes",), broken=False)
    assert [(called, json.loads(arguments)) for _, called, arguments in told.calls] == calls
    assert told.ended == list(range(len(calls)))
    assert told.content.strip() == ""


@pytest.mark.parametrize("text", NO_CALLS)
@pytest.mark.parametrize("size", [1, 1000])
def test_what_is_no_call_stays_text(text: str, size: int) -> None:
    whole = wrapped(text)
    told = Told([whole[at : at + size] for at in range(0, len(whole), size)], TOOLS, ("hermes",), broken=False)
    assert (told.calls, told.content) == ([], whole)


def test_arguments_stream_once_the_name_is_known() -> None:
    told = Told(['<tool_call>\n{"name": "read", "arguments": {"path": "abc'], TOOLS, ("hermes",))
    ((_, name, arguments),) = told.calls
    assert (name, told.ended) == ("read", [])
    assert arguments.startswith('{"path": "abc')


def test_arguments_before_the_name_are_held() -> None:
    reader = Told([], TOOLS, ("hermes",)).reader
    assert not [op for op in reader.feed('<tool_call>\n{"arguments": {"path": "abc"}, ') if not isinstance(op, int)]
