"""Tags around reasoning that a model writes into its content, and around its answer.

    <think>The user wants …</think>The answer is …
    The user wants …</think>The answer is …                        the chat template opened the tag in the prompt
    <|START_THINKING|>…<|END_THINKING|><|START_RESPONSE|>The answer is …<|END_RESPONSE|>

`anywhere` in a row of PAIRS marks tokens that ordinary text does not contain: they count within a line, and for unknown models.
The others count at the beginning of a line, or of the message. Tags in quoted code do not count, except an end tag on a separate
line in a fence that the reasoning left open.

Source: the chat templates of DeepSeek R1, Qwen3, Kimi-VL, Seed-OSS, Magistral, MiniMax M3, Command A, Gemma 4, Granite 3.2 and
3.3, Apertus, PLaMo 3, K2-Horizon, LongCat, ERNIE 4.5 and Hunyuan A13B.
"""

import re
from functools import cache
from typing import TYPE_CHECKING, Literal

from ...core.fastclass import value
from ...core.scanner import Reading, Scanner
from ..engine.dialect import CustomDialect

if TYPE_CHECKING:
    from ..engine.markup_parser import MarkupParser


@value
class Pair:
    """The begin and end tag of reasoning. `models`: the profiles that it applies to; empty: all."""

    begin: str
    end: str
    place: Literal["anywhere", "line", "message"] = "line"
    models: tuple[str, ...] = ()


PAIRS = (
    Pair("<think>", "</think>"),
    Pair("<thinking>", "</thinking>"),
    Pair("<think:opensource>", "</think:opensource>"),
    Pair("[THINK]", "[/THINK]"),
    Pair("<thought>", "</thought>", "message"),  # a prompt may ask for these in the answer
    Pair("<reasoning>", "</reasoning>", "message"),
    Pair("<seed:think>", "</seed:think>", "anywhere"),
    Pair("<mm:think>", "</mm:think>", "anywhere"),
    Pair("<longcat_think>", "</longcat_think>", "anywhere"),
    *(Pair(f"<ifm|{name}>", f"</ifm|{name}>", "anywhere") for name in ("think", "think_fast", "think_faster")),
    Pair("◁think▷", "◁/think▷", "anywhere"),
    Pair("<|START_THINKING|>", "<|END_THINKING|>", "anywhere"),
    *(Pair(f"<|channel>{name}", "<channel|>", "anywhere") for name in ("thought\n", "thought", "")),
    Pair("<|begin_of_thought|>", "<|end_of_thought|>", "anywhere"),
    Pair("<|inner_prefix|>", "<|inner_suffix|>", "anywhere"),
    Pair("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>", "anywhere"),
    Pair("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    Pair("Here is my thought process:", "Here is my response:", "message", ("granite",)),
    Pair("Here's my thought process:", "Here's my response:", "message", ("granite",)),
)

ANSWERS = (
    Pair("<|START_RESPONSE|>", "<|END_RESPONSE|>", "anywhere"),
    Pair("<|START_TEXT|>", "<|END_TEXT|>", "anywhere"),
    Pair("<|begin_of_solution|>", "<|end_of_solution|>", "anywhere"),
    Pair("<response>", "</response>", "message", ("granite", "ernie")),
    Pair("<answer>", "</answer>", "message", ("hunyuan",)),
)
"""Tags around the answer after reasoning. An end tag that ordinary text may contain counts only at the end of the message."""

CITATIONS = ("<co>", "</co:")
"""Tags of Command A around a citation: `<co>text</co: 0:[1,2]>`."""

_CITED = re.compile(r"[\d\s,:\[\]]*")
MAX_CITED = 256
"""Characters of the numbers in the end tag of a citation."""

type Lone = Literal["line", "word", "nowhere"]

MAX_REPEATED = 4
"""Equal tags in a row that count as one."""


@value
class ReasoningTags(CustomDialect):
    """The tags of one profile; parsed like a dialect, since calls occur inside reasoning as well.

    Attributes:
        pairs: The tags around reasoning.
        answers: The tags around the answer.
        known: Whether the model is known to write such tags; otherwise only `anywhere` tokens begin reasoning.
        lone: Where an end tag without a begin tag is dropped: on a separate line, also after a word, or nowhere.
    """

    pairs: tuple[Pair, ...] = ()
    answers: tuple[Pair, ...] = ()
    known: bool = True
    lone: Lone = "word"

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        tag = yield from parser.scanner.literal(self.openers)
        if tag is None:
            return False
        if tag in CITATIONS:
            return (yield from self._citation(parser, tag))
        for row in self.pairs:
            if tag == row.begin:
                return (yield from self._begin(parser, row))
        for row in self.answers:
            if tag in (row.begin, row.end):
                return (yield from self._answer(parser, row, tag))
        return (yield from self._end(parser, [row for row in self.pairs if tag == row.end]))

    def _begin(self, parser: "MarkupParser", row: Pair) -> Reading[bool]:
        scanner, place = parser.scanner, parser.place
        if place.in_code or parser.in_reasoning or not (row.place == "anywhere" or (self.known and _is_in_place(parser, row))):
            parser.named = True
            return False
        yield from _repeated(scanner, (row.begin,))
        # after the beginning of an answer, a tag that ordinary text may contain is a guess: see Guess
        parser.switch_reasoning(self, thinking=True, pair=row, guess=row.place != "anywhere" and not place.message_start)
        return True

    def _end(self, parser: "MarkupParser", rows: list[Pair]) -> Reading[bool]:
        scanner, place = parser.scanner, parser.place
        ends = tuple(row.end for row in rows)
        if rows[0].models and not (parser.thought and parser.thought.end in ends):
            return False
        if place.in_code and not (yield from self._ends_code(parser)):
            return False
        if not parser.thinking and not parser.may_be_inside:
            return (yield from self._lone(parser, anywhere=rows[0].place == "anywhere"))
        yield from _repeated(scanner, ends)
        if parser.tentative and not (yield from scanner.peek()):
            parser.guess = None
            parser.confirm_calls()  # no text follows the reasoning
        parser.switch_reasoning(self, thinking=False)
        if found := (yield from scanner.literal(tuple(row.begin for row in self.answers))):
            yield from scanner.blanks()
            parser.switch_answer(found)
        return True

    def _ends_code(self, parser: "MarkupParser") -> Reading[bool]:
        """Whether an end tag in code ends the reasoning, which then left a fence or a backtick open."""
        scanner, place = parser.scanner, parser.place
        quoted, parser.named = parser.named, False
        back = scanner.pos - scanner.start
        ends = parser.thinking and not quoted and (place.line_start or not place.in_fence) and (yield from _line_ends(scanner))
        scanner.pos = scanner.start + back
        return ends

    def _lone(self, parser: "MarkupParser", *, anywhere: bool) -> Reading[bool]:
        """Parses an end tag without a begin tag, after text that was emitted as content."""
        scanner, place = parser.scanner, parser.place
        if self.lone == "nowhere" or (parser.named and not anywhere):
            return False
        at_line, at_message, glued = place.line_start, place.message_start, place.glued
        after = scanner.pos - scanner.start
        fused = not (yield from scanner.peek()).isspace()  # also at the end of the text
        line_ends = yield from _line_ends(scanner)
        if self.lone == "word" or anywhere:
            stray = at_message or ((at_line or glued) and (fused or line_ends or anywhere))
        else:
            stray = at_line and line_ends
        if not stray:
            return False
        scanner.pos = scanner.start + after
        if at_line:
            yield from scanner.blanks()
        parser.drop_stray_end()
        return True

    def _answer(self, parser: "MarkupParser", row: Pair, tag: str) -> Reading[bool]:
        scanner, place = parser.scanner, parser.place
        if place.in_code:
            return False
        if tag == row.begin:
            if parser.in_reasoning or not (row.place == "anywhere" or place.message_start):
                return False
            yield from scanner.blanks()
            parser.switch_answer(tag)
            parser.fired(self.name)
            return True
        if parser.answer != row.begin:
            return False
        if row.place != "anywhere":
            yield from scanner.blanks()
            if (yield from scanner.peek()):
                return False
        parser.switch_answer("")
        return True

    def _citation(self, parser: "MarkupParser", tag: str) -> Reading[bool]:
        scanner = parser.scanner
        if parser.place.in_code or not (parser.thought or parser.answer):
            return False
        if tag != "<co>" and ((yield from scanner.run(_CITED, MAX_CITED)) is None or not (yield from scanner.literal((">",)))):
            return False
        parser.drop_markup()
        return True


def _is_in_place(parser: "MarkupParser", row: Pair) -> bool:
    return parser.place.message_start if row.place == "message" else parser.place.line_start


def _repeated(scanner: Scanner, tags: tuple[str, ...]) -> Reading[None]:
    """Skips blanks and repetitions of the tag."""
    for _ in range(MAX_REPEATED):
        yield from scanner.blanks()
        if not (yield from scanner.literal(tags)):
            return


def _line_ends(scanner: Scanner) -> Reading[bool]:
    """Whether only spaces follow on the line."""
    while (character := (yield from scanner.peek())) in (" ", "\t", "\r"):
        scanner.pos += 1
    return character in ("", "\n")


@cache
def reasoning_tags(profile: str = "", *, known: bool = True, lone: Lone = "word") -> ReasoningTags:
    """The tags for a profile, by its name; `known` and `lone`: see ReasoningTags."""
    pairs = tuple(row for row in PAIRS if not row.models or profile in row.models)
    answers = tuple(row for row in ANSWERS if not row.models or profile in row.models)
    openers = dict.fromkeys(tag for row in (*pairs, *answers) for tag in (row.begin, row.end))
    openers |= dict.fromkeys(CITATIONS if profile == "cohere" else ())
    return ReasoningTags("reasoning_tags", tuple(openers), pairs=pairs, answers=answers, known=known, lone=lone)
