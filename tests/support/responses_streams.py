"""Streams of Responses, made of items, and what OpenAI's client accumulates of one."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import httpx2
import openai

from tests.patterns.kimi import CITY, ONE
from tests.support.answers import Call
from tests.support.cuts import cuts
from tests.support.streams import pieces
from toolmend.apis.codec import Reply
from toolmend.core.tools import UNKNOWN
from toolmend.pipeline.pipeline import Pipeline

WEATHER = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
REQUEST = {"model": "kimi-k2.5", "stream": True, "input": "Weather?", "tools": [WEATHER, {**WEATHER, "name": "task"}]}
USAGE = {
    "input_tokens": 10, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1}, "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15,
}  # fmt: skip
RESPONSE: dict[str, Any] = {
    "id": "resp_1", "object": "response", "created_at": 1760000000, "status": "in_progress", "model": "kimi-k2.5", "output": [],
    "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": None, "error": None, "incomplete_details": None,
    "provider_field": {"kept": 1},
}  # fmt: skip
DONE = {**RESPONSE, "status": "completed", "usage": USAGE}


def said(id_: str, place: int, shape: str, deltas: Sequence[str], index: int = 0) -> list[dict[str, Any]]:
    """A part."""
    part, events, frame, member, number = {
        "text": ("output_text", "output_text", "content_part", "text", "content_index"),
        "refusal": ("refusal", "refusal", "content_part", "refusal", "content_index"),
        "summary": ("summary_text", "reasoning_summary_text", "reasoning_summary_part", "text", "summary_index"),
        "thought": ("reasoning_text", "reasoning_text", "content_part", "text", "content_index"),
    }[shape]
    at = {"item_id": id_, "output_index": place, number: index}
    blank = {"type": part, member: "", **({"annotations": []} if shape == "text" else {})}
    full = {**blank, member: "".join(deltas)}
    return [
        {"type": f"response.{frame}.added", **at, "part": blank},
        *({"type": f"response.{events}.delta", **at, "delta": delta} for delta in deltas),
        {"type": f"response.{events}.done", **at, member: "".join(deltas)},
        {"type": f"response.{frame}.done", **at, "part": full},
    ]


def item(place: int, wire: dict[str, Any], inner: list[dict[str, Any]], **final: Any) -> list[dict[str, Any]]:
    """An item."""
    return [
        {"type": "response.output_item.added", "output_index": place, "item": wire},
        *inner,
        {"type": "response.output_item.done", "output_index": place, "item": {**wire, **final, "status": "completed"}},
    ]


def message(place: int, deltas: Sequence[str], id_: str = "", **more: Any) -> list[dict[str, Any]]:
    id_ = id_ or f"msg_{place}"
    wire = {"id": id_, "type": "message", "status": "in_progress", "role": "assistant", "content": [], **more}
    parts = said(id_, place, "text", deltas)
    return item(place, wire, parts, content=[parts[-1]["part"]])


def reasoning(place: int, deltas: Sequence[str], shape: str = "summary", sealed: str = "gAAA") -> list[dict[str, Any]]:
    parts = said(f"rs_{place}", place, shape, deltas)
    holder = "summary" if shape == "summary" else "content"
    final = {"encrypted_content": sealed} if sealed else {}
    return item(place, {"id": f"rs_{place}", "type": "reasoning", "summary": []}, parts, **{holder: [parts[-1]["part"]]}, **final)


def call(place: int, deltas: Sequence[str], name: str = "task", *, custom: bool = False, **more: Any) -> list[dict[str, Any]]:
    kind, member, prefix = ("custom_tool_call", "input", "ctc") if custom else ("function_call", "arguments", "fc")
    events = f"response.{'custom_tool_call_input' if custom else 'function_call_arguments'}"
    wire = {"id": f"{prefix}_{place}", "type": kind, "status": "in_progress", "call_id": f"call_{place}", "name": name, member: "", **more}
    at = {"item_id": wire["id"], "output_index": place}
    inner = [{"type": f"{events}.delta", **at, "delta": delta} for delta in deltas]
    return item(place, wire, [*inner, {"type": f"{events}.done", **at, member: "".join(deltas)}], **{member: "".join(deltas)})


SEARCH = [
    {"type": "response.output_item.added", "output_index": 0, "item": {"id": "ws_1", "type": "web_search_call", "status": "in_progress"}},
    {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"},
    {"type": "response.output_item.done", "output_index": 0, "item": {"id": "ws_1", "type": "web_search_call", "status": "completed"}},
]


def turn(*events: list[dict[str, Any]], end: dict[str, Any] | None = DONE, numbered: bool = True) -> list[dict[str, Any]]:
    """Items → the events of a stream; the last one holds the output."""
    inner = [event for part in events for event in part]
    output = [event["item"] for event in inner if event["type"] == "response.output_item.done"]
    begin = [{"type": f"response.{name}", "response": RESPONSE} for name in ("created", "in_progress")]
    ends = [{"type": f"response.{end['status']}", "response": {**end, "output": output}}] if end else []
    return [{**event, "sequence_number": n} if numbered else event for n, event in enumerate([*begin, *inner, *ends])]


def body_of(events: Sequence[dict[str, Any] | str]) -> bytes:
    blocks = [event if isinstance(event, str) else f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return "".join(blocks).encode()


def reply(fired: list[str] | None = None) -> Reply:
    numbers = iter(range(1_000_000))
    return Reply(UNKNOWN, lambda: f"call_new{next(numbers)}", [].append if fired is None else fired.append)


def pipeline(**more: Any) -> Pipeline:
    numbers = iter(range(1_000_000))
    made = Pipeline(REQUEST, source="responses", target="responses", new_id=lambda: f"call_{next(numbers):032x}", **more)
    assert not made._raw
    return made


def mended(body: bytes, make: Callable[[], Pipeline] = pipeline) -> bytes:
    """What the client gets, the same for every cut."""
    found = set()
    for chunks in cuts(body):
        made = make()
        found.add(b"".join([made.feed(data) for data in chunks]) + made.close())
        assert made.error is None, made.error
    assert len(found) == 1
    return found.pop()


HALVES = ['{"ci', 'ty": 1}']


def without(events: Iterable[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in event.items() if name not in names} for event in events]


TEXT = message(0, ["Hi", " you"])


def counted_from(first: int, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts of items have these places."""
    return [{**event, **{name: event[name] + first for name in ("content_index", "summary_index") if name in event}} for event in events]


def parts(*deltas: str, first: int = 0) -> list[dict[str, Any]]:
    """A message of several parts, a delta each."""
    inner = [counted_from(first + at, said("msg_0", 0, "text", [delta])) for at, delta in enumerate(deltas)]
    return item(0, {**TEXT[0]["item"]}, [event for part in inner for event in part], content=[part[-1]["part"] for part in inner])


FAILED = {**RESPONSE, "status": "failed", "error": {"code": "rate_limit_exceeded", "message": "Slow down."}}
INCOMPLETE = {**DONE, "status": "incomplete"}


def sent(events: list[Any]) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in mended(body_of(events)).decode().splitlines() if line.startswith("data: ")]


def accumulate(body: Iterator[bytes]) -> Any:
    """What openai's own accumulator makes of a stream. It raises on much that other clients accept."""
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    client = httpx2.Client(transport=httpx2.MockTransport(lambda _: answer))
    sdk = openai.OpenAI(api_key="none", base_url="http://test", http_client=client)
    with sdk.responses.stream(model="m", input="x") as events:
        for _ in events:
            pass
        return events.get_final_response()


LEAK = pieces(f"Look: {ONE}", 3)

GET = Call("functions.get_weather:0", "get_weather", CITY)


def wires(*events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["item"] for part in events for event in part if event["type"] == "response.output_item.done"]
