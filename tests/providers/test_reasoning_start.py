"""Thoughts that the prompt opened: how the text of an answer begins, what is held until that is known, and what is learned of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.test import taddons, tflow

from tests.patterns import all_patterns
from tests.support.other_api_streams import (
    gemini_chunks,
    gemini_request,
    gemini_sse,
    ollama_lines,
    ollama_request,
    read_gemini,
    read_ollama,
)
from tests.support.paths import ROOT
from tests.support.recorder import EXCHANGE
from tests.support.rows import some_of
from tests.support.streams import WEATHER as ASK
from tests.support.streams import chunk, event, pieces, stream
from tests.support.upstream_answers import APIS, JUDGES, PAIRS, STOPS, WEATHER, Text, asked, speak, tell
from toolmend.config.settings import Settings, parse
from toolmend.core.fastclass import replace
from toolmend.dialects.engine.dialect import DOUBT
from toolmend.dialects.engine.emitter import ContentSpan, ReasoningSpan
from toolmend.dialects.engine.markup_parser import MarkupParser
from toolmend.dialects.engine.opener_index import opener_index
from toolmend.pipeline.build import AnswerContext, beginning, looked_for
from toolmend.pipeline.pipeline import Pipeline
from toolmend.providers.model_profiles import PROFILES
from toolmend.providers.reasoning_start import MOST, Beginnings, pair_of
from toolmend.providers.thinking import is_off
from toolmend.proxy.exchange import LlmExchange
from toolmend.proxy.lifecycle import ExchangeLifecycle
from toolmend.recordings.read import replay
from toolmend.requests.translate import translate

HOLDS = DOUBT + 64
"""Characters that prose may wait for: of a doubt, and of the longest tag."""

LONG = "Let me think about it. " * 30
DOCUMENT = "# Title\n\n" + "The service reads a file and prints it. " * 30
HERMES = '<tool_call>\n{"name": "task", "arguments": {"description": "a"}}\n</tool_call>'
KIMI = '<|tool_call_begin|>functions.task:0<|tool_call_argument_begin|>{"description": "a"}<|tool_call_end|>'
CALL = ("task", {"description": "a"})

ANSWERS: dict[str, tuple[str, str, str, str, str, bool]] = {
    # model, begins, text → reasoning, content, whether there is a call
    "short": ("qwq-32b", "", "I add.\n</think>\n\nIt is 2.", "I add.\n", "It is 2.", False),
    "long": ("qwq-32b", "", f"{LONG}</think>\n\nIt is 2.", LONG, "It is 2.", False),
    "may think": ("glm-4.6", "", f"{LONG}</think>\n\nIt is 2.", LONG, "It is 2.", False),
    "may think, Kimi K3": ("kimi-k3", "", "I add.<|close|>think<|sep|><|open|>response<|sep|>It is 2.<|close|>response<|sep|>", "I add.", "It is 2.", False),
    "may think, and does not": ("kimi-k3", "", DOCUMENT, "", DOCUMENT, False),
    "no thought": ("qwq-32b", "", "It is 2.", "", "It is 2.", False),
    "a wrong guess": ("qwq-32b", "", LONG, LONG, LONG, False),
    "a document": ("glm-4.6", "", DOCUMENT, "", DOCUMENT, False),
    "a call after a guess": ("kimi-k2-thinking", "", LONG + KIMI, LONG, LONG, True),
    "a doubtful call after a guess": ("qwq-32b", "", LONG + HERMES, LONG, LONG, True),
    "a call in the thought": ("qwq-32b", "", f"{LONG}{HERMES} so.</think>It is 2.", f"{LONG}{HERMES} so.", "It is 2.", False),
    "known": ("qwq-32b", "reasoning", "Hm.\n</think>\n\nIt is 2.", "Hm.\n", "It is 2.", False),
    "known, empty": ("qwq-32b", "reasoning", "\n</think>\n\nIt is 2.", "\n", "It is 2.", False),
    "known, and opened": ("qwq-32b", "reasoning", "<think>\nHm.\n</think>\n\nIt is 2.", "Hm.\n", "It is 2.", False),
    "known, and wrong": ("qwq-32b", "reasoning", "It is 2.", "It is 2.", "It is 2.", False),
    "known, and a call": ("kimi-k2-thinking", "reasoning", "Hm. " + KIMI, "Hm. ", "", True),
    "known as content": ("qwq-32b", "content", LONG, "", LONG, False),
    "known as content, and wrong": ("qwq-32b", "content", "Hm.\n</think>\n\nIt is 2.", "", "Hm.\nIt is 2.", False),
    "a late tag without an end": ("qwen3-8b", "", "So:\n<think>is a tag", "is a tag", "So:\n<think>is a tag", False),
}


def made(model: str, source: str = "chat", target: str = "chat", **more: Any) -> Pipeline:
    ask = asked(target, *WEATHER, model=model) if source in ("chat", "messages", "responses") else {**ASK, "model": model}
    ask = gemini_request(ask) | {"model": model} if source == "gemini" else ollama_request(ask) | {"model": model} if source == "ollama" else ask
    numbers = iter(range(99))
    return Pipeline(ask, source=source, target=target, new_id=lambda: f"call_{next(numbers)}", **more)


@pytest.mark.parametrize(("source", "target"), [*((api, api) for api in APIS), *PAIRS])
def test_each_api_gives_the_same(source: str, target: str) -> None:
    for name, (model, begins, text, reasoning, content, called) in ANSWERS.items():
        body = speak(source, [Text(text)])
        outs = []
        for size in (1, len(body)):
            pipeline = made(model, source, target, begins=begins)
            outs.append(b"".join(pipeline.feed(body[at : at + size]) for at in range(0, len(body), size)) + pipeline.close())
            assert pipeline.error is None, name
        assert outs[0] == outs[1], name
        answer = JUDGES[target].read(outs[0])
        assert (answer.reasoning, answer.text, [value[:2] for value in answer.asked]) == (reasoning, content, [CALL] * called), name
        assert answer.stop_reason == STOPS[target]["tool_calls" if called else "stop"], name
        assert not answer.faults, name


@pytest.mark.parametrize("name", ANSWERS)
def test_the_cut_of_the_text_does_not_matter(name: str) -> None:
    model, begins, text, reasoning, content, called = ANSWERS[name]
    for deltas in ([text], list(text), *(pieces(text, seed) for seed in range(3))):
        pipeline = made(model, begins=begins)
        answer = JUDGES["chat"].read(pipeline.feed(stream(deltas)) + pipeline.close())
        assert (answer.reasoning, answer.text, len(answer.calls)) == (reasoning, content, called)


@pytest.mark.parametrize("source", ["gemini", "ollama"])
def test_the_apis_that_are_not_translated(source: str) -> None:
    for name, (model, begins, text, reasoning, content, called) in ANSWERS.items():
        body = gemini_sse(gemini_chunks(pieces(text, 1))) if source == "gemini" else ollama_lines(pieces(text, 1))
        pipeline = made(model, source, source, begins=begins)
        answer = (read_gemini if source == "gemini" else read_ollama)(pipeline.feed(body) + pipeline.close())
        assert pipeline.error is None, name
        assert (answer.reasoning, answer.content, len(answer.calls)) == (reasoning, content, called), name


@pytest.mark.parametrize("finish", ["length", None])
def test_a_thought_that_is_cut_off_is_no_answer(finish: str | None) -> None:
    pipeline = made("qwq-32b")
    body = stream(pieces(LONG, 1), finish=finish)
    body = body if finish else body.partition(b'data: {"id": "c1", "object": "chat.completion.chunk", "created": 1760000000, "model": "kimi-k2.5", "choices": []')[0]
    answer = JUDGES["chat"].read(pipeline.feed(body) + pipeline.close())
    assert (answer.reasoning, answer.text) == (LONG, "")
    assert pipeline.rules == []
    assert pipeline.began == ""


def test_a_whole_answer_is_decided_by_all_of_it() -> None:
    for source, target in [*((api, api) for api in APIS), *PAIRS]:
        for text, parts in {LONG: ("", LONG), f"{LONG}</think>\n\nIt is 2.": (LONG, "It is 2.")}.items():
            for begins in ("", "content", "reasoning"):
                answer = JUDGES[target].whole(made("qwq-32b", source, target, begins=begins).message(tell(source, [Text(text)])))
                assert (answer.reasoning, answer.text) == parts, (source, target, begins)


def test_the_answer_is_live() -> None:
    """Forty deltas and no end: what comes out after each, where it is known how the text begins, and where it is not."""
    for model in ("deepseek-r1", "qwq-32b", "kimi-k2-thinking", "minimax-m2", "glm-4.6", "nemotron-3-nano", "seed-oss-36b", "step3"):
        for begins, before in (("", DOUBT), ("content", 0), ("reasoning", 0)):
            pipeline = made(model, begins=begins)
            text = "Let me think of it.  "
            out = [pipeline.feed(event(chunk({"content": text}))) for _ in range(40)]
            assert [bool(data) for data in out] == [len(text) * (at + 1) > before for at in range(40)], (model, begins)


def test_a_host_or_a_request_decides() -> None:
    ask = asked("chat", *WEATHER, model="glm-4.6")
    answers = [Pipeline(ask, host="api.z.ai"), Pipeline({**ask, "thinking": {"type": "disabled"}})]
    for pipeline in answers:
        body = stream(pieces(LONG, 1))
        assert pipeline.feed(body) + pipeline.close() == body


@pytest.mark.parametrize(
    "asked_", ['{"reasoning_effort": "none"}', '{"reasoning": {"enabled": false}}', '{"think": false}', '{"enable_thinking": false}',
               '{"chat_template_kwargs": {"enable_thinking": false}}', '{"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}'],
)  # fmt: skip
def test_requests_that_turn_thinking_off(asked_: str) -> None:
    assert is_off(json.loads(asked_))


@pytest.mark.parametrize("asked_", ["{}", '{"think": 0}', '{"reasoning": "none"}', '{"thinking": {"type": "adaptive"}}', '{"enable_thinking": null}'])
def test_requests_that_do_not(asked_: str) -> None:
    assert not is_off(json.loads(asked_))


@pytest.mark.parametrize(
    ("model", "deltas", "begins", "began"),
    [
        ("qwq-32b", ["Hm.\n</think>\n\nIt is 2."], "", "reasoning"),
        ("qwq-32b", ["Hm.\n</think>\n\nIt is 2."], "content", "reasoning"),
        ("qwq-32b", ["It is 2."], "", "content"),
        ("qwq-32b", ["It is 2."], "reasoning", "content"),
        ("qwq-32b", ["<think>Hm.</think>It is 2."], "reasoning", "content"),
        ("qwq-32b", [{"reasoning_content": "Hm."}, "It is 2."], "reasoning", "content"),
        ("qwq-32b", [{"reasoning_content": ""}, "Hm.\n</think>\n\nIt is 2."], "", "reasoning"),
        ("kimi-k2-thinking", ["Hm. " + KIMI], "reasoning", ""),
        ("kimi-k2-thinking", ["Hm. " + KIMI], "", "content"),
        ("qwen3-8b", ["Hm.\n</think>\n\nIt is 2."], "", "reasoning"),
        ("acme-1", ["Hm.\n</think>\n\nIt is 2."], "", ""),
        ("qwq-32b", [], "", ""),
    ],
)
def test_what_an_answer_shows(model: str, deltas: Sequence[Any], begins: str, began: str) -> None:
    pipeline = made(model, begins=begins)
    pipeline.feed(stream(deltas))
    pipeline.close()
    assert pipeline.began == began


def test_what_is_known_is_bounded() -> None:
    known = Beginnings()
    for number in range(MOST + 2):
        known.learn(pair_of("a", f"m{number}", {}), "content")
        known.learn(pair_of("a", "m0", {}), "")
        known.learn(pair_of("a", "m1", {}), "reasoning")
    found = [known.of(pair_of("A", f"M{number}", {})) for number in range(MOST + 2)]
    assert found.count("") == 2
    assert (found[0], found[1], found[-1]) == ("", "reasoning", "content")
    assert known.of(pair_of("a", "m1", {"enable_thinking": False})) == ""


def test_earlier_answers_decide_and_a_replay_knows(tmp_path: Path) -> None:
    """The first answer is held for a doubt, the second is live, and both are recorded as they were read."""
    ask = asked("chat", *WEATHER, model="qwq-32b")
    events = [event(chunk({"content": text})) for text in ["Hm. ", "So.", "\n</think>\n\n", "It is 2."]] + [event(chunk({}, "stop")), event("[DONE]")]
    with taddons.context() as context:
        context.master.should_exit.set()
        exchanges = ExchangeLifecycle()
        exchanges.configure(Settings(flows=tmp_path))
        firsts, folders, told = [], [], []
        for _ in range(2):
            call = LlmExchange("chat", "llm.example", model="qwq-32b")
            exchanges.begin(call, lambda settings: told.append(settings) or _exchange(ask, settings), ask, "f", mend=True)  # type: ignore[func-returns-value]
            assert call.pipeline
            assert call.recording
            out = [call.pipeline.feed(data) for data in events]
            firsts.append(bool(out[0]))
            for data, given_ in zip(events, out, strict=True):
                call.recording.passed(data, given_)
            call.recording.passed(b"", call.pipeline.close())
            exchanges.end(call, tflow.tflow(), "complete")
            folders.append(call.recording)
        exchanges.close()
    assert firsts == [False, True]
    recordings = [replay.load(recording.folder) for recording in folders]
    assert [one.meta["settings"].get("text_begins") for one in recordings] == [None, "reasoning"]
    for one in recordings:
        assert replay.replay(one) == (one.client, one.meta["rules"])


def _exchange(ask: dict[str, Any], settings: Any) -> Any:
    return replace(EXCHANGE, request=json.dumps(ask).encode(), settings={**settings}, host="llm.example", model="qwq-32b")


# how long text is held

MODELS = {row.name: row.name for row in PROFILES} | {
    "claude": "anthropic/claude", "standard": "acme-1", "seed": "seed-oss", "step": "step3", "hermes": "nous-hermes", "phi": "phi-4",
    "cohere": "command-a", "dots": "dots.llm1", "glm": "glm-4.6", "minimax": "minimax-m2", "deepseek": "deepseek-r1", "qwen": "qwq-32b",
}  # fmt: skip


def reader_for(model: str, begins: str = "") -> MarkupParser:
    ask = asked("chat", *WEATHER, model=model)
    answer = AnswerContext(ask, translate(ask, "chat", "chat"), "chat", "chat", Settings(), "", begins)
    dialects, tags = looked_for(answer, answer.offered, answer.profile)
    return MarkupParser(opener_index(dialects), answer.offered, 0, lambda: "call_1", lambda _: None, beginning(answer, answer.profile, tags))


def longest_hold(reader: MarkupParser, deltas: Sequence[str], *, reasoning: bool = False) -> tuple[int, bool]:
    """The most characters that were undecided after a delta, but for those of a call; whether there was a call."""
    fed = told = most = 0
    called = False
    for delta in deltas:
        fed += len(delta)
        for op in reader.feed(delta, reasoning):
            size = abs(op) if isinstance(op, int) else op.size if isinstance(op, ReasoningSpan | ContentSpan) else 0
            told += size
            called = called or not size
        most = max(most, fed - told)
    return most, called


PROSE_TEXTS = [
    LONG, DOCUMENT, *(pattern.content for pattern in all_patterns().values() if pattern.content and not pattern.calls),
    "```python\ndef f(x):\n    return {'a': [x]}\n```\n" * 20,
    "- a <b>bold</b> `code` item, 1 < 2 and {x}\n" * 30,
    "analysisThe user wants it. " + LONG, "commentary to be made. " * 40, "Here is my plan: " * 40, "<thing>" * 100, "[1] [a](b) " * 80,
    "</think>" * 80, "<|channel>" * 80, "a </think> b " * 60, "`</think>` " * 60,
]  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_prose_is_held_for_a_doubt_at_most(name: str) -> None:
    """Prose, code and tags in them, of all patterns: whatever is decided, it is decided soon."""
    reader = reader_for(MODELS[name])
    for text in PROSE_TEXTS:
        for begins, reasoning in some_of((("", False), ("reasoning", False), ("", True)), f"{name} {text}"):
            reader = reader_for(MODELS[name], begins)
            most, called = longest_hold(reader, pieces(text, 1, (1, 3, 9)), reasoning=reasoning)
            assert called or most <= HOLDS, (text[:60], begins, reasoning)


WORDS = st.sampled_from(["I ", "so ", "the file ", "\n", "\n\n", "<", "</think>", "<think>", "<|", "`", "```\n", "{", "[", "**", "<channel|>", "assistant", "analysis", "x" * 50])


@given(st.lists(WORDS, max_size=60), st.sampled_from(sorted(MODELS.values())), st.sampled_from(["", "content", "reasoning"]))
def test_any_text_is_held_for_a_doubt_at_most(words: list[str], model: str, begins: str) -> None:
    most, _ = longest_hold(reader_for(model, begins), words)
    assert most <= HOLDS + 60


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_documents_are_held_for_a_doubt_at_most(name: str) -> None:
    """What this project writes of itself, letter by letter: prose, tables, code, and every opener in them."""
    root = ROOT
    for file in (root / "README.md", root / "CHANGELOG.md", root / "tests" / "patterns" / "reasoning.py"):
        text = file.read_text(encoding="utf-8")
        for begins in ("", "reasoning"):
            for at in range(0, len(text), 4000):
                most, called = longest_hold(reader_for(MODELS[name], begins), text[at : at + 4000])
                assert called or most <= HOLDS, (file.name, at, begins)


def test_a_call_in_a_thought_is_held_until_text_follows() -> None:
    reader = reader_for("qwen3-8b")
    most, called = longest_hold(reader, [*f"<think>Hm. {HERMES}", *LONG])
    assert not called
    assert most <= len(HERMES) + DOUBT + 1


def test_turned_off() -> None:
    text = "Hm.\n</think>\n\nIt is 2."
    for off in ("reasoning_end", "reasoning_tags"):
        body = stream(pieces(text, 1))
        pipeline = Pipeline(asked("chat", *WEATHER, model="qwen3-8b"), settings=_settings(off))
        assert pipeline.feed(body) + pipeline.close() == body
    body = stream(pieces(LONG, 1))
    pipeline = Pipeline(asked("chat", *WEATHER, model="qwq-32b"), settings=_settings("reasoning_tags"))
    assert pipeline.feed(body) + pipeline.close() == body


def _settings(off: str) -> Settings:
    return parse({"off": off})
