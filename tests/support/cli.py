"""Commands in this process, without settings of a user."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolmend.cli import COMPLETE, main


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A user who has set nothing, in Greenwich."""
    for name in ("TOOLMEND_FLOWS", "TOOLMEND_CONFIG", "TOOLMEND_KEEP", COMPLETE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def say(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0, err: str = "") -> str:
    assert main(list(args)) == code
    out, told = capsys.readouterr()
    assert told == err
    return out
