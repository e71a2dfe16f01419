"""What the pages of `toolmend ui` list, search and show: the index, and what it is read from."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.support.recordings import in_events, keep
from tests.support.streams import WEATHER, stream
from tests.support.ui import index, looked_at, root
from toolmend.cli.ui import details
from toolmend.cli.ui.index import Index
from toolmend.cli.ui.sharing import page

__all__ = ["index", "root"]


def test_sessions_are_those_of_the_agents(index: Index) -> None:
    sessions = {one["session"]: one for one in index.sessions()}
    assert sessions["s1"]["requests"] == 3
    assert (sessions["s1"]["subagents"], sessions["s1"]["title"]) == (1, "Read a.py")
    assert sorted(one["requests"] for one in sessions.values()) == [1, 1, 1, 2, 3], "one continues another: no id was sent"
    assert [one["title"] for one in index.sessions(state="unanswered")] == ["Are you there"]


def test_filters(index: Index) -> None:
    def names(**filters: str) -> list[str]:
        return [row["name"] for row in index.rows(**filters)]

    assert names() == ["7", "6", "5", "4", "3", "2", "1", "8"]
    assert names(state="suspect") == ["6"]
    assert names(state="unanswered") == names(state="stalled") == ["7"]
    assert names(agent="Claude Code", q="subagent") == ["2"]
    assert names(q="100%_'\"") == names(rule="x' OR 1=1 --") == []
    first = index.rows(limit=2)
    assert [row["name"] for row in index.rows(before=f"{first[-1]['at']},{first[-1]['id']}", limit=3)] == ["5", "4", "3"]


def test_search_finds_what_was_asked_and_answered(index: Index) -> None:
    assert [hit["name"] for hit in index.search("Something ELSE")] == ["6"]
    assert index.search("subagent speaks")[0]["around"] == ("A ", "subagent speaks", ".")
    assert {hit["kind"] for hit in index.search("a.py")} >= {"text", "answer"}
    assert index.search('x" OR text:') == index.search("nowhere to be found") == []
    assert {"4", "5"} & {hit["name"] for hit in index.search("Hi")}, "two characters, and once for both that have it"


def test_the_cache_is_no_truth(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "ui.sqlite3"
    index = Index(path)
    looked_at(root, index)
    index.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Index(path)
    assert [message for message in looked_at(root, again) if "rows" in message] == []
    again.close()
    path.write_bytes(b"no database" * 1000)
    for name in ("ui.sqlite3-wal", "ui.sqlite3-shm"):
        (path.parent / name).unlink(missing_ok=True)
    anew = Index(path)
    looked_at(root, anew)
    assert anew.count() == 8


HOSTILE: dict[str, Any] = {
    "half a pair": {"model": "\ud800", "host": "\ud800", "error": "\ud800", "session": {"id": "\ud800", "agent": 7}},
    "other kinds": {"model": 5, "rules": 7, "session": [], "settings": [], "status": "x", "pid": "x", "suspects": [1]},
}


@pytest.mark.parametrize("name", [*HOSTILE, "deep", "a pipe", "links"])
def test_what_others_have_written_harms_nothing(tmp_path: Path, name: str) -> None:
    folder = keep(tmp_path / "2026-11-28" / "1", in_events(stream(["\ud800 Hi"])), {**WEATHER, "messages": [{"role": "user", "content": "\ud800 hello"}]})
    match name:
        case "deep":
            for file in ("meta.json", "request.json", "message.json"):
                (folder / file).write_text('{"a":' * 100_000)
        case "a pipe" | "links":
            for file in ("request.json", "upstream.sse", "client.sse", "upstream.idx"):
                (folder / file).unlink()
                os.mkfifo(folder / file) if name == "a pipe" else (folder / file).symlink_to("/etc/passwd")
        case _:
            (folder / "meta.json").write_text(json.dumps(json.loads((folder / "meta.json").read_text()) | HOSTILE[name]))
    keep(tmp_path / "2026-11-28" / "2", in_events(stream(["Hello."])))
    index = Index(None)
    looked_at(tmp_path, index)
    assert {row["name"] for row in index.rows()} == {"1", "2"}
    for row in index.rows():
        shown = details.recording(row)
        assert "root:" not in json.dumps(shown)
        assert details.session(index, row["session"])
        page("x", index.firsts(row["session"]), (), ()).encode()
