"""Web searches run by the upstream, and citations of pages: each API's form ⇄ `WebSearch` and `Citation`.

    Messages   {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"…"}}
               {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url","title",…}]}
               a text block's "citations":[{"type":"web_search_result_location","url","title","cited_text","encrypted_index"}]
    Responses  {"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query","queries","sources"}}
               an output_text's "annotations":[{"type":"url_citation","url","title","start_index","end_index"}]
    Chat       no search; "annotations":[{"type":"url_citation","url_citation":{"url","title","start_index","end_index"}}]
               Perplexity: "citations":["url"], "search_results":[{"url","title"}]; Z.ai: "web_search":[{"link","title"}]

1. A citation without a URL (of a document or a file) has no form in another API, and is None here.
2. What only the upstream could fill, encrypted contents and indices, gets an empty envelope (reasoning_state.py), by which it is
   recognised when the client sends it back.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core.events import Citation, Source, WebSearch
from ...core.reasoning_state import ReasoningState, envelope

NAME = "web_search"

CALL = "web_search_call"
"""Its item type in Responses."""

RESULT = "web_search_tool_result"
"""The block type of its results in Messages."""

ERROR = "web_search_tool_result_error"

ANNOTATION = "url_citation"

UNAVAILABLE = "unavailable"
"""Messages' error code for a search that failed, but not because of the request."""

MAX_LINKS = 1000
"""Citations of one answer, and results of one search, that are read."""

MAX_QUOTED = 500
"""Characters quoted of the citing text if the upstream quotes nothing of the page; Anthropic quotes some 150."""

_OURS = envelope(ReasoningState("plain"))
_REFUSED = re.compile(r"[^A-Za-z0-9_]")
_LINKS = {"search_results": "url", "citations": "url", "web_search": "link"}
"""Members of a chunk that list links, the most detailed first, and the member of an entry with its URL."""


def read_citation(annotation: Any, choice: int = 0) -> Citation | None:
    """Reads an annotation of Responses or of Chat Completions, or a citation of Messages."""
    if not isinstance(annotation, Mapping):
        return None
    of = annotation.get(ANNOTATION) if isinstance(annotation.get(ANNOTATION), Mapping) else annotation
    assert isinstance(of, Mapping)
    url = _text(of, "url") or _text(of, "source")
    if "://" not in url:
        return None
    start, end = of.get("start_index"), of.get("end_index")
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end):
        start, end = 0, None
    quote = _text(of, "cited_text") or _text(of, "content")
    return Citation(url, _text(of, "title"), quote, start, end, choice)


def read_links(chunk: Mapping[str, Any], choice: int = 0) -> list[Citation]:
    """The links that a chunk or a message of Chat Completions lists without annotations, each URL once."""
    found: dict[str, Citation] = {}
    for member, name in _LINKS.items():
        listed = chunk.get(member)
        for entry in listed[:MAX_LINKS] if isinstance(listed, list) else ():
            fields = {"url": entry} if isinstance(entry, str) else entry if isinstance(entry, Mapping) else {}
            url = _text(fields, name) or _text(fields, "url")
            if "://" in url:
                found.setdefault(url, Citation(url, _text(fields, "title"), _text(fields, "content"), choice=choice))
    return list(found.values())


def annotation_of(citation: Citation) -> dict[str, Any]:
    """An annotation of Responses with the citation's range."""
    place = {"start_index": citation.start, "end_index": citation.end or 0}
    return {"type": ANNOTATION, "url": citation.url, "title": citation.title or citation.url, **place}


def nested_annotation(citation: Citation) -> dict[str, Any]:
    """An annotation of Chat Completions."""
    annotation = annotation_of(citation)
    return {"type": annotation.pop("type"), ANNOTATION: annotation}


def location_of(citation: Citation, marked: str) -> dict[str, Any]:
    """A citation of Messages. `marked`: the citing text, quoted if the upstream quotes nothing of the page."""
    return {
        "type": "web_search_result_location",
        "url": citation.url,
        "title": citation.title or citation.url,
        "encrypted_index": _OURS,
        "cited_text": citation.cited or marked,
    }


def read_search(item: Mapping[str, Any]) -> WebSearch | None:
    """Reads the search of a finished `web_search_call` item; None if it opened a page, or searched within one."""
    action = item.get("action")
    action = action if isinstance(action, Mapping) else {}
    if action.get("type") not in (None, "search"):
        return None
    queries = [query for query in _list(action.get("queries")) if isinstance(query, str)] or [_text(action, "query")]
    return WebSearch(
        _text(item, "id"),
        tuple(filter(None, queries)),
        sources_of(action.get("sources")),
        UNAVAILABLE if item.get("status") == "failed" else "",
    )


def results_of(block: Mapping[str, Any], query: str) -> WebSearch:
    """Reads a `web_search_tool_result` block of Messages; `query` is that of its `server_tool_use` block."""
    content = block.get("content")
    error = _text(content, "error_code") or UNAVAILABLE if isinstance(content, Mapping) else ""
    return WebSearch(_text(block, "tool_use_id"), (query,) if query else (), sources_of(content), error)


def sources_of(listed: Any) -> tuple[Source, ...]:
    """Reads a list of sources or results."""
    entries = [entry for entry in _list(listed)[:MAX_LINKS] if isinstance(entry, Mapping)]
    return tuple(Source(url, _text(entry, "title")) for entry in entries if (url := _text(entry, "url")))


def from_citations(id_: str, query: str, citations: Iterable[Citation]) -> WebSearch:
    """The search that must have led to citations, if the upstream reports none: each URL once."""
    sources = {citation.url: Source(citation.url, citation.title) for citation in citations}
    return WebSearch(id_, (query,) if query else (), tuple(sources.values()))


def blocks_of(search: WebSearch, new_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two blocks of Messages. `new_id` is used for a search without an id."""
    core = _REFUSED.sub("_", search.id.removeprefix("ws_").removeprefix("srvtoolu_")) or new_id.removeprefix("call_")
    id_ = f"srvtoolu_{core}"
    use = {"type": "server_tool_use", "id": id_, "name": NAME, "input": {"query": next(iter(search.queries), "")}}
    rest = {"encrypted_content": _OURS, "page_age": None}
    content: Any = [
        {"type": "web_search_result", "url": source.url, "title": source.title or source.url, **rest} for source in search.sources
    ]
    if search.error:
        content = {"type": ERROR, "error_code": search.error}
    return use, {"type": RESULT, "tool_use_id": id_, "content": content}


def action_of(search: WebSearch, *, sources: bool) -> dict[str, Any]:
    """The action of a `web_search_call` item. `sources`: the client requested them."""
    links = [{"type": "url", "url": source.url} for source in search.sources]
    action = {"type": "search", "query": next(iter(search.queries), ""), "queries": list(search.queries)}
    return {**action, "sources": links} if sources else action


def _text(of: Mapping[str, Any], name: str) -> str:
    value = of.get(name)
    return value if isinstance(value, str) else ""


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
