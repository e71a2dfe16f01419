"""Runs a real mitmdump with the addon as a process: started, awaited, and always ended.

    with Mitmdump({"toolmend_hosts": "localhost"}, confdir=folder) as proxy:
        proxy.url, proxy.port, proxy.ca, proxy.log

As in process.py, the process is gone after the block, with time to finish its recordings. It also ends if this process is killed,
because it holds the other end of a pipe.
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
    "listen_port": "0",  # any free port
    "connection_strategy": "lazy",  # answers a CONNECT even if the host cannot be reached
    "tcp_timeout": "3600",  # a thinking model may be silent for longer than the default 600 s
}

GUARD = """
import ctypes, os, signal, stat, threading
def guard():
    while os.read(0, 1024):
        pass
    for number in (1, 2):  # the reader is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(15)
    os._exit(1)
if stat.S_ISFIFO(os.fstat(0).st_mode):
    try:
        ctypes.CDLL(None).mallopt(-8, 1)  # no malloc arena for this thread: see process_tuning.py
    except Exception:
        pass
    threading.Thread(target=guard, daemon=True).start()
"""
"""Runs first in the process: if standard input is a pipe, ends the process in good order when the pipe's other end closes."""

COMMAND = (sys.executable, "-u", "-P", "-c", f"{GUARD}from mitmproxy.tools.main import mitmdump; mitmdump()")
"""The mitmdump of this environment. -P: imports nothing from the working directory. -u: its log is unbuffered."""

READY = "toolmend: listens"
"""The addon's log line when everything is ready. mitmdump listens before it ends for a script's error, so that is not enough."""

LISTENING = r"proxy (?:to \S+ |\(upstream mode\) )?listening at \S+:(\d+)"


class ProxyError(ProcessError):
    """mitmdump did not do what was awaited; the message has the end of its log."""


def addon_path() -> Path:
    """Returns the file for `mitmdump -s`: next to the package in a checkout, inside it when installed."""
    package = Path(__file__).resolve().parents[2]
    inside = package / "main.py"
    return inside if inside.exists() else package.parent / "main.py"


def arguments(options: Mapping[str, str], scripts: Sequence[Path]) -> list[str]:
    """Returns the arguments for COMMAND: each option becomes `--set name=value`."""
    words = [word for name, value in options.items() for word in ("--set", f"{name}={value}")]
    return words + [word for script in scripts for word in ("-s", str(script))]


class Mitmdump(Process):
    """A mitmdump process that listens on 127.0.0.1 while the `with` block runs.

    Args:
        options: mitmproxy options; they override `OPTIONS`.
        confdir: The folder of its CA, which is created if needed.
        scripts: The scripts that it loads; by default the addon.
        ready: A pattern in its log that means it is ready.
        env: Its environment; by default that of this process.

    Raises:
        ProxyError: It ended or was not ready in time.
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
        """The certificate that clients must trust."""
        return self.confdir / "mitmproxy-ca-cert.pem"

    def environment(self, given: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Returns the variables that send a client through this proxy and make it trust the CA; writes the CA bundle."""
        bundle = write_bundle(self.confdir / "toolmend-ca-bundle.pem", self.ca, given=given)
        return variables(self.url, self.ca, bundle, given)

    def __enter__(self) -> Self:
        with suppress(OSError):  # mitmdump reports the same problem better
            private(self.confdir)  # mitmproxy would create it with the umask's permissions
        return super().__enter__()

    def _started(self) -> None:
        self.port = int(self.wait_for(LISTENING)[1])
