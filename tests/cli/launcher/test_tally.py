"""What a proxy has done, as its log tells it."""

import json
from typing import Any

import pytest

from toolmend.cli.launcher.tally import MARK, Tally


def line(**fields: Any) -> str:
    usual = {"answers": 5, "mended": 2, "faults": 0, "rules": {"kimi_k2": 2, "finish_reason": 2}, "folder": "/f/b", "warnings": []}
    return f"[12:00:00.000] {MARK}{json.dumps(usual | fields)}\n"


LOGS = [
    ("", 0),
    ("no such line\n", 0),
    (line(answers=1) + "more\n" + line(answers=3) + "the end", 3),
    (line(answers=1) + line(answers=3)[:-20], 1),
    (line(answers=1) + f"somebody says {MARK}5\n", 1),
    (line(answers=1) + f'{MARK}{{"answers": 5, "warnings": [], "other": 1}}\n', 1),
    (f"{MARK}\n", 0),
    (line(answers=1) + line(rules=["kimi_k2"]), 1),
    (line(answers=1) + line(rules={"\x1b]0;x\x07": 1}), 1),
    (line(answers=1) + line(rules={"kimi_k2": "1"}), 1),
    (line(answers=1) + line(warnings=["\x1b[2J"]), 1),
    (line(answers=1) + line(warnings=[5]), 1),
    (line(answers=1) + line(answers="5"), 1),
    (line(answers=1) + line(folder=["x"]), 1),
    (line(answers=1) + f"[12:00:00.000] {MARK}{'[' * 100_000}\n", 1),
    (line(answers=1) + "WebSocket connection closed by server: 1000 " + line()[15:], 1),  # a server's own words
    (line(answers=1) + "[12:00:00.000] WebSocket connection closed by server: 1000 " + line()[15:], 1),
]


@pytest.mark.parametrize(("log", "answers"), LOGS, ids=range(len(LOGS)))
def test_the_last_line_that_can_be_read_counts(log: str, answers: int) -> None:
    assert Tally.read(log).answers == answers


SENTENCES = [
    (Tally(), "no LLM answer came through the proxy"),
    (Tally(1), "1 answer, nothing to mend"),
    (Tally(unanswered=1, gave_up="waited 312.0 s, the client gave up"), "1 request was not answered (waited 312.0 s, the client gave up)"),
    (Tally(1, unanswered=2, gave_up="waited 9.0 s"), "1 answer, nothing to mend; 2 requests were not answered (waited 9.0 s)"),
    (Tally(3, faults=1), "3 answers, nothing to mend, 1 with a fault"),
    (Tally(5, 2, rules={"kimi_k2": 1, "finish_reason": 2, "usage": 1}), "mended 2 of 5 answers (finish_reason, kimi_k2, usage)"),
]


@pytest.mark.parametrize(("tally", "sentence"), SENTENCES, ids=[sentence for _, sentence in SENTENCES])
def test_in_words(tally: Tally, sentence: str) -> None:
    assert tally.sentence() == sentence


def test_what_was_done_in_between() -> None:
    before = Tally.read(line(warnings=["old"]))
    after = Tally.read(line(answers=7, mended=3, rules={"kimi_k2": 3, "finish_reason": 2}, folder="/f/c", warnings=["old", "new"]))
    assert after - before == Tally(2, 1, 0, {"kimi_k2": 1}, "/f/c", ("new",))
    assert before - before == Tally()
