"""A line of Ollama, or a whole answer → neutral events.

{"message": {"content": "Hi", "thinking": "Hm"}, "done": true, "eval_count": 9}
→ ReasoningDelta("Hm"), TextDelta("Hi"), Finish("stop"), Usage(0, 9), MessageEnd
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ...core import json_text
from ...core.events import (
    Event,
    Finish,
    MessageEnd,
    ReasoningDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ..codec import Reply
from ..shared.call_identity import INNER, entries_of, inner_of, offered_name, parse_object
from ..shared.named_arguments import named_arguments
from .usage import read_usage


class OllamaDecoder:
    """Decodes one response. `regular` becomes False at what a rule corrects."""

    def __init__(self, reply: Reply) -> None:
        self.regular = True
        self._tools, self._fired = reply.tools, reply.fired
        self._calls = 0

    def feed(self, chunk: Mapping[str, Any]) -> Iterator[Event]:
        """Yields the events of a line, or of a whole answer."""
        message = chunk.get("message")
        body = message if isinstance(message, dict) else chunk
        if isinstance(text := body.get("thinking"), str) and text:
            yield ReasoningDelta(text)
        if isinstance(text := body.get("response" if body is chunk else "content"), str) and text:
            yield TextDelta(text)
        if calls := body.get("tool_calls"):
            yield from self._entries(calls)
        if error := chunk.get("error"):
            yield StreamError("error", error if isinstance(error, str) else json_text.dumps(error))
        if chunk.get("done") is True:
            yield from self._done(chunk)

    def _entries(self, calls: Any) -> Iterator[Event]:
        """Decodes calls of the upstream, in any form."""
        listed = isinstance(calls, list) and not any(isinstance(entry, list) for entry in calls)
        for entry in entries_of(calls):
            if not isinstance(entry, dict):
                continue
            function, stands = inner_of(entry, "function")
            if not isinstance(function.get("name"), str):
                continue
            if not (stands and listed):
                self.mended("tool_calls")
            own = entry if stands else {**_other_members(entry), "function": _other_members(entry.get("function"))}
            yield from self._call(own, function)

    def _call(self, entry: Mapping[str, Any], function: Mapping[str, Any]) -> Iterator[Event]:
        """Decodes a call."""
        upstream_name, arguments = function["name"], function.get("arguments")
        name = offered_name(upstream_name, self._tools)
        if name != upstream_name:
            self.mended("tool_call_name")
        if isinstance(arguments, str):
            if (value := parse_object(arguments)) is not None:
                arguments = value
                self.mended("arguments")
        elif not arguments and not isinstance(arguments, dict):
            self.mended("arguments")  # clients iterate over them
        arguments = arguments or json_text.loads((named_arguments(upstream_name, name, self._tools) or "{}").encode())
        index, self._calls = self._calls, self._calls + 1
        id_ = entry.get("id")
        yield ToolCallStart(index, id_ if isinstance(id_, str) else "", name, extra={"entry": entry})
        yield ToolCallDelta(index, arguments if isinstance(arguments, str) else json_text.dumps(arguments))
        yield ToolCallEnd(index)

    def _done(self, chunk: Mapping[str, Any]) -> Iterator[Event]:
        reason = chunk.get("done_reason")
        reason = reason if isinstance(reason, str) and reason else "stop"
        yield Finish("tool_calls" if reason == "stop" and self._calls else reason)
        if usage := read_usage(chunk):
            yield usage
        yield MessageEnd()

    def mended(self, rule: str) -> None:
        """Reports a rule; what it names is not regular."""
        self._fired(rule)
        self.regular = False


def _other_members(call: Any) -> dict[str, Any]:
    """The other members of an entry or its function."""
    return {name: value for name, value in call.items() if name not in INNER} if isinstance(call, dict) else {}
