"""Reads an upstream's error in any known form, from a body or from an event of a stream.

    {"error": {"message": "…", "code": 429}}                          OpenAI, Anthropic, Google; OpenRouter in a choice, too
    {"error": {"message": "Provider returned error", "metadata": {"raw": "…"}}}                      OpenRouter
    {"object": "error", "message": "…", "code": 429}                  vLLM; others have type or status "error"
    {"detail": "…"}                                                   FastAPI
    {"success": false, "errors": [{"message": "…", "code": 3040}]}    Cloudflare
    {"fault": {"faultstring": "…", "detail": {"errorcode": "…"}}}     Apigee
    {"code": 1302, "message": "…"}                                    gateways, with a number of their own
    {"base_resp": {"status_code": 1002, "status_msg": "…"}}           MiniMax, with status 200
    {"error_code": 336003, "error_msg": "…"}                          Qianfan

errors.py writes them in the client's API.
"""

import re
from collections.abc import Mapping
from typing import Any

from ...core import json_text
from ...core.events import StreamError

_STATUS = re.compile("[45][0-9]{2}")
_STATUSES = ("code", "status", "status_code", "http_code")
_MESSAGES = ("message", "msg", "error_msg", "status_msg", "faultstring", "error_message", "Message")
_FINE = (None, "", "0", 0, 200, "200", "success", "Success")
"""Codes that do not mean an error."""


def error_in(value: Mapping[str, Any]) -> Any:
    """The error in a body or in an event's data; None if there is none."""
    others = (None,) if _is_answer(value) else (value.get("detail"), value.get("errors"), value.get("fault"))
    for found in (value.get("error"), choice_error(value), *others):
        if found:
            return found[0] if isinstance(found, list) else found
    reply = value.get("base_resp")
    if isinstance(reply, Mapping) and reply.get("status_code") not in _FINE:
        return reply
    coded = any(value.get(name) not in _FINE for name in ("code", "error_code"))
    named = "error" in (value.get("object"), value.get("type"), value.get("status"))
    return value if (coded or named) and _message_of(value) and not _is_answer(value) else None


def choice_error(value: Mapping[str, Any]) -> Any:
    """The error in an answer's first choice."""
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first.get("error") if isinstance(first, Mapping) else None


def message_of_error(error: Any) -> str:
    """The message of an error; its JSON text if it has none."""
    if isinstance(error, str) and error:
        return (_message_of(_object(error)) if error.startswith("{") else "") or error
    if not isinstance(error, Mapping):
        return json_text.dumps(error)
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return ": ".join(text for text in (_message_of(error), raw) if isinstance(text, str) and text) or json_text.dumps(error)


def status_in(*errors: Any) -> int:
    """The HTTP status in the first of `errors` that has one; 0 if none has."""
    found = (error.get(name) for error in errors if isinstance(error, Mapping) for name in _STATUSES)
    return next((int(code) for code in found if isinstance(code, int | str) and _STATUS.fullmatch(str(code))), 0)


def stream_error(error: Any, around: Mapping[str, Any] | None = None) -> StreamError:
    """An error as an event. `around`: the object that contains it."""
    type_ = error.get("type") if isinstance(error, Mapping) else None
    return StreamError(type_ if isinstance(type_, str) and type_ else "error", message_of_error(error), status_in(error, around))


def _message_of(error: Mapping[str, Any]) -> str:
    return next((text for name in _MESSAGES if isinstance(text := error.get(name), str) and text), "")


def _object(text: str) -> Mapping[str, Any]:
    """The JSON object in a text, as Bedrock sends errors (vercel/ai#17124)."""
    try:
        value = json_text.loads(text.encode(errors="surrogatepass"))
    except json_text.NotJSON:
        return {}
    return value if isinstance(value, dict) else {}


def _is_answer(value: Mapping[str, Any]) -> bool:
    return any(value.get(name) for name in ("choices", "output", "content", "response", "delta", "item"))
