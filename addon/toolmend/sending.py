"""What becomes of a request before it leaves: which call it is, which route takes it, or what answers it here.

    told(flow, settings)                        Call("messages", "api.anthropic.com", "https"); None: it is not for an LLM
    route(flow, call, candidates, settings, …)  to the route's upstream (`call.routed`), or answered; or as it was, no route's
    forbid(flow, call, candidates, settings)    a web page asks for what is for programs: answered here
    stay(flow, call, providers)                 to where the client sends it, as the model there can take it

Rule of this file: each returns the call as it is from then on. Whatever can fail is done before anything of the flow is changed,
and a request that cannot be put as its upstream wants it is answered with an error in the client's API.
"""

import logging
from collections.abc import Sequence
from functools import partial

from mitmproxy import http

from . import facts, origin_check, replying, routing, unanswered
from .apis import APIS
from .apis.errors import Fault
from .called_host import is_direct
from .calls import Call
from .config.settings import Settings
from .hosts import match
from .ids import new_call_id
from .learnt import Learnt
from .local_answers import not_searched
from .providers import Profile
from .requests import RequestError
from .requests.web_search import Unsearched
from .routes import Route
from .routes import match as match_route
from .stream import reason

logger = logging.getLogger(__name__)


def told(flow: http.HTTPFlow, settings: Settings) -> Call | None:
    """The call that a request is, told by where it goes; a flow that is only read from a file is none."""
    for host, port in facts.places(flow) if flow.live else ():
        if api := match(flow.request.method, f"{host}:{port}", flow.request.path, settings.hosts):
            return Call(api, host if port in (80, 443) else f"{host}:{port}", flow.request.scheme)
    if flow.live and (found := routing.find(flow, settings.routes, None)):
        return Call(found[1], flow.request.pretty_host, flow.request.scheme)
    return None


def forbid(flow: http.HTTPFlow, call: Call | None, candidates: tuple[Route, ...], settings: Settings) -> Call | None:
    """Answers a request that would be routed, or answered here, and may not be: see origin_check.py. None: it may."""
    if flow.response:
        return None
    found = (match_route(candidates, flow.request.scheme, *place, flow.request.path, None) for place in facts.places(flow))
    taken = next(filter(None, found), None)
    client = taken[1] if taken else call.api if call and settings.replay else "chat"
    concerned = taken or (settings.replay and (call or is_direct(flow))) or routing.local(flow, candidates, None)
    if not (concerned and (wrong := origin_check.refusal(flow, settings))):
        return None
    routing.fail(flow, client, Fault(403, f"toolmend: {wrong}"))
    logger.warning("toolmend: refused: %s", facts.printable(wrong, 500))
    return Call.answered_here()


def route(
    flow: http.HTTPFlow, call: Call | None, candidates: tuple[Route, ...], settings: Settings, learnt: Learnt | None = None
) -> Call | None:
    """A request on a host that has routes. `learnt`: what their upstreams have refused before."""
    if flow.response or flow.request.stream:  # another addon answers it, or its body has gone by
        return call
    if call and not routing.find(flow, candidates, None):  # of an API, at a path that no route takes
        return call
    request = facts.json_object(facts.plain(flow.request.raw_content, facts.encoding(flow.request)))
    if call:
        call.request = request
    found = routing.find(flow, candidates, str((request or {}).get("model") or ""))
    if found is None:
        if given := routing.local(flow, candidates, request):
            routing.serve(flow, given)
            return Call.answered_here()
        return call
    taken, client = found
    call = call or Call(client, flow.request.pretty_host, flow.request.scheme)
    try:
        call.routed, call.api = routing.redirect(flow, taken, client, request, settings.providers, learnt), client
        unanswered.attach(flow, partial(replying.unanswered, flow, call.routed))
    except Unsearched as error:
        routing.serve(flow, not_searched(request or {}, client, error.query, new_call_id()))
        logger.warning("toolmend: %s: %s (the route at %s)", facts.printable(flow.request.pretty_host), error, taken.where)
        return Call.answered_here()
    except Exception as error:
        return _refuse(flow, client, error, f" (the route at {taken.where})")
    return call


def stay(flow: http.HTTPFlow, call: Call, providers: Sequence[Profile]) -> Call:
    """A request that no route takes."""
    if call.api not in APIS or flow.response or flow.request.stream:
        return call
    try:
        call.request, call.translated = routing.stay(flow, call.api, call.host, providers, call.request)
    except RequestError as error:
        return _refuse(flow, call.api, error)
    except Exception as error:
        call.errors.append(f"the request goes on as it is: {reason(error)}")
    return call


def _refuse(flow: http.HTTPFlow, client: str, error: Exception, where: str = "") -> Call:
    """Answers a request that cannot be put as the upstream wants it."""
    refused = isinstance(error, RequestError)
    wrong = str(error) if refused else f"the request could not be translated: {reason(error)}"
    routing.fail(flow, client, Fault(400 if refused else 500, wrong))
    logger.warning("toolmend: %s: %s%s", facts.printable(flow.request.pretty_host), facts.printable(wrong), where)
    return Call.answered_here()
