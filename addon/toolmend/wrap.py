"""What goes out around the text of a delta, where texts become arguments, or are told in another API.

    data: {… "arguments":"Let me"} …     the text, in quotes, once or twice, and the number that an event may have

Rule of this file: it works on what went out, and knows no API.
"""

import re
from typing import NamedTuple

from . import json_text
from .course import Escapes

_SEQUENCE = re.compile(rb'(?<="sequence_number":)\d+')


class Wrap(NamedTuple):
    """What went out around the text, in quotes, of a delta: `parts`, which may hold it twice.

    `number`: of this event, where events have one; `end`: behind it.
    """

    text: bytes
    parts: tuple[bytes, ...]
    number: int = -1
    end: bytes = b""

    def around(self, text: str, count: int, *, escapes: Escapes | None) -> bytes:
        """What goes out for another text, of the delta that is the next but so many."""
        around = quoted(text, escapes=escapes).join(self.parts)
        return around if self.number < 0 else around + b"%d" % (self.number + count) + self.end

    def alike(self, other: "Wrap") -> bool:
        """Whether what is around another text is the same, but for its number."""
        surely = len(self.parts) == 2 or self.text != other.text  # a text may say just what a member is called
        return surely and (self.parts, self.end) == (other.parts, other.end)


def wrap_of(given: bytes, text: bytes) -> Wrap | None:
    """What is around a text in what went out for it; None where that cannot be told."""
    *parts, last = given.split(text)
    if not 1 <= len(parts) <= 2 or given.rfind(text) + len(text) + len(last) != len(given):  # `":"` stands twice in `"a":":"`
        return None
    numbers = _SEQUENCE.findall(given)
    if not numbers:
        return Wrap(text, (*parts, last))
    number = _SEQUENCE.search(last)
    if number is None or len(numbers) > 1:
        return None
    return Wrap(text, (*parts, last[: number.start()]), int(number[0]), last[number.end() :])


def quoted(text: str, *, escapes: Escapes | None) -> bytes:
    """A text as it stands in JSON, or what it becomes in arguments."""
    return json_text.quote(escapes(text) if escapes else text).encode()
