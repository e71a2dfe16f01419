"""What a proxy has done since its start, as its log says it: see stats_addon.py, which writes it.

    Tally.read(log)                       the sums of the last line that has some
    after - before                        what was done in between
    tally.sentence()                      "mended 2 of 5 answers (kimi_k2, finish_reason)"

Rule of this file: it reads, and a line that is torn or not ours counts as none. mitmproxy's lines may quote a server, and what is
read goes to a terminal: so a tally begins a line, behind its time, and has numbers and words that can be seen.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from ...core.fastclass import value

MARK = "toolmend: tally "
"""What such a line begins with, behind the time."""

_TIME = re.compile(r"\[[\d:.]+\] ")


@value
class Tally:
    """`answers` of LLMs, whatever came of them; `mended` ones; those with `faults` of ours, a torn stream or a lost recording.

    `unanswered` requests, to which not one byte came; `gave_up`: in words, what became of the last.
    `rules`: how many answers each was at work in. `folder`: the last recording. `warnings`: the last ones, oldest first.
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
        """From a proxy's log, or from the end of one."""
        while log:
            log, _, line = log.rpartition(MARK)
            begun = log[log.rfind("\n") + 1 :]
            try:
                said: dict[str, Any] = json.loads(line.partition("\n")[0])
                read = cls(**said | {"warnings": tuple(said["warnings"])})
            except (ValueError, TypeError, KeyError, RecursionError):
                continue
            if _TIME.fullmatch(begun) and read.is_one():
                return read
        return cls()

    def is_one(self) -> bool:
        """Whether a tally can be so."""
        if not (isinstance(self.rules, dict) and isinstance(self.folder, str | None)):
            return False
        numbers = (self.answers, self.mended, self.faults, self.unanswered, *self.rules.values())
        words = (*self.rules, *self.warnings, self.gave_up)
        return all(type(one) is int for one in numbers) and all(isinstance(one, str) and one.isprintable() for one in words)

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
        """In words, without a full stop."""
        requests = "1 request was" if self.unanswered == 1 else f"{self.unanswered} requests were"
        silent = f"{requests} not answered ({self.gave_up})" if self.unanswered else ""
        if not self.answers:
            return silent or "no LLM answer came through the proxy"
        answers = "1 answer" if self.answers == 1 else f"{self.answers} answers"
        rules = ", ".join(sorted(self.rules, key=lambda rule: -self.rules[rule]))  # those that are even stay in their order
        text = f"mended {self.mended} of {answers} ({rules})" if self.mended else f"{answers}, nothing to mend"
        return text + (f", {self.faults} with a fault" if self.faults else "") + (f"; {silent}" if silent else "")
