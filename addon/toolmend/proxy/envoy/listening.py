"""The address that a worker listens at for Envoy: on loopback, unless configured otherwise, or a Unix socket.

    127.0.0.1:18711   127.0.0.1:0   [::1]:18711   unix:/run/toolmend/1.sock

Whoever can connect is answered like Envoy, including the keys of routes. So a machine with several users needs a Unix socket:
only its owner can connect, and Envoy runs as the same user. A port or socket that is in use is never taken over.
"""

import os
import socket
from ipaddress import ip_address
from typing import Any

from ...providers.hosts import split_port

UNIX = "unix:"


class ListenError(OSError):
    """The address cannot be listened at."""


def is_valid_address(text: str) -> bool:
    """Returns whether a text is an address."""
    if text.startswith(UNIX):
        return text.removeprefix(UNIX).startswith("/")
    host, port = split_port(text)
    return bool(host) and port.isascii() and port.isdecimal() and int(port) < 65536


def is_local_only(text: str) -> bool:
    """Returns whether only programs of this machine can connect."""
    return text.startswith(UNIX) or is_loopback(split_port(text)[0])


def is_loopback(host: str) -> bool:
    """Returns whether a host is a loopback address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def listen(server: Any, text: str) -> str:
    """Makes a gRPC server listen. Returns the address with the actual port.

    Raises:
        ListenError: The address is in use or cannot be used.
    """
    path = text.removeprefix(UNIX) if text.startswith(UNIX) else ""
    if path and _answers(path):  # gRPC would take over the socket of a running server
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
