"""The fields of a Chat Completions request that are neither messages nor tools.

Rule of this file: each is what quirks.py says the upstream takes; what it does not take is told in the notes.
"""

from hashlib import sha256
from typing import Any

from .conversation import Conversation, Format, Reasoning
from .efforts import effort_of
from .fields import tell
from .quirks import Quirks
from .schemas import cleaned, is_strict

MAX_USER = 64
"""Characters of `user`; what is longer, which may be a JSON text that names people, is hashed."""

FORMAT_NAME = "answer"
"""Of a response format that has no name: Messages knows none. Always the same, so that a prompt's cache holds."""


def options(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """The fields."""
    said: dict[str, Any] = {}
    if conversation.max_tokens is not None:
        most = conversation.max_tokens
        if quirks.max_tokens and most > quirks.max_tokens:
            tell(notes, f"`{quirks.max_tokens_field}` is {quirks.max_tokens} instead of {most}: this model gives no more")
            most = quirks.max_tokens
        said[quirks.max_tokens_field] = most
    said |= _sampling(conversation, quirks, notes)
    stops = list(conversation.stop[: quirks.stops])
    if stops:
        said["stop"] = stops
    if len(stops) < len(conversation.stop):
        which = f"all but the first {len(stops)}" if stops else "all"
        tell(notes, f"Of the stop sequences {which} are looked for in the answer: this upstream takes no more")
    if conversation.reasoning:
        said |= _reasoning(conversation.reasoning, quirks, notes)
    if conversation.format:
        said["response_format"] = _format(conversation.format, quirks, notes)
    if conversation.user and quirks.user:
        user = conversation.user
        hashed = sha256(user.encode(errors="surrogatepass")).hexdigest()
        said["user"] = user if len(user) <= MAX_USER else hashed
    elif conversation.user:
        tell(notes, "`user` is left out: this upstream has no such field")
    if conversation.cache and quirks.cache_control:
        said["cache_control"] = dict(conversation.cache)
    if conversation.stream:
        said["stream"] = True
        if quirks.include_usage:
            said["stream_options"] = {"include_usage": True}
    return said


def _sampling(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for key in ("temperature", "top_p", "top_k"):
        value = getattr(conversation, key)
        if value is not None and getattr(quirks, key):
            said[key] = value
        elif value is not None:
            tell(notes, f"`{key}` is left out: this model takes none")
    return said


def _reasoning(reasoning: Reasoning, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """How much to think, in the upstream's way. An effort beside disabled thinking is refused by some."""
    budget = reasoning.budget
    off = reasoning.enabled is False or reasoning.effort == "none"
    if off and not quirks.can_stop_thinking:
        tell(notes, "Thinking is not disabled: this model always thinks")
        return {}
    match quirks.thinking:
        case "reasoning_effort":
            effort = effort_of(reasoning, quirks, notes)
            return {"reasoning_effort": effort} if effort else {}
        case "reasoning" if off:
            return {"reasoning": {"enabled": False}}
        case "reasoning":
            if budget is not None:
                return {"reasoning": {"max_tokens": budget}}
            effort = effort_of(reasoning, quirks, notes)
            return {"reasoning": {"effort": effort} if effort else {"enabled": True}}
        case "thinking" if off:
            return {"thinking": {"type": "disabled"}}
        case "thinking":
            effort = effort_of(reasoning, quirks, notes) if quirks.efforts else ""
            said: dict[str, Any] = {"thinking": {"type": "enabled"}} if reasoning.enabled or not effort else {}
            return {**said, "reasoning_effort": effort} if effort else said
        case "enable_thinking":
            return {"enable_thinking": not off, **({"thinking_budget": budget} if budget is not None and not off else {})}
    tell(notes, "How much to think is left out: this upstream cannot be told")
    return {}


def _format(form: Format, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    if form.kind == "json_object":
        return {"type": "json_object"}
    if not quirks.json_schema:
        tell(notes, "The schema of the answer's format is told in the prompt: this upstream only knows json_object")
        return {"type": "json_object"}
    schema = cleaned(form.schema, quirks.formats, notes)
    inner: dict[str, Any] = {"name": form.name or FORMAT_NAME}
    if form.description:
        inner["description"] = form.description
    inner["schema"] = schema
    inner["strict"] = is_strict(schema) if form.strict is None else form.strict
    return {"type": "json_schema", "json_schema": inner}
