"""`toolmend start`, `status` and `stop`: one proxy in the background for all terminals. The work is done by launcher/."""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import click

from ...config.data_folder import on_one_line
from .. import CliError, Exit
from ..launcher.background import PORT, BackgroundProxy, StartError, TakenError, last_log, running
from ..launcher.background import start as start_proxy
from ..launcher.background import stop as stop_proxy
from ..launcher.environment import original
from ..launcher.tally import Tally
from ..proxies import absolute, own_options, proxy_options, recordings_of, scripts, show_page, start_problem
from ..recordings import Place

VERSION = 1
"""The version of the `--json` output."""


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="The port to use; 0: any free one.")
@proxy_options
@click.option("--ui", "shows", is_flag=True, help="Show the traffic live in a browser: see `toolmend ui`.")
def start(port: int, config: Path | None, settings: tuple[str, ...], flows: Place | None, shows: bool) -> None:
    """Start one proxy in the background, for all terminals, until `toolmend stop` or the system shuts down.

    It listens on 127.0.0.1 only. `toolmend run` uses it, and `toolmend env` prints the variables for a shell. The system is not
    changed, and the proxy is not restarted if it ends.

    \b
    Examples:
      toolmend start
      toolmend start --port 9000 --config toolmend.toml
      eval "$(toolmend env)"            in each terminal whose programs should use it
    """
    if now := running():
        raise CliError(f"a proxy already runs in the background, at {now.url} (process {now.pid})", try_="toolmend stop")
    options, confdir = own_options(config, settings, flows)
    if re.fullmatch(rf"upstream:http://(localhost|127\.0\.0\.1):{port}", options.get("mode", "")):
        del options["mode"]  # this shell already uses the proxy of this port: it would connect to itself
    try:
        proxy = start_proxy(port, options, confdir, scripts(), absolute(original(os.environ)))
    except TakenError:
        raise CliError(f"port {port} is in use by another process", try_=f"toolmend start --port {port + 1}") from None
    except StartError as error:
        raise start_problem(error) from None
    recordings = recordings_of(proxy.read_log())
    click.echo(f"The proxy runs at {proxy.url} (process {proxy.pid}); {_recorded(recordings)}.", err=True)
    if shows:
        show_page(recordings, proxy.pid, original(os.environ))
    click.echo('In a terminal: eval "$(toolmend env)", or toolmend run -- COMMAND. To end it: toolmend stop.', err=True)


@click.command()
def stop() -> None:
    """Stop the proxy in the background, and wait until it is gone.

    \b
    Examples:
      eval "$(toolmend env --unset)"    first, in a terminal that uses it
      toolmend stop
    """
    proxy = running()
    if proxy is None:
        click.echo("No proxy runs in the background.", err=True)
        return
    stop_proxy(proxy)
    click.echo(f"The proxy at {proxy.url} has ended: {Tally.read(proxy.read_log()).sentence()}.", err=True)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Show whether a proxy runs in the background, where, since when, and what it has done.

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
        log = proxy.read_log()
        done = Tally.read(log)
        lines = [
            f"{proxy.url}  process {proxy.pid}, since {datetime.fromisoformat(proxy.started).astimezone():%Y-%m-%d %H:%M:%S}",
            done.sentence(),
            _recorded(recordings_of(log)),
            f"log: {on_one_line(proxy.log)}",
            *(f"warning: {warning}" for warning in done.warnings),
        ]
        click.echo("\n".join(lines))
    else:
        left = f"; the log of the last one is {on_one_line(last_log())}" if last_log().exists() else ""
        click.echo(f"no proxy runs in the background{left}")
    ctx.exit(Exit.OK if proxy else Exit.FINDINGS)


def _fields(proxy: BackgroundProxy) -> dict[str, object]:
    log = proxy.read_log()
    done, recordings = Tally.read(log), recordings_of(log)
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
