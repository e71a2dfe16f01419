"""`scripts/bench`: the parts, chosen and told.

Rule of this file: tables go to stdout, words to stderr; that a target is missed is told, and is no failure of the measuring.
"""

import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import click

from toolmend.cli import CliError
from toolmend.cli.launcher.process import ProcessError
from toolmend.dialects import DIALECTS
from toolmend.recordings.playback.server import make_certificate

from . import end_to_end, envoy, in_process, memory, startup
from .load import Load
from .proxies import compared
from .table import Table, document, markdown, text

FORMAT = 1
"""The version of what `--json` writes."""

PARTS = ("process", "end-to-end", "memory", "start")
ASKED = ("envoy",)
"""What is measured only if it is asked for: it takes another program."""

SOME = ("kimi_k2", "hermes", "qwen3_coder", "dsml", "glm", "harmony", "mistral", "python_list", "gemma4", "json_object")
"""With --quick: of each way to write arguments one dialect."""

type Progress = Callable[[str], None]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("parts", nargs=-1, type=click.Choice((*PARTS, *ASKED)), metavar="[PART]...")
@click.option("--quick", is_flag=True, help="Less of everything: under a minute, and rougher.")
@click.option("--only", default="", metavar="TEXT", help="Of `process`: the rows that have this in their table's title and name.")
@click.option("--json", "file", type=click.File("w", encoding="utf-8", lazy=False), help="Write the figures to a file as well.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the tables as Markdown.")
def bench(parts: tuple[str, ...], quick: bool, only: str, file: IO[str] | None, as_markdown: bool) -> None:
    """Measure what toolmend costs, beside doing nothing, on this machine.

    PART is process, end-to-end, memory or start; all of these by default, which takes a quarter of an hour; or envoy, which is
    measured if it is asked for. `!` marks what misses its target. What is compared took turns in one run: compare within a table,
    not between machines or days.

    \b
    Examples:
      scripts/bench --quick
      scripts/bench process --only "markup kimi"
      scripts/bench --json bench.json --markdown > bench.md
    """
    if not Path("/proc/self/clear_refs").exists() and set(parts or PARTS) - {"process"}:
        raise CliError("other processes are measured with what only Linux tells", try_="scripts/bench process")
    started, tables = time.monotonic(), list[Table]()
    show = markdown if as_markdown else text
    about = machine()
    click.echo(", ".join(f"{name} {value}" for name, value in about.items()) + "\n")
    for part in dict.fromkeys(parts or PARTS):
        progress = _progress(part)
        try:
            found = measure(part, progress, quick=quick, only=only)
        except ProcessError as error:
            raise CliError(str(error)) from None
        finally:
            progress("")
        for table in found:
            tables.append(table)
            click.echo(show(table))
    missed = {table.title: table.over for table in tables if table.over}
    if file:
        told = {"version": FORMAT, "machine": about, "quick": quick, "seconds": round(time.monotonic() - started)}
        file.write(json.dumps({**told, "tables": [document(table) for table in tables]}, indent=2) + "\n")
    judged = sum(map(len, missed.values()))
    click.echo(f"{judged} rows miss a target, in {time.monotonic() - started:.0f} s", err=True)


def measure(part: str, progress: Progress, *, quick: bool, only: str = "") -> list[Table]:
    """The tables of a part."""
    if part == "process":
        sizes, dialects = ((1, 4, 8), SOME) if quick else ((4, 64, 256), DIALECTS)
        return in_process.tables([size * 1024 for size in sizes], 1 if quick else 3, progress, only, dialects)
    with tempfile.TemporaryDirectory(prefix="toolmend-bench-") as name:
        folder = Path(name)
        certificate = make_certificate(folder)
        ca = certificate[0]
        if part == "start":
            return startup.tables(folder, 2 if quick else 8, progress)
        with Load(certificate) as load:
            if part == "envoy":
                return envoy.tables(load.port, certificate, folder, envoy.QUICK if quick else envoy.FULL, progress)
            if part == "memory":
                return memory.tables(load, ca, folder, memory.QUICK if quick else memory.FULL, progress)
            proxies = partial(compared, folder, load.port, ca)
            return end_to_end.tables(proxies, load.port, ca, end_to_end.QUICK if quick else end_to_end.FULL, progress)


def machine() -> dict[str, Any]:
    """What the figures belong to, in general terms."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": cores,
        "Python": platform.python_version(),
        "mitmproxy": version("mitmproxy"),
        "toolmend": version("toolmend"),
    }


def _progress(part: str) -> Progress:
    """A line on a terminal that says what is being measured; an empty one wipes it."""
    if not sys.stderr.isatty():
        return lambda _: None
    return lambda what: click.echo(f"\r\x1b[K{part}: {what}\r" if what else "\r\x1b[K", nl=False, err=True)


if __name__ == "__main__":
    bench(prog_name="scripts/bench")
