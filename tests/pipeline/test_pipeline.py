"""pipeline.py: what a whole response goes through, and what happens when a part of it fails."""

import json
import re
from collections.abc import Callable
from functools import partial
from itertools import batched
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patterns import all_patterns
from tests.patterns.kimi import CITY, ONE
from tests.support.cuts import cuts
from tests.support.judges.chat import read
from tests.support.streams import META, WEATHER, body_of, chunk, event, pieces, play, stream, wrapped
from tests.support.untouched_streams import UNTOUCHED
from tests.support.upstream_answers import APIS, JUDGES, PAIRS, Asked, Text, asked, speak
from toolmend.apis.chat import codec
from toolmend.apis.shared import delta_template_learner
from toolmend.apis.shared.numbers import MAX_CHOICES
from toolmend.config.settings import Settings
from toolmend.core import json_text
from toolmend.pipeline.pipeline import Pipeline
from toolmend.pipeline.transformers import markup


def pipeline(request: dict[str, Any] | None = WEATHER, **more: Any) -> Pipeline:
    return Pipeline(request, **more)


LEAK = stream(pieces(f"Look <here>: {ONE}", 1))


@pytest.mark.parametrize("name", UNTOUCHED)
def test_nothing_to_mend_is_byte_identical(name: str) -> None:
    body = UNTOUCHED[name]
    for chunks in cuts(body) if len(body) < 50_000 else [[body], [body[:1000], body[1000:]]]:
        assert play(pipeline, chunks) == body


@pytest.mark.parametrize("request_", [{}, {"tools": []}, {"tools": None}, {"messages": []}])
def test_without_tools_the_bytes_pass(request_: dict[str, Any]) -> None:
    made = pipeline(request_)
    assert made.feed(LEAK) is LEAK
    assert made.close() == b""
    assert made.message(LEAK) is LEAK


def test_off() -> None:
    assert play(lambda: pipeline(settings=Settings(dialects=())), [LEAK]) == LEAK


def test_without_a_request_any_call_is_expected() -> None:
    assert [call.name for call in read(play(lambda: pipeline(None), [LEAK])).only.calls] == ["get_weather"]


def test_data_that_is_no_json_is_noted_once() -> None:
    made = pipeline()
    made.feed(event("oops") + event("oops again"))
    assert made.notes == ["data that is no JSON passed as it came"]


@pytest.mark.parametrize("spelled", [lambda body: body.replace(b"\n\n", b"\n"), wrapped], ids=["no blank lines", "events in events"])
def test_framing_that_only_lenient_clients_read(spelled: Callable[[bytes], bytes]) -> None:
    """What is mended in it is what is mended in legal events."""
    body = spelled(LEAK)
    client = play(pipeline, [body])
    for chunks in cuts(body):
        assert play(pipeline, chunks) == client
    lines = re.findall(rb"^data: (?:data: )?(\{.+\}|\[DONE\])\r?$", client, re.MULTILINE)
    answer = read(b"".join(b"data: " + line + b"\n\n" for line in lines)).only
    assert (answer.content, [call.name for call in answer.calls]) == ("Look <here>: ", ["get_weather"])


def test_without_blank_lines_nothing_waits_for_one() -> None:
    made, given = pipeline(), b""
    for line in stream(["Hello ", "world"]).replace(b"\n\n", b"\n").splitlines(keepends=True):
        out = made.feed(line)
        assert out == given
        given = line


def test_events_that_are_called_json() -> None:
    """They came whole: an answer of JSON is not mended before its end."""
    made = lambda: pipeline(new_id=lambda: "call_1")  # noqa: E731
    assert made().message(LEAK) == play(made, [LEAK]) != LEAK
    for body in UNTOUCHED.values():
        assert made().message(body) is body


def test_choices_are_independent() -> None:
    texts = [f"zero {ONE} end", f"one <|tool_ {ONE}", "two <|tool_call_begin|> prose"]
    body = b"".join(event(chunk({"role": "assistant"}, index=n)) for n in range(3))
    parts = [pieces(text, n) for n, text in enumerate(texts)]
    for turn in range(max(map(len, parts))):
        choices = [{"index": n, "delta": {"content": p[turn]}, "finish_reason": None} for n, p in enumerate(parts) if turn < len(p)]
        body += event({**META, "choices": choices})
    body += b"".join(event(chunk({}, "stop", index=n)) for n in range(3)) + event("[DONE]")
    client = play(pipeline, [body])
    answer = read(client)
    assert answer.all_faults == []
    assert [answer.choices[n].content for n in range(3)] == ["zero  end", "one <|tool_ ", texts[2]]
    assert [[c.arguments for c in answer.choices[n].calls] for n in range(3)] == [[CITY], [CITY], []]
    assert [answer.choices[n].finish_reasons for n in range(3)] == [["tool_calls"], ["tool_calls"], ["stop"]]
    for chunks in cuts(body):
        assert play(pipeline, chunks) == client


def test_a_call_beside_native_ones_gets_an_index_of_its_own() -> None:
    own = {"id": "call_1", "type": "function", "function": {"name": "task", "arguments": "{}"}, "extra_content": {"signature": "s"}}
    late = {"id": "call_2", "type": "function", "function": {"name": "task", "arguments": ""}}
    body = stream([
        {"tool_calls": [{"index": 0, **own}]}, *pieces(ONE, 3), {"tool_calls": [{"index": 1, **late}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]},
    ])  # fmt: skip
    client = play(pipeline, [body])
    answer = read(client)
    assert answer.all_faults == []
    assert [(c.id, c.arguments) for c in answer.only.calls] == [("call_1", "{}"), ("functions.get_weather:0", CITY), ("call_2", "{}")]
    assert b'"extra_content": {"signature": "s"}' in client


@pytest.mark.parametrize(("source", "target"), [*((api, api) for api in APIS), *PAIRS])
@pytest.mark.parametrize("leaked_first", [True, False])
def test_no_two_calls_have_one_id_where_one_leaked(source: str, target: str, *, leaked_first: bool) -> None:
    own, leaked = Asked("functions.get_weather:0", "get_weather", '{"city":"Oslo"}'), Text(ONE)
    body = speak(source, [leaked, own] if leaked_first else [own, leaked], "tool_calls")
    made = asked(target, ("get_weather", {"city": {"type": "string"}}))
    first = "functions.get_weather:0", "Beijing" if leaked_first else "Oslo"
    ids = set()
    for chunks in cuts(body):
        numbers = map("call_{}".format, range(9))
        answer = JUDGES[target].read(play(partial(pipeline, made, source=source, target=target, new_id=numbers.__next__), chunks))
        assert not answer.faults
        calls = [(call.id, call.value["city"]) for call in answer.calls]
        assert calls[0] == first
        assert [city for _, city in calls] == (["Beijing", "Oslo"] if leaked_first else ["Oslo", "Beijing"])
        ids.add(calls[1][0])
    assert len(ids) == 1
    assert first[0] not in ids


def test_a_chunk_with_everything_in_it() -> None:
    body = event({**chunk({"role": "assistant", "content": f"Hi {ONE} bye", "x": 1}, "stop"), "usage": {"total_tokens": 3}, "y": 2})
    (data,) = (json.loads(line[6:]) for line in play(pipeline, [body]).splitlines() if line)
    call = {"index": 0, "id": "functions.get_weather:0", "type": "function", "function": {"name": "get_weather", "arguments": CITY}}
    assert data == {
        **META,
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi  bye", "x": 1, "tool_calls": [call]}, "finish_reason": "tool_calls"}],
        "usage": {"total_tokens": 3},
        "y": 2,
    }


def test_reasoning_said_three_times_is_mended_three_times() -> None:
    deltas = [
        {"reasoning": part, "reasoning_content": part, "reasoning_details": [{"type": "reasoning.text", "text": part, "index": 0}]}
        for part in pieces(f"So.{ONE}", 2)
    ]
    client = play(pipeline, [stream(deltas)])
    assert read(client).only.reasoning == "So."
    assert b"<|tool" not in client


@pytest.mark.parametrize(("host", "field"), [("openrouter.ai", "reasoning"), ("api.siliconflow.com", "reasoning_content")])
def test_reasoning_from_tags_goes_where_the_host_has_it(host: str, field: str) -> None:
    made = pipeline({**WEATHER, "model": "qwen/qwen3-32b"}, host=host)
    body = stream(pieces("<think>Hm.</think>So.", 1))
    client = made.feed(body) + made.close()
    assert f'"{field}":"'.encode() in client
    assert (read(client).only.reasoning, read(client).only.content) == ("Hm.", "So.")


@pytest.mark.parametrize("ending", ["no finish", "no finish, no [DONE]", "no finish, no blank line"])
def test_a_call_that_the_end_of_the_stream_brings_to_light(ending: str) -> None:
    body = stream([f"{ONE[:-20]}"], finish=None)
    body = body.removesuffix(event("[DONE]")) if "DONE" in ending else body
    body = body.removesuffix(b"\n\n") if "blank" in ending else body
    answer = read(play(pipeline, [body]))
    assert [call.arguments for call in answer.only.calls] == [CITY]
    assert answer.only.finish_reasons == ([] if "DONE" in ending else ["tool_calls"])


SAID = event(chunk({"role": "assistant", "content": "Look"}))
BEHIND = {
    "what is held": SAID + event(chunk({"content": " <|tool_call_begin|>functions.get_w"})),
    "a late reason": SAID + event(chunk({}, "stop")) + event(chunk({"content": " <|tool_call_begin|>functions.get_w"})),
}
"""What leaves at the end of the body, behind or in front of its last event."""


@pytest.mark.parametrize("tail", [b"upstream connect error", b": OPENROUTER", b"event: x\n", b'data: {"id', b"cut -1", b"cut -2"])
@pytest.mark.parametrize("name", BEHIND)
def test_what_leaves_at_the_end_is_no_part_of_an_event_without_end(name: str, tail: bytes) -> None:
    """An upstream that broke off in the middle of a line, or left out the last blank line."""
    body = BEHIND[name][: int(tail[4:])] if tail.startswith(b"cut") else BEHIND[name] + tail
    client = play(pipeline, [body])
    assert read(client).only.content == "Look <|tool_call_begin|>functions.get_w"
    assert read(client).only.finish_reasons in ([], ["stop", "stop"])
    for chunks in cuts(body):
        assert play(pipeline, chunks) == client


def test_role_and_index_are_added() -> None:
    body = event({**META, "choices": [{"delta": {"content": "Hi"}, "finish_reason": None}]}) + event("[DONE]")
    made = pipeline()
    answer = read(made.feed(body) + made.close())
    assert (answer.all_faults, answer.only.content, made.rules) == ([], "Hi", ["choice_index", "role", "finish_reason"])


def test_comments_overtake_a_call_that_is_held_but_not_prose() -> None:
    made = pipeline()
    start = stream([], finish=None)[: -len(event("[DONE]"))]
    assert made.feed(start) == start
    assert made.feed(event(chunk({"content": "<"})) + b": wait\n\n") == b""
    assert made.feed(event(chunk({"content": "b"}))) == event(chunk({"content": "<"})) + b": wait\n\n" + event(chunk({"content": "b"}))
    assert made.feed(event(chunk({"content": "<|tool_call_begin|>functions."})) + b": wait\n\n") == b": wait\n\n"


def test_without_a_fast_json_reader_the_bytes_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert json_text._fast_loads is not None
    bodies = [LEAK, *UNTOUCHED.values()]
    fast = [play(pipeline, [body]) for body in bodies]
    monkeypatch.setattr(json_text, "_fast_loads", None)
    assert [play(pipeline, [body]) for body in bodies] == fast


def test_learning_what_chunks_have_in_common_changes_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    more = b', "logprobs": null, "x": 0.10}], "y": [1.0], "provider": "p", "usage": null}'
    bodies = [LEAK, LEAK.replace(b"}]}", more), *(body_of(pattern) for pattern in all_patterns().values()), *UNTOUCHED.values()]
    made = lambda: pipeline(new_id=lambda: "call_1")  # noqa: E731
    learnt = [play(made, [body]) for body in bodies]
    monkeypatch.setattr(delta_template_learner, "MOST_MISSES", 0)
    assert [play(made, [body]) for body in bodies] == learnt


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_unreadable_whole_answer_ends_the_stream(target: str) -> None:
    made = Pipeline({"max_tokens": 1}, source="chat", target=target)
    *_, last = (json.loads(line[6:]) for line in made.as_stream(b"<html>").decode().splitlines() if line.startswith("data: "))
    assert "toolmend failed on this answer" in json.dumps(last)
    assert str(made.error).startswith("NotJSON in ")


def test_slow_translation_goes_on() -> None:
    """The client speaks another API: it is told, and all that comes is translated as before."""
    body = stream(["Hello ", "there"])
    one, other = (Pipeline({"max_tokens": 1}, source="chat", target="messages", new_id=lambda: "call_1") for _ in range(2))
    out = one.feed(body[:300]) + one.give_up("an event took too long") + one.feed(body[300:]) + one.close()
    assert out == other.feed(body[:300]) + other.feed(body[300:]) + other.close()
    assert (one.notes, other.notes, one.error) == (["an event took too long"], [], None)


def test_what_is_given_up_twice_was_given_up_for_the_first_reason() -> None:
    body = stream(["a <|tool_call_begin|>"])
    made = pipeline()
    out = made.feed(body) + made.give_up("the first") + made.give_up("the second") + made.close()
    assert (out, made.error) == (body, "the first")


@pytest.mark.parametrize(("limit", "most"), [("MAX_AHEAD", 20), ("MAX_WITHIN", 1000)])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_comments_without_end_do_not_fill_the_memory(limit: str, most: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They go ahead of what is held, which goes out when there are too many: each byte once."""
    monkeypatch.setattr(f"toolmend.pipeline.undelivered.{limit}", most)
    begins = b"".join(event(chunk(delta)) for delta in ({"role": "assistant"}, {"content": "<|tool_call_begin|>"}))
    comments = [b": %d\nretry: 1\n\n" % n for n in range(200)]  # those that say nothing are one
    ends = event(chunk({"content": "b"}))
    made, out = pipeline(), []
    for data in (begins, *map(b"".join, batched(comments, size)), ends):
        out.append(made.feed(data))
        assert len(made._undelivered._ahead) < 180
        assert sum(map(len, made._undelivered._received)) < 4500
    given = b"".join(out) + made.close()
    assert "TooManyCommentsError" in str(made.error)
    assert sorted(given.split(b"\n\n")) == sorted(b"".join([begins, *comments, ends]).split(b"\n\n"))
    assert re.findall(rb"(?m)^: (\d+)$", given) == [b"%d" % n for n in range(200)]


def test_choices_without_end_do_not_fill_the_memory() -> None:
    """Those that there may be are mended, more pass as they come."""
    deltas = [{"role": "assistant"}, *({"content": piece} for piece in pieces(ONE, 1))]
    made = pipeline()
    for choice in (*range(3 * MAX_CHOICES), 1 - MAX_CHOICES):
        events = [event(chunk(delta, index=choice)) for delta in deltas]
        given = b"".join(map(made.feed, events))
        assert (given == b"".join(events)) is (choice not in range(MAX_CHOICES))
    assert len(made._markup._choices) == MAX_CHOICES
    unread = {"index": 500, "delta": {"content": "stays"}, "finish_reason": None}
    mended = chunk({"content": "x"}, index=0)
    mended = {"choices": [{**mended["choices"][0], "finish_reason": ""}, unread], "created": 1}  # it has no id
    assert unread in json.loads(made.feed(event(mended))[6:])["choices"]
    assert made.error is None


@pytest.mark.parametrize("name", ["native", "leaked"])
def test_calls_without_end_do_not_fill_the_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that there may be are calls, and from there on all passes as it comes; to a client of another API that is an error."""
    monkeypatch.setattr(markup, "MAX_CALLS", 10)
    call = {"type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    deltas = [{"tool_calls": [{"index": n, "id": f"c{n}", **call}]} if name == "native" else {"content": ONE} for n in range(20)]
    body = stream(deltas)
    events = [block + b"\n\n" for block in body.split(b"\n\n")[:-1]]
    made = pipeline()
    assert made.feed(body) + made.close() == pipeline().feed(b"".join(events[:11])) + b"".join(events[11:])
    assert "TooManyCallsError" in str(made.error)
    asked = {"model": WEATHER["model"], "max_tokens": 1, "tools": [{"name": "get_weather", "input_schema": {}}]}
    other = Pipeline(asked, source="chat", target="messages")
    assert b"event: error" in other.feed(body) + other.close()


STAGES = ["toolmend.apis.chat.codec.Chat.decode", "toolmend.apis.chat.codec.Chat.encode", "toolmend.pipeline.transformers.markup.Markup.feed",
          "toolmend.pipeline.transformers.finish.FinishReason.feed", "toolmend.dialects.engine.markup_parser.MarkupParser.feed", "toolmend.core.sse.SseDecoder._event"]  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("error", [RuntimeError, MemoryError, RecursionError, AssertionError])
def test_whatever_raises_no_byte_is_lost(stage: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the failing event the stream is mended, from there on it is raw; what was held comes first."""
    prose = stream(["a ", "<", "b> ", *["<|tool_call_begin|>", "c", "d"] * 3])
    module, cls, method = stage.rsplit(".", 2)
    owner = getattr(__import__(module, fromlist=[cls]), cls)
    original = getattr(owner, method)
    for at in range(6):
        calls = 0

        def failing(*args: Any, at: int = at, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > at:
                raise error("a secret of the stream")
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, method, failing)
        for chunks in ([prose], [prose[n : n + 7] for n in range(0, len(prose), 7)]):
            calls = 0
            made = pipeline()
            out = b"".join([made.feed(data) for data in chunks]) + made.close()
            assert out == prose
            assert made.error .startswith(f"{error.__name__} in failing (test_pipeline.py:")
        monkeypatch.undo()


@given(st.binary(max_size=300) | st.lists(st.sampled_from([LEAK[n : n + 40] for n in range(0, len(LEAK), 40)])).map(b"".join), st.data())
def test_any_bytes(body: bytes, data: st.DataObject) -> None:
    """Nothing raises, and the cut does not matter."""
    whole = play(pipeline, [body])
    at = data.draw(st.integers(0, len(body)))
    assert play(pipeline, [body[:at], body[at:]]) == whole
    pipeline().message(body)


BEGUN = "<|tool_call_begin|>functions.get_w"
DOUBTFUL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'


@pytest.mark.parametrize(
    ("model", "field", "text"),
    [
        ("kimi-k2.5", "content", BEGUN),
        ("kimi-k2.5", "reasoning_content", BEGUN),
        ("qwen3-32b", "reasoning_content", DOUBTFUL),
        ("deepseek-r1", "content", "What may turn out to be a thought"),
    ],
)
def test_what_says_nothing_is_not_held_for_ever(model: str, field: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upstream that stalls, and keeps the connection alive with empty deltas: each is held behind what is not certain."""
    monkeypatch.setattr(markup, "MAX_FRAMES", 200)
    made = Pipeline({**WEATHER, "model": model})
    made.feed(event(chunk({"role": "assistant"})))
    before = event(chunk({field: text}))
    empty = [event(chunk({field: ""}))] * 198
    assert b"".join(map(made.feed, [before, *empty, empty[0]])) == b""
    assert made.feed(empty[0]) == before + empty[0] * 200
    assert made.rules == ["hold_limit"]
    assert made.feed(empty[0]) == empty[0]
    assert made.feed(event(chunk({field: "eather:0"}))) == event(chunk({field: "eather:0"}))


def test_call_in_reasoning_beside_native_calls_is_a_thought() -> None:
    own = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "task", "arguments": "{}"}}
    body = stream([{"reasoning_content": DOUBTFUL}, {"tool_calls": [own]}], finish="tool_calls")
    for chunks in cuts(body):
        assert play(lambda: Pipeline({**WEATHER, "model": "qwen3-32b"}), chunks) == body


def test_a_call_of_another_choice_goes_on_when_too_much_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "MAX_FRAMES", 20)
    made = Pipeline({**WEATHER, "n": 2})
    within = ONE.index(CITY) + 4
    deltas = [(ONE[:within], 0), (BEGUN, 1), *[("", 1)] * 20, (ONE[within:], 0)]
    out = b"".join(made.feed(event(chunk({"content": text}, index=choice))) for text, choice in deltas)
    assert "hold_limit" in made.rules
    data = [json.loads(data[6:])["choices"][0]["delta"] for data in out.split(b"\n\n") if data]
    assert "".join(call["function"]["arguments"] for delta in data for call in delta.get("tool_calls", ())) == CITY
    assert "".join(delta.get("content", "") for delta in data) == BEGUN


def test_a_policy_may_end_the_message_when_the_body_ends() -> None:
    """What it suppresses, and so ends the message, is the last event, which no blank line ends."""
    made = Pipeline(WEATHER, settings=Settings(policy="first"), let_go=True)
    out = made.feed(event(chunk({"role": "assistant", "content": ONE})) + event(chunk({"content": "And more"})).rstrip())
    assert not made.done
    out += made.close()
    assert made.done
    answer = read(out)
    assert (answer.all_faults, len(answer.choices[0].calls), answer.done) == ([], 1, True)


def test_events_of_carriage_returns_pass_wherever_they_are_cut() -> None:
    body = stream([f"word {n} " for n in range(40)], newline="\r")
    for size in (100, 333, 500):
        made = pipeline()
        assert b"".join(made.feed(body[at : at + size]) for at in range(0, len(body), size)) + made.close() == body


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_an_event_that_nobody_reads_is_missing_in_no_translation(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmend.core.sse.MAX_EVENT", 1000)
    monkeypatch.setattr("toolmend.pipeline.pipeline.MAX_EVENT", 1000)
    body = stream(["Hi", "x" * 2000, "there"])
    for size in (1, 100, 900):
        made = Pipeline(asked(target), target=target)
        out = b"".join(made.feed(body[at : at + size]) for at in range(0, len(body), size)) + made.close()
        assert (out.count(b"event: error") + out.count(b"event: response.failed"), out.count(b"there")) == (1, 0)
        assert (made.error or "").startswith("TooLongError")


def test_a_translated_answer_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Pipeline({**WEATHER, "stream": False}, target="messages")

    def failing(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(codec.Chat, "decode", failing)
    assert json.loads(made.folded(LEAK))["type"] == "error"
    assert made.error


@pytest.mark.parametrize("words", [b'{"error":{"message":"Gone."}}', b"upstream connect error", b": hi", b"upstream reset\n\n"])
def test_words_do_not_overtake_held_text(words: bytes) -> None:
    """Only complete comments do: an error would come before the text that preceded it, and in its own form."""
    held = event(chunk({"role": "assistant", "content": "Hi"}))
    made = Pipeline(WEATHER | {"model": "glm-4.6"})
    assert made.feed(held) == b""
    out = made.feed(words) + made.close()
    assert out.startswith(held)
    assert words in out[len(held) :]
