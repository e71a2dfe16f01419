"""Decides which TLS connections mitmproxy opens: those to hosts of LLM APIs. The rest is tunnelled with the server's certificate.

    tls_clienthello      decides by the host that the client goes to
    tls_failed_client    the client rejected the certificate          client_disconnected  possibly rejected: no request was sent
    requestheaders       the client accepted the certificate

1. A connection to a host that is not known to be an LLM's is not opened.
2. After a client rejects the certificate, its next connection is tunnelled, and a warning is logged.
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
from .tls_rejections import ClientFingerprint, Sign, TlsRejections, stack_of

logger = logging.getLogger(__name__)

PROBES = "*.toolmend.invalid"
"""Hosts that do not exist: `toolmend doctor` requests them to detect whether a proxy is active."""

MAX_LOGGED = 1000
"""Bound of the hosts that are logged once as tunnelled."""

_NO_COMMON_TLS = ("no shared cipher", "unsupported protocol", "no suitable")
"""Parts of OpenSSL's messages about a client that shares no protocol or cipher with the proxy."""


class Interception:
    """The addon; `toolmend` has the settings."""

    def __init__(self, toolmend: Toolmend) -> None:
        self._toolmend = toolmend
        self._rejections = TlsRejections(time.monotonic)
        self._open: dict[str, ClientFingerprint] = {}  # connections by id that have sent no request yet
        self._logged: set[str] = set()

    def running(self) -> None:
        for mode in map(ProxyMode.parse, ctx.options.mode):
            if isinstance(mode, ReverseMode) and mode.scheme in ("https", "tls") and not self._is_intercepted(mode, None, None):
                host = mode.address[0]
                message = "is not a known LLM host, so its TLS is not opened"
                logger.warning("toolmend: %s %s; try: --set toolmend_hosts=%s", host, message, host)

    def tls_clienthello(self, data: ClientHelloData) -> None:
        client, address, sni = data.context.client, data.context.server.address, data.client_hello.sni
        if address is None or data.ignore_connection:  # TLS to the proxy itself; or another addon has decided
            return
        host = sni or address[0]
        if not self._is_intercepted(client.proxy_mode, address, sni):
            data.ignore_connection = True
            self._log_tunnelled(host)
            return
        if hosts.fits(*hosts.split_port(host), PROBES):  # doctor's probe reports the outcome itself
            return
        hello = data.client_hello
        stack = stack_of((kind for kind, _ in hello.extensions), hello.cipher_suites, hello.alpn_protocols)
        fingerprint = ClientFingerprint(str(client.peername[0]), host, stack)
        if self._rejections.is_tunnelled(fingerprint):
            data.ignore_connection = True
            logger.info("toolmend: %s: a connection is tunnelled, its client rejected the certificate", flow_info.printable(host))
        else:
            self._open[client.id] = fingerprint

    def tls_failed_client(self, data: TlsData) -> None:
        fingerprint = self._open.pop(data.context.client.id, None)
        if fingerprint and (sign := sign_of(data.conn.error or "")):
            self._record_sign(fingerprint, sign)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if fingerprint := self._open.pop(flow.client_conn.id, None):
            self._rejections.mark_trusted(fingerprint)

    def client_disconnected(self, client: connection.Client) -> None:
        fingerprint = self._open.pop(client.id, None)
        if fingerprint and client.tls_established:
            self._record_sign(fingerprint, Sign.SILENT)

    def _is_intercepted(self, mode: ProxyMode, address: tuple[str, int] | None, sni: str | None) -> bool:
        settings, options = self._toolmend.settings, ctx.options
        if settings.intercept == "all" or options.allow_hosts:  # mitmproxy has applied allow_hosts before
            return True
        if options.onboarding and sni == options.onboarding_host:  # mitmproxy's own page
            return True
        return is_wanted(settings, mode, address, sni)

    def _record_sign(self, fingerprint: ClientFingerprint, sign: Sign) -> None:
        if self._rejections.record_sign(fingerprint, sign):
            logger.warning(
                "toolmend: %s: a client %s; it is tunnelled for a while, and nothing of it is mended or recorded. "
                "It has to trust the CA, by NODE_EXTRA_CA_CERTS, SSL_CERT_FILE or an option of its own; try: toolmend doctor",
                *(flow_info.printable(fingerprint.host), sign.value),
            )

    def _log_tunnelled(self, host: str) -> None:
        if host not in self._logged and len(self._logged) < MAX_LOGGED:
            self._logged.add(host)
            logger.info("toolmend: %s is not an LLM host: tunnelled", flow_info.printable(host))


def is_wanted(settings: Settings, mode: ProxyMode, address: tuple[str, int] | None, sni: str | None) -> bool:
    """Returns whether a client goes to an LLM host.

    Args:
        settings: The current settings.
        mode: mitmproxy's mode of the connection. In reverse mode the user has named the host, and the client calls this proxy.
        address: The host that the client asked the proxy for; in transparent mode an IP address. None: unknown.
        sni: The server name of the client's TLS. It decides if `address` is an IP address. If both are names, both must be an
            LLM host's, since a request may be sent to either.
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
    """Returns what mitmproxy's message about a failed handshake implies about the client, or None."""
    why = error.rpartition("(")[2]  # the part before may contain a name that the client chose
    if "alert" in why or any(text in why for text in _NO_COMMON_TLS):
        return Sign.REFUSED
    return Sign.LEFT if error.startswith("The client disconnected during the handshake") else None
