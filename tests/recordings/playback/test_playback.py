"""playback.py: recordings as a server says them, and a provider made of them."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.judges.messages import read as read_messages
from tests.support.paths import FLOWS
from tests.support.playback import ASK, CHUNKS, LEAK, META, TRANSLATED, make, translated
from tests.support.streams import WEATHER
from toolmend.apis.shared.errors import Fault
from toolmend.recordings.playback.playback import Player, Side, local, refusal, script, shelf, take
from toolmend.recordings.playback.server import Request, Script
from toolmend.recordings.read.library import entry
from toolmend.recordings.read.replay import RecordingError, find, load

FIXTURES = {str(folder.relative_to(FLOWS)): folder for folder in find(FLOWS)}
SSE, JSON, RETRY = ("content-type", "text/event-stream; charset=utf-8"), ("content-type", "application/json"), ("retry-after", "7")


def play(folder: Path, side: Side = "upstream", **more: Any) -> Script:
    return script(load(folder), side, **more)


def body_of(given: Script) -> bytes:
    return b"".join(data for _, data in given.chunks)


@pytest.mark.parametrize("name", FIXTURES)
def test_both_sides_of_every_fixture(name: str) -> None:
    recording = load(FIXTURES[name])
    upstream, client = script(recording, "upstream"), script(recording, "client")
    assert tuple(data for _, data in upstream.chunks) == recording.chunks
    assert body_of(client) == recording.client
    assert (client.status, client.end) == (upstream.status, "clean")
    last = recording.times[-1] + (recording.meta.get("wait_ms") or 0) / 1000
    assert sum(wait for wait, _ in upstream.chunks) == pytest.approx(last)
    assert sum(wait for wait, _ in client.chunks) <= last + 1e-9


SPEEDS = {1.0: (0.5, 0.25, 0.75), 2.0: (0.25, 0.125, 0.375), 0.5: (1.0, 0.5, 1.5), 0: (0, 0, 0)}


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("side", ["upstream", "client"])
def test_chunks_and_waits(tmp_path: Path, side: Side, speed: float) -> None:
    """The first wait is that for the first byte."""
    folder = make(tmp_path, "a", wait_ms=500)
    assert play(folder, side, speed=speed) == Script(tuple(zip(SPEEDS[speed], CHUNKS, strict=True)), headers=(SSE,))


SAID: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # what meta.json has, and what of the script it makes
    "a status": ({"status": 429}, {"status": 429}),
    "a header that is redacted": ({"response_headers": [["Retry-After", "7"], ["X-Request-Id", "[REDACTED]"]]}, {"headers": (SSE, RETRY)}),
    "those of a connection": ({"response_headers": [["content-length", "3"], ["alt-svc", "h3"], ["content-encoding", "br"]]}, {"headers": (SSE,)}),
    "a content type": ({"response_headers": [["Content-Type", "text/event-stream"]]}, {"headers": (("content-type", "text/event-stream"),)}),
    "lines in a header": ({"response_headers": [["content-type", "text/event-stream\r\nX: y\r\n\r\nHTTP/1.1 200 OK"], ["retry-after", "7\nX: y"], ["retry-after\r\nX", "7"], ["x-request-id", "\u2028"]]}, {"headers": (SSE,)}),
    "a stream that broke off": ({"state": "upstream_error"}, {"end": "drop"}),
    "a client that left": ({"state": "client_closed"}, {"end": "drop"}),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(tmp_path: Path, name: str) -> None:
    meta, fields = SAID[name]
    given = play(make(tmp_path, "a", **meta))
    assert given == replace(given, **fields)
    if given.end == "drop":
        assert play(tmp_path / "a", http2=True).end == "reset"


def test_a_whole_message(tmp_path: Path) -> None:
    given = play(make(tmp_path, "a", [b"{}"], stream=False, wait_ms=100))
    assert given == Script(((0.1, b"{}"),), headers=(JSON,), framing="content-length")


def test_a_translated_one(tmp_path: Path) -> None:
    """Each side in its own API."""
    folder = translated(tmp_path, "a")
    upstream, client = play(folder), play(folder, "client")
    assert body_of(upstream) == LEAK
    assert body_of(client) == (folder / "client.sse").read_bytes()
    assert read_messages(body_of(client)).asked == [("get_weather", {})]
    assert len(client.chunks) > 3
    assert client.headers == (SSE,)


def test_a_rewrite_that_is_another_today(tmp_path: Path) -> None:
    """What was recorded goes out, evenly over the time that it took."""
    given = play(make(tmp_path, "a", client=b"data: [3]\n\ndata: [4]\n\n: 5\n\n"), "client")
    assert given.chunks == ((0, b"data: [3]\n\n"), (0.5, b"data: [4]\n\n"), (0.5, b": 5\n\n"))


def test_settings_that_are_no_longer_known(tmp_path: Path) -> None:
    given = play(make(tmp_path, "a", client=b"data: [3]\n\n", settings={"dialects": "gone"}), "client")
    assert given.chunks == ((0, b"data: [3]\n\n"),)


def test_a_translated_error(tmp_path: Path) -> None:
    """The client's status and headers are not recorded: they are what they would be today."""
    error, client = b'{"error":{"message":"busy","code":"x"}}', b'{"type":"error"}'
    meta = TRANSLATED | {"status": 503, "stream": False, "response_headers": [["retry-after", "7"], ["content-type", "application/json"]]}
    folder = make(tmp_path, "a", [error], client, request=ASK, upstream_request=WEATHER, **meta)
    assert (play(folder).status, body_of(play(folder))) == (503, error)
    given = play(folder, "client")
    assert (given.status, body_of(given), given.framing) == (529, client, "content-length")
    assert {"content-type", "retry-after", "request-id"} == {name for name, _ in given.headers}


def test_a_message_that_the_client_got_as_a_stream(tmp_path: Path) -> None:
    folder = make(tmp_path, "a", [b"{}"], b"event: a\ndata: 1\n\n", stream=False, client_stream=True, **TRANSLATED)
    assert play(folder, "client") == Script(((0, b"event: a\ndata: 1\n\n"),), headers=(SSE,))


def test_which_requests_a_recording_answers(tmp_path: Path) -> None:
    one = entry(translated(tmp_path, "a"))
    assert [(ask.api, ask.model) for ask in take(one, "upstream").asks] == [("chat", "kimi-k2.5")]
    assert [(ask.api, ask.model) for ask in take(one, "client").asks] == [("messages", "claude")]
    renamed = entry(make(tmp_path, "b", upstream_request={**WEATHER, "model": "other"}))
    assert [ask.model for ask in take(renamed, "client").asks] == ["kimi-k2.5", "other"]
    (bare,) = take(entry(make(tmp_path, "c", request=None)), "upstream").asks
    assert (bare.api, bare.model, bare.stream, bare.turns) == ("chat", "kimi-k2.5", True, ())


LEFT_OUT: dict[str, tuple[dict[str, str], str]] = {
    "no meta": ({"meta.json": "{"}, "NotJSON"),
    "no response": ({"meta.json": json.dumps({**META, "status": 0})}, "it has no response"),
    "no request": ({"request.json": "{"}, "x: "),
    "a copy": ({"meta.json": json.dumps({**META, "settings": {"replayed_from": "good"}})}, "it is a replay of good"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out(tmp_path: Path, name: str) -> None:
    files, why = LEFT_OUT[name]
    make(tmp_path, "good")
    make(tmp_path, "x")
    for file, text in files.items():
        (tmp_path / "x" / file).write_text(text)
    found, left_out = shelf([entry(tmp_path / "x"), entry(tmp_path / "good")], "upstream")
    assert [one.name for one in found.takes] == ["good"]
    assert len(left_out) == 1 and str(tmp_path / "x") in left_out[0] and why in left_out[0]


def test_the_replay_of_one_that_is_not_there_is_played(tmp_path: Path) -> None:
    one = entry(make(tmp_path, "a", settings={"replayed_from": "gone"}))
    assert [take.name for take in shelf([one], "upstream")[0].takes] == ["a"]


def test_the_oldest_comes_first(tmp_path: Path) -> None:
    folders = [make(tmp_path, name, recorded_at=f"2026-11-{day}T00:00:00+00:00") for name, day in (("new", 20), ("old", 18), ("mid", 19))]
    found, _ = shelf(map(entry, folders), "upstream")
    assert [take.name for take in found.takes] == ["old", "mid", "new"]


CHAT = "/v1/chat/completions"


def request(path: str = CHAT, body: Any = WEATHER, method: str = "POST", **headers: str) -> Request:
    given = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Request(method, path, "HTTP/1.1", given, body if isinstance(body, bytes) else json.dumps(body).encode())


def player(root: Path, **more: Any) -> tuple[Player, list[str]]:
    told: list[str] = []
    made = Player(shelf([entry(folder) for folder in find(root)], "upstream", **more)[0], "upstream", speed=0)
    made.report = lambda _, words: told.append(words)
    return made, told


def test_a_provider(tmp_path: Path) -> None:
    make(tmp_path, "a")
    ask, told = player(tmp_path)
    assert body_of(ask(request())) == b"".join(CHUNKS)
    assert body_of(ask(request("/api/v1/chat/completions?x=1", gzip.compress(json.dumps(WEATHER).encode()), content_encoding="gzip"))) == b"".join(CHUNKS)
    assert (told, ask.misses) == (["a", "a"], 0)


MISSES: dict[str, tuple[Request, str, str]] = {
    "another model": (request(body={**WEATHER, "model": "x"}), "invalid_request_error", "the nearest is a, but its model is 'kimi-k2.5', not 'x'"),
    "Messages": (request("/v1/messages", ASK), "invalid_request_error", "the nearest is a, but it is of the API chat, not messages"),
    "no JSON": (request(body=b"x"), "invalid_request_error", "not a JSON object"),
    "no object": (request(body=[]), "invalid_request_error", "not a JSON object"),
    "an unknown coding": (request(content_encoding="x"), "invalid_request_error", "not a JSON object"),
}


@pytest.mark.parametrize("name", MISSES)
def test_misses(tmp_path: Path, name: str) -> None:
    make(tmp_path, "a")
    ask, told = player(tmp_path)
    asked, kind, words = MISSES[name]
    given = ask(asked)
    error = json.loads(body_of(given))
    assert (given.status, given.headers, error["error"]["type"]) == (400, (JSON,), kind)
    assert ("type" in error) == (name == "Messages")
    assert words in error["error"]["message"] and words in told[0]
    assert ask.misses == 1


@pytest.mark.parametrize(
    ("host", "answered"),
    [
        *((host, True) for host in ("localhost:4010", "127.0.0.1:4010", "[::1]:4010", "LOCALHOST.", "a.localhost", "box", "box:80")),
        *((host, True) for host in ("host.docker.internal:4010", "me.local", "llm.test", "")),
        *((host, False) for host in ("evil.example.com:4010", "127.0.0.1.nip.io", "localhost.evil.com", "evil.com.", "a.b.c", "1.2.3.4.x")),
    ],
)
def test_a_page_whose_name_leads_here_reads_nothing(tmp_path: Path, host: str, answered: bool) -> None:
    make(tmp_path, "a")
    ask, told = player(tmp_path)
    made = [ask(request(host=host)), ask(request("/v1/models", b"", "GET", host=host))]
    assert [got.status for got in made] == ([200, 200] if answered else [403, 403])
    assert answered or not any(CHUNKS[0] in body_of(got) or b"kimi" in body_of(got) for got in made)
    assert (told[0], ask.misses) == ("a" if answered else "refused: a public host name was called, as by a page in a browser", 0)


def test_texts_are_told_but_not_sent(tmp_path: Path) -> None:
    make(tmp_path, "a")
    ask, told = player(tmp_path)
    given = ask(request(body={**WEATHER, "messages": [{"role": "user", "content": "What is the context length?"}]}))
    assert "context length" in told[0]
    assert b"context" not in body_of(given)


def test_a_recording_that_has_gone(tmp_path: Path) -> None:
    make(tmp_path, "a")
    ask, told = player(tmp_path)
    (tmp_path / "a" / "upstream.sse").unlink()
    given = ask(request())
    assert given.status == 400
    assert "the recording a cannot be played" in told[0]


LOCAL = {
    # what is answered beside the messages
    "is anybody there": (request("/", b"", "HEAD"), 200, b""),
    "models": (request("/v1/models", b"", "GET"), 200, b'"id":"kimi-k2.5"'),
    "a model": (request("/v1/models/kimi-k2.5", b"", "GET"), 200, b'"kimi-k2.5"'),
    "another model": (request("/v1/models/x", b"", "GET"), 404, b"does not exist"),
    "a count": (request("/v1/messages/count_tokens", ASK), 200, b'"input_tokens":'),
    "telemetry": (request("/api/event_logging/batch", {}), 200, b"{}"),
    "a WebSocket": (request("/v1/responses", b"", "GET", upgrade="websocket"), 426, b"Upgrade Required"),
    "what there is not": (request("/v1/files", b"", "GET"), 404, b"no API at this path"),
}


@pytest.mark.parametrize("name", LOCAL)
def test_what_is_answered_here(tmp_path: Path, name: str) -> None:
    make(tmp_path, "a")
    ask, told = player(tmp_path)
    asked, status, part = LOCAL[name]
    given = ask(asked)
    assert given.status == status
    assert part in body_of(given)
    assert (len(told), ask.misses) == (1, 0)


def test_without_recordings_no_model() -> None:
    given = local("GET", "/v1/models", (), None, ())
    assert given and json.loads(body_of(given)) == {"object": "list", "data": []}


def test_a_name_is_no_overflow() -> None:
    """A client would compact its conversation, and ask again."""
    given = refusal(Fault(400, "the nearest is context_length_exceeded"), "messages")
    assert json.loads(body_of(given))["error"]["message"] == "toolmend: no recording answers this request"


def test_an_unreadable_one_says_why(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="nowhere"):
        take(entry(tmp_path / "nowhere"), "upstream")
