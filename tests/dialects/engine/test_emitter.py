"""emitter.py: every character is covered by one op, in order; tentative calls, guesses and attempts are decided later."""

from typing import Any

import pytest

from toolmend.core.events import TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from toolmend.core.tools import Tools
from toolmend.dialects.engine.dialect import DOUBT, CustomDialect
from toolmend.dialects.engine.emitter import MAX_GUESS, ContentSpan, Deferred, Emitter, Guess, ReasoningSpan, Tentative

CERTAIN = CustomDialect("certain", ("<x>",))
DOUBTFUL = CustomDialect("doubtful", ("<y>",), in_reasoning="doubtful")
OFFERED = CustomDialect("offered", ("<z>",), offered_only=True)


def emitter(begins: Any = "content", *, whole: bool = False, fired: list[str] | None = None) -> Emitter:
    rules = [] if fired is None else fired
    numbers = iter(range(100))
    return Emitter(Tools({"read": {}}), 0, lambda: f"call_{next(numbers)}", rules.append, begins, whole=whole)


def text(made: Emitter, piece: str) -> None:
    made.scanner.feed(piece)
    made.emit_text(len(made.scanner.text))


def call(made: Emitter, dialect: CustomDialect, markup: str = "<x>", arguments: str = "{}") -> None:
    made.scanner.feed(markup)
    made.scanner.pos = len(made.scanner.text)
    made.start(dialect, made.new_id(), "read")
    made.arguments(arguments)
    made.end()


def size(op: Any) -> int:
    return abs(op) if isinstance(op, int) else op.size if isinstance(op, ReasoningSpan | ContentSpan) else 0


def test_text_and_calls_in_order() -> None:
    rules: list[str] = []
    made = emitter(fired=rules)
    text(made, "ab")
    call(made, CERTAIN)
    text(made, "c")
    assert made.ops == [2, -3, ToolCallStart(0, "call_0", "read", in_text=True), ToolCallDelta(0, "{}"), ToolCallEnd(0), 1]
    assert (rules, made.calls, made.after_call) == (["certain"], 1, False)


def test_indices_pass_those_of_native_calls() -> None:
    made = emitter()
    assert [made.take_index(wanted) for wanted in (0, 0, 5, 2)] == [0, 1, 5, 6]


@pytest.mark.parametrize(
    ("dialect", "name", "accepted"),
    [(CERTAIN, "read", True), (CERTAIN, "other.name", True), (CERTAIN, "no name", False), (OFFERED, "read", True), (OFFERED, "other", False), (OFFERED, "", False)],
)
def test_names(dialect: CustomDialect, name: str, accepted: bool) -> None:
    assert emitter().accepts(dialect, name) == accepted


def test_a_broken_call_has_no_end() -> None:
    made = emitter()
    made.start(CERTAIN, "1", "read")
    assert made.committed
    made.break_off()
    assert not made.committed
    assert not any(isinstance(op, ToolCallEnd) for op in made.ops)


def thinking(rules: list[str]) -> Emitter:
    made = emitter(fired=rules)
    made.thinking = True
    return made


def test_a_doubtful_call_in_reasoning_waits() -> None:
    rules: list[str] = []
    made = thinking(rules)
    call(made, DOUBTFUL, "<y>")
    assert (made.ops, rules) == ([], [])
    made.confirm_calls()
    assert [type(op) for op in made.ops] == [int, ToolCallStart, ToolCallDelta, ToolCallEnd]
    assert rules == ["doubtful"]


def test_text_after_it_makes_it_text() -> None:
    rules: list[str] = []
    made = thinking(rules)
    call(made, DOUBTFUL, "<y>")
    text(made, "x" * DOUBT)
    assert made.ops == []
    text(made, "x")
    assert made.ops == [ReasoningSpan(3 + DOUBT + 1)]
    assert (rules, made.calls, made.ids) == ([], 0, set())


def test_attempts_are_emitted_later_or_never() -> None:
    made = emitter()
    made.attempts = []
    call(made, CERTAIN, "<x>", '{"a":1}')
    found, made.attempts = made.attempts, None
    assert made.ops == []
    assert [(one.name, one.arguments, one.ended) for one in found] == [("read", '{"a":1}', True)]
    made.emit_attempts(found)
    assert [op for op in made.ops if not isinstance(op, int)] == [ToolCallStart(0, "call_0", "read", in_text=True), ToolCallDelta(0, '{"a":1}'), ToolCallEnd(0)]


@pytest.mark.parametrize(
    ("begins", "piece", "op"),
    [
        ("content", "a", int),
        ("reasoning", "a", ReasoningSpan),
        ("likely", "a" * (DOUBT + 1), ReasoningSpan),
        ("likely", "# Title\n" * DOUBT, int),
        ("doubt", "Let me see. " * DOUBT, ReasoningSpan),
        ("doubt", "The answer. " * DOUBT, int),
    ],
)
def test_how_a_text_began(begins: Any, piece: str, op: type) -> None:
    made = emitter(begins)
    text(made, piece)
    assert [type(each) for each in made.ops] == [op]
    assert sum(map(size, made.ops)) == len(piece)


@pytest.mark.parametrize("begins", ["likely", "doubt"])
def test_little_text_decides_nothing(begins: Any) -> None:
    made = emitter(begins)
    text(made, "Let me see.")
    assert made.ops == []
    assert made.may_be_inside


def test_a_wrong_guess_is_said_again() -> None:
    rules: list[str] = []
    made = emitter("reasoning", fired=rules)
    text(made, "The answer.")
    made.decide_content()
    assert made.ops == [ReasoningSpan(11), TextDelta("The answer.")]
    assert (rules, made.thinking) == (["reasoning_answer"], False)


def test_a_long_guess_is_reasoning() -> None:
    made = emitter("reasoning")
    text(made, "a" * (MAX_GUESS + 1))
    made.decide_content()
    assert all(isinstance(op, ReasoningSpan) for op in made.ops)


def test_deferred_ops_cover_their_characters() -> None:
    deferred = Deferred()
    for op in (3, -2, ReasoningSpan(4), ContentSpan(1), ToolCallEnd(0)):
        deferred.append(op)
    assert (deferred.size, len(deferred.ops)) == (10, 5)


def test_a_tentative_call_counts_the_text_after_it() -> None:
    tentative = Tentative(0, 0, set(), 0)
    for op, trailing in ((3, 3), (-2, 3), (ToolCallEnd(0), 0), (ReasoningSpan(4), 4)):
        tentative.append(op)
        assert tentative.trailing == trailing


def test_a_guess_is_blank_until_it_has_a_letter() -> None:
    guess = Guess()
    guess.keep(" \n")
    assert guess.blank
    guess.keep(" a")
    assert (guess.blank, guess.size, guess.texts) == (False, 4, [" \n", " a"])
