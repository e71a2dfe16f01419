"""Streams of Gemini, Ollama and Bedrock, made of deltas as in streams.py; and what a client makes of one.

A delta is a piece of text, or a dict: a part of Gemini's, a message of Ollama's.
"""

import json
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.patterns import Pattern, all_patterns
from tests.patterns.kimi import ONE
from tests.support.streams import WEATHER

type Delta = str | dict[str, Any]

SSE, JSON, NDJSON, AWS = (
    "text/event-stream",
    "application/json; charset=UTF-8",
    "application/x-ndjson",
    "application/vnd.amazon.eventstream",
)
MODEL = {"modelVersion": "gemini-2.5-pro", "responseId": "r1"}
COUNTS = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
LINE = {"model": "kimi-k2", "created_at": "2026-11-20T18:34:01.123456Z"}
TIMES = {"total_duration": 9, "load_duration": 1, "prompt_eval_count": 10, "prompt_eval_duration": 2, "eval_count": 5}


def is_object(text: str) -> bool:
    """Whether it is a JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def gemini_request(request: dict[str, Any] = WEATHER) -> dict[str, Any]:
    """A Chat Completions request's question and tools, as Gemini is asked."""
    functions = [
        {**tool["function"], "parameters": _capitals(tool["function"]["parameters"])} for tool in request.get("tools", ())
    ]
    asked: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "What is the weather in Beijing?"}]}]}
    if request.get("tool_choice") == "none":
        asked["toolConfig"] = {"functionCallingConfig": {"mode": "NONE"}}
    return asked | ({"tools": [{"functionDeclarations": functions}]} if functions else {})


def _capitals(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: value.upper() if key == "type" and isinstance(value, str) else _capitals(value) for key, value in schema.items()
        }
    return [_capitals(item) for item in schema] if isinstance(schema, list) else schema


def ollama_request(request: dict[str, Any] = WEATHER) -> dict[str, Any]:
    """A Chat Completions request as Ollama is asked."""
    return {"model": LINE["model"], **{name: value for name, value in request.items() if name in ("messages", "tools")}}


def candidate(*parts: dict[str, Any], finish: str | None = None, index: Any = 0) -> dict[str, Any]:
    """A chunk of Gemini's."""
    content = {"parts": list(parts), "role": "model"} if parts else {"role": "model"}
    return {"candidates": [{"content": content, **({"finishReason": finish} if finish else {}), "index": index}]}


def gemini_chunks(deltas: Sequence[Delta], finish: str | None = "STOP") -> list[dict[str, Any]]:
    """Chunks as Google sends them: counts on each, the reason with the last text."""
    parts = [{"text": delta} if isinstance(delta, str) else delta for delta in deltas]
    last = len(parts) - 1
    told = [candidate(part, finish=finish if n == last else None) for n, part in enumerate(parts)]
    return [{**chunk, "usageMetadata": COUNTS, **MODEL} for chunk in told]


def gemini_sse(chunks: Iterable[dict[str, Any]]) -> bytes:
    """`alt=sse`."""
    return b"".join(f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks)


def gemini_array(chunks: Iterable[dict[str, Any]]) -> bytes:
    """Without `alt=sse`: an array, as Google spaces it."""
    return b"[" + b"\n,\r\n".join(json.dumps(chunk, indent=2).encode() for chunk in chunks) + b"\n]"


def code_assist(chunks: Iterable[dict[str, Any]]) -> bytes:
    """Wrapped, as Gemini CLI gets it with a Google account."""
    return gemini_sse({"response": chunk, "traceId": "5ab"} for chunk in chunks)


def ollama_lines(deltas: Sequence[Delta], reason: str = "stop", **last: Any) -> bytes:
    """Lines, the last of which says that it is."""
    messages = [{"content": delta} if isinstance(delta, str) else {"content": "", **delta} for delta in deltas]
    lines = [{**LINE, "message": {"role": "assistant", **message}, "done": False} for message in messages]
    lines.append({**LINE, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason, **TIMES, **last})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


PATTERNS = {
    name: pattern
    for name, pattern in all_patterns().items()
    if all(isinstance(delta, str) for delta in pattern.deltas) and all(is_object(call[2]) for call in pattern.calls)
}
"""Those of text alone, whose arguments are objects: what Gemini and Ollama can say too."""


def gemini_pattern(pattern: Pattern) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The request of a pattern that is all text, and the chunks."""
    key = "thought" if pattern.field.startswith("reasoning") else ""
    deltas: list[Delta] = [{"text": delta, **({key: True} if key else {})} for delta in map(str, pattern.deltas)]
    return {"model": pattern.request["model"], **gemini_request(pattern.request)}, gemini_chunks(deltas)


def ollama_pattern(pattern: Pattern) -> tuple[dict[str, Any], bytes]:
    """The request of a pattern that is all text, and the body."""
    key = "thinking" if pattern.field.startswith("reasoning") else "content"
    request = ollama_request(pattern.request) | {"model": pattern.request["model"]}
    if pattern.request.get("tool_choice") == "none":  # Ollama has no such field: a client leaves the tools out
        del request["tools"]
    return request, ollama_lines([{key: delta} for delta in map(str, pattern.deltas)])


@dataclass(frozen=True)
class Spoken:
    """A stream that is kept as a recording, in its chunks; `said` is what a client makes of it: text, thoughts, calls."""

    path: str
    request: dict[str, Any]
    content_type: str
    chunks: tuple[bytes, ...]
    read: Callable[[bytes], "Answer"]
    said: tuple[str, str, list[tuple[str, Any]]]


def recorded_streams() -> dict[str, Spoken]:
    """Those of scripts/record-flows, by `provider/case`."""
    path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"
    leak = ["Let me look. ", ONE[:30], ONE[30:70], ONE[70:]]
    called = ("Let me look. ", "", [("get_weather", {"city": "Beijing"})])
    thought = ("", "Hm ", [("get_weather", {"city": "Beijing"})])
    native = {"functionCall": {"name": "default_api.get_weather", "args": {"city": "Beijing"}}, "thoughtSignature": "c2ln"}
    text = {"tool_calls": [{"function": {"name": "get_weather", "arguments": '{"city": "Beijing"}'}}]}
    asked, lines = gemini_request(), ollama_request()
    wrapped = {"model": "gemini-2.5-pro", "project": "p", "request": asked}
    sse, array, assist = gemini_chunks(leak), gemini_chunks(leak), "/v1internal:streamGenerateContent?alt=sse"
    mused: list[Delta] = [{"text": "Hm ", "thought": True}, {"text": ONE, "thought": True}]
    return {
        "gemini/sse": Spoken(f"{path}?alt=sse", asked, SSE, events_in(gemini_sse(sse)), read_gemini, called),
        "gemini/array": Spoken(path, asked, JSON, elements_in(gemini_array(array)), read_gemini, called),
        "gemini/code-assist": Spoken(assist, wrapped, SSE, events_in(code_assist(sse)), read_gemini, called),
        "gemini/thought": Spoken(path, asked, JSON, elements_in(gemini_array(gemini_chunks(mused))), read_gemini, thought),
        "gemini/decorated-name": Spoken(f"{path}?alt=sse", asked, SSE, events_in(gemini_sse(gemini_chunks(["Let me look. ", native]))), read_gemini, called),
        "ollama/content": Spoken("/api/chat", lines, NDJSON, lines_in(ollama_lines(leak)), read_ollama, called),
        "ollama/thinking": Spoken("/api/chat", lines, NDJSON, lines_in(ollama_lines([{"thinking": "Hm "}, {"thinking": ONE}])), read_ollama, thought),
        "ollama/arguments-as-text": Spoken("/api/chat", lines, NDJSON, lines_in(ollama_lines(["Let me look. ", text])), read_ollama, called),
    }  # fmt: skip


def events_in(body: bytes) -> tuple[bytes, ...]:
    """A chunk per event."""
    return tuple(part + b"\r\n\r\n" for part in body.split(b"\r\n\r\n") if part)


def elements_in(body: bytes) -> tuple[bytes, ...]:
    """A chunk per element, with what stands in front of it."""
    first, *rest = body.split(b"\n,\r\n")
    return (first, *(b"\n,\r\n" + part for part in rest))


def lines_in(body: bytes) -> tuple[bytes, ...]:
    """A chunk per line."""
    return tuple(body.splitlines(keepends=True))


def aws_frame(payload: bytes, **headers: str) -> bytes:
    """A message of an AWS event stream; `event_type="x"` is the header `:event-type`."""
    block = b""
    for name, value in headers.items():
        key = b":" + name.replace("_", "-").encode()
        block += bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    prelude = struct.pack(">II", 16 + len(block) + len(payload), len(block))
    head = prelude + struct.pack(">I", zlib.crc32(prelude)) + block + payload
    return head + struct.pack(">I", zlib.crc32(head))


def converse(*events: tuple[str, dict[str, Any]]) -> bytes:
    """Bedrock's ConverseStream."""
    return b"".join(
        aws_frame(json.dumps(value).encode(), event_type=name, content_type="application/json", message_type="event")
        for name, value in events
    )


@dataclass
class Answer:
    """What a client makes of a stream. `calls`: (name, arguments). `faults`: what the strictest would refuse."""

    content: str = ""
    reasoning: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    finish: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @property
    def said(self) -> tuple[str, str, list[tuple[str, Any]]]:
        return self.content, self.reasoning, self.calls

    def check(self, condition: object, fault: str) -> None:
        if not condition:
            self.faults.append(fault)


def read_gemini(body: bytes) -> Answer:
    """Either form, wrapped or not."""
    answer = Answer()
    if body.lstrip()[:1] == b"[":
        chunks = json.loads(body)
    else:
        blocks = [block for block in re.split(rb"\r\n\r\n|\n\n|\r\r", body) if block.strip()]
        answer.check(all(re.fullmatch(rb"data: [^\r\n]*", block) for block in blocks), "an event that is not one line of data")
        chunks = [json.loads(block.partition(b":")[2]) for block in blocks]
    for chunk in chunks:
        _chunk(answer, chunk.get("response", chunk))
    return answer


def _chunk(answer: Answer, chunk: dict[str, Any]) -> None:
    answer.usage = chunk.get("usageMetadata") or answer.usage
    for one in chunk.get("candidates", ()):
        answer.check(not answer.finish or not one["content"].get("parts"), "something behind the finish reason")
        content = one.get("content") or {}
        answer.check(content.get("role") == "model", "no role")
        answer.check("parts" not in content or content["parts"], "no parts")
        for part in content.get("parts", ()):
            _part(answer, part)
        if one.get("finishReason"):
            answer.finish.append(one["finishReason"])


def _part(answer: Answer, part: dict[str, Any]) -> None:
    kinds = [name for name in ("text", "functionCall", "inlineData", "executableCode") if name in part]
    answer.check(len(kinds) == 1, f"a part that is {kinds}")
    if "text" in part and part.get("thought"):
        answer.reasoning += part["text"]
    elif "text" in part:
        answer.content += part["text"]
    elif "functionCall" in part:
        call = part["functionCall"]
        if call.get("willContinue") or "partialArgs" in call:
            return
        answer.check(isinstance(call["name"], str) and isinstance(call.get("args", {}), dict), "a call that is none")
        answer.calls.append((call["name"], call.get("args", {})))


def read_ollama(body: bytes) -> Answer:
    """Lines."""
    answer = Answer()
    answer.check(body.endswith(b"\n") and b"\n\n" not in body, "lines that are not ended, or empty")
    for line in body.splitlines():
        value = json.loads(line)
        answer.check(not answer.finish, "a line behind the last one")
        message = value["message"]
        answer.check(message["role"] == "assistant" and isinstance(message["content"], str), "a message without role or content")
        answer.check({"model", "created_at", "done"} <= value.keys(), "a line without what all have")
        answer.content += message["content"]
        answer.reasoning += message.get("thinking", "")
        for call in message.get("tool_calls", ()):
            function = call["function"]
            answer.check(isinstance(function["arguments"], dict), "arguments that are no object")
            answer.calls.append((function["name"], function["arguments"]))
        if value["done"]:
            answer.finish.append(value["done_reason"])
            answer.usage = {name: value[name] for name in ("prompt_eval_count", "eval_count")}
    return answer
