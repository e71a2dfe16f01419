"""Maps the names of tools to names that the upstream accepts, and back.

    mcp.files/read → mcp_files_read        2fa_check → t_2fa_check        80 characters → the first 55, `_`, 8 of a hash

A legal name stays. The new name depends only on the old one, unless two names collide: adding a tool must not change the names
in earlier turns, which would miss the prompt cache.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from typing import Any

from ..core.fastclass import replace
from .conversation import Conversation, Part, Tool, ToolUse, Turn

MAX_NAME = 64
"""Characters: the limit of OpenAI and of compatible APIs."""

_HASH = 8
_REFUSED = re.compile(r"[^A-Za-z0-9_-]")


def legal_names(names: Iterable[str], pattern: str) -> dict[str, str]:
    """Returns the upstream's name for each name. `pattern`: a regex for legal names."""
    legal = _legal(pattern)
    given = list(dict.fromkeys(names))
    found = {name: name for name in given if legal.fullmatch(name)}
    taken = set(found)
    for name in given:
        if name in found:
            continue
        short = _REFUSED.sub("_", name) or "tool"
        if not legal.fullmatch(short[:1]):
            short = f"t_{short}"
        if len(short) > MAX_NAME:
            short = _hashed(short, name)
        salt = name
        while short in taken:
            salt += "#"
            short = _hashed(short, salt)
        found[name] = short
        taken.add(short)
    return found


@cache
def _legal(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def text_hash(text: str) -> str:
    """The SHA-256 of a text in hex."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def _hashed(short: str, salt: str) -> str:
    return f"{short[: MAX_NAME - _HASH - 1]}_{text_hash(salt)[:_HASH]}"


def with_legal_names(conversation: Conversation, pattern: str) -> tuple[Conversation, Mapping[str, str]]:
    """Returns the conversation with legal tool names, and a map from each changed name to the client's name."""
    choice = conversation.tool_choice
    uses = (part.name for turn in conversation.turns for part in turn.parts if isinstance(part, ToolUse))
    offered = (tool.name for tool in conversation.tools if isinstance(tool, Tool))
    new = legal_names((*offered, *uses, *(choice.names if choice else ())), pattern)
    changed = {upstream: client for client, upstream in new.items() if upstream != client}
    if not changed:
        return conversation, changed

    def part_of(part: Part) -> Part:
        return replace(part, name=new[part.name]) if isinstance(part, ToolUse) else part

    def tool_of(tool: Any) -> Any:
        return replace(tool, name=new[tool.name]) if isinstance(tool, Tool) else tool

    def turn_of(turn: Turn) -> Turn:
        return replace(turn, parts=tuple(map(part_of, turn.parts))) if turn.role == "assistant" else turn

    return replace(
        conversation,
        turns=tuple(map(turn_of, conversation.turns)),
        tools=tuple(map(tool_of, conversation.tools)),
        tool_choice=replace(choice, names=tuple(new[name] for name in choice.names)) if choice else None,
    ), changed
