"""policy.py: what each policy lets through.

An oracle of a few lines tells what passes of a list of things said; the pipeline must say the same for every cut.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cuts import cuts
from tests.support.judges.chat import read
from tests.support.policies import (
    COLLECT,
    DRAIN,
    FIRST,
    MIXED,
    POLICIES,
    SAID,
    TWO,
    Live,
    Passed,
    Said,
    arguments,
    calls,
    deltas,
    make,
    markup,
    native,
    oracle,
    run,
    told,
)
from tests.support.streams import META, WEATHER, chunk, event, stream
from tests.support.untouched_streams import UNTOUCHED
from toolmend.config.settings import Settings, parse
from toolmend.pipeline.transformers.finish import FinishReason
from toolmend.recordings.read.replay import load, replay


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", SAID)
def test_every_policy(name: str, policy: str) -> None:
    settings, said = POLICIES[policy], SAID[name]
    body = stream(deltas(said))
    client, rules = run(settings, [body])
    answer, expected = read(client), oracle(said, settings)
    assert replace(told(answer), stopped=expected.stopped) == expected
    assert answer.usage == read(body).usage
    found = any(kind.startswith("call") for kind, _ in said)
    suppressed = expected.stopped or (settings is DRAIN and found and any(kind == "text" for kind, _ in said))
    told_of = [rule for rule in rules if rule.startswith("policy")]
    assert told_of == ([f"policy_{settings.policy}"] if suppressed else [])
    if not found:
        assert client == run(MIXED, [body])[0]
    for chunks in cuts(body):
        assert run(settings, chunks)[0] == client


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", SAID)
def test_a_whole_message(name: str, policy: str) -> None:
    settings, said = POLICIES[policy], SAID[name]
    passed = oracle(said, MIXED)
    texts: dict[str, str] = {"text": "", "reasoning": ""}
    natives = []
    for kind, what in said:  # a message says all reasoning first, then all text, then its own calls
        if kind == "native":
            natives.append({k: v for k, v in native(len(natives))["tool_calls"][0].items() if k != "index"})
        else:
            texts["reasoning" if "reasoning" in kind else "text"] += markup(what) if kind.startswith("call") else what
    message = {"role": "assistant", "content": texts["text"], "reasoning_content": texts["reasoning"]}
    choice = {"index": 0, "message": {**message, "tool_calls": natives}, "finish_reason": "stop"}
    body = json.dumps({"choices": [choice], "usage": {"total_tokens": 3}})
    in_order = sorted(said, key=lambda item: ("reasoning" not in item[0]) + (item[0] == "native"))
    expected = oracle(in_order, settings)
    whole = json.loads(make(settings).message(body.encode()))
    got = whole["choices"][0]["message"]
    assert (got["content"] or "") == expected.content
    assert got.get("reasoning_content", "") == expected.reasoning
    assert [call["function"]["arguments"] for call in got.get("tool_calls", ())] == expected.calls
    assert whole["choices"][0]["finish_reason"] == ("tool_calls" if passed.calls else "stop")
    assert whole["usage"] == {"total_tokens": 3}


WORDS = st.text("ab <|é", min_size=1, max_size=6).filter(str.strip)
THINGS = st.one_of(
    st.tuples(st.sampled_from(["text", "reasoning"]), WORDS.map(lambda word: f".{word}.")),
    st.tuples(st.sampled_from(["call", "call in reasoning", "native"]), st.just("")),
)


SIZES = st.lists(st.integers(1, 50), min_size=1, max_size=4)


@given(st.lists(THINGS, max_size=12), st.sampled_from(list(POLICIES)), SIZES)
def test_anything_said_in_any_pieces(said: list[Said], policy: str, sizes: list[int]) -> None:
    said = [(kind, what or number) for number, (kind, what) in enumerate(said)]  # the same call twice is one
    expected = oracle(said, POLICIES[policy])
    client, _ = run(POLICIES[policy], [stream(deltas(said, sizes))])
    assert replace(told(read(client)), stopped=expected.stopped) == expected


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", UNTOUCHED)
def test_without_a_call_every_byte_stays(name: str, policy: str) -> None:
    body = UNTOUCHED[name]
    for chunks in ([body], [body[at : at + 1000] for at in range(0, len(body), 1000)]):
        assert run(POLICIES[policy], chunks) == (body, [])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("ending", ["no finish", "no [DONE]", "neither"])
def test_a_stream_that_just_ends(ending: str, policy: str) -> None:
    said: list[Said] = [("text", "So "), ("call", 1), ("text", " then "), ("call", 2)]
    body = stream(deltas(said), finish="stop" if ending == "no [DONE]" else None)
    body = body if ending == "no finish" else body.removesuffix(event("[DONE]"))
    expected = oracle(said, POLICIES[policy])
    for chunks in cuts(body):
        answer = read(run(POLICIES[policy], chunks)[0])
        assert answer.all_faults == []
        assert answer.only.content == expected.content
        assert [call.arguments for call in answer.only.calls] == expected.calls
        assert answer.only.finish_reasons == ([] if ending == "neither" else ["tool_calls"])


BROKEN = '<|tool_call_begin|>functions.task:7<|tool_call_argument_begin|>{"x": 1, <|tool_call_end|>'


@pytest.mark.parametrize(("policy", "content", "calls"), [
    ("mixed", "So  and  end", ['{"x": 1, ', arguments(1), arguments(2)]),
    ("first", "So  and ", ['{"x": 1, ']),
    ("collect two", "So  and ", ['{"x": 1, ', arguments(1)]),
    ("drain", "", ['{"x": 1, ', arguments(1), arguments(2)]),
])  # fmt: skip
def test_a_call_that_is_broken_off(policy: str, content: str, calls: list[str]) -> None:
    """It is never complete; the next one tells that it is over."""
    said: list[Said] = [("text", f"So {BROKEN} and "), ("call", 1), ("call", 2), ("text", " end")]
    answer = read(run(POLICIES[policy], [stream(deltas(said))])[0])
    assert answer.only.content == content
    assert [call.arguments for call in answer.only.calls] == calls


@pytest.mark.parametrize("policy", ["first", "collect two"])
def test_a_native_call_that_has_begun_goes_out_to_its_end(policy: str) -> None:
    begun = native(0)
    begun["tool_calls"][0]["function"]["arguments"] = '{"city": '
    rest = {"tool_calls": [{"index": 0, "function": {"arguments": '"x"}'}}]}
    live = Live(POLICIES[policy], let_go=True)
    live.say(begun, ("call", 1), ("call", 2), ("text", "more"))
    assert not live.pipeline.done
    live.say(rest)
    calls_ = ['{"city": "x"}', arguments(1), arguments(2)]
    assert told(live.finish()).calls == calls_[: 2 if policy == "first" else 3]


@pytest.mark.parametrize("upstream", ["stop", "length", "content_filter"])
def test_why_the_suppressed_part_ended_is_not_told(upstream: str) -> None:
    body = stream(deltas([("call", 1), ("text", "and so on")]), finish=upstream)
    assert read(run(FIRST, [body])[0]).only.finish_reasons == ["tool_calls"]
    untouched = stream(deltas([("call", 1)]), finish="length")
    assert read(run(FIRST, [untouched])[0]).only.finish_reasons == ["length"]


@pytest.mark.parametrize("settings", [FIRST, TWO, DRAIN])
def test_choices_are_independent(settings: Settings) -> None:
    said: list[list[Said]] = [
        [("text", "zero "), ("call", 1), ("text", " end")],
        [("text", "one "), ("text", "only text"), ("native", 0)],
        [("call", 2), ("reasoning", "hm"), ("call", 3), ("call", 4), ("text", "!")],
    ]
    body = b"".join(event(chunk({"role": "assistant"}, index=n)) for n in range(3))
    parts = [deltas(items) for items in said]
    for turn in range(max(map(len, parts))):
        choices = [{"index": n, "delta": p[turn], "finish_reason": None} for n, p in enumerate(parts) if turn < len(p)]
        body += event({**META, "choices": choices})
    body += b"".join(event(chunk({}, "stop", index=n)) for n in range(3)) + event("[DONE]")
    client, _ = run(settings, [body])
    answer = read(client)
    assert answer.all_faults == []
    for n, items in enumerate(said):
        expected, got = oracle(items, settings), answer.choices[n]
        assert (got.content, got.reasoning) == (expected.content, expected.reasoning)
        assert [call.arguments for call in got.calls] == expected.calls
        assert got.finish_reasons == ["tool_calls"]
    for chunks in cuts(body):
        assert run(settings, chunks)[0] == client


# what is held, and for how long


def test_collect_holds_until_the_window_is_over() -> None:
    live = Live(COLLECT)
    assert live.say(("text", "So ")).only.content == "So "
    assert live.say(("call", 1), ("text", " and "), ("call", 2), at=5.0).only.calls == []
    assert live.say(("text", "then "), at=5.199).only.content == "So "
    answer = live.say(("text", "late"), at=5.2)
    assert (calls(answer), answer.only.content) == ([arguments(1), arguments(2)], "So  and then ")
    answer = live.say(("call", 3), ("reasoning", "hm"), native(0), at=9.0)
    answer = live.finish()
    assert told(answer) == Passed("So  and then ", "", [arguments(1), arguments(2)])
    assert "policy_collect" in live.pipeline.rules


def test_collect_lets_an_open_call_stream_to_its_end() -> None:
    live = Live(COLLECT)
    whole = markup(1, " and more")
    at = whole.index("{")
    live.say(("call", 0), {"content": whole[: at + 10]}, at=1.0)
    assert b"task" not in live.out
    assert calls(live.say({"content": whole[at + 10 : at + 15]}, at=2.0)) == [arguments(0), whole[at : at + 15]]
    assert calls(live.say({"content": whole[at + 15 : at + 20]}, at=3.0)) == [arguments(0), whole[at : at + 20]]
    live.say({"content": whole[at + 20 :]}, ("call", 2), ("text", "x"), at=9.0)
    answer = live.finish()
    assert told(answer) == Passed("", "", [arguments(0), arguments(1, " and more")])
    assert "policy_limit" not in live.pipeline.rules


def test_collect_lets_the_batch_go_at_the_end_of_the_choice() -> None:
    live = Live(COLLECT)
    assert live.say(("call", 1), ("text", "x")).only.calls == []
    assert told(live.finish()) == Passed("x", "", [arguments(1)])
    assert not any(rule.startswith("policy") for rule in live.pipeline.rules)


@pytest.mark.parametrize("size", [100, 60_000, 65_000, 70_000, 200_000])
def test_collect_over_its_bytes(size: int) -> None:
    """The call that is too long streams on to its end, and is the last one."""
    said: list[Said] = [("call", 1), ("text", " then " + markup(2, "é" * (size // 2))), ("call", 3), ("text", " end")]
    body = stream(deltas(said, (40, 400)))
    client, rules = run(COLLECT, [body])
    fits = size < 65_536 - 200
    big = [arguments(1), arguments(2, "é" * (size // 2))]
    assert told(read(client)) == Passed(" then  end" if fits else " then ", "", [*big, arguments(3)] if fits else big)
    assert ("policy_limit" in rules, "policy_collect" in rules) == (not fits, not fits)
    whole = run(COLLECT, [stream(deltas(said, (10_000_000,)))])[0]
    assert told(read(whole)) == told(read(client))
    live = Live(COLLECT)
    live.say(*deltas(said, (40, 400)))
    assert (b"tool_calls" in live.out) == (not fits)


def test_collect_holds_no_more_than_its_bytes_of_text() -> None:
    live = Live(COLLECT)
    live.say(("call", 1))
    for _ in range(200):
        live.say({"content": "x" * 400})
    assert len(live.out) > 65_536
    assert told(live.finish()) == Passed("x" * 80_000, "", [arguments(1)])
    assert live.pipeline.rules == ["kimi_k2", "policy_limit", "finish_reason"]


@pytest.mark.parametrize("policy", ["collect", "drain"])
def test_nothing_at_all_is_not_held_for_ever_either(policy: str) -> None:
    live = Live(replace(POLICIES[policy], max_bytes=500))
    live.say(("text", "a"), ("call", 1))
    for _ in range(500):
        live.out += live.pipeline.feed(event({**META, "choices": []}))
    assert calls(read(live.out)) == [arguments(1)]


# the pipeline around it


@pytest.mark.parametrize("policy", ["first", "collect", "drain"])
def test_what_is_held_when_the_pipeline_fails_is_not_lost(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise RuntimeError("injected")

    said = [{"role": "assistant"}, *deltas([("text", "So "), ("call", 1)], (1000,))]
    body, end = b"".join(event(chunk(delta)) for delta in said), event(chunk({}, "stop"))
    mixed = make(MIXED).feed(body)
    made = make(POLICIES[policy])
    before = made.feed(body)
    monkeypatch.setattr(FinishReason, "feed", failing)
    out = before + made.feed(end) + made.close()
    assert made.error
    if policy == "first":  # which holds nothing
        assert out == mixed + end
    else:
        assert b"task" not in before
        assert out == body + end


def recorded(folder: Path, settings: dict[str, str], chunks: Sequence[tuple[float, bytes]], client: bytes) -> Path:
    body, index = b"", ""
    for seconds, data in chunks:
        index += json.dumps({"off": len(body), "len": len(data), "t_ms": seconds * 1000}) + "\n"
        body += data
    files = {"upstream.sse": body, "client.sse": client, "upstream.idx": index.encode(),
             "request.json": json.dumps(WEATHER).encode(),
             "meta.json": json.dumps({"api": "chat", "settings": {"flows": "off", **settings}}).encode()}  # fmt: skip
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("pause", [0.05, 0.25])
def test_a_replay_has_the_clock_of_the_recording(pause: float, tmp_path: Path) -> None:
    live = Live(COLLECT)
    start = live.out
    first = b"".join(event(chunk(delta)) for delta in deltas([("call", 1)]))
    second = b"".join(event(chunk(delta)) for delta in deltas([("call", 2)]))
    rest = event(chunk({}, "stop")) + event("[DONE]")
    chunks = [(0.0, start), (1.0, first), (1.0 + pause, second), (1.3, rest)]
    for seconds, data in chunks[1:]:
        live.time = seconds
        live.out += live.pipeline.feed(data)
    assert calls(read(live.out)) == [arguments(1), arguments(2)][: 2 - (pause > 0.2)]
    recording = load(recorded(tmp_path, {"policy": "collect"}, chunks, live.out))
    assert replay(recording)[0] == live.out
    assert replay(recording, [data[at : at + 1] for _, data in chunks for at in range(len(data))])[0] == live.out


def test_a_replay_ends_where_the_recording_did(tmp_path: Path) -> None:
    body = stream(deltas([("call", 1), ("text", "and so on")]))
    made = make(FIRST, let_go=True)
    client = made.feed(body)
    assert made.done
    recording = load(recorded(tmp_path, {"policy": "first", "let_go": "yes"}, [(0.0, body)], client))
    assert replay(recording)[0] == client


def test_by_default_there_is_none() -> None:
    assert parse({"flows": "off"}).policy == "mixed"
    assert len(make(MIXED)._chain._transformers) + 1 == len(make(FIRST)._chain._transformers)
