r"""Adds calls to a request that the upstream does not know: toolmend made them of markup, and only the client has them.

    client   {"type": "response.create", "previous_response_id": "r", "input": [{"type": "function_call_output", "call_id": "c"}]}
    forward  … "input": [{"type": "function_call", "call_id": "c", …}, {"type": "function_call_output", "call_id": "c"}]

A strict upstream refuses the result of a call that it never made: "No tool call found for function call output".

Reasoning and summaries that came from another upstream (the user switched models) are dropped or sent as text: see
strip_envelopes.py.

1. A request whose input has all its calls, or whose results belong to the upstream's own calls, is not changed.
"""

import json
from collections.abc import Mapping
from typing import Any

from ...requests.strip_envelopes import without_envelopes
from .. import flow_info
from .socket_frames import Binary

_DONE = "response.output_item.done"
_REQUEST_FIELDS = ("type", "call_id", "name", "namespace", "arguments", "input")
"""Fields of a call that are valid in a request; its item's id and status exist in responses only."""

MAX_CALLS = 1000
"""Bound of the calls that are remembered: results come with the next request, and a session has many."""


class SocketCalls:
    """The calls of one socket."""

    def __init__(self) -> None:
        self._upstream_ids: set[str] = set()
        self._own_calls: dict[str, dict[str, Any]] = {}

    def received(self, frame: bytes) -> None:
        """Records a call in a frame of the upstream."""
        if item := _call(frame):
            self._upstream_ids.add(item["call_id"])

    def sent_to_client(self, frame: bytes) -> None:
        """Records a call in a frame for the client, if the upstream did not make it."""
        if (item := _call(frame)) and item["call_id"] not in self._upstream_ids:
            self._own_calls[item["call_id"]] = {name: item[name] for name in _REQUEST_FIELDS if name in item}
            if len(self._own_calls) > MAX_CALLS:
                del self._own_calls[next(iter(self._own_calls))]

    def with_missing_calls(self, sent: Mapping[str, Any]) -> bytes | None:
        """Returns the request with the missing calls of its results and without toolmend's envelopes, or None if it is unchanged.

        Starts the next response.
        """
        self._upstream_ids.clear()
        request = without_envelopes(sent, "responses", "")
        unchanged = None if request is sent else json.dumps(request).encode()
        items = request.get("input")
        if not (self._own_calls and request.get("previous_response_id") and isinstance(items, list)):
            return unchanged
        call_ids = {item.get("call_id") for item in items if _is_type(item, "_call")}
        items_with_calls: list[Any] = []
        for item in items:
            is_missing = _is_type(item, "_call_output") and item.get("call_id") not in call_ids
            if is_missing and (call := self._own_calls.get(str(item.get("call_id")))):
                items_with_calls.append(call)
            items_with_calls.append(item)
        # mitmproxy cuts a changed frame at any byte, possibly within a character: so the frame is ASCII
        return json.dumps({**request, "input": items_with_calls}).encode() if len(items_with_calls) > len(items) else unchanged


def _call(frame: bytes) -> dict[str, Any] | None:
    if isinstance(frame, Binary) or _DONE.encode() not in frame:
        return None
    value = flow_info.json_object(frame) or {}
    item = value.get("item")
    if value.get("type") != _DONE or not isinstance(item, dict):
        return None
    return item if _is_type(item, "_call") and isinstance(item.get("call_id"), str) else None


def _is_type(item: Any, kind: str) -> bool:
    return isinstance(item, dict) and str(item.get("type")).endswith(kind)
