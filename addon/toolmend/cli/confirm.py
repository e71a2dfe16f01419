"""A question before something is changed that is not ours alone.

Rule of this file: silence is no consent. Who cannot be asked has to say --yes.
"""

import sys

import click

from . import Exit, Problem


def agreed(question: str, *, yes: bool, try_: str) -> bool:
    """Whether the user says yes. Raises Problem where nobody is there to be asked; `try_` is the command that needs no answer."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise Problem("nobody is there to be asked", try_=try_, code=Exit.USAGE)
    if click.confirm(question, err=True):
        return True
    click.echo("nothing is changed", err=True)
    return False
