"""Streams of each API, and what a client of another API must have heard."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.support import legal_streams
from tests.support.streams import META, chunk, event, pieces, stream, wrapped
from tests.support.upstream_answers import Asked, Counts, Heard, Part, Text, Thought

CALL = '{"city":"Beijing"}'
BEIJING = {"city": "Beijing"}

HM, SAY = Thought("Hm, let me think 日本."), Text("Let me look.\nNow 🙂.")
FIRST, SECOND = Asked("call_a", "get_weather", CALL), Asked("call_b", "task", '{"description": "a \\"quoted\\" 日本\\n"}')

ANSWERS: dict[str, tuple[list[Part], str]] = {
    "text": ([SAY], "stop"),
    "text to the limit": ([SAY], "length"),
    "filtered": ([SAY], "content_filter"),
    "thought and text": ([HM, SAY], "stop"),
    "a call": ([FIRST], "tool_calls"),
    "a call without arguments": ([Asked("call_a", "task", "{}")], "tool_calls"),
    "two calls": ([FIRST, SECOND], "tool_calls"),
    "everything": ([HM, SAY, FIRST, SECOND], "tool_calls"),
    "thought between calls": ([HM, FIRST, Thought("And now?"), SECOND], "tool_calls"),
    "text between calls": ([FIRST, Text("And now:"), SECOND], "tool_calls"),
    "a call, then the limit": ([SAY, FIRST], "length"),
    "an odd id": ([Asked("functions.get_weather:0", "get_weather", CALL)], "tool_calls"),
}
SPENT = Counts(100, 50, 20, 3, 7)


def entry(index: int | None = 0, id_: str | None = "call_a", name: str | None = "get_weather", arguments: Any = ..., **more: Any) -> dict[str, Any]:
    """A delta with a piece of a call; members that are None are missing, `arguments` that are `...`, too."""
    function = ({} if name is None else {"name": name}) | ({} if arguments is ... else {"arguments": arguments})
    members = {"index": index, "id": id_, "function": function or None, "type": "function" if id_ else None, **more}
    return {"tool_calls": [{key: value for key, value in members.items() if value is not None}]}


def more(arguments: Any, index: int | None = 0) -> dict[str, Any]:
    return entry(index, None, None, arguments)


def bare(*deltas: Any, done: bool = True, usage: bool = True) -> bytes:
    """A stream of chunks as they are given."""
    last = [{**META, "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}] if usage else []
    return b"".join(event(data) for data in [*deltas, *last, *(["[DONE]"] if done else [])])


def counted(usage: dict[str, Any]) -> bytes:
    return bare(chunk({"role": "assistant", "content": "Hi"}), chunk({}, "stop"), {**META, "choices": [], "usage": usage}, usage=False)


HI = Heard("Hi there")
ONE_CALL = Heard(calls=[("call_a", "get_weather", BEIJING)], stop="tool_calls")
TWO_CALLS = Heard(calls=[("call_a", "get_weather", BEIJING), ("call_b", "task", {})], stop="tool_calls")
ERROR = Heard(stop="error")
ROLE, SAID, STOP = chunk({"role": "assistant", "content": ""}), chunk({"content": "Hi there"}), chunk({}, "stop")
TASK = entry(1, "call_b", "task", "{}")
LATE = Heard(calls=[(None, "get_weather", BEIJING)], stop="tool_calls")

TOLD_WHOLE = {"role": "assistant", "content": "Hi there", "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": CALL}}]}
WHOLE = replace(ONE_CALL, text="Hi there")

IRREGULAR: dict[str, tuple[bytes, Heard]] = {
    # framing
    "CRLF": (stream(["Hi ", "there"], newline="\r\n"), HI),
    "CR": (stream(["Hi ", "there"], newline="\r"), HI),
    "BOM": (b"\xef\xbb\xbf" + stream(["Hi there"]), HI),
    "comments": (b": OPENROUTER PROCESSING\n\n" + stream(["Hi there"]).replace(b"\n\n", b"\n\n: keep-alive\n\n"), HI),
    "[DONE] between blanks": (bare(ROLE, SAID, done=False, usage=False) + b"data:  [DONE] \n\n", Heard("Hi there", counts=None)),
    "no [DONE]": (bare(ROLE, SAID, STOP, done=False), HI),
    "no [DONE], no usage": (bare(ROLE, SAID, STOP, done=False, usage=False), Heard("Hi there", counts=None)),
    "no blank line at the end": (stream(["Hi there"]).rstrip(b"\n"), HI),
    "no blank lines": (stream(["Hi ", "there"]).replace(b"\n\n", b"\n"), HI),
    "events in events": (wrapped(stream(["Hi ", "there"])), HI),
    "nothing behind the reason": (bare(ROLE, SAID, STOP, done=False, usage=False).rstrip(b"\n"), Heard("Hi there", counts=None)),
    "no blank behind data:": (stream(["Hi there"]).replace(b"data: ", b"data:"), HI),
    "event lines": (stream(["Hi there"]).replace(b"data: ", b"event: message\ndata: "), HI),
    "UTF-8 split": (stream(["日本 🙂", "é"]), Heard("日本 🙂é")),
    # chunk
    "choices []": (bare({**META, "choices": []}, ROLE, SAID, STOP), HI),
    "no choices": (bare(META, ROLE, META, SAID, STOP, META), HI),
    "delta null": (bare(ROLE, {**META, "choices": [{"index": 0, "delta": None, "finish_reason": None}]}, SAID, STOP), HI),
    "no role": (bare(SAID, STOP), HI),
    "content null": (bare(chunk({"role": "assistant", "content": None}), chunk({"content": None}), SAID, STOP), HI),
    "content empty": (bare(ROLE, chunk({"content": ""}), SAID, chunk({"content": ""}), STOP), HI),
    "no index": (bare(ROLE, {**META, "choices": [{"delta": {"content": "Hi there"}}]}, {**META, "choices": [{"delta": {}, "finish_reason": "stop"}]}), HI),
    "usage on each chunk": (
        bare(*({**each, "usage": {"prompt_tokens": 10, "completion_tokens": at, "total_tokens": 10 + at}} for at, each in enumerate((ROLE, SAID, STOP)))),
        HI,
    ),
    "usage null on each chunk": (bare(*({**each, "usage": None} for each in (ROLE, SAID, STOP))), HI),
    "usage with the reason": (
        bare(ROLE, SAID, {**STOP, "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}, usage=False),
        HI,
    ),
    "usage in the choice": (
        bare(ROLE, SAID, chunk({}, "stop", usage={"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4}), usage=False),
        Heard("Hi there", counts=Counts(10, 5, 4)),
    ),
    "no usage": (bare(ROLE, SAID, STOP, usage=False), Heard("Hi there", counts=None)),
    **{
        f"a whole message behind a beginning, {what}": (bare(*before, {**META, "choices": [{"index": 0, **more, "message": TOLD_WHOLE, "finish_reason": "tool_calls"}]}), heard)
        for what, before, more, heard in (
            ("without a delta", [ROLE], {}, WHOLE),
            ("with an empty delta", [ROLE], {"delta": {}}, WHOLE),
            ("with a delta that says nothing", [], {"delta": {"role": "assistant", "content": ""}}, WHOLE),
            ("behind its text", [ROLE, SAID], {"delta": {}}, WHOLE),
            ("behind its text, with its reasoning", [ROLE, chunk({"reasoning": "Hm"}), SAID], {}, replace(WHOLE, reasoning="Hm")),
            ("told in deltas before", [ROLE, SAID, chunk({"tool_calls": TOLD_WHOLE["tool_calls"]})], {"delta": {}}, WHOLE),
        )
    },
    "an error object": (bare(ROLE, SAID, {"error": {"message": "gone", "code": 502}}), ERROR),
    "an error as text": (bare(ROLE, SAID, {"error": "gone"}), ERROR),
    "an error in a choice": (
        bare(ROLE, SAID, {**META, "choices": [{"index": 0, "delta": {}, "error": {"code": 502, "message": "gone"}, "finish_reason": "error"}]}),
        ERROR,
    ),
    "an error at once": (bare({"error": {"message": "slow down", "code": 429}}, usage=False), ERROR),
    "the reason error": (bare(ROLE, SAID, chunk({}, "error")), ERROR),
    "other fields": (bare(ROLE, {**SAID, "system_fingerprint": "x", "provider": "y", "service_tier": None}, STOP), HI),
    "another choice": (bare(ROLE, chunk({"role": "assistant", "content": "no"}, index=1), SAID, STOP, chunk({}, "stop", index=1)), HI),
    "another choice that only begins": (bare(chunk({"role": "assistant"}, index=1), ROLE, SAID, chunk({}, "stop", index=1), STOP), HI),
    "another choice that begins and speaks": (
        bare(chunk({"role": "assistant"}, index=1), chunk({"content": "Hi there"}, index=1), chunk({}, "stop", index=1)), HI,
    ),
    "choices from 1": (bare(chunk({"role": "assistant", "content": "Hi "}, index=1), chunk({"content": "there"}, index=1), chunk({}, "stop", index=1)), HI),
    "a choice at -1": (bare(chunk({"role": "assistant", "content": "Hi there"}, index=-1), chunk({}, "stop", index=-1)), HI),
    "choices from 1, and another": (
        bare(chunk({"role": "assistant", "content": "Hi there"}, index=1), chunk({"content": "no"}, index=0), chunk({}, "stop", index=1), chunk({}, "length", index=0)),
        HI,
    ),
    # finish
    "text with the reason": (bare(ROLE, chunk({"content": "Hi there"}, "stop")), HI),
    "text behind the reason": (bare(ROLE, chunk({"content": "Hi "}), STOP, chunk({"content": "there"})), HI),
    "a call behind the reason": (
        bare(ROLE, SAID, STOP, chunk(entry(arguments=CALL))),
        Heard("Hi there", calls=ONE_CALL.calls, stop="tool_calls"),
    ),
    "the reason on each chunk": (bare(chunk({"role": "assistant", "content": "Hi "}, "stop"), chunk({"content": "there"}, "stop")), HI),
    "the reason on each chunk of a call": (
        bare(ROLE, *(chunk(delta, "tool_calls") for delta in (entry(arguments=""), more('{"city":'), more('"Beijing"}')))),
        ONE_CALL,
    ),
    "arguments behind the reason": (bare(ROLE, chunk(entry(arguments="")), chunk({}, "tool_calls"), chunk(more(CALL))), ONE_CALL),
    "no arguments, and nothing behind the reason": (
        bare(ROLE, chunk(entry(name="task", arguments="")), chunk({}, "tool_calls"), done=False, usage=False),
        Heard(calls=[("call_a", "task", {})], stop="tool_calls", counts=None),
    ),
    "no arguments, and an error behind the reason": (
        bare(ROLE, chunk(entry(name="task")), chunk({}, "tool_calls"), {"error": {"message": "gone"}}, done=False, usage=False),
        ERROR,
    ),
    "the reason twice": (bare(ROLE, SAID, STOP, STOP), HI),
    "an unknown reason": (bare(ROLE, SAID, chunk({}, "eos")), HI),
    "an empty reason": (bare(ROLE, chunk({"content": "Hi "}, ""), chunk({"content": "there"}, ""), STOP), HI),
    "tool_calls without a call": (bare(ROLE, SAID, chunk({}, "tool_calls")), HI),
    "stop with a call": (stream([entry(arguments=CALL)], finish="stop"), ONE_CALL),
    "an unknown reason with a call": (stream([entry(arguments=CALL)], finish="eos"), ONE_CALL),
    "only [DONE]": (stream(["Hi there"], finish=None), HI),
    "only [DONE] behind a call": (stream([entry(arguments=CALL)], finish=None), ONE_CALL),
    "cut off": (bare(ROLE, SAID, done=False, usage=False), ERROR),
    "cut off in a call": (bare(ROLE, chunk(entry(arguments='{"city":"Bei')), done=False, usage=False), ERROR),
    "cut off behind a call": (bare(ROLE, chunk(entry(arguments=CALL)), done=False, usage=False), ERROR),
    "cut off in an event": (stream(["Hi there"])[:300], ERROR),
    "a reason, but the call is broken off": (bare(ROLE, chunk(entry(arguments='{"city":"Bei')), chunk({}, "tool_calls")), ERROR),
    "empty": (b"", ERROR),
    "[DONE] alone": (b"data: [DONE]\n\n", ERROR),
    "no words": (bare(ROLE, STOP), Heard()),
    # identity of calls
    "tool_calls [] beside text": (bare(ROLE, *(chunk({"content": part, "tool_calls": []}) for part in ("Hi ", "there")), STOP), HI),
    "tool_calls null beside text": (bare(ROLE, *(chunk({"content": part, "tool_calls": None}) for part in ("Hi ", "there")), STOP), HI),
    "no call index": (stream([entry(None, arguments=""), more(CALL, None)], finish="tool_calls"), ONE_CALL),
    "two calls without index": (
        stream([entry(None, arguments=CALL), entry(None, "call_b", "task", "{}")], finish="tool_calls"),
        TWO_CALLS,
    ),
    "index from 1": (stream([entry(1, arguments=""), more(CALL, 1)], finish="tool_calls"), ONE_CALL),
    "indices with a gap": (stream([entry(0, arguments=CALL), entry(5, "call_b", "task", "{}")], finish="tool_calls"), TWO_CALLS),
    "the same index, a new id": (stream([entry(arguments=CALL), entry(0, "call_b", "task", "{}")], finish="tool_calls"), TWO_CALLS),
    "interleaved": (
        stream([entry(arguments='{"city"'), entry(1, "call_b", "task", "{"), more(':"Bei'), more("}", 1), more('jing"}')], finish="tool_calls"),
        TWO_CALLS,
    ),
    "two calls in one chunk": (
        stream([{"tool_calls": [*entry(arguments=CALL)["tool_calls"], *TASK["tool_calls"]]}], finish="tool_calls"),
        TWO_CALLS,
    ),
    "no id": (stream([entry(id_=None, arguments=CALL)], finish="tool_calls"), LATE),
    "two calls of a tool, without ids": (
        stream([entry(id_=None, arguments=CALL), entry(id_=None, arguments='{"city":'), more('"Paris"}')], finish="tool_calls"),
        Heard(calls=[*LATE.calls, (None, "get_weather", {"city": "Paris"})], stop="tool_calls"),
    ),
    "an empty id": (stream([entry(id_="", arguments=CALL)], finish="tool_calls"), LATE),
    "a late id": (stream([entry(id_=None, arguments=""), entry(name=None, arguments=""), more(CALL)], finish="tool_calls"), ONE_CALL),
    "an id behind the first arguments": (
        stream([entry(id_=None, arguments='{"city"'), entry(name=None, arguments=':"Bei'), more('jing"}')], finish="tool_calls"),
        ONE_CALL,
    ),
    "an id behind all arguments": (stream([entry(id_=None, arguments=CALL), entry(name=None)], finish="tool_calls"), ONE_CALL),
    "the name behind the id": (stream([entry(name=None, arguments=""), entry(id_=None, arguments=""), more(CALL)], finish="tool_calls"), ONE_CALL),
    "a name in pieces": (
        stream([entry(name="get_", arguments=""), entry(id_=None, name="weather", arguments=""), more(CALL)], finish="tool_calls"),
        ONE_CALL,
    ),
    "id and name on each chunk": (stream([entry(arguments=piece) for piece in pieces(CALL, 1, (3, 4))], finish="tool_calls"), ONE_CALL),
    "type missing": (stream([{"tool_calls": [{"index": 0, "id": "call_a", "function": {"name": "get_weather", "arguments": CALL}}]}], finish="tool_calls"), ONE_CALL),
    "text between the deltas of a call": (
        stream([entry(arguments='{"city":'), "\n", more('"Beijing"}')], finish="tool_calls"),
        Heard("\n", calls=ONE_CALL.calls, stop="tool_calls"),
    ),
    # arguments
    "arguments null": (stream([entry(arguments=None), more(CALL)], finish="tool_calls"), ONE_CALL),
    "arguments empty": (stream([entry(arguments=""), more(""), more(CALL), more("")], finish="tool_calls"), ONE_CALL),
    "arguments an object": (stream([entry(arguments=BEIJING)], finish="tool_calls"), ONE_CALL),
    "arguments at once": (stream([entry(arguments=""), more(CALL)], finish="tool_calls"), ONE_CALL),
    "arguments in the first chunk": (stream([entry(arguments=CALL)], finish="tool_calls"), ONE_CALL),
    "no arguments": (stream([entry(name="task")], finish="tool_calls"), Heard(calls=[("call_a", "task", {})], stop="tool_calls")),
    "empty arguments": (stream([entry(name="task", arguments="")], finish="tool_calls"), Heard(calls=[("call_a", "task", {})], stop="tool_calls")),
    "function_call": (
        stream([{"function_call": {"name": "get_weather", "arguments": ""}}, {"function_call": {"arguments": CALL}}], finish="function_call"),
        LATE,
    ),
    # reasoning
    "<think> tags": (stream(pieces("<think>\nHm</think>\n\nHi there", 3)), Heard("Hi there", "Hm")),
    "reasoning_content": (stream([{"reasoning_content": "Hm"}, "Hi there"]), Heard("Hi there", "Hm")),
    "reasoning": (stream([{"reasoning": "H"}, {"reasoning": "m"}, "Hi there"]), Heard("Hi there", "Hm")),
    "reasoning_details": (
        stream([{"reasoning": "Hm", "reasoning_details": [{"type": "reasoning.text", "text": "Hm", "index": 0, "format": "x"}]}, "Hi there"]),
        Heard("Hi there", "Hm"),
    ),
    "reasoning_details alone": (
        stream([{"reasoning_details": [{"type": "reasoning.text", "text": "Hm", "index": 0}]}, "Hi there"]),
        Heard("Hi there", "Hm"),
    ),
    "both fields": (stream([{"reasoning": "Hm", "reasoning_content": "Hm"}, "Hi there"]), Heard("Hi there", "Hm")),
    "reasoning in parts, as Mistral has it": (
        stream([{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]}, {"content": [{"type": "text", "text": "Hi there"}]}]),
        Heard("Hi there", "Hm"),
    ),
    "reasoning in parts, as Databricks has it": (
        stream([{"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm", "signature": ""}]}]}, "Hi there"]),
        Heard("Hi there", "Hm"),
    ),
    "reasoning in parts of that type": (
        stream([{"content": [{"type": "reasoning", "text": "H"}, {"type": "reasoning_text", "text": "m"}]}, {"content": ["Hi ", {"type": "text", "text": "there"}]}]),
        Heard("Hi there", "Hm"),
    ),
    "reasoning as Copilot has it": (stream([{"reasoning_text": "H"}, {"reasoning_text": "m"}, "Hi there"]), Heard("Hi there", "Hm")),
    "completions that are no chat": (
        b"".join(event({**META, "choices": [{"index": 0, "text": text, "finish_reason": end}]}) for text, end in (("Hi ", None), ("there", None), ("", "stop")))
        + event({**META, "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}),
        HI,
    ),
    "content that is one part": (stream([{"content": {"type": "text", "text": "Hi "}}, {"content": {"type": "output_text", "text": "there"}}]), HI),
    "arguments called input": (
        stream([{"tool_calls": [{"index": 0, "id": "call_a", "type": "tool_use", "name": "get_weather", "input": BEIJING}]}], finish="tool_calls"),
        ONE_CALL,
    ),
    "several runs": (stream([{"reasoning_content": "a"}, "Hi ", {"reasoning_content": "b"}, "there"]), Heard("Hi there", "ab")),
    "reasoning between calls": (
        stream([entry(arguments=CALL), {"reasoning_content": "Hm"}, TASK], finish="tool_calls"),
        Heard("", "Hm", TWO_CALLS.calls, "tool_calls"),
    ),
    "reasoning in a call": (
        stream([entry(arguments='{"city":'), {"reasoning_content": "Hm"}, more('"Beijing"}')], finish="tool_calls"),
        Heard("", "Hm", ONE_CALL.calls, "tool_calls"),
    ),
    "reasoning null and empty": (stream([{"content": "Hi ", "reasoning_content": None}, {"content": "there", "reasoning_content": ""}]), HI),
    "reasoning beside text": (stream([{"content": "Hi there", "reasoning_content": "Hm"}]), Heard("Hi there", "Hm")),
    "reasoning alone": (stream([{"reasoning_content": "Hm"}]), Heard("", "Hm")),
    # limits and filters
    "the limit": (stream(["Hi there"], finish="length"), Heard("Hi there", stop="length")),
    "the limit behind a call": (stream([entry(arguments=CALL)], finish="length"), Heard(calls=ONE_CALL.calls, stop="length")),
    "filtered": (stream(["Hi there"], finish="content_filter"), Heard("Hi there", stop="content_filter")),
    # usage
    "cached": (
        counted({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10}}),
        Heard("Hi", counts=Counts(100, 5, 40, 10)),
    ),
    "cached, DeepSeek": (
        counted({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "prompt_cache_hit_tokens": 40, "prompt_cache_miss_tokens": 60}),
        Heard("Hi", counts=Counts(100, 5, 40)),
    ),
    "cached, Moonshot": (
        counted({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "cached_tokens": 40}),
        Heard("Hi", counts=Counts(100, 5, 40)),
    ),
    "all is cached": (
        counted({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "prompt_tokens_details": {"cached_tokens": 100}}),
        Heard("Hi", counts=Counts(100, 5, 100)),
    ),
    "cached, LiteLLM": (
        counted({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10}),
        Heard("Hi", counts=Counts(100, 5, 40, 10)),
    ),
    "counts of Groq's": (
        bare(ROLE, SAID, {**STOP, "x_groq": {"id": "req_1", "usage": {"prompt_tokens": 10, "completion_tokens": 5}}}, usage=False),
        HI,
    ),
    "numbers with a point": (counted({"prompt_tokens": 100.0, "completion_tokens": 5.0}), Heard("Hi", counts=Counts(100, 5))),
    "details null": (
        counted({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "prompt_tokens_details": None, "completion_tokens_details": None}),
        Heard("Hi", counts=Counts(100, 5)),
    ),
    "zeros": (counted({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}), Heard("Hi", counts=None)),
    "no numbers": (counted({"prompt_tokens": "10", "completion_tokens": None}), Heard("Hi", counts=None)),
    "zeros behind the usage": (bare(ROLE, SAID, {**STOP, "usage": {"prompt_tokens": 10, "completion_tokens": 5}}, {**META, "usage": {}}, usage=False), HI),
    "thought": (
        counted({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "completion_tokens_details": {"reasoning_tokens": 4}}),
        Heard("Hi", counts=Counts(100, 5, 0, 0, 4)),
    ),
}


def deltas(index: int, kind: str, member: str, *parts: str) -> list[dict[str, Any]]:
    return [{"type": "content_block_delta", "index": index, "delta": {"type": kind, member: part}} for part in parts]


def changed(events: list[dict[str, Any]], change: Callable[[list[dict[str, Any]]], object]) -> bytes:
    change(events)
    return legal_streams.sse(events)


M_USAGE = Counts(25, 9, 5)
GOOD = legal_streams.messages(legal_streams.thinking("Hm", signature="s"), legal_streams.text("Hi ", "there"), legal_streams.tool("call_a", "get_weather", '{"city":', '"Beijing"}'), stop="tool_use")
ALL = Heard("Hi there", "Hm", ONE_CALL.calls, "tool_calls", M_USAGE)


def m(change: Callable[[list[dict[str, Any]]], object]) -> bytes:
    """GOOD, changed."""
    events = json.loads(json.dumps(GOOD))
    change(events)
    return legal_streams.sse(events)


MESSAGES: dict[str, tuple[bytes, Heard]] = {
    "good": (legal_streams.sse(GOOD), ALL),
    "CRLF": (legal_streams.sse(GOOD).replace(b"\n", b"\r\n"), ALL),
    "no blank lines": (legal_streams.sse(GOOD).replace(b"\n\n", b"\n"), ALL),
    "events in events": (wrapped(legal_streams.sse(GOOD)), ALL),
    "no event lines": (b"".join(event(each) for each in GOOD), ALL),
    "no ping": (m(lambda e: e.pop(1)), ALL),
    "pings": (m(lambda e: [e.insert(at, {"type": "ping"}) for at in range(len(e) - 1, 1, -1)]), ALL),
    "comments": (b": hello\n\n" + legal_streams.sse(GOOD).replace(b"\n\n", b"\n\n: there\n\n"), ALL),
    "no message_stop": (m(lambda e: e.pop()), ALL),
    "cut": (m(lambda e: e.__delitem__(slice(-2, None))), ERROR),
    "cut in a call": (m(lambda e: e.__delitem__(slice(-4, None))), ERROR),
    "an error": (m(lambda e: e.__setitem__(slice(-2, None), [legal_streams.broken()])), ERROR),
    "an error first": (legal_streams.sse([legal_streams.broken("rate_limit_error", "slow down")]), ERROR),
    "arguments in the start": (
        m(lambda e: (e[-6]["content_block"].update(input=BEIJING), e.__delitem__(slice(-5, -3)))),
        ALL,
    ),
    "arguments in the start, as text": (
        m(lambda e: (e[-6]["content_block"].update(input=CALL), e.__delitem__(slice(-5, -3)))),
        ALL,
    ),
    "arguments an object": (
        m(lambda e: (e[-5]["delta"].update(partial_json=BEIJING), e.pop(-4))),
        ALL,
    ),
    "arguments at the index of a block that is over": (m(lambda e: [each.update(index=1) for each in e[-5:-3]]), ALL),
    "arguments at an index that never began": (m(lambda e: [each.update(index=7) for each in e[-5:-3]]), ALL),
    "arguments behind the stop": (m(lambda e: e.insert(-4, e.pop(-3))), ALL),
    "half the arguments behind the stop": (m(lambda e: e.insert(-3, e.pop(-3))), ALL),
    "all at one index, and no stops": (
        legal_streams.sse(
            [
                {**each, **({"index": 0} if "index" in each else {})}
                for each in legal_streams.messages(legal_streams.tool("call_a", "get_weather", CALL), legal_streams.tool("call_b", "task"), stop="tool_use")
                if each["type"] != "content_block_stop"
            ]
        ),
        Heard(calls=TWO_CALLS.calls, stop="tool_calls", counts=M_USAGE),
    ),
    "an unknown event": (m(lambda e: e.insert(2, {"type": "metadata", "x": 1})), ALL),
    "an unknown block": (
        m(lambda e: e.__setitem__(slice(-2, -2), [{**each, "index": 3} for each in legal_streams.block({"type": "server_thing", "x": 1})])),
        ALL,
    ),
    "no types": (
        m(lambda e: [each.get("content_block", each.get("delta", {})).pop("type", None) for each in e]),
        ALL,
    ),
    "empty types": (m(lambda e: [each.get("content_block", each.get("delta", {})).update(type="") for each in e if "block" in each["type"]]), ALL),
    "blocks that say nothing of themselves": (
        m(lambda e: [each.update(content_block=None) for each in e if each["type"] == "content_block_start"]),
        replace(ALL, calls=[(None, "get_weather", BEIJING)]),
    ),
    "no block starts": (
        m(lambda e: e.__setitem__(slice(None), [each for each in e if each["type"] != "content_block_start"])),
        replace(ALL, calls=[(None, "get_weather", BEIJING)]),
    ),
    "a good reason, but the call is broken off": (m(lambda e: e.pop(-4)), ERROR),
    "no block stops": (m(lambda e: e.__setitem__(slice(None), [each for each in e if each["type"] != "content_block_stop"])), ALL),
    "end_turn with a call": (m(lambda e: e[-2]["delta"].update(stop_reason="end_turn")), ALL),
    "pause_turn": (legal_streams.sse(legal_streams.messages(legal_streams.text("Hi there"), stop="pause_turn")), Heard("Hi there", counts=M_USAGE)),
    "the window is full": (
        legal_streams.sse(legal_streams.messages(legal_streams.text("Hi there"), stop="model_context_window_exceeded")),
        Heard("Hi there", stop="length", counts=M_USAGE),
    ),
    "a stop sequence": (
        legal_streams.sse(legal_streams.messages(legal_streams.text("Hi there"), stop="stop_sequence", sequence="END")),
        Heard("Hi there", counts=M_USAGE),
    ),
    "no arguments": (
        legal_streams.sse(legal_streams.messages(legal_streams.tool("call_a", "task"), stop="tool_use")),
        Heard(calls=[("call_a", "task", {})], stop="tool_calls", counts=M_USAGE),
    ),
    "counts of the start alone": (m(lambda e: e[-2].update(usage={"output_tokens": 9})), ALL),
    "other counts at the end": (
        m(lambda e: e[-2].update(usage={"input_tokens": 10, "cache_read_input_tokens": 0, "output_tokens": 9})),
        replace(ALL, counts=Counts(10, 9)),
    ),
    "counts of 0 at the end": (m(lambda e: e[-2].update(usage={"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 9})), ALL),
    "redacted": (
        legal_streams.sse(legal_streams.messages(legal_streams.redacted("blob"), legal_streams.text("Hi there"))),
        Heard("Hi there", counts=M_USAGE),
    ),
}

R_USAGE = Counts(25, 9, 5, 0, 4)
ITEMS = legal_streams.responses(legal_streams.think("Hm", encrypted="s"), legal_streams.say("Hi ", "there"), legal_streams.call("call_a", "get_weather", '{"city":', '"Beijing"}'))
TOLD = Heard("Hi there", "Hm", ONE_CALL.calls, "tool_calls", R_USAGE)

ONE_AND_ANOTHER = legal_streams.call("call_a", "get_weather", '{"city":', '"Beijing"}'), legal_streams.call("call_b", "task", "{", "}")


def r(change: Callable[[list[dict[str, Any]]], object]) -> bytes:
    """ITEMS, changed."""
    events = json.loads(json.dumps(ITEMS))
    change(events)
    return legal_streams.sse(legal_streams.numbered(events))


def kept(*types: str) -> Callable[[list[dict[str, Any]]], object]:
    """Without the events whose type ends so."""
    return lambda e: e.__setitem__(slice(None), [each for each in e if not each["type"].endswith(types)])


def renamed(e: list[dict[str, Any]]) -> None:
    """Both calls under one id."""
    e[2:] = json.loads(re.sub(r'"item_\d"', '"item"', json.dumps(legal_streams.responses(*ONE_AND_ANOTHER)[2:])))


def concurrent(e: list[dict[str, Any]]) -> None:
    """Both calls at once, their deltas taking turns."""
    one, two = ONE_AND_ANOTHER
    place = [
        [{**each, "item_id": f"item_{at}", "output_index": at} for each in item.events] for at, item in enumerate((one, two))
    ]
    items = [{"id": f"item_{at}", **item.done} for at, item in enumerate((one, two))]
    e[2:-1] = [
        *({"type": "response.output_item.added", "output_index": at, "item": {"id": f"item_{at}", **item.start}} for at, item in enumerate((one, two))),
        *(event for pair in zip(*place, strict=True) for event in pair),
        *({"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)),
    ]
    e[-1]["response"]["output"] = items


RESPONSES: dict[str, tuple[bytes, Heard]] = {
    "good": (legal_streams.sse(ITEMS), TOLD),
    "CRLF": (legal_streams.sse(ITEMS).replace(b"\n", b"\r\n"), TOLD),
    "no blank lines": (legal_streams.sse(ITEMS).replace(b"\n\n", b"\n"), TOLD),
    "events in events": (wrapped(legal_streams.sse(ITEMS)), TOLD),
    "no event lines": (b"".join(event(each) for each in ITEMS), TOLD),
    "reasoning by its first name": (legal_streams.sse(ITEMS).replace(b".reasoning_summary_text.", b".reasoning_summary."), TOLD),
    "reasoning by its first name, in objects": (
        re.sub(rb'"response\.reasoning_summary_text\.delta"(.*?)"delta": ?("[^"]*")', rb'"response.reasoning_summary.delta"\1"delta":{"text":\2}', legal_streams.sse(ITEMS)),
        TOLD,
    ),
    "reasoning by its first name, of which there is a summary": (
        legal_streams.sse(ITEMS).replace(b".reasoning_summary_text.", b".reasoning."),
        TOLD,
    ),
    "reasoning by its first name alone": (
        r(lambda e: [e.__setitem__(slice(None), [each for each in e if "reasoning" not in each["type"]]), e.insert(2, {"type": "response.reasoning.delta", "delta": "Hm"}), e[-1]["response"]["output"].pop(0), [e.remove(each) for each in [*e] if each.get("item", {}).get("type") == "reasoning"]]),
        TOLD,
    ),
    "[DONE]": (legal_streams.sse(ITEMS) + b"data: [DONE]\n\n", TOLD),
    "[DONE] between blanks": (legal_streams.sse(ITEMS) + b"data:  [DONE] \n\n", TOLD),
    "each event twice": (b"".join(2 * legal_streams.sse([each]) for each in ITEMS), TOLD),
    "no deltas": (r(kept(".delta")), TOLD),
    "no done": (r(kept("text.done", "arguments.done", "part.done")), TOLD),
    "no parts": (r(kept("part.added", "part.done")), TOLD),
    "no item.done": (r(kept("item.done")), TOLD),
    "items alone": (r(kept(".delta", "text.done", "arguments.done", "part.added", "part.done")), TOLD),
    "the end alone": (r(lambda e: e.__delitem__(slice(2, -1))), TOLD),
    "no call_id": (
        r(lambda e: [each["item"].pop("call_id", None) for each in e if "item" in each] and e[-1]["response"]["output"][2].pop("call_id")),
        Heard("Hi there", "Hm", [("item_2", "get_weather", BEIJING)], "tool_calls", R_USAGE),
    ),
    "one id for two items": (r(renamed), Heard(calls=TWO_CALLS.calls, stop="tool_calls", counts=R_USAGE)),
    "concurrent calls": (r(concurrent), Heard(calls=TWO_CALLS.calls, stop="tool_calls", counts=R_USAGE)),
    "cut": (r(lambda e: e.pop()), ERROR),
    "cut in a call": (r(lambda e: e.__delitem__(slice(-3, None))), ERROR),
    "failed": (legal_streams.sse(legal_streams.responses(legal_streams.say("Hi"), status="failed")), ERROR),
    "an error": (r(lambda e: e.__setitem__(slice(-1, None), [{"type": "error", "code": None, "message": "gone", "param": None}])), ERROR),
    "completed, but the call is broken off": (legal_streams.sse(legal_streams.responses(legal_streams.call("call_a", "get_weather", '{"city":"Bei'))), ERROR),
    "its deltas miss a piece, by its end": (
        changed(legal_streams.responses(legal_streams.call("call_a", "get_weather", '{"city":"Bei', "ji", 'ng"}')), lambda e: e.remove(next(each for each in e if each.get("delta") == "ji"))),
        ERROR,
    ),
    "each has the number 0": (
        changed(legal_streams.responses(legal_streams.say("Hi", " ", " ", "there")), lambda e: [each.update(sequence_number=0) for each in e]),
        Heard("Hi  there", counts=R_USAGE),
    ),
    "incomplete": (legal_streams.sse(legal_streams.responses(legal_streams.say("Hi there"), status="incomplete")), Heard("Hi there", stop="length", counts=R_USAGE)),
    "arguments in a fence": (
        legal_streams.sse(legal_streams.responses(legal_streams.call("call_a", "get_weather", "```json\n", CALL, "\n```"))),
        Heard(calls=ONE_CALL.calls, stop="tool_calls", counts=R_USAGE),
    ),
    "arguments that are a string": (
        legal_streams.sse(legal_streams.responses(legal_streams.call("call_a", "get_weather", json.dumps(CALL)))),
        Heard(calls=ONE_CALL.calls, stop="tool_calls", counts=R_USAGE),
    ),
    "arguments with a raw line end": (
        legal_streams.sse(legal_streams.responses(legal_streams.call("call_a", "get_weather", '{"city":"Bei', '\njing"}'))),
        Heard(calls=[("call_a", "get_weather", {"city": "Bei\njing"})], stop="tool_calls", counts=R_USAGE),
    ),
    "a name with residue, the first brace twice": (
        legal_streams.sse(legal_streams.responses(legal_streams.call("call_a", "functions.get_weather<|channel|>commentary", "{", CALL))),
        Heard(calls=ONE_CALL.calls, stop="tool_calls", counts=R_USAGE),
    ),
    "a custom call, told as a function's": (
        legal_streams.sse(legal_streams.responses(legal_streams.custom("call_a", "task", "*", "x"))).replace(b"custom_tool_call_input", b"function_call_arguments"),
        Heard(calls=[("call_a", "task", {"input": "*x"})], stop="tool_calls", counts=R_USAGE),
    ),
    "arguments null": (
        legal_streams.sse(legal_streams.responses(legal_streams.call("call_a", "task", "null"))),
        Heard(calls=[("call_a", "task", {})], stop="tool_calls", counts=R_USAGE),
    ),
    "incomplete, though the event says completed": (
        legal_streams.sse(legal_streams.responses(legal_streams.say("Hi there"), status="incomplete")).replace(b"response.incomplete", b"response.completed"),
        Heard("Hi there", stop="length", counts=R_USAGE),
    ),
    "cancelled, though the event says completed": (r(lambda e: e[-1]["response"].update(status="cancelled")), ERROR),
    "done": (r(lambda e: e[-1].update(type="response.done")), TOLD),
    "a status that says nothing": (r(lambda e: e[-1]["response"].update(status="in_progress")), TOLD),
    "an unknown event": (r(lambda e: e.insert(2, {"type": "response.metadata"})), TOLD),
    "an unknown item": (
        r(lambda e: e.__setitem__(slice(-1, -1), [{"type": f"response.output_item.{word}", "output_index": 3, "item": {"id": "fs_1", "type": "file_search_call", "status": "completed"}} for word in ("added", "done")])),
        TOLD,
    ),
    "zeros": (r(lambda e: e[-1]["response"].update(usage={"input_tokens": 0, "output_tokens": 0, "total_tokens": 0})), replace(TOLD, counts=None)),
    "empty arguments": (
        legal_streams.sse(legal_streams.responses(legal_streams.call("call_a", "task"))),
        Heard(calls=[("call_a", "task", {})], stop="tool_calls", counts=R_USAGE),
    ),
}
