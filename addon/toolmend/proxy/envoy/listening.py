"""Where a worker listens for Envoy: an address of loopback, unless told otherwise, or a socket in the file system.

    127.0.0.1:18711   127.0.0.1:0   [::1]:18711   unix:/run/toolmend/1.sock

Who can connect is answered as Envoy would be, with the keys of routes in it. So a machine that others use, too, needs a socket:
it is its owner's alone, and Envoy runs as the same user.

Rule of this file: nobody's port or socket is taken over.
"""

import os
import socket
from ipaddress import ip_address
from typing import Any

from ...providers.hosts import split_port

UNIX = "unix:"


class ListenError(OSError):
    """The address is not to be had."""


def understood(text: str) -> bool:
    """Whether an address is one."""
    if text.startswith(UNIX):
        return text.removeprefix(UNIX).startswith("/")
    host, port = split_port(text)
    return bool(host) and port.isascii() and port.isdecimal() and int(port) < 65536


def is_of_this_machine(text: str) -> bool:
    """Whether nobody else can connect."""
    return text.startswith(UNIX) or is_loopback(split_port(text)[0])


def is_loopback(host: str) -> bool:
    """Whether what is sent there stays on this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def listen(server: Any, text: str) -> str:
    """Has a gRPC server listen; returns the address, with the port that it is. Raises ListenError."""
    path = text.removeprefix(UNIX) if text.startswith(UNIX) else ""
    if path and _answers(path):  # gRPC would take it away from who listens there
        raise ListenError(text)
    before = os.umask(0o177)
    try:
        port = server.add_insecure_port(text)
    except RuntimeError:
        raise ListenError(text) from None
    finally:
        os.umask(before)
    if not port:
        raise ListenError(text)
    return text if path else f"{text.rpartition(':')[0]}:{port}"


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True
