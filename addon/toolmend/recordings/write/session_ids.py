"""Which session of an agent a request is of, and which of its subagents sent it: told by the ids that agents send.

    told(headers, request)       {"id": "0b0e7f2c-…", "agent": "a1b2", "turn": "…", "from": "x-claude-code-session-id"}
    kept(of, key)                the same, as meta.json has it: each id as a keyed hash

    id      the session; all requests of one launch have the same
    agent   the subagent that sent it; the main agent has none
    parent  the subagent that started that one, where it was not the main agent
    turn    what the user asked last, with all that the agent did for it
    name    what the agent calls the subagent            kind    what the request is for, where it is not the conversation

Rule of this file: it is a table. Ids are compared and never shown: equal ones stay equal, and nothing of them can be read. The
key is the user's, and lies beside the recordings' folder, not in it.
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
"""Bytes of a hash that are kept."""

LONGEST = 512
"""Characters of an id. What is longer is none."""

KEY, KEY_SIZE = "session-key", 32
"""The file of the key in the data folder, and its bytes."""

type Place = tuple[str, ...]
"""Where an id stands: a header's name, or the names of the body's members, each in the one before; a text between is JSON."""

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
"""Where each is looked for; the first place that has one counts."""

WORDS = frozenset({"name", "kind", "from"})
"""What is no id, and can be read."""

ROOT = "/root"
"""What Codex calls the main agent."""

_SESSION = re.compile(r"(?:.*session_)?([0-9a-fA-F-]{36})|session_.+", re.DOTALL)
"""A cache key that is a session's; others are shared by all that a program asks."""

_WORD = re.compile(r"[\w/ .:-]{1,60}")


def session_of(headers: Iterable[tuple[str, str]], request: Mapping[str, Any] | None) -> dict[str, str]:
    """What a request says of its session, as it says it; empty where it says nothing."""
    names = {name.lower(): value for name, value in headers}
    found: dict[str, str] = {}
    for what, places in PLACES.items():
        for place in places:
            text = _at(names if place[0] == HEADER else request, place[1:])
            if text and not (place[-1] == "prompt_cache_key" and not _SESSION.fullmatch(text)):
                found[what] = text
                found |= {"from": place[-1] if place[0] == BODY else place[1]} if what == "id" else {}
                break
    if "id" not in found:
        return {}
    if found.get("name") == ROOT or found.get("agent") == found["id"]:  # Codex calls the main agent's thread so
        found.pop("agent", None)
    return {what: text for what, text in found.items() if what not in WORDS or _WORD.fullmatch(text)}


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
    """As meta.json has it."""
    return {what: text if what in WORDS else keyed(text, key) for what, text in of.items()}


def keyed(text: str, key: bytes) -> str:
    """An id as a hash of 96 bits."""
    return hmac.digest(key, text.encode(errors="surrogatepass"), sha256)[:SIZE].hex()


@cache
def own_key() -> bytes:
    """The user's, made when it is needed first; where it cannot be kept, one for this process."""
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
        raise ValueError(f"{path} is no key")
    return key


def _made(path: Path) -> bytes:
    private(path.parent)
    key = secrets.token_bytes(KEY_SIZE)
    try:
        safe_write.create(path, key)
    except FileExistsError:  # another process was faster
        return _read(path)
    return key
