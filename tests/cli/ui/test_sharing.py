"""sharing.py: what looks like a secret is left out of a shared page, unless the user has read it; markup stays text."""

import json
from typing import Any

import pytest

from toolmend.cli.ui.sharing import KINDS, page, review

KEY = "sk-ant-api03-" + "Ab9Cd8Ef7Gh6Ij5Kl4Mn3Op2Qr1St0Uv9Wx8Yz7" * 2


def row(part: int, kind: str, cls: str, value: dict[str, Any], role: str = "user", *, sub: bool = False) -> Any:
    return {"part": part, "kind": kind, "cls": cls, "role": role, "sub": sub, "recording": "r", "value": json.dumps(value)}


ROWS = [
    row(1, "text", "system", {"text": "You are an agent."}, "system"),
    row(2, "tools", "tools", {"tools": [{"name": "read"}, {"name": "write"}]}, ""),
    row(3, "text", "user", {"text": "<b>Fix it</b>"}),
    row(4, "answer", "assistant", {"text": "Ok.", "reasoning": "Hm.", "tool_calls": [{"name": "read", "arguments": '{"a":1}'}]}, "assistant"),
    row(5, "result", "results", {"name": "read", "text": f"key = {KEY}"}, "tool", sub=True),
]


def test_a_review_names_the_parts() -> None:
    (found,) = review(ROWS)
    assert (found["part"], found["kind"], found["role"]) == (5, "result", "tool")
    assert found["what"]
    assert KEY not in str(found)


def test_what_looks_like_a_secret_is_left_out() -> None:
    html = page("Title", ROWS, (), ())
    assert KEY not in html
    assert "left out: " in html
    assert "1 parts are left out" in html


def test_what_the_user_has_read_is_shown() -> None:
    html = page("Title", ROWS, {5}, ())
    assert KEY in html
    assert "left out" not in html


def test_markup_stays_text() -> None:
    html = page("<script>", ROWS, (), ())
    assert "<b>Fix it</b>" not in html
    assert "&lt;b&gt;Fix it&lt;/b&gt;" in html
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("leave", "text"),
    [("system", "You are an agent."), ("tools", "read, write"), ("reasoning", "Hm."), ("results", "left out: ")],
)
def test_what_is_not_wanted(leave: str, text: str) -> None:
    assert leave in KINDS
    assert text in page("Title", ROWS, (), ())
    assert text not in page("Title", ROWS, (), (leave,))


def test_calls_and_results_have_their_names() -> None:
    html = page("Title", ROWS, {5}, ())
    assert "call of read" in html
    assert "result of read of a subagent" in html


def test_a_title_with_a_key_is_none() -> None:
    assert KEY not in page(f"see {KEY}", ROWS[:1], (), ())
    assert "<h1>A session</h1>" in page("", ROWS[:1], (), ())
