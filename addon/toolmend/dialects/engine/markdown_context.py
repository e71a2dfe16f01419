"""The Markdown context after the emitted text: beginning of a line, beginning of the message, or quoted code.

Text is fed once it is emitted, in order, in pieces of any size; the state has constant size.

1. Code is a fence of three or more backticks or tildes at the beginning of a line, or a span between equally many backticks.
2. A span ends with its line, because a stream does not show whether it will be closed.
3. A fence may begin in a quotation or list item, and ends with the quotation.
4. A fence after four blanks counts only in a list item, and ends where a line begins further left.
5. A fence with a language inside a fence begins a nested one (models nest them).
"""

import re
import string

_RUNS = re.compile(r"`+|~+")

_WITHIN = re.compile(r"[ \t]*(?:>[ \t]*|(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
"""The beginning of a line in a quotation or list."""

_MAY_BE_WITHIN = re.compile(rf"{_WITHIN.pattern}(?:[-*+]|\d{{1,9}}[.)]?)?")
INDENTED = 4
"""Columns before a fence from which on it counts only in a list item."""

MAX_WITHIN = 32
"""Characters of such a beginning; three nested lists have fewer."""

TAIL = 32
"""Last characters of the text that are kept; the longest wrapper has 26."""

WORD = frozenset(string.ascii_letters + string.digits + "_")
"""Characters that continue a word. Chinese has no blanks between words, so its characters do not count."""


class MarkdownContext:
    """The context after the text so far."""

    __slots__ = (
        *("_before", "_end", "_fence", "_fence_size", "_indented", "_line", "_nested", "_offset", "_quoted", "_run"),
        *("_run_size", "_span", "_tail", "line_start", "message_start"),
    )

    def __init__(self) -> None:
        self.line_start = True  # only blanks since the line began
        self.message_start = True  # only blanks so far
        self._end = ""  # the last character
        self._tail = ""  # the last TAIL characters
        self._fence = ""  # the character of the open fence, and its count
        self._fence_size = 0
        self._offset = 0  # columns before the fence
        self._indented = False  # these are blank, and at least INDENTED
        self._nested = 0  # number of fences open inside it
        # the fence that the one on this line ends, if no language follows
        self._before: tuple[str, int, bool, bool, int] | None = None
        self._quoted = False  # the fence is in a quotation
        self._line: str | None = ""  # the line so far, while it may be the beginning of one in a quotation or list
        self._span = 0  # backticks of the open span
        self._run = ""  # the character of the backticks or tildes at the end of the text, and their count
        self._run_size = 0

    def text(self, text: str) -> None:
        """Feeds text that was emitted."""
        at = 0
        self._end = text[-1:]
        self._tail = (self._tail + text)[-TAIL:]
        if "`" in text or "~" in text:
            if text[0] != self._run:
                self._end_run()
            if not (self._run or "```" in text or "~~~" in text):  # without a fence, only the last line counts
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
        """Feeds text without backticks and tildes, or with ones on earlier lines only."""
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
        """Feeds a call or other dropped markup: the text after it begins a line, as far as calls are concerned."""
        self._end_run()
        self._end = self._tail = ""
        self._line = ""
        self.line_start = True
        self._span = 0

    def extends_run(self, character: str) -> bool:
        """Whether a character continues the run of backticks or tildes at the end of the text."""
        return character == self._run

    @property
    def line_begins(self) -> bool:
        """Whether a line begins here, without a blank before it."""
        return self._end in ("", "\n")

    @property
    def in_word(self) -> bool:
        """Whether a letter here would continue a word."""
        return self._end in WORD

    @property
    def indented(self) -> bool:
        """Whether the line begins with enough blanks for indented code or the text of a list item."""
        return self.line_start and self._end in (" ", "\t") and (self._line is None or _columns(self._line) >= INDENTED)

    @property
    def in_quotation(self) -> bool:
        """Whether only the signs of a quotation or list, among them a `>`, precede this in its line."""
        return self._line is not None and ">" in self._line

    @property
    def glued(self) -> bool:
        """Whether the last character is neither blank nor markup."""
        return bool(self._end) and not self._end.isspace()

    @property
    def last(self) -> str:
        """The last character; "" after markup."""
        return self._end

    def after(self, literals: tuple[str, ...]) -> bool:
        """Whether the text ends with one of these literals, apart from blanks."""
        return self._tail.rstrip().endswith(literals)

    @property
    def in_code(self) -> bool:
        """Whether the next character is in quoted code."""
        return self.in_fence or bool(self._span)

    @property
    def in_fence(self) -> bool:
        """Whether the next character is in a fence."""
        self._end_run()
        return bool(self._fence) and not self._is_outdented

    @property
    def _is_outdented(self) -> bool:
        """Whether a next character that is not blank would end an indented fence, as it is too far left."""
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
        """Begins a nested fence if a language follows a fence inside a fence."""
        line, newline, _ = text.partition("\n")
        if line.strip() and self._before:
            self._fence, self._fence_size, self._indented, self._quoted, nested = self._before
            self._nested = nested + 1
        if newline or line.strip():
            self._before = None

    def _leave_item(self, text: str) -> None:
        """Ends an indented fence where a line ends its list item."""
        before = self._line
        for line in text.split("\n"):
            code = line.lstrip(" \t\r")
            at_start = code and before is not None and not before.strip()
            if at_start and _columns((before or "") + line[: len(line) - len(code)]) < INDENTED // 2:
                self._fence = ""
                return
            before = ""  # the next line begins

    def _leave_quotation(self, text: str) -> None:
        """Ends a fence in a quotation where a line is not part of the quotation."""
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
    """The column after a text; a tab counts as four."""
    return len(text) + 3 * text.count("\t")
