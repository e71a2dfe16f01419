"""A bar for what takes its time, at a terminal.

Rule of this file: standard output is data, so the bar is drawn on standard error; and only after a second.
"""

import sys
from collections.abc import Iterable, Iterator
from time import monotonic

PATIENCE = 1.0
"""Seconds until a bar is shown."""


def watched[T](items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """The items; who sits at a terminal sees how far they are, if it takes its time."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console  # noqa: PLC0415  slow, and rarely needed
    from rich.progress import Progress  # noqa: PLC0415

    started = monotonic()
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, visible=False)
        for item in items:
            bar.update(task, advance=1, visible=monotonic() - started > PATIENCE)
            yield item
