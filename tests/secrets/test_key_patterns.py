"""key_patterns.py: keys by their shape, with pauses in large texts."""

import json
from functools import partial

import pytest

from tests.support.redacted_exchange import exchange
from toolmend.secrets import key_patterns
from toolmend.secrets.key_patterns import LONG, MASKED_KEYS, Pause
from toolmend.secrets.redactor import REDACTED, Redactor
from toolmend.secrets.request_secrets import secrets_of


@pytest.mark.parametrize(
    ("content", "pauses"),
    [("hello", 1), ([{"text": "hello"}] * 100, 100), ("words " * LONG, len(MASKED_KEYS))],
    ids=["short", "many parts", "one long text"],
)
def test_pauses_while_a_large_body_is_gone_through(content: object, pauses: int) -> None:
    """In its secrets and in itself, and both are what they are without."""
    body = {"messages": [{"role": "user", "content": content}], "api_key": "abcdefgh"}
    told, paused = exchange(request=body), list[int]()

    def redacted(*pause: Pause) -> object:
        return json.loads(Redactor((), *pause).body(told.request) or b"")

    for go_through, expected in (
        (partial(secrets_of, told), ("abcdefgh",)),
        (redacted, body | {"api_key": REDACTED}),
    ):
        paused.clear()
        key_patterns._keyless.clear()
        assert go_through(partial(paused.append, 1)) == go_through() == expected
        assert pauses <= len(paused) < 2 * pauses + 9


def test_texts_without_a_key_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_patterns, "MOST_KEYLESS", 3)
    monkeypatch.setattr(key_patterns, "_keyless", known := set[int]())
    key = "sk-" + "a1B2" * 8
    for number in range(10):
        assert Redactor(()).text(f"text {number}") == f"text {number}"
        assert Redactor(()).text(f"text {number} {key}") == f"text {number} {REDACTED}"
        assert 0 < len(known) <= 3
