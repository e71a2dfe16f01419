"""The command line: a click group whose commands are imported only when they run.

1. Nothing slow is imported here (mitmproxy, rich, the core), so `--help` and `--version` answer at once.
2. Every failure is printed here, in one form: `error:` and `try:` on stderr, an exit code from `Exit`, no traceback.
"""

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import IntEnum
from errno import EDQUOT, EFBIG, EIO, ENOSPC
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

import click

from toolmend import __version__

from .launcher.search_path import absolute_path
from .standard_streams import prepare

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    # name: (module:attribute, one line for --help)
    "addon-path": ("toolmend.cli.commands.addon_path:addon_path", "Print the file that `mitmdump -s` loads."),
    "bug-report": ("toolmend.cli.commands.bug_report:bug_report", "Collect what a report needs, redacted, and show it first."),
    "ca": ("toolmend.cli.commands.ca:ca", "Show the proxy's CA; make the system trust it, or not."),
    "config": ("toolmend.cli.commands.config:config", "Check the settings, and show where each one comes from."),
    "demo": ("toolmend.cli.commands.demo:demo", "Watch a real proxy mend a leaked stream."),
    "dialects": ("toolmend.cli.dialects:dialects", "List the dialects, or print one as a table."),
    "doctor": ("toolmend.cli.commands.doctor:doctor", "Check the set-up, and prove that a stream is mended."),
    "env": ("toolmend.cli.commands.env:env", "Print the variables that send a shell through the proxy."),
    "envoy-config": ("toolmend.cli.commands.envoy_config:envoy_config", "Print Envoy's configuration for a team's workers."),
    "explain": ("toolmend.cli.commands.explain:explain", "Explain which rules changed a response, where, and why."),
    "export": ("toolmend.cli.commands.export:export", "Write recordings as a mitmproxy flow file, or as HAR."),
    "flows": ("toolmend.cli.commands.flows:flows", "List what was recorded: agent, model, state, tokens, rules."),
    "learn": ("toolmend.cli.commands.learn:learn", "Learn how a model writes its calls, from recordings of them."),
    "pin": ("toolmend.cli.commands.prune:pin", "Keep a recording, regardless of age and size."),
    "promote": ("toolmend.cli.commands.promote:promote", "Make a fixture of a recording, unless it holds a secret."),
    "providers": ("toolmend.cli.commands.providers:providers", "Show which dialects are searched for with a model, and why."),
    "prune": ("toolmend.cli.commands.prune:prune", "Remove recordings that are too old or too large in total."),
    "rewrite": ("toolmend.cli.commands.rewrite:rewrite", "Mend a stream from a file or standard input."),
    "routes": ("toolmend.cli.commands.routes:routes", "Check a file's routes, and show where each sends requests."),
    "run": ("toolmend.cli.commands.run:run", "Run an agent, or any command, with the proxy."),
    "serve": ("toolmend.cli.commands.serve:serve", "Play recordings as a local provider, to an agent or an SDK."),
    "serve-envoy": ("toolmend.cli.commands.serve_envoy:serve_envoy", "Run a worker of a team's Envoy: its ext_proc filter."),
    "show": ("toolmend.cli.commands.show:show", "Show a recording, in the terminal or with --html as a page."),
    "start": ("toolmend.cli.commands.background:start", "Start one proxy in the background, for all terminals."),
    "status": ("toolmend.cli.commands.background:status", "Show whether a proxy runs in the background, and what it did."),
    "stop": ("toolmend.cli.commands.background:stop", "Stop the proxy in the background."),
    "translate": ("toolmend.cli.commands.translate:translate", "Show what a route would send upstream for a request, and why."),
    "ui": ("toolmend.cli.commands.ui:ui", "Show the recordings in a browser, live and afterwards."),
    "verify": ("toolmend.cli.commands.verify:verify", "Replay fixtures: does the client still get the same?"),
}

COMPLETE = "_TOOLMEND_COMPLETE"
"""The variable by which a shell requests completions; `eval "$(_TOOLMEND_COMPLETE=bash_source toolmend)"` sets that up."""


class Exit(IntEnum):
    """The exit codes of all commands."""

    OK = 0
    FINDINGS = 1  # it ran and found what it looks for: a difference, a leak
    USAGE = 2
    RUNTIME = 3
    CONFIGURATION = 4
    DOCTOR = 5  # the set-up has a fault
    INTERRUPTED = 130  # 128 + SIGINT, as shells count
    BROKEN_PIPE = 128 + signal.SIGPIPE  # the reader of the output has left, as `| head` does


class CliError(click.ClickException):
    """A failure with a known cause, printed without a traceback.

    Args:
        message: What is wrong, a sentence without a full stop. Further lines are printed indented.
        try_: What to do about it, preferably a command to paste.
        code: The exit code.
    """

    def __init__(self, message: str, *, try_: str | None = None, code: int = Exit.RUNTIME) -> None:
        super().__init__(message)
        self.try_ = try_
        self.exit_code = code  # type: ignore[misc]  # click has one for each class

    def show(self, file: IO[Any] | None = None) -> None:
        """Prints the error and the hint, to stderr by default."""
        first, *more = map(visible, self.message.split("\n"))
        lines = [f"error: {first}", *(f"  {line.strip()}" for line in more)]
        click.echo("\n".join([*lines, *([f"try: {visible(self.try_)}"] if self.try_ else [])]), file=file, err=True)


def visible(text: str) -> str:
    """Returns untrusted text in a form that is safe to print: one line, without terminal control characters."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text)


class LazyGroup(click.Group):
    """The group over `COMMANDS`; imports a command's module when the command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            close = _closest(args[0], COMMANDS)
            hint = _line(ctx.command_path, *close, *args[1:]) if close else f"{ctx.command_path} --help"
            raise CliError(f"no such command: {args[0]!r}", try_=hint, code=Exit.USAGE)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Completes from the table: click's own method would import every command."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415  rarely used

        named = [CompletionItem(name, help=line) for name, (_, line) in COMMANDS.items() if name.startswith(incomplete)]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show Python's traceback when something fails.")
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli(debug: bool) -> None:  # main() reads it from the context
    """Mend the tool calls in an LLM API's stream, between a coding agent and its provider.

    \b
    Examples:
      toolmend demo                     see it work: a real proxy, a leaked stream, before and after
      toolmend run -- claude            put it between an agent and its provider
      toolmend show last                what was recorded, and what was mended
      mitmdump -s "$(toolmend addon-path)"    with a mitmproxy of your own

    \b
    Completion, of recordings too: eval "$(_TOOLMEND_COMPLETE=bash_source toolmend)", or zsh_source;
    in fish: _TOOLMEND_COMPLETE=fish_source toolmend | source

    \b
    Exit codes: 0 success, 1 something was found or differs, 2 wrong usage, 3 failure,
    4 wrong configuration, 5 the doctor found a fault, 130 interrupted.
    """


_FULL = (ENOSPC, EDQUOT, EFBIG, EIO)
"""Errors of a standard output that cannot be written to."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (`sys.argv` by default) and returns its exit code; raises nothing."""
    prepare()
    absolute_path(os.environ)
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete  # noqa: PLC0415  rarely used

        return shell_complete(cli, {}, "toolmend", COMPLETE, instruction)
    args = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    debug = False
    code = int(Exit.OK)
    try:
        try:
            with cli.make_context("toolmend", args.copy()) as ctx:
                debug = ctx.params["debug"]
                cli.invoke(ctx)
        except click.exceptions.Exit as wanted:
            code = wanted.exit_code
        sys.stdout.flush()  # a closed pipe or a full disk is reported here instead of at interpreter exit
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _close_output()
        return Exit.BROKEN_PIPE
    except Exception as error:  # the outermost handler
        if isinstance(error, OSError) and error.errno in _FULL:
            _close_output()
        if debug:
            from traceback import print_exc  # noqa: PLC0415

            print_exc()
        problem = _cli_error(error, args)
        problem.show()
        return problem.exit_code
    return code


def _close_output() -> None:
    """Discards unwritten output, so that the flush at exit does not report it again."""
    with suppress(OSError, ValueError):  # in tests stdout has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _cli_error(error: Exception, args: list[str]) -> CliError:
    """Returns the error and the hint for an exception."""
    match error:
        case CliError():
            return error
        case click.NoSuchOption() if error.ctx and (close := _closest(error.option_name, _options(error.ctx))):
            unknown = error.option_name
            at = next((at for at, word in enumerate(args) if word.partition("=")[0] == unknown), len(args))
            fixed = [*args[:at], *(close[0] + word.removeprefix(unknown) for word in args[at : at + 1]), *args[at + 1 :]]
            return CliError(f"no such option: {unknown}", try_=_line("toolmend", *fixed), code=Exit.USAGE)
        case click.ClickException():
            command = [argument for argument in args if argument in COMMANDS][:1]  # error.ctx is None within a command
            ctx, code = (error.ctx, Exit.USAGE) if isinstance(error, click.UsageError) else (None, Exit.RUNTIME)
            path = ctx.command_path if ctx else _line("toolmend", *command)
            return CliError(error.format_message(), try_=f"{path} --help", code=code)
        case OSError(errno=number, filename=None, strerror=reason) if number in _FULL:
            return CliError(f"the output cannot be written: {reason}", try_="df -h")
        case _:
            return CliError(
                f"unexpected {type(error).__name__}: {error}",
                try_=f"{_line('toolmend', '--debug', *args)}  (and report what it shows)",
            )


def _options(ctx: click.Context) -> list[str]:
    return [name for parameter in ctx.command.get_params(ctx) for name in parameter.opts if name.startswith("--")]


def _closest(word: str, known: Iterable[str]) -> list[str]:
    """Returns the closest known word, if any is close, as a list."""
    from difflib import get_close_matches  # noqa: PLC0415  rarely used

    return get_close_matches(word, known, n=1)


def _line(*words: str) -> str:
    """Returns a command line to paste."""
    from shlex import quote  # noqa: PLC0415  rarely used

    return " ".join([words[0], *map(quote, words[1:])])
