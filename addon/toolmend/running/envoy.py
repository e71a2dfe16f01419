"""A real Envoy, and the workers behind it, as processes of their own: started, waited for, and always ended.

    with Worker(folder, {"toolmend_hosts": "localhost"}) as worker:
        with Envoy(binary, Plan((worker.at,), (Listener("127.0.0.1", 0, origin),)), folder) as envoy:
            envoy.port(), envoy.stats(), envoy.access

The rule is that of proxy.py: whatever happens inside the block or on the way into it, the process is gone after it, ended by
its own id.
"""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self
from urllib.request import ProxyHandler, build_opener

from ..envoy.bootstrap import Plan, bootstrap
from ..envoy.bootstrap_text import yaml
from .proxy import GRACE, START, tail

READY = r"starting main dispatch loop"
"""What Envoy says when its admin interface is at work; its listeners begin a moment later."""
WORKER_READY = r"serve-envoy: listens"
POLL = 0.02
"""Seconds between two looks at what says nothing by itself."""

_DIRECT = build_opener(ProxyHandler({}))  # no proxy of the user's stands before loopback


class ProcessError(RuntimeError):
    """A process did not do what was waited for; the message ends with what it said last."""


class Process:
    """A command that runs while the `with` block does; `ready`: a pattern for what it says when it is at work."""

    def __init__(self, name: str, command: Sequence[str], ready: str, env: Mapping[str, str] | None = None) -> None:
        self.name, self.command, self.ready, self.env = name, command, ready, env
        self.out: list[str] = []
        self._log: list[str] = []
        self._ended = False
        self._news = threading.Condition()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative if a signal ended it."""
        return self._process.poll()

    @property
    def log(self) -> str:
        """All that it has said on stderr."""
        with self._news:
            return "".join(self._log)

    def signal(self, number: int) -> None:
        """Sends it a signal."""
        self._process.send_signal(number)

    def wait(self, seconds: float = GRACE) -> int:
        """Its exit code, when it has ended. Raises subprocess.TimeoutExpired."""
        return self._process.wait(seconds)

    def wait_for(self, pattern: str, seconds: float = 10.0) -> re.Match[str]:
        """Wait until a pattern is found in the log. Raises ProcessError if that takes longer, or it ends."""
        with self._news:
            self._news.wait_for(lambda: self._ended or re.search(pattern, "".join(self._log)), seconds)
            log, ended = "".join(self._log), self._ended
        if found := re.search(pattern, log):
            return found
        what = f"ended with exit code {self._process.wait()}" if ended else f"did not say {pattern!r}"
        raise ProcessError(f"{self.name} {what}; its last words:\n{tail(log)}")

    def wait_out(self, holds: Callable[[list[str]], bool], seconds: float = 10.0) -> list[str]:
        """The lines of stdout, when a condition holds for them. Raises ProcessError if that takes longer."""
        with self._news:
            if not self._news.wait_for(lambda: holds(self.out), seconds):
                raise ProcessError(f"{self.name} has not said what was waited for; its last words:\n" + "".join(self.out[-5:]))
            return list(self.out)

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
            for reader in self._readers:
                reader.join()

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self.command,
            env=self.env,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        assert self._process.stdout
        assert self._process.stderr
        pipes = ((self._process.stdout, self.out), (self._process.stderr, self._log))
        self._readers = [threading.Thread(target=self._read, args=pipe, daemon=True) for pipe in pipes]
        for reader in self._readers:
            reader.start()
        try:
            self.wait_for(self.ready, START)
            self._started()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _started(self) -> None:
        """What else there is to wait for."""

    def _read(self, pipe: IO[str], into: list[str]) -> None:
        with pipe:
            for line in pipe:
                with self._news:
                    into.append(line)
                    self._news.notify_all()
        with self._news:
            self._ended = self._ended or into is self._log
            self._news.notify_all()


class Worker(Process):
    """A `toolmend serve-envoy`, on a port that was free."""

    def __init__(
        self, options: Mapping[str, str] = {}, *, words: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> None:
        self.at = ("127.0.0.1", free_port())
        sets = [word for name, value in options.items() for word in ("--set", f"{name}={value}")]
        listen = ["--listen", f"127.0.0.1:{self.at[1]}"]
        command = [sys.executable, "-u", "-P", "-m", "toolmend", "serve-envoy", *listen, *sets, *words]
        super().__init__("the worker", command, WORKER_READY, env)


class Envoy(Process):
    """`binary`, with the configuration of a plan; a listener's and the admin's port may be 0: any that is free."""

    def __init__(self, binary: Path, plan: Plan, folder: Path, *, threads: int = 1) -> None:
        self.plan, self.file, self._admin_file = plan, folder / "envoy.yaml", folder / "envoy-admin"
        words = ["-c", str(self.file), "--disable-hot-restart", "--concurrency", str(threads)]
        command = [str(binary), *words, "--admin-address-path", str(self._admin_file), "--drain-time-s", "1"]
        super().__init__("Envoy", command, READY, {**os.environ, "MALLOC_ARENA_MAX": "2"})

    def __enter__(self) -> Self:
        self.file.write_text(yaml(bootstrap(self.plan)))
        return super().__enter__()

    def _started(self) -> None:
        self._admin = self._admin_file.read_text().strip()
        self.wait_for_stat("listener_manager.workers_started", lambda started: started == 1, START)
        said = json.loads(self.admin("/listeners?format=json"))
        self._ports = [one["local_address"]["socket_address"]["port_value"] for one in said["listener_statuses"]]

    def port(self, listener: int = 0) -> int:
        """Of the plan's listeners, the port of one."""
        return int(self._ports[listener])

    @property
    def url(self) -> str:
        """Of the first listener."""
        return f"{'https' if self.plan.tls else 'http'}://127.0.0.1:{self.port()}"

    @property
    def access(self) -> list[dict[str, Any]]:
        """The lines of the access log so far."""
        return [json.loads(line) for line in list(self.out)]

    def admin(self, path: str) -> str:
        """What the admin's interface says."""
        with _DIRECT.open(f"http://{self._admin}{path}", timeout=10) as answer:
            text: str = answer.read().decode()
            return text

    def stats(self, *names: str) -> dict[str, int]:
        """Counters and gauges by name; those whose name ends so, or all."""
        lines = (line.rpartition(": ") for line in self.admin("/stats").splitlines())
        return {name: int(value) for name, _, value in lines if value.isdigit() and (not names or name.endswith(names))}

    def wait_for_stat(self, name: str, holds: Callable[[int], bool], seconds: float = 10.0) -> None:
        """Wait until the sum of the counters whose name ends so is as it should be. Raises ProcessError."""
        last = time.monotonic() + seconds
        while not holds(found := sum(self.stats(name).values())):
            if time.monotonic() > last:
                raise ProcessError(f"{name} is still {found}; Envoy's last words:\n{tail(self.log)}")
            time.sleep(POLL)


def free_port() -> int:
    """One that was free just now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
