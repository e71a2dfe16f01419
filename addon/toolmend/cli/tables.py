"""Rows for who asks: a table at a terminal, lines of fields between tabs in a pipe.

Rule of this file: what is told is the same in both; only how it looks differs.
"""

import sys
from collections.abc import Iterable, Sequence

import click
from rich.console import Console
from rich.table import Table

from . import visible


def print_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Writes rows under their titles to stdout."""
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
