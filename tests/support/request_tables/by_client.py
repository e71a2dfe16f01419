"""The requests of the tables, by the API of their client."""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.request_tables import chat, messages, responses

type Given = dict[str, Any]


def asked_of_chat() -> Iterator[tuple[str, Given]]:
    yield from ((row[0], {"messages": row[1]}) for row in chat.MESSAGES)
    yield from ((row[0], {"messages": [chat.HI], "model": row[1], **row[2]}) for row in chat.FIELDS)


def asked_of_messages() -> Iterator[tuple[str, Given]]:
    yield from ((row[0], {"messages": row[1]}) for row in messages.MESSAGES)
    yield from ((row[0], {"messages": [messages.HI], "model": row[2], **row[3]}) for row in messages.FIELDS)
    for name, _, model, blocks, *_ in messages.REASONING:
        turns = [messages.HI, messages.assistant(*blocks, messages.use()), messages.user(messages.result())]
        yield name, {"messages": turns, "model": model}
    yield "Claude Code", responses.CLAUDE_CODE


def asked_of_responses() -> Iterator[tuple[str, Given]]:
    yield from ((row[0], {"input": row[1]}) for row in (*responses.SAME, *responses.READ))
    yield from ((json.dumps(given)[:80], {"input": "Hi", "tools": responses.TOOLS, **given}) for given, _ in responses.FIELDS)
    yield "Codex", responses.CODEX


REQUESTS = {"chat": asked_of_chat, "messages": asked_of_messages, "responses": asked_of_responses}
