"""codec.py and rewrite.py: streams of either framing and whole responses; what is mended, and that nothing else is touched."""

import json
import re
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest

from tests.patterns.kimi import CITY, ONE, B, C, E, S
from tests.support.cuts import cuts, everywhere
from tests.support.gemini_answers import FRAMINGS, NATIVE
from tests.support.other_api_streams import (
    COUNTS,
    MODEL,
    PATTERNS,
    Answer,
    Delta,
    candidate,
    gemini_array,
    gemini_chunks,
    gemini_pattern,
    gemini_request,
    gemini_sse,
    read_gemini,
)
from tests.support.rows import batches, each_of, some_of
from tests.support.streams import play
from toolmend.apis.gemini.rewrite import UNSIGNED
from toolmend.apis.shared.numbers import MAX_CHOICES
from toolmend.config.off import Off
from toolmend.config.settings import Settings
from toolmend.core.events import Usage
from toolmend.core.fold import fold
from toolmend.pipeline.event_reader import events_of
from toolmend.pipeline.pipeline import Pipeline

CALL = ("get_weather", {"city": "Beijing"})
BROKEN = f'Look.{S}{B}functions.get_weather:0<|tool_call_argument_begin|>{{"city": "Bei'


def pipeline(request: dict[str, Any] | None = None, settings: Settings = Settings()) -> Pipeline:
    numbers = iter(range(100))
    asked = gemini_request() if request is None else request
    return Pipeline(asked, source="gemini", target="gemini", settings=settings, new_id=lambda: f"call_{next(numbers)}")


def mended(
    chunks: list[dict[str, Any]],
    rules: list[str],
    framing: str = "sse",
    request: dict[str, Any] | None = None,
) -> Answer:
    """What a client makes of what became of the chunks, however they are cut."""
    body = FRAMINGS[framing](chunks)
    whole = pipeline(request)
    client = whole.feed(body) + whole.close()
    assert whole.error is None, whole.error
    assert whole.rules == rules
    if not rules:
        assert client == body
    for pieces in cuts(body):
        assert play(lambda: pipeline(request), pieces) == client
    return read_gemini(client)


@batches(PATTERNS)
def test_every_dialect(names: Sequence[str], subtests: pytest.Subtests) -> None:
    """What Chat Completions makes of the same text, in the same deltas."""

    def check(case: tuple[str, str]) -> None:
        name, framing = case
        pattern = PATTERNS[name]
        request, chunks = gemini_pattern(pattern)
        rules = [rule for rule in pattern.rules if rule != "finish_reason"]
        answer = mended(chunks, rules, framing, request)
        assert answer.calls == [(call, json.loads(arguments)) for _, call, arguments in pattern.calls]
        assert (answer.content, answer.reasoning) == (pattern.content, pattern.reasoning)
        assert answer.finish == ["STOP"]
        assert answer.faults == []
        assert answer.usage == COUNTS

    each_of(((f"{name} {framing}", (name, framing)) for name in names for framing in some_of([*FRAMINGS], name)), subtests, check)


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize(
    "deltas",
    [
        ["It is ", "sunny <| ", "today."],
        [{"text": "Hm", "thought": True}, "Let me look.", NATIVE],
        [NATIVE, {"functionCall": {"id": "f1", "name": "task"}}, {"text": "", "thoughtSignature": "c2ln"}],
        [NATIVE, {"functionCall": {"name": "task", "args": {"a": 1}}}],
        [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}, {"executableCode": {"code": "1", "language": "PYTHON"}}],
        [{"functionCall": {"name": "task", "willContinue": True}}, {"functionCall": {"partialArgs": [{"jsonPath": "$.a"}]}}],
        ['a \\" } ] [ { " b', "\u2028 {]"],
    ],
    ids=["prose", "native", "native-ids", "two-natives", "other-parts", "streamed-arguments", "brackets-in-text"],
)
def test_what_needs_no_mending_is_the_same_bytes(deltas: list[Delta], framing: str) -> None:
    answer = mended(gemini_chunks(deltas), [], framing)
    assert answer.finish == ["STOP"]


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_reason_on_every_chunk(framing: str) -> None:
    """As the models of 2024 have it: neither is it moved, nor does it end the text."""
    mended([candidate({"text": text}, finish="STOP") for text in ("It is ", "sunny.")], [], framing)
    leaked = [candidate({"text": text}, finish="STOP") for text in ("Now. ", ONE[:40], ONE[40:])]
    assert mended(leaked, ["kimi_k2"], framing).said == ("Now. ", "", [CALL])


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize(
    ("deltas", "said"),
    [
        ([ONE], ("", "", [CALL])),
        ([ONE[:9], ONE[9:60], ONE[60:], " Wait."], (" Wait.", "", [CALL])),
        ([{"text": f"Hm {ONE}", "thought": True}, "So."], ("So.", "Hm ", [CALL])),
        (
            [f"{ONE}", {"functionCall": {"name": "task", "args": {"description": "x"}}}],
            ("", "", [CALL, ("task", {"description": "x"})]),
        ),
        ([ONE, NATIVE], ("", "", [CALL])),
        (
            [f"a{S}{B}", {"inlineData": {"data": "AA=="}}, "functions.get_weather:0", "<|tool_call_argument_begin|>", CITY, C, E],
            ("a", "", [CALL]),
        ),
    ],
    ids=["alone", "text-behind", "thought", "native-behind", "said-twice", "other-part-inside"],
)
def test_calls_in_the_text(deltas: list[Delta], said: Any, framing: str) -> None:
    chunks = gemini_chunks(deltas)
    rules = ["kimi_k2"] + ["duplicate_call"] * (NATIVE in deltas)
    answer = mended(chunks, rules, framing)
    assert answer.said == said
    assert answer.faults == []
    assert answer.usage == COUNTS


def test_a_signature_goes_with_what_the_text_became() -> None:
    call = {"functionCall": {"name": "get_weather", "args": {"city": "Beijing"}}}
    for text, parts in [
        (f"Look.{ONE}", [{"text": "Look.", "thoughtSignature": "c2ln"}, call]),
        (ONE, [{**call, "thoughtSignature": "c2ln"}]),
    ]:
        made = pipeline()
        client = made.feed(gemini_sse(gemini_chunks([{"text": text, "thoughtSignature": "c2ln"}]))) + made.close()
        assert json.loads(client[6:])["candidates"][0]["content"]["parts"] == parts


@pytest.mark.parametrize(
    ("part", "rules", "call"),
    [
        ({"functionCall": {"name": "get_weather", "args": '{"city": "Beijing"}'}}, ["arguments"], CALL),
        ({"functionCall": {"name": "default_api.get_weather", "args": {"city": "Beijing"}}}, ["tool_call_name"], CALL),
        ({"functionCall": {"name": "functions.get_weather", "args": {"city": "Beijing"}}}, ["tool_call_name"], CALL),
        ({"functionCall": {"name": "unknown", "args": {}}}, [], ("unknown", {})),
        ({"functionCall": {"name": "task"}}, [], ("task", {})),
        ({"functionCall": {"name": "functions.task"}}, ["tool_call_name"], ("task", {})),
        ({"functionCall": {"name": "task", "args": None}}, [], ("task", None)),
        ({"functionCall": {"name": "task", "args": []}}, ["arguments"], ("task", {})),
        ({"functionCall": {"name": "task", "args": "[1]"}}, [], ("task", "[1]")),
        ({"functionCall": {"name": "get_weather", "args": '```json\n{"city": "Beijing"}\n```'}}, ["arguments"], CALL),
        ({"functionCall": {"name": "task", "args": '{"description": "x"}{}'}}, [], ("task", '{"description": "x"}{}')),
    ],
    ids=["arguments-as-text", "default-api", "functions", "not-offered", "no-arguments", "no-arguments-and-functions", "null-arguments", "empty-list", "no-object-as-text", "fence", "two"],
)
def test_irregular_calls(part: dict[str, Any], rules: list[str], call: Any) -> None:
    assert mended(gemini_chunks([part]), rules).calls == [call]


@pytest.mark.parametrize(("args", "text"), [("{broken", "{broken"), ([1], "[1]"), (7, "7")], ids=["broken", "list", "number"])
def test_arguments_that_are_no_object_are_not_lost_with_the_name(args: Any, text: str) -> None:
    answer = mended(gemini_chunks([{"functionCall": {"name": "functions.task", "args": args}}]), ["tool_call_name"])
    assert answer.said == (f"task {text}", "", [])


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_malformed_call_that_was_read_after_all(framing: str) -> None:
    chunks = [*gemini_chunks([ONE], finish=None), candidate(finish="MALFORMED_FUNCTION_CALL")]
    assert mended(chunks, ["kimi_k2"], framing).finish == ["STOP"]
    assert mended(gemini_chunks([ONE], finish="MALFORMED_FUNCTION_CALL"), ["kimi_k2"], framing).finish == ["STOP"]
    assert mended(gemini_chunks(["Nothing."], finish="MALFORMED_FUNCTION_CALL"), [], framing).finish == [
        "MALFORMED_FUNCTION_CALL"
    ]


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize(
    ("said", "rules", "calls"),
    [
        ('print(default_api.get_weather(city = "Beijing"))', ["tool_code"], [CALL]),
        ('call:default_api:get_weather{city:"Beijing"}', ["gemini"], [CALL]),
        ('print(default_api.get_weather(city = "Bei', [], []),
        ('print(default_api.unknown(city = "Beijing"))', [], []),
    ],
    ids=["python", "words", "cut", "not-offered"],
)
def test_a_malformed_call_that_only_the_finish_message_tells(said: str, rules: list[str], calls: list[Any], framing: str) -> None:
    """As Gemini 2.5 most often ends that writes a call for a call (python-aiplatform#4472)."""
    ends = {**candidate(finish="MALFORMED_FUNCTION_CALL"), **MODEL}
    ends["candidates"][0]["finishMessage"] = f"Malformed function call: {said}"
    request = {**gemini_request(), "model": "gemini-2.5-pro"}
    answer = mended([*gemini_chunks(["Look. "], finish=None), ends], rules, framing, request)
    assert (answer.content, answer.calls, answer.faults) == ("Look. \n" if calls else "Look. ", calls, [])
    assert answer.finish == ["STOP" if calls else "MALFORMED_FUNCTION_CALL"]


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("reason", ["UNEXPECTED_TOOL_CALL", "MALFORMED_FUNCTION_CALL"])
@pytest.mark.parametrize("name", ["default_api.get_weather", "default_api:get_weather"])
def test_a_call_that_google_did_not_know_by_its_name(name: str, reason: str, framing: str) -> None:
    """Clients give up an answer that ends so (ai-dial-adapter-vertexai#325, gemini-cli#26870): the call is right by now."""
    part = {"functionCall": {"name": name, "args": {"city": "Beijing"}}}
    unknown = {"functionCall": {"name": "unknown", "args": {}}}
    behind = [*gemini_chunks([part], finish=None), {**candidate(finish=reason), **MODEL}]
    for chunks in (gemini_chunks([part], finish=reason), behind):
        answer = mended(chunks, ["tool_call_name"], framing)
        assert (answer.calls, answer.finish, answer.faults) == ([CALL], ["STOP"], [])
    assert mended(gemini_chunks([unknown], finish=reason), [], framing).finish == [reason]
    assert mended(gemini_chunks([part, unknown], finish=reason), ["tool_call_name"], framing).finish == [reason]
    assert mended(gemini_chunks([part], finish="SAFETY"), ["tool_call_name"], framing).finish == ["SAFETY"]
    body = FRAMINGS[framing](behind)
    assert play(lambda: pipeline(settings=Settings(off=Off(rules=frozenset({"tool_call_name"})))), [body]) == body


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("tail", ["", "half", "drop"])
def test_a_call_that_breaks_off(framing: str, tail: str) -> None:
    """Its arguments are not invented: what there is of them is text."""
    chunks = gemini_chunks([BROKEN[:30], BROKEN[30:]], finish="MAX_TOKENS" if tail != "drop" else None)
    answer = mended(chunks, ["kimi_k2"], framing)
    assert answer.calls == []
    assert answer.content == 'Look.get_weather {"city": "Bei'
    assert answer.finish == (["MAX_TOKENS"] if tail != "drop" else [])
    assert answer.faults == []


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_call_that_breaks_off_where_nothing_but_a_reason_comes(framing: str) -> None:
    [chunk] = gemini_chunks([BROKEN], finish=None)
    answer = mended([chunk, {**chunk, "candidates": [{"index": 0, "finishReason": "MAX_TOKENS"}]}], ["kimi_k2"], framing)
    assert (answer.said, answer.finish, answer.faults) == (('Look.get_weather {"city": "Bei', "", []), ["MAX_TOKENS"], [])


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_call_that_breaks_off_in_an_error(framing: str) -> None:
    """Clients leave at the error: what there is of the call is in front of it."""
    error = {"error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}
    body = FRAMINGS[framing]([*gemini_chunks([BROKEN], finish=None), error])
    client = play(pipeline, [body])
    assert 0 < client.index(b'get_weather {\\"city') < client.index(b'"error"')
    for chunks in cuts(body):
        assert play(pipeline, chunks) == client


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "STOP", None])
def test_a_call_that_breaks_off_in_a_lone_object(reason: str | None) -> None:
    """Nothing can stand behind it, whether it comes as a stream or whole."""
    [chunk] = gemini_chunks([BROKEN], finish=reason)
    body = json.dumps(chunk).encode()
    for client in (pipeline().message(body), *(play(pipeline, chunks) for chunks in cuts(body))):
        assert json.loads(client)["candidates"][0]["content"]["parts"] == [{"text": 'Look.get_weather {"city": "Bei'}]


def test_a_call_and_an_element_that_break_off() -> None:
    """What there is of the call goes out behind half an element, to which nothing is added."""
    half = b',\n{"candidates": ['
    body = gemini_array(gemini_chunks([BROKEN[:30], BROKEN[30:]], finish=None)).rstrip().removesuffix(b"]") + half
    client = play(pipeline, [body])
    last = json.loads(client.partition(half)[2].lstrip(b", \r\n"))
    assert last["candidates"][0]["content"]["parts"] == [{"text": 'get_weather {"city": "Bei'}]
    for chunks in cuts(body):
        assert play(pipeline, chunks) == client


def test_a_body_that_is_cut() -> None:
    """Wherever: no exception, and no end that did not come."""
    body = gemini_array(gemini_chunks(["Look. ", ONE[:30], ONE[30:], "Done."]))
    for end in range(0, len(body), 7):
        made = pipeline()
        out = made.feed(body[:end]) + made.close()
        assert made.error is None
        with pytest.raises(ValueError, match=r"Expecting|Unterminated|Invalid|Extra"):
            json.loads(out)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}', ("RESOURCE_EXHAUSTED", 429)),
        (b'[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}\n]', ("INVALID_ARGUMENT", 400)),
        (b'data: {"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}\r\n\r\n', ("UNAVAILABLE", 503)),
        (b'{"error":"no such model"}', ("error", 0)),
    ],
    ids=["object", "array", "sse", "text"],
)
def test_errors(body: bytes, expected: tuple[str, int]) -> None:
    assert play(pipeline, [body]) == body
    message = fold(events_of("gemini", [body], stream=True))
    assert message.error
    assert (message.error.type, message.error.status) == expected


LINES = [json.dumps(chunk).encode() for chunk in gemini_chunks(["Hi ", "there."])]
LEAKED = [json.dumps(chunk).encode() for chunk in gemini_chunks(["Hi ", ONE])]
SLOW = b'{"error": {"code": 503, "message": "slow", "status": "UNAVAILABLE"}}'


@pytest.mark.parametrize(
    ("form", "rule"),
    [
        (lambda lines: b"".join(b"data: %s\n\n" % line for line in lines) + b"data: [DONE]\n\n", "event_form"),
        (lambda lines: b"".join(b"data:%s\n\n" % line for line in lines), "event_form"),
        (lambda lines: b"".join(b"event:message\ndata:%s\n\n" % line for line in lines), "event_form"),
        (lambda lines: b"".join(b"event: message\r\nid: 7\r\ndata: %s\r\n\r\n" % line for line in lines), "event_form"),
        (lambda lines: b"".join(b": hm\ndata: %s\n\n" % line for line in lines), "event_form"),
        (lambda lines: b"".join(b"data: [%s]\n\n" % line for line in lines), "event_form"),
        (lambda lines: b"".join(b"data: data: %s\n\n" % line for line in lines), "event_form"),
        (lambda lines: b"".join(b"data: %s\n" % line for line in lines), "event_form"),
        (lambda lines: b"".join(b"data: %s\n\n" % line.replace(b", ", b",\ndata: ") for line in lines), "event_form"),
        (lambda lines: b"\xef\xbb\xbf" + b"".join(b"data: %s\n\n" % line for line in lines), "event_form"),
        (lambda lines: b"\r\n\r\n".join(b"data: " + line for line in lines), "event_form"),
        (lambda lines: b"\n\n".join(b"data: " + line for line in lines) + b"\n", "event_form"),
        (lambda lines: b": hm\n\n" + b"".join(b"data: %s\n\n: hm\n\n" % line for line in lines), "keep_alive"),
        (lambda lines: b"".join(b"data: %s\n\n: hm\n\n\n\n: hm\n\n" % line for line in lines), "keep_alive"),
        (lambda lines: b"".join(b"data: %s\n\nevent: ping\ndata:\n\n" % line for line in lines), "event_form"),
        (lambda lines: b"retry: 3000\n\n" + b"".join(b"data: %s\n\n" % line for line in lines), "keep_alive"),
    ],
    ids=["done", "no-blank", "name", "id", "comment-beside", "list", "twice", "no-blank-lines", "lines", "bom", "not-ended", "half-ended", "comments", "comments-and-blank-lines", "name-and-nothing", "retry"],
)
def test_events_that_googles_sdks_do_not_read(form: Callable[[list[bytes]], bytes], rule: str) -> None:
    """They know `data: `, a line and a blank line; the JSON in it stays as it came."""
    for lines, rules in ((LINES, [rule]), (LEAKED, [rule, "kimi_k2"])):
        body = form(lines)
        made = pipeline()
        client = made.feed(body) + made.close()
        assert sorted(made.rules) == sorted(rules)
        assert read_gemini(client).faults == []
        assert read_gemini(client).said == (("Hi there.", "", []) if lines is LINES else ("Hi ", "", [CALL]))
        assert read_gemini(client).usage == COUNTS
        end = b"\r\n\r\n" if b"\r" in body else b"\n\n"
        assert client.split(end)[0].replace(b" ", b"") == b"data:" + lines[0].replace(b" ", b"")
        for pieces in cuts(body):
            assert play(pipeline, pieces) == client


def test_a_form_that_is_let_be() -> None:
    body = b"event:message\ndata:" + LINES[0] + b"\n\ndata: [DONE]\n\n"
    settings = Settings(off=Off(rules=frozenset({"event_form"})))
    assert play(lambda: pipeline(settings=settings), [body]) == body
    body = b": hm\n\ndata: " + LINES[0] + b"\n\n"
    settings = Settings(off=Off(rules=frozenset({"keep_alive"})))
    assert play(lambda: pipeline(settings=settings), [body]) == body


@pytest.mark.parametrize(
    ("error", "told", "rule"),
    [
        (b"%s\n\n" % SLOW, SLOW, "event_form"),
        (json.dumps(json.loads(SLOW), indent=2).encode(), SLOW, "event_form"),
        (b"data: [%s]\n\n" % SLOW, SLOW, "event_form"),
        (b"event: error\ndata: %s\n\n" % SLOW, SLOW, "event_form"),
        (b'data: {"error": "slow"}\n\n', b'{"error":{"code":500,"message":"slow","status":"INTERNAL"}}', "error_form"),
        (
            b'data: {"error": {"message": "slow", "status": "UNAVAILABLE", "details": [1]}}\n\n',
            b'{"error":{"message":"slow","status":"UNAVAILABLE","details":[1],"code":503}}',
            "error_form",
        ),
        (
            b'data: {"responseId": "r1", "error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}\n\n',
            b'{"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}',
            "error_form",
        ),
    ],
    ids=["no-data", "over-lines", "list", "named", "text", "no-code", "not-first"],
)
def test_errors_that_googles_sdks_do_not_know(error: bytes, told: bytes, rule: str) -> None:
    """They pass over an error without a code, or in a list, and one that is not first. What was held goes out in front of it."""
    half = f"Look.{ONE[:60]}"
    body = gemini_sse(gemini_chunks([half], finish=None)).replace(b"\r", b"") + error
    made = pipeline()
    client = made.feed(body) + made.close()
    assert made.rules == [rule]
    *before, last, rest = client.split(b"\n\n")
    assert (json.loads(last.removeprefix(b"data: ")), rest) == (json.loads(told), b"")
    assert read_gemini(b"\n\n".join(before)).content == half
    for pieces in cuts(body):
        assert play(pipeline, pieces) == client


def test_a_page_between_the_events_stays_behind_what_was_held() -> None:
    """SDKs fail there, and read no further."""
    body = gemini_sse(gemini_chunks([f"Look.{ONE[:60]}"], finish=None)) + b"<html>502 Bad Gateway</html>"
    for pieces in cuts(body):
        assert play(pipeline, pieces) == body


def test_what_was_thought_is_put_out() -> None:
    told = {"promptTokenCount": 10, "toolUsePromptTokenCount": 3, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "cachedContentTokenCount": 4}
    message = fold(events_of("gemini", [gemini_sse([{"usageMetadata": told, **MODEL}])], stream=True))
    assert message.usage == Usage(13, 7, 4, reasoning_tokens=2)


def test_candidates_without_end_do_not_fill_the_memory() -> None:
    """Those that there may be are mended, more pass as they come."""
    made = pipeline()
    for choice in range(2 * MAX_CHOICES):
        came = gemini_sse([candidate({"text": text}, index=choice) for text in (ONE[:40], ONE[40:])])
        assert (made.feed(came) == came) is (choice >= MAX_CHOICES)
    assert len(made._markup._choices) == MAX_CHOICES
    unread = candidate({"text": "stays"}, index=2 * MAX_CHOICES)["candidates"][0]
    both = candidate({"text": ONE})
    both["candidates"].append(unread)
    assert unread in json.loads(made.feed(gemini_sse([both]))[6:])["candidates"]


def test_candidates_whose_index_is_text_are_told_apart() -> None:
    made = pipeline()
    for at in range(len(ONE)):
        made.feed(gemini_sse([candidate({"text": ONE[at]}, index=choice) for choice in ("1", "0")]))
    assert [len(choice.parser.ids) for choice in made._markup._choices.values()] == [1, 1]


def test_a_refused_prompt() -> None:
    body = gemini_sse([{"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": COUNTS, **MODEL}])
    assert play(pipeline, [body]) == body
    message = fold(events_of("gemini", [body], stream=True))
    assert message.finish
    assert message.finish.finish_reason == "content_filter"


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"[\n]", b"data: x\n\n", b"null", b'["a", 1]', b"]]}{", b"[[{}]]", b"{}\n{}", b"\r\n [{}]"]
)
def test_what_is_no_answer_passes(body: bytes) -> None:
    for pieces in everywhere(body):
        assert play(pipeline, pieces) == body


def test_a_whole_response() -> None:
    chunk = gemini_chunks([{"text": "Hm", "thought": True}, f"Look.{ONE}"])
    whole = {**chunk[1], "candidates": [{**chunk[1]["candidates"][0], "safetyRatings": [{"x": 1.50}]}]}
    whole["candidates"][0]["content"]["parts"].insert(0, {"text": "Hm", "thought": True})
    for body in (json.dumps(whole, indent=1).encode(), json.dumps({"response": whole, "traceId": "x"}).encode()):
        made = pipeline()
        out = json.loads(made.message(body))
        told = out.get("response", out)
        assert made.rules == ["kimi_k2"]
        assert told["candidates"][0]["content"]["parts"] == [
            {"text": "Hm", "thought": True},
            {"text": "Look."},
            {"functionCall": {"name": "get_weather", "args": {"city": "Beijing"}}},
        ]
        assert told["candidates"][0]["safetyRatings"] == [{"x": 1.5}]
        assert told["candidates"][0]["finishReason"] == "STOP"
    prose = json.dumps(gemini_chunks(["It is sunny."])[0]).encode()
    assert pipeline().message(prose) is prose


def test_two_candidates_are_two_answers() -> None:
    def both(one: str, two: str, finish: str | None = None) -> dict[str, Any]:
        texts = [candidate({"text": text}, finish=finish)["candidates"][0] | {"index": n} for n, text in enumerate((one, two))]
        return {"candidates": texts, **MODEL}

    made = pipeline()
    body = gemini_sse([both("Hi ", ONE[:30]), both("there.", ONE[30:], "STOP")])
    out = made.feed(body) + made.close()
    texts: dict[int, list[Any]] = {0: [], 1: []}
    for block in out.split(b"\r\n\r\n")[:-1]:
        for one in json.loads(block[6:])["candidates"]:
            texts[one["index"]] += one["content"]["parts"]
    assert texts[0] == [{"text": "Hi "}, {"text": "there."}]
    assert texts[1] == [{"functionCall": {"name": "get_weather", "args": {"city": "Beijing"}}}]


def test_a_candidate_that_is_none_has_its_number() -> None:
    one = {name: value for name, value in candidate({"text": ONE}, finish="STOP")["candidates"][0].items() if name != "index"}
    made = pipeline()
    out = made.feed(gemini_sse([{"candidates": [None, one], **MODEL}])) + made.close()
    assert [each.get("index") for each in json.loads(out[6:])["candidates"]] == [None]
    assert read_gemini(out).calls == [CALL]


def test_arguments_that_get_too_long_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmend.apis.shared.whole_calls.MAX_HELD", 10)
    answer = mended(gemini_chunks([ONE, "So."]), ["kimi_k2"])
    assert answer.said == (f"get_weather {CITY}So.", "", [])


@pytest.mark.parametrize("policy", ["first", "drain", "collect"])
@pytest.mark.parametrize("framing", FRAMINGS)
def test_policies(policy: Any, framing: str) -> None:
    for let_go in (False, True):
        made = Pipeline(
            gemini_request(),
            source="gemini",
            target="gemini",
            settings=Settings(policy=policy),
            let_go=let_go,
            now=count().__next__,
        )
        body = FRAMINGS[framing](gemini_chunks(["Look.", ONE, "And ", "so on."]))
        out = b"".join(made.feed(body[at : at + 50]) for at in range(0, len(body), 50)) + made.close()
        answer = read_gemini(out)
        assert made.error is None
        assert answer.calls == [CALL]
        assert "so on" not in answer.content
        assert answer.finish == ["STOP"]


def test_the_fold_of_a_native_stream() -> None:
    chunks = gemini_chunks([{"text": "Hm", "thought": True}, "Look.", NATIVE])
    for name, framing in FRAMINGS.items():
        message = fold(events_of("gemini", [framing(chunks)], stream=True))
        assert (message.text, message.reasoning) == ("Look.", "Hm"), name
        assert [(call.name, json.loads(call.arguments), call.complete) for call in message.calls.values()] == [(*CALL, True)]
        assert message.finish
        assert message.finish.finish_reason == "tool_calls"
        assert message.usage
        assert (message.usage.input_tokens, message.usage.output_tokens) == (10, 5)


def test_control_character_is_no_part_of_the_text_before() -> None:
    """Its escape is longer than it is."""
    body = gemini_array(gemini_chunks([f"a\x01{ONE}"])).replace(b"\\u0001", b"\n")
    client = play(pipeline, [body])
    assert read_gemini(client).said == ("a\n", "", [CALL])
    for chunks in cuts(body):
        assert play(pipeline, chunks) == client


def test_what_code_assist_says_beside_an_error_stays() -> None:
    [chunk] = gemini_chunks(["Half an answer."], finish=None)
    body = gemini_sse([{"response": chunk, "error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}])
    assert play(pipeline, [body]) == body


def test_parts_stay_where_they_were() -> None:
    code = [{"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "2"}}]
    signed = {"text": "B", "thoughtSignature": "c2ln"}
    call = {"functionCall": {"name": "default_api.get_weather", "args": {"city": "Beijing"}}}
    named = {"functionCall": {**call["functionCall"], "name": "get_weather"}}
    body = json.dumps({"candidates": [{"content": {"parts": [{"text": "A"}, *code, signed, call], "role": "model"}}]}).encode()
    client = json.loads(pipeline().message(body))
    assert client["candidates"][0]["content"]["parts"] == [{"text": "A"}, *code, signed, named]


@pytest.mark.parametrize("model", ["gemini-3-pro-preview", "gemini-2.5-pro"])
def test_the_first_call_that_was_a_text_is_signed_for_gemini_3(model: str) -> None:
    """It takes none back without a signature; that of the text stays, if that had one."""
    for beside, signature in (({}, UNSIGNED), ({"thoughtSignature": "c2ln"}, "c2ln")):
        made = pipeline({**gemini_request(), "model": model})
        client = made.feed(gemini_sse(gemini_chunks([{"text": ONE + ONE, **beside}]))) + made.close()
        parts = [part for chunk in client.split(b"\n\n") if chunk for part in json.loads(chunk[6:])["candidates"][0]["content"]["parts"]]
        signed = [part.get("thoughtSignature") for part in parts if "functionCall" in part]
        assert signed == [signature if beside or "-3" in model else None, None]


def test_of_two_calls_with_one_id_the_second_has_another() -> None:
    calls = [{"functionCall": {"id": "c", "name": name, "args": {}}} for name in ("task", "get_weather")]
    made = pipeline()
    client = made.feed(gemini_sse(gemini_chunks([*calls]))) + made.close()
    assert re.findall(rb'"id":\s*"([^"]*)"', client) == [b"c", b"call_0"]
    assert made.rules == ["tool_call_id"]
