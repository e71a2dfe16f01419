"""Finish reasons, token counts and errors of Gemini.

    {"candidates":[{"finishReason":"STOP", …}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":5, …}}
    {"promptFeedback":{"blockReason":"SAFETY"}}                              instead of candidates
    {"error":{"code":429,"message":"…","status":"RESOURCE_EXHAUSTED"}}       instead of all

What is missing counts as 0. Sources: ai.google.dev/api/generate-content, the types of google-genai.
"""

from collections.abc import Mapping
from typing import Any

from ...core import json_text
from ...core.events import StreamError, Usage
from ..shared.errors import GOOGLE_STATUS, read_fault, write_error
from ..shared.numbers import count

MALFORMED = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
"""Finish reasons for a call that Google's parser rejected."""

_MALFORMED_PREFIX = "Malformed function call:"
_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
_FILTERED = (
    *("BLOCKLIST", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_SAFETY", "LANGUAGE", "MODEL_ARMOR"),
    *("PROHIBITED_CONTENT", "RECITATION", "SAFETY", "SPII"),
)
_CODES = {name: code for code, name in GOOGLE_STATUS.items()}
_UNSET = ("", "FINISH_REASON_UNSPECIFIED")


def reason_of(word: Any) -> str:
    """The finish reason in the terms of Chat Completions; an unknown one in lower case, "" if there is none."""
    if not isinstance(word, str) or word in _UNSET:
        return ""
    return "content_filter" if word in _FILTERED else _REASONS.get(word, word.lower())


def malformed_call(candidate: Mapping[str, Any]) -> str:
    """The call that Google's parser rejected, as the model wrote it; "" if it was cut off, or there is none.

    {"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(default_api.read(path=\"a\"))"}
    """
    message = candidate.get("finishMessage")
    if not (isinstance(message, str) and message.startswith(_MALFORMED_PREFIX) and candidate.get("finishReason") in MALFORMED):
        return ""
    text = message.removeprefix(_MALFORMED_PREFIX).strip()
    return text if text.endswith((")", "}")) else ""


def read_usage(chunk: Mapping[str, Any]) -> Usage | None:
    """Reads the token counts so far. Tool results in the prompt count as input, thoughts as output."""
    counts = chunk.get("usageMetadata")
    if not isinstance(counts, dict):
        return None
    thoughts = count(counts.get("thoughtsTokenCount"))
    return Usage(
        count(counts.get("promptTokenCount")) + count(counts.get("toolUsePromptTokenCount")),
        count(counts.get("candidatesTokenCount")) + thoughts,
        count(counts.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )


def read_error(chunk: Mapping[str, Any]) -> StreamError | None:
    """Reads an error that replaces the answer; None if there is none."""
    error = chunk.get("error")
    if not error:
        return None
    if not isinstance(error, dict):
        return StreamError("error", str(error))
    code = error.get("code")
    return StreamError(str(error.get("status") or "error"), str(error.get("message") or ""), code if isinstance(code, int) else 0)


def standard_error(chunk: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns an error in the form that Google's SDKs read; None if it has that form. At other forms they fail, or ignore it.

    {"error":"boom"}   →   {"error":{"code":500,"message":"boom","status":"INTERNAL"}}
    """
    error, wrapped = chunk.get("error"), chunk.get("response")
    if not error or (wrapped if isinstance(wrapped, dict) else chunk).get("candidates"):
        return None
    own: dict[str, Any] = error if isinstance(error, dict) else {}
    if own.get("code") in range(400, 600) and next(iter(chunk)) == "error":
        return None
    made = json_text.loads(write_error(read_fault(200, json_text.body(chunk)), "gemini", "")[1])["error"]
    status = str(own.get("status"))
    if status not in _CODES:
        status = made["status"]
    code = made["code"] if own.get("code") == made["code"] else _CODES.get(status, made["code"])
    return {"error": {**own, "code": code, "message": made["message"], "status": status}}


def blocked(chunk: Mapping[str, Any]) -> bool:
    """Whether the prompt was blocked, so that there is no answer."""
    feedback = chunk.get("promptFeedback")
    return isinstance(feedback, dict) and bool(feedback.get("blockReason")) and not chunk.get("candidates")
