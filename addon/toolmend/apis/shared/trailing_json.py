"""What stands behind the arguments of a call: nothing counts there but another object, of a second call of the same tool.

    {"q":"a"}{"q":"b"}    a gateway gave two calls one index        {"q":"a"}{"q":"a"}    it says the same again

Rule of this file: an object counts once it is whole, and whether it says what the one before it says is the caller's to judge.
"""

from ...core import json_text
from .arguments import Arguments

MAX_BEHIND = 64
"""Objects that are looked at, in one delta."""

MAX_KEPT = 1024 * 1024
"""Characters of one that are kept; of what is longer, no more is looked at."""


class Behind:
    """Of one call."""

    __slots__ = ("_body", "_kept", "_pieces")

    def __init__(self) -> None:
        self._body: Arguments | None = None  # of the object that has begun
        self._pieces: list[str] = []
        self._kept = 0

    def feed(self, text: str) -> list[str]:
        """The next text → the objects that are whole with it, as JSON has them."""
        found: list[str] = []
        while text and self._kept <= MAX_KEPT and len(found) < MAX_BEHIND:
            if self._body is None:
                _, brace, rest = text.partition("{")
                if not brace:
                    break
                self._body, text = Arguments(), brace + rest
            sent, text = self._body.feed(text)
            self._pieces.append(sent)
            self._kept += len(sent)
            if not self._body.complete:
                break
            whole = "".join(self._pieces)
            found += [whole] if json_text.is_json(whole.encode(errors="surrogatepass")) else []
            self._body, self._pieces, self._kept = None, [], 0
        return found
