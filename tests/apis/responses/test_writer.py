"""The writer of OpenAI Responses: whatever events it gets, the strict reader has nothing to say against what it writes."""

import json
from collections.abc import Sequence
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from tests.support.answers import Answer, Call
from tests.support.judges.responses import read, whole
from toolmend.apis.codec import Reply
from toolmend.apis.responses import writer as responses_write
from toolmend.apis.responses.writer import ResponsesWriter
from toolmend.core import reasoning_state
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
from toolmend.core.reasoning_state import ReasoningState
from toolmend.core.tools import UNKNOWN

REQUEST: dict[str, Any] = {
    "model": "gpt-5-codex",
    "instructions": "Be brief.",
    "tools": [{"type": "function", "name": "task", "parameters": {"type": "object"}}],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "include": ["reasoning.encrypted_content"],
    "metadata": {"a": "b"},
    "temperature": True,  # not a number: not echoed
}
USAGE = Usage(100, 20, 60, 30, 5)
END = (Finish("stop"), USAGE, MessageEnd())
CALL = (ToolCallStart(0, "call_a", "task"), ToolCallDelta(0, '{"x"'), ToolCallDelta(0, ":1}"), ToolCallEnd(0))
PLAIN = reasoning_state.envelope(ReasoningState("plain"))


def writer(fired: list[str] | None = None, request: dict[str, Any] = REQUEST) -> ResponsesWriter:
    numbers = iter(range(1_000_000))
    told = [] if fired is None else fired
    new_id = lambda: f"call_{0x0199_0000_0000_7000_8000 << 48 | next(numbers):032x}"  # noqa: E731
    return ResponsesWriter(Reply(UNKNOWN, new_id, told.append, request, input_tokens=7))


def streamed(events: Sequence[Event], **more: Any) -> bytes:
    made = writer(**more)
    return b"".join([made.write([event]) for event in events]) + made.close()


def answer(events: Sequence[Event]) -> Answer:
    """What a client makes of the events, sent one by one; the same as if they came at once, or whole."""
    body = streamed(events)
    told = read(body)
    assert told.faults == []
    made = writer()
    assert made.write(events) + made.close() == body
    if MessageEnd() in events:
        message = whole(writer().message(events))
        assert message.faults == []
        assert (message.text, message.calls, message.stop_reason, message.order) == (told.text, told.calls, told.stop_reason, told.order)
    return told


def data(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")]


def types(body: bytes) -> list[str]:
    return [event["type"].removeprefix("response.") for event in data(body)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([TextDelta("Hi"), TextDelta(" you")], {"text": "Hi you", "order": ["message"]}),
        ([TextDelta("No"), RefusalDelta("I"), RefusalDelta(" can't")], {"text": "No", "refusal": "I can't", "order": ["message"]}),
        ([ReasoningDelta("Hm"), TextDelta("Hi")], {"reasoning": "Hm", "text": "Hi", "order": ["reasoning", "message"]}),
        ([ReasoningDelta("a"), TextDelta("b"), ReasoningDelta("c")], {"reasoning": "ac", "order": ["reasoning", "message", "reasoning"]}),
        ([ReasoningDelta("a"), ReasoningSeal(ReasoningState("plain")), ReasoningDelta("b")], {"seals": [PLAIN, ""]}),
        ([ReasoningSeal(ReasoningState("redacted", "xyz"))], {"seals": [reasoning_state.envelope(ReasoningState("redacted", "xyz"))]}),
        ([ReasoningDelta("a"), ReasoningSeal(ReasoningState("encrypted", '{"id":"rs_0","encrypted_content":"gAAA"}'))], {"seals": ["gAAA"]}),
        *(
            ([ReasoningDelta("a"), ReasoningSeal(ReasoningState("encrypted", broken))], {"seals": [reasoning_state.envelope(ReasoningState("encrypted", broken))]})
            for broken in ("{", "[]", '{"encrypted_content":7}')
        ),
        ([TextDelta(""), TextDelta("Hi"), TextDelta("")], {"text": "Hi"}),
        ([TextDelta("Hi"), TextDelta("other", 1)], {"text": "Hi"}),
        ([TextDelta("a"), *CALL, TextDelta("b")], {"text": "ab", "order": ["message", "function_call", "message"]}),
        (CALL, {"calls": [Call("call_a", "task", '{"x":1}')]}),
        ([ToolCallStart(0, "call_a", "task"), ToolCallEnd(0)], {"calls": [Call("call_a", "task", "{}")]}),
        ([ToolCallStart(0, "c", "patch", kind="custom"), ToolCallDelta(0, '*** "'), ToolCallEnd(0)], {"calls": [Call("c", "patch", '*** "', "custom")]}),
        ([ToolCallStart(0, "c", "patch", kind="custom"), ToolCallEnd(0)], {"calls": [Call("c", "patch", "", "custom")]}),
        (
            [  # interleaved: the second waits for the end of the first, and so does text
                ToolCallStart(0, "c0", "task"), ToolCallStart(1, "c1", "task"), ToolCallDelta(1, '{"b":'), ToolCallDelta(0, "{"),
                TextDelta("be"), TextDelta("tween"), ToolCallStart(2, "c2", "task"), ToolCallDelta(1, "2}"), ToolCallEnd(1),
                ToolCallDelta(0, "}"), ToolCallEnd(0), ToolCallDelta(2, '{"c":3}'), ToolCallEnd(2),
            ],
            {
                "calls": [Call("c0", "task", "{}"), Call("c1", "task", '{"b":2}'), Call("c2", "task", '{"c":3}')],
                "order": ["function_call", "function_call", "message", "function_call"],
                "text": "between",
            },
        ),
        ([ToolCallDelta(4, "{}"), ToolCallEnd(4), TextDelta("Hi")], {"order": ["message"], "calls": []}),
    ],
)  # fmt: skip
def test_items(events: list[Event], expected: dict[str, Any]) -> None:
    told = answer([MessageStart(), *events, *END])
    assert told.stop_reason == "completed"
    assert {name: getattr(told, name) for name in expected} == expected
    assert told.usage == {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 120,
    }


HALF = (ToolCallStart(0, "call_a", "task"), ToolCallDelta(0, '{"x'))
OTHER = (ToolCallStart(1, "call_b", "task"), ToolCallDelta(1, "{}"), ToolCallEnd(1))


@pytest.mark.parametrize(
    ("events", "stop"),
    [
        ([TextDelta("Hi"), *END], "completed"),
        ([*CALL, Finish("tool_calls"), MessageEnd()], "completed"),
        ([*CALL, Finish("stop")], "completed"),
        ([*CALL, MessageEnd()], "completed"),
        ([TextDelta("Hi"), Finish("eos"), MessageEnd()], "completed"),
        ([Finish("stop"), MessageEnd()], "completed"),
        ([TextDelta("Hi"), Finish("length"), MessageEnd()], "incomplete/max_output_tokens"),
        ([Finish("length"), TextDelta("late"), MessageEnd()], "incomplete/max_output_tokens"),
        ([TextDelta("Hi"), Finish("content_filter"), MessageEnd()], "incomplete/content_filter"),
        ([*HALF, Finish("length"), MessageEnd()], "incomplete/max_output_tokens"),
        ([*HALF, ToolCallStart(1, "call_b", "task"), Finish("length"), MessageEnd()], "incomplete/max_output_tokens"),
        ([*HALF, *OTHER, Finish("length"), MessageEnd()], "failed"),
        ([*HALF, Finish("tool_calls"), MessageEnd()], "failed"),
        ([*HALF, MessageEnd()], "failed"),
        ([*HALF], "failed"),
        ([TextDelta("Hi")], "failed"),
        ([MessageStart(), MessageEnd()], "failed"),
        ([MessageStart()], "failed"),
        ([], "failed"),
        ([TextDelta("Hi"), Finish("error"), MessageEnd()], "failed"),
        ([TextDelta("Hi"), StreamError("server_error", "no"), TextDelta("more"), *END], "failed"),
    ],
)
def test_ends(events: list[Event], stop: str) -> None:
    body = streamed(events)
    told = read(body)
    assert (told.faults, told.stop_reason) == ([], stop)
    assert len([event for event in types(body) if event in ("completed", "incomplete", "failed")]) == 1


def test_a_call_that_is_broken_off_keeps_its_arguments_as_they_came() -> None:
    item = data(streamed([*HALF, Finish("length"), MessageEnd()]))[-1]["response"]["output"][0]
    assert (item["status"], item["arguments"], item["call_id"]) == ("incomplete", '{"x', "call_a")
    assert "output_item.done" not in types(streamed([*HALF]))


WAITS = (TextDelta("Hi"), ReasoningDelta("Hm"), *OTHER, ToolCallStart(2, "call_c", "task"), ToolCallDelta(2, '{"y'))


B, C = Call("call_b", "task", "{}"), Call("call_c", "task", '{"y')


@pytest.mark.parametrize(
    "end",
    [(StreamError("error", "no", 500),), (Finish("stop"), MessageEnd()), (Finish("length"), MessageEnd()), ()],
    ids=["error", "stop", "length", "cut"],
)
@pytest.mark.parametrize(("waits", "text", "calls"), [(WAITS, "Hi", [B, C]), (WAITS[-2:], "", [C])], ids=["all", "half a call"])
def test_what_waits_for_a_call_that_never_ends_is_said(
    end: tuple[Event, ...], waits: tuple[Event, ...], text: str, calls: list[Call]
) -> None:
    told = read(streamed([*HALF, *waits, *end]))
    assert (told.faults, told.stop_reason, told.text) == ([], "failed", text)
    assert told.calls == [Call("call_a", "task", '{"x'), *calls]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StreamError("error", "no", 429), "rate_limit_exceeded"),
        (StreamError("error", "no", 500), "server_error"),
        (StreamError("error", "", 503), "server_is_overloaded"),
        (StreamError("overloaded_error", "Overloaded"), "server_is_overloaded"),
        (StreamError("error", "This model's maximum context length is 5 tokens", 400), "context_length_exceeded"),
        (StreamError("invalid_request_error", "prompt is too long: 9 tokens > 5 maximum"), "context_length_exceeded"),
        (StreamError("invalid_request_error", "no", 400), "invalid_prompt"),
        (StreamError("insufficient_quota", "pay"), "insufficient_quota"),
        (StreamError("strange", "who knows"), "server_error"),
    ],
)
def test_errors(error: StreamError, code: str) -> None:
    told = read(streamed([TextDelta("Hi"), error]))
    assert told.faults == []
    assert told.error == {"code": code, "message": error.message or "The upstream reports an error."}


def test_the_response_object_echoes_the_request() -> None:
    first = data(streamed([TextDelta("Hi"), *END]))[0]["response"]
    for name in ("model", "instructions", "tools", "tool_choice", "parallel_tool_calls", "metadata"):
        assert first[name] == REQUEST[name]
    assert (first["temperature"], first["text"], first["created_at"]) == (None, {"format": {"type": "text"}}, 0x0199_0000_0000 // 1000)
    assert first["id"].startswith("resp_")


def test_no_usage_is_estimated_and_told() -> None:
    fired: list[str] = []
    told = read(streamed([TextDelta("x" * 10), Finish("stop"), MessageEnd()], fired=fired))
    assert fired == ["usage_estimated"]
    assert told.usage
    assert (told.usage["input_tokens"], told.usage["output_tokens"], told.usage["total_tokens"]) == (7, 3, 10)


def test_ids_that_are_missing_or_told_twice_are_made() -> None:
    told = answer([ToolCallStart(0, "", "task"), ToolCallEnd(0), *OTHER, ToolCallStart(2, "call_b", "task"), ToolCallEnd(2), *END])
    ids = [call.id for call in told.calls]
    assert len(set(ids)) == 3
    assert ids[1] == "call_b"


def test_a_namespace_is_told() -> None:
    body = streamed([ToolCallStart(0, "c", "task", extra={"namespace": "mcp", "id": "x"}), ToolCallEnd(0), *END])
    item = data(body)[-1]["response"]["output"][0]
    assert (item["namespace"], item["id"][:3]) == ("mcp", "fc_")


def test_half_a_surrogate_pair_is_escaped() -> None:
    body = streamed([TextDelta("\ud83d"), TextDelta("\ude00 \u2028"), *END])
    deltas = [event["delta"] for event in data(body) if "delta" in event]
    assert deltas == ["\ud83d", "\ude00 \u2028"]
    assert data(body)[-1]["response"]["output"][0]["content"][0]["text"] == "\U0001f600 \u2028"


def test_ping_fail_and_what_comes_behind_the_end() -> None:
    made = writer()
    assert made.ping() == b": keep-alive\n\n"
    assert made.write([]) == b""
    body = made.write([TextDelta("Hi")]) + made.ping() + made.fail("it broke")
    told = read(body)
    assert (told.faults, told.stop_reason, told.error) == ([], "failed", {"code": "server_error", "message": "it broke"})
    assert made.ping() + made.fail("again") + made.write([TextDelta("x")]) + made.close() == b""
    assert read(writer().fail("at once")).faults == []


def test_what_is_too_long_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses_write, "MAX_KEPT", 10)
    told = read(streamed([TextDelta("12345"), TextDelta("678901"), *END]))
    assert (told.faults, told.stop_reason, told.text) == ([], "failed", "12345678901")


def test_many_calls_that_wait_for_one() -> None:
    """They are written one behind the other, not one inside the other."""
    others = [event for n in range(1, 2000) for event in (ToolCallStart(n, f"c{n}", "task"), ToolCallEnd(n))]
    told = read(streamed([ToolCallStart(0, "c0", "task"), *others, ToolCallEnd(0), *END]))
    assert told.faults == []
    assert [call.id for call in told.calls] == [f"c{n}" for n in range(2000)]


def test_the_sdk_reads_it() -> None:
    """openai's own accumulator, from the network up."""
    events = [ReasoningDelta("Hm"), ReasoningSeal(ReasoningState("plain")), TextDelta("Hi"), *CALL, ToolCallStart(1, "b", "patch", kind="custom"), ToolCallDelta(1, "*"), ToolCallEnd(1)]
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=streamed([*events, *END]))
    client = httpx2.Client(transport=httpx2.MockTransport(lambda _: answer))
    sdk = openai.OpenAI(api_key="none", base_url="http://test", http_client=client)
    with sdk.responses.stream(model="m", input="x") as stream:
        final = stream.until_done().get_final_response()
    assert final.output_text == "Hi"
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call", "custom_tool_call"]
    assert final.usage
    assert final.usage.input_tokens_details.cache_write_tokens == 30
    assert [item.to_dict().get("arguments", item.to_dict().get("input")) for item in final.output[2:]] == ['{"x":1}', "*"]


def test_openais_types_take_the_response() -> None:
    """Not the SDK's lenient reader: its types, strictly."""
    body = streamed([ReasoningDelta("Hm"), TextDelta("Hi"), RefusalDelta("no"), *CALL, *END])
    for event in data(body):
        TypeAdapter(ResponseStreamEvent).validate_python(event, strict=True)


# any sequence of events

KINDS = st.sampled_from(["text", "reason", "refuse", "seal", "start", "delta", "end", "other"])


@st.composite
def sequences(draw: st.DrawFn) -> list[Event]:
    """Events as codecs make them: a call's index is its own, and the arguments that are complete are an object."""
    events: list[Event] = [MessageStart()]
    left: dict[int, list[str]] = {}
    for number, kind in enumerate(draw(st.lists(KINDS, max_size=30))):
        text = draw(st.text(max_size=4))
        match kind:
            case "text":
                events.append(TextDelta(text))
            case "reason":
                events.append(ReasoningDelta(text))
            case "refuse":
                events.append(RefusalDelta(text))
            case "seal":
                events.append(ReasoningSeal(ReasoningState(draw(st.sampled_from(["plain", "details", "signature", "encrypted"])), text)))
            case "start":
                left[number] = ["{", '"k":', json.dumps(text), "}"] if draw(st.booleans()) else []
                events.append(ToolCallStart(number, draw(st.sampled_from(["", "a", f"id{number}"])), "task"))
            case "delta" if left:
                index = draw(st.sampled_from(sorted(left)))
                if left[index]:
                    events.append(ToolCallDelta(index, left[index].pop(0)))
            case "end" if left:
                index = draw(st.sampled_from(sorted(left)))
                events += [ToolCallDelta(index, piece) for piece in left.pop(index)]
                events.append(ToolCallEnd(index))
            case _:
                events.append(draw(st.sampled_from([TextDelta("other", 1), Finish("stop"), Finish("length"), Finish("content_filter"), USAGE])))
    ends: list[Event] = [Finish("stop"), Finish("length"), Finish("error"), StreamError("x", "y"), MessageEnd(), USAGE]
    return events + draw(st.lists(st.sampled_from(ends), max_size=3))


@given(sequences())
def test_any_sequence_of_events_is_a_legal_stream(events: list[Event]) -> None:
    told = read(streamed(events))
    assert told.faults == []
    said = "".join(event.text for event in events if isinstance(event, TextDelta) and not event.choice)
    if told.stop_reason == "completed":
        assert told.text == said
        ends = [event.index for event in events if isinstance(event, ToolCallEnd)]
        assert len(told.calls) == len(ends)
    message = writer().message(events)
    assert whole(message).faults == []
