"""dialect.py: what every dialect promises to the engine."""

import pytest

from toolmend.dialects import DIALECTS, REASONING_TAGS
from toolmend.dialects.engine.dialect import CustomDialect

ALL = {**DIALECTS, REASONING_TAGS.name: REASONING_TAGS}


@pytest.mark.parametrize("name", DIALECTS)
def test_inner_openers_and_wrappers_are_openers(name: str) -> None:
    dialect = DIALECTS[name]
    assert {*dialect.inner, *dialect.wrappers} <= {*dialect.openers}
    assert "" not in (*dialect.openers, *dialect.closers)


@pytest.mark.parametrize("name", DIALECTS)
def test_words_of_the_interface(name: str) -> None:
    dialect = DIALECTS[name]
    assert dialect.place in ("any", "word", "line", "message")
    assert dialect.in_reasoning in ("call", "doubtful", "never")


@pytest.mark.parametrize("name", [name for name, dialect in DIALECTS.items() if dialect.ambiguous])
def test_ambiguous_calls_are_never_certain(name: str) -> None:
    """Ordinary text contains the openers, so a call in it needs an offered tool, or is doubtful in reasoning."""
    dialect = DIALECTS[name]
    assert dialect.offered_only or dialect.in_reasoning != "call"


def test_a_custom_dialect_is_certain_unless_it_says_otherwise() -> None:
    made = CustomDialect("d", ("<x>",))
    assert (made.inner, made.wrappers, made.closers) == ((), (), ())
    assert (made.ambiguous, made.offered_only, made.place, made.in_reasoning) == (False, False, "any", "call")
