"""A real Envoy and its workers as processes: started, awaited, and always ended.

    with Worker(folder, {"toolmend_hosts": "localhost"}) as worker:
        with Envoy(binary, Plan((worker.at,), (Listener("127.0.0.1", 0, origin),)), folder) as envoy:
            envoy.port(), envoy.stats(), envoy.out  # its access log

As in process.py, the process is gone after the block, whatever happens.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self
from urllib.request import ProxyHandler, build_opener

from ...proxy.envoy.bootstrap import Plan, bootstrap
from ...proxy.envoy.bootstrap_text import yaml
from .process import START, Process, ProcessError, free_port, tail
from .proxy import arguments

READY = r"starting main dispatch loop"
"""The line of Envoy's log that reports its admin interface ready; its listeners are ready a moment later."""
WORKER_READY = r"serve-envoy: listens"
POLL = 0.02
"""Seconds between two checks of something that does not notify."""

_DIRECT = build_opener(ProxyHandler({}))  # ignores the user's proxy variables for loopback


class EnvoyWorker(Process):
    """A `toolmend serve-envoy` process, on a port that was free."""

    def __init__(
        self, options: Mapping[str, str] = {}, *, words: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> None:
        self.at = ("127.0.0.1", free_port())
        listen = ["--listen", f"127.0.0.1:{self.at[1]}"]
        command = [sys.executable, "-u", "-P", "-m", "toolmend", "serve-envoy", *listen, *arguments(options, ()), *words]
        super().__init__("the worker", command, WORKER_READY, env)


class Envoy(Process):
    """An Envoy process with the configuration of a plan. Ports of 0 mean any free port."""

    def __init__(self, binary: Path, plan: Plan, folder: Path, *, threads: int = 1) -> None:
        self.plan, self.file, self._admin_file = plan, folder / "envoy.yaml", folder / "envoy-admin"
        words = ["-c", str(self.file), "--disable-hot-restart", "--concurrency", str(threads)]
        command = [str(binary), *words, "--admin-address-path", str(self._admin_file), "--drain-time-s", "1"]
        super().__init__("Envoy", command, READY, {**os.environ, "MALLOC_ARENA_MAX": "2"})

    def __enter__(self) -> Self:
        self.file.write_text(yaml(bootstrap(self.plan)), encoding="utf-8")
        return super().__enter__()

    def _started(self) -> None:
        self._admin = self._admin_file.read_text().strip()
        self.wait_for_stat("listener_manager.workers_started", lambda started: started == 1, START)
        listeners = json.loads(self.admin("/listeners?format=json"))
        self._ports = [one["local_address"]["socket_address"]["port_value"] for one in listeners["listener_statuses"]]

    def port(self, listener: int = 0) -> int:
        """Returns the port of one of the plan's listeners."""
        return int(self._ports[listener])

    @property
    def url(self) -> str:
        """The URL of the first listener."""
        return f"{'https' if self.plan.tls else 'http'}://127.0.0.1:{self.port()}"

    def admin(self, path: str) -> str:
        """Returns a response of the admin interface."""
        with _DIRECT.open(f"http://{self._admin}{path}", timeout=10) as answer:
            text: str = answer.read().decode()
            return text

    def stats(self, *names: str) -> dict[str, int]:
        """Returns counters and gauges by name; only those whose names end with one of `names`, if any are given."""
        lines = (line.rpartition(": ") for line in self.admin("/stats").splitlines())
        return {name: int(value) for name, _, value in lines if value.isdigit() and (not names or name.endswith(names))}

    def wait_for_stat(self, name: str, holds: Callable[[int], bool], seconds: float = 10.0) -> None:
        """Waits until a condition holds for the sum of the counters whose names end with `name`.

        Raises:
            ProcessError: It does not hold in time.
        """
        last = time.monotonic() + seconds
        while not holds(found := sum(self.stats(name).values())):
            if time.monotonic() > last:
                raise ProcessError(f"{name} is still {found}; the end of Envoy's log:\n{tail(self.log)}")
            time.sleep(POLL)
