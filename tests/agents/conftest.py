"""Options of the agents' suite, and its table: what each agent made of each scenario."""

import datetime as dt
from collections import defaultdict
from pathlib import Path

import pytest

from tests.agents.agents import AGENTS, HERE, version
from tests.agents.scenarios import CORE, DIALECT_ROWS, ROUTES, RUN, SOCKETS


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("agents")
    group.addoption("--full", action="store_true", help="all dialects with every agent, not with three of them")
    group.addoption("--table", type=Path, metavar="FILE", help="write the table of results there, as Markdown")


def pytest_sessionstart() -> None:
    if not (HERE / "node_modules" / ".installed-for").exists():
        pytest.exit("the agents are not installed: run scripts/test-agents", 3)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    cells: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            properties = dict(report.user_properties)
            if "agent" in properties and (report.when == "call" or outcome == "failed"):
                cells[str(properties["row"]), str(properties["agent"])].append(outcome == "passed")
    if not cells:
        return
    text = table(cells)
    terminalreporter.section("agents")
    terminalreporter.write(text)
    if file := config.getoption("table"):
        file.write_text(text)


def table(cells: dict[tuple[str, str], list[bool]]) -> str:
    """A Markdown table, a column per agent: a mark for one run, a count for several."""
    names = [name for name in AGENTS if any(agent == name for _, agent in cells)]
    rows = sorted({row for row, _ in cells}, key=[*CORE, *DIALECT_ROWS, *ROUTES, *RUN, *SOCKETS].index)
    lines = ["| " + " | ".join(["", *(f"{AGENTS[name].title} {version(AGENTS[name])}" for name in names)]) + " |"]
    lines.append("|---" + "|:---:" * len(names) + "|")
    lines += ["| " + " | ".join([row, *(_cell(cells.get((row, name), [])) for name in names)]) + " |" for row in rows]
    return "\n".join([*lines, "", f"{dt.datetime.now(dt.UTC):%Y-%m-%d}, {sum(map(len, cells.values()))} runs", ""])


def _cell(results: list[bool]) -> str:
    if len(results) < 2:
        return {(): "–", (True,): "✓", (False,): "✗"}[tuple(results)]
    return f"✓ {len(results)}" if all(results) else f"✗ {results.count(False)} of {len(results)}"
