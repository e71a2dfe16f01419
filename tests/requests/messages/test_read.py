"""Messages → Chat Completions, row by row: docs/dev/wire-apis.md."""

from typing import Any

import pytest

from tests.support.request_tables.messages import (
    CALLED,
    FIELDS,
    HI,
    MESSAGES,
    MOONSHOT,
    OPENAI,
    REASONING,
    assistant,
    result,
    text,
    told,
    use,
    user,
)
from toolmend.requests import RequestError, translate


@pytest.mark.parametrize(("given", "expected", "notes"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES])
def test_messages(given: Any, expected: Any, notes: list[str]) -> None:
    translated = translate({"model": "m", "max_tokens": 9, "messages": given}, "messages", "chat", host=OPENAI)
    assert translated.request["messages"] == expected
    assert_notes(translated.notes, notes)


def assert_notes(notes: tuple[str, ...], words: list[str]) -> None:
    assert len(notes) == len(words), notes
    for note, word in zip(notes, words, strict=True):
        assert word in note


@pytest.mark.parametrize(("host", "model", "given", "expected", "notes"), [row[1:] for row in FIELDS], ids=[row[0] for row in FIELDS])
def test_fields(host: str, model: str, given: Any, expected: Any, notes: list[str]) -> None:
    request = {"model": model, "max_tokens": 9, "messages": [HI], **given}
    translated = translate(request, "messages", "chat", host=host)
    assert {key: translated.request.get(key) for key in expected} == expected
    assert_notes(translated.notes, notes)


@pytest.mark.parametrize(("host", "model", "blocks", "expected", "notes"), [row[1:] for row in REASONING], ids=[row[0] for row in REASONING])
def test_reasoning_of_earlier_turns(host: str, model: str, blocks: Any, expected: Any, notes: list[str]) -> None:
    request = {"model": model, "max_tokens": 9, "messages": [HI, assistant(*blocks, use()), user(result())]}
    translated = translate(request, "messages", "chat", host=host)
    message = translated.request["messages"][1]
    assert {key: message.get(key) for key in expected} == expected
    assert len(message["tool_calls"]) == 1
    assert_notes(translated.notes, notes)


def test_none_is_demanded_where_the_model_does_not_think() -> None:
    request = {"model": "kimi-k2.5", "max_tokens": 9, "messages": [HI, assistant(use()), user(result())], "thinking": {"type": "disabled"}}
    assert "reasoning_content" not in translate(request, "messages", "chat", host=MOONSHOT).request["messages"][1]


def test_a_result_in_the_turn_of_its_call() -> None:
    """It is the turn behind it, once, whatever API it goes to."""
    request = {"model": "m", "max_tokens": 90, "messages": [HI, assistant(use(), result(), text("ok"))]}
    assert translate(request, "messages", "chat").request["messages"] == [HI, {**CALLED, "content": "ok"}, told("Sunny")]
    items = translate(request, "messages", "responses").request["input"]
    assert [item.get("type") for item in items] == ["message", "function_call", "message", "function_call_output"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"messages": "Hi"}, "`messages` is not a list"),
    ({"messages": ["Hi"]}, "has an entry that is not an object"),
    ({"messages": [{"role": "bot", "content": "Hi"}]}, "the role 'bot'"),
    ({"messages": [{"role": ["user"], "content": "Hi"}]}, "the role"),
    ({"messages": [user(text(5))]}, "`text` is not a string"),  # type: ignore[arg-type]
    ({"messages": [assistant({"type": "tool_use", "id": "a", "name": "b", "input": "{"})]}, "`input`"),
    ({"messages": [assistant({"type": "tool_use", "id": "a", "name": "b", "input": "[]"})]}, "`input`"),
    ({"messages": [user(result([use()]))]}, "cannot stand there"),
    ({"messages": [assistant({"type": "tool_use", "id": "a", "input": {}})]}, "no `name`"),
    ({"messages": [user(use())]}, "in a message of the role 'user'"),
    ({"max_tokens": "many"}, "`max_tokens` is not a number"),
    ({"max_tokens": 1.5}, "`max_tokens` is not a whole number"),
    ({"max_tokens": float("nan")}, "`max_tokens` is not a whole number"),
    ({"temperature": True}, "`temperature` is not a number"),
    ({"tools": {}}, "`tools` is not a list"),
    ({"tools": [{}]}, "no `name`"),
    ({"tool_choice": "auto"}, "`tool_choice` is not an object"),
    ({"tool_choice": {"type": "must"}}, "'must'"),
    ({"tool_choice": {"type": "tool"}}, "no `name`"),
    ({"stop_sequences": [1]}, "`stop_sequences`"),
    ({"stream": "yes"}, "`stream`"),
    ({"output_config": {"format": {"type": "xml"}}}, "'xml'"),
]


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[str(row[0]) for row in WRONG])
def test_wrong(given: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words.replace("[", r"\[")):
        translate({"model": "m", "max_tokens": 9, "messages": [HI], **given}, "messages", "chat")
