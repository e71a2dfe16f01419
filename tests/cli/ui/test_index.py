"""What the pages of `toolmend ui` list, search and show: the index, and what it is read from."""

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_requests import CLAUDE_CODE, CLAUDE_CODE_LATER
from tests.support.recordings import in_events, keep
from tests.support.streams import WEATHER, stream
from tests.support.upstream_answers import Asked, Text, Thought, speak
from toolmend.cli.ui import details, prices, reading
from toolmend.cli.ui.index import Index
from toolmend.cli.ui.markdown import tree
from toolmend.cli.ui.sharing import page
from toolmend.cli.ui.watching import Watcher
from toolmend.recordings.write.ui_mark import NAME

HEADERS = {"request_headers": [["user-agent", "claude-cli/2.1"]]}
LEAK = ["I look.\n", "CALL get_weather ", 'WITH {"city": "Oslo"}']


def claude(folder: Path, request: dict[str, Any], at: int, *parts: Any, **meta: Any) -> Path:
    body = speak("messages", parts, "stop" if isinstance(parts[-1], Text) else "tool_calls")
    kept = {"recorded_at": f"2026-11-28T12:00:{at:02}+00:00", "session": {"id": "s1", "from": "x"}, **HEADERS, **meta}
    return keep(folder, in_events(body), request, api="messages", **kept)


def chat(folder: Path, at: int, *texts: str, pieces: list[str] | None = None, **meta: Any) -> Path:
    messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    return keep(folder, in_events(stream(pieces or ["Hello."])), {**WEATHER, "messages": messages}, recorded_at=f"2026-11-28T13:00:{at:02}+00:00", **meta)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    day = tmp_path / "flows" / "2026-11-28"
    claude(day / "1", CLAUDE_CODE, 1, Thought("Hm."), Asked("toolu_01", "Read", '{"file_path": "a.py"}'))
    claude(day / "2", CLAUDE_CODE, 2, Text("A subagent speaks."), session={"id": "s1", "agent": "a1", "from": "x"})
    claude(day / "3", CLAUDE_CODE_LATER, 3, Text("It has **one** line."))
    chat(day / "4", 1, "Hi there")
    chat(day / "5", 2, "Hi there", "Hello.", "And then?")
    chat(day / "6", 3, "Something else", pieces=LEAK)
    chat(day / "7", 4, "Are you there", state="unanswered", status=0, waited_ms=31000.0, error="waited 31.0 s")
    (day / "8").mkdir()
    (day / "8" / "meta.json").write_text("{torn")
    (day / "9").symlink_to(day / "1")
    return tmp_path / "flows"


def looked_at(root: Path, index: Index, *, until: float = 30) -> list[dict[str, Any]]:
    """Until all is read."""
    told: list[dict[str, Any]] = []

    async def look() -> None:
        watcher = Watcher(root, index, told.append)
        task = asyncio.create_task(watcher.run())
        while watcher.first or index.left():
            await asyncio.wait({task}, timeout=0.01)
            assert not task.done(), task.exception()
        task.cancel()

    asyncio.run(asyncio.wait_for(look(), until))
    return told


@pytest.fixture
def index(root: Path) -> Index:
    index = Index(None)
    looked_at(root, index)
    return index


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


def test_a_conversation_is_shown_once(index: Index) -> None:
    shown = details.session(index, "s1")
    assert shown
    assert [lane["sub"] for lane in shown["lanes"]] == ["", "a1"]
    first, sub, later = shown["turns"]
    assert (first["sub"], sub["sub"], later["sub"]) == ("", "a1", "")
    assert [part["text"] for part in first["parts"] if part["role"] == "user"][-1] == "Read a.py"
    assert [call["name"] for call in first["answer"]["calls"]] == ["Read"]
    kinds = [part["kind"] for part in later["parts"]]
    assert "result" in kinds
    assert "call" not in kinds, "the assistant's own words stand above, as its answer"
    again = details.session(index, "s1", shown["recordings"][2]["at"])
    assert again
    assert (again["turns"], again["lanes"]) == ([later], shown["lanes"]), "what has come since"
    assert later["answer"]["tree"] == [["p", {}, ["It has ", ["strong", {}, ["one"]], " line."]]]


def test_two_requests_side_by_side(index: Index) -> None:
    row, before = index.by_name("3"), index.by_name("1")
    assert row
    assert before
    assert index.before(row) == before
    told = details.difference(index, row, before)
    assert (told["system"], told["tools"], told["removed"]) == (True, True, [])
    assert len(told["added"]) > 3
    assert sum(part["size"] for part in details.context(index, row)) > 500
    assert details.first_change(index.parts(before["id"]), index.parts(index.by_name("5")["id"])).endswith("changed")  # type: ignore[index]


def test_a_recording_and_its_runs(index: Index) -> None:
    row = index.by_name("6")
    assert row
    shown = details.recording(row)
    assert {run["word"] for run in shown["runs"]} >= {"text"}
    assert sum(run["to"] - run["from"] + 1 for run in shown["runs"]) == shown["events"]
    assert details.events(row, 1, 2)[0]["raw"].startswith("data: ")
    unanswered = index.by_name("7")
    assert unanswered
    assert "problem" not in details.recording(unanswered)
    assert "problem" in details.recording(index.by_name("8") or {})
    assert "$KEY" in details.curl(row)


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


def test_what_is_removed_is_gone(root: Path, index: Index) -> None:
    for file in (root / "2026-11-28" / "6").iterdir():
        file.unlink()
    (root / "2026-11-28" / "6").rmdir()
    looked_at(root, index)
    assert index.by_name("6") is None
    assert index.search("Something else") == []


def test_what_is_written_is_told_as_it_comes(tmp_path: Path) -> None:
    """A recording that waits, streams and ends; and one whose proxy is gone."""
    root, index, told = tmp_path, Index(None), list[dict[str, Any]]()
    body = in_events(stream(["Once", " upon", " a time"]))

    def write(name: str, state: str, **meta: Any) -> Path:
        folder = keep(tmp_path / "2026-11-28" / name, [], WEATHER, state=state, **meta)
        for file in folder.glob("*.sse"):
            file.unlink()
        return folder

    async def until(true: Any) -> None:
        while not true():  # noqa: ASYNC110  it is the disk that is waited for
            await asyncio.sleep(0.01)

    async def look() -> None:
        folder = write("1", "waiting", pid=os.getpid())
        write("2", "partial", pid=2**22 + 1)
        watcher = Watcher(root, index, told.append)
        task = asyncio.create_task(watcher.run())
        await until(lambda: len(watcher.growing) == 1)
        assert (root / NAME).exists()
        row = index.by_name("1")
        assert row
        assert (row["state"], row["live"], index.by_name("2")["live"]) == ("waiting", 1, 0)  # type: ignore[index]
        (folder / "upstream.sse").write_bytes(body[0] + body[1])
        (folder / "client.sse").write_bytes(body[0] + body[1])
        await until(lambda: (watcher.follow(row["id"]) or {}).get("pieces"))
        (folder / "client.sse").write_bytes(b"".join(body))
        (folder / "upstream.sse").write_bytes(b"".join(body))
        await until(lambda: watcher.follow(row["id"])["pieces"] == [["text", "Once upon a time"]])  # type: ignore[index]
        meta = json.loads((folder / "meta.json").read_bytes())
        (folder / "meta.json").write_text(json.dumps(meta | {"state": "complete"}))
        await until(lambda: not watcher.growing and index.by_name("1")["state"] == "complete")  # type: ignore[index]
        task.cancel()

    asyncio.run(asyncio.wait_for(look(), 20))
    assert not (root / NAME).exists()
    assert any("Once" in json.dumps(message.get("live", {})) for message in told)


def test_markdown_has_no_markup() -> None:
    evil = "<script>x</script> [a](javascript:alert(1)) ![b](http://evil/x.png) <img src=x> [c](https://ok.example)"
    told = json.dumps(tree(evil))
    assert '["a", {"href": "https://ok.example"}' in told
    assert "javascript" not in told.partition("href")[2]
    assert '"img"' not in told
    assert '"script"' not in told
    assert tree("```py\nx = 1\n```")[0][:2] == ["pre", {"lang": "py"}]


def test_a_process_that_is_not_there() -> None:
    assert reading.is_alive(os.getpid())
    assert not any(map(reading.is_alive, (None, -1, 0, "1", 2**22 + 1, 2**70 - 1)[:5]))


def test_a_price_of_the_user_comes_first(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index made with other prices is made again."""
    file = tmp_path / "prices.toml"
    file.write_text('[[price]]\nmodels = ["*kimi*"]\ninput = 1000\noutput = 100_000\n')
    monkeypatch.setenv("TOOLMEND_CONFIG", str(file))
    cache = tmp_path / "index.sqlite3"
    for priced in (True, False):
        prices.own.cache_clear()
        index = Index(cache)
        looked_at(root, index)
        assert (0.51 in {row["cost"] for row in index.rows()}) is priced
        index.close()
        file.write_text("")
    prices.own.cache_clear()
