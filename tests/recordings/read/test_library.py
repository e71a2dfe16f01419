"""library.py: recordings as a list, whatever state they are in."""

import json
import os
from pathlib import Path

import pytest

from tests.support.recording_folders import META, make
from toolmend.recordings.read import library
from toolmend.recordings.read.library import MAX_SMALL, Entry, NotFound, agent_of, entries, entry, find, newest

INDEX = '{"off":0,"len":10,"t_ms":0.000}\n{"off":10,"len":7,"t_ms":12.500}\n'


def test_what_is_known(tmp_path: Path) -> None:
    folder = make(tmp_path, "a", wait_ms=250.5)
    (folder / "upstream.idx").write_text(INDEX)
    (folder / "message.json").write_text('{"usage": {"input_tokens": 10, "output_tokens": 3}}')
    (one,) = entries(tmp_path)
    assert (one.name, one.state, one.agent, one.host) == ("a", "complete", "Claude Code", "openrouter.ai")
    assert (one.model, one.api, one.client_api, one.status, one.stream) == ("moonshotai/kimi-k2.5", "chat", "chat", 200, True)
    assert (one.rules, one.tokens, one.wait_ms, one.last_ms) == (("kimi_k2", "finish_reason"), (10, 3), 250.5, 12.5)
    assert one.size == sum(file.stat().st_size for file in folder.iterdir())
    assert one.recorded_at.isoformat() == "2026-11-20T18:34:01+00:00"


TORN = {
    "no JSON": "{",
    "empty": "",
    "another thing": "[1]",
    "zeros": "\0" * 40,
    "no time": json.dumps({**META, "recorded_at": None}),
    "a state that is none": json.dumps({**META, "state": ""}),
    "a wrong status": json.dumps({**META, "status": "x"}),
    "wrong rules": json.dumps({**META, "rules": 7}),
    "a status without end": json.dumps({**META, "status": float("inf")}),
}


@pytest.mark.parametrize("name", TORN)
def test_what_cannot_be_read_says_so(tmp_path: Path, name: str) -> None:
    make(tmp_path, "good")
    make(tmp_path, "torn", TORN[name])
    good, torn = entries(tmp_path)
    assert (good.state, torn.name, torn.state) == ("complete", "torn", "unreadable")
    assert torn.error


def test_what_is_too_large_for_a_list_says_so(tmp_path: Path) -> None:
    """All are read for it; one of holes takes no room on the disk, and all of it in memory."""
    os.truncate(make(tmp_path, "meta") / "meta.json", MAX_SMALL + 1)
    large = make(tmp_path, "message") / "message.json"
    large.touch()
    os.truncate(large, MAX_SMALL + 1)
    found = {one.name: one for one in entries(tmp_path)}
    assert f"meta.json has {MAX_SMALL + 1} bytes" in str(found["meta"].error)
    assert (found["message"].state, found["message"].tokens) == ("complete", None)


def test_what_is_torn_anywhere_is_never_complete(tmp_path: Path) -> None:
    """Any beginning of meta.json, and the same with the rest as zeros, as a crash may leave it."""
    folder, text = make(tmp_path, "a"), json.dumps(META, indent=2)
    for end in range(len(text)):
        for rest in ("", "\0" * (len(text) - end)):
            (folder / "meta.json").write_text(text[:end] + rest)
            assert [one.state for one in entries(tmp_path)] == ["unreadable"], end


@pytest.mark.parametrize("text", ['{"usage": {"input_tokens": 1e999, "output_tokens": 1}}', '{"usage": null}', "[]", '{"usa', "\0\0"])
def test_a_torn_message_costs_the_tokens(tmp_path: Path, text: str) -> None:
    folder = make(tmp_path, "a")
    (folder / "message.json").write_text(text)
    assert (entry(folder).state, entry(folder).tokens) == ("complete", None)


def test_a_time_without_a_zone(tmp_path: Path) -> None:
    make(tmp_path, "a")
    make(tmp_path, "b", recorded_at="2026-11-20T18:34:02")
    assert [one.name for one in entries(tmp_path)] == ["b", "a"]


def test_what_is_no_recording(tmp_path: Path) -> None:
    folder = make(tmp_path / "flows" / "day", "a")
    make(folder, "inside")
    (tmp_path / "flows" / "empty").mkdir()
    (tmp_path / "flows" / "file").touch()
    (tmp_path / "flows" / "link").symlink_to(folder)
    assert [one.folder for one in entries(tmp_path / "flows")] == [folder]
    assert [one.folder for one in entries(folder)] == [folder]
    assert entries(tmp_path / "nowhere") == []
    assert entries(tmp_path / "flows" / "file") == []


def test_pinned(tmp_path: Path) -> None:
    folder = make(tmp_path, "a")
    assert not entry(folder).pinned
    (folder / "pinned").touch()
    assert entry(folder).pinned


@pytest.mark.parametrize("index", ["", "{", INDEX[:40], INDEX[:-9], "\0" * 300, INDEX * 20])
def test_a_torn_index_is_no_loss(tmp_path: Path, index: str) -> None:
    folder = make(tmp_path, "a")
    (folder / "upstream.idx").write_text(index)
    assert entry(folder).last_ms in (None, 0.0, 12.5)
    assert entry(folder).state == "complete"


def test_find(tmp_path: Path) -> None:
    for day, name in enumerate(("20261118-a", "20261119-ab", "20261119-ac")):
        make(tmp_path / "kimi", name, recorded_at=f"2026-11-1{day + 7}T00:00:00+00:00")
    assert find(tmp_path, "last").name == "20261119-ac"
    assert find(tmp_path, "20261118").name == "20261118-a"
    assert find(tmp_path, "20261119-ab").name == "20261119-ab"
    assert find(tmp_path, str(tmp_path / "kimi" / "20261118-a")).name == "20261118-a"
    with pytest.raises(NotFound, match="beginning of 2 recordings: 20261119-ac, 20261119-ab"):
        find(tmp_path, "20261119")
    with pytest.raises(NotFound, match="no such recording: 'x'"):
        find(tmp_path, "x")
    with pytest.raises(NotFound):
        find(tmp_path / "nowhere", "last")


AGENTS = {
    "claude-cli/2.1 (external)": "Claude Code",
    "codex_exec/0.169.0": "Codex",
    "OpenAI/Python 3.52": "openai-python",
    "python-httpx/0.28": "python-httpx",
    "": "",
}


@pytest.mark.parametrize("text", AGENTS)
def test_agents(text: str) -> None:
    assert agent_of([["user-agent", text]]) == AGENTS[text]


def test_no_agent() -> None:
    assert [agent_of(headers) for headers in (None, [], [["accept", "*/*"]], [["user-agent"]], "x")] == [""] * 5


def test_an_entry_of_nothing(tmp_path: Path) -> None:
    assert entry(tmp_path / "none") == Entry(tmp_path / "none", error=entry(tmp_path / "none").error)


def test_the_newest_are_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(40):
        moment = f"2026-11-{10 + n // 20}T12:00:{n % 20 // 2:02}.{500 - n % 2}+00:00"
        make(tmp_path / moment[:10], f"12000{n % 20 // 2}-openrouter-{n}", recorded_at=moment)
    (tmp_path / "2026-11-11" / "120099-x-x").mkdir()
    assert [one.name for one in newest(tmp_path)] == [one.name for one in entries(tmp_path)]
    read: list[Path] = []
    monkeypatch.setattr(library, "entry_of", lambda folder, _: read.append(folder) or Entry(folder))
    assert next(newest(tmp_path)).folder.parent.name == "2026-11-11"
    assert len(read) == 2, "those of one second"


def test_other_places_than_the_recorders(tmp_path: Path) -> None:
    make(tmp_path / "kimi", "case")
    assert [one.name for one in newest(tmp_path)] == ["case"]
    assert [one.name for one in newest(tmp_path / "kimi" / "case")] == ["case"]
    assert list(newest(tmp_path / "none")) == []
