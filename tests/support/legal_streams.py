"""Legal streams of Messages and Responses, as their grammars say them: events as data, made whole by `messages`, `responses`.

Of Messages the blocks are `text`, `thinking`, `redacted` and `tool`; of Responses the items are `say`, `refuse`, `think`,
`call` and `custom`.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

type Data = dict[str, Any]

INPUT = {"input_tokens": 20, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0}


def sse(events: Iterable[Data]) -> bytes:
    """Events as bytes: the name is the data's type."""
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


# Messages


def block(start: Data, *deltas: Data) -> list[Data]:
    """A block; `messages` numbers it."""
    return [
        {"type": "content_block_start", "content_block": start},
        *({"type": "content_block_delta", "delta": delta} for delta in deltas),
        {"type": "content_block_stop"},
    ]


def text(*pieces: str) -> list[Data]:
    return block({"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def thinking(*pieces: str, signature: str = "") -> list[Data]:
    start = {"type": "thinking", "thinking": "", "signature": ""}
    seal = [{"type": "signature_delta", "signature": signature}] if signature else []
    return block(start, *({"type": "thinking_delta", "thinking": piece} for piece in pieces), *seal)


def redacted(data: str) -> list[Data]:
    return block({"type": "redacted_thinking", "data": data})


def tool(id_: str, name: str, *pieces: str) -> list[Data]:
    start = {"type": "tool_use", "id": id_, "name": name, "input": {}}
    return block(start, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def messages(*blocks: list[Data], stop: str | None = "end_turn", sequence: str | None = None, output: int = 9) -> list[Data]:
    """A whole stream; without `stop` it is broken off behind the last block."""
    head: Data = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    head |= {"stop_reason": None, "stop_sequence": None, "usage": {**INPUT, "output_tokens": 1}}
    events: list[Data] = [{"type": "message_start", "message": head}, {"type": "ping"}]
    events += [{**event, "index": at} for at, each in enumerate(blocks) for event in each]
    if stop:
        delta = {"stop_reason": stop, "stop_sequence": sequence}
        events.append({"type": "message_delta", "delta": delta, "usage": {**INPUT, "output_tokens": output}})
        events.append({"type": "message_stop"})
    return events


def broken(error: str = "overloaded_error", message: str = "Overloaded") -> Data:
    return {"type": "error", "error": {"type": error, "message": message}}


# Responses


class Item:
    """One item: as it begins, as it ends, and the events between."""

    def __init__(self, start: Data, done: Data, events: Sequence[Data] = ()) -> None:
        self.start, self.done, self.events = start, done, events


def _part(stem: str, around: str, at: str, kind: str, member: str, pieces: Sequence[str]) -> list[Data]:
    """The events of one part."""
    begin: Data = {"type": kind, member: ""} | ({"annotations": []} if kind == "output_text" else {})
    whole = "".join(pieces)
    return [
        {"type": f"{around}.added", at: 0, "part": begin},
        *({"type": f"{stem}.delta", at: 0, "delta": piece} for piece in pieces),
        {"type": f"{stem}.done", at: 0, member: whole},
        {"type": f"{around}.done", at: 0, "part": {**begin, member: whole}},
    ]


def _message(stem: str, kind: str, member: str, pieces: Sequence[str]) -> Item:
    events = _part(stem, "response.content_part", "content_index", kind, member, pieces)
    start: Data = {"type": "message", "role": "assistant", "status": "in_progress", "content": []}
    return Item(start, {**start, "status": "completed", "content": [events[-1]["part"]]}, events)


def say(*pieces: str) -> Item:
    return _message("response.output_text", "output_text", "text", pieces)


def refuse(*pieces: str) -> Item:
    return _message("response.refusal", "refusal", "refusal", pieces)


def think(*pieces: str, encrypted: str = "") -> Item:
    events = _part(
        "response.reasoning_summary_text", "response.reasoning_summary_part", "summary_index", "summary_text", "text", pieces
    )
    start: Data = {"type": "reasoning", "summary": []}
    done: Data = {**start, "summary": [events[-1]["part"]]} | ({"encrypted_content": encrypted} if encrypted else {})
    return Item(start, done, events)


def _call(start: Data, member: str, stem: str, pieces: Sequence[str]) -> Item:
    whole = "".join(pieces)
    events: list[Data] = [{"type": f"{stem}.delta", "delta": piece} for piece in pieces]
    events.append({"type": f"{stem}.done", member: whole})
    start = {**start, member: "", "status": "in_progress"}
    return Item(start, {**start, member: whole, "status": "completed"}, events)


def call(id_: str, name: str, *pieces: str) -> Item:
    start = {"type": "function_call", "call_id": id_, "name": name}
    return _call(start, "arguments", "response.function_call_arguments", pieces)


def custom(id_: str, name: str, *pieces: str) -> Item:
    start = {"type": "custom_tool_call", "call_id": id_, "name": name}
    return _call(start, "input", "response.custom_tool_call_input", pieces)


USAGE = {
    "input_tokens": 25,
    "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 0},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 4},
    "total_tokens": 34,
}


def responses(*items: Item, status: str | None = "completed", reason: str = "max_output_tokens") -> list[Data]:
    """A whole stream; without `status` it is broken off behind the last item."""
    first: Data = {"id": "resp_1", "object": "response", "created_at": 1760000000, "status": "in_progress", "model": "gpt-x"}
    first |= {"output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None}
    first |= {"incomplete_details": None, "usage": None}
    events: list[Data] = [{"type": "response.created", "response": first}, {"type": "response.in_progress", "response": first}]
    output = []
    for at, item in enumerate(items):
        id_ = f"item_{at}"
        events.append({"type": "response.output_item.added", "output_index": at, "item": {"id": id_, **item.start}})
        events += [{**event, "item_id": id_, "output_index": at} for event in item.events]
        output.append({"id": id_, **item.done})
        events.append({"type": "response.output_item.done", "output_index": at, "item": output[-1]})
    if status:
        last = {**first, "status": status, "output": output, "usage": USAGE}
        if status == "incomplete":
            last["incomplete_details"] = {"reason": reason}
        if status == "failed":
            last["error"] = {"code": "server_error", "message": "It broke."}
        events.append({"type": f"response.{status}", "response": last})
    return numbered(events)


def numbered(events: Iterable[Data]) -> list[Data]:
    """The events with their sequence numbers."""
    return [{**event, "sequence_number": at} for at, event in enumerate(events)]


# what both grammars allow, by name

MESSAGES = {
    "text": messages(text("Hel", "lo")),
    "all": messages(thinking("Hm", signature="s"), text("Let me."), tool("t1", "f", '{"a":', "1}"), tool("t2", "g"), stop="tool_use"),
    "nothing said": messages(),
    "sealed without text": messages(thinking(signature="s"), text("x")),
    "unsealed": messages(thinking("Hm"), text("x")),
    "redacted": messages(redacted("blob"), text("x")),
    "thinking between": messages(thinking("a", signature="s"), tool("t1", "f", "{}"), thinking("b", signature="t"), stop="tool_use"),
    "stop sequence": messages(text("x"), stop="stop_sequence", sequence="END"),
    "broken off by length": messages(text("x"), tool("t1", "f", '{"a":'), stop="max_tokens"),
    "complete at length": messages(tool("t1", "f", '{"a":1}'), stop="max_tokens"),
    "refusal": messages(text("No."), stop="refusal"),
    "error": [*messages(text("x"), stop=None), broken()],
    "error in a block": [*messages(tool("t1", "f", '{"a":'), stop=None)[:-1], broken()],
    "error first": [broken("rate_limit_error", "slow down")],
    "pings": [*messages(text("x"))[:3], {"type": "ping"}, *messages(text("x"))[3:]],
}

RESPONSES = {
    "text": responses(say("Hel", "lo")),
    "all": responses(think("Hm", encrypted="s"), say("Let me."), call("c1", "f", '{"a":', "1}"), custom("c2", "patch", "*** x")),
    "nothing said": responses(),
    "refusal": responses(refuse("No.")),
    "two runs": responses(think("a"), say("b"), think("c"), say("d")),
    "length": responses(say("x"), status="incomplete"),
    "filter": responses(say("x"), status="incomplete", reason="content_filter"),
    "failed": responses(say("x"), status="failed"),
    "failed in an item": numbered([*responses(say("x"))[:5], responses(status="failed")[-1]]),
    "error": numbered([*responses(say("x"))[:4], {"type": "error", "code": None, "message": "gone", "param": None}]),
}
