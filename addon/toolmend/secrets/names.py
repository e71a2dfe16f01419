"""Recognises credentials by name: of a header, a query parameter, or a member of an object.

    x-api-key   GITHUB_TOKEN   clientSecret   {"name": "API_KEY", "value": "…"}       yes
    max_tokens  eos_token      Idempotency-Key                                        no

Names are compared in lower case and without punctuation; values are not inspected. Keys under any name: key_patterns.py.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

type Types = tuple[type, ...]
"""The types of values that are a credential under a name."""

TEXT, ANY = (str,), (str, int, float)  # booleans and null reveal nothing

CREDENTIAL = re.compile(
    ".*(access|account|api|auth|encryption|license|master|private|secret|session|signing|ssh|subscription)keys?|.*accesskeyid"
    "|.*(authorization|bearer|cookies?|credentials?|jwt|passphrase|passwd|passwords?|secrets?|token)|o?auth"
)
"""Names, in lower case and without punctuation, whose value is a credential: x-api-key, GITHUB_TOKEN, clientSecret."""

NO_CREDENTIAL = re.compile(
    "(begin|bos|cls|end|eos|mask|pad|sep|start|stop|unk|continuation|next|(next|previous)?page)token"
)
"""Names that end like a credential's but are not one: tokens of a tokenizer, positions in a list."""

VARIABLES, NO_VARIABLES = ("_KEY", "_PASS", "_PWD"), ("FOREIGN_KEY", "PARTITION_KEY", "PRIMARY_KEY", "PUBLIC_KEY", "SORT_KEY")
"""Endings of upper-case names that are credentials in an environment, OPENAI_KEY, DB_PASS; and of those that are not."""

USERS = frozenset(("login", "user", "username"))
"""Names next to which `pass` is a password, not a passed test."""

HEADER = re.compile(
    "(?!idempotency|secwebsocket).*(access|auth|authentication|hmac|jwt|jwtassertion|key|otp|pass|pwd|session|signature|ticket)"
)
"""Names of headers with a credential: Helicone-Auth, X-Functions-Key, Cf-Access-Jwt-Assertion."""

_COUNTED = re.compile(r"v?\d+\Z")
"""An ending that a header's name may have: X-Api-Key-2, Api-Token-V2."""

IDENTITY = re.compile("(user|account|device|organi[sz]ation|org|session)(uu)?id")
"""Names whose value identifies a person. Not a secret, so echoes are not searched for, but not recorded either."""

QUERY = re.compile("code|key|pass|pwd|sig|.*signature")
"""Names of credentials only in a query: ?key=AIza..."""

MAX_NAME = 500
"""Characters at the end of a name that are compared. A thousand names are cached, and a foreign one may have megabytes."""

_PUNCTUATION = re.compile(r"[\W_]+")


def _plain(name: str) -> str:
    return _plain_end(name[-MAX_NAME:])


@lru_cache(1000)  # a request repeats "role" and "content" a thousand times
def _plain_end(name: str) -> str:
    return _PUNCTUATION.sub("", unquote(name)).lower()


def is_credential(name: str) -> bool:
    """Whether the value of this name is a credential."""
    variable = name.endswith(VARIABLES) and name.isupper() and not name.endswith(NO_VARIABLES)
    return variable or _is_credential(_plain(name))


@lru_cache(1000)
def _is_credential(plain: str) -> bool:
    return bool(CREDENTIAL.fullmatch(plain)) and not NO_CREDENTIAL.fullmatch(plain)


def _is_secret(name: str, owner: Mapping[str, Any]) -> bool:
    """Whether a member is a credential by its name, or by that in `{"name": "API_KEY", "value": …}`."""
    if name != "value":
        return is_credential(name) or (name == "pass" and not USERS.isdisjoint(owner))
    return any(isinstance(label, str) and is_credential(label) for label in (owner.get("name"), owner.get("key")))


def secret_types(name: str, owner: Mapping[str, Any]) -> Types:
    """Returns the types of a member's value that are a credential. Of a "token" only strings: numbers are counts or token ids."""
    if not _is_secret(name, owner):
        return ()
    return TEXT if _plain(name).endswith("token") else ANY


def is_identity(name: str) -> bool:
    """Whether the value of this name identifies a person."""
    return _is_identity(_plain(name))


@lru_cache(1000)
def _is_identity(plain: str) -> bool:
    return bool(IDENTITY.fullmatch(plain))


def in_query(name: str) -> bool:
    """Whether the value of this query parameter is a credential."""
    return is_credential(name) or bool(QUERY.fullmatch(_plain(name)))


def holds_credential(header: str) -> bool:
    """Whether the value of this header is or contains a credential."""
    name = _COUNTED.sub("", _plain(header))
    return is_credential(name) or bool(HEADER.fullmatch(name))


def are_headers(name: str, value: Any) -> bool:
    """Whether a member holds the headers of another request, as for an MCP server."""
    return _plain(name).endswith("headers") and _are_texts(value)


def are_secrets(name: str, value: Any) -> bool:
    """Whether a member holds secrets under arbitrary names: `"secrets": {"OPENAI": "…"}`."""
    return _plain(name).endswith(("secrets", "credentials")) and _are_texts(value)


def _are_texts(value: Any) -> bool:
    """Whether a value is an object of strings only; a schema has a `type`."""
    return isinstance(value, dict) and "type" not in value and all(isinstance(item, str) for item in value.values())
