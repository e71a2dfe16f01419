"""Every recording under flows/ is a regression test, and every pattern has its recording."""

import json
import shutil
from pathlib import Path

import pytest

from tests.patterns import recorded_patterns
from tests.support.cuts import at_every_place
from tests.support.other_api_streams import recorded_streams
from tests.support.paths import FLOWS
from toolmend.apis.decode_failure_event import UNREADABLE
from toolmend.dialects import DIALECTS
from toolmend.pipeline.pipeline import Pipeline
from toolmend.recordings.fixtures.verification import check
from toolmend.recordings.read import replay
from toolmend.recordings.read.event_diff import diff

RECORDINGS = {str(folder.relative_to(FLOWS)): folder for folder in replay.find(FLOWS)}
SPLITS = 8
"""Two-way splits of each, beside the cuts at every place."""


@pytest.mark.parametrize("name", RECORDINGS)
def test_recording(name: str) -> None:
    """In the recorded chunks, whole, byte by byte, at random, at some two-way splits and cut at every place: the same bytes and rules."""
    result = check(RECORDINGS[name], splits=SPLITS)
    assert result.passed, "\n".join((result.problem, result.how, *diff(result.expected, result.got)))
    assert not [note for note in result.notes if "no rule" not in note]
    recording = replay.load(RECORDINGS[name])
    for chunks in at_every_place(b"".join(recording.chunks)):
        assert replay.replay(recording, chunks) == (recording.client, recording.meta["rules"])


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDINGS)
def test_recording_at_every_two_way_split(name: str) -> None:
    result = check(RECORDINGS[name], splits=None)
    assert result.passed, "\n".join((result.problem, result.how, *diff(result.expected, result.got)))


def test_every_pattern_that_is_to_be_is_recorded() -> None:
    assert sorted(RECORDINGS) == sorted({**recorded_patterns(), **recorded_streams()})


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_has_a_recording(name: str) -> None:
    assert [folder for folder in RECORDINGS.values() if name in replay.load(folder).meta["rules"]]


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    folder = tmp_path / "x"
    shutil.copytree(next(iter(RECORDINGS.values())), folder)
    return folder


@pytest.mark.parametrize(
    ("file", "content"),
    [
        *(("meta.json", "{"), ("upstream.idx", '{"off": 1}'), ("upstream.idx", '{"off": 0,\n{}'), ("request.json", "[")),
        *(("upstream.idx", '{"off": 0, "len": 1.5, "t_ms": 0}'), ("upstream.idx", '{"off": 0, "len": 1, "t_ms": 1e300}')),
        *(("upstream.idx", '{"off": 0, "len": 9, "t_ms": 0}\n' * 2), ("upstream.idx", '{"off": 0, "len": -1, "t_ms": 0}')),
        *(("upstream.idx", f'{{"off": 0, "len": 9, "t_ms": 0}}\n{{"off": {off}, "len": 9, "t_ms": 0}}') for off in (8, 10, -1)),
        *(("meta.json", "[]"), ("meta.json", "{}"), ("request.json", "[1]"), ("request.json", "[" * 100_000)),
    ],
)
def test_a_broken_recording_says_what_is_wrong(broken: Path, file: str, content: str) -> None:
    (broken / file).write_text(content)
    with pytest.raises(replay.RecordingError, match=str(broken)):
        replay.load(broken)


@pytest.mark.parametrize(("name", "value"), [("api", [1]), ("status", "x"), ("rules", 3), ("settings", []), ("path", 7)])
def test_a_member_of_another_kind(broken: Path, name: str, value: object) -> None:
    meta = json.loads((broken / "meta.json").read_text())
    (broken / "meta.json").write_text(json.dumps(meta | {name: value}))
    with pytest.raises(replay.RecordingError, match=f"meta.json: {name} is "):
        replay.load(broken)


def test_what_the_index_misses_is_one_chunk_more(broken: Path) -> None:
    lines = (broken / "upstream.idx").read_text().splitlines()
    (broken / "upstream.idx").write_text("\n".join(lines[:2]))
    recording = replay.load(broken)
    assert len(recording.chunks) == 3
    assert b"".join(recording.chunks) == (broken / "upstream.sse").read_bytes()


def test_what_was_told_of_a_coding_that_broke_is_told_again(broken: Path) -> None:
    meta = json.loads((broken / "meta.json").read_text())
    (broken / "meta.json").write_text(json.dumps(meta | {"unreadable": True}))
    with (broken / "client.sse").open("ab") as client:
        client.write(UNREADABLE[meta["api"]])
    assert check(broken).passed


def test_what_cannot_be_mended_is_no_replay(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client would get what came, and that may be what it is to get."""

    def fail(*_: object) -> None:
        raise KeyError

    monkeypatch.setattr(Pipeline, "_event", fail)
    with pytest.raises(replay.RecordingError, match=f"{broken}: the mending failed: KeyError in fail "):
        replay.replay(replay.load(broken))


def test_ids_are_taken_from_the_recording(tmp_path: Path) -> None:
    """What a rewrite drew at random stands in meta.json, so a replay has it, too."""
    source = next(folder for folder in RECORDINGS.values() if replay.load(folder).meta["ids"])
    folder = tmp_path / "x"
    shutil.copytree(source, folder)
    meta = json.loads((folder / "meta.json").read_text())
    made = [f"call_{n}" for n in range(len(meta["ids"]))]
    (folder / "meta.json").write_text(json.dumps({**meta, "ids": made}))
    expected = replay.load(folder).client
    for old, new in zip(meta["ids"], made, strict=True):
        expected = expected.replace(old.encode(), new.encode())
    assert replay.replay(replay.load(folder))[0] == expected
