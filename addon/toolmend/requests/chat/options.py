"""Writes the members of a Chat Completions request that are neither messages nor tools.

request_limits.py determines what the upstream accepts; the rest is left out with a note.
"""

from typing import Any

from .. import options as shared
from ..conversation import Conversation, Format, Reasoning, ThinkingPart
from ..efforts import budget_of, effort_of
from ..fields import add_note
from ..names import text_hash
from ..request_limits import Quirks
from ..schemas import cleaned, is_strict, without

MAX_USER = 64
"""Characters of `user`; a longer one is hashed. It may be a JSON text that names people."""

_CACHE = {"mode": ("auto", "implicit", "explicit"), "ttl": ("30m",)}
"""Members and values of `prompt_cache_options`; Responses has more."""

FORMAT_NAME = "answer"
"""The name of a response format that has none, as in Messages. It is constant, for the prompt cache."""


def options(conversation: Conversation, quirks: Quirks, notes: list[str], *, with_tools: bool = False) -> dict[str, Any]:
    """Returns the members.

    Args:
        conversation: The conversation.
        quirks: What the upstream accepts.
        notes: Collects what was left out or changed.
        with_tools: Whether the request offers tools.
    """
    members: dict[str, Any] = {}
    if conversation.max_tokens is not None:
        limit = conversation.max_tokens
        if quirks.max_tokens and limit > quirks.max_tokens:
            add_note(notes, f"`{quirks.max_tokens_field}` is {quirks.max_tokens} instead of {limit}: this model gives no more")
            limit = quirks.max_tokens
        members[quirks.max_tokens_field] = limit
    thinking = _reasoning(conversation.reasoning, quirks, notes) if conversation.reasoning else {}
    if quirks.keep_thinking and any(isinstance(part, ThinkingPart) for turn in conversation.turns for part in turn.parts):
        thinking = _with_kept_thinking(thinking, quirks)
    if quirks.reasoning_split:
        members["reasoning_split"] = True
    if with_tools:
        thinking = _with_tools(thinking, conversation.model, quirks, notes)
    effort = thinking.get("reasoning_effort", quirks.default_effort)
    members |= sampling(conversation, quirks, notes, effort=effort)
    stops = list(conversation.stop[: quirks.stops])
    if stops:
        members["stop"] = stops
    if len(stops) < len(conversation.stop):
        which = f"all but the first {len(stops)}" if stops else "all"
        add_note(notes, f"Of the stop sequences {which} are looked for in the answer: this upstream takes no more")
    members |= thinking
    if conversation.format:
        members["response_format"] = _format(conversation.format, quirks, notes)
    members |= user_of(conversation, quirks, notes)
    members |= _shared(conversation, quirks, notes, effort)
    if conversation.cache and quirks.cache_control:
        members["cache_control"] = dict(conversation.cache)
    if conversation.stream:
        members["stream"] = True
        if quirks.include_usage:
            members["stream_options"] = {"include_usage": True}
    return members


def _shared(conversation: Conversation, quirks: Quirks, notes: list[str], effort: str) -> dict[str, Any]:
    """The options of requests/options.py in the form of Chat Completions."""
    members = shared.written(conversation, quirks, notes, effort=effort, derived=True)
    if (top := members.get("logprobs")) is not None:
        members |= {"logprobs": True, **({"top_logprobs": top} if top else {})}
    cache = members.pop("prompt_cache_options", None)
    if isinstance(cache, dict) and (known := {name: cache[name] for name in _CACHE if cache.get(name) in _CACHE[name]}):
        members["prompt_cache_options"] = known
    return members


def user_of(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, str]:
    """The member `user`, hashed if it is long; left out if `safety_identifier` has the same value."""
    user = conversation.user
    if not user or ("safety_identifier" in quirks.options and user == conversation.options.get("safety_identifier")):
        return {}
    if not quirks.user:
        add_note(notes, "`user` is left out: this upstream has no such field")
        return {}
    return {"user": user if len(user) <= MAX_USER else text_hash(user)}


def sampling(conversation: Conversation, quirks: Quirks, notes: list[str], *, effort: str) -> dict[str, Any]:
    """Returns temperature, top_p and top_k as the model accepts them.

    Args:
        conversation: The conversation.
        quirks: What the upstream accepts.
        notes: Collects what was left out or changed.
        effort: The effort of the request, which some models allow sampling options only without.
    """
    members: dict[str, Any] = {}
    accepted = shared.are_sampled(quirks, effort)
    ranges = {"temperature": (quirks.min_temperature, quirks.max_temperature), "top_p": (quirks.min_top_p, 1)}
    for key, (least, most) in ranges.items():
        value = getattr(conversation, key)
        if value is None:
            continue
        if not accepted:
            why = "this model takes none while it thinks" if quirks.sampling == "at_none" else "this model takes none"
            add_note(notes, f"`{key}` is left out: {why}")
        elif quirks.sampling == "one" and members:
            add_note(notes, f"`{key}` is left out: this model takes either temperature or top_p")
        else:
            members[key] = min(max(value, least), most)
            if members[key] != value:
                add_note(notes, f"`{key}` is {members[key]:g} instead of {value:g}: this upstream takes {least:g} to {most:g}")
    if conversation.top_k is not None and quirks.top_k:
        members["top_k"] = conversation.top_k
    elif conversation.top_k is not None:
        add_note(notes, "`top_k` is left out: this model takes none")
    return members


def _with_kept_thinking(thinking: dict[str, Any], quirks: Quirks) -> dict[str, Any]:
    """The thinking members with `clear_thinking: false`, so that the template shows the model its reasoning of earlier turns."""
    if quirks.keep_thinking == "template":
        return {**thinking, "chat_template_kwargs": {**thinking.get("chat_template_kwargs", {}), "clear_thinking": False}}
    switch = thinking.get("thinking", {"type": "enabled"})
    return {**thinking, "thinking": {**switch, "clear_thinking": False}} if switch["type"] == "enabled" else thinking


def _with_tools(thinking: dict[str, Any], model: str, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """The thinking options that the model accepts together with tools."""
    instead = "route it to /v1/responses, where it takes both"
    match quirks.effort_with_tools:
        case "any":
            return thinking
        case "none":
            if thinking.get("reasoning_effort", "none") != "none":
                add_note(notes, f"The effort is none: {model} takes no other with tools on Chat Completions; {instead}")
            return {**thinking, "reasoning_effort": "none"}
        case "omit" if thinking.get("reasoning_effort") == "none":
            return thinking
    if thinking:
        add_note(notes, f"The effort is left out: {model} takes none with tools on Chat Completions; {instead}")
    if quirks.effort_with_tools == "never":
        add_note(notes, f"{model} refuses tools on Chat Completions: {instead}")
    return {key: value for key, value in thinking.items() if key != "reasoning_effort"}


def _reasoning(reasoning: Reasoning, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """The members that set how much to think, in the upstream's form."""
    budget = reasoning.budget  # with disabled thinking there is no effort: some upstreams refuse both
    off = reasoning.enabled is False or reasoning.effort == "none"
    if off and not quirks.can_stop_thinking:
        least = quirks.efforts[0] if quirks.efforts and quirks.thinking in ("reasoning_effort", "reasoning") else ""
        add_note(notes, "Thinking is not disabled" + f", but {least}" * bool(least) + ": this model always thinks")
        if quirks.thinking == "reasoning" and least:
            return {"reasoning": {"effort": least}}
        return {"reasoning_effort": least} if least else {}
    match quirks.thinking:
        case "reasoning_effort":
            effort = effort_of(reasoning, quirks, notes)
            return {"reasoning_effort": effort} if effort else {}
        case "reasoning" | "reasoning_switch" if off:
            return {"reasoning": {"enabled": False}}
        case "reasoning_switch":
            return {"reasoning": {"enabled": True}}
        case "reasoning":
            if budget is not None:
                return {"reasoning": {"max_tokens": budget}}
            effort = effort_of(reasoning, quirks, notes)
            return {"reasoning": {"effort": effort} if effort else {"enabled": True}}
        case "thinking" if off:
            return {"thinking": {"type": "disabled"}}
        case "thinking":
            effort = effort_of(reasoning, quirks, notes) if quirks.efforts else ""
            members: dict[str, Any] = {"thinking": {"type": "enabled"}} if reasoning.enabled or not effort else {}
            return {**members, "reasoning_effort": effort} if effort else members
        case "enable_thinking":
            if budget is None and reasoning.effort:
                budget = budget_of(reasoning.effort)
            return {"enable_thinking": not off, **({"thinking_budget": budget} if budget and not off else {})}
        case "disable_reasoning":
            return {"disable_reasoning": True} if off else {}
        case "template":
            return {"chat_template_kwargs": {"enable_thinking": not off}}
    if quirks.thinks or not off:
        add_note(notes, "How much to think is left out: this upstream cannot be told")
    return {}


def strict_of(format_: Format, schema: dict[str, Any], notes: list[str]) -> bool:
    """The value of `strict` for a response format: OpenAI refuses true for an open schema."""
    strict = is_strict(schema)
    if format_.strict and not strict:
        add_note(notes, "`strict` of the answer's format is false: its schema is open, or has keywords that are refused then")
    return strict and format_.strict is not False


def _format(format_: Format, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    if format_.kind == "json_object":
        return {"type": "json_object"}
    schema = without(cleaned(format_.schema, quirks.formats, notes), quirks.schema_lacks, notes, "the answer's format")
    inner: dict[str, Any] = {"name": format_.name or FORMAT_NAME}
    if format_.description:
        inner["description"] = format_.description
    inner["schema"] = schema
    inner["strict"] = strict_of(format_, schema, notes)
    return {"type": "json_schema", "json_schema": inner}
