"""Errors and headers between APIs: whatever an upstream says, the client gets its own API's error."""

import json
from datetime import UTC, datetime

import pytest

from toolmend.apis.shared.errors import Fault, is_error, read_fault, translate_error, write_error

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
ID = "call_0123"

JSON = (("Content-Type", "application/json"),)


def chat(message: str, **more: object) -> bytes:
    return json.dumps({"error": {"message": message, "type": None, "param": None, "code": None} | more}).encode()


def anthropic(kind: str, message: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


TO_MESSAGES = [
    # upstream's status and body; the client's status and type
    (400, chat("bad"), 400, "invalid_request_error"),
    (400, b"bad", 400, "invalid_request_error"),
    (399, b"no error", 500, "api_error"),
    (401, chat("wrong key", type="invalid_request_error", code="invalid_api_key"), 401, "authentication_error"),
    (402, chat("pay"), 402, "billing_error"),
    (403, chat("no"), 403, "permission_error"),
    (404, chat("no such model"), 404, "not_found_error"),
    (408, chat("slow"), 504, "timeout_error"),
    (409, chat("twice"), 409, "conflict_error"),
    (413, chat("large"), 413, "request_too_large"),
    (418, chat("tea"), 400, "invalid_request_error"),
    (422, chat("bad"), 400, "invalid_request_error"),
    (429, chat("wait", type="tokens", code="rate_limit_exceeded"), 429, "rate_limit_error"),
    (500, chat("oops"), 500, "api_error"),
    (500, chat("The engine is currently overloaded"), 529, "overloaded_error"),
    (502, b"<html>Bad Gateway</html>", 500, "api_error"),
    (503, chat("later"), 529, "overloaded_error"),
    (504, b"", 504, "timeout_error"),
    (520, b"upstream connect error", 500, "api_error"),
    (529, chat("later"), 529, "overloaded_error"),
    (200, chat("busy", code=429), 429, "rate_limit_error"),
    (200, chat("busy", code="503"), 529, "overloaded_error"),
    (200, chat("no credits left", type="insufficient_quota"), 402, "billing_error"),
    (200, chat("what"), 500, "api_error"),
    (200, b'{"choices":[{"index":0,"error":{"code":502,"message":"Provider"}}]}', 500, "api_error"),
]


@pytest.mark.parametrize("source", ["chat", "responses"])
@pytest.mark.parametrize(("status", "body", "out", "kind"), TO_MESSAGES)
def test_to_messages(status: int, body: bytes, out: int, kind: str, source: str) -> None:
    code, headers, text = translate_error(status, JSON, body, source, "messages", now=NOW, new_id=ID)
    error = json.loads(text)
    assert (code, error["error"]["type"]) == (out, kind)
    assert error["type"] == "error"
    assert error["error"]["message"]
    assert error["request_id"] == "req_0123"
    assert headers == (("content-type", "application/json"), ("request-id", "req_0123"))


TO_OPENAI = [
    # upstream's status and body; the client's status, type and code
    (400, anthropic("invalid_request_error", "bad"), 400, "invalid_request_error", None),
    (401, anthropic("authentication_error", "x"), 401, "invalid_request_error", "invalid_api_key"),
    (402, anthropic("billing_error", "x"), 402, "insufficient_quota", "insufficient_quota"),
    (405, anthropic("invalid_request_error", "x"), 405, "invalid_request_error", None),
    (403, anthropic("permission_error", "x"), 403, "invalid_request_error", None),
    (413, anthropic("request_too_large", "x"), 413, "invalid_request_error", None),
    (429, anthropic("rate_limit_error", "x"), 429, "rate_limit_error", "rate_limit_exceeded"),
    (500, anthropic("api_error", "x"), 500, "server_error", None),
    (529, anthropic("overloaded_error", "Overloaded"), 503, "server_error", "server_is_overloaded"),
    (200, anthropic("overloaded_error", "Overloaded"), 503, "server_error", "server_is_overloaded"),
    (400, anthropic("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), 400, "invalid_request_error", "context_length_exceeded"),
    (400, chat("bad", type="image_parse_error", code="invalid_image"), 400, "image_parse_error", "invalid_image"),
]


@pytest.mark.parametrize("target", ["chat", "responses"])
@pytest.mark.parametrize(("status", "body", "out", "kind", "word"), TO_OPENAI)
def test_to_openai(status: int, body: bytes, out: int, kind: str, word: str | None, target: str) -> None:
    code, headers, text = translate_error(status, JSON, body, "messages", target, now=NOW, new_id=ID)
    error = json.loads(text)["error"]
    assert (code, error["type"], error["code"], error["param"]) == (out, kind, word, None)
    assert list(error) == ["message", "type", "param", "code"]
    assert headers == (("content-type", "application/json"),)


OVERFLOWS = [
    # what upstreams say, and what a client of Messages compacts by
    ("This model's maximum context length is 128000 tokens. However, you requested 140000 tokens (136000 in the messages, 4000 in the completion).", "140000 tokens > 128000 maximum"),
    ("This model's maximum context length is 128,000 tokens. However, your messages resulted in 130,123 tokens.", "130123 tokens > 128000 maximum"),
    ("'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 40960 tokens and your request has 20000 input tokens", "40961 tokens > 40960 maximum"),
    ("the request exceeds the available context size (4096 tokens), try increasing it", "4097 tokens > 4096 maximum"),
    ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", "40000 tokens > 32768 maximum"),
    ("Range of input length should be [1, 129024]", "129025 tokens > 129024 maximum"),
    ("Invalid request: Your request exceeded model token limit: 131072", "131073 tokens > 131072 maximum"),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "1200000 tokens > 1048576 maximum"),
    ("This model's maximum prompt length is 131072 but the request contains 150000 tokens.", "150000 tokens > 131072 maximum"),
    ("The decoder prompt (length 5000) is longer than the maximum model length of 4096", "5000 tokens > 4096 maximum"),
    ("prompt token count of 140000 exceeds the limit of 128000", "140000 tokens > 128000 maximum"),
    ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens", "9000 tokens > 8193 maximum"),
    ("input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.", "300000 tokens > 272000 maximum"),
    ("input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input length", "200001 tokens > 200000 maximum"),
    ("Current length is 140000 while limit is 131072", "140000 tokens > 131072 maximum"),
    ("maximum input length is 8192 tokens", "8193 tokens > 8192 maximum"),
    ("input too long: 9000 input tokens, limit is 8192", "9000 tokens > 8192 maximum"),
]  # fmt: skip


UNCOUNTED = ["Input is too long for requested model.", "max_tokens must be at least 1, got -186.", "Your input exceeds the context window of this model."]


@pytest.mark.parametrize("message", UNCOUNTED)
def test_a_context_that_is_full_by_nobody_knows_how_much(message: str) -> None:
    _, _, text = translate_error(400, JSON, chat(message), "chat", "messages", now=NOW, new_id=ID)
    assert json.loads(text)["error"]["message"] == f"prompt is too long: {message}"


def test_a_limit_of_the_answer_is_no_full_context() -> None:
    _, _, text = translate_error(400, JSON, chat("max_tokens must be <= 8192"), "chat", "messages", now=NOW, new_id=ID)
    assert json.loads(text)["error"]["message"] == "max_tokens must be <= 8192"


NINES = "9" * 200_000
"""More digits than a number of tokens has, or Python reads."""


@pytest.mark.parametrize("status", [400, 413])
@pytest.mark.parametrize(("message", "told"), OVERFLOWS)
def test_a_context_that_is_full(status: int, message: str, told: str) -> None:
    code, _, text = translate_error(status, JSON, chat(message), "chat", "messages", now=NOW, new_id=ID)
    error = json.loads(text)["error"]
    assert (code, error["type"]) == (400, "invalid_request_error")
    assert error["message"] == f"prompt is too long: {told} ({message})"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (chat("Prompt exceeds max length"), "prompt is too long: Prompt exceeds max length"),
        (chat("too much", code="context_length_exceeded"), "prompt is too long: too much"),
        (chat("prompt is too long: 12 tokens > 10 maximum"), "prompt is too long: 12 tokens > 10 maximum"),
    ],
)
def test_a_context_that_is_full_without_numbers(body: bytes, message: str) -> None:
    _, _, text = translate_error(400, JSON, body, "chat", "messages", now=NOW, new_id=ID)
    assert json.loads(text)["error"]["message"] == message


@pytest.mark.parametrize("words", ["length", "length 4096 maximum", "length maximum 4096"])
def test_digits_without_end_are_no_number(words: str) -> None:
    _, _, text = translate_error(400, JSON, chat(f"Prompt exceeds max {words} {NINES}"), "chat", "messages", now=NOW, new_id=ID)
    assert json.loads(text)["error"]["message"].startswith("prompt is too long: ")


SHAPES = [
    # what upstreams call an error, and its words
    (b'{"error":{"message":"a"}}', "a"),
    (b'{"error":"a"}', "a"),
    (b'{"message":"a"}', "a"),
    (b'{"object":"error","message":"a","code":40303}', "a"),
    (b'{"detail":"a"}', "a"),
    (b'{"success":false,"errors":[{"message":"a","code":3040}],"messages":[]}', "a"),
    (b'{"fault":{"faultstring":"a","detail":{"errorcode":"policies.ratelimit.QuotaViolation"}}}', "a"),
    (b'{"Message":"a"}', "a"),
    (b'{"error_message":"a"}', "a"),
    (b'{"detail":[{"loc":["body"],"msg":"a","type":"missing"}]}', "a"),
    (b'[{"error":{"code":400,"message":"a","status":"INVALID_ARGUMENT"}}]', "a"),
    (b'{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"a"}}}', "Provider returned error: a"),
    (b'{"error":{"code":7}}', '{"code":7}'),
    (b'data: {"error":{"message":"a"}}\n\n', "a"),
    (b': PROCESSING\n\nevent: error\ndata: {"type":"error","error":{"message":"a"}}\n\ndata: [DONE]\n\n', "a"),
    (b"data: a\n\n", "data: a"),
    (b"plain words", "plain words"),
    (b"<html>x</html>", "the upstream answered with status 500 and no explanation"),
    (b"", "the upstream answered with status 500 and no explanation"),
    (b"\xff\xfe", "\ufffd\ufffd"),
    (b"caf\xe9 closed", "caf\ufffd closed"),
    (b'{"error":{"message":"caf\xe9"}}', "caf\ufffd"),
    (b'{"error":{"message":"a\nb"}}', "a\nb"),
    (b"\x1f\x8b\x08\x00\x04\x1f\xf4i", "the upstream answered with status 500 and no explanation"),
    ("\ufeffwords".encode("utf-16"), "the upstream answered with status 500 and no explanation"),
    (b"[]", "[]"),
    (b'{"error":{}}', '{"error":{}}'),
    (b'{"error_code":1,"error_msg":"a"}', "a"),
    (b'{"error":"{a"}', "{a"),
    (b'{"error":"{\\"message\\":\\"a\\"}"}', "a"),
    (b'{"base_resp":{"status_code":1002,"status_msg":"a"}}', "a"),
    (b"null", "null"),
    (b'"a"', "a"),
    (b"[" * 100_000, "[" * 4000),
    (chat("x" * 10_000), "x" * 4000),
    (b'{"error":{"message":["a"],"type":7,"code":[1],"param":{}}}', '{"message":["a"],"type":7,"code":[1],"param":{}}'),
]


@pytest.mark.parametrize(("body", "message"), SHAPES)
def test_any_shape(body: bytes, message: str) -> None:
    assert read_fault(500, body).message == message
    for target in ("chat", "responses", "messages"):
        status, _, text = translate_error(500, (), body, "messages" if target == "chat" else "chat", target, now=NOW, new_id=ID)
        assert status == 500
        assert json.loads(text)["error"]["message"] == message


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"error":{"message":"a"}}', True),
        (b'{"type":"error","error":{"type":"api_error","message":"a"}}', True),
        (b'{"choices":[{"error":{"message":"a"}}]}', True),
        (b'{"choices":[{"index":0,"message":{"content":"a"}}]}', False),
        (b'{"object":"response","error":null,"output":[]}', False),
        (b'{"type":"message","content":[]}', False),
        (b'{"choices":null,"base_resp":{"status_code":1002,"status_msg":"a"}}', True),
        (b'{"choices":[{"index":0,"message":{"content":"a"}}],"base_resp":{"status_code":0,"status_msg":""}}', False),
        (b"[]", False),
        (b"no", False),
    ],
)
def test_what_is_an_error(body: bytes, error: bool) -> None:
    assert is_error(body) is error


def test_between_the_same_api_an_error_stays_as_it_is() -> None:
    body = b'{ "error" : {"message":"a", "own": 1} }'
    headers = (*JSON, ("x-request-id", "r"), ("set-cookie", "a=b"))
    out = (429, (("content-type", "application/json"), ("x-request-id", "r")), body)
    assert translate_error(429, headers, body, "chat", "chat", now=NOW, new_id=ID) == out
    status, _, text = translate_error(502, JSON, b"<html>", "chat", "chat", now=NOW, new_id=ID)
    assert (status, json.loads(text)["error"]["type"]) == (502, "server_error")


@pytest.mark.parametrize(
    ("target", "status", "body"),
    [
        ("gemini", 401, {"error": {"code": 401, "message": "no", "status": "UNAUTHENTICATED"}}),
        ("gemini", 403, {"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}}),
        ("gemini", 404, {"error": {"code": 404, "message": "no", "status": "NOT_FOUND"}}),
        ("gemini", 429, {"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED"}}),
        ("gemini", 502, {"error": {"code": 502, "message": "no", "status": "UNAVAILABLE"}}),
        ("gemini", 503, {"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}}),
        ("gemini", 504, {"error": {"code": 504, "message": "no", "status": "DEADLINE_EXCEEDED"}}),
        ("gemini", 418, {"error": {"code": 418, "message": "no", "status": "INVALID_ARGUMENT"}}),
        ("gemini", 500, {"error": {"code": 500, "message": "no", "status": "INTERNAL"}}),
        ("ollama", 404, {"error": "no"}),
    ],
)
def test_errors_of_ours_in_apis_that_are_not_translated(target: str, status: int, body: object) -> None:
    told, text = write_error(Fault(status, "no"), target, ID)
    assert (told, json.loads(text)) == (status, body)
