"""The conversation in the form of OpenTelemetry's `gen_ai.input.messages` and `gen_ai.output.messages`.

    [{"role": "user", "parts": [{"type": "text", "content": "How is the weather?"}]},
     {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Beijing"}}]},
     {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "sunny"}]}]

All of it is redacted like a recording (redactor.py). Images and files are named, not quoted.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ..core import json_text
from ..core.exchange_record import ExchangeRecord
from ..core.fold import Message
from ..requests import RequestError
from ..requests.conversation import Conversation, Part, RefusalPart, TextPart, ThinkingPart, ToolResult, ToolUse
from ..requests.translate import APIS
from ..secrets.redactor import Redactor
from ..secrets.request_secrets import secrets_of
from . import otel_names as names


def attributes(exchange: ExchangeRecord, messages: Sequence[Message]) -> dict[str, str]:
    """Returns the attributes of a span; each is JSON text."""
    redactor = Redactor(secrets_of(exchange))
    found = {names.OUTPUT_MESSAGES: [_assistant_message(message) for message in messages]}
    if asked := _conversation(exchange):
        turns = [(turn.role, [_part(part) for part in turn.parts]) for turn in asked.turns]
        first = next((at for at, (role, _) in enumerate(turns) if role not in ("system", "developer")), len(turns))
        found[names.SYSTEM_INSTRUCTIONS] = [part for _, parts in turns[:first] for part in parts]
        found[names.INPUT_MESSAGES] = [{"role": role, "parts": parts} for role, parts in turns[first:]]
    return {name: json_text.dumps(redactor.value(value)) for name, value in found.items() if value}


def _conversation(exchange: ExchangeRecord) -> Conversation | None:
    api = exchange.client_api or exchange.api
    try:
        request = json_text.loads(exchange.request)
        return APIS[api][0](request, []) if isinstance(request, dict) and api in APIS else None
    except (json_text.NotJSON, RequestError, RecursionError):
        return None


def _part(part: Part) -> dict[str, Any]:
    match part:
        case TextPart(text) | RefusalPart(text):
            return {"type": "text", "content": text}
        case ThinkingPart(text):
            return {"type": "reasoning", "content": text}
        case ToolUse():
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": _arguments(part.arguments)}
        case ToolResult():
            response = "\n".join(inner.text for inner in part.parts if isinstance(inner, TextPart))
            return {"type": "tool_call_response", "id": part.id, "response": response}
    return {"type": type(part).__name__.lower()}


def _assistant_message(message: Message) -> dict[str, Any]:
    reason = message.finish.finish_reason if message.finish else "error" if message.error else "stop"
    return {"role": "assistant", "parts": list(_parts(message)), "finish_reason": reason}


def _parts(message: Message) -> Iterator[dict[str, Any]]:
    for kind, text in (("reasoning", message.reasoning), ("text", message.text), ("text", message.refusal)):
        if text:
            yield {"type": kind, "content": text}
    for _, call in sorted(message.calls.items()):
        yield {"type": "tool_call", "id": call.id, "name": call.name, "arguments": _arguments(call.arguments)}


def _arguments(text: str) -> Any:
    """Returns JSON as a value; the input of a custom call as text."""
    try:
        return json_text.loads(text.encode(errors="surrogatepass"))
    except json_text.NotJSON:
        return text
