"""What is answered here on a host that routes are for: what clients ask beside the messages themselves.

    HEAD /                            is anybody there?
    GET  /v1/models, /v1/models/ID    the models that a route takes
    POST /v1/messages/count_tokens    an estimate: upstreams of other APIs cannot count for a client of Messages
    POST /api/event_logging/…         the client's telemetry; it goes nowhere
    GET  /v1/responses as WebSocket   426: Codex then sends a POST

The host itself may not exist, and the upstream has none of it. Source: what Claude Code and Codex send on start.

Rule of this file: it is given a request and says what is answered, or None; it sends nothing.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

from ..apis import APIS
from ..apis.codec import Reply
from ..apis.shared.headers import request_id
from ..apis.shared.web_search import UNAVAILABLE
from ..core import json_text
from ..core.events import Finish, MessageEnd, MessageStart, TextDelta, WebSearch
from ..core.fastclass import value
from ..core.tools import UNKNOWN
from ..providers.routes import Api, Route, match
from .estimate import tokens

COUNT = "/count_tokens"

EVENTS = "text/event-stream; charset=utf-8"

NOT_SEARCHED = "No web search was made: the model that answers here cannot search the web."


@value
class LocalResponse:
    """A response of ours."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


@value
class Asked:
    """A request on a routed host. `headers`: names in lower case. `body`: without its coding, if it is an object."""

    scheme: str
    host: str
    port: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any] | None = None


def answer(asked: Asked, routes: Sequence[Route], new_id: str, *, by_glob: bool = False) -> LocalResponse | None:
    """What is answered; `routes` are those of this host, and not empty. `by_glob`: every model that a route takes is there."""
    path = asked.path.partition("?")[0].rstrip("/")
    kind = (asked.method, path)
    if kind == ("HEAD", ""):
        return LocalResponse(200)
    if asked.method == "POST" and f"{path}/".startswith("/api/event_logging/"):
        return LocalResponse(200, b"{}")
    if asked.method == "POST" and path.endswith(COUNT) and _takes(asked, routes, path.removesuffix(COUNT), _model(asked)):
        return LocalResponse(200, _json({"input_tokens": tokens(asked.body or {}, "messages")}))
    if asked.method == "GET" and asked.headers.get("upgrade", "").lower() == "websocket":
        return LocalResponse(426, _json(_error("Upgrade Required"))) if _takes(asked, routes, path, None) else None
    if asked.method == "GET":
        prefix, found, name = path.partition("/models")
        if found and prefix in ("", "/v1", "/api/v1"):
            anthropic = "anthropic-version" in asked.headers
            ids = _models(routes)
            taking = routes if by_glob else ()
            return _one(unquote(name[1:]), taking, ids, anthropic, new_id) if name else _list(ids, anthropic)
    return None


def not_searched(request: Mapping[str, Any], client: Api, query: str, new_id: str) -> LocalResponse:
    """The answer to a request for a web search that the upstream cannot make: that it is unavailable, in the client's API."""
    make = APIS[client].writer
    assert make
    writer = make(Reply(UNKNOWN, lambda: new_id, lambda _: None, request, input_tokens=tokens(request, client)))
    events = (WebSearch("", (query,), (), UNAVAILABLE), TextDelta(NOT_SEARCHED), Finish("stop"))
    if request.get("stream") is not True:
        return LocalResponse(200, writer.message(events))
    return LocalResponse(200, writer.write((MessageStart(), *events, MessageEnd())) + writer.close(), EVENTS)


def _takes(asked: Asked, routes: Sequence[Route], path: str, model: str | None) -> Api | None:
    found = match(routes, asked.scheme, asked.host, asked.port, path, model)
    return found[1] if found else None


def _model(asked: Asked) -> str:
    return str((asked.body or {}).get("model") or "")


def _models(routes: Sequence[Route]) -> list[str]:
    """Names that a client may ask for: of a route for one model that name, of a route for any the one it uses."""
    names = [route.use_model if route.model == "*" else route.model for route in routes]
    return list(dict.fromkeys(name for name in names if name and not set(name) & set("*?[")))


def _list(ids: Sequence[str], anthropic: bool) -> LocalResponse:
    models = [_entry(name, anthropic) for name in ids]
    if anthropic:
        ends = {"first_id": ids[0] if ids else None, "last_id": ids[-1] if ids else None}
        return LocalResponse(200, _json({"data": models, "has_more": False, **ends}))
    return LocalResponse(200, _json({"object": "list", "data": models}))


def _one(name: str, routes: Sequence[Route], ids: Sequence[str], anthropic: bool, new_id: str) -> LocalResponse:
    asked = [route.model for route in routes if not route.client or (route.client == "messages") == anthropic]
    if name in ids or any(fnmatchcase(name.lower(), model) for model in asked):
        return LocalResponse(200, _json(_entry(name, anthropic)))
    if anthropic:
        error = {"type": "not_found_error", "message": f"model: {name[:200]}"}
        return LocalResponse(404, _json({"type": "error", "error": error, "request_id": request_id(new_id)}))
    return LocalResponse(404, _json(_error(f"The model {name[:200]!r} does not exist", "model_not_found")))


def _entry(name: str, anthropic: bool) -> dict[str, Any]:
    if anthropic:
        return {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
    return {"id": name, "object": "model", "created": 0, "owned_by": "toolmend"}


def _error(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def _json(value: Any) -> bytes:
    return json_text.dumps(value).encode()
