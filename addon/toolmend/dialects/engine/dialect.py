"""What a dialect is to the reader: where a call can begin, and a coroutine that reads one.

Rule of this file: the door. What is not tags (channels, bare JSON in prose, a fence) walks in here with its own coroutine.
"""

from typing import TYPE_CHECKING, Literal, Protocol

from ...core.fastclass import value
from ...core.scanner import Reading

if TYPE_CHECKING:
    from .markup_parser import MarkupParser

DOUBT = 400
"""Characters of text that are held while two readings are possible: a few lines, which take a model some seconds."""

type Where = Literal["any", "word", "line", "message"]
type InReasoning = Literal["call", "doubtful", "never"]


class Dialect(Protocol):
    """One way of writing a call into text."""

    @property
    def name(self) -> str:
        """What the rule is called where it is told what fired."""

    @property
    def openers(self) -> tuple[str, ...]:
        """The texts that a call, or the wrapper around calls, can begin with."""

    @property
    def inner(self) -> tuple[str, ...]:
        """Those of the openers that count only inside the dialect's wrapper."""

    @property
    def wrappers(self) -> tuple[str, ...]:
        """Those of the openers that begin a wrapper, in which a call of another dialect may stand."""

    @property
    def closers(self) -> tuple[str, ...]:
        """The texts that end a call or its wrapper: right behind a call they are markup."""

    @property
    def ambiguous(self) -> bool:
        """Whether the openers also stand in ordinary text: armed by profile, and never looked for in quoted code (R15)."""

    @property
    def offered_only(self) -> bool:
        """Whether a call must name an offered tool."""

    @property
    def place(self) -> Where:
        """Where an opener must stand: anywhere, at the beginning of a line, at that of the message.

        word: anywhere, but not within a word, if it begins with a letter.
        """

    @property
    def in_reasoning(self) -> InReasoning:
        """What the markup is in reasoning: a call; a call unless the answer goes on behind it (R14); never one."""

    def read(self, reader: "MarkupParser") -> Reading[bool]:
        """Reads a call that may begin at `reader.scanner.pos`.

        Whether there was one. If so it has been told by `reader.start`, `arguments` and `end` or `broken`; if not, nothing
        has been told, and where the scanner stands does not matter.
        """


@value
class CustomDialect:
    """What a dialect with a coroutine of its own says of itself; `Dialect` tells what the fields mean."""

    name: str
    openers: tuple[str, ...]
    inner: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()
    closers: tuple[str, ...] = ()
    ambiguous: bool = False
    offered_only: bool = False
    place: Where = "any"
    in_reasoning: InReasoning = "call"
