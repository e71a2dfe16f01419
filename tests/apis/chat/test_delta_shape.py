"""delta_shape.py: what is regular passes byte for byte, and chunks that are alike are not parsed."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.patterns import all_patterns
from tests.patterns.irregular import REQUEST, first, more
from tests.support.chunk_by_chunk import same
from tests.support.cuts import cuts
from tests.support.regular_streams import REGULAR, called, choice
from tests.support.rows import batches, each_of
from tests.support.streams import META, body_of, chunk, event, play
from toolmend.apis.chat.delta_shape import learn_chunk, may_vary
from toolmend.apis.shared import delta_template_learner
from toolmend.apis.shared.delta_template_learner import TemplateLearner
from toolmend.core import json_text
from toolmend.core.events import ReasoningDelta, TextDelta, ToolCallDelta, Usage
from toolmend.pipeline.pipeline import Pipeline

PATTERNS = all_patterns()


def pipeline(asked: dict[str, Any] | None = REQUEST) -> Pipeline:
    numbers = iter(range(1000))
    return Pipeline(asked, new_id=lambda: f"call_{next(numbers)}")

@pytest.mark.parametrize("name", REGULAR)
def test_what_is_regular_is_byte_identical(name: str) -> None:
    body = REGULAR[name]
    for chunks in cuts(body):
        made = pipeline()
        assert b"".join([made.feed(data) for data in chunks]) + made.close() == body
        assert made.rules == []
    spaced = body.replace(b'":', b'" : ').replace(b"\n\n", b"\r\n\r\n")
    assert play(pipeline, [spaced]) == spaced


STYLES: dict[str, dict[str, Any]] = {
    "openai": {"function": {"arguments": "ab"}},
    "sglang": {"id": None, "type": "function", "function": {"name": None, "arguments": "ab"}},
    "dashscope": {"type": "function", "function": {"arguments": "ab"}},
}


@pytest.mark.parametrize("style", STYLES)
def test_arguments_of_chunks_that_are_alike_are_not_parsed(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = pipeline()
    made.feed(event(chunk({"role": "assistant"})) + event(chunk(first('{"x'))))
    body = event(chunk({"tool_calls": [{"index": 0, **STYLES[style]}]}))
    assert made.feed(body) == body
    original = json_text.loads
    monkeypatch.setattr(json_text, "loads", lambda data: pytest.fail("parsed") if b"choices" in data else original(data))
    for text in ("cd", '\\"', "\\n", "\\u00e9", "é{", ": 1"):
        alike = body.replace(b'"ab"', f'"{text}"'.encode())
        assert made.feed(alike) == alike
    assert made.error is None


def alike(*events: Any, **data: Any) -> bool:
    return learn_chunk(TemplateLearner(may_vary), event(data)[6:-2], data, events) is not None


def test_what_cannot_be_learnt() -> None:
    """Where the text stands somewhere else, or is not all that is said."""
    assert alike(TextDelta("Hi"), **chunk({"content": "Hi"}))
    assert alike(ReasoningDelta("Hm"), **chunk({"reasoning": "Hm"}))
    assert alike(TextDelta("Hi"), **chunk({"content": "Hi"}), x="not Hi", y=[1.5, None])
    assert alike(TextDelta("Hi"), **chunk({"content": "Hi"}), x="Hi")
    assert alike(TextDelta("Hi"), Usage(1, 1), **chunk({"content": "Hi"}), usage={})
    assert not alike(TextDelta("Hi"), TextDelta("Hi"), **chunk({"content": "Hi"}))
    assert alike(TextDelta("a\n\u4f60"), **chunk({"content": "a\n\u4f60"}))
    assert alike(TextDelta("x"), **chunk({"content": "x"}), x=float("nan"))
    assert not alike(TextDelta("m"), **{**chunk({"content": ""}), "model": "m"})
    assert not alike(TextDelta("x"), **META, choices=[choice({"content": "x"}), choice({})])
    assert alike(ToolCallDelta(0, "x"), **chunk(more("x")))
    assert not alike(ToolCallDelta(0, "x"), **chunk({"tool_calls": [*more("x")["tool_calls"], {"index": 1}]}))
    assert not alike(ToolCallDelta(0, "x"), **META, choices=[called({"index": 0, "custom": {"input": "x"}})])


def test_a_new_call_at_the_same_index_is_seen() -> None:
    """What is learnt of one call is not put to another."""
    made = pipeline()
    chunks = [first('{"a'), more("bcd"), more('": 1}'), {"tool_calls": [{**first()["tool_calls"][0], "id": "x"}]}, more('{"efg": 2}')]
    out = b"".join(made.feed(event(chunk({"role": "assistant", **delta}))) for delta in chunks)
    assert b'"index":1,"function":{"arguments":"{\\"efg\\": 2}"}' in out
    assert made.rules == ["tool_call_index"]


@batches([*REGULAR, *PATTERNS])
def test_learning_changes_no_byte(names: Sequence[str], subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(name: str) -> None:
        pattern = PATTERNS.get(name)
        asked = pattern.request if pattern else REQUEST
        body = body_of(pattern) if pattern else REGULAR[name]
        learnt = play(lambda: pipeline(asked), [body])
        with monkeypatch.context() as patch:
            patch.setattr(delta_template_learner, "MOST_MISSES", 0)
            plain = play(lambda: pipeline(asked), [body])
        same(([learnt],), ([plain],), body)

    each_of(((name, name) for name in names), subtests, check)


