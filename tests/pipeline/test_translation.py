"""One API spoken to a client of another: other people's streams, judged strictly, the same for every cut.

Every kind of irregular chat stream is a case; so is what upstreams of Messages and of
Responses do; so is every documented leak. `upstream_answers.check` says what each client must have heard.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from openai.types.responses import ResponseToolSearchCall

from tests.patterns import Pattern, all_patterns
from tests.patterns.kimi import ONE
from tests.support import legal_streams
from tests.support.answers import is_object
from tests.support.cuts import cuts
from tests.support.judges.chat import read
from tests.support.rows import batches, each_of, some_of
from tests.support.streams import META, body_of, chunk, event, play, stream
from tests.support.translated_streams import (
    ANSWERS,
    BEIJING,
    CALL,
    ERROR,
    GOOD,
    HI,
    IRREGULAR,
    LATE,
    M_USAGE,
    MESSAGES,
    ONE_CALL,
    RESPONSES,
    ROLE,
    SAID,
    SAY,
    SPENT,
    STOP,
    bare,
    counted,
    entry,
    more,
)
from tests.support.upstream_answers import (
    APIS,
    JUDGES,
    PAIRS,
    STOPS,
    WEATHER,
    Asked,
    Counts,
    Heard,
    Part,
    Text,
    Thought,
    asked,
    check,
    heard,
    speak,
    tell,
)
from toolmend.pipeline.pipeline import Pipeline
from toolmend.requests import translate

ID = "call_" + 32 * "0"


def pipeline(source: str, target: str, request: dict[str, Any] | None = None) -> Pipeline:
    numbers = iter(range(1, 1000))
    request = request or asked(target, *WEATHER)
    return Pipeline(request, source=source, target=target, new_id=lambda: f"call_{next(numbers):032x}")


def translated(source: str, target: str, body: bytes, expected: Heard, request: dict[str, Any] | None = None) -> None:
    """The stream is translated as it must be, however it is cut."""
    make: Callable[[], Pipeline] = lambda: pipeline(source, target, request)  # noqa: E731
    out = play(make, [body])
    check(target, JUDGES[target].read(out), expected)
    for cut in cuts(body):
        assert play(make, cut) == out


# what is as it should be, between all APIs


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_regular_stream(source: str, target: str, name: str) -> None:
    parts, stop = ANSWERS[name]
    translated(source, target, speak(source, parts, stop, SPENT), heard(parts, stop, SPENT))


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_whole_message(source: str, target: str, name: str) -> None:
    parts, stop = ANSWERS[name]
    for mark in (b"", b"\xef\xbb\xbf"):
        out = pipeline(source, target).message(mark + tell(source, parts, stop, SPENT))
        check(target, JUDGES[target].whole(out), heard(parts, stop, SPENT))


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_whole_message_for_a_client_that_waits_for_a_stream(source: str, target: str, name: str) -> None:
    parts, stop = ANSWERS[name]
    out = pipeline(source, target).as_stream(tell(source, parts, stop, SPENT))
    check(target, JUDGES[target].read(out), heard(parts, stop, SPENT))


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", ANSWERS)
def test_what_needs_neither_mending_nor_translation_leaves_as_it_came(api: str, name: str) -> None:
    parts, stop = ANSWERS[name]
    body, whole = speak(api, parts, stop, SPENT), tell(api, parts, stop, SPENT)
    assert play(lambda: pipeline(api, api), [body]) == body
    for mark in (b"", b"\xef\xbb\xbf"):
        assert pipeline(api, api).message(mark + whole) == mark + whole


@pytest.mark.parametrize("api", APIS)
def test_byte_order_mark_before_whole_answer_stays(api: str) -> None:
    leak = f"<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{CALL}<|tool_call_end|>"
    body = tell(api, [SAY, Text(leak)], "stop", SPENT)
    out = pipeline(api, api).message(b"\xef\xbb\xbf" + body)
    assert out == b"\xef\xbb\xbf" + pipeline(api, api).message(body)
    check(api, JUDGES[api].whole(out.removeprefix(b"\xef\xbb\xbf")), heard([SAY, Asked("functions.get_weather:0", "get_weather", CALL)], "tool_calls", SPENT))


# irregular chat


@pytest.mark.parametrize("name", IRREGULAR)
@pytest.mark.parametrize("target", ["messages", "responses"])
def test_an_irregular_chat_stream(target: str, name: str) -> None:
    body, expected = IRREGULAR[name]
    translated("chat", target, body, expected)


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_counts_that_nobody_has_are_none(target: str) -> None:
    """Python refuses to write their sum."""
    translated("chat", target, counted({"prompt_tokens": 9 * 10**4299, "completion_tokens": 9 * 10**4299}), Heard("Hi", counts=None))


ERRORS = {
    ("chat", b'event: error\ndata: {"error": {"message": "gone", "code": 429}}\n\n'): 429,
    ("chat", b'event: error\ndata: {"message": "gone", "code": 429}\n\n'): 429,
    ("chat", b'error: {"message": "gone", "code": 429}\n\n'): 429,
    ("chat", b'data: {"object": "error", "message": "gone", "code": 429}\n\n'): 429,
    ("messages", b'event: error\ndata: {"type": "error", "message": "gone"}\n\n'): 0,
    ("messages", b'event: error\ndata: {"message": "gone"}\n\n'): 0,
    ("messages", b'event: error\ndata: {"type": "error", "error": "gone"}\n\n'): 0,
    ("chat", b'data: {"error": {"message": "gone", "status": 429}}\n\n'): 429,
    ("chat", b'data: [{"error": {"message": "gone", "code": 429, "status": "RESOURCE_EXHAUSTED"}}]\n\n'): 429,
    ("chat", b'data: {"detail": "gone"}\n\ndata: [DONE]\n\n'): 0,
    ("chat", b'data: {"success": false, "result": {}, "errors": [{"message": "gone", "code": 3040}], "messages": []}\n\n'): 0,
    ("chat", b'data: {"fault": {"faultstring": "gone", "detail": {"errorcode": "steps.Timeout"}}}\n\n'): 0,
    ("chat", b'data: {"status": "error", "message": "gone"}\n\ndata: [DONE]\n\n'): 0,
    ("chat", b'data: {"code": 1302, "message": "gone"}\n\ndata: [DONE]\n\n'): 0,
    ("chat", b'data: {"choices": null, "base_resp": {"status_code": 1002, "status_msg": "gone"}}\n\n'): 0,
    ("chat", b'data: {"error_code": 336003, "error_msg": "gone"}\n\n'): 0,
    ("chat", b"event: error\ndata: gone\n\ndata: [DONE]\n\n"): 0,
    ("chat", b"data: gone\n\n"): 0,
    ("chat", b"gone"): 0,
    ("messages", b"gone"): 0,
    ("messages", b'data: {"detail": "gone"}\n\n'): 0,
    ("messages", b'data: {"message": "gone"}\n\n'): 0,
    ("responses", b"gone"): 0,
    ("responses", b'data: {"detail": "gone"}\n\n'): 0,
    ("responses", b'event: error\ndata: {"type": "error", "status": 429, "error": {"message": "gone"}}\n\n'): 429,
    ("responses", b'event: error\ndata: {"message": "gone", "code": 429}\n\n'): 429,
    ("responses", b'event: error\ndata: {"type": "error", "error": {"message": "gone", "code": 429}}\n\n'): 429,
}


@pytest.mark.parametrize(("target", "source", "said"), [(target, *error) for target in APIS for error in ERRORS if target != error[0]])
def test_an_error_is_told_in_the_upstreams_words(target: str, source: str, said: bytes) -> None:
    body = {"chat": bare(ROLE, SAID, done=False, usage=False), "messages": legal_streams.sse(legal_streams.messages(legal_streams.text("Hi there"), stop=None))}
    whole = body.get(source, legal_streams.sse(legal_streams.responses(legal_streams.say("Hi there"), status=None))) + said
    out = play(lambda: pipeline(source, target), [whole])
    answer = JUDGES[target].read(out)
    assert (answer.faults, answer.text, (answer.error or {})["message"]) == ([], "Hi there", "gone")
    limited = {"chat": "rate_limit_exceeded", "messages": "rate_limit_error", "responses": "rate_limit_exceeded"}[target]
    assert (limited in (answer.error or {}).values()) == (ERRORS[source, said] == 429)


HARMLESS = [
    {"code": 0, "message": "Success", "choices": []},
    {"base_resp": {"status_code": 0, "status_msg": ""}, **META, "choices": []},
    {"message": "still there"},
    {"error": None},
    {"error": ""},
    {"success": True, "errors": [], "messages": []},
    {**META, "choices": [{"index": 0, "delta": {"content": ""}}], "errors": [{"message": "a warning"}]},
]


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_what_only_looks_like_an_error_is_none(target: str) -> None:
    translated("chat", target, bare(ROLE, *HARMLESS, SAID, *HARMLESS, STOP, *HARMLESS, done=False), HI)


@pytest.mark.parametrize("cut", [b"d", b"dat", b"data: {", b"event", b"event: er", b": still th", b"<html>502</html>", b'data: {"id": "c1", "cho', b"\x1f\x8b\x08\x00\x04\xf4i"])
def test_an_event_that_is_cut_is_no_word_of_the_upstreams(cut: bytes) -> None:
    out = play(lambda: pipeline("chat", "messages"), [bare(ROLE, SAID, done=False, usage=False) + cut])
    assert (JUDGES["messages"].read(out).error or {})["message"] == "the upstream's answer was cut off"


@pytest.mark.parametrize(("source", "target"), [(source, target) for source in APIS for target in APIS if source != target])
def test_behind_an_event_that_is_cut_nothing_looks_whole(source: str, target: str) -> None:
    """What it said is not known: half of a path, or a word that turns the sense round."""
    whole = {
        "chat": bare(ROLE, SAID, entry(0, "call_a", "get_weather", '{"city":'), entry(0, "", "", '"Beijing"}'), chunk({}, "tool_calls")),
        "messages": legal_streams.sse(GOOD),
        "responses": legal_streams.sse(legal_streams.responses(legal_streams.say("Hi ", "there"), legal_streams.call("call_a", "get_weather", '{"city":', '"Beijing"}'))),
    }[source]
    events = whole.split(b"\n\n")[:-1]
    last = next(at for at, each in enumerate(events) if any(word in each for word in (b'"tool_calls"}', b'"tool_use"', b'"response.completed"')))
    for at in (at for at in range(last + 1) if b"ping" not in events[at]):
        cut = [*events[:at], events[at][:-9], *events[at + 1 :], b""]
        for body in (cut, [*cut[: at + 1], b'data: {"error":{"message":"gone"}}', b""]):
            make: Callable[[], Pipeline] = lambda: pipeline(source, target)  # noqa: E731
            data = b"\n\n".join(body)
            out = play(make, [data])
            error = JUDGES[target].read(out).error or {}
            assert error.get("message") == "gone" if body is not cut else error, (at, out)
            assert play(make, [data[i : i + 1] for i in range(len(data))]) == out


MEANT = {
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "MAX_TOKENS": "length",
    "sensitive": "content_filter",
    "SAFETY": "content_filter",
    "network_error": "error",
    "insufficient_system_resource": "error",
    "abort": "error",
    "end_turn": "stop",
}
"""What providers call the end of an answer in their own words, and what they mean."""


@pytest.mark.parametrize("word", MEANT)
@pytest.mark.parametrize("target", ["messages", "responses"])
def test_a_reason_in_a_providers_own_word_is_told_as_what_it_means(target: str, word: str) -> None:
    body = bare(ROLE, SAID, chunk({}, word))
    translated("chat", target, body, Heard("Hi there", stop=MEANT[word]))
    kept = word if MEANT[word] == "error" else MEANT[word]  # for an error Chat has no word
    assert read(play(lambda: pipeline("chat", "chat"), [body])).only.finish_reasons == [kept]


@pytest.mark.parametrize("target", ["chat", "messages", "responses"])
def test_call_cut_off_by_an_unusual_limit_is_not_completed(target: str) -> None:
    out = play(lambda: pipeline("chat", target), [bare(ROLE, SAID, chunk(entry(arguments="")), chunk({}, "model_length"))])
    assert [call.arguments for call in JUDGES[target].read(out).calls] in ([], [""])


@pytest.mark.parametrize("word", ["length", "content_filter", "error"])
@pytest.mark.parametrize("target", ["chat", "responses"])
def test_a_reason_of_chat_in_a_messages_stream_is_told_as_what_it_means(target: str, word: str) -> None:
    body = legal_streams.sse(legal_streams.messages(legal_streams.text("Hi there"), stop=word))
    translated("messages", target, body, Heard("Hi there", stop=word, counts=M_USAGE))
    same = play(lambda: pipeline("messages", "messages"), [body])
    assert (same == body) == (word == "error")  # which has no word there
    assert JUDGES["messages"].read(same).stop_reason == {"length": "max_tokens", "content_filter": "refusal"}.get(word, word)


SEARCHING = {"model": "m", "input": "Hi", "tools": [{"type": "tool_search", "execution": "client", "parameters": {"type": "object"}}]}
"""As Codex offers its search for tools."""


@pytest.mark.parametrize("query", ['{"query":"calendar 日本","limit":2}', "{}"])
@pytest.mark.parametrize("source", ["chat", "messages"])
def test_a_search_for_tools_is_told_in_its_own_item(source: str, query: str) -> None:
    """Codex ends its turn at a function call of that name."""
    parts = [SAY, Asked("call_a", "tool_search", query), Asked("call_b", "tool_search", '{"query":"mail"}')]
    translated(source, "responses", speak(source, parts, "tool_calls", SPENT), heard(parts, "tool_calls", SPENT), SEARCHING)
    for make in ("message", "as_stream"):
        out = getattr(pipeline(source, "responses", SEARCHING), make)(tell(source, parts, "tool_calls", SPENT))
        answer = JUDGES["responses"].whole(out) if make == "message" else JUDGES["responses"].read(out)
        check("responses", answer, heard(parts, "tool_calls", SPENT))
        assert [call.kind for call in answer.calls] == ["search", "search"]
    item = json.loads(pipeline(source, "responses", SEARCHING).message(tell(source, parts, "tool_calls", SPENT)))["output"][1]
    assert item["arguments"] == json.loads(query) and item["id"].startswith("tsc_")
    ResponseToolSearchCall.model_validate(item, strict=True)


@pytest.mark.parametrize("source", APIS)
def test_a_search_for_tools_that_leaks_is_one(source: str) -> None:
    leak = '<tool_call>\n{"name": "tool_search", "arguments": {"query": "mail"}}\n</tool_call>'
    parts = [Text("Look. "), Text(leak)]
    request = {**SEARCHING, "model": "qwen3"}
    out = play(lambda: pipeline(source, "responses", request), [speak(source, parts)])
    whole = pipeline(source, "responses", request).message(tell(source, parts))
    for answer in (JUDGES["responses"].read(out), JUDGES["responses"].whole(whole)):
        assert [(call.kind, call.value) for call in answer.calls] == [("search", {"query": "mail"})]
        assert (answer.text.strip(), answer.faults) == ("Look.", [])


def test_a_search_for_tools_that_is_no_json_stays_text() -> None:
    """The client tells the model that it is none."""
    body = speak("chat", [Asked("call_a", "tool_search", '{"query"')], "length", SPENT)
    answer = JUDGES["responses"].read(play(lambda: pipeline("chat", "responses", SEARCHING), [body]))
    assert [(call.kind, call.value) for call in answer.calls] == [("search", '{"query"')]
    assert (answer.stop_reason, answer.faults) == ("incomplete/max_output_tokens", [])


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_think_tags_are_reasoning(target: str) -> None:
    request = {**asked(target, *WEATHER), "model": "qwen3-32b"}
    translated("chat", target, stream(["<thi", "nk>Hm</th", "ink>Hi there"]), Heard("Hi there", "Hm"), request)


@pytest.mark.parametrize("reason", ["length", "content_filter"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_call_that_is_broken_off_is_told_as_it_came(source: str, target: str, reason: str) -> None:
    """Neither made up nor lost without a word (invariant 4)."""
    half = '{"city":"Bei'
    bodies = {
        "chat": stream([entry(arguments=half)], finish=reason),
        "messages": legal_streams.sse(legal_streams.messages(legal_streams.tool("call_a", "get_weather", half), stop=STOPS["messages"][reason])),
        "responses": legal_streams.sse(
            legal_streams.responses(legal_streams.call("call_a", "get_weather", half), status="incomplete", reason=STOPS["responses"][reason].partition("/")[2])
        ),
    }
    answer = JUDGES[target].read(play(lambda: pipeline(source, target), [bodies[source]]))
    assert (answer.faults, answer.error, answer.stop_reason) == ([], None, STOPS[target][reason])
    assert [call.arguments for call in answer.calls] == [half]
    whole = JUDGES[target].whole(pipeline(source, target).folded(bodies[source]))
    assert (whole.faults, whole.error, whole.stop_reason) == ([], None, STOPS[target][reason])


LOST = {  # the upstream, what of its message no other API has, and the note
    "images": ("chat", {"images": [{"type": "image_url"}]}, "`images` of the answer is left out"),
    "a signature": ("chat", {"thinking_blocks": [{"type": "thinking", "signature": "s"}]}, "`thinking_blocks` of the answer is left out"),
    "citations of Messages": ("messages", [{"type": "text", "text": "Hi", "citations": [{"type": "page"}]}], "Citations of documents"),
    "a tool of Anthropic's": ("messages", [{"type": "server_tool_use", "id": "s", "name": "web_fetch", "input": {}}], "What is neither text"),
    "citations of Responses": (
        "responses",
        [{"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi", "annotations": [{"type": "file_citation", "file_id": "f"}]}]}],
        "Citations of documents",
    ),
    "a tool of OpenAI's": ("responses", [{"type": "file_search_call", "id": "w", "status": "completed"}], "What is neither text"),
}


@pytest.mark.parametrize("name", LOST)
def test_what_no_other_api_has_is_told(name: str) -> None:
    """In a stream, and whole; in its own API nothing of it is lost."""
    source, said, words = LOST[name]
    if source == "chat":
        chunks: list[Any] = [chunk(said), chunk({"content": "Hi"}, "stop")]
        whole: Any = {**META, "choices": [{"index": 0, "message": {"content": "Hi", **said}, "finish_reason": "stop"}]}
    elif source == "messages":
        blocks = [{"type": "content_block_start", "index": 0, "content_block": said[0]}, {"type": "content_block_stop", "index": 0}]
        chunks = [{"type": "message_start", "message": {}}, *blocks, {"type": "message_stop"}]
        whole = {"type": "message", "role": "assistant", "content": said, "stop_reason": "end_turn"}
    else:
        whole = {"object": "response", "status": "completed", "output": said}
        chunks = [{"type": "response.output_item.done", "output_index": 0, "item": said[0]}, {"type": "response.completed", "response": {**whole, "output": []}}]
    for target in APIS:
        streamed, at_once = pipeline(source, target), pipeline(source, target)
        streamed.feed(b"".join(map(event, chunks)))
        streamed.close()
        at_once.message(json.dumps(whole).encode())
        for made in (streamed, at_once):
            assert [note.startswith(words) for note in made.notes] == ([True] if source != target else [])


def test_what_is_empty_is_not_lost() -> None:
    """Some have each member in each chunk."""
    made = pipeline("chat", "messages")
    made.feed(event(chunk({"content": "Hi", "images": [], "annotations": None})))
    assert made.notes == []


BLOCKS_AT_ONCE = [{"type": "text", "text": "Hi there"}, {"type": "tool_use", "id": "call_a", "name": "get_weather", "input": BEIJING}]


@pytest.mark.parametrize("again", [False, True], ids=["only there", "and in blocks"])
@pytest.mark.parametrize("target", ["chat", "responses"])
def test_content_that_a_message_starts_with(target: str, *, again: bool) -> None:
    """Some tell nothing more."""
    start, ping, *blocks, delta, stop = legal_streams.messages(legal_streams.text("Hi", " there"), legal_streams.tool("call_a", "get_weather", CALL), stop="tool_use")
    start = {**start, "message": {**start["message"], "content": BLOCKS_AT_ONCE}}
    body = legal_streams.sse([start, ping, *(blocks if again else ()), delta, stop])
    translated("messages", target, body, replace(ONE_CALL, text="Hi there", counts=M_USAGE))
    if not again:
        translated("messages", target, legal_streams.sse([start, stop]), replace(ONE_CALL, text="Hi there", counts=Counts(25, 1, 5)))


@pytest.mark.parametrize("target", ["chat", "responses"])
def test_a_message_that_is_told_again_as_a_whole_is_told_once(target: str) -> None:
    again = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}
    translated("messages", target, legal_streams.sse([*legal_streams.messages(legal_streams.text("Hi")), again]), Heard("Hi", counts=M_USAGE))


def test_a_sign_of_life_is_passed_on() -> None:
    body, _ = IRREGULAR["comments"]
    quiet = JUDGES["messages"].read(play(lambda: pipeline("chat", "messages"), [stream(["Hi there"])]))
    answer = JUDGES["messages"].read(play(lambda: pipeline("chat", "messages"), [body]))
    assert answer.pings > quiet.pings


def test_a_refusal_is_told() -> None:
    body = stream([{"refusal": "I "}, {"refusal": "can not."}])
    answer = JUDGES["messages"].read(play(lambda: pipeline("chat", "messages"), [body]))
    assert (answer.faults, answer.text, answer.stop_reason) == ([], "I can not.", "refusal")
    answer = JUDGES["responses"].read(play(lambda: pipeline("chat", "responses"), [body]))
    assert (answer.faults, answer.refusal) == ([], "I can not.")


def test_a_stop_sequence_that_the_upstream_tells_is_told() -> None:
    last = {**META, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "stop_reason": "END"}]}
    answer = JUDGES["messages"].read(play(lambda: pipeline("chat", "messages"), [bare(ROLE, SAID, last)]))
    assert (answer.faults, answer.stop_reason, answer.stop_sequence) == ([], "stop_sequence", "END")


BODIES: dict[str, tuple[Any, Heard]] = {
    "a completion that is no chat": (
        {**META, "choices": [{"index": 0, "text": "Hi there", "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}},
        HI,
    ),
    "an error with status 200": ({"error": {"message": "slow down", "code": 429}}, ERROR),
    "an error in the choice": ({**META, "choices": [{"index": 0, "message": {"role": "assistant", "content": ""}, "error": {"code": 502, "message": "gone"}}]}, ERROR),
    "no choices": ({**META, "choices": []}, ERROR),
    "legacy": (
        {**META, "choices": [{"index": 0, "message": {"content": None, "function_call": {"name": "get_weather", "arguments": CALL}}, "finish_reason": "function_call"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}},
        LATE,
    ),
    "empty arguments": (
        {**META, "choices": [{"index": 0, "message": {"content": "", "tool_calls": [{"id": "call_a", "function": {"name": "task", "arguments": ""}}]}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}},
        Heard(calls=[("call_a", "task", {})], stop="tool_calls"),
    ),
    "broken arguments": (
        {**META, "choices": [{"index": 0, "message": {"content": "", "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "task", "arguments": '{"a":'}}]}, "finish_reason": "tool_calls"}]},
        ERROR,
    ),
    "a leak": (
        {**META, "choices": [{"index": 0, "message": {"role": "assistant", "content": ONE}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5}},
        Heard(calls=[("functions.get_weather:0", "get_weather", BEIJING)], stop="tool_calls"),
    ),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("target", ["messages", "responses"])
def test_an_irregular_chat_completion(target: str, name: str) -> None:
    body, expected = BODIES[name]
    out = pipeline("chat", target).message(json.dumps({**body, "object": "chat.completion"}).encode())
    check(target, JUDGES[target].whole(out), expected)


@pytest.mark.parametrize("body", [b"", b"not JSON", b"[]", b"{}", b'{"error":{"message":"slow down","code":429}}', b'{"choices":null}', b'{"content":null}'])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_body_that_is_no_answer_is_an_error(source: str, target: str, body: bytes) -> None:
    check(target, JUDGES[target].whole(pipeline(source, target).message(body)), ERROR)
    check(target, JUDGES[target].read(pipeline(source, target).as_stream(body)), ERROR)
    check(target, JUDGES[target].read(play(lambda: pipeline(source, target), [body])), ERROR)


# leaks


def of_pattern(pattern: Pattern) -> Heard:
    """What is to be heard of a pattern: a call that cannot be read is an error, unless the limit broke it off."""
    if any(not is_object(arguments) for *_, arguments in pattern.calls):
        return ERROR
    calls = [(id_, name, json.loads(arguments)) for id_, name, arguments in pattern.calls]
    known = pattern.expected_finish if pattern.expected_finish in STOPS["chat"] else "tool_calls" if calls else "stop"
    return Heard(pattern.content, pattern.reasoning, calls, known)


def is_plain(pattern: Pattern) -> bool:
    """Whether its upstream is told the names as the client has them, and what it leaves is an answer."""
    names = [tool["function"]["name"] for tool in pattern.request.get("tools", ())]
    broken = pattern.expected_finish == "length" and of_pattern(pattern) is ERROR
    return all(re.fullmatch(r"[A-Za-z][\w-]{0,63}", name) for name in names) and not broken


PATTERNS = {name: pattern for name, pattern in all_patterns().items() if is_plain(pattern)}


OTHERWISE = {"reasoning/unknown-model": Heard("y", "x"), "reasoning/near-miss-tags-in-a-list": Heard("Tags:\nare two.")}
"""What a client of another API hears otherwise: tags are reasoning, unless the model is known not to write them."""


@batches(PATTERNS)
def test_a_documented_pattern(names: Sequence[str], subtests: pytest.Subtests) -> None:
    def check_row(case: tuple[str, str]) -> None:
        name, target = case
        pattern = PATTERNS[name]
        request = translate(pattern.request, client="chat", upstream=target).request
        translated("chat", target, body_of(pattern), OTHERWISE.get(name) or of_pattern(pattern), request)

    targets = ("messages", "responses")
    each_of(((f"{name} for {target}", (name, target)) for name in names for target in some_of(targets, name)), subtests, check_row)


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_a_name_that_is_split_where_another_ends(target: str) -> None:
    request = asked(target, ("read", {}), ("read_file", {}))
    split = [entry(name="read", arguments=""), entry(id_=None, name="_file", arguments=""), more("{}"), entry(1, "call_b", "read", ""), more("{}", 1)]
    calls: list[Any] = [("call_a", "read_file", {}), ("call_b", "read", {})]
    translated("chat", target, stream(split, finish="tool_calls"), Heard(calls=calls, stop="tool_calls"), request)


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_calls_that_wait_keep_their_place(target: str) -> None:
    """One whose name may go on, and one whose id may come, begin when another thing is said."""
    parts: list[Any] = [entry(name="read"), entry(1, None, "read_file"), "Hi", entry(2, "call_c", "read_file", "{}")]
    out = play(lambda: pipeline("chat", target, asked(target, ("read", {}), ("read_file", {}))), [stream(parts, finish="tool_calls")])
    assert [call.name for call in JUDGES[target].read(out).calls] == ["read", "read_file", "read_file"]
    assert out.rindex(b"Hi") < out.rindex(b"call_c")


def test_another_choice_does_not_tell_of_a_stop_sequence() -> None:
    request = {**asked("messages", *WEATHER), "model": "gpt-5", "stop_sequences": ["END"]}  # which takes none
    body = bare(ROLE, chunk({"content": "no END"}, index=1), SAID, chunk({}, "stop", index=1), STOP)
    translated("chat", "messages", body, HI, request)


@pytest.mark.parametrize("field", ["text", "reasoning"])
@pytest.mark.parametrize(("source", "target"), [(source, target) for source in APIS for target in APIS])
def test_a_leak_in_any_api_is_a_call_in_any(source: str, target: str, field: str) -> None:
    said: list[Part] = [Thought(f"Hm. {ONE}")] if field == "reasoning" else [Text(f"Look: {ONE}")]
    calls = [("functions.get_weather:0", "get_weather", BEIJING)]
    expected = Heard("", "Hm. ", calls, "tool_calls") if field == "reasoning" else Heard("Look: ", "", calls, "tool_calls")
    translated(source, target, speak(source, said), expected)


# irregular Messages


@pytest.mark.parametrize("name", MESSAGES)
@pytest.mark.parametrize("target", ["chat", "responses"])
def test_a_messages_stream(target: str, name: str) -> None:
    body, expected = MESSAGES[name]
    translated("messages", target, body, expected)


# irregular Responses


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("target", ["chat", "messages"])
def test_a_responses_stream(target: str, name: str) -> None:
    body, expected = RESPONSES[name]
    translated("responses", target, body, expected)


# a stream, for a client that waits for a whole answer


STREAMS = [
    *((source, target, name) for source, rows in (("chat", IRREGULAR), ("messages", MESSAGES), ("responses", RESPONSES))
      for name in rows for target in APIS if target != source),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "name"), STREAMS)
def test_a_stream_for_a_client_that_waits_for_a_whole_answer(source: str, target: str, name: str) -> None:
    body, expected = {"chat": IRREGULAR, "messages": MESSAGES, "responses": RESPONSES}[source][name]
    check(target, JUDGES[target].whole(pipeline(source, target).folded(body)), expected)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_stream_that_is_called_a_whole_answer(source: str, target: str) -> None:
    """It is read as what it is, whatever the client waits for."""
    parts, stop = ANSWERS["a call"]
    body = speak(source, parts, stop, SPENT)
    assert pipeline(source, target).message(body) == pipeline(source, target).folded(body)
    assert pipeline(source, target).as_stream(body) == play(lambda: pipeline(source, target), [body])
    check(target, JUDGES[target].read(pipeline(source, target).as_stream(body)), heard(parts, stop, SPENT))


# events whose ends were lost on the way


def data_of(body: bytes) -> list[bytes]:
    """The JSON of every event."""
    return [line.removeprefix(b"data: ") for line in body.split(b"\n") if line.startswith(b"data: {")]


JOINED: dict[str, Callable[[list[bytes]], bytes]] = {
    "on one line": lambda data: b"data: " + b"".join(data) + b"\n\n",
    "on one line, with blanks": lambda data: b"data: " + b" ".join(data) + b"\n\n",
    "on one line, each in its field": lambda data: b"data: " + b"data: ".join(data) + b"\n\n",
    "two on each line": lambda data: b"".join(b"data: " + b"".join(data[at : at + 2]) + b"\n\n" for at in range(0, len(data), 2)),
    "in a list": lambda data: b"data: [" + b",".join(data) + b"]\n\n",
    "in a list that is the body": lambda data: b"[" + b"\n,\r\n".join(data) + b"]\n",
    "lines of JSON": lambda data: b"\n".join(data) + b"\n",
    "lines of JSON, with blank ones": lambda data: b"\n\n".join(data) + b"\n\n",
}


@pytest.mark.parametrize("name", JOINED)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_events_that_came_as_one(source: str, target: str, name: str) -> None:
    parts, stop = ANSWERS["everything"]
    body = JOINED[name](data_of(speak(source, parts, stop, SPENT)))
    translated(source, target, body, heard(parts, stop, SPENT))


@pytest.mark.parametrize(
    "wrap", [b"%s", b"\xef\xbb\xbf%s", b"data: %s\n\n", b"event: message\ndata: %s\n\ndata: [DONE]\n\n", b"data: [%s]\n\n", b"[%s]", b"\xef\xbb\xbf[%s]"]
)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_whole_answer_that_is_called_a_stream(source: str, target: str, wrap: bytes) -> None:
    parts, stop = ANSWERS["everything"]
    translated(source, target, wrap % tell(source, parts, stop, SPENT), heard(parts, stop, SPENT))


@pytest.mark.parametrize("wrap", [b"%s", b"data: %s\n\n"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_error_in_a_list(source: str, target: str, wrap: bytes) -> None:
    """As Google's own of Chat Completions has it."""
    body = wrap % b'[{\n  "error": {\n    "code": 429,\n    "message": "slow down"\n  }\n}\n]\n'.replace(b"\n", b"" if wrap[:1] == b"d" else b"\n")
    answer = JUDGES[target].read(play(lambda: pipeline(source, target), [body]))
    assert (answer.faults, (answer.error or {})["message"]) == ([], "slow down")


# names and kinds of tools

LONG = "mcp__" + 70 * "x"


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_name_that_is_too_long_comes_back(source: str, target: str) -> None:
    request = asked(target, (LONG, {}), ("task", {}))
    names = translate(request, client=target, upstream=source).names
    (name,) = names
    assert len(name) <= 64
    body = speak(source, [Asked("call_a", name, "{}")], "tool_calls")
    translated(source, target, body, Heard(calls=[("call_a", LONG, {})], stop="tool_calls"), request)


PATCH = '*** Begin Patch\n+ "日本"\n*** End Patch'


@pytest.mark.parametrize("source", ["chat", "messages"])
def test_a_freeform_tool_gets_its_bare_input(source: str) -> None:
    request = {**asked("responses"), "tools": [{"type": "custom", "name": "apply_patch", "description": "x"}]}
    body = speak(source, [Asked("call_a", "apply_patch", json.dumps({"input": PATCH}))], "tool_calls")
    make: Callable[[], Pipeline] = lambda: pipeline(source, "responses", request)  # noqa: E731
    out = play(make, [body])
    answer = JUDGES["responses"].read(out)
    assert (answer.faults, [(call.kind, call.name, call.arguments) for call in answer.calls]) == ([], [("custom", "apply_patch", PATCH)])
    for cut in cuts(body):
        assert play(make, cut) == out


def test_a_custom_call_of_responses_is_a_function_elsewhere() -> None:
    body = legal_streams.sse(legal_streams.responses(legal_streams.custom("call_a", "task", "*** ", "x")))
    for target in ("chat", "messages"):
        answer = JUDGES[target].read(play(lambda target=target: pipeline("responses", target), [body]))
        assert (answer.faults, answer.asked) == ([], [("task", {"input": "*** x"})])


# what the client did not ask for


@pytest.mark.parametrize("source", ["messages", "responses"])
def test_a_client_of_chat_that_asked_for_no_usage_gets_none(source: str) -> None:
    silent = asked("chat", *WEATHER)
    del silent["stream_options"]
    answer = JUDGES["chat"].read(play(lambda: pipeline(source, "chat", silent), [speak(source, [SAY])]))
    assert (answer.faults, answer.usage) == ([], None)


MISLABELLED = {
    "an error": ('{"error": {"message": "slow down", "code": 429}}', "rate_limit"),
    "an error in lines": ('{\n  "error": {\n    "message": "slow down",\n    "code": 429\n  }\n}\n', "rate_limit"),
    "an answer": ('{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}', "Hello"),
}


@pytest.mark.parametrize("name", MISLABELLED)
@pytest.mark.parametrize("target", ["messages", "responses"])
def test_a_body_of_json_that_is_called_a_stream(target: str, name: str) -> None:
    body, told = MISLABELLED[name]
    ways = [[body[at : at + size].encode() for at in range(0, len(body), size)] for size in (len(body), 1, 7)]
    outs = [play(lambda: pipeline("chat", target), chunks) for chunks in ways]
    assert outs[1:] == outs[:1] * 2
    assert told.encode() in outs[0]
    assert not JUDGES[target].read(outs[0]).faults
    whole = pipeline("chat", target).folded(body.encode())
    assert told.encode() in whole
    assert not JUDGES[target].whole(whole).faults


@pytest.mark.parametrize("source", ["messages", "responses"])
def test_the_ids_of_a_whole_answers_calls_are_its_own(source: str) -> None:
    out = pipeline(source, "chat").message(tell(source, [Asked("call_a", "task", "{}"), Asked("call_a", "get_weather", CALL)], "tool_calls"))
    answer = JUDGES["chat"].whole(out)
    assert not answer.faults
    assert [call.name for call in answer.calls] == ["task", "get_weather"]
