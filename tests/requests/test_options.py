"""options.py: options that several APIs have, read by one name and written as far as the upstream takes them."""

from typing import Any

import pytest

from toolmend.requests.conversation import Conversation
from toolmend.requests.options import MAX_KEY, cache_key, read, tier_of_messages, written
from toolmend.requests.request_limits import Quirks

ALL = Quirks(options=frozenset({"verbosity", "prompt_cache_key", "prompt_cache_retention", "service_tier", "logprobs", "metadata"}), service_tiers=("flex", "default"), cache_retentions=("24h",))


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({}, {}),
        ({"verbosity": "low", "temperature": 1}, {"verbosity": "low"}),
        ({"verbosity": "", "metadata": {}, "prompt_cache_key": None}, {}),
        ({"service_tier": "auto"}, {}),
        ({"service_tier": "standard_only"}, {"service_tier": "default"}),
        ({"service_tier": "flex"}, {"service_tier": "flex"}),
        ({"logprobs": True, "top_logprobs": 3}, {"logprobs": 3}),
        ({"logprobs": True}, {"logprobs": 0}),
        ({"logprobs": False}, {}),
    ],
)
def test_read(fields: dict[str, Any], options: dict[str, Any]) -> None:
    assert read(fields) == options


@pytest.mark.parametrize(
    ("options", "quirks", "members", "note"),
    [
        ({"verbosity": "low"}, ALL, {"verbosity": "low"}, ""),
        ({"verbosity": "low"}, Quirks(options=frozenset()), {}, "`verbosity` is left out: this upstream has no such field"),
        ({"service_tier": "flex"}, ALL, {"service_tier": "flex"}, ""),
        ({"service_tier": "priority"}, ALL, {}, "`service_tier` is left out: this upstream knows no priority"),
        ({"prompt_cache_retention": "24h"}, ALL, {"prompt_cache_retention": "24h"}, ""),
        ({"logprobs": 2}, ALL, {"logprobs": 2}, ""),
    ],
)
def test_written(options: dict[str, Any], quirks: Quirks, members: dict[str, Any], note: str) -> None:
    notes: list[str] = []
    assert written(Conversation(options=options), quirks, notes) == members
    assert notes == ([note] if note else [])


def test_logprobs_need_a_model_that_samples() -> None:
    quirks = Quirks(options=frozenset({"logprobs"}), sampling="at_none")
    notes: list[str] = []
    assert written(Conversation(options={"logprobs": 1}), quirks, notes, effort="high") == {}
    assert notes == ["`logprobs` is left out: this model gives none while it thinks"]
    assert written(Conversation(options={"logprobs": 1}), quirks, [], effort="none") == {"logprobs": 1}


def test_a_cache_key_is_derived_and_short() -> None:
    user = "user_1_session_0123-abcd-0123"
    assert written(Conversation(user=user), ALL, [], derived=True) == {"prompt_cache_key": "0123-abcd-0123"}
    assert written(Conversation(user=user), ALL, []) == {}
    given = written(Conversation(user=user, options={"prompt_cache_key": "k" * (MAX_KEY + 1)}), ALL, [], derived=True)
    assert given["prompt_cache_key"] != "0123-abcd-0123"
    assert len(given["prompt_cache_key"]) <= MAX_KEY


@pytest.mark.parametrize(
    ("user", "key"),
    [
        ('{"session_id": "s-1"}', "s-1"),
        ("user_a_account__session_0a1b2c3d-0000", "0a1b2c3d-0000"),
        ('{"session_id": ""}', None),
        ('{"session_id": "é"}', None),
        ("[]", None),
        ("ann", None),
    ],
)
def test_cache_key_of_a_user(user: str, key: str | None) -> None:
    found = cache_key(user)
    assert found == key if key else (len(found) == 32 and user not in found)
    assert cache_key(user) == found


def test_messages_has_a_tier_alone() -> None:
    quirks = Quirks(service_tiers=("standard_only",))
    notes: list[str] = []
    options = {"service_tier": "default", "verbosity": "low", "prompt_cache_key": "k"}
    assert tier_of_messages(Conversation(options=options), quirks, notes) == {"service_tier": "standard_only"}
    assert notes == ["`verbosity` is left out: Messages has no such field"]
    assert tier_of_messages(Conversation(options={"service_tier": "flex"}), quirks, notes) == {}
