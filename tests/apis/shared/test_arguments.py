"""arguments.py: what is sent of the text of some arguments, what is left behind them, in whatever pieces they come."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmend.apis.shared.arguments import MAX_IRREGULAR, MAX_OPENING, MAX_STRING, Arguments
from toolmend.core.tools import of_chat


def read(pieces: list[str], *, broken: bool = False, demands: bool = False) -> tuple[str, str, bool]:
    """What was sent, what stood behind, and whether the arguments were complete."""
    arguments = Arguments()
    arguments.demands = demands
    sent = behind = ""
    for piece in filter(None, pieces):
        now, rest = arguments.feed(piece)
        assert not (behind and now)
        sent += now
        behind += rest
    return sent + arguments.end(broken=broken), behind, arguments.complete


def cuts(text: str) -> list[list[str]]:
    return [[text], list(text), *([text[:at], text[at:]] for at in range(1, len(text)))]


WHOLE = {
    '{"a": 1}': ('{"a": 1}', ""),
    ' \n{"a": {"b": [{}, "}"]}} ': (' \n{"a": {"b": [{}, "}"]}} ', ""),
    r'{"a": "\\", "b": "\"}"}': (r'{"a": "\\", "b": "\"}"}', ""),
    '{"a": 1}}': ('{"a": 1}', "}"),
    '{{"a": 1}': ('{"a": 1}', ""),
    '{{"a": {"b": 1}}}': ('{"a": {"b": 1}}', "}"),
    '```json\n{{"a": 1}': ('{"a": 1}', ""),
    "{{}": ("{}", ""),
    "{{": ("{", None),
    '{{{"a": 1}': ('{{"a": 1}', None),
    '{"a": 1}</tool_call>': ('{"a": 1}', "</tool_call>"),
    '{"a": 1}{"a": 1}': ('{"a": 1}', '{"a": 1}'),
    '```json\n{"a": 1}\n```': ('{"a": 1}', "\n```"),
    '``` {"a": 1}': ('{"a": 1}', ""),
    '<tool_call>\n<arguments>{"a": 1}</arguments>': ('{"a": 1}', "</arguments>"),
    '<|channel|>commentary<|message|>{"a": 1}': ('<|channel|>commentary<|message|>{"a": 1}', None),
    "null": ("{}", ""),
    " null ": (" {}", ""),
    "": ("{}", ""),
    "  ": ("  {}", ""),
    '"{\\"a\\": \\"\\u00e9\\"}"': ('{"a": "é"}', ""),
    ' "{}" ': (" {}", ""),
    '{"a": "x\ny\tz"}': ('{"a": "x\\ny\\tz"}', ""),
    '{\n"a": 1}': ('{\n"a": 1}', ""),
    '{"a": "x\\\ny"}': ('{"a": "x\\\\\\ny"}', ""),
    r'{"a": "x\ y"}': (r'{"a": "x\\ y"}', ""),
    r'{"a": "\d+\.\"\\\$\u00e9"}': (r'{"a": "\\d+\\.\"\\\\$\u00e9"}', ""),
    '{"a": True, "b": [None, False], "c": "None"}': ('{"a": true, "b": [null, false], "c": "None"}', ""),
    '{"a": NaN, "b": Never, "c": TrueX}': ('{"a": NaN, "b": Never, "c": TrueX}', ""),
    '{"t": true, "f": [false, -1.5E+3, 1e9], "n": null}': ('{"t": true, "f": [false, -1.5E+3, 1e9], "n": null}', ""),
    '{"a": Tru': ('{"a": Tru', None),
    '{"a": F}': ('{"a": F}', ""),
    '{"a": "\x00"}': ('{"a": "\\u0000"}', ""),
    "[1, 2]": ("[1, 2]", None),
    "nil": ("nil", None),
    "nullable": ("nullable", None),
    "nul": ("nul", None),
    "12": ("12", None),
    '"text"': ('"text"', None),
    '"[1]"': ('"[1]"', None),
    '"unfinished': ('"unfinished', None),
    "<a <b> {": ("<a <b> {", None),
    "```": ("```", None),
    '{"a": "unfinished': ('{"a": "unfinished', None),
    '{"a": "\\': ('{"a": "\\', None),
    "\ud800": ("\ud800", None),
    '{"a": "\ud800"}': ('{"a": "\ud800"}', ""),
    '"\ud800"': ('"\ud800"', None),
    "{'a': 'None } or True', \"b\": [None, {'c': 1}]}": ('{"a":"None } or True","b":[null,{"c":1}]}', ""),
    "{'a': 'it\\'s'} ": ('{"a":"it\'s"}', ""),
    "```json\n{'a': 1}": ('{"a":1}', ""),
    "{'a': b}": ("{'a': b}", None),
    "{a: 'x', // y\n b_c: [True, 1,],}": ('{"a": "x", \n "b_c": [true, 1]}', ""),
    "{/* it's */ 'a': 1, # b\n}": ('{ "a": 1 \n}', ""),
    "{a: b}": ("{a: b}", None),
    "{a: f(1)}": ("{a: f(1)}", None),
    'json\n{"a": 1}': ('{"a": 1}', ""),
    'JSON: {"a": 1}': ('{"a": 1}', ""),
    "jason": ("jason", None),
    "{'a': 1} {'a': 2}": ("{'a': 1} {'a': 2}", None),
    "{'a': 1}{'a': 1}": ('{"a": 1}', ""),
    """{"a": 'x "y" it's', b: 2, "c": [1, 'z',],} ```""": ('{"a": "x \\"y\\" it\'s", "b": 2, "c": [1, "z"]}', ""),
    '{"a": 1, // one\n "b" /* two */: [2, # three\n 3]}': ('{"a": 1, \n "b" : [2, \n 3]}', ""),
    '{"a": {"b": [1, 2}}': ('{"a": {"b": [1, 2]}}', ""),
    '{"a": [1, 2}, "b": 3}': ('{"a": [1, 2}, "b": 3}', None),
    '{"a": 1]}': ('{"a": 1}', ""),
    '{"a": \'x\', "b": c}': ('{"a": \'x\', "b": c}', None),
    '{"a": 1, b: [2': ('{"a": 1, "b": [2]}', ""),
    r'{"a": "it\'s \'\' \'"}': (r'{"a": "it\u0027s \u0027\u0027 \u0027"}', ""),
    r"""{"a": "echo 'it'\''s'"}""": (r"""{"a": "echo 'it'\\''s'"}""", ""),
    r'''"d\': {}}"''': (r'''"d\': {}}"''', None),
    "\"{'a': 1}\"": ('{"a": 1}', ""),
    "{'a': 'x": ("{'a': 'x", None),
    "{'a', 'b'}": ("{'a', 'b'}", None),
}
"""Text → what is sent and what stands behind it; None: they are not complete."""

EMPTY = {
    '{}{"a": 1}': ('{"a": 1}', ""),
    '{} \n{"a": {}}}': ('{"a": {}}', "}"),
    '{}{}{"a": 1}': ('{"a": 1}', ""),
    "{}": ("{}", ""),
    " {} ": (" {}", ""),
    "{}x": ("{}", "x"),
    "{}}": ("{}", "}"),
    '{{"a": 1}': ('{"a": 1}', ""),
    '{"a": 1}{}': ('{"a": 1}', "{}"),
    "{}{'a': 1}": ('{"a":1}', ""),
    '```{}{"a": 1}': ('{"a": 1}', ""),
    '{}{"a': ('{"a', None),
}
"""The same, of a tool that requires an argument: an empty object in front of another is none."""


@pytest.mark.parametrize(("text", "demands"), [*((text, False) for text in WHOLE), *((text, True) for text in EMPTY)])
def test_whole_and_cut(text: str, demands: bool) -> None:
    sent, behind = (EMPTY if demands else WHOLE)[text]
    for pieces in cuts(text):
        got = read(pieces, demands=demands)
        # blanks behind the brace go with it if they come with it
        assert (got[0].rstrip(), got[1].strip()) == (sent.rstrip(), (behind or "").strip()), pieces
        assert got[2] is (behind is not None)


def test_an_empty_object_waits_no_longer_than_for_a_few_blanks() -> None:
    arguments = Arguments()
    arguments.demands = True
    sent = [arguments.feed(piece)[0] for piece in ["{", "}", *" " * (MAX_OPENING + 1)]]
    assert sent == ["{", *[""] * (MAX_OPENING + 1), "}" + " " * MAX_OPENING]
    assert arguments.complete


def test_a_dict_that_is_held_has_a_bound() -> None:
    arguments = Arguments()
    held = "'a': '" + "x" * (MAX_IRREGULAR - 6)
    assert arguments.feed("{" + held) == ("{", "")
    assert arguments.feed("y") == (held + "y", "")
    assert arguments.feed("'}") == ("'}", "")


def test_blanks_that_come_with_the_end_stay_and_others_go() -> None:
    assert read(['{"a": 1}\n']) == ('{"a": 1}\n', "", True)
    assert read(['{"a": 1}', "\n"]) == ('{"a": 1}', "\n", True)


@pytest.mark.parametrize("text", ["", "nul", "null", '"{}', "```json\n", '{"a'])
def test_what_is_broken_off_is_not_completed(text: str) -> None:
    assert read(list(text), broken=True) == (text, "", False)


@pytest.mark.parametrize("text", [" ", "null"])
def test_what_comes_late_stands_behind(text: str) -> None:
    arguments = Arguments()
    arguments.feed(text)
    assert arguments.end(broken=False) == "{}"
    assert arguments.feed('{"a": 1}') == ("", '{"a": 1}')


def test_regular_text_is_never_held() -> None:
    text = json.dumps({"path": "a/b.py", "content": 'x = "<y>" # é\n```' * 50})
    arguments = Arguments()
    assert [arguments.feed(piece) for piece in text] == [(piece, "") for piece in text]
    assert arguments.complete


@pytest.mark.parametrize("text", ["<" + "a" * MAX_OPENING, "```" + " " * MAX_OPENING, "null" + " " * MAX_OPENING])
def test_what_is_held_in_front_has_a_bound(text: str) -> None:
    arguments = Arguments()
    assert [arguments.feed(piece) for piece in text[: MAX_OPENING - 1]] == [("", "")] * (MAX_OPENING - 1)
    assert arguments.feed(text[MAX_OPENING - 1]) == (text[:MAX_OPENING], "")
    assert arguments.feed(text[MAX_OPENING]) == (text[MAX_OPENING], "")


def test_what_cannot_become_an_opening_is_held_no_longer() -> None:
    arguments = Arguments()
    assert arguments.feed("<a <b> {") == ("<a <b> {", "")
    assert arguments.feed("x") == ("x", "")


def test_a_string_that_is_held_has_a_bound() -> None:
    arguments = Arguments()
    held = '"' + "x" * (MAX_STRING - 2)
    assert arguments.feed(held) == ("", "")
    assert arguments.feed("y") == (held + "y", "")
    assert arguments.feed("z") == ("z", "")


def test_missing_brackets_are_added_where_the_call_is_complete() -> None:
    """With what is held because of them, which is unchanged if it cannot be repaired."""
    tools = of_chat({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"required": ["a"]}}}]})
    for text, lacks in {
        '{"a": [1, {"b": "}"': "}]}",
        '{"a": 1,': "}",
        '{"a": "x': "",
        '{"a":': "",
        '{"a": tru': "",
        '{"b": 1': "",
        '{"a": 1}': "",
        '{"a": 1, b': "b",
        '{"a": 1, b: [2': '"b": [2]}',
        "{'b': 1": "'b': 1",
    }.items():
        for pieces in cuts(text):
            arguments = Arguments()
            sent = "".join(arguments.feed(piece)[0] for piece in pieces if piece)
            assert arguments.closing(sent, tools, "f") == lacks, (text, pieces)


def test_nothing_is_repaired_as_is() -> None:
    for text in (*WHOLE, '{"a": 1'):
        arguments = Arguments()
        arguments.as_is = True
        sent = "".join(arguments.feed(piece)[0] for piece in text)
        assert sent + arguments.end(broken=False) == (text if text.strip() not in ("", "null") else WHOLE[text][0])


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)
SIZES = st.lists(st.integers(1, 9), max_size=80)


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(text[at : at + size])
        at += size
    return [*pieces, text[at:]]


@given(OBJECTS, st.booleans(), st.sampled_from([None, 2]), SIZES, st.sampled_from(["", "}", "\n```", "</tool_call>", "{}"]))
def test_any_object(value: dict[str, Any], ascii_: bool, indent: int | None, sizes: list[int], behind: str) -> None:
    text = json.dumps(value, ensure_ascii=ascii_, indent=indent)
    for written in (text, f"```json\n{text}", json.dumps(text)):
        sent, rest, complete = read(cut(written + behind, sizes))
        assert (sent.rstrip(), rest.strip(), complete) == (text, behind.strip(), True)


@given(st.lists(st.sampled_from(['{"', '"', "\\", "{", "}", "[", "]", "a", "<", ">", "```", "null", " ", "\n", "é", "n"])), SIZES)
def test_any_text(parts: list[str], sizes: list[int]) -> None:
    """Nothing raises, and what is sent does not depend on the cut."""
    text = "".join(parts)
    whole, pieces = read([text]), read(cut(text, sizes))
    assert pieces[0].rstrip() == whole[0].rstrip()
    assert pieces[1].strip() == whole[1].strip()
    assert pieces[2] is whole[2]
