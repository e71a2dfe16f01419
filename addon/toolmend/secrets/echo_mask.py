r"""Masks the secrets of a request where the response echoes them, while the response is written to disk.

    {"delta":{"content":"Your key is s"}}   {"delta":{"content":"Your key is *"}}
    {"delta":{"content":"k-ABCDE"}}      →  {"delta":{"content":"*******"}}
    {"delta":{"content":"FGH, ok?"}}        {"delta":{"content":"***, ok?"}}

Rule of this file: what comes out is what went in, with `*` for every byte that spells a secret. Length and offsets
stay; how the input is cut changes nothing; a body that echoes no secret stays as it is.

What spells a secret: the secret in one piece, anywhere; in a JSON string, with any escapes (`\u0073k-`, `\/`); and in
several JSON strings that a client joins. Those are strings at the same path in documents that follow each other. A path
is made of the names of the members, of the `index` (or `output_index` …) that an object on the way has, and of its rank where it
is one of the alternatives to a token: the likeliest of one token goes on with the likeliest of the next.

A string that ends as a secret begins is masked on suspicion. If its text goes on otherwise, `restored` gives the bytes
back. So nothing is held but a line that is not complete, and no piece of a secret is on the disk at any time.

Cost: a line in which no secret can begin passes by one search. Only lines that raise a suspicion are read, and those
that may go on with a suspected text. That many deltas end as a secret begins does not matter: of lines that are alike
(similar_lines.py) the texts are searched as one, which seldom is suspicious.

XX: not seen are a secret in numbers (the `bytes` of logprobs), one cut into `top_logprobs` of another rank for each of its
pieces, one in the escaped name of a member, in a coding that encodings.py does not know (rot13, letters with blanks); and
half a surrogate pair in a delta.
"""

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from ..core.sse import MAX_EVENT
from .needles import covered, ends_as_begins, escaped_spans, is_most, sought
from .similar_lines import LONGEST, ROW, Alike, SimilarRow, compare

MAX_TAILS = 64
"""Texts under suspicion at once. A stream has a handful; an upstream that invents paths shall not fill the memory."""

MAX_PATH = 32
"""Levels of nesting that tell two texts apart, from the inside. The deepest text of the four APIs is at eight."""

MAX_DEPTH = 1000
"""Levels of nesting that are kept; what lies deeper counts as lying here. No JSON reader in use goes deeper."""

MAX_STRINGS = 100_000
"""Suspicious strings in one line, 10 MB of notes about them. A line with more is masked whole."""

MAX_NAME = 100
"""Bytes of a member's name, and of the indices of an object, that tell two texts apart: they are kept for each tail."""

PATIENCE = 32
"""Lines in a row that were compared with the one before, and with no gain; from then on only one in so many is."""

VAIN = 4
"""Times in a row that few lines or none were alike and innocent. What is behind them is searched as a whole, or line by line:
what is cut out of more lines is cut out in vain."""

SAME_TEXT = {b"content_block": b"delta"}
"""Members whose texts a client joins although their names differ: Messages, content_block_start and _delta."""

RANKED = b"top_logprobs"
"""The member whose objects are alternatives, and so are told apart by their places in the list."""

NEVER_JOINED = frozenset(
    b"id item_id object model provider system_fingerprint service_tier type role "
    b"finish_reason native_finish_reason stop_reason obfuscation".split()
)
"""Members that every event repeats: "provider":"Fireworks" is no text that ends as `sk-…` begins. And what nobody reads."""

_QUOTE = ord('"')
_CONTENT = re.compile(rb"[^\r\n]+")
_STRING = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"?'
_TOKEN = re.compile(_STRING + rb"(?:\s*(:)\s*(?:" + _STRING + rb"|(\d+))?)?|[{}\[\]]")
"""A member's name, and its value if that is a string or a number; a string in an array; a bracket. A cut string too."""
_TEXT, _NUMBER = (1, 3), 4  # the groups: a string alone, (2: a colon,) a string or a number as a value
_ESCAPE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")
_TEXTS = re.compile(rb'"([^"\\]*+)"\s*:\s*"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_REPEATED = re.compile(rb'"(?:' + b"|".join(sorted(NEVER_JOINED)) + rb')"\s*:\s*"[^"\\]*+"')

type _Path = tuple[bytes, ...]
type _Unit = tuple[int, int, bytes]
"""A byte of text under suspicion: the byte, the offset of its spelling, the spelling; b"" if it stays masked."""


class _Scope:
    """An object or array that a string stands in."""

    __slots__ = ("index", "name", "parent", "ranked")

    def __init__(self, parent: "_Scope | None", name: bytes) -> None:
        self.parent, self.name, self.index = parent, SAME_TEXT.get(name, name), b""
        self.ranked = 0  # of what is in it, so far
        if parent and parent.name == RANKED and not name:
            self.index = b"%d." % parent.ranked
            parent.ranked += 1

    def path(self, name: bytes) -> _Path:
        """What tells the text of a member from other texts; its name, b"" in a list, comes first."""
        parts = [name]
        scope: _Scope | None = self
        while scope and len(parts) < 2 * MAX_PATH:
            parts += (scope.name, scope.index)
            scope = scope.parent
        return tuple(parts)


class EchoMask:
    """One body. `feed` its bytes and `close`; both return bytes to be written next.

    Then `restored` has (offset, bytes) of what was written as `*` and is innocent: write it back, and clear the list.
    """

    def __init__(self, secrets: Iterable[str], spared: int = 0) -> None:
        self.restored: list[tuple[int, bytes]] = []
        given = sought(frozenset(secrets), spared)
        self._needles, self._heads, self._begins = given.needles, given.heads, given.begins
        self._tails: dict[_Path, list[_Unit]] = {}
        self._in_strings = not any(re.search(rb'["\r\n]', needle) for needle in self._needles)
        self._compares = self._in_strings
        self._alike: Alike | None = None
        self._paths: list[_Path] = []  # of the texts of such lines, once they are known
        self._misses = 0  # lines in a row that were alike to none before
        self._vain = 0  # times in a row
        self._line = bytearray()
        self._overlong = False  # inside a line that is too long to be read: it is masked whole
        self._at = 0

    def feed(self, data: bytes) -> bytes:
        """The lines that `data` completes, masked."""
        if not self._needles:
            return data
        end = 1 + max(data.rfind(b"\n"), data.rfind(b"\r"))
        if end == len(data) and not self._line:
            return self._lines(data)
        if not end:
            if not self._overlong and len(self._line) + len(data) <= MAX_EVENT:
                self._line += data
                return b""
            self._overlong, end = True, len(data)
        lines = b"".join((self._line, memoryview(data)[:end]))
        self._line = bytearray(data[end:])
        return self._lines(lines)

    def close(self) -> bytes:
        """The rest of the body. What is still under suspicion is innocent, unless it is most of a secret."""
        rest = self._lines(bytes(self._line))
        self._line.clear()
        for tail in self._tails.values():
            self._settle(tail)
        self._tails.clear()
        return rest

    def _lines(self, lines: bytes) -> bytes:
        at = self._unsuspected(lines)
        if at < len(lines):
            lines = self._masked(lines, at)
        self._at += len(lines)
        return lines

    def _unsuspected(self, lines: bytes) -> int:
        """Where the first line begins that is to be read, if any is: most often none, which this tells fast."""
        if self._overlong or len(lines) > MAX_EVENT:
            return 0
        at = self._vain = 0
        while self._alike and self._vain < VAIN and (line := _CONTENT.search(lines, at)):
            start, at = line.span()
            row, innocent = self._row(lines, start)
            if row:
                at = row.start(innocent)
                if innocent < row.count:
                    return at
            elif self._concerned(lines, start, at):
                return start
            else:
                self._vain += 1
        if self._vain == VAIN or not self._alike:
            if self._tails or self._begins.search(lines, at):
                return at
            self._learn(lines)
        return len(lines)

    def _learn(self, lines: bytes) -> None:
        """Looks for what lines have in common, of which none is suspicious, in the last ones."""
        last = [line for line in _CONTENT.finditer(lines, max(0, len(lines) - 2 * LONGEST)) if line[0].find(b'"') >= 0]
        if self._compares and len(last) > 1:
            before, line = last[-2:]
            self._compare(before[0], lines[before.end() : line.start()], line[0])

    def _masked(self, lines: bytes, at: int) -> bytes:
        out = bytearray(lines)
        before = (0, 0)
        while line := _CONTENT.search(lines, at):
            row, innocent = self._row(lines, line.start())
            if row:
                at = row.start(innocent)
                if innocent == row.count:
                    continue
                line = _CONTENT.match(lines, at)
                assert line
            start, at = line.span()
            if at - start > MAX_EVENT or (self._overlong and start == 0):
                out[start:at] = b"*" * (at - start)
            elif self._concerned(lines, start, at):
                found = self._read(lines, start, at, out)
                if row:
                    self._paths = [found.get(place, path) for place, path in zip(row.places(innocent), self._paths, strict=True)]
            if self._compares and lines.find(b'"', start, at) >= 0:
                if not row and self._vain < VAIN:
                    self._compare(lines[slice(*before)], lines[before[1] : start], lines[start:at])
                before = start, at
        self._overlong = self._overlong and not lines.endswith((b"\n", b"\r"))
        return bytes(out)

    def _row(self, lines: bytes, at: int) -> tuple[SimilarRow | None, int]:
        """Lines that are alike, if any are, and how many of them are innocent: their texts alone were looked at."""
        if not self._alike or self._vain == VAIN or self._overlong or len(lines) > MAX_EVENT:
            return None, 0
        row = self._alike.row(lines, at)
        if not row.parts:
            return None, 0
        innocent = self._innocent(row)
        end = row.start(innocent)
        self._vain = 0 if end - at >= ROW // 2 or end == len(lines) else self._vain + 1
        return row, innocent

    def _innocent(self, row: SimilarRow) -> int:
        """Lines before the first one in which a secret may begin, or go on."""
        others = (path[0] for path in self._tails if path not in self._paths)
        if any(name in literal for name in others for literal in row.alike.literals):
            return 0
        if (varies := row.others) and self._begins.search(b"\n".join(varies)):
            return 0
        innocent, settled = row.count, []
        for path, texts in zip(self._paths, row.texts, strict=True):
            tail = self._tails.get(path, [])
            before = bytes(unit[0] for unit in tail)
            found = self._begins.search(before + b"".join(texts) + b'"')
            at = found.start() - len(before) if found else 0
            if at < 0 or not before.isascii() or before.find(b"\\") >= 0:
                return 0
            if tail:
                settled.append(path)
            if found:
                innocent = min(innocent, bisect_right([*accumulate(map(len, texts))], at))
        for path in settled:
            self.restored += [unit[1:] for unit in self._tails.pop(path) if unit[2]]
        return innocent

    def _compare(self, before: bytes, gap: bytes, line: bytes) -> None:
        """Learns what a line has in common with the one before, if nothing of that is suspicious."""
        self._misses += 1
        if self._misses > PATIENCE and self._misses % PATIENCE:
            return
        place = self._suspicion(line, 0, len(line))
        alike = compare(before, gap, line, place if place >= 0 else _text_of(line))
        if alike and all(self._suspicion(literal, 0, len(literal)) < 0 for literal in alike.literals):
            self._alike, self._paths, self._misses = alike, [()] * len(alike.places), 0

    def _concerned(self, lines: bytes, start: int, end: int) -> bool:
        """Whether a line must be read."""
        watched = any(lines.find(path[0], start, end) >= 0 for path in self._tails)
        return watched or self._suspicion(lines, start, end) >= 0

    def _suspicion(self, lines: bytes, start: int, end: int) -> int:
        """Where a secret may begin in a line, whatever came before; -1 where none may."""
        at, behind = -1, start
        while suspicion := self._begins.search(lines, behind, end):
            name = at = suspicion.start()
            for _ in range(3):  # the quote before the value, those around the name
                name = lines.rfind(b'"', start, name)
            repeated = _REPEATED.match(lines, max(name, start))
            if not repeated:
                return at
            behind = repeated.end()
        return at if any(lines.find(needle, start, end) >= 0 for needle in self._needles if at >= 0) else -1

    def _read(self, lines: bytes, start: int, end: int, out: bytearray) -> dict[int, _Path]:
        """Masks what one line echoes; `out` is `lines`, to be masked. Where texts begin that were looked at, and their paths."""
        begun = [match.span() for match in self._begins.finditer(lines, start, end)]
        if not self._in_strings or any(lines[last - 1] != _QUOTE for _, last in begun):  # else no secret is in it as a whole
            line = lines[start:end]
            for first, last in (*covered(self._needles, line), *escaped_spans(self._needles, line)):
                out[start + first : start + last] = b"*" * (last - first)
        suspicions = (first for first, _ in begun)
        suspicion = next(suspicions, end)
        scope, name, depth = _Scope(None, b""), b"", 0
        watched = {path[0] for path in self._tails}
        found: list[tuple[_Scope, bytes, int, int]] = []  # judged when all is read: an index may stand behind the text
        for token in _TOKEN.finditer(lines, start, end):
            group = token.lastindex
            if group is None:
                opened = token[0] in b"{["
                depth += opened
                if depth <= MAX_DEPTH and not (opened and scope.parent is None and token[0] == b"["):  # Gemini: `[{…}` and `,{…}`
                    if opened:
                        scope, name = _Scope(scope, name), b""
                    elif scope.parent:
                        scope, name = scope.parent, scope.name
                depth -= not opened and depth > 0
                continue
            if group > 1:
                name = token[1][:MAX_NAME]
            if group == _NUMBER and (name == b"index" or name.endswith(b"_index")) and len(scope.index) < MAX_NAME:
                scope.index += token[_NUMBER].lstrip(b"0")[:MAX_NAME]
            if group in _TEXT:
                first, last = token.span(group)
                while suspicion < first:
                    suspicion = next(suspicions, end)
                if name in NEVER_JOINED:
                    if lines.find(b"\\", first, last) >= 0:
                        self._text(None, lines[first:last], first, out)
                elif suspicion < last or name in watched:
                    watched.add(name)
                    found.append((scope, name, first, last))
                    if len(found) > MAX_STRINGS:
                        out[start:end] = b"*" * (end - start)
                        return {}
        paths = {first: scope.path(name) for scope, name, first, _ in found}
        for _, _, first, last in found:
            self._text(paths[first], lines[first:last], first, out)
        return paths

    def _text(self, path: _Path | None, raw: bytes, at: int, out: bytearray) -> None:
        """Masks one JSON string, at `at` in `out`. It goes on with the text of its path; None: it stands alone."""
        text, where = _unescape(raw)
        tail = self._tails.pop(path, []) if path else []
        before = len(tail)
        joined = bytes(unit[0] for unit in tail) + text
        secret = {i for first, last in covered(self._needles, joined) for i in range(first, last)}
        suspected = ends_as_begins(self._heads, joined) if path else len(joined)
        for i, (byte, offset, spelling) in enumerate(tail):
            if i < suspected and i not in secret and spelling:
                self.restored.append((offset, spelling))
            tail[i] = (byte, offset, b"" if i in secret else spelling)
        for i in sorted({i for i in secret if i >= before}.union(range(max(before, suspected), len(joined)))):
            first = where[i - before]
            last = where[bisect_right(where, first)]
            out[at + first : at + last] = b"*" * (last - first)
            tail.append((joined[i], self._at + at + first, b"" if i in secret else raw[first:last]))
        if path and suspected < len(joined):
            self._tails[path] = tail[suspected - len(joined) :]
            if len(self._tails) > MAX_TAILS:
                self._settle(self._tails.pop(next(iter(self._tails))))

    def _settle(self, tail: list[_Unit]) -> None:
        """The text of a tail is over: it is innocent, unless it is most of a secret."""
        if not is_most(self._heads, bytes(unit[0] for unit in tail)):
            self.restored += [unit[1:] for unit in tail if unit[2]]


def _text_of(line: bytes) -> int:
    """Where the last value ends that is a text, and none that every event repeats; -1 where there is none."""
    return max((match.end() - 1 for match in _TEXTS.finditer(line) if match[1] not in NEVER_JOINED), default=-1)


def _unescape(raw: bytes) -> tuple[bytes, Sequence[int]]:
    """The text of a JSON string as UTF-8, and where in `raw` the spelling of each of its bytes, and the end, begins."""
    if raw.find(b"\\") < 0:
        return raw, range(len(raw) + 1)
    text, where, at = bytearray(), array("L"), 0
    for escape in _ESCAPE.finditer(raw):
        first, last = escape.span()
        try:
            meant = json.loads(b'"%s"' % escape[0]).encode(errors="surrogatepass")
        except ValueError:  # no JSON
            meant = escape[0]
        text += raw[at:first] + meant
        where.extend(range(at, first))
        where.extend([first] * len(meant))
        at = last
    where.extend(range(at, len(raw) + 1))
    return bytes(text + raw[at:]), where
