"""`toolmend run -- COMMAND`: runs a command with its LLM traffic through a proxy that ends with it.

Stdout belongs to the command. toolmend prints to stderr: an introduction once for each user, and a summary line after each run.
"""

import os
import shlex
import shutil
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import click

from ...config.data_folder import data_folder, on_one_line, private
from ...config.store_url import is_url
from ...recordings.read.library import entries
from .. import CliError, visible
from ..error_hints import shell_line
from ..launcher.background import running
from ..launcher.environment import original, restored, variables
from ..launcher.foreground import Foreground
from ..launcher.process import tail
from ..launcher.proxy import Mitmdump, ProxyError
from ..launcher.tally import MARK, Tally
from ..proxies import ca_bundle, named_hosts, own_options, proxy_options, recordings_of, scripts, show_page, start_problem
from ..recordings import Place

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""The exit codes of shells for a command that does not exist, or cannot be run."""

INTRODUCED = "run-told"
"""A file in the data folder: the introduction has been printed."""


@click.command(context_settings={"allow_interspersed_args": False})
@proxy_options
@click.option("--ui", "shows", is_flag=True, help="Show the traffic live in a browser: see `toolmend ui`.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run(
    ctx: click.Context,
    config: Path | None,
    settings: tuple[str, ...],
    flows: Place | None,
    shows: bool,
    command: tuple[str, ...],
) -> None:
    """Run an agent, or any command, with its LLM traffic going through toolmend.

    The proxy runs for this command only, on its own port, and ends with it; a proxy that `toolmend start` runs is used instead,
    unless an option requires another. The variables for the proxy and its CA are set for the command only. The command keeps its
    terminal, input and output, and its exit code is returned.

    \b
    Examples:
      toolmend run -- claude
      toolmend run --ui -- claude
      toolmend run --config toolmend.toml -- codex exec "fix the tests"
      toolmend run --set toolmend_flows=off -- python agent.py
      toolmend run -- curl https://api.openai.com/v1/models

    \b
    Exit codes: the command's own; 128 + N if signal N ended it; 127 if the command does not exist,
    126 if it cannot be run; 2, 3 or 4 if the proxy did not start.
    """
    program = _program(command[0])
    began = datetime.now(UTC)
    with ExitStack() as stack:
        foreground = stack.enter_context(Foreground())
        given = original(os.environ)
        shared = None if config or settings or flows else running()
        if shared:
            url, ca, log = shared.url, shared.ca, shared.read_log()
            start = Tally.read(log)
        else:
            options, confdir = own_options(config, settings, flows)
            try:
                proxy = stack.enter_context(Mitmdump(options, confdir=confdir, scripts=scripts(), ready=MARK, env=given))
            except ProxyError as error:
                raise start_problem(error) from None
            url, ca, log, start = proxy.url, proxy.ca, proxy.log, Tally()
        bundle = ca_bundle(given, ca)
        env = restored(given) | variables(url, ca, bundle, os.environ, proxied_hosts=named_hosts(log))
        recordings = recordings_of(log)
        _introduce(command[0], url, recordings, shared=bool(shared))
        if shows:
            show_page(recordings, os.getpid(), given)
        foreground.take_signals()
        try:
            code = foreground.run([program, *command[1:]], env)
        except OSError as error:
            wrong = f"{command[0]} cannot be run: {error.strerror}"
            raise CliError(wrong, try_=f"file {shlex.quote(program)}", code=NOT_EXECUTABLE) from None
        if shared:
            ended = "" if running() else f"the background proxy ended while the command ran; see {shared.log}"
            tally = Tally.read(shared.settled()) - start
        else:
            ended = _ended(proxy)
            proxy.stop()
            tally = Tally.read(proxy.log)
            if tally.folder and not (is_url(tally.folder) or (Path(tally.folder) / "meta.json").exists()):  # the disk is full
                recordings = None
    _print_summary(tally, recordings, ended)
    if tally.answers and recordings:
        _print_suspects(recordings, began)
    ctx.exit(code)


def _program(name: str) -> str:
    """Returns the path of the program. Raises CliError."""
    if program := shutil.which(name):
        return program
    if (given := restored(os.environ).get("PATH")) and (relative := shutil.which(name, path=given)):
        wrong = f"{name} is only in a relative folder of PATH, and these are not searched"
        raise CliError(wrong, try_=f"toolmend run -- ./{shlex.quote(os.path.normpath(relative))}", code=NOT_FOUND)
    if os.sep in name and Path(name).exists():
        why = "is a folder" if Path(name).is_dir() else "is not executable"
        raise CliError(f"{name} {why}", try_=f"chmod +x {shlex.quote(name)}", code=NOT_EXECUTABLE)
    hint = "" if os.sep in name else "; an alias or a function of your shell cannot be run: give the path of the program"
    raise CliError(f"no such command: {name!r}{hint}", try_=f"type -a {shlex.quote(name)}", code=NOT_FOUND)


def _introduce(name: str, url: str, recordings: str | None, *, shared: bool) -> None:
    """Prints the introduction, once for each user."""
    marker = data_folder() / INTRODUCED
    if marker.exists():
        return
    recorded = "nothing"
    if recordings:
        recorded = f"each LLM exchange, without keys, in {on_one_line(recordings)}; toolmend flows lists them"
    lines = (
        f"toolmend: {Path(name).name} runs with the proxy at {url}.  (This is printed once.)",
        "  intercepted  requests to LLM APIs; all other traffic passes unread",
        "  changed      tool calls that a provider left in the text or sent in a broken form; nothing else",
        f"  recorded     {recorded}",
        f"  stop         {'toolmend stop' if shared else 'end the command: the proxy ends with it'}",
        "  undo         nothing to undo: the variables are set for this command only, the system is not changed",
    )
    click.echo("\n".join(lines), err=True)
    try:
        private(marker.parent)
        marker.touch(0o600)
    except OSError:
        pass  # it will be printed again


def _ended(proxy: Mitmdump) -> str:
    """Returns the message for a proxy that ended too early; empty if it has not."""
    if proxy.returncode is None:
        return ""
    how = f"exit code {proxy.returncode}" if proxy.returncode >= 0 else f"signal {-proxy.returncode}"
    return f"the proxy ended while the command ran ({how}); the end of its log:\n{tail(proxy.log, 5)}"


def _print_summary(tally: Tally, recordings: str | None, ended: str) -> None:
    """Prints one line; more only if something was wrong."""
    if ended:
        click.echo("\n".join(map(visible, f"toolmend: {ended}".split("\n"))), err=True)
    sentence = tally.sentence()
    if tally.folder and recordings:
        usual = recordings == str(data_folder() / "flows")
        show = "toolmend show last" if usual else f"toolmend show last --flows {shell_line(recordings)}"
        sentence += f", recorded in {on_one_line(recordings)}; {show}"
    elif not (tally.answers or tally.unanswered or ended):
        sentence += "; if there should have been one, run toolmend doctor"
    click.echo(f"toolmend: {sentence}", err=True)
    if tally.warnings:
        more = f" (and {len(tally.warnings) - 1} more)" if len(tally.warnings) > 1 else ""
        click.echo(f"  warning: {tally.warnings[-1]}{more}", err=True)


def _print_suspects(recordings: str, began: datetime) -> None:
    """Prints a line if a response has text that looks like a call and was not made one. A store is not contacted."""
    if is_url(recordings):
        return
    found = [one for one in entries(Path(recordings)) if one.suspects and one.recorded_at >= began]
    if not found:
        return
    usual = recordings == str(data_folder() / "flows")
    there = "" if usual else f" --flows {shlex.quote(recordings)}"
    how_many = "1 answer" if len(found) == 1 else f"{len(found)} answers"
    next_ = f"toolmend explain {shlex.quote(found[0].name)}" if len(found) == 1 else "toolmend flows --suspect"
    click.echo(f"toolmend: {how_many} with text that looks like a tool call and was not made one; {next_}{there}", err=True)
