"""argument_fit.py: what becomes of arguments whose tool has a schema, in whatever pieces they come."""

import json
import random
from typing import Any

import pytest

from tests.patterns.irregular import calls, entry, more
from tests.support.judges.chat import read
from tests.support.streams import chunk, event, request, stream, tool
from toolmend.config.off import Off
from toolmend.config.settings import Settings
from toolmend.core.argument_fit import LIVE, MAX_DOUBT, ArgumentFit
from toolmend.core.schemas import Schema
from toolmend.pipeline.pipeline import Pipeline
from toolmend.pipeline.transformers.arguments import MAX_FRAMES

TOOL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer"},
        "rate": {"type": "number", "minimum": 0},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "integer"}},
        "edit": {"type": "object", "properties": {"at": {"type": "integer"}}, "required": ["at"]},
        "maybe": {"type": ["integer", "null"]},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "list": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "pick": {"enum": [1, 2]},
        "word": {"type": "string", "enum": ["a", "b"]},
        "tree": {"$ref": "#/$defs/Tree"},
        "env": {"type": "object", "additionalProperties": {"type": "integer"}},
        "any": {},
    },
    "required": ["path"],
    "$defs": {"Tree": {"type": "object", "properties": {"n": {"type": "integer"}, "in": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}},
}  # fmt: skip

CHANGED = {
    '{"path": "a", "limit": "5"}': '{"path": "a", "limit": 5}',
    '{"rate": "1.5", "deep": "true", "pick": "2"}': '{"rate": 1.5, "deep": true, "pick": 2}',
    '{"tags": "[1, \\"2\\"]"}': '{"tags": [1, 2]}',
    '{"tags": ["1", 2]}': '{"tags": [1, 2]}',
    '{"edit": "{\\"at\\": \\"3\\"}"}': '{"edit": {"at": 3}}',
    '{"maybe": "null"}': '{"maybe": null}',
    '{"list": "[\\"5\\"]\\n"}': '{"list": ["5"]}',
    '{"tree": {"n": "1", "in": [{"n": "2"}]}}': '{"tree": {"n": 1, "in": [{"n": 2}]}}',
    '{"env": {"A": "1"}}': '{"env": {"A": 1}}',
    '{"path": {"a": ["}", 1]}}': r'{"path": "{\"a\": [\"}\", 1]}"}',
    '{"path": "a", "tags": [1,\n ],}': '{"path": "a", "tags": [1\n ]}',
    '{"arguments": {"path": "a", "limit": "5"}}': '{"path": "a", "limit": 5}',
    '{"arguments": "{\\"path\\": \\"a\\"}"}': '{"path": "a"}',
    '{"name": "read", "kwargs": {"path": "a"}, "id": "7"}': '{"path": "a"}',
    '{"input": {"params": {"path": "a"}}}': '{"path": "a"}',
    '{"args": {"path": "' + "x" * 2 * LIVE + '", "limit": "5",}, "id": "x"}': '{"path": "' + "x" * 2 * LIVE + '", "limit": 5}',
}

SAME = (
    '{"path": "[1, 2]", "any": "5", "either": "5", "more": "5"}',
    '{"limit": "05", "limit": "5"}',
    '{"limit": "5 ", "rate": "-1", "deep": "True", "pick": "3"}',
    '{"limit": "5.0", "rate": "1e400", "maybe": ""}',
    '{"limit": "12345678901234567890", "rate": "0.12345678901234567890"}',
    '{"limit": 12345678901234567890, "rate": 1e400}',
    '{"edit": "{\\"to\\": 1}", "tags": "[1, 2", "list": "[1]"}',
    '{"word": {"a": 1}, "path": 5, "either": true}',
    '{"tags": "[\'a\']", "edit": "{at: 1}"}',
    '{"arguments": {"limit": 5}}',
    '{"arguments": {"path": "a", "other": 1}}',
    '{"name": "write", "arguments": {"path": "a"}}',
    '{"path": "a", "arguments": {"limit": 5}}',
    '{"argument": {"path": "a"}}',
    '{"path": "a\\\\", "limit": 5, "deep": true} ',
    '{"limit": "5',
    '{"path" "a"}',
    "[1, 2]",
    "text",
)


def fit(text: str, sizes: list[int], schema: Any = TOOL) -> str:
    made = ArgumentFit("read", Schema(schema) if schema is not None else None)
    out, at = [], 0
    while at < len(text):
        size = sizes[len(out) % len(sizes)]
        out.append(made.feed(text[at : at + size]))
        at += size
    return "".join(out) + made.end()


@pytest.mark.parametrize("text", [*CHANGED, *SAME])
def test_arguments_fit_for_every_cut(text: str) -> None:
    want = CHANGED.get(text, text)
    dice = random.Random(len(text))
    for sizes in ([10**6], [1], [2], [3], *([dice.randint(1, 9) for _ in range(20)] for _ in range(4))):
        assert fit(text, sizes) == want, sizes


@pytest.mark.parametrize(
    "schema", [None, {}, {"type": "object"}, {**TOOL, "additionalProperties": True}, {**TOOL, "properties": {**TOOL["properties"], "arguments": {}}}]
)
def test_wrapper_stays_where_it_may_be_meant(schema: Any) -> None:
    text = '{"arguments": {"path": "a"}}'
    assert fit(text, [1], schema) == fit(text, [100], schema) == text


def test_right_text_is_not_held() -> None:
    made = ArgumentFit("read", Schema(TOOL))
    assert made.feed('{"pat') == '{"pat'
    made = ArgumentFit("read", Schema(TOOL))
    text = '{"path": "a, b", "edit": {"at": 1}, "limit": 5}'
    for character in text:
        out = made.feed(character)
        assert out or made.pending
    assert made.complete


def test_doubtful_text_is_bounded() -> None:
    text = '{"limit": "' + "x" * MAX_DOUBT + 'y", "deep": "true"}'
    made = ArgumentFit("read", Schema(TOOL))
    assert len(made.feed(text[: MAX_DOUBT + 100])) > MAX_DOUBT
    assert fit(text, [4096]) == text.replace('"true"', "true")


REQUEST = request({"type": "function", "function": {"name": "read", "parameters": TOOL}}, tool("list"))


def body(text: str, size: int) -> bytes:
    pieces = (text[at : at + size] for at in range(0, len(text), size))
    return stream([calls(entry(0, "call_a", "read", "")), *map(more, pieces)], finish="tool_calls")


@pytest.mark.parametrize("text", ['{"path": "a", "limit": 5, "tags": [1, 2]}', '{"p": 1, "ar": [1,\n2]}'])
def test_right_stream_is_identical(text: str) -> None:
    for size in (1, 2, 3, 100):
        made = Pipeline(REQUEST)
        sent = body(text, size)
        assert made.feed(sent) + made.close() == sent
        assert made.rules == []


@pytest.mark.parametrize(("off", "want"), [("", '{"limit": 5}'), ("argument_types", '{"limit": "5"}'), ("argument_json", '{"limit": 5,}')])
def test_each_rule_has_a_switch(off: str, want: str) -> None:
    made = Pipeline(REQUEST, settings=Settings(off=Off(frozenset(off.split()))))
    answer = read(made.feed(body('{"limit": "5",}', 2)) + made.close())
    assert [call.arguments for call in answer.only.calls] == [want]
    assert set(made.rules) == {"argument_types", "argument_json"} - {off}


def test_other_events_release_what_waits() -> None:
    made = Pipeline(REQUEST)
    first = event(chunk({"role": "assistant", **calls(entry(0, "call_a", "read", '{"limit": 1,'))}))
    assert made.feed(first) == b""
    text = event(chunk({"content": "so"}))
    assert made.feed(text) == first + text


def test_keep_alive_goes_ahead_of_a_value_in_doubt() -> None:
    made = Pipeline(REQUEST)
    first = event(chunk({"role": "assistant", **calls(entry(0, "call_a", "read", '{"limit": "1'))}))
    assert made.feed(first) == b""
    assert made.feed(b": still here\n\n") == b": still here\n\n"
    assert made.feed(event(chunk(more('0 "}')))) == first + event(chunk(more('0 "}')))


def test_no_more_than_some_frames_wait() -> None:
    made = Pipeline(REQUEST)
    text = '{"limit": "' + "x" * 2 * MAX_FRAMES + '"}'
    deltas = [event(chunk(delta)) for delta in [calls(entry(0, "call_a", "read", "")), *map(more, text)]]
    out = [made.feed(delta) for delta in deltas]
    begun = b"".join(out[: MAX_FRAMES + 16])
    assert out[12] == b""
    assert b'"arguments": "l"' in begun
    answer = read(b"".join(out) + made.feed(event(chunk({}, "tool_calls")) + event("[DONE]")) + made.close())
    assert [call.arguments for call in answer.only.calls] == [text]


def test_whole_message_fits() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"args": {"path": "a", "limit": "5"}}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    given = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode()
    made = json.loads(Pipeline(REQUEST).message(given))
    assert made["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"path": "a", "limit": 5}'
