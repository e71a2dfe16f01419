"""A refused request through a real mitmdump: it is changed, sent once more, and its client sees one answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, APIStatusError

from tests.e2e.clients import chunks, recording
from tests.e2e.routes import ASK, LEAK, MESSAGE, Route, chat, check_call, clients, route
from toolmend.core.fastclass import replace
from toolmend.recordings.fixtures.verification import check
from toolmend.recordings.playback.server import Request, Script, Upstream

__all__ = ["clients", "route"]

WARM: dict[str, Any] = {"extra_body": {"temperature": 0.2}}
JSON = (("content-type", "application/json"),)


def refusal(message: str, param: str | None, status: int = 400, **more: Any) -> Script:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_parameter"}}
    return Script(((0, json.dumps(body).encode()),), status, JSON, "content-length", **more)


def strict(*names: str, then: Script) -> Callable[[Request], Script]:
    """An upstream that refuses these fields, one at a time."""

    def answer(request: Request) -> Script:
        asked = json.loads(request.body)
        wrong = next((name for name in names if name in asked), "")
        return refusal(f"Unsupported parameter: '{wrong}' is not supported with this model.", wrong) if wrong else then

    return answer


def asked(upstream: Upstream) -> list[list[str]]:
    """Which of the fields that are refused here each request had."""
    return [sorted({"temperature", "top_p", "stop"} & json.loads(request.body).keys()) for request in upstream.requests]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data/toolmend/learnt.json"


type Clients = Callable[..., Anthropic]


@pytest.mark.parametrize("alpn", [("http/1.1",), ("h2", "http/1.1")], ids=["HTTP/1.1", "HTTP/2"])
def test_a_stream_comes_at_the_second_try(
    route: Route, certificate: tuple[Path, Path], clients: Clients, alpn: tuple[str, ...], tmp_path: Path, data: Path
) -> None:
    with Upstream(strict("temperature", then=Script(chunks(LEAK))), tls=certificate, alpn=alpn) as upstream:
        proxy = route(chat(upstream))
        client = clients(proxy, http2="h2" in alpn)
        for _ in range(2):  # on the same connection
            with client.messages.stream(**ASK, **WARM) as stream:
                check_call(stream.get_final_message())
        assert asked(upstream) == [["temperature"], [], []]
        proxy.wait_for("refuses temperature, which is changed for 14 days")
    kept = recording(tmp_path / "flows", path="/v1/messages")
    assert "temperature" in kept.meta["learnt"][0] and check(kept.folder).passed
    assert len(list((tmp_path / "flows").rglob("meta.json"))) == 2
    (entry,) = json.loads(data.read_text())["learnt"]
    assert (entry["model"], entry["path"], entry["edits"]) == ("kimi-k2.5", "temperature", ["temperature"])
    assert data.stat().st_mode & 0o777 == 0o600


def test_tries_that_fail(route: Route, certificate: tuple[Path, Path], clients: Clients, data: Path) -> None:
    """Nothing goes round; the client has an error of its own API, and what did not help is forgotten."""
    first = refusal("Unsupported parameter: 'temperature'", "temperature")
    whole = Script(((0, MESSAGE),), 200, JSON, "content-length")
    rows = {
        "refused": (first, 400, False),
        "dropped": (Script((), 200, JSON, "content-length", end="drop"), 500, True),
        "busy": (refusal("slow down", None, 429), 429, True),
        "other": (refusal("Unsupported parameter: 'stop'", "stop"), 400, True),  # which is learnt as well
    }
    tries: dict[str, int] = {}

    def answer(request: Request) -> Script:
        model = json.loads(request.body)["model"]
        tries[model] = tries.get(model, 0) + 1
        return (first, rows[model][0], whole)[tries[model] - 1] if model in rows else replace(first, http_version="HTTP/1.0")

    with Upstream(answer, tls=certificate, alpn=("http/1.1",)) as upstream:
        client = clients(route(chat(upstream), use_model=""))
        for model, (_, status, _) in rows.items():
            with pytest.raises(APIStatusError) as told:
                client.messages.create(**ASK | {"model": model}, **WARM, stop_sequences=["X"])
            assert (told.value.status_code, tries[model]) == (status, 2), model
        assert client.messages.create(**ASK | {"model": "other"}, **WARM, stop_sequences=["X"]).content[0].text == "Sunny."
        assert not {"temperature", "stop"} & json.loads(upstream.requests[-1].body).keys()
        with pytest.raises(APIStatusError):  # a server that closes its connection
            client.messages.create(**ASK | {"model": "closes"}, **WARM)
        assert len(upstream.requests) == 4 * 2 + 1 + 2
    learnt = {(entry["model"], entry["path"]) for entry in json.loads(data.read_text())["learnt"]}
    assert learnt == {("dropped", "temperature"), ("busy", "temperature"), ("other", "temperature"), ("other", "stop")}
