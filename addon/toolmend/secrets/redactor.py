"""Removes secrets from a request on its way to disk.

    Redactor(secrets_of(exchange))     removes them, and anything like a key, from texts, headers, paths and JSON bodies

Not one character of a secret is kept. A header is kept only if its name is listed; a value is removed if its name is a
credential's; a text loses what matches a known key. In doubt it is removed.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, unquote_plus

from ..core import json_text
from .encodings import disguises
from .key_patterns import LONGEST_KEY, Pause, key_pattern, known_prefixes_in, no_pause
from .names import ANY, Types, are_headers, are_secrets, in_query, is_identity, secret_types
from .request_secrets import PASSWORD, URL, USERINFO, arguments_of, parameters

REDACTED = "[REDACTED]"

KEPT_HEADERS = re.compile(
    "accept(-encoding|-language)?|alt-svc|anthropic-(beta|version)|cache-control|connection|content-(encoding|length|type)|date"
    "|host|openai-(beta|processing-ms|version)|(x-)?request-id|retry-after|server|transfer-encoding|user-agent|vary|via"
    "|x-accel-buffering|x-should-retry|x-stainless-[a-z-]+"
)


@lru_cache(4)
def _spelled(secrets: frozenset[str]) -> tuple[str, ...]:
    """Returns all forms of the secrets, longest first; cached, as a key comes with many requests."""
    return tuple(sorted({text for secret in secrets for text in disguises(secret)}, key=len, reverse=True))


class Redactor:
    """Removes secrets. Accepts any input and never raises."""

    def __init__(self, secrets: Iterable[str], pause: Pause = no_pause) -> None:
        self._pause = pause
        self._spelled = _spelled(frozenset(secrets))
        self._shortest = len(self._spelled[-1]) if self._spelled else 0

    def text(self, text: str) -> str:
        """Returns the text without the request's secrets and without what looks like a key."""
        for spelled in self._spelled if len(text) >= self._shortest else ():
            if spelled in text:
                text = text.replace(spelled, REDACTED)
        for literal, rest in known_prefixes_in(text, self._pause):
            text = key_pattern(literal, rest).sub(REDACTED, text)
        return text

    def cut(self, text: str, length: int) -> str:
        """Returns the first `length` characters of a text, without any part of what `text` removes."""
        return self.text(text[: length + LONGEST_KEY])[:length]

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[list[str]]:
        """Returns [name, value] pairs, with the values of listed headers only."""
        return [
            [self.text(name), self.text(value) if KEPT_HEADERS.fullmatch(name.lower()) else REDACTED]
            for name, value in headers
        ]

    def path(self, path: str) -> str:
        """Returns the path and query of a request, redacted."""
        path, question, query = path.partition("?")
        path = "/".join(map(self._part, USERINFO.sub(f"//{REDACTED}@", path).split("/")))
        parts = []
        for name, value in parameters(query):
            part = REDACTED if value and in_query(name) else self._part(value)
            parts.append(f"{self._part(name)}={part}" if value else self._part(name))
        return path + question + "&".join(parts)

    def _part(self, part: str) -> str:
        """Redacts a segment of a URL, entirely if it spells a secret, also percent-encoded."""
        return part if all(self.text(text) == text for text in (part, unquote(part), unquote_plus(part))) else REDACTED

    def body(self, data: bytes) -> bytes | None:
        """Returns a JSON body, serialised without its secrets; None if it is not JSON and so cannot be judged."""
        try:
            value = json_text.loads(data)
            self._pause()
            return json_text.dumps(self.value(value)).encode()
        except (json_text.NotJSON, RecursionError):
            return None

    def value(self, value: Any, hidden: Types = ()) -> Any:
        """Returns a JSON value, redacted. Values under a credential's name are removed; objects and lists are searched."""
        if value and type(value) in hidden:
            return REDACTED
        match value:
            case str():
                return self.text(URL.sub(_without_keys, value))
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
            return {self.text(key): REDACTED if secret else secret for key, secret in value.items()}
        value = self.value(value, secret_types(name, owner) or (ANY if is_identity(name) else ()))
        read = arguments_of(value) if name == "arguments" else value
        kept = value if read is value else self.value(read)
        return value if kept == read else json_text.dumps(kept)


def unsecret(sentence: str) -> str:
    """Returns a message that quotes user input, without what looks like a key or is the password of a URL."""
    return Redactor(()).text(PASSWORD.sub(lambda found: found[0].replace(f":{found[1]}@", f":{REDACTED}@"), sentence))


def keyless(words: str) -> str:
    """Returns foreign text, such as a log line, without the credentials of its URLs and without what looks like a key."""
    redactor = Redactor(())
    return redactor.text(_PLACES.sub(lambda found: redactor.path(found[0]), words))


_PLACES = re.compile(r"://\S+|(?<!\S)[^\s?]*+\?\S+")
"""URLs from after the scheme; mitmproxy logs some without one."""


def _without_keys(url: re.Match[str]) -> str:
    """Returns a text that is a URL, without the credentials of its query."""
    parts = [(*part.partition("="), part) for part in re.split("([&;#])", url[2])]
    return url[1] + "".join(f"{name}={REDACTED}" if value and in_query(name) else part for name, _, value, part in parts)


