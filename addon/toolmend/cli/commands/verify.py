"""`toolmend verify`: replays fixtures and recordings, and updates what fixtures expect. verification.py replays them."""

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

import click

from ...config.data_folder import on_one_line
from ...config.store_url import StoreUrl, is_url
from ...recordings.fixtures import fixture
from ...recordings.fixtures.verification import SPLITS, Result, check, check_all, update
from ...recordings.read import replay
from ...recordings.read.event_diff import diff
from .. import CliError, Exit, visible
from ..error_hints import ls_command
from ..progress import with_progress
from ..recordings import FOLDER, Flow, Place, fetch_recordings, flows_option, url_of

FORMAT = 1
"""The version of the `--json` output."""


class Fixtures(Flow):
    """A folder or URL with fixtures below it, or a FLOW."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Path]:  # type: ignore[override]
        place = FOLDER.convert(value, param, ctx) if is_url(value) else Path(value)
        if isinstance(place, StoreUrl):
            return [one.folder for one in fetch_recordings(place)] or _none(place)
        if place.is_dir():
            return _below(place)
        return [super().convert(value, param, ctx).folder]


@click.command()
@click.argument("fixtures", nargs=-1, type=Fixtures(), metavar="[FLOWS]...")
@click.option("--every-split", is_flag=True, help=f"Cut each stream in two at all positions, not at {SPLITS} of them.")
@click.option("--update", "updates", is_flag=True, help="Update what failing fixtures expect; asks before.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@flows_option()
def verify(fixtures: tuple[list[Path], ...], every_split: bool, updates: bool, yes: bool, as_json: bool) -> None:
    """Replay fixtures through the current toolmend: does the client still get the same?

    FLOWS are folders with fixtures below them, their URLs, or recordings as `toolmend flows` names them. The default is `flows`
    in the checkout, or in the current folder.

    \b
    Examples:
      toolmend verify
      toolmend verify flows/kimi --every-split
      toolmend verify flows/kimi/issue-17 --update
      toolmend verify last

    Each stream is replayed in its recorded chunks, whole, byte by byte, in random pieces and cut in two. Exit code 1: one fails.
    """
    if updates and not yes and not sys.stdin.isatty():
        wrong = "this needs a confirmation, but standard input is not a terminal"
        raise CliError(wrong, try_="toolmend verify --update --yes", code=Exit.USAGE)
    folders = list(dict.fromkeys(folder for some in fixtures or (_below(fixture.home()),) for folder in some))
    if updates and (urls := [url for folder in folders if (url := url_of(folder))]):
        hint = shlex.join(["toolmend", "promote", urls[0], "my-case"])
        raise CliError(f"fixtures in a store cannot be updated: {urls[0]}", try_=hint, code=Exit.USAGE)
    started = monotonic()
    results = list(with_progress(check_all(folders, None if every_split else SPLITS), len(folders), "verifying"))
    if as_json and not updates:
        click.echo(json.dumps(_document(results), indent=2))
    else:
        _print_results(results, monotonic() - started)
    failed = [result for result in results if not result.passed]
    if updates:
        failed = _update([result for result in results if result.renewable], yes=yes) + [
            result for result in failed if not result.renewable
        ]
    if failed:
        raise click.exceptions.Exit(Exit.FINDINGS)


def _below(root: Path) -> list[Path]:
    folders = replay.find(root)
    return folders or _none(root)


def _none(place: Place) -> NoReturn:
    raise CliError(f"no fixture in {on_one_line(place)}", try_="toolmend promote last my-case", code=Exit.USAGE)


def _print_results(results: Sequence[Result], seconds: float) -> None:
    for result in results:
        if not result.passed:
            click.echo(visible(f"FAILED {_name(result)}: {result.problem}" + (f", {result.how}" if result.how else "")))
            for line in diff(result.expected, result.got):
                click.echo(f"  {line}")
        for note in result.notes:
            click.echo(visible(f"note   {_name(result)}: {note}"))
    failed = [result for result in results if not result.passed]
    click.echo(f"{len(results) - len(failed):,} passed, {len(failed):,} failed, in {seconds:.1f} s")
    if renewable := [result for result in failed if result.renewable and not url_of(result.folder)]:
        word = str(renewable[0].folder) if len(renewable) == 1 else os.path.commonpath([result.folder for result in renewable])
        hint = visible(shlex.join(["toolmend", "verify", word, "--update"]))
        click.echo(f"try: {hint}  (if the current output is right)", err=True)


def _update(results: Sequence[Result], *, yes: bool) -> list[Result]:
    """Updates what fixtures expect; returns those that still fail."""
    if not results:
        click.echo("nothing to update", err=True)
        return []
    names = "".join(f"\n  {visible(_name(result))}" for result in results)
    if not yes and not click.confirm(f"Expect the current output from now on?{names}\n", err=True):
        click.echo("nothing was changed", err=True)
        return [result for result in results if not result.passed]
    for result in results:
        try:
            update(result.folder)
        except (replay.RecordingError, OSError) as error:
            raise CliError(f"{_name(result)} cannot be updated: {error}", try_=ls_command(result.folder)) from None
    rechecked = [check(result.folder) for result in results]
    for result in rechecked:
        done = f"updated {_name(result)}" if result.passed else f"FAILED {_name(result)}: {result.problem}, {result.how}"
        click.echo(visible(done))
    return [result for result in rechecked if not result.passed]


def _name(result: Result) -> str:
    folder = result.folder
    if url := url_of(folder):
        return url
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)


def _document(results: Sequence[Result]) -> dict[str, Any]:
    played = [
        {
            "name": _name(result),
            "folder": url_of(result.folder) or str(result.folder),
            "passed": result.passed,
            "how": result.how or None,
            "problem": result.problem or None,
            "notes": result.notes,
            "diff": diff(result.expected, result.got),
        }
        for result in results
    ]
    failed = sum(not result.passed for result in results)
    return {"format": FORMAT, "passed": len(results) - failed, "failed": failed, "fixtures": played}
