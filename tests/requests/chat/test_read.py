"""Chat Completions → Messages, row by row: docs/dev/wire-apis.md."""

import json
import re
from typing import Any

import pytest

from tests.support.request_tables.chat import FIELDS, HI, MESSAGES, call, calls, says, text, told, unmarked
from toolmend.requests import RequestError, translate

ANTHROPIC, KIMI = "api.anthropic.com", "api.moonshot.ai"


def assert_notes(notes: tuple[str, ...], words: list[str]) -> None:
    assert len(notes) == len(words), notes
    for note, word in zip(notes, words, strict=True):
        assert word in note


@pytest.mark.parametrize(("given", "expected", "notes"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES])
def test_messages(given: Any, expected: Any, notes: list[str]) -> None:
    translated = translate({"model": "m", "messages": given}, "chat", "messages", host=ANTHROPIC)
    own = "cache_control" in json.dumps(given)
    assert (translated.request if own else unmarked(translated.request))["messages"] == expected
    assert_notes(translated.notes, notes)


@pytest.mark.parametrize(("model", "given", "expected", "notes"), [row[1:] for row in FIELDS], ids=[row[0] for row in FIELDS])
def test_fields(model: str, given: Any, expected: Any, notes: list[str]) -> None:
    translated = translate({"model": model, "messages": [HI], **given}, "chat", "messages", host=ANTHROPIC)
    written = translated.request if "cache_control" in json.dumps(given) else unmarked(translated.request)
    assert {key: written.get(key) for key in expected} == expected
    assert_notes(translated.notes, notes)


def test_freeform_tools_are_functions() -> None:
    form = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /x+/"}}
    tool = {"type": "custom", "custom": {"name": "patch", "description": "Patches", "format": form}}
    request = {"model": "m", "messages": [HI], "tools": [tool], "tool_choice": {"type": "custom", "custom": {"name": "patch"}}}
    translated = translate(request, "chat", "messages", host=ANTHROPIC)
    (said,) = translated.request["tools"]
    assert said["description"].startswith("Patches\n\n") and "start: /x+/" in said["description"]
    assert said["input_schema"]["required"] == ["input"]
    assert translated.request["tool_choice"] == {"type": "tool", "name": "patch"}
    assert translated.custom == {"patch"}
    assert "patch" in translated.tools


def test_thinking_of_others_than_anthropic_needs_no_signature() -> None:
    request = {"model": "kimi-k2.5", "messages": [HI, calls(call(), reasoning_content="Hm"), told()]}
    said = translate(request, "chat", "messages", host=KIMI).request["messages"][1]
    assert said["content"][0] == {"type": "thinking", "thinking": "Hm", "signature": ""}


def test_the_system_only_leads_where_no_other_is_known() -> None:
    request = {"model": "m", "messages": [HI, says("system", "Be short")]}
    said = translate(request, "chat", "messages", host="llm.example.com").request["messages"]
    assert said == [says("user", [text("Hi"), text("<system-reminder>\nBe short\n</system-reminder>")])]


@pytest.mark.parametrize("arguments", ['{"a": ', "[1]", '{"a": 1}}x', "ls -l", "\ud800"])
def test_arguments_that_are_no_object_are_shown_to_the_model(arguments: str) -> None:
    """The turn that they are of comes with each request from here on."""
    translated = translate({"model": "m", "messages": [HI, calls(call(arguments=arguments)), told()]}, "chat", "messages", host=ANTHROPIC)
    (block,) = translated.request["messages"][1]["content"]
    assert block["input"] == ({"a": 1} if "}" in arguments else {"INVALID_JSON": arguments})
    note = "The arguments of the call call_1 of get_weather are no JSON object, and are sent as text in one"
    assert translated.notes == (() if "}" in arguments else (note,))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"n": 2}, "`n` is more than 1"),
    ({"n": "two"}, "`n`"),
    ({"messages": [says("user", [{"type": "input_audio", "input_audio": {}}])]}, "`input_audio` cannot be said"),
    ({"messages": [calls(call(arguments=5))]}, "`arguments` is not a string"),
    ({"messages": [calls(call(name=""))]}, "no `name`"),
    ({"messages": [says("user", 5)]}, "`content` is not a list"),
    ({"messages": [says("bot", "Hi")]}, "'bot'"),
    ({"messages": [says("assistant", "a", reasoning={"x": 1})]}, "`reasoning` is not a string"),
    ({"tool_choice": "must"}, "`tool_choice`"),
    ({"tool_choice": {"type": "function"}}, "no `name`"),
    ({"response_format": {"type": "xml"}}, "'xml'"),
    ({"response_format": {"type": ["xml"]}}, "`response_format`"),
    ({"stop": {"a": 1}}, "`stop`"),
    ({"user": 5}, "`user` is not a string"),
]


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[json.dumps(row[0]) for row in WRONG])
def test_wrong(given: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=re.escape(words)):
        translate({"model": "m", "messages": [HI], **given}, "chat", "messages", host=ANTHROPIC)
