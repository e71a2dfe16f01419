"""`toolmend export`: writes recordings for other programs. The files are private, like recordings: see files.py."""

import json
import shlex
import sys
from pathlib import Path
from typing import IO

import click

from ...recordings.export.export import Side, sides
from ...recordings.read.library import Entry
from ...recordings.read.replay import RecordingError
from .. import CliError, Exit
from ..files import write_output
from ..recordings import FLOW, flows_option

SUFFIXES = {".flow": "flow", ".flows": "flow", ".mitm": "flow", ".har": "har"}
"""Formats by the suffix of the file's name."""


@click.command()
@click.argument("recordings", nargs=-1, required=True, type=FLOW, metavar="FLOW…")
@click.option("--to", "form", type=click.Choice(("flow", "har")), help="The format; default: by FILE's name.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Default: standard output.")
@click.option("--client", is_flag=True, help="For flow: the client's side; by default it is the provider's.")
@flows_option()
def export(recordings: tuple[Entry, ...], form: str | None, output: Path | None, client: bool) -> None:
    """Write recordings as a mitmproxy flow file, or as HAR. They stay redacted, as they were recorded.

    \b
    Examples:
      toolmend export last -o last.flow                 what the provider sent …
      mitmweb -r last.flow                              … to look at it …
      mitmdump -s addon/main.py -S last.flow \\
        --set connection_strategy=lazy                  … or to mend it again
      toolmend export last --client -o mended.flow      what the client got
      toolmend export last -o last.har                  both, as two entries: `comment` has the side

    mitmproxy replays only to a request that is equal byte for byte. A recorded request is not if it was not compact JSON, or was
    redacted: then use --set server_replay_ignore_content=true.
    """
    form = form or SUFFIXES.get(output.suffix.lower() if output else "")
    if form is None:
        raise click.UsageError("add --to flow or --to har, or name a file: -o FILE.flow, -o FILE.har")
    if client and form == "har":
        raise click.UsageError("--client is for --to flow: a HAR has both sides")
    try:
        exchanges = [side for one in recordings for side in sides(one.folder)]
    except RecordingError as error:
        raise _unfit(error) from None
    if form == "flow":
        exchanges = [one for one in exchanges if one.kind == ("rewritten" if client else "raw")]
        if not output and sys.stdout.isatty():
            hint = shlex.join(["toolmend", "export", *(one.name for one in recordings), "-o", f"{recordings[0].name}.flow"])
            raise CliError("a flow file cannot be printed to a terminal", try_=hint, code=Exit.USAGE)
    try:
        write_output(output, lambda file: _write(file, form, exchanges))
    except RecordingError as error:
        raise _unfit(error) from None


def _unfit(error: RecordingError) -> CliError:
    return CliError(f"this recording cannot be exported: {error}", try_="toolmend flows")


def _write(file: IO[bytes], form: str, exchanges: list[Side]) -> None:
    if form == "har":
        from ...recordings.export.har import har  # noqa: PLC0415

        text = json.dumps(har(exchanges), ensure_ascii=False, indent=1)
        file.write(text.encode(errors="backslashreplace") + b"\n")
    else:
        from ...recordings.export.flow_file import write  # noqa: PLC0415  mitmproxy is slow to import

        write(file, exchanges)
