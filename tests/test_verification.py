"""Fixtures played once more: what passes, what fails and how that is told, and how a golden file is made anew."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chunking import everywhere
from kept import in_events, keep
from spoken import WEATHER, asked
from toolmend.recordings.fixtures import verification
from toolmend.recordings.fixtures.verification import Result, check, check_all, cuts, update
from toolmend.recordings.read import replay

FLOWS = Path(__file__).parents[1] / "flows"
KIMI, PROSE = FLOWS / "kimi" / "no-section", FLOWS / "kimi" / "prose-about-markers"
WITH_ID = FLOWS / "irregular" / "equal-ids-no-index"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(KIMI, tmp_path / "kimi" / "case"))


def change(folder: Path, **fields: object) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(meta | fields))


def corrupt(folder: Path, file: str, old: bytes, new: bytes) -> None:
    data = (folder / file).read_bytes()
    assert old in data
    (folder / file).write_bytes(data.replace(old, new, 1))


def test_one_that_passes() -> None:
    assert check(KIMI) == Result(KIMI)


def test_one_that_no_rule_exercises_is_reported() -> None:
    assert check(PROSE) == Result(PROSE, notes=("no rule is at work: it passes as it came",))


def test_one_that_fails(folder: Path) -> None:
    corrupt(folder, "client.sse", b'get_weather"', b'got_weather"')
    result = check(folder)
    assert not result.passed
    assert (result.how, result.problem) == ("in its recorded chunks", "the client gets something else")
    assert (b"got_weather" in result.expected, b"got_weather" in result.got) == (True, False)
    assert result.notes == ("client.sse was changed since it was made",)


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "other rules": (lambda folder: change(folder, rules=["glm"]), "the rules that fire are kimi_k2, finish_reason; they were glm"),
    "no rules": (lambda folder: change(folder, rules=[]), "the rules that fire are kimi_k2, finish_reason; they were none"),
    "newer": (lambda folder: change(folder, format=99), "its format is of a newer version, 99"),
    "no meta": (lambda folder: (folder / "meta.json").unlink(), "[Errno 2] No such file"),
    "meta is no JSON": (lambda folder: (folder / "meta.json").write_text("{"), "Expecting property name"),
    "no upstream": (lambda folder: (folder / "upstream.sse").unlink(), "[Errno 2] No such file"),
    "api": (lambda folder: change(folder, api="telepathy"), "the client gets something else"),
    "setting": (lambda folder: change(folder, settings={"dialects": "klingon"}), "meta.json: toolmend_dialects: there is no dialect 'klingon'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_told(name: str, folder: Path) -> None:
    breaks, problem = BROKEN[name]
    breaks(folder)
    result = check(folder)
    assert not result.passed
    assert result.problem.startswith(problem)


@pytest.mark.parametrize("format_", [0, None, "1"])
def test_one_of_an_older_format_is_reported(format_: object, folder: Path) -> None:
    change(folder, format=format_)
    result = check(folder)
    assert (result.passed, result.notes, result.renewable) == (True, (f"its format is of an older version, {format_}",), True)
    update(folder)
    assert check(folder) == Result(folder)


def test_a_mending_that_depends_on_the_cuts_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that forgets what ends inside a marker: told with the cut that shows it."""

    def forgetful(recording: replay.Recording, chunks: list[bytes] | None = None) -> tuple[bytes, list[str]]:
        client, rules = replay.replay(recording, chunks)
        return client if chunks is None or not chunks[0].endswith(b"<|tool") else client[:-1], rules

    monkeypatch.setattr(verification, "replay", forgetful)
    result = check(folder, splits=None)
    place = (folder / "upstream.sse").read_bytes().index(b"<|tool") + 6
    assert (result.passed, result.how, result.renewable) == (False, f"in two, cut behind byte {place}", False)


def test_update(folder: Path) -> None:
    corrupt(folder, "client.sse", b'get_weather"', b'got_weather"')
    (folder / "upstream_request.json").write_text("{}")
    change(folder, rules=["glm"], pinned=True)
    update(folder)
    assert check(folder, splits=5) == Result(folder)
    assert (folder / "client.sse").read_bytes() == (KIMI / "client.sse").read_bytes()
    meta = json.loads((folder / "meta.json").read_text())
    assert (meta["rules"], meta["pinned"]) == (["kimi_k2", "finish_reason"], True)
    assert sorted(meta["sha256"]) == [
        "client.sse", "message.json", "request.json", "upstream.idx", "upstream.sse", "upstream_request.json",
    ]  # fmt: skip
    message = json.loads((folder / "message.json").read_text())
    assert [(call["name"], call["arguments"]) for call in message["tool_calls"]] == [("get_weather", '{"city": "Beijing"}')]
    assert not [path for path in folder.iterdir() if path.name.endswith(".new")]


def test_an_update_keeps_the_ids_and_draws_those_that_are_missing(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    shutil.copytree(WITH_ID, folder)
    update(folder)
    assert (folder / "client.sse").read_bytes() == (WITH_ID / "client.sse").read_bytes()
    change(folder, ids=[])
    update(folder)
    assert (folder / "client.sse").read_bytes() != (WITH_ID / "client.sse").read_bytes()
    assert check(folder, splits=5) == Result(folder)


def test_all_in_order_on_all_cores(folder: Path) -> None:
    change(folder, rules=[])
    folders = [KIMI, folder, PROSE, WITH_ID, KIMI]
    assert [result.folder for result in check_all(folders, splits=3, jobs=2)] == folders
    assert [result.passed for result in check_all(folders, splits=3, jobs=2)] == [True, False, True, True, True]


def test_the_cuts_are_those_of_the_tests() -> None:
    body = (KIMI / "upstream.sse").read_bytes()
    assert [chunks for _, chunks in cuts(body)] == list(everywhere(body))
    assert all(b"".join(chunks) == body for _, chunks in cuts(body, 10))
    assert len(list(cuts(body, 10))) == 16
    assert [chunks for _, chunks in cuts(b"")] == list(everywhere(b""))


@pytest.mark.parametrize("api", ["chat", "messages", "responses"])
@pytest.mark.parametrize(("state", "told"), [("client_closed", False), ("partial", False), ("upstream_error", True)])
def test_an_answer_that_went_on_without_its_client(tmp_path: Path, state: str, told: bool, api: str) -> None:
    """What is held of it, and that it was cut off, is told only to a client that is there at the end."""
    sent = in_events((KIMI / "upstream.sse").read_bytes())[:-4]
    more = {"client_api": api, "route": "a"} if api != "chat" else {}
    folder = keep(tmp_path / "x", sent, asked(api, *WEATHER), client=b"", state=state, **more)
    pipeline = replay.pipeline_of(replay.load(folder), lambda: 0.0)
    client = b"".join(pipeline.feed(chunk) for chunk in sent)
    rules = list(pipeline.rules)
    end = pipeline.close()
    assert end
    (folder / "client.sse").write_bytes(client + (end if told else b""))
    change(folder, rules=pipeline.rules if told else rules)
    assert check(folder) == Result(folder)


@pytest.mark.parametrize("state", ["client_closed", "partial"])
@pytest.mark.parametrize(
    "more", [{"stream": False}, {"stream": False, "status": 529}, {"stream": True, "client_stream": False}], ids=["whole", "error", "folded"]
)
def test_an_answer_that_came_whole_to_nobody(tmp_path: Path, state: str, more: dict[str, object]) -> None:
    """Its client left before it was all there: nothing is recorded, of either side."""
    route: dict[str, Any] = {"client_api": "messages", "route": "a", "state": state}
    folder = keep(tmp_path / "x", [], asked("messages", *WEATHER), client=b"", **route, **more)
    assert check(folder).passed


@pytest.mark.parametrize("status", [404, 429, 529])
def test_a_stream_that_is_an_error_is_not_mended(tmp_path: Path, status: int) -> None:
    """By its status: addon.py has no pipeline for it, whatever it says."""
    body = (KIMI / "upstream.sse").read_bytes()
    folder = keep(tmp_path / "x", in_events(body), client=body, status=status)
    assert check(folder).passed


def test_a_crash_leaves_no_rules_to_compare(folder: Path) -> None:
    change(folder, rules=[], state="partial", sha256={})
    assert check(folder) == Result(folder)
    change(folder, rules=["glm"])
    assert not check(folder).passed


def test_a_window_in_time_is_not_moved_by_cuts(tmp_path: Path) -> None:
    """`collect` looks at the clock when data arrives, so what came late may not come early."""
    folder = tmp_path / "x"
    shutil.copytree(FLOWS / "kimi" / "three-calls-newlines-between", folder)
    lines = [json.loads(line) for line in (folder / "upstream.idx").read_text().splitlines()]
    late = "".join(json.dumps({**row, "t_ms": n * 40.0}) + "\n" for n, row in enumerate(lines))
    (folder / "upstream.idx").write_text(late)
    change(folder, settings={"dialects": "auto", "policy": "collect", "max_calls": "8", "collect_ms": "200", "max_bytes": "65536"})
    update(folder)
    assert "policy_collect" in json.loads((folder / "meta.json").read_text())["rules"]
    recording = replay.load(folder)
    assert replay.replay(recording, [b"".join(recording.chunks)])[0] != recording.client
    assert check(folder) == Result(folder)
