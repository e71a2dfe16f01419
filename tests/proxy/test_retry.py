"""A refused request, hook by hook, where it cannot be sent again within its flow: the client is to ask again.

With a real mitmproxy it is sent again: e2e/test_second_try.py.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.flow import Error

from tests.support.addon import Log, answered, log, proxy
from tests.support.routed_flows import ASK, HELLO, Routes, error_of, post, routed
from tests.support.routes import SECRET
from toolmend.proxy.learnt_refusals import RefusalMemory
from toolmend.proxy.routed_response import unanswered
from toolmend.recordings.read import replay
from toolmend.telemetry.events import RuleFired

__all__ = ["log", "proxy", "routed"]

WARM = json.dumps({**ASK, "temperature": 0.5}).encode()
REFUSAL = {"error": {"message": f"Unsupported parameter: 'temperature' is not supported. {SECRET} 'my plan'", "param": "temperature"}}
BODY = json.dumps(REFUSAL).encode()
JSON = {"content_type": "application/json"}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data/toolmend/learnt.json"


def refused(proxy: Any, body: bytes = BODY, status: int = 400, ask: bytes = WARM, **more: str) -> Any:
    flow = post(ask)
    proxy.open(flow, None, status, **JSON | more)
    flow.response.raw_content = body
    proxy.addon.response(flow)
    return flow


def test_it_is_counted(routed: Routes, data: Path) -> None:
    told: list[object] = []

    class Script:
        def toolmend_events(self, event: object) -> None:
            told.append(event)

    proxy = routed()
    proxy.context.master.addons.add(Script())
    refused(proxy)
    proxy.addon.done()
    assert data.exists() and [event.rule for event in told if isinstance(event, RuleFired)] == ["refused_request"]


def test_the_client_asks_again(routed: Routes, data: Path, log: Log) -> None:
    proxy = routed()
    flow = refused(proxy)
    status, kind, message = error_of(flow.response)
    assert (status, kind) == (500, "api_error") and "send it again" in message
    assert (flow.response.headers["x-should-retry"], flow.response.headers["retry-after-ms"]) == ("true", "50")
    flow = proxy.ask(post(WARM))
    assert "temperature" not in json.loads(flow.request.content)
    said = [words for _, words in log() if "refuses temperature" in words]
    assert len(said) == 1 and "takes = { refuses = [" in said[0]
    assert SECRET not in said[0] + data.read_text() and "my plan" not in said[0] + data.read_text()
    assert proxy.run(post(WARM), HELLO.splitlines(keepends=True))
    first, second = sorted(proxy.recordings(), key=lambda one: one["status"], reverse=True)
    assert first["refused"].startswith("400: Unsupported parameter: 'temperature'") and SECRET not in json.dumps(first, default=str)
    assert "refused" not in second and len(second["learnt"]) == 1
    for folder in proxy.flows.rglob("meta.json"):
        recording = replay.load(folder.parent)
        assert replay.replay(recording)[0] == recording.client


LEFT: list[tuple[bytes, int]] = [
    (BODY, 401),
    (BODY, 429),
    (b"Bad Request", 400),
    (b"", 400),
    (b"x" * 100_000, 400),
    (json.dumps({"error": {"message": "Unknown parameter: 'messages'", "param": "messages"}}).encode(), 400),
    (json.dumps({"error": {"message": "Unknown parameter: 'top_p'", "param": "top_p"}}).encode(), 400),  # which it has not
]


@pytest.mark.parametrize(("body", "status"), LEFT)
def test_a_refusal_that_teaches_nothing_is_the_clients(routed: Routes, data: Path, body: bytes, status: int) -> None:
    flow = refused(routed(), body, status)
    assert flow.response.status_code == status
    assert "x-should-retry" not in flow.response.headers and not data.exists()


def test_what_is_switched_off(routed: Routes, data: Path, tmp_path: Path) -> None:
    proxy = routed()
    file = tmp_path / "off.toml"
    file.write_text((tmp_path / "toolmend.toml").read_text() + "learn = false\n")
    proxy.set(config=str(file))
    assert refused(proxy).response.status_code == 400
    assert "temperature" in json.loads(proxy.ask(post(WARM)).request.content)
    assert not data.exists()


def test_it_does_not_go_round(routed: Routes, data: Path) -> None:
    """The upstream refuses the changed request for the same reason, and for others without end."""
    proxy = routed()
    statuses = [refused(proxy).response.status_code for _ in range(4)]
    assert statuses == [500, 400, 400, 400]
    fields = ("stream_options", "max_tokens", "stream", "stop")
    bodies = [json.dumps({"error": {"message": f"Unsupported parameter: '{name}'", "param": name}}).encode() for name in fields]
    for body in bodies * 3:
        refused(proxy, body)
    assert len(RefusalMemory(data, proxy.addon.learnt._today).entries()) <= len(fields) + 1


@pytest.mark.usefixtures("data")
def test_the_same_api_is_changed_as_well(routed: Routes) -> None:
    proxy = routed(to="https://llm.example.com/v1/messages", use_model="")
    body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": "temperature: Extra inputs are not permitted"}})
    sent = proxy.ask(post(WARM)).request.content
    assert sent == WARM  # as long as nothing is refused, it is the client's own
    refused(proxy, body.encode())
    assert json.loads(proxy.ask(post(WARM)).request.content) == ASK


def test_the_answer_breaks_off(routed: Routes, data: Path) -> None:
    proxy = routed()
    flow = post(WARM)
    proxy.open(flow, None, 400, **JSON)
    flow.error = Error("peer closed connection")
    proxy.addon.error(flow)
    assert proxy.recording()["state"] == "upstream_error" and not data.exists()


@pytest.mark.usefixtures("data")
def test_no_answer_to_the_second_try(routed: Routes) -> None:
    """The first refusal is what the client gets then, and what is recorded."""
    proxy = routed()
    flow = post(WARM)
    proxy.open(flow, None, 400, **JSON)
    assert flow.response
    flow.response.raw_content = BODY
    assert proxy.addon._resend_if_learnt(flow)
    assert "temperature" not in json.loads(flow.request.content or b"")
    flow.response, flow.error = None, Error("server closed connection")
    proxy.addon.error(flow)
    response = unanswered(flow, proxy.addon.settings.routes[0], "server closed connection", reached=True)
    assert error_of(response)[0] == 400 and "temperature" in error_of(response)[2]
    assert proxy.recording()["state"] == "complete"


@pytest.mark.parametrize(("second", "kept"), [(BODY, False), (BODY.replace(b"temperature", b"stop"), True)])
def test_a_second_refusal(routed: Routes, data: Path, second: bytes, kept: bool) -> None:
    """What did not help is forgotten; the client has the second refusal."""
    proxy = routed()
    flow = post(WARM)
    proxy.open(flow, None, 400, **JSON)
    assert flow.response
    flow.response.raw_content = BODY
    assert proxy.addon._resend_if_learnt(flow)
    answered(flow, None, 400, **JSON).raw_content = second
    proxy.addon.responseheaders(flow)
    assert not proxy.addon._resend_if_learnt(flow)  # one more try, and no third
    proxy.addon.response(flow)
    assert error_of(flow.response)[0] == 400
    assert ("temperature" in data.read_text()) == kept


BETAS: list[tuple[str, str]] = [
    ("Unexpected value(s) `a-2025`, `b-2025` for the `anthropic-beta` header. Please consult our documentation.", "c-2026"),
    ("The model returned the following errors: invalid beta flag", ""),
]


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(("message", "kept"), BETAS)
def test_betas_that_are_refused(routed: Routes, message: str, kept: str) -> None:
    proxy = routed(to="https://llm.example.com/v1/messages", use_model="")
    flow = post(WARM, **{"anthropic-beta": "a-2025, c-2026,b-2025"})
    proxy.open(flow, None, 400, **JSON)
    assert flow.response
    flow.response.raw_content = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).encode()
    assert proxy.addon._resend_if_learnt(flow)
    assert (flow.request.headers.get("anthropic-beta", ""), flow.request.raw_content) == (kept, WARM)
    later = proxy.ask(post(WARM, **{"anthropic-beta": "b-2025,c-2026"})).request
    assert (later.headers.get("anthropic-beta", ""), later.raw_content) == (kept, WARM)


@pytest.mark.usefixtures("data")
def test_a_beta_for_what_was_learnt(routed: Routes) -> None:
    route = {"from": "https://api.anthropic.com/v1/chat/completions", "model": "*", "use_model": "claude-opus-5-5"}
    proxy = routed(to="https://llm.example.com/v1/messages", **route)
    body = json.dumps({"model": "m", "reasoning_effort": "high", "messages": [{"role": "user", "content": "hi"}]}).encode()
    flow = post(body, path="/v1/chat/completions")
    proxy.open(flow, None, 400, **JSON)
    assert flow.response and "anthropic-beta" not in flow.request.headers
    message = "messages.1.content.0: This thinking block is bound to a different conversation."
    flow.response.raw_content = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": message}}).encode()
    assert proxy.addon._resend_if_learnt(flow)
    assert flow.request.headers["anthropic-beta"] == "thinking-binding-controls-2026-08-01"
    assert json.loads(flow.request.content)["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}


@pytest.mark.usefixtures("data")
def test_a_summary_of_too_long_a_conversation(routed: Routes) -> None:
    """The model's context is not known: what it refused to read is asked of it once more, shorter."""
    proxy = routed(to="https://llm.example.com/v1/chat/completions", **{"from": "https://api.openai.com/v1/responses"})
    calls = [{"type": "function_call", "call_id": f"c{n}", "name": "get", "arguments": "{}"} for n in range(20)]
    results = [{"type": "function_call_output", "call_id": f"c{n}", "output": f"result {n} " * 1000} for n in range(20)]
    steps = [item for pair in zip(calls, results, strict=True) for item in pair]
    request = {"model": "m", "stream": True, "input": [{"role": "user", "content": "the task"}, *steps, {"type": "compaction_trigger"}]}
    flow = post(json.dumps(request).encode(), host="api.openai.com", path="/v1/responses")
    proxy.open(flow, None, 400, **JSON)
    assert flow.response
    before = len(flow.request.content)
    message = "This model's maximum context length is 20000 tokens. However, your messages resulted in 50000 tokens."
    flow.response.raw_content = json.dumps({"error": {"message": message, "code": "context_length_exceeded"}}).encode()
    assert proxy.addon._resend_if_learnt(flow)
    assert len(flow.request.content) < before * 0.4
    sent = json.loads(flow.request.content)["messages"]
    assert "hand-over" in json.dumps(sent[-1]) and "result 19" in json.dumps(sent)
    later = proxy.ask(post(json.dumps({"model": "m", "stream": True, "input": "q"}).encode(), host="api.openai.com", path="/v1/responses"))
    assert json.loads(later.request.content)["messages"] == [{"role": "user", "content": "q"}]
