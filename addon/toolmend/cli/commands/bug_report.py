"""`toolmend bug-report`: collects a report in one file, which is listed before it is written, and sent nowhere."""

import os
import shlex
from datetime import datetime
from pathlib import Path

import click

from ...config.data_folder import on_one_line
from ...recordings.fixtures.promotion import prepare
from ...recordings.read.library import Entry
from ...recordings.read.replay import RecordingError
from .. import CliError, Exit, visible
from ..confirm import is_confirmed
from ..doctor import Machine, examine
from ..error_hints import shell_line
from ..files import write_output
from ..launcher import bug_report as report
from ..launcher import trust
from ..launcher.background import last_log
from ..launcher.environment import confdir
from ..recordings import FLOW, flows_option
from ..shutdown import ended_by_signals
from .doctor import document

PLACE = click.Path(dir_okay=False, path_type=Path)
MAX_PLACES = 20
"""Bound of the places that are printed."""


@click.command()
@click.argument("flow", type=FLOW, required=False)
@click.option("-o", "--output", type=PLACE, metavar="FILE", help="Default: a name with the time.")
@click.option("--with-content", is_flag=True, help="Keep the conversation in FLOW instead of filler.")
@click.option("--allow", multiple=True, metavar="PLACE", help="A place that was reported and is not a secret; may be repeated.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@flows_option()
def bug_report(flow: Entry | None, output: Path | None, with_content: bool, allow: tuple[str, ...], yes: bool) -> None:
    """Collect what a bug report needs in a ZIP archive: versions, the doctor's findings, settings, the end of the log.

    With FLOW, a recording by its name or `last`, that exchange is included, shortened and with filler as its conversation.

    \b
    Examples:
      toolmend bug-report
      toolmend bug-report last                    with the last exchange, its texts replaced by filler
      toolmend bug-report last --with-content     with its conversation
      toolmend bug-report --yes -o report.zip

    The content is listed before it is written, and nothing is sent anywhere. Credentials are masked; if something that looks like
    one is left, nothing is written, and the place is reported.
    """
    if with_content and flow is None:
        raise click.UsageError("--with-content needs a recording: name one, or last")
    recording, notes = _recording(flow, small=not with_content) if flow else ({}, ())
    with ended_by_signals():
        found = list(examine(Machine.here(confdir(), trust.this_system())))
    files = report.collect(document(found), _log(), recording, os.environ)
    findings = [finding for finding in report.find_secrets(files, os.environ) if finding.place not in allow]
    if findings:
        places = "".join(f"\n  {finding}" for finding in findings[:MAX_PLACES]) + "\n  …" * (len(findings) > MAX_PLACES)
        allowed = " ".join(f"--allow {shlex.quote(finding.place)}" for finding in findings[:3])
        raise CliError(
            f"nothing was written: this looks like a secret:{places}",
            try_=f"{allowed} if you have checked that it is not one",
            code=Exit.FINDINGS,
        )
    path = output or Path(f"toolmend-report-{datetime.now().astimezone():%Y%m%d-%H%M%S}.zip")
    lines = [f"{len(data):>9,}  {name:<32} {report.description(name)}" for name, data in files.items()]
    lines += [f"note: {visible(note)}" for note in notes]
    click.echo("\n".join([f"{on_one_line(path)} will contain:", *lines]), err=True)
    if is_confirmed("Write it?", yes=yes, try_=shlex.join(["toolmend", "bug-report", *([flow.name] if flow else []), "--yes"])):
        archive = report.zip_archive(files)
        write_output(path, lambda file: file.write(archive))  # type: ignore[arg-type]
        click.echo(on_one_line(path))
        click.echo(f"try: unzip -p {shell_line(str(path))} | less  (read it before you share it)", err=True)


def _recording(flow: Entry, *, small: bool) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Returns the files of a recording, and notes about them."""
    try:
        promotion = prepare(flow.folder, os.environ, small=small)
    except RecordingError as error:
        raise CliError(f"this recording cannot be replayed: {error}", try_="toolmend flows") from None
    return dict(promotion.files), promotion.notes


def _log() -> str:
    """Returns the background proxy's log."""
    try:
        return last_log().read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
