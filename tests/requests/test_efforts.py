"""efforts.py: efforts of reasoning, and budgets of tokens."""

import pytest

from toolmend.requests.efforts import nearest, of_budget

EFFORTS = [
    ("high", ("low", "medium", "high"), "high"),
    ("max", ("low", "medium", "high"), "high"),
    ("minimal", ("low", "medium", "high"), "low"),
    ("medium", ("low", "high", "max"), "high"),
    ("xhigh", ("low", "high", "max"), "high"),
    ("max", ("low", "medium", "high", "xhigh"), "xhigh"),
    ("xhigh", ("max",), "max"),
    ("none", ("low", "high"), "low"),
    ("low", ("none", "medium"), "medium"),
    ("none", ("none", "low"), "none"),
    ("high", (), ""),
    ("high", ("none",), ""),
    ("extreme", ("low",), ""),
    ("", ("low",), ""),
]


@pytest.mark.parametrize(("effort", "efforts", "expected"), EFFORTS, ids=str)
def test_the_nearest_effort(effort: str, efforts: tuple[str, ...], expected: str) -> None:
    assert nearest(effort, efforts) == expected


def test_the_effort_of_a_budget() -> None:
    assert [of_budget(tokens) for tokens in (0, 2048, 2049, 16384, 16385)] == ["low", "low", "medium", "medium", "high"]
