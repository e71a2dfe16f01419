"""Dialects that write the same between tokens of their own and, where these are lost, in the open.

Rule of this file: between its tokens a call cannot be mistaken. In the open it is one only where the profile expects it, at
the beginning of a line, with the name of an offered tool, and never in reasoning.
"""


from ...core.fastclass import value
from ...core.scanner import Reading, Scanner
from .dialect import InReasoning, Where

MOST_OPENERS = 4
"""In a row: there may be a second one in front of the real one. Each of many begins anew, so none reads them all."""


@value
class DelimitedDialect:
    """Calls between the tokens `begin` and `end`; without `begin`, in the open, where they begin with `opener`."""

    name: str
    begin: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    opener: str = ""

    def begins(self, scanner: Scanner) -> Reading[None]:
        """Goes past the tokens that begin it, and the blanks behind them."""
        for _ in range(MOST_OPENERS):
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
