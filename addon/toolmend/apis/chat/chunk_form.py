"""The types of members of Chat Completions, and the intended value of a member with a wrong type.

    {"id": 7, "object": "chat.completion", "created": 1760000000.4, "model": "m", "error": null,
     "choices": [{"index": 0, "delta": {"role": "", "content": 6}}, {"index": 0, "delta": {}, "finish_reason": "stop"}]}

Cloudflare sends a token that looks like a number as a number (cloudflare/ai#651), SambaNova sends fractional times
(modelbench#1287), MiniMax and GLM an empty role (MiniMax-M2.5#2, opencode#28427), and Dynamo one choice twice in a chunk
(dynamo#15054), of which many clients read only the first. A value is converted only if its meaning is certain.
"""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from ...core import json_text
from ..shared.numbers import index_of

COMMON = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
"""What every chunk of a stream has, with the defaults that are used if no chunk has it."""

_OTHERS = ("", "chat.completion", "chat.completion.chunk", "text_completion")
"""Object names that providers confuse; SDKs skip a chunk with the wrong one. Any other name is left alone."""

MOST_DIGITS = 16
"""Of a time in a string: microseconds have 16 digits."""


def fits(name: str, value: Any, made: Mapping[str, Any]) -> bool:
    """Whether a common member has the right type and, for `object`, the right name.

    Args:
        name: A key of COMMON.
        value: The member's value.
        made: The defaults for this kind of body, with the keys of COMMON.
    """
    return type(value) is type(made[name]) and (name != "object" or value == made[name] or value not in _OTHERS)


def intended_value(name: str, value: Any, made: Mapping[str, Any]) -> Any:
    """The value of a common member, converted if it does not fit. Args as for `fits`."""
    if fits(name, value, made):
        return value
    if name in ("id", "model"):
        return number_of(value) or made[name]
    if name == "created" and isinstance(value, str) and value.isdecimal() and len(value) <= MOST_DIGITS:
        return int(value)
    return int(value) if name == "created" and isinstance(value, float) and isfinite(value) else made[name]


def usage_of_types(usage: Any) -> Any:
    """Token counts with numbers for counts: the same object if nothing is wrong, None if there are no counts."""
    if not isinstance(usage, Mapping) or not usage:
        return None
    right = {name: _counts(name, value) for name, value in usage.items()}
    return right if any(right[name] is not value for name, value in usage.items()) else usage


def _counts(name: str, value: Any) -> Any:
    if name.endswith("_details"):
        return usage_of_types(value)
    return index_of(value, value) if name.endswith("_tokens") and isinstance(value, str | float) else value


def speaks_as_assistant(delta: Mapping[str, Any]) -> bool:
    """Whether a delta's role is absent or "assistant", the only legal one."""
    return delta.get("role") in (None, "assistant")


def number_of(value: Any) -> str | None:
    """The JSON text of a number or boolean that stands where a string is due; None for any other value."""
    return json_text.dumps(value) if isinstance(value, bool | int | float) else None


def is_text(content: Any) -> bool:
    """Whether content in parts contains nothing but text."""
    parts = content if isinstance(content, list) else [content]
    return bool(parts) and all(isinstance(part, str) or (isinstance(part, dict) and _is_text(part)) for part in parts)


def _is_text(part: Mapping[str, Any]) -> bool:
    names = {name for name, value in part.items() if value not in (None, [], {})}
    return names <= {"type", "text"} and part.get("type", "text") in ("text", "output_text") and isinstance(part.get("text"), str)


def repeats(choices: Iterable[Any], *, lone: bool) -> bool:
    """Whether a chunk has one choice twice. `lone`: choices without an index are choice 0."""
    places = ((0 if lone else place, choice) for place, choice in enumerate(choices) if isinstance(choice, Mapping))
    indices = [index_of(choice.get("index"), place) for place, choice in places]
    return len(set(indices)) < len(indices)


def joined(one: Mapping[str, Any], two: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Merges two entries of one choice, except for what is in events."""
    own, more = (choice.get(key) for choice in (one, two))
    delta = {**(own if isinstance(own, dict) else {}), **(_without_nulls(more) if isinstance(more, dict) else {})}
    return {**one, **_without_nulls(two), key: delta}


def _without_nulls(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
