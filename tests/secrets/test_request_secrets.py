"""request_secrets.py: which secrets a request holds, up to bounds."""

import base64
from dataclasses import replace

import pytest

from tests.support.redacted_exchange import exchange
from toolmend.secrets.redactor import REDACTED, Redactor
from toolmend.secrets.request_secrets import MAX_NAMED, MAX_SECRET, MAX_SECRETS, secrets_in, secrets_of

BODY = "Ab9Cd8Ef7Gh6Ij5Kl4Mn3Op2Qr1St0Uv9Wx8Yz7"

SECRETS = [
    ({"headers": (("Authorization", "Bearer abcdefgh"),)}, {"abcdefgh"}),
    ({"headers": (("authorization", "abcdefghi"),)}, {"abcdefghi"}),
    ({"headers": (("AUTHORIZATION", "bearer\tabcdefghi "),)}, {"abcdefghi"}),
    ({"headers": (("authorization", ""), ("authorization", "Bearer"), ("authorization", "Bearer  "))}, set()),
    (
        {"headers": (("x-api-key", "abcdefgh"), ("api-key", "bcdefghi"), ("x-goog-api-key", "cdefghij"))},
        {"abcdefgh", "bcdefghi", "cdefghij"},
    ),
    (
        {"headers": (("Ocp-Apim-Subscription-Key", "abcdefgh"), ("x-amz-security-token", "bcdefghi"))},
        {"abcdefgh", "bcdefghi"},
    ),
    (
        {"headers": (("cookie", "a=abcdefgh; b=bcdefghi ;c=short; d"), ("cookie", "e=fghijklm"))},
        {"abcdefgh", "bcdefghi", "fghijklm"},
    ),
    (
        {"headers": (("proxy-authorization", "Basic " + base64.b64encode(b"me:open sesame").decode()),)},
        {base64.b64encode(b"me:open sesame").decode(), "me:open sesame", "open sesame"},
    ),
    ({"headers": (("authorization", "Basic %%%not-base64"),)}, {"%%%not-base64"}),
    # a key in the place of the user, as Stripe has it and Git
    *(
        ({"headers": (("authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"),)}, {base64.b64encode(pair.encode()).decode(), pair, *more})
        for pair, more in {"abcdefgh:": ["abcdefgh"], "abcdefgh:x": ["abcdefgh"], f"ghp_{BODY}:x-oauth-basic": [f"ghp_{BODY}", "x-oauth-basic"]}.items()
    ),
    ({"headers": (("authorization", 'Snowflake Token="abcdefgh"'),)}, {'Token="abcdefgh"', "abcdefgh"}),
    (
        {"headers": (("authorization", 'OAuth realm="an open area", oauth_token="abcdefgh" , oauth_signature=bcdefghi'),)},
        {'realm="an open area", oauth_token="abcdefgh" , oauth_signature=bcdefghi', "abcdefgh", "bcdefghi"},
    ),
    ({"headers": (("authorization", "Bearer abcdefgh+key=="),)}, {"abcdefgh+key=="}),
    (
        {"headers": (("x-api-key", "seven77"), ("content-type", "application/json"), ("user-agent", "some agent"))},
        set(),
    ),
    (
        {"headers": (("Helicone-Auth", "Bearer abcdefgh"), ("x-portkey-virtual-key", "bcdefghi"), ("X_Functions_Key", "cdefghij"))},
        {"abcdefgh", "bcdefghi", "cdefghij"},
    ),
    ({"headers": (("Cf-Access-Jwt-Assertion", "abcdefgh"), ("cookie", 'a="bcdefghi"'))}, {"abcdefgh", "bcdefghi"}),
    (
        {"headers": (("X-Api-Key-2", "abcdefgh"), ("Api-Token-V2", "bcdefghi"), ("X-Authentication", "cdefghij"), ("X-Pwd", "defghijk"))},
        {"abcdefgh", "bcdefghi", "cdefghij", "defghijk"},
    ),
    ({"headers": (("cookie", "a=abc%2Befgh%3D; b=%7B%7D"),)}, {"abc%2Befgh%3D", "abc+efgh="}),
    ({"headers": (("cookie", "abcdefgh; a=; b=bcdefghi"),)}, {"abcdefgh", "bcdefghi"}),
    ({"headers": (("Authorization", "Key name:abcdefgh"), ("X-Auth", "who:bcdefghi"))}, {"name:abcdefgh", "abcdefgh", "who:bcdefghi", "bcdefghi"}),
    ({"headers": (("X-Session", "abcdefgh"), ("X-Access", "bcdefghi"), ("X-Otp", "cdefghij"), ("X-Ticket", "defghijk"), ("X-Session-Id", "efghijkl"))}, {"abcdefgh", "bcdefghi", "cdefghij", "defghijk"}),
    ({"headers": (("anthropic-dangerous-direct-browser-access", "true"),)}, set()),
    ({"headers": (("x-forwarded", f"sk-{BODY}"), ("originator", "some-agent"))}, {f"sk-{BODY}"}),
    ({"headers": (("Idempotency-Key", "stainless-node-retry-1"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="))}, set()),
    ({"path": "/v1beta/models/m:x?key=abcdefgh&alt=sse&access_token=bcdefghi"}, {"abcdefgh", "bcdefghi"}),
    ({"path": "/?api%5Fkey=abc%2Fefghi;sig=abcdefgh&alt=abcdefgh1"}, {"abc%2Fefghi", "abc/efghi", "abcdefgh"}),
    ({"path": "//user:password1@host/x"}, {"user:password1", "password1"}),
    ({"path": "//user:pass%2Bword@host/x"}, {"user:pass%2Bword", "pass%2Bword", "pass+word"}),
    ({"path": "/v1/x?pwd=abcdefgh&pass=bcdefghi&jwt=cdefghij&compass=defghijk"}, {"abcdefgh", "bcdefghi", "cdefghij"}),
    ({"path": "/v1/x?auth=abcdefgh&oauth=bcdefghi&author=cdefghij"}, {"abcdefgh", "bcdefghi"}),
    ({"request": {"AccountKey": "abcdefgh", "license_key": "bcdefghi", "jwt": "cdefghij", "key": "defghijk"}}, {"abcdefgh", "bcdefghi", "cdefghij"}),
    ({"path": "/models//@cf/meta?"}, set()),
    (
        {"request": {"api_key": "abcdefgh", "apiKey": "bcdefghi", "x-api-key": "cdefghij"}},
        {"abcdefgh", "bcdefghi", "cdefghij"},
    ),
    ({"request": {"mcp_servers": [{"authorization_token": "abcdefgh"}]}}, {"abcdefgh"}),
    (
        {"request": {"env": {"GITHUB_TOKEN": "abcdefgh", "DB_PASSWORD": "bcdefghi", "PWD": "/home/somebody"}}},
        {"abcdefgh", "bcdefghi"},
    ),
    (
        {"request": {"env": {"OPENAI_KEY": "abcdefgh", "SMTP_PASS": "bcdefghi", "DB_PWD": "cdefghij", "a_KEY": "efghijkl"}}},
        {"abcdefgh", "bcdefghi", "cdefghij"},
    ),
    ({"request": {"index": {"PRIMARY_KEY": "abcdefgh", "SORT_KEY": "bcdefghi", "PUBLIC_KEY": "cdefghij", "MONKEY": "defghijk"}}}, set()),
    ({"request": {"mail": [{"user": "somebody", "pass": "abcdefgh"}, {"test": "a name", "pass": "bcdefghi"}]}}, {"abcdefgh"}),
    ({"request": {"secrets": {"OPENAI": "abcdefgh"}, "mcp_credentials": {"one": "bcdefghi"}}}, {"abcdefgh", "bcdefghi"}),
    ({"request": {"secrets": {"type": "an object"}, "more_secrets": {"one": {"name": "abcdefgh"}, "two": "bcdefghi"}}}, set()),
    (
        {"request": {"env": [{"name": "GITHUB_TOKEN", "value": "abcdefgh"}, {"key": "apiKey", "value": "bcdefghi"}, {"name": "HOME", "value": "/home/me"}]}},
        {"abcdefgh", "bcdefghi"},
    ),
    ({"request": {"env": [{"value": "abcdefgh"}, {"name": ["token"], "value": "abcdefgh"}, {"name": "max_tokens", "value": "abcdefgh"}]}}, set()),
    ({"request": {"servers": [{"auth": "abcdefgh"}, {"oauth": {"client_id": "bcdefghi"}, "author": "cdefghij"}]}}, {"abcdefgh"}),
    ({"request": {"client_secrets": ["abcdefgh", ["bcdefghi"], {"name": "cdefghij"}]}}, {"abcdefgh", "bcdefghi"}),
    (
        {
            "request": {
                "max_tokens": 12345678,
                "eos_token": "<|endoftext|>",
                "token": 12345678,
                "next_page_token": "abcdefgh",
            }
        },
        set(),
    ),
    ({"request": {"password": 12345678, "pins": {"passphrase": [23456789.5]}, "api_key": True, "user_id": 34567890}}, {"12345678", "23456789.5"}),
    ({"request": {"env": [{"name": "DB_PASSWORD", "value": 12345678}, {"name": "PORT", "value": 23456789}]}}, {"12345678"}),
    ({"request": {"token": [12345678], "client_secret": 1234567}}, set()),
    ({"request": {"properties": {"password": {"type": "string", "description": "of the user"}}}}, set()),
    ({"request": {"messages": [{"tool_calls": [{"function": {"arguments": '{"a":{"password":"abcdefgh"}}'}}]}]}}, {"abcdefgh"}),
    ({"request": {"input": [{"arguments": '{"api_key":"abc'}, {"arguments": {"token": "abcdefgh"}}, {"arguments": "\ud800"}]}}, {"abcdefgh"}),
    ({"request": [], "upstream": {"secret": "abcdefgh"}}, {"abcdefgh"}),
    ({"request": {"tools": [{"type": "mcp", "authorization": "Bearer abcdefgh"}]}}, {"Bearer abcdefgh", "abcdefgh"}),
    # what has the shape of a key is one, wherever it stands
    ({"path": f"/proxy/gsk_{BODY}/v1/chat/completions"}, {f"gsk_{BODY}"}),
    ({"path": f"/v1/x?next=%68f_{BODY}"}, {f"hf_{BODY}"}),
    ({"request": {"messages": [{"content": f"In .env is A=sk-{BODY}\nB=gsk_{BODY}"}]}}, {f"sk-{BODY}", f"gsk_{BODY}"}),
    ({"request": {"messages": [{"content": f"curl -H 'Authorization: Bearer {BODY}'"}]}}, {BODY}),
    ({"request": {"messages": [{"content": f"It is glpat-{BODY}. Or is it?"}]}}, {f"glpat-{BODY}"}),
    ({"request": {f"hf_{BODY}": 1}}, {f"hf_{BODY}"}),
    ({"request": {"messages": [{"content": "class sk-fading-circle-delay, Bearer YOUR_ACCESS_TOKEN_HERE"}]}}, set()),
    ({"request": {"servers": [{"url": "https://me:pa55w0rd-1@mcp.example/sse"}]}}, {"pa55w0rd-1"}),
    ({"request": {"servers": [{"url": "https://me:pa55w0rd%2F1@mcp.example/sse"}]}}, {"pa55w0rd%2F1", "pa55w0rd/1"}),
    ({"request": {"servers": [{"url": "https://mcp.example/sse?api_key=abcd%2Fefgh&profile=p"}]}}, {"abcd%2Fefgh", "abcd/efgh"}),
    ({"request": {"messages": [{"content": "see https://mcp.example/sse?api_key=abcdefgh1 for it"}]}}, set()),
    (
        {"request": {"mcp_servers": [{"headers": {"X-Figma-Key": "abcdefgh", "Authorization": "Bearer bcdefghi", "Origin": "https://h"}}]}},
        {"abcdefgh", "bcdefghi"},
    ),
    ({"request": {"properties": {"headers": {"type": "object", "key": "of the header"}}}}, set()),
    ({"request": {"readers": {"x-functions-key": "abcdefgh"}}}, set()),
    ({"request": {"messages": [{"content": "postgres://username:password@localhost, see //a/b@c"}]}}, set()),
]


@pytest.mark.parametrize(("given", "found"), SECRETS)
def test_secrets_of(given: dict[str, object], found: set[str]) -> None:
    secrets = secrets_of(exchange(**given))  # type: ignore[arg-type]
    assert set(secrets) == found
    assert list(secrets) == sorted(secrets, key=len, reverse=True)


def test_words_that_are_called_tokens_are_looked_for_up_to_a_bound() -> None:
    """For each the mask of the answer takes milliseconds; the credentials of the headers are among them."""
    words = [{"token": f"word number {n}"} for n in range(5000)]
    secrets = secrets_of(exchange((("authorization", "Bearer abcdefgh"),), request={"input": words}, path="/?key=bcdefghi"))
    assert len(secrets) == MAX_NAMED
    assert {"abcdefgh", "bcdefghi", "word number 0"} <= set(secrets)


def test_secrets_in_front_of_a_body() -> None:
    headers, path = (("authorization", "Bearer abcdefgh"), ("x-note", f"gsk_{BODY}")), "/?key=bcdefghi"
    assert set(secrets_in(headers, path)) == {"abcdefgh", f"gsk_{BODY}", "bcdefghi"}
    assert set(secrets_of(exchange(headers, path, {"api_key": "cdefghij"}))) == {*secrets_in(headers, path), "cdefghij"}


def test_long_secrets_are_looked_for_up_to_a_bound() -> None:
    """A model may have written them; one of the user's is among them, and whole."""
    texts = [{"token": str(n) * 20_000} for n in range(1, 9)]
    secrets = secrets_of(exchange((("authorization", f"Bearer {'ab' * 4000}"),), request={"input": texts}))
    assert "ab" * 4000 in secrets
    assert "1" * MAX_SECRET in secrets
    assert sum(map(len, secrets)) == MAX_SECRETS


def test_a_mark_of_the_byte_order_hides_no_secret() -> None:
    body = b'\xef\xbb\xbf{"api_key": "abcdefgh"}'
    assert secrets_of(replace(exchange(), request=body)) == ("abcdefgh",)
    assert Redactor(()).body(body) == b'{"api_key":"%s"}' % REDACTED.encode()
