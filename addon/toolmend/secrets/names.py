"""What holds a credential, told by its name: of a header, of a parameter in a query, of a member of an object.

    x-api-key   GITHUB_TOKEN   clientSecret   {"name": "API_KEY", "value": "…"}       yes
    max_tokens  eos_token      Idempotency-Key                                        no

Rule of this file: names are compared in lower case and without punctuation, and no value is looked into. What has the shape of
a key goes under any name: key_patterns.py.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

type Types = tuple[type, ...]
"""Of the values that are a credential under a name."""

TEXT, ANY = (str,), (str, int, float)  # and of what is true or null nobody learns anything

CREDENTIAL = re.compile(
    ".*(access|account|api|auth|encryption|license|master|private|secret|session|signing|ssh|subscription)keys?|.*accesskeyid"
    "|.*(authorization|bearer|cookies?|credentials?|jwt|passphrase|passwd|passwords?|secrets?|token)|o?auth"
)
"""Names, in lower case and without punctuation, whose value is a credential: x-api-key, GITHUB_TOKEN, clientSecret."""

NO_CREDENTIAL = re.compile(
    "(begin|bos|cls|end|eos|mask|pad|sep|start|stop|unk|continuation|next|(next|previous)?page)token"
)
"""Names that end like a credential's and hold none: words of a tokenizer, places in a list."""

VARIABLES, NO_VARIABLES = ("_KEY", "_PASS", "_PWD"), ("FOREIGN_KEY", "PARTITION_KEY", "PRIMARY_KEY", "PUBLIC_KEY", "SORT_KEY")
"""What names in capitals end with that hold a credential in an environment, OPENAI_KEY, DB_PASS; and those that hold none."""

USERS = frozenset(("login", "user", "username"))
"""Names beside which `pass` is a password, and not that a test has passed."""

HEADER = re.compile(
    "(?!idempotency|secwebsocket).*(access|auth|authentication|hmac|jwt|jwtassertion|key|otp|pass|pwd|session|signature|ticket)"
)
"""Names that hold a credential in a header: Helicone-Auth, X-Functions-Key, Cf-Access-Jwt-Assertion."""

_COUNTED = re.compile(r"v?\d+\Z")
"""What a header's name may end with: X-Api-Key-2, Api-Token-V2."""

IDENTITY = re.compile("(user|account|device|organi[sz]ation|org|session)(uu)?id")
"""Names whose value tells who somebody is. No secret, so an echo is not looked for, but no business of a recording."""

QUERY = re.compile("code|key|pass|pwd|sig|.*signature")
"""Names that hold a credential in a query only: ?key=AIza..."""

MAX_NAME = 500
"""Characters at the end of a name by which it is told: a thousand are kept, and a stranger's may have megabytes."""

_PUNCTUATION = re.compile(r"[\W_]+")


def _plain(name: str) -> str:
    return _plain_end(name[-MAX_NAME:])


@lru_cache(1000)  # a request says "role" and "content" a thousand times
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
    """Whether a member of an object is a credential: by its name, or by what is beside it, `{"name": "API_KEY", "value": …}`."""
    if name != "value":
        return is_credential(name) or (name == "pass" and not USERS.isdisjoint(owner))
    return any(isinstance(told, str) and is_credential(told) for told in (owner.get("name"), owner.get("key")))


def secret_types(name: str, owner: Mapping[str, Any]) -> Types:
    """What of a member is a credential: of what is called a token, texts alone, as numbers count or name those of a model."""
    if not _is_secret(name, owner):
        return ()
    return TEXT if _plain(name).endswith("token") else ANY


def is_identity(name: str) -> bool:
    """Whether the value of this name tells who somebody is."""
    return _is_identity(_plain(name))


@lru_cache(1000)
def _is_identity(plain: str) -> bool:
    return bool(IDENTITY.fullmatch(plain))


def in_query(name: str) -> bool:
    """Whether the value of this parameter is a credential."""
    return is_credential(name) or bool(QUERY.fullmatch(_plain(name)))


def holds_credential(header: str) -> bool:
    """Whether the value of this header is or holds a credential."""
    name = _COUNTED.sub("", _plain(header))
    return is_credential(name) or bool(HEADER.fullmatch(name))


def are_headers(name: str, value: Any) -> bool:
    """Whether a member has the headers of another request, as for an MCP server."""
    return _plain(name).endswith("headers") and _are_texts(value)


def are_secrets(name: str, value: Any) -> bool:
    """Whether a member has secrets under names that do not tell: `"secrets": {"OPENAI": "…"}`."""
    return _plain(name).endswith(("secrets", "credentials")) and _are_texts(value)


def _are_texts(value: Any) -> bool:
    """Whether it is an object of nothing but texts; that of a schema has a type."""
    return isinstance(value, dict) and "type" not in value and all(isinstance(item, str) for item in value.values())
