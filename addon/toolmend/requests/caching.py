"""Sets breakpoints of the prompt cache, for upstreams that cache only where a request asks for it.

    tools [a, b*]   system [text*]   user … assistant … user [result*] … assistant … user [text*]       * cache_control

A client whose own API caches without breakpoints sets none, and would pay the full price for each turn (OmniRoute#13472,
hermes-agent#56776). Anthropic accepts at most four; a prompt too short for the cache costs the same with and without one. The
signature of a thinking block does not cover breakpoints, so they may move from turn to turn.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.fastclass import replace
from .conversation import Conversation, Document, Image, TextPart, Tool, ToolResult, Turn
from .fields import add_note
from .request_limits import Quirks

MAX_BREAKPOINTS = 4
EPHEMERAL: Mapping[str, Any] = {"type": "ephemeral"}
_MARKABLE = (TextPart, Image, Document, ToolResult)


def with_breakpoints(conversation: Conversation, quirks: Quirks, notes: list[str]) -> Conversation:
    """Returns the conversation with the client's breakpoints as the upstream accepts them, or with new ones if it has none."""
    if not quirks.cache_control:
        return conversation
    given = list(_client_breakpoints(conversation))
    if given:
        return _within_limits(conversation, given, quirks, notes)
    return _marked(conversation) if quirks.breakpoints and conversation.api != "messages" else conversation


def _client_breakpoints(conversation: Conversation) -> Iterator[Mapping[str, Any]]:
    """The client's breakpoints in prompt order: tools, system, other turns, the request as a whole."""
    turns = sorted(conversation.turns, key=lambda turn: not turn.of_system)
    parts = [part for turn in turns for whole in turn.parts for part in (*getattr(whole, "parts", ()), whole)]
    for holder in (*conversation.tools, *parts, conversation):
        if cache := getattr(holder, "cache", None):
            yield cache


def _within_limits(conversation: Conversation, given: list[Mapping[str, Any]], quirks: Quirks, notes: list[str]) -> Conversation:
    """Keeps the last four breakpoints, and removes every `ttl` where a longer one follows a shorter."""
    lives = [str(cache.get("ttl") or "5m") for cache in given]
    disordered = sorted(lives) != lives  # "1h" before "5m"
    if not quirks.breakpoints or (len(given) <= MAX_BREAKPOINTS and not disordered):
        return conversation
    if len(given) > MAX_BREAKPOINTS:
        add_note(notes, f"Of {len(given)} breakpoints of the cache the last {MAX_BREAKPOINTS} stay: this upstream takes no more")
    if disordered:
        add_note(notes, "The breakpoints of the cache have no `ttl`: this upstream wants longer ones first")
    surplus = [len(given) - MAX_BREAKPOINTS]  # breakpoints still to remove

    def kept(holder: Any) -> Any:
        if isinstance(holder, ToolResult):
            holder = replace(holder, parts=tuple(map(kept, holder.parts)))
        cache = getattr(holder, "cache", None)
        if not cache:
            return holder
        surplus[0] -= 1
        if surplus[0] >= 0:
            return replace(holder, cache=None)
        return replace(holder, cache={key: item for key, item in cache.items() if key != "ttl"}) if disordered else holder

    tools = tuple(map(kept, conversation.tools))
    turns = list(conversation.turns)
    for of_system in (True, False):
        for at, turn in enumerate(turns):
            if turn.of_system == of_system:
                turns[at] = replace(turn, parts=tuple(map(kept, turn.parts)))
    return kept(replace(conversation, tools=tools, turns=tuple(turns)))  # type: ignore[no-any-return]


def _marked(conversation: Conversation) -> Conversation:
    """Sets breakpoints at the last tool, at the end of the system prompt, and at the end of the last two user turns."""
    turns = list(conversation.turns)
    leading = next((at for at, turn in enumerate(turns) if not turn.of_system), len(turns))
    ends = [at for at, turn in enumerate(turns) if turn.role in ("user", "tool") and _precedes_assistant(turns, at)]
    for at in (leading - 1, *ends[-2:]):
        if at >= 0:
            turns[at] = _with_mark(turns[at])
    tools = list(conversation.tools)
    last = max((at for at, tool in enumerate(tools) if isinstance(tool, Tool)), default=-1)
    if last >= 0:
        tools[last] = replace(tools[last], cache=EPHEMERAL)
    return replace(conversation, turns=tuple(turns), tools=tuple(tools))


def _precedes_assistant(turns: list[Turn], at: int) -> bool:
    """Whether a turn of the assistant, or the end, follows this turn."""
    return at + 1 == len(turns) or turns[at + 1].role == "assistant"


def _with_mark(turn: Turn) -> Turn:
    parts = list(turn.parts)
    last = max((at for at, part in enumerate(parts) if isinstance(part, _MARKABLE)), default=-1)
    if last >= 0:
        parts[last] = replace(parts[last], cache=EPHEMERAL)
    return replace(turn, parts=tuple(parts))
