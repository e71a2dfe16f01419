"""part_kinds.py: one row for each kind of text, and what follows of the rows: events, items, parts."""

from typing import Any

import pytest

from toolmend.apis.responses.part_kinds import (
    CALLS,
    DELTAS,
    DONES,
    FRAMES,
    PARTS,
    PREFIXES,
    SHAPES,
    SUMMARY,
    TERMINAL,
    TEXT,
    WRITTEN,
    Item,
    OpenPart,
    current_form,
    encrypted,
    parts_of,
    understood,
)
from toolmend.core.reasoning_state import ReasoningState, opened


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.events)
def test_a_row_is_found_by_each_name(shape: Any) -> None:
    assert DELTAS[f"{shape.events}.delta"] is DONES[f"{shape.events}.done"] is shape
    assert (PARTS[shape.part] if shape.part else CALLS[shape.item]) is shape
    assert bool(shape.part) == bool(shape.frame) == bool(shape.holder) == bool(shape.index)
    assert not shape.frame or {f"{shape.frame}.added", f"{shape.frame}.done"} <= FRAMES
    assert shape.item in PREFIXES


def test_prefixes_of_ids_are_apart() -> None:
    assert len({*WRITTEN.values()}) == len(WRITTEN)
    assert all(prefix.endswith("_") for prefix in WRITTEN.values())


def test_last_events() -> None:
    assert {"response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done"} == TERMINAL


@pytest.mark.parametrize(("data", "index"), [({"content_index": 2}, 2), ({"content_index": "2"}, 0), ({"content_index": True}, 0), ({}, 0)])
def test_index(data: dict[str, Any], index: int) -> None:
    assert TEXT.index_in(data) == index


def test_a_part_as_its_item_has_it() -> None:
    assert OpenPart(TEXT, pieces=["a", "b"]).wire() == {"type": "output_text", "text": "ab", "annotations": [], "logprobs": []}
    assert OpenPart(TEXT, logprobs=[{"token": "a"}]).wire()["logprobs"] == [{"token": "a"}]
    assert OpenPart(SUMMARY, pieces=["a"]).wire() == {"type": "summary_text", "text": "a"}


def test_an_open_item_is_incomplete() -> None:
    message = Item(0, {"type": "message", "id": "msg_1", "content": [{"type": "output_text"}]}, OpenPart(TEXT, pieces=["a"]))
    assert message.at(TEXT) == {"item_id": "msg_1", "output_index": 0, "content_index": 1}
    assert [part["type"] for part in message.broken_off()["content"]] == ["output_text"] * 2
    call = Item(1, {"type": "function_call", "id": "fc_1"}, OpenPart(CALLS["function_call"], pieces=['{"a"']))
    assert call.at(CALLS["function_call"]) == {"item_id": "fc_1", "output_index": 1}
    assert call.broken_off() == {"type": "function_call", "id": "fc_1", "status": "incomplete", "arguments": '{"a"'}
    assert "content" not in Item(0, {"type": "message"}).broken_off()


@pytest.mark.parametrize(
    ("data", "type_", "delta"),
    [
        ({"type": "response.reasoning.delta", "delta": {"text": "a"}}, "response.reasoning_text.delta", "a"),
        ({"type": "response.reasoning_summary.delta", "delta": "a"}, "response.reasoning_summary_text.delta", "a"),
        ({"type": "response.output_text.delta", "delta": "a"}, "response.output_text.delta", "a"),
    ],
)
def test_older_names_of_events(data: dict[str, Any], type_: str, delta: str) -> None:
    now, made = current_form(data)
    assert (now, made["delta"]) == (type_, delta)


@pytest.mark.parametrize(("wire", "known"), [({"type": "message"}, True), ({"type": "mcp_call"}, False), ({"type": 1}, False), ({}, False), ("message", False)])
def test_understood_items(wire: Any, known: bool) -> None:
    assert understood(wire) == known


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("a", [{"type": "output_text", "text": "a"}]),
        (["a"], [{"type": "output_text", "text": "a"}]),
        ([{"type": "text", "text": "a"}], [{"type": "output_text", "text": "a"}]),
        ([{"type": "refusal", "refusal": "no"}], [{"type": "refusal", "refusal": "no"}]),
        ("", []),
        (None, []),
    ],
)
def test_parts_of_an_item(content: Any, parts: list[Any]) -> None:
    assert parts_of({"type": "message", "content": content}, "content") == parts


def test_encrypted_content_is_the_upstreams_or_an_envelope() -> None:
    assert encrypted(ReasoningState("encrypted", '{"encrypted_content":"e","id":"rs_1"}')) == "e"
    for seal in (ReasoningState("signature", "s"), ReasoningState("encrypted", "broken")):
        assert opened(encrypted(seal)) == seal
