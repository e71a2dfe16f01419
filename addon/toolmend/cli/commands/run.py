"""`toolmend run -- COMMAND`: a command behind a proxy, for as long as it runs.

Rule of this file: stdout is the command's alone. We speak on stderr: once what this is, and in one line behind each run what came
of it. What is started ends with the command, and what is set is set for the command.
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
from .. import Problem, visible
from ..error_hints import pasted
from ..launcher.background import running
from ..launcher.environment import before, handed_back, variables
from ..launcher.foreground import Foreground
from ..launcher.process import tail
from ..launcher.proxy import Mitmdump, ProxyError
from ..launcher.tally import MARK, Tally
from ..proxies import kept, named_hosts, own_options, proxy_options, recordings_of, scripts, show_page, start_problem
from ..recordings import Place

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""What shells say of a command that is not there, or cannot be run."""

TOLD = "run-told"
"""A file in the data folder: the words of the first run have been said."""


@click.command(context_settings={"allow_interspersed_args": False})
@proxy_options
@click.option("--ui", "shows", is_flag=True, help="Show in a browser what goes through, live: see `toolmend ui`.")
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

    The proxy runs for this command alone, on a port of its own, and ends with it; one that `toolmend start` has started is used
    instead, unless an option asks for another. The variables for the proxy and its CA are set for the command only. Its
    terminal, its input and its output are its own; its exit code is ours.

    \b
    Examples:
      toolmend run -- claude
      toolmend run --ui -- claude
      toolmend run --config toolmend.toml -- codex exec "fix the tests"
      toolmend run --set toolmend_flows=off -- python agent.py
      toolmend run -- curl https://api.openai.com/v1/models

    \b
    Exit codes: the command's own; 128 + N if signal N ended it; 127 if there is no such command,
    126 if it cannot be run; 2, 3 or 4 if the proxy did not start.
    """
    program = _program(command[0])
    began = datetime.now(UTC)
    with ExitStack() as stack:
        foreground = stack.enter_context(Foreground())
        given = before(os.environ)
        shared = None if config or settings or flows else running()
        if shared:
            url, ca, log = shared.url, shared.ca, shared.said()
            start = Tally.read(log)
        else:
            options, confdir = own_options(config, settings, flows)
            try:
                proxy = stack.enter_context(Mitmdump(options, confdir=confdir, scripts=scripts(), ready=MARK, env=given))
            except ProxyError as error:
                raise start_problem(error) from None
            url, ca, log, start = proxy.url, proxy.ca, proxy.log, Tally()
        bundle = kept(given, ca)
        env = handed_back(given) | variables(url, ca, bundle, os.environ, reached=named_hosts(log))
        recordings = recordings_of(log)
        _introduce(command[0], url, recordings, shared=bool(shared))
        if shows:
            show_page(recordings, os.getpid(), given)
        foreground.take()
        try:
            code = foreground.run([program, *command[1:]], env)
        except OSError as error:
            wrong = f"{command[0]} cannot be run: {error.strerror}"
            raise Problem(wrong, try_=f"file {shlex.quote(program)}", code=NOT_EXECUTABLE) from None
        if shared:
            ended = "" if running() else f"the proxy in the background ended while the command ran; see {shared.log}"
            done = Tally.read(shared.settled()) - start
        else:
            ended = _ended(proxy)
            proxy.stop()
            done = Tally.read(proxy.log)
            if done.folder and not (is_url(done.folder) or (Path(done.folder) / "meta.json").exists()):  # the disk is full
                recordings = None
    _print_summary(done, recordings, ended)
    if done.answers and recordings:
        _tell_suspects(recordings, began)
    ctx.exit(code)


def _program(name: str) -> str:
    """The path of what is to be run. Raises Problem."""
    if program := shutil.which(name):
        return program
    if (given := handed_back(os.environ).get("PATH")) and (relative := shutil.which(name, path=given)):
        wrong = f"{name} is in a relative folder of PATH alone, and these are not searched"
        raise Problem(wrong, try_=f"toolmend run -- ./{shlex.quote(os.path.normpath(relative))}", code=NOT_FOUND)
    if os.sep in name and Path(name).exists():
        why = "is a folder" if Path(name).is_dir() else "is not executable"
        raise Problem(f"{name} {why}", try_=f"chmod +x {shlex.quote(name)}", code=NOT_EXECUTABLE)
    hint = "" if os.sep in name else "; an alias or a function of your shell is none, give the path behind it"
    raise Problem(f"there is no command {name!r}{hint}", try_=f"type -a {shlex.quote(name)}", code=NOT_FOUND)


def _introduce(name: str, url: str, recordings: str | None, *, shared: bool) -> None:
    """What this is, once for each user."""
    told = data_folder() / TOLD
    if told.exists():
        return
    kept = "nothing"
    if recordings:
        kept = f"each LLM exchange, without keys, in {on_one_line(recordings)}; toolmend flows lists them"
    lines = (
        f"toolmend: {Path(name).name} runs behind the proxy at {url}.  (This is said once.)",
        "  intercepted  requests to LLM APIs; all other traffic passes unread",
        "  changed      tool calls that a provider left in the text or sent in a broken form; nothing else",
        f"  recorded     {kept}",
        f"  stop         {'toolmend stop' if shared else 'end the command: the proxy ends with it'}",
        "  undo         nothing to undo: the variables are set for this command only, the system is not changed",
    )
    click.echo("\n".join(lines), err=True)
    try:
        private(told.parent)
        told.touch(0o600)
    except OSError:
        pass  # then it is said once more


def _ended(proxy: Mitmdump) -> str:
    """What is to be said if the proxy has ended before its time."""
    if proxy.returncode is None:
        return ""
    how = f"exit code {proxy.returncode}" if proxy.returncode >= 0 else f"signal {-proxy.returncode}"
    return f"the proxy ended while the command ran ({how}); its last words:\n{tail(proxy.log, 5)}"


def _print_summary(done: Tally, recordings: str | None, ended: str) -> None:
    """One line, at the end; more only if something was wrong."""
    if ended:
        click.echo("\n".join(map(visible, f"toolmend: {ended}".split("\n"))), err=True)
    sentence = done.sentence()
    if done.folder and recordings:
        usual = recordings == str(data_folder() / "flows")
        show = "toolmend show last" if usual else f"toolmend show last --flows {pasted(recordings)}"
        sentence += f", recorded in {on_one_line(recordings)}; {show}"
    elif not (done.answers or done.unanswered or ended):
        sentence += "; if one should have, toolmend doctor says why"
    click.echo(f"toolmend: {sentence}", err=True)
    if done.warnings:
        more = f" (and {len(done.warnings) - 1} more)" if len(done.warnings) > 1 else ""
        click.echo(f"  warning: {done.warnings[-1]}{more}", err=True)


def _tell_suspects(recordings: str, began: datetime) -> None:
    """One line more, if an answer ended with what looks like a call and was not made one. A store is not asked."""
    if is_url(recordings):
        return
    found = [one for one in entries(Path(recordings)) if one.suspects and one.recorded_at >= began]
    if not found:
        return
    usual = recordings == str(data_folder() / "flows")
    there = "" if usual else f" --flows {shlex.quote(recordings)}"
    how_many = "1 answer" if len(found) == 1 else f"{len(found)} answers"
    next_ = f"toolmend explain {shlex.quote(found[0].name)}" if len(found) == 1 else "toolmend flows --suspect"
    click.echo(f"toolmend: {how_many} held what looks like a tool call and was not made one; {next_}{there}", err=True)
