"""actions.py: what can be done with a recording from its page: pinned, played, checked, promoted."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import FLOWS
from tests.support.recordings import keep
from tests.support.streams import WEATHER, stream
from toolmend.cli.ui.actions import pin, play, promote, unpin, verify
from toolmend.recordings.fixtures import fixture
from toolmend.recordings.read.library import PINNED

FIXTURE = FLOWS / "kimi/bare-counter"


def row(folder: Path) -> Any:
    return {"path": str(folder), "provider": "kimi"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recording like a fixture."""
    made = tmp_path / "recorded"
    made.mkdir()
    for file in FIXTURE.iterdir():
        (made / file.name).write_bytes(file.read_bytes())
    return made


def test_pin_and_unpin(folder: Path) -> None:
    for _ in range(2):
        assert "done" in pin(row(folder), {})
        assert (folder / PINNED).stat().st_mode & 0o077 == 0
    for _ in range(2):
        assert "done" in unpin(row(folder), {})
        assert not (folder / PINNED).exists()


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / PINNED).symlink_to(tmp_path / "elsewhere")
    pin(row(folder), {})
    assert not (tmp_path / "elsewhere").exists()


def test_play(folder: Path) -> None:
    played = play(row(folder), {})
    assert (played["same"], played["diff"]) == (True, [])
    assert played["rules"]
    (folder / "client.sse").write_bytes(stream(["another"]))
    assert not play(row(folder), {})["same"]


def test_verify(folder: Path) -> None:
    assert "done" in verify(row(folder), {})
    (folder / "client.sse").write_bytes(stream(["another"]))
    assert {"problem", "diff"} <= verify(row(folder), {}).keys()


@pytest.mark.parametrize("action", [play, promote])
def test_what_cannot_be_read_is_a_problem(action: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixture, "home", lambda: tmp_path / "flows")
    (tmp_path / "empty").mkdir()
    assert action(row(tmp_path / "empty"), {"case": "kimi/x"}).keys() == {"problem"}


def test_promote(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixture, "home", lambda: tmp_path / "flows")
    assert "done" in promote(row(folder), {"case": "kimi/issue-17"})
    assert (tmp_path / "flows/kimi/issue-17/meta.json").is_file()
    assert promote(row(folder), {"case": "kimi/issue-17"}) .keys() == {"problem"}
    assert "problem" in promote(row(folder), {"case": "../x"})


def test_a_secret_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixture, "home", lambda: tmp_path / "flows")
    made = keep(tmp_path / "r", [stream(["the key is sk-ant-api03-", "Ab9Cd8Ef7Gh6Ij5Kl4Mn3Op2Qr1St0Uv9Wx8Yz7"])], WEATHER)
    done = promote(row(made), {"case": "kimi/leak"})
    assert "secret" in done["problem"]
    assert done["findings"]
    assert not (tmp_path / "flows").exists()
