"""policy_first.py: only the first call goes out."""

from dataclasses import replace

import pytest

from tests.support.cuts import cuts
from tests.support.judges.chat import read
from tests.support.policies import FIRST, POLICIES, SAID, Passed, Said, arguments, deltas, make, markup, oracle, run, told
from tests.support.streams import META, WEATHER, chunk, event, play, stream
from toolmend.core.events import Finish, Frame, MessageEnd, ToolCallDelta, ToolCallStart
from toolmend.pipeline.transformers.policy_first import First


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


def test_a_call_that_another_breaks_off_keeps_no_response_open() -> None:
    rules: list[str] = []
    policy = First(rules.append, 1)
    begun, another = (Frame(None, (ToolCallStart(index, f"c{index}", "task", in_text=True), ToolCallDelta(index, "{")), touched=True) for index in (0, 1))
    assert [event for frame in policy.feed(begun) for event in frame.events] == [*begun.events]
    assert not policy.done
    assert [event for frame in policy.feed(another) for event in frame.events] == [Finish("tool_calls"), MessageEnd()]
    assert (policy.done, set(rules)) == (True, {"policy_first"})
