"""The command group: what it imports, how it fails, which exit code it gives."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from tests.support.paths import ADDON, FLOWS
from toolmend import __version__
from toolmend.cli import COMMANDS, CliError, main


@click.command()
@click.argument("what", default="nothing")
@click.option("--shade", expose_value=False)
def sample(what: str) -> None:
    """End the way the argument says."""
    match what:
        case "problem":
            raise CliError("the disk is full", try_="rm -r old", code=4)
        case "runtime":
            raise CliError("the disk is full")
        case "findings":
            click.get_current_context().exit(1)
        case "usage":
            raise click.UsageError("that makes no sense")
        case "bug":
            raise ZeroDivisionError("our fault")
        case "interrupt":
            raise KeyboardInterrupt
        case "abort":
            raise click.Abort
        case _:
            click.echo("done")


@pytest.fixture(autouse=True)
def _with_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "sample", ("tests.cli.test_cli:sample", "Only here."))


def run(*args: str, code: str = "from toolmend.__main__ import main; exit(main())", **options: Any) -> Any:
    env = os.environ | {"PYTHONPATH": str(ADDON)}
    return subprocess.run([sys.executable, "-c", code, *args], env=env, text=True, check=False, **options)


@pytest.mark.parametrize(
    ("args", "code", "out", "err"),
    [
        ("--version", 0, f"toolmend {__version__}\n", ""),
        ("sample", 0, "done\n", ""),
        ("sample findings", 1, "", ""),
        ("sample problem", 4, "", "error: the disk is full\ntry: rm -r old\n"),
        ("sample runtime", 3, "", "error: the disk is full\n"),
        ("sample usage", 2, "", "error: that makes no sense\ntry: toolmend sample --help\n"),
        ("sample a b", 2, "", "error: Got unexpected extra argument (b)\ntry: toolmend sample --help\n"),
        ("sample interrupt", 130, "", "interrupted\n"),
        ("sample abort", 130, "", "interrupted\n"),
        ("samlpe -a b*", 2, "", "error: no such command: 'samlpe'\ntry: toolmend sample -a 'b*'\n"),
        ("sample --hepl", 2, "", "error: no such option: --hepl\ntry: toolmend sample --help\n"),
        ("sample --shape=b* -- --shape", 2, "", "error: no such option: --shape\ntry: toolmend sample '--shade=b*' -- --shape\n"),
        ("sample --zzz", 2, "", "error: No such option '--zzz'.\ntry: toolmend sample --help\n"),
        ("zzz", 2, "", "error: no such command: 'zzz'\ntry: toolmend --help\n"),
        (
            "sample bug",
            3,
            "",
            """error: unexpected ZeroDivisionError: our fault
try: toolmend --debug sample bug  (and report what it shows)
""",
        ),
    ],
)
def test_ends(args: str, code: int, out: str, err: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(args.split()) == code
    assert capsys.readouterr() == (out, err)


def test_debug_shows_where(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--debug", "sample", "bug"]) == 3
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):")
    assert "test_cli.py" in err


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(args) == 0
    out = capsys.readouterr().out
    assert "Examples:" in out
    for name, (_, line) in COMMANDS.items():
        assert f"  {name}" in out
        assert line in out


def test_every_command_of_the_table_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert main([name, "--help"]) == 0, name
        assert f"Usage: toolmend {name}" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_quick_answers_import_nothing_slow(option: str) -> None:
    code = "import sys; from toolmend.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    loaded = set(run(option, code=code, capture_output=True).stderr.split())
    assert "toolmend.cli" in loaded
    ours = {name for name in loaded if name.partition(".")[0] == "toolmend"}
    assert ours == {"toolmend", "toolmend.cli", "toolmend.cli.standard_streams", "toolmend.cli.launcher", "toolmend.cli.launcher.search_path"}
    assert not loaded & {"mitmproxy", "rich", "openai", "httpx", "asyncio"}


@pytest.mark.parametrize(
    ("named", "colours"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"NO_COLOR": "1"}, False), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
    ids=str,
)
def test_colours(named: dict[str, str], colours: bool) -> None:
    """A pipe has none unless it is asked for, and who wants none has none."""
    recording = next((FLOWS / "kimi").iterdir())
    code = "import os, sys; os.environ |= eval(sys.argv.pop(1)); from toolmend.__main__ import main; exit(main())"
    shown = run(repr(named), "show", str(recording), code=code, capture_output=True)
    assert shown.returncode == 0
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]m", shown.stdout)) is colours


def test_the_version_is_told_without_the_command_line() -> None:
    code = "import sys; from toolmend.__main__ import main; main(); print(*sys.modules, file=sys.stderr)"
    done = run("--version", code=code, capture_output=True)
    assert done.stdout == f"toolmend {__version__}\n"
    assert not set(done.stderr.split()) & {"click", "toolmend.cli"}


def complete(*words: str) -> list[str]:
    """What bash is offered for the last word."""
    env = {"_TOOLMEND_COMPLETE": "bash_complete", "COMP_WORDS": shlex.join(["toolmend", *words]), "COMP_CWORD": str(len(words))}
    code = "import os, sys; os.environ |= eval(sys.argv.pop(1)); from toolmend.__main__ import main; exit(main())"
    return [line.partition(",")[2] for line in run(repr(env), code=code, capture_output=True).stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["exp"], ["explain", "export"]),
        (["env", "--shell", "f"], ["fish"]),
        (["run", "--con"], ["--config"]),
        (["show", "--flows", str(FLOWS), "la"], ["last"]),
    ],
    ids=str,
)
def test_completion(words: list[str], offered: list[str]) -> None:
    assert complete(*words) == offered


def test_recordings_are_completed() -> None:
    folder = FLOWS
    name = next(folder.glob("*/*/meta.json")).parent.name
    assert name in complete("show", "--flows", str(folder), name[:-1])


def test_a_reader_that_left_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = run("--help", stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_the_path_of_the_addon(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["addon-path"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "addons = " in Path(out.removesuffix("\n")).read_text()
