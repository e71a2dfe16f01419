"""offline.py, request by request: what is answered by which side of which recording, and what goes out."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mitmproxy import exceptions, http

from tests.support.addon import asked
from tests.support.playback import ASK, CHUNKS, LEAK, make, translated
from tests.support.routes import table
from tests.support.streams import WEATHER
from toolmend.config.settings import Settings, parse
from toolmend.providers.hosts import Api
from toolmend.providers.routes import Route
from toolmend.proxy.exchange import LlmExchange
from toolmend.proxy.offline import HEADER, Offline, Play, reconfigure, remove_header


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """One recording of a chat, and one of Messages before a chat upstream."""
    make(tmp_path / "flows", "plain")
    translated(tmp_path / "flows", "translated")
    return tmp_path / "flows"


@pytest.fixture
def offline(root: Path) -> Iterator[Offline]:
    running = Offline(root, Settings(replay=root))
    yield running
    running.close()


@pytest.fixture
def forwarding(root: Path) -> Iterator[Offline]:
    running = Offline(root, Settings(replay=root, replay_miss="forward"))
    yield running
    running.close()


def messages(**more: Any) -> http.HTTPFlow:
    return asked(host="api.anthropic.com", path="/v1/messages", body=json.dumps(ASK).encode(), **more)


def call_of(flow: http.HTTPFlow, api: Api = "chat") -> LlmExchange:
    return LlmExchange(api, flow.request.pretty_host, body=flow.request.raw_content)


def routes(tmp_path: Path, upstream: str = "chat/completions") -> tuple[Route, ...]:
    file = tmp_path / "toolmend.toml"
    file.write_text(table(to=f"https://openrouter.ai/api/v1/{upstream}"))
    return parse({"config": str(file), "flows": "off"}).routes


def served(play: Play, **headers: str) -> httpx.Response:
    return httpx.post(f"http://127.0.0.1:{play.port}/any", headers={HEADER: play.ticket} | headers, content=b"x")


def test_what_is_played(offline: Offline, tmp_path: Path, root: Path) -> None:
    """Translated ones: through a route to the recorded API the upstream's bytes, else the client's."""
    client = (root / "translated" / "client.sse").read_bytes()
    rows: list[tuple[http.HTTPFlow, Api, tuple[Route, ...], tuple[bool, bool], bytes]] = [
        (asked(), "chat", (), (False, True), b"".join(CHUNKS)),
        (messages(), "messages", (), (False, False), client),
        (messages(), "messages", routes(tmp_path), (True, True), LEAK),
        (messages(), "messages", routes(tmp_path, "responses"), (False, False), client),
    ]
    for flow, api, candidates, how, body in rows:
        call = call_of(flow, api)
        play = offline.play(flow, call, candidates)
        assert play and (play.routed, play.raw) == how
        assert served(play).content == body
        assert (call.played, call.answered, flow.response) == ("plain" if api == "chat" else "translated", False, None)


def test_the_request_is_sent_to_our_server_as_it_is(offline: Offline) -> None:
    flow = asked()
    before = flow.request.copy()
    play = offline.play(flow, call_of(flow), ())
    assert play
    play.send(flow)
    request = flow.request
    assert (request.scheme, request.data.host, request.port) == ("http", "127.0.0.1", play.port)
    assert (request.path, request.headers["host"], request.content) == (before.path, "openrouter.ai", before.content)
    remove_header(flow)
    assert request.headers == before.headers


def test_nobody_else_is_served(offline: Offline) -> None:
    flow = asked()
    play = offline.play(flow, call_of(flow), ())
    assert play
    for ticket in ("", "x/0/upstream", play.ticket.partition("/")[2], "ä"):
        assert httpx.get(f"http://127.0.0.1:{play.port}/", headers={HEADER: ticket.encode()}).status_code == 404


def test_a_recording_that_has_gone(offline: Offline, root: Path) -> None:
    flow = messages()
    play = offline.play(flow, call_of(flow, "messages"), ())
    (root / "translated" / "client.sse").unlink()
    assert play
    answer = served(play)
    assert (answer.status_code, answer.json()["type"]) == (500, "error")
    assert "the recording translated cannot be played" in answer.json()["error"]["message"]


BESIDE: dict[str, tuple[http.HTTPFlow, int | None, int | None]] = {
    # what is no request for a message: the status it gets where a miss fails, and where it is forwarded; None: it goes out
    "models": (asked(method="GET", path="/api/v1/models", body=b""), 200, 200),
    "a WebSocket": (asked(method="GET", path="/api/v1/responses", body=b"", upgrade="websocket"), 426, 426),
    "another thing": (asked(method="GET", path="/api/v1/credits", body=b""), 404, None),
    "another host": (asked(host="example.com", path="/index"), None, None),
    "this machine": (asked(host="localhost:8000", path="/index"), None, None),
    "a flow of a file": (asked(method="GET", path="/api/v1/credits", live=False), None, None),
}


@pytest.mark.parametrize("name", BESIDE)
def test_beside(offline: Offline, forwarding: Offline, name: str) -> None:
    flow, *expected = BESIDE[name]
    for running, status in zip((offline, forwarding), expected, strict=True):
        flow.response = None
        assert running.play(flow, None, ()) is None
        got: http.Response | None = flow.response
        assert (got.status_code if got else None) == status


def test_a_miss(offline: Offline, forwarding: Offline) -> None:
    for body in (json.dumps({**WEATHER, "model": "x"}).encode(), b"no JSON", None):
        for running, answered in ((offline, True), (forwarding, False)):
            flow = asked(body=body)
            call = call_of(flow)
            assert running.play(flow, call, ()) is None
            assert (call.answered, call.played) == (answered, "")
            if answered:
                assert flow.response and flow.response.status_code == 400
                assert json.loads(flow.response.content or b"")["error"]["message"].startswith("toolmend: ")
            else:
                assert flow.response is None


def test_who_is_answered_already_is_left_alone(offline: Offline) -> None:
    flow = asked()
    flow.response = http.Response.make(418)
    call = call_of(flow)
    assert offline.play(flow, call, ()) is None
    assert (flow.response.status_code, call.answered) == (418, False)


def test_whatever_fails_nothing_goes_out(offline: Offline, caplog: pytest.LogCaptureFixture) -> None:
    flow = asked()
    call = call_of(flow)
    offline.shelf.takes = None  # type: ignore[assignment]  # a bug of ours
    assert offline.play(flow, call, ()) is None
    assert call.answered
    assert flow.response and flow.response.status_code == 500
    assert "the search for a recording failed" in caplog.text


def test_what_recordings_are_called_steers_no_terminal(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They may be somebody else's, and mitmdump prints the log as it is."""
    caplog.set_level(logging.INFO)
    for name in ("whole", "torn"):
        folder = make(tmp_path / "\x1b]0;x\x07", f"{name}\x9b31m\r\u202e")
    (folder / "meta.json").write_text("{")
    offline = Offline(tmp_path, Settings(replay=tmp_path))
    flow = asked()
    assert offline.play(flow, call_of(flow), ())
    offline.close()
    lines = [record.getMessage() for record in caplog.records]
    assert any("not played" in line for line in lines)
    assert any("played from" in line for line in lines)
    assert all(line.isprintable() for line in lines)


def test_it_is_switched_by_the_settings(root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    (root / "torn").mkdir()
    (root / "torn" / "meta.json").write_text("{")
    assert reconfigure(None, Settings()) is None
    first = reconfigure(None, Settings(replay=root))
    assert first
    assert "not played: " in caplog.text
    miss, models = asked(body=b"x"), asked(method="GET", host="a.example", path="/v1/models", body=b"")
    assert reconfigure(first, Settings(replay=root, replay_miss="forward", hosts=("a.example",))) is first
    first.play(miss, call_of(miss), ())
    first.play(models, None, ())
    assert miss.response is None
    assert models.response
    second = reconfigure(first, Settings(replay=root / "plain"))
    assert second is not first
    assert reconfigure(second, Settings()) is None
    with pytest.raises(exceptions.OptionsError, match="no playable recording"):
        reconfigure(None, Settings(replay=tmp_path / "nothing"))
