"""Answers whose headers are not true of their bodies, or whose bodies stop before their coding does: beside mitmproxy without the addon.

Where mitmproxy itself refuses (a length that is none), the client gets just that; where it does not, the client gets every byte that
came, mended where the body can be read.
"""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.broken_streams import H1, H2, READ, arrived, mended
from tests.e2e.clients import LEAK, PROSE, Raw, Serve, ask, chunks, parse, recording, request_bytes
from tests.e2e.mended import MENDED, check
from tests.e2e.whole_message import message
from tests.patterns.kimi import ONE
from tests.support.judges.chat import read
from tests.support.streams import WEATHER
from toolmend.apis.decode_failure_event import UNREADABLE
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.fixtures.verification import check as verified
from toolmend.recordings.playback.server import Coding, Script

SSE, JSON, TEXT = "text/event-stream", "application/json", "text/plain"
WHOLE = message(f"I will look.{ONE}")
CODINGS: tuple[Coding, ...] = ("gzip", "deflate", "br", "zstd")


def labelled(body: bytes, kind: str | None, *more: tuple[str, str], framing: str = "chunked") -> Script:
    return Script(chunks(body), headers=((("content-type", kind),) if kind else ()) + more, framing=framing)  # type: ignore[arg-type]


@pytest.fixture(params=[H1, H2], ids=["from HTTP/1", "from HTTP/2"])
def alpn(request: pytest.FixtureRequest) -> Iterator[tuple[str, ...]]:
    return request.param  # type: ignore[no-any-return]


# the kind

EVENTS = {
    "events as JSON": labelled(LEAK, JSON),
    "events as text": labelled(LEAK, TEXT),
    "events as bytes": labelled(LEAK, "application/octet-stream"),
    "events without a name": labelled(LEAK, None),
    "events as lines of JSON": labelled(LEAK, "application/x-ndjson"),
    "events by a name that is near": labelled(LEAK, "application/event-stream"),
}


@pytest.mark.parametrize("name", EVENTS)
def test_events_that_are_not_called_so(
    proxy: Mitmdump, plain: Mitmdump, serve: Serve, http2: httpx.Client, flows: Path, path: str, name: str, alpn: tuple[str, ...]
) -> None:
    """A stream was asked for, and SDKs read what comes as one, whatever it is called: so it is mended."""
    upstream = serve(EVENTS[name], alpn=alpn)
    ours, theirs = (ask(through, upstream.url, path=path) for through in (proxy, plain))
    assert (ours.status, ours.terminated, ours.body) == (theirs.status, True, MENDED)
    assert ours.header("content-type") == theirs.header("content-type")
    assert http2.post(f"{upstream.url}/h2{path}", json=WEATHER).content == MENDED
    kept = recording(flows, path)
    assert (kept.meta["state"], kept.meta["error"]) == ("complete", None)


KINDS = {
    "JSON as events": Script(((0, WHOLE),)),
    "JSON as text": Script(((0, WHOLE),), headers=(("content-type", TEXT),)),
    "binary as events": labelled(bytes(range(256)) * 20, SSE),
    "binary as JSON": labelled(bytes(range(256)) * 20, JSON),
}


@pytest.mark.parametrize("name", KINDS)
def test_another_kind_than_it_says(
    proxy: Mitmdump, plain: Mitmdump, serve: Serve, http2: httpx.Client, path: str, name: str, alpn: tuple[str, ...]
) -> None:
    """What it is cannot be known before it is over, so it passes as it came."""
    upstream = serve(KINDS[name], alpn=alpn)
    ours, theirs = (ask(through, upstream.url, path=path) for through in (proxy, plain))
    assert (ours.status, ours.terminated, ours.body) == (theirs.status, True, theirs.body)
    assert ours.body == arrived(KINDS[name].chunks)
    assert ours.header("content-type") == theirs.header("content-type")
    assert http2.post(f"{upstream.url}{path}", json=WEATHER).content == theirs.body


# the length

LENGTHS = {
    "too short": (("content-length", "700"),),
    "too long": (("content-length", "70000"),),
    "no number": (("content-length", "many"),),
    "below zero": (("content-length", "-1"),),
    "two": (("content-length", "700"), ("content-length", "800")),
}


@pytest.mark.parametrize("body", [LEAK, PROSE], ids=["a leak", "nothing to mend"])
@pytest.mark.parametrize("name", LENGTHS)
def test_a_length_that_is_wrong(
    proxy: Mitmdump, plain: Mitmdump, serve: Serve, flows: Path, path: str, name: str, body: bytes
) -> None:
    upstream = serve(labelled(body, SSE, *LENGTHS[name], framing="eof"))
    ours, theirs = (ask(through, upstream.url, path=path) for through in (proxy, plain))
    assert (ours.status, ours.terminated) == (theirs.status, theirs.terminated)
    if not ours.status.endswith("200 OK"):
        assert ours.body == theirs.body
        return
    if body == PROSE:
        assert ours.body == theirs.body
    elif name == "too long":
        check(ours.body)
    else:
        assert read(theirs.body).only.content.startswith(read(ours.body).only.content)
    kept = recording(flows, path)
    assert kept.meta["state"] == ("complete" if ours.terminated else "upstream_error")
    assert (kept.read("upstream.sse"), kept.read("client.sse")) == (theirs.body, ours.body)


@pytest.mark.parametrize("name", LENGTHS)
def test_a_length_that_is_wrong_over_http2(proxy: Mitmdump, plain: Mitmdump, serve: Serve, path: str, name: str) -> None:
    """It ends the stream once it is seen: the client gets a 502, or what had come before that, and then no end.

    Where the end of the stream comes a moment behind its last bytes, that is all of them.
    """
    upstream = serve(labelled(LEAK, SSE, *LENGTHS[name]), alpn=H2)
    for through in (proxy, plain):
        reply = ask(through, upstream.url, path=path)
        assert reply.status.endswith("502 Bad Gateway") or not reply.terminated


# the coding


@pytest.mark.parametrize("coding", CODINGS)
def test_a_coding_that_the_body_has_not(
    proxy: Mitmdump, serve: Serve, http2: httpx.Client, flows: Path, path: str, coding: Coding, alpn: tuple[str, ...]
) -> None:
    """A gateway that undid the coding and forgot to say so: a client without a proxy could read nothing of it."""
    upstream = serve(labelled(LEAK, SSE, ("content-encoding", coding)), alpn=alpn)
    reply = ask(proxy, upstream.url, path=path)
    assert reply.terminated
    assert reply.header("content-encoding") is None
    assert reply.body == MENDED
    assert http2.post(f"{upstream.url}/h2{path}", json=WEATHER).content == MENDED
    kept = recording(flows, path)
    assert (kept.meta["state"], kept.meta["error"]) == ("complete", None)
    assert kept.read("upstream.sse") == LEAK


@pytest.mark.parametrize("coding", CODINGS)
def test_a_coding_that_the_body_has_not_in_pieces(proxy: Mitmdump, serve: Serve, flows: Path, path: str, coding: Coding) -> None:
    """Deflate without a header makes something of the first of them, but no text."""
    comment = b": PROCESSING\n\n"
    pieces = tuple((0.0, comment[at : at + 2]) for at in range(0, len(comment), 2))
    upstream = serve(Script(pieces + chunks(LEAK), headers=(("content-type", SSE), ("content-encoding", coding))))
    reply = ask(proxy, upstream.url, path=path)
    assert reply.terminated
    assert reply.body == comment + MENDED
    kept = recording(flows, path)
    assert (kept.meta["state"], kept.meta["error"]) == ("complete", None)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_coding_that_a_whole_body_has_not(proxy: Mitmdump, serve: Serve, coding: Coding) -> None:
    upstream = serve(Script(((0, WHOLE),), headers=(("content-type", JSON), ("content-encoding", coding)), framing="content-length"))
    reply = ask(proxy, upstream.url)
    assert reply.terminated
    assert reply.header("content-encoding") is None
    assert b"<|" not in reply.body
    assert b'"tool_calls"' in reply.body


@pytest.mark.parametrize("coding", CODINGS)
def test_a_coding_that_is_not_told(proxy: Mitmdump, plain: Mitmdump, serve: Serve, path: str, coding: Coding, alpn: tuple[str, ...]) -> None:
    """Nobody can read it but a client that knows better: it passes as it came."""
    coded, tail = Script(chunks(LEAK), coding=coding).coded()
    upstream = serve(Script((*coded, (0.0, tail))), alpn=alpn)
    ours, theirs = (ask(through, upstream.url, path=path) for through in (proxy, plain))
    assert ours.terminated
    assert ours.body == theirs.body == arrived(tuple(coded)) + tail


@pytest.mark.parametrize("drop", [False, True], ids=["that ends", "that drops"])
@pytest.mark.parametrize("coding", CODINGS)
def test_a_coding_that_is_cut(
    proxy: Mitmdump, plain: Mitmdump, serve: Serve, flows: Path, path: str, coding: Coding, drop: bool, alpn: tuple[str, ...]
) -> None:
    """In the middle of the stream and of a coded block: what could be read up to there is there, mended."""
    coded, tail = Script(chunks(LEAK), coding=coding).coded()
    whole = arrived(tuple(coded)) + tail
    cut = whole[: len(whole) * 2 // 3]
    upstream = serve(
        Script(((0, cut), *READ), headers=(("content-type", SSE), ("content-encoding", coding)), end="drop" if drop else "clean"),
        alpn=alpn,
    )
    ours, theirs = (ask(through, upstream.url, path=path) for through in (proxy, plain))
    assert theirs.body == cut
    assert ours.terminated != drop
    assert b"get_weather" in ours.body
    kept = recording(flows, path)
    assert kept.meta["state"] == ("upstream_error" if drop else "complete")
    came = kept.read("upstream.sse")
    assert LEAK.startswith(came)
    assert kept.read("client.sse") == ours.body
    assert ours.body.startswith(mended(((0.0, came),)))
    assert read(ours.body).only.calls[0].arguments in '{"city": "Beijing"}'
    assert not read(ours.body).only.finish_reasons


@pytest.mark.parametrize("coding", CODINGS)
def test_a_coding_that_breaks(proxy: Mitmdump, serve: Serve, flows: Path, path: str, coding: Coding, alpn: tuple[str, ...]) -> None:
    """In the middle, and all comes: the client is told, and what its recording has is what is played again."""
    coded, _ = Script(chunks(LEAK), coding=coding).coded()
    good, broken = coded[: len(coded) // 2], ((0.0, b"\xff" * 200), *coded[len(coded) // 2 :])
    upstream = serve(Script((*good, *broken), headers=(("content-type", SSE), ("content-encoding", coding))), alpn=alpn)
    reply = ask(proxy, upstream.url, path=path)
    assert reply.terminated
    assert reply.body.endswith(UNREADABLE["chat"])
    kept = recording(flows, path)
    assert kept.meta["state"] == "upstream_error"
    assert kept.read("client.sse") == reply.body
    assert LEAK.startswith(kept.read("upstream.sse"))
    result = verified(kept.folder)
    assert result.passed, (result.problem, result.how, result.got)


@pytest.mark.parametrize("at", [4, 8], ids=["in held text", "in a call"])
@pytest.mark.parametrize("coding", CODINGS)
def test_a_client_that_leaves_behind_a_coding_that_broke(
    proxy: Mitmdump, serve: Serve, flows: Path, path: str, coding: Coding, at: int
) -> None:
    """It was told, and need not wait for an end. It was not the client that broke off the answer."""
    coded, _ = Script(chunks(LEAK), coding=coding).coded()
    headers = (("content-type", SSE), ("content-encoding", coding))
    upstream = serve(Script((*coded[:at], (0.0, b"\xff" * 200)), headers=headers, end="stall"))
    with Raw(proxy, upstream.url) as raw:
        raw.send(request_bytes(path, host=raw.host))
        got = raw.read_until(UNREADABLE["chat"][-40:])
    kept = recording(flows, path)
    assert kept.meta["state"] == "upstream_error"
    assert kept.meta["error"].startswith("the content encoding is broken: ")
    assert kept.read("client.sse").endswith(UNREADABLE["chat"])
    assert parse(got).body == kept.read("client.sse")
    result = verified(kept.folder)
    assert result.passed, (result.problem, result.how, result.got)


@pytest.mark.parametrize("body", [LEAK, PROSE], ids=["a leak", "nothing to mend"])
@pytest.mark.parametrize("coding", ["identity", "br"])
def test_a_coding_of_the_transfer(proxy: Mitmdump, serve: Serve, flows: Path, path: str, body: bytes, coding: Coding) -> None:
    """Alone, or around one of the content: mitmproxy hands it on as it came, and where a stream is mended it is undone."""
    inner, end = Script(chunks(body), coding=coding).coded()
    coded, tail = Script((*inner, (0.0, end)), coding="gzip").coded()
    pieces = b"".join(b"%x\r\n%b\r\n" % (len(data), data) for _, data in (*coded, (0.0, tail)) if data)
    content = () if coding == "identity" else (("content-encoding", coding),)
    headers = (("content-type", SSE), ("transfer-encoding", "gzip, chunked"), *content)
    upstream = serve(Script(((0.0, pieces + b"0\r\n\r\n"),), headers=headers, framing="eof"))
    reply = ask(proxy, upstream.url, path=path)
    assert reply.terminated
    assert (reply.header("transfer-encoding"), reply.header("content-encoding")) == ("chunked", None)
    assert reply.body == (MENDED if body == LEAK else PROSE)
    assert recording(flows, path).read("upstream.sse") == body
