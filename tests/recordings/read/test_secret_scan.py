"""The secret scan: what it finds, wherever it stands and however it is written, and what it leaves alone."""

import base64
import json
import random
import string
import sysconfig
import uuid
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.bedrock import message
from tests.support.cuts import DEEP
from tests.support.key_samples import SHAPES, token
from tests.support.paths import FLOWS
from tests.support.streams import chunk, event, stream
from toolmend.recordings.read.secret_scan import credentials, scan
from toolmend.secrets.key_patterns import KEYS

BASE62 = string.ascii_letters + string.digits
PREFIXES = tuple(literal for literal, _ in KEYS)
SECRET = "hunter2-B8xk/29+Ls"


def drawn(dice: random.Random, size: int, letters: str = BASE62) -> str:
    return "".join(dice.choice(letters) for _ in range(size))


def deltas(text: str, size: int = 4) -> bytes:
    return stream([text[at : at + size] for at in range(0, len(text), size)])


def as_messages(text: str) -> bytes:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": text[:3]}}
    rest = [text[at : at + 4] for at in range(3, len(text), 4)]
    told = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}} for piece in rest]
    return b"".join(event(data) for data in (start, *told))


def as_arguments(text: str) -> bytes:
    arguments = json.dumps({"path": "a.md", "content": f"k={text}"})
    pieces = [arguments[at : at + 4] for at in range(0, len(arguments), 4)]
    return stream([{"tool_calls": [{"index": 1, "function": {"arguments": piece}}]} for piece in pieces])


def as_alternatives(text: str) -> bytes:
    """In what might have been said alone."""
    pieces = [text[at : at + 3] for at in range(0, len(text), 3)]
    return b"".join(event({"logprobs": {"top_logprobs": [{"token": "~"}, {"token": piece}, {"token": "."}]}}) for piece in pieces)


CONTEXTS: dict[str, Callable[[str], tuple[str, bytes]]] = {
    "deltas of four": lambda text: ("upstream.sse", deltas(f"Use {text} now.")),
    "deltas of one": lambda text: ("client.sse", deltas(f"Use {text} now.", 1)),
    "messages": lambda text: ("client.sse", as_messages(text)),
    "Bedrock's messages": lambda text: ("upstream.sse", b"".join(message(text[at : at + 4]) for at in range(0, len(text), 4))),
    "arguments": lambda text: ("upstream.sse", as_arguments(text)),
    "alternatives to tokens": lambda text: ("upstream.sse", as_alternatives(text)),
    "two choices": lambda text: (
        "upstream.sse",
        b"".join(event(chunk({"content": c}, index=n)) for piece in text for n, c in ((0, piece), (1, "~"))),
    ),
    "request": lambda text: ("request.json", json.dumps({"messages": [{"role": "user", "content": [{"text": text}]}]}).encode()),
    "a member's name": lambda text: ("request.json", json.dumps({"metadata": {text: 1}}).encode()),
    "comment": lambda text: ("upstream.sse", f": {text}\n\n".encode()),
    "escaped": lambda text: ("upstream.sse", deltas("".join(f"\\u{ord(char):04x}" for char in text), 5)),
    "percents": lambda text: ("meta.json", json.dumps({"path": "/x?q=" + "".join(f"%{byte:02x}" for byte in text.encode())}).encode()),
    "base64": lambda text: ("upstream.sse", deltas("auth " + base64.b64encode(f"user:{text}".encode()).decode())),
    "url-safe base64": lambda text: ("request.json", json.dumps({"input": base64.urlsafe_b64encode(f"{{{text}}}".encode()).decode()}).encode()),
    "no JSON": lambda text: ("client.json", f"<html>{text}</html>".encode()),
    "id": lambda text: ("upstream.sse", event({"id": text, "choices": []}) * 2),
}


@pytest.mark.parametrize("context", CONTEXTS)
def test_known_keys_are_found(context: str) -> None:
    """Of all issuers that write something in front of theirs: the target is 98 in 100."""
    dice = random.Random(context)
    drawn_keys = [token(shape, dice) for shape in SHAPES.values() if shape.startswith(PREFIXES) for _ in range(2 if DEEP else 1)]
    missed = []
    for secret in drawn_keys:
        file, data = CONTEXTS[context](secret)
        found = scan({file: data}, {})
        missed += [secret] * (not found)
        assert all(secret not in str(finding) for finding in found)
        assert all(finding.file == file for finding in found)
    assert len(missed) <= len(drawn_keys) * 0.02, missed


@pytest.mark.parametrize("context", CONTEXTS)
def test_values_of_variables_are_found(context: str) -> None:
    file, data = CONTEXTS[context](SECRET)
    found = [finding.what for finding in scan({file: data}, {"MY_SERVICE_TOKEN": SECRET, "HOME": "/home"})]
    assert [what for what in found if what.startswith("the value of $MY_SERVICE_TOKEN")]


def test_which_variables() -> None:
    environ = {
        "OPENAI_API_KEY": "abcdefgh",
        "SHORT_TOKEN": "abc",
        "PATH": "/usr/bin:/bin",
        "DATABASE_URL": "postgres://me:pa55word-long@db/x",
        "AWS_SECRET_ACCESS_KEY": "0123456789",
    }
    assert list(credentials(environ)) == [
        ("OPENAI_API_KEY", "abcdefgh"),
        ("DATABASE_URL", "pa55word-long"),
        ("AWS_SECRET_ACCESS_KEY", "0123456789"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "the password is in aB3xK9mQ2vL7pR4tY8wZ1cN6",  # looks random
        'API_KEY="q1w2e3r4t5y6u7"',
        "export SERVICE_TOKEN=9f8e7d6c5b4a39281706",
        '{"client_secret": "0123abcd4567efgh"}',
        '{\\"password\\": \\"Tr0ub4dor&3-xyz\\"}',
    ],
)
def test_what_has_no_prefix(text: str) -> None:
    assert scan({"upstream.sse": deltas(text)}, {})


def test_what_was_drawn_is_found() -> None:
    """Nine in ten of what has no other mark than that."""
    dice = random.Random(5)
    found = sum(bool(scan({"upstream.sse": deltas(f"it is {drawn(dice, dice.choice((24, 32, 40, 64)))} here")}, {})) for _ in range(300))
    assert found >= 270


def test_the_place_is_told() -> None:
    body = stream(["Hello. ", "It is s", "k-", "A1b2C3d4E5f6G7h8I9j0", "."])
    (found,) = scan({"upstream.sse": body, "client.sse": b""}, {})
    assert (found.file, found.line, found.path) == ("upstream.sse", 5, "choices.0.delta.content")
    assert str(found) == "upstream.sse:5 (choices.0.delta.content): a key that begins with sk-"
    assert body.splitlines()[found.line - 1].endswith(b'{"content": "It is s"}, "finish_reason": null}]}')
    request = {"messages": [{"content": "x"}, {"content": "gsk_" + "a1B2c3D4" * 4}]}
    (found,) = scan({"request.json": json.dumps(request).encode()}, {})
    assert found.place == "request.json:messages[1].content"


@pytest.mark.parametrize(
    ("file", "data", "place"),
    [
        ("request.json", b'{"a": "%s", "a": 1}', "request.json:1"),  # a name said twice: readers tell the last
        ("request.json", b'{"b": {"%s": 1, "other one, 2": 2}}', "request.json:b.(a name)"),
        ("upstream.sse", b': x\n\nid: %s\ndata: {"a": 1}\n\n', "upstream.sse:3"),
        ("upstream.sse", b"data: %s", "upstream.sse:1"),
    ],
)
def test_odd_places(file: str, data: bytes, place: str) -> None:
    assert [finding.place for finding in scan({file: data % b"gsk_a1B2c3D4e5F6g7H8i9J0"}, {})] == [place]


def test_a_secret_that_is_a_number() -> None:
    (found,) = scan({"request.json": b'{"pin": 4711081547}'}, {"BANK_PASSWORD": "4711081547"})
    assert found.what == "the value of $BANK_PASSWORD"


def test_what_is_masked_is_no_secret() -> None:
    """What redaction leaves behind."""
    request = {"key": "[REDACTED]", "messages": [{"content": "my key [REDACTED], Bearer [REDACTED]"}]}
    files = {"request.json": json.dumps(request).encode(), "upstream.sse": deltas("Your key is **************************.")}
    assert scan(files, {}) == []


@pytest.mark.parametrize(
    "text",
    [
        "class sk-fading-circle-delay-long",
        "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE",
        'api_key="your-api-key-goes-here-12"',
        "token = self.next_token2(tokens, limit=12)",
        '"max_tokens": 1234567890123, "password": string',
        "sha512-q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C2v3B4n5M6q7W8e9R0t1Y2==",
        "commit 4cb797af1e2d3c4b5a69788796a5b4c3d2e1f001",
        "getUserById2FromDatabaseTableWithLock9",
        "/usr/lib/python3.13/site-packages/Foo2Bar/index_v3.py",
        "npm_config_registry and hf_transformers_cache_dir_location",
        "xai-grok-code-fast-model-name-long",
    ],
)
def test_what_is_none(text: str) -> None:
    assert scan({"upstream.sse": deltas(text, 7)}, {}) == []


def test_no_false_alarm_in_ten_thousand_lines() -> None:
    """Sources as an agent reads them, cut in deltas; and the ids, signatures and hashes of the three APIs."""
    dice = random.Random(1)
    lines = alarms = 0
    sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[: 60 if DEEP else 20]
    for source in sources:
        text = source.read_text(errors="replace")[:40_000]
        body = stream([text[at : at + 12] for at in range(0, len(text), 12)])
        lines += body.count(b"\n") // 2
        alarms += len(scan({"upstream.sse": body}, {}))
    made = []
    for _ in range(3000 if DEEP else 1000):
        id_ = dice.choice(("chatcmpl-", "msg_01", "resp_", "gen-", "")) + drawn(dice, 29)
        made += [
            {**chunk({"tool_calls": [{"index": 0, "id": f"call_{drawn(dice, 24)}", "function": {"name": "x"}}]}), "id": id_},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": drawn(dice, 300)}},
            {"type": "response.output_text.delta", "item_id": f"msg_{drawn(dice, 40)}", "delta": "x", "obfuscation": drawn(dice, 12)},
            {"type": "response.output_item.done", "item": {"encrypted_content": drawn(dice, 800), "id": f"rs_{drawn(dice, 40)}"}},
            chunk({"content": f" see {uuid.UUID(int=dice.getrandbits(128))}, {drawn(dice, 64, '0123456789abcdef')}\n"}),
        ]
    body = b"".join(event(data) for data in made)
    lines += len(made)
    alarms += len(scan({"upstream.sse": body}, {}))
    assert lines > 15_000
    assert alarms <= lines // 10_000


def test_our_own_fixtures_hold_none() -> None:
    for folder in {path.parent for path in FLOWS.rglob("meta.json")}:
        files = {path.name: path.read_bytes() for path in folder.glob("*.*")}
        assert scan(files, {}) == []


@pytest.mark.parametrize("data", [b"", b"\xff\xfe{", b"data: " + b"[" * 100_000 + b"\n\n", b'data: {"a": "\\ud800"}\n\n', b"data: 1\n\n"])
@pytest.mark.parametrize("name", ["upstream.sse", "request.json"])
def test_anything_may_be_in_a_file(name: str, data: bytes) -> None:
    assert scan({name: data}, {"A_TOKEN": "abcdefghij"}) == []


def test_percents_in_a_url() -> None:
    meta = {"path": f"/v1/x?redirect={quote('https://a/?key=AIza' + 'Sy1-_q9Lm' * 4, safe='')}"}
    assert scan({"meta.json": json.dumps(meta).encode()}, {})
