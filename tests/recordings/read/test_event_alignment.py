"""event_alignment.py: which events of the client belong to which of the upstream."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import CALL, column, view
from tests.support.recordings import in_events, keep
from tests.support.streams import stream
from toolmend.recordings.read.event_alignment import REACHING


def kept(tmp_path: Path, deltas: list[Any], *, finish: str = "stop", **more: Any) -> dict[str, Any]:
    return view(keep(tmp_path / "x", in_events(stream(deltas, finish=finish)), **more))


SEEN = {
    "nothing to mend": (["Hi ", "there"], "same same same same same same", [], {}),
    "held and let go": (["a", " <|tool_calls_", "x", "b"], "same same held released same same same same", [], {}),
    "a call": (
        ["Let me.", *CALL],
        "same same held held changed changed held changed same same",
        [None, None, *[["kimi_k2", 5]] * 5, ["finish_reason", 8], None, None],
        {3: 5, 4: 5, 7: 8},
    ),
}


@pytest.mark.parametrize("name", SEEN)
def test_kinds_and_rules(name: str, tmp_path: Path) -> None:
    deltas, kinds, by, until = SEEN[name]
    shown = kept(tmp_path, deltas)
    assert column(shown, "kind") == kinds.split()
    assert column(shown, "by") == (by or [None] * len(kinds.split()))
    assert {row["n"]: row["until"] for row in shown["events"] if row["until"]} == (until or ({3: 4} if "held" in kinds else {}))
    assert column(shown, "n") == list(range(1, len(kinds.split()) + 1))


def test_what_goes_out_at_the_end(tmp_path: Path) -> None:
    body = in_events(stream(["a", "<|tool_calls_"], finish="stop"))[:3]
    shown = view(keep(tmp_path / "x", body))
    assert column(shown, "kind") == ["same", "same", "held", "released"]
    assert (shown["events"][3]["raw"], shown["events"][3]["gives"]) == ("", "text “<|tool_calls_”")


def test_a_comment_goes_ahead_and_parts_nothing(tmp_path: Path) -> None:
    parts = in_events(stream(CALL))
    shown = view(keep(tmp_path / "x", [*parts[:4], b": wait\n\n", *parts[4:]]))
    assert column(shown, "kind")[1:7] == ["held", "held", "changed", "same", "changed", "held"]
    assert column(shown, "by")[1:7] == [["kimi_k2", 4]] * 3 + [None] + [["kimi_k2", 4]] * 2
    assert column(shown, "says")[4] == "comment"


def test_rules_that_reach_are_rules() -> None:
    assert {"kimi_k2", "duplicate_call", "policy_drain", "stop_sequence"} <= REACHING
    assert not {"finish_reason", "usage", "role"} & REACHING
