"""Compaction that the provider does in an answer, from a number of tokens on: between Messages and Responses."""

import json
from itertools import count
from typing import Any

import pytest

from tests.support.cuts import cuts
from toolmend.core.reasoning_state import ReasoningState, envelope, opened
from toolmend.pipeline.pipeline import Pipeline
from toolmend.requests import translate
from toolmend.requests.messages.betas import BINDING, needed_betas
from toolmend.requests.refusal_rules import RefusedRequest
from toolmend.requests.refused import remedies
from toolmend.requests.request_limits import quirks_for
from toolmend.requests.strip_envelopes import without_envelopes

ASK = [{"role": "user", "content": "hi"}]
OPENAI, CLAUDE = ("responses", "api.openai.com", "gpt-5.5"), ("messages", "api.anthropic.com", "claude-opus-5")
ITEM = {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAAA1"}
ITEMS = {"model": "m", "stream": True, "input": "hi"}
BLOCKS = {"model": "m", "stream": True, "max_tokens": 99, "messages": ASK}
SEALED = {"type": "compaction", "content": "x", "signature": envelope(ReasoningState("compacted", json.dumps(ITEM)))}


def sent(client: str, upstream: tuple[str, str, str], **request: Any) -> Any:
    given = {"model": "m", "max_tokens": 99, "messages": ASK} if client == "messages" else {"model": "m", "input": "hi"}
    return translate({**given, **request}, client, upstream[0], host=upstream[1], model=upstream[2])


def edit(**more: Any) -> dict[str, Any]:
    return {"edits": [{"type": "clear_thinking_20251015"}, {"type": "compact_20260112", **more}]}


def trigger(tokens: int) -> dict[str, Any]:
    return {"trigger": {"type": "input_tokens", "value": tokens}}


# the edit, the threshold of Responses; None: left out, with a note
EDITS: list[tuple[dict[str, Any], int | None]] = [
    (edit(**trigger(100_000)), 100_000),
    (edit(), 150_000),
    (edit(pause_after_compaction=True), None),
    (edit(trigger={"value": "x"}), None),
    ({"edits": [{"type": "clear_thinking_20251015"}]}, None),
    ({"edits": "x"}, None),
]


@pytest.mark.parametrize(("managed", "threshold"), EDITS, ids=[str(row[1]) + str(index) for index, row in enumerate(EDITS)])
def test_a_trigger_becomes_a_threshold(managed: dict[str, Any], threshold: int | None) -> None:
    translated = sent("messages", OPENAI, context_management=managed)
    wanted = [{"type": "compaction", "compact_threshold": threshold}] if threshold else None
    assert translated.request.get("context_management") == wanted
    assert any("context_management" in note for note in translated.notes) == (threshold is None)


def test_a_threshold_becomes_a_trigger() -> None:
    managed = [{"type": "compaction", "compact_threshold": 100_000}]
    request = sent("responses", CLAUDE, context_management=managed).request
    assert request["context_management"] == {"edits": [{"type": "compact_20260112", **trigger(100_000)}]}
    assert needed_betas(request) == ["compact-2026-01-12"]
    least = sent("responses", CLAUDE, context_management=[{"type": "compaction", "compact_threshold": 9}]).request
    assert least["context_management"]["edits"][0] == {"type": "compact_20260112", **trigger(50_000)}


@pytest.mark.parametrize("upstream", [("responses", "chatgpt.com", "gpt-5.5"), ("responses", "x.openai.azure.com", "gpt-5.5"), ("chat", "llm.example", "m")])
def test_others_get_none(upstream: tuple[str, str, str]) -> None:
    translated = sent("messages", upstream, context_management=edit())
    assert "context_management" not in translated.request and any("context_management" in note for note in translated.notes)


def pipeline(source: str, target: str, request: dict[str, Any]) -> Pipeline:
    numbers = count(1)
    return Pipeline(request, source=source, target=target, new_id=lambda: f"call_{next(numbers):032x}")


def sse(*data: dict[str, Any]) -> bytes:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in data).encode()


def events(made: Pipeline, chunks: Any) -> list[Any]:
    body = b"".join(map(made.feed, chunks)) + made.close()
    return [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]


def test_an_item_becomes_a_block() -> None:
    text = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "ok", "annotations": []}]}
    body = sse(
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**ITEM, "encrypted_content": ""}},
        {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
        {"type": "response.output_item.done", "output_index": 1, "item": text},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [ITEM, text]}},
    )
    for chunks in cuts(body):
        found = events(pipeline("responses", "messages", BLOCKS), chunks)
        starts = [each["content_block"] for each in found if each["type"] == "content_block_start"]
        assert [block["type"] for block in starts] == ["compaction", "text"]
        seal = opened(starts[0]["signature"])
        assert seal and seal.kind == "compacted" and json.loads(seal.data) == ITEM
        assert [each["delta"]["content"] for each in found if each.get("delta", {}).get("type") == "compaction_delta"] != [""]
        assert [each["delta"]["stop_reason"] for each in found if each["type"] == "message_delta"] == ["end_turn"]
    whole = {"id": "r", "object": "response", "status": "completed", "output": [ITEM, text]}
    message = json.loads(pipeline("responses", "messages", {**BLOCKS, "stream": False}).message(json.dumps(whole).encode()))
    assert [block["type"] for block in message["content"]] == ["compaction", "text"] and message["stop_reason"] == "end_turn"


def test_a_block_becomes_an_item() -> None:
    body = sse(
        {"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": None}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": "Goal: A"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ok"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    )
    for chunks in cuts(body):
        output = events(pipeline("messages", "responses", ITEMS), chunks)[-1]["response"]["output"]
        assert [item["type"] for item in output] == ["compaction", "message"]
        assert output[0]["encrypted_content"] == envelope(ReasoningState("summary", "Goal: A"))


def test_a_sealed_item_returns_to_its_provider() -> None:
    messages = [{"role": "user", "content": "old"}, {"role": "assistant", "content": [SEALED, {"type": "text", "text": "ok"}]}, *ASK]
    items = sent("messages", OPENAI, messages=messages).request["input"]
    assert ITEM in items and "old" in json.dumps(items)
    other = sent("messages", ("chat", "llm.example", "m"), messages=messages)
    assert "old" in json.dumps(other.request) and "toolmend1" not in json.dumps(other.request)
    own = without_envelopes({"messages": messages}, "messages", "api.anthropic.com")["messages"]
    assert [message["content"] for message in own] == ["old", [{"type": "text", "text": "ok"}], "hi"]


BOUND = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": "messages.1.content.0: This thinking block is bound to a different conversation."}}).encode()


def test_thinking_is_dropped_by_the_upstream_after_a_refusal() -> None:
    refused = translate({"model": "m", "messages": ASK, "reasoning_effort": "high"}, "chat", "messages", host=CLAUDE[1], model="claude-opus-5-5").request
    assert "block_binding" not in refused["thinking"]
    quirks = quirks_for("messages", CLAUDE[1], "claude-opus-5-5")
    (remedy,) = remedies(400, BOUND, RefusedRequest(refused, "messages", quirks))
    assert (remedy.facts, remedy.edits, remedy.once) == ({"drop_blocks": True}, (), False)
    for effort in ({"reasoning_effort": "high"}, {}):
        again = translate({"model": "m", "messages": ASK, **effort}, "chat", "messages", host=CLAUDE[1], model="claude-opus-5-5", facts=remedy.facts).request
        assert again["thinking"]["block_binding"] == BINDING and needed_betas(again) == ["thinking-binding-controls-2026-08-01"]
    off = translate({"model": "m", "messages": ASK, "reasoning_effort": "none"}, "chat", "messages", host=CLAUDE[1], model="claude-opus-5", facts=remedy.facts).request
    assert off["thinking"] == {"type": "disabled"}
    (last,) = remedies(400, BOUND, RefusedRequest(refused, "messages", quirks_for("messages", CLAUDE[1], "m", remedy.facts)))
    assert last.once and last.edits == ("messages[].content - redacted_thinking thinking",)
    (own,) = remedies(400, BOUND, RefusedRequest(refused, "messages", quirks, translated=False))
    assert own.once
