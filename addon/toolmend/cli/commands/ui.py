"""`toolmend ui`: shows the recordings in a browser, while they are written and afterwards.

Stdout has one line, the address with its token. tornado is imported only here.
"""

import asyncio
import os
import signal
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...config.data_folder import on_one_line
from ...recordings.read.library import NotFound, find
from .. import CliError, Exit
from ..error_hints import shell_line
from ..recordings import FOLDER, Place, fetch_recordings, flows_option

if TYPE_CHECKING:
    from ..ui.server import Server

HEADLESS = ("SSH_CONNECTION", "SSH_TTY", "CI")
"""Variables that mean that a browser started here would not be seen."""


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port on 127.0.0.1; default: any free one.")
@click.option("--listen", metavar="unix:PATH", help="A socket's path instead of a port, for `ssh -L PORT:PATH host`.")
@click.option("--open/--no-open", "opens", default=None, help="Whether to open a browser; default: if there is one.")
@click.option("--read-only", is_flag=True, help="Do not pin, promote or write anything.")
@click.option("--while", "pid", type=int, hidden=True, help="End when this process has ended and no page is open.")
@click.option("--open-when-asked", "later", is_flag=True, hidden=True, help="Open a browser with the first request.")
@flows_option("root")
@click.argument("place", required=False, type=FOLDER, metavar="[FOLDER | FLOW]")
def ui(
    port: int,
    listen: str | None,
    opens: bool | None,
    read_only: bool,
    pid: int | None,
    later: bool,
    root: Place,
    place: Place | None,
) -> None:
    """Show the recordings in a browser: what the agent, the provider and toolmend are doing now, and what they did.

    It listens on 127.0.0.1 only, requires the token in the address that it prints, and reads only the recordings' folder. FOLDER
    is the same as --flows FOLDER; FLOW, as `last`, is the recording to open. It ends with Ctrl+C.

    \b
    Examples:
      toolmend ui
      toolmend ui last
      toolmend run --ui -- claude                     live, while the agent runs
      toolmend ui s3://bucket/prefix                  the recordings in a store, as they are now
      toolmend ui --listen unix:/tmp/ui.sock          then, from elsewhere: ssh -L 8123:/tmp/ui.sock HOST
    """
    from ..ui.server import Server  # noqa: PLC0415  slow

    shown = str(place) if isinstance(place, Path) and not place.exists() and len(place.parts) == 1 else None
    root = root if shown else place or root
    folder = root if isinstance(root, Path) else _fetched(root)
    server = Server(folder.absolute(), read_only=read_only, shown_as=str(root), pid=pid)
    unix = _unix(listen)
    address = _path(folder, shown)
    try:
        asyncio.run(_serve(server, port, unix, address, None if opens is None and not later else bool(opens), later=later))
    except OSError as error:
        if server.port or unix is None:
            raise CliError(f"cannot listen on port {port}: {error.strerror or error}", try_="toolmend ui") from None
        raise CliError(f"cannot listen on {unix}: {error.strerror or error}", try_="toolmend ui") from None


async def _serve(server: "Server", port: int, unix: Path | None, address: str, opens: bool | None, *, later: bool) -> None:
    server.listen(port, unix)
    at = f"http://127.0.0.1:{server.port or 8123}{address}#{server.gate.token}"
    print(at, flush=True)  # noqa: T201  parsed by launcher/page.py
    click.echo(f"toolmend: {on_one_line(server.root)} is shown there; Ctrl+C ends it", err=True)
    if unix:
        click.echo(f"  it listens on {unix}: ssh -L 8123:{unix} HOST", err=True)
    elif any(os.environ.get(name) for name in HEADLESS[:2]):
        click.echo(f"  from your own machine: ssh -L {server.port}:127.0.0.1:{server.port} HOST", err=True)
    if not unix and (opens or (opens is None and has_browser())):
        webbrowser.open(at)
    if later and has_browser():
        server.on_first_request = lambda: webbrowser.open(at)
    task = asyncio.ensure_future(server.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


def has_browser() -> bool:
    """Returns whether a browser opened here would be seen."""
    if any(os.environ.get(name) for name in HEADLESS) or os.environ.get("BROWSER") == "none":
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _unix(listen: str | None) -> Path | None:
    if listen is None:
        return None
    kind, _, path = listen.partition(":")
    if kind != "unix" or not path:
        raise CliError(f"--listen {listen} is not unix:PATH", try_="--listen unix:/tmp/toolmend.sock", code=Exit.USAGE)
    return Path(path)


def _path(folder: Path, shown: str | None) -> str:
    if shown is None:
        return "/"
    try:
        return f"/r/{find(folder, shown).name}"
    except NotFound as error:
        raise CliError(str(error), try_="toolmend flows") from None


def _fetched(place: Place) -> Path:
    """Returns the folder that a store's recordings were fetched to."""
    fetched = fetch_recordings(place) if not isinstance(place, Path) else []
    if not fetched:
        raise CliError(f"no recording in {on_one_line(place)}", try_=shell_line("toolmend", "flows", str(place)))
    return Path(os.path.commonpath([one.folder.parent for one in fetched]))
