"""The worker: a gRPC server that Envoy's ext_proc filter calls, one stream for each HTTP exchange.

Rule of this file: one message at a time. The next is read when all that the last one gave is written: so a client that does not
read holds up Envoy, Envoy holds up us, and nothing is heaped up between.
"""

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import grpc  # type: ignore[import-untyped]
from envoy.service.ext_proc.v3 import external_processor_pb2 as messages  # type: ignore[import-untyped]
from grpc_health.v1 import health, health_pb2, health_pb2_grpc  # type: ignore[import-untyped]

from ...providers.routes import Origin
from .bootstrap import UPSTREAM_METADATA
from .bootstrap_clusters import SERVICE
from .exchange import EnvoyExchange
from .flows import origin
from .listening import listen
from .master import Headless
from .watchdog import Watchdog

logger = logging.getLogger(__name__)

MAX_MESSAGE = 128 * 1024 * 1024
"""Bytes of a body that Envoy gives whole: its own buffer is smaller. gRPC's default is 4 MiB."""

SLICE = 32 * 1024
"""Bytes of a stream that are mended at once: some milliseconds. Then the other streams have their turn, and health checks."""

OPTIONS = (
    ("grpc.so_reuseport", 0),  # else two workers would share a port without a word
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", -1),
)

STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Worker:
    """The service. `hooks`: the addon. `watchdog`: is told of each event."""

    def __init__(self, hooks: Headless, watchdog: Watchdog) -> None:
        self._hooks, self._watchdog = hooks, watchdog

    def handler(self) -> Any:
        """For a gRPC server."""
        process = grpc.stream_stream_rpc_method_handler(
            self._process, messages.ProcessingRequest.FromString, messages.ProcessingResponse.SerializeToString
        )
        return grpc.method_handlers_generic_handler(SERVICE, {"Process": process})

    async def _process(self, _: Any, context: Any) -> None:
        """One exchange. Envoy cancels it whenever it has what it wants, so nothing that matters stands behind an await."""
        exchange, watchdog = EnvoyExchange(self._hooks, _upstream(context)), self._watchdog
        try:
            while (message := await context.read()) is not grpc.aio.EOF:
                for number, part in enumerate(_slices(message) if exchange.streams else (message,)):
                    if number:
                        await asyncio.sleep(0)
                    watchdog.steps += 1
                    replies = exchange.receive(part)
                    watchdog.steps += 1
                    for reply in replies:
                        await context.write(reply)
        finally:
            exchange.close()


def _slices(message: Any) -> Iterator[Any]:
    """A piece of a streamed answer in shorter ones: Envoy gives all that came while it waited for us, megabytes at times."""
    body = message.response_body.body
    if len(body) <= SLICE:
        yield message
        return
    for at in range(0, len(body), SLICE):
        last = at + SLICE >= len(body)
        given = messages.HttpBody(body=body[at : at + SLICE], end_of_stream=last and message.response_body.end_of_stream)
        yield messages.ProcessingRequest(response_body=given)


def _upstream(context: Any) -> Origin | None:
    """What the listener stands for."""
    for name, value in context.invocation_metadata() or ():
        if name == UPSTREAM_METADATA and isinstance(value, str):
            return origin(value)
    return None


async def serve(at: str, options: Mapping[str, str], grace: float, told: Callable[[str], None]) -> None:
    """Runs until it is told to stop, by a signal; `grace`: the seconds that streams then have to end.

    `options`: of the addon; `told` is called with the address when all is at work. Raises ListenError, exceptions.OptionsError.
    """
    signals: asyncio.Queue[int] = asyncio.Queue()
    for number in STOP:
        asyncio.get_running_loop().add_signal_handler(number, signals.put_nowait, number)
    server = grpc.aio.server(options=OPTIONS)
    address = listen(server, at)
    headless = Headless(options)
    alive = health.aio.HealthServicer()
    with Watchdog() as watchdog:
        watching = asyncio.create_task(watchdog.watch())
        server.add_generic_rpc_handlers((Worker(headless, watchdog).handler(),))
        health_pb2_grpc.add_HealthServicer_to_server(alive, server)
        await alive.set(SERVICE, health_pb2.HealthCheckResponse.SERVING)
        headless.running()
        await server.start()
        told(address)
        try:
            await _until_stopped(server, alive, signals, grace)
        finally:
            watching.cancel()
            headless.done()


async def _until_stopped(server: Any, alive: Any, signals: "asyncio.Queue[int]", grace: float) -> None:
    """The first signal lets the streams that are there end, the second does not."""
    await signals.get()
    logger.info("toolmend: no new exchanges; those under way have %.0f s (a second signal ends them)", grace)
    await alive.enter_graceful_shutdown()
    stopping = asyncio.create_task(server.stop(grace))
    again = asyncio.create_task(signals.get())
    await asyncio.wait((stopping, again), return_when=asyncio.FIRST_COMPLETED)
    again.cancel()
    if not stopping.done():
        await server.stop(0)
    with suppress(asyncio.CancelledError):
        await stopping
