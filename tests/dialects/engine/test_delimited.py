"""delimited.py: calls between tokens are certain; without tokens they are ambiguous."""

import pytest

from tests.support.readings import read
from toolmend.dialects.engine.delimited import MAX_OPENERS, DelimitedDialect

TOKENS = DelimitedDialect("d", begin=("<|call|>", "<|tool|>"), end=("<|end|>",))
BARE = DelimitedDialect("d", end=("<|end|>",), opener="call(")


def test_with_tokens() -> None:
    assert (TOKENS.openers, TOKENS.closers) == (("<|call|>", "<|tool|>"), ("<|end|>",))
    assert (TOKENS.place, TOKENS.in_reasoning, TOKENS.ambiguous, TOKENS.offered_only) == ("any", "call", False, False)


def test_without_tokens() -> None:
    assert BARE.openers == ("call(",)
    assert (BARE.place, BARE.in_reasoning, BARE.ambiguous, BARE.offered_only) == ("line", "never", True, True)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<|call|>x", "x"),
        ("<|call|>\n <|tool|> x", "x"),
        ("x<|call|>", "x<|call|>"),
        ("<|call|>" * MAX_OPENERS + "x", "x"),
        ("<|call|>" * (MAX_OPENERS + 1) + "x", "<|call|>x"),
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_begin_tokens_are_skipped(text: str, rest: str, size: int) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert read(pieces, TOKENS.begins) == (None, rest)
