"""Rewrites a line of Ollama, or a whole answer, for the events that replaced its own.

What is not decoded stays: of the message only text, thoughts and calls are rewritten. A line is dropped only if all of its
content was taken, and never if it is the last one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, MessageEnd, ReasoningDelta, TextDelta
from ..shared.whole_calls import WholeCall, WholeCalls

_LINE_MEMBERS = frozenset({"model", "created_at", "message", "response", "thinking", "done", "logprobs"})
"""Members that every line has: a line with nothing else has no content."""


class OllamaRewriter:
    """Writes the lines of one response."""

    def __init__(self) -> None:
        self.calls = WholeCalls()

    def chunk(self, data: bytes, events: Iterable[Event], *, whole: bool = False) -> bytes:
        """Returns the upstream's line for these events; b"" if nothing is left of it. `whole`: keep it, as a whole answer."""
        chunk = json_text.loads(data)
        message = self._message(chunk, events)
        rest = any(value for name, value in chunk.items() if name not in _LINE_MEMBERS) or chunk.get("done") is True
        if not (whole or rest or _has_content(message)):
            return b""
        if "message" in chunk or "response" not in chunk:
            return json_text.replace_member(data.decode(), "message", json_text.dumps(message)).encode()
        text = data.decode()
        for name, own in (("response", "content"), ("thinking", "thinking")):
            if name in chunk or message.get(own):
                text = json_text.replace_member(text, name, json_text.dumps(message.get(own, "")))
        return text.encode()

    def extra_line(self, last: bytes, events: Iterable[Event]) -> bytes:
        """Returns a further line; b"" if it would have no content.

        Args:
            last: The upstream's last line, for common members.
            events: Its events; if empty, all open calls are written as text.
        """
        chunk = json_text.loads(last)
        message = self._message({}, tuple(events) or (Finish(""),))
        done = MessageEnd() in events
        if not (done or _has_content(message)):
            return b""
        line: dict[str, Any] = {name: chunk[name] for name in ("model", "created_at") if name in chunk}
        if "message" in chunk or "response" not in chunk:
            line["message"] = message
        else:
            line["response"] = message["content"]
        reason = next((event.finish_reason for event in events if isinstance(event, Finish)), "")
        line |= {"done": done} | ({"done_reason": "length" if reason == "length" else "stop"} if done else {})
        return json_text.dumps(line).encode()

    def _message(self, chunk: Mapping[str, Any], events: Iterable[Event]) -> dict[str, Any]:
        own = chunk.get("message")
        generates = not isinstance(own, dict) and "response" in chunk
        message = {"role": "assistant", **(own if isinstance(own, dict) else {})}
        texts: dict[str, list[str]] = {"content": [], "thinking": []}
        calls: list[dict[str, Any]] = []
        for event in events:
            match event:
                case TextDelta():
                    texts["content"].append(event.text)
                case ReasoningDelta():
                    texts["thinking"].append(event.text)
                case Finish():
                    texts["content"] += (broken.text for broken in self.calls.rest(event.choice))
                case _:
                    call = self.calls.feed(event)
                    if call and call.arguments is not None and not generates:
                        calls.append(_entry(call))
                    elif call:
                        texts["content"].append(call.text or f"{call.start.name} {json_text.dumps(call.arguments)}")
        message["content"] = "".join(texts["content"])
        message.pop("thinking", None)
        message.pop("tool_calls", None)
        if texts["thinking"]:
            message["thinking"] = "".join(texts["thinking"])
        if calls:
            message["tool_calls"] = calls
        return message


def _entry(call: WholeCall) -> dict[str, Any]:
    own = (call.start.extra or {}).get("entry") or {}
    named = {"id": call.start.id} if own.get("id") else {}
    return {**own, **named, "function": {**(own.get("function") or {}), "name": call.start.name, "arguments": call.arguments}}


def _has_content(message: Mapping[str, Any]) -> bool:
    return any(value for name, value in message.items() if name != "role")
