"""A file is whole, or it is as it was; and nobody else can read it."""

import stat
from pathlib import Path

import pytest

from toolmend.config.private_file import private_file


def write(path: Path, data: bytes, error: BaseException | None = None) -> None:
    with private_file(path) as file:
        file.write(data)
        if error:
            raise error


@pytest.mark.parametrize("before", [(), (b"before",)], ids=["a new one", "one that is there"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_all_or_nothing(before: tuple[bytes, ...], error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "file"
    for data in before:
        path.write_bytes(data)
    with pytest.raises(error):
        write(path, b"half", error())
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [*before]
    write(path, b"whole")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"whole"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
