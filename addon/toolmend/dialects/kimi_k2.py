"""Kimi K2, K2-Thinking, K2.5 and later.

    <|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path": "a.md"}
    <|tool_call_end|><|tool_calls_section_end|>

The id is `functions.NAME:COUNTER`, the counter runs over the whole conversation, and the id must reach the client verbatim:
the template prints it back, and a model that is fed foreign ids goes silent after a few turns. Source:
Kimi-K2-Instruct, docs/tool_call_guidance.md and chat_template.jinja; the singular section tokens from streams in the wild.
"""

import re
from typing import TYPE_CHECKING

from .. import json_text
from ..scanner import Reading
from .json_body import follow_object
from .names import bare_name
from .tag import Tag
from .tags import TagDialect

if TYPE_CHECKING:
    from ..reader import Reader

_COUNTED = re.compile(r"(?P<name>.*[^:]):\d+")
_NAMELESS = re.compile(r"(?:functions\.)?:?(?P<counter>\d*)")


class KimiK2(TagDialect):
    """The tags, and the rules for ids."""

    def identify(self, reader: "Reader", header: str) -> tuple[str, str] | None:
        counted = _COUNTED.fullmatch(header)
        if counted:
            name = bare_name(reader, counted["name"])
            return (header if header not in reader.ids else new_id(reader, name)), name
        name = bare_name(reader, header)
        return new_id(reader, name), name

    def read_call(self, reader: "Reader", header: str) -> Reading[bool]:
        nameless = _NAMELESS.fullmatch(header)
        if nameless is None:
            return (yield from TagDialect.read_call(self, reader, header))
        # no more than a counter: the call is of the one offered tool that its arguments fit
        yield from reader.scanner.blanks()
        if (yield from reader.scanner.peek()) != "{":
            return False
        pieces: list[str] = []
        if not (yield from follow_object(reader.scanner, self.closers, pieces.append)):
            return False
        try:
            arguments = json_text.loads("".join(pieces).encode())
        except (json_text.NotJSON, UnicodeEncodeError):
            return False
        fitting = reader.tools.fitting(arguments)
        if len(fitting) != 1:
            return False
        name = fitting[0]
        id_ = f"functions.{name}:{nameless['counter']}" if nameless["counter"] else new_id(reader, name)
        reader.start(self, id_ if id_ not in reader.ids else new_id(reader, name), name)
        reader.arguments("".join(pieces))
        reader.end()
        return True


def new_id(reader: "Reader", name: str) -> str:
    """A free id of the conversation: the next, or where many have been taken out of turn, one behind them."""
    counter, step = reader.tools.calls_so_far + reader.calls, 1
    while f"functions.{name}:{counter}" in reader.ids:
        counter, step = counter + step, step * 2
    return f"functions.{name}:{counter}"


KIMI_K2 = KimiK2(
    "kimi_k2",
    call=Tag(
        ("<|tool_call_begin|>",),
        ("<|tool_call_argument_begin|>",),
        ("<|tool_call_end|>",),
        header=re.compile(r"(?P<name>[A-Za-z0-9_.:/-]{1,160})"),
        characters=re.compile(r"[A-Za-z0-9_.:/\s-]*"),
    ),
    wrapper=Tag(
        begin=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
        end=("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
    ),
)
