"""codec.py with decode.py and rewrite.py: regular chunks pass, and irregular ones are mended."""

import json
from typing import Any

import pytest

from tests.patterns.irregular import CALL, CITY, REQUEST, first, more
from tests.patterns.kimi import ONE
from tests.support.chat_events import ROLE, detail, entry, thought, told
from tests.support.cuts import cuts
from tests.support.judges.chat import read
from tests.support.regular_streams import DONE, HI, choices
from tests.support.streams import META, chunk, event, pieces, play, request, stream, tool
from toolmend.apis.chat.codec import Chat
from toolmend.apis.codec import Reply
from toolmend.core import tools
from toolmend.core.events import (
    Event,
    Finish,
    Frame,
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
from toolmend.core.sse import SseDecoder
from toolmend.pipeline.pipeline import Pipeline

LEGACY = request(functions=[tool("get_weather", city={})["function"]])


def pipeline(asked: dict[str, Any] | None = REQUEST) -> Pipeline:
    numbers = iter(range(1000))
    return Pipeline(asked, new_id=lambda: f"call_{next(numbers)}")


def through(data: list[Any], asked: dict[str, Any] | None = REQUEST) -> tuple[list[Any], list[str]]:
    """What the codec alone makes of events, and the rules that fired."""
    rules: list[str] = []
    offered = tools.UNKNOWN if asked is None else tools.of_chat(asked)
    codec = Chat(Reply(offered, lambda: "call_0", lambda rule: None if rule in rules else rules.append(rule), asked or {}))
    out = b"".join(codec.encode(codec.decode(sse)) for sse in SseDecoder().feed(b"".join(map(event, data))))
    return [json.loads(sse.data) for sse in SseDecoder().feed(out) if sse.data], rules


GONE = {"message": "gone", "type": "error", "param": None, "code": None}

CHUNKS: dict[str, tuple[list[Any], list[Any], list[str]]] = {
    "delta is null": (
        [ROLE, choices({"index": 0, "delta": None, "finish_reason": None})],
        [ROLE, choices({"index": 0, "delta": {}, "finish_reason": None})],
        ["delta"],
    ),
    "delta is a list": ([ROLE, choices({"index": 0, "delta": [], "finish_reason": "stop"})], [ROLE, chunk({}, "stop")], ["delta"]),
    "no delta, but something else": (
        [ROLE, choices({"index": 0, "content_filter_results": {"hate": {"filtered": False}}}, object="", id="")],
        [
            ROLE,
            choices(
                {"index": 0, "content_filter_results": {"hate": {"filtered": False}}, "delta": {}, "finish_reason": None}, id=""
            ),
        ],
        ["delta"],
    ),
    "a finish and no delta": (
        [ROLE, choices({"index": 0, "finish_reason": "stop", "x": 1})],
        [ROLE, choices({"index": 0, "finish_reason": "stop", "x": 1, "delta": {}})],
        ["delta"],
    ),
    "an empty finish reason": ([chunk(HI, "")], [chunk(HI)], ["finish_reason"]),
    "no index": (
        [choices({"delta": HI}, {"delta": {"content": "!"}})],
        [choices({"index": 0, "delta": {**HI, "content": "Hi!"}, "finish_reason": None})],
        ["choice_index"],
    ),
    "indices that are no integers": (
        [choices({"index": "1", "delta": HI}, {"index": 0.0, "delta": HI}), choices({"index": True, "delta": HI}, {"index": 1, "delta": HI})],
        [choices(*({"index": n, "delta": HI, "finish_reason": None} for n in order)) for order in ((1, 0), (0, 1))],
        ["choice_index"],
    ),
    "a choice that is none": (
        [choices(None, {"delta": HI})], [choices({"index": 0, "delta": HI, "finish_reason": None})], ["choice_index"],
    ),
    "no role": ([chunk({"content": "Hi"}), chunk({"content": "!"})], [chunk(HI), chunk({"content": "!"})], ["role"]),
    "a role that is null": ([chunk({"role": None, "content": "Hi"})], [chunk(HI)], ["role"]),
    "fields are taken from the first chunk that has them": (
        [chunk(HI), {"choices": chunk({"content": "!"})["choices"], "provider": "p"}],
        [chunk(HI), {"choices": chunk({"content": "!"})["choices"], "provider": "p", **META}],
        ["chunk_fields"],
    ),
    "fields that are null": (
        [chunk(HI), {**chunk({"content": "!"}), "object": None}],
        [chunk(HI), chunk({"content": "!"})],
        ["chunk_fields"],
    ),
    "choices that are null, or not there": (
        [chunk(HI), {**META, "choices": None, "usage": {"prompt_tokens": 1}}, {**META, "usage": {"prompt_tokens": 2}}],
        [chunk(HI), {**META, "choices": [], "usage": {"prompt_tokens": 1}}, {**META, "usage": {"prompt_tokens": 2}, "choices": []}],
        ["chunk_fields"],
    ),
    "choices that are null, and nothing beside": (
        [{**META, "choices": None}, chunk(HI)], [{**META, "choices": []}, chunk(HI)], ["chunk_fields"],
    ),
    "a usage alone": (
        [chunk(HI), {"id": "usage-1", "model": "m", "usage": {"prompt_tokens": 1}}],
        [chunk(HI), {**META, "id": "usage-1", "model": "m", "usage": {"prompt_tokens": 1}, "choices": []}], ["chunk_fields"],
    ),
    "a ping of Anthropic's": ([chunk(HI), {"type": "x"}, {"type": "ping"}], [chunk(HI), {"type": "x"}, {"type": "ping", **META, "choices": []}], ["chunk_fields"]),
    "members of another type": (
        [{**chunk(HI), "id": 7, "created": "1760000000", "model": None}, {**chunk({"content": "!"}), "created": 1760000000.5, "object": "chat.completion"}],
        [{**chunk(HI), "id": "7", "model": ""}, chunk({"content": "!"})],
        ["chunk_fields"],
    ),
    "times that tell none": (
        [{**chunk(HI), "created": "today"}, {**chunk({"content": "!"}), "created": 1.5}, {**chunk({"content": "?"}), "created": True}],
        [{**chunk(said), "created": 0} for said in (HI, {"content": "!"}, {"content": "?"})],
        ["chunk_fields"],
    ),
    "an error that is none": (
        [{**chunk(HI), "error": None}, {**META, "choices": [], "error": {}, "usage": {"prompt_tokens": 1}}, {"error": None, **META, "choices": []}],
        [chunk(HI), {**META, "choices": [], "usage": {"prompt_tokens": 1}}, {**META, "choices": []}],
        ["chunk_fields"],
    ),
    "counts that are no numbers": (
        [
            {**chunk(HI), "usage": {"prompt_tokens": "9", "completion_tokens": 3.0, "total_tokens": None, "cost": "0.1", "prompt_tokens_details": []}},
            {**META, "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens_details": {"reasoning_tokens": "1", "x": "2"}}},
            {**META, "choices": [], "usage": [9]},
            {**META, "choices": [], "usage": {}},
        ],
        [
            {**chunk(HI), "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": None, "cost": "0.1", "prompt_tokens_details": None}},
            {**META, "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 1, "x": "2"}}},
            *[{**META, "choices": [], "usage": None}] * 2,
        ],
        ["chunk_fields"],
    ),
    "roles that are none": (
        [chunk({"role": "", "content": "Hi"}), chunk({"role": "", "content": "!", "reasoning_content": ""}), chunk({"role": "tool"}), chunk({"role": ""})],
        [chunk(HI), chunk({"content": "!", "reasoning_content": ""}), chunk({})],
        ["role"],
    ),
    "text that is a number": (
        [ROLE, *(chunk({"content": said}) for said in (6, 0, 1.5, False, None)), chunk({"reasoning": 2}), chunk({"reasoning_content": 0})],
        [ROLE, *(chunk({"content": said}) for said in ("6", "0", "1.5", "false", None)), chunk({"reasoning": "2"}), chunk({"reasoning_content": "0"})],
        ["content_type"],
    ),
    "text in parts": (
        [ROLE, chunk({"content": [{"type": "text", "text": "a"}, "b"]}), chunk({"content": {"type": "text", "text": "c", "annotations": []}}), chunk({"content": {"text": "d"}}),
         chunk({"content": [{"type": "thinking", "thinking": []}]}), chunk({"content": []})],
        [ROLE, chunk({"content": "ab"}), chunk({"content": "c"}), chunk({"content": "d"}), chunk({"content": [{"type": "thinking", "thinking": []}]}), chunk({"content": []})],
        ["content_type"],
    ),
    "messages in place of deltas": (
        [choices({"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": why}) for said, why in (("Hi", None), ("", "stop"))],
        [choices({"index": 0, "delta": HI, "finish_reason": None}), choices({"index": 0, "delta": {}, "finish_reason": "stop"})],
        ["delta"],
    ),
    "a message behind a beginning": (
        [ROLE, choices({"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"})],
        [ROLE, choices({"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"})],
        ["delta"],
    ),
    "a message beside a delta that says nothing": (
        [ROLE, choices({"index": 0, "delta": {"content": ""}, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"})],
        [ROLE, choices({"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"})],
        ["delta"],
    ),
    "a message with what its deltas said, and a call": (
        [chunk(HI), choices({"index": 0, "message": {"role": "assistant", "content": "Hi", "tool_calls": [entry()]}, "finish_reason": "tool_calls"})],
        [chunk(HI), choices({"index": 0, "delta": {"tool_calls": [{"index": 0, **entry()}]}, "finish_reason": "tool_calls"})],
        ["delta"],
    ),
    "a message with what its deltas said": (
        [chunk(HI), choices({"index": 0, "delta": {}, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"})],
        [chunk(HI), choices({"index": 0, "delta": {}, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"})],
        [],
    ),
    "a whole answer as a chunk": (
        [{**META, "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}],
        [choices({"index": 0, "delta": HI, "finish_reason": "stop"})],
        ["delta", "chunk_fields"],
    ),
    "a finish reason that is no text": ([chunk(HI, 0), chunk({}, False)], [chunk(HI), chunk({})], ["finish_reason"]),
    "a choice in two pieces": (
        [
            ROLE,
            choices({"index": 0, "delta": {"content": "a", "x": 1}, "finish_reason": None, "y": 2}, {"index": 0, "delta": {"content": "b", "x": None}}),
            choices(
                {"index": 0, "delta": {"tool_calls": first(CITY)["tool_calls"]}}, {"index": 1, "delta": HI}, {"index": 0, "delta": None},
                {"index": 0, "delta": {"content": ""}, "finish_reason": "tool_calls"},
            ),
        ],
        [
            ROLE,
            choices({"index": 0, "delta": {"content": "ab", "x": 1}, "finish_reason": None, "y": 2}),
            choices(
                {"index": 0, "delta": {"content": "", "tool_calls": first(CITY)["tool_calls"]}, "finish_reason": "tool_calls"},
                {"index": 1, "delta": HI, "finish_reason": None},
            ),
        ],
        ["choice_index", "delta"],
    ),
    "a call without a function": (
        [ROLE, chunk(first(CITY[:5])), chunk({"tool_calls": [{"index": 0, "function": None}]}), chunk({"tool_calls": [{"index": 0}]}), chunk(more(CITY[5:]))],
        [ROLE, chunk(first(CITY[:5])), chunk(more(CITY[5:]))],
        ["tool_call_name"],
    ),
    "an error beside choices that are none": (
        [ROLE, chunk(first(CITY, function={"arguments": CITY})), {**META, "choices": 1.5, "error": "gone"}],
        [ROLE, {**chunk(first(CITY)), "error": "gone"}],
        ["tool_call_name"],
    ),
    "an error that is text": ([chunk(HI), {"error": "gone"}], [chunk(HI), {"error": GONE}], ["error_form"]),
    "an error of its own form": (
        [chunk(HI), {"code": 1302, "message": "gone", "x": 1}], [chunk(HI), {"code": 1302, "message": "gone", "x": 1, "error": GONE}], ["error_form"],
    ),
    "vLLM's older errors": (
        [{"object": "error", "message": "gone", "type": "BadRequestError", "param": None, "code": 400}],
        [{"object": "error", "message": "gone", "type": "BadRequestError", "param": None, "code": 400, "error": {**GONE, "type": "BadRequestError"}}],
        ["error_form"],
    ),
    "an error beside choices that are null": (
        [{**META, "choices": None, "base_resp": {"status_code": 1002, "status_msg": "gone"}}],
        [{**META, "choices": None, "base_resp": {"status_code": 1002, "status_msg": "gone"}, "error": GONE}],
        ["error_form"],
    ),
    "fields that no chunk has": (
        [{"choices": chunk(HI)["choices"]}, {"choices": [], "usage": {"prompt_tokens": 1}}],
        [
            {**made, "id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": ""}
            for made in ({"choices": chunk(HI)["choices"]}, {"choices": [], "usage": {"prompt_tokens": 1}})
        ],
        ["chunk_fields"],
    ),
    "function_call": (
        [ROLE, chunk({"content": None, "function_call": {**CALL, "arguments": CITY}, "x": 1}, "function_call")],
        [
            ROLE,
            chunk(
                {
                    "content": None,
                    "x": 1,
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "call_0",
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": CITY},
                        }
                    ],
                },
                "tool_calls",
            ),
        ],
        ["function_call", "tool_call_id", "finish_reason"],
    ),
    "a chunk that said nothing but what is dropped": (
        [ROLE, chunk(first(CITY)), chunk(more("")), chunk(more("\n"), usage={"prompt_tokens": 1})],
        [ROLE, chunk(first(CITY)), chunk({}, usage={"prompt_tokens": 1})],
        ["arguments", "argument_json"],
    ),
    "the provider's own fields of a call": (
        [ROLE, chunk(first(CITY, index=3, extra_content={"google": {"thought_signature": "s"}}))],
        [ROLE, chunk(first(CITY, extra_content={"google": {"thought_signature": "s"}}))],
        ["tool_call_index"],
    ),
    "logprobs of text that stays": (
        [{**META, "choices": [{"delta": HI, "logprobs": {"content": []}}]}],
        [choices({"index": 0, "delta": HI, "logprobs": {"content": []}, "finish_reason": None})],
        ["choice_index"],
    ),
    "a custom tool": (
        [ROLE, chunk({"tool_calls": [{"index": 1, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "{"}}]}),
         chunk({"tool_calls": [{"index": 1, "custom": {"input": "} ls"}}]})],
        [ROLE, chunk({"tool_calls": [{"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh", "input": "{"}}]}),
         chunk({"tool_calls": [{"index": 0, "custom": {"input": "} ls"}}]})],
        ["tool_call_index"],
    ),
}  # fmt: skip

@pytest.mark.parametrize("name", CHUNKS)
def test_chunks(name: str) -> None:
    given, expected, rules = CHUNKS[name]
    assert through(given) == (expected, rules)


@pytest.mark.parametrize("asked", [{**REQUEST, "n": 2}, None])
def test_choices_without_index_are_counted_where_there_may_be_several(asked: dict[str, Any] | None) -> None:
    given = choices({"delta": HI}, {"delta": HI}, None, {"delta": HI})
    expected = choices(*({"index": n, "delta": HI, "finish_reason": None} for n in (0, 1, 3)))
    assert through([given], asked) == ([expected], ["choice_index"])


FUNCTION_CALL = stream(
    [{"function_call": CALL}, {"function_call": {"arguments": CITY}}, chunk({}, "function_call")], finish=None
)


@pytest.mark.parametrize("asked", [LEGACY, None])
def test_a_client_that_may_wait_for_a_function_call_gets_it(asked: dict[str, Any] | None) -> None:
    assert play(lambda: pipeline(asked), [FUNCTION_CALL]) == FUNCTION_CALL
    body = json.dumps(whole({"function_call": {**CALL, "arguments": CITY}}, "function_call")).encode()
    assert pipeline(asked).message(body) is body


def whole(message: dict[str, Any], finish: str | None = "tool_calls") -> dict[str, Any]:
    """A response that is no stream."""
    message = {"role": "assistant", "content": None, **message}
    return {**META, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


MADE_WHOLE = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": ""}

MESSAGES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, list[str]]] = {
    "regular": (whole({"tool_calls": [entry(), entry(id="call_b")]}), None, []),
    "text": (whole({"content": "Hi"}, "stop"), None, []),
    "finish": (whole({"tool_calls": [entry()]}, "stop"), whole({"tool_calls": [entry()]}), ["finish_reason"]),
    "phantom": (whole({"content": "Hi"}), whole({"content": "Hi"}, "stop"), ["finish_reason"]),
    "function_call": (
        whole({"function_call": {**CALL, "arguments": CITY}}, "function_call"),
        whole({"tool_calls": [entry(id="call_0")]}),
        ["function_call", "tool_call_id", "finish_reason"],
    ),
    "arguments": (whole({"tool_calls": [entry({"a": 1})]}), whole({"tool_calls": [entry('{"a":1}')]}), ["arguments_type"]),
    "no arguments": (whole({"tool_calls": [entry("")]}), whole({"tool_calls": [entry("{}")]}), ["arguments"]),
    "no arguments, cut off": (whole({"tool_calls": [entry("")]}, "length"), None, []),
    "no finish": (whole({"tool_calls": [entry("")]}, None), whole({"tool_calls": [entry("{}")]}), ["arguments", "finish_reason"]),
    "an empty finish": (whole({"tool_calls": [entry()]}, ""), whole({"tool_calls": [entry()]}), ["finish_reason"]),
    "no finish, cut off": (whole({"tool_calls": [entry(CITY[:9])]}, None), None, []),
    "no finish, and no call": (whole({"content": "Hi"}, None), whole({"content": "Hi"}, "stop"), ["finish_reason"]),
    "fence": (
        whole({"tool_calls": [entry(f"```\n{CITY}\n```")]}), whole({"tool_calls": [entry()]}), ["argument_json"],
    ),
    "equal ids": (
        whole({"tool_calls": [entry(), entry()]}), whole({"tool_calls": [entry(), entry(id="call_0")]}), ["tool_call_id"],
    ),
    "no type, no id": (
        whole({"tool_calls": [{"function": entry()["function"], "x": 1}]}),
        whole({"tool_calls": [entry(id="call_0", x=1)]}),
        ["tool_call_id", "tool_call_type"],
    ),
    "no role, no index": (
        {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]},
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}], **MADE_WHOLE},
        ["choice_index", "role", "chunk_fields"],
    ),
    "text and calls in several choices": (
        {**whole({}), "choices": [{"message": {"role": "assistant", **said}, "finish_reason": "tool_calls", "index": n} for n, said in
                                  ((None, {"content": "Hi"}), (None, {"tool_calls": [entry()]}), (0, {"content": None, "tool_calls": [entry(id="b")]}))]},
        whole({"content": "Hi", "tool_calls": [entry(), entry(id="b")]}),
        ["choice_index", "tool_call_index", "finish_repeated"],
    ),
    "a delta in place of the message": (
        {**whole({}), "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]},
        {**whole({}), "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop",
                                   "message": {"role": "assistant", "content": "Hi"}}]},
        ["delta"],
    ),
    "calls that are none": (whole({"content": "Hi", "tool_calls": {}}, "stop"), whole({"content": "Hi"}, "stop"), ["tool_calls"]),
    "no choices": ({**whole({}), "choices": None, "usage": []}, {**whole({}), "choices": [], "usage": None}, ["chunk_fields"]),
    "choices that are none": ({**whole({}), "choices": [[]], "error": {}}, {**whole({}), "choices": [[]]}, ["chunk_fields"]),
    "types that are wrong": (
        {**whole({"role": "model", "content": 6}, "STOP"), "id": 7, "object": "text_completion", "created": "1760000000", "error": {}},
        {**whole({"content": "6"}, "stop"), "id": "7"},
        ["role", "content_type", "finish_reason", "chunk_fields"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name: str) -> None:
    given, expected, rules = MESSAGES[name]
    body = json.dumps(given).encode()
    made = pipeline()
    out = made.message(body)
    assert (json.loads(out), made.rules) == (expected or given, rules)
    assert expected or out is body


@pytest.mark.parametrize("body", [b"[]", b"oops", b'"x"', b'{"choices": 3}', b'{"choices": [null, 3]}', b'{"error": "x"}'])
def test_what_is_no_message_passes(body: bytes) -> None:
    assert pipeline().message(body) is body


def test_events_of_a_chunk() -> None:
    codec = Chat(Reply(tools.UNKNOWN, lambda: "call_0", lambda _: None))
    (sse,) = SseDecoder().feed(event({**chunk(HI), "usage": {"prompt_tokens": 1}, "error": "bad"}))
    assert codec.decode(sse).events == (MessageStart(), TextDelta("Hi"), Usage(1), StreamError("error", "bad"))
    (sse,) = SseDecoder().feed(DONE)
    assert codec.decode(sse) == Frame(sse, (MessageEnd(),))
    assert codec.encode(Frame(None, (MessageEnd(),), touched=True)) == DONE


def sealed(*entries: Any, choice: int = 0) -> ReasoningSeal:
    return ReasoningSeal(ReasoningState("details", json.dumps(entries, separators=(",", ":"), ensure_ascii=False)), choice)


FORMAT = {"format": "anthropic-claude-v1"}
SECRET = {"type": "reasoning.encrypted", "data": "gA", "index": 0, "id": "rs_1"}
STOP = chunk({}, "stop")
UPSTREAM_ERROR = StreamError("error", "The upstream ended with an error.")
SAID = (MessageStart(), TextDelta("Hi"))

TOLD: dict[str, tuple[list[Any], list[Event]]] = {
    "a refusal": (
        [chunk({"role": "assistant", "content": None, "refusal": ""}), chunk({"refusal": "No"}), chunk({"refusal": "."}), STOP],
        [MessageStart(), RefusalDelta("No"), RefusalDelta("."), Finish("stop")],
    ),
    "details, joined, up to the text": (
        [ROLE, chunk(thought("H", **FORMAT, signature=None)), chunk(thought("m", signature=None)), chunk(thought("", signature="s")),
         chunk({"content": "Hi"}), STOP, "[DONE]"],
        [MessageStart(), ReasoningDelta("H"), ReasoningDelta("m"), sealed(detail("Hm", **FORMAT, signature="s")), TextDelta("Hi"),
         Finish("stop"), MessageEnd()],
    ),
    "beside reasoning the text of details is the same": (
        [ROLE, chunk({"reasoning": "H", **thought("H")}), chunk({"reasoning_content": "m", **thought("m")}), chunk(thought("", signature="s")),
         chunk({"content": "Hi"})],
        [MessageStart(), ReasoningDelta("H"), ReasoningDelta("m"), sealed(detail("Hm", signature="s")), TextDelta("Hi")],
    ),
    "all in one chunk": (
        [chunk({**ROLE["choices"][0]["delta"], **thought("Hm"), "content": "Hi"}, "stop")],
        [MessageStart(), ReasoningDelta("Hm"), sealed(detail("Hm")), TextDelta("Hi"), Finish("stop")],
    ),
    "up to a call": (
        [ROLE, chunk(thought("Hm")), chunk(first(CITY))],
        [MessageStart(), ReasoningDelta("Hm"), sealed(detail("Hm")), ToolCallStart(0, "call_a", "get_weather"), ToolCallDelta(0, CITY),
         ToolCallEnd(0)],
    ),
    "up to the finish, with a secret that came with the call": (
        [ROLE, chunk({**first(CITY), "reasoning_details": [SECRET]}), chunk({"reasoning_details": [{**SECRET, "id": "rs_2"}]}),
         chunk({}, "tool_calls")],
        [MessageStart(), sealed(SECRET), ToolCallStart(0, "call_a", "get_weather"), ToolCallDelta(0, CITY), ToolCallEnd(0),
         sealed({**SECRET, "id": "rs_2"}), Finish("tool_calls")],
    ),
    "up to a refusal, up to the end": (
        [ROLE, chunk(thought("a")), chunk({"refusal": "No"}), chunk(thought("b")), "[DONE]"],
        [MessageStart(), ReasoningDelta("a"), sealed(detail("a")), RefusalDelta("No"), ReasoningDelta("b"), sealed(detail("b")), MessageEnd()],
    ),
    "what is joined": (
        [ROLE, chunk({"reasoning_details": [
            detail("a"), detail("b", id="x"), detail("c", id="x"), detail("d", id="y"), detail("e", index=1),
            {"type": "reasoning.summary", "summary": "f", "index": 1}, {"type": "reasoning.summary", "summary": "g", "index": 1},
            {**SECRET, "data": "A"}, {**SECRET, "data": "B"}, {**SECRET, "data": "C", "id": "rs_2"},
            {"type": "reasoning.encrypted", "data": "D"}, {"type": "reasoning.encrypted", "data": "E"}, 7, {"new": None},
        ]}), STOP],
        [MessageStart(), ReasoningDelta("abcdefg"), sealed(
            detail("abc", id="x"), detail("d", id="y"), detail("e", index=1), {"type": "reasoning.summary", "summary": "fg", "index": 1},
            {**SECRET, "data": "AB"}, {**SECRET, "data": "C", "id": "rs_2"},
            {"type": "reasoning.encrypted", "data": "D"}, {"type": "reasoning.encrypted", "data": "E"}, {"new": None},
        ), Finish("stop")],
    ),
    "of two choices": (
        [*(chunk(ROLE["choices"][0]["delta"], index=n) for n in (0, 1)), *(chunk(thought(f"{n}"), index=n) for n in (0, 1)),
         chunk({"content": "Hi"}), chunk({"content": "Ho"}), chunk({"content": "Ha"}, index=1)],
        [MessageStart(), MessageStart(1), ReasoningDelta("0"), ReasoningDelta("1", 1), sealed(detail("0")), TextDelta("Hi"), TextDelta("Ho"),
         sealed(detail("1"), choice=1), TextDelta("Ha", 1)],
    ),
    "nothing in them": (
        [ROLE, chunk({"reasoning_details": []}), chunk({"reasoning_details": "x"}), chunk({"reasoning_details": [7]}), STOP],
        [MessageStart(), Finish("stop")],
    ),
    "between pieces of text": (
        [ROLE, *(chunk({"content": "Hi"}) for _ in range(3)), chunk(thought("Hm")), *(chunk({"content": "Hi"}) for _ in range(2))],
        [MessageStart(), *[TextDelta("Hi")] * 3, ReasoningDelta("Hm"), sealed(detail("Hm")), *[TextDelta("Hi")] * 2],
    ),
    "vLLM's stop reason": (
        [chunk(HI), choices({"index": 0, "delta": {}, "finish_reason": "stop", "stop_reason": "###"})],
        [*SAID, Finish("stop", stop_sequence="###")],
    ),
    "SGLang's": (
        [chunk(HI), choices({"index": 0, "delta": {}, "finish_reason": "stop", "stop_reason": 7, "matched_stop": "###"})],
        [*SAID, Finish("stop", stop_sequence="###")],
    ),
    "a token": (
        [choices({"index": 0, "delta": HI, "finish_reason": "stop", "stop_reason": 128009, "matched_stop": 7})], [*SAID, Finish("stop")],
    ),
    "no stop": ([choices({"index": 0, "delta": HI, "finish_reason": "length", "stop_reason": "x"})], [*SAID, Finish("length")]),
    "an error in a choice": (
        [choices({"index": 0, "delta": HI, "finish_reason": "error", "error": {"code": 502, "message": "m"}})],
        [*SAID, StreamError("error", "m", 502), Finish("error")],
    ),
    "an error in a choice that goes on": (
        [choices({"index": 0, "delta": HI, "finish_reason": None, "error": {"code": "502", "message": "m"}}), STOP],
        [*SAID, StreamError("error", "m", 502), Finish("stop")],
    ),
    "an error beside a choice": (
        [chunk(HI), chunk({"content": "!"}, "error", error={"code": 429, "message": "m"}), "[DONE]"],
        [*SAID, TextDelta("!"), StreamError("error", "m", 429), Finish("error"), MessageEnd()],
    ),
    "a reason that is one": ([chunk(HI), chunk({}, "error")], [*SAID, UPSTREAM_ERROR, Finish("error")]),
    "an error, and its reason": (
        [chunk(HI), {"error": {"message": "m"}}, chunk({}, "error")], [*SAID, StreamError("error", "m"), Finish("error")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_what_is_told(name: str) -> None:
    data, expected = TOLD[name]
    assert told(data) == expected
    body = b"".join(map(event, data))
    told_why = any(isinstance(each, Finish | StreamError) for each in expected) or "[DONE]" not in data
    for chunks in cuts(body):
        out = play(pipeline, chunks)
        assert out == body if told_why else out.startswith(body.removesuffix(event("[DONE]")))


WHOLE: dict[str, tuple[dict[str, Any], list[Event]]] = {
    "details": (
        whole({"reasoning": "Hm", "reasoning_details": [detail("Hm", signature="s"), SECRET], "content": "Hi"}, "stop"),
        [MessageStart(), ReasoningDelta("Hm"), sealed(detail("Hm", signature="s"), SECRET), TextDelta("Hi"), Finish("stop")],
    ),
    "details alone": (
        whole(thought("Hm"), "stop"), [MessageStart(), ReasoningDelta("Hm"), sealed(detail("Hm")), Finish("stop")],
    ),
    "refusal": (
        {**whole({"refusal": "No."}, "stop"), "usage": {"prompt_tokens": 1}}, [MessageStart(), RefusalDelta("No."), Finish("stop"), Usage(1)],
    ),
    "stop sequence": (
        {**META, "object": "chat.completion",
         "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop", "stop_reason": "#"}]},
        [*SAID, Finish("stop", stop_sequence="#")],
    ),
    "an error": ({"error": {"code": "503", "message": "m"}}, [StreamError("error", "m", 503)]),
    "vLLM's older error": ({"object": "error", "message": "m", "code": 400}, [StreamError("error", "m", 400)]),
    "an error in a choice": (
        {**META, "object": "chat.completion",
         "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "error", "error": {"code": 502}}]},
        [*SAID, StreamError("error", '{"code":502}', 502), Finish("error")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_what_a_whole_message_tells(name: str) -> None:
    given, expected = WHOLE[name]
    body = json.dumps(given).encode()
    frame = Chat(Reply(tools.UNKNOWN, lambda: "call_0", pytest.fail)).decode_message(body)
    assert list(frame.events) == expected
    assert pipeline().message(body) is body


def test_logprobs_go_with_the_text_that_became_a_call() -> None:
    """They spell it out, token by token; those of other choices and of text that stays are told."""
    logprobs = {"content": [{"token": "<", "logprob": -0.1}]}
    given = {**whole({"content": f"Look: {ONE}"}, "stop"), "usage": None}
    given["choices"][0]["logprobs"] = logprobs
    given["choices"].append({"index": 1, "message": {"role": "assistant", "content": "Hi"}, "logprobs": logprobs, "finish_reason": "stop"})
    first_, second = json.loads(pipeline().message(json.dumps(given).encode()))["choices"]
    assert (first_["message"]["content"], first_["logprobs"], len(first_["message"]["tool_calls"])) == ("Look: ", None, 1)
    assert second == given["choices"][1]
    body = b"".join(map(event, [chunk({"role": "assistant"}), choices({"index": 0, "delta": {"content": ONE}, "logprobs": logprobs, "finish_reason": None})])) + DONE
    assert b"logprob" in body
    assert b'"token"' not in play(pipeline, [body])


def test_what_is_mended_keeps_refusal_and_details() -> None:
    """A call in the text of details is taken out of them, and nothing else of them is lost."""
    signed = detail("", signature="s", id="x")
    deltas = [*({"reasoning_details": [detail(part)]} for part in pieces(f"So.{ONE}", 2)), {"reasoning_details": [signed]}, {"refusal": "No."}]
    client = play(pipeline, [stream(deltas)])
    answer = read(client)
    assert answer.all_faults == []
    assert [call.name for call in answer.only.calls] == ["get_weather"]
    assert answer.only.reasoning == ""  # it has no other field before, and gets none
    sent = [json.loads(sse.data) for sse in SseDecoder().feed(client) if sse.data and sse.data != b"[DONE]"]
    given = [each["choices"][0]["delta"] for each in sent if each["choices"]]
    entries = [entry for delta in given for entry in delta.get("reasoning_details", ())]
    assert "".join(entry["text"] for entry in entries) == "So."
    assert entries[-1] == signed
    assert {"refusal": "No."} in given


REWRITTEN: dict[str, tuple[dict[str, Any], list[Event], dict[str, Any]]] = {
    # the delta, the events that now speak for it, the delta then
    "details alone, shortened": (thought("abc", signature="s"), [ReasoningDelta("a")], thought("a", signature="s")),
    "details alone, untouched": (thought("abc"), [ReasoningDelta("abc")], thought("abc")),
    "several, shortened": (
        {"reasoning_details": [detail("a"), SECRET, detail("b"), detail("c", signature="s"), 7]}, [ReasoningDelta("ab")],
        {"reasoning_details": [detail("ab"), SECRET, detail("", signature="s"), 7]},
    ),
    "all taken out": ({"content": "x", **thought("abc")}, [TextDelta("x")], {"content": "x"}),
    "a summary": (
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "abc"}]}, [ReasoningDelta("a")],
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "a"}]},
    ),
    "three times the same": (
        {"reasoning": "abc", "reasoning_content": "abc", **thought("abc")}, [ReasoningDelta("a")],
        {"reasoning": "a", "reasoning_content": "a", **thought("a")},
    ),
    "text that is none": (
        {"reasoning_details": [{"text": 5, "summary": "abc"}, 7]}, [ReasoningDelta("a")], {"reasoning_details": [{"text": 5, "summary": "a"}, 7]},
    ),
    "details that say something else": (
        {"reasoning": "abc", **thought("x")}, [ReasoningDelta("a")], {"reasoning": "a", **thought("x")},
    ),
    "text that became reasoning": ({"content": "abc"}, [ReasoningDelta("abc")], {"reasoning_content": "abc"}),
    "refusal and seal": (
        {"refusal": "No.", **thought("abc")}, [ReasoningDelta("abc"), sealed(detail("abc")), RefusalDelta("No.")],
        {"refusal": "No.", **thought("abc")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REWRITTEN)
def test_rewriting_reasoning(name: str) -> None:
    delta, events, expected = REWRITTEN[name]
    codec = Chat(Reply(tools.UNKNOWN, lambda: "call_0", lambda _: None))
    (sse,) = SseDecoder().feed(event(chunk(delta)))
    codec.decode(sse)
    out = codec.encode(Frame(sse, tuple(events), touched=True))
    assert json.loads(out[6:]) == chunk(expected)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_comes_with_the_end_goes_in_front_of_it(newline: str) -> None:
    codec = Chat(Reply(tools.UNKNOWN, lambda: "call_0", lambda _: None))
    opened = {"index": 0, "id": "a", "type": "function", "function": {"name": "task", "arguments": ""}}
    codec.decode(SseDecoder().feed(event(chunk({"role": "assistant", "tool_calls": [opened]}), newline))[0])
    (done,) = SseDecoder().feed(event("[DONE]", newline))
    frame = codec.decode(done)
    assert frame == Frame(done, (ToolCallDelta(0, "{}"), ToolCallEnd(0), MessageEnd()), touched=True)
    out = codec.encode(frame)
    assert out.endswith(done.raw)
    assert json.loads(out.removesuffix(done.raw)[6:]) == chunk(more("{}"))
    for sse in (done, None):
        behind = Frame(sse, (Finish("tool_calls"), ReasoningSeal(ReasoningState("details", "[]")), MessageEnd()), touched=True)
        assert codec.encode(behind).endswith(done.raw)
        assert json.loads(codec.encode(behind).removesuffix(done.raw)[6:]) == chunk({}, "tool_calls")
        assert codec.encode(Frame(sse, (ReasoningSeal(ReasoningState("details", "[]")), MessageEnd()), touched=True)) == done.raw
