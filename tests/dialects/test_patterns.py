"""Every pattern, cut in every way: the same bytes each time, legal, and what the pattern says."""

import json
from collections.abc import Callable, Sequence

import pytest

from tests.patterns import Pattern, all_patterns
from tests.support.cuts import cuts, finely
from tests.support.judges.chat import read
from tests.support.rows import batches, each_of, some_of
from tests.support.streams import body_of, chunk, event, play, stream
from toolmend.pipeline.pipeline import Pipeline

PATTERNS = all_patterns()
TEXTS = [name for name, pattern in PATTERNS.items() if all(isinstance(delta, str) for delta in pattern.deltas)]


def make(pattern: Pattern) -> Pipeline:
    numbers = iter(range(100))
    return Pipeline(pattern.request, new_id=lambda: f"call_{next(numbers)}")


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern(name: str) -> None:
    pattern = PATTERNS[name]
    upstream = body_of(pattern)
    pipeline = make(pattern)
    client = pipeline.feed(upstream) + pipeline.close()
    assert pipeline.error is None, pipeline.error
    answer = read(client)
    choice = answer.only
    calls = [(call.id, call.name, call.arguments) for call in choice.calls]
    assert calls == [(id_ or call[0], name, arguments) for call, (id_, name, arguments) in zip(calls, pattern.calls, strict=False)]
    assert len(calls) == len(pattern.calls)
    assert choice.content == pattern.content
    assert choice.reasoning == pattern.reasoning
    assert choice.finish_reasons == [pattern.expected_finish]
    assert answer.done
    assert answer.usage == {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    assert answer.all_faults == []
    assert tuple(pipeline.rules) == pattern.rules
    if not pattern.rules:
        assert client == upstream
    for chunks in cuts(upstream):
        assert play(lambda: make(pattern), chunks) == client


SPELLINGS: dict[str, Callable[[Pattern], bytes]] = {
    "CRLF": lambda pattern: body_of(pattern, "\r\n"),
    "CR": lambda pattern: body_of(pattern, "\r"),
    "escapes": lambda pattern: body_of(pattern).replace(b"<", b"\\u003c").replace(b"|", b"\\u007c"),
    "lines": lambda pattern: body_of(pattern).replace(b'{"id":', b'{\ndata: "id":').replace(b'"choices": [', b'"choices":\ndata: ['),
    "comments": lambda pattern: body_of(pattern).replace(b"\n\ndata:", b"\n\n: keep-alive\n\ndata:"),
}


@batches(PATTERNS)
def test_pattern_in_other_spellings(names: Sequence[str], subtests: pytest.Subtests) -> None:
    """CRLF and CR, markers escaped in the JSON, JSON over several lines, comments between events: the same answer."""

    def check(name: str) -> None:
        pattern = PATTERNS[name]
        expected = read(play(lambda: make(pattern), [body_of(pattern)]))
        for spelling in some_of([*SPELLINGS], name):
            assert read(play(lambda: make(pattern), [SPELLINGS[spelling](pattern)])) == expected, spelling

    each_of(((name, name) for name in names), subtests, check)


@batches(TEXTS)
def test_pattern_in_other_deltas(names: Sequence[str], subtests: pytest.Subtests) -> None:
    """The text in one delta, and character by character: the same answer."""

    def check(pattern: Pattern) -> None:
        expected = read(play(lambda: make(pattern), [body_of(pattern)]))
        text = "".join(pattern.deltas)
        for deltas in ([text], list(text)):
            upstream = stream(deltas, finish=pattern.finish, field=pattern.field)
            assert read(play(lambda: make(pattern), [upstream])) == expected

    each_of(((name, PATTERNS[name]) for name in names), subtests, check)


@batches(TEXTS)
def test_pattern_with_a_finish_reason_on_each_chunk(names: Sequence[str], subtests: pytest.Subtests) -> None:
    """No reason ends a text that goes on: the same answer, and the last reason is the right one."""

    def check(pattern: Pattern) -> None:
        chunks = [event(chunk({"role": "assistant", pattern.field: delta}, pattern.finish or "stop")) for delta in pattern.deltas]
        upstream = b"".join(chunks) + event("[DONE]")
        choice = read(play(lambda: make(pattern), [upstream])).only
        assert [call.arguments for call in choice.calls] == [call[2] for call in pattern.calls]
        assert (choice.content, choice.reasoning) == (pattern.content, pattern.reasoning)
        assert choice.finish_reasons[-1] == (pattern.expected_finish or "stop")
        assert read(play(lambda: make(pattern), finely(upstream))).only == choice

    each_of(((name, PATTERNS[name]) for name in names), subtests, check)


BROKEN = [name for name in TEXTS if name.endswith(("broken-off", "cut-inside-the-arguments"))]
BROKEN.remove("mistral/old-broken-off")  # whose arguments are held to their end: no call has begun


@batches(BROKEN)
def test_a_call_that_breaks_off_is_over_where_a_native_one_begins(names: Sequence[str], subtests: pytest.Subtests) -> None:
    """What is said behind that one is no part of its arguments."""

    def check(pattern: Pattern) -> None:
        own = {"index": 0, "id": "own", "type": "function", "function": {"name": "own", "arguments": "{}"}}
        behind = {pattern.field: "Behind."}
        upstream = stream([*pattern.deltas, {"tool_calls": [own]}, behind], finish="tool_calls", field=pattern.field)
        client = play(lambda: make(pattern), [upstream])
        choice = read(client).only
        assert [call.arguments for call in choice.calls] == [*(call[2] for call in pattern.calls), "{}"]
        assert (choice.content + choice.reasoning).replace("Behind.", "") == pattern.content + pattern.reasoning
        assert choice.content.endswith("Behind.") or choice.reasoning.endswith("Behind.")
        for chunks in cuts(upstream):
            assert play(lambda: make(pattern), chunks) == client

    each_of(((name, PATTERNS[name]) for name in names), subtests, check)


@batches(TEXTS)
def test_pattern_in_a_whole_message(names: Sequence[str], subtests: pytest.Subtests) -> None:
    """Without streaming: the same content and calls."""

    def check(pattern: Pattern) -> None:
        message = {"role": "assistant", "content": None, pattern.field: "".join(pattern.deltas)}
        whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "cost": 0.10,
                 "choices": [{"index": 0, "message": message, "finish_reason": pattern.finish, "logprobs": None}]}  # fmt: skip
        upstream = json.dumps(whole).encode()
        client = make(pattern).message(upstream)
        if not pattern.rules:
            assert client is upstream
            return
        assert b'"cost": 0.1,' in client
        choice = json.loads(client)["choices"][0]
        folded = choice["message"]
        calls = [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in folded.get("tool_calls", [])]
        assert calls == [(id_ or call[0], n, a) for call, (id_, n, a) in zip(calls, pattern.calls, strict=True)]
        assert (folded.get("content") or "") == pattern.content
        assert (folded.get("reasoning_content") or folded.get("reasoning") or "") == pattern.reasoning
        assert choice["finish_reason"] == pattern.expected_finish

    each_of(((name, PATTERNS[name]) for name in names), subtests, check)


def test_an_event_of_a_call_keeps_the_metadata() -> None:
    pattern = PATTERNS["kimi/whole-call-in-one-delta"]
    client = play(lambda: make(pattern), [body_of(pattern).replace(b'"model":', b'"system_fingerprint": "fp", "x": [1e3], "model":')])
    assert client.count(b'"system_fingerprint": "fp", "x": [1e3], "model": "kimi-k2.5"') == 4
    assert event("[DONE]") in client
