"""Checks the default port of `toolmend start`."""

import socket
from collections.abc import Iterator
from errno import EADDRINUSE

from ..launcher.background import running
from .finding import Finding, Machine, ok, warning


def port(machine: Machine) -> Iterator[Finding]:
    """Checks that the port is free or in use by the background proxy."""
    if (proxy := running()) and proxy.port == machine.port:
        yield ok(f"port {machine.port} is in use by the background proxy")
        return
    try:
        with socket.create_server(("127.0.0.1", machine.port)):
            pass
    except OSError as error:
        problem = "is in use by another program" if error.errno == EADDRINUSE else f"cannot be used: {error.strerror or error}"
        yield warning(f"port {machine.port} {problem}; toolmend run uses any", f"toolmend start --port {machine.port + 1}")
    else:
        yield ok(f"port {machine.port} is free")
