"""Streams that nobody wrote, in any order of everything that was ever seen: what is translated is legal, and the same for every cut.

Rule of this file: nothing is asked but what always holds. What is right is told in pipeline/test_translation.py.
"""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patterns.kimi import ONE
from tests.patterns.qwen import H
from tests.support.example_counts import examples
from tests.support.streams import META, chunk
from tests.support.upstream_answers import APIS, JUDGES, PAIRS, WEATHER, Asked, Part, Text, Thought, asked, speak
from tests.support.wild_streams import WILD, body_of
from toolmend.pipeline.pipeline import Pipeline


def run(source: str, target: str, parts: list[bytes]) -> bytes:
    numbers = iter(range(1, 10_000))
    made = Pipeline(asked(target, *WEATHER), source=source, target=target, new_id=lambda: f"call_{next(numbers):032x}")
    out = b"".join([made.feed(part) for part in parts]) + made.close()
    assert made.error is None, made.error
    return out


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_whatever_comes_what_goes_out_is_legal(source: str, target: str) -> None:
    @examples(0.6)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        pool = WILD[source]
        order = [pool[at] for at in data.draw(st.lists(st.integers(0, len(pool) - 1), max_size=14))]
        body = body_of(source, order)
        out = run(source, target, [body])
        answer = JUDGES[target].read(out)
        # where arguments are a string, what a model got wrong is the client's to tell it
        faults = [fault for fault in answer.faults if target == "messages" or "no JSON object" not in fault]
        assert not faults, (faults, out.decode())
        at = random.Random(len(body)).randrange(len(body) + 1)
        assert run(source, target, [body[:at], body[at:]]) == out
        assert run(source, target, [body[at : at + 1] for at in range(len(body))]) == out

    holds()


SAYS: list[Part] = [
    *(Text(text) for text in ("Hi there.", "日本 🙂", f"Look: {ONE}", f"{ONE} and {ONE} there.", ONE[:60], H, f"a < b {H}\n", "{}")),
    *(Thought(text) for text in ("Hm.", f"So {ONE}", f"{ONE}{H} then", ONE[:60])),
]


@pytest.mark.parametrize(("source", "target"), [(source, target) for source in APIS for target in APIS])
def test_a_legal_stream_with_leaks_anywhere_stays_legal(source: str, target: str) -> None:
    """With calls between, in blocks of their own, in the same API too; and no call is lost or made up."""

    @examples(0.2)
    @given(st.lists(st.integers(0, len(SAYS)), max_size=6), st.integers(0, 9))
    def holds(order: list[int], seed: int) -> None:
        parts = [SAYS[at] if at < len(SAYS) else Asked(f"call_{place}", "task", '{"description":"x"}') for place, at in enumerate(order)]
        native = any(isinstance(part, Asked) for part in parts)
        body = speak(source, parts, "tool_calls" if native else "stop", seed=seed)
        out = run(source, target, [body])
        answer = JUDGES[target].read(out)
        assert not answer.faults, (answer.faults, out.decode())
        assert [call.id for call in answer.calls if call.name == "task"] == [part.id for part in parts if isinstance(part, Asked)]
        assert run(source, target, [body[at : at + 1] for at in range(len(body))]) == out

    holds()


WORDS: list[Part] = [Thought("Hm, let me see."), Text("I look at ~ now."), Asked("call_a", "task", '{"description":"of ~ it"}')]


@pytest.mark.parametrize(("source", "target"), [(source, target) for source in APIS for target in APIS])
@pytest.mark.parametrize(
    ("wrong", "meant"), [(b"\xff", "\ufffd"), (b"\xe6\x97", "\ufffd"), (b"\x01", "\x01"), (b"\t", "\t")], ids=["no UTF-8", "cut", "control", "tab"]
)
def test_what_is_no_json_for_its_characters_alone_is_heard(wrong: bytes, meant: str, source: str, target: str) -> None:
    body = speak(source, WORDS, "tool_calls").replace(b"~", wrong)
    out = run(source, target, [body])
    assert run(source, target, [body[at : at + 1] for at in range(len(body))]) == out
    if source == target:
        assert out == body or wrong < b" "  # which arguments may not hold either, and are mended
        return
    answer = JUDGES[target].read(out)
    assert answer.text == f"I look at {meant} now."
    assert [name for name, _ in answer.asked] == ["task"]
    assert json.loads(answer.calls[0].arguments, strict=False) == {"description": f"of {meant} it"}


@pytest.mark.parametrize("source", APIS)
@pytest.mark.parametrize("wrong", [b"\xff", b"\x01"])
def test_wrong_characters_in_a_call_that_leaked(wrong: bytes, source: str) -> None:
    """It is read on, and the client gets JSON."""
    leak = ONE.replace("Beijing", "Bei~jing")
    out = run(source, source, [speak(source, [Text(leak)]).replace(b"~", wrong)])
    answer = JUDGES[source].read(out)
    assert not answer.faults, answer.faults
    assert answer.asked == [("get_weather", {"city": f"Bei{wrong.decode(errors='replace')}jing"})]


@pytest.mark.parametrize("target", APIS)
@pytest.mark.parametrize(
    ("said", "text", "reasoning"),
    [([chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}, None, {"text": 1}, {"text": ""}]}]}), chunk({"content": [{"type": "text", "text": "Hi"}, None, 1]})],
      "Hi", "Hm"),
     ([{**META, "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}], "Hi", ""),
     ([chunk({"content": "Hi"}), {**META, "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]}], "Hi", "")],
    ids=["Mistral's parts", "a whole message", "a whole message at the end"],
)  # fmt: skip
def test_what_chunks_say_in_other_places(said: list[Any], text: str, reasoning: str, target: str) -> None:
    out = run("chat", target, [body_of("chat", [*said, chunk({}, "stop"), "[DONE]"])])
    if target != "chat":
        answer = JUDGES[target].read(out)
        assert (answer.text, answer.reasoning, answer.faults, answer.error) == (text, reasoning, [], None)


@pytest.mark.parametrize("target", APIS)
def test_of_members_that_come_twice_the_last_counts(target: str) -> None:
    body = speak("chat", [Text(f"I look. {ONE}")]).replace(b"data: {", b'data: {"choices": [], ')
    answer = JUDGES[target].read(run("chat", target, [body]))
    assert (answer.text, answer.asked) == ("I look. ", [("get_weather", {"city": "Beijing"})])


@pytest.mark.parametrize(("source", "target"), [pair for pair in PAIRS if pair[1] != "messages"])
def test_whole_arguments_that_are_no_json_are_the_clients_to_judge(source: str, target: str) -> None:
    """It tells the model, which says it again; where they are an object, there is no telling them."""
    out = run(source, target, [speak(source, [Asked("call_a", "task", '{"a" 1}')], "tool_calls")])
    answer = JUDGES[target].read(out)
    assert ([call.arguments for call in answer.calls], answer.error) == (['{"a" 1}'], None)
    assert answer.stop_reason in ("tool_calls", "completed")
