"""Leaked JSON arguments with wrong syntax: what was meant, in every cut; what would be a guess stays as it was written."""

import json
from typing import Any

import pytest

from tests.support.markup import Told
from toolmend.core.tools import Tools

TOOLS = Tools({"pick": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "d": {"type": "array"}, "o": {"type": "object"}}}})

MEANT: dict[str, dict[str, Any]] = {
    '{"a": "x",}': {"a": "x"},
    '{"d": [1, 2,], // two\n "b": 1, # one\n "a": /* x */ "x"}': {"d": [1, 2], "b": 1, "a": "x"},
    "{a: 'x', b: 1, o: {c-d: True, $e: None}}": {"a": "x", "b": 1, "o": {"c-d": True, "$e": None}},
    "{'a': 'it\\'s', 'd': ('x', \"y\",)}": {"a": "it's", "d": ["x", "y"]},
    '{"d": (1, (2, 3), [], ()), "b": 1}': {"d": [1, [2, 3], [], []], "b": 1},
    '{"d": [1, ("x", "y")]}': {"d": [1, ["x", "y"]]},
    '{"a": x.py, "o": {"c": src/main.py, "e": [1]}}': {"a": "x.py", "o": {"c": "src/main.py", "e": [1]}},
    '{"a": celsius }': {"a": "celsius"},
    '{{"a": "x", "o": {"c": {}}}}': {"a": "x", "o": {"c": {}}},
    '{ {"a": "x"}}': {"a": "x"},
    '{"a": "x" "b": 1}': {"a": "x", "b": 1},
    '{"a": "say "x" now", "b": 1}': {"a": 'say "x" now', "b": 1},
    '{"a": "echo \'it\'\\\'\'s\'"}': {"a": "echo 'it'\\''s'"},
    '{"a": "it\\\'s \\\'\\\'x"}': {"a": "it's ''x"},
    '{"a": "\\d+ \\$HOME\n\t"}': {"a": "\\d+ \\$HOME\n\t"},
    '{"a": "f(\'x\'), (1) and {{y}}", "b": 1}': {"a": "f('x'), (1) and {{y}}", "b": 1},
}
GUESSES = ('{"a": f("x", 1)}', '{"d": ("x")}', '{"b": (1)}', '{"b": NaN}', '{"a": x + y}', '{"a" "b"}', '{"d": [x, y]}', '{"b": 1 - 2}')
WRAPS = {
    "hermes": '<tool_call>\n{"name": "pick", "arguments": %s}\n</tool_call>',
    "kimi_k2": "<|tool_call_begin|>functions.pick:0<|tool_call_argument_begin|>%s<|tool_call_end|>",
    "mistral": "[TOOL_CALLS]pick[ARGS]%s",
    "json_object": '{"name": "pick", "arguments": %s}',
}


@pytest.mark.parametrize("dialect", WRAPS)
@pytest.mark.parametrize("text", MEANT)
def test_arguments_are_what_was_meant(text: str, dialect: str) -> None:
    whole = WRAPS[dialect].replace("%s", text)
    for pieces in ([whole], list(whole), [whole[at : at + 3] for at in range(0, len(whole), 3)]):
        told = Told(pieces, TOOLS, (dialect,), broken=False)
        ((_, _, arguments),) = told.calls
        assert json.loads(arguments) == MEANT[text], arguments
        assert (told.ended, told.content) == ([0], "")


@pytest.mark.parametrize("text", GUESSES)
def test_a_guess_is_not_made(text: str) -> None:
    whole = WRAPS["hermes"].replace("%s", text)
    found = {Told(pieces, TOOLS, ("hermes",), broken=False).calls[0][2] for pieces in ([whole], list(whole))}
    assert len(found) == 1
    with pytest.raises(ValueError, match=r"Expecting|delimiter|NaN"):
        json.loads(found.pop(), parse_constant=lambda word: int(f"NaN {word}"))


@pytest.mark.parametrize(
    "text",
    [
        '{{"name": "pick", "arguments": {{"a": "x"}}}}',
        '{"name": pick, "arguments": {"a": "x"}}',
        '{"name": "pick", // this one\n "arguments": {"a": "x"}}',
        '{# this one\nname: "pick" "arguments": {"a": "x"}}',
        "{'arguments': {'a': 'x'}, 'name': 'pick'}",
    ],
)
def test_an_envelope_is_what_was_meant(text: str) -> None:
    whole = f"<tool_call>\n{text}\n</tool_call>"
    for pieces in ([whole], list(whole)):
        told = Told(pieces, TOOLS, ("hermes",), broken=False)
        assert [(name, json.loads(arguments)) for _, name, arguments in told.calls] == [("pick", {"a": "x"})]
        assert (told.ended, told.content) == ([0], "")
