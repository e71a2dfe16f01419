"""A progress bar for slow work, on standard error of a terminal and only after a second: standard output is data."""

import sys
from collections.abc import Iterable, Iterator
from time import monotonic

PATIENCE = 1.0
"""Seconds until the bar is shown."""


def with_progress[T](items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """Yields the items, and shows a progress bar at a terminal if it takes longer than PATIENCE."""
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
