"""What is answered on a routed host without asking anybody."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.routes import CHAT, parsed, table
from toolmend.requests.estimate import tokens
from toolmend.requests.local_responses import LocalRequest, LocalResponse, answer

MODELS = "\n".join(
    (
        table(model="claude-sonnet-4-5"),
        table(model="claude-*", use_model="glm-5"),
        table(**{"from": "https://api.anthropic.com/v1/responses"}, use_model="kimi-k2.5"),
    )
)
COUNTED = {"model": "claude-x", "messages": [{"role": "user", "content": "How is the weather?"}]}
ANTHROPIC = {"anthropic-version": "2023-06-01"}
UPGRADE = {"upgrade": "WebSocket", "connection": "Upgrade"}


def ask(folder: Path, method: str, path: str, headers: dict[str, str] | None = None, body: dict[str, Any] | None = None) -> LocalResponse | None:
    asked = LocalRequest("https", "api.anthropic.com", 443, method, path, headers or {}, body)
    return answer(asked, parsed(MODELS, folder), "call_01", by_glob=True)


ANSWERED: list[tuple[str, str, dict[str, str], int, Any]] = [
    # method, path, headers; the status and the body
    ("HEAD", "/", {}, 200, None),
    ("POST", "/api/event_logging/batch", {}, 200, {}),
    ("POST", "/api/event_logging", {}, 200, {}),
    (
        "GET",
        "/v1/models?limit=1000",
        ANTHROPIC,
        200,
        {
            "data": [
                {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
                for name in ("claude-sonnet-4-5", "kimi-k2.5")
            ],
            "has_more": False,
            "first_id": "claude-sonnet-4-5",
            "last_id": "kimi-k2.5",
        },
    ),
    (
        "GET",
        "/v1/models",
        {},
        200,
        {
            "object": "list",
            "data": [
                {"id": name, "object": "model", "created": 0, "owned_by": "toolmend"} for name in ("claude-sonnet-4-5", "kimi-k2.5")
            ],
        },
    ),
    ("GET", "/v1/models/kimi%2Dk2.5", {}, 200, {"id": "kimi-k2.5", "object": "model", "created": 0, "owned_by": "toolmend"}),
    (
        "GET",
        "/v1/models/x",
        ANTHROPIC,
        404,
        {"type": "error", "error": {"type": "not_found_error", "message": "model: x"}, "request_id": "req_01"},
    ),
    # a name that a route takes by a glob
    (
        "GET",
        "/v1/models/Claude-x",
        ANTHROPIC,
        200,
        {"type": "model", "id": "Claude-x", "display_name": "Claude-x", "created_at": "1970-01-01T00:00:00Z"},
    ),
    ("GET", "/v1/models/x", {}, 200, {"id": "x", "object": "model", "created": 0, "owned_by": "toolmend"}),
    (
        "GET",
        "/v1/responses",
        UPGRADE,
        426,
        {"error": {"message": "Upgrade Required", "type": "invalid_request_error", "param": None, "code": None}},
    ),
]


@pytest.mark.parametrize(("method", "path", "headers", "status", "body"), ANSWERED)
def test_answered(method: str, path: str, headers: dict[str, str], status: int, body: Any, tmp_path: Path) -> None:
    given = ask(tmp_path, method, path, headers)
    assert given
    assert given.status == status
    assert (json.loads(given.body) if given.body else None) == body


def test_a_model_that_no_route_takes(tmp_path: Path) -> None:
    routes = parsed(table(**{"from": "https://api.anthropic.com/v1/responses"}, model="gpt-*"), tmp_path)
    given = answer(LocalRequest("https", "api.anthropic.com", 443, "GET", "/v1/models/x", {}), routes, "call_01", by_glob=True)
    assert given and given.status == 404
    error = {"message": "The model 'x' does not exist", "type": "invalid_request_error", "param": None, "code": "model_not_found"}
    assert json.loads(given.body) == {"error": error}


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/messages/count_tokens?beta=true"])
def test_tokens_are_counted(path: str, tmp_path: Path) -> None:
    given = ask(tmp_path, "POST", path, body=COUNTED)
    assert given
    assert (given.status, json.loads(given.body)) == (200, {"input_tokens": tokens(COUNTED, "messages")})
    assert tokens(COUNTED, "messages") > 3


@pytest.mark.parametrize(
    ("method", "path", "headers", "body"),
    [
        ("GET", "/", {}, None),
        ("HEAD", "/v1/messages", {}, None),
        ("POST", "/v1/messages/count_tokens", {}, {"model": "gpt-5", "messages": []}),
        ("POST", "/v1/messages/count_tokens", {}, None),
        ("POST", "/v1/messages", {}, COUNTED),
        ("POST", "/v1/models", {}, None),
        ("GET", "/v1/other/models", {}, None),
        ("GET", "/v1/realtime", UPGRADE, None),
        ("GET", "/api/event_logging/batch", {}, None),
    ],
)
def test_not_answered(method: str, path: str, headers: dict[str, str], body: dict[str, Any] | None, tmp_path: Path) -> None:
    assert ask(tmp_path, method, path, headers, body) is None


def test_a_count_over_chat_is_that_of_messages(tmp_path: Path) -> None:
    """A client of Messages counts; whichever API the upstream speaks is of no matter."""
    rows = parsed(table(**{"from": "llm.invalid"}, to=CHAT), tmp_path)
    asked = LocalRequest("http", "llm.invalid", 80, "POST", "/v1/messages/count_tokens", {}, COUNTED)
    given = answer(asked, rows, "call_01")
    assert given
    assert json.loads(given.body) == {"input_tokens": tokens(COUNTED, "messages")}
