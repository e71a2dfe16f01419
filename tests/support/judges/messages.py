"""The strict reader of Anthropic Messages: what a client makes of an answer, and what the strictest would refuse.

    message_start → { content_block_start i → deltas → [signature_delta] → content_block_stop i }* → message_delta → message_stop

`ping` anywhere behind message_start; `error` is the last event, wherever it comes.

Rule of this file: it shares no code with toolmend.
"""

import json
from typing import Any

from tests.support.answers import Answer, Call, events, is_count, is_object

STOP_REASONS = frozenset(
    {"compaction", "end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"}
)
BROKEN_OFF = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})
ERRORS = frozenset(
    {
        "invalid_request_error",
        "authentication_error",
        "billing_error",
        "permission_error",
        "not_found_error",
        "conflict_error",
        "request_too_large",
        "rate_limit_error",
        "timeout_error",
        "api_error",
        "overloaded_error",
    }
)
EMPTY: dict[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "redacted_thinking": {},
    "tool_use": {"input": {}},
    "server_tool_use": {"name": "web_search", "input": {}},
    "compaction": {"content": None},
    "web_search_tool_result": {},
}
"""What a block begins with, by its type."""

DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}
"""The type of the block that a delta fits, and its member."""

COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def read(body: bytes) -> Answer:
    """Folds a stream, and notes every fault."""
    reader = _Reader()
    for name, data in events(reader.answer, body):
        reader.take(name, data)
    reader.end()
    return reader.answer


def whole(body: bytes) -> Answer:
    """A whole message, or the body of an error."""
    answer = Answer()
    message = json.loads(body)
    if message.get("type") == "error":
        _error(answer, message)
        return answer
    _head(answer, message)
    answer.stop_reason, answer.stop_sequence, answer.usage = (message.get(k) for k in ("stop_reason", "stop_sequence", "usage"))
    for block in message.get("content") or ():
        _block(answer, block, json.dumps(block["input"]) if isinstance(block.get("input"), dict) else None)
    _usage(answer, answer.usage, ("input_tokens", "output_tokens"), "message")
    answer.check("stop_sequence" in message, "message: no stop_sequence")
    _stop(answer)
    return answer


class _Reader:
    """One stream. The block that is open has its index, its fields and the deltas so far."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.state = "begin"  # then: message, delta, over
        self.blocks = 0
        self.open: dict[str, Any] | None = None
        self.pieces: dict[str, list[str]] = {}

    def take(self, name: str, data: dict[str, Any]) -> None:
        check = self.answer.check
        check(self.state != "over", f"{name} behind the end")
        take = getattr(self, f"_{name}", None)
        if not check(take, f"unknown event {name}"):
            return
        if name not in ("message_start", "error"):
            check(self.state != "begin", f"{name} in front of message_start")
        if name.startswith("content_block"):
            check(self.state != "delta", f"{name} behind message_delta")
            check("index" in data, f"{name} without index")
        assert take
        take(data)

    def end(self) -> None:
        self.answer.check(self.state == "over", "neither message_stop nor error")

    def _ping(self, data: dict[str, Any]) -> None:
        self.answer.pings += 1
        self.answer.check(data == {"type": "ping"}, f"a ping that says {data}")

    def _message_start(self, data: dict[str, Any]) -> None:
        check = self.answer.check
        if not check(self.state == "begin", "message_start twice"):
            return
        self.state = "message"
        message = data.get("message") or {}
        _head(self.answer, message)
        check(message.get("content") == [], "message_start: content that is not []")
        for member in ("stop_reason", "stop_sequence"):
            check(member in message and message[member] is None, f"message_start: {member} that is not null")
        usage = message.get("usage")
        if _usage(self.answer, usage, ("input_tokens", "output_tokens"), "message_start"):
            check(sum(usage.get(count) or 0 for count in COUNTS if count != "output_tokens") > 0, "message_start: no input tokens")
            self.answer.usage = dict(usage)

    def _content_block_start(self, data: dict[str, Any]) -> None:
        check = self.answer.check
        check(self.open is None, f"block {data.get('index')} begins inside another")
        check(data.get("index") == self.blocks, f"block {data.get('index')} where {self.blocks} is next")
        if self.open is not None:
            self._close()
        self.blocks += 1
        block = data.get("content_block")
        self.open = block if isinstance(block, dict) else {}
        self.open["index"] = data.get("index")
        self.pieces = {"text": [], "thinking": [], "signature": [], "partial_json": []}
        kind = str(self.open.get("type"))
        if check(kind in EMPTY, f"unknown block {kind}"):
            for member, empty in EMPTY[kind].items():
                check(self.open.get(member) == empty, f"a {kind} block that begins with {member} {self.open.get(member)!r}")

    def _content_block_delta(self, data: dict[str, Any]) -> None:
        check = self.answer.check
        delta = data.get("delta")
        kind, member = DELTAS.get(str((delta or {}).get("type")), ("", ""))
        if self.open and self.open.get("type") == "server_tool_use" and member == "partial_json":
            kind = "server_tool_use"
        if self.open and self.open.get("type") == "text" and (delta or {}).get("type") == "citations_delta":
            self.open.setdefault("citations", []).append(delta["citation"])
            return
        if self.open and self.open.get("type") == "compaction" and (delta or {}).get("type") == "compaction_delta":
            check(self.open["content"] is None and delta["content"], f"a second, or an empty, delta of a summary: {delta}")
            self.open |= {"content": delta["content"], "encrypted_content": delta["encrypted_content"]}
            return
        if not check(kind, f"unknown delta {delta}"):
            return
        if not check(self.open is not None and self.open["index"] == data.get("index"), f"a delta for block {data.get('index')}"):
            return
        assert self.open is not None
        assert isinstance(delta, dict)
        if not check(self.open.get("type") == kind, f"a {delta['type']} in a {self.open.get('type')} block"):
            return
        if not check(isinstance(delta.get(member), str), f"a {delta['type']} of {delta.get(member)!r}"):
            return
        check(not self.pieces["signature"], f"a {delta['type']} behind the signature")
        self.pieces[member].append(delta[member])

    def _content_block_stop(self, data: dict[str, Any]) -> None:
        if self.answer.check(
            self.open is not None and self.open["index"] == data.get("index"), f"a stop for block {data.get('index')}"
        ):
            self._close()

    def _close(self) -> None:
        assert self.open is not None
        joined = {member: "".join(parts) for member, parts in self.pieces.items()}
        fields = {member: joined[member] for member in ("text", "thinking", "signature") if member in self.open}
        _block(self.answer, {**self.open, **fields}, joined["partial_json"])
        self.open = None

    def _message_delta(self, data: dict[str, Any]) -> None:
        check, answer = self.answer.check, self.answer
        check(self.state != "delta", "message_delta twice")
        if not check(self.open is None, "message_delta while a block is open"):
            self._close()
        self.state = "delta"
        delta = data.get("delta") or {}
        check("stop_sequence" in delta, "message_delta: no stop_sequence")
        answer.stop_reason, answer.stop_sequence = delta.get("stop_reason"), delta.get("stop_sequence")
        usage = data.get("usage")
        if _usage(answer, usage, ("output_tokens",), "message_delta"):
            first = (answer.usage or {}).get("output_tokens")
            check(not is_count(first) or first <= usage["output_tokens"], "message_delta: output_tokens that are not cumulative")
            answer.usage = {**(answer.usage or {}), **usage}
        _stop(answer)

    def _message_stop(self, data: dict[str, Any]) -> None:
        self.answer.check(self.state == "delta", "message_stop without message_delta")
        if not self.answer.check(self.open is None, "message_stop while a block is open"):
            self._close()
        self.answer.check(data == {"type": "message_stop"}, f"a message_stop that says {data}")
        self.state = "over"

    def _error(self, data: dict[str, Any]) -> None:
        if self.open is not None:
            self._close()
        self.answer.check(self.state != "delta", "error behind message_delta")
        _error(self.answer, data)
        self.state = "over"


def _head(answer: Answer, message: dict[str, Any]) -> None:
    answer.id, answer.model = str(message.get("id", "")), str(message.get("model", ""))
    answer.check(answer.id.startswith("msg_"), f"message: id {message.get('id')!r}")
    answer.check(message.get("type") == "message", f"message: type {message.get('type')!r}")
    answer.check(message.get("role") == "assistant", f"message: role {message.get('role')!r}")
    answer.check(isinstance(message.get("model"), str) and message["model"], f"message: model {message.get('model')!r}")
    answer.check(isinstance(message.get("content"), list), "message: no content")


def _usage(answer: Answer, usage: Any, required: tuple[str, ...], where: str) -> bool:
    if not answer.check(isinstance(usage, dict), f"{where}: no usage"):
        return False
    good = True
    for count in COUNTS:
        missing = usage.get(count) is None and count not in required
        good &= answer.check(missing or is_count(usage.get(count)), f"{where}: {count} {usage.get(count)!r}")
    return good


def _block(answer: Answer, block: dict[str, Any], arguments: str | None) -> None:
    """A complete block. `arguments`: the JSON text of a tool_use, None where it is no object."""
    kind = block.get("type")
    answer.order.append(str(kind))
    match kind:
        case "text":
            answer.check(isinstance(block.get("text"), str) and block["text"], f"a text block of {block.get('text')!r}")
            answer.text += block.get("text") or ""
            for cited in block.get("citations") or ():
                answer.check(cited.get("type") == "web_search_result_location", f"a citation of the type {cited.get('type')}")
                answer.check(isinstance(cited.get("encrypted_index"), str), "a citation without encrypted_index")
                answer.citations.append((cited["url"], cited["title"], cited["cited_text"]))
        case "thinking":
            said = [block.get(member) for member in ("thinking", "signature")]
            answer.check(all(isinstance(part, str) for part in said) and any(said), f"a thinking block of {said}")
            answer.reasoning += said[0] or ""
            answer.seals.append(said[1] or "")
        case "redacted_thinking":
            answer.check(isinstance(block.get("data"), str) and block["data"], f"a redacted_thinking block of {block.get('data')!r}")
            answer.seals.append(block.get("data") or "")
        case "tool_use":
            answer.check(arguments is not None, f"input that is no object: {block.get('input')!r}")
            answer.calls.append(Call(block.get("id", ""), block.get("name", ""), arguments or ""))
        case "server_tool_use":
            said = json.loads(arguments) if arguments else block.get("input")
            answer.check(str(block.get("id")).startswith("srvtoolu_"), f"a server tool's id: {block.get('id')}")
            answer.searches.append((said["query"], [], "no result"))
        case "web_search_tool_result":
            query, *_ = answer.searches.pop()
            content = block["content"]
            error = content["error_code"] if isinstance(content, dict) else ""
            fit = error or all({"type", "url", "title", "encrypted_content"} <= result.keys() for result in content)
            answer.check(fit, f"results of a search: {content}")
            answer.searches.append((query, [] if error else [result["url"] for result in content], error))
        case "compaction":
            answer.check(isinstance(block["content"], str) and block["content"], f"a summary of {block['content']!r}")
            answer.summaries.append(block["content"])
        case _:
            answer.faults.append(f"unknown block {kind}")


def _stop(answer: Answer) -> None:
    """Whether the stop reason fits what was said."""
    reason, sequence = answer.stop_reason, answer.stop_sequence
    answer.check(reason in STOP_REASONS, f"stop_reason {reason!r}")
    answer.check((reason == "stop_sequence") == isinstance(sequence, str), f"stop_reason {reason!r}, stop_sequence {sequence!r}")
    if reason == "tool_use":
        answer.check(answer.calls, "stop_reason tool_use without a tool_use block")
    if reason in ("end_turn", "stop_sequence"):
        answer.check(not answer.calls, f"stop_reason {reason} with a tool_use block")
    broken = [call for call in answer.calls if not is_object(call.arguments or "{}")]
    for call in broken[reason in BROKEN_OFF :]:  # of one call, wherever it stands, they may be broken off
        answer.faults.append(f"arguments that are no JSON object: {call.arguments!r}")
    answer.check_calls()


def _error(answer: Answer, data: dict[str, Any]) -> None:
    error = data.get("error")
    if answer.check(isinstance(error, dict), f"an error that says {data}"):
        answer.error = error
        answer.check(error.get("type") in ERRORS, f"error: type {error.get('type')!r}")
        answer.check(isinstance(error.get("message"), str) and error["message"], f"error: message {error.get('message')!r}")
    answer.check(set(data) <= {"type", "error", "request_id"}, f"an error that says {data}")
