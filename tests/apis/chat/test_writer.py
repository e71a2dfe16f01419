"""writer.py: what a Chat Completions client gets whose upstream speaks another API."""

import json
from collections.abc import Sequence
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.judges.chat import Choice, read
from tests.support.judges.chat import events as data_of
from tests.support.streams import META
from tests.support.streams import event as sse
from toolmend.apis.chat.codec import Chat
from toolmend.apis.chat.reasoning_details import DetailRun
from toolmend.apis.chat.writer import PING, ChatWriter
from toolmend.apis.codec import Reply
from toolmend.core import tools
from toolmend.core.events import (
    Event,
    Finish,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    ReasoningSeal,
    RefusalDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from toolmend.core.reasoning_state import ReasoningState, envelope
from toolmend.core.sse import SseDecoder
from toolmend.requests.chat import api as chat_requests
from toolmend.requests.conversation import ThinkingPart

CALL = f"call_{META['created'] * 1000:012x}70008000000000000000"  # made in that second
HEAD = {"id": f"chatcmpl-{CALL[5:]}", "object": "chat.completion.chunk", "created": META["created"], "model": "gpt-x"}
ROLE = {"role": "assistant", "content": ""}
SIGNED, REDACTED, ITEM = ReasoningState("signature", "Eq…="), ReasoningState("redacted", "xyz"), ReasoningState("encrypted", '{"id":"rs_1"}')
USAGE = Usage(9, 3, 4, 2, 1)
COUNTS = {
    "prompt_tokens": 9,
    "completion_tokens": 3,
    "total_tokens": 12,
    "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 1},
}
START, END, DONE = MessageStart(), MessageEnd(), "[DONE]"


def writer(rules: list[str] | None = None, *, field: str = "reasoning_content", **request: Any) -> ChatWriter:
    told = [] if rules is None else rules
    return ChatWriter(
        Reply(tools.UNKNOWN, lambda: CALL, told.append, {"model": "gpt-x", **request}, reasoning_field=field, input_tokens=7)
    )


def begun(index: int = 0, id_: str = "toolu_1", name: str = "ls") -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}]}


def more(arguments: str, index: int = 0) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}


def thought(text: str, run: int = 0, before: str = "") -> dict[str, Any]:
    return {"reasoning_content": before + text, "reasoning_details": [{"type": "reasoning.text", "text": text, "index": run}]}


def seal(seal: ReasoningState, run: int = 0) -> dict[str, Any]:
    return {"reasoning_details": [{"type": "reasoning.text", "signature": envelope(seal), "index": run}]}


def error(message: str, kind: str = "server_error", code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


CUT = error("The upstream broke off before the message was complete.")
EMPTY = error("The upstream's message is empty.")

STREAMS: dict[str, tuple[list[Event], list[Any]]] = {
    # name: events, then deltas (a string: the finish reason, or [DONE])
    "text": ([START, TextDelta("Hi"), TextDelta("!"), Finish("stop"), END], [ROLE, {"content": "Hi"}, {"content": "!"}, "stop", DONE]),
    "no start": ([TextDelta("Hi"), Finish("stop"), END], [{**ROLE, "content": "Hi"}, "stop", DONE]),
    "two starts": ([START, START, TextDelta("Hi"), Finish("stop"), END], [ROLE, {"content": "Hi"}, "stop", DONE]),
    "empty pieces": ([START, TextDelta(""), ReasoningDelta(""), RefusalDelta(""), Finish("stop"), END], [ROLE, "stop", DONE]),
    "refusal": ([START, RefusalDelta("No."), Finish("content_filter"), END], [ROLE, {"refusal": "No."}, "content_filter", DONE]),
    "a call": (
        [START, ToolCallStart(0, "toolu_1", "ls"), ToolCallDelta(0, '{"a"'), ToolCallDelta(0, ""), ToolCallDelta(0, ":1}"), ToolCallEnd(0),
         Finish("tool_calls"), END],
        [ROLE, begun(), more('{"a"'), more(":1}"), "tool_calls", DONE],
    ),
    "calls count from 0, whatever the events say": (
        [START, ToolCallStart(3, "a", "ls"), ToolCallEnd(3), ToolCallStart(5, "b", "ls"), ToolCallDelta(5, "{}"), ToolCallEnd(5),
         Finish("tool_calls"), END],
        [ROLE, begun(0, "a"), more("{}"), begun(1, "b"), more("{}", 1), "tool_calls", DONE],
    ),
    "interleaved": (
        [START, ToolCallStart(0, "a", "ls"), ToolCallStart(1, "b", "ls"), ToolCallDelta(1, "{"), ToolCallDelta(0, "{}"),
         ToolCallEnd(0), ToolCallDelta(1, "}"), ToolCallEnd(1), Finish("tool_calls"), END],
        [ROLE, begun(0, "a"), begun(1, "b"), more("{", 1), more("{}"), more("}", 1), "tool_calls", DONE],
    ),
    "behind the end of a call, and of none": (
        [START, ToolCallStart(0, "a", "ls"), ToolCallEnd(0), ToolCallDelta(0, "x"), ToolCallEnd(0), ToolCallDelta(7, "x"), ToolCallEnd(7), END],
        [ROLE, begun(0, "a"), more("{}"), "tool_calls", DONE],
    ),
    "no id": ([START, ToolCallStart(0, "", "ls"), ToolCallEnd(0), END], [ROLE, begun(0, CALL), more("{}"), "tool_calls", DONE]),
    "an id said twice": (
        [START, ToolCallStart(0, "a", "ls"), ToolCallEnd(0), ToolCallStart(1, "a", "ls"), ToolCallEnd(1), END],
        [ROLE, begun(0, "a"), more("{}"), begun(1, CALL), more("{}", 1), "tool_calls", DONE],
    ),
    "stop, and a call": ([ToolCallStart(0, "a", "ls"), ToolCallEnd(0), Finish("stop")], [{**ROLE, **begun(0, "a")}, more("{}"), "tool_calls", DONE]),
    "tool_calls, and none": ([START, TextDelta("a"), Finish("tool_calls")], [ROLE, {"content": "a"}, "stop", DONE]),
    "an unknown reason": ([START, TextDelta("a"), Finish("pause_turn")], [ROLE, {"content": "a"}, "stop", DONE]),
    "a call without end and arguments": (
        [START, ToolCallStart(0, "a", "ls"), Finish("tool_calls"), END], [ROLE, begun(0, "a"), more("{}"), "tool_calls", DONE],
    ),
    "a call that is broken off, and told as whole": (
        [START, ToolCallStart(0, "a", "ls"), ToolCallDelta(0, '{"a'), Finish("tool_calls"), END],
        [ROLE, begun(0, "a"), more('{"a'), error("A tool call of the upstream's answer was broken off.")],
    ),
    "a call that is broken off": (
        [START, ToolCallStart(0, "a", "ls"), Finish("length"), END], [ROLE, begun(0, "a"), "length", DONE],
    ),
    "custom": (
        [START, ToolCallStart(0, "a", "sh", kind="custom"), ToolCallDelta(0, "ls\n"), ToolCallEnd(0),
         ToolCallStart(1, "b", "sh", kind="custom"), ToolCallEnd(1), Finish("tool_calls"), END],
        [ROLE,
         {"tool_calls": [{"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh", "input": ""}}]},
         {"tool_calls": [{"index": 0, "custom": {"input": "ls\n"}}]},
         {"tool_calls": [{"index": 1, "id": "b", "type": "custom", "custom": {"name": "sh", "input": ""}}]},
         "tool_calls", DONE],
    ),
    "reasoning": (
        [START, ReasoningDelta("H"), ReasoningDelta("m"), ReasoningSeal(SIGNED), TextDelta("Hi"), ReasoningDelta("So"),
         ReasoningSeal(ITEM), Finish("stop"), END],
        [ROLE, thought("H"), thought("m"), seal(SIGNED), {"content": "Hi"}, thought("So", 1, "\n\n"), seal(ITEM, 1), "stop", DONE],
    ),
    "reasoning without text": (
        [START, ReasoningSeal(REDACTED), ReasoningDelta("H"), ReasoningSeal(SIGNED), Finish("stop"), END],
        [ROLE, {"reasoning_details": [{"type": "reasoning.encrypted", "data": envelope(REDACTED), "index": 0}]}, thought("H", 1),
         seal(SIGNED, 1), "stop", DONE],
    ),
    "details come as they were": (
        [START, ReasoningSeal(ReasoningState("details", '[{"type":"x","data":1}]')), ReasoningSeal(ReasoningState("details", "oops")), Finish("stop"), END],
        [ROLE, {"reasoning_details": [{"type": "x", "data": 1}]}, "stop", DONE],
    ),
    "another choice": ([START, TextDelta("x", 1), MessageStart(1), Finish("length", 1), TextDelta("Hi"), END], [ROLE, {"content": "Hi"}, "stop", DONE]),
    "text behind the reason": ([START, TextDelta("a"), Finish("stop"), TextDelta("b"), Finish("length"), END],
        [ROLE, {"content": "a"}, {"content": "b"}, "length", DONE]),
    "no reason": ([START, TextDelta("a"), END], [ROLE, {"content": "a"}, "stop", DONE]),
    "no end": ([START, TextDelta("a"), Finish("stop")], [ROLE, {"content": "a"}, "stop", DONE]),
    "a reason, and nothing said": (
        [Finish("stop"), END], [{**HEAD, "choices": [{"index": 0, "delta": ROLE, "finish_reason": "stop"}]}, DONE],
    ),
    "nothing said": ([START, END], [ROLE, EMPTY]),
    "nothing at all": ([], [CUT]),
    "neither reason nor end": ([START, TextDelta("a")], [ROLE, {"content": "a"}, CUT]),
    "an error": (
        [START, TextDelta("a"), StreamError("overloaded_error", "Overloaded", 529), TextDelta("b"), Finish("stop"), END],
        [ROLE, {"content": "a"}, error("Overloaded", "server_error", "server_is_overloaded")],
    ),
    "an error behind the reason": ([START, TextDelta("a"), Finish("stop"), StreamError("api_error", "x")], [ROLE, {"content": "a"}, error("x")]),
    "the reason is an error": ([START, TextDelta("a"), Finish("error"), END], [ROLE, {"content": "a"}, error("The upstream ended with an error.")]),
    "an error without words": ([StreamError("api_error", "")], [error("api_error")]),
    "behind the end": ([START, TextDelta("a"), END, TextDelta("b"), END, Finish("stop")], [ROLE, {"content": "a"}, "stop", DONE]),
}  # fmt: skip


def chunk(data: Any) -> Any:
    if data == DONE or "error" in data or "choices" in data:
        return data
    finish, delta = (data, {}) if isinstance(data, str) else (None, data)
    return {**HEAD, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def written(events: Sequence[Event], sizes: Sequence[int] = (1,), **request: Any) -> bytes:
    """A stream whose frames hold so many events, in turn."""
    made, out, at = writer(**request), [], 0
    while at < len(events):
        size = sizes[len(out) % len(sizes)]
        out.append(made.write(events[at : at + size]))
        at += size
    return b"".join(out) + made.close() + made.close()


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str) -> None:
    events, expected = STREAMS[name]
    body = written(events)
    told = [data if data == DONE else json.loads(data) for data in data_of(body)]
    assert told == [chunk(data) for data in expected]
    for sizes in ((100,), (2,), (3, 1)):
        assert written(events, sizes) == body


def test_the_reasoning_goes_where_it_is_wanted() -> None:
    made = writer(field="reasoning")
    assert json.loads(made.write([ReasoningDelta("Hm")])[6:])["choices"][0]["delta"]["reasoning"] == "Hm"


def test_usage_is_told_where_it_is_asked_for() -> None:
    asked = {"stream_options": {"include_usage": True}}
    said = [TextDelta("Hi"), Usage(1), Finish("stop"), USAGE, END]
    *_, usage, done = data_of(written(said, **asked))
    assert json.loads(usage) == {**HEAD, "choices": [], "usage": COUNTS}
    assert done == DONE
    for request in ({}, {"stream_options": None}, {"stream_options": {"include_usage": False}}):
        assert b'"usage"' not in written(said, **request)


def test_usage_that_nobody_told_is_estimated() -> None:
    rules: list[str] = []
    made = writer(rules, stream_options={"include_usage": True})
    answer = read(made.write([TextDelta("Hi there"), Finish("stop"), END]))
    assert answer.usage == {**COUNTS, "prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9,
                            "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                            "completion_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
    assert rules == ["usage_estimated"]


def test_signs_of_life_and_failures() -> None:
    made = writer()
    assert made.ping() == PING
    assert made.write([TextDelta("Hi")])
    assert made.ping() == PING
    assert made.fail("It broke.") == sse(json.dumps(error("It broke."), separators=(",", ":")))
    assert made.fail("It broke.") + made.write([TextDelta("x"), END]) + made.ping() + made.close() == b""
    done = writer()
    assert read(done.write([TextDelta("Hi"), END])).done
    assert done.fail("x") + done.ping() + done.close() == b""


def whole(message: dict[str, Any], finish: str, usage: dict[str, Any] = COUNTS) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "refusal": None, **message}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return {**HEAD, "object": "chat.completion", "choices": [choice], "usage": usage}


def called(arguments: str = "{}", id_: str = "a") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": "ls", "arguments": arguments}}


MESSAGES: dict[str, tuple[list[Event], dict[str, Any]]] = {
    "text": ([START, TextDelta("Hi"), TextDelta("!"), Finish("stop"), USAGE], whole({"content": "Hi!"}, "stop")),
    "refusal": ([RefusalDelta("No."), Finish("content_filter"), USAGE], whole({"refusal": "No."}, "content_filter")),
    "calls": (
        [ToolCallStart(1, "a", "ls"), ToolCallEnd(1), ToolCallStart(2, "b", "ls"), ToolCallDelta(2, '{"a":1}'), ToolCallEnd(2),
         ToolCallStart(3, "c", "sh", kind="custom"), ToolCallDelta(3, "ls"), ToolCallEnd(3), USAGE],
        whole({"tool_calls": [called(), called('{"a":1}', "b"), {"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]},
              "tool_calls"),
    ),
    "broken off": ([ToolCallStart(0, "a", "ls"), Finish("length"), USAGE], whole({"tool_calls": [called("")]}, "length")),
    "complete, and broken off": (
        [ToolCallStart(0, "a", "ls"), ToolCallEnd(0), Finish("length"), USAGE], whole({"tool_calls": [called()]}, "length"),
    ),
    "reasoning": (
        [ReasoningDelta("H"), ReasoningDelta("m"), ReasoningSeal(SIGNED), ReasoningSeal(REDACTED),
         ReasoningSeal(ReasoningState("details", '[{"type":"x"}]')), ReasoningDelta("."), TextDelta("Hi"), Finish("stop"), USAGE],
        whole({"content": "Hi", "reasoning_content": "Hm\n\n.", "reasoning_details": [
            {"type": "reasoning.text", "text": "Hm", "signature": envelope(SIGNED), "index": 0},
            {"type": "reasoning.encrypted", "data": envelope(REDACTED), "index": 1},
            {"type": "x"},
            {"type": "reasoning.text", "text": ".", "index": 3},
        ]}, "stop"),
    ),
    "nothing": ([START], EMPTY),
    "an error": ([TextDelta("x"), StreamError("rate_limit_error", "Slow.", 429)], error("Slow.", "rate_limit_error", "rate_limit_exceeded")),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name: str) -> None:
    events, expected = MESSAGES[name]
    assert json.loads(writer().message(events)) == expected


def test_the_usage_of_a_message_is_always_there() -> None:
    rules: list[str] = []
    answer = json.loads(writer(rules).message([TextDelta("Hi"), ToolCallStart(0, "a", "ls"), ToolCallDelta(0, "{}"), ToolCallEnd(0)]))
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"], rules) == (7, 1, ["usage_estimated"])


RUNS = [
    ("Hm.", SIGNED), ("", REDACTED), ("So.", ITEM), ("", ITEM), ("Well.", ReasoningState("plain")), ("é\ud83d", ReasoningState("signature", "\ud800")),
]  # fmt: skip


def events_of(runs: Sequence[tuple[str, ReasoningState]]) -> list[Event]:
    events: list[Event] = []
    for text, kept in runs:
        events += [*map(ReasoningDelta, text), ReasoningSeal(kept)]
    return [*events, TextDelta("Hi"), Finish("stop"), USAGE, END]


def sent_back(message: dict[str, Any]) -> list[tuple[str, ReasoningState | None]]:
    """The reasoning in a client's next request."""
    notes: list[str] = []
    conversation = chat_requests.read({"model": "m", "messages": [{"role": "user", "content": "x"}, message]}, notes)
    assert notes == []
    return [(part.text, part.seal) for turn in conversation.turns for part in turn.parts if isinstance(part, ThinkingPart)]


def test_seals_come_back_from_a_message() -> None:
    assert sent_back(json.loads(writer().message(events_of(RUNS)))["choices"][0]["message"]) == RUNS


def test_seals_come_back_from_a_stream() -> None:
    """However the client joins the pieces: as OpenRouter's do, or as openai's."""
    body = written(events_of(RUNS[:-1]))
    run = DetailRun()
    for data in data_of(body)[:-1]:
        run.add(json.loads(data)["choices"][0]["delta"].get("reasoning_details"))
    joined = run.seal()
    assert joined is not None
    said = {"role": "assistant", "content": "Hi", "reasoning_content": "Hm.So.Well."}
    assert sent_back({**said, "reasoning_details": json.loads(joined.data)}) == RUNS[:-1]
    assert sent_back(accumulate(body).message.to_dict()) == RUNS[:-1]


def accumulate(body: bytes) -> Any:
    """What openai's own accumulator makes of a stream. It raises on much that other clients accept."""
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter([body]))
    client = httpx2.Client(transport=httpx2.MockTransport(lambda _: answer))
    sdk = openai.OpenAI(api_key="none", base_url="http://test", http_client=client)
    with sdk.chat.completions.stream(model="m", messages=[{"role": "user", "content": "x"}]) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion().choices[0]


@pytest.mark.parametrize("name", [name for name, (_, said) in STREAMS.items() if DONE in said and not {"length", "content_filter"} & {each for each in said if isinstance(each, str)} and name != "custom"])
def test_the_sdk_understands_it(name: str) -> None:
    body = written(STREAMS[name][0])
    ours, final = read(body).only, accumulate(body)
    assert final.finish_reason == ours.finish_reasons[0]
    assert (final.message.content or "") == ours.content
    assert [(c.id, c.function.name, c.function.arguments) for c in final.message.tool_calls or ()] == [
        (c.id, c.name, c.arguments) for c in ours.calls
    ]


@pytest.mark.parametrize("name", [name for name, (_, said) in STREAMS.items() if DONE not in said])
def test_the_sdk_raises_what_is_an_error(name: str) -> None:
    with pytest.raises(openai.APIError):
        accumulate(written(STREAMS[name][0]))


# Any events

TEXT = st.text(max_size=6)
OBJECTS = st.dictionaries(TEXT, st.none() | st.booleans() | st.integers() | TEXT, max_size=3).map(json.dumps)
INDEX = st.integers(0, 3)
LOOSE = st.one_of(
    st.just(START),
    st.builds(TextDelta, TEXT, st.sampled_from([0, 0, 0, 1])),
    st.builds(ReasoningDelta, TEXT),
    st.builds(RefusalDelta, TEXT),
    st.builds(ReasoningSeal, st.builds(ReasoningState, st.sampled_from(["signature", "redacted", "encrypted", "details", "plain"]), TEXT)),
    st.builds(Usage, st.integers(0, 9), st.integers(0, 9)),
    st.builds(ToolCallDelta, st.integers(4, 6), TEXT),  # of no call
    st.builds(ToolCallEnd, INDEX),
)
LAST = st.sampled_from([Finish("stop"), Finish("length"), Finish("error"), Finish("tool_calls"), END, StreamError("api_error", "x")])


@st.composite
def calls(draw: st.DrawFn, index: int) -> list[Event]:
    """One call in pieces, its end maybe missing; a piece of the arguments, too, if it has none."""
    text = draw(OBJECTS | st.just(""))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    end: list[Event] = [ToolCallEnd(index)] if draw(st.booleans()) else []
    return [ToolCallStart(index, f"id_{index}", draw(st.sampled_from(["ls", "cat"]))), *(ToolCallDelta(index, p) for p in pieces), *end]


@st.composite
def any_events(draw: st.DrawFn) -> list[Event]:
    """Threads of events, woven into one."""
    threads = [draw(st.lists(LOOSE, max_size=8)), draw(st.lists(LAST, max_size=3))]
    threads += [draw(calls(index)) for index in range(draw(INDEX))]
    events: list[Event] = []
    while threads := [thread for thread in threads if thread]:
        events.append(draw(st.sampled_from(threads)).pop(0))
    return events


def paragraphs(events: list[Event]) -> str:
    """The reasoning, of which each seal ends a paragraph."""
    runs = [""]
    for event in events:
        if isinstance(event, ReasoningDelta):
            runs[-1] += event.text
        elif isinstance(event, ReasoningSeal):
            runs.append("")
    return "\n\n".join(filter(None, runs))


@example([ReasoningDelta("0"), ReasoningSeal(ReasoningState("signature", "")), ReasoningDelta("0")], [1], False)
@given(any_events(), st.lists(st.integers(1, 4), min_size=1, max_size=3), st.booleans())
def test_any_events_make_a_legal_stream(events: list[Event], sizes: list[int], asked: bool) -> None:
    request = {"stream_options": {"include_usage": asked}}
    body = written(events, sizes, **request)
    assert body == written(events, **request)
    answer = read(body)
    assert answer.all_faults == []
    assert answer.other == []
    sent = [json.loads(data) for data in data_of(body) if data != DONE]
    failed = [data for data in sent if "error" in data]
    assert all({**data, **HEAD} == data for data in sent if data not in failed)
    heard = events[: events.index(END) if END in events else None]
    if answer.done:
        assert not failed
        assert len(answer.only.finish_reasons) == 1
        assert bool(answer.usage) == asked
        assert not any(isinstance(event, StreamError) for event in heard)
    else:
        assert failed == sent[-1:]
        assert not any(choice.finish_reasons for choice in answer.choices.values())
    if not any(isinstance(event, StreamError) for event in heard):
        choice = answer.choices.get(0, Choice())
        assert choice.content == "".join(event.text for event in heard if isinstance(event, TextDelta) and not event.choice)
        assert choice.reasoning == paragraphs(heard)
        assert len(choice.calls) == sum(isinstance(event, ToolCallStart) for event in heard)


@given(any_events())
def test_our_own_decoder_reads_it_back(events: list[Event]) -> None:
    """Two proxies in a row: what the writer says is regular."""
    rules: list[str] = []
    codec = Chat(Reply(tools.UNKNOWN, lambda: "call_0", rules.append))
    body = written(events)
    decoder = SseDecoder()
    frames = [codec.decode(each) for each in [*decoder.feed(body), *decoder.close()]]
    assert b"".join(codec.encode(frame) for frame in frames if not frame.touched) == body
    assert rules == []
