"""Responses that toolmend makes itself, for the auxiliary requests of clients to a routed host.

    HEAD /                            connectivity check
    GET  /v1/models, /v1/models/ID    the models of the routes
    POST /v1/messages/count_tokens    an estimate: upstreams of other APIs have no such endpoint
    POST /api/event_logging/…         the client's telemetry, which is discarded
    GET  /v1/responses as WebSocket   426: Codex then sends a POST

The routed host may not exist, and the upstream has no such endpoints. Source: the requests of Claude Code and Codex at start.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

from ..apis import APIS
from ..apis.codec import Reply
from ..apis.shared.web_search import UNAVAILABLE
from ..core import json_text
from ..core.events import Finish, MessageEnd, MessageStart, TextDelta, WebSearch
from ..core.fastclass import value
from ..core.ids import with_prefix
from ..core.tools import UNKNOWN
from ..providers.routes import Api, Route, match
from .estimate import tokens

COUNT = "/count_tokens"

EVENTS = "text/event-stream; charset=utf-8"

NOT_SEARCHED = "No web search was made: the model that answers here cannot search the web."


@value
class LocalResponse:
    """A response that toolmend makes."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


@value
class LocalRequest:
    """A request to a routed host. `headers`: lower-case names. `body`: decoded, None unless it is a JSON object."""

    scheme: str
    host: str
    port: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any] | None = None


def answer(request: LocalRequest, routes: Sequence[Route], new_id: str, *, by_glob: bool = False) -> LocalResponse | None:
    """Returns the response to an auxiliary request, or None for any other request.

    Args:
        request: The request.
        routes: The routes of its host; not empty.
        new_id: A new id, for errors.
        by_glob: Whether `/models/ID` also finds models that only match a route's glob.
    """
    path = request.path.partition("?")[0].rstrip("/")
    kind = (request.method, path)
    if kind == ("HEAD", ""):
        return LocalResponse(200)
    if request.method == "POST" and f"{path}/".startswith("/api/event_logging/"):
        return LocalResponse(200, b"{}")
    counted = path.removesuffix(COUNT)
    if request.method == "POST" and counted != path and _has_route(request, routes, counted, _model(request)):
        return LocalResponse(200, _json({"input_tokens": tokens(request.body or {}, "messages")}))
    if request.method == "GET" and request.headers.get("upgrade", "").lower() == "websocket":
        return LocalResponse(426, _json(_error("Upgrade Required"))) if _has_route(request, routes, path, None) else None
    if request.method == "GET":
        prefix, found, name = path.partition("/models")
        if found and prefix in ("", "/v1", "/api/v1"):
            anthropic = "anthropic-version" in request.headers
            ids = _model_ids(routes)
            matching = routes if by_glob else ()
            return _model_info(unquote(name[1:]), matching, ids, anthropic, new_id) if name else _model_list(ids, anthropic)
    return None


def search_unavailable(request: Mapping[str, Any], client: Api, query: str, new_id: str) -> LocalResponse:
    """Returns the response, in the client's API, to a web search that the upstream cannot make: "unavailable".

    Args:
        request: The client's request.
        client: The client's API.
        query: The query of the search.
        new_id: The id of the response.
    """
    make = APIS[client].writer
    assert make
    writer = make(Reply(UNKNOWN, lambda: new_id, lambda _: None, request, input_tokens=tokens(request, client)))
    events = (WebSearch("", (query,), (), UNAVAILABLE), TextDelta(NOT_SEARCHED), Finish("stop"))
    if request.get("stream") is not True:
        return LocalResponse(200, writer.message(events))
    return LocalResponse(200, writer.write((MessageStart(), *events, MessageEnd())) + writer.close(), EVENTS)


def _has_route(request: LocalRequest, routes: Sequence[Route], path: str, model: str | None) -> bool:
    return match(routes, request.scheme, request.host, request.port, path, model) is not None


def _model(request: LocalRequest) -> str:
    return str((request.body or {}).get("model") or "")


def _model_ids(routes: Sequence[Route]) -> list[str]:
    """Model names that a client may request: each route's `model`, or its `use_model` where `model` is `*`."""
    names = [route.use_model if route.model == "*" else route.model for route in routes]
    return list(dict.fromkeys(name for name in names if name and not set(name) & set("*?[")))


def _model_list(ids: Sequence[str], anthropic: bool) -> LocalResponse:
    models = [_entry(name, anthropic) for name in ids]
    if anthropic:
        ends = {"first_id": ids[0] if ids else None, "last_id": ids[-1] if ids else None}
        return LocalResponse(200, _json({"data": models, "has_more": False, **ends}))
    return LocalResponse(200, _json({"object": "list", "data": models}))


def _model_info(name: str, routes: Sequence[Route], ids: Sequence[str], anthropic: bool, new_id: str) -> LocalResponse:
    globs = [route.model for route in routes if not route.client or (route.client == "messages") == anthropic]
    if name in ids or any(fnmatchcase(name.lower(), glob) for glob in globs):
        return LocalResponse(200, _json(_entry(name, anthropic)))
    if anthropic:
        error = {"type": "not_found_error", "message": f"model: {name[:200]}"}
        return LocalResponse(404, _json({"type": "error", "error": error, "request_id": with_prefix("req_", new_id)}))
    return LocalResponse(404, _json(_error(f"The model {name[:200]!r} does not exist", "model_not_found")))


def _entry(name: str, anthropic: bool) -> dict[str, Any]:
    if anthropic:
        return {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
    return {"id": name, "object": "model", "created": 0, "owned_by": "toolmend"}


def _error(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def _json(value: Any) -> bytes:
    return json_text.dumps(value).encode()
