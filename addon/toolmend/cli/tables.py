"""Prints rows as a table at a terminal, and as tab-separated fields in a pipe; the content is the same."""

import sys
from collections.abc import Iterable, Sequence

import click
from rich.console import Console
from rich.table import Table

from . import visible


def print_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints rows under their titles to stdout."""
    if not sys.stdout.isatty():
        for row in (head, *rows):
            click.echo("\t".join(map(visible, row)))
        return
    shown = Table(box=None, pad_edge=False)
    for title in head:
        shown.add_column(title, overflow="fold")
    for row in rows:
        shown.add_row(*map(visible, row))
    Console(markup=False).print(shown)
