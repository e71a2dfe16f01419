"""Every translated request passes an upstream that refuses what the real ones refuse (support/strict_upstream.py)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.agent_requests import AGENTS
from tests.support.example_counts import examples
from tests.support.generated_requests import messages_requests
from tests.support.request_tables.by_client import REQUESTS
from tests.support.request_tables.chat import unmarked
from tests.support.strict_upstream import refusal, rules_of
from tests.support.upstream_hosts import UPSTREAMS
from toolmend.requests import RequestError, translate


def sent(client: str, request: dict[str, Any], upstream: tuple[str, str, str]) -> Any:
    """What goes upstream; None where the client is told that it cannot."""
    api, host, model = upstream
    try:
        return json.loads(json.dumps(translate(request, client, api, host=host, model=model).request))
    except RequestError:
        return None


def tables() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The requests of the other tests' tables."""
    for client, rows in REQUESTS.items():
        for name, fields in rows():
            yield name, client, {"model": "m", **({"max_tokens": 9} if client == "messages" else {}), **fields}


@pytest.mark.parametrize("upstream", UPSTREAMS, ids=[" ".join(row) for row in UPSTREAMS])
def test_no_request_is_refused(upstream: tuple[str, str, str], subtests: pytest.Subtests) -> None:
    given = [(name, client, request) for name, (client, request) in AGENTS.items()]
    for name, client, request in (*given, *tables()):
        if client != upstream[0] and (written := sent(client, request, upstream)) is not None:
            refused = refusal(*upstream, written)
            if refused and written.get("messages") != []:  # a client that says nothing is told so
                with subtests.test(name):
                    pytest.fail(f"{refused.rule}: {json.dumps(refused.body)}\n{json.dumps(written)[:1500]}")


@given(request=messages_requests(), upstream=st.sampled_from([row for row in UPSTREAMS if row[0] != "messages"]))
@examples(1)
def test_no_made_up_request_is_refused(request: dict[str, Any], upstream: tuple[str, str, str]) -> None:
    written = sent("messages", request, upstream)
    assert written is None or refusal(*upstream, written) is None


@given(request=messages_requests(), upstream=st.sampled_from([row for row in UPSTREAMS if row[0] == "messages"]))
@examples(1)
def test_no_made_up_request_is_refused_by_claude(request: dict[str, Any], upstream: tuple[str, str, str]) -> None:
    chat = translate(request, "messages", "chat", host="openrouter.ai", model="m").request
    written = sent("chat", json.loads(json.dumps(chat)), upstream)
    assert written is None or refusal(*upstream, written) is None


@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1"])
@pytest.mark.parametrize("agent", ["Codex", "opencode"])
def test_a_later_request_begins_as_the_earlier_one(agent: str, model: str) -> None:
    """Thinking blocks are bound to all in front of them: what is written for an earlier turn must not change; breakpoints may."""
    first, later = (unmarked(sent(*AGENTS[name], ("messages", "api.anthropic.com", model))) for name in (agent, f"{agent}, later"))
    assert (first["system"], first["tools"]) == (later["system"], later["tools"])
    assert later["messages"][: len(first["messages"])] == first["messages"]


def test_rules_can_refuse() -> None:
    """What the agents send is refused where it goes on as it is, or is of another model."""
    found = set()
    for _, request in AGENTS.values():
        for upstream in UPSTREAMS:
            if isinstance(request.get("messages"), list) == (upstream[0] != "responses"):
                found |= {rule.name for rule in rules_of(*upstream) if _checked(rule.check, request)}
    assert len(found) > 20


def _checked(check: Any, request: dict[str, Any]) -> bool:
    try:
        return bool(check(request))
    except (KeyError, TypeError, AttributeError):  # it is a request of another API
        return False
