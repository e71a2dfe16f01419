"""Openings find what a regex of all the literals finds: of tables, and of random text made of what literals are made of."""

import random
from collections.abc import Sequence

import pytest

from toolmend.core.literal_search import Openings, regex
from toolmend.dialects import DIALECTS
from toolmend.pipeline.dialect_choice import armed
from toolmend.providers.model_profiles import PROFILES


def told(found: object) -> tuple[str, int, int] | None:
    return (found.group(), found.start(), found.end()) if found else None  # type: ignore[attr-defined]


def both(literals: Sequence[str], text: str, at: int = 0) -> tuple[object, object]:
    return told(Openings(literals).search(text, at)), told(regex(literals).search(text, at))


@pytest.mark.parametrize(
    ("literals", "text", "found"),
    [
        pytest.param((), "anything", None, id="none to find"),
        pytest.param(("<a>",), "text", None, id="not there"),
        pytest.param(("<tool_call>",), "x <tool_call> y", ("<tool_call>", 2, 13), id="longer than its head"),
        pytest.param(("<tool_call>",), "x <tool_x <tool_call>", ("<tool_call>", 10, 21), id="behind one that goes on otherwise"),
        pytest.param(("<tool_call>",), "x <tool_ca", ("<tool_ca", 2, 10), id="begun at the end"),
        pytest.param(("<tool_call>",), "x <", ("<", 2, 3), id="a character of it"),
        pytest.param(("{", '{"name"'), '{"nam', ('{"nam', 0, 5), id="a whole one, and a longer one begun"),
        pytest.param(("{", '{"name"'), '{"names', ("{", 0, 1), id="a whole one, and a longer one that does not come"),
        pytest.param(("ab", "abcdefgh"), "abcdefg.", ("ab", 0, 2), id="a short one of the same head"),
        pytest.param(("<|<|tool_call>",), "<|<|<|tool_call>", ("<|<|tool_call>", 2, 16), id="within what looks like its head"),
    ],
)
def test_finds(literals: Sequence[str], text: str, found: tuple[str, int, int] | None) -> None:
    assert both(literals, text) == (found, found)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_finds_the_same_as_the_regex_of_all(profile: object) -> None:
    literals = tuple(dict.fromkeys(opener for dialect in armed(None, profile) for opener in dialect.openers))  # type: ignore[arg-type]
    ours, theirs, drawn = Openings(literals), regex(literals), random.Random(1)
    pieces = [*(literal for dialect in DIALECTS.values() for literal in dialect.openers), *"<|{[`\n a>▁", "text ", "tool_"]
    for _ in range(300):
        parts = [drawn.choice(pieces) for _ in range(drawn.randint(1, 6))]
        text = "".join(part[: drawn.randint(0, len(part))] if drawn.random() < 0.5 else part for part in parts)
        at = drawn.randint(0, len(text))
        end = drawn.randint(at, len(text))
        assert told(ours.search(text, at)) == told(theirs.search(text, at)), (text, at)
        assert told(ours.search(text, at, end)) == told(theirs.search(text, at, end)), (text, at, end)
