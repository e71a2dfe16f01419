"""literals.py: values as Python writes them."""

import pytest

from toolmend.dialects.engine.literals import scalar

NUMBERS = {
    "20": "20", "-2.50": "-2.50", "1e999": "1e999", "-0": "-0", "0x1F": "31", "0o17": "15", "1_000": "1000", "+5": "5", ".5": "0.5", "-5.": "-5.0", "9" * 5000: "9" * 5000,
    "007": None, "1.2.3": None, "12:30": None, "1j": None, "+": None, "-x": None, ".": None, "0x": None, "1__0": None, "inf": None, "": None, "²": None,
    "+nan": None, "-inf": None, "0x" + "f" * 5000: None, "True": "true", "false": "false", "None": "null", "TRUE": None,
}  # fmt: skip


@pytest.mark.parametrize("word", NUMBERS)
def test_a_number_or_a_word(word: str) -> None:
    assert scalar(word) == NUMBERS[word]
