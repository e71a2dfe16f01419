"""The one background proxy for all terminals: `start` runs it, every command finds it, `stop` ends it.

    start(8665, options, confdir, scripts) -> BackgroundProxy      running() -> BackgroundProxy | None      stop(proxy)

    proxy.json    pid, port, url, confdir, started     proxy.log     its log (proxy.log.1: that of the one before)
    proxy.lock    locked by the proxy while it runs

1. Only the lock says whether it runs. The proxy inherits the lock and the system releases it however the proxy ends, so a state
   file that was left behind is not trusted, even if another process has its pid, and two proxies cannot start at once.
"""

import fcntl
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from ...config.data_folder import data_folder, private
from ...config.private_file import private_file
from ...core.fastclass import value
from .process import GRACE, START, tail
from .proxy import COMMAND, LISTENING, arguments
from .tally import MARK

PORT = 8665
"""TOOL on a phone's keys. It is unassigned, below the ports that systems assign dynamically, and not a usual port of development
servers (8000, 8080, 8888). It is fixed so that a shell's variables stay valid when the proxy restarts."""

LOCK = "proxy.lock"

POLL = 0.05
"""Seconds between two checks of another process."""

SETTLE = 1.0
"""Seconds until the log has the last exchange, after the client has its response."""


class StartError(RuntimeError):
    """The proxy did not start; the message explains why."""


class TakenError(StartError):
    """Another process listens at the port."""


@value
class BackgroundProxy:
    """A proxy in the background. `started`: ISO 8601, UTC."""

    pid: int
    port: int
    url: str
    confdir: Path
    started: str
    log: Path

    @property
    def ca(self) -> Path:
        """The certificate that clients must trust."""
        return self.confdir / "mitmproxy-ca-cert.pem"

    def read_log(self) -> str:
        """Returns its log so far; empty if it cannot be read."""
        try:
            return self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def settled(self) -> str:
        """Returns its log when it no longer grows, so that it has the exchange that has just ended."""
        log, until = self.read_log(), time.monotonic() + SETTLE
        while time.monotonic() < until:
            time.sleep(2 * POLL)
            before, log = log, self.read_log()
            if log == before:
                break
        return log


def running() -> BackgroundProxy | None:
    """Returns the proxy in the background, or None."""
    try:
        number = os.open(data_folder() / LOCK, os.O_RDONLY)
    except FileNotFoundError:  # never started
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared, so that checks do not exclude each other
    except BlockingIOError:
        return _state()
    finally:
        os.close(number)
    return None


def last_log() -> Path:
    """Returns the path of the log."""
    return data_folder() / "proxy.log"


def start(
    port: int, options: Mapping[str, str], confdir: Path, scripts: Sequence[Path], env: Mapping[str, str]
) -> BackgroundProxy:
    """Starts the proxy, and returns when it is ready.

    Args:
        port: The port to listen at.
        options: mitmproxy's and toolmend's options.
        confdir: The folder of its CA.
        scripts: What it loads.
        env: Its environment.

    Raises:
        StartError: It did not start, or another one runs already.
        TakenError: The port is in use.
    """
    folder = data_folder()
    private(folder)
    with suppress(OSError):  # mitmdump reports the same problem better
        private(confdir)  # mitmproxy would create it with the umask's permissions
    with _lock(folder / LOCK) as lock:
        log = last_log()
        with suppress(FileNotFoundError):
            log.replace(log.with_suffix(".log.1"))
        (folder / "proxy.json").unlink(missing_ok=True)
        all_options = {**options, "listen_port": str(port), "confdir": str(confdir)}
        log.touch(0o600)
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*COMMAND, *arguments(all_options, scripts)],
                env=env,
                cwd=folder,  # not the user's: a toolmend.toml there is not for all terminals
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(lock,),
            )
        try:
            actual_port = _wait(process, log)
            url, started = f"http://127.0.0.1:{actual_port}", datetime.now(UTC).isoformat()
            state = BackgroundProxy(process.pid, actual_port, url, confdir, started, log)
            _write(folder / "proxy.json", state)
        except BaseException:
            process.kill()
            process.wait()
            raise
        process.returncode = 0  # detached: Popen must not wait for it
        return state


def stop(proxy: BackgroundProxy) -> None:
    """Ends the proxy, and returns when it is gone; it gets time to finish its recordings."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + GRACE
        if running() is None:
            break
        os.kill(proxy.pid, number)  # the lock is held, so the pid is the proxy's
        while running() is not None and time.monotonic() < until:
            time.sleep(POLL)
    with suppress(FileNotFoundError):
        (data_folder() / "proxy.json").unlink()


def _wait(process: subprocess.Popen[bytes], log: Path) -> int:
    """Waits until the proxy is ready; returns its port."""
    until, text = time.monotonic() + START, ""
    while time.monotonic() < until:
        ended = process.poll() is not None
        text = log.read_text(encoding="utf-8", errors="replace")
        if taken := re.search(r"proxy failed to listen on \S+ with .*address already in use.*", text, re.IGNORECASE):
            raise TakenError(taken[0])
        if ended:
            raise StartError(f"the proxy ended with exit code {process.returncode}; the end of its log:\n{tail(text)}")
        if MARK in text and (found := re.search(LISTENING, text)):
            return int(found[1])
        time.sleep(POLL)
    raise StartError(f"the proxy was not ready after {START:.0f} seconds; the end of its log:\n{tail(text)}")


@contextmanager
def _lock(path: Path) -> Iterator[int]:
    """Holds the lock, and the proxy that inherits the descriptor keeps it.

    Raises:
        StartError: Another proxy holds it.
    """
    number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + SETTLE  # `running` holds it for a moment
    try:
        while True:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until or running():
                    raise StartError("a proxy already runs in the background, or is starting") from None
            time.sleep(POLL)
        yield number
    finally:
        os.close(number)


def _state() -> BackgroundProxy | None:
    """Returns the state of the proxy that holds the lock; None while it starts."""
    try:
        fields = json.loads((data_folder() / "proxy.json").read_bytes())
        paths = {name: Path(fields[name]) for name in ("confdir", "log")}
        return BackgroundProxy(
            int(fields["pid"]), int(fields["port"]), str(fields["url"]), started=str(fields["started"]), **paths
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, state: BackgroundProxy) -> None:
    fields = {name: getattr(state, name) for name in ("pid", "port", "url", "started")}
    places = {"confdir": str(state.confdir), "log": str(state.log)}
    with private_file(path) as file:
        file.write(json.dumps({"version": 1, **fields, **places}).encode())
