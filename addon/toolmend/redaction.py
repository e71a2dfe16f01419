"""What a recording may say of a request: secrets go out on the way to disk.

    secrets_of(exchange) -> the secrets that the request carried; secrets_in(headers, path): in front of its body
    Redactor(secrets)       takes them, and whatever looks like a key, out of texts, headers, paths and JSON bodies

Rule of this file: not one character of a secret is kept. A header is kept only if its name is on a list; a value goes
if its name says credential; a text loses what has the shape of a known key. When in doubt it goes.
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, unquote_plus

from . import json_text
from .credentials import ANY, Types, are_headers, are_secrets, holds_credential, in_query, is_identity, secret_types
from .recordings.disguises import disguises

if TYPE_CHECKING:
    from .recordings.exchange import Exchange

REDACTED = "[REDACTED]"

MIN_SECRET = 8
"""Characters. What is shorter guards nothing, and looking for it would mask half of a text."""

MAX_SHAPED = 16
"""Secrets that only their shape tells: a conversation that quotes more than a handful of keys is about something else."""

MAX_NAMED = 64
"""Secrets that their names tell, those of the headers first: to look for one takes 6 ms and 150 KB of each answer. What has more
is data, in which words are called tokens."""

MAX_SECRET = 16 * 1024
"""Characters of a secret that are looked for: tokens that name all groups of a user have as many. What is longer is a text."""

MAX_SECRETS = 64 * 1024
"""Characters of all together, those of the headers first: their forms take forty times as much memory."""

LONGEST_KEY = 1000
"""Characters: a key that a text is cut in is known by what is behind the cut."""

KEPT_HEADERS = re.compile(
    "accept(-encoding|-language)?|alt-svc|anthropic-(beta|version)|cache-control|connection|content-(encoding|length|type)|date"
    "|host|openai-(beta|processing-ms|version)|(x-)?request-id|retry-after|server|transfer-encoding|user-agent|vary|via"
    "|x-accel-buffering|x-should-retry|x-stainless-[a-z-]+"
)

KEYS = (
    (
        "sk-",
        r"[A-Za-z0-9_-]{16,}",
    ),  # OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-), DeepSeek, Moonshot: their key pages
    ("AIza", r"[A-Za-z0-9_-]{30,}"),  # Google, down to GOCSPX-: cloud.google.com/docs/authentication
    ("AQ.", r"[A-Za-z0-9_-]{30,}"),
    ("ya29.", r"[A-Za-z0-9_-]{20,}"),
    ("GOCSPX-", r"[A-Za-z0-9_-]{20,}"),
    ("gsk_", r"[A-Za-z0-9]{20,}"),  # Groq: console.groq.com/keys
    ("xai-", r"[A-Za-z0-9_-]{20,}"),  # xAI: docs.x.ai
    ("hf_", r"((oauth|jwt)_[A-Za-z0-9._-]{20,}|[A-Za-z0-9]{20,})"),  # Hugging Face: huggingface.co/docs/hub/security-tokens
    ("pplx-", r"[A-Za-z0-9]{20,}"),  # Perplexity: its key page; so down to nvapi-
    ("csk-", r"[A-Za-z0-9]{20,}"),  # Cerebras
    ("fw_", r"[A-Za-z0-9]{20,}"),  # Fireworks
    ("tgp_v1_", r"[A-Za-z0-9_-]{20,}"),  # Together
    ("r8_", r"[A-Za-z0-9]{20,}"),  # Replicate
    ("nvapi-", r"[A-Za-z0-9_-]{20,}"),  # NVIDIA
    ("ghp_", r"[A-Za-z0-9]{20,}"),  # GitHub, down to github_pat_: docs.github.com, "GitHub's token formats"
    ("gho_", r"[A-Za-z0-9]{20,}"),
    ("ghu_", r"[A-Za-z0-9]{20,}"),
    ("ghs_", r"([0-9]+_eyJ[A-Za-z0-9_.-]{20,}|[A-Za-z0-9]{20,})"),  # since 2026 with a JWT inside
    ("ghr_", r"[A-Za-z0-9]{20,}"),
    ("github_pat_", r"[A-Za-z0-9_]{20,}"),
    ("glpat-", r"[A-Za-z0-9_.-]{20,}"),  # GitLab: docs.gitlab.com, "Token prefixes"
    ("xox", r"[abceoprs]-[A-Za-z0-9-]{10,}"),  # Slack: docs.slack.dev, "Tokens"
    ("xoxd-", r"[A-Za-z0-9%/+=_-]{20,}"),
    ("xapp-", r"[A-Za-z0-9-]{10,}"),
    ("AKIA", r"[A-Z0-9]{16}"),  # AWS: docs.aws.amazon.com, "IAM identifiers"
    ("ASIA", r"[A-Z0-9]{16}"),
    ("ABSK", r"[A-Za-z0-9+/=]{40,}"),  # Bedrock: docs.aws.amazon.com, "Amazon Bedrock API keys"
    ("bedrock-api-key-", r"[A-Za-z0-9+/=]{40,}"),
    ("vck_", r"[A-Za-z0-9]{24,}"),  # Vercel: vercel.com/docs/ai-gateway
    ("sk_live_", r"[A-Za-z0-9]{16,}"),  # Stripe: docs.stripe.com/keys
    ("npm_", r"[A-Za-z0-9]{36}"),  # npm: docs.npmjs.com, "About access tokens"
    ("Bearer ", r"[A-Za-z0-9._~+/=-]{16,}"),  # RFC 6750, section 2.1
    ("bearer ", r"[A-Za-z0-9._~+/=-]{16,}"),
    ("eyJ", r"(?<![_-]eyJ)[A-Za-z0-9_-]{5,}(\.[A-Za-z0-9_-]*){2,}"),  # JWT, JWE: RFC 7519, RFC 7516; `{"` in base64
    ("-----BEGIN ", r"[A-Z0-9 ]*PRIVATE KEY[\s\S]*?(-----END [A-Z0-9 ]*-----|\Z)"),  # PEM: RFC 7468
)
"""Known keys: what they begin with, as a word does, and how they go on."""

BLOCK = 1024 * 1024
"""Bytes of a body that are searched at once where it is no JSON, or more than is read."""


MOST_KEYLESS = 20_000
"""Texts that are known to hold no key: agents send the whole conversation with every request. 70 bytes each."""

_keyless: set[int] = set()
"""Their hashes."""

LONG = 10_000
"""Characters of a text, as of which there are pauses while it is searched."""

type Pause = Callable[[], object]
"""Called again and again while a body is gone through: one of 500 KB takes 20 ms, in which a thread may let others go on."""


def go_on() -> None:
    """No pause."""


def _begun_in(text: str, pause: Pause) -> list[tuple[str, str]]:
    """Of KEYS, those whose beginnings stand in a text. To search 100 KB for all takes 2 ms."""
    if (known := hash(text)) in _keyless:
        return []
    found = []
    for literal, rest in KEYS:
        if literal in text:
            found.append((literal, rest))
        if len(text) > LONG:
            pause()
    if not found:
        if len(_keyless) >= MOST_KEYLESS:
            _keyless.clear()
        _keyless.add(known)
    return found


@cache  # few of them ever occur, and to make all takes milliseconds of each start
def key_shape(literal: str, rest: str) -> re.Pattern[str]:
    r"""A known key where a word begins, be it behind the `\n` of a text in a text. A literal first: that is fast."""
    plain = re.escape(literal)
    return re.compile(rf"{plain}((?<![A-Za-z0-9]{plain})|(?<=\\[nrt]{plain})){rest}")


def secrets_of(exchange: "Exchange", pause: Pause = go_on) -> tuple[str, ...]:
    """The credentials in a request's headers, query and bodies, of MIN_SECRET characters or more, longest first.

    Of one that is longer than MAX_SECRET, what it begins with.
    """
    found, shaped = _in_front(exchange.request_headers, exchange.path)
    for body in filter(None, (exchange.request, exchange.upstream_request)):
        try:
            value = json_text.loads(body)
            pause()
            found += _body_secrets(value, pause)
            shaped += _shaped_within(value, pause)
        except (json_text.NotJSON, RecursionError):
            for at in range(0, len(body), BLOCK):
                shaped += _shaped(body[at : at + BLOCK + LONGEST_KEY].decode(errors="replace"))
    return _kept(found, shaped)


def secrets_in(headers: Iterable[tuple[str, str]], path: str) -> tuple[str, ...]:
    """Those of `secrets_of` that stand in front of a request's body."""
    return _kept(*_in_front(headers, path))


def _in_front(headers: Iterable[tuple[str, str]], path: str) -> tuple[list[str], list[str]]:
    """What names tell, and what only its shape tells."""
    found: list[str] = []
    shaped: list[str] = []
    for name, value in headers:
        if holds_credential(name):
            found += _header_secrets(name, value)
        else:
            shaped += _shaped(value)
    place, _, query = path.partition("?")
    if userinfo := _USERINFO.search(place):
        password = userinfo[1].partition(":")[2]
        found += [userinfo[1], password, unquote(password)]
    return [*found, *_query_secrets(query)], [*shaped, *_shaped(unquote(path))]


def _kept(found: Iterable[str], shaped: Iterable[str]) -> tuple[str, ...]:
    named = [text for text in dict.fromkeys(found) if len(text) >= MIN_SECRET][:MAX_NAMED]
    more = [text for text in dict.fromkeys(shaped) if len(text) >= MIN_SECRET and text not in named][:MAX_SHAPED]
    kept: set[str] = set()
    left = MAX_SECRETS
    for text in (*named, *more):
        if len(text := text[: min(left, MAX_SECRET)]) >= MIN_SECRET:
            kept.add(text)
            left -= len(text)
    return tuple(sorted(kept, key=lambda text: (-len(text), text)))


@lru_cache(4)
def _spelled(secrets: frozenset[str]) -> tuple[str, ...]:
    """All forms of secrets, longest first. A key comes with many requests."""
    return tuple(sorted({text for secret in secrets for text in disguises(secret)}, key=len, reverse=True))


class Redactor:
    """Takes secrets out. Anything may be given to it; nothing is raised."""

    def __init__(self, secrets: Iterable[str], pause: Pause = go_on) -> None:
        self._pause = pause
        self._spelled = _spelled(frozenset(secrets))
        self._shortest = len(self._spelled[-1]) if self._spelled else 0

    def text(self, text: str) -> str:
        """The text without the request's secrets and without what looks like a key."""
        for spelled in self._spelled if len(text) >= self._shortest else ():
            if spelled in text:
                text = text.replace(spelled, REDACTED)
        for literal, rest in _begun_in(text, self._pause):
            text = key_shape(literal, rest).sub(REDACTED, text)
        return text

    def cut(self, text: str, length: int) -> str:
        """So much of a text, without a part of what `text` takes out."""
        return self.text(text[: length + LONGEST_KEY])[:length]

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[list[str]]:
        """[name, value] pairs, the value only of a header that is on the list."""
        return [
            [self.text(name), self.text(value) if KEPT_HEADERS.fullmatch(name.lower()) else REDACTED]
            for name, value in headers
        ]

    def path(self, path: str) -> str:
        """The path and query of a request."""
        path, question, query = path.partition("?")
        path = "/".join(map(self._part, _USERINFO.sub(f"//{REDACTED}@", path).split("/")))
        parts = []
        for name, value in _parameters(query):
            part = REDACTED if value and in_query(name) else self._part(value)
            parts.append(f"{self._part(name)}={part}" if value else self._part(name))
        return path + question + "&".join(parts)

    def _part(self, part: str) -> str:
        """A piece of a URL; it goes whole if it spells a secret, be it with percents."""
        return part if all(self.text(text) == text for text in (part, unquote(part), unquote_plus(part))) else REDACTED

    def body(self, data: bytes) -> bytes | None:
        """A JSON body, written anew without its secrets; None if it is no JSON, and so cannot be judged."""
        try:
            value = json_text.loads(data)
            self._pause()
            return json_text.dumps(self.value(value)).encode()
        except (json_text.NotJSON, RecursionError):
            return None

    def value(self, value: Any, hidden: Types = ()) -> Any:
        """A JSON value. What stands under a credential's name goes; objects (tool parameters) are gone through."""
        if value and type(value) in hidden:
            return REDACTED
        match value:
            case str():
                return self.text(_URL.sub(_without_keys, value))
            case dict():
                self._pause()
                return {self.text(name): self._member(name, item, value) for name, item in value.items()}
            case list() | tuple():
                return [self.value(item, hidden) for item in value]
        return value

    def _member(self, name: str, value: Any, owner: Mapping[str, Any]) -> Any:
        if are_headers(name, value):
            return dict(self.headers(value.items()))
        if are_secrets(name, value):
            return {self.text(told): REDACTED if secret else secret for told, secret in value.items()}
        value = self.value(value, secret_types(name, owner) or (ANY if is_identity(name) else ()))
        read = _arguments(value) if name == "arguments" else value
        kept = value if read is value else self.value(read)
        return value if kept == read else json_text.dumps(kept)


def unsecret(sentence: str) -> str:
    """A sentence of ours that quotes what somebody wrote, without what looks like a key or is the password of a URL."""
    return Redactor(()).text(_PASSWORD.sub(lambda found: found[0].replace(f":{found[1]}@", f":{REDACTED}@"), sentence))


def keyless(words: str) -> str:
    """Words of others', as a line of a log, whose URLs have no credentials, and that have nothing that looks like a key."""
    redactor = Redactor(())
    return redactor.text(_PLACES.sub(lambda found: redactor.path(found[0]), words))


_PLACES = re.compile(r"://\S+|(?<!\S)[^\s?]*+\?\S+")
"""Of URLs, from behind the scheme; mitmproxy names some places without one."""
_WORDS = re.compile("[a-z_-]*|[A-Z_-]*")
_PASSWORD = re.compile(r"://[^\s/:@]*:([^\s/@]+)@")
_URL = re.compile(r"\A([a-zA-Z][a-zA-Z0-9+.-]{0,20}://[^\s?]*\?)(\S+)\Z")
_USERINFO = re.compile("//([^/@]+)@")


def _without_keys(url: re.Match[str]) -> str:
    """A URL, and nothing else, without the credentials of its query."""
    parts = [(*part.partition("="), part) for part in re.split("([&;#])", url[2])]
    return url[1] + "".join(f"{name}={REDACTED}" if value and in_query(name) else part for name, _, value, part in parts)


def _query_secrets(query: str) -> Iterator[str]:
    for name, value in _parameters(query):
        if in_query(name):
            yield from (value, unquote_plus(value))


def _parameters(query: str) -> Iterator[tuple[str, str]]:
    for part in re.split("[&;]", query):
        name, _, value = part.partition("=")
        yield name, value


def _header_secrets(name: str, value: str) -> Iterator[str]:
    """`Bearer X`, `Basic X`, `X`, `Key name:X`, `Snowflake Token="X"`, and in a cookie `a=X; Y`: each X and Y."""
    if "cookie" in name.lower():
        for part in value.split(";"):
            told, equals, given = part.partition("=")
            crumb = (given if equals else told).strip().strip('"')
            yield from (crumb, unquote(crumb))
        return
    words = value.split(None, 1)
    last = words[-1].strip() if words else ""
    yield from (last, last.partition(":")[2])
    if len(words) < 2:
        return
    for part in words[1].split(","):
        told, _, given = part.strip().partition("=")
        if in_query(told) or holds_credential(told):
            yield given.strip('"')
    if words[0].lower() == "basic":
        try:
            pair = base64.b64decode(words[1]).decode()
        except ValueError:
            return
        user, _, password = pair.partition(":")
        yield from (pair, password, *_shaped(pair))
        if len(password) < MIN_SECRET:  # it guards nothing: the user is the key
            yield user


def _body_secrets(value: Any, pause: Pause, secret: Types = ()) -> Iterator[str]:
    match value:
        case str() | int() | float() if type(value) in secret:
            text = str(value)
            yield text
            if text.lower().startswith(("bearer ", "basic ")):
                yield from _header_secrets("", text)
        case dict():
            pause()
            for name, item in value.items():
                if are_headers(name, item):
                    for header in filter(holds_credential, item):
                        yield from _header_secrets(header, item[header])
                elif are_secrets(name, item):
                    yield from item.values()
                else:
                    read = _arguments(item) if name == "arguments" else item
                    yield from _body_secrets(read, pause, secret_types(name, value))
        case list():
            for item in value:
                yield from _body_secrets(item, pause, secret)


def _arguments(value: Any) -> Any:
    """Those of a call, which Chat and Responses have as a text, as Messages has them."""
    try:
        return json_text.loads(value.encode()) if isinstance(value, str) else value
    except ValueError:  # no JSON, or half a surrogate pair
        return value


def _shaped_within(value: Any, pause: Pause) -> Iterator[str]:
    """What has the shape of a key, or is the password of a URL, in all strings of a JSON value, names too."""
    match value:
        case str():
            yield from _shaped(value, pause)
            if "://" in value:
                for found in _PASSWORD.finditer(value):
                    if not _WORDS.fullmatch(found[1]):
                        yield from (found[1], unquote(found[1]))
                yield from (text for url in _URL.finditer(value) for text in _query_secrets(url[2]))
        case dict():
            pause()
            for name, item in value.items():
                yield from _shaped_within(name, pause)
                yield from _shaped_within(item, pause)
        case list():
            for item in value:
                yield from _shaped_within(item, pause)


def _shaped(text: str, pause: Pause = go_on) -> Iterator[str]:
    """The keys in a text; words that begin as one does are none, `sk-fading-circle` or `Bearer YOUR_TOKEN`."""
    for literal, rest in _begun_in(text, pause):
        for found in key_shape(literal, rest).finditer(text):
            key = found[0].rstrip("._~+/=-")  # of the sentence, or no loss
            if not _WORDS.fullmatch(key.removeprefix(literal)):
                yield key.removeprefix(literal) if literal.lower() == "bearer " else key
