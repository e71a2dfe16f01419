"""The self-test: sends a leaked stream through a real mitmdump with the addon, and checks that the client gets a call.

    upstream on loopback ─TLS─ mitmdump, the addon ─TLS─ http.client

Only the provider is simulated. The recordings go to a temporary folder; nothing else is touched.
"""

import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ...recordings.playback.server import Script, Upstream, make_certificate
from ..launcher import sample_stream
from ..launcher.environment import original
from ..launcher.proxy import Mitmdump, ProxyError, addon_path
from ..launcher.trust import KEY
from .finding import Finding, Machine, Proxy, fault, ok, warning
from .interception import PROBE_ERRORS, probe

CONFLICT = " mitmproxy's "
"""Part of the addon's warnings about options that prevent its work: see conflicts.py."""

PATIENCE = 10.0
"""Seconds for each step; generous, for a slow machine."""


def self_test(machine: Machine) -> Iterator[Finding]:
    """Runs a separate proxy, with the user's CA if there is one."""
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
                    answer, _ = probe(Proxy("http", "127.0.0.1", proxy.port), proxy.ca, "localhost", upstream.port, PATIENCE)
            except ProxyError as error:
                yield fault(f"mitmdump does not start with the addon: {_last(str(error))}", by_hand)
                return
            except PROBE_ERRORS as error:
                yield fault(f"no response came through mitmdump with the addon: {type(error).__name__}: {error}", by_hand)
                return
            addon_lines = [line for line in proxy.log.splitlines() if "toolmend:" in line]
        recorded = any(folder.glob("flows/*/*/meta.json"))
    if answer != sample_stream.EXPECTED:
        why = addon_lines[-1].partition("toolmend:")[2].strip() if addon_lines else "the addon logged nothing"
        yield fault(f"a leaked call was not mended ({why}); the client got {answer}", "toolmend bug-report")
    elif not recorded:
        yield fault("a leaked call was mended, but nothing was recorded", "toolmend bug-report")
    else:
        took = time.monotonic() - started
        yield ok(f"a leaked call was mended through a real mitmdump, and recorded ({took:.1f} s)")
    config = shlex.quote(str(machine.confdir / "config.yaml"))
    for line in addon_lines:
        if CONFLICT in line:  # set in config.yaml for all mitmproxies, so `toolmend run` has the same problem
            yield warning(CONFLICT.lstrip() + line.partition(CONFLICT)[2].rstrip(), f"$EDITOR {config}")


def _confdir(machine: Machine, folder: Path) -> Path:
    """Returns the user's confdir, or a temporary one if it has no CA yet, so that none is created."""
    if (machine.confdir / KEY).exists() and machine.ca.exists():
        return machine.confdir
    return folder / "mitmproxy"


def _env(machine: Machine) -> dict[str, str]:
    """Returns the environment without toolmend's settings: another check covers them, and they could switch mending off."""
    return {name: value for name, value in original(machine.environ).items() if not name.startswith("TOOLMEND_")}


def _last(text: str) -> str:
    """Returns the last line that is not blank."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), text)
