"""Every fixture, played by a real upstream through a real Envoy and a worker: the client's bytes are the golden ones, however cut.

Ways of cutting, each piece a write of its own with time for Envoy to pass it on:

    whole     one write                        recorded   in the chunks that were recorded
    strides   every STRIDE bytes, from each offset on: together, every place of every fixture
    splits    in two: at every place of a small fixture, at spread ones of a large one

Rule of this file: ids that are drawn at random are told by their order; all else is bytes.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.envoy.deploy import Team, deployed, parse
from tests.support.paths import FLOWS
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Request, Script
from toolmend.recordings.read import replay

RECORDINGS = {str(folder.relative_to(FLOWS)): replay.load(folder) for folder in replay.find(FLOWS)}

STRIDE = 61
SMALL = 900
"""Bytes of a fixture that is split in two at every place."""
SPREAD = 23
"""Of a large one, each so many bytes."""
PAUSE = 0.006
"""Seconds between two writes: Envoy passes on what it has read, and reads the next on its own."""
CONNECTIONS = 48
"""At once, each kept for all that is asked on it."""

ID = re.compile(rb"call_[0-9a-f]{32}")


@dataclass(frozen=True)
class Play:
    """A fixture, cut at these places."""

    name: str
    cuts: tuple[int, ...]

    def pieces(self) -> list[bytes]:
        whole = b"".join(RECORDINGS[self.name].chunks)
        return [whole[start:end] for start, end in pairwise((0, *self.cuts, len(whole)))]


def sizes(name: str) -> int:
    return sum(map(len, RECORDINGS[name].chunks))


def wholes(name: str) -> Iterator[Play]:
    yield Play(name, ())
    ends = [0]
    for chunk in RECORDINGS[name].chunks:
        ends.append(ends[-1] + len(chunk))
    yield Play(name, tuple(ends[1:-1]))


def strides(name: str) -> Iterator[Play]:
    for offset in range(1, STRIDE + 1):
        yield Play(name, tuple(range(offset, sizes(name), STRIDE)))


def splits(name: str) -> Iterator[Play]:
    size = sizes(name)
    for cut in range(1, size, 1 if size <= SMALL else SPREAD):
        yield Play(name, (cut,))


def known(body: bytes) -> bytes:
    """With the ids that were drawn, in their order."""
    seen: dict[bytes, bytes] = {}
    return ID.sub(lambda found: seen.setdefault(found[0], b"call_#%d" % len(seen)), body)


GOLDEN = {name: known(recording.client) for name, recording in RECORDINGS.items()}


class Player:
    """The upstream: a request's header says which play it wants."""

    def __init__(self) -> None:
        self.plays: list[Play] = []

    def __call__(self, request: Request) -> Script:
        play = self.plays[int(request.header("x-play") or 0)]
        meta = RECORDINGS[play.name].meta
        headers = [(name, value) for name, value in meta["response_headers"] if name.lower() == "content-type"]
        pieces = play.pieces()
        return Script(((0.0, pieces[0]), *((PAUSE, piece) for piece in pieces[1:])), meta["status"], tuple(headers))


async def all_of(player: Player, plays: Sequence[Play], port: int, proxy: str = "") -> list[str]:
    """Asks for each play, many at once; says what came out otherwise than it should. `proxy`: the target, for absolute URLs."""
    player.plays = list(plays)
    waiting = iter(range(len(plays)))
    wrong: list[str] = []

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
        for number in waiting:
            writer.write(_request(plays[number], number, proxy))
            reply = parse(await _answer(reader))
            if reply.status != 200 or not reply.whole or known(reply.body) != GOLDEN[plays[number].name]:
                wrong.append(
                    f"{plays[number]}: {reply.status}, whole: {reply.whole}, {len(reply.body)} bytes: {reply.body[-300:]!r}"
                )
        writer.close()

    await asyncio.gather(*(one() for _ in range(min(CONNECTIONS, len(plays)))))
    return wrong


def _request(play: Play, number: int, proxy: str) -> bytes:
    folder = RECORDINGS[play.name].folder
    body, path = (folder / "request.json").read_bytes(), RECORDINGS[play.name].meta["path"]
    lines = [f"POST {proxy}{path} HTTP/1.1", "Host: localhost", f"X-Play: {number}", "Content-Type: application/json"]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


async def _answer(reader: asyncio.StreamReader) -> bytes:
    """One response, up to where its framing ends it."""
    head = await reader.readuntil(b"\r\n\r\n")
    if length := re.search(rb"(?i)content-length: (\d+)", head):
        return head + await reader.readexactly(int(length[1]))
    out = [head]
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line, 16)
        out += [line, await reader.readexactly(size + 2)]
        if not size:
            return b"".join(out)


@pytest.fixture(scope="module")
def team(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with deployed(binary, tmp_path_factory.mktemp("envoy"), Player()) as team:
        yield team


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("ways", [wholes, strides, splits], ids=lambda ways: ways.__name__)
def test_the_client_gets_the_golden_bytes(team: Team, ways: object) -> None:
    assert isinstance(team.upstream.scripts, Player)
    assert callable(ways)
    plays = [play for name in RECORDINGS for play in ways(name)]
    before = team.envoy.stats("ext_proc.stream_msgs_sent", "ext_proc.streams_started")
    wrong = asyncio.run(all_of(team.upstream.scripts, plays, team.envoy.port()))
    after = team.envoy.stats("ext_proc.stream_msgs_sent", "ext_proc.streams_started")
    assert not wrong, f"{len(wrong)} of {len(plays)}:\n" + "\n".join(wrong[:5])
    sent, started = (after[name] - before.get(name, 0) for name in sorted(after))
    cuts = sum(len(play.cuts) for play in plays)
    print(f"{len(plays)} requests, {cuts} cuts, {sent} messages in {started} streams")  # noqa: T201  pytest -s shows it
    assert started == len(plays)
    assert sent >= cuts / 2, "Envoy joined most of what was cut: cut with more time between"
    bad = team.envoy.stats("spurious_msgs_received", "failure_mode_allowed", "message_timeouts", "streams_failed")
    assert not any(bad.values()), bad


def test_mitmproxy_gives_the_same(team: Team, tmp_path: Path) -> None:
    """The same bytes, cut in the same places, through a real mitmdump with the addon."""
    assert isinstance(team.upstream.scripts, Player)
    plays = [
        play for name in RECORDINGS for play in (*wholes(name), *list(strides(name))[:: STRIDE // 2], *list(splits(name))[::40])
    ]
    url = team.upstream.url
    with Mitmdump({"toolmend_hosts": "localhost", "toolmend_flows": "off"}, confdir=tmp_path) as proxy:
        through_mitmproxy = asyncio.run(all_of(team.upstream.scripts, plays, proxy.port, url))
    through_envoy = asyncio.run(all_of(team.upstream.scripts, plays, team.envoy.port()))
    assert (through_mitmproxy, through_envoy) == ([], [])


def test_every_fixture_is_played() -> None:
    assert len(RECORDINGS) == len(replay.find(FLOWS)) > 90
    for name in RECORDINGS:
        places = {cut for play in strides(name) for cut in play.cuts}
        assert places == set(range(1, sizes(name)))
