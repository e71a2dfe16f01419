"""codec.py and rewrite.py: lines and whole answers; what is mended, and that nothing else is touched."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from typing import Any

import pytest

from tests.patterns import Pattern
from tests.patterns.kimi import ONE, B, S
from tests.support.cuts import cuts, everywhere
from tests.support.ollama_answers import pipeline
from tests.support.other_api_streams import (
    LINE,
    PATTERNS,
    TIMES,
    Answer,
    Delta,
    ollama_lines,
    ollama_pattern,
    ollama_request,
    read_ollama,
)
from tests.support.rows import batches, each_of
from tests.support.streams import play
from toolmend.config.off import Off
from toolmend.config.settings import Settings
from toolmend.core.fold import fold
from toolmend.pipeline.event_reader import events_of
from toolmend.pipeline.pipeline import Pipeline

CALL = ("get_weather", {"city": "Beijing"})
BROKEN = f'Look.{S}{B}functions.get_weather:0<|tool_call_argument_begin|>{{"city": "Bei'
NATIVE = {"tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Beijing"}}}]}


def mended(body: bytes, rules: list[str], request: dict[str, Any] | None = None) -> Answer:
    """What a client makes of what became of a body, however it is cut."""
    whole = pipeline(request)
    client = whole.feed(body) + whole.close()
    assert whole.error is None, whole.error
    assert whole.rules == rules
    if not rules:
        assert client == body
    for pieces in cuts(body):
        assert play(lambda: pipeline(request), pieces) == client
    return read_ollama(client)


@batches(PATTERNS)
def test_every_dialect(names: Sequence[str], subtests: pytest.Subtests) -> None:
    """What Chat Completions makes of the same text, in the same deltas."""

    def check(pattern: Pattern) -> None:
        request, body = ollama_pattern(pattern)
        rules = [rule for rule in pattern.rules if rule != "finish_reason"]
        answer = mended(body, rules, request)
        assert answer.calls == [(call, json.loads(arguments)) for _, call, arguments in pattern.calls]
        assert (answer.content, answer.reasoning) == (pattern.content, pattern.reasoning)
        assert answer.finish == ["stop"]
        assert answer.faults == []
        assert answer.usage == {"prompt_eval_count": 10, "eval_count": 5}

    each_of(((name, PATTERNS[name]) for name in names), subtests, check)


@pytest.mark.parametrize(
    "body",
    [
        ollama_lines(["It is ", "sunny <| ", "today."]),
        ollama_lines([{"thinking": "Hm"}, "Look.", NATIVE]),
        ollama_lines([NATIVE, NATIVE]).replace(b":", b": "),
        ollama_lines([NATIVE]).replace(b"\n", b"\r\n"),
        ollama_lines(["a"]).rstrip(b"\n"),
        ollama_lines(["a"], done_reason="load"),
        ollama_lines([{"tool_calls": [None, {"function": {"name": 7}}]}]),
        b'{"message":{"role":"assistant","content":"a"},"done":true}\n',
        b'{"error":"model \\"x\\" not found"}\n',
        b"",
        b"no JSON\n",
        b"[]\n1\n",
    ],
    ids=["prose", "native", "two-natives", "crlf", "no-last-line-end", "load", "no-calls", "no-counts", "error", "empty", "no-json", "no-objects"],
)
def test_what_needs_no_mending_is_the_same_bytes(body: bytes) -> None:
    for pieces in everywhere(body):
        assert play(pipeline, pieces) == body


@pytest.mark.parametrize(
    ("deltas", "said"),
    [
        ([ONE], ("", "", [CALL])),
        ([ONE[:9], ONE[9:60], ONE[60:], " Wait."], (" Wait.", "", [CALL])),
        ([{"thinking": f"Hm {ONE}"}, "So."], ("So.", "Hm ", [CALL])),
        (
            [ONE, {"tool_calls": [{"function": {"name": "task", "arguments": {"description": "x"}}}]}],
            ("", "", [CALL, ("task", {"description": "x"})]),
        ),
        ([ONE, NATIVE], ("", "", [CALL])),
    ],
    ids=["alone", "text-behind", "thinking", "native-behind", "said-twice"],
)
def test_calls_in_the_text(deltas: list[Delta], said: Any) -> None:
    answer = mended(ollama_lines(deltas), ["kimi_k2"] + ["duplicate_call"] * (NATIVE in deltas))
    assert answer.said == said
    assert answer.finish == ["stop"]
    assert answer.faults == []


def test_a_call_that_ends_in_the_last_line() -> None:
    body = ollama_lines([ONE[:60]], message={"role": "assistant", "content": f"{ONE[60:]} Done."})
    assert mended(body, ["kimi_k2"]).said == (" Done.", "", [CALL])


@pytest.mark.parametrize(
    ("calls", "rules", "call"),
    [
        ([{"function": {"name": "get_weather", "arguments": '{"city": "Beijing"}'}}], ["arguments"], CALL),
        ([{"function": {"name": "task", "arguments": ""}}], ["arguments"], ("task", {})),
        ([{"function": {"name": "task", "arguments": None}}], ["arguments"], ("task", {})),
        ({"function": {"name": "get_weather", "arguments": {"city": "Beijing"}}}, ["tool_calls"], CALL),
        ([{"function": {"name": "functions.get_weather", "arguments": {"city": "Beijing"}}}], ["tool_call_name"], CALL),
        ([{"id": "c1", "function": {"index": 0, "name": "unknown", "arguments": {}}}], [], ("unknown", {})),
        ([{"function": {"name": "get_weather", "arguments": '{"city": "Beijing"}</tool_call>'}}], ["arguments"], CALL),
        ([{"function": {"name": "get_weather", "parameters": {"city": "Beijing"}}}], ["tool_calls"], CALL),
        ([{"name": "get_weather", "arguments": {"city": "Beijing"}}], ["tool_calls"], CALL),
        ([{"type": "function", "name": "get_weather", "function": {"arguments": '{"city": "Beijing"}'}}], ["tool_calls", "arguments"], CALL),
        (json.dumps(NATIVE["tool_calls"]), ["tool_calls"], CALL),
        ([NATIVE["tool_calls"]], ["tool_calls"], CALL),
    ],
    ids=["text", "empty-text", "null", "no-list", "functions", "not-offered", "end-tag", "parameters", "flat", "half-flat", "json", "nested"],
)
def test_irregular_calls(calls: Any, rules: list[str], call: Any) -> None:
    assert mended(ollama_lines([{"tool_calls": calls}]), rules).calls == [call]


def ended(lines: Iterable[bytes], end: bytes = b"\n") -> bytes:
    return b"".join(line + end for line in lines)


@pytest.mark.parametrize(
    "form",
    [
        partial(ended, end=b"\n\n"),
        partial(ended, end=b"\r\n\r\n"),
        lambda lines: b"\n".join([lines[0], b"", b" ", *lines[1:], b""]),
        lambda lines: b"".join(lines) + b"\n",
        lambda lines: b"\xef\xbb\xbf" + ended(lines),
        lambda lines: b"".join(b"data: %s\n\n" % line for line in lines) + b"data: [DONE]\n\n",
        lambda lines: b"".join(b"event: message\ndata:%s\n\n" % line for line in lines),
        lambda lines: b": hm\n" + ended(lines) + b"[DONE]\n",
    ],
    ids=["blank-lines", "crlf", "heartbeat", "one-line", "bom", "events", "named-events", "done"],
)
def test_lines_that_ollamas_sdks_do_not_read(form: Callable[[list[bytes]], bytes]) -> None:
    """They take each line for JSON, an empty one, too (ollama-python#393, #689); what is in a line stays as it came."""
    for deltas, rules, said in ((["Hi }{ ", "there."], [], ("Hi }{ there.", "", [])), (["Hi ", ONE], ["kimi_k2"], ("Hi ", "", [CALL]))):
        lines = ollama_lines(deltas).splitlines()
        body = form(lines)
        made = pipeline()
        client = made.feed(body) + made.close()
        assert sorted(made.rules) == sorted(["event_form", *rules])
        assert client.splitlines()[0] == lines[0]
        answer = read_ollama(client)
        assert (answer.said, answer.faults, answer.finish) == (said, [], ["stop"])
        for pieces in cuts(body):
            assert play(pipeline, pieces) == client


def test_a_form_that_is_let_be() -> None:
    settings = Settings(off=Off(rules=frozenset({"event_form"})))
    for body in (ended(ollama_lines(["Hi"]).splitlines(), b"\n\n"), b"".join(ollama_lines(["Hi"]).splitlines())):
        assert play(lambda: pipeline(settings=settings), [body]) == body


LAST = {**LINE, "done": True, "done_reason": "stop", **TIMES}


@pytest.mark.parametrize(
    ("line", "told", "rule"),
    [
        ({"error": {"message": "no memory", "code": 500}}, {"error": "no memory"}, "error_form"),
        ({"error": {"x": 1}}, {"error": '{"x":1}'}, "error_form"),
        ({**LAST, "message": {"role": "assistant", "content": ""}, "error": None}, {**LAST, "message": {"role": "assistant", "content": ""}}, "chunk_fields"),
        (LAST, {**LAST, "message": {"role": "assistant", "content": ""}}, "chunk_fields"),
        ({**LAST, "message": None}, {**LAST, "message": {"role": "assistant", "content": ""}}, "chunk_fields"),
        ({**LAST, "message": {"content": "", "x": 1}}, {**LAST, "message": {"content": "", "x": 1, "role": "assistant"}}, "role"),
    ],
    ids=["error-object", "error-without-words", "error-null", "no-message", "message-null", "no-role"],
)  # fmt: skip
def test_what_ollamas_sdks_fail_at(line: dict[str, Any], told: dict[str, Any], rule: str) -> None:
    """Python's at an error that is no text, and without a message or its role; Node's at any `error`."""
    text = f"Look.{ONE[:60]}"
    body = ended([*ollama_lines([text]).splitlines()[:1], json.dumps(line).encode()])
    made = pipeline()
    client = made.feed(body) + made.close()
    assert made.rules == [rule]
    *before, last = client.splitlines()
    assert json.loads(last) == told
    assert "".join(json.loads(each)["message"]["content"] for each in before) == text
    for pieces in cuts(body):
        assert play(pipeline, pieces) == client


def test_a_last_line_of_generate_has_no_message() -> None:
    body = ended([json.dumps({**LINE, "response": "Hi", "done": False}).encode(), json.dumps({**LAST, "response": ""}).encode()])
    assert play(pipeline, [body]) == body


def test_arguments_that_are_no_object_stay() -> None:
    body = ollama_lines([{"tool_calls": [{"function": {"name": "task", "arguments": "{broken"}}]}])
    assert play(pipeline, [body]) == body


@pytest.mark.parametrize("reason", ["length", None])
def test_a_call_that_breaks_off(reason: str | None) -> None:
    """Its arguments are not invented: what there is of them is text."""
    body = ollama_lines([BROKEN[:30], BROKEN[30:]], reason=reason or "stop")
    if reason is None:
        body = body[: body.rindex(b"\n", 0, -1) + 1]
    for given in (body, body.removesuffix(b"\n")):
        answer = mended(given, ["kimi_k2"])
        assert (answer.content, answer.calls) == ('Look.get_weather {"city": "Bei', [])
        assert answer.finish == ([reason] if reason else [])
        assert answer.faults == []


def test_a_call_that_breaks_off_in_an_error() -> None:
    """Clients leave at the error: what there is of the call is in front of it."""
    body = b"".join(ollama_lines([BROKEN]).splitlines(keepends=True)[:1]) + b'{"error":"boom"}\n'
    client = play(pipeline, [body])
    assert 0 < client.index(b'get_weather {\\"city') < client.index(b'"error"')
    for chunks in cuts(body):
        assert play(pipeline, chunks) == client


@pytest.mark.parametrize("done", [True, False])
def test_a_call_that_breaks_off_in_a_whole_answer(done: bool) -> None:
    body = json.dumps({**LINE, "message": {"role": "assistant", "content": BROKEN}, "done": done}).encode()
    assert json.loads(pipeline().message(body))["message"]["content"] == 'Look.get_weather {"city": "Bei'


@pytest.mark.parametrize("line", [b'{"a": 1}{"b', b'{"a": 1}{"b" :}', b'{"a": 1} {"b": 1}]'])
def test_a_line_that_begins_with_an_object_and_is_none(line: bytes) -> None:
    for body in (line, ended([line, *ollama_lines(["Hi"]).splitlines()])):
        assert play(pipeline, [body]) == body


def test_what_is_held_comes_on_a_line_of_its_own() -> None:
    """Behind a last line that was not ended, and is none of ours."""
    body = ollama_lines([BROKEN]).splitlines(keepends=True)[0] + b'{"x": 1}'
    for chunks in cuts(body):
        *_, line, last = play(pipeline, chunks).splitlines()
        assert line == b'{"x": 1}'
        assert json.loads(last)["message"]["content"] == 'get_weather {"city": "Bei'


def test_think_tags_go_to_thinking() -> None:
    request = ollama_request() | {"model": "qwen3:8b"}
    answer = mended(ollama_lines(["<think>Hm", "</think>So."]), ["reasoning_tags"], request)
    assert answer.said == ("So.", "Hm", [])


def test_a_whole_answer() -> None:
    whole = {
        **LINE,
        "message": {"role": "assistant", "content": f"Look.{ONE}", "x": 1.50},
        "done": True,
        "done_reason": "stop",
        **TIMES,
    }
    made = pipeline()
    out = json.loads(made.message(json.dumps(whole, indent=1).encode()))
    assert made.rules == ["kimi_k2"]
    assert out["message"] == {"role": "assistant", "content": "Look.", "x": 1.5, **NATIVE}
    assert out["done_reason"] == "stop"
    prose = json.dumps({**whole, "message": {"role": "assistant", "content": "Hi"}}).encode()
    assert pipeline().message(prose) is prose


def test_generate() -> None:
    """It offers no tools, so nothing is looked for; it is read."""
    lines = [{**LINE, "response": "", "thinking": "Hm", "done": False}, {**LINE, "response": "Hi.", "done": False}]
    lines.append({**LINE, "response": "", "done": True, "done_reason": "stop", "context": [1, 2], **TIMES})
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    made = pipeline({"model": "kimi-k2", "prompt": "Hi"})
    assert made.feed(body) is body
    message = fold(events_of("ollama", [body], stream=True))
    assert (message.text, message.reasoning, message.ended) == ("Hi.", "Hm", True)


def generated(*texts: str, done: bool = True) -> bytes:
    lines: list[dict[str, Any]] = [{**LINE, "response": text, "done": False} for text in texts]
    lines += [{**LINE, "response": "", "done": True, "done_reason": "stop", **TIMES}] * done
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.parametrize(
    ("body", "rule", "text", "thought"),
    [
        (generated("<think>Hm", "</think>So."), "reasoning_tags", "So.", "Hm"),
        (generated("Look.", ONE[:30], ONE[30:], "So."), "kimi_k2", 'Look.get_weather {"city":"Beijing"}So.', ""),
        (generated("Look.", ONE[: ONE.index("}")]), "kimi_k2", 'Look.get_weather {"city": "Beijing"', ""),
        (generated("Look.", ONE[: ONE.index("}")], done=False), "kimi_k2", 'Look.get_weather {"city": "Beijing"', ""),
    ],
    ids=["think", "call", "broken-off", "cut"],
)
def test_what_is_generated_has_no_calls(body: bytes, rule: str, text: str, thought: str) -> None:
    """With tools after all: a call has no place in /api/generate but the text."""
    request = ollama_request() | {"model": "qwen3:8b"}
    whole = play(lambda: pipeline(request), [body])
    lines = [json.loads(line) for line in whole.splitlines()]
    assert "".join(line["response"] for line in lines) == text
    assert "".join(line.get("thinking", "") for line in lines) == thought
    made = pipeline(request)
    assert made.feed(body) + made.close() == whole
    assert made.rules == [rule]


@pytest.mark.parametrize("policy", ["first", "drain", "collect"])
def test_policies(policy: Any) -> None:
    for let_go in (False, True):
        settings = Settings(policy=policy)
        made = Pipeline(
            ollama_request(), source="ollama", target="ollama", settings=settings, let_go=let_go, now=count().__next__
        )
        body = ollama_lines(["Look.", ONE, "And ", "so on."])
        out = b"".join(made.feed(body[at : at + 50]) for at in range(0, len(body), 50)) + made.close()
        lines = [json.loads(line) for line in out.splitlines()]
        assert made.error is None
        assert [call["function"]["name"] for line in lines for call in line["message"].get("tool_calls", ())] == ["get_weather"]
        assert "so on" not in "".join(line["message"]["content"] for line in lines)
        assert [line["done_reason"] for line in lines if line["done"]] == ["stop"]


def test_the_fold_of_a_native_stream() -> None:
    message = fold(events_of("ollama", [ollama_lines([{"thinking": "Hm"}, "Look.", NATIVE])], stream=True))
    assert (message.text, message.reasoning, message.ended) == ("Look.", "Hm", True)
    assert [(call.name, json.loads(call.arguments), call.complete) for call in message.calls.values()] == [(*CALL, True)]
    assert message.finish
    assert message.finish.finish_reason == "tool_calls"
    assert message.usage
    assert (message.usage.input_tokens, message.usage.output_tokens) == (10, 5)
    broken = fold(events_of("ollama", [b'{"error":"model not found"}'], stream=True))
    assert broken.error
    assert broken.error.message == "model not found"
