"""Handles requests for a summary of the conversation (compaction), and summaries that return in later requests.

    Responses    "input": [… , {"type": "compaction_trigger"}]        {"type": "compaction", "id", "encrypted_content": "…"}
                 POST …/responses/compact
    Messages     "compaction": {"type": "summarize"}                  {"type": "compaction", "content": "…", "signature": "…"}
                 "context_management": {"edits": [{"type": "compact_20260112", "pause_after_compaction": true, …}]}

An upstream of another API gets a prompt for the summary (`with_summary_prompt`), and transformers/summary.py turns its answer
into such an item or block. The item's `encrypted_content` is toolmend's envelope (reasoning_state.py), so every later upstream
can read the summary; `summary_text` returns its text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..core import json_text
from ..core.fastclass import replace
from ..core.json_access import as_list, objects
from ..core.reasoning_state import MARK, opened
from .conversation import Conversation, Other, Reasoning, TextPart, Tool, ToolChoice, ToolResult, ToolUse, Turn
from .estimate import of_text, tokens
from .fields import add_note
from .request_limits import Quirks

TRIGGER_TYPE = "compaction_trigger"
TRIGGER = {"type": TRIGGER_TYPE}
"""The last item of a request for a summary."""

ITEMS = ("compaction", "compaction_summary", "context_compaction")
"""Types of an item with a summary. The second is Codex's older name, the third occurs only in its histories."""

PROMPT = """\
Write a hand-over of this conversation. Everything before this message is about to be removed, and whoever goes on with the work \
will have your text in its place, beside some of the user's own messages.

Write these sections, as plain text:
1. Goal: what the user wants, with every constraint and preference that was stated.
2. Decisions: what was decided, and why.
3. Done: files read and changed, commands run, their results, errors and how they were solved.
4. State: what is true now, and what is half done.
5. Open questions.
6. Next steps, in order.

Keep names, paths, numbers, identifiers and short pieces of code exactly as they are. If an earlier summary stands above, carry \
over all of it that still matters. Call no tool, do not go on with the work, and write nothing but the hand-over."""

SUMMARY = "Summary of the conversation so far, in place of its earlier messages:\n\n{}"

SEALED = (
    "(An earlier part of this conversation was compacted by another provider, and cannot be read here. "
    "If something is missing that you need, look for it in the project, or ask the user.)"
)
"""Replaces a summary that only the provider that wrote it can read."""

COMPACT_EDIT = "compact_20260112"

MIN_THRESHOLD = 50_000
"""The least trigger that Messages accepts."""

THRESHOLD = 150_000
"""Input tokens from which Messages compacts a conversation, unless the request sets a trigger."""

MAX_KEPT = 64_000
"""Tokens of the user's messages that stay with a summary. Codex keeps as many."""

RESERVE = 0.15
"""Share of the context window that is kept free: for the summary, and for the error of the token estimate."""

SHORT = 400
"""Characters that are kept of an old tool result where the conversation exceeds the context window."""

_LEFT_OUT = "\n[… {} characters are left out]"


def is_compaction_request(request: Mapping[str, Any], client: str) -> bool:
    """Whether a request in the client's API asks for a summary, and for nothing else."""
    if client == "responses":
        items = request.get("input")
        return isinstance(items, list) and any(isinstance(item, Mapping) and item.get("type") == TRIGGER_TYPE for item in items)
    return client == "messages" and _instructions(request) is not None


def with_trigger(request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a Responses request with the compaction trigger as its last item."""
    items = request.get("input")
    text = [{"type": "message", "role": "user", "content": items}] if isinstance(items, str) and items else []
    return {**request, "input": [*(items if isinstance(items, list) else text), TRIGGER]}


def kept_messages(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The newest user messages of a Responses request, up to MAX_KEPT tokens: they stay with the summary."""
    items = request.get("input")
    messages = [
        item
        for item in as_list(items)
        if isinstance(item, Mapping) and item.get("role") == "user" and item.get("type") in (None, "message")
    ]
    left = MAX_KEPT
    for at in range(len(messages) - 1, -1, -1):
        left -= tokens({"input": [messages[at]]}, "responses")
        if left < 0:
            return _messages(messages[at + 1 :])
    return _messages(messages)


def _messages(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The input messages in the form of output items."""
    messages: list[Mapping[str, Any]] = []
    for at, item in enumerate(items):
        content = item.get("content")
        parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
        messages.append({"id": f"msg_{at}", **item, "type": "message", "status": "completed", "content": parts})
    return messages


def with_summary_prompt(conversation: Conversation, quirks: Quirks, request: Mapping[str, Any], notes: list[str]) -> Conversation:
    """Returns the conversation with a user turn at its end that asks for the summary.

    System and tools stay: the upstream's prompt cache matches on them, and Messages refuses calls in a conversation without
    tools. Options that shape the answer are removed.

    Args:
        conversation: The client's conversation.
        quirks: What the upstream accepts; its context window limits the turns.
        request: The client's request, for the instructions of Messages.
        notes: Collects what was left out.
    """
    prompt = (_instructions(request) if conversation.api == "messages" else None) or PROMPT
    reasoning = conversation.reasoning
    if quirks.thinks or (reasoning and (reasoning.enabled or reasoning.effort or reasoning.budget)):
        reasoning = Reasoning(enabled=False)
    conversation = replace(conversation, turns=_within_context(conversation, quirks, notes))
    return replace(
        conversation,
        turns=(*conversation.turns, Turn("user", (TextPart(prompt),))),
        tools=tuple(tool for tool in conversation.tools if isinstance(tool, Tool)),
        tool_choice=ToolChoice("none"),
        parallel=None,
        max_tokens=None,
        stop=(),
        reasoning=reasoning,
        format=None,
        options={name: given for name, given in conversation.options.items() if name != "verbosity"},
        rest={name: given for name, given in conversation.rest.items() if name not in ("compaction", "context_management")},
    )


def sealed_item(block: Mapping[str, Any]) -> dict[str, Any]:
    """The Responses item inside a Messages block, which only its provider can read; empty if the block has none."""
    signature = block.get("signature")
    seal = opened(signature) if isinstance(signature, str) else None
    if seal is None or seal.kind != "compacted":
        return {}
    try:
        item = json_text.loads(seal.data.encode())
    except json_text.NotJSON:
        return {}
    return item if isinstance(item, dict) and item.get("type") in ITEMS else {}


def threshold_of(conversation: Conversation) -> int | None:
    """The input tokens from which the client wants the upstream to compact the conversation in its answer."""
    managed = conversation.rest.get("context_management")
    if conversation.api == "messages":
        edits = managed.get("edits") if isinstance(managed, Mapping) else None
        for edit in edits if isinstance(edits, list) else ():
            if isinstance(edit, Mapping) and edit.get("type") == COMPACT_EDIT and not edit.get("pause_after_compaction"):
                trigger = edit.get("trigger")
                return _whole(trigger.get("value") if isinstance(trigger, Mapping) else THRESHOLD)
    for entry in managed if isinstance(managed, list) else ():
        if isinstance(entry, Mapping) and entry.get("type") == "compaction":
            return _whole(entry.get("compact_threshold"))
    return None


def _whole(given: Any) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def summary_text(item: Mapping[str, Any]) -> str:
    """The text that replaces an item or block with a summary; empty if the item has no summary."""
    if sealed_item(item):
        return ""
    sealed = item.get("encrypted_content")
    if isinstance(content := item.get("content"), str) and content:
        return SUMMARY.format(content)
    if isinstance(sealed, str) and sealed:
        seal = opened(sealed)
        return SUMMARY.format(seal.data) if seal and seal.kind == "summary" else SEALED
    return ""


def compacted(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages of a Messages request from the last summary on, with the summary as a user message.

    A compaction block without content comes from a failed compaction and is skipped.
    """
    for at in range(len(messages) - 1, -1, -1):
        content = messages[at].get("content")
        blocks = objects(content)
        last = next((place for place in range(len(blocks) - 1, -1, -1) if blocks[place].get("type") == "compaction"), None)
        if last is not None and (text := summary_text(blocks[last])):
            rest = blocks[last + 1 :]
            following = [{**messages[at], "content": rest}] if rest else []
            return [{"role": "user", "content": text}, *following, *messages[at + 1 :]]
    return list(messages)


def has_own_summary(item: Mapping[str, Any]) -> bool:
    """Whether toolmend wrote this summary, so that the provider cannot read it."""
    return any(isinstance(text := item.get(name), str) and text.startswith(MARK) for name in ("encrypted_content", "signature"))


def _instructions(request: Mapping[str, Any]) -> str | None:
    """The instructions for a summary in a Messages request, possibly empty; None if the request does not ask for a summary."""
    compaction = request.get("compaction")
    if isinstance(compaction, Mapping) and compaction.get("type") == "summarize":
        return _text(compaction)
    managed = request.get("context_management")
    edits = managed.get("edits") if isinstance(managed, Mapping) else None
    for edit in as_list(edits):
        if not (isinstance(edit, Mapping) and str(edit.get("type")).startswith("compact_")):
            continue
        if not edit.get("pause_after_compaction"):  # an answer after the summary would take a second request
            continue
        trigger = edit.get("trigger")
        threshold = trigger.get("value") if isinstance(trigger, Mapping) else THRESHOLD
        if isinstance(threshold, int) and tokens(request, "messages") >= threshold:
            return _text(edit)
    return None


def _text(compaction: Mapping[str, Any]) -> str:
    instructions = compaction.get("instructions")
    return instructions.strip() if isinstance(instructions, str) else ""


def _within_context(conversation: Conversation, quirks: Quirks, notes: list[str]) -> tuple[Turn, ...]:
    """Reduces the turns to the model's context window: shortens old tool results first, then removes the oldest turns."""
    turns = list(conversation.turns)
    if not quirks.context:
        return conversation.turns
    sizes = [_size(turn) for turn in turns]
    offered = sum(of_text(f"{tool.description}{tool.schema}") for tool in conversation.tools if isinstance(tool, Tool))
    excess = sum(sizes) + offered - quirks.context * (1 - RESERVE)
    if excess <= 0:
        return conversation.turns
    add_note(notes, "Old results of tools are shortened for the summary: the conversation is longer than the model can read")
    for at, turn in enumerate(turns):
        if excess > 0 and turn.role == "tool":
            turns[at] = replace(turn, parts=tuple(_short(part) if isinstance(part, ToolResult) else part for part in turn.parts))
            shorter = _size(turns[at])
            excess, sizes[at] = excess - (sizes[at] - shorter), shorter
    kept = [turn.of_system for turn in turns]
    first = 0
    while excess > 0 and first < len(turns) - 1:
        if not kept[first]:
            excess -= sizes[first]
        first += 1
    return tuple(turn for at, turn in enumerate(turns) if at >= first or kept[at])


def _size(turn: Turn) -> float:
    return sum(of_text(text) for part in turn.parts for text in _texts(part)) + 4


def _texts(part: object) -> Sequence[str]:
    match part:
        case ToolUse():
            return (part.name, part.arguments)
        case ToolResult():
            return [text for inner in part.parts for text in _texts(inner)]
        case Other():
            return (str(part.value),)
        case _:
            return (text,) if isinstance(text := getattr(part, "text", ""), str) else ()


def _short(result: ToolResult) -> ToolResult:
    texts = [part.text for part in result.parts if isinstance(part, TextPart)]
    text = "\n".join(texts)
    if len(text) <= 2 * SHORT:
        return result
    return replace(result, parts=(TextPart(text[:SHORT] + _LEFT_OUT.format(len(text) - SHORT)),))
