"""`toolmend bug-report`: what a report needs in one file, which is shown before it is written, and sent nowhere.

Rule of this file: bug_report.py says what is in it; here it is refused, shown, asked for, and written.
"""

import os
import shlex
from datetime import datetime
from pathlib import Path

import click

from ...config.data_folder import on_one_line
from ...recordings.fixtures.promotion import prepare
from ...recordings.read.library import Entry
from ...recordings.read.replay import RecordingError
from .. import Exit, Problem, visible
from ..confirm import agreed
from ..doctor import Machine, examine
from ..error_hints import pasted
from ..files import put
from ..launcher import bug_report as report
from ..launcher import trust
from ..launcher.background import last_log
from ..launcher.environment import confdir
from ..recordings import FLOW, flows_option
from ..shutdown import ended_by_signals
from .doctor import document

PLACE = click.Path(dir_okay=False, path_type=Path)
MOST = 20
"""Places that are told."""


@click.command()
@click.argument("flow", type=FLOW, required=False)
@click.option("-o", "--output", type=PLACE, metavar="FILE", help="By default it is named by the time.")
@click.option("--with-content", is_flag=True, help="Keep what was said in FLOW, instead of filler.")
@click.option("--allow", multiple=True, metavar="PLACE", help="A place that was told and holds no secret; may be repeated.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@flows_option()
def bug_report(flow: Entry | None, output: Path | None, with_content: bool, allow: tuple[str, ...], yes: bool) -> None:
    """Collect what a report of a bug needs in a ZIP archive: versions, the doctor's findings, settings, the end of the log.

    With FLOW, a recording by its name or `last`, that exchange goes with it: made small, and with filler for what was said.

    \b
    Examples:
      toolmend bug-report
      toolmend bug-report last                    with the last exchange, its texts made filler
      toolmend bug-report last --with-content     with what was asked and answered
      toolmend bug-report --yes -o report.zip

    What is in it is listed before it is written, and nothing is sent anywhere. Credentials are taken out; if something is left
    that looks like one, nothing is written, and the place is told.
    """
    if with_content and flow is None:
        raise click.UsageError("--with-content is for a recording, name one, or last")
    recording, notes = _recording(flow, small=not with_content) if flow else ({}, ())
    with ended_by_signals():
        found = list(examine(Machine.here(confdir(), trust.here())))
    files = report.collect(document(found), _log(), recording, os.environ)
    findings = [finding for finding in report.search(files, os.environ) if finding.place not in allow]
    if findings:
        places = "".join(f"\n  {finding}" for finding in findings[:MOST]) + "\n  …" * (len(findings) > MOST)
        allowed = " ".join(f"--allow {shlex.quote(finding.place)}" for finding in findings[:3])
        raise Problem(
            f"nothing is written, since this looks like a secret:{places}",
            try_=f"{allowed} where you have read that it is none",
            code=Exit.FINDINGS,
        )
    path = output or Path(f"toolmend-report-{datetime.now().astimezone():%Y%m%d-%H%M%S}.zip")
    lines = [f"{len(data):>9,}  {name:<32} {report.what(name)}" for name, data in files.items()]
    lines += [f"note: {visible(note)}" for note in notes]
    click.echo("\n".join([f"This goes into {on_one_line(path)}:", *lines]), err=True)
    if agreed("Write it?", yes=yes, try_=shlex.join(["toolmend", "bug-report", *([flow.name] if flow else []), "--yes"])):
        archive = report.packed(files)
        put(path, lambda file: file.write(archive))  # type: ignore[arg-type]
        click.echo(on_one_line(path))
        click.echo(f"try: unzip -p {pasted(str(path))} | less  (read it before you give it away)", err=True)


def _recording(flow: Entry, *, small: bool) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The files of a recording, and what is worth knowing of them."""
    try:
        promotion = prepare(flow.folder, os.environ, small=small)
    except RecordingError as error:
        raise Problem(f"this recording cannot be played: {error}", try_="toolmend flows") from None
    return dict(promotion.files), promotion.notes


def _log() -> str:
    """What the proxy in the background has said last."""
    try:
        return last_log().read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
