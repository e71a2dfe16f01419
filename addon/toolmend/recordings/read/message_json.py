"""message.json of a recording: the folded message that the client got.

    {"text": "I will look.", "reasoning": "", "refusal": "",
     "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "name": "read", "arguments": "{…}", "complete": true}],
     "finish_reason": "tool_calls", "stop_sequence": null, "usage": {"input_tokens": 10, …}, "error": null, "ended": true}

`choices` has further choices in the same form; `omitted_characters` and `unread_bytes` are set if something is missing.

It is derived only from the bytes of the recording, so what is masked there is masked here, and the file can be made again.
"""

from collections.abc import Generator, Iterator
from dataclasses import asdict
from typing import IO, Any

from ...core.events import Usage
from ...core.fold import Answer, Message
from ...pipeline.event_reader import events_of

MAX_READ = 64 * 1024 * 1024
"""Bytes of a body that are decoded: the longest responses have 128,000 tokens, and an event of a stream takes some 250 bytes."""

MAX_KEPT = 1024 * 1024
"""Characters of a response that are kept: twice the longest responses. Writing the file takes four bytes for each."""

STEP = 8
"""Events per step, after which the event loop gets its turn; consecutive deltas may be one."""

BLOCK = 16 * 1024
"""Bytes read at once: some 60 deltas, as many as are decoded together. With 128 KB a step took 5 ms."""


def message_of(api: str, body: IO[bytes], *, stream: bool) -> dict[str, Any] | None:
    """Returns the message of a body; None if nothing in it is understood."""
    steps = folding(api, body, stream=stream)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def folding(api: str, body: IO[bytes], *, stream: bool) -> Generator[None, None, dict[str, Any] | None]:
    """`message_of` in small steps: a long response takes seconds."""
    answer, known = Answer(MAX_KEPT), False
    for count, event in enumerate(events_of(api, _blocks(body), stream=stream)):
        answer.feed(event)
        known = True
        if count % STEP == STEP - 1:
            yield
    unread = body.seek(0, 2) - MAX_READ
    if not known and unread <= 0:
        return None
    first, *more = map(_message_object, answer.known())
    return first | ({"choices": more} if more else {}) | ({"unread_bytes": unread} if unread > 0 else {})


def _blocks(body: IO[bytes]) -> Iterator[bytes]:
    for _ in range(MAX_READ // BLOCK):
        if not (data := body.read(BLOCK)):
            return
        yield data


def _message_object(message: Message) -> dict[str, Any]:
    finish = message.finish
    return {
        "text": message.text,
        "reasoning": message.reasoning,
        "refusal": message.refusal,
        "tool_calls": [
            {
                "index": call.index,
                "id": call.id,
                "type": call.kind,
                "name": call.name,
                "arguments": call.arguments,
                "complete": call.complete,
            }
            for _, call in sorted(message.calls.items())
        ],
        "finish_reason": finish.finish_reason if finish else None,
        "stop_sequence": finish.stop_sequence if finish else None,
        "usage": _counts(message.usage) if message.usage else None,
        "error": asdict(message.error) if message.error else None,
        "ended": message.ended,
    } | ({"omitted_characters": message.omitted} if message.omitted else {})


def _counts(usage: Usage) -> dict[str, int]:
    """Returns the counts; of web searches only if there were some."""
    counts = asdict(usage)
    return counts if usage.searches else {name: count for name, count in counts.items() if name != "searches"}
