"""The ids of calls, as an upstream takes them.

    any        what the client has          40, 64     up to so many characters: OpenAI's Chat Completions, Responses
    kimi       functions.NAME:IDX, IDX counts the calls of the conversation (the model was trained on these)
    mistral    nine letters and digits      messages   letters, digits, `_` and `-`

Rule of this file: an id that is taken stays, but no two calls of a conversation have one. What another becomes depends on
the id alone, Kimi's on its place; the results follow their calls, so that nothing need be remembered between requests.
"""

import re
from collections.abc import Mapping
from hashlib import sha256

from ..core.fastclass import replace, value
from .conversation import Conversation, Part, ToolResult, ToolUse, Turn

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@value
class Style:
    """`legal`: what is taken. `new`: of the call's `name` and `number`, or of the `hex` or `word` of its id's hash."""

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
    """Of an id; not every style asks for it."""

    def __init__(self, id_: str) -> None:
        self._id = id_

    @property
    def hex(self) -> str:
        return self._digest().hex()[:32]

    @property
    def word(self) -> str:
        return "".join(_DIGITS[byte % 62] for byte in self._digest()[:9])

    def _digest(self) -> bytes:
        return sha256(self._id.encode(errors="surrogatepass")).digest()


def with_ids(conversation: Conversation, style: str) -> Conversation:
    """The conversation with ids that the upstream takes. Each result stands behind its call, as turn_order.py leaves them."""
    row = STYLES[style]
    said = [turn for turn in conversation.turns if turn.role == "assistant"]
    uses = [part for turn in said for part in turn.parts if isinstance(part, ToolUse)]
    if not uses:
        return conversation
    used: set[str] = set()
    new: dict[str, list[str]] = {}  # of the calls of the last assistant turn, in their order

    def called(part: Part) -> Part:
        if not isinstance(part, ToolUse):
            return part
        id_ = part.id
        if not row.legal.fullmatch(id_) or id_ in used:
            id_ = _made(row, part, len(used), used)  # of what stands before it alone: later turns change no earlier one
        used.add(id_)
        new.setdefault(part.id, []).append(id_)
        return part if id_ == part.id else replace(part, id=id_)

    def answered(part: Part) -> Part:
        given = isinstance(part, ToolResult) and new.get(part.id)
        return replace(part, id=given.pop(0)) if given else part

    turns: list[Turn] = []
    for turn in conversation.turns:
        if turn.role == "assistant":
            new.clear()
        fitting = {"assistant": called, "tool": answered}.get(turn.role)
        turns.append(replace(turn, parts=tuple(map(fitting, turn.parts))) if fitting else turn)
    return replace(conversation, turns=tuple(turns))


def _made(row: Style, use: ToolUse, number: int, taken: set[str]) -> str:
    salt = ""
    while True:
        id_ = row.new.format(name=use.name, number=number, hash=_Hash(use.id + salt))
        if id_ not in taken:
            return id_
        number += 1
        salt = f"#{number}"
