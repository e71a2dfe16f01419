"""codec.py with decode.py and rewrite.py: regular streams of Messages pass, and irregular ones are mended."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cuts import cuts
from tests.support.judges import messages as judge
from tests.support.legal_streams import block, broken, messages, redacted, sse, text, thinking, tool
from tests.support.messages_events import PLAIN, told
from tests.support.messages_streams import CITY, ID, LEAK, Loop, decoded, message, reply, said, thought, used
from tests.support.streams import play
from toolmend.apis.messages import blocks as messages_blocks
from toolmend.apis.messages.codec import Messages
from toolmend.core.events import (
    Event,
    Finish,
    Frame,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    ReasoningSeal,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from toolmend.core.json_text import NotJSON
from toolmend.core.reasoning_state import ReasoningState
from toolmend.core.sse import SseDecoder

# the streams of a regular upstream

SEARCH = block(
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "input_json_delta", "partial_json": ""},
    {"type": "input_json_delta", "partial_json": '{"query": "Bonn"}'},
)
FOUND = block({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "https://example.org"}]})
CITED = block(
    {"type": "text", "text": "", "citations": []},
    {"type": "citations_delta", "citation": {"type": "web_search_result_location", "url": "https://example.org"}},
    {"type": "text_delta", "text": "It rains < and > 1."},
)
HEAD, MORE = [MessageStart(), Usage(25, 1, 5)], Usage(25, 9, 5)

SPELT = (
    b'event:message_start\r\ndata:{"message": {"usage": {"input_tokens": 3}, "content": [], "id": "msg_1"}, "type": "message_start"}\r\n\r\n'
    b': keep-alive\r\n\r\nevent: ping\r\ndata: {"type": "ping"}\r\n\r\n'
    b'event: content_block_start\r\ndata: {"index": 0, "content_block": {"text": "", "type": "text"}, "type": "content_block_start"}\r\n\r\n'
    b'event: content_block_delta\r\ndata: {"delta": {"text": "a\\u003cb", "type": "text_delta"},\r\ndata: "index": 0, "type": "content_block_delta"}\r\n\r\n'
    b'event: content_block_stop\r\ndata: {"index": 0, "type": "content_block_stop"}\r\n\r\nevent: future\r\ndata: {"type": "future", "x": 1}\r\n\r\n'
    b'event: message_delta\r\ndata: {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}, "type": "message_delta"}\r\n\r\n'
    b'event: message_stop\r\ndata: {"type": "message_stop"}\r\n\r\ndata: [DONE]\r\n\r\n'
)
REGULAR: dict[str, tuple[bytes, list[Event]]] = {
    "text": (sse(messages(text("Hi", "!"))), [*HEAD, TextDelta("Hi"), TextDelta("!"), Finish("stop"), MORE, MessageEnd()]),
    "thinking, text, calls": (
        sse(messages(thinking("a", "b", signature="s"), redacted("x"), text("Hi"), tool("t0", "f", "", '{"a"', ": 1}"), tool("t1", "g", "{}"), stop="tool_use")),
        [*HEAD, ReasoningDelta("a"), ReasoningDelta("b"), ReasoningSeal(ReasoningState("signature", "s")), ReasoningSeal(ReasoningState("redacted", "x")), TextDelta("Hi"),
         ToolCallStart(0, "t0", "f"), ToolCallDelta(0, '{"a"'), ToolCallDelta(0, ": 1}"), ToolCallEnd(0),
         ToolCallStart(1, "t1", "g"), ToolCallDelta(1, "{}"), ToolCallEnd(1), Finish("tool_calls"), MORE, MessageEnd()],
    ),
    "a signature in pieces": (
        sse(messages(block({"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "a"},
                           {"type": "signature_delta", "signature": "s"}, {"type": "signature_delta", "signature": "t"}))),
        [*HEAD, ReasoningDelta("a"), ReasoningSeal(ReasoningState("signature", "st")), Finish("stop"), MORE, MessageEnd()],
    ),
    "calls without arguments": (
        sse(messages(tool("t0", "f", ""), tool("t1", "g"), stop="tool_use")),
        [*HEAD, ToolCallStart(0, "t0", "f"), ToolCallDelta(0, "{}"), ToolCallEnd(0), ToolCallStart(1, "t1", "g"), ToolCallDelta(1, "{}"), ToolCallEnd(1),
         Finish("tool_calls"), MORE, MessageEnd()],
    ),
    "a call that is broken off": (
        sse(messages(tool("t0", "f", '{"a'), stop="max_tokens")),
        [*HEAD, ToolCallStart(0, "t0", "f"), ToolCallDelta(0, '{"a'), Finish("length"), MORE, MessageEnd()],
    ),
    "a call that is broken off in front of its arguments": (
        sse(messages(text("a"), tool("t0", "f"), stop="max_tokens")),
        [*HEAD, TextDelta("a"), ToolCallStart(0, "t0", "f"), Finish("length"), MORE, MessageEnd()],
    ),
    "a server's tools": (
        sse(messages(text("Let me see."), SEARCH, FOUND, CITED)),
        [*HEAD, TextDelta("Let me see."), TextDelta("It rains < and > 1."), Finish("stop"), MORE, MessageEnd()],
    ),
    "a server's tool between calls": (
        sse(messages(tool("t0", "f", "{}"), SEARCH, tool("t1", "g", "{}"), stop="tool_use")),
        [*HEAD, ToolCallStart(0, "t0", "f"), ToolCallDelta(0, "{}"), ToolCallEnd(0), ToolCallStart(1, "t1", "g"), ToolCallDelta(1, "{}"), ToolCallEnd(1),
         Finish("tool_calls"), MORE, MessageEnd()],
    ),
    "an error": (sse([*messages(text("Hi"), stop=None), broken()]), [*HEAD, TextDelta("Hi"), StreamError("overloaded_error", "Overloaded", 529)]),
    "a stop sequence": (
        sse(messages(text("Hi"), stop="stop_sequence", sequence="x")),
        [*HEAD, TextDelta("Hi"), Finish("stop", stop_sequence="x"), MORE, MessageEnd()],
    ),
    "spelt in another way": (
        SPELT,
        [MessageStart(), Usage(3), TextDelta("a<b"), Finish("stop"), Usage(3, 4), MessageEnd()],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REGULAR)
def test_regular_streams(name: str) -> None:
    body, events = REGULAR[name]
    assert decoded(body) == (events, [])
    for chunks in cuts(body):
        assert play(Loop, chunks) == body


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("a new word", "stop"),
    ],
)
def test_stop_reasons(reason: str, expected: str) -> None:
    events, _ = decoded(sse(messages(text("a"), stop=reason)))
    assert [event for event in events if isinstance(event, Finish)] == [Finish(expected)]


# what is mended

TOOL = [f"+1 tool_use {ID} get_weather", f"1 {CITY}", "-1"]
FIRST = [f"+0 tool_use {ID} get_weather", f"0 {CITY}", "-0"]


def leaks(words: str = "(.", end: str = "tool_use", *inner: str) -> list[str]:
    return [*words, *inner, end, ")"]


LEAKS: dict[str, tuple[bytes, list[str]]] = {
    "in the text": (sse(messages(text("Look. ", LEAK, ""))), leaks("(.", "tool_use", "+0 text", "0 Look. ", "-0", *TOOL)),
    "in the text, and more text": (
        sse(messages(text("Look. ", LEAK, " So."))),
        leaks("(.", "tool_use", "+0 text", "0 Look. ", "-0", *TOOL, "+2 text", "2  So.", "-2"),
    ),
    "in the text, and more blocks": (
        sse(messages(text("Look. ", LEAK), tool("t", "get_weather", '{"city": "Ulm"}'), text("So."), stop="tool_use")),
        leaks("(.", "tool_use", "+0 text", "0 Look. ", "-0", *TOOL, "+2 tool_use t get_weather", '2 {"city": "Ulm"}', "-2", "+3 text", "3 So.", "-3"),
    ),
    "it is all of the text": (
        sse(messages(text(LEAK))),
        leaks("(.", "tool_use", *FIRST),
    ),
    "in the thinking": (
        sse(messages(thinking("Hm. ", LEAK, signature="s"), text("So."))),
        leaks("(.", "tool_use", "+0 thinking", "0 Hm. ", "0 ~s", "-0", *TOOL, "+2 text", "2 So.", "-2"),
    ),
    "in the thinking, without a signature": (
        sse(messages(thinking("Hm. ", LEAK))),
        leaks("(.", "tool_use", "+0 thinking", "0 Hm. ", f"0 ~{PLAIN}", "-0", *TOOL),
    ),
    "the same call again": (
        sse(messages(text("Look. ", LEAK), tool("t", "get_weather", CITY), text("So."), stop="tool_use")),
        leaks("(.", "tool_use", "+0 text", "0 Look. ", "-0", *TOOL, "+2 text", "2 So.", "-2"),
    ),
    "beside a server's tool": (
        sse(messages(text("Look. ", LEAK), SEARCH, FOUND, CITED)),
        leaks(
            "(.", "tool_use", "+0 text", "0 Look. ", "-0", *TOOL, "+2 server_tool_use srvtoolu_1 web_search", "2 ", '2 {"query": "Bonn"}', "-2",
            "+3 web_search_tool_result", "-3",
            "+4 text", "4 {'type': 'web_search_result_location', 'url': 'https://example.org'}", "4 It rains < and > 1.", "-4",
        ),
    ),
    "broken off": (
        sse(messages(text("Look. ", LEAK[: LEAK.index("}")]), stop="max_tokens")),
        leaks("(.", "max_tokens", "+0 text", "0 Look. ", "-0", f"+1 tool_use {ID} get_weather", f"1 {CITY[:-1]}", "-1"),
    ),
    "thoughts in the text": (
        sse(messages(text("<think>", "Hm.", "</think>", "Hi"))),
        leaks("(.", "end_turn", "+0 thinking", "0 Hm.", f"0 ~{PLAIN}", "-0", "+1 text", "1 Hi", "-1"),
    ),
    "then an error": (sse([*messages(text(LEAK), stop=None), broken()]), ["(", ".", *FIRST, "overloaded_error: Overloaded"]),
    "then an error, and more": (
        sse([*messages(text(LEAK), stop=None), broken(), *messages(text("So."))[2:], broken("api_error")]), ["(", ".", *FIRST, "overloaded_error: Overloaded"],
    ),
    "thinking behind it": (
        sse(messages(text(LEAK), thinking("Hm. ", signature="s"), text("So."))),
        leaks("(.", "tool_use", *FIRST, "+1 thinking", "1 Hm. ", "1 ~s", "-1", "+2 text", "2 So.", "-2"),
    ),
    "thinking behind it that begins at once": (
        sse(messages(text(LEAK), block({"type": "thinking", "thinking": "Hm. ", "signature": "s"}))),
        leaks("(.", "tool_use", *FIRST, "+1 thinking", "1 Hm. ", "1 ~s", "-1"),
    ),
    "thinking behind it that says nothing": (
        sse(messages(text(LEAK), block({"type": "thinking", "thinking": "", "signature": ""}), text("So."))),
        leaks("(.", "tool_use", *FIRST, "+1 text", "1 So.", "-1"),
    ),
}  # fmt: skip


def same(words: list[str]) -> list[str]:
    """The words, pieces of one block joined: where text is cut is not what is told here."""
    out: list[str] = []
    for word in words:
        index = word.partition(" ")[0]
        if index.isdigit() and out and out[-1].startswith(f"{index} ") and "~" not in word:
            out[-1] += word.removeprefix(f"{index} ")
        else:
            out.append(word)
    return out


@pytest.mark.parametrize("name", LEAKS)
def test_leaks(name: str) -> None:
    body, expected = LEAKS[name]
    whole = play(Loop, [body])
    assert same(told(whole)) == same(expected)
    for chunks in cuts(body):
        assert play(Loop, chunks) == whole


def test_blocks_begin_without_what_their_deltas_say() -> None:
    """Else a client that puts the deltas behind what a block begins with has it twice."""
    begun = [{"type": "thinking", "thinking": "Hm. ", "signature": "s"}, {"type": "text", "text": "Look. ", "citations": []}]
    stream = sse(messages(text(LEAK), *map(block, begun), tool("t", "get_weather", '{"city": "Ulm"}')))
    data = [json.loads(each.data or b"") for each in SseDecoder().feed(play(Loop, [stream]))]
    starts = [each["content_block"] for each in data if each["type"] == "content_block_start"]
    assert starts[0] == {"type": "tool_use", "id": ID, "name": "get_weather", "input": {}}
    assert starts[1:3] == [{"type": "thinking", "thinking": "", "signature": ""}, {"type": "text", "text": "", "citations": []}]
    assert starts[3] == {"type": "tool_use", "id": "t", "name": "get_weather", "input": {}}


def test_a_citation_goes_where_the_text_is() -> None:
    citation = {"type": "citations_delta", "citation": {"url": "https://example.org"}}
    deltas = [{"type": "text_delta", "text": piece} for piece in ("Look. ", LEAK, "So.")]
    words = told(play(Loop, [sse(messages(block({"type": "text", "text": ""}, *deltas, citation, deltas[1], citation)))]))
    assert words[5:12] == ["+1 tool_use functions.get_weather:0 get_weather", f"1 {CITY}", "-1", "+2 text", "2 So.", "2 {'url': 'https://example.org'}", "-2"]
    assert len(words) == 17  # and of a citation where no text is, nothing


def test_what_is_not_understood_stays() -> None:
    stream = messages(text("Look. ", LEAK), stop="pause_turn")
    stream[-2] |= {"context_management": {"applied_edits": []}}
    stream[-2]["delta"]["container"] = {"id": "c"}
    stream[-2]["usage"]["server_tool_use"] = {"web_search_requests": 1}
    stream.insert(-2, {"type": "future", "x": 1})
    data = [json.loads(each.data or b"") for each in SseDecoder().feed(play(Loop, [sse(stream)]))]
    assert data[-2] == {**stream[-2], "delta": {**stream[-2]["delta"], "stop_reason": "tool_use"}}
    assert data[-3] == {"type": "future", "x": 1}
    stream[4]["delta"]["text"] = "<think>Hm.</think>Hi"
    data = [json.loads(each.data or b"") for each in SseDecoder().feed(play(Loop, [sse(stream)]))]
    assert data[-2] == stream[-2]


def without(stream: list[dict[str, Any]], *places: int) -> list[dict[str, Any]]:
    return [event for at, event in enumerate(stream) if at not in places]


def unindexed(stream: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in event.items() if name != "index"} for event in stream]


def mixed() -> list[dict[str, Any]]:
    """Two calls whose blocks are open at once."""
    stream = messages(tool("t0", "f", '{"a": ', "1}"), tool("t1", "g", '{"b": ', "2}"), stop="tool_use")
    return [stream[at] for at in (0, 1, 2, 3, 6, 7, 4, 8, 9, 5, 10, 11)]


def untyped(stream: list[dict[str, Any]], member: str) -> list[dict[str, Any]]:
    return [{**event, member: {k: v for k, v in event[member].items() if k != "type"}} if member in event else event for event in stream]


SIGNED = messages(thinking("Hm", signature="s"))
A, TWO = messages(text("a", "b")), messages(text("a"), tool("t0", "f", "{}"), stop="tool_use")
PLAINLY = ["(", ".", "+0 text", "0 a", "0 b", "-0", "end_turn", ")"]
BOTH = ["(", ".", "+0 text", "0 a", "-0", "+1 tool_use t0 f", "1 {}", "-1", "tool_use", ")"]
CALL = messages(text("a"), tool("t0", "f", '{"a":', "1}"), stop="tool_use")
ASKED = [*BOTH[:6], '1 {"a":', "1 1}", *BOTH[7:]]
IRREGULAR: dict[str, tuple[bytes, list[str], set[str]]] = {
    "no event lines": (sse(A).replace(b"event: ", b": "), PLAINLY, {"event_name"}),
    "another event line": (sse(A).replace(b"event: content_block_stop", b"event: message"), PLAINLY, {"event_name"}),
    "another event line of the end": (sse(A).replace(b"event: message_stop", b"event: message"), PLAINLY, {"event_name"}),
    "the type in the event line alone": (b"".join(b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps({k: v for k, v in e.items() if k != "type"}).encode()) for e in A),
                                         PLAINLY, {"event_name"}),
    "no index": (sse(unindexed(TWO)), BOTH, {"block_index"}),
    "indices that are text": (sse([{**event, "index": str(event["index"])} if "index" in event else event for event in TWO]), BOTH, {"block_index"}),
    "indices that are no integers": (sse([{**event, "index": float(event["index"])} if "index" in event else event for event in TWO]), BOTH, {"block_index"}),
    "indices from 1": (sse([{**event, "index": event["index"] + 1} if "index" in event else event for event in TWO]), BOTH, {"block_index"}),
    "the same index": (sse([{**event, "index": 0} if "index" in event else event for event in TWO]), BOTH, {"block_index"}),
    "no block start": (sse(without(A, 2)), PLAINLY, {"block_index"}),
    "no types of blocks": (sse(untyped(TWO, "content_block")), BOTH, {"block_type"}),
    "no types of deltas": (sse(untyped(TWO, "delta")), BOTH, {"block_type"}),
    "no types of thinking": (sse(untyped(untyped(SIGNED, "content_block"), "delta")), ["(", ".", "+0 thinking", "0 Hm", "0 ~s", "-0", "end_turn", ")"], {"block_type"}),
    "no start of thinking": (sse(without(SIGNED, 2)), ["(", ".", "+0 thinking", "0 Hm", "0 ~s", "-0", "end_turn", ")"], {"block_index"}),
    "no start of a call": (
        sse(without(TWO, 5)), ["(", ".", "+0 text", "0 a", "-0", f"+1 tool_use toolu_{32 * '0'} get_weather", "1 {}", "-1", "tool_use", ")"],
        {"block_index", "tool_call_id"},
    ),
    "no block stop": (sse(without(TWO, 4)), BOTH, {"block_index", "block_stop"}),
    "no stop of the last block": (sse(without(TWO, 7)), BOTH, {"block_stop"}),
    "a stop of nothing": (sse([*A[:6], A[5], *A[6:]]), PLAINLY, {"block_index"}),
    "no message_start": (sse(without(A, 0, 1)), ["(", *PLAINLY[2:]], {"message_start"}),
    "message_start twice": (sse([A[0], *A]), PLAINLY, {"message_start"}),
    "message_start without usage": (sse([{"type": "message_start", "message": {"id": "msg_1"}}, *A[1:]]), PLAINLY, {"message_start"}),
    "message_start without content": (
        sse([{"type": "message_start", "message": {k: v for k, v in A[0]["message"].items() if k != "content"}}, *A[1:]]), PLAINLY, {"message_start"},
    ),
    "message_start with a null content": (sse([{**A[0], "message": {**A[0]["message"], "content": None}}, *A[1:]]), PLAINLY, {"message_start"}),
    "message_delta without usage": (sse([*A[:-2], {"type": "message_delta", "delta": A[-2]["delta"]}, A[-1]]), PLAINLY, {"usage"}),
    "a null text": (sse([*A[:3], {**A[3], "delta": {"type": "text_delta", "text": None}}, *A[3:]]), PLAINLY, {"block_text"}),
    "a null delta": (sse([*A[:3], {**A[3], "delta": None}, *A[3:]]), PLAINLY, {"delta"}),
    "a null block": (sse([*A[:2], {**A[2], "content_block": None}, *A[3:]]), PLAINLY, {"delta", "block_index"}),
    "a null block that says nothing": (
        sse([*TWO[:5], {**TWO[5], "content_block": None}, TWO[7], *({**event, "index": 2} for event in TWO[5:8]), *TWO[8:]]), BOTH, {"delta"},
    ),
    "message_delta with a null delta": (sse([*A[:-2], {**A[-2], "delta": None}, A[-1]]), PLAINLY, {"delta", "finish_reason"}),
    "calls in turns": (sse(mixed()), ["(", ".", "+0 tool_use t0 f", '0 {"a": ', "0 1}", "-0", "+1 tool_use t1 g", '1 {"b": ', "1 2}", "-1", "tool_use", ")"], {"block_index"}),
    "text in a thinking block": (
        sse(messages(block({"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "t"}, {"type": "text_delta", "text": "a"}))),
        ["(", ".", "+0 thinking", "0 t", f"0 ~{PLAIN}", "-0", "+1 text", "1 a", "-1", "end_turn", ")"], {"block_index"},
    ),
    "a call of nothing": (sse(messages(text("a", "b"), tool("t0", ""))), PLAINLY, {"tool_call_name"}),
    "a call without a name, and one tool fits": (
        sse(messages(text("a"), tool("t0", "", CITY[:5], CITY[5:]), stop="tool_use")),
        [*BOTH[:5], "+1 tool_use t0 get_weather", f"1 {CITY}", *BOTH[7:]], {"tool_call_name"},
    ),
    "a call without a name, and its input": (
        sse(messages(text("a"), block({"type": "tool_use", "id": "t0", "input": {"city": "Bonn"}}), stop="tool_use")),
        [*BOTH[:5], "+1 tool_use t0 get_weather", '1 {"city":"Bonn"}', *BOTH[7:]], {"tool_call_name", "block_text"},
    ),
    "a call without a name, and no tool fits": (
        sse(messages(text("a"), tool("t0", "", "{", '"x": 1}'), stop="tool_use")),
        [*BOTH[:5], "+1 text", '1 {"x": 1}', "-1", *PLAINLY[-2:]], {"tool_call_name", "finish_reason"},
    ),
    "a call without a name, and no end": (
        sse(without(messages(text("a"), tool("t0", "", CITY), stop="tool_use"), 7)),
        [*BOTH[:5], "+1 tool_use t0 get_weather", f"1 {CITY}", *BOTH[7:]], {"tool_call_name", "block_stop"},
    ),
    "a call without id": (sse(messages(text("a"), tool("", "f", "{}"), stop="tool_use")),
                          [word.replace("t0", f"toolu_{0:032x}") for word in BOTH], {"tool_call_id"}),
    "a name with more around it": (sse(messages(text("a"), tool("t0", " get_weather<|x|>", "{}"), stop="tool_use")),
                                   [word.replace("t0 f", "t0 get_weather") for word in BOTH], {"tool_call_name"}),
    "another event line behind a signature": (
        sse(messages(thinking("t", signature="s"), text("a"))).replace(b"event: content_block_stop", b"event: message", 1),
        ["(", ".", "+0 thinking", "0 t", "0 ~s", "-0", "+1 text", "1 a", "-1", "end_turn", ")"], {"event_name"},
    ),
    "arguments in a fence": (sse(messages(text("a"), tool("t0", "f", "```json\n", "{}", "\n```"), stop="tool_use")), BOTH, {"argument_json"}),
    "arguments that are null": (sse(messages(text("a"), tool("t0", "f", "null"), stop="tool_use")), BOTH, {"arguments"}),
    "arguments at the index of the text": (sse([*TWO[:6], {**TWO[6], "index": 0}, *TWO[7:]]), BOTH, {"block_index"}),
    "arguments an object": (sse([*TWO[:6], {**TWO[6], "delta": {"type": "input_json_delta", "partial_json": {"a": 1}}}, *TWO[7:]]),
                            [word.replace("{}", '{"a":1}') for word in BOTH], {"arguments_type"}),
    "an input that is text": (sse([*TWO[:5], {**TWO[5], "content_block": {**TWO[5]["content_block"], "input": "{}"}}, *TWO[7:]]), BOTH, {"arguments"}),
    "an input that comes at once": (
        sse([*TWO[:5], {**TWO[5], "content_block": {**TWO[5]["content_block"], "input": {"a": 1}}}, *TWO[7:]]),
        [word.replace("{}", '{"a":1}') for word in BOTH], {"arguments"},
    ),
    "an input that comes twice": (sse([*TWO[:5], {**TWO[5], "content_block": {**TWO[5]["content_block"], "input": {"a": 1}}}, *TWO[6:]]), BOTH, {"arguments"}),
    "arguments with what JSON has no escape for": (
        sse(messages(text("a"), tool("t0", "f", r'{"a": "\d', "+\\", '.", "b": Tr', "ue}"), stop="tool_use")),
        [*BOTH[:6], r'1 {"a": "\\d', "1 +\\", '1 \\.", "b": ', "1 true}", *BOTH[7:]], {"argument_json"},
    ),
    "a signature at another index": (
        sse([{**event, "index": 1} if "signature" in event.get("delta", {}) else event for event in messages(thinking("t", signature="s"), text("a"))]),
        ["(", ".", "+0 thinking", "0 t", "0 ~s", "-0", "+1 text", "1 a", "-1", "end_turn", ")"], {"block_index"},
    ),
    "an index again, and no stop": (sse([*TWO[:7], *({**event, "index": 1} for event in tool("t1", "f", "{}")), *TWO[8:]]),
                                    [*BOTH[:-2], "+2 tool_use t1 f", "2 {}", "-2", *BOTH[-2:]], {"block_index"}),
    "end_turn with a call": (sse(messages(text("a"), tool("t0", "f", "{}"))), BOTH, {"finish_reason"}),
    "tool_use without a call": (sse(messages(text("a", "b"), stop="tool_use")), PLAINLY, {"finish_reason"}),
    "no message_stop": (sse(TWO[:-1]), BOTH, {"message_stop"}),
    "no message_stop, and pings": (sse([*TWO[:-1], {"type": "ping"}]), [*BOTH[:-1], ".", ")"], {"message_stop"}),
    "no message_stop, and no stop of the last block": (sse(without(TWO, 7)[:-1]), BOTH, {"block_stop", "message_stop"}),
    "no message_delta": (sse(without(TWO, 8)), BOTH, {"finish_reason"}),
    "a call behind message_delta": (sse([*A[:1], A[0], *A[1:-1], *TWO[5:8], A[-1]]), [*PLAINLY[:-2], "+1 tool_use t0 f", "1 {}", "-1", *BOTH[-2:]],
                                    {"message_start", "finish_order", "finish_reason"}),
    "all blocks behind message_delta": (sse([A[-2], *A[1:-2], A[-1]]), PLAINLY, {"message_start", "finish_order"}),
    "message_delta within a block": (sse([A[0], *A[:4], A[-2], *A[4:-2], A[-1]]), [*PLAINLY[:4], "-0", "+1 text", "1 b", "-1", *PLAINLY[-2:]], {"message_start", "block_index", "block_stop", "finish_order"}),
    "the start of a text, twice": (sse([*A[:3], A[2], A[3], A[2], *A[4:]]), PLAINLY, {"block_index"}),
    "the start of thinking, twice": (
        sse([*SIGNED[:3], *SIGNED[2:4], *SIGNED[2:]]), ["(", ".", "+0 thinking", "0 Hm", "0 Hm", "0 ~s", "-0", "end_turn", ")"], {"block_index"},
    ),
    "the start of a call, twice": (sse([*CALL[:6], *CALL[5:7], CALL[5], *CALL[7:]]), ASKED, {"block_index"}),
    "arguments behind the stop of their block": (sse([*CALL[:7], CALL[8], CALL[7], *CALL[9:]]), ASKED, {"block_index"}),
    "all arguments behind the stop of their block": (sse([*CALL[:6], CALL[8], *CALL[6:8], *CALL[9:]]), ASKED, {"block_index"}),
    "arguments behind the stop of their block, and a stop": (sse([*CALL[:6], CALL[8], *CALL[6:]]), ASKED, {"block_index"}),
    "arguments behind the stop of their block, and a ping": (sse([*CALL[:7], CALL[8], {"type": "ping"}, CALL[7], *CALL[9:]]), [*ASKED[:7], ".", *ASKED[7:]], {"block_index"}),
    "message_delta within a call": (sse([*CALL[:7], CALL[9], *CALL[7:9], CALL[10]]), ASKED, {"block_stop"}),
    "message_delta within a call that has no stop": (sse([*CALL[:7], CALL[9], CALL[7], CALL[10]]), ASKED, {"block_stop"}),
    "message_delta in front of all arguments": (sse([*CALL[:6], CALL[9], *CALL[6:9], CALL[10]]), ASKED, {"block_stop"}),
    "a text that its block begins with": (sse(messages(block({"type": "text", "text": "a"}, {"type": "text_delta", "text": "b"}))), PLAINLY, {"block_text"}),
    "a text that its block begins with, and no more": (sse(messages(block({"type": "text", "text": "a"}))), [*PLAINLY[:4], *PLAINLY[5:]], {"block_text"}),
    "a text that its block begins with, said again": (
        sse(messages(block({"type": "text", "text": "a"}, {"type": "text_delta", "text": "a"}, {"type": "text_delta", "text": "b"}))), PLAINLY, {"block_text"},
    ),
    "thinking that its block begins with": (
        sse(messages(block({"type": "thinking", "thinking": "Hm", "signature": "s"}))), ["(", ".", "+0 thinking", "0 Hm", "0 ~s", "-0", "end_turn", ")"], {"block_text"},
    ),
    "a signature that its block begins with": (
        sse(messages(block({"type": "thinking", "thinking": "", "signature": "s"}, {"type": "thinking_delta", "thinking": "Hm"}))),
        ["(", ".", "+0 thinking", "0 Hm", "0 ~s", "-0", "end_turn", ")"], {"block_text"},
    ),
    "no input to begin with": (sse([*TWO[:5], {**TWO[5], "content_block": {"type": "tool_use", "id": "t0", "name": "f"}}, *TWO[6:]]), BOTH, {"arguments"}),
    "an empty delta": (sse([*A[:3], {**A[3], "delta": {}}, *A[3:]]), PLAINLY, {"delta"}),
    "an empty block": (sse([*A[:2], {**A[2], "content_block": {}}, *A[3:]]), PLAINLY, {"delta", "block_index"}),
    "tool_calls": (sse(messages(text("a"), tool("t0", "f", "{}"), stop="tool_calls")), BOTH, {"finish_reason"}),
    "stop": (sse(messages(text("a", "b"), stop="stop")), PLAINLY, {"finish_reason"}),
    "length": (sse(messages(text("a", "b"), stop="length")), [*PLAINLY[:-2], "max_tokens", ")"], {"finish_reason"}),
    "counts that are text": (
        sse([{**A[0], "message": {**A[0]["message"], "usage": {"input_tokens": "20", "output_tokens": None}}}, *A[1:-2], {**A[-2], "usage": {"output_tokens": "9"}}, A[-1]]),
        PLAINLY, {"usage"},
    ),
    "no counts": (sse([{**A[0], "message": {**A[0]["message"], "usage": {}}}, *A[1:-2], {**A[-2], "usage": {"output_tokens": None}}, A[-1]]), PLAINLY, {"usage"}),
    "an error that is text": (sse([*A[:-2], {"type": "error", "error": '{"message": "gone"}'}]), [*PLAINLY[:-2], "api_error: gone"], {"error_form"}),
    "an error without a type": (sse([*A[:-2], {"type": "error", "error": {"message": "gone"}}]), [*PLAINLY[:-2], "api_error: gone"], {"error_form"}),
    "an error of words": (sse([*A[:-2], {"type": "error", "message": "Overloaded"}]), [*PLAINLY[:-2], "overloaded_error: Overloaded"], {"error_form"}),
    "a message_delta at both ends": (sse([A[-2], *A[1:]]), PLAINLY, {"message_start", "finish_order", "finish_repeated"}),
}  # fmt: skip


@pytest.mark.parametrize("name", IRREGULAR)
def test_irregular_streams(name: str) -> None:
    body, expected, rules = IRREGULAR[name]
    loop = Loop()
    whole = loop.feed(body) + loop.close()
    assert (told(whole), set(loop.rules)) == (expected, rules)
    assert [fault for fault in judge.read(whole).faults if "in front of message_start" not in fault] == []
    for chunks in cuts(body):
        assert play(Loop, chunks) == whole


AGAIN = {"type": "message_delta", "delta": {"stop_reason": None, "stop_sequence": None}, "usage": {"output_tokens": 12}}


@pytest.mark.parametrize("delta", [{"stop_reason": None}, {}])
@pytest.mark.parametrize("leaks", [True, False])
def test_a_later_message_delta_takes_no_reason_back(delta: dict[str, Any], leaks: bool) -> None:
    """SDKs forget the reason where one says none (anthropic-sdk-python#1940). Its counts are the last ones."""
    stream = messages(text(LEAK), stop="tool_use") if leaks else CALL
    body = sse([*stream[:-1], {**AGAIN, "delta": delta}, stream[-1]])
    loop = Loop()
    whole = loop.feed(body) + loop.close()
    last = [json.loads(each.data or b"") for each in SseDecoder().feed(whole)][-2:]
    assert (last[0]["delta"]["stop_reason"], last[0]["usage"]["output_tokens"], last[1]["type"]) == ("tool_use", 12, "message_stop")
    assert "finish_repeated" in loop.rules
    for chunks in cuts(body):
        assert play(Loop, chunks) == whole


def test_no_more_than_one_ping_waits_for_what_follows_a_call() -> None:
    body = sse([*CALL[:6], CALL[8]])
    codec, ping = Messages(reply()), sse([{"type": "ping"}])
    out = b"".join(codec.encode(codec.decode(each)) for each in SseDecoder().feed(body + ping))
    stop = sse([CALL[8]])
    assert out + stop == body
    (second,) = SseDecoder().feed(ping)
    assert codec.encode(codec.decode(second)) == stop + ping + ping
    made = Messages(reply())
    assert b"".join(made.encode(made.decode(each)) for each in SseDecoder().feed(body)) + made.held() == body


def test_arguments_of_a_call_that_stopped_behind_another_block() -> None:
    """They are its own, and pass: clients that take them from there go by the index, too."""
    one, two = messages(tool("t0", "f", '{"a":', "1}"), tool("t1", "g", "{}"), stop="tool_use"), messages()
    body = sse([*one[:4], one[5], one[6], one[4], *one[7:]])
    events, rules = decoded(body)
    arguments = [(event.index, event.arguments) for event in events if isinstance(event, ToolCallDelta)]
    assert (arguments, rules) == ([(0, '{"a":'), (0, "1}"), (1, "{}")], [])
    assert {event.index for event in events if isinstance(event, ToolCallEnd)} == {0, 1}
    for chunks in cuts(body):
        assert play(Loop, chunks) == body
    assert play(Loop, [sse(two)]) == sse(two)


def test_a_whole_message_within_a_stream_says_nothing() -> None:
    """What it holds was said, or will be."""
    whole = {"type": "message", "id": "msg_2", "role": "assistant", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}
    assert decoded(sse([*A[:-2], whole, *A[-2:]]))[0] == decoded(sse(A))[0]


def test_what_comes_behind_the_end_is_not_ours() -> None:
    """Clients that stop there never see it, and to others it is what the upstream says."""
    again = [*({**event, "index": 1} for event in tool("t0", "get_weather", CITY)), *messages(stop="tool_use")[-2:]]
    body = sse([*A, *again])
    for chunks in cuts(body):
        assert play(Loop, chunks) == body


def test_the_end_is_made_behind_done() -> None:
    done = b"data: [DONE]\n\n"
    for body in (sse(A[:-1]) + done, sse(TWO[:-1]) + done):
        for chunks in cuts(body):
            assert play(Loop, chunks) == body + b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


def test_no_end_is_made_of_what_is_cut() -> None:
    """Nobody said why it stopped, or a call is not complete; or an error did."""
    half = messages(text("a"), tool("t0", "f", '{"a'), stop="tool_use")
    for stream in (A[:-2], A[:4], TWO[:7], [*half[:7], half[8]], [*A[:-1], {"type": "error", "error": {"type": "api_error", "message": "gone"}}]):
        assert b"message_stop" not in play(Loop, [sse(stream)])


WHY = {
    # name: the stream, what is told of it
    "the body is over": ([A[0], *A[:-1]], PLAINLY),
    "the body is over, and it was told within a call": ([*CALL[:7], CALL[9], *CALL[7:9]], ASKED),
    "an error is the end": ([A[0], *A[:-1], {"type": "error", "error": {"type": "api_error", "message": "gone"}}], [*PLAINLY[:-1], "api_error: gone"]),
    "a block of the upstream's own came behind it": (
        [A[0], *A[:-1], *({**event, "index": 1} for event in SEARCH), *TWO[5:8], A[-1]],
        [*PLAINLY[:-2], "+1 server_tool_use srvtoolu_1 web_search", "1 ", '1 {"query": "Bonn"}', "-1", "+2 tool_use t0 f", "2 {}", "-2", *BOTH[-2:]],
    ),
    "it was told as it came, and a call came behind it": ([*A[:-1], *TWO[5:8], A[-1]], [*PLAINLY[:-1], *BOTH[5:]]),
}


@pytest.mark.parametrize("name", WHY)
def test_why_a_message_stopped_is_told_however_it_ends(name: str) -> None:
    stream, expected = WHY[name]
    body = sse(stream)
    loop = Loop()
    whole = loop.feed(body) + loop.close()
    assert told(whole) == expected
    for chunks in cuts(body):
        assert play(Loop, chunks) == whole


def test_redacted_thinking_of_nothing_is_none() -> None:
    events, rules = decoded(sse(messages(redacted(""), text("a"))))
    assert (events[2], rules) == (TextDelta("a"), [])


def test_bytes_that_are_no_text_pass() -> None:
    odd = b"event: x\ndata: \xff\n\n" + b'event: x\ndata: {"type": "\\ud83d\\n"}\n\n' + b"data: [DONE]\n\n: \xff\n\n"
    stream = messages(text(LEAK))
    assert odd in play(Loop, [sse(stream[:-2]) + odd + sse(stream[-2:])])


OPEN = {
    "text": (text("a"), ["-0"]),
    "thinking": (thinking("a"), [f"0 ~{PLAIN}", "-0"]),
    "signed": (thinking("a", signature="s"), ["-0"]),
    "a call": (tool("t0", "f", "{"), ["-0"]),
    "a server's tool": (SEARCH, ["-0"]),
}


@pytest.mark.parametrize("name", OPEN)
def test_an_end_of_our_own_closes_what_is_open(name: str) -> None:
    given, closing = OPEN[name]
    codec = Messages(reply())
    body = sse(messages(given, stop=None)[:-1])
    out = b"".join(codec.encode(codec.decode(each)) for each in SseDecoder().feed(body))
    assert out == body
    out = codec.encode(Frame(None, (Finish("tool_calls"),), touched=True))
    out += codec.encode(Frame(None, (MessageEnd(),), touched=True))
    assert told(out) == [*closing, "tool_use", ")"]
    (late,) = SseDecoder().feed(sse([{"type": "ping"}]))
    assert codec.encode(codec.decode(late)) == b""


def test_too_much_waits_for_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages_blocks, "MAX_HELD", 200)
    stream = mixed()
    stream[5:5] = [stream[5]] * 20
    words = told(play(Loop, [sse(stream)]))
    assert words[-1] == "api_error: too much of the answer waits for a tool call that does not end"
    late = [*mixed()[:6], *messages(stop="tool_use")[2:]]
    late[5]["delta"]["partial_json"] = '"' + "x" * 200  # comes out at the end
    late_words = told(play(Loop, [sse(late)]))
    assert (late_words[:4], late_words[-1]) == (words[:4], words[-1])
    assert any("x" * 200 in word for word in late_words)
    at_once = (ToolCallStart(0, "t0", "f"), ToolCallDelta(0, "{"), *[TextDelta("x" * 50)] * 9, ToolCallEnd(0))
    said = told(Messages(reply()).encode(Frame(None, at_once, touched=True)))
    assert (said[:3], said[-1]) == (["(", "+0 tool_use t0 f", "0 {"], words[-1])
    assert f"1 {'x' * 50}" in said
    at_once = (ToolCallStart(0, "t0", "f"), ToolCallDelta(0, "{"), *[TextDelta("x" * 50)] * 9, MessageEnd())
    assert told(Messages(reply()).encode(Frame(None, at_once, touched=True)))[-1] == words[-1]


def test_blocks_without_end() -> None:
    head, _, *begin = messages(tool("t", "f", "{"), stop=None)
    stream = [head, *({**begin[0], "index": at, "content_block": {**begin[0]["content_block"], "id": f"t{at}"}} for at in range(300))]
    stream += [{**begin[1], "index": 20}, {**begin[1], "index": 299}, *messages(stop="max_tokens")[2:]]
    events, _ = decoded(sse(stream))
    assert [event for event in events if isinstance(event, ToolCallDelta)] == [ToolCallDelta(299, "{")]


# whole messages


WHOLE_EVENTS: dict[str, tuple[Any, list[Event]]] = {
    "all": (
        message(thought("t"), said("a"), used("t0", "f", {"a": 1}), used("t1", "g", {}), stop="tool_use"),
        [MessageStart(), ReasoningDelta("t"), ReasoningSeal(ReasoningState("signature", "s")), TextDelta("a"), ToolCallStart(0, "t0", "f"), ToolCallDelta(0, '{"a":1}'),
         ToolCallEnd(0), ToolCallStart(1, "t1", "g"), ToolCallDelta(1, "{}"), ToolCallEnd(1), Finish("tool_calls"), Usage(3, 4)],
    ),
    "arguments as text": (message(used("t0", "f", CITY), stop="tool_use"),
                          [MessageStart(), ToolCallStart(0, "t0", "f"), ToolCallDelta(0, CITY), ToolCallEnd(0), Finish("tool_calls"), Usage(3, 4)]),
    "arguments that are no object": (message(used("t0", "f", [1]), stop="tool_use"),
                                     [MessageStart(), ToolCallStart(0, "t0", "f"), ToolCallDelta(0, "[1]"), Finish("tool_calls"), Usage(3, 4)]),
    "an error": ({"type": "error", "error": {"type": "rate_limit_error", "message": "Slow"}}, [StreamError("rate_limit_error", "Slow", 429)]),
    "another's error": ({"error": {"code": 502, "message": "Bad"}}, [StreamError("error", "Bad", 502)]),
    "an error that is a text": ({"error": "Bad"}, [StreamError("error", "Bad")]),
    "nothing": ({}, [MessageStart()]),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE_EVENTS)
def test_the_events_of_whole_messages(name: str) -> None:
    data, events = WHOLE_EVENTS[name]
    assert list(Messages(reply()).decode_message(json.dumps(data).encode()).events) == events


def test_a_body_that_is_no_object() -> None:
    for body in (b"[]", b"<html>", b""):
        with pytest.raises(NotJSON):
            Messages(reply()).decode_message(body)


# anything at all

NAMES = ["type", "index", "content_block", "delta", "message", "usage", "error", "text", "thinking", "signature", "data", "id", "name", "input"]
NAMES += ["partial_json", "stop_reason", "stop_sequence", "input_tokens", "output_tokens_details", "content", "code"]
TYPES = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", "error", "ping", "text"]
TYPES += ["thinking", "redacted_thinking", "tool_use", "server_tool_use", "text_delta", "thinking_delta", "input_json_delta", "signature_delta", "?"]
LEAVES = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.sampled_from([*TYPES, "", "{", "{}", "a", "\ud83d", LEAK])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5), max_leaves=8)
GARBAGE = st.builds(lambda kind, rest: {**rest, "type": kind}, st.sampled_from(TYPES), st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6)) | VALUES


@given(st.lists(GARBAGE, max_size=12))
def test_garbage_passes(values: list[Any]) -> None:
    body = b"".join(b"event: %s\ndata: %s\n\n" % (str(TYPES[at % 7]).encode(), json.dumps(value).encode()) for at, value in enumerate(values))
    loop = Loop()
    loop.feed(body)
    loop.close()
    for value in values:
        if isinstance(value, dict):
            json.loads(Loop().message(json.dumps(value).encode()))


BLOCKS = st.one_of(
    st.builds(text, st.sampled_from(["a", "", "<", LEAK, LEAK[:50], "<think>b</think>"]), st.sampled_from(["", "c", LEAK])),
    st.builds(lambda piece, seal: thinking(piece, signature=seal), st.sampled_from(["t", "", LEAK]), st.sampled_from(["", "s"])),
    st.builds(tool, st.uuids().map(str), st.sampled_from(["get_weather", "f"]), st.sampled_from(["", "{", CITY]), st.sampled_from(["", "}"])),
    st.builds(redacted, st.just("x")),
)
STREAMS = st.builds(lambda blocks, stop: messages(*blocks, stop=stop), st.lists(BLOCKS, max_size=4), st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal"]))


@given(STREAMS, st.data())
def test_whatever_is_written_anew_is_legal(stream: list[dict[str, Any]], data: st.DataObject) -> None:
    """Events that are lost, said twice or in another order; the first makes the codec write anew."""
    middle = list(range(1, len(stream) - 2))
    places = data.draw(st.lists(st.sampled_from(middle), max_size=len(middle) + 3) | st.permutations(middle) | st.just(middle))
    body = sse([stream[0], *(stream[at] for at in places), *stream[-2:]]).replace(b"event: message_start", b": message_start")
    out = play(Loop, [body])
    judged = judge.read(out)
    unreadable = [fault for fault in judged.faults if "arguments" not in fault and "ids of two" not in fault]
    assert unreadable == []
