"""One exchange of a worker, message by message: the addon's bytes come out, whatever Envoy sends and whatever fails."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.envoy.talk import ASK, EVENTS, MENDED, headless, length
from tests.support.paths import FLOWS

pytest.importorskip("envoy.service.ext_proc.v3", reason="toolmend[envoy] is not installed")

from tests.envoy.talk import ID, JSON, SSE, Talk
from tests.support.addon import LEAK, MESSAGE, PROSE
from tests.support.streams import WEATHER, stream
from toolmend.providers.routes import Origin
from toolmend.proxy.envoy.master import Headless
from toolmend.proxy.stream_callbacks import Mend
from toolmend.recordings.read import replay

FIXTURES = {str(folder.relative_to(FLOWS)): replay.load(folder) for folder in replay.find(FLOWS)}
DRAWN = re.compile(rb"call_[0-9a-f]{32}")

WHOLE_ASK = json.dumps({**WEATHER, "stream": False}).encode()
CALL = b'"tool_calls":[{"id":"functions.get_weather:0"'


@pytest.fixture(scope="module")
def hooks() -> Headless:
    return headless()


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[tuple[Headless, Callable[[], dict[str, Any]]]]:
    """Hooks that record, and a look at the one recording there is, when all is written."""
    hooks = headless(flows=str(tmp_path / "flows"))

    def recorded() -> dict[str, Any]:
        hooks.done()
        (meta,) = (tmp_path / "flows").rglob("meta.json")
        return json.loads(meta.read_bytes()) | {path.name: path.read_bytes() for path in meta.parent.iterdir()}

    yield hooks, recorded
    hooks.done()


# fixtures


def known(body: bytes) -> bytes:
    """With the ids that were drawn at random, by their order."""
    seen: dict[bytes, bytes] = {}
    return DRAWN.sub(lambda found: seen.setdefault(found[0], b"call_%d" % len(seen)), body)


@pytest.mark.timeout(1800)  # thousands of places, where it is every one
@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FIXTURES)
def test_fixtures_cut_in_two(name: str, step: int) -> None:
    """At every place, or some of them; and in the chunks that were recorded."""
    fixture = FIXTURES[name]
    hooks = headless(
        hosts=fixture.meta["host"],
        **{key: fixture.meta["settings"][key] for key in ("dialects", "policy") if key in fixture.meta["settings"]},
    )
    whole, golden = b"".join(fixture.chunks), known(fixture.client)
    headers = tuple((key, value) for key, value in fixture.meta["response_headers"] if key.lower() == "content-type")
    for cut in [0, *range(1 + len(name) % step, len(whole), step)]:
        talk = Talk(hooks)
        talk.ask(json.dumps(fixture.request).encode(), host=fixture.meta["host"], path=fixture.meta["path"])
        chunks = [whole[:cut], whole[cut:]] if cut else fixture.chunks
        response = talk.answer(chunks, tuple((key.lower(), value) for key, value in headers), fixture.meta["status"])
        assert known(response.body) == golden, cut
        assert response.ended
        assert talk.streams


# streams


@pytest.mark.parametrize("last", ["with the last piece", "alone", "in trailers"])
def test_the_end_of_a_stream(hooks: Headless, last: str) -> None:
    talk = Talk(hooks)
    asked = talk.ask(ASK)
    assert asked.body == ASK
    assert asked["accept-encoding"] == "identity"
    assert not asked.rerouted
    response = talk.answer([*EVENTS, b""] if last == "alone" else EVENTS, trailers=last == "in trailers")
    assert response.headers == [(":status", "200"), *SSE]
    assert response.body == MENDED
    assert response.ended


def test_each_event_goes_out_as_soon_as_it_can(hooks: Headless) -> None:
    """At most one reply for a message, and none that is empty."""
    talk = Talk(hooks)
    talk.ask(ASK)
    response = talk.begin()
    for event in EVENTS[:2]:
        talk.piece(response, event)
    assert response.body == b"".join(EVENTS[:2])
    talk.piece(response, b"")
    talk.piece(response, EVENTS[2])  # the first of the markup
    assert len(response.pieces) == 2
    assert not response.ended


def test_a_stream_that_needs_nothing_is_not_copied_either(hooks: Headless) -> None:
    talk = Talk(hooks)
    talk.ask(ASK)
    chunks = [event + b"\n\n" for event in PROSE.split(b"\n\n") if event]
    assert talk.answer(chunks).pieces == chunks


def test_a_coded_stream(hooks: Headless) -> None:
    talk = Talk(hooks)
    talk.ask(ASK)
    coded = gzip.compress(LEAK)
    response = talk.answer([coded[:50], coded[50:]], (*SSE, ("content-encoding", "gzip"), ("etag", "x"), ("content-length", "999")))
    assert response.body == MENDED
    assert response.headers == [(":status", "200"), *SSE]


def test_a_stream_that_the_addon_ends_early() -> None:
    talk = Talk(headless(policy="first"))
    talk.ask(ASK)
    tail = stream(["and ", "more"]).split(b"\n\n")[1:3]
    response = talk.begin()
    for event in [*EVENTS[:-3], *(event + b"\n\n" for event in tail)]:
        talk.piece(response, event)
    assert response.ended
    assert response.body.endswith(b"data: [DONE]\n\n")
    assert response.get("connection") is None  # of mitmproxy's way to end it
    before = len(response.pieces)
    talk.piece(response, EVENTS[-1], last=True)
    assert len(response.pieces) == before


def test_observed_only() -> None:
    talk = Talk(headless(mode="observe"))
    asked = talk.ask(ASK, (*JSON, ("accept-encoding", "br")))
    assert asked["accept-encoding"] == "br"
    assert talk.answer(EVENTS).body == LEAK


# whole answers


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        pytest.param(MESSAGE, (*JSON, length(MESSAGE)), CALL, id="of a length"),
        pytest.param(MESSAGE, JSON, CALL, id="chunked"),
        pytest.param(gzip.compress(MESSAGE), (*JSON, ("content-encoding", "gzip"), length(gzip.compress(MESSAGE))), CALL, id="gzip"),
        pytest.param(b'{"error":{"message":"slow down"}}', JSON, b'{"error":{"message":"slow down"}}', id="nothing to mend"),
        pytest.param(b"", JSON, b"", id="empty"),
        pytest.param(b"no JSON", JSON, b"no JSON", id="none"),
        pytest.param(b"<html>", (("content-type", "text/html"),), b"<html>", id="no answer at all"),
    ],
)  # fmt: skip
def test_whole_answers(hooks: Headless, body: bytes, headers: Any, expected: bytes) -> None:
    talk = Talk(hooks)
    assert talk.ask(WHOLE_ASK).body == WHOLE_ASK
    response = talk.answer([body], (*headers, ("set-cookie", "a=1"), ("set-cookie", "b=2")))
    assert expected in response.body
    assert response.ended
    assert response.all("set-cookie") == ["a=1", "b=2"]
    assert response.get("content-encoding") is None


@pytest.mark.parametrize("told", [True, False], ids=["its length is told", "not told"])
def test_an_answer_for_which_there_is_no_room(recording: Any, told: bool) -> None:
    """It goes by, where Envoy would have made an error of it."""
    hooks, recorded = recording
    body = b'{"x":"%s"}' % (b"." * (40 << 20))
    talk = Talk(hooks)
    talk.ask(WHOLE_ASK)
    response = talk.answer([body], (*JSON, length(body)) if told else JSON)
    assert response.status == 200
    assert response.body == body
    assert recorded()["state"] == "partial"


@pytest.mark.parametrize("told", [True, False], ids=["its length is told", "not told"])
def test_a_request_for_which_there_is_no_room(recording: Any, told: bool) -> None:
    """It goes by unread, and so does the answer, which is recorded."""
    hooks, recorded = recording
    body = json.dumps({**WEATHER, "pad": "." * (40 << 20)}).encode()
    talk = Talk(hooks)
    assert talk.ask(body, length=told).body == body
    assert talk.answer(EVENTS).body == LEAK
    assert recorded()["client.sse"] == LEAK


# what is none of ours


@pytest.mark.parametrize(
    ("asked", "headers"),
    [
        ({"host": "example.com"}, JSON),
        ({"path": "/api/v1/models", "method": "GET", "body": None}, ()),
        ({"path": "/api/v1/files"}, (("content-type", "application/pdf"),)),
        ({"method": "GET", "body": None}, (("connection", "upgrade"), ("upgrade", "websocket"))),
        ({"host": ""}, JSON),
        ({"host": "[::1"}, JSON),
        ({"path": ""}, JSON),
    ],
)
def test_others_are_left_at_once(hooks: Headless, asked: dict[str, Any], headers: Any) -> None:
    talk = Talk(hooks)
    given = (*headers, ("x-toolmend-upstream", "https://evil.example"), ("cookie", "a=1"), ("cookie", "b=2"))
    request = talk.ask(**({"body": b"{}"} | asked), headers=given)
    assert request.get("x-toolmend-upstream") is None
    assert request.all("cookie") == ["a=1", "b=2"]
    assert not request.rerouted
    assert not talk.mode.response_body_mode
    assert talk.answer([b"hello"], (("content-type", "text/plain"),)).body == b"hello"


def test_the_listener_says_who_is_called(recording: Any) -> None:
    """Not the client, whose Host header is Envoy's, or a lie."""
    hooks, recorded = recording
    talk = Talk(hooks, Origin("https", "api.moonshot.ai", 443))
    asked = talk.ask(ASK, host="api.openai.com", scheme="http", path="/v1/chat/completions")
    assert asked[":authority"] == "api.openai.com"  # that is for Envoy's route to say
    assert talk.answer(EVENTS).body == MENDED
    meta = recorded()
    assert (meta["host"], meta["provider"], meta["scheme"]) == ("api.moonshot.ai", "moonshot", "https")


# ends


def test_a_recording_is_called_by_the_request_id(recording: Any) -> None:
    hooks, recorded = recording
    talk = Talk(hooks)
    talk.ask(ASK)
    talk.answer(EVENTS)
    talk.exchange.close()
    found = recorded()
    assert (found["state"], found["flow_id"], found["error"]) == ("complete", ID, None)
    assert (found["upstream.sse"], found["client.sse"]) == (LEAK, MENDED)


def test_an_answer_that_breaks_off(recording: Any) -> None:
    """Envoy does not say who is gone."""
    hooks, recorded = recording
    talk = Talk(hooks)
    talk.ask(ASK)
    response = talk.begin()
    for event in EVENTS[:5]:
        talk.piece(response, event)
    talk.exchange.close()
    talk.exchange.close()
    found = recorded()
    assert found["state"] == "partial"
    assert "access log" in found["error"]
    assert found["upstream.sse"] == b"".join(EVENTS[:5])


@pytest.mark.parametrize("steps", range(3))
def test_an_exchange_that_breaks_off_before_the_answer(hooks: Headless, steps: int, caplog: pytest.LogCaptureFixture) -> None:
    talk = Talk(hooks)
    if steps:
        talk.ask(ASK if steps > 1 else None)
    talk.exchange.close()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


# failing open


class Failing:
    """Hooks of which one raises."""

    def __init__(self, hooks: Headless, at: str) -> None:
        self.toolmend, self._hooks, self._at = hooks.toolmend, hooks, at

    def __getattr__(self, name: str) -> Any:
        if name == self._at:
            raise RuntimeError(name)
        return getattr(self._hooks, name)


@pytest.mark.parametrize("at", ["requestheaders", "request", "responseheaders", "response"])
@pytest.mark.parametrize(("ask", "chunks", "headers"), [(ASK, EVENTS, SSE), (WHOLE_ASK, [MESSAGE], JSON)], ids=["stream", "whole"])
def test_a_failure_of_ours(
    hooks: Headless, at: str, ask: bytes, chunks: list[bytes], headers: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even a hook that raises, which none does: the addon's own failures are the addon's business."""
    talk = Talk(Failing(hooks, at))
    assert talk.ask(ask, (*JSON, ("x-toolmend-upstream", "https://evil.example"))).get("x-toolmend-upstream") is None
    response = talk.answer(chunks, headers)
    assert response.ended
    if at != "response" or headers == JSON:
        assert response.body == b"".join(chunks)
    assert [record.exc_info for record in caplog.records if record.levelname == "ERROR"]


def test_a_stream_that_fails_goes_on_as_it_came(hooks: Headless, monkeypatch: pytest.MonkeyPatch) -> None:
    mend = Mend.__call__

    def fail(stream: Mend, data: bytes) -> bytes:
        if data not in EVENTS[:4]:
            raise RuntimeError
        return mend(stream, data)

    monkeypatch.setattr(Mend, "__call__", fail)
    talk = Talk(hooks)
    talk.ask(ASK)
    response = talk.begin()
    for event in EVENTS:
        talk.piece(response, event, last=event is EVENTS[-1])
    assert response.ended
    assert response.body.endswith(b"".join(EVENTS[4:]))


def test_messages_that_mean_nothing(hooks: Headless) -> None:
    """Out of turn, or of an Envoy that is configured otherwise: each is answered as it must be."""
    for given in ("response_headers", "response_body", "request_body", "request_trailers", "response_trailers"):
        talk = Talk(hooks)
        (reply,) = talk.send(**{given: {}})
        assert reply.WhichOneof("response") == given
    assert Talk(hooks).send() == []
