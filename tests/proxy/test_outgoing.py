"""outgoing.py: requests about a conversation that no route takes."""

import json
from typing import Any

import pytest

from tests.support.addon import Proxy, log, proxy
from tests.support.routed_flows import post
from toolmend.core.reasoning_state import ReasoningState, envelope

__all__ = ["log", "proxy"]

SUMMARY = {"type": "compaction", "id": "cmp_1", "encrypted_content": envelope(ReasoningState("summary", "the summary"))}
SIGNED = {"type": "thinking", "thinking": "Hm", "signature": envelope(ReasoningState("plain"))}
ABOUT: list[tuple[str, str, dict[str, Any]]] = [
    ("api.openai.com", "/v1/responses/compact", {"input": [{"role": "user", "content": "u"}, SUMMARY]}),
    ("api.openai.com", "/v1/responses/input_tokens?x=1", {"input": [SUMMARY]}),
    ("chatgpt.com", "/backend-api/codex/responses/compact", {"input": [SUMMARY]}),
    ("api.anthropic.com", "/v1/messages/count_tokens", {"messages": [{"role": "assistant", "content": [SIGNED, {"type": "text", "text": "a"}]}]}),
]


@pytest.mark.parametrize(("host", "path", "body"), ABOUT, ids=[row[1] for row in ABOUT])
def test_no_envelope_reaches_the_provider(proxy: Proxy, host: str, path: str, body: dict[str, Any]) -> None:
    flow = post(json.dumps({"model": "m", **body}).encode(), host=host, path=path)
    proxy.ask(flow)
    sent = json.loads(flow.request.content or b"")
    assert "toolmend1" not in json.dumps(sent) and sent["model"] == "m"
    assert ("the summary" in json.dumps(sent)) == (SUMMARY in body.get("input", ()))


def test_a_request_without_one_stays(proxy: Proxy) -> None:
    plain = json.dumps({"model": "m", "input": [ ]}).encode()
    flow = post(plain, host="api.openai.com", path="/v1/responses/compact")
    proxy.ask(flow)
    assert flow.request.raw_content == plain
