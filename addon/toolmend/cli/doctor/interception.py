"""The probe: a request that only toolmend can answer, sent the way that a client goes.

    CONNECT probe.toolmend.invalid:443, TLS with our CA, POST /v1/chat/completions   ─►   a leaked stream, mended

A proxy that lives, and takes connections, may yet be another one, or have another CA, or not load the addon: see probe.py.

Rule of this file: the client is the standard library, and judges by what it got.
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
from .shell import ENV, answers

HOST = "probe.toolmend.invalid"
HEADER = "x-toolmend"
PATIENCE = 2.0
"""Seconds for each step of the probe."""

WRONG = (OSError, http.client.HTTPException, ValueError, LookupError, TypeError, AttributeError)
"""What a peer can make of a client that reads JSON."""


def background(_: Machine) -> Iterator[Finding]:
    """The proxy that `toolmend start` has left running."""
    found = running()
    if found is None:
        yield ok("no proxy runs in the background")
        return
    told = f"the proxy in the background (process {found.pid}, {found.url})"
    proxy = proxy_of(found.url)
    if proxy is None or not answers(proxy.host, proxy.port):
        yield fault(f"{told} takes no connections", "toolmend stop && toolmend start")
    else:
        yield _probed(proxy, found.ca, told, "toolmend stop && toolmend start")


def shell(machine: Machine) -> Iterator[Finding]:
    """The proxies that this shell points to, where they live."""
    given = [(proxy, " ".join(names)) for url, names in machine.proxies().items() if (proxy := proxy_of(url))]
    alive = {proxy: names for proxy, names in given if answers(proxy.host, proxy.port)}
    for proxy, names in alive.items():
        if proxy.scheme != "http":
            yield warning(f"{names}: a proxy of {proxy.scheme} cannot be probed", "toolmend run -- COMMAND")
        else:
            yield _probed(proxy, machine.ca, f"the proxy at {proxy.url} ({names})", ENV if machine.sent else "")
    if not alive:
        yield ok("this shell has no proxy to send a probe through")


def ask(
    proxy: Proxy, ca: Path, host: str = HOST, port: int = 443, seconds: float = PATIENCE
) -> tuple[sample_stream.SampleAnswer, str]:
    """What comes back through a proxy, and which toolmend says so, in which mode. Raises one of WRONG."""
    trusting = ssl.create_default_context(cafile=ca)
    connection = http.client.HTTPSConnection(proxy.host, proxy.port, timeout=seconds, context=trusting)
    try:
        connection.set_tunnel(host, port, {"Proxy-Authorization": f"Basic {_coded(proxy.user)}"} if proxy.user else None)
        return _post(connection, sample_stream.PATH)
    finally:
        connection.close()


def ask_plain(proxy: Proxy) -> tuple[sample_stream.SampleAnswer, str]:
    """The same without TLS: an answer says that it is toolmend, and that it is TLS that fails. Raises one of WRONG."""
    connection = http.client.HTTPConnection(proxy.host, proxy.port, timeout=PATIENCE)
    try:
        more = {"Proxy-Authorization": f"Basic {_coded(proxy.user)}"} if proxy.user else {}
        return _post(connection, f"http://{HOST}{sample_stream.PATH}", more)
    finally:
        connection.close()


def _post(
    connection: http.client.HTTPConnection, url: str, headers: dict[str, str] | None = None
) -> tuple[sample_stream.SampleAnswer, str]:
    connection.request("POST", url, json.dumps(sample_stream.REQUEST), {"content-type": "application/json", **(headers or {})})
    response = connection.getresponse()
    if response.status != 200:
        raise OSError(f"the answer was {response.status} {response.reason}")
    return sample_stream.answer(response), response.getheader(HEADER, "")


def _probed(proxy: Proxy, ca: Path, who: str, try_: str) -> Finding:
    """`try_`: where it has to be a toolmend, what else makes it one."""
    try:
        answer, said = ask(proxy, ca)
    except (FileNotFoundError, ssl.SSLCertVerificationError) as error:
        if not proxy.local:
            return _why(proxy, who, try_, error)
        if isinstance(error, ssl.SSLCertVerificationError):
            confdir = shlex.quote(str(ca.parent))
            return fault(f"{who} shows a certificate that is not signed by {ca}", f"mitmdump --set confdir={confdir}")
        return fault(f"{who} answers, but there is no CA {ca} to trust it by", "toolmend ca path")
    except WRONG as error:
        return _why(proxy, who, try_, error)
    version, _, mode = said.partition(" ")
    if not version:
        return warning(f"{who} answers, but it is no toolmend: nothing is mended there", "toolmend run -- COMMAND")
    if mode == "observe":
        return warning(f"{who} is toolmend {version}, which only observes: nothing is mended", "toolmend config show")
    if answer.calls != sample_stream.EXPECTED.calls:
        return fault(f"{who} is toolmend {version}, but a leaked call was not mended: is it off?", "toolmend config show")
    if version != __version__:
        return warning(f"{who} mends, but it is toolmend {version}, and this is {__version__}", "toolmend stop && toolmend start")
    return ok(f"{who} mends: a probe went through it")


def _why(proxy: Proxy, who: str, try_: str, error: Exception) -> Finding:
    """What a probe that failed is told by one without TLS."""
    try:
        _, said = ask_plain(proxy) if not isinstance(error, TimeoutError) else (None, "")
    except WRONG:
        said = ""
    if said:
        return warning(
            f"{who} is toolmend {said.partition(' ')[0]}, but does not take a host that cannot be reached ({error})",
            "mitmdump -s $(toolmend addon-path) --set connection_strategy=lazy",
        )
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if try_:
        return fault(f"{who} does not answer as toolmend does ({reason})", try_)
    if proxy.local:
        return warning(f"{who} is no toolmend ({reason}): nothing of this shell is mended", "toolmend run -- COMMAND")
    return ok(f"{who} is no toolmend, perhaps a company's: toolmend run goes through it")


def _coded(user: str) -> str:
    return b64encode(user.encode()).decode()


