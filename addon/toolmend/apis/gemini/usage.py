"""What Gemini reports beside the answer: why it ends, token counts, errors.

    {"candidates":[{"finishReason":"STOP", …}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":5, …}}
    {"promptFeedback":{"blockReason":"SAFETY"}}                              instead of candidates
    {"error":{"code":429,"message":"…","status":"RESOURCE_EXHAUSTED"}}       instead of all

Rule of this file: what is missing counts 0. Sources: ai.google.dev/api/generate-content, the types of google-genai.
"""

from collections.abc import Mapping
from typing import Any

from ...core import json_text
from ...core.events import StreamError, Usage
from ..shared.counts import count
from ..shared.errors import GOOGLE_STATUS, read_fault, write_error

MALFORMED = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
"""Reasons for a call that Google's parser made nothing of."""

_TOLD = "Malformed function call:"
_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
_FILTERED = (
    *("BLOCKLIST", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_SAFETY", "LANGUAGE", "MODEL_ARMOR"),
    *("PROHIBITED_CONTENT", "RECITATION", "SAFETY", "SPII"),
)
_CODES = {name: code for code, name in GOOGLE_STATUS.items()}
_UNSET = ("", "FINISH_REASON_UNSPECIFIED")


def reason_of(word: Any) -> str:
    """A finish reason in the words of Chat Completions; one that has none there in small letters, "" for none."""
    if not isinstance(word, str) or word in _UNSET:
        return ""
    return "content_filter" if word in _FILTERED else _REASONS.get(word, word.lower())


def malformed_call(candidate: Mapping[str, Any]) -> str:
    """The call of which Google's parser made nothing, as the model wrote it; "" where it is cut, or none.

    {"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(default_api.read(path=\"a\"))"}
    """
    told = candidate.get("finishMessage")
    if not (isinstance(told, str) and told.startswith(_TOLD) and candidate.get("finishReason") in MALFORMED):
        return ""
    text = told.removeprefix(_TOLD).strip()
    return text if text.endswith((")", "}")) else ""


def usage_in(chunk: Mapping[str, Any]) -> Usage | None:
    """The token counts so far. What tools read into the prompt counts as input, what the model thought as output."""
    told = chunk.get("usageMetadata")
    if not isinstance(told, dict):
        return None
    thought = count(told.get("thoughtsTokenCount"))
    return Usage(
        count(told.get("promptTokenCount")) + count(told.get("toolUsePromptTokenCount")),
        count(told.get("candidatesTokenCount")) + thought,
        count(told.get("cachedContentTokenCount")),
        reasoning_tokens=thought,
    )


def error_in(chunk: Mapping[str, Any]) -> StreamError | None:
    """An error that stands where the answer should be."""
    error = chunk.get("error")
    if not error:
        return None
    if not isinstance(error, dict):
        return StreamError("error", str(error))
    code = error.get("code")
    return StreamError(str(error.get("status") or "error"), str(error.get("message") or ""), code if isinstance(code, int) else 0)


def known_error(chunk: Mapping[str, Any]) -> dict[str, Any] | None:
    """An error as Google's SDKs know one, where a chunk tells it in another form: they fail at it, or pass it over.

    {"error":"boom"}   →   {"error":{"code":500,"message":"boom","status":"INTERNAL"}}
    """
    error, wrapped = chunk.get("error"), chunk.get("response")
    if not error or (wrapped if isinstance(wrapped, dict) else chunk).get("candidates"):
        return None
    told: dict[str, Any] = error if isinstance(error, dict) else {}
    if told.get("code") in range(400, 600) and next(iter(chunk)) == "error":
        return None
    made = json_text.loads(write_error(read_fault(200, json_text.body(chunk)), "gemini", "")[1])["error"]
    status = str(told.get("status"))
    if status not in _CODES:
        status = made["status"]
    code = made["code"] if told.get("code") == made["code"] else _CODES.get(status, made["code"])
    return {"error": {**told, "code": code, "message": made["message"], "status": status}}


def blocked(chunk: Mapping[str, Any]) -> bool:
    """Whether the prompt was refused: there is no answer then."""
    feedback = chunk.get("promptFeedback")
    return isinstance(feedback, dict) and bool(feedback.get("blockReason")) and not chunk.get("candidates")
