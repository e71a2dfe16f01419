"""What goes upstream for a conversation is the same in every later turn: models check it, and caches need it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.upstream_answers import PAIRS
from toolmend.core.reasoning_state import ReasoningState, envelope
from toolmend.requests import translate

HOSTS = {
    "messages": ("api.anthropic.com", "claude-opus-5-5"),
    "responses": ("api.openai.com", "gpt-5.5"),
    "chat": ("openrouter.ai", "moonshotai/kimi-k2.5"),
}

words = st.sampled_from(["Hi", " \n", "日本", "Look.", "*** Begin Patch"])
ids = st.sampled_from(["call_1", "get:0", "functions.get:0", "x" * 70, "srv-1"])
seals = st.sampled_from([None, ReasoningState("signature", "Erc"), ReasoningState("details", '[{"type": "reasoning.text", "text": "a"}]'), ReasoningState("encrypted", '{"id": "rs_1", "encrypted_content": "gAA"}')])
said = st.sampled_from(["Go on.", "日本"])  # blank messages of the user are left out
answers = st.tuples(st.none() | words, seals, st.lists(ids, max_size=2), said)
"""Of a turn: what the model says, what seals its thought, the ids of its calls, and what the user says then."""


def _thought(client: str, seal: ReasoningState | None) -> dict[str, Any] | None:
    if seal is None:
        return None
    text = seal.data if seal.kind == "signature" else envelope(seal)
    if client == "messages":
        return {"type": "thinking", "thinking": "hm", "signature": text}
    if client == "responses":
        return {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": text}
    return {"type": "reasoning.text", "text": "hm", "signature": text, "index": 0}


def turns(client: str, script: list[Any]) -> Iterator[list[dict[str, Any]]]:
    """The messages or items of each turn, as a client adds them."""
    yield [{"role": "user", "content": "Begin."}]
    for text, seal, calls, then in script:
        thought = _thought(client, seal)
        if client == "messages":
            blocks = [thought] if thought else []
            blocks += [{"type": "text", "text": text}] if text else []
            blocks += [{"type": "tool_use", "id": id_, "name": "get", "input": {"n": 1}} for id_ in calls]
            results = [{"type": "tool_result", "tool_use_id": id_, "content": "ok"} for id_ in calls]
            yield [{"role": "assistant", "content": blocks or "Ok"}, {"role": "user", "content": results or then}]
        elif client == "responses":
            items = [thought] if thought else []
            items += [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}] if text else []
            items += [{"type": "function_call", "call_id": id_, "name": "get", "arguments": '{"n": 1}'} for id_ in calls]
            items += [{"type": "function_call_output", "call_id": id_, "output": "ok"} for id_ in calls]
            yield [*items, *([] if calls else [{"role": "user", "content": then}])] if items else [{"role": "user", "content": then}]
        else:
            made = [{"id": id_, "type": "function", "function": {"name": "get", "arguments": '{"n": 1}'}} for id_ in calls]
            answer = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
            answer |= {"reasoning_content": "hm", "reasoning_details": [thought]} if thought else {}
            results = [{"role": "tool", "tool_call_id": id_, "content": "ok"} for id_ in calls]
            yield [answer, *(results or [{"role": "user", "content": then}])]


def written(client: str, upstream: str, messages: list[dict[str, Any]]) -> tuple[Any, list[Any]]:
    """The system and tools that go upstream, and the messages, without breakpoints, which are not compared."""
    host, model = HOSTS[upstream]
    tool = {"name": "get", "input_schema": {"type": "object"}} if client == "messages" else {"type": "function", "name": "get", "parameters": {"type": "object"}}
    if client == "chat":
        tool = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}
    request = {"model": "m", "max_tokens": 9000, "tools": [tool], "input" if client == "responses" else "messages": messages}
    made = translate(request, client, upstream, host=host, model=model).request
    return [made.get("system"), made.get("instructions"), made["tools"]], _plain(made.get("messages", made.get("input")))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _plain(entry) for name, entry in value.items() if name != "cache_control"}
    if isinstance(kept.get("content"), str) and "role" in kept:  # one text is written as a string where it has no breakpoint
        kept["content"] = [{"type": "text", "text": kept["content"]}]
    return kept


@pytest.mark.parametrize(("client", "upstream"), PAIRS)
@settings(max_examples=12)
@given(script=st.lists(answers, min_size=1, max_size=4))
def test_earlier_turns_stay(client: str, upstream: str, script: list[Any]) -> None:
    messages: list[dict[str, Any]] = []
    before: tuple[Any, list[Any]] | None = None
    for more in turns(client, script):
        messages += more
        now = written(client, upstream, messages)
        if before:
            assert now[0] == before[0]
            # a user's message that is the last may go on: two in a row are one
            assert json.dumps(now[1][: len(before[1]) - 1]) == json.dumps(before[1][:-1])
            assert json.dumps(before[1][-1])[:-4] in json.dumps(now[1][len(before[1]) - 1])
        before = now
