"""Decides where a request goes before it is sent: to its host, to a route's upstream, or answered here.

    exchange_for(flow, settings)                    LlmExchange("messages", "api.anthropic.com", "https"); None: not for an LLM
    route(flow, exchange, candidates, settings, …)  to the route's upstream (`exchange.routed`), answered here, or unchanged
    forbid(flow, exchange, candidates, settings)    a web page asks for what only programs may have: answered here
    stay(flow, exchange, providers)                 to the host that the client calls, in a form that the model there takes
    unseal(flow, settings)                          to that host, for the count of a conversation's tokens or its compaction

1. Each returns the exchange as it is from then on.
2. Everything that can fail is done before the flow is changed.
3. A request that cannot be translated for its upstream is answered with an error in the client's API.
"""

import logging
from collections.abc import Sequence
from functools import partial

from mitmproxy import http

from ..apis import APIS
from ..apis.shared.errors import Fault
from ..config.settings import Settings
from ..core import json_text
from ..core.ids import new_call_id
from ..core.reasoning_state import MARK
from ..providers.hosts import match
from ..providers.model_profiles import Profile
from ..providers.routes import COMPACT, Route
from ..providers.routes import match as match_route
from ..requests import RequestError
from ..requests.local_responses import COUNT, search_unavailable
from ..requests.strip_envelopes import without_envelopes
from ..requests.web_search import SearchUnavailable
from . import flow_info, origin_check, routed_request, routed_response
from .exchange import LlmExchange
from .learnt_refusals import RefusalMemory
from .patches import upstream_failure
from .patches.called_host import is_direct
from .stream_callbacks import reason

logger = logging.getLogger(__name__)

ABOUT = (COMPACT, COUNT, "/input_tokens")
"""Suffixes of an API's path for requests about a conversation: to compact it, or to count its tokens."""


def exchange_for(flow: http.HTTPFlow, settings: Settings) -> LlmExchange | None:
    """Returns the exchange that a live request is, by its destination, or None."""
    for host, port in flow_info.host_candidates(flow) if flow.live else ():
        if api := match(flow.request.method, f"{host}:{port}", flow.request.path, settings.hosts):
            return LlmExchange(api, host if port in (80, 443) else f"{host}:{port}", flow.request.scheme)
    if flow.live and (found := routed_request.find(flow, settings.routes, None)):
        return LlmExchange(found[1], flow.request.pretty_host, flow.request.scheme)
    return None


def forbid(
    flow: http.HTTPFlow, exchange: LlmExchange | None, candidates: tuple[Route, ...], settings: Settings
) -> LlmExchange | None:
    """Answers a request that would use a route or a recording but must not: see origin_check.py. Returns None if it may."""
    if flow.response:
        return None
    hosts = flow_info.host_candidates(flow)
    found = (match_route(candidates, flow.request.scheme, *host, flow.request.path, None) for host in hosts)
    matched = next(filter(None, found), None)
    client = matched[1] if matched else exchange.api if exchange and settings.replay else "chat"
    concerned = matched or (settings.replay and (exchange or is_direct(flow))) or routed_request.local(flow, candidates, None)
    if not (concerned and (wrong := origin_check.refusal(flow, settings))):
        return None
    routed_request.fail(flow, client, Fault(403, f"toolmend: {wrong}"))
    logger.warning("toolmend: refused: %s", flow_info.printable(wrong, 500))
    return LlmExchange.answered_here()


def route(
    flow: http.HTTPFlow,
    exchange: LlmExchange | None,
    candidates: tuple[Route, ...],
    settings: Settings,
    learnt: RefusalMemory | None = None,
) -> LlmExchange | None:
    """Routes a request.

    Args:
        flow: The flow, on a host that has routes.
        exchange: Its exchange, if the request is one of a known API.
        candidates: The routes of that host.
        settings: The current settings.
        learnt: What the upstreams refused before.

    Returns:
        The exchange from then on.
    """
    if flow.response or flow.request.stream:  # another addon answers, or the body was streamed
        return exchange
    if exchange and not routed_request.find(flow, candidates, None):  # a path of an API that no route takes
        return exchange
    request = flow_info.json_object(flow_info.decode_body(flow.request.raw_content, flow_info.encoding(flow.request)))
    if exchange:
        exchange.request = request
    found = routed_request.find(flow, candidates, str((request or {}).get("model") or ""))
    if found is None:
        if given := routed_request.local(flow, candidates, request):
            routed_request.serve(flow, given)
            return LlmExchange.answered_here()
        return exchange
    matched, client = found
    exchange = exchange or LlmExchange(client, flow.request.pretty_host, flow.request.scheme)
    try:
        exchange.routed = routed_request.redirect(flow, matched, client, request, settings.providers, learnt)
        exchange.api = client
        upstream_failure.attach(flow, partial(routed_response.unanswered, flow, exchange.routed))
    except SearchUnavailable as error:
        routed_request.serve(flow, search_unavailable(request or {}, client, error.query, new_call_id()))
        logger.warning("toolmend: %s: %s (the route at %s)", flow_info.printable(flow.request.pretty_host), error, matched.where)
        return LlmExchange.answered_here()
    except Exception as error:
        return _refuse(flow, client, error, f" (the route at {matched.where})")
    return exchange


def stay(flow: http.HTTPFlow, exchange: LlmExchange, providers: Sequence[Profile]) -> LlmExchange:
    """Prepares a request that no route takes for the model at its host."""
    if exchange.api not in APIS or flow.response or flow.request.stream:
        return exchange
    try:
        exchange.request, exchange.translated = routed_request.stay(
            flow, exchange.api, exchange.host, providers, exchange.request
        )
    except RequestError as error:
        return _refuse(flow, exchange.api, error)
    except Exception as error:
        exchange.errors.append(f"the request passes unchanged: {reason(error)}")
    return exchange


def unseal(flow: http.HTTPFlow, settings: Settings) -> None:
    """Removes toolmend's envelopes from a request about a conversation that goes to its own host and asks for no answer."""
    path, _, _ = flow.request.path.partition("?")
    base = next((path.removesuffix(end) for end in ABOUT if path.endswith(end)), "")
    body = flow.request.raw_content or b""
    if not base or flow.response or flow.request.stream or settings.mode == "observe":
        return
    hosts = [f"{host}:{port}" for host, port in flow_info.host_candidates(flow)]
    api = next(filter(None, (match(flow.request.method, host, base, settings.hosts) for host in hosts)), None)
    coding = flow_info.encoding(flow.request)
    if not api or MARK.encode() not in (body := flow_info.decode_body(body, coding) if coding else body):
        return
    request = flow_info.json_object(body)
    if request is not None and (changed := without_envelopes(request, api, flow.request.pretty_host)) is not request:
        flow.request.headers.pop("content-encoding", None)
        flow.request.content = json_text.body(changed)


def _refuse(flow: http.HTTPFlow, client: str, error: Exception, where: str = "") -> LlmExchange:
    """Answers a request that cannot be translated for its upstream."""
    refused = isinstance(error, RequestError)
    wrong = str(error) if refused else f"the request could not be translated: {reason(error)}"
    routed_request.fail(flow, client, Fault(400 if refused else 500, wrong))
    logger.warning("toolmend: %s: %s%s", flow_info.printable(flow.request.pretty_host), flow_info.printable(wrong), where)
    return LlmExchange.answered_here()
