"""Each class of error of the command line: what is wrong, where, and what to try; one form, and no traceback."""

import ast
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.machines import Box, well
from tests.support.paths import ROOT
from toolmend import cli
from toolmend.cli import Exit, main

SOURCES = sorted(Path(cli.__file__).parent.glob("*.py"))
FIXTURE = ROOT / "flows/kimi/bare-counter"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A user with one recording, in the working directory's `recorded`."""
    with well(tmp_path) as box:
        shutil.copytree(FIXTURE, "recorded/kimi/talk")
        yield box


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_every_problem_has_something_to_try(source: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Call)]
    problems = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id == "CliError"]
    assert [ast.unparse(node) for node in problems if not any(keyword.arg == "try_" for keyword in node.keywords)] == []
    assert not [ast.unparse(node) for node in calls if ast.unparse(node.func).endswith("ClickException")]


def _settings(_: Box) -> None:
    Path("own.toml").write_text("[[route]]\nfrom = 1\n")


def _variable(box: Box) -> None:
    box.set(TOOLMEND_KEEP="much")


def _broken(_: Box) -> None:
    Path("recorded/kimi/talk/meta.json").write_text("{")


def _no_request(_: Box) -> None:
    Path("request.json").write_text("[")


def _taken(box: Box) -> None:
    box.set(SICK_PORT=str(box.listener()))


def _unwritable(_: Box) -> None:
    Path("flows").mkdir()
    Path("flows/kimi").touch()


def _bug(box: Box) -> None:
    def bug(_: Path) -> None:
        raise ZeroDivisionError("our fault")

    box.patch.setattr("toolmend.cli.commands.explain.load", bug)


def _no_disk(box: Box) -> None:
    box.patch.setattr("pathlib.Path.touch", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left on device")))


def _deaf(box: Box) -> None:
    box.patch.setattr("toolmend.cli.commands.prune.stored", lambda _: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))


def _no_proxy_starts(box: Box) -> None:
    (box.folder / "main.py").write_text("import no_such_module")
    box.patch.setattr("toolmend.cli.launcher.proxy.addon_path", lambda: box.folder / "main.py")


def _nothing(_: Box) -> None:
    pass


FLOWS = ["--flows", "recorded"]
type Seed = Callable[[Box], None]

ERRORS: dict[str, tuple[list[str], Seed, Exit, str, str]] = {
    # what is wrong: the command line, what is done before, the exit code, the first line, what it has one try
    "no such command": (["shwo", "last"], _nothing, Exit.USAGE, "no such command: 'shwo'", "toolmend show last"),
    "no such option": (["flows", "--jsn"], _nothing, Exit.USAGE, "no such option: --jsn", "toolmend flows --json"),
    "a missing argument": (["promote"], _nothing, Exit.USAGE, "Missing argument 'FLOW'", "toolmend promote --help"),
    "a missing subcommand": (["ca"], _nothing, Exit.USAGE, "Missing command", "toolmend ca --help"),
    "a value that is none": (["flows", "--since", "soon"], _nothing, Exit.USAGE, "Invalid value for '--since'", "toolmend flows --help"),
    "options that do not fit": (["bug-report", "--with-content"], _nothing, Exit.USAGE, "--with-content needs", "toolmend bug-report --help"),
    "a file that is not there": (["rewrite", "no.sse"], _nothing, Exit.USAGE, "Invalid value for '[FILE.sse|-]': 'no.sse'", "toolmend rewrite --help"),
    "no such recording": (["show", "nix", *FLOWS], _nothing, Exit.USAGE, "no such recording: 'nix' in recorded", "toolmend flows --flows recorded"),
    "a broken recording": (["show", "talk", *FLOWS], _broken, Exit.RUNTIME, "this recording cannot be shown: ", "toolmend flows"),
    "a file of settings": (["routes", "own.toml"], _settings, Exit.CONFIGURATION, "own.toml:2: from: 1 is not", "toolmend config check own.toml"),
    "the same, of an option": (["providers", "--config", "own.toml"], _settings, Exit.CONFIGURATION, "own.toml:2: from", "toolmend config check own.toml"),
    "a variable": (["prune"], _variable, Exit.CONFIGURATION, "TOOLMEND_KEEP: 'much' is neither", "toolmend config check"),
    "a limit": (["prune", "--keep", "much"], _nothing, Exit.CONFIGURATION, "--keep: 'much' is neither", "toolmend config check"),
    "a setting of a rewrite": (
        ["rewrite", "recorded/kimi/talk/upstream.sse", "--set", "toolmend_dialects=kimi"],
        *(_nothing, Exit.CONFIGURATION, "toolmend_dialects: no such dialect: 'kimi'", "toolmend config check"),
    ),
    "a request that is none": (
        ["rewrite", "recorded/kimi/talk/upstream.sse", "--request", "request.json"],
        *(_no_request, Exit.USAGE, "request.json cannot be read as JSON", "give the body of the client's request"),
    ),
    "a place that cannot be written": (
        ["promote", "talk", "kimi/case", "--into", "flows", *FLOWS],
        *(_unwritable, Exit.RUNTIME, "flows/kimi/case cannot be written: ", "ls -ld flows/kimi"),
    ),
    "the same, of a file": (["export", "talk", "-o", "no/x.har", *FLOWS], _nothing, Exit.RUNTIME, "no/x.har cannot be written", "ls -ld ."),
    "a full disk": (["pin", "talk", *FLOWS], _no_disk, Exit.RUNTIME, "recorded/kimi/talk/pinned cannot be written: No space", "ls -ld recorded/kimi/talk"),
    "a folder that cannot be read": (["prune", *FLOWS], _deaf, Exit.RUNTIME, "recorded cannot be read: Permission denied", "ls -ld recorded"),
    "nobody to ask": (["verify", "--update"], _nothing, Exit.USAGE, "this needs a confirmation, but standard input is not a terminal", "toolmend verify --update --yes"),
    "nothing to play": (["serve", "--flows", "empty"], _nothing, Exit.USAGE, "no such recording: 'empty' in empty", "toolmend flows"),
    "a port that is taken": (["serve", *FLOWS, "--port", "SICK_PORT"], _taken, Exit.RUNTIME, "cannot listen on port", "omit --port"),
    "a URL that is none": (["routes", "https://[/"], _nothing, Exit.USAGE, "'https://[/' is not a URL", "give all of it"),
    "a fixture that is not there": (["verify", "empty"], _nothing, Exit.USAGE, "no such recording: 'empty'", "toolmend flows"),
    "a proxy that does not start": (["demo"], _no_proxy_starts, Exit.RUNTIME, "mitmdump", "toolmend doctor"),
    "a bug of ours": (["explain", "talk", *FLOWS], _bug, Exit.RUNTIME, "unexpected ZeroDivisionError: our fault", "toolmend --debug explain talk"),
}


@pytest.mark.parametrize(("args", "seed", "code", "what", "try_"), ERRORS.values(), ids=ERRORS)
def test_it_is_told(
    args: list[str], seed: Seed, code: Exit, what: str, try_: str, box: Box, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(box)
    args = [os.environ.get(word, word) for word in args]
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert main(args) == code
    err = capfd.readouterr().err
    lines = err.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("error: "))
    assert lines[first].startswith(f"error: {what}"), err
    assert lines[-1].startswith(f"try: {try_}"), err
    assert "Traceback" not in err or "no_such_module" in err  # of mitmdump's last words


def test_exit_codes() -> None:
    assert sorted({*Exit} - {Exit.BROKEN_PIPE}) == [0, 1, 2, 3, 4, 5, 130]
