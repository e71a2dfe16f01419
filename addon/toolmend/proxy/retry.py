"""Learns from a refusal of a routed request, and changes the request so that it can be sent once more.

    should_buffer(exchange, response) whether a refusal begins that may be learnt from: it is buffered before any hook sees it
    learn(exchange, flow, …)          True: the flow's request was changed
    finish(exchange, response, …)     the second response: whether the change helped

1. A request is changed once, goes to the same host with the same key, and keeps all of its conversation.
2. If anything fails here, the client gets the refusal unchanged.
"""

import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mitmproxy import http

from ..core import content_encoding
from ..core.fastclass import replace
from ..providers.model_profiles import Profile
from ..requests.refusal_body import MAX_BODY, STATUSES
from ..requests.request_limits import quirks_for
from . import flow_info, routed_request
from .exchange import LlmExchange, Refused
from .learnt_refusals import LearntRefusal, RefusalMemory
from .routed_request import Routed

if TYPE_CHECKING:
    from ..requests.refusal_rules import Remedy

logger = logging.getLogger(__name__)

MAX_REFUSAL = 4 * MAX_BODY
"""Bytes of a decoded refusal."""


def should_buffer(exchange: LlmExchange, response: http.Response) -> bool:
    """Returns whether a response is a refusal that may be learnt from."""
    if not (exchange.routed and exchange.routed.route.learn) or exchange.refused or exchange.played:
        return False
    return response.status_code in STATUSES


def learn(exchange: LlmExchange, flow: http.HTTPFlow, learnt: RefusalMemory, providers: Sequence[Profile]) -> bool:
    """Learns from a refusal and changes the request accordingly.

    Args:
        exchange: A routed exchange whose response is a whole refusal.
        flow: Its flow; the request is changed.
        learnt: Gets the new refusals.
        providers: The profiles of the settings.

    Returns:
        Whether the request was changed.

    Raises:
        Exception: Whatever the translation of the changed request raises.
    """
    routed, response = exchange.routed, flow.response
    assert routed is not None
    assert response is not None
    found, message = _read(routed, response)
    if not found:
        return False
    new = learnt.add(routed.key, found, message)
    known = learnt.known_for(routed.key)
    one_time = [remedy for remedy in found if remedy.once]
    facts = {name: given for remedy in one_time for name, given in remedy.facts.items()}
    edits = (edit for remedy in one_time for edit in remedy.edits)
    changed = None
    try:
        now = replace(known, facts={**known.facts, **facts}, edits=(*known.edits, *edits))
        changed = routed_request.change(flow, routed, providers, now)
    finally:
        if changed is None:
            learnt.drop(new)
    if changed is None:
        return False
    exchange.routed, exchange.refused = changed, Refused(response, message, tuple(new), tuple(remedy.path for remedy in found))
    exchange.pipeline = None  # was built for the first request
    return True


def finish(exchange: LlmExchange, response: http.Response, learnt: RefusalMemory) -> None:
    """Handles the second response: drops what did not help, and logs the rest."""
    routed, refused = exchange.routed, exchange.refused
    assert routed is not None
    assert refused is not None
    entries: tuple[LearntRefusal, ...] = refused.learnt
    if response.status_code in STATUSES:
        found, message = _read(routed, response)
        second = flow_info.decode_body(response.raw_content, flow_info.encoding(response)).decode(errors="replace")[:MAX_BODY]
        useless = tuple(entry for entry in entries if _mentions(second, entry.path))
        learnt.drop(useless)
        entries = tuple(entry for entry in entries if entry not in useless)
        entries += tuple(learnt.add(routed.key, [remedy for remedy in found if remedy.path not in refused.paths], message))
    log_learnt(entries)


def _mentions(text: str, path: str) -> bool:
    """Returns whether a text names the last member of a path, in snake case or camel case."""
    last = path.rpartition(".")[2].removesuffix("[]")
    return re.search(rf"\b{last.replace('_', '_?')}\b", text, re.IGNORECASE) is not None


def log_learnt(learnt: Sequence[LearntRefusal]) -> None:
    """Logs each new refusal with the setting that makes it permanent."""
    for entry in learnt:
        where = flow_info.printable(f"{entry.scope.host} {entry.scope.model}".strip())
        message = flow_info.printable(entry.message, 300)
        logger.info(
            "toolmend: %s refuses %s, which is changed for 14 days (%s); for good, write into its [[provider]]: %s",
            where,
            flow_info.printable(entry.path),
            message,
            flow_info.printable(entry.takes_line, 500),
        )


def _read(routed: Routed, response: http.Response) -> "tuple[tuple[Remedy, ...], str]":
    """Returns the remedies of a refusal, and the upstream's message without values and keys."""
    from ..requests.refusal_rules import RefusedRequest  # noqa: PLC0415  refusals are rare, its patterns take 20 ms to compile
    from ..requests.refused import remedies, shorter_remedy, shown_text  # noqa: PLC0415

    raw = response.raw_content or b""
    if len(raw) > MAX_BODY:
        return (), ""
    try:
        body = content_encoding.whole(raw, flow_info.encoding(response), MAX_REFUSAL)
    except content_encoding.CodingError:
        return (), ""
    api, translated = routed.route.upstream, routed.translated
    model = routed.route.use_model or str(routed.request.get("model") or "")
    known = quirks_for(api, routed.host, model, translated.facts)
    refused_request = RefusedRequest(translated.request, api, known, translated=routed.client != api)
    found = remedies(response.status_code, body, refused_request)
    if translated.compacts and (shorter := shorter_remedy(response.status_code, body, refused_request)):
        found = (shorter,)
    return found, shown_text(_keyless(body, routed), refused_request)


def _keyless(body: bytes, routed: Routed) -> bytes:
    key = routed.route.key.encode()
    return body.replace(key, b"*") if key else body
