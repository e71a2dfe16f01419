"""`toolmend flows`: lists recordings, newest first.

Text from outside (hosts, models, agents) is printed without terminal control characters. rich is imported only for a table: it is
slow.
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
from ..recordings import FOLDER, Place, flows_option, list_recordings

FORMAT = 1
"""The version of the `--json` output."""

SHOWN = 30
"""Recordings listed at a terminal by default: one screen."""

WIDE = 180
"""Columns of a terminal from which a recording takes one line; below, it takes two or three."""

HEAD = ("flow", "time", "agent", "host", "model", "status", "tokens", "first byte", "rules", "suspects")
NARROW = (("flow", "time"), ("model", "host", "rules", "suspects"), ("status", "agent"), ("tokens", "first byte"))
"""Fields that share a column in a narrow terminal."""

STYLES = {"flow": "bold", "time": "dim", "first byte": "dim", "rules": "cyan", "suspects": "yellow"}

_AGE = re.compile(r"([0-9]{1,5})([smhdw])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Since(click.ParamType):  # type: ignore[type-arg]  # not generic in old versions of click
    """A moment: an age, or a local date and time."""

    name = "since"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        if found := _AGE.fullmatch(value):
            return datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])})
        try:
            return datetime.fromisoformat(value).astimezone()
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a time: write it as in 30m, 2h, 3d, 2026-11-20 or 2026-11-20T18:30", param, ctx)


@click.command()
@click.option("--host", metavar="WORD", help="Only if it is in the host; with *, ? or [] it must match all of it.")
@click.option("--model", metavar="WORD", help="The same for the model.")
@click.option("--agent", metavar="WORD", help="The same for the agent.")
@click.option("--rule", metavar="WORD", help="The same for a rule that fired; --rule '*' is any.")
@click.option("--suspect", is_flag=True, help="Only with text that looks like a tool call and was not made one.")
@click.option("--state", multiple=True, type=click.Choice(STATES), help="How it ended; may be repeated.")
@click.option("--since", type=Since(), metavar="WHEN", help="Not older than: 30m, 2h, 3d, or 2026-11-20.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help=f"At most N; at a terminal {SHOWN}, 0 for all.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with more fields.")
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
    """List the recordings, newest first; at a terminal as a table, else as tab-separated lines.

    FOLDER is the same as --flows FOLDER: a folder, or the URL of one in a store.

    \b
    Examples:
      toolmend flows --since 2h
      toolmend flows s3://bucket/prefix               those in a store
      toolmend flows --model kimi --rule '*'          where something was mended
      toolmend flows --suspect                        where something looks like a call and was not made one
      toolmend flows --state partial --state upstream_error
      toolmend flows --json | jq '.recordings[].name'

    A recording is `waiting` until its response begins, then `partial` until it is finished; it stays so if the proxy was killed
    or lost the disk. `unanswered`: not one byte of a response came.
    """
    root = place or root
    if limit is None:
        limit = SHOWN if sys.stdout.isatty() and not as_json else 0
    takes_few = limit and not as_json and isinstance(root, Path) and since is None
    every: Iterable[Entry] = newest(root) if takes_few and isinstance(root, Path) else list_recordings(root, since)
    fitting = (
        one
        for one in every
        if (not state or one.state in state)
        and (since is None or one.recorded_at >= since)
        and all(_fits(word, (text,)) for word, text in ((host, one.host), (model, one.model), (agent, one.agent)))
        and _fits(rule, one.rules)
        and (one.suspects or not suspect)
    )
    found = list(islice(fitting, limit + 1) if takes_few else fitting)
    shown = found[: limit or None]
    if as_json:
        document = {"format": FORMAT, "folder": str(root), "found": len(found), "recordings": [_fields(one) for one in shown]}
        click.echo(json.dumps(document, indent=2))
    elif not found:
        every = list_recordings(root, since)
        nothing = f"no recording in {on_one_line(root)}"
        click.echo(f"none of {_count(len(every))} matches" if every else nothing, err=True)
    elif sys.stdout.isatty():
        _print(shown)
        if len(shown) < len(found):
            shown_part = f"the newest {len(shown)}" if takes_few else f"{len(shown)} of {_count(len(found))}"
            click.echo(f"{shown_part}; --limit 0 shows all", err=True)
    else:
        click.echo("\n".join("\t".join(line) for line in (HEAD, *map(_row, shown))))


def _count(number: int) -> str:
    return f"{number:,} recording{'' if number == 1 else 's'}"


def _fits(word: str | None, texts: Sequence[str]) -> bool:
    """Returns whether a word is in one of the texts; a word with wildcards must match a whole text."""
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
    """Returns the fields of HEAD."""
    status = " ".join(
        [str(one.status)] * bool(one.status) + [one.state.replace("_", " ")] * (one.state != "complete") + ["pinned"] * one.pinned
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
    """Prints the table; in a narrow terminal with several lines for each recording."""
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    wide = console.width >= WIDE
    stacks = [(title,) for title in HEAD] if wide else NARROW
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for stack in stacks:
        table.add_column("\n".join(stack if wide else (*stack, "")[:3]), overflow="fold")
    table.columns[0].no_wrap = all(len(one.name) < 40 for one in shown)  # names are copied
    table.columns[-2 if wide else -1].no_wrap = True
    for one in shown:
        texts = dict(zip(HEAD, _row(one), strict=True))
        color = "" if one.state == "complete" and one.status < 400 else "yellow" if one.state in UNFINISHED else "red"
        lines = {title: Text(text, style=STYLES.get(title, "")) for title, text in texts.items()}
        lines["status"].style = color
        table.add_row(*(Text("\n").join(lines[title] for title in stack if lines[title]) for stack in stacks))
    console.print(table)
