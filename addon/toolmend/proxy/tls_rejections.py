"""Remembers which clients reject the proxy's certificate and are tunnelled.

    observed                                                     by                                        sign
    an alert in the handshake                                    curl, Python, Go, rustls, Node's `fetch`  REFUSED
    the client disconnects during the handshake                  Node, Bun with TLS 1.3; also a scanner    LEFT
    it disconnects after the handshake without sending a byte    Node with TLS 1.2, git, wget; also a      SILENT
                                                                 probe, or a connection made in advance

(Measured with mitmproxy 12.2: curl 7.88, Node 22.21, Bun 1.3, Python 3.13, OpenSSL 3.0, git and wget with GnuTLS.)

1. A client that trusts the certificate is mended even if another program on the same address rejects it: on loopback all have one
   address, so clients are also distinguished by their TLS stack, and one that has sent a request is trusted.
2. No client is tunnelled for ever: trust may be added at any time.
"""

from collections.abc import Callable, Iterable
from enum import Enum

from ..core.fastclass import mutable, value

TUNNEL_SECONDS = 600.0
"""Seconds for which a client that rejects is tunnelled; then one connection shows whether it still does."""

RETRY_SECONDS = 60.0
"""Seconds within which a failed client retries: programs take a few, a person up to a minute."""

MAX_CLIENTS = 1000
"""Bound of the remembered clients, each with a host: an agent's session has a few."""

_PER_TRY = frozenset({21, 35, 41, 42, 44})
"""TLS extensions that one stack sends only sometimes: padding, tickets, resumption, early data, cookie."""


class Sign(Enum):
    """How a client shows that it rejects the certificate."""

    REFUSED = "rejects toolmend's certificate"
    LEFT = "disconnected during the TLS handshake, as Node and Bun do when they reject a certificate"
    SILENT = "disconnected twice after the TLS handshake without a request, as some do that reject a certificate"


@value
class ClientFingerprint:
    """A client of a host: its address, the host that it calls, and what its TLS stack supports."""

    address: str
    host: str
    stack: tuple[tuple[int, ...], tuple[int, ...], tuple[bytes, ...]]


def stack_of(
    extensions: Iterable[int], ciphers: Iterable[int], protocols: Iterable[bytes]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[bytes, ...]]:
    """Returns what is equal in every ClientHello of a program: sorted, as browsers shuffle, and without GREASE (RFC 8701)."""
    return (
        tuple(sorted(kind for kind in extensions if kind not in _PER_TRY and not _grease(kind))),
        tuple(sorted(cipher for cipher in ciphers if not _grease(cipher))),
        tuple(name for name in protocols if not (len(name) == 2 and _grease(int.from_bytes(name)))),
    )


def _grease(value: int) -> bool:
    return value & 0x0F0F == 0x0A0A and value >> 8 == value & 0xFF


@mutable
class _ClientState:
    trusted: bool = False
    last_sign_at: float = -TUNNEL_SECONDS  # time of its last sign of rejection
    next_tunnelled_until: float = -TUNNEL_SECONDS  # its next connection is tunnelled until then
    tunnelled_until: float = -TUNNEL_SECONDS  # all its connections are tunnelled until then


class TlsRejections:
    """The clients seen so far; `now` returns seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._clients: dict[ClientFingerprint, _ClientState] = {}

    def mark_trusted(self, client: ClientFingerprint) -> None:
        """Records that a client sent a request over a connection with the proxy's certificate."""
        self._state_of(client).trusted = True

    def record_sign(self, client: ClientFingerprint, sign: Sign) -> bool:
        """Records a sign of rejection. Returns whether the client's next connection is tunnelled, which should be logged."""
        state, now = self._state_of(client), self._now()
        previous, state.last_sign_at = state.last_sign_at, now
        repeated = now - previous < (TUNNEL_SECONDS if sign is Sign.LEFT else RETRY_SECONDS)
        if sign is not Sign.REFUSED and (state.trusted or (sign is Sign.SILENT and not repeated)):
            return False
        if state.trusted or not (repeated or sign is Sign.REFUSED):
            state.next_tunnelled_until = now + RETRY_SECONDS
        else:
            state.tunnelled_until = now + TUNNEL_SECONDS
        return True

    def is_tunnelled(self, client: ClientFingerprint) -> bool:
        """Returns whether this connection of a client is tunnelled."""
        state = self._clients.get(client)
        now = self._now()
        if state is None or now >= max(state.next_tunnelled_until, state.tunnelled_until):
            return False
        state.next_tunnelled_until = now
        return True

    def _state_of(self, client: ClientFingerprint) -> _ClientState:
        state = self._clients.pop(client, None) or _ClientState()
        self._clients[client] = state  # moves it to the end: the oldest is dropped first
        if len(self._clients) > MAX_CLIENTS:
            del self._clients[next(iter(self._clients))]
        return state
