"""JSON text: what is written can be read line by line, whatever a client takes for the end of a line."""

import json

import pytest

from toolmend.core import json_text

TEXTS = ["plain", 'a "b" \\ \n', "é 🌤", "a\u2028b\u2029c\u0085d", "\ud83d", "\x0b\x0c\x1c\x1d\x1e"]


@pytest.mark.parametrize("text", TEXTS)
def test_strings_are_one_line(text: str) -> None:
    for written in (json_text.quote(text), json_text.dumps(text)):
        assert json.loads(written) == text
        assert written.splitlines() == [written]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("value", [*TEXTS, {"a": [1, -0.0, 1e22, 2**63, 10**30, True, None, "é\ud83c"], "\u2028": {}}, []])
def test_a_body_is_the_same_with_a_fast_writer_and_without(value: object, fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fast:
        monkeypatch.setattr(json_text, "_fast_dumps", None)
    written = json_text.body(value)
    assert json.loads(written) == value
    assert b"\n" not in written
    assert json.loads(json_text.lines(value)) == value


@pytest.mark.parametrize("fast", [True, False])
def test_lines_for_people_are_the_same_with_a_fast_writer_and_without(*, fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fast:
        monkeypatch.setattr(json_text, "_fast_dumps", None)
    written = json_text.lines({"é": ["a\n/", 1.5, {}], "b": []})
    assert written.decode() == '{\n  "é": [\n    "a\\n/",\n    1.5,\n    {}\n  ],\n  "b": []\n}\n'


def test_characters_stay_as_they_are() -> None:
    assert json_text.quote("é 🌤 ｜") == json_text.dumps("é 🌤 ｜") == '"é 🌤 ｜"'


def test_a_number_that_no_float_can_hold_is_written_as_json() -> None:
    read = json_text.loads(b'{"a": 1e400, "b": [-1e999, NaN], "Infinity": "-Infinity, \\"NaN", "c": 1e308}')
    assert json_text.dumps(read) == '{"a":1e999,"b":[-1e999,null],"Infinity":"-Infinity, \\"NaN","c":1e+308}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1, "b": [2]}', '{"a": 1, "b": 0}'), ('{"b": 1, "b": 2}', '{"b": 1, "b": 0}'), (" { } ", ' { "b":0} '), ('{"a":{"b":1}}', '{"a":{"b":1},"b":0}'),
        ('{"\\u0062" : 1}', '{"\\u0062" : 0}'), ('\ufeff {"b": 1}', '\ufeff {"b": 0}'),
    ],
)  # fmt: skip
def test_a_member_is_replaced_or_added(text: str, expected: str) -> None:
    assert json_text.replace_member(text, "b", "0") == expected


@pytest.mark.parametrize(
    "text", ["", "[1]", "{", "{1: 2}", '{"a" 1}', '{"a": 1 "c": 2}', '{"a": 1', '{"a": }', '{"a": ' + "[" * 100_000]
)
def test_of_what_is_no_object_nothing_is_replaced(text: str) -> None:
    with pytest.raises(json_text.NotJSON):
        json_text.replace_member(text, "b", "0")


@pytest.mark.parametrize("fast", [True, False])
def test_a_mark_of_the_byte_order_is_no_part_of_the_text(fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fast:
        monkeypatch.setattr(json_text, "_fast_loads", None)
    text = b'\xef\xbb\xbf{"a": "\xef\xbb\xbf"}'
    assert json_text.loads(text) == json.loads(text) == {"a": "\ufeff"}
    for wrong in (b"\xef\xbb\xbf" + text, b" " + text, b'{"a": \xef\xbb\xbf1}', b"\xef\xbb\xbf"):
        with pytest.raises(json_text.NotJSON):
            json_text.loads(wrong)


@pytest.mark.parametrize("digits", [17, 18, 19, 20, 24, 25, 400])
def test_an_integer_is_read_to_its_last_digit_wherever_it_stands(digits: int) -> None:
    for at in range(12):
        value = [" " * at, 10**digits - 1, "x" * 1000]
        assert json_text.loads(json.dumps(value).encode()) == value


CODE = 'def f(a, b): return [{"a": a}, {"b": "\\\\"}, [a, b]]  # "quoted", and more\n' * 50
MESSAGES = [
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": f"toolu_{n}", "name": "Read", "input": {"path": "a", "limit": n}}],
    }
    if n % 2
    else {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": CODE}]}
    for n in range(9_000)
]


@pytest.mark.parametrize(
    ("value", "read"),
    [
        pytest.param({"messages": MESSAGES[:2_000], "system": CODE * 50}, True, id="a long session"),
        pytest.param({"messages": [*MESSAGES, *MESSAGES[:600]]}, False, id="one of ten thousand messages"),
        pytest.param({"input": ", [{ and" * json_text.MANY}, True, id="a text full of brackets"),
        pytest.param({"input": '", [{\\' * json_text.MANY}, True, id="a text full of quotes"),
        pytest.param({"\\": [0] * (json_text.MANY - 2), " " * json_text.SMALL: 0}, True, id="as many values as are read"),
        pytest.param({"\\": [0] * (json_text.MANY - 1), " " * json_text.SMALL: 0}, False, id="one more"),
        pytest.param(dict.fromkeys(map(str, range(json_text.MANY + 1)), 0), False, id="names"),
        pytest.param([""] * 5 * json_text.MANY, False, id="more quotes than values may have"),
    ],
)
def test_what_has_too_many_values_is_not_read(value: object, read: bool) -> None:
    data = json.dumps(value).encode()
    assert len(data) > json_text.SMALL
    if read:
        assert json_text.loads(data) == value
    else:
        with pytest.raises(json_text.NotJSON, match="more than 80000 values"):
            json_text.loads(data)


def test_of_a_small_text_values_are_not_counted() -> None:
    data = b"[" + b",".join([b"[]"] * (json_text.SMALL // 3 - 1)) + b"]"
    assert json_text.loads(data) == [[]] * (json_text.SMALL // 3 - 1)


@pytest.mark.parametrize(
    ("data", "meant"),
    [(b'{"a": "\xff"}', '{"a":"\ufffd"}'), (b'{"a": "\xe6\x97"}', '{"a":"\ufffd"}'), (b'{"a": "x\ty"}', '{"a":"x\\ty"}'),
     (b'{"a": "\xff\x00", "b": [1, 1.5]}', '{"a":"\ufffd\\u0000","b":[1,1.5]}')],
)  # fmt: skip
def test_what_is_meant(data: bytes, meant: str) -> None:
    assert json_text.readable(data).decode() == meant


@pytest.mark.parametrize("data", [b"", b"\xff", b'{"a": 1', b"{'a': 1}", b"[" * 100_000, b'{"a": 1}{"a": 2}', b"9" * 5000, b"[" + b"0," * 400_000 + b"0]"])
def test_what_is_no_json_at_all(data: bytes) -> None:
    with pytest.raises(json_text.NotJSON):
        json_text.readable(data)


def test_objects_in_a_list_or_in_a_row() -> None:
    for data in (b'[{"a": 1}, {"b": []}]', b'{"a": 1}{"b": []}', b'{"a": 1}\n{"b": []}'):
        assert json_text.objects(data) == [b'{"a": 1}', b'{"b": []}']


@pytest.mark.parametrize("data", [b"[1]", b'{"a": 1} 2', b'[{"a": 1}, "x"]', b'{"a": 1', b"[" + b"{}," * 400_000 + b"{}]"])
def test_what_is_no_row_of_objects(data: bytes) -> None:
    with pytest.raises(json_text.NotJSON):
        json_text.objects(data)


def test_of_two_members_the_last_is_replaced() -> None:
    assert json_text.replace_member('{"a": 1, "b": "a", "a": 2, "c": 3}', "a", "0") == '{"a": 1, "b": "a", "a": 0, "c": 3}'
    assert json_text.replace_member('{"a": 1, "b": {"a": 2}}', "a", "0") == '{"a": 0, "b": {"a": 2}}'
