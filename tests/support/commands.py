"""Commands on a folder of recordings of their own."""

import os
import shlex
import shutil
from pathlib import Path

import pytest

from tests.support.paths import FLOWS
from toolmend.cli import main


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user is: two recordings, and fixtures are in `flows`."""
    for name in ("kimi/no-section", "irregular/equal-ids-no-index"):
        shutil.copytree(FLOWS / name, tmp_path / "recorded" / "2026-11-20" / name.replace("/", "-"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLMEND_FLOWS", "recorded")
    monkeypatch.setattr("toolmend.recordings.fixtures.fixture.home", lambda: Path("flows"))
    for name in list(os.environ):
        if "TOKEN" in name or "KEY" in name or "SECRET" in name:
            monkeypatch.delenv(name)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], line: str, code: int = 0) -> tuple[str, str]:
    assert main(shlex.split(line)) == code
    return capsys.readouterr()


def corrupt(folder: Path) -> None:
    body = (folder / "client.sse").read_bytes()
    assert b'"get_weather"' in body
    (folder / "client.sse").write_bytes(body.replace(b'"get_weather"', b'"got_weather"'))
