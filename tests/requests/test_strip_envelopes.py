"""strip_envelopes.py: envelopes of ours reach no upstream that would refuse them."""

from typing import Any

import pytest

from toolmend.core.reasoning_state import ReasoningState, envelope
from toolmend.requests.strip_envelopes import without_envelopes

DETAILS = envelope(ReasoningState("details", '[{"type": "reasoning.text"}]'))
PLAIN = envelope(ReasoningState("plain"))
TEXT = {"type": "text", "text": "a"}
ASK = {"role": "user", "content": "hi"}


def thinking(signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "hm", "signature": signature}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


CASES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    # name: API, host, request, what the upstream gets
    "another upstream's": (
        "messages", "api.anthropic.com", {"messages": [ASK, said(thinking(DETAILS), TEXT)]}, {"messages": [ASK, said(TEXT)]},
    ),
    "nothing else in the message": (
        "messages", "api.anthropic.com", {"messages": [ASK, said(thinking(PLAIN)), ASK]}, {"messages": [ASK, ASK]},
    ),
    "redacted": (
        "messages", "api.anthropic.com", {"messages": [said({"type": "redacted_thinking", "data": DETAILS}, TEXT)]},
        {"messages": [said(TEXT)]},
    ),
    "wanted back": (
        "messages", "api.deepseek.com", {"messages": [said(thinking(PLAIN), TEXT)]}, {"messages": [said(thinking(""), TEXT)]},
    ),
    "a reasoning item": (
        "responses", "api.openai.com",
        {"input": [{"type": "reasoning", "encrypted_content": PLAIN}, {"type": "reasoning", "encrypted_content": "gAAA"}]},
        {"input": [{"type": "reasoning", "encrypted_content": "gAAA"}]},
    ),
    "details": (
        "chat", "openrouter.ai",
        {"messages": [{"role": "assistant", "reasoning_details": [{"signature": PLAIN}, {"data": DETAILS}, {"signature": "x"}]}]},
        {"messages": [{"role": "assistant", "reasoning_details": [{"signature": "x"}]}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_envelopes(name: str) -> None:
    api, host, request, wanted = CASES[name]
    assert without_envelopes(request, api, host) == wanted
    assert without_envelopes(wanted, api, host) is wanted


UNTOUCHED: list[Any] = [
    {}, {"messages": "x"}, {"messages": [{"role": "bot"}]}, {"messages": [1, None, {"content": None}, {"content": [1, thinking("ErcB")]}]}, {"input": [{"type": "message"}]},
    {"messages": [said({**TEXT, "text": PLAIN})]},
]  # fmt: skip


@pytest.mark.parametrize("api", ["messages", "responses", "chat", "gemini"])
@pytest.mark.parametrize("request_", UNTOUCHED)
def test_what_has_none_is_untouched(api: str, request_: Any) -> None:
    assert without_envelopes(request_, api, "api.anthropic.com") is request_
