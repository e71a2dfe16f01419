r"""Looks for secrets in the files of a recording, before they leave the machine they were made on.

    scan({"upstream.sse": b"…"}, os.environ)  →  upstream.sse:12 (choices.0.delta.content): a key that begins with sk-

Looked at are all strings of all JSON in the files, names of members too; and in a stream, where a key comes as `s` `k-` `AB` …,
the strings of one place joined, as a client joins them. Each as it is, with `\u0073` and `%73` undone, and what it holds in
base64.

Rule of this file: a finding says where and what, never the value. It rather asks once too often: but ids, hashes, signatures and
identifiers are what a stream is full of, and are none.
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
"""Members whose values look random and are no secret; the shapes of keys are looked for in them as well."""

MAX_RUN = 200
"""Characters of a high-entropy string: what is longer is an image, a signature, a model's hidden reasoning."""

MAX_BASE64 = 65536
"""Characters that are undone as base64: a file with credentials has a few thousand."""

_WORDS = re.compile(r"[a-z]+(?:[-_./][a-z]+)*|(?:[A-Z]?[a-z]+|[A-Z]+)(?:[-_./](?:[A-Z]?[a-z]+|[A-Z]+))+")
"""Words, as in the class of a style sheet, `sk-fading-circle-delay`, or a stand-in, `Bearer YOUR_ACCESS_TOKEN`."""
_RUN = re.compile(r"[A-Za-z0-9+/_-]{20,}")
_ID = re.compile(  # what APIs and lock files put in front of what is no secret
    r"(call|toolu|tooluse|srvtoolu|msg|chatcmpl|cmpl|resp|fc|ctc|rs|ws|item|req|run|thread|file|asst|gen|evt|batch|tool|functions|sha[0-9]+)[_-]"
)
_USERINFO = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}")
_BREAK = re.compile("\n")
_ESCAPED = re.compile(r"(?<!\\)\\++u([0-9a-fA-F]{4})")  # a run of them is one beginning, or each is read to its end


@value
class SecretFinding:
    """A secret, or what looks like one. `line` is 0 where the file has one only; `path` is empty outside of JSON."""

    file: str
    line: int
    path: str
    what: str

    @property
    def place(self) -> str:
        """Where it is, in one word: `upstream.sse:12`, `request.json:messages[3].content`."""
        return f"{self.file}:{self.line or self.path}"

    def __str__(self) -> str:
        path = f" ({self.path})" if self.line and self.path else ""
        return f"{self.place}{path}: {self.what}"


def scan(files: Mapping[str, bytes], environ: Mapping[str, str]) -> list[SecretFinding]:
    """What is found in files, by their names; `environ` are the variables whose values must not be there."""
    needles = [(name, text) for name, value in credentials(environ) for text in spellings(value)]
    found: dict[SecretFinding, None] = {}
    for file, data in files.items():
        clean = len(found)
        texts = texts_of(file, data)
        for path, text in texts.items():
            plain = not UNLIKE_TEXT.fullmatch(last_name(path))
            joined = "".join(text.pieces)
            for offset, what in find(joined, needles, plain=plain):
                found[SecretFinding(file, text.line_at(offset), path, what)] = None
            if plain and _is_named(path, texts) and is_secret(joined.strip()):
                found[SecretFinding(file, text.line_at(0), path, NAMED)] = None
        if len(found) == clean:  # what no reader of JSON tells: names said twice, numbers, the ids of events
            raw = data.decode(errors="replace")
            breaks = [match.start() for match in _BREAK.finditer(raw)]
            for offset, what in find(raw, needles, plain=False):
                found[SecretFinding(file, 1 + bisect_left(breaks, offset), "", what)] = None
    return sorted(found, key=lambda one: (one.file, one.line, one.path, one.what))


def _is_named(path: str, texts: Mapping[str, RecordedText]) -> bool:
    """Whether a member is named like a credential, or by the one beside it: `{"name": "API_KEY", "value": …}`."""
    name, before = last_name(path), path.removesuffix("value")
    if name == "value":
        names = [texts[before + other] for other in ("name", "key") if before + other in texts]
        return any(is_credential("".join(text.pieces).strip()) for text in names)
    return is_credential(name) and "logprobs" not in path  # there a token is a piece of text


def credentials(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables that hold a secret, by their names; and the passwords in URLs."""
    for name, held in environ.items():
        if is_credential(name) and len(held) >= MIN_SECRET:
            yield name, held
        for password in _USERINFO.findall(held):
            if len(password) >= MIN_SECRET:
                yield name, password


def find(text: str, needles: Iterable[tuple[str, str]] = (), *, plain: bool = True) -> Iterator[tuple[int, str]]:
    """What a text holds, and about where. `needles` are (variable, value); `plain`: what looks random is a secret."""
    told = bytearray(len(text))  # 1 where something was found
    for form, parts in _forms(text):
        whole = "\0".join(known for known, _ in parts)  # most of what is looked for is in none of them
        values = [(name, needle) for name, needle in needles if needle in whole]
        shapes = [(literal, key_pattern(literal, rest)) for literal, rest in KEYS if literal in whole]
        for known, start in parts if values or shapes else ():
            for name, needle in values:
                if (at := known.find(needle)) >= 0:
                    _mark(told, *((start, start + 1) if form else (at, at + len(needle))))
                    yield (start if form else at), f"the value of ${name}{form}"
            for literal, shape in shapes:
                for match in shape.finditer(known):
                    if _random(match[0][len(literal) :]):
                        _mark(told, *((start, start + 1) if form else match.span()))
                        yield (start if form else match.start()), f"a key that begins with {literal.strip()}{form}"
    for at, end, what in _unknown(text) if plain else ():
        if told.find(1, at, end) < 0:
            _mark(told, at, end)
            yield at, what


def _mark(told: bytearray, first: int, last: int) -> None:
    told[first:last] = b"\1" * (min(last, len(told)) - first)


def _unknown(text: str) -> Iterator[tuple[int, int, str]]:
    """What has no known form, but looks like a secret, or is called one."""
    yield from named(text)
    for match in _RUN.finditer(text):
        if _looks_random(match[0]) and text[max(0, match.start() - 3) : match.start()] != "h1:":  # go.sum
            yield *match.span(), "a string that looks random"


def _forms(text: str) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    r"""A text, and what it means: how it was written, and of each part the meaning, and where it stands."""
    yield "", [(text, 0)]
    if "\\u" in text:
        yield r", written with \u", [(_ESCAPED.sub(lambda match: chr(int(match[1], 16)), text), text.find("\\u"))]
    if "%" in text and (undone := unquote(text)) != text:
        yield ", written with %", [(undone, text.find("%"))]
    yield ", in base64", [(_undone(run[0]), run.start()) for run in _BASE64.finditer(text) if len(run[0]) <= MAX_BASE64]


def _undone(run: str) -> str:
    """A run of base64, as it would be read from each of its first four characters: it may stand behind others of the alphabet."""
    data = run.replace("+", "-").replace("/", "_")
    parts = (data[skipped:] for skipped in range(4))
    coded = (part[: len(part) & ~3] if len(part) % 4 == 1 else part + "=" * (-len(part) % 4) for part in parts)
    return "\0".join(urlsafe_b64decode(part).decode("latin-1") for part in coded)


def _random(rest: str) -> bool:
    """Whether what follows a prefix may be a key, and not words or a stand-in."""
    return len(set(rest)) > 5 and not _WORDS.fullmatch(rest)


def _looks_random(run: str) -> bool:
    """Whether a run of characters was drawn at random, and is no id."""
    return len(run) <= MAX_RUN and not _ID.match(run) and is_high_entropy(run)
