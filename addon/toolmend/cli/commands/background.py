"""`toolmend start`, `status` and `stop`: one proxy in the background, for all terminals, if asked for.

Rule of this file: background.py does it, and tally.py reads what came of it; here it is told.
"""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import click

from ...config.data_folder import on_one_line
from .. import Exit, Problem
from ..launcher.background import PORT, Running, StartError, TakenError, last_log, running
from ..launcher.background import start as start_proxy
from ..launcher.background import stop as stop_proxy
from ..launcher.environment import before
from ..launcher.tally import Tally
from ..proxies import absolute, own_options, proxy_options, recordings_of, scripts, show_page, start_problem
from ..recordings import Place

VERSION = 1
"""Of what `--json` says."""


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Where it listens; 0: any free.")
@proxy_options
@click.option("--ui", "shows", is_flag=True, help="Show in a browser what goes through, live: see `toolmend ui`.")
def start(port: int, config: Path | None, settings: tuple[str, ...], flows: Place | None, shows: bool) -> None:
    """Keep one proxy in the background, for all terminals, until `toolmend stop` or the system's end.

    It listens on 127.0.0.1 alone. `toolmend run` uses it, and `toolmend env` prints the variables for a shell. Nothing of the
    system is changed, and nothing starts it anew when it is gone.

    \b
    Examples:
      toolmend start
      toolmend start --port 9000 --config toolmend.toml
      eval "$(toolmend env)"            in each terminal whose programs are to use it
    """
    if now := running():
        raise Problem(f"a proxy runs in the background already, at {now.url} (process {now.pid})", try_="toolmend stop")
    options, confdir = own_options(config, settings, flows)
    if re.fullmatch(rf"upstream:http://(localhost|127\.0\.0\.1):{port}", options.get("mode", "")):
        del options["mode"]  # this shell has been sent here already: it would go through itself
    try:
        proxy = start_proxy(port, options, confdir, scripts(), absolute(before(os.environ)))
    except TakenError:
        raise Problem(f"port {port} is taken by another process", try_=f"toolmend start --port {port + 1}") from None
    except StartError as error:
        raise start_problem(error) from None
    recordings = recordings_of(proxy.said())
    click.echo(f"The proxy runs at {proxy.url} (process {proxy.pid}); {_recorded(recordings)}.", err=True)
    if shows:
        show_page(recordings, proxy.pid, before(os.environ))
    click.echo('In a terminal: eval "$(toolmend env)", or toolmend run -- COMMAND. To end it: toolmend stop.', err=True)


@click.command()
def stop() -> None:
    """End the proxy in the background, and wait until it is gone.

    \b
    Examples:
      eval "$(toolmend env --unset)"    first, in a terminal that was sent through it
      toolmend stop
    """
    proxy = running()
    if proxy is None:
        click.echo("No proxy runs in the background.", err=True)
        return
    stop_proxy(proxy)
    click.echo(f"The proxy at {proxy.url} has ended: {Tally.read(proxy.said()).sentence()}.", err=True)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Say whether a proxy runs in the background, where, since when, and what it has done.

    \b
    Examples:
      toolmend status
      toolmend status --json | jq .mended

    \b
    Exit codes: 0 it runs, 1 it does not.
    """
    proxy = running()
    if as_json:
        click.echo(json.dumps({"version": VERSION, "running": proxy is not None, **(_fields(proxy) if proxy else {})}, indent=2))
    elif proxy:
        said = proxy.said()
        done = Tally.read(said)
        lines = [
            f"{proxy.url}  process {proxy.pid}, since {datetime.fromisoformat(proxy.started).astimezone():%Y-%m-%d %H:%M:%S}",
            done.sentence(),
            _recorded(recordings_of(said)),
            f"log: {on_one_line(proxy.log)}",
            *(f"warning: {warning}" for warning in done.warnings),
        ]
        click.echo("\n".join(lines))
    else:
        left = f"; what the last one said is in {on_one_line(last_log())}" if last_log().exists() else ""
        click.echo(f"no proxy runs in the background{left}")
    ctx.exit(Exit.OK if proxy else Exit.FINDINGS)


def _fields(proxy: Running) -> dict[str, object]:
    said = proxy.said()
    done, recordings = Tally.read(said), recordings_of(said)
    return {
        "pid": proxy.pid,
        "port": proxy.port,
        "url": proxy.url,
        "started": proxy.started,
        "seconds": round((datetime.now(UTC) - datetime.fromisoformat(proxy.started)).total_seconds()),
        "answers": done.answers,
        "mended": done.mended,
        "faults": done.faults,
        "unanswered": done.unanswered,
        "rules": dict(done.rules),
        "recordings": recordings,
        "last_recording": done.folder,
        "log": str(proxy.log),
        "warnings": list(done.warnings),
    }


def _recorded(recordings: str | None) -> str:
    return f"recordings in {on_one_line(recordings)}" if recordings else "nothing is recorded"
