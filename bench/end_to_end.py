"""Through real mitmdump processes, TLS on both sides: throughput, CPU, delay, time to the first delta.

Rule of this file: the proxies take turns, event for event the same streams; best turn against best turn. Where a machine is busy
with other things, look at the CPU time: it is the proxy's own. Two processes of one program differ by a twentieth, by where things
come to lie in their memory: so a flood is measured in several of each.
"""

import gc
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from toolmend.cli.launcher.proxy import Mitmdump

from .client import Asking, Client, Stamp, asking
from .clock import cpu_of, percentile
from .proxies import ALL, IDENTITY, RECORDING, STREAM, TOOLMEND
from .table import Figure, Table

THROUGHPUT = (
    "of identity's events/s: nothing to mend 0.97 at one event a chunk and 0.80 at 20; mending and translating 0.85 and 0.50"
)
DELAY = "p50 at most 50 µs over identity; the first byte at most 1 ms later"
CROWD = "p99 at most 1.2 times identity's, while all of them flow"


@dataclass(frozen=True)
class Paced:
    """Events of each stream; turns; streams at once.

    There are many short turns, as a machine wakes up more slowly for seconds at a time. The p99 of identity's crowd was 0.75 to 1.34
    times that of another identity in the best of three turns, 0.97 to 1.03 in the best of eight. The p50 of one stream was 59 µs less
    to 58 more in the best of nine turns, 22 to 17 in the best of eighteen.
    """

    events: int
    turns: int
    streams: int = 1


@dataclass(frozen=True)
class Extent:
    """Events of a flood at 1 and at 20 a chunk; generations, rounds; one paced stream, and many; first deltas."""

    few: int
    many: int
    generations: int
    rounds: int
    one: Paced
    crowd: Paced
    firsts: int


FULL = Extent(few=10_000, many=100_000, generations=4, rounds=3, one=Paced(100, 18), crowd=Paced(150, 8, 40), firsts=150)
QUICK = Extent(few=1_000, many=6_000, generations=1, rounds=2, one=Paced(20, 3), crowd=Paced(100, 1, 40), firsts=5)

FLOODS = {
    # what: body, the API that toolmend's client speaks, of identity at 1 and at 20 events a chunk
    "nothing to mend": ("prose", "chat", 0.97, 0.80),
    "mending": ("markup", "chat", 0.85, 0.50),
    "translating": ("prose", "messages", 0.85, 0.50),
}

MANY = 20
"""Events a chunk, where it is not one."""

PACE = 50
"""Events a second of each of the streams that are paced at once."""

SETTLES = 500_000_000
"""Nanoseconds until what waited for the last stream to begin has passed: where the proxy is busy for four fifths of the time."""

IDLE, REST = 5_000_000, 0.5
"""Nanoseconds of the processor in so many seconds, of a proxy that has nothing to do."""

PADDING = 100_000
"""Bytes of conversation in the request whose first delta is waited for: agents send as much."""


type Paths = Mapping[str, Mitmdump | None]
"""By name: the proxy, or none."""


def tables(
    proxies: Callable[[], AbstractContextManager[dict[str, Mitmdump]]],
    port: int,
    ca: Path,
    extent: Extent,
    progress: Callable[[str], None],
) -> list[Table]:
    """All of it. `proxies` starts a generation of them; `port` is the load's, `ca` what a client without a proxy trusts."""
    floods = [_Flood(what, per_chunk, extent) for what in FLOODS for per_chunk in (1, MANY)]
    for generation in range(extent.generations):
        with proxies() as running:
            paths: Paths = {"direct": None, **running}
            for flood in floods:
                progress(f"{flood.name} ({generation + 1} of {extent.generations})")
                flood.run(paths, port, ca, extent.rounds)
    with proxies() as running:
        paths = {"direct": None, **running}
        delay, crowd = _delay(paths, port, ca, extent, progress), _crowd(paths, port, ca, extent, progress)
    return [_throughput(floods), delay, crowd]


def _api(name: str, api: str) -> str:
    """Only toolmend translates; the others pass what it gets."""
    return api if name in (TOOLMEND, RECORDING) else "chat"


class _Flood:
    """One of FLOODS at so many events a chunk: the best of each path, in seconds and in CPU nanoseconds."""

    def __init__(self, what: str, per_chunk: int, extent: Extent) -> None:
        body, self._api, *least = FLOODS[what]
        self.name = f"{what}, {per_chunk} a chunk"
        self.events, self.least = (extent.few, least[0]) if per_chunk == 1 else (extent.many, least[1])
        self._play = f"flood {body} {per_chunk} {self.events}"
        self.seconds, self.cpu = dict[str, float](), dict[str, float]()

    def run(self, paths: Paths, port: int, ca: Path, rounds: int) -> None:
        """So many more turns of each path."""
        with _clients(paths, port, ca) as clients:
            for turn in range(rounds + 1):  # the first is a rehearsal
                for name, client in clients.items():
                    took, used = _flood(client, paths[name], asking(_api(name, self._api), self._play))
                    if turn:
                        self.seconds[name] = min(took, self.seconds.get(name, took))
                        self.cpu[name] = min(used, self.cpu.get(name, used))


def _throughput(floods: Iterable[_Flood]) -> Table:
    table = Table("flood", ("events/s", "of identity", "CPU µs/event", "× identity"), THROUGHPUT)
    for flood in floods:
        events, seconds, cpu = flood.events, flood.seconds, flood.cpu
        for name in seconds:
            share = Figure(seconds[IDENTITY] / seconds[name], at_least=flood.least if name in (TOOLMEND, RECORDING) else None)
            own = (Figure(cpu[name] / events / 1000), Figure(cpu[name] / cpu[IDENTITY])) if cpu[name] else (None, None)
            table.add(f"{flood.name}: {name}", Figure(events / seconds[name]), share, *own)
    return table


class _clients(dict[str, Client]):  # noqa: N801  used like a function
    """A connection on each path, warm after its first request."""

    def __init__(self, paths: Paths, port: int, ca: Path) -> None:
        super().__init__({name: Client(port, proxy, ca) for name, proxy in paths.items()})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.values():
            client.__exit__(None, None, None)


def _flood(client: Client, proxy: Mitmdump | None, what: Asking) -> tuple[float, float]:
    """Seconds, and the CPU nanoseconds of the proxy."""
    before, started = cpu_of(proxy.pid) if proxy else 0, time.perf_counter()
    client.ask(what)
    client.rest()
    return time.perf_counter() - started, (cpu_of(proxy.pid) if proxy else 0) - before


MARKUP = f"{IDENTITY}, markup"
"""The row that those are compared with that are mended: markup has eight events more, at the beginning and at the end."""

DELAYS = {
    # row: path, body, the client's API
    "direct": ("direct", "prose", "chat"),
    STREAM: (STREAM, "prose", "chat"),
    IDENTITY: (IDENTITY, "prose", "chat"),
    MARKUP: (IDENTITY, "markup", "chat"),
    "toolmend, nothing to mend": (TOOLMEND, "prose", "chat"),
    "toolmend, mending": (TOOLMEND, "markup", "chat"),
    "toolmend, translating": (TOOLMEND, "prose", "messages"),
    "recording, nothing to mend": (RECORDING, "prose", "chat"),
    "recording, mending": (RECORDING, "markup", "chat"),
}


def _delay(paths: Paths, port: int, ca: Path, extent: Extent, progress: Callable[[str], None]) -> Table:
    columns = ("p50 µs", "p99 µs", "p50 over identity", "first byte ms", "over identity", "first delta ms", "over identity")
    table = Table("one stream, 100 events a second", columns, DELAY)
    found, _ = _paced(paths, port, ca, extent.one, progress, rate=100)
    firsts = _firsts(paths, port, ca, extent, progress)
    for row, (p50, p99) in found.items():
        ours, floor = _is_ours(row), _floor(row)
        over = Figure(p50 - found[floor].p50, 50.0 if ours else None)
        byte, delta = firsts[row]
        later = Figure(byte - firsts[floor][0], 1.0 if ours else None), Figure(delta - firsts[floor][1])
        table.add(row, Figure(p50), Figure(p99), over, Figure(byte), later[0], Figure(delta), later[1])
    return table


def _crowd(paths: Paths, port: int, ca: Path, extent: Extent, progress: Callable[[str], None]) -> Table:
    columns = ("p50 µs", "p99 µs", "p50 over identity", "p99 of identity", "begins and ends: p50 ms", "p99 ms")
    table = Table(f"{extent.crowd.streams} streams, {PACE} events a second each", columns, CROWD)
    steady, edges = _paced(paths, port, ca, extent.crowd, progress, rate=PACE)
    for row, (p50, p99) in steady.items():
        floor = steady[_floor(row)]
        over, worse = Figure(p50 - floor.p50), Figure(p99 / floor.p99, 1.2 if _is_ours(row) else None)
        table.add(row, Figure(p50), Figure(p99), over, worse, *(Figure(late / 1000) for late in edges[row]))
    return table


def _is_ours(row: str) -> bool:
    return DELAYS[row][0] in (TOOLMEND, RECORDING)


def _floor(row: str) -> str:
    """The row that one is compared with: identity's, with the same body."""
    return MARKUP if DELAYS[row][1] == "markup" else IDENTITY


class Late(NamedTuple):
    """Microseconds that events were under way."""

    p50: float = float("inf")
    p99: float = float("inf")

    @classmethod
    def of(cls, stamps: Iterable[Stamp]) -> Self:
        late = sorted(stamp.late for stamp in stamps)
        return cls(percentile(late, 0.5) / 1000, percentile(late, 0.99) / 1000) if late else cls()

    def best(self, other: Self) -> Self:
        return type(self)(min(self.p50, other.p50), min(self.p99, other.p99))


def _paced(
    paths: Paths, port: int, ca: Path, extent: Paced, progress: Callable[[str], None], *, rate: int
) -> tuple[dict[str, Late], dict[str, Late]]:
    """While all streams flow, and while some begin or end, of which each costs milliseconds; each in its best turn."""
    steady, edges = dict.fromkeys(DELAYS, Late()), dict.fromkeys(DELAYS, Late())
    for turn in range(extent.turns):
        for row, (path, body, api) in DELAYS.items():
            progress(f"{extent.streams} paced, {row} ({turn + 1} of {extent.turns})")
            what = asking(api, f"paced {body} {rate} {extent.events}")
            found = _together(lambda path=path, what=what: _stamps(port, paths[path], ca, what), extent.streams)  # type: ignore[misc]
            begun, ends = max(stamps[0].left for stamps in found) + SETTLES, min(stamps[-1].left for stamps in found)
            all_flow = {each: begun <= each.left < ends for stamps in found for each in stamps}
            steady[row] = steady[row].best(Late.of(each for each, flow in all_flow.items() if flow))
            edges[row] = edges[row].best(Late.of(each for each, flow in all_flow.items() if not flow))
            if path == RECORDING:
                _at_rest(paths[path])
    return steady, edges


def _at_rest(proxy: Mitmdump | None) -> None:
    """Waits until it has written what it recorded, which would take from the row that comes next."""
    used = IDLE
    while proxy and used >= IDLE:
        before = cpu_of(proxy.pid)
        time.sleep(REST)
        used = cpu_of(proxy.pid) - before


def _stamps(port: int, proxy: Mitmdump | None, ca: Path, what: Asking) -> list[Stamp]:
    with Client(port, proxy, ca) as client:
        client.ask(what)
        return client.stamped()


def _together[T](run: Callable[[], T], many: int) -> list[T]:
    """What each of so many threads finds."""
    gc.collect()
    gc.disable()  # to look for garbage takes 50 ms, in which none of them notices what comes
    try:
        with ThreadPoolExecutor(many) as threads:
            running = [threads.submit(run) for _ in range(many)]
            return [each.result() for each in running]
    finally:
        gc.enable()


def _firsts(
    paths: Paths, port: int, ca: Path, extent: Extent, progress: Callable[[str], None]
) -> dict[str, tuple[float, float]]:
    """Milliseconds from a request of 100 KB to the first byte, and to the first delta, on a connection that is open already."""
    progress("the first delta")
    found: dict[str, list[tuple[float, float]]] = {row: [] for row in DELAYS}
    with _clients({row: paths[path] for row, (path, *_) in DELAYS.items()}, port, ca) as clients:
        for turn in range(extent.firsts + 1):
            for row, (_, body, api) in DELAYS.items():
                client = clients[row]
                started = time.perf_counter()
                client.ask(asking(api, f"first {body} 20", padding=PADDING))
                data = client.read()
                byte = time.perf_counter() - started
                while b'"delta"' not in data:
                    data += client.read()
                delta = time.perf_counter() - started
                if turn:
                    found[row].append((byte * 1000, delta * 1000))
                if not data.endswith(b"\r\n0\r\n\r\n"):
                    client.rest()
    return {row: (_median(byte for byte, _ in each), _median(delta for _, delta in each)) for row, each in found.items()}


def _median(times: Iterable[float]) -> float:
    return percentile(sorted(times), 0.5)


assert set(ALL) >= {path for path, *_ in DELAYS.values()} - {"direct"}
