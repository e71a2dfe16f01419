"""The secrets in a request: in its headers, its path and its bodies.

    secrets_of(exchange)           all of them                secrets_in(headers, path)      those before its body

A credential is recognised by its name, or by the pattern of its value. A word is never taken for a secret: it would be masked
everywhere in the response.
"""

import base64
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, unquote_plus

from ..core import json_text
from .key_patterns import LONGEST_KEY, Pause, key_pattern, known_prefixes_in, no_pause
from .names import Types, are_headers, are_secrets, holds_credential, in_query, secret_types

if TYPE_CHECKING:
    from ..core.exchange_record import ExchangeRecord

MIN_SECRET = 8
"""Characters. A shorter one protects nothing, and masking it would mask half of a text."""

MAX_SHAPED = 16
"""Secrets recognised only by their pattern: a conversation that quotes more keys than a handful is about something else."""

MAX_NAMED = 64
"""Secrets recognised by name, headers first: searching for one costs 6 ms and 150 KB per response. A body with more is data, in
which words are named tokens.
"""

MAX_SECRET = 16 * 1024
"""Characters of a secret that are searched for: tokens that list all groups of a user have as many. A longer one is a text."""

MAX_SECRETS = 64 * 1024
"""Characters of all secrets together, headers first: their forms take forty times as much memory."""

BLOCK = 1024 * 1024
"""Bytes of a body that are searched at once if it is not JSON, or too large to parse."""

USERINFO, PASSWORD = re.compile("//([^/@]+)@"), re.compile(r"://[^\s/:@]*:([^\s/@]+)@")
"""In URLs: user and password; and the password alone, inside a text."""

URL = re.compile(r"\A([a-zA-Z][a-zA-Z0-9+.-]{0,20}://[^\s?]*\?)(\S+)\Z")
"""A text that is only a URL; its query is the second group."""

_WORDS = re.compile("[a-z_-]*|[A-Z_-]*")


def secrets_of(exchange: "ExchangeRecord", pause: Pause = no_pause) -> tuple[str, ...]:
    """Returns the credentials in a request's headers, query and bodies, of MIN_SECRET characters or more, longest first.

    One longer than MAX_SECRET is cut.
    """
    found, shaped = _before_body(exchange.request_headers, exchange.path)
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
    """Returns those of `secrets_of` that precede the body."""
    return _kept(*_before_body(headers, path))


def _before_body(headers: Iterable[tuple[str, str]], path: str) -> tuple[list[str], list[str]]:
    """Returns the secrets recognised by name, and those recognised only by pattern."""
    found: list[str] = []
    shaped: list[str] = []
    for name, value in headers:
        if holds_credential(name):
            found += _header_secrets(name, value)
        else:
            shaped += _shaped(value)
    place, _, query = path.partition("?")
    if userinfo := USERINFO.search(place):
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


def _query_secrets(query: str) -> Iterator[str]:
    for name, value in parameters(query):
        if in_query(name):
            yield from (value, unquote_plus(value))


def parameters(query: str) -> Iterator[tuple[str, str]]:
    """Yields names and values of a query, as spelled."""
    for part in re.split("[&;]", query):
        name, _, value = part.partition("=")
        yield name, value


def _header_secrets(name: str, value: str) -> Iterator[str]:
    """Yields X and Y of `Bearer X`, `Basic X`, `X`, `Key name:X`, `Snowflake Token="X"`, and of a cookie `a=X; Y`."""
    if "cookie" in name.lower():
        for part in value.split(";"):
            key, equals, given = part.partition("=")
            crumb = (given if equals else key).strip().strip('"')
            yield from (crumb, unquote(crumb))
        return
    words = value.split(None, 1)
    last = words[-1].strip() if words else ""
    yield from (last, last.partition(":")[2])
    if len(words) < 2:
        return
    for part in words[1].split(","):
        key, _, given = part.strip().partition("=")
        if in_query(key) or holds_credential(key):
            yield given.strip('"')
    if words[0].lower() == "basic":
        try:
            pair = base64.b64decode(words[1]).decode()
        except ValueError:
            return
        user, _, password = pair.partition(":")
        yield from (pair, password, *_shaped(pair))
        if len(password) < MIN_SECRET:  # too short to be one: the user is the key
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
                    read = arguments_of(item) if name == "arguments" else item
                    yield from _body_secrets(read, pause, secret_types(name, value))
        case list():
            for item in value:
                yield from _body_secrets(item, pause, secret)


def arguments_of(value: Any) -> Any:
    """Returns the arguments of a call as an object, which Chat and Responses have as a text."""
    try:
        return json_text.loads(value.encode()) if isinstance(value, str) else value
    except ValueError:  # not JSON, or half of a surrogate pair
        return value


def _shaped_within(value: Any, pause: Pause) -> Iterator[str]:
    """Yields what looks like a key, or is the password of a URL, in all strings of a JSON value, names included."""
    match value:
        case str():
            yield from _shaped(value, pause)
            if "://" in value:
                for found in PASSWORD.finditer(value):
                    if not _WORDS.fullmatch(found[1]):
                        yield from (found[1], unquote(found[1]))
                yield from (text for url in URL.finditer(value) for text in _query_secrets(url[2]))
        case dict():
            pause()
            for name, item in value.items():
                yield from _shaped_within(name, pause)
                yield from _shaped_within(item, pause)
        case list():
            for item in value:
                yield from _shaped_within(item, pause)


def _shaped(text: str, pause: Pause = no_pause) -> Iterator[str]:
    """Yields the keys in a text, but not words that begin like one, `sk-fading-circle` or `Bearer YOUR_TOKEN`."""
    for literal, rest in known_prefixes_in(text, pause):
        for found in key_pattern(literal, rest).finditer(text):
            key = found[0].rstrip("._~+/=-")  # punctuation of the sentence, or no loss
            if not _WORDS.fullmatch(key.removeprefix(literal)):
                yield key.removeprefix(literal) if literal.lower() == "bearer " else key
