"""What lies in a folder of recordings and may go from there; nothing else is touched."""

import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.prunable import DAY, NAME, make
from toolmend.config.retention import Keep
from toolmend.recordings.write.pruning import AT_LEAST, EVERY, LOOKS, SHARE, Sweeper, remove, stored

ALL = Keep(1)


def test_what_is_told_of_a_recording(tmp_path: Path) -> None:
    folder = make(tmp_path)
    (one,) = stored(tmp_path)
    assert (one.folder, one.at, one.held) == (folder, datetime(2026, 11, 1, 18, 34, 1, tzinfo=UTC), False)
    assert one.size == sum(file.stat().st_size for file in folder.iterdir()) > 1000


HELD = {
    "finished": (make, False),
    "finished just now": (lambda root: make(root, changed=time.time()), False),
    "open": (lambda root: make(root, state="partial", changed=time.time()), True),
    "being made": (lambda root: make(root, state=None, changed=time.time()), True),
    "partial for long": (lambda root: make(root, state="partial"), False),
    "gone by half": (lambda root: make(root, state=None), False),
    "pinned": (lambda root: (make(root) / "pinned").touch(), True),
}


@pytest.mark.parametrize("case", HELD)
def test_what_is_held(case: str, tmp_path: Path) -> None:
    do, held = HELD[case]
    do(tmp_path)
    assert [one.held for one in stored(tmp_path)] == [held]


def test_what_this_process_writes_is_held_however_old(tmp_path: Path) -> None:
    mine = make(tmp_path, state="partial")
    assert [one.held for one in stored(tmp_path, {mine})] == [True]


OTHERS = [
    "kimi/one-call",  # a fixture
    f"kimi/{NAME}",
    f"{DAY}/one-call",
    f"{DAY}/183401",
    f"{DAY}/996099-openrouter-0f3c9a12",
    f"2026-13-01/{NAME}",
    f"sub/{DAY}/{NAME}",
    f"{DAY}/UPPER-{NAME}",
]


@pytest.mark.parametrize("place", OTHERS)
def test_what_the_recorder_did_not_make_is_not_seen(place: str, tmp_path: Path) -> None:
    day, _, name = place.rpartition("/")
    make(tmp_path, name, day=day)
    assert stored(tmp_path) == []


def test_links_are_not_followed(tmp_path: Path) -> None:
    real = make(tmp_path / "elsewhere")
    root = tmp_path / "flows"
    (root / "2026-11-02").mkdir(parents=True)
    (root / DAY).symlink_to(real.parent)
    (root / "2026-11-02" / NAME).symlink_to(real)
    assert stored(root) == []
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")  # the root may be one
    assert len(stored(tmp_path / "link")) == 1


def test_a_link_in_a_recording_goes_and_what_it_points_at_stays(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").touch()
    folder = make(tmp_path / "flows")
    (folder / "link").symlink_to(victim)
    (folder / "file").symlink_to(victim / "file")
    remove(folder)
    assert (victim / "file").exists()
    assert not folder.exists()


def test_no_folder_at_all(tmp_path: Path) -> None:
    assert stored(tmp_path / "nowhere") == []


def test_removed(tmp_path: Path) -> None:
    one, two = make(tmp_path, f"{NAME}1"), make(tmp_path, f"{NAME}2")
    remove(one)
    remove(one)  # another process was faster
    assert not one.exists()
    assert two.exists()
    remove(two)
    assert list(tmp_path.iterdir()) == []


def sweep(sweeper: Sweeper, keep: Keep = ALL, written: int = 0, *, times: int = 100) -> None:
    """Once, with time for so many removals."""
    left = iter(range(times))
    for _ in sweeper.run(keep, (), lambda: next(left, None) is not None, written):
        pass


def test_sweeping(tmp_path: Path) -> None:
    folders = [make(tmp_path, f"1834{i:02d}-kimi-{i}") for i in range(5)]
    pinned = make(tmp_path, "183359-kimi-p")
    (pinned / "pinned").touch()
    sweep(Sweeper(tmp_path, pytest.fail), Keep(2 * stored(tmp_path)[0].size))
    assert [folder.exists() for folder in (*folders, pinned)] == [False, False, False, True, True, True]


def test_sweeping_by_age(tmp_path: Path) -> None:
    times = (datetime.now(UTC) - timedelta(hours=hours) for hours in (23, 25))
    new, old = (make(tmp_path, f"{at:%H%M%S}-kimi-1", day=f"{at:%Y-%m-%d}") for at in times)
    sweep(Sweeper(tmp_path, pytest.fail), Keep(None, timedelta(days=1)))
    assert (new.exists(), old.exists()) == (True, False)


def test_no_limit_is_no_look(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sweep(Sweeper(tmp_path / "file", pytest.fail), Keep())


def test_writing_comes_first_but_is_not_all(tmp_path: Path) -> None:
    """Some steps each time, more while nothing waits; the rest are taken the next time, without another look."""
    assert LOOKS <= 3 * AT_LEAST < 2 * LOOKS
    folders = [make(tmp_path, f"1834{i:02d}-kimi-{i}") for i in range(3 * AT_LEAST)]
    sweeper = Sweeper(tmp_path, pytest.fail)
    left = []
    for _ in range(3):
        sweep(sweeper, times=2 if len(left) == 1 else 0)
        left.append(sum(folder.exists() for folder in folders))
    assert left == [2 * AT_LEAST + 1, AT_LEAST - 1, 0]  # the first step was a look at LOOKS of them


def test_who_comes_in_crowds_goes_in_crowds(tmp_path: Path) -> None:
    """What is written every few seconds, twenty at a time, and while there is always more to write."""
    sweeper, keep, most = Sweeper(tmp_path, pytest.fail), Keep(0), 0
    for turn in range(1, 40):
        for i in range(20):
            make(tmp_path, f"18{turn:02d}{i:02d}-kimi-{i}")
        for _ in sweeper.run(keep, (), lambda: False, turn, 20 * turn):
            pass
        most = max(most, len(stored(tmp_path)))
    assert most < 100


def test_a_look_at_many_is_taken_in_steps_too(tmp_path: Path) -> None:
    """Thousands of them take seconds, in which nothing would be written."""
    folders = [make(tmp_path, f"18{i // 60:02d}{i % 60:02d}-kimi-{i}") for i in range(AT_LEAST * LOOKS + 1)]
    sweeper = Sweeper(tmp_path, pytest.fail)
    sweep(sweeper, times=0)
    assert all(folder.exists() for folder in folders)
    sweep(sweeper, times=1)
    assert sum(folder.exists() for folder in folders) == len(folders) - AT_LEAST - 1


def test_it_looks_again_when_much_was_written(tmp_path: Path) -> None:
    sweeper, keep = Sweeper(tmp_path, pytest.fail), Keep(1000)
    sweep(sweeper, keep)
    folder = make(tmp_path)
    sweep(sweeper, keep, 1000 // SHARE)
    assert folder.exists()
    sweep(sweeper, keep, 1000 // SHARE + 1)
    assert not folder.exists()


def test_it_looks_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("toolmend.recordings.write.pruning.time.monotonic", lambda: now)
    sweeper = Sweeper(tmp_path, pytest.fail)
    sweep(sweeper)
    folder = make(tmp_path)
    sweep(sweeper)
    assert folder.exists()
    now += EVERY
    sweep(sweeper)
    assert not folder.exists()


def test_a_failure_is_said_once_and_costs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [make(tmp_path, f"1834{i:02d}-kimi-{i}") for i in range(3)]
    rmtree = shutil.rmtree

    def stubborn(folder: Path) -> None:
        if folder != folders[2]:
            raise PermissionError(13, "Permission denied", str(folder))
        rmtree(folder)

    monkeypatch.setattr("toolmend.recordings.write.pruning.shutil.rmtree", stubborn)
    log: list[str] = []
    sweeper = Sweeper(tmp_path, log.append)
    for _ in range(3):
        sweep(sweeper)
    assert [folder.exists() for folder in folders] == [True, True, False]
    assert log == [f"old recordings stay: Permission denied: {tmp_path}"]


def test_a_log_that_fails_harms_nothing(tmp_path: Path) -> None:
    def log(message: str) -> None:
        raise RuntimeError(message)

    (tmp_path / "file").touch()
    sweep(Sweeper(tmp_path / "file", log))
