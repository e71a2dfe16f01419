"""The probe: a request that only toolmend can answer, sent through a proxy like a client's.

    CONNECT probe.toolmend.invalid:443, TLS with the proxy's CA, POST /v1/chat/completions   ─►   a leaked stream, mended

A proxy that accepts connections may still be another program, have another CA, or not have loaded the addon: see probe.py. The
client is the standard library's.
"""

import http.client
import json
import shlex
import ssl
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

from ... import __version__
from ..launcher import sample_stream
from ..launcher.background import running
from .finding import Finding, Machine, Proxy, fault, ok, proxy_of, warning
from .shell import ENV, accepts_connections

HOST = "probe.toolmend.invalid"
HEADER = "x-toolmend"
PATIENCE = 2.0
"""Seconds for each step of the probe."""

PROBE_ERRORS = (OSError, http.client.HTTPException, ValueError, LookupError, TypeError, AttributeError)
"""Exceptions that a peer can cause in a client that parses JSON."""


def background(_: Machine) -> Iterator[Finding]:
    """Probes the proxy that `toolmend start` runs in the background."""
    found = running()
    if found is None:
        yield ok("no proxy runs in the background")
        return
    subject = f"the background proxy (process {found.pid}, {found.url})"
    proxy = proxy_of(found.url)
    if proxy is None or not accepts_connections(proxy.host, proxy.port):
        yield fault(f"{subject} accepts no connections", "toolmend stop && toolmend start")
    else:
        yield _probe_finding(proxy, found.ca, subject, "toolmend stop && toolmend start")


def shell(machine: Machine) -> Iterator[Finding]:
    """Probes the proxies that this shell points to and that accept connections."""
    given = [(proxy, " ".join(names)) for url, names in machine.proxies().items() if (proxy := proxy_of(url))]
    alive = {proxy: names for proxy, names in given if accepts_connections(proxy.host, proxy.port)}
    for proxy, names in alive.items():
        if proxy.scheme != "http":
            yield warning(f"{names}: a {proxy.scheme} proxy cannot be probed", "toolmend run -- COMMAND")
        else:
            yield _probe_finding(
                proxy, machine.ca, f"the proxy at {proxy.url} ({names})", ENV if machine.is_set_by_toolmend else ""
            )
    if not alive:
        yield ok("this shell has no proxy to send a probe through")


def probe(
    proxy: Proxy, ca: Path, host: str = HOST, port: int = 443, seconds: float = PATIENCE
) -> tuple[sample_stream.SampleAnswer, str]:
    """Sends a probe through a proxy, with TLS.

    Args:
        proxy: The proxy.
        ca: Its CA.
        host: The host to call.
        port: The host's port.
        seconds: The timeout of each step.

    Returns:
        The response, and the header by which toolmend states its version and mode.

    Raises:
        Exception: One of WRONG.
    """
    trusting = ssl.create_default_context(cafile=ca)
    connection = http.client.HTTPSConnection(proxy.host, proxy.port, timeout=seconds, context=trusting)
    try:
        connection.set_tunnel(host, port, {"Proxy-Authorization": f"Basic {_base64(proxy.user)}"} if proxy.user else None)
        return _post(connection, sample_stream.PATH)
    finally:
        connection.close()


def probe_without_tls(proxy: Proxy) -> tuple[sample_stream.SampleAnswer, str]:
    """Sends a probe without TLS: a response proves that the proxy is toolmend and that TLS is what fails. Raises one of WRONG."""
    connection = http.client.HTTPConnection(proxy.host, proxy.port, timeout=PATIENCE)
    try:
        more = {"Proxy-Authorization": f"Basic {_base64(proxy.user)}"} if proxy.user else {}
        return _post(connection, f"http://{HOST}{sample_stream.PATH}", more)
    finally:
        connection.close()


def _post(
    connection: http.client.HTTPConnection, url: str, headers: dict[str, str] | None = None
) -> tuple[sample_stream.SampleAnswer, str]:
    connection.request("POST", url, json.dumps(sample_stream.REQUEST), {"content-type": "application/json", **(headers or {})})
    response = connection.getresponse()
    if response.status != 200:
        raise OSError(f"the status was {response.status} {response.reason}")
    return sample_stream.fold(response), response.getheader(HEADER, "")


def _probe_finding(proxy: Proxy, ca: Path, name: str, try_: str) -> Finding:
    """Probes a proxy. `try_`: the command that repairs it if it has to be toolmend; else empty."""
    try:
        answer, stated = probe(proxy, ca)
    except (FileNotFoundError, ssl.SSLCertVerificationError) as error:
        if not proxy.local:
            return _failure(proxy, name, try_, error)
        if isinstance(error, ssl.SSLCertVerificationError):
            confdir = shlex.quote(str(ca.parent))
            return fault(f"{name} presents a certificate that is not signed by {ca}", f"mitmdump --set confdir={confdir}")
        return fault(f"{name} responds, but its CA {ca} does not exist", "toolmend ca path")
    except PROBE_ERRORS as error:
        return _failure(proxy, name, try_, error)
    version, _, mode = stated.partition(" ")
    if not version:
        return warning(f"{name} responds, but is not toolmend: nothing is mended there", "toolmend run -- COMMAND")
    if mode == "observe":
        return warning(f"{name} is toolmend {version}, which only observes: nothing is mended", "toolmend config show")
    if answer.calls != sample_stream.EXPECTED.calls:
        return fault(f"{name} is toolmend {version}, but did not mend a leaked call: is it switched off?", "toolmend config show")
    if version != __version__:
        return warning(f"{name} mends, but is toolmend {version}, and this is {__version__}", "toolmend stop && toolmend start")
    return ok(f"{name} mends: a probe passed through it")


def _failure(proxy: Proxy, name: str, try_: str, error: Exception) -> Finding:
    """Returns why a probe failed, found out by a second one without TLS."""
    try:
        _, stated = probe_without_tls(proxy) if not isinstance(error, TimeoutError) else (None, "")
    except PROBE_ERRORS:
        stated = ""
    if stated:
        return warning(
            f"{name} is toolmend {stated.partition(' ')[0]}, but refuses hosts that cannot be reached ({error})",
            "mitmdump -s $(toolmend addon-path) --set connection_strategy=lazy",
        )
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if try_:
        return fault(f"{name} does not respond like toolmend ({reason})", try_)
    if proxy.local:
        return warning(f"{name} is not toolmend ({reason}): nothing from this shell is mended", "toolmend run -- COMMAND")
    return ok(f"{name} is not toolmend, perhaps a company's: toolmend run connects through it")


def _base64(user: str) -> str:
    return b64encode(user.encode()).decode()
