r"""Masks the secrets of a request where the response echoes them, while the response is written to disk.

    {"delta":{"content":"Your key is s"}}   {"delta":{"content":"Your key is *"}}
    {"delta":{"content":"k-ABCDE"}}      →  {"delta":{"content":"*******"}}
    {"delta":{"content":"FGH, ok?"}}        {"delta":{"content":"***, ok?"}}

1. The output is the input, with `*` for every byte that spells a secret. Length and offsets stay.
2. The result does not depend on how the input is cut. A body without an echoed secret is unchanged.
3. Only incomplete lines are held, and no part of a secret is ever on the disk. A string that ends as a secret begins is masked on
   suspicion; if its text continues differently, `restored` returns the bytes.

A secret is found in one piece, anywhere; in a JSON string with any escapes (`\u0073k-`, `\/`); and across several JSON strings
that a client joins. Those are strings at the same path in consecutive documents. A path consists of the names of the members, the
`index` (or `output_index` …) of the objects on it, and the rank of an object among the alternatives to a token: the likeliest
alternative of one token continues in the likeliest of the next.

Cost: one search passes lines in which no secret can begin. Only suspicious lines are parsed, and those that may continue a
suspected text. Many deltas end as a secret begins, so the texts of similar lines (similar_lines.py) are searched joined, which is
rarely suspicious.

XX: not found are secrets as numbers (the `bytes` of logprobs), split over `top_logprobs` of different ranks, in the escaped name
of a member, or in an encoding that encodings.py lacks (rot13, spaced letters); and half of a surrogate pair in a delta.
"""

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from ..core.sse import MAX_EVENT
from .needles import covered, ends_as_begins, escaped_spans, is_most, needle_set
from .similar_lines import LONGEST, ROW, LineTemplate, SimilarRow, compare

MAX_TAILS = 64
"""Suspected texts at once. A stream has a handful; an upstream that invents paths must not fill the memory."""

MAX_PATH = 32
"""Innermost levels of nesting that distinguish two texts. The deepest text of the four APIs is at level eight."""

MAX_DEPTH = 1000
"""Levels of nesting that are tracked; deeper ones count as this one. No common JSON parser goes deeper."""

MAX_STRINGS = 100_000
"""Suspicious strings in one line, 10 MB of bookkeeping. A line with more is masked entirely."""

MAX_NAME = 100
"""Bytes of a member's name, and of an object's indices, that distinguish two texts: they are kept for each tail."""

MAX_MISSES = 32
"""Consecutive lines that were compared with the one before without a match; after that only one in as many is compared."""

MAX_FUTILE = 4
"""Consecutive attempts in which few or no lines were similar and innocent. After that, the rest of the input is searched as a
whole, or line by line: splitting similar lines costs more than it saves.
"""

SAME_TEXT = {b"content_block": b"delta"}
"""Members whose texts a client joins although their names differ: Messages, content_block_start and _delta."""

RANKED = b"top_logprobs"
"""The member whose objects are alternatives, distinguished by their places in the list."""

NEVER_JOINED = frozenset(
    b"id item_id object model provider system_fingerprint service_tier type role "
    b"finish_reason native_finish_reason stop_reason obfuscation".split()
)
"""Members that every event repeats, or that no client reads: "provider":"Fireworks" is not a text that ends as `sk-…` begins."""

_QUOTE = ord('"')
_CONTENT = re.compile(rb"[^\r\n]+")
_STRING = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"?'
_TOKEN = re.compile(_STRING + rb"(?:\s*(:)\s*(?:" + _STRING + rb"|(\d+))?)?|[{}\[\]]")
"""A member's name, with its value if that is a string or a number; a string in an array; a bracket. Also a cut string."""
_TEXT, _NUMBER = (1, 3), 4  # the groups: a string alone, (2: a colon,) a string value, a number value
_ESCAPE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")
_TEXTS = re.compile(rb'"([^"\\]*+)"\s*:\s*"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_REPEATED = re.compile(rb'"(?:' + b"|".join(sorted(NEVER_JOINED)) + rb')"\s*:\s*"[^"\\]*+"')

type _Path = tuple[bytes, ...]
type _Unit = tuple[int, int, bytes]
"""A suspected byte of text: the byte, the offset of its spelling, the spelling (b"" if it stays masked)."""


class _Scope:
    """An object or array that contains a string."""

    __slots__ = ("index", "name", "parent", "ranked")

    def __init__(self, parent: "_Scope | None", name: bytes) -> None:
        self.parent, self.name, self.index = parent, SAME_TEXT.get(name, name), b""
        self.ranked = 0  # ranked objects in it so far
        if parent and parent.name == RANKED and not name:
            self.index = b"%d." % parent.ranked
            parent.ranked += 1

    def path(self, name: bytes) -> _Path:
        """Returns what distinguishes a member's text from others, beginning with its name, b"" in a list."""
        parts = [name]
        scope: _Scope | None = self
        while scope and len(parts) < 2 * MAX_PATH:
            parts += (scope.name, scope.index)
            scope = scope.parent
        return tuple(parts)


class EchoMask:
    """Masks one body. `feed` its bytes and `close`; both return the bytes to write next.

    Afterwards `restored` has (offset, bytes) of innocent bytes that were written as `*`: write them back and clear the list.
    """

    def __init__(self, secrets: Iterable[str], spared: int = 0) -> None:
        self.restored: list[tuple[int, bytes]] = []
        needles = needle_set(frozenset(secrets), spared)
        self._needles, self._heads, self._begins = needles.needles, needles.heads, needles.begins
        self._tails: dict[_Path, list[_Unit]] = {}
        self._in_strings = not any(re.search(rb'["\r\n]', needle) for needle in self._needles)
        self._compares = self._in_strings
        self._template: LineTemplate | None = None
        self._paths: list[_Path] = []  # of the template's texts, once known
        self._misses = 0  # consecutive lines that matched no other
        self._futile = 0  # consecutive attempts: see MAX_FUTILE
        self._line = bytearray()
        self._overlong = False  # inside a line that is too long to be parsed: it is masked entirely
        self._at = 0

    def feed(self, data: bytes) -> bytes:
        """Returns the lines that `data` completes, masked."""
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
        """Returns the rest of the body, masked. A text still suspected is innocent, unless it is most of a secret."""
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
        """Returns where the first line begins that must be parsed; most often the end, which this finds fast."""
        if self._overlong or len(lines) > MAX_EVENT:
            return 0
        at = self._futile = 0
        while self._template and self._futile < MAX_FUTILE and (line := _CONTENT.search(lines, at)):
            start, at = line.span()
            row, innocent = self._row(lines, start)
            if row:
                at = row.start(innocent)
                if innocent < row.count:
                    return at
            elif self._concerned(lines, start, at):
                return start
            else:
                self._futile += 1
        if self._futile == MAX_FUTILE or not self._template:
            if self._tails or self._begins.search(lines, at):
                return at
            self._learn(lines)
        return len(lines)

    def _learn(self, lines: bytes) -> None:
        """Learns a template from the last lines, none of which is suspicious."""
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
                if not row and self._futile < MAX_FUTILE:
                    self._compare(lines[slice(*before)], lines[before[1] : start], lines[start:at])
                before = start, at
        self._overlong = self._overlong and not lines.endswith((b"\n", b"\r"))
        return bytes(out)

    def _row(self, lines: bytes, at: int) -> tuple[SimilarRow | None, int]:
        """Returns similar lines, if there are any, and how many of them are innocent; only their texts were searched."""
        if not self._template or self._futile == MAX_FUTILE or self._overlong or len(lines) > MAX_EVENT:
            return None, 0
        row = self._template.row(lines, at)
        if not row.parts:
            return None, 0
        innocent = self._innocent(row)
        end = row.start(innocent)
        self._futile = 0 if end - at >= ROW // 2 or end == len(lines) else self._futile + 1
        return row, innocent

    def _innocent(self, row: SimilarRow) -> int:
        """Returns the number of lines before the first one in which a secret may begin or continue."""
        others = (path[0] for path in self._tails if path not in self._paths)
        if any(name in literal for name in others for literal in row.template.literals):
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
        """Learns the template of a line and the one before, if nothing in it is suspicious."""
        self._misses += 1
        if self._misses > MAX_MISSES and self._misses % MAX_MISSES:
            return
        place = self._suspicion(line, 0, len(line))
        template = compare(before, gap, line, place if place >= 0 else _text_of(line))
        if template and all(self._suspicion(literal, 0, len(literal)) < 0 for literal in template.literals):
            self._template, self._paths, self._misses = template, [()] * len(template.places), 0

    def _concerned(self, lines: bytes, start: int, end: int) -> bool:
        """Whether a line must be parsed."""
        watched = any(lines.find(path[0], start, end) >= 0 for path in self._tails)
        return watched or self._suspicion(lines, start, end) >= 0

    def _suspicion(self, lines: bytes, start: int, end: int) -> int:
        """Returns where a secret may begin in a line, regardless of the text before it; -1 if nowhere."""
        at, after = -1, start
        while suspicion := self._begins.search(lines, after, end):
            name = at = suspicion.start()
            for _ in range(3):  # the quote before the value, those around the name
                name = lines.rfind(b'"', start, name)
            repeated = _REPEATED.match(lines, max(name, start))
            if not repeated:
                return at
            after = repeated.end()
        return at if any(lines.find(needle, start, end) >= 0 for needle in self._needles if at >= 0) else -1

    def _read(self, lines: bytes, start: int, end: int, out: bytearray) -> dict[int, _Path]:
        """Masks the echoes of one line in `out`, a copy of `lines`. Returns the paths of the checked texts by their offsets."""
        begun = [match.span() for match in self._begins.finditer(lines, start, end)]
        if not self._in_strings or any(lines[last - 1] != _QUOTE for _, last in begun):  # else it holds no whole secret
            line = lines[start:end]
            for first, last in (*covered(self._needles, line), *escaped_spans(self._needles, line)):
                out[start + first : start + last] = b"*" * (last - first)
        suspicions = (first for first, _ in begun)
        suspicion = next(suspicions, end)
        scope, name, depth = _Scope(None, b""), b"", 0
        watched = {path[0] for path in self._tails}
        found: list[tuple[_Scope, bytes, int, int]] = []  # checked after the line is parsed: an index may follow the text
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
        """Masks one JSON string at `at` in `out`. It continues the text of its path; None: it stands alone."""
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
        """Ends the text of a tail: it is innocent, unless it is most of a secret."""
        if not is_most(self._heads, bytes(unit[0] for unit in tail)):
            self.restored += [unit[1:] for unit in tail if unit[2]]


def _text_of(line: bytes) -> int:
    """Returns where the last text value ends that not every event repeats; -1 if there is none."""
    return max((match.end() - 1 for match in _TEXTS.finditer(line) if match[1] not in NEVER_JOINED), default=-1)


def _unescape(raw: bytes) -> tuple[bytes, Sequence[int]]:
    """Returns the text of a JSON string as UTF-8, and where in `raw` the spelling of each of its bytes, and the end, begins."""
    if raw.find(b"\\") < 0:
        return raw, range(len(raw) + 1)
    text, where, at = bytearray(), array("L"), 0
    for escape in _ESCAPE.finditer(raw):
        first, last = escape.span()
        try:
            meant = json.loads(b'"%s"' % escape[0]).encode(errors="surrogatepass")
        except ValueError:  # not JSON
            meant = escape[0]
        text += raw[at:first] + meant
        where.extend(range(at, first))
        where.extend([first] * len(meant))
        at = last
    where.extend(range(at, len(raw) + 1))
    return bytes(text + raw[at:]), where
