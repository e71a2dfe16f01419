"""The command line: one click group whose commands stand in a table and are imported only when they run.

Rule: nothing slow is imported here (mitmproxy, rich, the core), so that `--help` and `--version` answer at once, and
every failure is told in one place and one form: `error:` and `try:` on stderr, an exit code from `Exit`, no traceback.
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
    "ca": ("toolmend.cli.commands.ca:ca", "Where the proxy's CA lies; have the system trust it, or not."),
    "config": ("toolmend.cli.commands.config:config", "Check the settings, and show where each one comes from."),
    "demo": ("toolmend.cli.commands.demo:demo", "Watch a leaked stream being mended by a real proxy."),
    "dialects": ("toolmend.cli.dialects:dialects", "List the dialects, or print one as a table."),
    "doctor": ("toolmend.cli.commands.doctor:doctor", "Check the set-up, and prove that a stream is mended."),
    "env": ("toolmend.cli.commands.env:env", "Print the variables that send a shell through the proxy."),
    "envoy-config": ("toolmend.cli.commands.envoy_config:envoy_config", "Print Envoy's configuration for a team's workers."),
    "explain": ("toolmend.cli.commands.explain:explain", "Say in words which rules changed an answer, where, and why."),
    "export": ("toolmend.cli.commands.export:export", "Write recordings as a mitmproxy flow file, or as HAR."),
    "flows": ("toolmend.cli.commands.flows:flows", "List what was recorded: agent, model, state, tokens, rules."),
    "learn": ("toolmend.cli.commands.learn:learn", "Learn how a model writes its calls, from recordings of them."),
    "pin": ("toolmend.cli.commands.prune:pin", "Keep a recording, however old or large it is."),
    "promote": ("toolmend.cli.commands.promote:promote", "Make a fixture of a recording, unless it holds a secret."),
    "providers": ("toolmend.cli.commands.providers:providers", "Show which dialects are looked for with a model, and why."),
    "prune": ("toolmend.cli.commands.prune:prune", "Remove the recordings that are too old or too much."),
    "rewrite": ("toolmend.cli.commands.rewrite:rewrite", "Mend a stream that lies in a file or comes on standard input."),
    "routes": ("toolmend.cli.commands.routes:routes", "Check a file's routes, and show which request they take where."),
    "run": ("toolmend.cli.commands.run:run", "Run an agent, or any command, behind the proxy."),
    "serve": ("toolmend.cli.commands.serve:serve", "Play recordings as a local provider, to an agent or an SDK."),
    "serve-envoy": ("toolmend.cli.commands.serve_envoy:serve_envoy", "Mend for a team's Envoy: a worker of its ext_proc filter."),
    "show": ("toolmend.cli.commands.show:show", "Show a recording, in the terminal or with --html as a page."),
    "start": ("toolmend.cli.commands.background:start", "Keep one proxy in the background, for all terminals."),
    "status": ("toolmend.cli.commands.background:status", "Say whether a proxy runs in the background, and what it did."),
    "stop": ("toolmend.cli.commands.background:stop", "End the proxy in the background."),
    "translate": ("toolmend.cli.commands.translate:translate", "Show what a route would send upstream for a request, and why."),
    "ui": ("toolmend.cli.commands.ui:ui", "See the recordings in a browser, live and afterwards."),
    "verify": ("toolmend.cli.commands.verify:verify", "Play fixtures once more: does the client get what it got?"),
}

COMPLETE = "_TOOLMEND_COMPLETE"
"""What a shell sets to ask for completions; `eval "$(_TOOLMEND_COMPLETE=bash_source toolmend)"` has it ask."""


class Exit(IntEnum):
    """What a command's exit code says."""

    OK = 0
    FINDINGS = 1  # it ran, and what it looked for is there: a difference, a leak
    USAGE = 2
    RUNTIME = 3
    CONFIGURATION = 4
    DOCTOR = 5  # the set-up has a fault
    INTERRUPTED = 130  # 128 + SIGINT, as shells count
    BROKEN_PIPE = 128 + signal.SIGPIPE  # who reads our output has left, as `| head` does


class Problem(click.ClickException):
    """A failure whose cause is known, told without a traceback.

    `message` is a sentence without a full stop that says what is wrong; `try_` is what to do about it, best a command
    that can be pasted; `code` is the exit code.
    """

    def __init__(self, message: str, *, try_: str | None = None, code: int = Exit.RUNTIME) -> None:
        super().__init__(message)
        self.try_ = try_
        self.exit_code = code  # type: ignore[misc]  # click has one a class, we have one an error

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the one or two lines, to stderr unless told otherwise; what else the message has stands below it, further in."""
        first, *more = map(visible, self.message.split("\n"))
        lines = [f"error: {first}", *(f"  {line.strip()}" for line in more)]
        click.echo("\n".join([*lines, *([f"try: {visible(self.try_)}"] if self.try_ else [])]), file=file, err=True)


def visible(text: str) -> str:
    """What others may have written, on one line of a terminal: nothing in it steers that, or begins a line as we do."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text)


class Commands(click.Group):
    """The group over `COMMANDS`; a command's module is imported when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            close = _close(args[0], COMMANDS)
            hint = _line(ctx.command_path, *close, *args[1:]) if close else f"{ctx.command_path} --help"
            raise Problem(f"there is no command {args[0]!r}", try_=hint, code=Exit.USAGE)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """From the table: click's own would import every command."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415  seldom wanted

        named = [CompletionItem(name, help=line) for name, (_, line) in COMMANDS.items() if name.startswith(incomplete)]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
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
    Exit codes: 0 all is well, 1 something was found or differs, 2 wrong usage, 3 it failed,
    4 wrong configuration, 5 the doctor found a fault, 130 interrupted.
    """


_FULL = (ENOSPC, EDQUOT, EFBIG, EIO)
"""Why standard output takes no more."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (`sys.argv` by default) and return its exit code; raises nothing."""
    prepare()
    absolute_path(os.environ)
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete  # noqa: PLC0415  seldom wanted

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
        sys.stdout.flush()  # a reader that has left shows here, not at interpreter exit, and so does a full disk
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _close_output()
        return Exit.BROKEN_PIPE
    except Exception as error:  # the last frame: told, not thrown at the user
        if isinstance(error, OSError) and error.errno in _FULL:
            _close_output()
        if debug:
            from traceback import print_exc  # noqa: PLC0415

            print_exc()
        problem = _problem(error, args)
        problem.show()
        return problem.exit_code
    return code


def _close_output() -> None:
    """What could not be written is forgotten, or the flush at exit complains once more."""
    with suppress(OSError, ValueError):  # a test's has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _problem(error: Exception, args: list[str]) -> Problem:
    """The two lines for whatever went wrong."""
    match error:
        case Problem():
            return error
        case click.NoSuchOption() if error.ctx and (close := _close(error.option_name, _options(error.ctx))):
            wrong = error.option_name
            at = next((at for at, word in enumerate(args) if word.partition("=")[0] == wrong), len(args))
            fixed = [*args[:at], *(close[0] + word.removeprefix(wrong) for word in args[at : at + 1]), *args[at + 1 :]]
            return Problem(f"there is no option {wrong}", try_=_line("toolmend", *fixed), code=Exit.USAGE)
        case click.ClickException():
            command = [argument for argument in args if argument in COMMANDS][:1]  # raised in a command, it has no ctx
            ctx, code = (error.ctx, Exit.USAGE) if isinstance(error, click.UsageError) else (None, Exit.RUNTIME)
            path = ctx.command_path if ctx else _line("toolmend", *command)
            return Problem(error.format_message(), try_=f"{path} --help", code=code)
        case OSError(errno=number, filename=None, strerror=reason) if number in _FULL:
            return Problem(f"the output cannot be written: {reason}", try_="df -h")
        case _:
            return Problem(
                f"unexpected {type(error).__name__}: {error}",
                try_=f"{_line('toolmend', '--debug', *args)}  (and report what it shows)",
            )


def _options(ctx: click.Context) -> list[str]:
    return [name for parameter in ctx.command.get_params(ctx) for name in parameter.opts if name.startswith("--")]


def _close(word: str, known: Iterable[str]) -> list[str]:
    """The one that was meant, if one is near."""
    from difflib import get_close_matches  # noqa: PLC0415  seldom wanted

    return get_close_matches(word, known, n=1)


def _line(*words: str) -> str:
    """A command that can be pasted."""
    from shlex import quote  # noqa: PLC0415  seldom wanted

    return " ".join([words[0], *map(quote, words[1:])])
