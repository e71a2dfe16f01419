"""Common checks of settings: the error, its hint, and host globs.

An error is one sentence that names the place, the wrong value, and a correct one.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from urllib.parse import urlsplit

from ..providers.hosts import split_port

_HOST = re.compile(r"[\w*?-]+(\.[\w*?-]+)*|[0-9a-f.]*:[0-9a-f:.]*")


class SettingsError(ValueError):
    """A setting is wrong; the message is one sentence with a correction. Misplaced keys in it are masked."""

    def __init__(self, message: str) -> None:
        from ..secrets.redactor import unsecret  # noqa: PLC0415  rarely needed, and slow

        super().__init__(unsecret(message))


def suggestion(word: str, known: Iterable[str]) -> str:
    """Returns ` (did you mean kimi_k2?)`, or nothing."""
    near = get_close_matches(word.lower(), list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def words(text: str) -> list[str]:
    """Splits at blanks and commas."""
    return text.replace(",", " ").split()


def host_globs(where: str, text: str) -> tuple[str, ...]:
    """Returns the globs of a list of hosts, each once. Raises SettingsError."""
    globs = tuple(dict.fromkeys(word.lower() for word in words(text)))
    for glob in globs:
        host, port = split_port(glob)
        if "/" in glob:
            bare = urlsplit(glob if "//" in glob else f"//{glob}").netloc.rpartition("@")[2] or "llm.example.com"
            raise SettingsError(f"{where}: {glob!r} is a URL or a path, write the host alone: {bare}")
        is_port = port.isdecimal() and 0 < int(port) < 65536
        if not _HOST.fullmatch(host) or not (is_port or host == glob.strip("[].")):
            right = "llm.example.com, *.corp.example:8443 or localhost:8000"
            raise SettingsError(f"{where}: {glob!r} is not a host, write it as in {right}")
    return globs
