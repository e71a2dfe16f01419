"""What the text before a place says about it: is it the beginning of a line, of the message, is it quoted code?

Rule of this file: it is told of text once that text is decided, in order and in any pieces, and keeps a handful of numbers.
Code is what Markdown makes code: a fence of three or more backticks or tildes at the beginning of a line, and a span between
equally many backticks. A span is taken to end with its line, since a stream cannot tell whether it will be closed. A fence may
begin within a quotation or a list item, and is over where the quotation is. Four blanks in front of a fence: it is one in a list
item at most, and over where a line begins further left. In a fence, one with a language begins another (models nest them).
"""

import re
import string

_RUNS = re.compile(r"`+|~+")

_WITHIN = re.compile(r"[ \t]*(?:>[ \t]*|(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
"""What a line of a quotation or of a list begins with."""

_MAY_BE_WITHIN = re.compile(rf"{_WITHIN.pattern}(?:[-*+]|\d{{1,9}}[.)]?)?")
INDENTED = 4
"""Columns in front of a fence from which on it is one only in a list item."""

MAX_WITHIN = 32
"""Characters of it: three lists within one another have less."""

TAIL = 32
"""Characters of text that are kept: the longest wrapper has 26."""

WORD = frozenset(string.ascii_letters + string.digits + "_")
"""What a word goes on with. Chinese has no blanks between words, so its characters are none of these."""


class MarkdownContext:
    """The place behind the text so far."""

    __slots__ = (
        *("_before", "_end", "_fence", "_fence_size", "_indented", "_line", "_nested", "_offset", "_quoted", "_run"),
        *("_run_size", "_span", "_tail", "line_start", "message_start"),
    )

    def __init__(self) -> None:
        self.line_start = True  # nothing but blanks since the line began
        self.message_start = True  # nothing but blanks at all
        self._end = ""  # the last character
        self._tail = ""  # the last ones, as many as a wrapper and the blanks after it have
        self._fence = ""  # the character of an open fence, and how many of it
        self._fence_size = 0
        self._offset = 0  # the columns in front of it
        self._indented = False  # they are blank, and more than a fence has outside of a list
        self._nested = 0  # how many fences are open in it
        # the fence that the one in this line may have ended, if no word follows
        self._before: tuple[str, int, bool, bool, int] | None = None
        self._quoted = False  # it is in a quotation
        self._line: str | None = ""  # the line so far, while it is only what one of a quotation or a list begins with
        self._span = 0  # how many backticks opened the span that is open
        self._run = ""  # the run of backticks or tildes that the text ends with
        self._run_size = 0

    def text(self, text: str) -> None:
        """Text was decided to be text."""
        at = 0
        self._end = text[-1:]
        self._tail = (self._tail + text)[-TAIL:]
        if "`" in text or "~" in text:
            if text[0] != self._run:
                self._end_run()
            if not (self._run or "```" in text or "~~~" in text):  # then no fence, and of the lines only the last one counts
                before, newline, text = text.rpartition("\n")
                if newline:
                    self._plain(before + newline)
            for match in _RUNS.finditer(text):
                run = match.group()
                if match.start() > at:
                    self._plain(text[at : match.start()])
                if run[0] != self._run:
                    self._end_run()
                    self._run = run[0]
                self._run_size += len(run)
                at = match.end()
        if at < len(text):
            self._plain(text[at:] if at else text)

    def _plain(self, text: str) -> None:
        """Text without backticks and tildes, or with lines of them that are over."""
        if self._run:
            self._end_run()
        if self._before:
            self._read_language(text)
        if self._quoted:
            self._leave_quotation(text)
        elif self._fence and self._indented:
            self._leave_item(text)
        line = text.rfind("\n") + 1
        if line:
            self.line_start = True
            self._span = 0
            self._line = ""
        if self._line is not None and line < len(text):
            begin = None if text[line].isalpha() else self._line + text[line : line + MAX_WITHIN + 1]
            self._line = begin if begin and len(begin) <= MAX_WITHIN and _MAY_BE_WITHIN.fullmatch(begin) else None
        if text and not text.isspace():
            self.message_start = False
            self.line_start = bool(line) and not text[line:].strip()

    def markup(self) -> None:
        """A call stood here: what follows it begins a line, as far as calls are concerned."""
        self._end_run()
        self._end = self._tail = ""
        self._line = ""
        self.line_start = True
        self._span = 0

    def extends_run(self, character: str) -> bool:
        """Whether this character goes on the run of backticks or tildes that the text ends with."""
        return character == self._run

    @property
    def line_begins(self) -> bool:
        """Whether a line begins here, without a blank in front."""
        return self._end in ("", "\n")

    @property
    def in_word(self) -> bool:
        """Whether a letter that follows goes on a word."""
        return self._end in WORD

    @property
    def indented(self) -> bool:
        """Whether so many blanks stand in front of it in its line that it is code, or the text of a list item."""
        return self.line_start and self._end in (" ", "\t") and (self._line is None or _columns(self._line) >= INDENTED)

    @property
    def glued(self) -> bool:
        """Whether the next character stands right behind another one."""
        return bool(self._end) and not self._end.isspace()

    @property
    def last(self) -> str:
        """The last character; "" after markup."""
        return self._end

    def after(self, literals: tuple[str, ...]) -> bool:
        """Whether one of these stands before the next character, as text, with nothing but blanks between."""
        return self._tail.rstrip().endswith(literals)

    @property
    def in_code(self) -> bool:
        """Whether the next character is quoted code."""
        return self.in_fence or bool(self._span)

    @property
    def in_fence(self) -> bool:
        """Whether it is code in a fence."""
        self._end_run()
        return bool(self._fence) and not self._is_outdented

    @property
    def _is_outdented(self) -> bool:
        """Whether what follows, if it is no blank, stands further left than an indented fence may."""
        return self._indented and self.line_start and self._line is not None and _columns(self._line) < INDENTED // 2

    def _end_run(self) -> None:
        if not self._run:
            return
        character, size = self._run, self._run_size
        self._run, self._run_size = "", 0
        at_start, self.line_start = self.line_start, False
        line, self._line = self._line, None
        self.message_start = False
        if self._quoted and line is not None and ">" not in line:
            self._fence, self._quoted = "", False
        self._before = None
        offset = MAX_WITHIN if line is None else _columns(line)
        if self._fence:
            at_start = (at_start and offset < self._offset + INDENTED) or (
                self._quoted and line is not None and not line.strip("> \t")
            )
            if at_start and character == self._fence and size >= self._fence_size:
                self._before = self._fence, self._fence_size, self._indented, self._quoted, self._nested
                self._nested -= 1
                if self._nested < 0:
                    self._fence, self._quoted = "", False
        elif size >= 3 and (at_start or (line is not None and _WITHIN.fullmatch(line))):
            self._fence, self._fence_size, self._quoted = character, size, line is not None and ">" in line
            self._offset, self._nested = offset, 0
            self._indented = offset >= INDENTED and not (line or "").strip()
        elif character == "`":
            if not self._span:
                self._span = size
            elif self._span == size:
                self._span = 0

    def _read_language(self, text: str) -> None:
        """A word after a fence within a fence: that begins another."""
        line, newline, _ = text.partition("\n")
        if line.strip() and self._before:
            self._fence, self._fence_size, self._indented, self._quoted, nested = self._before
            self._nested = nested + 1
        if newline or line.strip():
            self._before = None

    def _leave_item(self, text: str) -> None:
        """Whether a line ends the list item that an indented fence stands in."""
        before = self._line
        for line in text.split("\n"):
            code = line.lstrip(" \t\r")
            at_start = code and before is not None and not before.strip()
            if at_start and _columns((before or "") + line[: len(line) - len(code)]) < INDENTED // 2:
                self._fence = ""
                return
            before = ""  # of the next line

    def _leave_quotation(self, text: str) -> None:
        """Whether a line that is no part of the quotation ends the fence in it."""
        begins = self._line is not None and not self._line.strip()
        *lines, last = text.split("\n")
        for line in lines:
            if begins and line.lstrip()[:1] != ">":
                self._fence, self._quoted = "", False
                return
            begins = True
        if begins and last.strip() and last.lstrip()[0] != ">":
            self._fence, self._quoted = "", False


def _columns(text: str) -> int:
    """How far to the right what follows a text stands; a tab counts as four."""
    return len(text) + 3 * text.count("\t")
