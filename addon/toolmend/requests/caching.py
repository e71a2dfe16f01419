"""Breakpoints of the prompt cache, for upstreams that cache only where they are asked to.

    tools [a, b*]   system [text*]   user … assistant … user [result*] … assistant … user [text*]       * cache_control

A client whose own API caches by itself sets none, and would pay the full price for each turn (OmniRoute#13472,
hermes-agent#56776). Anthropic takes at most four, and a prompt that is too short to be cached costs nothing more. A breakpoint
is no part of what a thinking block is bound to, so it may move from turn to turn.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.fastclass import replace
from .conversation import Conversation, Document, Image, TextPart, Tool, ToolResult, Turn
from .fields import add_note
from .request_limits import Quirks

MOST = 4
EPHEMERAL: Mapping[str, Any] = {"type": "ephemeral"}
_HOLDS = (TextPart, Image, Document, ToolResult)


def with_breakpoints(conversation: Conversation, quirks: Quirks, notes: list[str]) -> Conversation:
    """The conversation with breakpoints of ours where it has none, and with its own as the upstream takes them."""
    if not quirks.cache_control:
        return conversation
    given = list(_given(conversation))
    if given:
        return _fitted(conversation, given, quirks, notes)
    return _marked(conversation) if quirks.breakpoints and conversation.api != "messages" else conversation


def _given(conversation: Conversation) -> Iterator[Mapping[str, Any]]:
    """The client's breakpoints, in the order in which they count: tools, then what is said, then the whole."""
    turns = sorted(conversation.turns, key=lambda turn: not turn.of_system)
    parts = [part for turn in turns for whole in turn.parts for part in (*getattr(whole, "parts", ()), whole)]
    for holder in (*conversation.tools, *parts, conversation):
        if cache := getattr(holder, "cache", None):
            yield cache


def _fitted(conversation: Conversation, given: list[Mapping[str, Any]], quirks: Quirks, notes: list[str]) -> Conversation:
    """The last four of the client's, and of one lifetime where a longer one follows a shorter."""
    lives = [str(cache.get("ttl") or "5m") for cache in given]
    disordered = sorted(lives) != lives  # "1h" before "5m"
    if not quirks.breakpoints or (len(given) <= MOST and not disordered):
        return conversation
    if len(given) > MOST:
        add_note(notes, f"Of {len(given)} breakpoints of the cache the last {MOST} stay: this upstream takes no more")
    if disordered:
        add_note(notes, "The breakpoints of the cache have no `ttl`: this upstream wants longer ones first")
    left = [len(given) - MOST]  # how many go

    def kept(holder: Any) -> Any:
        if isinstance(holder, ToolResult):
            holder = replace(holder, parts=tuple(map(kept, holder.parts)))
        cache = getattr(holder, "cache", None)
        if not cache:
            return holder
        left[0] -= 1
        if left[0] >= 0:
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
    """Breakpoints at the last tool, at the system's last text, and at the end of the last two turns of the user's side."""
    turns = list(conversation.turns)
    leading = next((at for at, turn in enumerate(turns) if not turn.of_system), len(turns))
    ends = [at for at, turn in enumerate(turns) if turn.role in ("user", "tool") and _ends(turns, at)]
    for at in (leading - 1, *ends[-2:]):
        if at >= 0:
            turns[at] = _with_mark(turns[at])
    tools = list(conversation.tools)
    last = max((at for at, tool in enumerate(tools) if isinstance(tool, Tool)), default=-1)
    if last >= 0:
        tools[last] = replace(tools[last], cache=EPHEMERAL)
    return replace(conversation, turns=tuple(turns), tools=tuple(tools))


def _ends(turns: list[Turn], at: int) -> bool:
    """Whether the user's side says no more after this turn."""
    return at + 1 == len(turns) or turns[at + 1].role == "assistant"


def _with_mark(turn: Turn) -> Turn:
    parts = list(turn.parts)
    last = max((at for at, part in enumerate(parts) if isinstance(part, _HOLDS)), default=-1)
    if last >= 0:
        parts[last] = replace(parts[last], cache=EPHEMERAL)
    return replace(turn, parts=tuple(parts))
