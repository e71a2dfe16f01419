"""Kimi K3 (XTML): elements made of tokens, and channels.

    <|open|>tools<|sep|><|open|>call tool="read_file" index="1"<|sep|><|open|>argument key="path" type="string"<|sep|>a.md
    <|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>

Channels surround the calls, and their marks are never content: `<|open|>think<|sep|>…<|close|>think<|sep|>`, `response`,
`message`; the prompt opens the first one. Attributes are escaped (`&amp;` `&quot;`), values are not. `type` states whether a
value is raw text (string) or JSON. The text has no id, and `index` restarts with each message, so ids are generated. The
arguments may also be one JSON block. Two marks may be joined without the tokens between them: `toolscall` (oh-my-pi#8495).
Detokenizers that space special tokens write blanks inside the marks, and models misspell `<|sep|>`. Source: encoding_k3.py of the
checkpoint.
"""

import html
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...core.scanner import Reading
from ..engine.closers import SEPARATORS
from ..engine.json_body import read_arguments
from ..engine.tag import Tag
from ..engine.tags import TagDialect

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

_CALL = re.compile(r"""(?:[^"]|"[^"]*")*?\btool\s*=\s*"(?P<name>[^"]*)".*""", re.DOTALL)
_ARGUMENT = re.compile(
    r"""(?:(?=(?:[^"]|"[^"]*")*?\btype\s*=\s*"(?P<string>\w*)")|)(?:[^"]|"[^"]*")*?\bkey\s*=\s*"(?P<name>[^"]*)".*""", re.DOTALL
)
_ATTRIBUTES = re.compile(r"[^<>]*")


def _marks(kind: str, *words: str, ends: tuple[str, ...] = ("<|sep|>", " <|sep|>")) -> tuple[str, ...]:
    return tuple(f"<|{kind}|>{gap}{word}{end}" for word in words for gap in ("", " ") for end in ends)


_OPEN_THINK, _CLOSE_THINK = _marks("open", "think"), _marks("close", "think")
_RESPONSE = _marks("open", "response")
_CHANNELS = (*_OPEN_THINK, *_CLOSE_THINK, *_RESPONSE, *_marks("close", "response", "message"))
_BLOCK = _marks("open", 'json type="object"', "json")


class KimiK3(TagDialect):
    """A tag dialect with channels, and with arguments in tags or in one JSON block."""

    @property
    def openers(self) -> tuple[str, ...]:
        return (*super().openers, *_CHANNELS)

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        mark = yield from parser.scanner.literal(_CHANNELS)
        if mark is None:
            return (yield from TagDialect.read(self, parser))
        if parser.place.in_code and not parser.thinking and parser.channels is not self:
            return False
        if mark in _CLOSE_THINK:
            parser.switch_reasoning(self, thinking=False)
        parser.decide_content()
        parser.switch_channel(self, "reasoning" if mark in _OPEN_THINK else "content" if mark in _RESPONSE else "")
        return True

    def identify(self, parser: "MarkupParser", header: str) -> tuple[str, str] | None:
        return TagDialect.identify(self, parser, html.unescape(header))

    def read_body(self, parser: "MarkupParser", name: str, commit: Callable[[], None]) -> Reading[bool]:
        scanner = parser.scanner
        yield from scanner.blanks()
        if (yield from scanner.literal(_BLOCK)):
            return (yield from read_arguments(parser, commit, self.closers + self.openers))
        return (yield from TagDialect.read_body(self, parser, name, commit))


KIMI_K3 = KimiK3(
    "kimi_k3",
    wrapper=Tag(
        (*_marks("open", "tools", ends=(*SEPARATORS, " <|sep|>")), *(f"<|sep|>{mark}" for mark in _marks("open", "tools"))),
        end=_marks("close", "tools", "toolsmessage", ends=(*SEPARATORS, " <|sep|>")),
    ),
    call=Tag(
        ("<|open|>call", "<|open|> call", "<|open|>toolscall", "<|sep|><|open|>toolscall", "<|close|>callcall"),
        SEPARATORS,
        (*_marks("close", "call"), *_marks("close", "json")),
        _CALL,
        _ATTRIBUTES,
    ),
    arguments="parameters",
    parameter=Tag(
        ("<|open|>argument", "<|open|> argument", "<|close|>argumentargument"),
        SEPARATORS,
        _marks("close", "argument"),
        _ARGUMENT,
        _ATTRIBUTES,
        escaped=True,
    ),
)
