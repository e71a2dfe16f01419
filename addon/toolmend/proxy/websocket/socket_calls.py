r"""Calls that only the client knows of: those that were made of markup, of which the upstream's memory has no item.

    client   {"type": "response.create", "previous_response_id": "r", "input": [{"type": "function_call_output", "call_id": "c"}]}
    forward  … "input": [{"type": "function_call", "call_id": "c", …}, {"type": "function_call_output", "call_id": "c"}]

Reasoning and summaries of another upstream, which is what a user turned away from, are left out or told as text
(strip_envelopes.py).

An upstream that checks answers the result of a call that it never made with "No tool call found for function call output".

Rule of this file: a request whose input has all its calls, or whose results are of the upstream's own calls, is not changed.
"""

import json
from collections.abc import Mapping
from typing import Any

from ...requests.strip_envelopes import unsealed
from .. import flow_info
from .socket_frames import Binary

_DONE = "response.output_item.done"
_KEPT = ("type", "call_id", "name", "namespace", "arguments", "input")
"""Fields of a call that a request has; its item's id and status are the response's own."""

MOST = 1000
"""Calls that are remembered: results come with the next request, and a session has many."""


class SocketCalls:
    """Of one socket."""

    def __init__(self) -> None:
        self._theirs: set[str] = set()
        self._ours: dict[str, dict[str, Any]] = {}

    def received(self, frame: bytes) -> None:
        """A frame of the upstream's."""
        if item := _call(frame):
            self._theirs.add(item["call_id"])

    def made(self, frame: bytes) -> None:
        """A frame for the client."""
        if (item := _call(frame)) and item["call_id"] not in self._theirs:
            self._ours[item["call_id"]] = {name: item[name] for name in _KEPT if name in item}
            if len(self._ours) > MOST:
                del self._ours[next(iter(self._ours))]

    def completed(self, given: Mapping[str, Any]) -> bytes | None:
        """A request with the calls that its results are of, and without envelopes of ours; None: as it is.

        It begins another response.
        """
        self._theirs.clear()
        request = unsealed(given, "responses", "")
        unchanged = None if request is given else json.dumps(request).encode()
        items = request.get("input")
        if not (self._ours and request.get("previous_response_id") and isinstance(items, list)):
            return unchanged
        told = {item.get("call_id") for item in items if _is(item, "_call")}
        whole: list[Any] = []
        for item in items:
            asks = _is(item, "_call_output") and item.get("call_id") not in told
            if asks and (call := self._ours.get(str(item.get("call_id")))):
                whole.append(call)
            whole.append(item)
        # mitmproxy cuts a changed frame at any byte, and a character with it: so all is ASCII
        return json.dumps({**request, "input": whole}).encode() if len(whole) > len(items) else unchanged


def _call(frame: bytes) -> dict[str, Any] | None:
    if isinstance(frame, Binary) or _DONE.encode() not in frame:
        return None
    value = flow_info.json_object(frame) or {}
    item = value.get("item")
    found = value.get("type") == _DONE and isinstance(item, dict) and _is(item, "_call") and isinstance(item.get("call_id"), str)
    return item if found else None


def _is(item: Any, kind: str) -> bool:
    return isinstance(item, dict) and str(item.get("type")).endswith(kind)
