"""`toolmend prune`: applies the retention limits once, by the addon's own rules; `toolmend pin`: exempts a recording."""

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
from .. import CliError, Exit, visible
from ..error_hints import ls_command, settings_error
from ..recordings import FLOW, Place, flows_option, has_settings_file, require_folder

VARIABLE = "TOOLMEND_KEEP"

FORMAT = 1
"""The version of the `--json` output."""


@click.command()
@click.option("--dry-run", "-n", is_flag=True, help="Only show what would be removed.")
@click.option(
    "--keep",
    default="",
    metavar="LIMITS",
    help="As toolmend_keep: a size, an age, or both. Default: TOOLMEND_KEEP, a settings file, or 500MB 14d.",
)
@click.option("--json", "as_json", is_flag=True, help="What is removed as JSON.")
@flows_option("root")
def prune(dry_run: bool, keep: str, as_json: bool, root: Place) -> None:
    """Remove recordings that are too old, and the oldest of those that are too large in total.

    The addon does the same while it records. Only its own recordings are considered: fixtures are kept, and so are recordings
    that are pinned or in progress.

    \b
    Examples:
      toolmend prune --dry-run
      toolmend prune --keep 7d
      toolmend prune --keep '200MB 30d'
    """
    root = require_folder(
        root, "pruned", f"a lifecycle rule of the bucket, which also applies when nothing is recorded{_example(root)}"
    )
    try:
        limits = _limits(keep)
    except SettingsError as error:
        raise settings_error(error) from None
    try:
        found = stored(root)
    except OSError as error:
        raise CliError(f"{on_one_line(root)} cannot be read: {error.strerror or error}", try_=ls_command(root)) from None
    excess = expired(found, limits, datetime.now(UTC))
    failed = [] if dry_run else _remove(excess)
    if as_json:
        click.echo(json.dumps(_document(root, found, excess, dry_run), indent=2))
    else:
        for one in excess:
            click.echo(on_one_line(one.folder))
        click.echo(_summary(found, excess, dry_run), err=True)
    if failed:
        raise CliError(f"{len(failed)} could not be removed, the first is {failed[0]}", try_="check their owner")


@click.command()
@click.argument("flow", type=FLOW)
@click.option("--unpin", is_flag=True, help="Let it be removed again.")
@flows_option()
def pin(flow: Entry, unpin: bool) -> None:
    """Keep a recording, regardless of age and size.

    \b
    Examples:
      toolmend pin last
      toolmend pin 183401 --unpin
    """
    if flow.url:
        hint = shlex.join(["toolmend", "promote", flow.url, "my-case"])
        raise CliError(f"{flow.url} is in a store, where toolmend removes nothing", try_=hint, code=Exit.USAGE)
    file = flow.folder / PINNED
    try:
        if unpin:
            file.unlink(missing_ok=True)
        else:
            with suppress(FileExistsError):  # of any kind, even a link
                file.touch(0o600, exist_ok=False)
    except OSError as error:
        wrong = f"{file} cannot be {'removed' if unpin else 'written'}: {error.strerror or error}"
        raise CliError(wrong, try_=ls_command(file.parent)) from None
    click.echo(f"{visible(flow.name)} {'can be removed again' if unpin else 'is kept'}", err=True)


def _example(place: Place) -> str:
    """Returns the command for a lifecycle rule, if it is known."""
    if not isinstance(place, StoreUrl) or place.protocol != "s3":
        return ""
    bucket = place.url.partition("://")[2].partition("/")[0]
    return f": aws s3api put-bucket-lifecycle-configuration --bucket {shlex.quote(bucket)} …"


def _limits(keep: str) -> Keep:
    if keep:
        return parse("--keep", keep)
    if text := os.environ.get(VARIABLE, "").strip():
        return parse(VARIABLE, text)
    if not has_settings_file():
        return DEFAULT
    from ...config.precedence import everywhere  # noqa: PLC0415  takes 0.1 s

    setting = everywhere({}).given["keep"]
    return parse(setting.where, setting.text)


def _remove(excess: list[Stored]) -> list[str]:
    """Removes recordings; returns a message for each that could not be removed."""
    failed = []
    for one in excess:
        try:
            remove(one.folder)
        except OSError as error:
            failed.append(f"{one.folder}: {error.strerror or error}")
    return failed


def _document(root: Path, found: list[Stored], excess: list[Stored], dry_run: bool) -> dict[str, object]:
    recordings = [
        {"name": each.folder.name, "folder": str(each.folder), "recorded_at": each.at.isoformat(), "bytes": each.size}
        for each in excess
    ]
    return {"format": FORMAT, "folder": str(root), "dry_run": dry_run, "staying": len(found) - len(excess), "going": recordings}


def _summary(found: list[Stored], excess: list[Stored], dry_run: bool) -> str:
    held = sum(one.held for one in found)
    freed = sum(one.size for one in excess) / 10**6
    kept = f"{len(found) - len(excess)} are kept" + (f", {held} of them pinned or in progress" if held else "")
    return f"{len(excess)} {'would be removed' if dry_run else 'removed'} ({freed:.1f} MB), {kept}"
