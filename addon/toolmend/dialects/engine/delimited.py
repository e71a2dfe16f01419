"""Base class of dialects that write calls between tokens, or, where the tokens were lost, without them.

Between tokens a call is unmistakable. Without them it counts only if the profile expects it, at the beginning of a line, with the
name of an offered tool, and never in reasoning.
"""


from ...core.fastclass import value
from ...core.scanner import Reading, Scanner
from .dialect import InReasoning, Where

MAX_OPENERS = 4
"""Openers in a row, as there may be a second one before the real one. The bound keeps the cost of many openers linear."""


@value
class DelimitedDialect:
    """Calls between the tokens `begin` and `end`; without `begin`, bare calls that begin with `opener`."""

    name: str
    begin: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    opener: str = ""

    def begins(self, scanner: Scanner) -> Reading[None]:
        """Skips the begin tokens and the blanks after them."""
        for _ in range(MAX_OPENERS):
            if not (yield from scanner.literal(self.begin)):
                return
            yield from scanner.blanks()

    @property
    def openers(self) -> tuple[str, ...]:
        return self.begin or (self.opener,)

    @property
    def inner(self) -> tuple[str, ...]:
        return ()

    @property
    def wrappers(self) -> tuple[str, ...]:
        return ()

    @property
    def closers(self) -> tuple[str, ...]:
        return self.end

    @property
    def ambiguous(self) -> bool:
        return not self.begin

    @property
    def offered_only(self) -> bool:
        return not self.begin

    @property
    def place(self) -> Where:
        return "any" if self.begin else "line"

    @property
    def in_reasoning(self) -> InReasoning:
        return "call" if self.begin else "never"
