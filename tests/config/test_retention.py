"""Which recordings go: by size, by age, and never what is held."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from toolmend.config.checks import SettingsError
from toolmend.config.retention import DEFAULT, Keep, Stored, expired, parse

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
WRITE = "write both as in 500MB 14d, or write all"

RIGHT = {
    "": DEFAULT,
    " ": DEFAULT,
    "500MB 14d": DEFAULT,
    "14D, 500mb": DEFAULT,
    "1kb": Keep(1000),
    "2GB": Keep(2 * 10**9),
    "9999999TB": Keep(9_999_999 * 10**12),
    "6h": Keep(None, timedelta(hours=6)),
    "9999999w": Keep(None, timedelta(weeks=9_999_999)),
    "all": Keep(),
    "OFF": Keep(),
}
WRONG = {
    "500": f"x: '500' is neither a size nor an age, {WRITE}",
    "500 MB": f"x: '500' is neither a size nor an age, {WRITE}",
    "0MB": f"x: '0mb' is neither a size nor an age, {WRITE}",
    "1.5GB": f"x: '1.5gb' is neither a size nor an age, {WRITE}",
    "-1d": f"x: '-1d' is neither a size nor an age, {WRITE}",
    "14m": f"x: '14m' is neither a size nor an age, {WRITE}",
    "99999999d": f"x: '99999999d' is neither a size nor an age, {WRITE}",
    "\u0663d": f"x: '\u0663d' is neither a size nor an age, {WRITE}",
    "all 14d": f"x: 'all' is neither a size nor an age, {WRITE}",
    "1MB 2GB": f"x: '1MB 2GB' names the size twice, {WRITE}",
    "1d 2d 1MB": f"x: '1d 2d 1MB' names the age twice, {WRITE}",
}


@pytest.mark.parametrize("text", RIGHT)
def test_right(text: str) -> None:
    assert parse("x", text) == RIGHT[text]


@pytest.mark.parametrize("text", WRONG)
def test_wrong(text: str) -> None:
    with pytest.raises(SettingsError) as raised:
        parse("x", text)
    assert str(raised.value) == WRONG[text]


def lying(days: str) -> list[Stored]:
    """A recording of 100 bytes a letter: `a` is of now, `b` a day older, and so on; a capital is held."""
    return [
        Stored(Path(letter), NOW - timedelta(days=ord(letter.lower()) - ord("a")), 100, letter.isupper()) for letter in days
    ]


GOING = [
    # what lies there, the limits, what goes and in which order
    ("abc", Keep(), ""),
    ("abc", Keep(300, timedelta(days=2)), ""),
    ("abc", Keep(299), "c"),
    ("cab", Keep(100), "cb"),
    ("abc", Keep(99), "cba"),
    ("abcd", Keep(None, timedelta(days=1)), "dc"),
    ("abcd", Keep(300, timedelta(days=1)), "dc"),
    ("abcd", Keep(100, timedelta(days=2)), "dcb"),
    ("ABcd", Keep(100), "d"),
    ("aBCd", Keep(100, timedelta(days=1)), "d"),
    ("ABC", Keep(1, timedelta(hours=1)), ""),
    ("", Keep(1, timedelta(hours=1)), ""),
]


@pytest.mark.parametrize(("days", "keep", "gone"), GOING)
def test_going(days: str, keep: Keep, gone: str) -> None:
    assert "".join(str(one.folder) for one in expired(lying(days), keep, NOW)) == gone


def test_a_large_one_is_not_made_up_for_by_small_ones() -> None:
    """What is older than the first that does not fit goes too, or old small ones would outlive the newest large one."""
    large = Stored(Path("large"), NOW - timedelta(hours=1), 1000)
    assert [one.folder.name for one in expired([*lying("ab"), large], Keep(500), NOW)] == ["b", "large"]


def test_a_clock_that_was_wrong() -> None:
    """What seems to be of tomorrow is no reason to lose anything."""
    tomorrow = Stored(Path("tomorrow"), NOW + timedelta(days=1), 100)
    assert expired([*lying("a"), tomorrow], DEFAULT, NOW) == []
