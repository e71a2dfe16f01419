"""`toolmend ca`: the proxy's CA, and the system's trust in it. Commands are shown before they run, and checked after."""

import shlex
import subprocess
import sys
from pathlib import Path

import click

from ...config.data_folder import on_one_line, private
from .. import CliError, Exit
from ..confirm import is_confirmed
from ..error_hints import shell_line
from ..launcher import trust
from ..launcher.environment import confdir
from ..launcher.trust import CA, KEY, System

ALONE = 'eval "$(toolmend env)"  (programs started in that shell trust the CA without the system)'


@click.group(no_args_is_help=False)
def ca() -> None:
    """Show the proxy's CA; make this system trust it, or no longer.

    `toolmend run` and `toolmend env` do not need the system's trust: they set variables. It is for programs that ignore these,
    and for mitmproxy's modes local, wireguard and transparent.

    \b
    Examples:
      toolmend ca path                    for NODE_EXTRA_CA_CERTS and the like
      toolmend ca install --dry-run       shows the commands for this system
      toolmend ca install
      toolmend ca uninstall
    """


@ca.command()
def path() -> None:
    """Print the path of the CA's certificate; create the CA if there is none.

    \b
    Examples:
      NODE_EXTRA_CA_CERTS=$(toolmend ca path) claude
      openssl x509 -in "$(toolmend ca path)" -noout -fingerprint -enddate
    """
    click.echo(str(_ensure_certificate(confdir())))


@ca.command()
@click.option("--dry-run", "-n", is_flag=True, help="Only print the commands.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def install(dry_run: bool, yes: bool) -> None:
    """Make this system trust the CA. The commands are printed first, and need a confirmation.

    \b
    Examples:
      toolmend ca install --dry-run
      toolmend ca install
      toolmend ca install --yes           in a script or a container

    Whoever can read the CA's key can then impersonate any host to this system: protect it as the doctor tells you, and undo this
    with `toolmend ca uninstall` when you no longer need it. Firefox, and Chromium on Linux, have their own stores.
    """
    system, certificate = _system(), confdir() / CA
    if not dry_run:
        _ensure_certificate(confdir())
    if certificate.exists() and _trusts(system, certificate):
        click.echo(f"this system ({system.store.name}) already trusts {on_one_line(certificate)}", err=True)
        return
    question = f"Make this system ({system.store.name}) trust {certificate}, and so any host that its key signs for?"
    if _run(system.install(certificate), question, "install", dry_run=dry_run, yes=yes):
        if not _trusts(system, certificate):
            raise CliError("the commands ran, but the CA is not trusted", try_="toolmend doctor")
        click.echo("the CA is trusted; to undo it: toolmend ca uninstall", err=True)


@ca.command()
@click.option("--dry-run", "-n", is_flag=True, help="Only print the commands.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(dry_run: bool, yes: bool) -> None:
    """Undo `toolmend ca install`: this system no longer trusts the CA. The CA itself is kept.

    \b
    Examples:
      toolmend ca uninstall --dry-run
      toolmend ca uninstall
    """
    system, certificate = _system(), confdir() / CA
    trusted = certificate.exists() and _trusts(system, certificate)
    if not (system.anchor.exists() if system.anchor else trusted):
        if trusted:
            wrong = f"{on_one_line(certificate)} is trusted, but was not installed by toolmend"
            raise CliError(wrong, try_=f"look into {_store_name(system)}")
        click.echo(f"this system ({system.store.name}) does not trust the CA: there is nothing to undo", err=True)
        return
    question = f"Make this system ({system.store.name}) no longer trust it?"
    if _run(system.uninstall(certificate), question, "uninstall", dry_run=dry_run, yes=yes):
        if certificate.exists() and _trusts(system, certificate):
            raise CliError("the commands ran, but the CA is still trusted", try_=f"look into {_store_name(system)}")
        click.echo("the CA is no longer trusted", err=True)


def _run(commands: list[list[str]], question: str, verb: str, *, dry_run: bool, yes: bool) -> bool:
    """Shows the commands, asks, and runs them. Returns whether they were run."""
    for command in commands:
        click.echo(shell_line(*command), err=not dry_run)
    if dry_run or not is_confirmed(question, yes=yes, try_=f"toolmend ca {verb} --yes  (or --dry-run, and run them yourself)"):
        return False
    for command in commands:
        try:
            code = subprocess.run(command, stdout=sys.stderr, check=False).returncode  # their output is not data
        except OSError as error:
            wrong = f"{command[0]} cannot be run: {error.strerror or error}"
            raise CliError(wrong, try_=f"{shlex.join(command)}  (when it is installed)") from None
        if code:
            raise CliError(f"{command[0]} ended with {code}", try_=f"{shlex.join(command)}  (with the necessary rights)")
    return True


def _ensure_certificate(folder: Path) -> Path:
    """Returns the certificate; creates the CA like mitmproxy does if there is none."""
    certificate = folder / CA
    if not certificate.exists() and (folder / KEY).exists():
        hint = f"openssl x509 -in {shlex.quote(str(folder / KEY))} -out {shlex.quote(str(certificate))}"
        raise CliError(f"the CA's key is in {on_one_line(folder)}, but its certificate is not", try_=hint)
    if not certificate.exists():
        from mitmproxy.certs import CertStore  # noqa: PLC0415  slow to import
        from mitmproxy.options import CONF_BASENAME, KEY_SIZE  # noqa: PLC0415

        try:
            private(folder)
            CertStore.from_store(folder, CONF_BASENAME, KEY_SIZE)
        except OSError as error:
            wrong = f"the CA cannot be created in {on_one_line(folder)}: {error.strerror or error}"
            raise CliError(wrong, try_="toolmend doctor") from None
        click.echo("the CA was created", err=True)
    return certificate


def _system() -> System:
    system = trust.this_system()
    if system is None:
        raise CliError("the trust store of this system is unknown", try_=ALONE, code=Exit.USAGE)
    return system


def _trusts(system: System, certificate: Path) -> bool:
    try:
        return system.trusts(certificate)
    except FileNotFoundError:  # no store yet
        return False
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise CliError(f"the trust store cannot be read: {error}", try_="toolmend doctor") from None


def _store_name(system: System) -> str:
    return str(system.anchor.parent) if system.anchor else system.store.name
