"""summary.py: what models write around a summary is taken off."""

import pytest

from toolmend.pipeline.transformers.summary import unwrapped


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("<analysis>a</analysis><summary>\nb\n</summary>", "b"),
        ("```markdown\na\n```", "a"),
        ("<analysis>a</analysis>", "<analysis>a</analysis>"),
        ("a\n```\nb\n```", "a\n```\nb\n```"),
    ],
)
def test_what_is_written_around_a_summary(text: str, summary: str) -> None:
    assert unwrapped(text) == summary
