r"""`toolmend env`: the variables that send a shell's programs through the proxy in the background, in that shell's own words.

    bash, zsh    export NAME='value'        fish    set -gx NAME 'value'        powershell    $env:NAME = 'value'

Rule of this file: environment.py says which; here they are quoted. Whatever a value holds, the shell gets it as it is.
"""

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from .. import Problem
from ..launcher.background import running
from ..launcher.environment import BEFORE, NAMES, before, variables
from ..proxies import kept, named_hosts

type Quote = Callable[[str], str]

_FISH = str.maketrans({"\\": "\\\\", "'": "\\'"})
_POWERSHELL = str.maketrans(dict.fromkeys("'\u2018\u2019\u201a\u201b"))  # PowerShell takes all of these for quotes


def _fish(text: str) -> str:
    return f"'{text.translate(_FISH)}'"


def _powershell(text: str) -> str:
    return "'" + "".join(char * 2 if ord(char) in _POWERSHELL else char for char in text) + "'"


SHELLS: Mapping[str, tuple[Quote, str, str]] = {
    # shell: how it quotes, how it sets, how it unsets
    "bash": (shlex.quote, "export {}={}", "unset {}"),
    "zsh": (shlex.quote, "export {}={}", "unset {}"),
    "fish": (_fish, "set -gx {} {}", "set -e {}"),
    "powershell": (_powershell, "$env:{} = {}", "Remove-Item Env:{} -ErrorAction SilentlyContinue"),
}

EVAL = {"fish": "toolmend env | source", "powershell": "toolmend env | Out-String | Invoke-Expression"}
"""How each takes it; else as bash does."""


@click.command()
@click.option("--shell", type=click.Choice(tuple(SHELLS)), help="By default the one that SHELL names.")
@click.option("--unset", is_flag=True, help="Print what puts things back as they were before.")
def env(shell: str | None, unset: bool) -> None:
    """Print the variables that send a shell's programs through the proxy in the background.

    What was set before is heeded: a company's CA file goes into the bundle, the hosts of NO_PROXY stay.

    \b
    Examples:
      eval "$(toolmend env)"                                        bash, zsh
      toolmend env | source                                         fish
      toolmend env | Out-String | Invoke-Expression                 PowerShell
      eval "$(toolmend env --unset)"                                and back
    """
    shell = shell or _usual()
    quote, put, remove = SHELLS[shell]
    given = before(os.environ)
    if unset:
        names = (*NAMES, BEFORE)
        lines = [put.format(name, quote(given[name])) if name in given else remove.format(name) for name in names]
    else:
        proxy = running()
        if proxy is None:
            raise Problem("no proxy runs in the background", try_="toolmend start")
        bundle = kept(given, proxy.ca)
        found = variables(proxy.url, proxy.ca, bundle, os.environ, reached=named_hosts(proxy.said()))
        lines = [put.format(name, quote(value)) for name, value in found.items()]
    click.echo("\n".join(lines))
    if sys.stdout.isatty():
        how = EVAL.get(shell, 'eval "$(toolmend env)"')
        click.echo(f"# this terminal is not changed yet: {how.replace('env', 'env --unset', 1) if unset else how}", err=True)


def _usual() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    known = {"pwsh": "powershell", "": "powershell" if sys.platform == "win32" else "bash"}
    return known.get(name, name if name in SHELLS else "bash")
