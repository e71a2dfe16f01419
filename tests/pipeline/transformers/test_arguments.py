"""Arguments that are no JSON, or not what the tool's schema asks for, natively of each API: mended for every cut; others stay to the byte."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import legal_streams
from tests.support.example_counts import examples
from tests.support.judges import chat_strict
from tests.support.judges import messages as messages_judge
from tests.support.judges import responses as responses_judge
from tests.support.streams import play, stream
from toolmend.config.off import Off
from toolmend.config.settings import Settings
from toolmend.pipeline.pipeline import Pipeline

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "integer", "maximum": 99},
        "c": {"type": "boolean"},
        "d": {"type": "array", "items": {"type": "integer"}},
        "e": {"oneOf": [{"type": "object", "properties": {"k": {"const": k}, "n": {"type": "integer"}}, "required": ["k", "n"]} for k in "xy"]},
        "f": {"$ref": "#/definitions/F"},
        "g": {"enum": ["1", 1]},
        "h": {"type": "integer", "nullable": True},
        "i": {"const": 5},
        "j": {"type": "object", "additionalProperties": {"type": "string"}},
        "k": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
        "l": {"type": ["array", "string"]},
        "m": {"type": "integer", "not": {"const": 5}},
    },
    "definitions": {"F": {"type": "object", "properties": {"v": {"type": "number"}, "in": {"type": "array", "items": {"$ref": "#/definitions/F"}}}}},
}  # fmt: skip

MENDED: dict[str, dict[str, Any]] = {
    '{"b": "42", "c": "false", "h": "null", "i": "5"}': {"b": 42, "c": False, "h": None, "i": 5},
    '{"d": "[1, \\"2\\"]", "e": "{\\"k\\": \\"y\\", \\"n\\": \\"3\\"}"}': {"d": [1, 2], "e": {"k": "y", "n": 3}},
    '{"f": {"v": "1e3", "in": [{"v": "2", "in": "[]"}]}, "k": ["1", "2"]}': {"f": {"v": 1000, "in": [{"v": 2, "in": []}]}, "k": [1, "2"]},
    '{"a": {"x": [1, "}"]}}': {"a": '{"x": [1, "}"]}'},
    "{\"b\": 1, \"a\": 'it's', c: True, // yes\n d: [1, 2,],}": {"b": 1, "a": "it's", "c": True, "d": [1, 2]},
    "{'b': '5', 'd': '[1]', 'a': (1, None)}": {"b": 5, "d": [1], "a": "[1,null]"},
    '{"a": "it\\\'s \\d\n", "b": /* two */ "2"}': {"a": "it's \\d\n", "b": 2},
    '{"a": "echo \'it\'\\\'\'s\'"}': {"a": "echo 'it'\\''s'"},
    " \n```json\n{a: 'x'}\n```\n": {"a": "x"},
    "json\n{\"b\": 1, 'a': 'x'}\n</tool_call>": {"b": 1, "a": "x"},
    "{'a': 'x'}{'a': 'x'}": {"a": "x"},
    "{'a': 'x'} I called it.": {"a": "x"},
    "\"{'a': 'x'}\"": {"a": "x"},
    '{"a": "x", "d": [1, 2': {"a": "x", "d": [1, 2]},
    '{"b": "1",': {"b": 1},
    "{'a': 'x', 'd': [1": {"a": "x", "d": [1]},
    '{"d": [1, 2}': {"d": [1, 2]},
    '{"d": (1, 2), "a": "x"}': {"d": [1, 2], "a": "x"},
    '{"a": "x" "b": 1}': {"a": "x", "b": 1},
    '{\n"b": 1\n"d": [1]\n"a": "x"\n}': {"b": 1, "d": [1], "a": "x"},
    '// both\n# of them\n{"a": "x"}': {"a": "x"},
    '/* a */ {"a": "x"}': {"a": "x"},
    '\ufeff{"a": "x"}': {"a": "x"},
    json.dumps(json.dumps('{"a": "x"}')): {"a": "x"},
}
STAY = (
    '{"b": "007", "c": "yes", "d": "1, 2", "g": "1", "h": "", "i": "6", "m": "5"}',
    '{"b": "100", "d": ["1px"], "f": "{\\"v\\": 1", "k": "[\\"x\\"]", "l": "[1]", "z": "5"}',
    '{"j": {"A": 1}, "a": 5, "e": "{\\"k\\": \\"z\\", \\"n\\": 1}"}',
    '{"b": 1e5, "f": {"v": -0.5E+10}, "c": true, "h": null, "a": "// # /* \'x\' None, }"}',
    '{ "a" : "http://x/#y" ,\n\t"d" : [ 1 , 2 ] , "c" : false }',
)
"""Their frames leave as they came."""

BROKEN = ('{"a" "b": 1}', '{"a" "b"}', '{"b": (1)}', '{"a": f("x", 1)}', '{"a": "x"; "b": 1}', '{"d": [1 2]}', '{"a": """x"""}', '{"a": x}', "[1, 2]", '"x"')
"""Not repaired: what they mean would be a guess."""

REQUESTS: dict[str, dict[str, Any]] = {
    "chat": {"messages": [], "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]},
    "messages": {"max_tokens": 9, "messages": [], "tools": [{"name": "f", "input_schema": SCHEMA}]},
    "responses": {"input": "hi", "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}]},
}
JUDGES = {"chat": chat_strict.read, "messages": messages_judge.read, "responses": responses_judge.read}


def body(api: str, text: str, size: int = 4) -> bytes:
    """A whole answer with a call whose arguments come in pieces."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    if api == "messages":
        return legal_streams.sse(legal_streams.messages(legal_streams.tool("toolu_1", "f", *pieces), stop="tool_use"))
    if api == "responses":
        return legal_streams.sse(legal_streams.numbered(legal_streams.responses(legal_streams.call("call_1", "f", *pieces))))
    entries: list[dict[str, Any]] = [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}]
    entries += [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    return stream([{"tool_calls": [entry]} for entry in entries], finish="tool_calls")


def made(api: str, parts: list[bytes], off: str = "") -> bytes:
    settings = Settings(off=Off(frozenset(off.split())))
    return play(lambda: Pipeline({"model": "m", "stream": True, **REQUESTS[api]}, source=api, target=api, settings=settings), parts)


@pytest.mark.parametrize("api", REQUESTS)
@pytest.mark.parametrize("text", MENDED)
def test_arguments_are_what_was_meant(text: str, api: str) -> None:
    for size in (1, len(text)):
        answer = JUDGES[api](made(api, [body(api, text, size)]))
        assert [call.value for call in answer.calls] == [MENDED[text]], size
        assert not (answer.faults or answer.error)
    whole = body(api, text, 3)
    out = made(api, [whole])
    assert made(api, [whole[at : at + 1] for at in range(len(whole))]) == out


@pytest.mark.parametrize("api", REQUESTS)
@pytest.mark.parametrize("text", STAY)
def test_what_has_no_other_reading_stays(text: str, api: str) -> None:
    for size in (3, len(text)):
        given = body(api, text, size)
        assert made(api, [given]) == given
        assert made(api, [given[at : at + 1] for at in range(len(given))]) == given


@pytest.mark.parametrize("api", REQUESTS)
@pytest.mark.parametrize("second", ['{"a": "y"}', "{'a': 'y'}", '{"a": "y",}', "{a: 'y'}", '{"a": "x",}', "{'a': 'y'", '{"a": y}', "I set {a: 1}.", "so {'b': 2}"])
def test_a_second_object_is_a_call_if_it_is_whole(second: str, api: str) -> None:
    text = '{"a": "x"}\n' + second
    further = [{"a": "y"}] if "'}" in second or '"y"' in second else []
    for size in (1, 3, len(text)):
        answer = JUDGES[api](made(api, [body(api, text, size)]))
        assert [call.value for call in answer.calls] == [{"a": "x"}, *further], size
        assert not (answer.faults or answer.error)


@pytest.mark.parametrize("api", REQUESTS)
@pytest.mark.parametrize("text", BROKEN)
def test_broken_arguments_are_unchanged(text: str, api: str) -> None:
    for size in (1, 3, len(text)):
        assert [call.arguments for call in JUDGES[api](made(api, [body(api, text, size)])).calls] == [text], size


@pytest.mark.parametrize(
    ("first", "second", "want"),
    [
        ('{"b": "01", "d": "1"}', '{"b": 2, "c": "no"}', None),
        ('{"b": "1", "d": [1', "{'b': '2'", [{"b": 1, "d": [1]}, {"b": 2}]),
    ],
)
def test_two_calls_at_once(first: str, second: str, want: list[dict[str, Any]] | None) -> None:
    entries: list[dict[str, Any]] = []
    for at in range(0, max(len(first), len(second)), 3):
        for index, text in enumerate((first, second)):
            named = {} if at else {"id": f"call_{index}", "type": "function"}
            function = {"arguments": text[at : at + 3], **({} if at else {"name": "f"})}
            entries += [{"index": index, **named, "function": function}] if text[at:] else []
    given = stream([{"tool_calls": [entry]} for entry in entries], finish="tool_calls")
    out = made("chat", [given])
    assert out == given if want is None else [call.value for call in chat_strict.read(out).calls] == want
    assert made("chat", [given[at : at + 1] for at in range(len(given))]) == out


@pytest.mark.parametrize("api", REQUESTS)
@pytest.mark.parametrize("text", ['{"a": "x", "b": 1', "{'a': 'x', 'b': 1", '{"a": "x", "d": (1, 2'])
def test_brackets_are_not_added_to_a_call_that_is_cut(api: str, text: str) -> None:
    given = body(api, text)
    ends = {
        "chat": [(b'"finish_reason": "tool_calls"', b'"finish_reason": "length"')],
        "messages": [(b'"tool_use", "stop_sequence"', b'"max_tokens", "stop_sequence"')],
        "responses": [(b'"status": "completed"', b'"status": "incomplete"'), (b"response.completed", b"response.incomplete")],
    }
    for right, cut in ends[api]:
        assert right in given
        given = given.replace(right, cut)
    out = made(api, [given])
    assert [call.arguments for call in JUDGES[api](out).calls] == [text]
    assert made(api, [given[at : at + 1] for at in range(len(given))]) == out


@pytest.mark.parametrize("api", REQUESTS)
@pytest.mark.parametrize("text", [text for text in MENDED if not text.startswith('{"b": "42') and '"e"' not in text and '"f"' not in text])
def test_one_switch_turns_all_repairs_off(text: str, api: str) -> None:
    given = body(api, text)
    assert made(api, [given], "argument_json argument_types") == given


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("a'\"\\/#,:{}[]\n é", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "it's", "T", "//"]), inner, max_size=3),
    max_leaves=8,
)


def right(value: dict[str, Any]) -> dict[str, Any]:
    """Arguments whose names the tool does not declare."""
    return {f"_{name}": each for name, each in value.items()}


@examples(0.25)
@given(st.sampled_from(sorted(REQUESTS)), st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=3).map(right), st.integers(1, 9), st.integers(0, 99))
def test_right_arguments_stay_for_every_cut(api: str, value: dict[str, Any], size: int, seed: int) -> None:
    given = body(api, json.dumps(value, indent=seed % 3 or None), size)
    at = random.Random(seed).randrange(len(given))
    for parts in ([given], [given[:at], given[at:]], [given[at : at + 1] for at in range(len(given))]):
        assert made(api, parts) == given


WRONG = st.tuples(st.integers(0, 999), st.sampled_from(" ',{}[]\"\\/#N:1"))


@examples(0.25)
@given(st.sampled_from(sorted(REQUESTS)), st.dictionaries(st.sampled_from("abcd"), VALUES, min_size=1, max_size=3), WRONG, st.integers(1, 9))
def test_damaged_arguments_are_the_same_for_every_cut(api: str, value: dict[str, Any], wrong: tuple[int, str], size: int) -> None:
    text = json.dumps(value, ensure_ascii=False)
    at = wrong[0] % len(text)
    text = text[:at] + wrong[1] + text[at + wrong[0] % 2 :]
    outs = set()
    for cut in (size, 1, len(text)):
        answer = JUDGES[api](made(api, [body(api, text, cut)]))
        outs.add(json.dumps([call.arguments.strip() for call in answer.calls]))
    assert len(outs) == 1, outs
    given = body(api, text, size)
    assert made(api, [given[at : at + 1] for at in range(len(given))]) == made(api, [given])


@pytest.mark.parametrize(
    ("text", "reason", "want"),
    [
        ('{"a": "x"', "tool_calls", '{"a": "x"}'),
        ('{"a": "x", "d": [1', "tool_calls", '{"a": "x", "d": [1]}'),
        ("{'a': 'x'", "tool_calls", '{"a": "x"}'),
        ('{"a": "x"', "length", '{"a": "x"'),
        ('{"a": "x"', "stop", '{"a": "x"'),
        ('{"a": "x', "tool_calls", '{"a": "x'),
    ],
)
def test_brackets_are_added_where_a_call_ends_the_message_itself(text: str, reason: str, want: str) -> None:
    """The finish reason stands in the last chunk of the call."""
    function = {"name": "f", "arguments": text}
    deltas = [{"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}]
    first, _, rest = stream(deltas, finish=reason).rpartition(b'"finish_reason": null')
    body = first + f'"finish_reason": "{reason}"'.encode() + rest
    lines = [part for part in body.split(b"\n\n") if b'"delta": {}' not in part]
    given = b"\n\n".join(lines)
    out = made("chat", [given])
    answer = chat_strict.read(out)
    assert [call.arguments for call in answer.calls] == [want]
    assert made("chat", [given[at : at + 1] for at in range(len(given))]) == out
