"""What a client makes of an answer, in one shape whatever its API: the judges fill it in, and tests compare it across APIs.

Rule of this file: it shares no code with toolmend.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Call:
    """`id`: the one a result refers to (of Responses, `call_id`). `arguments`: as text; of a custom call, the bare input."""

    id: str
    name: str
    arguments: str = ""
    kind: str = "function"

    @property
    def value(self) -> Any:
        """The arguments as a client reads them; None if they are broken off."""
        if self.kind == "custom":
            return self.arguments
        try:
            return json.loads(self.arguments or "{}")
        except ValueError:
            return None


@dataclass
class Answer:
    """`stop_reason` in the API's own word (of Responses: completed, failed, incomplete/max_output_tokens …).

    `order`: the kinds of the blocks or items. `seals`: of each run of reasoning its signature, redacted data or encrypted
    content, "" where it has none. `searches`: query, URLs and error of each web search; `citations`: URL, title and the text
    that cites it (of Messages, `cited_text`); `summaries`: what stands for the conversation, as it is sent. `usage` and `error` as sent. `faults`: every departure from the API's grammar.
    """

    id: str = ""
    model: str = ""
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: list[Call] = field(default_factory=list)
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    seals: list[str] = field(default_factory=list)
    searches: list[tuple[str, list[str], str]] = field(default_factory=list)
    citations: list[tuple[str, str, str]] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    pings: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def asked(self) -> list[tuple[str, Any]]:
        """Name and arguments of every call."""
        return [(call.name, call.value) for call in self.calls]

    def check(self, holds: object, fault: str) -> bool:
        """Notes a fault unless it holds."""
        if not holds:
            self.faults.append(fault)
        return bool(holds)

    def check_calls(self) -> None:
        """What holds for the calls of any API."""
        twice = [id_ for id_, count in Counter(call.id for call in self.calls).items() if count > 1]
        self.check(not twice, f"ids of two calls: {twice}")
        for call in self.calls:
            self.check(call.id and isinstance(call.id, str), f"a call without id: {call}")
            self.check(call.name and isinstance(call.name, str), f"a call without name: {call}")


def events(answer: Answer, body: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and data of every event. `event:` must be the data's `type`, and the data a JSON object."""
    text = body.decode()
    answer.check(not text or re.search(r"(\r\n|\n|\r)\1$", text), "the last event has no blank line")
    for block in re.split(r"\n\n|\r\r|\r\n\r\n", text.removeprefix("\ufeff")):
        lines = [line.partition(":") for line in re.split(r"\r\n|\n|\r", block) if line and not line.startswith(":")]
        if not lines:
            continue
        names = [value.removeprefix(" ") for name, _, value in lines if name == "event"]
        data = "\n".join(value.removeprefix(" ") for name, _, value in lines if name == "data")
        try:
            value = json.loads(data)
        except ValueError:
            answer.faults.append(f"data that is no JSON: {data!r}")
            continue
        if not answer.check(isinstance(value, dict) and isinstance(value.get("type"), str), f"data without type: {data!r}"):
            continue
        answer.check(names == [value["type"]], f"event: {names}, data.type: {value['type']}")
        yield value["type"], value


def is_count(value: Any) -> bool:
    """A number of tokens."""
    return type(value) is int and value >= 0


def is_object(text: str) -> bool:
    """JSON text of an object, nothing behind it."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
