"""reasoning_state.py: what proves reasoning comes back as it was, and nothing else is taken for it."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmend.core.reasoning_state import MARK, Kind, ReasoningState, envelope, opened


@given(st.builds(ReasoningState, st.sampled_from(get_args(Kind.__value__)), st.text(st.characters())))
def test_it_comes_back(seal: ReasoningState) -> None:
    word = envelope(seal)
    assert word.startswith(MARK)
    assert word.isascii()
    assert word.isprintable()
    assert opened(word) == seal


NONE = {
    "another's": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds",
    "nothing": "",
    "no more than the mark": MARK,
    "no data": f"{MARK}details",
    "another kind": f"{MARK}sealed.e30=",
    "no kind": f"{MARK}.e30=",
    "behind something": f" {MARK}details.e30=",
    "cut off": f"{MARK}details.e30",
    "no base64": f"{MARK}details.日本",
    "no text": f"{MARK}details._w==",
}


@pytest.mark.parametrize("name", NONE)
def test_what_is_none(name: str) -> None:
    assert opened(NONE[name]) is None
