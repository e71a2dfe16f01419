r"""`toolmend env`: prints the variables that send a shell's programs through the background proxy, in that shell's syntax.

    bash, zsh    export NAME='value'        fish    set -gx NAME 'value'        powershell    $env:NAME = 'value'

environment.py chooses the variables; this file quotes them, so that a shell gets any value unchanged.
"""

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from .. import CliError
from ..launcher.background import running
from ..launcher.environment import BEFORE, NAMES, original, variables
from ..proxies import ca_bundle, named_hosts

type Quote = Callable[[str], str]

_FISH = str.maketrans({"\\": "\\\\", "'": "\\'"})
_POWERSHELL = str.maketrans(dict.fromkeys("'\u2018\u2019\u201a\u201b"))  # PowerShell treats all of these as quotes


def _fish(text: str) -> str:
    return f"'{text.translate(_FISH)}'"


def _powershell(text: str) -> str:
    return "'" + "".join(char * 2 if ord(char) in _POWERSHELL else char for char in text) + "'"


SHELLS: Mapping[str, tuple[Quote, str, str]] = {
    # shell: quoting, setting, unsetting
    "bash": (shlex.quote, "export {}={}", "unset {}"),
    "zsh": (shlex.quote, "export {}={}", "unset {}"),
    "fish": (_fish, "set -gx {} {}", "set -e {}"),
    "powershell": (_powershell, "$env:{} = {}", "Remove-Item Env:{} -ErrorAction SilentlyContinue"),
}

EVAL = {"fish": "toolmend env | source", "powershell": "toolmend env | Out-String | Invoke-Expression"}
"""How each shell reads the output; the others do it like bash."""


@click.command()
@click.option("--shell", type=click.Choice(tuple(SHELLS)), help="Default: the one that SHELL names.")
@click.option("--unset", is_flag=True, help="Print the commands that restore the former values.")
def env(shell: str | None, unset: bool) -> None:
    """Print the variables that send a shell's programs through the background proxy.

    Former values stay in effect: a company's CA file goes into the bundle, the hosts of NO_PROXY are kept.

    \b
    Examples:
      eval "$(toolmend env)"                                        bash, zsh
      toolmend env | source                                         fish
      toolmend env | Out-String | Invoke-Expression                 PowerShell
      eval "$(toolmend env --unset)"                                undo
    """
    shell = shell or _usual()
    quote, put, remove = SHELLS[shell]
    given = original(os.environ)
    if unset:
        names = (*NAMES, BEFORE)
        lines = [put.format(name, quote(given[name])) if name in given else remove.format(name) for name in names]
    else:
        proxy = running()
        if proxy is None:
            raise CliError("no proxy runs in the background", try_="toolmend start")
        bundle = ca_bundle(given, proxy.ca)
        found = variables(proxy.url, proxy.ca, bundle, os.environ, proxied_hosts=named_hosts(proxy.read_log()))
        lines = [put.format(name, quote(value)) for name, value in found.items()]
    click.echo("\n".join(lines))
    if sys.stdout.isatty():
        how = EVAL.get(shell, 'eval "$(toolmend env)"')
        click.echo(f"# this terminal has not changed yet: {how.replace('env', 'env --unset', 1) if unset else how}", err=True)


def _usual() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    aliases = {"pwsh": "powershell", "": "powershell" if sys.platform == "win32" else "bash"}
    return aliases.get(name, name if name in SHELLS else "bash")
