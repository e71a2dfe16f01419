"""Drops chat template tokens that begin or end a turn, where a server leaves them in the text.

    It is 2.<|im_end|>                                     the end of the answer
    <tool_call>…</tool_call></s>                           the end of calls
    It is 2.<|message_sep|>\\n\\nassistant<|role_sep|>\\n      a token and a role
    Here: <｜tool▁output▁begin｜>22 °C<｜tool▁output▁end｜>       the output of a tool

They are parsed like a dialect, for the models that have these tokens (ROWS), and dropped

1. directly after a call, and at the beginning of the message;
2. at the end of the message, after a word or on a separate line;
3. after a word, if the line ends or another token follows: the model did not stop there.

In code they are text. After a token that begins a turn but is not dropped, all later ones are text: such a text explains the
template.

Source: the chat templates of the models; the parsers of Ollama (DeepSeek V3.1) and vLLM (GigaChat 3).
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from ...core.fastclass import value
from ...core.scanner import Reading, Scanner
from ..engine.dialect import CustomDialect

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser

NAME = "role_tokens"

MAX_ROLE = 64
"""Characters of a role: `function result` and a blank are 16."""

MAX_TOKENS = 8
"""Tokens in a row that are skipped to find the text after them."""

_ROLE = re.compile(r"[\w ]*")
_LINE = re.compile(r"[ \t]*")
_NEWLINES = ("\r\n", "\n")
_OPENING = frozenset("([{=:,/")
"""Characters before a token that the text mentions."""


@value
class TurnTokens:
    """The tokens of some models.

    Attributes:
        ends: Tokens that end a turn.
        begins: Tokens that begin a turn.
        role_ends: Tokens after the role.
        outputs: Begin and end tokens around the output of a tool.
        wrappers: Tokens around calls, which may be empty.
        named: Tokens that occur only in texts about the template, after which no token is dropped.
    """

    ends: tuple[str, ...]
    begins: tuple[str, ...] = ()
    role_ends: tuple[str, ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    wrappers: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


_CHATML_ROW = TurnTokens(("<|im_end|>", "<|endoftext|>"), ("<|im_start|>",))

ROWS: Mapping[str, TurnTokens] = {
    **dict.fromkeys(("qwen", "qwen2.5-coder", "hermes", "mimo", "internlm", "olmo", "lfm2", "minicpm"), _CHATML_ROW),
    "nemotron": TurnTokens(
        ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "</s>"), ("<|im_start|>", "<|start_header_id|>"), ("<|end_header_id|>",)
    ),
    "kimi": TurnTokens(
        ("<|im_end|>", "[EOS]"),
        ("<|im_assistant|>", "<|im_user|>", "<|im_system|>"),
        ("<|im_middle|>",),
        wrappers=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    ),
    "k2-horizon": _CHATML_ROW,
    "deepseek": TurnTokens(
        ("<｜end▁of▁sentence｜>", "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
        ("<｜begin▁of▁sentence｜>", "<｜Assistant｜>", "<｜User｜>"),
        outputs=(("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),),
    ),
    "glm": TurnTokens(("<|endoftext|>", "<|user|>", "<|observation|>"), ("<|assistant|>",)),
    "minimax": TurnTokens(("[e~[",), ("]~b]ai", "]~b]user", "]~b]tool")),
    "mistral": TurnTokens(("</s>",), named=("<s>",)),
    "llama": TurnTokens(
        ("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"), ("<|start_header_id|>", "<|begin_of_text|>"), ("<|end_header_id|>",)
    ),
    "gemma": TurnTokens(("<end_of_turn>", "<turn|>", "<eos>"), ("<start_of_turn>", "<|turn>")),
    "phi": TurnTokens(("<|end|>", "<|endoftext|>", "<|im_end|>"), ("<|assistant|>", "<|im_start|>"), ("<|im_sep|>",)),
    "granite": TurnTokens(("<|end_of_text|>",), ("<|start_of_role|>",), ("<|end_of_role|>",)),
    "cohere": TurnTokens(("<|END_OF_TURN_TOKEN|>",), ("<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",)),
    "seed": TurnTokens(("<seed:eos>",), ("<seed:bos>",)),
    "step": TurnTokens(("<|im_end|>", "<|EOT|>"), ("<|im_start|>", "<|BOT|>")),
    "jamba": TurnTokens(("<|im_end|>", "<|eom|>", "<|endoftext|>"), ("<|im_start|>", "<|bom|>")),
    "hunyuan": TurnTokens(("<|eos|>", "<|hy_eos|>", "<｜hy_end▁of▁sentence｜>"), ("<|extra_0|>",)),
    "ernie": TurnTokens(("<|im_end|>", "<|end_of_sentence|>"), ("<|im_start|>",)),
    "gigachat": TurnTokens((), ("<|message_sep|>", "<|role_sep|>"), ("<|role_sep|>",)),
    "longcat": TurnTokens(("</longcat_s>",), ("<longcat_s>",)),
    "apertus": TurnTokens(("<|assistant_end|>",), ("<|assistant_start|>",)),
    "plamo": TurnTokens(("<|plamo:eot:plamo|>",)),
    "dots": TurnTokens(("<|endofresponse|>",), ("<|response|>",)),
}
"""Name of the profile → its tokens."""

_ROLES = frozenset(
    {"", "assistant", "user", "system", "tool", "model", "ipython", "developer", "observation", "user message", "function result"}
)
"""Roles after a token that begins a turn. `function call` begins a call of GigaChat and belongs to its dialect."""


@value
class RoleTokens(CustomDialect):
    """The tokens of one profile."""

    row: TurnTokens = TurnTokens(())

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        scanner, place, row = parser.scanner, parser.place, self.row
        if place.in_code:
            return False
        after_call = parser.after_call
        token = (yield from scanner.literal(self.openers)) or ""
        if output := dict(row.outputs).get(token):
            if not (after_call or (yield from _is_glued(scanner))):
                return False
            self._take(parser)
            parser.open_wrapper(self, (output,))
            return True
        if token in row.named:
            parser.named = True
            return False
        if token in row.wrappers:
            yield from scanner.literal(row.wrappers)
            follows = yield from scanner.peek()
            empty = (follows not in "<[{`" and (yield from _is_glued(scanner))) if follows else place.glued
            if parser.named or not (after_call or empty):
                parser.named = True
                return False
            self._take(parser)
            return True
        end = scanner.pos - scanner.start
        if not after_call and (parser.named or not (yield from self._counts(parser, token))):
            parser.named = parser.named or token in row.begins
            return False
        scanner.pos = scanner.start + end
        yield from self._rest(scanner, token)
        self._take(parser)
        return True

    def _counts(self, parser: "MarkupParser", token: str) -> Reading[bool]:
        """Whether the token before the scanner's position, not after a call, begins or ends a turn."""
        scanner, place = parser.scanner, parser.place
        if place.message_start and token in self.row.begins:
            return (yield from _is_glued(scanner)) or (yield from self._role(scanner))
        follows = yield from self._follows(scanner)
        if follows == "over" or place.message_start:
            return follows != "text" and (place.glued or place.line_start)
        if place.line_start:
            return follows == "token" and token not in self.row.begins
        return follows != "text" and place.glued and not (follows == "line" and place.last in _OPENING)

    def _rest(self, scanner: Scanner, token: str) -> Reading[None]:
        """Skips the role of the token before the scanner's position, and further tokens."""
        for _ in range(MAX_TOKENS):
            if token in self.row.begins:
                yield from self._role(scanner)
            back = scanner.pos - scanner.start
            yield from scanner.blanks()
            token = (yield from scanner.literal((*self.row.ends, *self.row.begins))) or ""
            if not token:
                scanner.pos = scanner.start + back
                return

    def _take(self, parser: "MarkupParser") -> None:
        parser.fired(self.name)
        parser.drop_markup()
        parser.place.markup()

    def _follows(self, scanner: Scanner) -> Reading[str]:
        """What follows a token: "over" (the end of the text), "line" (a line end, then text), "token" or "text"."""
        for _ in range(MAX_TOKENS):
            yield from scanner.run(_LINE, MAX_ROLE)
            newline = yield from scanner.literal(_NEWLINES)
            yield from scanner.blanks()
            if not (yield from scanner.peek()):
                return "over"
            token = yield from scanner.literal(self.openers)
            if not token:
                return "line" if newline else "text"
            if token in dict(self.row.outputs) or (token in self.row.begins and (yield from self._role(scanner))):
                return "token"
        return "token"

    def _role(self, scanner: Scanner) -> Reading[bool]:
        """Skips the role after a token that begins a turn, with its end. Returns whether there was one."""
        if self.row.role_ends:
            yield from scanner.blanks()
        begin = scanner.pos - scanner.start
        role = yield from scanner.run(_ROLE, MAX_ROLE)
        ended = yield from scanner.literal((*self.row.role_ends, *_NEWLINES))
        if role is not None and role.strip() in _ROLES and (ended or not (yield from scanner.peek())):
            if ended not in _NEWLINES:
                yield from scanner.run(_LINE, MAX_ROLE)
                yield from scanner.literal(_NEWLINES)
            return True
        scanner.pos = scanner.start + begin
        return False


def _is_glued(scanner: Scanner) -> Reading[bool]:
    """Whether text follows directly."""
    follows = yield from scanner.peek()
    return bool(follows) and not follows.isspace() and follows not in ".,;:)`\"'"


@cache
def role_tokens(profile: str) -> RoleTokens | None:
    """The tokens for a profile, by its name; None if it has none."""
    row = ROWS.get(profile)
    if row is None:
        return None
    return RoleTokens(NAME, (*row.ends, *row.begins, *row.wrappers, *row.named, *(begin for begin, _ in row.outputs)), row=row)
