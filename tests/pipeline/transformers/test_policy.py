"""pipeline/transformers/policy.py, policy_first.py, policy_drain.py, frame_queue.py: what each policy lets through.

An oracle of a few lines tells what passes of a list of things said; the pipeline must say the same for every cut.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cuts import cuts
from tests.support.judges.chat import Answer, read
from tests.support.streams import META, WEATHER, chunk, event, pieces, play, stream
from tests.support.untouched_streams import UNTOUCHED
from toolmend.config.settings import Settings, parse
from toolmend.core.events import Finish, Frame, MessageEnd, ToolCallDelta, ToolCallStart
from toolmend.pipeline.pipeline import Pipeline
from toolmend.pipeline.transformers.finish import FinishReason
from toolmend.pipeline.transformers.policy_first import First
from toolmend.recordings.read.replay import load, replay

type Said = tuple[str, Any]

MIXED, FIRST, DRAIN = Settings(), Settings(policy="first"), Settings(policy="drain")
TWO = Settings(policy="collect", max_calls=2)
COLLECT = Settings(policy="collect")
POLICIES = {"mixed": MIXED, "first": FIRST, "collect": COLLECT, "collect two": TWO, "drain": DRAIN}


def arguments(number: int, more: str = "") -> str:
    return f'{{"description": "number {number}{more}"}}'


def markup(number: int, more: str = "") -> str:
    """A call in a text."""
    return (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.task:{number}<|tool_call_argument_begin|>"
        f"{arguments(number, more)}<|tool_call_end|><|tool_calls_section_end|>"
    )


def native(number: int) -> dict[str, Any]:
    """A call of the upstream's own, in one delta; `number` is its index there."""
    function = {"name": "get_weather", "arguments": f'{{"city": "{number}"}}'}
    return {"tool_calls": [{"index": number, "id": f"call_{number}", "type": "function", "function": function}]}


def deltas(said: Iterable[Said], sizes: Sequence[int] = (3, 9, 30)) -> list[dict[str, Any]]:
    """text, reasoning, a call in either, or a native call, as a stream says them."""
    out: list[dict[str, Any]] = []
    natives = 0
    for number, (kind, what) in enumerate(said):
        match kind:
            case "text" | "call":
                out += ({"content": part} for part in pieces(what if kind == "text" else markup(what), number, sizes))
            case "reasoning" | "call in reasoning":
                text = what if kind == "reasoning" else markup(what)
                out += ({"reasoning_content": part} for part in pieces(text, number, sizes))
            case _:
                out.append(native(natives))
                natives += 1
    return out


@dataclass
class Passed:
    """What a client is to read."""

    content: str = ""
    reasoning: str = ""
    calls: list[str] = field(default_factory=list)
    stopped: bool = False


def oracle(said: Iterable[Said], settings: Settings) -> Passed:
    """What passes while no limit but that of the calls is reached."""
    most = {"first": 1, "collect": settings.max_calls}.get(settings.policy, 1000)
    passed = Passed()
    found = natives = 0
    for kind, what in said:
        if found == most:
            passed.stopped = True
            break
        match kind:
            case "text":
                passed.content += what
            case "reasoning":
                passed.reasoning += what
            case "native":
                passed.calls.append(f'{{"city": "{natives}"}}')
                natives += 1
            case _:
                passed.calls.append(arguments(what))
                found += 1
    if settings.policy == "drain" and found:
        passed.content = ""
    return passed


def told(answer: Answer) -> Passed:
    """What a client reads; that it is legal is seen to."""
    assert answer.all_faults == []
    assert answer.done
    only = answer.only
    assert only.finish_reasons == ["tool_calls" if only.calls else "stop"]
    return Passed(only.content, only.reasoning, [call.arguments for call in only.calls])


def make(settings: Settings, *, request: dict[str, Any] = WEATHER, **more: Any) -> Pipeline:
    return Pipeline(request, settings=settings, **{"now": lambda: 0.0, **more})


def run(settings: Settings, chunks: Iterable[bytes], **more: Any) -> tuple[bytes, list[str]]:
    """The client's bytes and the rules that fired."""
    pipelines: list[Pipeline] = []

    def new() -> Pipeline:
        pipelines.append(make(settings, **more))
        return pipelines[0]

    return play(new, chunks), pipelines[0].rules


SAID: dict[str, list[Said]] = {
    "all there is": [
        ("reasoning", "Hm. "), ("text", "First: "), ("call", 1), ("text", " then "), ("reasoning", "Hm? "),
        ("native", 0), ("call", 2), ("text", "or"), ("call", 3), ("text", " and"), ("native", 0), ("reasoning", "!"),
    ],
    "a call alone": [("call", 1)],
    "calls alone": [("call", number) for number in range(4)],
    "more calls than there may be": [("call", number) for number in range(10)],
    "in reasoning": [
        ("reasoning", "So: "), ("call in reasoning", 1), ("reasoning", "And "), ("call in reasoning", 2),
        ("text", "Hi"),
    ],
    "native first": [("native", 0), ("text", "Now "), ("call", 1), ("native", 0), ("call", 2)],
    "native alone": [("text", "Now "), ("native", 0), ("reasoning", "hm"), ("text", " so"), ("native", 0)],
    "no call": [("reasoning", "hm"), ("text", "Hello"), ("reasoning", "hm"), ("text", " there <b>")],
}  # fmt: skip


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


class Live:
    """A pipeline, a clock, and what has come out so far."""

    def __init__(self, settings: Settings, **more: Any) -> None:
        self.time = 0.0
        self.out = b""
        self.pipeline = make(settings, now=lambda: self.time, **more)
        self.say({"role": "assistant"})

    def say(self, *deltas_: dict[str, Any] | Said, at: float | None = None) -> Answer:
        self.time = self.time if at is None else at
        for delta in deltas_:
            for each in deltas([delta]) if isinstance(delta, tuple) else [delta]:
                self.out += self.pipeline.feed(event(chunk(each)))
        return read(self.out)

    def finish(self) -> Answer:
        self.out += self.pipeline.feed(event(chunk({}, "stop")) + event("[DONE]"))
        assert self.pipeline.close() == b""
        assert self.pipeline.error is None
        return read(self.out)


def calls(answer: Answer) -> list[str]:
    return [call.arguments for call in answer.only.calls]


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


def test_drain_holds_text_and_calls_but_no_thought() -> None:
    live = Live(DRAIN)
    assert live.say(("reasoning", "Hm.")).only.reasoning == "Hm."
    assert live.say(("text", "So "), ("call", 1), ("text", " then "), ("call", 2), at=99.0).only.content == ""
    assert b"task" not in live.out
    assert live.pipeline.feed(b": keep-alive\n\n") == b": keep-alive\n\n"  # or the client may give up
    assert told(live.finish()) == Passed("", "Hm.", [arguments(1), arguments(2)])


@pytest.mark.parametrize("sizes", [(40, 400), (10_000_000,)])
def test_drain_over_its_bytes_without_a_call(sizes: Sequence[int]) -> None:
    """What is held goes out, and from then on it is as without a policy."""
    said: list[Said] = [("text", "x" * 65_600), ("call", 1), ("text", " then "), ("call", 2)]
    client, rules = run(DRAIN, [stream(deltas(said, sizes))])
    assert told(read(client)) == oracle(said, MIXED)
    assert rules == ["policy_limit", "kimi_k2", "finish_reason"]


def test_drain_over_its_bytes_with_a_call() -> None:
    """The calls go out, and as they are found; text stays suppressed."""
    live = Live(DRAIN)
    live.say(("text", "So "), ("call", 1), ("text", "y" * 65_600))
    assert b"task" not in live.out
    answer = live.say(("text", markup(2, "x" * 65_600)), ("text", " then "))
    assert calls(answer) == [arguments(1), arguments(2, "x" * 65_600)]
    assert calls(live.say(("call", 3)))[2:] == [arguments(3)]
    assert live.finish().only.content == ""
    assert live.pipeline.rules == ["kimi_k2", "policy_drain", "policy_limit", "finish_reason"]


@pytest.mark.parametrize("policy", ["collect", "drain"])
def test_nothing_at_all_is_not_held_for_ever_either(policy: str) -> None:
    live = Live(replace(POLICIES[policy], max_bytes=500))
    live.say(("text", "a"), ("call", 1))
    for _ in range(500):
        live.out += live.pipeline.feed(event({**META, "choices": []}))
    assert calls(read(live.out)) == [arguments(1)]


# letting the upstream go


@pytest.mark.parametrize("policy", ["first", "collect two"])
def test_the_response_ends_where_the_rest_is_worth_suppressing(policy: str) -> None:
    said: list[Said] = [("text", "So "), ("call", 1), ("call", 2), ("text", "\n"), ("text", " and so on"), ("call", 3)]
    settings = POLICIES[policy]
    for chunks in cuts(stream(deltas(said))):
        pipeline = make(settings, let_go=True)
        out, after = b"", b""
        for data in chunks:
            after += pipeline.feed(data) if pipeline.done else b""
            out += b"" if pipeline.done else pipeline.feed(data)
        assert pipeline.done
        assert after + pipeline.feed(b"data: more\n\n") + pipeline.close() == b""
        answer = read(out)
        assert told(answer) == Passed("So ", "", oracle(said, settings).calls)
        assert answer.usage is None


@pytest.mark.parametrize("policy", ["first", "collect two"])
def test_the_end_is_told_once_if_much_comes_at_once(policy: str) -> None:
    """What seemed to begin a call is decided in all its pieces at once, and each of them is worth suppressing."""
    calls = range(POLICIES[policy].max_calls if policy != "first" else 1)
    rest = [" so <|tool_calls_sec", "tion", " is", " nothing", ".", " And <|tool_call_be", "gin|>", "functions.task:9", "<|tool_call_argument_begin|>", "{}"]
    body = stream([*map(markup, calls), *rest])
    for chunks in cuts(body):
        made = make(POLICIES[policy], let_go=True)
        answer = read(play(lambda made=made: made, chunks))  # type: ignore[misc]
        assert made.done
        assert made.rules == ["kimi_k2", f"policy_{POLICIES[policy].policy}"]
        assert told(answer) == Passed("", "", [*map(arguments, calls)])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", SAID)
def test_a_response_that_ends_by_itself_is_let_end(name: str, policy: str) -> None:
    settings, said = POLICIES[policy], SAID[name]
    expected = oracle(said, settings)
    client, _ = run(settings, [stream(deltas(said))], let_go=True)
    assert replace(told(read(client)), stopped=expected.stopped) == expected
    if not any(kind == "native" for kind, _ in said):  # whose end may have to be waited for
        assert bool(read(client).usage) != expected.stopped
    assert expected.stopped or client == run(settings, [stream(deltas(said))])[0]
    assert make(settings, let_go=True).lets_go == (settings.policy in ("first", "collect"))
    assert not make(settings, let_go=True, request={"messages": []}).lets_go


def test_what_comes_with_the_finish_does_not_end_the_response() -> None:
    body = event(chunk({"role": "assistant", "content": markup(1)})) + event(chunk({"content": "late"}, "stop"))
    usage = {**META, "choices": [], "usage": {"total_tokens": 3}}
    made = make(FIRST, let_go=True)
    answer = read(made.feed(body + event(usage) + event("[DONE]")) + made.close())
    assert (told(answer), answer.usage) == (Passed("", "", [arguments(1)]), {"total_tokens": 3})
    assert not made.done


def test_the_response_ends_when_all_choices_are_over() -> None:
    made = make(FIRST, let_go=True, request={**WEATHER, "n": 3})
    out = b"".join(made.feed(event(chunk({"role": "assistant", "content": markup(n)}, index=n))) for n in range(2))
    out += b"".join(made.feed(event(chunk({"content": "more"}, index=n))) for n in range(2))
    assert not made.done
    out += made.feed(event(chunk({"role": "assistant", "content": "no call"}, index=2)))
    assert not made.done
    out += made.feed(event(chunk({}, "stop", index=2)))
    assert made.done
    answer = read(out)
    assert (answer.all_faults, answer.done) == ([], True)
    assert [answer.choices[n].finish_reasons for n in range(3)] == [["tool_calls"], ["tool_calls"], ["stop"]]


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


def test_a_call_that_another_breaks_off_keeps_no_response_open() -> None:
    rules: list[str] = []
    policy = First(rules.append, 1)
    begun, another = (Frame(None, (ToolCallStart(index, f"c{index}", "task", in_text=True), ToolCallDelta(index, "{")), touched=True) for index in (0, 1))
    assert [event for frame in policy.feed(begun) for event in frame.events] == [*begun.events]
    assert not policy.done
    assert [event for frame in policy.feed(another) for event in frame.events] == [Finish("tool_calls"), MessageEnd()]
    assert (policy.done, set(rules)) == (True, {"policy_first"})
