"""What an upstream says of an error, in any of the shapes seen; in a body, and in a stream, which may have told half an answer.

    {"error": {"message": "…", "code": 429}}                          OpenAI, Anthropic, Google; OpenRouter in a choice, too
    {"error": {"message": "Provider returned error", "metadata": {"raw": "…"}}}                      OpenRouter
    {"object": "error", "message": "…", "code": 429}                  vLLM; of others it is the type, or the status
    {"detail": "…"}                                                   FastAPI
    {"success": false, "errors": [{"message": "…", "code": 3040}]}    Cloudflare
    {"fault": {"faultstring": "…", "detail": {"errorcode": "…"}}}     Apigee
    {"code": 1302, "message": "…"}                                    gateways, with a number of their own
    {"base_resp": {"status_code": 1002, "status_msg": "…"}}           MiniMax, with status 200
    {"error_code": 336003, "error_msg": "…"}                          Qianfan

Rule of this file: words and statuses are read here, and nowhere else; what they are in the client's API is for others to say.
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
"""Codes that tell of no error."""


def error_in(value: Mapping[str, Any]) -> Any:
    """The part of a body, or of an event's data, that tells an error; None if there is none."""
    others = (None,) if _answers(value) else (value.get("detail"), value.get("errors"), value.get("fault"))
    for found in (value.get("error"), of_choice(value), *others):
        if found:
            return found[0] if isinstance(found, list) else found
    reply = value.get("base_resp")
    if isinstance(reply, Mapping) and reply.get("status_code") not in _FINE:
        return reply
    coded = any(value.get(name) not in _FINE for name in ("code", "error_code"))
    named = "error" in (value.get("object"), value.get("type"), value.get("status"))
    return value if (coded or named) and _message_of(value) and not _answers(value) else None


def of_choice(value: Mapping[str, Any]) -> Any:
    """What an answer tells of an error in its first choice."""
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first.get("error") if isinstance(first, Mapping) else None


def words_of(error: Any) -> str:
    """The message of an error; JSON text where it has none."""
    if isinstance(error, str) and error:
        return (_message_of(_object(error)) if error.startswith("{") else "") or error
    if not isinstance(error, Mapping):
        return json_text.dumps(error)
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return ": ".join(text for text in (_message_of(error), raw) if isinstance(text, str) and text) or json_text.dumps(error)


def status_in(*errors: Any) -> int:
    """The HTTP status that the first of these has that has one; else 0."""
    found = (error.get(name) for error in errors if isinstance(error, Mapping) for name in _STATUSES)
    return next((int(code) for code in found if isinstance(code, int | str) and _STATUS.fullmatch(str(code))), 0)


def stream_error(error: Any, around: Mapping[str, Any] | None = None) -> StreamError:
    """An error as an event. `around`: what it stands in."""
    type_ = error.get("type") if isinstance(error, Mapping) else None
    return StreamError(type_ if isinstance(type_, str) and type_ else "error", words_of(error), status_in(error, around))


def _message_of(error: Mapping[str, Any]) -> str:
    return next((text for name in _MESSAGES if isinstance(text := error.get(name), str) and text), "")


def _object(text: str) -> Mapping[str, Any]:
    """The object that a text holds: Bedrock's errors are told in one (vercel/ai#17124)."""
    try:
        value = json_text.loads(text.encode(errors="surrogatepass"))
    except json_text.NotJSON:
        return {}
    return value if isinstance(value, dict) else {}


def _answers(value: Mapping[str, Any]) -> bool:
    return any(value.get(name) for name in ("choices", "output", "content", "response", "delta", "item"))
