"""`toolmend show`: shows a recording at a terminal, as a page, or as JSON.

document.py computes what is shown; terminal_view.py and page/ display it.
"""

import json
import shlex
from pathlib import Path
from typing import Any

import click

from ...config.data_folder import on_one_line
from ...recordings.read.document import document
from ...recordings.read.library import Entry
from ...recordings.read.replay import RecordingError, load
from ...recordings.read.safe_read import read
from .. import CliError, Exit, visible
from ..files import write_output
from ..recordings import FLOW, flows_option


@click.command()
@click.argument("flow", type=FLOW, required=False, metavar="FLOW")
@click.option(
    "--html", is_flag=False, flag_value="", metavar="[FILE]", help="Write one HTML page instead; `-` is standard output."
)
@click.option("--all", "whole", is_flag=True, help="Shorten nothing: every event, and every text in full.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@flows_option()
def show(flow: Entry | None, html: str | None, whole: bool, as_json: bool) -> None:
    """Show a recording: request, conversation, response, and event by event what came and what the client got.

    \b
    Examples:
      toolmend show last
      toolmend show last --all | less -R
      toolmend show last --html                 writes NAME.html, and prints its path
      toolmend show last --html page.html
      toolmend show last --json | jq '.events[] | select(.kind == "changed")'

    The page needs no network and no other file. Like the recording, it contains the whole conversation: it is readable by you
    only, and whoever you give it to can read it all.
    """
    if flow is None:  # `show --html last` parses the word as FILE
        raise CliError("no recording is named", try_=_complete(html), code=Exit.USAGE)
    try:
        recording = load(flow.folder)
        shown = document(flow, recording, _forwarded(flow.folder))
    except (RecordingError, OSError) as error:
        raise CliError(f"this recording cannot be shown: {error}", try_="toolmend flows") from None
    if as_json:
        click.echo(json.dumps(shown, indent=2))
    elif html is None:
        from ..views.terminal_view import print_view  # noqa: PLC0415  rich is slow

        print_view(shown, whole=whole)
    else:
        from ..views.page import render  # noqa: PLC0415  Jinja2 is slow, too

        page = render(shown)
        if html == "-":
            click.echo(page, nl=False)
        else:
            click.echo(visible(str(_written(page, html, flow.name))))


def _complete(html: str | None) -> str:
    """Returns a command line that names one."""
    return "toolmend show last" if html is None else shlex.join(["toolmend", "show", html or "last", "--html"])


def _forwarded(folder: Path) -> dict[str, Any] | None:
    """Returns the request to the upstream if it differs from the client's, or None."""
    try:
        value = json.loads(read(folder / "upstream_request.json"))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{on_one_line(folder)}: upstream_request.json: {error}") from None
    return value if isinstance(value, dict) else None


def _written(page: str, wanted: str, name: str) -> Path:
    """Writes the page, completely or not at all, readable by the user only; returns its path."""
    path = Path(wanted or ".")
    if path.is_dir():
        path /= f"{name}.html"
    write_output(path, lambda file: file.write(page.encode()))  # type: ignore[arg-type]
    return path
