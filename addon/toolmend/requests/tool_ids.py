"""Converts the ids of calls to ids that the upstream accepts.

    any        the client's id              40, 64     up to 40 or 64 characters: OpenAI's Chat Completions, Responses
    kimi       functions.NAME:IDX, IDX counts the calls of the conversation (the model was trained on these)
    mistral    nine letters and digits      messages   letters, digits, `_` and `-`

1. A legal id stays, unless an earlier call of the conversation has it.
2. A new id is a hash of the old one, or for Kimi the call's position. Results get the ids of their calls. So the ids are equal in
   each request of a conversation, without any state between requests.
"""

import re
from collections.abc import Mapping

from ..core.fastclass import replace, value
from .conversation import Conversation, Part, ToolResult, ToolUse, Turn
from .names import text_hash

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@value
class Style:
    """`legal`: matches legal ids. `new`: format of a new id, from the call's `name` and `number`, or the hash of its id."""

    legal: re.Pattern[str]
    new: str


def _style(legal: str, new: str) -> Style:
    return Style(re.compile(legal, re.ASCII | re.DOTALL), new)


STYLES: Mapping[str, Style] = {
    "any": _style(r".+", "call_{hash.hex}"),
    "40": _style(r".{1,40}", "call_{hash.hex}"),
    "64": _style(r".{1,64}", "call_{hash.hex}"),
    "kimi": _style(r"functions\.[\w.-]+:\d+", "functions.{name}:{number}"),
    "mistral": _style(r"[A-Za-z0-9]{9}", "{hash.word}"),
    "messages": _style(r"[\w-]+", "toolu_{hash.hex}"),
}


class _Hash:
    """The hash of an id, computed on access: not every style uses it."""

    def __init__(self, id_: str) -> None:
        self._id = id_

    @property
    def hex(self) -> str:
        return self._digest().hex()[:32]

    @property
    def word(self) -> str:
        return "".join(_DIGITS[byte % 62] for byte in self._digest()[:9])

    def _digest(self) -> bytes:
        return bytes.fromhex(text_hash(self._id))


def with_ids(conversation: Conversation, style: str) -> Conversation:
    """Returns the conversation with ids of the style `style`. Results stand after their calls (see turn_order.py)."""
    row = STYLES[style]
    assistant = [turn for turn in conversation.turns if turn.role == "assistant"]
    uses = [part for turn in assistant for part in turn.parts if isinstance(part, ToolUse)]
    if not uses:
        return conversation
    used: set[str] = set()
    new: dict[str, list[str]] = {}  # old id → new ids, of the calls of the last assistant turn in order

    def call_with_id(part: Part) -> Part:
        if not isinstance(part, ToolUse):
            return part
        id_ = part.id
        if not row.legal.fullmatch(id_) or id_ in used:
            id_ = _new_id(row, part, len(used), used)  # depends on earlier calls only, so later turns do not change it
        used.add(id_)
        new.setdefault(part.id, []).append(id_)
        return part if id_ == part.id else replace(part, id=id_)

    def result_with_id(part: Part) -> Part:
        ids = isinstance(part, ToolResult) and new.get(part.id)
        return replace(part, id=ids.pop(0)) if ids else part

    turns: list[Turn] = []
    for turn in conversation.turns:
        if turn.role == "assistant":
            new.clear()
        with_id = {"assistant": call_with_id, "tool": result_with_id}.get(turn.role)
        turns.append(replace(turn, parts=tuple(map(with_id, turn.parts))) if with_id else turn)
    return replace(conversation, turns=tuple(turns))


def _new_id(row: Style, use: ToolUse, number: int, taken: set[str]) -> str:
    salt = ""
    while True:
        id_ = row.new.format(name=use.name, number=number, hash=_Hash(use.id + salt))
        if id_ not in taken:
            return id_
        number += 1
        salt = f"#{number}"
