"""A real mitmdump with the addon, as a process of its own: started, waited for, and always ended.

    with Mitmdump({"toolmend_hosts": "localhost"}, confdir=folder) as proxy:
        proxy.url, proxy.port, proxy.ca, proxy.log

The rule is that of process.py: whatever happens, the process is gone after the block, and has had time to finish its
recordings; and it holds the other end of a pipe of ours, so it ends also if we are killed.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from ...config.data_folder import private
from .certificates import write_bundle
from .environment import variables
from .process import Process, ProcessError

OPTIONS = {
    "listen_host": "127.0.0.1",
    "listen_port": "0",  # any that is free
    "connection_strategy": "lazy",  # a client's CONNECT is answered also where the host itself cannot be reached
    "tcp_timeout": "3600",  # a model that thinks is silent for longer than the 600 seconds that are usual
}

GUARD = """
import ctypes, os, signal, stat, threading
def guard():
    while os.read(0, 1024):
        pass
    for number in (1, 2):  # nobody reads there any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(15)
    os._exit(1)
if stat.S_ISFIFO(os.fstat(0).st_mode):
    try:
        ctypes.CDLL(None).mallopt(-8, 1)  # the thread has no heap of its own: see process_tuning.py
    except Exception:
        pass
    threading.Thread(target=guard, daemon=True).start()
"""
"""What the process runs first: where its standard input is a pipe, it ends, in good order, when the pipe's other end is gone."""

COMMAND = (sys.executable, "-u", "-P", "-c", f"{GUARD}from mitmproxy.tools.main import mitmdump; mitmdump()")
"""The mitmdump of this environment. -P: nothing is imported from the working directory. -u: its log comes at once."""

READY = "toolmend: listens"
"""What the addon says when all of it is at work. mitmdump listens before it ends for a script's error, so that is not enough."""

LISTENING = r"proxy (?:to \S+ |\(upstream mode\) )?listening at \S+:(\d+)"


class ProxyError(ProcessError):
    """mitmdump did not do what was waited for; the message ends with what it said last."""


def addon_path() -> Path:
    """The file for `mitmdump -s`: beside the package in a checkout, inside it where it is installed."""
    package = Path(__file__).resolve().parents[2]
    inside = package / "main.py"
    return inside if inside.exists() else package.parent / "main.py"


def arguments(options: Mapping[str, str], scripts: Sequence[Path]) -> list[str]:
    """What stands behind COMMAND: each option becomes `--set name=value`."""
    words = [word for name, value in options.items() for word in ("--set", f"{name}={value}")]
    return words + [word for script in scripts for word in ("-s", str(script))]


class Mitmdump(Process):
    """One mitmdump process, listening on 127.0.0.1 while the `with` block runs.

    options: mitmproxy options beside, and before, `OPTIONS`.
    confdir: where its CA is kept, or made.
    scripts: what it loads; by default the addon.
    ready: a pattern for what it says when all of that is at work.
    env: its own environment; by default ours.
    Raises ProxyError if it ends, or does not get ready, at the start.
    """

    error = ProxyError
    stdin, stderr = subprocess.PIPE, subprocess.STDOUT

    def __init__(
        self,
        options: Mapping[str, str],
        *,
        confdir: Path,
        scripts: Sequence[Path] | None = None,
        ready: str = READY,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.confdir = confdir
        self.options = {**OPTIONS, "confdir": str(confdir), **options}
        self.scripts = [addon_path()] if scripts is None else scripts
        self.port = 0
        super().__init__("mitmdump", [*COMMAND, *arguments(self.options, self.scripts)], ready, env)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ca(self) -> Path:
        """The certificate that a client has to trust."""
        return self.confdir / "mitmproxy-ca-cert.pem"

    def environment(self, given: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The variables that send a client through this proxy and make it trust the CA; writes the CA bundle."""
        bundle = write_bundle(self.confdir / "toolmend-ca-bundle.pem", self.ca, given=given)
        return variables(self.url, self.ca, bundle, given)

    def __enter__(self) -> Self:
        with suppress(OSError):  # mitmdump tells it better
            private(self.confdir)  # mitmproxy makes it as the umask says
        return super().__enter__()

    def _started(self) -> None:
        self.port = int(self.wait_for(LISTENING)[1])
