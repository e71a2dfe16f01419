"""Workers behind a real Envoy, beside a mitmdump with the addon: what each carries, and how much later an event arrives.

    client ─TLS─ Envoy ─TLS─ load        client ─TLS─ mitmdump ─TLS─ load
                   └─ one worker, or two

Rule of this file: that of end_to_end.py: they take turns in one run, with the same streams. A worker is a process, so several
streams run at once; the load and Envoy share the cores with the workers, so it is the workers' own CPU time that says what an
event costs.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolmend.cli import CliError
from toolmend.cli.launcher.envoy import Envoy, EnvoyWorker
from toolmend.cli.launcher.process import free_port
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.cli.shutdown import ended_by_signals
from toolmend.providers.routes import Origin
from toolmend.proxy.envoy.bootstrap import Listener, Plan

from .client import Asking, Client, asking
from .clock import cpu_of, percentile
from .proxies import ROUTE, TOOLMEND, compared
from .table import Figure, Table

BINARY = "ENVOY_BINARY"
"""What scripts/bench sets: the path of Envoy."""

ALONE, ONE, TWO, MITMDUMP = "Envoy alone", "Envoy, 1 worker", "Envoy, 2 workers", "mitmdump"
PATHS = (ALONE, MITMDUMP, ONE, TWO)


@dataclass(frozen=True)
class Extent:
    """Events that a client gets, clients at once, rounds; events of a paced stream, turns."""

    events: int
    clients: int
    rounds: int
    paced: int
    turns: int


FULL = Extent(events=5_000, clients=8, rounds=3, paced=300, turns=3)
QUICK = Extent(events=2_000, clients=4, rounds=1, paced=30, turns=1)

SHORT = 40
"""Events of a short answer."""

FLOODS = {
    # what: body, the client's API, whether in answers of SHORT events each, what the end of an answer shows
    "nothing to mend": ("prose", "chat", False, b"[DONE]"),
    "mending": ("markup", "chat", False, b'"tool_calls"'),
    "mending and translating": ("markup", "messages", False, b'"tool_use"'),
    "mending short answers": ("markup", "chat", True, b'"tool_calls"'),
}

TARGET = "two workers carry at least 1.6 times what one does where mending is the bottleneck"


@dataclass(frozen=True)
class Way:
    """A way to the load: `port` is where a client connects, or of the load behind `proxy`. `processes`: whose CPU time counts as mending; `around`: Envoy itself."""

    port: int
    proxy: Mitmdump | None
    processes: tuple[int, ...]
    around: tuple[int, ...] = ()


def tables(
    port: int, certificate: tuple[Path, Path], folder: Path, extent: Extent, progress: Callable[[str], None]
) -> list[Table]:
    """All of it; `port` is the load's."""
    binary = os.environ.get(BINARY)
    if not binary:
        raise CliError("there is no Envoy to measure", try_="scripts/bench envoy, which gets one")
    with _ways(Path(binary), port, certificate, folder) as paths:
        return [_floods(paths, certificate[0], extent, progress), _delays(paths, certificate[0], extent, progress)]


@contextmanager
def _ways(binary: Path, port: int, certificate: tuple[Path, Path], folder: Path) -> Iterator[dict[str, Way]]:
    origin = Origin("https", "localhost", port)
    config = folder / "workers.toml"
    config.write_text(ROUTE.format(port))
    options = {"toolmend_hosts": "localhost", "toolmend_config": str(config), "toolmend_flows": "off"}
    with ExitStack() as stack:
        stack.enter_context(ended_by_signals())
        proxies = stack.enter_context(compared(folder, port, certificate[0], [TOOLMEND]))
        found = {MITMDUMP: Way(port, proxies[TOOLMEND], (proxies[TOOLMEND].pid,))}
        workers = [stack.enter_context(EnvoyWorker(options)) for _ in range(2)]
        for name, some in ((ALONE, []), (ONE, workers[:1]), (TWO, workers)):
            own = folder / name.replace(" ", "-")
            own.mkdir()
            plan = Plan(
                tuple(worker.at for worker in some) or (("127.0.0.1", free_port()),),
                (Listener("127.0.0.1", 0, origin),),
                (origin,),
                admin=("127.0.0.1", 0),
                ca=str(certificate[0]),
                tls=certificate,
                fail_open=name == ALONE,
            )
            envoy = stack.enter_context(Envoy(binary, plan, own))
            found[name] = Way(envoy.port(), None, tuple(worker.pid for worker in some), (envoy.pid,))
        yield {name: found[name] for name in PATHS}


def _cpu(pids: tuple[int, ...]) -> int:
    return sum(map(cpu_of, pids))


def _floods(paths: Mapping[str, Way], ca: Path, extent: Extent, progress: Callable[[str], None]) -> Table:
    columns = ("events/s", "of mitmdump", "of one worker", "mending µs/event", "Envoy µs/event")
    table = Table(f"{extent.clients} clients at once", columns, TARGET)
    events = extent.events * extent.clients
    for what, (body, api, short, shown) in FLOODS.items():
        answers, each = (extent.events // SHORT, SHORT) if short else (1, extent.events)
        best = dict.fromkeys(paths, float("inf"))
        mending, around = dict.fromkeys(paths, float("inf")), dict.fromkeys(paths, float("inf"))
        for turn in range(extent.rounds + 1):  # the first is a rehearsal
            for name, path in paths.items():
                progress(f"{what}, {name} ({turn} of {extent.rounds})")
                asked = asking("chat" if name == ALONE else api, f"flood {body} 1 {each}")
                before = _cpu(path.processes), _cpu(path.around)
                seconds, last = _together(path, ca, extent.clients, asked, answers)
                assert name == ALONE or shown in last, (what, name, last)
                if turn:
                    best[name] = min(best[name], seconds)
                    mending[name] = min(mending[name], _cpu(path.processes) - before[0])
                    around[name] = min(around[name], _cpu(path.around) - before[1])
        for name, path in paths.items():
            table.add(
                f"{what}: {name}",
                Figure(events / best[name]),
                Figure(best[MITMDUMP] / best[name]),
                Figure(best[ONE] / best[name], at_least=None if body == "prose" else 1.6) if name == TWO else None,
                Figure(mending[name] / events / 1000) if path.processes else None,
                Figure(around[name] / events / 1000) if path.around else None,
            )
    return table


def _together(path: Way, ca: Path, many: int, asked: Asking, answers: int) -> tuple[float, bytes]:
    """Seconds until so many clients, each on a connection that is open already, have their answers; and the end of one."""

    def run(client: Client) -> bytes:
        last = b""
        for _ in range(answers):
            client.ask(asked)
            last = client.rest()[1]
        return last

    clients = [Client(path.port, path.proxy, ca) for _ in range(many)]
    try:
        with ThreadPoolExecutor(many) as threads:
            started = time.perf_counter()
            last = list(threads.map(run, clients))[-1]
            return time.perf_counter() - started, last
    finally:
        for client in clients:
            client.__exit__(None, None, None)


PACED = {
    # row: path, body, the client's API
    ALONE: (ALONE, "prose", "chat"),
    "mitmdump, nothing to mend": (MITMDUMP, "prose", "chat"),
    "mitmdump, mending": (MITMDUMP, "markup", "chat"),
    "mitmdump, translating": (MITMDUMP, "prose", "messages"),
    "Envoy, nothing to mend": (ONE, "prose", "chat"),
    "Envoy, mending": (ONE, "markup", "chat"),
    "Envoy, translating": (ONE, "prose", "messages"),
}


def _delays(paths: Mapping[str, Way], ca: Path, extent: Extent, progress: Callable[[str], None]) -> Table:
    table = Table("one stream, 100 events a second", ("p50 µs", "p99 µs", "p50 over Envoy alone"))
    found = dict.fromkeys(PACED, (float("inf"), float("inf")))
    for turn in range(extent.one.turns):
        for row, (name, body, api) in PACED.items():
            progress(f"paced, {row} ({turn + 1} of {extent.one.turns})")
            with Client(paths[name].port, paths[name].proxy, ca) as client:
                client.ask(asking(api, f"paced {body} 100 {extent.one.events}"))
                late = sorted(stamp.late for stamp in client.stamped())
            found[row] = min(found[row][0], percentile(late, 0.5) / 1000), min(found[row][1], percentile(late, 0.99) / 1000)
    for row, (p50, p99) in found.items():
        table.add(row, Figure(p50), Figure(p99), Figure(p50 - found[ALONE][0]))
    return table
