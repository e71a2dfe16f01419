"""PATH: its relative folders are searched for nothing, and a command of the user's gets them back."""

import os
from pathlib import Path

import pytest

from toolmend.cli import main
from toolmend.cli.doctor.agents import agents
from toolmend.cli.doctor.finding import Machine
from toolmend.cli.doctor.shell import node
from toolmend.cli.launcher.environment import restored
from toolmend.cli.launcher.search_path import absolute_path, without_relative

PATHS = [
    ("/usr/bin:/bin", "/usr/bin:/bin"),
    (":/usr/bin", "/usr/bin"),
    ("/usr/bin:", "/usr/bin"),
    ("/usr/bin::/bin", "/usr/bin:/bin"),
    (".:/usr/bin:./node_modules/.bin:..:bin:~/bin", "/usr/bin"),
    ("", os.defpath),
    (".", os.defpath),
]


@pytest.mark.parametrize(("given", "kept"), PATHS)
def test_only_absolute_folders_are_searched(given: str, kept: str) -> None:
    assert without_relative(given) == kept
    environ = {"PATH": given}
    absolute_path(environ)
    absolute_path(environ)
    assert environ["PATH"] == kept
    assert restored(environ) == {"PATH": given}


def test_without_path_nothing_is_set() -> None:
    environ: dict[str, str] = {}
    absolute_path(environ)
    assert environ == {}


@pytest.mark.parametrize("path", ["", ".", ":/usr/bin", "./bin:/usr/bin"])
def test_run_and_doctor_run_nothing_of_the_folder(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("claude", "codex", "node", "sudo", "bin/claude"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\ntouch touched\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", path)
    monkeypatch.delenv("_TOOLMEND_PATH", raising=False)
    assert main(["run", "--", "claude"]) == 127
    assert path == "" or "try: toolmend run -- ./" in capsys.readouterr().err
    machine = Machine.here(tmp_path, None)
    told = [*agents(machine), *node(machine)]
    assert not any("claude" in one.text.lower() for one in told)
    main(["ca", "install", "--yes", "--dry-run"])
    assert not (tmp_path / "touched").exists()
    del os.environ["_TOOLMEND_PATH"]
