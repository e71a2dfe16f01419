"""rewrite_whole.py: whole answers of Messages."""

import json
from typing import Any

import pytest

from tests.support.messages_events import PLAIN
from tests.support.messages_streams import ID, LEAK, Loop, message, said, thought, used

SERVER = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Bonn"}}
RESULT = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
FOUND_CALL = used(ID, "get_weather", {"city": "Bonn"})
BROKEN_CALL = said('get_weather {"city": "Bonn"')
OWN = used("t", "get_weather", {"city": "Ulm"}, caller={"type": "direct"})

MESSAGES: dict[str, tuple[list[Any], str, list[Any], str]] = {
    "in the text": ([said("Look. " + LEAK)], "end_turn", [said("Look. "), FOUND_CALL], "tool_use"),
    "in the text, and more text": ([said("Look. " + LEAK + " So.")], "end_turn", [said("Look. "), FOUND_CALL, said(" So.")], "tool_use"),
    "all of the text": ([said(LEAK)], "end_turn", [FOUND_CALL], "tool_use"),
    "in the thinking": ([thought("Hm. " + LEAK), said("So.")], "end_turn", [thought("Hm. "), FOUND_CALL, said("So.")], "tool_use"),
    "beside a call": ([said("Look. " + LEAK), OWN], "tool_use", [said("Look. "), FOUND_CALL, OWN], "tool_use"),
    "the same call again": ([said(LEAK), used("t", "get_weather", {"city": "Bonn"})], "tool_use", [FOUND_CALL], "tool_use"),
    "beside what is not ours": (
        [said("a"), SERVER, RESULT, said("b", citations=[]), said(" c " + LEAK), said("d")],
        "end_turn",
        [said("a"), SERVER, RESULT, said("b", citations=[]), said(" c "), FOUND_CALL, said("d")],
        "tool_use",
    ),
    "redacted": ([thought("t"), {"type": "redacted_thinking", "data": "x"}, said(LEAK)], "end_turn",
                 [thought("t"), {"type": "redacted_thinking", "data": "x"}, FOUND_CALL], "tool_use"),
    "thoughts in the text": ([said("<think>Hm.</think>Hi")], "pause_turn", [thought("Hm.", PLAIN), said("Hi")], "pause_turn"),
    "tool_use without a call": ([said("a")], "tool_use", [said("a")], "end_turn"),
    "end_turn with a call": ([said("a"), OWN], "end_turn", [said("a"), OWN], "tool_use"),
    "two runs of thinking": ([thought("a"), thought("b", "t"), said(LEAK)], "end_turn", [thought("a"), thought("b", "t"), FOUND_CALL], "tool_use"),
    "in the thinking, and more of it": ([thought("Hm. " + LEAK + "So."), said("a")], "end_turn", [thought("Hm. So."), FOUND_CALL, said("a")], "tool_use"),
    "arguments that are an empty text": ([used("t", "f", ""), said(LEAK)], "tool_use", [used("t", "f", {}), FOUND_CALL], "tool_use"),
    "a call without id": ([used("", "f", {})], "tool_use", [used(f"toolu_{0:032x}", "f", {})], "tool_use"),
    "a call without a name": ([used("t", "", {"city": "Bonn"})], "tool_use", [used("t", "get_weather", {"city": "Bonn"})], "tool_use"),
    "a call without a name, and no tool fits": ([used("t", "", {"x": 1})], "tool_use", [said('{"x":1}')], "end_turn"),
    "broken off": ([said("Look. " + LEAK[: LEAK.index("}")])], "max_tokens", [said("Look. "), BROKEN_CALL], "max_tokens"),
    "broken off, and nobody said so": ([said("Look. " + LEAK[: LEAK.index("}")])], "end_turn", [said("Look. "), BROKEN_CALL], "end_turn"),
    "a reason of another API": ([said("a"), OWN], "tool_calls", [said("a"), OWN], "tool_use"),
    "a limit of another API": ([said("a")], "length", [said("a")], "max_tokens"),
    "thoughts beside what is not ours": ([thought("t"), SERVER, RESULT, said(LEAK), OWN], "tool_use", [thought("t"), SERVER, RESULT, FOUND_CALL, OWN], "tool_use"),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_whole_messages(name: str) -> None:
    content, stop, expected, reason = MESSAGES[name]
    body = json.dumps(message(*content, stop=stop, context_management={"applied_edits": []}), indent=1).encode()
    out = Loop().message(body)
    assert json.loads(out) == message(*expected, stop=reason, context_management={"applied_edits": []})


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": "3", "output_tokens": "4", "cache_read_input_tokens": None}])
def test_a_whole_message_has_counts(usage: Any) -> None:
    out = json.loads(Loop().message(json.dumps(message(said("a"), usage=usage)).encode()))
    counts = {"input_tokens": 3, "output_tokens": 4} if usage else {"input_tokens": 0, "output_tokens": 0}
    assert out == message(said("a"), usage=counts)


@pytest.mark.parametrize(
    "content",
    [[], [said("a < b")], [thought("t"), said("a"), OWN], [SERVER, RESULT, said("b", citations=[])], [said("a"), said("b")], [{}, said("")]],
)
def test_a_whole_message_without_a_fault_is_the_same_bytes(content: list[Any]) -> None:
    stop = "tool_use" if OWN in content else "end_turn"
    body = json.dumps(message(*content, stop=stop)).encode()
    assert Loop().message(body) is body
