"""`toolmend doctor`: prints what works, what does not, and the command that repairs it. The checks are in toolmend/cli/doctor/.

Findings are data, so they go to stdout.
"""

import json
import sys
from pathlib import Path
from typing import Any

import click

from ... import __version__
from .. import Exit, visible
from ..doctor import Finding, Machine, examine
from ..launcher import trust
from ..launcher.environment import confdir
from ..shutdown import ended_by_signals

FORMAT = 1
"""The version of the `--json` output."""

STYLES = {"ok": "green", "warning": "yellow", "fault": "bold red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The settings to check; by default those of a proxy started here.",
)
def doctor(as_json: bool, config: Path | None) -> None:
    """Check the set-up, and prove that a real proxy mends a leaked stream.

    \b
    Examples:
      toolmend doctor
      toolmend doctor --config toolmend.toml
      toolmend doctor --json | jq '.findings[] | select(.state != "ok")'

    Nothing is changed. A local server plays the provider; no request leaves this machine, except for a probe through the proxy
    that this shell points to. Exit code 5: there is a fault. Warnings do not count.
    """
    findings = []
    console = None if as_json else _console()
    with ended_by_signals():
        for finding in examine(Machine.here(confdir(), trust.this_system(), config)):
            findings.append(finding)
            if console:
                _print_finding(console, finding)
    faults = sum(finding.state == "fault" for finding in findings)
    if as_json:
        click.echo(json.dumps(document(findings), indent=2))
    else:
        click.echo(_summary(findings), err=True)
    if faults:
        raise click.exceptions.Exit(Exit.DOCTOR)


def document(findings: list[Finding]) -> dict[str, Any]:
    """Returns the `--json` output."""
    rows = [{"check": one.check, "state": one.state, "text": one.text, "try": one.try_ or None} for one in findings]
    states = [one.state for one in findings]
    counts = {"faults": states.count("fault"), "warnings": states.count("warning")}
    return {"version": FORMAT, "toolmend": __version__, **counts, "findings": rows}


def _console() -> Any:
    from rich.console import Console  # noqa: PLC0415  slow to import, and not needed for --json

    return Console(highlight=False, markup=False, soft_wrap=True, file=sys.stdout)


def _print_finding(console: Any, finding: Finding) -> None:
    from rich.text import Text  # noqa: PLC0415

    line = Text.assemble((f"{finding.state:<8}", STYLES[finding.state]), (f"{finding.check:<16}", "dim"), visible(finding.text))
    console.print(line)
    if finding.try_:
        console.print(Text(f"{'':<24}try: {visible(finding.try_)}"))


def _summary(findings: list[Finding]) -> str:
    counts = {state: sum(finding.state == state for finding in findings) for state in STYLES}
    parts = [f"{counts[state]} {state}{'s' if counts[state] > 1 else ''}" for state in ("fault", "warning") if counts[state]]
    return f"{len(findings)} findings: {', '.join(parts) or 'no problems'}"
