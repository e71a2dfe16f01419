"""What a recording may say of a request: tables of what goes, what stays, and what counts as a secret."""

import base64
import json
import tracemalloc
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.key_samples import masked
from tests.support.redacted_exchange import exchange
from toolmend.core.json_text import MANY, SMALL
from toolmend.secrets import key_patterns
from toolmend.secrets.key_patterns import LONG, MASKED_KEYS, Pause
from toolmend.secrets.redactor import KEPT_HEADERS, REDACTED, Redactor, keyless
from toolmend.secrets.request_secrets import BLOCK, MAX_NAMED, MAX_SECRET, MAX_SECRETS, secrets_in, secrets_of

BODY = "Ab9Cd8Ef7Gh6Ij5Kl4Mn3Op2Qr1St0Uv9Wx8Yz7"

KNOWN = [
    *masked(),
    f"Bearer {BODY}",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + BODY,
    "eyJhbGciOiJSU0EifQ..iv-iv-iv.c1ph3r-t3xt.tag",
    f"-----BEGIN PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END PRIVATE KEY-----",
    f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY}",  # its end is missing
    f"-----BEGIN OPENSSH PRIVATE KEY-----\\n{BODY}\\n-----END OPENSSH PRIVATE KEY-----",
]

AROUND = [  # what stands around a key, and stays
    ("", ""),
    ("my key is ", " now"),
    ("key=", "&x=1"),
    ('{"key": "', '"}'),
    ("export KEY='", "'"),
    ("密钥", "。"),
    ("first line\\n", '\\n"'),  # a text in a text
    ("(", ")"),
    ("key_", ","),
]

INNOCENT = [
    "task-list-of-the-day, disk-usage-is-high-today, risk-free-and-simple-names",
    "sk-learn is short",
    "The Bearer of bad news",
    "functions.get_weather:0 call_0123456789abcdef0123456789abcdef chatcmpl-9f8d7c6b5a4e3d2c1b0a",
    "self_attention_hf_ gsk_ AKIA AIza eyJ eyJhbGciOiJIUzI1NiJ9",
    "data:image/png;base64,iVBORw0KGgoeyJhbGciOiJIUzI1NiJ9AAAA",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.task:45",
    "550e8400-e29b-41d4-a716-446655440000",
    "",
]


@pytest.mark.parametrize("key", KNOWN)
@pytest.mark.parametrize(("before", "after"), AROUND)
def test_a_known_key_goes_whole(key: str, before: str, after: str) -> None:
    if key.startswith("-----") and "END" not in key:
        after = ""
    if key.startswith("eyJ"):
        before = before.replace("_", ":")  # behind `_` and `-` it may be the middle of any base64
    assert Redactor(()).text(before + key + after) == before + REDACTED + after


@pytest.mark.parametrize("text", INNOCENT)
def test_an_innocent_text_stays(text: str) -> None:
    assert Redactor(("hunter2hunter2",)).text(text) == text


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


@pytest.mark.parametrize(
    "body",
    [b"", b"no JSON", b"\xff\xfe", b"[" * 100_000, b"[" * 3000 + b"]" * 3000, b'{"secret": ', b"\x28\xb5\x2f\xfd"],
)
def test_a_body_that_is_no_json_has_no_secrets_and_is_not_kept(body: bytes) -> None:
    assert secrets_of(replace(exchange(), request=body, upstream_request=body)) == ()
    assert Redactor(()).body(body) is None


@pytest.mark.parametrize(
    "body",
    [
        f"key=sk-{BODY}&x=gsk_{BODY}".encode(),
        f'{{"a":"sk-{BODY}"}} {{"b":"gsk_{BODY}"}}'.encode(),
        json.dumps({"a": f"sk-{BODY}", "rows": [[]] * MANY, "z": [" " * SMALL, f"gsk_{BODY}"]}).encode(),
        b" " * (BLOCK - 10) + f"sk-{BODY}".encode() + b"\xff" * BLOCK + f" gsk_{BODY}".encode(),
    ],
    ids=["form", "two", "crowded", "in blocks"],
)
def test_keys_in_a_body_that_is_not_read_are_told_by_their_shape(body: bytes) -> None:
    assert set(secrets_of(replace(exchange(), request=body))) == {f"sk-{BODY}", f"gsk_{BODY}"}


BODIES = [
    ({"model": "m", "messages": [{"role": "user", "content": "hi"}], "n": 1, "x": None, "y": True, "z": 1.5}, None),
    (
        {"api_key": "x", "password": "", "secret": None, "token": 5},
        {"api_key": REDACTED, "password": "", "secret": None, "token": 5},
    ),
    (
        {"password": 1234, "secrets": [5.5, {"n": 6}], "user_id": 7, "api_key": True, "token": [8], "n": 9},
        {"password": REDACTED, "secrets": [REDACTED, {"n": 6}], "user_id": REDACTED, "api_key": True, "token": [8], "n": 9},
    ),
    ({"max_tokens": 5, "max_completion_tokens": "many", "eos_token": "</s>", "logprobs": True}, None),
    (
        {
            "tools": [
                {
                    "function": {
                        "parameters": {
                            "properties": {"token": {"type": "string", "default": "x"}},
                            "required": ["token"],
                        }
                    }
                }
            ]
        },
        None,
    ),
    (
        {"messages": [{"content": "say hunter2hunter2 twice: hunter2hunter2"}]},
        {"messages": [{"content": f"say {REDACTED} twice: {REDACTED}"}]},
    ),
    ({"content": f"sk-{BODY}"}, {"content": REDACTED}),
    ({f"sk-{BODY}": "hunter2hunter2"}, {REDACTED: REDACTED}),
    ({"arguments": json.dumps({"a": 'open"sesame\n'})}, {"arguments": json.dumps({"a": "X"}).replace("X", REDACTED)}),
    ({"arguments": '{"a": {"password" : "x"}}'}, {"arguments": f'{{"a":{{"password":"{REDACTED}"}}}}'}),
    ({"arguments": '{"a" : [1.0, NaN, "x"]}', "x": {"arguments": ["a"]}, "y": [{"arguments": '{"token":"x'}, {"arguments": "\ud800"}]}, None),
    ({"url": "https://h/?q=open%22sesame%0A"}, {"url": f"https://h/?q={REDACTED}"}),
    (
        {"url": "wss://h/x;y?a=b&api_key=c;profile=&token=d#key=e", "u": "https://h/x?a=b&token", "t": "x https://h/?key=a"},
        {
            "url": f"wss://h/x;y?a=b&api_key={REDACTED};profile=&token={REDACTED}#key={REDACTED}",
            "u": "https://h/x?a=b&token",
            "t": "x https://h/?key=a",
        },
    ),
    (
        {"mcp_servers": [{"headers": {"X-Figma": "a", "Content-Type": "application/json"}}]},
        {"mcp_servers": [{"headers": {"X-Figma": REDACTED, "Content-Type": "application/json"}}]},
    ),
    ({"properties": {"headers": {"type": "object", "description": "of it"}, "x": {"headers": {"a": {"type": "b"}}}}}, None),
    (
        {"env": [{"name": "A_TOKEN", "value": "x"}, {"name": "A", "value": "x"}, {"name": "A_TOKEN", "values": "x"}], "auth": "x"},
        {"env": [{"name": "A_TOKEN", "value": REDACTED}, {"name": "A", "value": "x"}, {"name": "A_TOKEN", "values": "x"}], "auth": REDACTED},
    ),
    ({"metadata": {"user_id": "user_1_account_2", "x": "y"}}, {"metadata": {"user_id": REDACTED, "x": "y"}}),
    (
        {"secrets": {"a": "b", "c": ""}, "user": "d", "pass": "e", "A_KEY": "f", "credentials": {"g": 1, "h": "i"}},
        {"secrets": {"a": REDACTED, "c": ""}, "user": "d", "pass": REDACTED, "A_KEY": REDACTED, "credentials": {"g": 1, "h": "i"}},
    ),
    (
        {"api_keys": ["a", ["b"], {"c": "d", "secret": "e"}]},
        {"api_keys": [REDACTED, [REDACTED], {"c": "d", "secret": REDACTED}]},
    ),
    (["€ \ud800", 123456789012345678901234567890], None),
]


@pytest.mark.parametrize(("body", "expected"), BODIES)
def test_a_body_is_kept_without_its_secrets(body: object, expected: object) -> None:
    redacted = Redactor(("hunter2hunter2", 'open"sesame\n')).body(json.dumps(body).encode())
    assert redacted is not None
    assert json.loads(redacted) == (body if expected is None else expected)


PATHS = [
    ("/v1/chat/completions", None),
    ("/v1/x?", None),
    ("/v1/x?alt=sse&beta=true&flag&=", "/v1/x?alt=sse&beta=true&flag&"),
    (
        "/v1beta/models/m:streamGenerateContent?key=AIzaX&alt=sse",
        f"/v1beta/models/m:streamGenerateContent?key={REDACTED}&alt=sse",
    ),
    ("/x?sig=a;X-Amz-Signature=b&token=&code=c", f"/x?sig={REDACTED}&X-Amz-Signature={REDACTED}&token&code={REDACTED}"),
    ("/x?%6Bey=a", f"/x?%6Bey={REDACTED}"),
    ("/x?pwd=a&pass=b&jwt=c&compass=d", f"/x?pwd={REDACTED}&pass={REDACTED}&jwt={REDACTED}&compass=d"),
    ("/hunter2hunter2/x?y=a-hunter2hunter2-b", f"/{REDACTED}/x?y={REDACTED}"),
    ("/a%68unter2hunter2/x?y=hunter2%68unter2", f"/{REDACTED}/x?y={REDACTED}"),
    ("/x?y=open+sesame&z=100%25 sure", f"/x?y={REDACTED}&z={REDACTED}"),
    ("/a+secret+b/x?y=a%2Bsecret%2Bb&z=a%20secret", f"/{REDACTED}/x?y={REDACTED}&z=a%20secret"),
    (f"/sk-{BODY}/x", f"/{REDACTED}/x"),
    ("//me:password@host/x", f"//{REDACTED}@host/x"),
]


@pytest.mark.parametrize(("path", "expected"), PATHS)
def test_a_path_is_kept_without_its_secrets(path: str, expected: str | None) -> None:
    assert Redactor(("hunter2hunter2", "a+secret+b", "open sesame", "100%25 sure")).path(path) == (
        path if expected is None else expected
    )


def test_headers_are_kept_by_a_list() -> None:
    headers = [
        ("Content-Type", "application/json"),
        ("anthropic-version", "2023-06-01"),
        ("X-Stainless-Lang", "python"),
        ("user-agent", "agent/1 (hunter2hunter2)"),
        ("Authorization", "Bearer x"),
        ("x-hunter2hunter2", "y"),
        ("cookie", "a=b"),
        ("set-cookie", "a=b"),
        ("openai-organization", "org-1"),
        ("chatgpt-account-id", "1"),
        ("x-new", "?"),
    ]
    assert Redactor(("hunter2hunter2",)).headers(headers) == [
        *[[name, value] for name, value in headers[:3]],
        ["user-agent", f"agent/1 ({REDACTED})"],
        ["Authorization", REDACTED],
        [f"x-{REDACTED}", REDACTED],
        *[[name, REDACTED] for name, _ in headers[6:]],
    ]


@pytest.mark.parametrize(
    "name", ["authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization"]
)
def test_no_credential_is_on_the_list(name: str) -> None:
    assert not KEPT_HEADERS.fullmatch(name)


def test_texts_without_a_key_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_patterns, "MOST_KEYLESS", 3)
    monkeypatch.setattr(key_patterns, "_keyless", known := set[int]())
    key = "sk-" + "a1B2" * 8
    for number in range(10):
        assert Redactor(()).text(f"text {number}") == f"text {number}"
        assert Redactor(()).text(f"text {number} {key}") == f"text {number} {REDACTED}"
        assert 0 < len(known) <= 3


def test_words_of_others_have_no_keys_and_no_credentials() -> None:
    assert keyless(f"text -> localhost:8443/v1/responses?key={BODY}&x=1 why?") == f"text -> localhost:8443/v1/responses?key={REDACTED}&x=1 why?"
    words = f"no route to https://ann:secret-word@llm.example.com/v1?key={BODY}, which has sk-{BODY}"
    assert keyless(words) == f"no route to https://{REDACTED}@llm.example.com/v1?key={REDACTED} which has {REDACTED}"


def test_long_names_are_not_kept() -> None:
    """A thousand of a stranger's: an answer may name the members of its arguments so."""

    def kept(number: int) -> list[object]:
        named = {f"{number}{'x' * 400_000}{end}": "a" for end in ("", "-api-key", "-user-id")}
        return list(Redactor(()).value(named).values())

    tracemalloc.start()
    assert all(kept(number) == ["a", REDACTED, "a"] for number in range(20))
    assert tracemalloc.get_traced_memory()[0] < 2_000_000
    tracemalloc.stop()


def test_of_two_secrets_the_longer_goes_first() -> None:
    assert Redactor(("abcdefgh", "abcdefghijkl")).text("abcdefghijkl abcdefghi") == f"{REDACTED} {REDACTED}i"


NAMES = st.sampled_from(["model", "content", "api_key", "token", "max_tokens", "x", "user_id", "Authorization"])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=20,
)


@given(VALUES, st.text(min_size=8, max_size=40))
def test_no_body_keeps_a_secret(value: object, secret: str) -> None:
    """Wherever a request holds its secret, in values and in names, the body on the disk does not."""
    body = json.dumps([value, secret, {secret: 1, "x": f"<{secret}>", "y": json.dumps({"z": secret})}])
    redacted = Redactor((secret,)).body(body.encode())
    assert redacted is not None

    def strings(value: object) -> list[str]:
        match value:
            case str():
                return [value]
            case list():
                return [text for item in value for text in strings(item)]
            case dict():
                return strings([*value, *value.values()])
        return []

    assert not any(secret in text.replace(REDACTED, "\0") for text in strings(json.loads(redacted)))


@given(st.binary(), st.text(), st.lists(st.text(min_size=8)))
def test_anything_may_come(data: bytes, text: str, secrets: list[str]) -> None:
    redactor = Redactor(secrets)
    redactor.body(data)
    redactor.path(text)
    redactor.headers([(text, text)])
    secrets_of(replace(exchange(((text, text), ("cookie", text), ("authorization", text)), text), request=data))


@given(VALUES)
def test_what_holds_no_secret_stays(value: object) -> None:
    def names(value: object) -> object:
        match value:
            case list():
                return [names(item) for item in value]
            case dict():
                return {f"{name} count": names(item) for name, item in value.items()}
        return value

    body = names(value)
    redacted = Redactor(("hunter2hunter2",)).body(json.dumps(body).encode())
    assert redacted is not None
    assert json.loads(redacted) == body
