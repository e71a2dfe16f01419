"""A conversation → a request of Anthropic Messages. See messages_read.py for what one looks like.

Rule of this file: the turns are in order (turns.py), the names and ids legal. What Messages cannot say is told in the notes.
"""

from hashlib import sha256
from typing import Any

from ..value import replace
from .conversation import Conversation, Other, Reasoning, Tool, Turn
from .efforts import nearest
from .fields import tell
from .messages_content import blocks_of, short
from .messages_read import API
from .quirks import Quirks

LEAST_BUDGET = 1024
"""Tokens: Messages refuses less to think with, and wants `max_tokens` above it."""

MAX_USER = 256
"""Characters of `metadata.user_id`."""

BEGINNING = "(The beginning is left out.)"
"""What the user says in front of an assistant that speaks first, as where a client cut the conversation: Messages refuses it
(langchain4j#940, chatbot-ui#1656). It refuses a system alone, too (langchain#30764)."""

_MODES = {"auto": "auto", "required": "any", "none": "none", "tool": "tool"}


def write(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """The request. Raises RequestError."""
    leading, turns = _leading(conversation.turns, notes)
    request: dict[str, Any] = {"model": conversation.model, "max_tokens": _max_tokens(conversation, quirks, notes)}
    if system := [block for turn in leading for block in blocks_of(turn, quirks, notes)]:
        request["system"] = short(system)
    request["messages"] = _messages(turns, quirks, notes)
    request |= _tools(conversation, notes)
    thinking = _thinking(conversation, request["max_tokens"], quirks, notes)
    request |= thinking
    thinks = thinking.get("thinking", {}).get("type") in ("enabled", "adaptive")
    request |= _sampling(conversation, quirks, notes, thinks=thinks)
    if request.get("tool_choice", {}).get("type") in ("any", "tool") and (thinks or not quirks.forced_choice):
        tell(notes, "`tool_choice` is auto: this upstream lets no tool be forced" + " while it thinks" * thinks)
        request["tool_choice"].pop("name", None)
        request["tool_choice"]["type"] = "auto"
    if form := conversation.format:
        if form.kind == "json_schema":
            config = request.setdefault("output_config", {})
            config["format"] = {"type": "json_schema", "schema": dict(form.schema)}
        else:
            tell(notes, "`response_format` json_object is left out: Messages only knows formats with a schema")
    if conversation.user:
        user = conversation.user
        request["metadata"] = {"user_id": user if len(user) <= MAX_USER else _hash(user)}
    if conversation.cache and quirks.cache_control:
        request["cache_control"] = dict(conversation.cache)
    if conversation.stream:
        request["stream"] = True
    for key in conversation.rest if conversation.api != API else ():
        tell(notes, f"`{key}` is left out: Messages has no such field")
    return request


def _leading(turns: tuple[Turn, ...], notes: list[str]) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """What the system says before anybody else, and the rest; the last of it where there is no rest."""
    count = next((at for at, turn in enumerate(turns) if not turn.of_system), len(turns))
    if count and count == len(turns):
        tell(notes, "The last message of the system is the user's: Messages takes none of the system alone")
        return turns[:-1], (replace(turns[-1], role="user"),)
    return turns[:count], turns[count:]


def _messages(turns: tuple[Turn, ...], quirks: Quirks, notes: list[str]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for turn in turns:
        if turn.name:
            tell(notes, "`name` of a message is left out: Messages has no such field")
        role = {"tool": "user", "developer": "system"}.get(turn.role, turn.role)
        blocks = blocks_of(turn, quirks, notes)
        if messages and messages[-1]["role"] == role and role != "system":
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    if messages and messages[0]["role"] == "assistant":
        tell(notes, "A message of the user is put in front of the assistant's: Messages begins with the user")
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": BEGINNING}]})
    return [{**message, "content": short(message["content"])} for message in messages]


def _tools(conversation: Conversation, notes: list[str]) -> dict[str, Any]:
    choice = conversation.tool_choice
    allowed = choice.names if choice and choice.mode in ("auto", "required") else ()
    tools: list[dict[str, Any]] = []
    for tool in conversation.tools:
        match tool:
            case Other():
                tell(notes, f"A tool of the type {tool.value.get('type')} is left out: Messages has no such tool")
            case Tool() if not allowed or tool.name in allowed:
                tools.append(_tool(tool))
    if not tools:
        return {}
    said: dict[str, Any] = {"tools": tools}
    if choice:
        said["tool_choice"] = {"type": _MODES[choice.mode], **({"name": choice.names[0]} if choice.mode == "tool" else {})}
    if conversation.parallel is False and not (choice and choice.mode == "none"):
        said["tool_choice"] = {**said.get("tool_choice", {"type": "auto"}), "disable_parallel_tool_use": True}
    return said


def _tool(tool: Tool) -> dict[str, Any]:
    schema = dict(tool.schema or {})
    said: dict[str, Any] = {"name": tool.name}
    if tool.description:
        said["description"] = tool.description
    said["input_schema"] = schema if schema.get("type") else {"type": "object", "properties": {}, **schema}
    if tool.strict is not None:
        said["strict"] = tool.strict
    if tool.cache:
        said["cache_control"] = dict(tool.cache)
    return said


def _max_tokens(conversation: Conversation, quirks: Quirks, notes: list[str]) -> int:
    most = conversation.max_tokens
    if most is None:
        budget = conversation.reasoning.budget if conversation.reasoning else None
        return max(quirks.default_max_tokens, (budget or 0) + quirks.default_max_tokens // 2)
    if quirks.max_tokens and most > quirks.max_tokens:
        tell(notes, f"`max_tokens` is {quirks.max_tokens} instead of {most}: this model gives no more")
        return quirks.max_tokens
    return most


def _thinking(conversation: Conversation, max_tokens: int, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """`thinking`, and the effort; an effort beside disabled thinking is refused by some."""
    reasoning = conversation.reasoning or Reasoning()
    if reasoning.enabled is False or reasoning.effort == "none":
        return {"thinking": {"type": "disabled"}}
    said: dict[str, Any] = {}
    budget = reasoning.budget
    if reasoning.enabled and budget is None and not quirks.efforts:  # a model that must be told how much
        budget = max_tokens // 2
    if budget is not None and max_tokens > LEAST_BUDGET:
        said["thinking"] = {"type": "enabled", "budget_tokens": min(max(LEAST_BUDGET, budget), max_tokens - 1)}
    elif reasoning.enabled and budget is None:
        said["thinking"] = {"type": "adaptive"}
    elif budget is not None:
        tell(notes, f"Thinking is left out: Messages wants {LEAST_BUDGET} tokens for it, below `max_tokens`")
    if effort := nearest(reasoning.effort, quirks.efforts):
        said["output_config"] = {"effort": effort}
        if effort != reasoning.effort:
            tell(notes, f"The effort is {effort} instead of {reasoning.effort}: this upstream does not know it")
    elif reasoning.effort:
        tell(notes, f"The effort {reasoning.effort} is left out: this model takes none")
    return said


def _sampling(conversation: Conversation, quirks: Quirks, notes: list[str], *, thinks: bool) -> dict[str, Any]:
    said: dict[str, Any] = {}
    temperature, top_p = conversation.temperature, conversation.top_p
    if temperature is not None and thinks and temperature != 1:
        tell(notes, "`temperature` is left out: it cannot be set while the model thinks")
    elif temperature is not None:
        if not 0 <= temperature <= quirks.max_temperature:
            tell(notes, f"`temperature` is clamped to 0…{quirks.max_temperature:g}")
        said["temperature"] = min(max(temperature, 0), quirks.max_temperature)
    if top_p is not None and "temperature" in said and quirks.one_sampler:
        tell(notes, "`top_p` is left out: this model takes either temperature or top_p")
    elif top_p is not None:
        said["top_p"] = top_p
    if conversation.top_k is not None and quirks.top_k and not thinks:
        said["top_k"] = conversation.top_k
    elif conversation.top_k is not None:
        tell(notes, "`top_k` is left out: this upstream takes none")
    stops = [stop for stop in conversation.stop if stop.strip()]
    if len(stops) < len(conversation.stop):
        tell(notes, "A stop sequence of blanks is looked for in the answer: Messages refuses it")
    if stops:
        said["stop_sequences"] = stops
    return said


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()
