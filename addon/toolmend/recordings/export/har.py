"""Recordings as HAR 1.2, two entries for each: raw and rewritten; `comment` says which.

    {"log": {"version": "1.2", "creator": {…}, "entries": [
        {"startedDateTime": "…", "time": 1834.5, "request": {…}, "response": {"content": {"text": "data: …"}, …}, "cache": {},
         "timings": {"send": 0, "wait": 812.4, "receive": 1022.1}, "comment": "raw: what the provider sent (…)",
         "_chunks": [{"off": 0, "len": 201, "t_ms": 0.0}, …]}]}}

Source: https://w3c.github.io/web-performance/specs/HAR/Overview.html, and softwareishard.com/blog/har-12-spec, which says that
names of one's own begin with an underscore. `_chunks` tells what the format cannot: when each piece of the body came.

Rule of this file: a field that is not known is told as the format has it (-1, "", []), and never guessed.
"""

import base64
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ... import __version__
from .export import Headers, Side


def har(exchanges: Iterable[Side]) -> dict[str, Any]:
    """The document."""
    creator = {"name": "toolmend", "version": __version__}
    return {"log": {"version": "1.2", "creator": creator, "entries": [_entry(one) for one in exchanges]}}


def _entry(one: Side) -> dict[str, Any]:
    timings = {"send": 0, "wait": round(one.wait * 1000, 3), "receive": round(one.receive * 1000, 3)}
    entry = {
        "startedDateTime": one.started.isoformat(timespec="milliseconds"),
        "time": round(sum(timings.values()), 3),
        "request": _request(one),
        "response": _response(one),
        "cache": {},
        "timings": timings,
        "comment": one.comment,
        "_toolmend": {
            "recording": one.name,
            "side": one.kind,
            "api": one.api,
            "rules": one.rules,
            "state": one.state,
            "error": one.error,
        },
    }
    if one.kind == "raw":
        entry["_chunks"] = _chunks(one)
    return entry


def _request(one: Side) -> dict[str, Any]:
    kind = _value(one.request_headers, "content-type") or "application/json"
    query = parse_qsl(urlsplit(one.url).query, keep_blank_values=True)
    return {
        "method": one.method,
        "url": one.url,
        "httpVersion": one.http_version,
        "cookies": [],  # they are redacted
        "headers": _pairs(one.request_headers),
        "queryString": _pairs(query),
        "postData": {"mimeType": kind, "params": [], "text": one.request.decode(errors="replace")},
        "headersSize": -1,
        "bodySize": len(one.request),
    }


def _response(one: Side) -> dict[str, Any]:
    content: dict[str, Any] = {"size": len(one.body), "mimeType": _value(one.response_headers, "content-type")}
    try:
        content["text"] = one.body.decode()
    except UnicodeDecodeError:
        content |= {"text": base64.b64encode(one.body).decode(), "encoding": "base64"}
    return {
        "status": one.status,
        "statusText": one.reason,
        "httpVersion": one.http_version,
        "cookies": [],
        "headers": _pairs(one.response_headers),
        "content": content,
        "redirectURL": _value(one.response_headers, "location"),
        "headersSize": -1,
        "bodySize": len(one.body),
    }


def _chunks(one: Side) -> list[dict[str, float]]:
    """As upstream.idx has them."""
    lines, at = [], 0
    for size, time in one.chunks:
        lines.append({"off": at, "len": size, "t_ms": round(time * 1000, 3)})
        at += size
    return lines


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _value(headers: Headers, wanted: str) -> str:
    return next((value for name, value in headers if name.lower() == wanted), "")
