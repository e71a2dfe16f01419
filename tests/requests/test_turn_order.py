"""turn_order.py: turns in an order that every upstream takes, written as `role:part+part`; `!` is an error."""

from typing import Any

import pytest

from toolmend.requests.conversation import Conversation, Part, TextPart, ToolResult, ToolUse, Turn
from toolmend.requests.request_limits import Quirks
from toolmend.requests.stand_ins import BEGINNING, CONTINUE, EMPTY, NO_RESULT, REMINDER
from toolmend.requests.turn_order import normalised, place_system_turns

ROLES: dict[str, Any] = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}


def part(word: str, role: str) -> Part:
    if role == "t":
        return ToolResult(word, (TextPart(f"of {word}"),))
    return ToolUse(word[1:], "f", "{}") if word.startswith("@") else TextPart(word.replace("_", " "))


def turns(text: str) -> tuple[Turn, ...]:
    """`u:hi a:@1+@2 t:1`: a user's text, two calls, and the result of one."""
    split = (word.partition(":") for word in text.split())
    return tuple(Turn(ROLES[role], tuple(part(word, role) for word in words.split("+") if word)) for role, _, words in split)


def shown(made: tuple[Turn, ...]) -> str:
    def word(each: Part) -> str:
        match each:
            case ToolUse():
                return f"@{each.id}"
            case ToolResult():
                return each.id + "!" * each.is_error
            case TextPart():
                return {BEGINNING: "BEGINNING", CONTINUE: "CONTINUE", EMPTY: "EMPTY"}.get(each.text, each.text).replace(" ", "_").replace("\n", "")
        raise AssertionError(each)

    return " ".join(f"{turn.role[0]}:{'+'.join(map(word, turn.parts))}" for turn in made)


REMINDED = REMINDER.format("s2").replace("\n", "")
TAKES_ALL = Quirks(blank=True, prefill=True, needs_user=False)
ROWS = [
    ("in order", "s:s1 u:hi a:@1 t:1 a:ok u:go", "s:s1 u:hi a:@1 t:1 a:ok u:go"),
    ("results in the order of the calls", "u:hi a:@1+@2 t:2+1", "u:hi a:@1+@2 t:1+2"),
    ("results that come late", "u:hi a:@1 u:wait t:1", "u:hi a:@1 t:1 u:wait"),
    ("no result", "u:hi a:@1+@2 t:2", "u:hi a:@1+@2 t:1!+2"),
    ("no call", "u:hi t:9", "u:hi+Result_of_a_tool:+of_9"),
    ("one id in two turns", "u:hi a:@1 t:1 a:@1 t:1", "u:hi a:@1 t:1 a:@1 t:1"),
    ("two turns of the user", "u:a u:b", "u:a+b"),
    ("an empty turn", "u:a a: u:b", "u:a+b"),
    ("a later system turn", "s:s1 u:a s:s2", f"s:s1 u:a+{REMINDED}"),
    ("two at the beginning", "s:s1 s:s2 u:a", "s:s1+s2 u:a"),
]


@pytest.mark.parametrize(("given", "made"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_order(given: str, made: str) -> None:
    assert shown(normalised(Conversation(turns=turns(given)), TAKES_ALL, [], system_inside=False).turns) == made


@pytest.mark.parametrize("given", [row[1] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_is_in_order_stays(given: str) -> None:
    once = normalised(Conversation(turns=turns(given)), TAKES_ALL, [], system_inside=False)
    assert normalised(once, TAKES_ALL, [], system_inside=False) == once


def test_system_turns_may_stay_inside() -> None:
    assert shown(normalised(Conversation(turns=turns("u:a s:s2 a:b u:c")), TAKES_ALL, [], system_inside=True).turns) == "u:a s:s2 a:b u:c"


@pytest.mark.parametrize(
    ("quirks", "given", "made", "note"),
    [
        (Quirks(blank=True, prefill=False), "u:a a:b", "u:a a:b u:CONTINUE", "A message of the user is added at the end"),
        (Quirks(blank=True, prefill=True, needs_user=True), "s:s1 a:b", "s:s1 u:BEGINNING a:b", "A message of the user is added: "),
        (Quirks(blank=False, prefill=True), "u:_ a:b", "a:b", ""),
        (Quirks(blank=False, prefill=True), "u:_", "u:EMPTY", "The message of the user is empty"),
    ],
)
def test_what_an_upstream_wants(quirks: Quirks, given: str, made: str, note: str) -> None:
    notes: list[str] = []
    assert shown(normalised(Conversation(turns=turns(given)), quirks, notes, system_inside=False).turns) == made
    assert [one[: len(note)] for one in notes] == ([note] if note else [])


def test_a_missing_result_is_an_error_in_words() -> None:
    notes: list[str] = []
    made = normalised(Conversation(turns=turns("u:a a:@1")), TAKES_ALL, notes, system_inside=False).turns[-1]
    assert made.parts == (ToolResult("1", (TextPart(NO_RESULT),), is_error=True),)
    assert notes == ["The call 1 of f had no result: it was given one that says so"]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("s:s1 u:a s:s2", "s:s1 u:a s:s2"),
        ("u:a s:s2 a:b", "u:a s:s2 a:b"),
        ("u:a s:s2 s:s3 a:b", "u:a s:s2+s3 a:b"),
        ("u:a s:s2 u:b", f"u:a+{REMINDED}+b"),
        ("u:a a:b s:s2", f"u:a a:b u:{REMINDED}"),
    ],
)
def test_where_messages_takes_system_turns(given: str, made: str) -> None:
    assert shown(place_system_turns(turns(given))) == made
