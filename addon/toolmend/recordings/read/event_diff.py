"""The difference of two bodies, event by event, in readable lines.

      2 events alike
    - 3  data: {"choices":[{"index":0,"delta":{"content":"<|tool_call_begin|>"}}]}
    + 3  data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1", …

Compared events, returned lines, and characters per line are bounded.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile

from ...apis import decoder_for

MAX_EVENTS = 400
"""Events of each side that are compared, from the first difference on: the cost is quadratic."""

MAX_LINES = 40
"""Lines returned: a screen."""

WIDTH = 160
"""Characters shown of an event."""


def diff(expected: bytes, got: bytes, lines: int = MAX_LINES) -> list[str]:
    """Returns the difference in lines, `-` for expected, `+` for actual events; empty if there is none."""
    found = [*_lines(_events(expected), _events(got))]
    return found if len(found) <= lines else [*found[:lines], f"  … and {len(found) - lines} more lines"]


def _events(body: bytes) -> list[bytes]:
    decoder = decoder_for(body)
    return [event.raw for event in (*decoder.feed(body), *decoder.close())]


def _lines(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[str]:
    equal = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after)))
    if equal == len(before) == len(after):
        return
    more = max(len(before), len(after)) - equal - MAX_EVENTS
    before, after = before[equal:][:MAX_EVENTS], after[equal:][:MAX_EVENTS]
    if equal:
        yield _alike(equal)
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield _alike(b - a)
            continue
        for n in range(max(b - a, d - c)):
            old = before[a + n] if a + n < b else b""
            new = after[c + n] if c + n < d else b""
            common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
            if old:
                yield f"- {equal + a + n + 1}  {_shown(old, common)}"
            if new:
                yield f"+ {equal + c + n + 1}  {_shown(new, common)}"
    if more > 0:
        yield f"  … and {more} events more, which are not compared"


def _alike(number: int) -> str:
    return f"  {number} event{'' if number == 1 else 's'} alike"


def _shown(raw: bytes, common: int) -> str:
    """Returns one event on one line, escaped; a long one from shortly before the difference."""
    text = raw.decode(errors="backslashreplace").rstrip("\r\n") or raw.decode(errors="backslashreplace")
    start = max(0, min(common - WIDTH // 2, len(text) - WIDTH))
    cut = text[start : start + WIDTH]
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)
    return "… " * (start > 0) + shown + " …" * (start + WIDTH < len(text))
