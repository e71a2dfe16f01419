"""refusal_body.py: the problems that the body of a refusal names."""

import json

from tests.support.refusals import CHAT, asked
from toolmend.requests.refusal_body import problems
from toolmend.requests.refused import remedies


def test_a_refusal_is_bounded() -> None:
    long = json.dumps({"detail": [{"loc": ["body", name], "type": "extra_forbidden", "msg": "no"} for name in CHAT] * 50}).encode()
    assert len(remedies(422, long, asked("chat"))) <= 8
    assert remedies(400, b"x" * 100_000, asked("chat")) == ()
    nested = b'{"error":' * 500 + b'"Unsupported parameter: store"' + b"}" * 500
    assert remedies(400, nested, asked("chat")) == ()
    assert len(problems(long)) <= 16
