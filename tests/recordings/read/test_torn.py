"""A recording after a crash, at every place where a file may end: it is known for what it is, and nothing raises."""

import shutil
from pathlib import Path

import pytest

from tests.support.cuts import DEEP
from tests.support.paths import FLOWS
from toolmend.recordings.fixtures.verification import check
from toolmend.recordings.read import library, replay

FOLDER = FLOWS / "kimi" / "no-arguments"
FILES = sorted(path.name for path in FOLDER.iterdir())


def damaged(data: bytes, step: int = 37 if DEEP else 149) -> list[bytes]:
    """Every so many bytes: cut off there, or filled up with zeros."""
    places = [*range(0, len(data) - step, step), len(data.rstrip()) - 1]  # a last newline is no loss
    return [data[:at] for at in places] + [data[:at] + b"\0" * (len(data) - at) for at in places]


@pytest.mark.parametrize("name", FILES)
def test_a_torn_file_is_told(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "torn"
    shutil.copytree(FOLDER, folder)
    assert check(folder, splits=1).passed
    for data in damaged((FOLDER / name).read_bytes()):
        (folder / name).write_bytes(data)
        listed = library.entry(folder)
        result = check(folder, splits=1)
        assert not result.passed or result.notes, data[-40:]
        try:
            loaded = replay.load(folder)
        except replay.RecordingError:
            assert name != "meta.json" or listed.state == "unreadable"
        else:
            assert b"".join(loaded.chunks) == (folder / "upstream.sse").read_bytes()
    (folder / name).unlink()
    assert not check(folder, splits=1).passed or check(folder, splits=1).notes or name == "upstream.idx"
    assert library.entry(folder).state == ("unreadable" if name == "meta.json" else "complete")
