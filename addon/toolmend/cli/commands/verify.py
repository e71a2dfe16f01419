"""`toolmend verify`: fixtures and recordings played once more.

Rule of this file: verification.py plays them; here it is told how they did, and what is to be expected from now on is asked.
"""

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
from .. import Exit, Problem, visible
from ..error_hints import look
from ..progress import watched
from ..recordings import FOLDER, Flow, Place, fetched, flows_option, place_of

FORMAT = 1
"""The version of what `--json` says."""


class Fixtures(Flow):
    """A folder, or the URL of one, with fixtures somewhere below it, or what a FLOW is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Path]:  # type: ignore[override]
        place = FOLDER.convert(value, param, ctx) if is_url(value) else Path(value)
        if isinstance(place, StoreUrl):
            return [one.folder for one in fetched(place)] or _none(place)
        if place.is_dir():
            return _below(place)
        return [super().convert(value, param, ctx).folder]


@click.command()
@click.argument("fixtures", nargs=-1, type=Fixtures(), metavar="[FLOWS]...")
@click.option("--every-split", is_flag=True, help=f"Cut each stream in two at all places, not at {SPLITS} of them.")
@click.option("--update", "wanted", is_flag=True, help="Have those that fail expect what comes today; asks before.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
@flows_option()
def verify(fixtures: tuple[list[Path], ...], every_split: bool, wanted: bool, yes: bool, as_json: bool) -> None:
    """Play fixtures through the mending of today: does the client get what it got?

    FLOWS are folders, or URLs of such, with fixtures somewhere below, or recordings as `toolmend flows` names them. Without any
    it is all of `flows` in the checkout, or in the folder where you are.

    \b
    Examples:
      toolmend verify
      toolmend verify flows/kimi --every-split
      toolmend verify flows/kimi/issue-17 --update
      toolmend verify last

    Each stream is played in its recorded chunks, whole, byte by byte, in random pieces and cut in two. Exit code 1: one fails.
    """
    if wanted and not yes and not sys.stdin.isatty():
        raise Problem("nobody is there to be asked", try_="toolmend verify --update --yes", code=Exit.USAGE)
    folders = list(dict.fromkeys(folder for some in fixtures or (_below(fixture.home()),) for folder in some))
    if wanted and (urls := [url for folder in folders if (url := place_of(folder))]):
        hint = shlex.join(["toolmend", "promote", urls[0], "my-case"])
        raise Problem(f"what lies in a store is not updated: {urls[0]}", try_=hint, code=Exit.USAGE)
    started = monotonic()
    results = list(watched(check_all(folders, None if every_split else SPLITS), len(folders), "verifying"))
    if as_json and not wanted:
        click.echo(json.dumps(_document(results), indent=2))
    else:
        _print_results(results, monotonic() - started)
    failed = [result for result in results if not result.passed]
    if wanted:
        failed = _update([result for result in results if result.renewable], yes=yes) + [
            result for result in failed if not result.renewable
        ]
    if failed:
        raise click.exceptions.Exit(Exit.FINDINGS)


def _below(root: Path) -> list[Path]:
    folders = replay.find(root)
    return folders or _none(root)


def _none(place: Place) -> NoReturn:
    raise Problem(f"there is no fixture in {on_one_line(place)}", try_="toolmend promote last my-case", code=Exit.USAGE)


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
    if renewable := [result for result in failed if result.renewable and not place_of(result.folder)]:
        word = str(renewable[0].folder) if len(renewable) == 1 else os.path.commonpath([result.folder for result in renewable])
        hint = visible(shlex.join(["toolmend", "verify", word, "--update"]))
        click.echo(f"try: {hint}  (if what comes today is right)", err=True)


def _update(results: Sequence[Result], *, yes: bool) -> list[Result]:
    """Has fixtures expect what comes today; returns those that fail still."""
    if not results:
        click.echo("nothing is to be updated", err=True)
        return []
    names = "".join(f"\n  {visible(_name(result))}" for result in results)
    if not yes and not click.confirm(f"From now on expect what comes today?{names}\n", err=True):
        click.echo("nothing is changed", err=True)
        return [result for result in results if not result.passed]
    for result in results:
        try:
            update(result.folder)
        except (replay.RecordingError, OSError) as error:
            raise Problem(f"{_name(result)} cannot be updated: {error}", try_=look(result.folder)) from None
    again = [check(result.folder) for result in results]
    for result in again:
        done = f"updated {_name(result)}" if result.passed else f"FAILED {_name(result)}: {result.problem}, {result.how}"
        click.echo(visible(done))
    return [result for result in again if not result.passed]


def _name(result: Result) -> str:
    folder = result.folder
    if url := place_of(folder):
        return url
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)


def _document(results: Sequence[Result]) -> dict[str, Any]:
    played = [
        {
            "name": _name(result),
            "folder": place_of(result.folder) or str(result.folder),
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
