"""Every rule that fires has its words."""

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.patterns import all_patterns
from tests.support.paths import ADDON
from tests.support.rows import each_of
from toolmend.dialects import DIALECTS, REASONING_TAGS
from toolmend.pipeline.rules import RULES, rule

PACKAGE = ADDON / "toolmend"
FIRING = {"fired", "_fired", "mended", "_mended"}


def strings(node: ast.expr) -> Iterator[str]:
    """The constants that an argument may be."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from strings(body)
            yield from strings(orelse)


def fired() -> set[str]:
    """The names that stand in the code: `self._fired("usage")`, `_rule = "policy_first"`."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[first, *_]) if name in FIRING:
                    found |= {*strings(first)}
                case ast.Assign(targets=[ast.Name(id="_rule")], value=value):
                    found |= {*strings(value)}
    return found


@cache
def names() -> list[str]:
    return sorted({*fired(), *DIALECTS, REASONING_TAGS.name, *(name for one in all_patterns().values() for name in one.rules)})


def test_the_names_are_found() -> None:
    assert {"tool_call_id", "policy_collect", "finish_reason", "usage_estimated", "kimi_k2", "block_stop"} <= set(names())


def test_each_has_words(subtests: pytest.Subtests) -> None:
    def check(name: str) -> None:
        words = rule(name)
        for text in (words.what, words.why):
            assert text[0].isupper() or text.startswith("toolmend_")
            assert text.endswith(".")
            assert "{" not in text
        if name in DIALECTS:
            assert f" {name}," in words.what

    each_of(((name, name) for name in names()), subtests, check)


def test_no_words_for_what_never_fires() -> None:
    assert set(RULES) - {"dialect"} <= set(names())


def test_a_name_that_no_rule_has() -> None:
    with pytest.raises(KeyError):
        rule("nonsense")
