"""The streams that are measured: prose, native calls and markup, in each API, cut into chunks.

    native("messages", size)  prose("chat", size)  leaked("kimi_k2", size)   →  Body(request, stream)
    chunks(body.stream, 20)                                                  →  twenty events a chunk

Rule of this file: a stream is what a provider sends: compact events of some 270 bytes, deltas of a token. What a dialect writes
is taken from tests/patterns, with one of its arguments made long, so that a dialect that is new there is measured here.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.patterns import Pattern, all_patterns
from tests.support import legal_streams, upstream_answers

APIS = ("chat", "messages", "responses")

META = {
    "id": "chatcmpl-9c9e4ff2b1d84c0f8a6f5a8e0d1b7c33",
    "object": "chat.completion.chunk",
    "created": 1760000000,
    "model": "acme-1",
    "system_fingerprint": "fp_44709d6fcb",
}

LINE = "for item in items: total += item.size if item.size < limit else limit.  # the sum of all that fits; "
"""What fills prose and arguments: code, with a character that might begin markup, and without what JSON would escape."""

NEWLINES = ("\n", "\\n", " ")
"""What ends a line of an argument: itself, as JSON writes it, or a blank where a dialect takes neither."""


@dataclass(frozen=True)
class Body:
    """A client's request, and the stream that answers it."""

    request: dict[str, Any]
    stream: bytes


def filler(size: int, newline: str = " ") -> str:
    """Text of so many bytes."""
    line = LINE + newline
    return (line * (size // len(line) + 1))[:size].rstrip("\\")


def tokens(text: str) -> list[str]:
    """The text in pieces of three to six characters."""
    dice, out, at = random.Random(7), [], 0
    while at < len(text):
        size = dice.randint(3, 6)
        out.append(text[at : at + size])
        at += size
    return out


def request(api: str) -> dict[str, Any]:
    """What a client asks."""
    return upstream_answers.asked(api, *upstream_answers.WEATHER)


def prose(api: str, size: int, model: str = "acme-1") -> Body:
    """An answer that calls nothing."""
    return Body({**request(api), "model": model}, speak(api, tokens(filler(size)), None))


def native(api: str, size: int, model: str = "acme-1") -> Body:
    """An answer that calls a tool as the API has it."""
    arguments = tokens('{"description": "' + filler(size) + '"}')
    return Body({**request(api), "model": model}, speak(api, ["I", " will", " look."], arguments))


def speak(api: str, said: Sequence[str], arguments: Sequence[str] | None) -> bytes:
    """Text, then a call of `task`, if there are arguments."""
    return {"chat": _chat, "messages": _messages, "responses": _responses}[api](said, arguments)


def _chat(said: Sequence[str], arguments: Sequence[str] | None) -> bytes:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in said)]
    if arguments is not None:
        function = {"name": "task", "arguments": ""}
        deltas.append({"tool_calls": [{"index": 0, "id": "call_9d1c", "type": "function", "function": function}]})
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in arguments]
    return chat(deltas, "stop" if arguments is None else "tool_calls")


def chat(deltas: Sequence[dict[str, Any]], finish: str) -> bytes:
    """A stream of Chat Completions, as compactly as servers write it."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    chunks: list[dict[str, Any]] = [
        {**META, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({**META, "choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": finish}]})
    chunks.append({**META, "choices": [], "usage": usage})
    return b"".join(b"data: " + _compact(chunk) + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def _messages(said: Sequence[str], arguments: Sequence[str] | None) -> bytes:
    blocks = [legal_streams.text(*said)]
    if arguments is not None:
        blocks.append(legal_streams.tool("toolu_9d1c", "task", *arguments))
    return _named(legal_streams.messages(*blocks, stop="end_turn" if arguments is None else "tool_use"))


def _responses(said: Sequence[str], arguments: Sequence[str] | None) -> bytes:
    items = [legal_streams.say(*said)]
    if arguments is not None:
        items.append(legal_streams.call("call_9d1c", "task", *arguments))
    return _named(legal_streams.responses(*items))


def _named(events: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(b"event: %b\ndata: %b\n\n" % (event["type"].encode(), _compact(event)) for event in events)


def _compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


# markup

MARKS = ("a.md", "Beijing", "UTC")
"""Short arguments in the patterns: one is made long."""


def samples() -> Mapping[str, Sequence[tuple[Pattern, str]]]:
    """By dialect: its patterns that have a short argument to make long, and which."""
    found: dict[str, list[tuple[Pattern, str]]] = {}
    for pattern in all_patterns().values():
        whole = "".join(delta for delta in pattern.deltas if isinstance(delta, str))
        if pattern.rules and pattern.calls and pattern.finish == "stop":
            marks = [mark for mark in MARKS if whole.count(mark) == 1 and any(mark in call[2] for call in pattern.calls)]
            found.setdefault(pattern.rules[0], []).extend((pattern, mark) for mark in marks[:1])
    return found


def leaked(sample: tuple[Pattern, str], size: int, newline: str, api: str = "chat") -> Body:
    """An answer in which a dialect's markup stands, with an argument of `size` bytes; the request is that of a client of Chat."""
    pattern, mark = sample
    whole = "".join(delta for delta in pattern.deltas if isinstance(delta, str))
    markup = whole.replace(mark, filler(size, newline))
    if api != "chat":
        return Body(pattern.request, speak(api, tokens(markup), None))
    deltas = [{"role": "assistant", "content": ""}, *({pattern.field: piece} for piece in tokens(markup))]
    return Body(pattern.request, chat(deltas, "stop"))


def fitting(dialect: Sequence[tuple[Pattern, str]], reads: Callable[[Body, str], bool]) -> tuple[tuple[Pattern, str], str]:
    """The first sample and end of a line with which `reads` finds the long argument in what comes out.

    Raises LookupError where there is none: then a pattern is missing in tests/patterns, or its dialect is broken.
    """
    for sample in dialect:
        for newline in NEWLINES:
            if reads(leaked(sample, 300, newline), filler(300, "\n" if newline == "\\n" else newline)):
                return sample, newline
    raise LookupError


def chunks(stream: bytes, events: int) -> list[bytes]:
    """The stream with so many events a chunk."""
    return list(_chunks(stream, events))


def _chunks(stream: bytes, events: int) -> Iterator[bytes]:
    parts = [part + b"\n\n" for part in stream.split(b"\n\n") if part]
    for at in range(0, len(parts), events):
        yield b"".join(parts[at : at + events])
