"""disk.py: whether recordings can be written, who can read them, how much room there is, and what looks like a lost call."""

import os
from collections import namedtuple
from pathlib import Path

import pytest

from tests.support.recordings import keep
from tests.support.streams import stream
from toolmend.cli.doctor import disk
from toolmend.cli.doctor.finding import Finding, Machine

Usage = namedtuple("Usage", "total used free")  # noqa: PYI024  as shutil has it


def machine(folder: Path, *, flows: str = "flows", keep_: str = "500MB 14d") -> Machine:
    folder.chmod(0o700)
    file = folder / "toolmend.toml"
    file.write_text(f'flows = "{flows}"\nkeep = "{keep_}"\n')
    return Machine({}, folder, None, file)


def state(found: list[Finding]) -> list[str]:
    return [one.state for one in found]


def test_where_recordings_go(tmp_path: Path) -> None:
    (one,) = disk.folder(machine(tmp_path))
    assert (one.state, one.text) == ("ok", f"recordings go to {tmp_path / 'flows'}")
    (one,) = disk.folder(machine(tmp_path, flows="off"))
    assert (one.state, one.text) == ("ok", "recordings are off")
    assert [*disk.space(machine(tmp_path, flows="off"))] == []


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize(("mode", "words"), [(0o755, " the recordings' folder"), (0o777, "others can write to")])
def test_a_folder_that_is_open(tmp_path: Path, mode: int, words: str) -> None:
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows").chmod(mode)
    (one,) = disk.folder(machine(tmp_path))
    assert one.state == "warning"
    assert words in one.text
    assert one.try_.startswith("chmod ")


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(disk.tempfile, "TemporaryFile", fails)
    (one,) = disk.folder(machine(tmp_path))
    assert (one.state, "cannot be written" in one.text) == ("fault", True)


@pytest.mark.parametrize(
    ("free", "keep_", "state_", "words"),
    [
        (10**12, "500MB 14d", "ok", "0 recordings, 0.0 MB; 1000.0 GB are free"),
        (10**6, "500MB 14d", "fault", "the disk is nearly full"),
        (10**12, "all", "warning", "recordings are kept for ever"),
        (2 * 10**8, "500MB 14d", "warning", "room for"),
    ],
)
def test_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, keep_: str, state_: str, words: str) -> None:
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: Usage(10**13, 0, free))
    (one,) = disk.space(machine(tmp_path, keep_=keep_))
    assert one.state == state_
    assert words in one.text


def test_what_is_no_disk_has_no_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: Usage(0, 0, 0))
    assert [*disk.space(machine(tmp_path))] == []


def test_suspects_are_counted(tmp_path: Path) -> None:
    assert [*disk.suspects(machine(tmp_path))] == []
    day = tmp_path / "flows" / "2026-11-01"
    for name in ("a", "b"):
        keep(day / name, [stream(["Hi."])], recorded_at=disk.datetime.now(disk.UTC).isoformat(), suspects=[{"text": "x"}] * (name == "b"))
    (one,) = disk.suspects(machine(tmp_path))
    assert (one.state, one.text.startswith("1 of 2 answers")) == ("warning", True)


def test_wrong_settings_are_no_matter_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    given = machine(tmp_path)
    assert given.config
    given.config.write_text("not TOML")
    assert state([*disk.folder(given)]) == ["ok"]
