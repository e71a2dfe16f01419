"""`scripts/soak`: mixed streams through one mitmdump, recording; and behind its warm-up, for half an hour: does anything grow?

    clients, threads of their own  ─TLS─  mitmdump with the addon, a small `toolmend_keep`, and a probe  ─TLS─  upstream

Rule of this file: what grows is told from what wobbles. A slope is a line through windows behind the warm-up, and only what is
above the limit by twice its error is called growth. What is counted (files, tasks) has to be back where it was.

The memory of a process is the most that it ever took, more or less: mitmproxy's flows and connections are garbage that is collected
now and then, and what lay there at once is a matter of chance, so it rises ever more slowly for a quarter of an hour. Therefore it
is waited for, which is told; and the blocks and objects that are in use are counted beside it, each time behind a collection.
"""

import http.client
import json
import random
import re
import ssl
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import click

from toolmend.cli import Exit
from toolmend.cli.launcher.proxy import Mitmdump, addon_path
from toolmend.recordings.playback.server import Request, Script, Upstream, make_certificate

from .__main__ import FORMAT, machine
from .client import KEY
from .growth import line, windows
from .scenarios import SCENARIOS, routes
from .table import Figure, Table, document, text

CLIENTS = 12
EVERY = 2.0
"""Seconds between two looks."""

REST, RISE = 600.0, 0.5
"""The warm-up is over when the most memory there was has not risen by so many MiB for so many seconds, or lasts as long as the soak."""

SLOPE = 1.0
"""MiB an hour at most (R12)."""

BLOCKS = 13.0
"""Thousands an hour at most: of 80 bytes, that is a MiB."""

KEEP = "10MB"
"""Little, so that recordings are pruned all the while; that is looked at once a minute."""

SETTLE = 30.0
"""Seconds until all that was open must be closed."""

PROBE = """
import asyncio, gc, json, os, sys, threading, time

behind = {{}}

def count(phase, info):
    if phase == "stop" and info["generation"] == 2:
        behind.update(blocks=sys.getallocatedblocks(), objects=len(gc.get_objects()))

async def watch():
    with open({path!r}, "a", buffering=1) as file:
        while True:
            pages = int(open("/proc/self/statm").read().split()[1])
            seen = {{"at": time.monotonic(), "memory": pages * os.sysconf("SC_PAGE_SIZE"), **behind,
                     "files": len(os.listdir("/proc/self/fd")), "tasks": len(asyncio.all_tasks()),
                     "threads": sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate())}}
            file.write(json.dumps(seen) + "\\n")
            await asyncio.sleep({every})

def running():
    global task
    gc.callbacks.append(count)
    gc.collect()
    task = asyncio.create_task(watch())
"""
"""A script beside the addon, which looks from inside. The threads of asyncio's pool, which is bounded, do not count."""

SAID = r".*(?:Traceback|Addon error|has crashed).*\n(?:  .*\n|\w.*\n){,40}"
"""What the log may not have; but mitmproxy tells so of some clients that leave."""

COUNTED = ("files", "tasks", "threads")


@dataclass
class Tally:
    """What the clients saw."""

    streams: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    size: int = 0


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--minutes", type=click.FloatRange(min=0.05), default=30.0, show_default=True, help="How long, behind the warm-up.")
@click.option(
    "--json", "file", type=click.File("w", encoding="utf-8", lazy=False), help="Write the figures and all samples to a file."
)
def soak(minutes: float, file: IO[str] | None) -> None:
    """Play mixed streams through one mitmdump, and see whether memory, tasks or open files grow.

    First comes a warm-up: until memory has come to rest, and for as long at most.

    \b
    Examples:
      scripts/soak
      scripts/soak --minutes 3 --json soak.json

    Exit code 1: something grows, something stays open, a recording is incomplete, or a client did not get what it should.
    Under ten minutes only a steep slope can be told from chance.
    """
    about = machine()
    click.echo(", ".join(f"{name} {value}" for name, value in about.items()) + "\n")
    table, tally, samples, log, warm = run(minutes * 60)
    rested = "until memory came to rest" if warm < minutes * 60 else "and memory had not come to rest"
    click.echo(f"a warm-up of {warm / 60:.1f} minutes, {rested}\n")
    click.echo(text(table))
    click.echo(
        f"{sum(tally.streams.values()):,} exchanges of {len(tally.streams)} kinds, {tally.size / 2**20:,.0f} MiB to the clients"
    )
    said = [text for text in re.findall(SAID, log) if "addon/toolmend" in text or "ConnectionResetError" not in text]
    for wrong in (*tally.wrong[:10], *said[:2]):
        click.echo(f"wrong: {wrong}", err=True)
    if file:
        told = {
            "version": FORMAT,
            "machine": about,
            "minutes": minutes,
            "warm_up": warm / 60,
            "streams": tally.streams,
            "wrong": tally.wrong,
            "log": said,
        }
        file.write(json.dumps({**told, "table": document(table), "samples": samples}, indent=2) + "\n")
    if table.over or tally.wrong or said:
        raise SystemExit(Exit.FINDINGS)


def run(seconds: float) -> tuple[Table, Tally, list[dict[str, Any]], str, float]:
    """The figures, what clients saw, every look at the proxy, its log, and the seconds of warm-up before all that was looked at."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="toolmend-soak-") as name:
        folder = Path(name)
        certificate = make_certificate(folder)
        seen, probe, config = folder / "seen", folder / "probe.py", folder / "toolmend.toml"
        probe.write_text(PROBE.format(path=str(seen), every=EVERY))
        with Upstream(_answer, tls=certificate, alpn=("http/1.1",)) as upstream:
            config.write_text(routes(upstream.port))
            options = {"toolmend_hosts": "localhost", "toolmend_config": str(config), "toolmend_keep": KEEP, "flow_detail": "0"}
            options |= {"toolmend_flows": str(folder / "flows"), "ssl_verify_upstream_trusted_ca": str(certificate[0])}
            with Mitmdump(options, confdir=folder / "conf", scripts=[addon_path(), probe]) as proxy:
                _play(upstream, proxy, tally, min(10.0, seconds / 10))
                before = _settled(seen, None)
                begun = time.monotonic()
                _play(upstream, proxy, tally, seconds, lambda: _rests(looks(seen), begun))
                at = time.monotonic()
                _play(upstream, proxy, tally, seconds)
                samples = [look for look in looks(seen) if at <= look["at"] <= at + seconds]
                after = _settled(seen, before)
                kept = [*(folder / "flows").rglob("*")]
                size, lost = sum(map(_size, kept)), sum(map(_is_incomplete, kept))
                log = proxy.log
    return _table(samples, before, after, size, lost), tally, samples, log, min(at - begun, seconds)


def _rests(samples: Sequence[dict[str, Any]], begun: float) -> bool:
    """Whether memory has come to rest since it began."""
    before = [look["memory"] for look in samples if begun <= look["at"] < samples[-1]["at"] - REST]
    return bool(before) and max(look["memory"] for look in samples) - max(before) < RISE * 2**20


def _size(path: Path) -> int:
    """0 of a folder, and of what is pruned this moment."""
    with suppress(FileNotFoundError):
        return path.stat().st_size if path.is_file() else 0
    return 0


def _answer(request: Request) -> Script:
    said = re.search(rb"\[\[([^\]]+) (\d+)\]\]", request.body)
    assert said, request.body[:200]
    scenario = SCENARIOS[said[1].decode()]
    return scenario.answer(random.Random(int(said[2])), scenario.upstream)


def looks(seen: Path) -> list[dict[str, Any]]:
    """What the probe has written so far, whole lines."""
    return [json.loads(line) for line in seen.read_text(encoding="ascii").splitlines(keepends=True) if line.endswith("\n")]


def _settled(seen: Path, before: dict[str, Any] | None) -> dict[str, Any]:
    """The first look from now on in which nothing is open that was not `before`; or the last, if that takes too long.

    Without `before`: when two looks are alike.
    """
    until, last = time.monotonic() + SETTLE, looks(seen)[-1]
    while time.monotonic() < until:
        time.sleep(EVERY)
        previous, last = last, looks(seen)[-1]
        if all(last[name] <= (before or previous)[name] for name in COUNTED) and last is not previous:
            break
    return last


def _play(upstream: Upstream, proxy: Mitmdump, tally: Tally, seconds: float, enough: Callable[[], bool] = lambda: False) -> None:
    """Clients for so long, or until it is enough."""
    until, over = time.monotonic() + seconds, threading.Event()
    clients = [threading.Thread(target=_client, args=(upstream.port, proxy, tally, over, at)) for at in range(CLIENTS)]
    for client in clients:
        client.start()
    while any(client.is_alive() for client in clients):
        upstream.requests.clear()
        if time.monotonic() >= until or enough():
            over.set()
        if sys.stderr.isatty():
            left = max(0.0, until - time.monotonic())
            click.echo(f"\r\x1b[K{sum(tally.streams.values()):,} exchanges, {left / 60:.1f} minutes to go\r", nl=False, err=True)
        time.sleep(0.5)
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", nl=False, err=True)


def _client(port: int, proxy: Mitmdump, tally: Tally, over: threading.Event, seed: int) -> None:
    """One client after the other; each makes a few requests on its connection."""
    dice = random.Random(seed + int(time.monotonic() * 1000))
    context = ssl.create_default_context(cafile=str(proxy.ca))
    while not over.is_set():
        connection = http.client.HTTPSConnection("127.0.0.1", proxy.port, context=context, timeout=60)
        connection.set_tunnel("localhost", port)
        with suppress(ConnectionError, http.client.HTTPException, ssl.SSLError):
            for _ in range(dice.randint(1, 6)):
                name = dice.choice(list(SCENARIOS))
                tally.streams[name] += 1
                if over.is_set() or not _exchange(connection, name, dice.randrange(10**6), tally):
                    break
        connection.close()


def _exchange(connection: http.client.HTTPSConnection, name: str, number: int, tally: Tally) -> bool:
    """One request; whether the connection can be used again."""
    scenario = SCENARIOS[name]
    try:
        headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
        connection.request("POST", scenario.path, scenario.request(name, number), headers)
        response = connection.getresponse()
        if scenario.leaves:
            tally.size += len(response.read(2000))
            return False
        body = response.read()
    except Exception as error:
        if scenario.complete:
            tally.wrong.append(f"{name} {number}: {type(error).__name__}: {error}")
        raise
    tally.size += len(body)
    if scenario.complete and "error" not in name and (response.status != 200 or not body):
        tally.wrong.append(f"{name} {number}: {response.status} {body[:200]!r}")
    return not response.will_close


def _is_incomplete(path: Path) -> bool:
    """Whether it tells of a recording that lost something. Such ones stay for an hour, as those do that are open."""
    with suppress(OSError):
        return path.name == "meta.json" and b"recording incomplete" in path.read_bytes()
    return False


def _table(samples: Sequence[dict[str, Any]], before: dict[str, Any], after: dict[str, Any], size: int, lost: int) -> Table:
    columns = ("at first", "at the end", "slope an hour", "its error", "idle before", "idle after")
    table = Table(
        "soak", columns, f"memory grows by at most {SLOPE:g} MiB an hour; files, tasks, threads are back where they were; no recording lost"
    )
    for name, unit, limit, points, title in (
        ("memory", 2**20, SLOPE, windows(samples, "memory"), "memory, MiB"),
        ("blocks", 1000, BLOCKS, windows(samples, "blocks"), "blocks in use, thousands"),
        ("objects", 1000, None, windows(samples, "objects"), "objects, thousands"),
    ):
        slope, error = line(points)
        most = None if limit is None else limit + 2 * error / unit
        figures = Figure(points[0][1] / unit), Figure(points[-1][1] / unit), Figure(slope / unit, most), Figure(error / unit)
        table.add(title, *figures, Figure(before[name] / unit), Figure(after[name] / unit))
    for name in COUNTED:
        counts = sorted(look[name] for look in samples)
        table.add(
            name,
            Figure(counts[len(counts) // 2]),
            Figure(samples[-1][name]),
            None,
            None,
            Figure(before[name]),
            Figure(after[name], before[name]),
        )
    table.add("recordings, MiB", None, None, None, None, None, Figure(size / 2**20))
    table.add("of them incomplete", None, None, None, None, None, Figure(lost, 0))
    return table


if __name__ == "__main__":
    soak(prog_name="scripts/soak")
