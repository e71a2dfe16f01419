"""`toolmend prune` and `toolmend pin`."""

import json
import re
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.cli import no_settings, say  # noqa: F401  the fixture works by being here
from tests.support.prunable import make
from toolmend.cli import main


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three recordings of the last three days, and a fixture."""
    monkeypatch.setenv("TOOLMEND_FLOWS", str(tmp_path / "flows"))
    root = tmp_path / "flows"
    for days in range(3):
        at = datetime.now(UTC) - timedelta(days=days, hours=1)
        make(root, f"{at:%H%M%S}-kimi-{days}", day=f"{at:%Y-%m-%d}")
    make(root, "case", day="kimi")
    return root


def left(root: Path) -> list[str]:
    return sorted(map(short, root.rglob("meta.json")))


def short(file: Path) -> str:
    """A folder's name without the time."""
    return re.sub(r"^\d+-", "", file.parent.name)


ALL = ["case", "kimi-0", "kimi-1", "kimi-2"]


def test_what_would_go(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = say(capsys, "prune", "--dry-run", "--keep", "1d", err="2 would be removed (0.0 MB), 1 are kept\n")
    assert [short(Path(line, "meta.json")) for line in out.splitlines()] == ["kimi-2", "kimi-1"]
    assert left(root) == ALL


def test_what_goes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert say(capsys, "prune", err="0 removed (0.0 MB), 3 are kept\n") == ""
    (out,) = say(capsys, "prune", "--keep", "2d", err="1 removed (0.0 MB), 2 are kept\n").splitlines()
    assert out.endswith("-kimi-2")
    assert left(root) == ["case", "kimi-0", "kimi-1"]
    say(capsys, "prune", "--keep", "1KB", err="2 removed (0.0 MB), 0 are kept\n")
    assert left(root) == ["case"]


def test_as_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(say(capsys, "prune", "--json", "-n", "--keep", "2d"))
    (one,) = document.pop("going")
    assert document == {"format": 1, "folder": str(root), "dry_run": True, "staying": 2}
    assert one["name"].endswith("-kimi-2")
    assert one["bytes"] > 1000
    assert one["recorded_at"].endswith("+00:00")
    assert left(root) == ALL


@pytest.mark.usefixtures("root")
def test_where_the_limits_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The option, then the variable, then the settings."""

    def going(*args: str) -> int:
        return len(json.loads(say(capsys, "prune", "--json", "-n", *args))["going"])

    assert going() == 0
    config = tmp_path / "toolmend.toml"
    config.write_text('keep = "2d"')
    monkeypatch.setenv("TOOLMEND_CONFIG", str(config))
    assert going() == 1
    monkeypatch.setenv("TOOLMEND_KEEP", "1d")
    assert going() == 2
    assert going("--keep", "all") == 0
    assert main(["prune", "--keep", "much"]) == 4
    assert capsys.readouterr().err.startswith("error: --keep: 'much' is neither a size nor an age, write ")


def test_pinned(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder,) = root.glob("*/*-kimi-2")
    say(capsys, "pin", folder.name, err=f"{folder.name} is kept\n")
    assert stat.S_IMODE((folder / "pinned").stat().st_mode) == 0o600
    say(capsys, "prune", "--keep", "1KB", err="2 removed (0.0 MB), 1 are kept, 1 of them pinned or in progress\n")
    assert left(root) == ["case", "kimi-2"]
    for _ in range(2):
        say(capsys, "pin", "--unpin", "last", "--flows", str(folder.parent), err=f"{folder.name} can be removed again\n")
    say(capsys, "prune", "--keep", "1KB", err="1 removed (0.0 MB), 0 are kept\n")
    assert left(root) == ["case"]


@pytest.mark.usefixtures("root")
def test_what_cannot_be_removed_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stubborn(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("toolmend.recordings.write.pruning.shutil.rmtree", stubborn)
    assert main(["prune", "--keep", "1KB"]) == 3
    assert "error: 3 could not be removed, the first is " in capsys.readouterr().err
