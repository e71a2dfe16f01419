r"""A local server that plays scripted responses, byte for byte and at their pace: a stand-in for a provider.

It implements HTTP, content encodings and ways to fail, independent of LLM APIs and mitmproxy. It listens on loopback only, in a
thread with its own event loop, and leaves nothing running.

    with Upstream([Script(chunks=((0, b"data: [DONE]\n\n"),))], tls=make_certificate(folder)) as upstream:
        upstream.url, upstream.port, upstream.requests
"""

import asyncio
import ssl
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Self

from . import h1, h2
from .certificate import make_certificate
from .script import Answer, Coding, End, Framing, Request, Script

__all__ = ["Answer", "Coding", "End", "Framing", "Request", "Script", "Upstream", "make_certificate"]


class Upstream:
    """Serves on 127.0.0.1 inside the `with` block.

    Attributes:
        scripts: A function that answers requests, or scripts played in order, the last one repeatedly.
        tls: The certificate and key files; None: plain HTTP.
        alpn: The protocols offered over TLS, best first.
        port: A free one by default.
        requests: All requests so far, in the order in which their bodies were complete.
    """

    def __init__(
        self,
        scripts: Answer | Sequence[Script],
        *,
        tls: tuple[Path, Path] | None = None,
        alpn: Sequence[str] = ("h2", "http/1.1"),
        port: int = 0,
    ) -> None:
        self.scripts, self.tls, self.alpn, self.port = scripts, tls, alpn, port
        self.requests: list[Request] = []
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://localhost:{self.port}"

    def release(self) -> None:
        """Lets every response that stalls, now or later, continue to its end."""
        self._loop.call_soon_threadsafe(self._released.set)

    def __enter__(self) -> Self:
        started: Future[int] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main(started)), name="upstream", daemon=True)
        self._thread.start()
        self.port = started.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    async def _main(self, started: Future[int]) -> None:
        try:
            self._loop = asyncio.get_running_loop()
            self._stopped, self._released = asyncio.Event(), asyncio.Event()
            server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._context())
        except Exception as error:
            started.set_exception(error)
            return
        started.set_result(server.sockets[0].getsockname()[1])
        await self._stopped.wait()
        server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving)

    def _context(self) -> ssl.SSLContext | None:
        if self.tls is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.tls)
        context.set_alpn_protocols(list(self.alpn))
        return context

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        tls: ssl.SSLObject | None = writer.get_extra_info("ssl_object")
        serve = h2.serve if tls and tls.selected_alpn_protocol() == "h2" else h1.serve
        task = asyncio.current_task()
        assert task
        self._serving.add(task)
        try:
            await serve(reader, writer, self._answer, self._released.wait)
            writer.close()
            await writer.wait_closed()
        except (OSError, asyncio.CancelledError):
            pass  # the client has disconnected, or the server stops
        finally:
            writer.transport.abort()
            self._serving.discard(task)

    def _answer(self, request: Request) -> Script:
        self.requests.append(request)
        if callable(self.scripts):
            return self.scripts(request)
        return self.scripts[min(len(self.requests), len(self.scripts)) - 1]
