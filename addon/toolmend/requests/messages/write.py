"""Writes a Conversation as a request of Anthropic Messages. read.py shows the format.

Expects turns in order (turn_order.py) and legal names and ids. What Messages cannot express is left out with a note.
"""

import re
from typing import Any

from ...core.fastclass import replace
from .. import compaction, options, web_search
from ..chat.options import sampling
from ..conversation import Conversation, Other, Reasoning, Tool, Turn
from ..efforts import budget_of, nearest, of_budget
from ..fields import add_note
from ..model_rules import asks_to_think
from ..names import text_hash
from ..request_limits import Quirks
from ..schemas import adapted, close_objects, is_recursive
from ..stand_ins import BEGINNING, CONTINUE
from ..turn_order import place_system_turns
from .betas import BINDING
from .content import blocks_of, short
from .read import API

MIN_BUDGET = 1024
"""Tokens: the least thinking budget that Messages accepts; `max_tokens` must be larger."""

MAX_USER = 256
"""Characters of `metadata.user_id`."""

THOUGHTS = ("thinking", "redacted_thinking")

MIN_TOP_P = 0.95
"""The least `top_p` while the model thinks."""

VERSIONS = {"bedrock": "bedrock-2023-05-31", "vertex": "vertex-2023-10-16"}
"""`anthropic_version` in the body."""

_NAMES_A_PERSON = re.compile(r"@|^\+?[\d ()-]{7,}$")

_MODES = {"auto": "auto", "required": "any", "none": "none", "tool": "tool"}


def write(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    """Returns the request. Raises RequestError for parts that must not be dropped silently."""
    leading, turns = _leading(conversation.turns, notes)
    request: dict[str, Any] = {"model": conversation.model, "max_tokens": _max_tokens(conversation, quirks, notes)}
    if system := [block for turn in leading for block in blocks_of(turn, quirks, notes)]:
        request["system"] = short(system)
    request["messages"] = _messages(turns, quirks, notes)
    request |= _tools(conversation, quirks, notes)
    _think(request, conversation, quirks, notes)
    if quirks.drop_blocks and (thinking := request.get("thinking", {"type": "adaptive"} if quirks.thinks else {})):
        request["thinking"] = thinking if thinking["type"] == "disabled" else {**thinking, "block_binding": BINDING}
    request |= _sampling(conversation, quirks, notes, thinks=_thinks(request, quirks))
    if format_ := conversation.format:  # model_rules.py has replaced every format but json_schema
        config = request.setdefault("output_config", {})
        config["format"] = {"type": "json_schema", "schema": close_objects(format_.schema)}
    if conversation.user:
        request["metadata"] = {"user_id": _user(conversation.user)}
    if conversation.cache and quirks.cache_control:
        request["cache_control"] = dict(conversation.cache)
    if conversation.stream:
        request["stream"] = True
    request |= options.tier_of_messages(conversation, quirks, notes)
    threshold = compaction.threshold_of(conversation) if quirks.compact_threshold and conversation.api != API else None
    if threshold:
        trigger = {"type": "input_tokens", "value": max(threshold, compaction.MIN_THRESHOLD)}
        request["context_management"] = {"edits": [{"type": compaction.COMPACT_EDIT, "trigger": trigger}]}
    for key in conversation.rest if conversation.api != API else ():
        if threshold and key == "context_management":
            continue
        add_note(notes, options.left_out(key, "Messages"))
    return _cloud_body(request, quirks)


def _cloud_body(request: dict[str, Any], quirks: Quirks) -> dict[str, Any]:
    """The body for Bedrock or Vertex, which have the model in the path and the version in the body."""
    if quirks.body not in VERSIONS:
        return request
    gone = ("model", "stream") if quirks.body == "bedrock" else ("model",)
    kept = {key: value for key, value in request.items() if key not in gone}
    return {"anthropic_version": VERSIONS[quirks.body], **kept}


def _leading(turns: tuple[Turn, ...], notes: list[str]) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """The leading system turns, and the rest. If all turns are the system's, the last one becomes the user's."""
    count = next((at for at, turn in enumerate(turns) if not turn.of_system), len(turns))
    if count and count == len(turns):
        add_note(notes, "The last message of the system is the user's: Messages takes none of the system alone")
        return turns[:-1], (replace(turns[-1], role="user"),)
    return turns[:count], turns[count:]


def _messages(turns: tuple[Turn, ...], quirks: Quirks, notes: list[str]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for turn in place_system_turns(turns):
        if turn.name:
            add_note(notes, "`name` of a message is left out: Messages has no such field")
        role = {"tool": "user", "developer": "system"}.get(turn.role, turn.role)
        blocks = blocks_of(turn, quirks, notes)
        while blocks and blocks[-1].get("type") in THOUGHTS and role == "assistant":
            add_note(notes, "Reasoning at the end of a turn is left out: Messages wants what follows from it")
            blocks.pop()
        if messages and messages[-1]["role"] == role and role != "system":
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    if messages and messages[0]["role"] == "assistant":
        add_note(notes, "A message of the user is put in front of the assistant's: Messages begins with the user")
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": BEGINNING}]})
    if messages and messages[-1]["role"] == "assistant" and (last := messages[-1]["content"])[-1].get("type") == "text":
        last[-1] = {**last[-1], "text": last[-1]["text"].rstrip()}
    return [{**message, "content": short(message["content"])} for message in messages]


def _tools(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    choice = conversation.tool_choice
    allowed = choice.names if choice and choice.mode in ("auto", "required") else ()
    tools: list[dict[str, Any]] = []
    for tool in conversation.tools:
        match tool:
            case Other() if web_search.is_search(tool) and quirks.search_tool:
                tools.append(web_search.for_messages(tool, quirks, notes, conversation.rest.get("max_tool_calls")))
            case Other():
                add_note(notes, web_search.left_out(tool))
            case Tool() if not allowed or tool.name in allowed:
                tools.append(_tool(tool, quirks, notes))
    if not tools:
        return {}
    members: dict[str, Any] = {"tools": tools}
    if choice:
        members["tool_choice"] = {"type": _MODES[choice.mode], **({"name": choice.names[0]} if choice.mode == "tool" else {})}
    if conversation.parallel is False and not (choice and choice.mode == "none"):
        members["tool_choice"] = {**members.get("tool_choice", {"type": "auto"}), "disable_parallel_tool_use": True}
    return members


def _tool(tool: Tool, quirks: Quirks, notes: list[str]) -> dict[str, Any]:
    schema = adapted(tool.schema, quirks, notes, f"the tool {tool.name}")
    strict = bool(tool.strict) and quirks.strict and not is_recursive(schema)
    members: dict[str, Any] = {"name": tool.name}
    if tool.description:
        members["description"] = tool.description
    members["input_schema"] = schema if schema.get("type") else {"type": "object", "properties": {}, **schema}
    if strict:
        members["input_schema"] = close_objects(members["input_schema"])
        members["strict"] = True
    elif tool.strict:  # Bedrock and Vertex refuse even false (litellm#33193)
        add_note(notes, f"`strict` of the tool {tool.name} is left out: this upstream cannot hold the model to its schema")
    if tool.cache:
        members["cache_control"] = dict(tool.cache)
    return members


def _max_tokens(conversation: Conversation, quirks: Quirks, notes: list[str]) -> int:
    requested = conversation.max_tokens
    if requested is None:
        budget = conversation.reasoning.budget if conversation.reasoning else None
        default = quirks.default_max_tokens
        wanted = max(default, (budget or 0) + default // 2)
        return min(wanted, quirks.max_tokens or wanted)
    if quirks.max_tokens and requested > quirks.max_tokens:
        add_note(notes, f"`max_tokens` is {quirks.max_tokens} instead of {requested}: this model gives no more")
        return quirks.max_tokens
    return requested


def _think(request: dict[str, Any], conversation: Conversation, quirks: Quirks, notes: list[str]) -> None:
    """Adds `thinking` and the effort, and converts between budget and effort where the model accepts only one of them."""
    reasoning, kinds = conversation.reasoning or Reasoning(), quirks.thinking_kinds
    if reasoning.enabled is False or reasoning.effort == "none":
        _think_least(request, quirks, notes)
        return
    if not asks_to_think(reasoning):
        return
    if not kinds:
        add_note(notes, "Thinking is left out: this model does not think")
        return
    no_budget = _no_budget(request, quirks)
    if "adaptive" in kinds and (no_budget or not (reasoning.budget and "enabled" in kinds)):
        if reasoning.enabled or reasoning.budget or not quirks.thinks or quirks.display:
            request["thinking"] = {"type": "adaptive"}
    elif no_budget:
        add_note(notes, f"Thinking is left out: {no_budget}")
        if quirks.thinks and "disabled" in kinds:
            request["thinking"] = {"type": "disabled"}
        return
    else:
        request["thinking"] = {"type": "enabled", "budget_tokens": _budget(request["max_tokens"], reasoning)}
        if request.get("tool_choice", {}).get("type") in ("any", "tool"):
            if reasoning.enabled:
                add_note(notes, "`tool_choice` is auto: this upstream lets no tool be forced while it thinks")
                request["tool_choice"].pop("name", None)
                request["tool_choice"]["type"] = "auto"
            else:
                add_note(notes, "Thinking is left out: this upstream lets no tool be forced while it thinks")
                del request["thinking"]
                return
    if "thinking" in request and quirks.display and (reasoning.summary or conversation.api == "chat"):
        request["thinking"]["display"] = "summarized"
    budgeted = request.get("thinking", {}).get("type") == "enabled"
    word = reasoning.effort or ("" if reasoning.budget is None or budgeted else of_budget(reasoning.budget))
    if effort := nearest(word, quirks.efforts):
        request["output_config"] = {"effort": effort}
        if effort != reasoning.effort and reasoning.effort:
            add_note(notes, f"The effort is {effort} instead of {reasoning.effort}: this upstream does not know it")
    elif word and not budgeted:
        add_note(notes, f"The effort {word} is left out: this model takes none")
    if _continues(request) and "thinking" in request:
        add_note(notes, "A message of the user is added at the end: this model continues no message of its own while it thinks")
        request["messages"].append({"role": "user", "content": CONTINUE})


def _think_least(request: dict[str, Any], quirks: Quirks, notes: list[str]) -> None:
    """Adds the least thinking that the model allows."""
    if "disabled" in quirks.thinking_kinds:
        request["thinking"] = {"type": "disabled"}
        return
    if not quirks.thinking_kinds:
        return
    if "between_tools" in quirks.thinking_kinds:
        request["thinking"] = {"type": "between_tools"}
    least = quirks.efforts[0] if quirks.efforts else ""
    if least:
        request["output_config"] = {"effort": least}
    add_note(notes, "Thinking is not disabled" + f", but {least}" * bool(least) + ": this model always thinks")


def _no_budget(request: dict[str, Any], quirks: Quirks) -> str:
    """The reason why thinking with a budget is not possible; empty if it is possible."""
    if request["max_tokens"] <= MIN_BUDGET:
        return f"Messages wants {MIN_BUDGET} tokens for it, below `max_tokens`"
    if not quirks.unsigned and _lacks_thinking(request["messages"]):
        return "the last call has no thinking in front of it that this upstream has signed"
    return ""


def _lacks_thinking(messages: list[dict[str, Any]]) -> bool:
    """Whether the last message has results, and the message with their calls does not begin with thinking."""
    if len(messages) < 2 or not _has(messages[-1], "tool_result") or not _has(messages[-2], "tool_use"):
        return False
    return messages[-2]["content"][0].get("type") not in THOUGHTS


def _has(message: dict[str, Any], kind: str) -> bool:
    return isinstance(message["content"], list) and any(block.get("type") == kind for block in message["content"])


def _budget(max_tokens: int, reasoning: Reasoning) -> int:
    if reasoning.budget:
        wanted = reasoning.budget
    elif reasoning.effort:
        wanted = min(budget_of(reasoning.effort), max_tokens * 3 // 4)
    else:
        wanted = max_tokens // 2
    return min(max(MIN_BUDGET, wanted), max_tokens - 1)


def _continues(request: dict[str, Any]) -> bool:
    return bool(request["messages"]) and request["messages"][-1]["role"] == "assistant"


def _thinks(request: dict[str, Any], quirks: Quirks) -> bool:
    """Whether the model thinks for this request."""
    kind = request.get("thinking", {}).get("type")
    return quirks.thinks if kind is None else kind != "disabled"


def _sampling(conversation: Conversation, quirks: Quirks, notes: list[str], *, thinks: bool) -> dict[str, Any]:
    given = conversation
    if thinks and quirks.sampling != "none" and quirks.thinking_kinds:
        if given.temperature not in (None, 1):
            add_note(notes, "`temperature` is left out: it cannot be set while the model thinks")
            given = replace(given, temperature=None)
        if given.top_p is not None and given.top_p < MIN_TOP_P:
            add_note(notes, f"`top_p` is left out: it cannot be below {MIN_TOP_P} while the model thinks")
            given = replace(given, top_p=None)
        if given.top_k is not None:
            add_note(notes, "`top_k` is left out: it cannot be set while the model thinks")
            given = replace(given, top_k=None)
    members = sampling(given, quirks, notes, effort="")
    stops = [stop for stop in conversation.stop if stop.strip()]
    if len(stops) < len(conversation.stop):
        add_note(notes, "A stop sequence of blanks is looked for in the answer: Messages refuses it")
    if stops:
        members["stop_sequences"] = stops
    return members


def _user(user: str) -> str:
    """The user id, hashed if it is too long or names a person, which Anthropic forbids."""
    return text_hash(user) if len(user) > MAX_USER or _NAMES_A_PERSON.search(user) else user
