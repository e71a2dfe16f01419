"""The strict reader of a Chat Completions stream: what a client makes of it, and what the strictest would refuse.

It shares no code with toolmend, on purpose: its SSE is a split on blank lines, its fold is a dict.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Call:
    id: str
    name: str
    arguments: str = ""

    @property
    def value(self) -> Any:
        """The arguments as a client reads them; None if they are broken off."""
        try:
            return json.loads(self.arguments)
        except ValueError:
            return None


@dataclass
class Choice:
    content: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    finish_reasons: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


@dataclass
class Answer:
    choices: dict[int, Choice] = field(default_factory=dict)
    done: bool = False
    usage: dict[str, Any] | None = None
    other: list[str] = field(default_factory=list)  # data that is no JSON
    faults: list[str] = field(default_factory=list)

    @property
    def all_faults(self) -> list[str]:
        return self.faults + [fault for choice in self.choices.values() for fault in choice.faults]

    @property
    def only(self) -> Choice:
        assert list(self.choices) == [0]
        return self.choices[0]


def events(body: bytes) -> list[str]:
    """The data of every event."""
    found = []
    for block in re.split(r"\n\n|\r\r|\r\n\r\n", body.decode().removeprefix("\ufeff")):
        lines = [line[5:].removeprefix(" ") for line in re.split(r"\r\n|\n|\r", block) if line.startswith("data:")]
        if lines:
            found.append("\n".join(lines))
    return found


def read(body: bytes) -> Answer:
    """Folds a stream, and notes every fault."""
    answer = Answer()
    for data in events(body):
        if answer.done:
            answer.faults.append("data behind [DONE]")
        if data == "[DONE]":
            answer.done = True
            continue
        try:
            chunk = json.loads(data)
        except ValueError:
            answer.other.append(data)
            continue
        answer.usage = chunk.get("usage") or answer.usage
        for name in ("id", "object", "created", "model"):
            if chunk.get("choices") and name not in chunk:
                answer.faults.append(f"no {name}")
        for choice in chunk.get("choices") or ():
            _choice(answer, choice)
    return answer


def _choice(answer: Answer, choice: dict[str, Any]) -> None:
    if "index" not in choice:
        answer.faults.append("a choice without index")
        return
    delta = choice.get("delta")
    if choice["index"] not in answer.choices:
        first = answer.choices.setdefault(choice["index"], Choice())
        if not isinstance(delta, dict) or delta.get("role") != "assistant":
            first.faults.append("no role in the first delta")
    folded = answer.choices[choice["index"]]
    if not isinstance(delta, dict):
        folded.faults.append("no delta")
        return
    content = delta.get("content") or ""
    folded.content += content
    folded.reasoning += delta.get("reasoning_content") or delta.get("reasoning") or ""
    for entry in delta.get("tool_calls") or ():
        _entry(folded, entry)
    if choice.get("finish_reason"):
        folded.finish_reasons.append(choice["finish_reason"])


def _entry(folded: Choice, entry: dict[str, Any]) -> None:
    function = entry.get("function") or {}
    index = entry.get("index")
    if not isinstance(index, int) or index > len(folded.calls):
        folded.faults.append(f"a call at index {index}")
        return
    if index == len(folded.calls):
        if not entry.get("id") or entry.get("type") != "function" or not function.get("name"):
            folded.faults.append(f"a call begins with {entry}")
        folded.calls.append(Call(entry.get("id", ""), function.get("name", "")))
    elif entry.get("id") or function.get("name"):
        folded.faults.append("id or name said twice")
    arguments = function.get("arguments", "")
    if not isinstance(arguments, str):
        folded.faults.append("arguments that are no string")
        return
    call = folded.calls[index]
    if call.value is not None:
        folded.faults.append(f"a delta behind complete arguments: {arguments!r}")
    call.arguments += arguments
