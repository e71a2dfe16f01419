"""What members of Chat Completions are by the API's types, and what is meant by those that are not.

    {"id": 7, "object": "chat.completion", "created": 1760000000.4, "model": "m", "error": null,
     "choices": [{"index": 0, "delta": {"role": "", "content": 6}}, {"index": 0, "delta": {}, "finish_reason": "stop"}]}

Cloudflare tells a token that is a number as one (cloudflare/ai#651), SambaNova the time with its fraction (modelbench#1287),
MiniMax and GLM an empty role (MiniMax-M2.5#2, opencode#28427), and Dynamo one choice twice in a chunk (dynamo#15054), of which
many clients hear the first alone.

Rule of this file: a value is told, and never thought up; what is meant is told for certain, or the value stays.
"""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from ...core import json_text
from ..shared.indices import index_of

COMMON = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
"""What every chunk of a stream has, and what it gets if none has it."""

_OTHERS = ("", "chat.completion", "chat.completion.chunk", "text_completion")
"""Objects that are called each other's names; SDKs pass over a chunk that is none. What is called otherwise is not known."""

MOST_DIGITS = 16
"""Of a time that is a text: microseconds have as many."""


def fits(name: str, value: Any, made: Mapping[str, Any]) -> bool:
    """Whether a member that all have is one. `made`: what it would be if none had it."""
    return type(value) is type(made[name]) and (name != "object" or value == made[name] or value not in _OTHERS)


def meant_by(name: str, value: Any, made: Mapping[str, Any]) -> Any:
    """The value of such a member, or what is meant by it."""
    if fits(name, value, made):
        return value
    if name in ("id", "model"):
        return number_of(value) or made[name]
    if name == "created" and isinstance(value, str) and value.isdecimal() and len(value) <= MOST_DIGITS:
        return int(value)
    return int(value) if name == "created" and isinstance(value, float) and isfinite(value) else made[name]


def usage_of_types(usage: Any) -> Any:
    """Token counts with numbers for counts; the very object where nothing is wrong, None where there are none."""
    if not isinstance(usage, Mapping) or not usage:
        return None
    right = {name: _counts(name, value) for name, value in usage.items()}
    return right if any(right[name] is not value for name, value in usage.items()) else usage


def _counts(name: str, value: Any) -> Any:
    if name.endswith("_details"):
        return usage_of_types(value)
    return index_of(value, value) if name.endswith("_tokens") and isinstance(value, str | float) else value


def speaks_as_assistant(delta: Mapping[str, Any]) -> bool:
    """Whether a delta's role is the only one that there is, or none."""
    return delta.get("role") in (None, "assistant")


def number_of(value: Any) -> str | None:
    """The text that a number or a word of JSON's is, where a text is due; None for anything else."""
    return json_text.dumps(value) if isinstance(value, bool | int | float) else None


def is_text(content: Any) -> bool:
    """Whether content in parts is nothing but text."""
    parts = content if isinstance(content, list) else [content]
    return bool(parts) and all(isinstance(part, str) or (isinstance(part, dict) and _is_text(part)) for part in parts)


def _is_text(part: Mapping[str, Any]) -> bool:
    said = {name for name, value in part.items() if value not in (None, [], {})}
    return said <= {"type", "text"} and part.get("type", "text") in ("text", "output_text") and isinstance(part.get("text"), str)


def repeats(choices: Iterable[Any], *, lone: bool) -> bool:
    """Whether a chunk tells one choice twice. `lone`: those without an index are one."""
    places = ((0 if lone else place, choice) for place, choice in enumerate(choices) if isinstance(choice, Mapping))
    told = [index_of(choice.get("index"), place) for place, choice in places]
    return len(set(told)) < len(told)


def joined(one: Mapping[str, Any], two: Mapping[str, Any], key: str) -> dict[str, Any]:
    """What a chunk tells twice of a choice as if it were told once, but for what events tell."""
    own, more = (choice.get(key) for choice in (one, two))
    delta = {**(own if isinstance(own, dict) else {}), **(_without_nulls(more) if isinstance(more, dict) else {})}
    return {**one, **_without_nulls(two), key: delta}


def _without_nulls(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
