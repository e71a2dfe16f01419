"""The one proxy in the background, for all terminals: started if asked for, found by all, ended by its id.

    start(8665, options, confdir, scripts) -> Running      running() -> Running | None      stop(running)

    proxy.json    pid, port, url, confdir, started     proxy.log     what it says (proxy.log.1: the one before)
    proxy.lock    locked by the proxy for as long as it lives

Rule of this file: whether it runs is told by the lock alone. The proxy inherits it and the system takes it back, however it ends;
so a state that was left behind is known as such, also when its pid is somebody else's by now, and no two can start at once.
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
"""TOOL on the keys of a telephone. Assigned to nobody, below the ports that systems hand out, and none that servers of developers
take (8000, 8080, 8888). A fixed one: a shell's variables stay right when the proxy is started anew."""

LOCK = "proxy.lock"

LOOKS = 0.05
"""Seconds between two looks at what another process does."""

SETTLE = 1.0
"""Seconds that a last answer may take to be told in the log, once the client has had it."""


class StartError(RuntimeError):
    """It did not start; the message says why."""


class TakenError(StartError):
    """Another process listens at the port."""


@value
class Running:
    """A proxy in the background. `started`: ISO 8601, UTC."""

    pid: int
    port: int
    url: str
    confdir: Path
    started: str
    log: Path

    @property
    def ca(self) -> Path:
        """The certificate that a client has to trust."""
        return self.confdir / "mitmproxy-ca-cert.pem"

    def said(self) -> str:
        """Its log so far."""
        try:
            return self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def settled(self) -> str:
        """Its log, once it has told of what has just ended."""
        log, until = self.said(), time.monotonic() + SETTLE
        while time.monotonic() < until:
            time.sleep(2 * LOOKS)
            before, log = log, self.said()
            if log == before:
                break
        return log


def running() -> Running | None:
    """The proxy in the background, if there is one."""
    try:
        number = os.open(data_folder() / LOCK, os.O_RDONLY)
    except FileNotFoundError:  # none has ever been started
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: who only looks is in nobody's way
    except BlockingIOError:
        return _state()
    finally:
        os.close(number)
    return None


def last_log() -> Path:
    """Where the last one has told what it did."""
    return data_folder() / "proxy.log"


def start(port: int, options: Mapping[str, str], confdir: Path, scripts: Sequence[Path], env: Mapping[str, str]) -> Running:
    """Starts it, and returns when it is at work. Raises StartError, also if one runs already."""
    folder = data_folder()
    private(folder)
    with suppress(OSError):  # the proxy tells it better
        private(confdir)  # mitmproxy makes it as the umask says
    with _lock(folder / LOCK) as ours:
        log = last_log()
        with suppress(FileNotFoundError):
            log.replace(log.with_suffix(".log.1"))
        (folder / "proxy.json").unlink(missing_ok=True)
        given = {**options, "listen_port": str(port), "confdir": str(confdir)}
        log.touch(0o600)
        with log.open("ab") as words:
            process = subprocess.Popen(
                [*COMMAND, *arguments(given, scripts)],
                env=env,
                cwd=folder,  # a toolmend.toml that lies where it was started is not for all terminals
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                pass_fds=(ours,),
            )
        try:
            listens = _wait(process, log)
            state = Running(process.pid, listens, f"http://127.0.0.1:{listens}", confdir, datetime.now(UTC).isoformat(), log)
            _write(folder / "proxy.json", state)
        except BaseException:
            process.kill()
            process.wait()
            raise
        process.returncode = 0  # it is nobody's child that is waited for
        return state


def stop(proxy: Running) -> None:
    """Ends it, and returns when it is gone; it has time to finish its recordings."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + GRACE
        if running() is None:
            break
        os.kill(proxy.pid, number)  # who holds the lock lives, so the id is its own
        while running() is not None and time.monotonic() < until:
            time.sleep(LOOKS)
    with suppress(FileNotFoundError):
        (data_folder() / "proxy.json").unlink()


def _wait(process: subprocess.Popen[bytes], log: Path) -> int:
    """Waits until it is at work; returns its port."""
    until, said = time.monotonic() + START, ""
    while time.monotonic() < until:
        ended = process.poll() is not None
        said = log.read_text(encoding="utf-8", errors="replace")
        if taken := re.search(r"proxy failed to listen on \S+ with .*address already in use.*", said, re.IGNORECASE):
            raise TakenError(taken[0])
        if ended:
            raise StartError(f"the proxy ended with exit code {process.returncode}; its last words:\n{tail(said)}")
        if MARK in said and (found := re.search(LISTENING, said)):
            return int(found[1])
        time.sleep(LOOKS)
    raise StartError(f"the proxy did not get ready in {START:.0f} seconds; its last words:\n{tail(said)}")


@contextmanager
def _lock(path: Path) -> Iterator[int]:
    """Holds the lock; the proxy that inherits the descriptor holds it on. Raises StartError if another does."""
    number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + SETTLE  # who only looks holds it for a moment
    try:
        while True:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until or running():
                    raise StartError("a proxy runs in the background already, or is just being started") from None
            time.sleep(LOOKS)
        yield number
    finally:
        os.close(number)


def _state() -> Running | None:
    """What the one that holds the lock is; nothing while it starts."""
    try:
        said = json.loads((data_folder() / "proxy.json").read_bytes())
        places = {name: Path(said[name]) for name in ("confdir", "log")}
        return Running(int(said["pid"]), int(said["port"]), str(said["url"]), started=str(said["started"]), **places)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, state: Running) -> None:
    fields = {name: getattr(state, name) for name in ("pid", "port", "url", "started")}
    places = {"confdir": str(state.confdir), "log": str(state.log)}
    with private_file(path) as file:
        file.write(json.dumps({"version": 1, **fields, **places}).encode())
