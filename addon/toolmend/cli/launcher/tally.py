"""Reads what a proxy has done since its start from its log: see stats_addon.py, which writes it.

    Tally.read(log)                       the sums of the last valid line
    after - before                        what was done in between
    tally.sentence()                      "mended 2 of 5 answers (kimi_k2, finish_reason)"

mitmproxy's lines may quote a server, and the result is printed to a terminal: so a tally must begin a line, after its time, and
have only numbers and printable text. Torn or invalid lines are skipped.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from ...core.fastclass import value

MARK = "toolmend: tally "
"""The begin of such a line, after the time."""

_TIME = re.compile(r"\[[\d:.]+\] ")


@value
class Tally:
    """The sums since a proxy's start.

    Attributes:
        answers: Responses of LLMs.
        mended: Those that were mended.
        faults: Those with an error of toolmend's: a torn stream, a lost recording.
        rules: In how many responses each rule was applied.
        folder: The last recording.
        warnings: The last warnings, oldest first.
        unanswered: Requests that got no byte.
        gave_up: What became of the last of them, in words.
    """

    answers: int = 0
    mended: int = 0
    faults: int = 0
    rules: Mapping[str, int] = field(default_factory=dict)
    folder: str | None = None
    warnings: tuple[str, ...] = ()
    unanswered: int = 0
    gave_up: str = ""

    @classmethod
    def read(cls, log: str) -> Self:
        """Returns the last tally in a proxy's log, or in the end of one."""
        while log:
            log, _, line = log.rpartition(MARK)
            line_start = log[log.rfind("\n") + 1 :]
            try:
                fields: dict[str, Any] = json.loads(line.partition("\n")[0])
                read = cls(**fields | {"warnings": tuple(fields["warnings"])})
            except (ValueError, TypeError, KeyError, RecursionError):
                continue
            if _TIME.fullmatch(line_start) and read.is_valid():
                return read
        return cls()

    def is_valid(self) -> bool:
        """Returns whether all fields have valid values."""
        if not (isinstance(self.rules, dict) and isinstance(self.folder, str | None)):
            return False
        numbers = (self.answers, self.mended, self.faults, self.unanswered, *self.rules.values())
        words = (*self.rules, *self.warnings, self.gave_up)
        return all(type(item) is int for item in numbers) and all(isinstance(item, str) and item.isprintable() for item in words)

    def __sub__(self, earlier: "Tally") -> "Tally":
        return Tally(
            self.answers - earlier.answers,
            self.mended - earlier.mended,
            self.faults - earlier.faults,
            Counter(self.rules) - Counter(earlier.rules),
            self.folder if self.folder != earlier.folder else None,
            tuple(warning for warning in self.warnings if warning not in earlier.warnings),
            self.unanswered - earlier.unanswered,
            self.gave_up if self.unanswered != earlier.unanswered else "",
        )

    def sentence(self) -> str:
        """Returns a summary without a full stop."""
        requests = "1 request was" if self.unanswered == 1 else f"{self.unanswered} requests were"
        silent = f"{requests} not answered ({self.gave_up})" if self.unanswered else ""
        if not self.answers:
            return silent or "no LLM answer came through the proxy"
        answers = "1 answer" if self.answers == 1 else f"{self.answers} answers"
        rules = ", ".join(sorted(self.rules, key=lambda rule: -self.rules[rule]))  # a stable sort: ties keep their order
        text = f"mended {self.mended} of {answers} ({rules})" if self.mended else f"{answers}, nothing to mend"
        return text + (f", {self.faults} with a fault" if self.faults else "") + (f"; {silent}" if silent else "")
