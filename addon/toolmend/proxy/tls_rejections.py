"""Which clients refuse our certificate, and are let through.

    what is seen                                                 who does so                              what it means
    an alert in the handshake                                    curl, Python, Go, rustls, Node's `fetch`  REFUSED
    the client leaves before it has ended its handshake          Node, Bun with TLS 1.3; also a scanner    LEFT
    it leaves behind the handshake, and never sent a byte        Node with TLS 1.2, git, wget; also a      SILENT
                                                                 probe, a connection made ahead of need

(Measured with mitmproxy 12.2: curl 7.88, Node 22.21, Bun 1.3, Python 3.13, OpenSSL 3.0, git and wget with GnuTLS.)

Rule of this file: values and a clock. Who trusts us must not lose its mending because another program refused: on loopback all
have one address, so a client is told by its TLS stack as well; and one that has sent a request trusts us, whoever else leaves.
Nobody is let through for ever: trust may be given any time.
"""

from collections.abc import Callable, Iterable
from enum import Enum

from ..core.fastclass import mutable, value

LET_THROUGH = 600.0
"""Seconds for which a client that refuses is let through; then one of its tries shows whether it still does."""

SOON = 60.0
"""Seconds in which a client that failed tries again: those of a program take some, a person's up to a minute."""

MAX_CLIENTS = 1000
"""Clients that are remembered, each by host: an agent's session has a handful."""

_PER_TRY = frozenset({21, 35, 41, 42, 44})
"""Extensions that one stack sends now and then: padding, tickets, resumption, early data, cookie."""


class Sign(Enum):
    """How a client may show that it refuses."""

    REFUSED = "refuses toolmend's certificate"
    LEFT = "left in the TLS handshake, as Node and Bun do when they refuse a certificate"
    SILENT = "left twice behind the TLS handshake without a word, as some do that refuse a certificate"


@value
class Client:
    """Who calls which host: an address, what its TLS stack can do, and the name that is called."""

    address: str
    host: str
    stack: tuple[tuple[int, ...], tuple[int, ...], tuple[bytes, ...]]


def stack_of(
    extensions: Iterable[int], ciphers: Iterable[int], protocols: Iterable[bytes]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[bytes, ...]]:
    """What is the same in every ClientHello of a program: in order, as browsers shuffle, and without GREASE (RFC 8701)."""
    return (
        tuple(sorted(kind for kind in extensions if kind not in _PER_TRY and not _grease(kind))),
        tuple(sorted(cipher for cipher in ciphers if not _grease(cipher))),
        tuple(name for name in protocols if not (len(name) == 2 and _grease(int.from_bytes(name)))),
    )


def _grease(value: int) -> bool:
    return value & 0x0F0F == 0x0A0A and value >> 8 == value & 0xFF


@mutable
class _Known:
    trusts: bool = False
    doubted: float = -LET_THROUGH  # when it left last, whatever for
    once: float = -LET_THROUGH  # until then its next try goes through
    until: float = -LET_THROUGH  # until then all do


class Refusals:
    """What is known of clients; `now` tells seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._clients: dict[Client, _Known] = {}

    def trusts(self, client: Client) -> None:
        """It sent a request over a connection that has our certificate."""
        self._of(client).trusts = True

    def seen(self, client: Client, sign: Sign) -> bool:
        """A client seems to refuse. Returns whether its next try is let through, so that the user is told."""
        known, now = self._of(client), self._now()
        before, known.doubted = known.doubted, now
        again = now - before < (LET_THROUGH if sign is Sign.LEFT else SOON)
        if sign is not Sign.REFUSED and (known.trusts or (sign is Sign.SILENT and not again)):
            return False
        if known.trusts or not (again or sign is Sign.REFUSED):
            known.once = now + SOON
        else:
            known.until = now + LET_THROUGH
        return True

    def lets_through(self, client: Client) -> bool:
        """Whether this try of a client goes by us."""
        known = self._clients.get(client)
        now = self._now()
        if known is None or now >= max(known.once, known.until):
            return False
        known.once = now
        return True

    def _of(self, client: Client) -> _Known:
        known = self._clients.pop(client, None) or _Known()
        self._clients[client] = known  # the one seen last is the last to be forgotten
        if len(self._clients) > MAX_CLIENTS:
            del self._clients[next(iter(self._clients))]
        return known
