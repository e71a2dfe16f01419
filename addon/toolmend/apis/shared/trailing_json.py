"""Finds objects after the complete arguments of a call: each may be the arguments of another call of the same tool.

    {"q":"a"}{"q":"b"}    a gateway gave two calls one index        {"q":"a"}{"q":"a"}    a repetition

Whether an object only repeats the one before it is for the caller to decide.
"""

from ...core import json_text
from .arguments import Arguments

MAX_OBJECTS = 64
"""Objects that are read from one delta."""

MAX_KEPT = 1024 * 1024
"""Characters of an object that are kept; after a longer one, nothing more is read."""


class TrailingJson:
    """Reads the text after the arguments of one call."""

    __slots__ = ("_body", "_kept", "_pieces")

    def __init__(self) -> None:
        self._body: Arguments | None = None  # the open object
        self._pieces: list[str] = []
        self._kept = 0

    def feed(self, text: str) -> list[str]:
        """Takes the next text. Returns the objects that it completes, as JSON text."""
        found: list[str] = []
        while text and self._kept <= MAX_KEPT and len(found) < MAX_OBJECTS:
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
