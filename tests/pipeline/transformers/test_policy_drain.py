"""policy_drain.py: text and calls are held, and thoughts are not."""

from collections.abc import Sequence

import pytest

from tests.support.judges.chat import read
from tests.support.policies import DRAIN, MIXED, Live, Passed, Said, arguments, calls, deltas, markup, oracle, run, told
from tests.support.streams import stream


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
