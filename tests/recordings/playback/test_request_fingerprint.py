"""request_fingerprint.py: what of a request is compared, and what is not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.streams import tool
from toolmend.recordings.playback.request_fingerprint import MAX_SHOWN, MAX_TEXT, ask_of

CHAT = "/v1/chat/completions"
KEY = "sk-" + "a1b2c3d4" * 4


def turns(*messages: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages)}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


SAME = {
    # of each pair, the same is asked
    "a date": (user("on 2026-11-20"), user("on 2025-01-02")),
    "a time": (user("at 2026-11-20T21:30:38.691+00:00, 9:05 PM"), user("at 2025-01-02 01:02:03Z, 10:15 AM")),
    "a day in words": (user("Thursday, Nov 20, 2026"), user("Thursday, January 2, 2025")),
    "the other way round": (user("20 November 2026"), user("2 Jan 2025")),
    "a uuid": (user("6f1c1f0e-0b1a-4c57-9f3e-2d0c5a9b1e77"), user("00000000-0B1A-4c57-9f3e-2d0c5a9b1e78")),
    "an id": (user("see call_018eabcdef12, toolu_01ABCDEFGH"), user("see call_77777777777, toolu_99999999")),
    "a hash": (user("commit 0123456789abcdef0123"), user("commit fedcba98765432100000")),
    "a chunk of Codex'": (user("Chunk ID: 883a8a, session ID 77"), user("Chunk ID: 7bc599, session ID 8123")),
    "where a file lies": (user("made /home/a/src/x.py"), user("made /x/y.z/x.py")),
    "where the only thing lies": (user("/home/a/x.py\n/home/a/y.py"), user("/b/x.py\n/b/y.py")),
    "how long it took": (user("ok in 0.35 seconds, 12ms"), user("ok in 11 seconds, 7 ms")),
    "white space": (user("a  b\r\n"), user(" a b")),
    "a reminder": (user("<system-reminder>\nToday\n</system-reminder>\nHi"), user("Hi")),
    "two reminders": (user("<env>a</env>Hi<env>b</env>"), user("Hi")),
    "an open block": (user("<env>" * 3 + "</env>a<env>"), user("a<env>")),
    "a folder": (user("<environment_context><cwd>/a</cwd></environment_context> Hi"), user("Hi")),
    "a billing header": (user("x-anthropic-billing-header: cc_version=1; cch=2\nHi"), user("Hi")),
    "a block": (user([{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]), user("Hi")),
    "an item": ({"type": "message", **user([{"type": "input_text", "text": "Hi"}])}, {"type": "message", **user("Hi")}),
    "an empty block": (user([{"type": "text", "text": "<env>x</env>"}, {"type": "text", "text": "Hi"}]), user("Hi")),
    "the id of a call": (
        {"role": "tool", "tool_call_id": "call_1", "content": "25"},
        {"role": "tool", "tool_call_id": "functions.x:0", "content": "25"},
    ),
    "a block's id": (
        user([{"type": "tool_result", "tool_use_id": "a", "content": "25"}]),
        user([{"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "25"}]}]),
    ),
    "an item's": (
        {"type": "function_call_output", "call_id": "a", "output": "25", "status": "completed"},
        {"type": "function_call_output", "call_id": "b", "output": "25"},
    ),
    "the order of keys": ({"role": "user", "content": "Hi"}, {"content": "Hi", "role": "user"}),
    "a key, which a recording has not": (user(f"use {KEY}"), user("use [REDACTED]")),
    "a password in arguments": (user([{"arguments": '{"password": "12345678"}'}]), user([{"arguments": '{"password":"[REDACTED]"}'}])),
    "a password in a result": (user([{"type": "x", "api_key": "12345678"}]), user([{"type": "x", "api_key": "[REDACTED]"}])),
}
OTHER = {
    "words": (user("Beijing"), user("Berlin")),
    "a number": (user("25 degrees"), user("26 degrees")),
    "a file's name": (user("/a/b/x.py"), user("/a/b/y.py")),
    "a relative folder": (user("a/b/x.py"), user("a/c/x.py")),
    "a URL": (user("https://a.example/b/c"), user("https://a.example/c/c")),
    "a closing tag": (user("</a/b"), user("</b/b")),
    "a role": (user("25"), {"role": "tool", "content": "25"}),
    "an image": (user([{"type": "image", "data": "AAAA"}]), user([{"type": "image", "data": "AAAB"}])),
    "one block more": (user([{"type": "text", "text": "a"}]), user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])),
    "a date in a long text": (user("x" * MAX_TEXT + "2026-11-20"), user("x" * MAX_TEXT + "2025-11-20")),
    "far behind what is shown": (user("x" * MAX_SHOWN + "a"), user("x" * MAX_SHOWN + "b")),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same(name: str) -> None:
    one, other = (ask_of("chat", CHAT, turns(message)) for message in SAME[name])
    assert one.last == other.last
    assert one.shown == other.shown


@pytest.mark.parametrize("name", OTHER)
def test_another(name: str) -> None:
    one, other = (ask_of("chat", CHAT, turns(message)) for message in OTHER[name])
    assert one.last != other.last


SYSTEM, HELLO, SAID = {"role": "system", "content": "Today is Friday."}, user("Hello"), {"role": "assistant", "content": "Hi."}
RESULT = {"role": "tool", "content": "25"}
NEW: dict[str, tuple[dict[str, Any], int, int, list[str]]] = {
    # the request; how many messages there are, how many of them are new, and these
    "a first message": (turns(SYSTEM, HELLO), 1, 1, ["Hello"]),
    "developer's instructions": (turns({"role": "developer", "content": "x"}, HELLO), 1, 1, ["Hello"]),
    "a second one": (turns(HELLO, SAID, user("And?")), 3, 1, ["And?"]),
    "two results": (turns(HELLO, SAID, RESULT, RESULT), 4, 2, ["25", "25"]),
    "a reminder behind them": (turns(HELLO, SAID, RESULT, SYSTEM), 3, 1, ["25"]),
    "an answer that was begun": (turns(HELLO, SAID), 2, 1, ["Hi."]),
    "a text": ({"input": "Hello"}, 1, 1, ["Hello"]),
    "items": (
        {"input": [HELLO, {"type": "reasoning", "id": "x"}, {"type": "custom_tool_call", "name": "f"}, {"type": "y", "output": "z"}]},
        3,
        1,
        ['{"output":"z","type":"y"}'],
    ),
    "Gemini": ({"contents": [user("a"), {"role": "model", "parts": []}, {"role": "user", "parts": [{"text": "b"}]}]}, 3, 1, ['{"parts":[{"text":"b"}],"role":"user"}']),
    "a prompt": ({"prompt": "Hello"}, 1, 1, ["Hello"]),
    "nothing that is known": ({"query": "Hello"}, 1, 1, ['{"query":"Hello"}']),
    "nothing": ({}, 1, 1, ["{}"]),
    "only instructions": (turns(SYSTEM), 0, 0, []),
    "strange ones": ({"messages": [1, None, ["x"], {"role": 7}]}, 4, 4, ["1", "null", "x", '{"role":7}']),
}


@pytest.mark.parametrize("name", NEW)
def test_the_new_ones(name: str) -> None:
    request, count, new, shown = NEW[name]
    ask = ask_of("chat", CHAT, request)
    assert (len(ask.turns), ask.new, list(ask.shown)) == (count, new, shown)
    assert ask.last == ask.turns[count - new :]


@pytest.mark.parametrize(
    ("path", "request_", "model", "stream"),
    [
        (CHAT, {"model": "Kimi-K2.5", "stream": True}, "Kimi-K2.5", True),
        (CHAT, {"model": None, "stream": "yes"}, "", False),
        ("/v1beta/models/gemini-3:streamGenerateContent?alt=sse", {}, "gemini-3", True),
        ("/v1beta/models/gemini-3:generateContent", {}, "gemini-3", False),
        ("/openai/deployments/gpt/chat/completions?stream=1", {}, "gpt", False),
        ("/model/anthropic.claude/converse-stream", {}, "anthropic.claude", True),
    ],
)
def test_model_and_form(path: str, request_: dict[str, Any], model: str, stream: bool) -> None:
    ask = ask_of("chat", path, request_)
    assert (ask.model, ask.stream) == (model, stream)


def test_streams_of_other_apis() -> None:
    """Ollama streams unless it is told not to; Code Assist wraps what Gemini is asked."""
    assert ask_of("ollama", "/api/chat", {"model": "m"}).stream
    assert not ask_of("ollama", "/api/chat", {"model": "m", "stream": False}).stream
    asked = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": [{"functionDeclarations": [{"name": "a"}]}]}
    plain = ask_of("gemini", "/v1beta/models/g:streamGenerateContent", asked)
    wrapped = ask_of("gemini", "/v1internal:streamGenerateContent", {"model": "g", "request": asked})
    assert plain == wrapped
    assert (plain.model, plain.new, plain.tools) == ("g", 1, {"a"})


def test_tools() -> None:
    given = [tool("a"), {"name": "b", "input_schema": {}}, {"type": "web_search"}, "x", {"function": 1}]
    assert ask_of("chat", CHAT, {"tools": given}).tools == {"a", "b", "web_search", ""}
    assert ask_of("chat", CHAT, {"tools": {"a": 1}}).tools == frozenset()


def test_what_is_too_deep() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    assert ask_of("chat", CHAT, turns(user(deep), user("Hi"))).shown == ("too deep", "Hi")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["user", "text", "\ud800", "<env>"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["role", "content", "type", "text", "id"]) | st.text(), inner),
)


@given(st.dictionaries(st.sampled_from(["messages", "input", "model", "tools", "stream", "prompt"]), JSON))
def test_rubbish(request_: dict[str, Any]) -> None:
    ask = ask_of("chat", CHAT, request_)
    assert ask == ask_of("chat", CHAT, request_)
    assert len(ask.shown) == ask.new <= len(ask.turns)
