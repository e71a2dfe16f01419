"""learnt_refusals.py: what is remembered of refusals: for whom, how long, how much, and in which file."""

import json
import tomllib
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from toolmend.config.provider_tables import profiles
from toolmend.proxy.learnt_refusals import MAX_ENTRIES, MAX_OF_ONE, RefusalMemory, RefusalScope
from toolmend.requests.refusal_rules import Remedy

KEY = RefusalScope("api.x.ai", "chat", "grok-4")
STORE, EFFORT = Remedy("store", ("store",)), Remedy("reasoning_effort", ("reasoning_effort in low high",), {"efforts": ("low", "high")})


class Day:
    now = date(2026, 11, 29)

    def __call__(self) -> date:
        return self.now


@pytest.fixture
def day() -> Day:
    return Day()


@pytest.fixture
def learnt(tmp_path: Path, day: Day) -> RefusalMemory:
    return RefusalMemory(tmp_path / "a/learnt.json", day)


def test_it_is_for_one_host_api_and_model(learnt: RefusalMemory) -> None:
    assert [entry.path for entry in learnt.add(KEY, [STORE, EFFORT], "no")] == ["store", "reasoning_effort"]
    known = learnt.known_for(KEY)
    assert (known.facts, known.edits) == ({"efforts": ("low", "high")}, ("store", "reasoning_effort in low high"))
    assert "store, 2026-11-29: takes = { refuses = [" in known.lines[0]
    for other in (RefusalScope("api.x.ai", "responses", "grok-4"), RefusalScope("api.x.ai", "chat", "grok-5"), RefusalScope("x.ai", "chat", "grok-4")):
        assert learnt.known_for(other) == RefusalMemory(None, Day()).known_for(other)
    assert learnt.add(KEY, [STORE], "again") == []


def test_another_process_reads_it(learnt: RefusalMemory, day: Day) -> None:
    assert learnt.file
    other = RefusalMemory(learnt.file, day)
    assert other.entries() == []
    learnt.add(KEY, [STORE, EFFORT], "no")
    assert other.entries() == learnt.entries() and other.known_for(KEY).facts == {"efforts": ("low", "high")}
    assert (learnt.file.stat().st_mode & 0o777, learnt.file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert other.forget() == 2
    assert learnt.entries() == []


def test_it_ends_after_two_weeks(learnt: RefusalMemory, day: Day) -> None:
    learnt.add(KEY, [STORE], "no")
    day.now += timedelta(days=14)
    assert learnt.known_for(KEY).edits == ("store",)
    day.now += timedelta(days=1)
    assert learnt.known_for(KEY).edits == ()
    assert learnt.add(KEY, [STORE], "no")


def test_what_is_in_vain_is_not_learnt_again(learnt: RefusalMemory) -> None:
    learnt.drop(learnt.add(KEY, [STORE], "no"))
    assert learnt.add(KEY, [STORE], "no") == [] == learnt.entries()
    assert learnt.add(KEY, [Remedy("x", ("x",), once=True)], "no") == []
    assert learnt.forget() == 0
    assert learnt.add(KEY, [STORE], "no")


def test_it_is_bounded(learnt: RefusalMemory) -> None:
    learnt.file = None
    assert len(learnt.add(KEY, [Remedy(f"a{n}", (f"a{n}",)) for n in range(100)], "")) == MAX_OF_ONE
    for host in range(MAX_ENTRIES):
        learnt.add(RefusalScope(f"h{host}", "chat", "m"), [STORE, EFFORT], "")
    assert len(learnt.entries()) == MAX_ENTRIES
    assert learnt.add(RefusalScope("h", "chat", "m" * 1000), [STORE], "") == []


WRONG: list[Any] = ["", "[]", "{", '{"learnt": 1}', '{"learnt": [1, {}, {"host": 1}]}', "[" * 10_000]


@pytest.mark.parametrize("text", WRONG)
def test_a_file_that_is_wrong_is_nothing(learnt: RefusalMemory, text: str) -> None:
    assert learnt.file
    learnt.file.parent.mkdir()
    learnt.file.write_text(text)
    assert learnt.entries() == []


def test_rows_that_are_wrong_are_left_out(learnt: RefusalMemory) -> None:
    assert learnt.file
    learnt.add(KEY, [STORE], "no")
    whole = json.loads(learnt.file.read_text())
    (row,) = whole["learnt"]
    more: list[dict[str, Any]] = [{"edits": ["messages"]}, {"facts": {"efforts": 3}}, {"date": "soon"}, {"edits": ["a b"]}]
    learnt.file.write_text(json.dumps({"learnt": [row | {"path": str(n)} | change for n, change in enumerate(more)] + [row]}))
    assert [entry.path for entry in learnt.entries()] == ["store"]


def test_no_folder_costs_the_memory_of_another_process_alone(day: Day) -> None:
    learnt = RefusalMemory(Path("/dev/null/none/learnt.json"), day)
    learnt.add(KEY, [STORE], "no")
    assert learnt.known_for(KEY).edits == ("store",)


def test_the_table_that_keeps_it_is_right(learnt: RefusalMemory) -> None:
    (store, effort) = learnt.add(KEY, [STORE, EFFORT], "no")
    for entry in (store, effort):
        (profile,) = profiles("x.toml", entry.provider_table, tomllib.loads(entry.provider_table)["provider"])
        assert (profile.models, profile.hosts) == (("grok-4",), ("api.x.ai",))
        assert dict(profile.takes).items() >= dict(entry.facts).items()
        assert entry.edits[0] in dict(profile.takes)["refuses"]
