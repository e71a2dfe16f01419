"""writer.py: events of any upstream, for a client of Messages."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.judges import messages as judge
from tests.support.messages_events import CALLED, END, PLAIN, START, STOP, call, streamed, told, writer
from toolmend.apis.messages.errors import error_type, status_of
from toolmend.core.events import (
    Event,
    Finish,
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
from toolmend.core.reasoning_state import ReasoningState, envelope, opened

CITY = '{"city": "Bonn"}'


TEXT: list[Event] = [TextDelta("Hi"), TextDelta("!")]
EMPTY, CUT = "api_error: the upstream's answer is empty", "api_error: the upstream's answer was cut off"
BROKEN = "api_error: a tool call of the upstream's answer was broken off"
UNREADABLE = "api_error: the arguments of the upstream's call of f are no JSON object"

STREAMS: dict[str, tuple[list[Event], list[str]]] = {
    "text": ([START, *TEXT, STOP, END], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "end_turn", ")"]),
    "no start": ([*TEXT, STOP, END], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "end_turn", ")"]),
    "no end": ([START, *TEXT, STOP], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "end_turn", ")"]),
    "no finish": ([START, *TEXT, END], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "end_turn", ")"]),
    "neither": ([START, *TEXT], ["(", ".", "+0 text", "0 Hi", "0 !", CUT]),
    "nothing": ([], [EMPTY]),
    "an end, and nothing else": ([END], [EMPTY]),
    "no word, no reason": ([START, END], ["(", ".", EMPTY]),
    "no word, but a reason": ([START, STOP, END], ["(", ".", "end_turn", ")"]),
    "empty pieces": ([START, TextDelta(""), ReasoningDelta(""), TextDelta("a"), STOP], ["(", ".", "+0 text", "0 a", "-0", "end_turn", ")"]),
    "behind the end": ([*TEXT, STOP, END, TextDelta("?"), END, STOP], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "end_turn", ")"]),
    "behind the reason": ([STOP, TextDelta("a"), Usage(1, 1), END], ["(", ".", "+0 text", "0 a", "-0", "end_turn", ")"]),
    "another choice": ([TextDelta("a"), TextDelta("b", 1), Finish("length", 1), STOP], ["(", ".", "+0 text", "0 a", "-0", "end_turn", ")"]),
    "thinking without a seal": (
        [ReasoningDelta("a"), ReasoningDelta("b"), *TEXT, STOP],
        ["(", ".", "+0 thinking", "0 a", "0 b", f"0 ~{PLAIN}", "-0", "+1 text", "1 Hi", "1 !", "-1", "end_turn", ")"],
    ),
    "thinking with a signature": (
        [ReasoningDelta("a"), ReasoningSeal(ReasoningState("signature", "s")), TextDelta("b"), STOP],
        ["(", ".", "+0 thinking", "0 a", "0 ~s", "-0", "+1 text", "1 b", "-1", "end_turn", ")"],
    ),
    "runs of thinking": (
        [ReasoningDelta("a"), *call(0, "{}"), ReasoningDelta("b"), ReasoningSeal(ReasoningState("details", "[]")), ReasoningDelta("c"), CALLED],
        ["(", ".", "+0 thinking", "0 a", f"0 ~{PLAIN}", "-0", "+1 tool_use c0 f", "1 {}", "-1", "+2 thinking", "2 b",
         f"2 ~{envelope(ReasoningState('details', '[]'))}", "-2", "+3 thinking", "3 c", f"3 ~{PLAIN}", "-3", "tool_use", ")"],
    ),
    "a seal of nothing that can be read": (
        [ReasoningSeal(ReasoningState("encrypted", "{}")), TextDelta("b"), STOP],
        ["(", ".", "+0 thinking", f"0 ~{envelope(ReasoningState('encrypted', '{}'))}", "-0", "+1 text", "1 b", "-1", "end_turn", ")"],
    ),
    "a plain seal of nothing": ([ReasoningSeal(ReasoningState("plain")), TextDelta("b"), STOP], ["(", ".", "+0 text", "0 b", "-0", "end_turn", ")"]),
    "seals that say nothing": (
        [ReasoningSeal(ReasoningState("redacted", "")), ReasoningSeal(ReasoningState("signature", "")), TextDelta("b"), STOP],
        ["(", ".", "+0 text", "0 b", "-0", "end_turn", ")"],
    ),
    "redacted thinking": (
        [ReasoningDelta("a"), ReasoningSeal(ReasoningState("redacted", "x")), TextDelta("b"), STOP],
        ["(", ".", "+0 thinking", "0 a", f"0 ~{PLAIN}", "-0", "+1 redacted_thinking x", "-1", "+2 text", "2 b", "-2", "end_turn", ")"],
    ),
    "a call": ([START, *call(0, '{"city": ', '"Bonn"}'), CALLED, END], ["(", ".", "+0 tool_use c0 f", '0 {"city": ', '0 "Bonn"}', "-0", "tool_use", ")"]),
    "a call and the reason stop": ([*TEXT, *call(0, CITY), STOP], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "+1 tool_use c0 f", f"1 {CITY}", "-1", "tool_use", ")"]),
    "a reason without its call": ([*TEXT, CALLED], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "end_turn", ")"]),
    "a call without arguments": ([*call(0), CALLED], ["(", ".", "+0 tool_use c0 f", "-0", "tool_use", ")"]),
    "blank arguments": ([*call(0, " ", "\n"), CALLED], ["(", ".", "+0 tool_use c0 f", "-0", "tool_use", ")"]),
    "blanks around the arguments": ([*call(0, " ", " {}", "\n"), CALLED], ["(", ".", "+0 tool_use c0 f", "0 {}", "0 \n", "-0", "tool_use", ")"]),
    "no id": ([*call(0, id_=""), *call(1, id_="a"), *call(2, id_="a"), CALLED],
              ["(", ".", f"+0 tool_use toolu_{1:032x} f", "-0", "+1 tool_use a f", "-1", f"+2 tool_use toolu_{2:032x} f", "-2", "tool_use", ")"]),
    "parallel calls": (
        [*call(0, ends=False), *call(1, ends=False), ToolCallDelta(1, "{"), ToolCallDelta(0, "{"), ToolCallDelta(1, "}"), ToolCallEnd(1),
         ToolCallDelta(0, "}"), ToolCallEnd(0), CALLED],
        ["(", ".", "+0 tool_use c0 f", "0 {", "0 }", "-0", "+1 tool_use c1 f", "1 {", "1 }", "-1", "tool_use", ")"],
    ),
    "text while a call is open": (
        [*call(0, "{", ends=False), TextDelta("a"), ToolCallDelta(0, "}"), TextDelta("b"), ToolCallEnd(0), TextDelta("c"), CALLED],
        ["(", ".", "+0 tool_use c0 f", "0 {", "0 }", "-0", "+1 text", "1 a", "1 b", "1 c", "-1", "tool_use", ")"],
    ),
    "an index again": ([*call(0, "{}", ends=False), *call(0, "{}", id_="d"), CALLED],
                       ["(", ".", "+0 tool_use c0 f", "0 {}", "-0", "+1 tool_use d f", "1 {}", "-1", "tool_use", ")"]),
    "a delta of no call": ([ToolCallDelta(3, "{}"), ToolCallEnd(4), *TEXT, STOP], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "end_turn", ")"]),
    "whole arguments whose end was not told": ([*call(0, "{}", ends=False), CALLED], ["(", ".", "+0 tool_use c0 f", "0 {}", BROKEN]),
    "broken off for the length": ([*call(0, '{"a', ends=False), Finish("length"), END], ["(", ".", "+0 tool_use c0 f", '0 {"a', "-0", "max_tokens", ")"]),
    "broken off in front of the arguments": ([*TEXT, *call(0, ends=False), Finish("length")], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "max_tokens", ")"]),
    "two that are broken off": (
        [*call(0, "{", ends=False), *call(1, "{", ends=False), TextDelta("a"), Finish("length")],
        ["(", ".", "+0 tool_use c0 f", "0 {", "-0", "+1 text", "1 a", "-1", "max_tokens", ")"],
    ),
    "a whole one between two that are broken off": (
        [*call(0, "{", ends=False), *call(1, "{}"), *call(2, ends=False), TextDelta("a"), Finish("length")],
        ["(", ".", "+0 tool_use c0 f", "0 {", "-0", "+1 tool_use c1 f", "1 {}", "-1", "+2 text", "2 a", "-2", "max_tokens", ")"],
    ),
    "broken off, and told as whole": ([*call(0, "{", ends=False), CALLED, END], ["(", ".", "+0 tool_use c0 f", "0 {", BROKEN]),
    "no argument at all, and told as whole": ([*call(0, ends=False), CALLED, END], ["(", ".", UNREADABLE]),
    "arguments that are no JSON": ([*call(0, "{'a': 1}"), TextDelta("a"), CALLED, END], ["(", ".", "+0 tool_use c0 f", "0 {'a': 1}", "-0", UNREADABLE]),
    "arguments that are no object": ([*call(0, "[1]"), CALLED, END], ["(", ".", "+0 tool_use c0 f", "0 [1]", "-0", UNREADABLE]),
    "half a character": (
        [*call(0, '{"a": "\ud83d', '\ude00"}'), CALLED],
        ["(", ".", "+0 tool_use c0 f", '0 {"a": "\\ud83d', '0 \\ude00"}', "-0", "tool_use", ")"],
    ),
    "a refusal": ([RefusalDelta("No"), RefusalDelta("."), STOP], ["(", ".", "+0 text", "0 No", "0 .", "-0", "refusal", ")"]),
    "the filter": ([*TEXT, Finish("content_filter")], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "refusal", ")"]),
    "the filter, in a call": (
        [*TEXT, *call(0, '{"a": ', ends=False), Finish("content_filter")],
        ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "+1 tool_use c0 f", '1 {"a": ', "-1", "refusal", ")"],
    ),
    "a stop sequence": ([*TEXT, Finish("stop", stop_sequence="x")], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "stop_sequence", ")"]),
    "a stop sequence behind a call": ([*call(0), Finish("stop", stop_sequence="x")], ["(", ".", "+0 tool_use c0 f", "-0", "tool_use", ")"]),
    "an unknown word": ([*TEXT, Finish("eos")], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "end_turn", ")"]),
    "the older word": ([*call(0), Finish("function_call")], ["(", ".", "+0 tool_use c0 f", "-0", "tool_use", ")"]),
    "the reason error": ([*TEXT, Finish("error"), END], ["(", ".", "+0 text", "0 Hi", "0 !", "api_error: the upstream's answer ended in an error"]),
    "the last reason counts": ([*TEXT, STOP, Finish("length")], ["(", ".", "+0 text", "0 Hi", "0 !", "-0", "max_tokens", ")"]),
    "an error": ([*TEXT, StreamError("x", "Slow down", 429), TextDelta("?"), STOP, END], ["(", ".", "+0 text", "0 Hi", "0 !", "rate_limit_error: Slow down"]),
    "an error, and its reason": ([TextDelta("a"), Finish("error"), StreamError("x", "", 502)], ["(", ".", "+0 text", "0 a", "api_error: api_error"]),
    "an error while a call is open": ([*call(0, "{", ends=False), StreamError("x", "", 502)], ["(", ".", "+0 tool_use c0 f", "0 {", "api_error: api_error"]),
    "an error while text waits for a call": (
        [*call(0, "{", ends=False), TextDelta("a"), *call(1), *call(2, "{", ends=False), StreamError("x", "", 502)],
        ["(", ".", "+0 tool_use c0 f", "0 {", "-0", "+1 text", "1 a", "-1", "+2 tool_use c1 f", "-2", "+3 tool_use c2 f", "3 {", "-3", "api_error: api_error"],
    ),
    "cut off while text waits for a call": (
        [*call(0, "{", ends=False), TextDelta("a")], ["(", ".", "+0 tool_use c0 f", "0 {", "-0", "+1 text", "1 a", "-1", CUT],
    ),
    "nothing but an error": ([StreamError("overloaded", "")], ["overloaded_error: overloaded_error"]),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str) -> None:
    events, expected = STREAMS[name]
    body = streamed(events)
    assert told(body) == expected
    assert judge.read(body).faults == []
    at_once = writer()
    assert at_once.write(events) + at_once.close() == body


WHOLE: dict[str, tuple[list[Event], list[Any], str]] = {
    "in order: thinking, text, calls": (
        [*call(0, CITY), TextDelta("a"), ReasoningDelta("t"), ReasoningSeal(ReasoningState("signature", "s")), TextDelta("b"), *call(1), STOP],
        [
            {"type": "thinking", "thinking": "t", "signature": "s"},
            {"type": "text", "text": "ab"},
            {"type": "tool_use", "id": "c0", "name": "f", "input": {"city": "Bonn"}},
            {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
        ],
        "tool_use",
    ),
    "seals": (
        [ReasoningDelta("t"), ReasoningSeal(ReasoningState("redacted", "x")), ReasoningSeal(ReasoningState("encrypted", "{}")), ReasoningDelta("u"), STOP],
        [
            {"type": "thinking", "thinking": "t", "signature": PLAIN},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "thinking", "thinking": "", "signature": envelope(ReasoningState("encrypted", "{}"))},
            {"type": "thinking", "thinking": "u", "signature": PLAIN},
        ],
        "end_turn",
    ),
    "a refusal": ([RefusalDelta("No."), STOP], [{"type": "text", "text": "No."}], "refusal"),
    "no reason": ([TextDelta("a")], [{"type": "text", "text": "a"}], "end_turn"),
    "nothing": ([START, STOP], [], "end_turn"),
    "a reason without its call": ([CALLED], [], "end_turn"),
    "a call that is broken off": ([TextDelta("a"), *call(0, "{", ends=False), Finish("length")], [{"type": "text", "text": "a"}], "max_tokens"),
    "a stop sequence": ([TextDelta("a"), Finish("stop", stop_sequence="x")], [{"type": "text", "text": "a"}], "stop_sequence"),
    "ids": (
        [*call(0, id_="a"), *call(1, id_="a"), *call(2, id_=""), STOP],
        [{"type": "tool_use", "id": id_, "name": "f", "input": {}} for id_ in ("a", f"toolu_{0:032x}", f"toolu_{1:032x}")],
        "tool_use",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_whole_messages(name: str) -> None:
    events, content, reason = WHOLE[name]
    body = writer().message(events)
    message = json.loads(body)
    assert (message["content"], message["stop_reason"]) == (content, reason)
    assert judge.whole(body).faults == []


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], EMPTY),
        ([START], EMPTY),
        ([TextDelta("a"), *call(0, "{}", ends=False), CALLED], BROKEN),
        ([TextDelta("a"), *call(0, "[]"), Finish("length")], UNREADABLE),
        ([TextDelta("a"), Finish("error")], "api_error: the upstream's answer ended in an error"),
        ([TextDelta("a"), STOP, StreamError("x", "No more", 402)], "billing_error: No more"),
    ],
)
def test_whole_messages_that_are_errors(events: list[Event], expected: str) -> None:
    answer = judge.whole(writer().message(events))
    assert answer.error is not None and f"{answer.error['type']}: {answer.error['message']}" == expected
    assert answer.faults == []


def usage(*events: Event, **more: Any) -> tuple[Any, Any, list[str]]:
    """The usage of message_delta, that of message_start, and the rules that fired."""
    rules: list[str] = []
    out = writer(rules, **more)
    data = [data for _, data in judge.events(judge.Answer(), out.write(events) + out.close())]
    return data[-2]["usage"], data[0]["message"]["usage"], rules


def counts(*numbers: int, **more: Any) -> dict[str, Any]:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return {**dict(zip(names, numbers, strict=True)), **more}


@pytest.mark.parametrize(
    ("events", "expected", "rules"),
    [
        ([TextDelta("a"), STOP, Usage(100, 7)], counts(100, 0, 0, 7), []),
        ([TextDelta("a"), STOP, Usage(100, 7, 60, 30)], counts(10, 30, 60, 7), []),
        ([TextDelta("a"), STOP, Usage(100, 7, 60, 50)], counts(0, 50, 60, 7), []),
        ([TextDelta("a"), Usage(1, 1), STOP, Usage(9, 7, reasoning_tokens=3)], counts(9, 0, 0, 7, output_tokens_details={"thinking_tokens": 3}), []),
        ([TextDelta("12345"), STOP], counts(40, 0, 0, 2), ["usage_estimated"]),
        ([TextDelta("12345"), ReasoningDelta("123"), *call(0, "{}"), STOP, Usage()], counts(40, 0, 0, 3), ["usage_estimated"]),
    ],
)
def test_usage(events: list[Event], expected: dict[str, Any], rules: list[str]) -> None:
    assert usage(*events, input_tokens=40) == (expected, counts(40, 0, 0, 0), rules)
    assert json.loads(writer(input_tokens=40).message(events))["usage"] == expected


def test_an_estimate_is_one_token_at_least() -> None:
    assert usage(STOP) == (counts(1, 0, 0, 0), counts(1, 0, 0, 0), ["usage_estimated"])


def test_message_start_has_all_that_clients_ask_for() -> None:
    (_, start), *_ = judge.events(judge.Answer(), writer().write([START]))
    assert start["message"] == {
        "id": f"msg_{0:032x}",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": counts(1, 0, 0, 0),
    }


def test_pings() -> None:
    out = writer()
    assert out.ping() == b": ping\n\n"
    out.write([START])
    assert told(out.ping()) == ["."]
    out.write([STOP, END])
    assert out.ping() == b""


def test_an_end_that_did_not_go_out_is_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where there is no memory for it: the pipeline says so."""
    out = writer()
    began = out.write([START, TextDelta("a")])
    with monkeypatch.context() as patch:
        patch.setattr("toolmend.apis.messages.writer.error_body", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            out.write([StreamError("api_error", "no")])
    assert told(began + out.fail("It broke.")) == ["(", ".", "+0 text", "0 a", "api_error: It broke."]


def test_fail() -> None:
    out = writer()
    body = out.write([START, TextDelta("a")]) + out.fail("It broke.") + out.fail("Again.") + out.write([STOP, END]) + out.close()
    assert told(body) == ["(", ".", "+0 text", "0 a", "api_error: It broke."]
    out = writer()
    assert told(out.fail("It broke.") + out.close()) == ["api_error: It broke."]
    out = writer()
    assert told(out.write([TextDelta("a"), STOP, END]) + out.fail("Late.") + out.close())[-1] == ")"


def test_the_envelope_of_a_seal_opens() -> None:
    seal = ReasoningState("details", '[{"type":"reasoning.text","text":"\u2028é"}]')
    answer = judge.read(streamed([ReasoningDelta("a"), ReasoningSeal(seal), STOP]))
    assert [opened(text) for text in answer.seals] == [seal]


@pytest.mark.parametrize(
    ("status", "type_", "message", "expected"),
    [
        (400, "", "", "invalid_request_error"),
        (422, "", "", "invalid_request_error"),
        (401, "", "", "authentication_error"),
        (402, "", "", "billing_error"),
        (403, "", "", "permission_error"),
        (404, "", "", "not_found_error"),
        (408, "", "", "timeout_error"),
        (409, "", "", "conflict_error"),
        (413, "", "", "request_too_large"),
        (418, "", "", "invalid_request_error"),
        (429, "", "no capacity", "rate_limit_error"),
        (500, "", "", "api_error"),
        (500, "server_error", "The model is overloaded", "overloaded_error"),
        (500, "server_error", "prompt is too long", "invalid_request_error"),
        (502, "", "", "api_error"),
        (503, "", "", "overloaded_error"),
        (504, "", "", "timeout_error"),
        (529, "", "", "overloaded_error"),
        (0, "server_error", "", "api_error"),
        (0, "rate_limit_exceeded", "", "rate_limit_error"),
        (0, "insufficient_quota", "", "billing_error"),
        (0, "invalid_request_error", "", "invalid_request_error"),
        (0, "error", "At capacity", "overloaded_error"),
        (0, "", "", "api_error"),
        (500, "overloaded_error", "", "overloaded_error"),
    ],
)
def test_error_types(status: int, type_: str, message: str, expected: str) -> None:
    assert error_type(status, type_, message) == expected
    assert error_type(status_of(expected), expected, "") == expected


PIECES = st.sampled_from(["", " ", "{", "}", '"a": 1', "{}", "[", '{"b": "\ud83d', "\u2028", "null"])
CALLS = st.integers(0, 3)
SEALS = st.builds(ReasoningState, st.sampled_from(["signature", "redacted", "encrypted", "details", "plain"]), st.sampled_from(["", "x", "{}"]))
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.just(START),
    st.builds(TextDelta, PIECES, st.sampled_from([0, 0, 0, 1])),
    st.builds(ReasoningDelta, PIECES),
    st.builds(RefusalDelta, PIECES),
    st.builds(ReasoningSeal, SEALS),
    st.builds(ToolCallStart, CALLS, st.sampled_from(["", "a", "b", "c"]), st.sampled_from(["f", "g"])),
    st.builds(ToolCallDelta, CALLS, PIECES),
    st.builds(ToolCallDelta, CALLS, PIECES),
    st.builds(ToolCallEnd, CALLS),
    st.builds(Usage, *[st.integers(-3, 90)] * 5),
    st.builds(Finish, st.sampled_from(["stop", "length", "tool_calls", "content_filter", "error", "?"]), st.just(0), st.sampled_from([None, "x"])),
    st.builds(StreamError, st.just("x"), PIECES, st.sampled_from([0, 0, 429, 503])),
)  # fmt: skip


@given(st.lists(EVENTS, max_size=40), st.sampled_from([(), (END,), (STOP, END), (Finish("length"),), (CALLED, Usage(1, 1), END)]))
def test_any_events_make_a_legal_answer(events: list[Event], end: tuple[Event, ...]) -> None:
    given_events = [*events, *end]
    answer = judge.read(streamed(given_events))
    assert answer.faults == []
    assert judge.whole(writer().message(given_events)).faults == []
    if answer.error is None:
        said = [event.text for event in given_events if isinstance(event, TextDelta | RefusalDelta) and event.choice == 0]
        assert answer.text == "".join(said)
        assert answer.reasoning == "".join(event.text for event in given_events if isinstance(event, ReasoningDelta))
