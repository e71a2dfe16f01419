"""An upstream of nothing but sockets: what it reads and says is for the test alone.

    class Echo(BareUpstream):
        def serve(self, connection): connection.sendall(connection.recv(65536))

    with Echo(certificate) as upstream:  upstream.host

Rule of this file: it knows no HTTP.
"""

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self


class BareUpstream:
    """Connections are served one after the other, each until either side breaks it. `tls`: certificate and key; `alpn`: the protocol that is chosen."""

    def __init__(self, tls: tuple[Path, Path] | None = None, alpn: str = "http/1.1") -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None
        if self._context and tls:
            self._context.load_cert_chain(*tls)
            self._context.set_alpn_protocols([alpn])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host = f"localhost:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept)

    def serve(self, connection: socket.socket) -> None:
        raise NotImplementedError

    def _accept(self) -> None:
        while True:
            plain, _ = self._listener.accept()
            if not plain.recv(1, socket.MSG_PEEK):  # the test's own, to say that it is over
                plain.close()
                return
            with suppress(OSError), self._context.wrap_socket(plain, server_side=True) if self._context else plain as connection:
                self.serve(connection)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        socket.create_connection(self._listener.getsockname()).close()
        self._thread.join(30)
        self._listener.close()
