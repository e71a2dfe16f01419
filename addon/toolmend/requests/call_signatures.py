"""Restores the provider's signature of a call (`extra_content`) to that call when the client sends the history back.

    thinking with seal {"id": "c1", "extra_content": {"google": …}}, call c1     →     call c1 with `extra_content`

A signature belongs to the call with its id in the same turn. If the upstream has no place for it, or the call is missing, the
signature is left out with a note.
"""

from collections.abc import Mapping
from typing import Any, TypeGuard

from ..apis.chat.tool_calls import PROOF
from ..core import json_text
from ..core.fastclass import replace
from .conversation import Conversation, Part, ThinkingPart, ToolUse, Turn
from .fields import add_note


def with_call_signatures(conversation: Conversation, notes: list[str], *, accepted: bool) -> Conversation:
    """Removes the seals of calls, and moves their content to the calls if the upstream accepts it."""
    if not any(map(_is_call_seal, (part for turn in conversation.turns for part in turn.parts))):
        return conversation
    return replace(conversation, turns=tuple(_unsealed(turn, notes, accepted=accepted) for turn in conversation.turns))


def _is_call_seal(part: Part) -> TypeGuard[ThinkingPart]:
    return isinstance(part, ThinkingPart) and part.seal is not None and part.seal.kind == "call"


def _unsealed(turn: Turn, notes: list[str], *, accepted: bool) -> Turn:
    signatures: dict[Any, Mapping[str, Any]] = {}
    parts: list[Part] = []
    for part in turn.parts:
        if _is_call_seal(part):
            assert part.seal
            signatures.update(_signature_by_id(part.seal.data))
            parts += [ThinkingPart(part.text)] if part.text else []
        else:
            parts.append(part)
    if len(parts) == len(turn.parts) and not signatures:
        return turn
    if accepted:
        parts = [replace(part, extra=signatures.pop(part.id, {})) if isinstance(part, ToolUse) else part for part in parts]
    if signatures:
        add_note(notes, f"`{PROOF}` of an earlier call is left out: this upstream did not make it")
    return replace(turn, parts=tuple(parts))


def _signature_by_id(data: str) -> dict[str, Mapping[str, Any]]:
    try:
        content = json_text.loads(data.encode(errors="surrogatepass"))
    except json_text.NotJSON:
        return {}
    match content:
        case {"id": str(id_), "extra_content": dict(signature)}:
            return {id_: {PROOF: signature}}
    return {}
