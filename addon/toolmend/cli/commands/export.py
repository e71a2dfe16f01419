"""`toolmend export`: recordings for the programs of others.

Rule of this file: what is written is as private as a recording is: see files.py.
"""

import json
import shlex
import sys
from pathlib import Path
from typing import IO

import click

from ...recordings.export.export import Side, sides
from ...recordings.read.library import Entry
from ...recordings.read.replay import RecordingError
from .. import Exit, Problem
from ..files import put
from ..recordings import FLOW, flows_option

SUFFIXES = {".flow": "flow", ".flows": "flow", ".mitm": "flow", ".har": "har"}
"""What a file's name says of its format."""


@click.command()
@click.argument("recordings", nargs=-1, required=True, type=FLOW, metavar="FLOW…")
@click.option("--to", "form", type=click.Choice(("flow", "har")), help="The format; by default what FILE's name says.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Default: standard output.")
@click.option("--client", is_flag=True, help="For flow: what the client sent and got; by default it is what the provider did.")
@flows_option()
def export(recordings: tuple[Entry, ...], form: str | None, output: Path | None, client: bool) -> None:
    """Write recordings as a flow file of mitmproxy's, or as HAR. They are redacted, as they were recorded.

    \b
    Examples:
      toolmend export last -o last.flow                 what the provider sent …
      mitmweb -r last.flow                              … to be looked at …
      mitmdump -s addon/main.py -S last.flow \\
        --set connection_strategy=lazy                  … or to be mended once more
      toolmend export last --client -o mended.flow      what the client got
      toolmend export last -o last.har                  both, as two entries: `comment` says which is which

    mitmproxy replays to a request that is the same, byte for byte. A recorded request is not, if it was no compact JSON, or was
    redacted: then use --set server_replay_ignore_content=true.
    """
    form = form or SUFFIXES.get(output.suffix.lower() if output else "")
    if form is None:
        raise click.UsageError("write --to flow or --to har, or name a file: -o FILE.flow, -o FILE.har")
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
            raise Problem("a flow file is nothing for a terminal", try_=hint, code=Exit.USAGE)
    try:
        put(output, lambda file: _write(file, form, exchanges))
    except RecordingError as error:
        raise _unfit(error) from None


def _unfit(error: RecordingError) -> Problem:
    return Problem(f"this recording cannot be exported: {error}", try_="toolmend flows")


def _write(file: IO[bytes], form: str, exchanges: list[Side]) -> None:
    if form == "har":
        from ...recordings.export.har import har  # noqa: PLC0415

        text = json.dumps(har(exchanges), ensure_ascii=False, indent=1)
        file.write(text.encode(errors="backslashreplace") + b"\n")
    else:
        from ...recordings.export.flow_file import write  # noqa: PLC0415  mitmproxy is slow to import

        write(file, exchanges)
