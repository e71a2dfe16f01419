"""The fields of a Chat Completions request that are neither messages nor tools.

Each is what request_limits.py says the upstream takes; what it does not take stands in the notes.
"""

from hashlib import sha256
from typing import Any

from .. import options as shared
from ..conversation import Conversation, Format, Reasoning, ThinkingPart
from ..efforts import budget_of, effort_of
from ..fields import add_note
from ..request_limits import Quirks
from ..schemas import cleaned, is_strict, without

MAX_USER = 64
"""Characters of `user`; what is longer, which may be a JSON text that names people, is hashed."""

FORMAT_NAME = "answer"
"""Of a response format that has no name: Messages knows none. Always the same, so that a prompt's cache holds."""


def options(conversation: Conversation, quirks: Quirks, notes: list[str], *, with_tools: bool = False) -> dict[str, Any]:
    """The fields. `with_tools`: the request offers some."""
    said: dict[str, Any] = {}
    if conversation.max_tokens is not None:
        most = conversation.max_tokens
        if quirks.max_tokens and most > quirks.max_tokens:
            add_note(notes, f"`{quirks.max_tokens_field}` is {quirks.max_tokens} instead of {most}: this model gives no more")
            most = quirks.max_tokens
        said[quirks.max_tokens_field] = most
    thinking = _reasoning(conversation.reasoning, quirks, notes) if conversation.reasoning else {}
    if quirks.keep_thinking and any(isinstance(part, ThinkingPart) for turn in conversation.turns for part in turn.parts):
        thinking = _kept(thinking, quirks)
    if quirks.reasoning_split:
        said["reasoning_split"] = True
    if with_tools:
        thinking = _beside_tools(thinking, conversation.model, quirks, notes)
    effort = thinking.get("reasoning_effort", quirks.default_effort)
    said |= sampling(conversation, quirks, notes, effort=effort)
    stops = list(conversation.stop[: quirks.stops])
    if stops:
        said["stop"] = stops
    if len(stops) < len(conversation.stop):
        which = f"all but the first {len(stops)}" if stops else "all"
        add_note(notes, f"Of the stop sequences {which} are looked for in the answer: this upstream takes no more")
    said |= thinking
    if conversation.format:
        said["response_format"] = _format(conversation.format, quirks, notes)
    said |= user_of(conversation, quirks, notes)
    said |= shared.written(conversation, quirks, notes, derived=True)
    if conversation.cache and quirks.cache_control:
        said["cache_control"] = dict(conversation.cache)
    if conversation.stream:
        said["stream"] = True
        if quirks.include_usage:
            said["stream_options"] = {"include_usage": True}
    return said


def user_of(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, str]:
    """The field `user`, hashed where it is long; a safety identifier that has a field of its own is not repeated in it."""
    user = conversation.user
    if not user or ("safety_identifier" in quirks.options and user == conversation.options.get("safety_identifier")):
        return {}
    if not quirks.user:
        add_note(notes, "`user` is left out: this upstream has no such field")
        return {}
    return {"user": user if len(user) <= MAX_USER else sha256(user.encode(errors="surrogatepass")).hexdigest()}


def sampling(conversation: Conversation, quirks: Quirks, notes: list[str], *, effort: str) -> dict[str, Any]:
    """Temperature, top_p and top_k as the model takes them when it thinks with this effort."""
    said: dict[str, Any] = {}
    taken = quirks.sampling in ("all", "one") or (quirks.sampling == "at_none" and effort == "none")
    ranges = {"temperature": (quirks.min_temperature, quirks.max_temperature), "top_p": (quirks.min_top_p, 1)}
    for key, (least, most) in ranges.items():
        value = getattr(conversation, key)
        if value is None:
            continue
        if not taken:
            why = "this model takes none while it thinks" if quirks.sampling == "at_none" else "this model takes none"
            add_note(notes, f"`{key}` is left out: {why}")
        elif quirks.sampling == "one" and said:
            add_note(notes, f"`{key}` is left out: this model takes either temperature or top_p")
        else:
            said[key] = min(max(value, least), most)
            if said[key] != value:
                add_note(notes, f"`{key}` is {said[key]:g} instead of {value:g}: this upstream takes {least:g} to {most:g}")
    if conversation.top_k is not None and quirks.top_k:
        said["top_k"] = conversation.top_k
    elif conversation.top_k is not None:
        add_note(notes, "`top_k` is left out: this model takes none")
    return said


def _kept(thinking: dict[str, Any], quirks: Quirks) -> dict[str, Any]:
    """The fields of thinking with the wish that the template shows the model its reasoning of earlier turns."""
    if quirks.keep_thinking == "template":
        return {**thinking, "chat_template_kwargs": {**thinking.get("chat_template_kwargs", {}), "clear_thinking": False}}
    switch = thinking.get("thinking", {"type": "enabled"})
    return {**thinking, "thinking": {**switch, "clear_thinking": False}} if switch["type"] == "enabled" else thinking


def _beside_tools(thinking: dict[str, Any], model: str, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """What may be asked of thinking where tools are offered."""
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
    """How much to think, in the upstream's way. An effort beside disabled thinking is refused by some."""
    budget = reasoning.budget
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
            said: dict[str, Any] = {"thinking": {"type": "enabled"}} if reasoning.enabled or not effort else {}
            return {**said, "reasoning_effort": effort} if effort else said
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


def strict_of(form: Format, schema: dict[str, Any], notes: list[str]) -> bool:
    """Whether the upstream is to hold the model to the schema of a format: OpenAI refuses it for a schema that is open."""
    strict = is_strict(schema)
    if form.strict and not strict:
        add_note(notes, "`strict` of the answer's format is false: its schema is open, or has keywords that are refused then")
    return strict and form.strict is not False


def _format(form: Format, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    if form.kind == "json_object":
        return {"type": "json_object"}
    schema = without(cleaned(form.schema, quirks.formats, notes), quirks.schema_lacks, notes, "the answer's format")
    inner: dict[str, Any] = {"name": form.name or FORMAT_NAME}
    if form.description:
        inner["description"] = form.description
    inner["schema"] = schema
    inner["strict"] = strict_of(form, schema, notes)
    return {"type": "json_schema", "json_schema": inner}
