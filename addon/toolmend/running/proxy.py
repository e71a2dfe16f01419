"""A real mitmdump with the addon, as a process of its own: started, waited for, and always ended.

    with Mitmdump({"toolmend_hosts": "localhost"}, confdir=folder) as proxy:
        proxy.url, proxy.port, proxy.ca, proxy.log

The rule: whatever happens inside the block or on the way into it, Ctrl-C included, the process is gone after it. It is
ended by its own id, with SIGTERM, so that it can finish its recordings; with SIGKILL if it does not. It has a session of its
own, so the terminal's Ctrl-C is not meant for it; and it holds the other end of a pipe of ours, so it ends also if we are killed.
"""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from ..config.data_folder import private
from .certificates import write_bundle
from .environment import variables

OPTIONS = {
    "listen_host": "127.0.0.1",
    "listen_port": "0",  # any that is free
    "connection_strategy": "lazy",  # a client's CONNECT is answered also where the host itself cannot be reached
    "tcp_timeout": "3600",  # a model that thinks is silent for longer than the 600 seconds that are usual
}

GUARD = """
import os, signal, stat, threading
def guard():
    while os.read(0, 1024):
        pass
    for number in (1, 2):  # nobody reads there any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(15)
    os._exit(1)
if stat.S_ISFIFO(os.fstat(0).st_mode):
    threading.Thread(target=guard, daemon=True).start()
"""
"""What the process runs first: where its standard input is a pipe, it ends, in good order, when the pipe's other end is gone."""

COMMAND = (sys.executable, "-u", "-P", "-c", f"{GUARD}from mitmproxy.tools.main import mitmdump; mitmdump()")
"""The mitmdump of this environment. -P: nothing is imported from the working directory. -u: its log comes at once."""

READY = "toolmend: listens"
"""What the addon says when all of it is at work. mitmdump listens before it ends for a script's error, so that is not enough."""

LISTENING = r"proxy (?:to \S+ |\(upstream mode\) )?listening at \S+:(\d+)"

START = 60.0
"""Seconds until it must listen; half a second is usual, a loaded machine that makes its first CA takes longer."""

GRACE = 15.0
"""Seconds between SIGTERM and SIGKILL: more than the recorder's bound for finishing."""

MAX_LINES = 20_000
"""Of the log, that are kept: some megabytes. An agent may run for weeks."""


class ProxyError(RuntimeError):
    """mitmdump did not do what was waited for; the message ends with what it said last."""


def addon_path() -> Path:
    """The file for `mitmdump -s`: beside the package in a checkout, inside it where it is installed."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "main.py"
    return inside if inside.exists() else package.parent / "main.py"


def arguments(options: Mapping[str, str], scripts: Sequence[Path]) -> list[str]:
    """What stands behind COMMAND: each option becomes `--set name=value`."""
    words = [word for name, value in options.items() for word in ("--set", f"{name}={value}")]
    return words + [word for script in scripts for word in ("-s", str(script))]


class Mitmdump:
    """One mitmdump process, listening on 127.0.0.1 while the `with` block runs.

    options: mitmproxy options beside, and before, `OPTIONS`.
    confdir: where its CA is kept, or made.
    scripts: what it loads; by default the addon.
    ready: a pattern for what it says when all of that is at work.
    env: its own environment; by default ours.
    Raises ProxyError if it ends, or does not get ready, at the start.
    """

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
        self.ready = ready
        self.env = env
        self.port = 0
        self._lines: list[str] = []
        self._dropped = 0  # lines in front of those
        self._ended = False
        self._news = threading.Condition()

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

    @property
    def log(self) -> str:
        """All that it has said so far."""
        with self._news:
            return "".join(self._lines)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative if a signal ended it."""
        return self._process.poll()

    def wait_for(self, pattern: str, seconds: float = 10.0) -> re.Match[str]:
        """Wait until a regular expression is found in the log. Raises ProxyError if that takes longer, or it ends."""
        with self._news:
            self._news.wait_for(lambda: self._ended or re.search(pattern, "".join(self._lines)), seconds)
            log, ended = "".join(self._lines), self._ended
        if found := re.search(pattern, log):
            return found
        what = f"mitmdump ended with exit code {self._process.wait()}" if ended else f"mitmdump did not say {pattern!r}"
        raise ProxyError(f"{what}; its last words:\n{tail(log)}")

    def follow(self) -> Iterator[str]:
        """Every line of the log from here on, until the process ends."""
        at = self._dropped + len(self._lines)
        while new := self._behind(at):
            yield from new
            at += len(new)

    def stop(self) -> None:
        """End the process and wait until it is gone; harmless when it is."""
        try:
            self._process.terminate()
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join()
            assert self._process.stdin is not None
            self._process.stdin.close()

    def __enter__(self) -> Self:
        with suppress(OSError):  # mitmdump tells it better
            private(self.confdir)  # mitmproxy makes it as the umask says
        self._process = subprocess.Popen(
            [*COMMAND, *arguments(self.options, self.scripts)],
            env=self.env,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, name="mitmdump log", daemon=True)
        self._reader.start()
        try:
            self.wait_for(self.ready, START)
            self.port = int(self.wait_for(LISTENING)[1])
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _behind(self, at: int) -> list[str]:
        """The lines from the `at`-th on, when there are any; none at the end."""
        with self._news:
            self._news.wait_for(lambda: self._ended or self._dropped + len(self._lines) > at)
            return self._lines[max(0, at - self._dropped) :]

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with self._news:
                    self._lines.append(line)
                    if len(self._lines) > MAX_LINES:
                        self._dropped += MAX_LINES // 2
                        del self._lines[: MAX_LINES // 2]
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()


def tail(log: str, lines: int = 15) -> str:
    """The last lines of a log."""
    return "\n".join(log.splitlines()[-lines:])
