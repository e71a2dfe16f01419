"""What a route does to a mitmproxy request: where it goes and what it carries, or that it is answered here.

    POST https://api.anthropic.com/v1/messages             POST https://openrouter.ai/api/v1/chat/completions
    x-api-key: the client's                          ─►    authorization: Bearer the route's
    {"model":"claude-sonnet-4-5","messages":[…]}           {"model":"moonshotai/kimi-k2.5","messages":[…]}

Rule of this file: the client's credentials go to the origin that the client called, and nowhere else; the route's key goes to
the route's origin, and nowhere else. So what goes out has only the headers that are on a list, and the path and query that the
route names.
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
from ..requests.outgoing import outgoing
from ..requests.prompted import template_for
from ..requests.translate import translate
from . import flow_info
from .learnt_refusals import KnownRefusals, RefusalMemory, RefusalScope

OWN = ("api-key", "x-goog-api-key", "cookie")
"""Credentials beside `authorization` and `x-api-key`; they stay where the client's own key does."""

PASSED = ("accept", "accept-language", "user-agent", "http-referer", "x-title")
"""Headers of the client's that any upstream may see. Others may hold a key, whatever their name is."""

OF_API: Mapping[Api, tuple[str, ...]] = {
    "chat": (),
    "messages": ("anthropic-beta", "anthropic-version"),
    "responses": ("openai-beta",),
}
"""Headers that go on to an upstream of the client's own API."""

BETA = "anthropic-beta"

MAX_HEADER = 16 * 1024
"""Characters of a header of the client's that goes on; servers refuse more."""

VERSION = "2023-06-01"
"""The one `anthropic-version` there is: docs.anthropic.com/en/api/versioning."""


@value
class Routed:
    """A request that a route took. `request`, `headers` and `path` are the client's.

    `id` is what the request is called where the client's API names it. `trusted`: the client called the upstream itself.
    `learnt`: what is changed as refusals taught it, a line each.
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
        """Whether the client asks for a compacted conversation, and for no answer."""
        return self.client == "responses" and is_compact(self.path)

    @property
    def host(self) -> str:
        """Who answers, as a profile is looked up for it."""
        return self.route.to.netloc

    @property
    def key(self) -> RefusalScope:
        """Whose refusals are remembered."""
        return _key(self.route, self.request)

    @property
    def settings(self) -> dict[str, str]:
        """What a replay needs to translate the request again."""
        given = {"upstream": self.host, "use_model": self.route.use_model}
        facts = {"facts": json.dumps(self.translated.facts)} if self.translated.facts else {}
        compact = {"compact": "yes"} if self.compact else {}
        edits = {"edits": json.dumps(self.translated.edits)} if self.translated.edits else {}
        settings = {name: value for name, value in given.items() if value}
        return settings | facts | compact | edits | prompt_settings(self.translated)

    @property
    def secrets(self) -> tuple[tuple[str, str], ...]:
        """The route's key as a header of the request, for the recording to mask what the upstream echoes of it."""
        return (("x-upstream-authorization", f"Bearer {self.route.key}"),) if self.route.key else ()


def candidates(flow: http.HTTPFlow, routes: Collection[Route]) -> tuple[Route, ...]:
    """The routes of the host that a flow calls."""
    if not (routes and flow.live):
        return ()
    places = flow_info.host_candidates(flow)
    return tuple(route for route in routes if any(route.on(flow.request.scheme, *place) for place in places))


def find(flow: http.HTTPFlow, routes: Iterable[Route], model: str | None) -> tuple[Route, Api] | None:
    """The route of a request, and the API of its client; `model` None: any."""
    if flow.request.method != "POST":
        return None
    found = (match(routes, flow.request.scheme, *place, flow.request.path, model) for place in flow_info.host_candidates(flow))
    return next(filter(None, found), None)


def local(flow: http.HTTPFlow, routes: tuple[Route, ...], body: Mapping[str, Any] | None) -> LocalResponse | None:
    """What is answered here for a request that no route took."""
    request = flow.request
    headers = {name.lower(): value for name, value in flow_info.headers(request)}
    asked = (
        LocalRequest(request.scheme, *place, request.method, request.path, headers, body)
        for place in flow_info.host_candidates(flow)
    )
    return next(filter(None, (answer(one, routes, new_call_id(), by_glob=True) for one in asked)), None)


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
    """Sends a request to the route's upstream, in its API. Raises RequestError where it cannot be said there.

    Whatever can fail is done before anything of the flow is changed.
    """
    if request is None:
        raise RequestError(f"the request's body is no JSON object that can be read, or has more than {json_text.MANY} values")
    to = route.to
    called = _called(flow.request)
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
    """The upstream's path: one of Responses compacts a conversation at a path of its own."""
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
    """Puts what was learnt into a request that was refused; None where that changes nothing. Raises RequestError.

    Where it goes, and with which key, stays as it is.
    """
    prompt_settings = {"trusted": routed.trusted, "compact": routed.compact}
    translated = _translated(routed.route, routed.client, routed.request, providers, known, **prompt_settings)
    betas = flow.request.headers.get(BETA, "")
    kept = _betas(betas, translated.facts.get("refuses_betas", ()))
    if translated.request == routed.translated.request and kept == betas:
        return None
    if kept != betas:
        flow.request.headers.pop(BETA)
        if kept:
            flow.request.headers[BETA] = kept
    if translated.request != routed.translated.request:
        body = json_text.body(translated.request)
        flow.request.headers["content-length"] = str(len(body))
        flow.request.raw_content = body
    return replace(routed, translated=translated, learnt=known.lines)


def _betas(value: str, refused: Sequence[str]) -> str:
    """The words of `anthropic-beta` that the upstream takes."""
    if not refused:
        return value
    words = [word.strip() for word in value.split(",")]
    return ",".join(word for word in words if word and not any(fnmatchcase(word, glob) for glob in refused))


def _called(request: http.Request) -> Origin:
    """Where the client sent it: not what its Host header says."""
    return Origin(request.scheme, request.host.lower().rstrip("."), request.port)


def _headers(routed: Routed, called: Origin) -> list[tuple[str, str]]:
    """The upstream's headers, in the order: host, the client's, the key."""
    route = routed.route
    passed = (*PASSED, *(OF_API[route.upstream] if routed.client == route.upstream else ()))
    given = [(name.lower(), value) for name, value in routed.headers]
    headers = [("host", route.to.netloc)]
    refused = routed.translated.facts.get("refuses_betas", ())
    kept = [(name, _betas(value, refused) if name == BETA else value) for name, value in given if name in passed]
    headers += [(name, value) for name, value in kept if value and _harmless(value)]
    headers += [("accept-encoding", "identity"), ("content-type", "application/json")]
    if any(name == "connection" and "close" in map(str.strip, value.lower().split(",")) for name, value in given):
        headers.append(("connection", "close"))  # mitmproxy closes the client's for it, too
    key = route.key
    if not key and called == route.to:
        key = _own_key(dict(given))
        headers += [(name, value) for name, value in given if name in OWN and _harmless(value)]
    if route.upstream == "messages":
        if "anthropic-version" not in dict(headers):
            headers.append(("anthropic-version", VERSION))
        if key and (route.key or "x-api-key" in dict(given)):
            headers.append(("x-api-key", key))
        elif key:
            headers.append(("authorization", f"Bearer {key}"))
    elif key:
        headers.append(("authorization", f"Bearer {key}"))
    return headers


def _own_key(headers: Mapping[str, str]) -> str:
    """The client's, in whichever form; it is for the origin that the client called."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    key = token.strip() if kind.lower() == "bearer" else headers.get("x-api-key", "")
    return key if _harmless(key) else ""


def _harmless(value: str) -> bool:
    """Whether a header may have it: mitmproxy writes what it is given, line ends too."""
    return value.isprintable() and value.isascii() and len(value) <= MAX_HEADER


def prompt_settings(translated: Translated) -> dict[str, str]:
    """What a replay needs to tell the tools in the prompt again."""
    if not translated.prompted:
        return {}
    return {"template": translated.template} | ({} if translated.system_role else {"system_role": "no"})


def stay(
    flow: http.HTTPFlow, api: str, host: str, providers: Sequence[Profile], request: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, Translated | None]:
    """A request that goes where the client sends it, as the model there can take it. Raises RequestError.

    Reasoning that only another upstream can read is taken out. `request` is its body, if that was read. What was read and made
    is returned.
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


def serve(flow: http.HTTPFlow, given: LocalResponse) -> None:
    """Answers a request here."""
    headers = {"content-type": given.content_type, **dict(given.headers)}
    if not given.body:
        del headers["content-type"]
    flow.response = http.Response.make(given.status, given.body, headers)


def fail(flow: http.HTTPFlow, client: str, fault: Fault) -> None:
    """An error of ours in the client's API."""
    status, body = write_error(fault, client, new_call_id())
    serve(flow, LocalResponse(status, body))
