"""`toolmend prune`: retention by hand; `toolmend pin`: what it leaves alone.

Rule of this file: what goes is decided as the addon decides it, and never a question here.
"""

import json
import os
import shlex
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from ...config.checks import SettingsError
from ...config.data_folder import on_one_line
from ...config.retention import DEFAULT, Keep, Stored, expired, parse
from ...config.store_url import StoreUrl
from ...recordings.read.library import PINNED, Entry
from ...recordings.write.pruning import remove, stored
from .. import Exit, Problem, visible
from ..error_hints import look, misset
from ..recordings import FLOW, Place, configured, flows_option, refused

VARIABLE = "TOOLMEND_KEEP"

FORMAT = 1
"""The version of what `--json` says."""


@click.command()
@click.option("--dry-run", "-n", is_flag=True, help="Only say what would go.")
@click.option(
    "--keep",
    default="",
    metavar="LIMITS",
    help="As toolmend_keep: a size, an age, or both; by default what the settings say: TOOLMEND_KEEP, a file, 500MB 14d.",
)
@click.option("--json", "as_json", is_flag=True, help="What goes as JSON.")
@flows_option("root")
def prune(dry_run: bool, keep: str, as_json: bool, root: Place) -> None:
    """Remove the recordings that are too old, and the oldest of those that are too much.

    The addon does the same by itself while it records. Only what it has recorded is looked at: fixtures stay, and
    so do recordings that are pinned or still open.

    \b
    Examples:
      toolmend prune --dry-run
      toolmend prune --keep 7d
      toolmend prune --keep '200MB 30d'
    """
    root = refused(root, "pruned", f"a lifecycle rule of the bucket, which also goes on when nothing is recorded{_example(root)}")
    try:
        limits = _limits(keep)
    except SettingsError as error:
        raise misset(error) from None
    try:
        found = stored(root)
    except OSError as error:
        raise Problem(f"{on_one_line(root)} cannot be read: {error.strerror or error}", try_=look(root)) from None
    gone = expired(found, limits, datetime.now(UTC))
    failed = [] if dry_run else _remove(gone)
    if as_json:
        click.echo(json.dumps(_document(root, found, gone, dry_run), indent=2))
    else:
        for one in gone:
            click.echo(on_one_line(one.folder))
        click.echo(_words(found, gone, dry_run), err=True)
    if failed:
        raise Problem(f"{len(failed)} could not be removed, the first is {failed[0]}", try_="look at who owns them")


@click.command()
@click.argument("flow", type=FLOW)
@click.option("--unpin", is_flag=True, help="It may go again.")
@flows_option()
def pin(flow: Entry, unpin: bool) -> None:
    """Keep a recording, however old or large it is.

    \b
    Examples:
      toolmend pin last
      toolmend pin 183401 --unpin
    """
    if flow.url:
        hint = shlex.join(["toolmend", "promote", flow.url, "my-case"])
        raise Problem(f"{flow.url} lies in a store, where nothing of toolmend's removes it", try_=hint, code=Exit.USAGE)
    file = flow.folder / PINNED
    try:
        if unpin:
            file.unlink(missing_ok=True)
        else:
            with suppress(FileExistsError):  # whatever stands there, be it a link
                file.touch(0o600, exist_ok=False)
    except OSError as error:
        wrong = f"{file} cannot be {'removed' if unpin else 'written'}: {error.strerror or error}"
        raise Problem(wrong, try_=look(file.parent)) from None
    click.echo(f"{visible(flow.name)} {'may go when its time comes' if unpin else 'stays'}", err=True)


def _example(place: Place) -> str:
    """The command for it, where one is known."""
    if not isinstance(place, StoreUrl) or place.protocol != "s3":
        return ""
    bucket = place.url.partition("://")[2].partition("/")[0]
    return f": aws s3api put-bucket-lifecycle-configuration --bucket {shlex.quote(bucket)} …"


def _limits(keep: str) -> Keep:
    if keep:
        return parse("--keep", keep)
    if text := os.environ.get(VARIABLE, "").strip():
        return parse(VARIABLE, text)
    if not configured():
        return DEFAULT
    from ...config.precedence import everywhere  # noqa: PLC0415  a tenth of a second

    said = everywhere({}).given["keep"]
    return parse(said.where, said.text)


def _remove(gone: list[Stored]) -> list[str]:
    """Removes them; what could not be, in words."""
    failed = []
    for one in gone:
        try:
            remove(one.folder)
        except OSError as error:
            failed.append(f"{one.folder}: {error.strerror or error}")
    return failed


def _document(root: Path, found: list[Stored], gone: list[Stored], dry_run: bool) -> dict[str, object]:
    recordings = [
        {"name": one.folder.name, "folder": str(one.folder), "recorded_at": one.at.isoformat(), "bytes": one.size} for one in gone
    ]
    return {"format": FORMAT, "folder": str(root), "dry_run": dry_run, "staying": len(found) - len(gone), "going": recordings}


def _words(found: list[Stored], gone: list[Stored], dry_run: bool) -> str:
    held = sum(one.held for one in found)
    freed = sum(one.size for one in gone) / 10**6
    kept = f"{len(found) - len(gone)} stay" + (f", {held} of them pinned or open" if held else "")
    return f"{len(gone)} {'would go' if dry_run else 'went'} ({freed:.1f} MB), {kept}"
