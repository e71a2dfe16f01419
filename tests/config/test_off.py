"""What is off: the names that are taken, the sentences for those that are not, and that a rule that is off changes nothing."""

import json

import pytest

from tests.support.streams import WEATHER, stream
from toolmend.config.off import NAMES, Off, parse
from toolmend.config.settings import Settings, SettingsError
from toolmend.pipeline.pipeline import Pipeline

RULES = ", ".join(NAMES)

RIGHT = {
    "nothing": ("", Off()),
    "rules": ("Role, finish_reason role", Off(frozenset({"role", "finish_reason"}))),
    "a dialect": ("kimi_k2", Off(frozenset({"kimi_k2"}))),
    "reasoning": ("reasoning_tags", Off(frozenset({"reasoning_tags"}))),
    "hosts": ("api.openai.com *.corp.example:8443 localhost gpu:80", Off(hosts=("api.openai.com", "*.corp.example:8443", "localhost", "gpu:80"))),
}

WRONG = {
    "a slip": ("duplicates", f"here: 'duplicates' is neither a rule (did you mean duplicate_call?) nor a host, the rules are: {RULES}"),
    "nonsense": ("zzz", f"here: 'zzz' is neither a rule nor a host, the rules are: {RULES}"),
    "a bound": ("hold_limit", "here: 'hold_limit' cannot be off: it is the limit of held text, which is always needed"),
    "a policy": ("policy_first", "here: 'policy_first' cannot be off: toolmend_policy asks for it, set that to mixed"),
    "a part of a translation": ("stop_sequence", "here: 'stop_sequence' cannot be off: it is part of a route's translation"),
    "a URL": ("https://a.example/v1", "here: 'https://a.example/v1' is a URL or a path, write the host alone: a.example"),
}


@pytest.mark.parametrize(("text", "right"), RIGHT.values(), ids=RIGHT)
def test_right(text: str, right: Off) -> None:
    assert parse("here", text) == right


@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG)
def test_wrong(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as raised:
        parse("here", text)
    assert str(raised.value) == sentence


@pytest.mark.parametrize(
    ("host", "left"), [("api.openai.com", True), ("API.openai.com:443", True), ("a.corp.example:8443", True), ("a.corp.example", False)]
)
def test_a_host(host: str, left: bool) -> None:
    off = Off(frozenset({"role"}), ("api.openai.com", "*.corp.example:8443"))
    assert off.covers(host) is left
    assert (off.text_for(host) != "role") is left


# what a rule does that is off: nothing


def chunk(delta: object, reason: str | None = None, **more: object) -> bytes:
    told = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return b"data: " + json.dumps(told | more).encode() + b"\n\n"


def choice(**fields: object) -> bytes:
    return chunk(None, choices=[fields])


def call(entry: object) -> bytes:
    return chunk({"role": "assistant", "tool_calls": entry})


def function(arguments: object = '{"city": "Beijing"}', name: str = "get_weather") -> dict[str, object]:
    return {"name": name, "arguments": arguments}


WHOLE = {"index": 0, "id": "a", "type": "function", "function": function()}
ROLE = chunk({"role": "assistant", "content": "Hi"})
END = b"data: [DONE]\n\n"
CALLED = chunk({}, "tool_calls") + END
STOPPED = chunk({}, "stop") + END


def messages(*events: dict[str, object]) -> bytes:
    return b"".join(b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), json.dumps(event).encode()) for event in events)


START: dict[str, object] = {
    "type": "message_start",
    "message": {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}},
}
BLOCK: dict[str, object] = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
DELTA: dict[str, object] = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
BLOCK_END: dict[str, object] = {"type": "content_block_stop", "index": 0}
ENDING: dict[str, object] = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 2}}
MESSAGE_END: dict[str, object] = {"type": "message_stop"}

ONE_RULE = {
    # name: (rule, API, a stream that this rule alone changes)
    "role": ("role", "chat", chunk({"content": "Hi"}) + STOPPED),
    "delta": ("delta", "chat", ROLE + chunk(None) + STOPPED),
    "choice_index": ("choice_index", "chat", choice(delta={"role": "assistant", "content": "Hi"}, finish_reason=None) + STOPPED),
    "chunk_fields": ("chunk_fields", "chat", ROLE + b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n' + STOPPED),
    "an empty reason": ("finish_reason", "chat", ROLE + chunk({"content": "a"}, "") + STOPPED),
    "stop behind a call": ("finish_reason", "chat", call([WHOLE]) + STOPPED),
    "no reason behind a call": ("finish_reason", "chat", call([WHOLE]) + END),
    "tool_calls without one": ("finish_reason", "chat", ROLE + CALLED),
    "a reason too early": ("finish_order", "chat", ROLE + chunk({}, "stop") + chunk({"content": "more"}) + END),
    "a reason said again": ("finish_repeated", "chat", ROLE + chunk({}, "stop") + STOPPED),
    "calls in an object": ("tool_calls", "chat", call(WHOLE) + CALLED),
    "no id": ("tool_call_id", "chat", call([WHOLE | {"id": None}]) + CALLED),
    "no type": ("tool_call_type", "chat", call([{"index": 0, "id": "a", "function": function()}]) + CALLED),
    "an index of its own": ("tool_call_index", "chat", call([WHOLE | {"index": 1}]) + CALLED),
    "a name in front of which stands functions": ("tool_call_name", "chat", call([WHOLE | {"function": function(name="functions.get_weather")}]) + CALLED),
    "arguments that are an object": ("arguments_type", "chat", call([WHOLE | {"function": function({"city": "Beijing"})}]) + CALLED),
    "arguments in a fence": ("argument_json", "chat", call([WHOLE | {"function": function('```json\n{"city": "Beijing"}\n```')}]) + CALLED),
    "a dialect": ("kimi_k2", "chat", stream(["<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}<|tool_call_end|>"])),
    "no start": ("message_start", "messages", messages(BLOCK, DELTA, BLOCK_END, ENDING, MESSAGE_END)),
    "another name": ("event_name", "messages", messages(START, BLOCK).replace(b"event: content_block_start", b"event: begin") + messages(DELTA, BLOCK_END, ENDING, MESSAGE_END)),
    "a block that is left open": ("block_stop", "messages", messages(START, BLOCK, DELTA, ENDING, MESSAGE_END)),
    "no usage": ("usage", "messages", messages(START, BLOCK, DELTA, BLOCK_END, ENDING | {"usage": None}, MESSAGE_END)),
    "a text that is none": ("block_text", "messages", messages(START, BLOCK, DELTA | {"delta": {"type": "text_delta", "text": 1}}, DELTA, BLOCK_END, ENDING, MESSAGE_END)),
}


def mended(api: str, body: bytes, off: frozenset[str], size: int) -> tuple[bytes, list[str]]:
    request = WEATHER if api == "chat" else {"model": "m", "max_tokens": 9, "messages": [], "tools": [{"name": "get_weather", "input_schema": {}}]}
    pipeline = Pipeline(request, source=api, target=api, settings=Settings(off=Off(off)))
    out = b"".join(pipeline.feed(body[at : at + size]) for at in range(0, len(body), size)) + pipeline.close()
    assert pipeline.error is None
    return out, pipeline.rules


@pytest.mark.parametrize("size", [1, 64, 1 << 20])
@pytest.mark.parametrize(("rule", "api", "body"), ONE_RULE.values(), ids=ONE_RULE)
def test_a_rule_that_is_off_changes_nothing(rule: str, api: str, body: bytes, size: int) -> None:
    out, rules = mended(api, body, frozenset(), size)
    assert rule in rules
    assert out != body
    others = frozenset(rules) - {rule}
    out, rules = mended(api, body, frozenset({rule}) | others, size)
    assert (out, rules) == (body, [])


@pytest.mark.parametrize("rule", ["role", "kimi_k2"])
def test_another_rule_goes_on(rule: str) -> None:
    """A call in the text of a stream without roles: each rule with the other off."""
    body = chunk({"content": "<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}<|tool_call_end|>"}) + STOPPED
    _, both = mended("chat", body, frozenset(), 1 << 20)
    assert {"role", "kimi_k2"} <= set(both)
    out, rules = mended("chat", body, frozenset({rule}), 1 << 20)
    assert rule not in rules
    assert {"role", "kimi_k2"} - {rule} <= set(rules)
    assert (b"<|tool_call_begin|>" in out) == (rule == "kimi_k2")


def test_the_same_call_twice() -> None:
    leaked = "<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>" + '{"city": "Beijing"}<|tool_call_end|>'
    body = chunk({"role": "assistant", "content": leaked}) + chunk({"tool_calls": [WHOLE]}) + CALLED
    once, rules = mended("chat", body, frozenset(), 1 << 20)
    assert "duplicate_call" in rules
    twice, rules = mended("chat", body, frozenset({"duplicate_call"}), 1 << 20)
    assert "duplicate_call" not in rules
    assert [out.replace(b" ", b"").count(b'"name":"get_weather"') for out in (once, twice)] == [1, 2]


def test_a_host_that_is_off_is_raw() -> None:
    body = chunk({"content": "<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}<|tool_call_end|>"}) + STOPPED
    for host, left in {"api.openai.com": True, "other.example": False}.items():
        pipeline = Pipeline(WEATHER, host=host, settings=Settings(off=Off(hosts=("api.openai.com",))))
        assert (pipeline.feed(body) + pipeline.close() == body) is left
        assert (pipeline.rules == []) is left
