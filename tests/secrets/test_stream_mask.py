"""A route's key in what a client gets while it streams: masked in every form and under every cut, and nothing else is changed."""

import json
import random
import time
from collections.abc import Iterable

import pytest

from tests.support.echoes import chat, cuts, escaped, forms, seen
from toolmend.secrets import stream_mask
from toolmend.secrets.stream_mask import MAX_HELD, MAX_LINE, StreamMask, guarded, masked

KEYS = ("sk-or-v1-9f8e7d6cAb/+=0123456789", "gsk_Ab12Cd34Ef56Gh78Ij90Kl", "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0", "0123456789abcdef0123456789abcdef", "s3cr3t-pw")


def streamed(chunks: Iterable[bytes], key: str) -> list[bytes]:
    mask = StreamMask([key])
    return [*map(mask.feed, chunks), mask.close()]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_masked_in_every_form(subtests: pytest.Subtests, key: str) -> None:
    for name, body in forms(key).items():
        with subtests.test(name):
            assert seen(body, key), "the form holds the key"
            masked_whole = b"".join(streamed([body], key))
            assert len(masked_whole) == len(body)
            assert not seen(masked_whole, key)
            assert all(new in (old, ord("*")) for new, old in zip(masked_whole, body, strict=True))
            places = sorted(random.Random(name).choices(range(len(body)), k=5))
            for chunks in ([bytes([byte]) for byte in body], *([body[:at], body[at:]] for at in places)):
                out = b"".join(streamed(chunks, key))
                assert len(out) == len(body)
                assert not seen(out, key)


@pytest.mark.parametrize("key", KEYS)
def test_other_bytes_are_unchanged_and_leave_at_once(key: str) -> None:
    """Also words that begin as the key does, and a line that is not complete."""
    bodies = [
        chat("The files", " of tasks", " are", " sk", "-", " gsk", "_", " AIz", "a", " s3c", " 0", "12", "", " r3t"),
        b": keep-alive\n\n" + chat("x") + b"data: [DONE]\n\n",
        b'{"a": [1, 2, {"b": "no line end"}]}',
        json.dumps({"id": "0123456789abcdee", "text": "sk-other-0123456789abcdefghijklmnop gsk_zzzz AIzaSyA s3cr3t-px"}).encode(),
    ]
    for body in bodies:
        for chunks in cuts(body):
            assert b"".join(streamed(chunks, key)) == body
    mask, sent = StreamMask([key]), b""
    for at, byte in enumerate(bodies[1], 1):
        sent += mask.feed(bytes([byte]))
        assert sent == bodies[1][:at]


def test_only_a_beginning_is_held_until_it_is_decided() -> None:
    first, other, more, rest = chat("it is sk-or", ""), chat("!", choice=1), chat("sk-or", " is short"), chat("-v1-9f8e7d6cAb/+=0123456789")
    mask = StreamMask(KEYS[:1])
    assert mask.feed(first) + mask.feed(other) == first[: first.index(b"-or")]
    assert mask.feed(rest).endswith(chat("*" * 27))
    assert mask.feed(more) == more
    assert mask.feed(first) == first[: first.index(b"-or")]
    assert mask.feed(more) == first[first.index(b"-or") :] + more


def test_what_is_held_has_a_bound() -> None:
    mask, other = StreamMask(KEYS[:1]), chat("!" * 900, choice=1)
    sent = mask.feed(chat("it is sk-or-v1-9f8e7"))
    most = 0
    for count in range(1, 200):
        sent += mask.feed(other)
        most = max(most, len(chat("it is sk-or-v1-9f8e7")) + count * len(other) - len(sent))
    assert most < MAX_HELD + 2 * len(other)
    sent += mask.feed(chat(KEYS[0][14:])) + mask.close()
    assert not seen(sent, KEYS[0])
    assert len(sent) == len(chat("it is sk-or-v1-9f8e7")) + 199 * len(other) + len(chat(KEYS[0][14:]))


def test_a_line_without_end_is_masked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_mask, "MAX_LINE", 4096)
    monkeypatch.setattr(stream_mask, "OVERLAP", 1024)
    key = KEYS[0]
    rng = random.Random(1)
    body = b'{"text":"' + b"".join(rng.choice((b"words and more, ", key.encode(), b"sk-or ", escaped(key, rng).encode())) for _ in range(3000)) + b'"}'
    for size in (1000, 7777, len(body)):
        mask = StreamMask([key])
        out = b"".join(mask.feed(body[at : at + size]) for at in range(0, len(body), size)) + mask.close()
        assert len(out) == len(body)
        assert key.encode() not in out
        assert not seen(out, key)
    innocent = body.replace(key.encode(), b"").replace(b"\\u", b"")
    assert masked(innocent, [key]) == innocent
    assert MAX_LINE > 10 * 4096


def test_costly_bodies_take_time_in_proportion() -> None:
    for part in (b"sk-or", b'{"t":"sk-or"}\n', b'"sk-or",', b"%25", b"\\\\\\u0073", b"-or-v1-" * 3 + b"\n"):
        body, begun = part * (100_000 // len(part)), time.process_time()
        mask = StreamMask(KEYS[:1])
        assert len(b"".join(mask.feed(body[at : at + 8192]) for at in range(0, len(body), 8192)) + mask.close()) == len(body)
        assert time.process_time() - begun < 3


def test_a_route_without_a_key_changes_no_body() -> None:
    assert masked(b'{"content": "all of it"}', guarded("")) == b'{"content": "all of it"}'


def test_words_and_short_keys_guard_nothing() -> None:
    """A model says `ollama`, and a local server wants some key."""
    for key in ("lm-studio", "ollama", "EMPTY", "none", "not-needed", "sk-1", ""):
        assert guarded(key) == frozenset()
    for key in (*KEYS, "correct-horse-battery-staple"):
        assert guarded(key) == {key}
