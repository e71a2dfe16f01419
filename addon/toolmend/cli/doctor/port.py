"""The port of `toolmend start`, where nobody tells it another."""

import socket
from collections.abc import Iterator
from errno import EADDRINUSE

from ..launcher.background import running
from .finding import Finding, Machine, ok, warning


def port(machine: Machine) -> Iterator[Finding]:
    """Whether it is free, or the proxy's that runs in the background."""
    if (proxy := running()) and proxy.port == machine.port:
        yield ok(f"port {machine.port} is that of the proxy in the background")
        return
    try:
        with socket.create_server(("127.0.0.1", machine.port)):
            pass
    except OSError as error:
        told = "is taken by another program" if error.errno == EADDRINUSE else f"cannot be had: {error.strerror or error}"
        yield warning(f"port {machine.port} {told}; toolmend run takes any", f"toolmend start --port {machine.port + 1}")
    else:
        yield ok(f"port {machine.port} is free")
