"""`toolmend flows`: what was recorded, newest first.

Rule of this file: library.py says what a recording is; here it is filtered and shown. What came from outside (hosts, models,
agents) is shown without the characters that a terminal obeys. rich is imported only where a table is drawn: it is slow.
"""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

import click

from ...config.data_folder import on_one_line
from ...recordings.read.library import STATES, UNFINISHED, Entry, newest
from ..recordings import FOLDER, Place, flows_option, listed

FORMAT = 1
"""The version of what `--json` says."""

SHOWN = 30
"""Recordings that a terminal gets unless it asks for more: a screen of them."""

WIDE = 180
"""Columns of a terminal from which on a recording has one line; below, it has two or three."""

HEAD = ("flow", "time", "agent", "host", "model", "status", "tokens", "first byte", "rules", "suspects")
NARROW = (("flow", "time"), ("model", "host", "rules", "suspects"), ("status", "agent"), ("tokens", "first byte"))
"""What stands below each other."""

STYLES = {"flow": "bold", "time": "dim", "first byte": "dim", "rules": "cyan", "suspects": "yellow"}

_AGE = re.compile(r"([0-9]{1,5})([smhdw])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Since(click.ParamType):  # type: ignore[type-arg]  # in old versions of click it has none
    """A moment: so long ago, or a date and a time of day where we are."""

    name = "since"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        if found := _AGE.fullmatch(value):
            return datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])})
        try:
            return datetime.fromisoformat(value).astimezone()
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time, write it as in 30m, 2h, 3d, 2026-11-20 or 2026-11-20T18:30", param, ctx)


@click.command()
@click.option("--host", metavar="WORD", help="Only with it in the host; *, ? and [] stand for more, then for all of it.")
@click.option("--model", metavar="WORD", help="In the model.")
@click.option("--agent", metavar="WORD", help="In the agent.")
@click.option("--rule", metavar="WORD", help="In a rule that fired; --rule '*' is any.")
@click.option("--suspect", is_flag=True, help="Only with what looks like a tool call and was not made one.")
@click.option("--state", multiple=True, type=click.Choice(STATES), help="How it ended; may be repeated.")
@click.option("--since", type=Since(), metavar="WHEN", help="Not older than: 30m, 2h, 3d, or 2026-11-20.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help=f"At most so many; at a terminal {SHOWN}, 0 for all.")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON, and more of each.")
@flows_option("root")
@click.argument("place", required=False, type=FOLDER, metavar="[FOLDER]")
def flows(
    host: str | None,
    model: str | None,
    agent: str | None,
    rule: str | None,
    suspect: bool,
    state: tuple[str, ...],
    since: datetime | None,
    limit: int | None,
    as_json: bool,
    root: Place,
    place: Place | None,
) -> None:
    """List the recordings, newest first; at a terminal as a table, else as lines of fields between tabs.

    FOLDER is the same as --flows FOLDER: a folder, or the URL of one in a store.

    \b
    Examples:
      toolmend flows --since 2h
      toolmend flows s3://bucket/prefix               those that lie in a store
      toolmend flows --model kimi --rule '*'          where something was mended
      toolmend flows --suspect                        where something looks like a call and was not made one
      toolmend flows --state partial --state upstream_error
      toolmend flows --json | jq '.recordings[].name'

    A recording says `waiting` until its answer begins, then `partial` until it is finished, and so for ever if the proxy was
    killed or lost the disk. `unanswered`: not one byte of an answer came.
    """
    root = place or root
    if limit is None:
        limit = SHOWN if sys.stdout.isatty() and not as_json else 0
    few = limit and not as_json and isinstance(root, Path) and since is None
    every: Iterable[Entry] = newest(root) if few and isinstance(root, Path) else listed(root, since)
    fitting = (
        one
        for one in every
        if (not state or one.state in state)
        and (since is None or one.recorded_at >= since)
        and all(_fits(word, (text,)) for word, text in ((host, one.host), (model, one.model), (agent, one.agent)))
        and _fits(rule, one.rules)
        and (one.suspects or not suspect)
    )
    found = list(islice(fitting, limit + 1) if few else fitting)
    shown = found[: limit or None]
    if as_json:
        document = {"format": FORMAT, "folder": str(root), "found": len(found), "recordings": [_fields(one) for one in shown]}
        click.echo(json.dumps(document, indent=2))
    elif not found:
        every = listed(root, since)
        none = f"there is no recording in {on_one_line(root)}"
        click.echo(f"none of {_count(len(every))} is such a one" if every else none, err=True)
    elif sys.stdout.isatty():
        _print(shown)
        if len(shown) < len(found):
            told = f"the newest {len(shown)}" if few else f"{len(shown)} of {_count(len(found))}"
            click.echo(f"{told}; --limit 0 shows all", err=True)
    else:
        click.echo("\n".join("\t".join(line) for line in (HEAD, *map(_row, shown))))


def _count(number: int) -> str:
    return f"{number:,} recording{'' if number == 1 else 's'}"


def _fits(word: str | None, texts: Sequence[str]) -> bool:
    """Whether a word is in one of the texts; one with wildcards has to be the whole text."""
    if word is None:
        return True
    word = word.casefold()
    if re.search(r"[*?[]", word):
        return any(fnmatchcase(text.casefold(), word) for text in texts)
    return any(word in text.casefold() for text in texts)


def _fields(one: Entry) -> dict[str, Any]:
    return {
        "name": one.name,
        "flow_id": one.flow_id or None,
        "folder": one.place,
        "state": one.state,
        "error": one.error,
        "recorded_at": one.recorded_at.isoformat(timespec="milliseconds") if one.recorded_at.timestamp() else None,
        "agent": one.agent,
        "host": one.host,
        "provider": one.provider,
        "model": one.model,
        "api": one.api,
        "client_api": one.client_api,
        "route": one.route or None,
        "status": one.status or None,
        "stream": one.stream,
        "rules": one.rules,
        "observed": one.observed,
        "notes": one.notes,
        "suspects": one.suspects,
        "tokens": dict(zip(("input", "output"), one.tokens, strict=True)) if one.tokens else None,
        "cached_tokens": one.cached,
        "first_byte_ms": one.wait_ms,
        "waited_ms": one.waited_ms,
        "last_byte_ms": one.last_ms,
        "bytes": one.size,
        "pinned": one.pinned,
    }


def _row(one: Entry) -> list[str]:
    """What HEAD says."""
    status = " ".join(
        [str(one.status)] * bool(one.status)
        + [one.state.replace("_", " ")] * (one.state != "complete")
        + ["pinned"] * one.pinned
    )
    texts = [
        one.name,
        f"{one.recorded_at.astimezone():%Y-%m-%d %H:%M:%S}" if one.recorded_at.timestamp() else "",
        one.agent,
        one.host,
        one.model,
        status,
        "/".join(map(str, one.tokens or ())) + (f" ({one.cached} cached)" if one.cached else ""),
        f"{one.wait_ms / 1000:.2f} s" if one.wait_ms is not None else _waited(one),
        ("would: " if one.observed and one.rules else "") + ", ".join(one.rules),
        ", ".join(dict.fromkeys(suspect.get("name") or "?" for suspect in one.suspects)),
    ]
    return [_printable(text) for text in texts]


def _waited(one: Entry) -> str:
    return f"none in {one.waited_ms / 1000:.0f} s" if one.waited_ms is not None else ""


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _print(shown: Sequence[Entry]) -> None:
    """The table; where it is narrow, with some lines a recording."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    wide = console.width >= WIDE
    stacks = [(title,) for title in HEAD] if wide else NARROW
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for stack in stacks:
        table.add_column("\n".join(stack if wide else (*stack, "")[:3]), overflow="fold")
    table.columns[0].no_wrap = all(len(one.name) < 40 for one in shown)  # a name is there to be copied
    table.columns[-2 if wide else -1].no_wrap = True
    for one in shown:
        texts = dict(zip(HEAD, _row(one), strict=True))
        color = "" if one.state == "complete" and one.status < 400 else "yellow" if one.state in UNFINISHED else "red"
        lines = {title: Text(text, style=STYLES.get(title, "")) for title, text in texts.items()}
        lines["status"].style = color
        table.add_row(*(Text("\n").join(lines[title] for title in stack if lines[title]) for stack in stacks))
    console.print(table)
