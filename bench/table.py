"""Figures with their targets, in tables: as text, as Markdown, as JSON.

    table = Table("start", ("seconds", "more"), "at most 150 ms more")
    table.add("with the addon", Figure(0.61), Figure(0.13, at_most=0.15))

Rule of this file: a figure that has a target says whether it holds, and a row says it in a word.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, and what it has to be."""

    value: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def ok(self) -> bool | None:
        """None without a target."""
        if self.at_most is None and self.at_least is None:
            return None
        return (self.at_most is None or self.value <= self.at_most) and (self.at_least is None or self.value >= self.at_least)


@dataclass(slots=True)
class Table:
    """`columns` without the first, which names the row; `target` in words."""

    title: str
    columns: Sequence[str]
    target: str = ""
    rows: dict[str, Sequence[Figure | None]] = field(default_factory=dict)

    def add(self, name: str, *figures: Figure | None) -> None:
        assert len(figures) == len(self.columns), (name, figures)
        self.rows[name] = figures

    @property
    def over(self) -> list[str]:
        """The rows in which a target is missed."""
        return [name for name, figures in self.rows.items() if verdict(figures) == "over"]


def verdict(figures: Sequence[Figure | None]) -> str:
    """What is said of a row: ok, over, or nothing where nothing is aimed at."""
    judged = [figure.ok for figure in figures if figure and figure.ok is not None]
    return ("ok" if all(judged) else "over") if judged else ""


def number(value: float) -> str:
    """Three digits that count; none behind the point where the number is large."""
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.095 else 3
    return f"{value:,.{digits}f}"


def _cells(table: Table) -> list[list[str]]:
    """The head and the rows; a figure that misses its target has a mark."""
    head = ["", *table.columns, ""]
    return [head, *([name, *map(_cell, figures), verdict(figures)] for name, figures in table.rows.items())]


def _cell(figure: Figure | None) -> str:
    return "" if figure is None else number(figure.value) + ("!" if figure.ok is False else "")


def text(table: Table) -> str:
    """For a terminal or a log."""
    cells = _cells(table)
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    lines = [f"{table.title}" + (f"   [target: {table.target}]" if table.target else "")]
    for name, *rest in cells:
        padded = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *padded]).rstrip())
    return "\n".join(lines) + "\n"


def markdown(table: Table) -> str:
    """For the README."""
    head, *rows = _cells(table)
    head[0] = table.title
    lines = [f"| {' | '.join(head)} |", f"|---|{'--:|' * len(table.columns)}---|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + (f"\n\nTarget: {table.target}." if table.target else "") + "\n"


def document(table: Table) -> dict[str, Any]:
    """For a program."""
    rows = {
        name: {
            column: {**asdict(figure), "ok": figure.ok}
            for column, figure in zip(table.columns, figures, strict=True)
            if figure is not None
        }
        for name, figures in table.rows.items()
    }
    return {"title": table.title, "target": table.target, "rows": rows, "over": table.over}
