"""The interface of a dialect: where a call can begin, and a coroutine that parses one.

TagDialect (tags.py) is data only. A dialect that is not made of tags, such as channels or bare JSON, subclasses CustomDialect.
"""

from typing import TYPE_CHECKING, Literal, Protocol

from ...core.fastclass import value
from ...core.scanner import Reading

if TYPE_CHECKING:
    from .markup_parser import MarkupParser

DOUBT = 400
"""Characters of text that are held while two interpretations are possible: a few lines, some seconds of a model's output."""

type Where = Literal["any", "word", "line", "message"]
type InReasoning = Literal["call", "doubtful", "never"]


class Dialect(Protocol):
    """How some models write calls as text."""

    @property
    def name(self) -> str:
        """The name of the rule that fires for a call."""

    @property
    def openers(self) -> tuple[str, ...]:
        """The strings that begin a call, or the wrapper around calls."""

    @property
    def inner(self) -> tuple[str, ...]:
        """The openers that count only inside the dialect's wrapper."""

    @property
    def wrappers(self) -> tuple[str, ...]:
        """The openers that begin a wrapper, which may contain calls of another dialect."""

    @property
    def closers(self) -> tuple[str, ...]:
        """The strings that end a call or its wrapper: directly after a call they are markup."""

    @property
    def ambiguous(self) -> bool:
        """Whether ordinary text contains the openers: then profiles arm the dialect, and quoted code never has calls (R15)."""

    @property
    def offered_only(self) -> bool:
        """Whether a call must name an offered tool."""

    @property
    def place(self) -> Where:
        """Where an opener counts: anywhere, at the beginning of a line, or at the beginning of the message.

        "word": anywhere, but an opener that begins with a letter not inside a word.
        """

    @property
    def in_reasoning(self) -> InReasoning:
        """What the markup is in reasoning: a call; a call unless the answer continues after it (R14, "doubtful"); never one."""

    def read(self, parser: "MarkupParser") -> Reading[bool]:
        """Parses a call that may begin at `parser.scanner.pos`, and returns whether there was one.

        A call has been emitted with `parser.start`, `arguments` and `end` or `break_off`. If there was none, nothing has been
        emitted, and the scanner's position has no meaning.
        """


@value
class CustomDialect:
    """Base class of dialects with their own coroutine; `Dialect` describes the fields."""

    name: str
    openers: tuple[str, ...]
    inner: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()
    closers: tuple[str, ...] = ()
    ambiguous: bool = False
    offered_only: bool = False
    place: Where = "any"
    in_reasoning: InReasoning = "call"
