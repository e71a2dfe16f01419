"""The worker: a gRPC server that Envoy's ext_proc filter calls, one stream for each HTTP exchange.

Messages are handled one at a time: the next is read when all replies to the last are written. So backpressure reaches from a
client that does not read through Envoy to the worker, and nothing piles up.
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
"""Bytes of a message with a whole body: Envoy's own buffer is smaller. gRPC's default is 4 MiB."""

SLICE = 32 * 1024
"""Bytes of a stream that are mended at once, in a few ms; then other streams and health checks run."""

OPTIONS = (
    ("grpc.so_reuseport", 0),  # otherwise two workers could silently share a port
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", -1),
)

STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Worker:
    """The service. `hooks`: the addon. `watchdog`: its `steps` are counted up for each event."""

    def __init__(self, hooks: Headless, watchdog: Watchdog) -> None:
        self._hooks, self._watchdog = hooks, watchdog

    def handler(self) -> Any:
        """Returns the handler for a gRPC server."""
        process = grpc.stream_stream_rpc_method_handler(
            self._process, messages.ProcessingRequest.FromString, messages.ProcessingResponse.SerializeToString
        )
        return grpc.method_handlers_generic_handler(SERVICE, {"Process": process})

    async def _process(self, _: Any, context: Any) -> None:
        """Handles one exchange. Envoy may cancel it at any await once it has the last reply, so nothing important follows one."""
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
    """Splits a piece of a streamed response: Envoy may send megabytes that arrived while it waited for a reply."""
    body = message.response_body.body
    if len(body) <= SLICE:
        yield message
        return
    for at in range(0, len(body), SLICE):
        last = at + SLICE >= len(body)
        given = messages.HttpBody(body=body[at : at + SLICE], end_of_stream=last and message.response_body.end_of_stream)
        yield messages.ProcessingRequest(response_body=given)


def _upstream(context: Any) -> Origin | None:
    """Returns the listener's provider, or None."""
    for name, value in context.invocation_metadata() or ():
        if name == UPSTREAM_METADATA and isinstance(value, str):
            return origin(value)
    return None


async def serve(at: str, options: Mapping[str, str], grace: float, on_ready: Callable[[str], None]) -> None:
    """Runs a worker until a signal stops it.

    Args:
        at: The address to listen at.
        options: `toolmend_*` options of the addon.
        grace: Seconds that streams in progress have to end after the signal.
        on_ready: Called with the actual address when the worker is ready.

    Raises:
        ListenError: The address cannot be used.
        exceptions.OptionsError: An option is wrong.
    """
    signals: asyncio.Queue[int] = asyncio.Queue()
    for number in STOP:
        asyncio.get_running_loop().add_signal_handler(number, signals.put_nowait, number)
    server = grpc.aio.server(options=OPTIONS)
    address = listen(server, at)
    headless = Headless(options)
    health_service = health.aio.HealthServicer()
    with Watchdog() as watchdog:
        watching = asyncio.create_task(watchdog.watch())
        server.add_generic_rpc_handlers((Worker(headless, watchdog).handler(),))
        health_pb2_grpc.add_HealthServicer_to_server(health_service, server)
        await health_service.set(SERVICE, health_pb2.HealthCheckResponse.SERVING)
        headless.running()
        await server.start()
        on_ready(address)
        try:
            await _until_stopped(server, health_service, signals, grace)
        finally:
            watching.cancel()
            headless.done()


async def _until_stopped(server: Any, health_service: Any, signals: "asyncio.Queue[int]", grace: float) -> None:
    """Waits for a signal, then for the streams in progress; a second signal ends them."""
    await signals.get()
    logger.info("toolmend: no new exchanges; those in progress have %.0f s (a second signal ends them)", grace)
    await health_service.enter_graceful_shutdown()
    stopping = asyncio.create_task(server.stop(grace))
    second_signal = asyncio.create_task(signals.get())
    await asyncio.wait((stopping, second_signal), return_when=asyncio.FIRST_COMPLETED)
    second_signal.cancel()
    if not stopping.done():
        await server.stop(0)
    with suppress(asyncio.CancelledError):
        await stopping
