r"""Scans the files of a recording for secrets, before they leave the machine they were made on.

    scan({"upstream.sse": b"…"}, os.environ)  →  upstream.sse:12 (choices.0.delta.content): a key that begins with sk-

All strings of all JSON in the files are scanned, names of members included; in a stream, where a key arrives as `s` `k-` `AB` …,
the strings of one path are joined as a client joins them. Each is scanned verbatim, with `\u0073` and `%73` decoded, and for
base64.

A finding has place and kind, never the value. False positives are preferred to misses, but ids, hashes, signatures and
identifiers, of which a stream is full, are not reported.
"""

import re
from base64 import urlsafe_b64decode
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from ...core.fastclass import value
from ...secrets.encodings import spellings
from ...secrets.key_patterns import KEYS, key_pattern
from ...secrets.named_secrets import NAMED, is_secret, named
from ...secrets.names import is_credential
from ...secrets.randomness import is_high_entropy
from ...secrets.request_secrets import MIN_SECRET
from ..write.recorded_text import RecordedText, last_name, texts_of

UNLIKE_TEXT = re.compile(r"(.*_)?ids?|signature|thought_?signature|encrypted_content|obfuscation|system_fingerprint|data|sha256")
"""Members whose values look random and are not secrets; only the patterns of known keys are searched in them."""

MAX_RUN = 200
"""Characters of a high-entropy string: a longer one is an image, a signature, hidden reasoning."""

MAX_BASE64 = 65536
"""Characters that are decoded as base64: a file of credentials has a few thousand."""

_WORDS = re.compile(r"[a-z]+(?:[-_./][a-z]+)*|(?:[A-Z]?[a-z]+|[A-Z]+)(?:[-_./](?:[A-Z]?[a-z]+|[A-Z]+))+")
"""Words, such as a style sheet's class `sk-fading-circle-delay`, or a placeholder, `Bearer YOUR_ACCESS_TOKEN`."""
_RUN = re.compile(r"[A-Za-z0-9+/_-]{20,}")
_ID = re.compile(  # prefixes of ids and hashes in APIs and lock files
    r"(call|toolu|tooluse|srvtoolu|msg|chatcmpl|cmpl|resp|fc|ctc|rs|ws|item|req|run|thread|file|asst|gen|evt|batch|tool|functions|sha[0-9]+)[_-]"
)
_USERINFO = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}")
_BREAK = re.compile("\n")
_ESCAPED = re.compile(r"(?<!\\)\\++u([0-9a-fA-F]{4})")  # possessive: each run of backslashes is tried once


@value
class SecretFinding:
    """A possible secret. `line`: 0 in a file of one JSON value; `path`: empty outside of JSON; `what`: the kind."""

    file: str
    line: int
    path: str
    what: str

    @property
    def place(self) -> str:
        """The place in one word: `upstream.sse:12`, `request.json:messages[3].content`."""
        return f"{self.file}:{self.line or self.path}"

    def __str__(self) -> str:
        path = f" ({self.path})" if self.line and self.path else ""
        return f"{self.place}{path}: {self.what}"


def scan(files: Mapping[str, bytes], environ: Mapping[str, str]) -> list[SecretFinding]:
    """Returns the findings in files, by their names; `environ`: variables whose values must not occur."""
    needles = [(name, text) for name, value in credentials(environ) for text in spellings(value)]
    found: dict[SecretFinding, None] = {}
    for file, data in files.items():
        clean = len(found)
        texts = texts_of(file, data)
        for path, text in texts.items():
            plain = not UNLIKE_TEXT.fullmatch(last_name(path))
            joined = "".join(text.pieces)
            for offset, kind in find(joined, needles, plain=plain):
                found[SecretFinding(file, text.line_at(offset), path, kind)] = None
            if plain and _is_named(path, texts) and is_secret(joined.strip()):
                found[SecretFinding(file, text.line_at(0), path, NAMED)] = None
        if len(found) == clean:  # what JSON parsing hides: repeated names, numbers, the ids of SSE events
            raw = data.decode(errors="replace")
            breaks = [match.start() for match in _BREAK.finditer(raw)]
            for offset, kind in find(raw, needles, plain=False):
                found[SecretFinding(file, 1 + bisect_left(breaks, offset), "", kind)] = None
    return sorted(found, key=lambda finding: (finding.file, finding.line, finding.path, finding.what))


def _is_named(path: str, texts: Mapping[str, RecordedText]) -> bool:
    """Whether a member has a credential's name, or that in `{"name": "API_KEY", "value": …}`."""
    name, before = last_name(path), path.removesuffix("value")
    if name == "value":
        names = [texts[before + other] for other in ("name", "key") if before + other in texts]
        return any(is_credential("".join(text.pieces).strip()) for text in names)
    return is_credential(name) and "logprobs" not in path  # where a token is a piece of text


def credentials(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the variables with a secret, and the passwords in URLs."""
    for name, held in environ.items():
        if is_credential(name) and len(held) >= MIN_SECRET:
            yield name, held
        for password in _USERINFO.findall(held):
            if len(password) >= MIN_SECRET:
                yield name, password


def find(text: str, needles: Iterable[tuple[str, str]] = (), *, plain: bool = True) -> Iterator[tuple[int, str]]:
    """Yields offsets and kinds of the secrets in a text.

    Args:
        text: The text.
        needles: (variable, value) of the environment.
        plain: Random-looking strings count as secrets, too.
    """
    reported = bytearray(len(text))  # 1 where something was found
    for form, parts in _forms(text):
        whole = "\0".join(known for known, _ in parts)  # most needles occur nowhere
        values = [(name, needle) for name, needle in needles if needle in whole]
        shapes = [(literal, key_pattern(literal, rest)) for literal, rest in KEYS if literal in whole]
        for known, start in parts if values or shapes else ():
            for name, needle in values:
                if (at := known.find(needle)) >= 0:
                    _mark(reported, *((start, start + 1) if form else (at, at + len(needle))))
                    yield (start if form else at), f"the value of ${name}{form}"
            for literal, shape in shapes:
                for match in shape.finditer(known):
                    if _random(match[0][len(literal) :]):
                        _mark(reported, *((start, start + 1) if form else match.span()))
                        yield (start if form else match.start()), f"a key that begins with {literal.strip()}{form}"
    for at, end, kind in _unknown(text) if plain else ():
        if reported.find(1, at, end) < 0:
            _mark(reported, at, end)
            yield at, kind


def _mark(reported: bytearray, first: int, last: int) -> None:
    reported[first:last] = b"\1" * (min(last, len(reported)) - first)


def _unknown(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields what has no known pattern, but looks like a secret or has a credential's name."""
    yield from named(text)
    for match in _RUN.finditer(text):
        if _looks_random(match[0]) and text[max(0, match.start() - 3) : match.start()] != "h1:":  # go.sum
            yield *match.span(), "a string that looks random"


def _forms(text: str) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    r"""Yields a text and its decoded forms: the encoding, and each decoded part with its offset."""
    yield "", [(text, 0)]
    if "\\u" in text:
        yield r", written with \u", [(_ESCAPED.sub(lambda match: chr(int(match[1], 16)), text), text.find("\\u"))]
    if "%" in text and (plain := unquote(text)) != text:
        yield ", written with %", [(plain, text.find("%"))]
    yield ", in base64", [(_decoded(run[0]), run.start()) for run in _BASE64.finditer(text) if len(run[0]) <= MAX_BASE64]


def _decoded(run: str) -> str:
    """Decodes a run of base64 from each of its first four characters: other characters of the alphabet may precede it."""
    data = run.replace("+", "-").replace("/", "_")
    parts = (data[skipped:] for skipped in range(4))
    coded = (part[: len(part) & ~3] if len(part) % 4 == 1 else part + "=" * (-len(part) % 4) for part in parts)
    return "\0".join(urlsafe_b64decode(part).decode("latin-1") for part in coded)


def _random(rest: str) -> bool:
    """Whether the text after a prefix may be a key, not words or a placeholder."""
    return len(set(rest)) > 5 and not _WORDS.fullmatch(rest)


def _looks_random(run: str) -> bool:
    """Whether a run of characters is random and not an id."""
    return len(run) <= MAX_RUN and not _ID.match(run) and is_high_entropy(run)
