"""Decides whether a text was generated at random: keys and generated passwords are, words and identifiers are not.

    is_drawn("kQ7zRtVbXw2L")   True        is_drawn("qzrtvbxwlpqk")   True        is_drawn("getUserById2")   False

Only the text itself is judged, not its name or place.
"""

import re
from collections import Counter
from itertools import pairwise
from math import log2

MAX_PIECE = 2.8
"""Characters per word or number in a random text, on average: it is 2.1, and 4 or 5 in identifiers."""

ODD = 0.25
"""Short pieces and unusual letter pairs per character of a random text: 0.5 on average, 0.1 in an identifier."""

PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
"""The words and numbers of an identifier."""

_RUN = re.compile("[A-Za-z0-9]{8,}")
_HEX = re.compile("(?i)(?=[a-f]*[0-9])(?=[0-9]*[a-f])(?:[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_USUAL = {  # the letters that follow each letter: 399 of 676 pairs, which are 99 % of those in the words of programs
    row[0]: frozenset(row[2:])
    for row in (
        "a abcdfgiklmnprstuvwxyz", "b abcdeijlmoprstuy", "c acdefhiklmnoprstuvy", "d abcdefgilmnoprstuvy",
        "e abcdefghiklmnopqrstuvwxy", "f acdefilnorstuy", "g aeghilmnoprstu", "h adeilmnorstuy", "i abcdefgklmnoprstvxz",
        "j aeosu", "k adegilnosuw", "l abcdefgiklmnoprstuvy", "m abcdeilmnopstuy", "n abcdefghijklmnoprstuvy",
        "o abcdefgijklmnoprstuvwxy", "p acdefhiklnoprstuy", "q u", "r abcdefgiklmnoprstuvwy", "s acdefghiklmnopqrstuvwy",
        "t abcdefhilmnoprstuvwxy", "u abcdefgilmnoprst", "v aeio", "w adehilnorsw", "x acdefimptxy", "y abcdeilmnoprstwz",
        "z aeio",
    )
}  # fmt: skip


def entropy(text: str) -> float:
    """Returns bits per character."""
    return -sum(n / len(text) * log2(n / len(text)) for n in Counter(text).values())


def is_drawn(text: str) -> bool:
    """Whether letters and digits are in an order unlike words. Runs of fewer than eight cannot be judged."""
    run = max(_RUN.findall(text), key=len, default="")
    if len(set(run)) < 6:
        return False
    pieces = PIECES.findall(run)
    short = sum(len(piece) < 3 for piece in pieces)
    pairs = (pair for piece in pieces if piece.isalpha() for pair in pairwise(piece.lower()))
    return short + sum(after not in _USUAL[letter] for letter, after in pairs) >= ODD * len(run) or bool(_HEX.search(text))


def is_high_entropy(run: str) -> bool:
    """Whether a run of characters is random, of 20 or more letters of both cases and digits."""
    letters = sum(map(str.isalpha, run))
    digits = sum(map(str.isdigit, run))
    cases = sum(map(str.isupper, run)), sum(map(str.islower, run))
    if letters + digits < 20 or min(digits, *cases) < 2:
        return False
    return (letters + digits) / len(PIECES.findall(run)) <= MAX_PIECE and entropy(run) >= 3.7
