"""A GenerateContentResponse → neutral events.

{"candidates": [{"content": {"parts": [{"text": "Hm", "thought": true}, {"functionCall": {"name": "read", "args": {}}}]}}]}
→ ReasoningDelta("Hm"), ToolCallStart("read"), ToolCallDelta("{}"), ToolCallEnd
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from ..codec import Reply
from ..shared.call_identity import offered_name, parse_object
from ..shared.named_arguments import named_arguments
from ..shared.numbers import MAX_CHOICES, index_of
from .rewrite import is_call, is_text, parts_of
from .usage import blocked, malformed_call, read_error, read_usage, reason_of


class CandidateDecoder:
    """Decodes one response.

    Attributes:
        regular: Becomes False at what a rule corrects.
        choices: The choices that are decoded.
        ended: Choices with a finish reason.
        unknown: Choices with a call of an unknown tool.
    """

    def __init__(self, reply: Reply) -> None:
        self.regular = True
        self.choices: set[int] = set()
        self.ended: set[int] = set()
        self.unknown: set[int] = set()
        self._tools, self._fired = reply.tools, reply.fired
        self._calls: dict[int, int] = {}  # number of calls by choice, minus one
        self._late: dict[int, str] = {}  # finish reasons that came with text or calls

    def feed(self, chunk: Mapping[str, Any]) -> Iterator[Event]:
        """Yields the events of a GenerateContentResponse."""
        candidates = chunk.get("candidates")
        for place, candidate in enumerate(candidates if isinstance(candidates, list) else ()):
            if isinstance(candidate, dict):
                yield from self._candidate(candidate, index_of(candidate.get("index"), place))
        if blocked(chunk):
            yield Finish("content_filter")
        if usage := read_usage(chunk):
            yield usage
        if error := read_error(chunk):
            yield error

    def _candidate(self, candidate: Mapping[str, Any], choice: int) -> Iterator[Event]:
        if choice not in self.choices:
            if len(self.choices) == MAX_CHOICES:
                return
            self.choices.add(choice)
        has_content = False
        for part in parts_of(candidate):
            for event in self._part(part, choice):
                has_content = True
                yield event
        if (text := malformed_call(candidate)) and any(name in text for name in self._tools.schemas):
            has_content = True
            yield TextDelta(f"\n{text}", choice)
        reason = reason_of(candidate.get("finishReason"))
        if has_content:
            self._late.pop(choice, None)
        if reason:
            self.ended.add(choice)
        stops = reason == "stop"
        if stops and choice in self._calls:
            reason = "tool_calls"
        if stops and has_content:
            self._late[choice] = reason
        elif reason:
            self._late.pop(choice, None)
            yield Finish(reason, choice)

    def late_reasons(self) -> Iterator[Finish]:
        """Returns the finish reasons that came with text or calls, once nothing follows them."""
        late, self._late = self._late, {}
        return (Finish(reason, choice) for choice, reason in late.items())

    def _part(self, part: Any, choice: int) -> Iterator[Event]:
        if is_text(part):
            kind = ReasoningDelta if part.get("thought") is True else TextDelta
            yield kind(part["text"], choice)
        elif is_call(part):
            yield from self._call(part, part["functionCall"], choice)

    def _call(self, part: Mapping[str, Any], call: Mapping[str, Any], choice: int) -> Iterator[Event]:
        """Decodes a call of the upstream."""
        name, args = offered_name(call["name"], self._tools), call.get("args")
        if name != call["name"]:
            self.mended("tool_call_name")
        if name not in self._tools:
            self.unknown.add(choice)
        if isinstance(args, str) and (value := parse_object(args)) is not None:
            args = value
            self.mended("arguments")
        elif not args and not isinstance(args, dict | None):
            self.mended("arguments")
        args = args or json_text.loads((named_arguments(call["name"], name, self._tools) or "{}").encode())
        index = self._calls[choice] = self._calls.get(choice, -1) + 1
        yield ToolCallStart(index, str(call.get("id") or ""), name, choice, extra={"part": part})
        yield ToolCallDelta(index, args if isinstance(args, str) else json_text.dumps(args), choice)
        yield ToolCallEnd(index, choice)

    def mended(self, rule: str) -> None:
        """Reports a rule; what it names is not regular."""
        self._fired(rule)
        self.regular = False
