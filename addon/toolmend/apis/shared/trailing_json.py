"""Finds objects after the complete arguments of a call: each may be the arguments of another call of the same tool.

    {"q":"a"}{"q":"b"}    a gateway gave two calls one index        {"q":"a"}{"q":"a"}    a repetition

Whether an object only repeats the one before it is for the caller to decide.
"""

from ...core import json_text
from ...core.lenient_json import repaired
from .arguments import MAX_IRREGULAR, Arguments

MAX_OBJECTS = 64
"""Objects that are read from one delta."""

_SEPARATORS = " \t\r\n,;"

MAX_KEPT = 1024 * 1024
"""Characters of an object that are kept; after a longer one, nothing more is read."""


class TrailingJson:
    """Reads the text after the arguments of one call. An object that is not JSON counts if only separators precede it."""

    __slots__ = ("_body", "_direct", "_kept", "_pieces")

    def __init__(self) -> None:
        self._body: Arguments | None = None  # the open object
        self._pieces: list[str] = []
        self._kept = 0
        self._direct = True  # nothing but separators was between the objects

    def feed(self, text: str) -> list[str]:
        """Takes the next text. Returns the objects that it completes, as JSON text."""
        found: list[str] = []
        while text and self._kept <= MAX_KEPT and len(found) < MAX_OBJECTS:
            if self._body is None:
                between, brace, rest = text.partition("{")
                self._direct = self._direct and not between.strip(_SEPARATORS)
                if not brace:
                    break
                self._body, text = Arguments(), brace + rest
            sent, text = self._body.feed(text)
            self._pieces.append(sent)
            self._kept += len(sent)
            if not self._body.complete:
                break
            found += self._take()
        return found

    def end(self) -> list[str]:
        """Ends the text. Returns the last object if it had to be repaired as a whole."""
        if self._body is None or self._kept > MAX_KEPT or not self._direct:
            return []
        self._pieces.append(self._body.end(broken=True))
        return self._take()

    def _take(self) -> list[str]:
        whole = "".join(self._pieces)
        self._body, self._pieces, self._kept = None, [], 0
        if json_text.is_json(whole.encode(errors="surrogatepass")):
            return [whole]
        text = repaired(whole, ended=False) if self._direct and len(whole) <= MAX_IRREGULAR else None
        return [text] if text else []
