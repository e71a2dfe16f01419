"""Applies a route to a mitmproxy request: where it goes and what it carries, or that it is answered here.

    POST https://api.anthropic.com/v1/messages             POST https://openrouter.ai/api/v1/chat/completions
    x-api-key: the client's                          ─►    authorization: Bearer the route's
    {"model":"claude-sonnet-4-5","messages":[…]}           {"model":"moonshotai/kimi-k2.5","messages":[…]}

1. The client's credentials go only to the origin that the client called.
2. The route's key goes only to the route's origin.
3. So only headers on a list are sent, and only the path and query that the route names.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from typing import Any

from mitmproxy import http

from ..apis.shared.errors import Fault, write_error
from ..core import json_text
from ..core.fastclass import replace, value
from ..core.ids import new_call_id
from ..core.reasoning_state import MARK
from ..providers.model_profiles import PROFILES, Profile, profile_for
from ..providers.routes import COMPACT, Api, Origin, Route, is_compact, match
from ..requests import RequestError, Translated
from ..requests.local_responses import LocalRequest, LocalResponse, answer
from ..requests.messages.betas import needed_betas
from ..requests.outgoing import outgoing
from ..requests.prompted import template_for
from ..requests.translate import translate
from . import flow_info
from .learnt_refusals import KnownRefusals, RefusalMemory, RefusalScope

OTHER_CREDENTIALS = ("api-key", "x-goog-api-key", "cookie")
"""Names of credentials besides `authorization` and `x-api-key`; they are sent only where the client's own key is."""

PASSED_HEADERS = ("accept", "accept-language", "user-agent", "http-referer", "x-title")
"""Headers of the client that any upstream may get. Any other may hold a key, whatever its name."""

API_HEADERS: Mapping[Api, tuple[str, ...]] = {
    "chat": (),
    "messages": ("anthropic-beta", "anthropic-version"),
    "responses": ("openai-beta",),
}
"""Headers of the client that an upstream of the same API gets."""

BETA = "anthropic-beta"

MAX_HEADER = 16 * 1024
"""Characters of a client's header that is sent on; servers refuse longer ones."""

VERSION = "2023-06-01"
"""The only `anthropic-version`: docs.anthropic.com/en/api/versioning."""


@value
class Routed:
    """A routed request.

    Attributes:
        route: The route.
        client: The client's API.
        request: The client's request.
        translated: What is sent.
        headers: The client's headers.
        path: The client's path.
        trusted: Whether the client called the upstream itself.
        learnt: What was changed because of earlier refusals, one line each.
        id: The request's id, for APIs whose responses have one.
    """

    route: Route
    client: Api
    request: dict[str, Any]
    translated: Translated
    headers: tuple[tuple[str, str], ...]
    path: str
    trusted: bool = False
    learnt: tuple[str, ...] = ()
    id: str = field(default_factory=new_call_id)

    @property
    def wants_stream(self) -> bool:
        return self.request.get("stream") is True and not self.compact

    @property
    def compact(self) -> bool:
        """Whether the client asks for a compacted conversation instead of a response."""
        return self.client == "responses" and is_compact(self.path)

    @property
    def host(self) -> str:
        """The upstream's host, as profiles are looked up by it."""
        return self.route.to.netloc

    @property
    def key(self) -> RefusalScope:
        """The scope of refusals of this request."""
        return _key(self.route, self.request)

    @property
    def settings(self) -> dict[str, str]:
        """What a replay needs to translate the request again."""
        fields = {"upstream": self.host, "use_model": self.route.use_model}
        facts = {"facts": json.dumps(self.translated.facts)} if self.translated.facts else {}
        compact = {"compact": "yes"} if self.compact else {}
        edits = {"edits": json.dumps(self.translated.edits)} if self.translated.edits else {}
        settings = {name: value for name, value in fields.items() if value}
        return settings | facts | compact | edits | prompt_settings(self.translated)

    @property
    def secrets(self) -> tuple[tuple[str, str], ...]:
        """The route's key as a request header, so that the recording masks its echoes."""
        return (("x-upstream-authorization", f"Bearer {self.route.key}"),) if self.route.key else ()


def candidates(flow: http.HTTPFlow, routes: Collection[Route]) -> tuple[Route, ...]:
    """Returns the routes of the host that a flow calls."""
    if not (routes and flow.live):
        return ()
    hosts = flow_info.host_candidates(flow)
    return tuple(route for route in routes if any(route.on(flow.request.scheme, *host) for host in hosts))


def find(flow: http.HTTPFlow, routes: Iterable[Route], model: str | None) -> tuple[Route, Api] | None:
    """Returns the route of a request and its client's API, or None; `model` None matches any route."""
    if flow.request.method != "POST":
        return None
    found = (match(routes, flow.request.scheme, *host, flow.request.path, model) for host in flow_info.host_candidates(flow))
    return next(filter(None, found), None)


def local(flow: http.HTTPFlow, routes: tuple[Route, ...], body: Mapping[str, Any] | None) -> LocalResponse | None:
    """Returns the local response to a request that no route takes, or None."""
    request = flow.request
    headers = {name.lower(): value for name, value in flow_info.headers(request)}
    local_requests = (
        LocalRequest(request.scheme, *host, request.method, request.path, headers, body)
        for host in flow_info.host_candidates(flow)
    )
    answers = (answer(local_request, routes, new_call_id(), by_glob=True) for local_request in local_requests)
    return next(filter(None, answers), None)


def _key(route: Route, request: Mapping[str, Any]) -> RefusalScope:
    model = route.use_model or request.get("model")
    return RefusalScope(route.to.netloc, route.upstream, model.lower() if isinstance(model, str) else "")


def redirect(
    flow: http.HTTPFlow,
    route: Route,
    client: Api,
    request: dict[str, Any] | None,
    providers: Sequence[Profile],
    learnt: RefusalMemory | None = None,
) -> Routed:
    """Sends a request to the route's upstream, in its API. Everything that can fail is done before the flow is changed.

    Args:
        flow: The flow; its request is replaced.
        route: The route that takes it.
        client: The client's API.
        request: The parsed request; None if it cannot be parsed.
        providers: The profiles of the settings.
        learnt: What the upstream refused before.

    Raises:
        RequestError: The request cannot be expressed in the upstream's API.
    """
    if request is None:
        raise RequestError(f"the request's body is not a readable JSON object, or has more than {json_text.MANY} values")
    to = route.to
    called = _called_origin(flow.request)
    compact = client == "responses" and is_compact(flow.request.path)
    trusted = called == to
    known = learnt.known_for(_key(route, request)) if learnt and route.learn else KnownRefusals()
    translated = _translated(route, client, request, providers, known, trusted=trusted, compact=compact)
    if client == route.upstream and translated.request == request:
        body = flow_info.decode_body(flow.request.raw_content, flow_info.encoding(flow.request))
    else:
        body = json_text.body(translated.request)
    routed = Routed(route, client, request, translated, flow_info.headers(flow.request), flow.request.path, trusted, known.lines)
    headers = [*_headers(routed, called), ("content-length", str(len(body)))]
    flow.request.headers = http.Headers([(name.encode(), value.encode()) for name, value in headers])
    flow.request.data.authority = to.netloc.encode() if flow.request.is_http2 or flow.request.is_http3 else b""
    flow.request.data.scheme, flow.request.data.host = to.scheme.encode(), to.host
    flow.request.data.port, flow.request.data.path = to.port, _path(route, compact=compact and not translated.compacts).encode()
    flow.request.trailers = None
    flow.request.raw_content = body
    return routed


def _path(route: Route, *, compact: bool) -> str:
    """Returns the upstream's path. An upstream of Responses compacts a conversation at a path of its own."""
    if not (compact and route.upstream == "responses"):
        return route.to_path
    path, mark, query = route.to_path.partition("?")
    return f"{path.rstrip('/')}{COMPACT}{mark}{query}"


def _translated(
    route: Route,
    client: Api,
    request: dict[str, Any],
    providers: Sequence[Profile],
    known: KnownRefusals,
    *,
    trusted: bool,
    compact: bool,
) -> Translated:
    return outgoing(
        request,
        client,
        route.upstream,
        model=route.use_model,
        host=route.to.netloc,
        template=route.template,
        providers=providers,
        trusted=trusted,
        compact=compact,
        learnt=(known.facts, known.edits),
    )


def change(flow: http.HTTPFlow, routed: Routed, providers: Sequence[Profile], known: KnownRefusals) -> Routed | None:
    """Applies what was learnt to a request that was refused. Destination and key are unchanged.

    Args:
        flow: The flow; its request is changed.
        routed: The request as it was sent.
        providers: The profiles of the settings.
        known: What was learnt.

    Returns:
        The changed request, or None if nothing changes.

    Raises:
        RequestError: The changed request cannot be expressed in the upstream's API.
    """
    prompt_settings = {"trusted": routed.trusted, "compact": routed.compact}
    translated = _translated(routed.route, routed.client, routed.request, providers, known, **prompt_settings)
    betas = flow.request.headers.get(BETA, "")
    kept = _betas(betas, routed, translated)
    if translated.request == routed.translated.request and kept == betas:
        return None
    if kept != betas:
        flow.request.headers.pop(BETA, None)
        if kept:
            flow.request.headers[BETA] = kept
    if translated.request != routed.translated.request:
        body = json_text.body(translated.request)
        flow.request.headers["content-length"] = str(len(body))
        flow.request.raw_content = body
    return replace(routed, translated=translated, learnt=known.lines)


def _accepted_betas(value: str, refused: Sequence[str]) -> str:
    """Returns the values of `anthropic-beta` that the upstream accepts."""
    if not refused:
        return value
    words = [word.strip() for word in value.split(",")]
    return ",".join(word for word in words if word and not any(fnmatchcase(word, glob) for glob in refused))


def _betas(value: str, routed: Routed, translated: Translated) -> str:
    """Returns the header `anthropic-beta`: the client's, and what members need that toolmend wrote."""
    if routed.route.upstream != "messages":
        return value
    known = [word.strip() for word in value.split(",")]
    own = needed_betas(translated.request) if routed.client != "messages" or translated.edits else []
    more = [beta for beta in own if beta not in known]
    return _accepted_betas(",".join(filter(None, (value, *more))), translated.facts.get("refuses_betas", ()))


def _called_origin(request: http.Request) -> Origin:
    """Returns the origin that the client connected to, not its Host header."""
    return Origin(request.scheme, request.host.lower().rstrip("."), request.port)


def _headers(routed: Routed, called: Origin) -> list[tuple[str, str]]:
    """Returns the upstream's headers in order: host, the client's, the key."""
    route = routed.route
    passed = (*PASSED_HEADERS, *(API_HEADERS[route.upstream] if routed.client == route.upstream else ()))
    fields = [(name.lower(), value) for name, value in routed.headers]
    headers = [("host", route.to.netloc)]
    kept = [(name, value) for name, value in fields if name in passed and name != BETA]
    betas = ",".join(value for name, value in fields if name == BETA and name in passed)
    kept += [(BETA, _betas(betas, routed, routed.translated))]
    headers += [(name, value) for name, value in kept if value and _is_safe_value(value)]
    headers += [("accept-encoding", "identity"), ("content-type", "application/json")]
    if any(name == "connection" and "close" in map(str.strip, value.lower().split(",")) for name, value in fields):
        headers.append(("connection", "close"))  # mitmproxy then closes the client's connection, too
    key = route.key
    if not key and called == route.to:
        key = _client_key(dict(fields))
        headers += [(name, value) for name, value in fields if name in OTHER_CREDENTIALS and _is_safe_value(value)]
    if route.upstream == "messages":
        if "anthropic-version" not in dict(headers):
            headers.append(("anthropic-version", VERSION))
        if key and (route.key or "x-api-key" in dict(fields)):
            headers.append(("x-api-key", key))
        elif key:
            headers.append(("authorization", f"Bearer {key}"))
    elif key:
        headers.append(("authorization", f"Bearer {key}"))
    return headers


def _client_key(headers: Mapping[str, str]) -> str:
    """Returns the client's key from either header; it may go only to the origin that the client called."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    key = token.strip() if kind.lower() == "bearer" else headers.get("x-api-key", "")
    return key if _is_safe_value(key) else ""


def _is_safe_value(value: str) -> bool:
    """Returns whether a header may have this value: mitmproxy writes line ends unescaped."""
    return value.isprintable() and value.isascii() and len(value) <= MAX_HEADER


def prompt_settings(translated: Translated) -> dict[str, str]:
    """Returns what a replay needs to put the tools into the prompt again."""
    if not translated.prompted:
        return {}
    return {"template": translated.template} | ({} if translated.system_role else {"system_role": "no"})


def stay(
    flow: http.HTTPFlow, api: str, host: str, providers: Sequence[Profile], request: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, Translated | None]:
    """Prepares a request for the model at the host that the client calls; reasoning of other upstreams is removed.

    Args:
        flow: The flow; its request may be changed.
        api: Its API.
        host: The host that it goes to.
        providers: The profiles of the settings.
        request: Its body, if that was parsed already.

    Returns:
        The parsed request and its translation, each None if it was not needed.

    Raises:
        RequestError: The request cannot be prepared.
    """
    coding = flow_info.encoding(flow.request)
    body = flow_info.decode_body(flow.request.raw_content, coding) if coding else flow.request.raw_content or b""
    prompts = any(profile.tools == "prompt" for profile in (*providers, *PROFILES))
    if not prompts and MARK.encode() not in body:
        return request, None
    request = request or flow_info.json_object(body)
    if request is None:
        return None, None
    profile = profile_for(request.get("model"), host, providers)
    template = template_for(profile)
    translated = translate(request, api, api, host=host, template=template, system_role=profile.system_role)
    if translated.request != request:
        flow.request.headers.pop("content-encoding", None)
        flow.request.content = json_text.body(translated.request)
    return request, translated


def serve(flow: http.HTTPFlow, local_response: LocalResponse) -> None:
    """Answers a request locally."""
    headers = {"content-type": local_response.content_type, **dict(local_response.headers)}
    if not local_response.body:
        del headers["content-type"]
    flow.response = http.Response.make(local_response.status, local_response.body, headers)


def fail(flow: http.HTTPFlow, client: str, fault: Fault) -> None:
    """Answers a request with an error in the client's API."""
    status, body = write_error(fault, client, new_call_id())
    serve(flow, LocalResponse(status, body))
