"""names.py: names of tools that an upstream takes, and the way back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmend.requests.names import legal_names

NAME = r"[A-Za-z][\w-]{0,63}"
LONG = "mcp__" + "x" * 80
NAMES = [
    (["read", "A-b_9"], ["read", "A-b_9"]),
    (["mcp.files/read"], ["mcp_files_read"]),
    (["2fa", "_a", "é"], ["t_2fa", "t__a", "t__"]),
    (["a_b", "a.b"], ["a_b", "a_b_3bb14a24"]),
    (["a.b", "a_b"], ["a_b_3bb14a24", "a_b"]),
    (["", "tool"], ["tool_e3b0c442", "tool"]),
    ([LONG], [LONG[:55] + "_" + "HASH"]),
]


@pytest.mark.parametrize(("names", "expected"), NAMES, ids=[str(row[0]) for row in NAMES])
def test_names(names: list[str], expected: list[str]) -> None:
    found = legal_names(names, NAME)
    for name, wanted in zip(names, expected, strict=True):
        assert re.sub("_[0-9a-f]{8}$", "_#", found[name]) == re.sub("_([0-9a-f]{8}|HASH)$", "_#", wanted)


@given(st.lists(st.text(max_size=80) | st.text("ab._", max_size=4), max_size=12))
def test_names_are_legal_and_have_a_way_back(names: list[str]) -> None:
    found = legal_names(names, NAME)
    assert found.keys() == set(names)
    assert len(set(found.values())) == len(found)
    assert all(re.fullmatch(NAME, name, re.ASCII) for name in found.values())
    assert found == legal_names(names, NAME)
