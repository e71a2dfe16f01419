"""What an upstream had beside its calls goes back to it with them.

    thinking, its seal {"id": "c1", "extra_content": {"google": …}} · call c1     →     call c1 with that beside it

Rule of this file: a seal of a call is for the call of that id in the same turn, and is no reasoning. Where the upstream has no
place for it, or the call is gone, it is left out; that is told.
"""

from collections.abc import Mapping
from typing import Any, TypeGuard

from ..apis.chat.tool_calls import PROOF
from ..core import json_text
from ..core.fastclass import replace
from .conversation import Conversation, Part, ThinkingPart, ToolUse, Turn
from .fields import add_note


def proven(conversation: Conversation, notes: list[str], *, taken: bool) -> Conversation:
    """The conversation without seals of calls; with what they hold at the calls, if it is `taken`."""
    if not any(map(_is_proof, (part for turn in conversation.turns for part in turn.parts))):
        return conversation
    return replace(conversation, turns=tuple(_proven(turn, notes, taken=taken) for turn in conversation.turns))


def _is_proof(part: Part) -> TypeGuard[ThinkingPart]:
    return isinstance(part, ThinkingPart) and part.seal is not None and part.seal.kind == "call"


def _proven(turn: Turn, notes: list[str], *, taken: bool) -> Turn:
    proofs: dict[Any, Mapping[str, Any]] = {}
    parts: list[Part] = []
    for part in turn.parts:
        if _is_proof(part):
            assert part.seal
            proofs.update(_opened(part.seal.data))
            parts += [ThinkingPart(part.text)] if part.text else []
        else:
            parts.append(part)
    if len(parts) == len(turn.parts) and not proofs:
        return turn
    if taken:
        parts = [replace(part, extra=proofs.pop(part.id, {})) if isinstance(part, ToolUse) else part for part in parts]
    if proofs:
        add_note(notes, f"`{PROOF}` of an earlier call is left out: this upstream did not make it")
    return replace(turn, parts=tuple(parts))


def _opened(data: str) -> dict[str, Mapping[str, Any]]:
    try:
        held = json_text.loads(data.encode(errors="surrogatepass"))
    except json_text.NotJSON:
        return {}
    match held:
        case {"id": str(id_), "extra_content": dict(proof)}:
            return {id_: {PROOF: proof}}
    return {}
