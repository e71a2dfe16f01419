"""Whose TLS is opened: that of hosts that speak an LLM API. All else is tunnelled: the client sees the server's own certificate.

    tls_clienthello      opened, or not: by where the client goes
    tls_failed_client    does the client refuse our certificate?    client_disconnected  did it leave without a word?
    requestheaders       it does not refuse

Rule of this file: what is not known to be an LLM's is not opened, and a client that refuses us is never in the way of itself: its
next try goes through, and the user is told.
"""

import logging
import time
from ipaddress import ip_address

from mitmproxy import connection, ctx, http
from mitmproxy.proxy.mode_specs import ProxyMode, ReverseMode
from mitmproxy.tls import ClientHelloData, TlsData

from ..config.settings import Settings
from ..providers import hosts
from . import flow_info
from .addon import Toolmend
from .tls_rejections import Client, Refusals, Sign, stack_of

logger = logging.getLogger(__name__)

PROBES = "*.toolmend.invalid"
"""Hosts that do not exist, for `toolmend doctor` to see whether a proxy is at work."""

MAX_TOLD = 1000
"""Hosts that are told of once as tunnelled; then it is nobody's reading."""

_DISAGREE = ("no shared cipher", "unsupported protocol", "no suitable")
"""What OpenSSL says of a client that cannot talk to us at all."""


class Interception:
    """The addon; `toolmend` has the settings."""

    def __init__(self, toolmend: Toolmend) -> None:
        self._toolmend = toolmend
        self._refusals = Refusals(time.monotonic)
        self._open: dict[str, Client] = {}  # connections by id that have not said anything yet
        self._told: set[str] = set()

    def running(self) -> None:
        for mode in map(ProxyMode.parse, ctx.options.mode):
            if isinstance(mode, ReverseMode) and mode.scheme in ("https", "tls") and not self._wants(mode, None, None):
                host = mode.address[0]
                wrong = "is no LLM host that toolmend knows, so its TLS is not opened"
                logger.warning("toolmend: %s %s; try: --set toolmend_hosts=%s", host, wrong, host)

    def tls_clienthello(self, data: ClientHelloData) -> None:
        client, address, sni = data.context.client, data.context.server.address, data.client_hello.sni
        if address is None or data.ignore_connection:  # TLS to the proxy itself; or another addon has told
            return
        host = sni or address[0]
        if not self._wants(client.proxy_mode, address, sni):
            data.ignore_connection = True
            self._log_tunnelled(host)
            return
        if hosts.fits(*hosts.split_port(host), PROBES):  # nobody else has an answer to it, and its sender tells what came of it
            return
        hello = data.client_hello
        stack = stack_of((kind for kind, _ in hello.extensions), hello.cipher_suites, hello.alpn_protocols)
        who = Client(str(client.peername[0]), host, stack)
        if self._refusals.lets_through(who):
            data.ignore_connection = True
            logger.info(
                "toolmend: %s: a connection goes by unread, its client refused our certificate", flow_info.printable(host)
            )
        else:
            self._open[client.id] = who

    def tls_failed_client(self, data: TlsData) -> None:
        who = self._open.pop(data.context.client.id, None)
        if who and (sign := sign_of(data.conn.error or "")):
            self._seen(who, sign)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if who := self._open.pop(flow.client_conn.id, None):
            self._refusals.trusts(who)

    def client_disconnected(self, client: connection.Client) -> None:
        who = self._open.pop(client.id, None)
        if who and client.tls_established:
            self._seen(who, Sign.SILENT)

    def _wants(self, mode: ProxyMode, address: tuple[str, int] | None, sni: str | None) -> bool:
        settings, given = self._toolmend.settings, ctx.options
        if settings.intercept == "all" or given.allow_hosts:  # what is not allowed there does not get here
            return True
        if given.onboarding and sni == given.onboarding_host:  # mitmproxy's own page
            return True
        return is_wanted(settings, mode, address, sni)

    def _seen(self, who: Client, sign: Sign) -> None:
        if self._refusals.seen(who, sign):
            logger.warning(
                "toolmend: %s: a client %s; it is let through for a while, and nothing of it is mended or recorded. "
                "It has to trust the CA: NODE_EXTRA_CA_CERTS, SSL_CERT_FILE or what it has for that; try: toolmend doctor",
                *(flow_info.printable(who.host), sign.value),
            )

    def _log_tunnelled(self, host: str) -> None:
        if host not in self._told and len(self._told) < MAX_TOLD:
            self._told.add(host)
            logger.info("toolmend: %s is no LLM host, it is tunnelled unread", flow_info.printable(host))


def is_wanted(settings: Settings, mode: ProxyMode, address: tuple[str, int] | None, sni: str | None) -> bool:
    """Whether the client goes to an LLM host.

    `address` is what it asked a proxy for, or, where it knows of no proxy, an address of the network; there the name that its TLS
    asks for tells. Where both are names, both must be an LLM host's: what is sent to either is for that one alone. In reverse
    mode the user has named the host, and the client calls it by ours.
    """
    if isinstance(mode, ReverseMode):
        return mode.scheme not in ("https", "tls") or _is_llm(settings, mode.address[0], mode.address[1])
    if address is None:
        return False
    host, port = address[:2]
    if sni is None:
        return _is_llm(settings, host, port)
    by_name = _is_llm(settings, sni, port)
    return by_name or _is_llm(settings, host, port) if _is_address(host) else by_name and _is_llm(settings, host, port)


def _is_llm(settings: Settings, host: str, port: int) -> bool:
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    globs = (*settings.hosts, PROBES)
    return hosts.known(name, globs) or any(route.on("https", host, port) for route in settings.routes)


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True


def sign_of(error: str) -> Sign | None:
    """What mitmproxy's words for a failed handshake say of the client; None: nothing."""
    why = error.rpartition("(")[2]  # what is before it may hold a name of the client's choice
    if "alert" in why or any(words in why for words in _DISAGREE):
        return Sign.REFUSED
    return Sign.LEFT if error.startswith("The client disconnected during the handshake") else None
