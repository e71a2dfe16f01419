"""What HAR 1.2 demands of a document, field by field. Source: http://www.softwareishard.com/blog/har-12-spec.

Rule of this file: it shares no code with toolmend.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

TEXT, NUMBER, LIST, OBJECT = str, (int, float), list, dict
PAIR = {"name": TEXT, "value": TEXT}
MUST: dict[str, Any] = {
    "version": TEXT,
    "creator": {"name": TEXT, "version": TEXT},
    "entries": [
        {
            "startedDateTime": TEXT,
            "time": NUMBER,
            "request": {
                "method": TEXT,
                "url": TEXT,
                "httpVersion": TEXT,
                "cookies": [PAIR],
                "headers": [PAIR],
                "queryString": [PAIR],
                "postData": {"mimeType": TEXT, "params": [PAIR], "text": TEXT},
                "headersSize": NUMBER,
                "bodySize": NUMBER,
            },
            "response": {
                "status": NUMBER,
                "statusText": TEXT,
                "httpVersion": TEXT,
                "cookies": [PAIR],
                "headers": [PAIR],
                "content": {"size": NUMBER, "mimeType": TEXT},
                "redirectURL": TEXT,
                "headersSize": NUMBER,
                "bodySize": NUMBER,
            },
            "cache": {},
            "timings": {"send": NUMBER, "wait": NUMBER, "receive": NUMBER},
        }
    ],
}
MAY = {
    "log": {"browser", "pages", "comment"},
    "entries": {"pageref", "serverIPAddress", "connection", "comment"},
    "content": {"compression", "text", "encoding", "comment"},
    "timings": {"blocked", "dns", "connect", "ssl", "comment"},
}


def faults(document: Any) -> list[str]:
    """What is wrong with a document; nothing if it is a HAR."""
    if not isinstance(document, dict) or set(document) != {"log"}:
        return ["the document is not {log}"]
    found = list(_wrong("log", document["log"], MUST))
    return found or [fault for number, entry in enumerate(document["log"]["entries"]) for fault in _entry(f"entry {number}", entry)]


def _wrong(where: str, value: Any, shape: Any) -> Iterator[str]:
    if isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{where} is no list"
            return
        for item in value:
            yield from _wrong(where, item, shape[0])
    elif isinstance(shape, dict):
        if not isinstance(value, dict):
            yield f"{where} is no object"
            return
        for name, inner in shape.items():
            if name not in value:
                yield f"{where} has no {name}"
            else:
                yield from _wrong(name, value[name], inner)
        for name in value.keys() - shape.keys() - MAY.get(where, {"comment"}):
            if not name.startswith("_"):
                yield f"{where} has {name}, which is no name of the format's"
    elif not isinstance(value, shape) or isinstance(value, bool):
        yield f"{where} is {value!r}"


def _entry(where: str, entry: dict[str, Any]) -> Iterator[str]:
    timings, response, request = entry["timings"], entry["response"], entry["request"]
    if datetime.fromisoformat(entry["startedDateTime"]).tzinfo is None:
        yield f"{where}: startedDateTime has no time zone"
    if any(timings[name] < 0 for name in ("send", "wait", "receive")):
        yield f"{where}: send, wait and receive must be known"
    if abs(entry["time"] - sum(time for time in timings.values() if time >= 0)) > 0.002:
        yield f"{where}: time is not the sum of the timings"
    if "://" not in request["url"] or "#" in request["url"]:
        yield f"{where}: the URL is not absolute, or has a fragment"
    if request["postData"]["params"] and request["postData"]["text"]:
        yield f"{where}: params and text exclude each other"
    text, encoding = response["content"].get("text", ""), response["content"].get("encoding")
    if encoding not in (None, "base64"):
        yield f"{where}: an encoding {encoding}"
    if encoding is None and len(text.encode()) != response["content"]["size"]:
        yield f"{where}: the size is not that of the text"
