"""Files come to lie in a folder all at once, or not at all."""

from pathlib import Path

import pytest

from toolmend.recordings.fixtures import fixture


def test_create(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "case"
    fixture.create(folder, {"x.json": b"1", "y.sse": b"2"})
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"x.json": b"1", "y.sse": b"2"}
    assert [path.name for path in folder.parent.iterdir()] == ["case"]


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_nothing_is_overwritten(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "case"
    if kind == "link":
        place.symlink_to(tmp_path / "nowhere")
    else:
        place.mkdir() if kind == "folder" else place.touch()
    with pytest.raises(FileExistsError):
        fixture.create(place, {"x": b"1"})
    assert [path.name for path in tmp_path.iterdir()] == ["case"]


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="x/y"):
        fixture.create(tmp_path / "a" / "b" / "case", {"ok": b"1", "x/y": b"2"})
    assert list(tmp_path.iterdir()) == []


def test_replace(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"1")
    fixture.replace(tmp_path, {"meta.json": b"3", "a": b"2"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"2", "b": b"1", "meta.json": b"3"}


def test_what_cannot_be_replaced_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="directory"):
        fixture.replace(tmp_path, {"a": b"1"})
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fixture.home() == Path(__file__).parents[1] / "flows"
    monkeypatch.setattr(fixture, "__file__", str(tmp_path / "site-packages" / "toolmend" / "recordings" / "fixtures" / "fixture.py"))
    assert fixture.home() == Path("flows")
