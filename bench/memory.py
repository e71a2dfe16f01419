"""Memory of mitmdump: of a stream that does not end, of many at once, for a client that does not read. Linux.

Rule of this file: a peak is the kernel's own (VmHWM, reset before), not what a look now and then happens to see. Idle is after a
first stream: what a process takes once is not what it takes for each.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolmend.cli.launcher.proxy import Mitmdump

from .client import Client, asking
from .load import Load
from .proxies import IDENTITY, RECORDING, TOOLMEND, compared
from .table import Figure, Table

PROXIES = (IDENTITY, TOOLMEND, RECORDING)
KIB = 1024
HELD = 50
"""Events that an idle stream has had."""


@dataclass(frozen=True)
class Extent:
    """MiB of the long stream and of the others, streams at once, MiB that a client does not read."""

    long: int
    other: int
    streams: int
    unread: int


FULL = Extent(long=1024, other=128, streams=200, unread=256)
QUICK = Extent(long=24, other=8, streams=30, unread=64)


def status(pid: int, name: str) -> int:
    """A figure of a process in bytes: VmRSS is what it has now, VmHWM the most since `reset`."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * KIB for line in lines if line.startswith(name))


def reset(pid: int) -> None:
    """Has the kernel begin to look for a new peak."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


def tables(load: Load, ca: Path, folder: Path, extent: Extent, progress: Callable[[str], None]) -> list[Table]:
    """All of it. Two generations of proxies: what many streams took once would hide what a long one takes."""
    with _warm(load, ca, folder) as proxies:
        long = _long(proxies, load.port, ca, folder, extent, progress)
    with _warm(load, ca, folder) as proxies:
        return [
            long,
            _many(proxies, load.port, ca, extent.streams, progress),
            _unread(proxies, load, ca, extent.unread, progress),
        ]


@contextmanager
def _warm(load: Load, ca: Path, folder: Path) -> Iterator[dict[str, Mitmdump]]:
    """Proxies that have had a first stream; they record in `folder`."""
    with compared(folder, load.port, ca, PROXIES) as proxies:
        for proxy in proxies.values():
            _stream(proxy, load.port, ca, "prose", "chat", 1)
        yield proxies


def _stream(proxy: Mitmdump, port: int, ca: Path, body: str, api: str, megabytes: int) -> None:
    with Client(port, proxy, ca) as client:
        client.ask(asking(api, f"repeat {body} 20 {megabytes}"))
        client.rest()


def _long(
    proxies: Mapping[str, Mitmdump], port: int, ca: Path, folder: Path, extent: Extent, progress: Callable[[str], None]
) -> Table:
    target = "under 20 MiB above idle, at most 100 MiB in all"
    table = Table("a long stream", ("MiB", "idle MiB", "peak above idle", "peak MiB"), target)
    room = shutil.disk_usage(folder).free // 4 >> 20  # it is recorded twice
    phases = [
        {name: ("prose", "chat", min(extent.long, room)) for name in proxies},
        {name: ("markup", "chat", min(extent.other, room)) for name in proxies},
        {name: ("prose", "messages", min(extent.other, room)) for name in proxies if name != IDENTITY},
    ]
    for what, phase in zip(("nothing to mend", "mending", "translating"), phases, strict=True):
        progress(f"a long stream, {what}")
        idle = {name: status(proxies[name].pid, "VmRSS") for name in phase}
        for name in phase:
            reset(proxies[name].pid)
        with ThreadPoolExecutor() as threads:
            for stream in [threads.submit(_stream, proxies[name], port, ca, *phase[name]) for name in phase]:
                stream.result()
        for name in phase:
            peak, ours = status(proxies[name].pid, "VmHWM"), name != IDENTITY
            above = Figure((peak - idle[name]) / KIB**2, 20.0 if ours else None)
            in_all = Figure(peak / KIB**2, 100.0 if ours else None)
            table.add(f"{what}: {name}", Figure(phase[name][2]), Figure(idle[name] / KIB**2), above, in_all)
    return table


def _many(proxies: Mapping[str, Mitmdump], port: int, ca: Path, streams: int, progress: Callable[[str], None]) -> Table:
    columns = ("MiB before", "MiB", "KiB each", "over identity")
    table = Table(f"{streams} streams at once, idle", columns, "at most 64 KiB each over identity")
    kinds = (("prose", "chat"), ("markup", "chat"), ("prose", "messages"))
    each: dict[str, float] = {}
    for name, proxy in proxies.items():
        progress(f"{streams} streams, {name}")
        before = status(proxy.pid, "VmRSS")
        with ExitStack() as stack:
            for at in range(streams):
                body, api = kinds[at % len(kinds)]
                client = stack.enter_context(Client(port, proxy, ca))
                client.ask(asking("chat" if name == IDENTITY else api, f"hold {body} {HELD}"))
                seen = b""
                while seen.count(b" item") < HELD:
                    seen += client.read()
            now = status(proxy.pid, "VmRSS")
        each[name] = (now - before) / streams / KIB
        over = Figure(each[name] - each[IDENTITY], 64.0 if name != IDENTITY else None)
        table.add(name, Figure(before / KIB**2), Figure(now / KIB**2), Figure(each[name]), over)
    return table


def _unread(proxies: Mapping[str, Mitmdump], load: Load, ca: Path, megabytes: int, progress: Callable[[str], None]) -> Table:
    table = Table("a client that does not read", ("MiB offered", "MiB taken", "peak above idle"), "under 20 MiB above idle")
    for name, proxy in proxies.items():
        progress(f"a client that does not read, {name}")
        idle = status(proxy.pid, "VmRSS")
        reset(proxy.pid)
        with Client(load.port, proxy, ca) as client:
            client.ask(asking("chat", f"repeat prose 20 {megabytes}"))
            client.read()
            sent, before = load.sent(), -1
            while sent != before:
                time.sleep(1.0)  # nobody says that it has stopped
                sent, before = load.sent(), sent
        peak = Figure((status(proxy.pid, "VmHWM") - idle) / KIB**2, 20.0 if name != IDENTITY else None)
        table.add(name, Figure(megabytes), Figure(sent / KIB**2), peak)
    return table
