"""The proof: a leaked stream goes through a real mitmdump with the addon, and the client gets a call.

    upstream on loopback ─TLS─ mitmdump, the addon ─TLS─ http.client

Rule of this file: all of it is real but the provider; what it records is gone with it, and nothing else is touched.
"""

import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ...recordings.playback.server import Script, Upstream, make_certificate
from ..launcher import sample_stream
from ..launcher.environment import before
from ..launcher.proxy import Mitmdump, ProxyError, addon_path
from ..launcher.trust import KEY
from .finding import Finding, Machine, Proxy, fault, ok, warning
from .interception import WRONG, ask

CONFLICT = " mitmproxy's "
"""In the addon's warnings of options that keep it from its work: see conflicts.py."""

PATIENCE = 10.0
"""Seconds for each step: it is the machine that is slow, if anything is."""


def self_test(machine: Machine) -> Iterator[Finding]:
    """A proxy of its own, with the user's CA where there is one."""
    started = time.monotonic()
    by_hand = f"mitmdump -s {addon_path()}"
    with TemporaryDirectory(prefix="toolmend-doctor-") as scratch:
        folder = Path(scratch)
        certificate = make_certificate(folder)
        script = Script(tuple((0.0, event) for event in sample_stream.events()))
        with Upstream([script], tls=certificate, alpn=["http/1.1"]) as upstream:
            options = {
                "toolmend_hosts": f"localhost:{upstream.port}",
                "toolmend_config": "off",
                "toolmend_flows": str(folder / "flows"),
                "ssl_verify_upstream_trusted_ca": str(certificate[0]),
            }
            try:
                with Mitmdump(options, confdir=_confdir(machine, folder), env=_env(machine)) as proxy:
                    answer, _ = ask(Proxy("http", "127.0.0.1", proxy.port), proxy.ca, "localhost", upstream.port, PATIENCE)
            except ProxyError as error:
                yield fault(f"mitmdump does not start with the addon: {_last(str(error))}", by_hand)
                return
            except WRONG as error:
                yield fault(f"nothing came back through a mitmdump with the addon: {type(error).__name__}: {error}", by_hand)
                return
            said = [line for line in proxy.log.splitlines() if "toolmend:" in line]
        recorded = any(folder.glob("flows/*/*/meta.json"))
    if answer != sample_stream.EXPECTED:
        why = said[-1].partition("toolmend:")[2].strip() if said else "the addon said nothing"
        yield fault(f"a leaked call was not mended on its way ({why}); the client got {answer}", "toolmend bug-report")
    elif not recorded:
        yield fault("a leaked call was mended on its way, but nothing was recorded", "toolmend bug-report")
    else:
        took = time.monotonic() - started
        yield ok(f"a leaked call was mended on its way through a real mitmdump, and recorded ({took:.1f} s)")
    config = shlex.quote(str(machine.confdir / "config.yaml"))
    for line in said:
        if CONFLICT in line:  # what the user has told all mitmproxies, so that of `toolmend run` as well
            yield warning(CONFLICT.lstrip() + line.partition(CONFLICT)[2].rstrip(), f"$EDITOR {config}")


def _confdir(machine: Machine, folder: Path) -> Path:
    """The user's; a new one where there is no CA yet, as nothing is made here."""
    if (machine.confdir / KEY).exists() and machine.ca.exists():
        return machine.confdir
    return folder / "mitmproxy"


def _env(machine: Machine) -> dict[str, str]:
    """Without settings: they are looked at elsewhere, and here would say that nothing is to be mended."""
    return {name: value for name, value in before(machine.environ).items() if not name.startswith("TOOLMEND_")}


def _last(text: str) -> str:
    """The last line that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), text)
