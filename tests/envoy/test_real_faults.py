"""What the client has when something fails: workers, upstreams, clients, each killed, stopped or gone at its worst moment.

    worker           unreachable, stopped, killed, hung, ended     upstream    FIN, RST, slow
    client           gone, slow, 6 MB, WebSocket, trailers          of two      one dead, all dead

Rule of this file: each row of the table that was measured with a core of no worth, with the same outcome here or a better one.
"""

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.envoy.deploy import EVENTS, LEAK, Raw, Team, ask, deployed, echoes, echoing, request
from tests.envoy.wire import HEAD, Wire, chunk
from tests.support.judges.chat import read
from tests.support.streams import WEATHER, play
from toolmend.pipeline.pipeline import Pipeline
from toolmend.providers.routes import Origin
from toolmend.proxy.envoy.bootstrap import Listener
from toolmend.recordings.playback.server import Script

MENDED = play(lambda: Pipeline(WEATHER), EVENTS)
CALLS = [("functions.get_weather:0", "get_weather", '{"city": "Beijing"}')]
WHOLE = Script(tuple((0.0, event) for event in EVENTS))
HALF = EVENTS[:13]
"""Up to the middle of the arguments."""
STALLED = Script(tuple((0.0, event) for event in HALF), end="stall")
OPEN = {"open": True, "closed": False}
"""What `fail_open` is, by what a test calls it."""


def mended(body: bytes) -> bool:
    """Whether the client has the call."""
    answer = read(body)
    return [(call.id, call.name, call.arguments) for call in answer.only.calls] == CALLS and not answer.all_faults


def waiting(envoy_raw: Raw) -> None:
    """Until the mended half has come."""
    envoy_raw.until(b"Beijing")


@pytest.mark.parametrize("way", OPEN)
def test_a_worker_that_is_unreachable(binary: Path, tmp_path: Path, way: str) -> None:
    with deployed(binary, tmp_path, [WHOLE], fail_open=OPEN[way]) as team:
        team.workers[0].signal(signal.SIGKILL)
        team.workers[0].wait()
        reply = ask(team.envoy)
        assert reply.body == (LEAK if OPEN[way] else b"")
        assert reply.status in ((200,) if OPEN[way] else (500, 504))  # 504: a retry was still waiting when message_timeout ended
        assert reply.whole
        assert sum(team.envoy.stats("ext_proc.failure_mode_allowed").values()) == OPEN[way]


@pytest.mark.parametrize("way", OPEN)
def test_a_worker_that_does_not_answer(binary: Path, tmp_path: Path, way: str) -> None:
    """Stopped, so it takes connections and says nothing: the request waits for `message_timeout`, and no longer."""
    with deployed(binary, tmp_path, [WHOLE], fail_open=OPEN[way], message_timeout=2) as team:
        team.workers[0].signal(signal.SIGSTOP)
        try:
            reply = ask(team.envoy)
            assert reply.status == (200 if OPEN[way] else 504)
            assert reply.whole
            assert (reply.body == LEAK) == OPEN[way]
            assert sum(team.envoy.stats("ext_proc.message_timeouts").values()) == 1
        finally:
            asked = sum(team.envoy.stats("cluster.toolmend.health_check.success").values())
            team.workers[0].signal(signal.SIGCONT)
        team.envoy.wait_for_stat("cluster.toolmend.health_check.success", lambda answered: answered > asked, 60)
        assert mended(ask(team.envoy).body)


def test_one_of_two_workers_hangs(binary: Path, tmp_path: Path) -> None:
    """Until that is known a request may pass unmended; then all go to the other, and when it is back, to both."""
    with deployed(binary, tmp_path, [WHOLE], workers=2, message_timeout=2) as team:
        team.workers[0].signal(signal.SIGSTOP)
        try:
            team.envoy.wait_for_stat("cluster.toolmend.membership_healthy", lambda healthy: healthy == 1, 60)
            assert [ask(team.envoy).body == MENDED for _ in range(20)] == [True] * 20
            assert not sum(team.envoy.stats("failure_mode_allowed", "message_timeouts").values())
        finally:
            team.workers[0].signal(signal.SIGCONT)
        team.envoy.wait_for_stat("cluster.toolmend.membership_healthy", lambda healthy: healthy == 2, 60)
        assert [ask(team.envoy).body == MENDED for _ in range(20)] == [True] * 20


def test_a_worker_that_is_busy_is_not_taken_for_dead(binary: Path, tmp_path: Path) -> None:
    """Megabytes at once, of several streams: none passes unmended, and one that is small does not wait for the end of all."""
    big = Script(((0.0, EVENTS[0]), *(((0.0, EVENTS[1] * 100),) * 200), *((0.0, event) for event in EVENTS[1:])))
    many = MENDED.replace(EVENTS[1], EVENTS[1] * (200 * 100 + 1))
    with deployed(binary, tmp_path, lambda asked: big if asked.header("x-big") else WHOLE) as team, ThreadPoolExecutor(4) as threads:
        floods = [threads.submit(ask, team.envoy, x_big="yes") for _ in range(12)]
        while not all(flood.done() for flood in floods):
            assert ask(team.envoy).body == MENDED
        assert all(flood.result().body == many for flood in floods)
        assert not sum(team.envoy.stats("failure_mode_allowed", "message_timeouts", "streams_failed").values())


@pytest.mark.parametrize("way", OPEN)
def test_a_worker_that_is_killed_in_the_middle(binary: Path, tmp_path: Path, way: str) -> None:
    """Nothing can save the stream; but the client sees that it is cut, and what came before is right."""
    with deployed(binary, tmp_path, [STALLED], fail_open=OPEN[way]) as team, Raw(team.envoy) as raw:
        raw.send(request())
        waiting(raw)
        team.workers[0].signal(signal.SIGKILL)
        reply = raw.end()
        assert reply.status == 200
        assert not reply.whole
        assert MENDED.startswith(reply.body)
        assert b"Beijing" in reply.body


def test_a_worker_that_hangs_in_the_middle_is_cut_by_the_idle_timeout(binary: Path, tmp_path: Path) -> None:
    with deployed(binary, tmp_path, [STALLED], idle_timeout=1) as team, Raw(team.envoy) as raw:
        raw.send(request())
        waiting(raw)
        team.workers[0].signal(signal.SIGSTOP)
        try:
            reply = raw.end()
            assert not reply.whole
            assert MENDED.startswith(reply.body)
        finally:
            team.workers[0].signal(signal.SIGCONT)
        (line,) = [json.loads(line) for line in team.envoy.wait_for_output(lambda lines: len(lines) == 1)]
        assert "SI" in line["flags"], line
        team.upstream.scripts = [WHOLE]
        assert mended(ask(team.envoy).body)


def test_a_worker_that_hangs_for_a_while_loses_nothing(binary: Path, tmp_path: Path) -> None:
    rest = [(0.0, event) for event in EVENTS[len(HALF) :]]
    with deployed(binary, tmp_path, [Script((*STALLED.chunks, (0.3, b""), *rest))]) as team, Raw(team.envoy) as raw:
        raw.send(request())
        waiting(raw)
        team.workers[0].signal(signal.SIGSTOP)
        seen = team.envoy.stats("upstream_rq_active")
        try:
            name = next(name for name in seen if "localhost" in name)
            team.envoy.wait_for_stat(name, lambda active: active == 0)  # the upstream has said all
        finally:
            team.workers[0].signal(signal.SIGCONT)
        reply = raw.end()
        assert reply.whole
        assert reply.body == MENDED


def test_a_stream_that_pauses(binary: Path, tmp_path: Path) -> None:
    """`message_timeout` is not of streams; and neither are the 10 seconds that Envoy names to a worker in a header."""
    events = [({3: 0.6, 9: 0.6, 13: 11}.get(number, 0.0), event) for number, event in enumerate(EVENTS)]
    with deployed(binary, tmp_path, [Script(tuple(events))], message_timeout=0.5) as team:
        reply = ask(team.envoy)
        assert reply.whole
        assert reply.body == MENDED
        assert not sum(team.envoy.stats("ext_proc.message_timeouts").values())


@pytest.mark.parametrize("end", ["drop", "reset"])
def test_an_upstream_that_breaks_off(binary: Path, tmp_path: Path, end: str) -> None:
    """The client sees that it is cut. What was held back is lost: the worker cannot tell it from a client that left."""
    script = Script((*STALLED.chunks, (0.3, b"")), end=end)  # type: ignore[arg-type]
    with deployed(binary, tmp_path, [script]) as team:
        reply = ask(team.envoy)
        assert reply.status == 200
        assert not reply.whole
        assert MENDED.startswith(reply.body)
        assert b"Beijing" in reply.body
        team.upstream.scripts = [WHOLE]
        assert mended(ask(team.envoy).body)


@contextmanager
def wired(binary: Path, folder: Path) -> Iterator[tuple[Team, Wire]]:
    """A team whose second listener stands for a Wire."""
    with Wire() as wire:
        to = Listener("127.0.0.1", 0, Origin("http", "127.0.0.1", wire.port))
        given = {"toolmend_hosts": "localhost, 127.0.0.1"}
        with deployed(binary, folder, [WHOLE], options=given, listeners=(to,)) as team:
            yield team, wire


def test_a_client_that_leaves(binary: Path, tmp_path: Path) -> None:
    """The upstream is let go: a model that nobody listens to costs money."""
    with wired(binary, tmp_path) as (team, wire):
        with Raw(team.envoy) as raw:
            raw.send(request())
            connection = wire.accept()
            connection.say(HEAD + b"".join(map(chunk, HALF)))
            waiting(raw)
        assert connection.left()
        team.envoy.wait_for_stat("cluster.toolmend.upstream_rq_active", lambda active: active == 0)


def test_trailers(binary: Path, tmp_path: Path) -> None:
    """They arrive, behind all that was held back."""
    with wired(binary, tmp_path) as (team, wire), Raw(team.envoy) as raw:
        raw.send(request(TE="trailers"))
        connection = wire.accept()
        connection.say(HEAD + b"".join(map(chunk, EVENTS)) + b"0\r\nx-checksum: 42\r\n\r\n")
        reply = raw.end()
        assert reply.whole
        assert reply.body == MENDED
        assert reply.trailers == {"x-checksum": "42"}


def test_a_request_of_six_megabytes(binary: Path, tmp_path: Path) -> None:
    asked = {**WEATHER, "messages": [{"role": "user", "content": "Weather? " * 700_000}]}
    body = json.dumps(asked).encode()
    assert len(body) > 6_000_000
    with deployed(binary, tmp_path, [WHOLE]) as team:
        reply = ask(team.envoy, body)
        assert reply.status == 200
        assert mended(reply.body)
        assert team.upstream.requests[-1].body == body


def test_a_websocket_passes(binary: Path, tmp_path: Path) -> None:
    with echoing() as listener, deployed(binary, tmp_path, [WHOLE], listeners=(listener,)) as team:
        assert echoes(team.envoy, "/v1/responses")


BLOCK = 64 * 1024
MUCH = 1600
"""Blocks that the upstream has: 100 MB."""
BOUND = 96 * 1024
"""KiB that a process may grow by: Envoy's own buffers are of 32 MiB a connection, on either side of a worker."""


def test_a_client_that_does_not_read(binary: Path, tmp_path: Path) -> None:
    """Envoy and the worker stop reading as well; when the client reads, it has all of it."""
    event = EVENTS[1]
    block = event * (BLOCK // len(event))
    script = Script(((0.0, EVENTS[0]), *(((0.0, block),) * MUCH), *((0.0, event) for event in EVENTS[1:])))
    with deployed(binary, tmp_path, [script]) as team, Raw(team.envoy) as raw:
        ask_before = memory(team.workers[0].pid), memory(team.envoy.pid)
        raw.send(request())
        raw.until(b"I will look.")
        settled(team)
        grown = memory(team.workers[0].pid) - ask_before[0], memory(team.envoy.pid) - ask_before[1]
        print(f"KiB more, worker and Envoy: {grown}")  # noqa: T201  pytest -s shows it
        assert max(grown) < BOUND
        received = sum(team.envoy.stats("cluster.toolmend.upstream_cx_rx_bytes_total").values())
        assert received < len(block) * MUCH
        left, tail = 0, b""
        while not tail.endswith(b"\r\n0\r\n\r\n"):
            data = raw.sock.recv(1 << 20)
            assert data
            left += len(data)
            tail = (tail + data)[-20_000:]
        assert left > len(block) * (MUCH - 200)
        assert b"get_weather" in tail


def memory(pid: int) -> int:
    """KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:  # noqa: PTH123
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def settled(team: Team) -> None:
    """Until Envoy has read nothing more from the upstream between two looks, some times."""
    last, same = -1, 0

    def look(read: int) -> bool:
        nonlocal last, same
        same = same + 1 if read == last else 0
        last = read
        return same > 20

    name = next(name for name in team.envoy.stats("upstream_cx_rx_bytes_total") if "localhost" in name)
    team.envoy.wait_for_stat(name, look, 60)


# of two


def test_one_of_two_workers_is_dead(binary: Path, tmp_path: Path) -> None:
    """New requests lose nothing, from the first on."""
    with deployed(binary, tmp_path, [WHOLE], workers=2, fail_open=False) as team, ThreadPoolExecutor(4) as threads:
        team.workers[0].signal(signal.SIGKILL)
        team.workers[0].wait()
        replies = list(threads.map(lambda _: ask(team.envoy), range(40)))
        assert [reply.status for reply in replies] == [200] * 40
        assert all(reply.body == MENDED for reply in replies)


@pytest.mark.parametrize("way", OPEN)
def test_all_workers_are_dead(binary: Path, tmp_path: Path, way: str) -> None:
    with deployed(binary, tmp_path, [WHOLE], workers=2, fail_open=OPEN[way]) as team:
        for worker in team.workers:
            worker.signal(signal.SIGKILL)
            worker.wait()
        team.envoy.wait_for_stat("cluster.toolmend.membership_healthy", lambda healthy: healthy == 0, 60)
        before = sum(team.envoy.stats("message_timeouts").values())
        replies = [ask(team.envoy) for _ in range(10)]
        assert [reply.status for reply in replies] == [200 if OPEN[way] else 500] * 10
        assert [reply.body == LEAK for reply in replies] == [OPEN[way]] * 10
        assert sum(team.envoy.stats("message_timeouts").values()) == before  # known to be dead: nobody waits


def test_a_worker_that_is_asked_to_end(binary: Path, tmp_path: Path) -> None:
    """What is under way finishes, on both; what is new goes to the other."""
    with deployed(binary, tmp_path, [STALLED], workers=2, fail_open=False) as team:
        raws = [Raw(team.envoy) for _ in range(16)]
        for raw in raws:
            raw.send(request())
            waiting(raw)
        active = team.envoy.stats("cluster.toolmend.upstream_rq_active")
        assert sum(active.values()) == 16
        team.upstream.scripts = [WHOLE]
        team.workers[0].signal(signal.SIGTERM)
        new = [ask(team.envoy) for _ in range(20)]
        assert [reply.body == MENDED for reply in new] == [True] * 20
        team.upstream.release()
        old = [raw.end() for raw in raws]
        assert all(reply.whole and b"Beijing" in reply.body for reply in old)
        assert team.workers[0].wait() == 0
        for raw in raws:
            raw.sock.close()
