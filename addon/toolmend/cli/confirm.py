"""Asks for confirmation before something outside toolmend's own folders changes. Without a terminal, --yes is required."""

import sys

import click

from . import CliError, Exit


def is_confirmed(question: str, *, yes: bool, try_: str) -> bool:
    """Returns whether the user confirms.

    Args:
        question: What to ask.
        yes: Whether the user has passed --yes.
        try_: The command that needs no confirmation.

    Raises:
        CliError: Standard input is not a terminal.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise CliError("this needs a confirmation, but standard input is not a terminal", try_=try_, code=Exit.USAGE)
    if click.confirm(question, err=True):
        return True
    click.echo("nothing was changed", err=True)
    return False
