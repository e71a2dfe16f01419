"""Options with the same meaning in several APIs: verbosity, prompt cache, service tier, user.

    Chat Completions                                   Responses                        Messages
    verbosity                                          text.verbosity                   -
    prompt_cache_key, prompt_cache_retention           the same                         - (a session in metadata.user_id)
    service_tier auto, default, flex, priority …       the same                         service_tier auto, standard_only
    prompt_cache_options {mode, ttl}                   the same, and more members       -
    safety_identifier, metadata                        the same                         - (metadata.user_id)
    logprobs, top_logprobs                             include, top_logprobs            -

`Conversation.options` has them by their names in Chat Completions.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ..apis.shared.logprobs import wants_logprobs
from .conversation import Conversation
from .fields import add_note
from .names import text_hash
from .request_limits import Quirks

NAMES = (
    "verbosity", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "service_tier", "safety_identifier",
    "metadata", "logprobs",
)  # fmt: skip

MAX_KEY = 64
"""Characters of `prompt_cache_key`."""

_TIERS = {"standard_only": "default"}
"""Tier of Messages → tier of OpenAI."""

_LIMITED = {"service_tier": "service_tiers", "prompt_cache_retention": "cache_retentions"}
"""The field of Quirks with the accepted values of an option."""

_SESSION = re.compile(r"_session_([A-Za-z0-9-]{8,64})$")


def read(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The options in the members of a request."""
    found = {name: fields[name] for name in NAMES if fields.get(name) not in (None, "", {}, False)}
    if wants_logprobs(fields):
        top = fields.get("top_logprobs")
        found["logprobs"] = top if isinstance(top, int) else 0
    if isinstance(tier := found.get("service_tier"), str):
        found["service_tier"] = _TIERS.get(tier, tier)
    if found.get("service_tier") == "auto":  # the default of every API
        del found["service_tier"]
    return found


def are_sampled(quirks: Quirks, effort: str) -> bool:
    """Whether the model accepts options of sampling when it thinks with this effort."""
    return quirks.sampling in ("all", "one") or (quirks.sampling == "at_none" and effort == "none")


def written(
    conversation: Conversation, quirks: Quirks, notes: list[str], *, effort: str = "", derived: bool = False
) -> dict[str, Any]:
    """Returns the members for an upstream with one of OpenAI's APIs.

    Args:
        conversation: Its `options` are written.
        quirks: Which options and values the upstream accepts.
        notes: Collects what was left out.
        effort: The effort that is requested, on which `logprobs` depends. Its value is the number of alternatives.
        derived: Whether a missing `prompt_cache_key` is derived from the user.
    """
    members: dict[str, Any] = {}
    for name, given in conversation.options.items():
        words = getattr(quirks, _LIMITED[name]) if name in _LIMITED else (given,)
        if name not in quirks.options:
            add_note(notes, f"`{name}` is left out: this upstream has no such field")
        elif given not in words:
            add_note(notes, f"`{name}` is left out: this upstream knows no {given}")
        elif name == "logprobs" and not are_sampled(quirks, effort):
            add_note(notes, "`logprobs` is left out: this model gives none while it thinks")
        else:
            members[name] = given
    if derived and "prompt_cache_key" in quirks.options and conversation.user:
        members.setdefault("prompt_cache_key", cache_key(conversation.user))
    if isinstance(key := members.get("prompt_cache_key"), str) and not (key.isascii() and len(key) <= MAX_KEY):
        members["prompt_cache_key"] = text_hash(key)[:32]
    return members


def tier_of_messages(conversation: Conversation, quirks: Quirks, notes: list[str]) -> dict[str, str]:
    """`service_tier` for Messages, which has none of the other options."""
    tier = conversation.options.get("service_tier")
    word = next((messages for messages, openai in _TIERS.items() if openai == tier), tier)
    for name in conversation.options:
        if name in ("prompt_cache_key", "safety_identifier"):  # nothing is lost: breakpoints cache, and metadata names the user
            continue
        if name != "service_tier" or word not in quirks.service_tiers:
            add_note(notes, f"`{name}` is left out: Messages has no such field")
    return {"service_tier": word} if isinstance(word, str) and word in quirks.service_tiers else {}


def left_out(key: str, api: str) -> str:
    """The note for a member that only the client's API has; `api` names the upstream's API."""
    return f"`{key}` is left out: {api} has no such field, or another meaning for it"


def cache_key(user: str) -> str:
    """The cache key for all turns of a session: the session id inside the user id (Claude Code), or a hash of the user id."""
    try:
        session = json.loads(user).get("session_id")
    except (ValueError, AttributeError, RecursionError):
        found = _SESSION.search(user)
        session = found[1] if found else None
    return session if isinstance(session, str) and session.isascii() and 0 < len(session) <= MAX_KEY else text_hash(user)[:32]
