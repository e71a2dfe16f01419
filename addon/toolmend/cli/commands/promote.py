"""`toolmend promote`: a recording becomes a fixture.

Rule of this file: promotion.py says what the fixture holds; here it is asked for, refused, or told. No secret is shown.
"""

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
from .. import Exit, Problem, visible
from ..error_hints import look, pasted
from ..recordings import FLOW, flows_option

MOST = 20
"""Places that are told."""



@click.command()
@click.argument("flow", type=FLOW)
@click.argument("case", metavar="CASE")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where fixtures lie: by default `flows` of the checkout, or of the folder where you are.",
)
@click.option("--minimise", is_flag=True, help="Leave out what does not matter, and make filler of what was said.")
@click.option("--allow", multiple=True, metavar="PLACE", help="A place that was told and holds no secret; may be repeated.")
@flows_option()
def promote(flow: Entry, case: str, into: Path | None, minimise: bool, allow: tuple[str, ...]) -> None:
    """Make a fixture of a recording: FOLDER/<provider>/<case>/, which `toolmend verify` and the tests play from then on.

    \b
    Examples:
      toolmend promote last split-header
      toolmend promote 181455-moonshot kimi/issue-17 --minimise
      toolmend promote last kimi/issue-17 --into tests/flows

    Credentials are taken out once more. If something is left that looks like a secret, nothing is written, and the place is
    told. What was asked and answered stays as it was said: read it before you publish it, or use --minimise.
    """
    try:
        folder = (into or fixture.home()) / fixture.place(case, flow.provider)
    except ValueError as error:
        name = re.sub(r"[^a-z0-9]+", "-", case.lower()).strip("-") or "case"
        raise Problem(str(error), try_=shlex.join(["toolmend", "promote", flow.name, name]), code=Exit.USAGE) from None
    if folder.exists():
        remove = f"another name, or remove it: rm -r {shlex.quote(str(folder))}"
        raise Problem(f"there is a fixture {on_one_line(folder)} already", try_=remove)
    try:
        promotion = prepare(flow.folder, os.environ, small=minimise)
        findings = [finding for finding in promotion.findings if finding.place not in allow]
        if findings:
            places = "".join(f"\n  {finding}" for finding in findings[:MOST]) + "\n  …" * (len(findings) > MOST)
            allowed = " ".join(f"--allow {shlex.quote(finding.place)}" for finding in findings[:3])
            hint = f"{'' if minimise else '--minimise, or '}{allowed} where you have read that it is none"
            raise Problem(f"nothing is written, since this looks like a secret:{places}", try_=hint, code=Exit.FINDINGS)
        put(promotion, folder)
    except RecordingError as error:
        raise Problem(f"this recording cannot be played: {error}", try_="toolmend flows") from None
    except OSError as error:
        raise Problem(f"{on_one_line(folder)} cannot be written: {error.strerror or error}", try_=look(folder.parent)) from None
    click.echo(on_one_line(folder))
    for note in promotion.notes:
        click.echo(f"note: {visible(note)}", err=True)
    if minimise:
        click.echo(f"note: the stream has {promotion.sizes[1]:,} bytes of {promotion.sizes[0]:,}", err=True)
    result = check(folder)
    if not result.passed:
        raise Problem(
            f"it is written, but it does not pass: {result.problem}, {result.how}",
            try_=shlex.join(["toolmend", "verify", str(folder)]),
            code=Exit.FINDINGS,
        )
    rules = ", ".join(promotion.rules) or "none"
    click.echo(f"it passes; rules at work: {rules}\ntry: {pasted('toolmend', 'verify', str(folder))}", err=True)
