"""An answer as a provider streams it, in each of the APIs, and as a whole message where no stream is asked for.

    speak("messages", [Reasoning("Hm."), Text("Look: "), Call("call_1", "Bash", {"command": "ls"})], "kimi-k2.5") → events

Rule of this file: it shares no code with toolmend; every stream is as the API's own documentation has it.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Reasoning:
    text: str


@dataclass(frozen=True)
class Call:
    """A real tool call. `arguments` is a string for a tool that takes free text."""

    id: str
    name: str
    arguments: dict[str, Any] | str
    namespace: str = ""


type Part = Text | Reasoning | Call
type Event = tuple[str, str]
"""The name of a server-sent event, empty where the API has none, and its data."""

USAGE = (100, 20)
"""Tokens of every request and of every answer."""


def pieces(text: str, size: int = 7) -> list[str]:
    """A text as deltas bring it: markers are cut anywhere."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def speak(api: str, parts: Sequence[Part], model: str) -> list[Event]:
    """The events of a stream."""
    return list({"chat": _chat, "messages": _messages, "responses": _responses, "gemini": _gemini}[api](parts, model))


def tell(api: str, parts: Sequence[Part], model: str) -> bytes:
    """The whole message of an answer that is text alone: what titles and the like are asked for."""
    text = "".join(part.text for part in parts if isinstance(part, Text))
    match api:
        case "chat":
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            whole: Any = {**_meta(model, "chat.completion"), "choices": [choice], "usage": _chat_usage()}
        case "messages":
            whole = {**_message(model), "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
        case "responses":
            whole = _response(model, "completed", [_said("msg_1", text)])
        case _:
            whole = _candidate([{"text": text}], model, "STOP")
    return json.dumps(whole).encode()


def _meta(model: str, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1760000000, "model": model}


def _chat_usage() -> dict[str, Any]:
    asked, said = USAGE
    details = {"prompt_tokens_details": {"cached_tokens": 40}}
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said, **details}


def _chat(parts: Sequence[Part], model: str) -> Iterator[Event]:
    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return "", json.dumps({**_meta(model, "chat.completion.chunk"), "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    calls = 0
    for part in parts:
        match part:
            case Text(text):
                yield from (chunk({"content": piece}) for piece in pieces(text))
            case Reasoning(text):
                yield from (chunk({"reasoning_content": piece}) for piece in pieces(text))
            case Call(name=name, arguments=arguments):
                start = {"index": calls, "id": part.id, "type": "function", "function": {"name": name, "arguments": ""}}
                yield chunk({"tool_calls": [start]})
                for piece in pieces(json.dumps(arguments), 20):
                    yield chunk({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})
                calls += 1
    yield chunk({}, "tool_calls" if calls else "stop")
    yield "", json.dumps({**_meta(model, "chat.completion.chunk"), "choices": [], "usage": _chat_usage()})
    yield "", "[DONE]"


def _message(model: str) -> dict[str, Any]:
    asked, said = USAGE
    usage = {"input_tokens": asked - 40, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 0, "output_tokens": said}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    return {**head, "stop_reason": None, "stop_sequence": None, "usage": usage}


def _messages(parts: Sequence[Part], model: str) -> Iterator[Event]:
    def event(kind: str, **fields: Any) -> Event:
        return kind, json.dumps({"type": kind, **fields})

    yield event("message_start", message=_message(model))
    yield event("ping")
    for index, part in enumerate(parts):
        match part:
            case Text(text):
                block: dict[str, Any] = {"type": "text", "text": ""}
                deltas: list[dict[str, Any]] = [{"type": "text_delta", "text": piece} for piece in pieces(text)]
            case Reasoning(text):
                block = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(text)]
                deltas.append({"type": "signature_delta", "signature": "c2lnbmVk"})
            case Call(name=name, arguments=arguments):
                block = {"type": "tool_use", "id": part.id, "name": name, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(json.dumps(arguments), 20)]
        yield event("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    stop = "tool_use" if any(isinstance(part, Call) for part in parts) else "end_turn"
    yield event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": USAGE[1]})
    yield event("message_stop")


def _said(identity: str, text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": identity, "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def _response(model: str, status: str, output: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    asked, said = USAGE
    usage = {
        "input_tokens": asked, "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": said, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": asked + said,
    }  # fmt: skip
    head = {"id": "resp_1", "object": "response", "created_at": 1760000000, "status": status, "model": model, "error": None}
    more = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "incomplete_details": None, "metadata": {}}
    return {**head, **more, "output": list(output), "usage": usage if status == "completed" else None}


def _responses(parts: Sequence[Part], model: str) -> Iterator[Event]:
    number = 0

    def event(kind: str, **fields: Any) -> Event:
        nonlocal number
        number += 1
        return kind, json.dumps({"type": kind, "sequence_number": number - 1, **fields})

    yield event("response.created", response=_response(model, "in_progress", []))
    yield event("response.in_progress", response=_response(model, "in_progress", []))
    output: list[dict[str, Any]] = []
    for at, part in enumerate(parts):
        item, begun, inside = _item(f"item_{uuid.uuid4().hex}", part)  # Codex takes an item with a known id for the one it has
        yield event("response.output_item.added", output_index=at, item=begun)
        for kind, fields in inside:
            yield event(f"response.{kind}", item_id=item["id"], output_index=at, **fields)
        yield event("response.output_item.done", output_index=at, item=item)
        output.append(item)
    yield event("response.completed", response=_response(model, "completed", output))


def _item(identity: str, part: Part) -> tuple[dict[str, Any], dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """An item of the Responses API when it is done, when it begins, and the events in between."""
    match part:
        case Text(text):
            item = _said(identity, text)
            content = {"content_index": 0}
            empty = {**item["content"][0], "text": ""}
            inside: list[tuple[str, dict[str, Any]]] = [("content_part.added", {**content, "part": empty})]
            inside += [("output_text.delta", {**content, "delta": piece, "logprobs": []}) for piece in pieces(text)]
            inside += [("output_text.done", {**content, "text": text, "logprobs": []})]
            inside += [("content_part.done", {**content, "part": item["content"][0]})]
            return item, {**item, "status": "in_progress", "content": []}, inside
        case Reasoning(text):
            summary = {"type": "summary_text", "text": text}
            item = {"id": identity, "type": "reasoning", "summary": [summary], "encrypted_content": "c2VhbGVk"}
            first = {"summary_index": 0}
            inside = [("reasoning_summary_part.added", {**first, "part": {**summary, "text": ""}})]
            inside += [("reasoning_summary_text.delta", {**first, "delta": piece}) for piece in pieces(text)]
            inside += [("reasoning_summary_text.done", {**first, "text": text})]
            inside += [("reasoning_summary_part.done", {**first, "part": summary})]
            return item, {**item, "summary": []}, inside
        case Call(arguments=str(text)):
            item = {"id": identity, "type": "custom_tool_call", "status": "completed", "call_id": part.id, "name": part.name, "input": text}
            inside = [("custom_tool_call_input.delta", {"delta": piece}) for piece in pieces(text, 20)]
            inside += [("custom_tool_call_input.done", {"input": text})]
            begun = {**item, "status": "in_progress", "input": ""}
        case Call():
            text = json.dumps(part.arguments)
            item = {"id": identity, "type": "function_call", "status": "completed", "call_id": part.id, "name": part.name, "arguments": text}
            inside = [("function_call_arguments.delta", {"delta": piece}) for piece in pieces(text, 20)]
            inside += [("function_call_arguments.done", {"arguments": text})]
            begun = {**item, "status": "in_progress", "arguments": ""}
    if part.namespace:
        item["namespace"] = begun["namespace"] = part.namespace
    return item, begun, inside


def _candidate(parts: Sequence[Mapping[str, Any]], model: str, finish: str | None = None) -> dict[str, Any]:
    asked, said = USAGE
    usage = {"promptTokenCount": asked, "candidatesTokenCount": said, "totalTokenCount": asked + said}
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0} | ({"finishReason": finish} if finish else {})
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": "resp-1"}


def _gemini(parts: Sequence[Part], model: str) -> Iterator[Event]:
    for part in parts:
        match part:
            case Text(text):
                made: list[dict[str, Any]] = [{"text": piece} for piece in pieces(text)]
            case Reasoning(text):
                made = [{"text": piece, "thought": True} for piece in pieces(text)]
            case Call(name=name, arguments=arguments):
                made = [{"functionCall": {"name": name, "args": arguments}}]
        yield from (("", json.dumps(_candidate([one], model))) for one in made)
    yield "", json.dumps(_candidate([{"text": ""}], model, "STOP"))
