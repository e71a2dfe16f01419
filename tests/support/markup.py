"""Generated text for the markup parser, and the calls that its events hold."""

from typing import Any

from hypothesis import strategies as st

from toolmend.core.events import ToolCallDelta, ToolCallEnd, ToolCallStart
from toolmend.core.tools import UNKNOWN, Tools
from toolmend.dialects import DIALECTS
from toolmend.dialects.engine.markup_parser import MarkupParser
from toolmend.dialects.engine.opener_index import opener_index


class Told:
    """What a reader told, put together."""

    def __init__(
        self, pieces: list[str], tools: Tools = UNKNOWN, dialects: tuple[str, ...] = ("kimi_k2",), *, broken: bool = True
    ) -> None:
        self.text = "".join(pieces)
        self.rules: list[str] = []
        numbers = iter(range(10_000))
        self.reader = MarkupParser(opener_index(tuple(DIALECTS[name] for name in dialects)), tools, 0, lambda: f"call_{next(numbers)}", self.rules.append)
        self.content, self.markup, self.at = "", "", 0
        self.calls: list[list[str]] = []
        self.ended: list[int] = []
        for piece in pieces:
            self.take(self.reader.feed(piece))
        self.take(self.reader.close(cut=broken))

    def take(self, ops: list[Any]) -> None:
        for op in ops:
            match op:
                case int():
                    part = self.text[self.at : self.at + abs(op)]
                    assert len(part) == abs(op)
                    self.at += abs(op)
                    if op > 0:
                        self.content += part
                    else:
                        self.markup += part
                case ToolCallStart():
                    assert op.index == len(self.calls)
                    self.calls.append([op.id, op.name, ""])
                case ToolCallDelta():
                    assert op.index not in self.ended
                    assert op.arguments
                    self.calls[op.index][2] += op.arguments
                case ToolCallEnd():
                    self.ended.append(op.index)


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(text[at : at + size])
        at += size
    return [*pieces, text[at:]]


NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
TEXT = st.text(alphabet=st.characters(exclude_characters="<", exclude_categories=["Cs"]), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
