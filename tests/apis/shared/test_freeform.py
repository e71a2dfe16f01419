"""freeform.py: bare input into arguments and back, in every piece."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmend.apis.shared.freeform import MAX_BEFORE, MAX_BLANKS, FreeformInput, Unwrap


def cut(text: str, sizes: Sequence[int]) -> list[str]:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(text[at : at + size])
        at += size
    return [*pieces, text[at:]]


def run(made: FreeformInput | Unwrap, pieces: Sequence[str], *, broken: bool = False) -> str:
    return "".join([made.feed(piece) for piece in pieces]) + made.end(broken=broken)


def everyway(text: str) -> set[str]:
    """What comes out, whole, character by character, and at every cut."""
    ways = [[text], list(text), *([text[:at], text[at:]] for at in range(len(text)))]
    return {run(Unwrap(), pieces) for pieces in ways}


PATCH = '*** Begin Patch\n+print("é \\n 🙂")\n\t*** End Patch'
ARGUMENTS = {
    # arguments: the input
    json.dumps({"input": PATCH}): PATCH,
    json.dumps({"input": PATCH}, ensure_ascii=False, indent=2): PATCH,
    '{"input":""}': "",
    "{}": "",
    " { } ": "",
    '{"why": "to \\"see\\"", "n": [1, {"a": "}"}], "x": null , "input" : "ls" }': "ls",
    '{"input":"ls", "input":"rm", "n": {"input": "x"}}': "ls",
    '{"n":{"input":"x"},"input":"ls"}': "ls",
    '{"a":"input","input":"ls"}': "ls",
    r'{"input":"\"\\\/\b\f\n\r\t\u0041\u00e9"}': '"\\/\b\f\n\r\tAé',
    r'{"input":"\ud83d\ude42"}': "🙂",
    r'{"input":"\uD83D\uDE42!"}': "🙂!",
    # halves of characters
    r'{"input":"\ud83d"}': "\ud83d",
    r'{"input":"\ud83dx\ude42"}': "\ud83dx\ude42",
    r'{"input":"\ud83d\n"}': "\ud83d\n",
    r'{"input":"\ud83d\u0041"}': "\ud83dA",
    r'{"input":"\ud83d\ud83d\ude42"}': "\ud83d🙂",
    # what models get wrong in a string
    '{"input":"a\n\tb"}': "a\n\tb",
    r'{"input":"\d+ \x \u12 \u12G4"}': r"\d+ \x \u12 \u12G4",
    '{"input":"\\ud83d\\uZ"}': "\ud83d\\uZ",
    '{"input":"say "hi" now"}': 'say "hi" now',
    # broken off
    '{"input":"ls': "ls",
    '{"input":"ls"': "ls",
    '{"input":"ls\\': "ls\\",
    '{"input":"ls\\u00': "ls\\u00",
    '{"input":"ls\\ud83d\\u': "ls\ud83d\\u",
    # not of that shape
    "": "",
    " ": " ",
    "ls": "ls",
    PATCH: PATCH,
    '"ls"': '"ls"',
    "[1]": "[1]",
    "{": "{",
    "{ x": "{ x",
    "{} x": "{} x",
    '{"input"': '{"input"',
    '{"input":': '{"input":',
    '{"input" "ls"}': '{"input" "ls"}',
    '{"input":7}': '{"input":7}',
    '{"input":["ls"]}': '{"input":["ls"]}',
    '{"command":"ls"}': '{"command":"ls"}',
    '{"command":"ls",}': '{"command":"ls",}',
    '{"command":"l\\"s': '{"command":"l\\"s',
    '{"command":"l\\': '{"command":"l\\',
    '{"n":[1, {"input":"x"}]': '{"n":[1, {"input":"x"}]',
    '{"inputs":"ls"}': '{"inputs":"ls"}',
}


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_arguments(arguments: str) -> None:
    assert everyway(arguments) == {ARGUMENTS[arguments]}


def test_the_input_streams() -> None:
    """Each piece as it comes, whatever stands in front of it."""
    made = Unwrap()
    assert made.feed('{"why":"x","input":"') == ""
    for piece in ("*** Be", "gin", " Patch"):
        assert made.feed(piece) == piece
    assert [made.feed(piece) for piece in ("\\", "n", '"', " ", "}", "\n")] == ["", "\n", "", "", "", ""]
    assert made.end() == ""
    wrapped = FreeformInput()
    assert [wrapped.feed(piece) for piece in ("a", "\n")] == ['{"input":"a', "\\n"]
    assert wrapped.end() == '"}'


def test_what_is_no_input_streams_as_soon_as_that_is_seen() -> None:
    made = Unwrap()
    assert [made.feed(piece) for piece in ("*", "** Begin")] == ["*", "** Begin"]
    made = Unwrap()
    assert [made.feed(piece) for piece in ('{"a": ', "1", "}", " x")] == ["", "", '{"a": 1}', " x"]


@pytest.mark.parametrize("before", ['{"a":"', '{"a":[', '{"a', '{"a":', "{", "", '{"a":1,'])
def test_what_stands_in_front_of_the_input_is_bounded(before: str) -> None:
    for filler in (" ", "x", "1,", '"b",'):
        text = before + filler * (3 * MAX_BEFORE)
        made = Unwrap()
        told = "".join(made.feed(text[at : at + 1000]) for at in range(0, len(text), 1000))
        assert len(text) - len(told) <= 2 * MAX_BEFORE + 1000
        assert told + made.end() == text
        assert run(Unwrap(), [text]) == text


def test_blanks_behind_the_input_are_bounded() -> None:
    made = Unwrap()
    assert made.feed('{"input":"ls"' + " " * (MAX_BLANKS + 1) + "x") == "ls"
    assert made._scanner.start == len(made._scanner.text)
    assert made.end() == ""


def test_what_is_broken_off_stays_open() -> None:
    assert run(FreeformInput(), ["a"], broken=True) == '{"input":"a'
    assert run(FreeformInput(), [], broken=True) == ""
    assert run(FreeformInput(), []) == '{"input":""}'
    assert run(Unwrap(), ['{"why": "x'], broken=True) == '{"why": "x'


ANY = st.text(st.characters(codec=None) | st.sampled_from('"\\{}[],: \nu\ud83d\ude42🙂'))
SIZES = st.lists(st.integers(0, 9))


@given(ANY, SIZES, SIZES)
def test_there_and_back(text: str, sizes: list[int], others: list[int]) -> None:
    arguments = run(FreeformInput(), cut(text, sizes))
    assert arguments.encode().decode() == arguments
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # halves that met are one
    assert json.loads(arguments) == {"input": joined}
    assert run(Unwrap(), cut(arguments, others)) == joined


@given(st.dictionaries(ANY, st.recursive(st.none() | st.integers() | st.floats() | ANY, st.lists), max_size=3), ANY, st.booleans(), SIZES)
def test_any_object_with_an_input(others: dict[str, object], text: str, ascii_only: bool, sizes: list[int]) -> None:
    written = json.dumps({**{key: value for key, value in others.items() if key != "input"}, "input": text}, ensure_ascii=ascii_only)
    expected = json.loads(written)["input"]
    assert run(Unwrap(), cut(written, sizes)) == expected


@given(ANY, SIZES)
def test_any_text(text: str, sizes: list[int]) -> None:
    """The same for every cut, and nothing lost where it is no arguments."""
    out = run(Unwrap(), cut(text, sizes))
    assert out == run(Unwrap(), [text])
    if '"input"' not in text and text.strip(" \t\r\n") not in ("{}", "{ }"):
        assert out == text or json.loads(text) == {}
