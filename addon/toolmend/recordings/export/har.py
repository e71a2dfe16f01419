"""Recordings as HAR 1.2, two entries each: raw and rewritten, as `comment` says.

    {"log": {"version": "1.2", "creator": {…}, "entries": [
        {"startedDateTime": "…", "time": 1834.5, "request": {…}, "response": {"content": {"text": "data: …"}, …}, "cache": {},
         "timings": {"send": 0, "wait": 812.4, "receive": 1022.1}, "comment": "raw: what the provider sent (…)",
         "_chunks": [{"off": 0, "len": 201, "t_ms": 0.0}, …]}]}}

Source: https://w3c.github.io/web-performance/specs/HAR/Overview.html, and softwareishard.com/blog/har-12-spec: custom names begin
with an underscore. `_chunks` has what the format lacks: when each piece of the body arrived.

An unknown field has the format's value for that (-1, "", []), never a guess.
"""

import base64
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ... import __version__
from .export import Headers, Side


def har(exchanges: Iterable[Side]) -> dict[str, Any]:
    """Returns the HAR document."""
    creator = {"name": "toolmend", "version": __version__}
    return {"log": {"version": "1.2", "creator": creator, "entries": [_entry(side) for side in exchanges]}}


def _entry(side: Side) -> dict[str, Any]:
    timings = {"send": 0, "wait": round(side.wait * 1000, 3), "receive": round(side.receive * 1000, 3)}
    entry = {
        "startedDateTime": side.started.isoformat(timespec="milliseconds"),
        "time": round(sum(timings.values()), 3),
        "request": _request(side),
        "response": _response(side),
        "cache": {},
        "timings": timings,
        "comment": side.comment,
        "_toolmend": {
            "recording": side.name,
            "side": side.kind,
            "api": side.api,
            "rules": side.rules,
            "state": side.state,
            "error": side.error,
        },
    }
    if side.kind == "raw":
        entry["_chunks"] = _chunks(side)
    return entry


def _request(side: Side) -> dict[str, Any]:
    kind = _value(side.request_headers, "content-type") or "application/json"
    query = parse_qsl(urlsplit(side.url).query, keep_blank_values=True)
    return {
        "method": side.method,
        "url": side.url,
        "httpVersion": side.http_version,
        "cookies": [],  # redacted
        "headers": _pairs(side.request_headers),
        "queryString": _pairs(query),
        "postData": {"mimeType": kind, "params": [], "text": side.request.decode(errors="replace")},
        "headersSize": -1,
        "bodySize": len(side.request),
    }


def _response(side: Side) -> dict[str, Any]:
    content: dict[str, Any] = {"size": len(side.body), "mimeType": _value(side.response_headers, "content-type")}
    try:
        content["text"] = side.body.decode()
    except UnicodeDecodeError:
        content |= {"text": base64.b64encode(side.body).decode(), "encoding": "base64"}
    return {
        "status": side.status,
        "statusText": side.reason,
        "httpVersion": side.http_version,
        "cookies": [],
        "headers": _pairs(side.response_headers),
        "content": content,
        "redirectURL": _value(side.response_headers, "location"),
        "headersSize": -1,
        "bodySize": len(side.body),
    }


def _chunks(side: Side) -> list[dict[str, float]]:
    """Returns the lines of upstream.idx."""
    lines, at = [], 0
    for size, time in side.chunks:
        lines.append({"off": at, "len": size, "t_ms": round(time * 1000, 3)})
        at += size
    return lines


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _value(headers: Headers, header: str) -> str:
    return next((value for name, value in headers if name.lower() == header), "")
