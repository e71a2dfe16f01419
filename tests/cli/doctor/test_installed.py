"""installed.py: versions as numbers."""

import pytest

from toolmend.cli.doctor import installed


@pytest.mark.parametrize(("version", "numbers"), [("12.2.3", (12, 2, 3)), ("1.0rc1", (1, 0)), ("", ()), ("x", ())])
def test_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert installed.numbers(version) == numbers
