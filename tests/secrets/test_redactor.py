"""What a recording may say of a request: tables of what goes, what stays, and what counts as a secret."""

import json
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.key_samples import masked
from tests.support.redacted_exchange import exchange
from toolmend.core.json_text import MANY, SMALL
from toolmend.secrets.redactor import KEPT_HEADERS, REDACTED, Redactor, keyless
from toolmend.secrets.request_secrets import BLOCK, secrets_of

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
