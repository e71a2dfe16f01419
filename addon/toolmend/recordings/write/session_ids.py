"""Which session and subagent of an agent sent a request, by the ids that agents send.

    session_of(headers, request)      {"id": "0b0e7f2c-…", "agent": "a1b2", "turn": "…", "from": "x-claude-code-session-id"}
    kept(of, key)                     the same for meta.json: each id as a keyed hash

    id      the session, common to all requests of one launch
    agent   the subagent that sent it; missing for the main agent
    parent  the subagent that started that one, unless it was the main agent
    turn    the user's last input, with all that the agent did for it
    name    the agent's name of the subagent            kind    the purpose of the request, if it is not the conversation

Data: a table of places. Ids are only compared, never shown: as hashes, equal ones stay equal. The key is the user's, and is
stored outside of the recordings' folder.
"""

import hmac
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...config.data_folder import data_folder, private
from ..read import safe_read
from . import safe_write

SIZE = 12
"""Bytes kept of a hash."""

LONGEST = 512
"""Characters of an id; a longer value is not one."""

KEY, KEY_SIZE = "session-key", 32
"""The key's file in the data folder, and its bytes."""

type Place = tuple[str, ...]
"""The place of an id: a header's name, or a path of member names in the body; a string on the path is parsed as JSON."""

HEADER, BODY = "header", "body"
_CODEX = (HEADER, "x-codex-turn-metadata"), (BODY, "client_metadata", "x-codex-turn-metadata"), (BODY, "client_metadata")


def _codex(name: str) -> tuple[Place, ...]:
    return tuple((*place, name) for place in _CODEX)


PLACES: Mapping[str, tuple[Place, ...]] = {
    "id": (
        (HEADER, "x-claude-code-session-id"),  # Claude Code
        *_codex("session_id"),
        (HEADER, "x-session-id"),  # opencode
        (HEADER, "x-session-affinity"),
        (BODY, "metadata", "user_id", "session_id"),  # Claude Code, in JSON
        (BODY, "metadata", "sessionId"),  # Qwen Code
        (BODY, "prompt_cache_key"),  # Kimi Code, Codex
    ),
    "agent": ((HEADER, "x-claude-code-agent-id"), *_codex("thread_id")),
    "parent": ((HEADER, "x-claude-code-parent-agent-id"),),
    "turn": (*_codex("turn_id"), (BODY, "metadata", "promptId")),
    "name": _codex("agent_name"),
    "kind": _codex("request_kind"),
}
"""Where each is looked for; the first place with a value counts."""

WORDS = frozenset({"name", "kind", "from"})
"""Values that are not ids and stay readable."""

ROOT = "/root"
"""Codex's name of the main agent."""

_SESSION = re.compile(r"(?:.*session_)?([0-9a-fA-F-]{36})|session_.+", re.DOTALL)
"""A cache key that belongs to a session; others are shared by all requests of a program."""

_WORD = re.compile(r"[\w/ .:-]{1,60}")


def session_of(headers: Iterable[tuple[str, str]], request: Mapping[str, Any] | None) -> dict[str, str]:
    """Returns what a request contains about its session, unhashed; empty if nothing."""
    by_name = {name.lower(): value for name, value in headers}
    found: dict[str, str] = {}
    for name, places in PLACES.items():
        for place in places:
            text = _at(by_name if place[0] == HEADER else request, place[1:])
            if text and not (place[-1] == "prompt_cache_key" and not _SESSION.fullmatch(text)):
                found[name] = text
                found |= {"from": place[-1] if place[0] == BODY else place[1]} if name == "id" else {}
                break
    if "id" not in found:
        return {}
    if found.get("name") == ROOT or found.get("agent") == found["id"]:  # the main agent's thread in Codex
        found.pop("agent", None)
    return {name: text for name, text in found.items() if name not in WORDS or _WORD.fullmatch(text)}


def _at(value: Any, names: Place) -> str:
    for name in names:
        if isinstance(value, str) and value.startswith("{"):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return ""
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) and 0 < len(value) <= LONGEST else ""


def kept(of: Mapping[str, str], key: bytes) -> dict[str, str]:
    """Returns a session for meta.json."""
    return {name: text if name in WORDS else keyed(text, key) for name, text in of.items()}


def keyed(text: str, key: bytes) -> str:
    """Returns an id as a hash of 96 bits."""
    return hmac.digest(key, text.encode(errors="surrogatepass"), sha256)[:SIZE].hex()


@cache
def own_key() -> bytes:
    """Returns the user's key, created when first needed; if it cannot be stored, one for this process."""
    try:
        path = data_folder() / KEY
        return _read(path) or _made(path)
    except (OSError, ValueError):
        return secrets.token_bytes(KEY_SIZE)


def _read(path: Path) -> bytes:
    try:
        key = safe_read.read(path)
    except FileNotFoundError:
        return b""
    if len(key) != KEY_SIZE:
        raise ValueError(f"{path} is not a key")
    return key


def _made(path: Path) -> bytes:
    private(path.parent)
    key = secrets.token_bytes(KEY_SIZE)
    try:
        safe_write.create(path, key)
    except FileExistsError:  # created by another process
        return _read(path)
    return key
