"""`toolmend promote`: makes a fixture of a recording, unless it contains a secret. No secret is printed."""

import os
import re
import shlex
from pathlib import Path

import click

from ...config.data_folder import on_one_line
from ...recordings.fixtures import fixture
from ...recordings.fixtures.promotion import prepare, put
from ...recordings.fixtures.verification import check
from ...recordings.read.library import Entry
from ...recordings.read.replay import RecordingError
from .. import CliError, Exit, visible
from ..error_hints import ls_command, shell_line
from ..recordings import FLOW, flows_option

MAX_PLACES = 20
"""Bound of the places that are printed."""


@click.command()
@click.argument("flow", type=FLOW)
@click.argument("case", metavar="CASE")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="The folder of fixtures: by default `flows` of the checkout, or of the current folder.",
)
@click.option("--minimise", is_flag=True, help="Leave out what does not matter, and replace the conversation by filler.")
@click.option("--allow", multiple=True, metavar="PLACE", help="A place that was reported and is not a secret; may be repeated.")
@flows_option()
def promote(flow: Entry, case: str, into: Path | None, minimise: bool, allow: tuple[str, ...]) -> None:
    """Make a fixture of a recording: FOLDER/<provider>/<case>/, which `toolmend verify` and the tests replay from then on.

    \b
    Examples:
      toolmend promote last split-header
      toolmend promote 181455-moonshot kimi/issue-17 --minimise
      toolmend promote last kimi/issue-17 --into tests/flows

    Credentials are masked again. If something that looks like a secret is left, nothing is written, and the place is reported.
    The conversation is kept: read it before you publish it, or use --minimise.
    """
    try:
        folder = (into or fixture.home()) / fixture.place(case, flow.provider)
    except ValueError as error:
        name = re.sub(r"[^a-z0-9]+", "-", case.lower()).strip("-") or "case"
        raise CliError(str(error), try_=shlex.join(["toolmend", "promote", flow.name, name]), code=Exit.USAGE) from None
    if folder.exists():
        remove = f"another name, or remove it: rm -r {shlex.quote(str(folder))}"
        raise CliError(f"the fixture {on_one_line(folder)} already exists", try_=remove)
    try:
        promotion = prepare(flow.folder, os.environ, small=minimise)
        findings = [finding for finding in promotion.findings if finding.place not in allow]
        if findings:
            places = "".join(f"\n  {finding}" for finding in findings[:MAX_PLACES]) + "\n  …" * (len(findings) > MAX_PLACES)
            allowed = " ".join(f"--allow {shlex.quote(finding.place)}" for finding in findings[:3])
            hint = f"{'' if minimise else '--minimise, or '}{allowed} if you have checked that it is not one"
            raise CliError(f"nothing was written: this looks like a secret:{places}", try_=hint, code=Exit.FINDINGS)
        put(promotion, folder)
    except RecordingError as error:
        raise CliError(f"this recording cannot be replayed: {error}", try_="toolmend flows") from None
    except OSError as error:
        raise CliError(
            f"{on_one_line(folder)} cannot be written: {error.strerror or error}", try_=ls_command(folder.parent)
        ) from None
    click.echo(on_one_line(folder))
    for note in promotion.notes:
        click.echo(f"note: {visible(note)}", err=True)
    if minimise:
        click.echo(f"note: the stream has {promotion.sizes[1]:,} bytes of {promotion.sizes[0]:,}", err=True)
    result = check(folder)
    if not result.passed:
        raise CliError(
            f"the fixture was written, but it fails: {result.problem}, {result.how}",
            try_=shlex.join(["toolmend", "verify", str(folder)]),
            code=Exit.FINDINGS,
        )
    rules = ", ".join(promotion.rules) or "none"
    click.echo(f"it passes; rules applied: {rules}\ntry: {shell_line('toolmend', 'verify', str(folder))}", err=True)
