"""What the text before a place says about it: is it the beginning of a line, of the message, is it quoted code?

Rule of this file: it is told of text once that text is decided, in order and in any pieces, and keeps a handful of numbers.
Code is what Markdown makes code: a fence of three or more backticks or tildes at the beginning of a line, and a span between
equally many backticks. A span is taken to end with its line, since a stream cannot tell whether it will be closed.
"""

import re

_PARTS = re.compile(r"\n|`+|~+|[^\n`~]+")
_PLAIN = re.compile(r"[^\n`~]+")


class Place:
    """The place behind the text so far."""

    __slots__ = ("_fence", "_fence_size", "_run", "_run_size", "_span", "line_start", "message_start")

    def __init__(self) -> None:
        self.line_start = True  # nothing but blanks since the line began
        self.message_start = True  # nothing but blanks at all
        self._fence = ""  # the character of an open fence, and how many of it
        self._fence_size = 0
        self._span = 0  # how many backticks opened the span that is open
        self._run = ""  # the run of backticks or tildes that the text ends with
        self._run_size = 0

    def text(self, text: str) -> None:
        """Text was decided to be text."""
        if not self._run and _PLAIN.fullmatch(text):
            if not text.isspace():
                self.line_start = self.message_start = False
            return
        for match in _PARTS.finditer(text):
            part = match.group()
            if part[0] in "`~":
                if part[0] != self._run:
                    self._end_run()
                    self._run = part[0]
                self._run_size += len(part)
                continue
            self._end_run()
            if part == "\n":
                self.line_start = True
                self._span = 0
            elif not part.isspace():
                self.line_start = self.message_start = False

    def markup(self) -> None:
        """A call stood here: what follows it begins a line, as far as calls are concerned."""
        self._end_run()
        self.line_start = True
        self._span = 0

    def goes_on(self, character: str) -> bool:
        """Whether this character goes on the run of backticks or tildes that the text ends with."""
        return character == self._run

    @property
    def in_code(self) -> bool:
        """Whether the next character is quoted code."""
        return self.in_fence or bool(self._span)

    @property
    def in_fence(self) -> bool:
        """Whether it is code in a fence."""
        self._end_run()
        return bool(self._fence)

    def _end_run(self) -> None:
        if not self._run:
            return
        character, size = self._run, self._run_size
        self._run, self._run_size = "", 0
        at_start, self.line_start = self.line_start, False
        self.message_start = False
        if self._fence:
            if at_start and character == self._fence and size >= self._fence_size:
                self._fence = ""
        elif at_start and size >= 3:
            self._fence, self._fence_size = character, size
        elif character == "`":
            if not self._span:
                self._span = size
            elif self._span == size:
                self._span = 0
