"""`toolmend ca`: where the proxy's CA lies, and the system's trust in it.

Rule of this file: what is run is shown before, as commands that can be pasted; whether it has worked is looked at after.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import click

from ...config.data_folder import on_one_line, private
from .. import Exit, Problem
from ..confirm import agreed
from ..error_hints import pasted
from ..launcher import trust
from ..launcher.environment import confdir
from ..launcher.trust import CA, KEY, System

ALONE = 'eval "$(toolmend env)"  (what is started in that shell trusts the CA without the system)'


@click.group(no_args_is_help=False)
def ca() -> None:
    """Where the proxy's CA lies; have this system trust it, or no longer.

    `toolmend run` and `toolmend env` need no trust of the system's: they tell the programs by variables. It is for programs that
    heed none, and for mitmproxy's modes local, wireguard and transparent.

    \b
    Examples:
      toolmend ca path                    for NODE_EXTRA_CA_CERTS and the like
      toolmend ca install --dry-run       what would be run, on this system
      toolmend ca install
      toolmend ca uninstall
    """


@ca.command()
def path() -> None:
    """Print the path of the CA's certificate; makes the CA if there is none.

    \b
    Examples:
      NODE_EXTRA_CA_CERTS=$(toolmend ca path) claude
      openssl x509 -in "$(toolmend ca path)" -noout -fingerprint -enddate
    """
    click.echo(str(_made(confdir())))


@ca.command()
@click.option("--dry-run", "-n", is_flag=True, help="Only print the commands.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def install(dry_run: bool, yes: bool) -> None:
    """Have this system trust the CA. The commands are printed first, and nothing is done without a yes.

    \b
    Examples:
      toolmend ca install --dry-run
      toolmend ca install
      toolmend ca install --yes           in a script or a container

    Whoever can read the CA's key can then pretend to be any host to this system: keep it as the doctor says, and undo
    this with `toolmend ca uninstall` when you no longer need it. Firefox, and Chromium on Linux, have stores of their own.
    """
    system, certificate = _system(), confdir() / CA
    if not dry_run:
        _made(confdir())
    if certificate.exists() and _trusts(system, certificate):
        click.echo(f"this system ({system.store.name}) trusts {on_one_line(certificate)} already", err=True)
        return
    question = f"Have this system ({system.store.name}) trust {certificate}, so any host that its key signs for?"
    if _run(system.install(certificate), question, "install", dry_run=dry_run, yes=yes):
        if not _trusts(system, certificate):
            raise Problem("it was run, but the CA is not trusted", try_="toolmend doctor")
        click.echo("the CA is trusted; undo it with: toolmend ca uninstall", err=True)


@ca.command()
@click.option("--dry-run", "-n", is_flag=True, help="Only print the commands.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(dry_run: bool, yes: bool) -> None:
    """Undo `toolmend ca install`: this system no longer trusts the CA. The CA itself stays where it is.

    \b
    Examples:
      toolmend ca uninstall --dry-run
      toolmend ca uninstall
    """
    system, certificate = _system(), confdir() / CA
    trusted = certificate.exists() and _trusts(system, certificate)
    if not (system.anchor.exists() if system.anchor else trusted):
        if trusted:
            wrong = f"{on_one_line(certificate)} is trusted, but was not installed from here"
            raise Problem(wrong, try_=f"look into {_where(system)}")
        click.echo(f"this system ({system.store.name}) does not trust the CA: there is nothing to undo", err=True)
        return
    question = f"Have this system ({system.store.name}) no longer trust it?"
    if _run(system.uninstall(certificate), question, "uninstall", dry_run=dry_run, yes=yes):
        if certificate.exists() and _trusts(system, certificate):
            raise Problem("it was run, but the CA is still trusted", try_=f"look into {_where(system)}")
        click.echo("the CA is no longer trusted", err=True)


def _run(commands: list[list[str]], question: str, verb: str, *, dry_run: bool, yes: bool) -> bool:
    """Shows the commands, asks, and runs them; whether they were run."""
    for command in commands:
        click.echo(pasted(*command), err=not dry_run)
    if dry_run or not agreed(question, yes=yes, try_=f"toolmend ca {verb} --yes  (or --dry-run, and run them yourself)"):
        return False
    for command in commands:
        try:
            code = subprocess.run(command, stdout=sys.stderr, check=False).returncode  # what they say is no data
        except OSError as error:
            wrong = f"{command[0]} cannot be run: {error.strerror or error}"
            raise Problem(wrong, try_=f"{shlex.join(command)}  (once it is there)") from None
        if code:
            raise Problem(f"{command[0]} ended with {code}", try_=f"{shlex.join(command)}  (as somebody who may)")
    return True


def _made(folder: Path) -> Path:
    """The certificate; the CA is made as mitmproxy makes it, if there is none."""
    certificate = folder / CA
    if not certificate.exists() and (folder / KEY).exists():
        hint = f"openssl x509 -in {shlex.quote(str(folder / KEY))} -out {shlex.quote(str(certificate))}"
        raise Problem(f"the CA's key is in {on_one_line(folder)}, but its certificate is not", try_=hint)
    if not certificate.exists():
        from mitmproxy.certs import CertStore  # noqa: PLC0415  slow to import
        from mitmproxy.options import CONF_BASENAME, KEY_SIZE  # noqa: PLC0415

        try:
            private(folder)
            CertStore.from_store(folder, CONF_BASENAME, KEY_SIZE)
        except OSError as error:
            wrong = f"no CA can be made in {on_one_line(folder)}: {error.strerror or error}"
            raise Problem(wrong, try_="toolmend doctor") from None
        click.echo("a CA was made", err=True)
    return certificate


def _system() -> System:
    system = trust.here()
    if system is None:
        raise Problem("it is not known how this system is made to trust a CA", try_=ALONE, code=Exit.USAGE)
    return system


def _trusts(system: System, certificate: Path) -> bool:
    try:
        return system.trusts(certificate)
    except FileNotFoundError:  # no store yet
        return False
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise Problem(f"the trust store cannot be read: {error}", try_="toolmend doctor") from None


def _where(system: System) -> str:
    return str(system.anchor.parent) if system.anchor else system.store.name
