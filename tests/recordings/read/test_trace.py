"""trace.py: a recording, event by event, is what its replay is as a whole."""

from pathlib import Path

import pytest

from tests.support.paths import FLOWS
from toolmend.recordings.read import replay
from toolmend.recordings.read.trace import steps

FOLDERS = [*replay.find(FLOWS / "kimi")[:12], *replay.find(FLOWS / "irregular"), *replay.find(FLOWS / "qwen")]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_the_steps_make_the_replay(folder: Path) -> None:
    recording = replay.load(folder)
    told = list(steps(recording))
    client, rules = replay.replay(recording)
    assert b"".join(step.sent for step in told) == client
    assert b"".join(step.raw for step in told) == b"".join(recording.chunks)
    assert sorted({rule for step in told for rule in step.rules}) == sorted(rules)
    assert [step.time for step in told] == sorted(step.time for step in told)
    if rules:
        assert any(step.touched for step in told)


TORN = ['{"off":', '{"off":1', "\0" * 40, '{"off":999999,"len":1,"t_ms":9.0}\n']


@pytest.mark.parametrize("tail", TORN)
def test_a_torn_index_plays_all_the_same(tmp_path: Path, tail: str) -> None:
    """As a crash leaves it."""
    whole = replay.load(FOLDERS[0])
    for file in FOLDERS[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    with (tmp_path / "upstream.idx").open("a") as index:
        index.write(tail)
    torn = replay.load(tmp_path)
    assert b"".join(torn.chunks) == b"".join(whole.chunks)
    assert replay.replay(torn) == replay.replay(whole)
