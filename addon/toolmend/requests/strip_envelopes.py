"""Removes toolmend's envelopes (reasoning_state.py) from requests that are forwarded without translation.

    {"type": "thinking", "thinking": "…", "signature": "toolmend1.details.W3…"}     the upstream would refuse the signature

When the user switches models, the client sends the reasoning of a routed model to another upstream. Anthropic and OpenAI check
signatures and answer 400 to one that they did not make, so reasoning that only the other upstream can read is removed. Web
searches of the other upstream and citations of their results are removed too. A summary that toolmend wrote (compaction.py)
becomes the user's text.
"""

from collections.abc import Mapping
from typing import Any

from ..apis.shared.web_search import RESULT
from ..core.json_access import as_list, objects
from ..core.reasoning_state import MARK, opened
from . import compaction

_CHECKS = ("anthropic.com", "googleapis.com", "amazonaws.com")
"""Hosts that check signatures; others require the thinking, with any signature."""


def without_envelopes(request: Mapping[str, Any], api: str, host: str) -> Mapping[str, Any]:
    """Returns the request without envelopes; the same object if it has none.

    Args:
        request: The request.
        api: Its API.
        host: The upstream's host.
    """
    match api:
        case "messages":
            checks = host.endswith(_CHECKS)
            return _each(_without_summary(request), "messages", lambda message: _message(message, checks=checks))
        case "responses":
            return _each(request, "input", _item)
        case "chat":
            return _each(request, "messages", _details)
    return request


def _each(container: Mapping[str, Any], name: str, change: Any) -> Mapping[str, Any]:
    """Applies `change` to the entries of a list in a container and drops those that become None; same object if none changes."""
    entries = container.get(name)
    if not isinstance(entries, list):
        return container
    changed = [change(entry) if isinstance(entry, Mapping) else entry for entry in entries]
    if all(new is old for new, old in zip(changed, entries, strict=True)):
        return container
    return {**container, name: [entry for entry in changed if entry is not None]}


def _without_summary(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """A Messages request with a summary by toolmend as the user's text."""
    messages = request.get("messages")
    if not isinstance(messages, list):
        return request
    for message in messages:
        content = message.get("content") if isinstance(message, Mapping) else None
        for block in as_list(content):
            if isinstance(block, Mapping) and block.get("type") == "compaction" and compaction.has_own_summary(block):
                return {**request, "messages": compaction.compacted([each for each in messages if isinstance(each, Mapping)])}
    return request


def _message(message: Mapping[str, Any], *, checks: bool) -> Mapping[str, Any] | None:
    changed = _each(_without_searches(message), "content", lambda block: _block(block, checks=checks))
    return changed if changed is message or changed["content"] else None


def _without_searches(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message without the searches of another upstream (call and result), and without citations of their results."""
    content = message.get("content")
    blocks = objects(content)
    results = [block for block in blocks if block.get("type") == RESULT and isinstance(block.get("content"), list)]
    sealed = {block.get("tool_use_id") for block in results if any(map(_is_sealed, block["content"]))}
    changed = _each(message, "content", _without_citations)
    if not sealed:
        return changed
    kept = [block for block in changed["content"] if not (isinstance(block, Mapping) and _search_id(block) in sealed)]
    return {**changed, "content": kept}


def _search_id(block: Mapping[str, Any]) -> Any:
    return block.get({"server_tool_use": "id", RESULT: "tool_use_id"}.get(str(block.get("type")), ""))


def _is_sealed(entry: Any) -> bool:
    sealed = [entry.get(name) for name in ("encrypted_content", "encrypted_index")] if isinstance(entry, Mapping) else []
    return any(isinstance(text, str) and text.startswith(MARK) for text in sealed)


def _without_citations(block: Mapping[str, Any]) -> Mapping[str, Any]:
    cited = block.get("citations")
    if not (isinstance(cited, list) and any(map(_is_sealed, cited))):
        return block
    kept = [citation for citation in cited if not _is_sealed(citation)]
    return {name: value for name, value in block.items() if name != "citations"} | ({"citations": kept} if kept else {})


def _block(block: Mapping[str, Any], *, checks: bool) -> Mapping[str, Any] | None:
    text = block.get("signature") or block.get("data")
    if block.get("type") == "compaction" and compaction.sealed_item(block):
        return None
    seal = opened(text) if isinstance(text, str) and block.get("type") in ("thinking", "redacted_thinking") else None
    if seal is None:
        return block
    return {**block, "signature": ""} if seal.kind == "plain" and not checks else None


def _item(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if item.get("type") in compaction.ITEMS and compaction.has_own_summary(item):
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": compaction.summary_text(item)}]}
    text = item.get("encrypted_content")
    is_envelope = item.get("type") == "reasoning" and isinstance(text, str) and text.startswith(MARK)
    return None if is_envelope else item


def _details(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return _each(message, "reasoning_details", lambda entry: None if _is_envelope(entry) else entry)


def _is_envelope(entry: Mapping[str, Any]) -> bool:
    return any(isinstance(text := entry.get(name), str) and text.startswith(MARK) for name in ("signature", "data"))
