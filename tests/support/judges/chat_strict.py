"""The strict reader of a Chat Completions answer that was written anew: support/judges/chat.py's, and what holds of a stream as a whole.

All chunks carry the same id, object, created and model; a finish_reason once; usage in a chunk without choices; [DONE] at the
end, or an error object and nothing behind it.

Rule of this file: it shares no code with toolmend.
"""

import json
from typing import Any

from tests.support.answers import Answer, Call, is_count, is_object
from tests.support.judges import chat as chat_judge

REASONS = frozenset({"stop", "length", "tool_calls", "content_filter"})
SAME = ("id", "object", "created", "model")
COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def read(body: bytes) -> Answer:
    """Folds a stream, and notes every fault."""
    answer = Answer()
    found = chat_judge.events(body)
    folded = chat_judge.read(body)
    answer.faults += folded.all_faults + [f"data that is no JSON: {data!r}" for data in folded.other]
    chunks = [json.loads(data) for data in found if data != "[DONE]" and data not in folded.other]
    heads = {json.dumps([chunk.get(name) for name in SAME]) for chunk in chunks if "error" not in chunk}
    answer.check(len(heads) <= 1, f"chunks of several answers: {heads}")
    for head in heads:
        answer.id, kind, created, answer.model = json.loads(head)
        answer.check(answer.id and kind == "chat.completion.chunk" and type(created) is int and answer.model, f"chunks with {head}")
    for at, chunk in enumerate(chunks):
        _chunk(answer, chunk)
        if "error" in chunk:
            answer.error = chunk["error"]
            _error(answer, answer.error)
            answer.check(at == len(chunks) - 1, "chunks behind the error")
    answer.check(folded.done != (answer.error is not None), "neither [DONE] nor error, or both")
    for choice in folded.choices.values():
        answer.text, answer.reasoning = choice.content, choice.reasoning
        answer.calls = [Call(call.id, call.name, call.arguments) for call in choice.calls]
        answer.check(len(choice.finish_reasons) == (answer.error is None), f"finish reasons: {choice.finish_reasons}")
        answer.stop_reason = next(iter(choice.finish_reasons), None)
    for chunk in chunks:
        for choice in chunk.get("choices") or ():
            _cited(answer, choice.get("delta") or {})
    answer.check(answer.error or list(folded.choices) == [0], f"choices {list(folded.choices)}")
    answer.usage = folded.usage
    _stop(answer)
    return answer


def whole(body: bytes) -> Answer:
    """A whole completion, or the body of an error."""
    answer = Answer()
    completion = json.loads(body)
    if "error" in completion:
        answer.error = completion["error"]
        _error(answer, answer.error)
        return answer
    answer.id, answer.model = completion.get("id", ""), completion.get("model", "")
    head = [completion.get(name) for name in SAME]
    answer.check(head[0] and head[3] and head[1] == "chat.completion" and type(head[2]) is int, f"a completion with {head}")
    if not answer.check(len(completion.get("choices", ())) == 1, "not one choice"):
        return answer
    choice = completion["choices"][0]
    message = choice.get("message") or {}
    answer.check(choice.get("index") == 0 and message.get("role") == "assistant", f"a choice of {choice}")
    answer.check("content" in message, "a message without content")
    answer.text, answer.refusal = message.get("content") or "", message.get("refusal") or ""
    answer.reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
    _details(answer, message)
    _cited(answer, message)
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        answer.check(call.get("type") == "function", f"a call of type {call.get('type')!r}")
        answer.calls.append(Call(call.get("id", ""), function.get("name", ""), function.get("arguments", "")))
    answer.stop_reason, answer.usage = choice.get("finish_reason"), completion.get("usage")
    answer.check(answer.usage, "no usage")
    _stop(answer)
    return answer


def _chunk(answer: Answer, chunk: dict[str, Any]) -> None:
    for choice in chunk.get("choices") or ():
        delta = choice.get("delta") or {}
        answer.refusal += delta.get("refusal") or ""
        _details(answer, delta)
    if chunk.get("usage"):
        answer.check(chunk.get("choices") == [], "usage in a chunk with choices")


def _details(answer: Answer, delta: dict[str, Any]) -> None:
    if delta.get("reasoning_details"):
        answer.seals.append(json.dumps(delta["reasoning_details"]))


BROKEN_OFF = ("length", "content_filter")
"""Reasons of which a call may be broken off, too."""


def _cited(answer: Answer, of: dict[str, Any]) -> None:
    """The annotations of a delta, whose text has come, or of a message."""
    for note in of.get("annotations") or ():
        answer.check(note["type"] == "url_citation", f"an annotation of the type {note['type']}")
        cited = note["url_citation"]
        answer.citations.append((cited["url"], cited["title"], answer.text[cited["start_index"] : cited["end_index"]]))


def _stop(answer: Answer) -> None:
    reason = answer.stop_reason
    if answer.error is None:
        answer.check(reason in REASONS, f"finish_reason {reason!r}")
        answer.check(reason != "tool_calls" or answer.calls, "finish_reason tool_calls without a call")
        answer.check(reason != "stop" or not answer.calls, "finish_reason stop with a call")
        for call in answer.calls:
            answer.check(reason in BROKEN_OFF or is_object(call.arguments), f"arguments that are no JSON object: {call.arguments!r}")
    answer.check_calls()
    if answer.usage is not None:
        for count in COUNTS:
            answer.check(is_count(answer.usage.get(count)), f"usage: {count} {answer.usage.get(count)!r}")
        total = sum(answer.usage.get(count) or 0 for count in COUNTS[:2])
        answer.check(answer.usage.get("total_tokens") == total, f"usage: total_tokens {answer.usage.get('total_tokens')!r}")


def _error(answer: Answer, error: Any) -> None:
    fields = {"message", "type", "param", "code"}
    answer.check(isinstance(error, dict) and set(error) == fields and error["message"], f"an error that says {error}")
