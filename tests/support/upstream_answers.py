"""One answer as an upstream of any API speaks it, and what a client of any API must then have heard.

    parts: Text("…") Thought("…") Asked(id, name, arguments)       speak("messages", parts, "tool_calls") → bytes of a stream
                                                                    tell("messages", parts, "tool_calls") → a whole message
Rule of this file: it shares no code with toolmend.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support import legal_streams
from tests.support.answers import Answer
from tests.support.judges import chat_strict
from tests.support.judges import messages as messages_judge
from tests.support.judges import responses as responses_judge
from tests.support.streams import META, pieces, stream

APIS = ("chat", "messages", "responses")
PAIRS = [(source, target) for source in APIS for target in APIS if source != target]
JUDGES = {"chat": chat_strict, "messages": messages_judge, "responses": responses_judge}

STOPS = {
    "messages": {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"},
    "responses": {
        "stop": "completed",
        "tool_calls": "completed",
        "length": "incomplete/max_output_tokens",
        "content_filter": "incomplete/content_filter",
    },
    "chat": {word: word for word in ("stop", "tool_calls", "length", "content_filter")},
}
"""The words of Chat Completions, as each API says them."""


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Thought:
    text: str


@dataclass(frozen=True)
class Asked:
    """A call. `arguments` is JSON text."""

    id: str
    name: str
    arguments: str


type Part = Text | Thought | Asked


@dataclass(frozen=True)
class Counts:
    """Tokens; `input` includes the cached ones."""

    input: int = 10
    output: int = 5
    cached: int = 0
    written: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Heard:
    """What must come of an answer.

    `calls`: (id or None where it is made, name, value). `stop` in the words of Chat Completions,
    "error" where the client must get one. `counts` None: an estimate.
    """

    text: str = ""
    reasoning: str = ""
    calls: Sequence[tuple[str | None, str, Any]] = ()
    stop: str = "stop"
    counts: Counts | None = field(default_factory=Counts)


def heard(parts: Sequence[Part], stop: str = "stop", counts: Counts = Counts()) -> Heard:
    """What is to be heard of an answer that is as it should be."""
    text = "".join(part.text for part in parts if isinstance(part, Text))
    reasoning = "".join(part.text for part in parts if isinstance(part, Thought))
    calls = [(part.id, part.name, json.loads(part.arguments)) for part in parts if isinstance(part, Asked)]
    return Heard(text, reasoning, calls, stop, counts)


def counts_of(api: str, usage: dict[str, Any]) -> Counts:
    """The counts of a usage, however the API writes them."""
    if api == "messages":
        cached, written = (usage.get(f"cache_{kind}_input_tokens") or 0 for kind in ("read", "creation"))
        thought = (usage.get("output_tokens_details") or {}).get("thinking_tokens") or 0
        return Counts(usage["input_tokens"] + cached + written, usage["output_tokens"], cached, written, thought)
    inner, outer = ("prompt", "completion") if api == "chat" else ("input", "output")
    spent, made = usage.get(f"{inner}_tokens_details") or {}, usage.get(f"{outer}_tokens_details") or {}
    numbers = [spent.get("cached_tokens"), spent.get("cache_write_tokens"), made.get("reasoning_tokens")]
    return Counts(usage[f"{inner}_tokens"], usage[f"{outer}_tokens"], *(number or 0 for number in numbers))


def in_one(text: str) -> str:
    """A text without blank lines: of what stands between its parts other tests tell."""
    return text.replace("\n\n", "")


def check(api: str, answer: Answer, expected: Heard) -> None:
    """Whether a client of the API heard what it must, and nothing that its grammar forbids."""
    assert not answer.faults, answer
    if expected.stop == "error":
        assert answer.error, answer
        return
    assert answer.error is None, answer
    got = (in_one(answer.text), in_one(answer.reasoning), answer.asked, answer.stop_reason)
    want = (in_one(expected.text), in_one(expected.reasoning), [(name, value) for _, name, value in expected.calls], STOPS[api][expected.stop])
    assert got == want, f"{got} instead of {want}"
    for call, (id_, *_) in zip(answer.calls, expected.calls, strict=True):
        assert call.id == (id_ or call.id), f"{call.id} instead of {id_}"
    assert api != "messages" or all(answer.seals), "thinking without a signature does not come back"
    assert answer.usage, answer
    counts = counts_of(api, answer.usage)
    if expected.counts is None:
        assert counts.input > 0, counts
    else:
        assert counts == expected.counts, f"{counts} instead of {expected.counts}"


# requests


def asked(api: str, *tools: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A client's request that streams and offers tools: (name, properties)."""
    schemas = {name: {"type": "object", "properties": properties} for name, properties in tools}
    question = {"role": "user", "content": "What is the weather in Beijing?"}
    base: dict[str, Any] = {"model": META["model"], "stream": True}
    if api == "messages":
        offered: list[Any] = [{"name": name, "description": name, "input_schema": schema} for name, schema in schemas.items()]
        return {**base, "max_tokens": 1000, "messages": [question], "tools": offered, **more}
    functions = [{"name": name, "description": name, "parameters": schema} for name, schema in schemas.items()]
    if api == "responses":
        return {**base, "input": [question], "tools": [{"type": "function", **each} for each in functions], **more}
    offered = [{"type": "function", "function": each} for each in functions]
    return {**base, "messages": [question], "tools": offered, "stream_options": {"include_usage": True}, **more}


WEATHER = (("get_weather", {"city": {"type": "string"}}), ("task", {"description": {"type": "string"}}))


# what upstreams say


def usage_of(api: str, counts: Counts) -> dict[str, Any]:
    """A usage as the API writes it."""
    if api == "messages":
        return {
            "input_tokens": counts.input - counts.cached - counts.written,
            "cache_read_input_tokens": counts.cached,
            "cache_creation_input_tokens": counts.written,
            "output_tokens": counts.output,
            "output_tokens_details": {"thinking_tokens": counts.reasoning},
        }
    inner, outer = ("prompt", "completion") if api == "chat" else ("input", "output")
    return {
        f"{inner}_tokens": counts.input,
        f"{inner}_tokens_details": {"cached_tokens": counts.cached, "cache_write_tokens": counts.written},
        f"{outer}_tokens": counts.output,
        f"{outer}_tokens_details": {"reasoning_tokens": counts.reasoning},
        "total_tokens": counts.input + counts.output,
    }


def speak(api: str, parts: Sequence[Part], stop: str = "stop", counts: Counts = Counts(), seed: int = 1) -> bytes:
    """A stream, in deltas of random sizes."""
    return _SPEAKERS[api](parts, stop, counts, seed)


def _chat(parts: Sequence[Part], stop: str, counts: Counts, seed: int) -> bytes:
    deltas: list[Any] = []
    index = 0
    for part in parts:
        match part:
            case Text():
                deltas += pieces(part.text, seed)
            case Thought():
                deltas += [{"reasoning_content": piece} for piece in pieces(part.text, seed)]
            case Asked():
                first = {"index": index, "id": part.id, "type": "function", "function": {"name": part.name, "arguments": ""}}
                rest = [{"index": index, "function": {"arguments": piece}} for piece in pieces(part.arguments, seed)]
                deltas += [{"tool_calls": [each]} for each in (first, *rest)]
                index += 1
    body = stream(deltas, finish=stop)
    old = b'{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}'
    assert old in body
    return body.replace(old, json.dumps(usage_of("chat", counts)).encode())


def _messages(parts: Sequence[Part], stop: str, counts: Counts, seed: int) -> bytes:
    blocks = []
    for part in parts:
        match part:
            case Text():
                blocks.append(legal_streams.text(*pieces(part.text, seed)))
            case Thought():
                blocks.append(legal_streams.thinking(*pieces(part.text, seed), signature=f"sig{len(blocks)}"))
            case Asked():
                blocks.append(legal_streams.tool(part.id, part.name, *pieces(part.arguments, seed)))
    events = legal_streams.messages(*blocks, stop=STOPS["messages"][stop])
    events[-2]["usage"] = usage_of("messages", counts)
    return legal_streams.sse(events)


def _responses(parts: Sequence[Part], stop: str, counts: Counts, seed: int) -> bytes:
    items = []
    for part in parts:
        match part:
            case Text():
                items.append(legal_streams.say(*pieces(part.text, seed)))
            case Thought():
                items.append(legal_streams.think(*pieces(part.text, seed), encrypted=f"enc{len(items)}"))
            case Asked():
                items.append(legal_streams.call(part.id, part.name, *pieces(part.arguments, seed)))
    status, _, reason = STOPS["responses"][stop].partition("/")
    events = legal_streams.responses(*items, status=status, reason=reason)
    events[-1]["response"]["usage"] = usage_of("responses", counts)
    return legal_streams.sse(events)


_SPEAKERS = {"chat": _chat, "messages": _messages, "responses": _responses}


def tell(api: str, parts: Sequence[Part], stop: str = "stop", counts: Counts = Counts()) -> bytes:
    """A whole message."""
    body = speak(api, parts, stop, counts)
    usage = usage_of(api, counts)
    if api == "responses":
        return json.dumps(json.loads(body.strip().rpartition(b"data: ")[2])["response"]).encode()
    if api == "messages":
        content: list[dict[str, Any]] = []
        for part in parts:
            match part:
                case Text():
                    content.append({"type": "text", "text": part.text})
                case Thought():
                    content.append({"type": "thinking", "thinking": part.text, "signature": f"sig{len(content)}"})
                case Asked():
                    content.append({"type": "tool_use", "id": part.id, "name": part.name, "input": json.loads(part.arguments)})
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x"}
        stopped = {"stop_reason": STOPS["messages"][stop], "stop_sequence": None}
        return json.dumps({**head, "content": content, **stopped, "usage": usage}).encode()
    said = heard(parts)
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None, "reasoning_content": said.reasoning or None}
    calls = [part for part in parts if isinstance(part, Asked)]
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": stop}
    return json.dumps({**META, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
