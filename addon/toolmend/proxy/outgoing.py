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

from ..apis import APIS
from ..apis.shared.errors import Fault
from ..config.settings import Settings
from ..core.ids import new_call_id
from ..providers.hosts import match
from ..providers.model_profiles import Profile
from ..providers.routes import Route
from ..providers.routes import match as match_route
from ..requests import RequestError
from ..requests.local_responses import not_searched
from ..requests.web_search import Unsearched
from . import flow_info, origin_check, routed_request, routed_response
from .exchange import LlmExchange
from .learnt_refusals import Learnt
from .patches import upstream_failure
from .patches.called_host import is_direct
from .stream_callbacks import reason

logger = logging.getLogger(__name__)


def exchange_for(flow: http.HTTPFlow, settings: Settings) -> LlmExchange | None:
    """The call that a request is, told by where it goes; a flow that is only read from a file is none."""
    for host, port in flow_info.places(flow) if flow.live else ():
        if api := match(flow.request.method, f"{host}:{port}", flow.request.path, settings.hosts):
            return LlmExchange(api, host if port in (80, 443) else f"{host}:{port}", flow.request.scheme)
    if flow.live and (found := routed_request.find(flow, settings.routes, None)):
        return LlmExchange(found[1], flow.request.pretty_host, flow.request.scheme)
    return None


def forbid(
    flow: http.HTTPFlow, call: LlmExchange | None, candidates: tuple[Route, ...], settings: Settings
) -> LlmExchange | None:
    """Answers a request that would be routed, or answered here, and may not be: see origin_check.py. None: it may."""
    if flow.response:
        return None
    found = (match_route(candidates, flow.request.scheme, *place, flow.request.path, None) for place in flow_info.places(flow))
    taken = next(filter(None, found), None)
    client = taken[1] if taken else call.api if call and settings.replay else "chat"
    concerned = taken or (settings.replay and (call or is_direct(flow))) or routed_request.local(flow, candidates, None)
    if not (concerned and (wrong := origin_check.refusal(flow, settings))):
        return None
    routed_request.fail(flow, client, Fault(403, f"toolmend: {wrong}"))
    logger.warning("toolmend: refused: %s", flow_info.printable(wrong, 500))
    return LlmExchange.answered_here()


def route(
    flow: http.HTTPFlow, call: LlmExchange | None, candidates: tuple[Route, ...], settings: Settings, learnt: Learnt | None = None
) -> LlmExchange | None:
    """A request on a host that has routes. `learnt`: what their upstreams have refused before."""
    if flow.response or flow.request.stream:  # another addon answers it, or its body has gone by
        return call
    if call and not routed_request.find(flow, candidates, None):  # of an API, at a path that no route takes
        return call
    request = flow_info.json_object(flow_info.plain(flow.request.raw_content, flow_info.encoding(flow.request)))
    if call:
        call.request = request
    found = routed_request.find(flow, candidates, str((request or {}).get("model") or ""))
    if found is None:
        if given := routed_request.local(flow, candidates, request):
            routed_request.serve(flow, given)
            return LlmExchange.answered_here()
        return call
    taken, client = found
    call = call or LlmExchange(client, flow.request.pretty_host, flow.request.scheme)
    try:
        call.routed, call.api = routed_request.redirect(flow, taken, client, request, settings.providers, learnt), client
        upstream_failure.attach(flow, partial(routed_response.unanswered, flow, call.routed))
    except Unsearched as error:
        routed_request.serve(flow, not_searched(request or {}, client, error.query, new_call_id()))
        logger.warning("toolmend: %s: %s (the route at %s)", flow_info.printable(flow.request.pretty_host), error, taken.where)
        return LlmExchange.answered_here()
    except Exception as error:
        return _refuse(flow, client, error, f" (the route at {taken.where})")
    return call


def stay(flow: http.HTTPFlow, call: LlmExchange, providers: Sequence[Profile]) -> LlmExchange:
    """A request that no route takes."""
    if call.api not in APIS or flow.response or flow.request.stream:
        return call
    try:
        call.request, call.translated = routed_request.stay(flow, call.api, call.host, providers, call.request)
    except RequestError as error:
        return _refuse(flow, call.api, error)
    except Exception as error:
        call.errors.append(f"the request goes on as it is: {reason(error)}")
    return call


def _refuse(flow: http.HTTPFlow, client: str, error: Exception, where: str = "") -> LlmExchange:
    """Answers a request that cannot be put as the upstream wants it."""
    refused = isinstance(error, RequestError)
    wrong = str(error) if refused else f"the request could not be translated: {reason(error)}"
    routed_request.fail(flow, client, Fault(400 if refused else 500, wrong))
    logger.warning("toolmend: %s: %s%s", flow_info.printable(flow.request.pretty_host), flow_info.printable(wrong), where)
    return LlmExchange.answered_here()
