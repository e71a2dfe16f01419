"""details.py: one recording, as its page shows it."""

from tests.support.ui import index, root
from toolmend.cli.ui import details
from toolmend.cli.ui.index import Index

__all__ = ["index", "root"]


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
