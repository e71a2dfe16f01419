"""A routed request that its upstream refused: what is learnt of it, and whether it is changed and sent once more.

    waits(call, response)          a refusal begins that may teach something: it is read whole before anybody is told
    learns(call, flow, …)          True: the flow's request is another one now
    ends(call, response, …)        the answer to that: whether it was of use

Rule of this file: a request is changed once, goes to the same host with the same key, and keeps all that was said. What fails
here leaves the refusal as it came.
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
from .learnt_refusals import Entry, Learnt
from .routed_request import Routed

if TYPE_CHECKING:
    from ..requests.refusal_rules import Remedy

logger = logging.getLogger(__name__)

MAX_REFUSAL = 4 * MAX_BODY
"""Bytes of a refusal that are undone of their coding."""


def waits(call: LlmExchange, response: http.Response) -> bool:
    """Whether a response is a refusal that may be learnt from."""
    return bool(
        call.routed and call.routed.route.learn and not call.refused and not call.played and response.status_code in STATUSES
    )


def learns(call: LlmExchange, flow: http.HTTPFlow, learnt: Learnt, providers: Sequence[Profile]) -> bool:
    """Learns from a refusal, and changes the request by it; False where nothing changes. Raises what a translation does."""
    routed, response = call.routed, flow.response
    assert routed is not None
    assert response is not None
    found, words = _read(routed, response)
    if not found:
        return False
    new = learnt.add(routed.key, found, words)
    known = learnt.of(routed.key)
    once = tuple(edit for remedy in found if remedy.once for edit in remedy.edits)
    changed = None
    try:
        changed = routed_request.change(flow, routed, providers, replace(known, edits=(*known.edits, *once)))
    finally:
        if changed is None:
            learnt.drop(new)
    if changed is None:
        return False
    call.routed, call.refused = changed, Refused(response, words, tuple(new), tuple(remedy.path for remedy in found))
    call.pipeline = None  # it was made for the request before
    return True


def ends(call: LlmExchange, response: http.Response, learnt: Learnt) -> None:
    """The second answer is there: what was in vain is forgotten, and the rest is told."""
    routed, refused = call.routed, call.refused
    assert routed is not None
    assert refused is not None
    kept: tuple[Entry, ...] = refused.learnt
    if response.status_code in STATUSES:
        found, words = _read(routed, response)
        again = flow_info.plain(response.raw_content, flow_info.encoding(response)).decode(errors="replace")[:MAX_BODY]
        vain = tuple(entry for entry in kept if _names(again, entry.path))
        learnt.drop(vain)
        kept = tuple(entry for entry in kept if entry not in vain)
        kept += tuple(learnt.add(routed.key, [remedy for remedy in found if remedy.path not in refused.paths], words))
    tell(kept)


def _names(text: str, path: str) -> bool:
    """Whether a text names what is at a path, in snake case or camel case."""
    last = path.rpartition(".")[2].removesuffix("[]")
    return re.search(rf"\b{last.replace('_', '_?')}\b", text, re.IGNORECASE) is not None


def tell(learnt: Sequence[Entry]) -> None:
    """What was learnt, once."""
    for entry in learnt:
        where = flow_info.printable(f"{entry.of.host} {entry.of.model}".strip())
        words = flow_info.printable(entry.said, 300)
        logger.info(
            "toolmend: %s refuses %s, which is changed for 14 days (%s); for good, write into its [[provider]]: %s",
            where,
            flow_info.printable(entry.path),
            words,
            flow_info.printable(entry.takes, 500),
        )


def _read(routed: Routed, response: http.Response) -> "tuple[tuple[Remedy, ...], str]":
    """The remedies, and the upstream's words without values and keys."""
    from ..requests.refusal_rules import RefusedRequest  # noqa: PLC0415  few requests are refused, and its patterns take 20 ms
    from ..requests.refused import remedies, shown_text  # noqa: PLC0415

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
    asked = RefusedRequest(translated.request, api, known, translated=routed.client != api)
    found = remedies(response.status_code, body, asked)
    return found, shown_text(_keyless(body, routed), asked)


def _keyless(body: bytes, routed: Routed) -> bytes:
    key = routed.route.key.encode()
    return body.replace(key, b"*") if key else body
