"""`toolmend serve-envoy` as a process, and a real gRPC client in Envoy's place: its start, its health, its end, and a mend that hangs."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import pytest

from tests.support.paths import ADDON, ROOT

grpc = pytest.importorskip("grpc", reason="toolmend[envoy] is not installed")

from envoy.service.ext_proc.v3.external_processor_pb2 import (  # noqa: E402
    HttpBody,
    HttpHeaders,
    ProcessingRequest,
    ProcessingResponse,
)
from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: E402

from tests.envoy.talk import ASK, EVENTS, HOST, ID, JSON, MENDED, PATH, SSE, header_map  # noqa: E402  # noqa: E402
from toolmend.cli import Exit  # noqa: E402
from toolmend.cli.launcher.envoy import EnvoyWorker  # noqa: E402
from toolmend.cli.launcher.process import free_port  # noqa: E402
from toolmend.recordings.playback.server import Script, Upstream  # noqa: E402
from toolmend.recordings.read.library import entries  # noqa: E402

SERVICE = "envoy.service.ext_proc.v3.ExternalProcessor"
LEFT = b"".join(EVENTS)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., EnvoyWorker]]:
    """Starts a worker that records in tmp_path/flows; `script`: Python that its process runs first."""
    started: list[EnvoyWorker] = []
    with ExitStack() as stack:

        def start(*words: str, script: str = "", flows: str = "") -> EnvoyWorker:
            worker = EnvoyWorker({"toolmend_flows": flows or str(tmp_path / "flows")}, words=words)
            if script:
                at = worker.command.index("-m")
                main = "import sys; sys.argv[0] = 'toolmend'; from toolmend.__main__ import main; sys.exit(main())"
                worker.command = [*worker.command[:at], "-c", f"{script}\n{main}", *worker.command[at + 2 :]]
            started.append(worker)
            return stack.enter_context(worker)

        try:
            yield start
        finally:
            print(*(f"{worker.log}\n{worker.returncode}" for worker in started), sep="\n")  # noqa: T201  of a test that fails


@asynccontextmanager
async def channel(worker: EnvoyWorker) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(f"{worker.at[0]}:{worker.at[1]}") as found:
        yield found


class Stream:
    """One exchange, from a leaked stream's headers on."""

    def __init__(self, found: Any, host: str = HOST, metadata: tuple[tuple[str, str], ...] = ()) -> None:
        process = found.stream_stream(
            f"/{SERVICE}/Process",
            request_serializer=ProcessingRequest.SerializeToString,
            response_deserializer=ProcessingResponse.FromString,
        )
        self.call, self.host = process(metadata=metadata), host
        self.body = b""

    async def say(self, **given: Any) -> None:
        await self.call.write(ProcessingRequest(**given))

    async def begin(self) -> "Stream":
        pseudo = ((":method", "POST"), (":scheme", "https"), (":authority", self.host), (":path", PATH))
        headers = (*pseudo, *JSON, ("content-length", str(len(ASK))), ("x-request-id", ID))
        await self.say(request_headers=HttpHeaders(headers=header_map(headers)))
        assert (await self.call.read()).HasField("request_headers")
        await self.say(request_body=HttpBody(body=ASK, end_of_stream=True))
        assert (await self.call.read()).HasField("request_body")
        await self.say(response_headers=HttpHeaders(headers=header_map(((":status", "200"), *SSE))))
        assert (await self.call.read()).HasField("response_headers")
        return self

    async def pieces(self, events: list[bytes]) -> None:
        for event in events:
            await self.say(response_body=HttpBody(body=event))

    async def until(self, needle: bytes) -> None:
        while needle not in self.body:
            reply = await self.call.read()
            assert reply is not grpc.aio.EOF, self.body
            self.body += reply.response_body.response.body_mutation.streamed_response.body

    async def end(self, last: bytes) -> bytes:
        """All that the client gets."""
        await self.say(response_body=HttpBody(body=last, end_of_stream=True))
        while (reply := await self.call.read()) is not grpc.aio.EOF:
            given = reply.response_body.response.body_mutation.streamed_response
            self.body += given.body
            if given.end_of_stream:
                await self.call.done_writing()
        return self.body


async def whole(found: Any, **more: Any) -> bytes:
    stream = await Stream(found, **more).begin()
    await stream.pieces(EVENTS[:-1])
    return await stream.end(EVENTS[-1])


def run(worker: EnvoyWorker, talk: Callable[[Any], Awaitable[None]]) -> None:
    async def main() -> None:
        async with channel(worker) as found:
            await talk(found)

    asyncio.run(main())


# at work


def test_a_stream(start: Callable[..., EnvoyWorker], tmp_path: Path) -> None:
    worker = start()

    async def talk(found: Any) -> None:
        assert await whole(found) == MENDED
        assert await asyncio.gather(*(whole(found) for _ in range(20))) == [MENDED] * 20

    run(worker, talk)
    assert worker.out == [f"{worker.at[0]}:{worker.at[1]}\n"]
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0
    found = entries(tmp_path / "flows")
    assert [(one.state, one.rules) for one in found] == [("complete", ("kimi_k2", "finish_reason"))] * 21


def test_a_piece_of_a_megabyte(start: Callable[..., EnvoyWorker]) -> None:
    """Mended a bit at a time, so that the others have their turn."""
    many = EVENTS[1] * (1024 * 1024 // len(EVENTS[1]))

    async def talk(found: Any) -> None:
        stream = await Stream(found).begin()
        await stream.pieces([EVENTS[0] + many + b"".join(EVENTS[2:-2])])
        body = await stream.end(b"".join(EVENTS[-2:]))
        assert body.startswith(EVENTS[0] + many)
        assert MENDED.endswith(body[len(EVENTS[0] + many) :])

    run(start(), talk)


def test_workers_share_a_folder(start: Callable[..., EnvoyWorker], tmp_path: Path) -> None:
    """Even where a client calls all its requests the same, as no Envoy of ours would let it."""
    workers = [start(), start()]
    for _ in range(3):
        for worker in workers:
            run(worker, lambda found: asyncio.gather(whole(found), whole(found)))  # type: ignore[arg-type]
    for worker in workers:
        worker.signal(signal.SIGTERM)
        assert worker.wait() == 0
        assert "incomplete" not in worker.log
    assert [one.state for one in entries(tmp_path / "flows")] == ["complete"] * 12


def test_the_listener_says_who_is_called(start: Callable[..., EnvoyWorker], tmp_path: Path) -> None:
    worker = start()
    metadata = (("toolmend-upstream", "https://api.moonshot.ai:8443"),)

    async def talk(found: Any) -> None:
        assert await whole(found, host="localhost:10000", metadata=metadata) == MENDED

    run(worker, talk)
    worker.stop()
    assert [one.host for one in entries(tmp_path / "flows")] == ["api.moonshot.ai:8443"]


def test_a_stream_that_is_cancelled(start: Callable[..., EnvoyWorker], tmp_path: Path) -> None:
    worker = start()

    async def talk(found: Any) -> None:
        stream = await Stream(found).begin()
        await stream.pieces(EVENTS[:3])
        await stream.until(EVENTS[1])
        stream.call.cancel()
        assert await whole(found) == MENDED

    run(worker, talk)
    worker.stop()
    assert "Traceback" not in worker.log
    assert sorted(one.state for one in entries(tmp_path / "flows")) == ["complete", "partial"]


def test_metrics(start: Callable[..., EnvoyWorker]) -> None:
    port = free_port()
    worker = start("--metrics", f"127.0.0.1:{port}")

    async def talk(found: Any) -> None:
        assert await whole(found) == MENDED

    run(worker, talk)
    direct, said = build_opener(ProxyHandler({})), ""
    while "streams_finished_total{" not in said:  # counted in a thread of its own
        with direct.open(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            said = answer.read().decode()
    assert re.search(r'toolmend_streams_finished_total\{.*host="openrouter.ai".*state="complete".*\} 1.0', said)


# health and end


def test_health(start: Callable[..., EnvoyWorker]) -> None:
    worker = start()

    async def talk(found: Any) -> None:
        health = health_pb2_grpc.HealthStub(found)
        for service in ("", SERVICE):
            answer = await health.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError, match="NOT_FOUND"):
            await health.Check(health_pb2.HealthCheckRequest(service="x"))

    run(worker, talk)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_streams_that_are_under_way_end(start: Callable[..., EnvoyWorker], tmp_path: Path, number: signal.Signals) -> None:
    worker = start()

    async def talk(found: Any) -> None:
        watched = health_pb2_grpc.HealthStub(found).Watch(health_pb2.HealthCheckRequest(service=SERVICE))
        assert (await watched.read()).status == health_pb2.HealthCheckResponse.SERVING
        stream = await Stream(found).begin()
        await stream.pieces(EVENTS[:5])
        worker.signal(number)
        assert (await watched.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        watched.cancel()
        await stream.pieces(EVENTS[5:-1])
        assert await stream.end(EVENTS[-1]) == MENDED

    run(worker, talk)
    assert worker.wait() == 0
    assert [one.state for one in entries(tmp_path / "flows")] == ["complete"]


@pytest.mark.parametrize("grace", ["600", "0"], ids=["a second signal", "no grace"])
def test_streams_that_do_not_end(start: Callable[..., EnvoyWorker], tmp_path: Path, grace: str) -> None:
    worker = start("--grace", grace)

    async def talk(found: Any) -> None:
        stream = await Stream(found).begin()
        await stream.pieces(EVENTS[:5])
        await stream.until(EVENTS[1])
        worker.signal(signal.SIGTERM)
        worker.wait_for("no new exchanges")
        if grace != "0":
            worker.signal(signal.SIGTERM)
        with pytest.raises(grpc.aio.AioRpcError):
            await stream.until(b"[DONE]")

    run(worker, talk)
    assert worker.wait() == 0
    assert [one.state for one in entries(tmp_path / "flows")] == ["partial"]


# a mend that hangs

PATCH = """
import re, threading, time
import toolmend.proxy.envoy.watchdog as watchdog, toolmend.core.sse as sse
watchdog.TICK, watchdog.STALLED, watchdog.HUNG = 0.1, 0.5, {hung}
take, feed = sse.SseDecoder.take, sse.SseDecoder.feed
def hang():
    {way}
def hung(method):
    def wrapped(self, data, *more):
        if b"HANG" in data and threading.current_thread() is threading.main_thread():
            hang()
        return method(self, data, *more)
    return wrapped
sse.SseDecoder.take, sse.SseDecoder.feed = hung(take), hung(feed)
"""
WAYS = {
    "computes": "while True: pass",
    "in a regular expression": 're.match(r"(?:a|a)*b", "a" * 60)',
    "waits": "threading.Lock().acquire() and time.sleep(10**6)",
    "and catches all": "while True:\n        try:\n            while True: pass\n        except Exception: hang.caught = True; break",
}
STUCK = b'data: {"choices":[{"index":0,"delta":{"content":"HANG"}}]}\n\n'


@pytest.mark.parametrize("way", WAYS)
def test_a_mend_that_hangs_goes_on_as_it_came(start: Callable[..., EnvoyWorker], tmp_path: Path, way: str) -> None:
    """And so do the others, which are mended."""
    worker = start(script=PATCH.format(way=WAYS[way], hung=60))

    async def talk(found: Any) -> None:
        other = await Stream(found).begin()
        await other.pieces(EVENTS[:6])
        stream = await Stream(found).begin()
        await stream.pieces([*EVENTS[:6], STUCK, *EVENTS[6:-1]])
        last = await stream.end(EVENTS[-1])
        if way == "and catches all":
            assert b"[DONE]" in last
        else:
            assert last == b"".join([*EVENTS[:6], STUCK, *EVENTS[6:]])
        await other.pieces(EVENTS[6:-1])
        assert await other.end(EVENTS[-1]) == MENDED
        assert await whole(found) == MENDED

    run(worker, talk)
    worker.stop()
    assert worker.returncode == 0
    if way != "and catches all":
        assert re.search(r"a mend was stopped after \d+ s, in \w+ \(", worker.log)
        assert "the rest passed unchanged: Stalled" in worker.log
    assert [one.state for one in entries(tmp_path / "flows")] == ["complete"] * 3


def test_a_worker_that_hangs_elsewhere_ends(start: Callable[..., EnvoyWorker]) -> None:
    """Where each thread stood is in the log; nothing else can be done."""
    script = PATCH.format(way="pass", hung=1.0) + (
        "import threading, toolmend.proxy.addon as hook\n"
        "def stuck(self, flow): threading.Event().wait()\n"
        "hook.Toolmend.requestheaders = stuck\n"
    )
    worker = start(script=script)

    async def talk(found: Any) -> None:
        with pytest.raises(grpc.aio.AioRpcError):
            await Stream(found).begin()

    run(worker, talk)
    assert worker.wait() == 1
    assert "in stuck" in worker.log


# a start that is refused


def refused(*words: str, script: str = "", **environ: str) -> tuple[int, str]:
    """Exit code, and what it said."""
    begin = ["-c", f"{script}\nimport sys; sys.argv[0] = 'toolmend'; from toolmend.__main__ import main; sys.exit(main())"]
    done = subprocess.run(
        [sys.executable, "-P", *(begin if script else ["-m", "toolmend"]), "serve-envoy", *words],
        env=os.environ | {"PYTHONPATH": str(ADDON)} | environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not done.stdout
    assert "Traceback" not in done.stderr
    assert "\ntry: " in f"\n{done.stderr}"
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--listen", "18711"], Exit.USAGE, "not HOST:PORT"),
        (["--listen", "unix:x"], Exit.USAGE, "or unix:/PATH"),
        (["--listen", "127.0.0.1:70000"], Exit.USAGE, "not HOST:PORT"),
        (["--set", "toolmend_dialects"], Exit.USAGE, "not NAME=VALUE"),
        (["--set", "mode=regular"], Exit.CONFIGURATION, "no such option"),
        (["--set", "toolmend_mode=observe", "--set", "toolmend_mode=mend"], Exit.USAGE, "duplicate option"),
        (["--set", "toolmend_dialects=kimi"], Exit.CONFIGURATION, "no such dialect: 'kimi'"),
        (["--set", f"toolmend_replay={ROOT}"], Exit.CONFIGURATION, "toolmend_replay"),
        (["--config", "/none.toml"], Exit.CONFIGURATION, "/none.toml"),
        (["--metrics", "127.0.0.1:1"], Exit.CONFIGURATION, "cannot listen at 127.0.0.1:1"),
        (["--listen", "203.0.113.7:18711"], Exit.RUNTIME, "cannot listen at 203.0.113.7:18711"),
    ],
)
def test_a_wrong_start(words: list[str], code: int, said: str) -> None:
    if "127.0.0.1:1" in words and os.geteuid() == 0:
        with Upstream([Script()]) as taken:
            words = [word.replace("127.0.0.1:1", f"127.0.0.1:{taken.port}") for word in words]
            found, text = refused("--listen", "127.0.0.1:0", *words)
        said = said.replace("127.0.0.1:1", f"127.0.0.1:{taken.port}")
    else:
        found, text = refused(*(words if "--listen" in words else ["--listen", "127.0.0.1:0", *words]))
    assert (found, said in text) == (code, True), text


def test_a_port_that_is_taken(start: Callable[..., EnvoyWorker]) -> None:
    worker = start()
    code, text = refused("--listen", f"127.0.0.1:{worker.at[1]}")
    assert (code, "it is in use" in text) == (Exit.RUNTIME, True), text


def test_a_socket_is_its_owners_alone(start: Callable[..., EnvoyWorker], tmp_path: Path) -> None:
    path = tmp_path / "1.sock"
    worker = start("--listen", f"unix:{path}")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "not encrypted" not in worker.log

    async def talk() -> None:
        async with grpc.aio.insecure_channel(f"unix:{path}") as found:
            assert await whole(found) == MENDED

    asyncio.run(talk())
    code, text = refused("--listen", f"unix:{path}")
    assert (code, "it is in use" in text) == (Exit.RUNTIME, True), text
    worker.signal(signal.SIGKILL)
    worker.wait()
    start("--listen", f"unix:{path}")  # where the one before it has left its own
    asyncio.run(talk())


@pytest.mark.parametrize("name", ["grpc", "envoy", "grpc_health"])
def test_without_the_extra(name: str) -> None:
    code, text = refused(script=f"import sys; sys.modules[{name!r}] = None")
    assert code == Exit.RUNTIME
    assert "pip install 'toolmend[envoy]'" in text


def test_an_address_that_is_not_loopback_is_warned_of(start: Callable[..., EnvoyWorker]) -> None:
    worker = start("--listen", "0.0.0.0:0")
    assert "not encrypted" in worker.log
    assert "not encrypted" not in start().log
