"""run_opener.py: when a run may begin."""

import json
from typing import Any

import pytest

from tests.support.fastpath import check
from tests.support.runs import KIMI
from tests.support.streams import chunk, event, pieces
from tests.support.upstream_answers import APIS, WEATHER, asked
from toolmend.apis.shared import delta_template_learner
from toolmend.pipeline.fastpath import delta_run
from toolmend.pipeline.pipeline import Pipeline


def test_what_is_written_anew_and_comes_out_the_same_is_no_passing() -> None:
    """A leaked call takes the place of the native one that it comes again as; so the next has its index again, but not the escapes."""
    whole = '{"description": "x"}'
    said = ["{", '"x": "', "aa", " bb", " cc", " <b>", " dd", " <i>", '"}']
    calls = [{"index": at, "id": f"c{at}", "type": "function", "function": {"name": "task", "arguments": ""}} for at in (0, 1)]
    more = [(0, whole), *((1, text) for text in said)]
    entries = [calls[0], *({"index": at, "function": {"arguments": text}} for at, text in more)]
    entries.insert(2, calls[1])
    deltas = [{"role": "assistant"}, *({"content": text} for text in pieces(KIMI.format(whole), 1)), *({"tool_calls": [each]} for each in entries)]
    chunks = [json.dumps(each, separators=(",", ":")).encode() for each in [*map(chunk, deltas), chunk({}, "tool_calls")]]
    body = b"".join(b"data: " + each + b"\n\n" for each in chunks).replace(b" <b", b" \\u003cb").replace(b" <i", b" \\u003ci")
    for target in APIS:
        check(body, asked(target, *WEATHER, model="kimi-k2.5"), "chat", target)


TURNS: dict[str, list[bytes]] = {
    "text and reasoning": [event(chunk({name: f"{at} "})) for at in range(100) for name in ("content", "reasoning_content")],
    "halves of pairs": [event(chunk({"content": half})) for _ in range(50) for half in ("\ud83d", "\ude00")],
}
"""Of which each is of another shape than the one before, or goes out alone."""


@pytest.mark.parametrize("target", APIS)
@pytest.mark.parametrize("name", TURNS)
def test_kinds_that_take_turns(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes are made for the first of them, and later now and then; what goes on behind them has one."""
    made: list[delta_run.DeltaRun] = []
    init = delta_run.DeltaRun.__init__

    def counted(self: delta_run.DeltaRun, *args: Any, **more: Any) -> None:
        made.append(self)
        init(self, *args, **more)

    monkeypatch.setattr(delta_run.DeltaRun, "__init__", counted)
    monkeypatch.setattr(delta_template_learner, "MOST_SPENT", 40)
    behind = [event(chunk({"content": f"{at} "})) for at in range(100)]
    pipeline = Pipeline(asked(target, *WEATHER), target=target)
    for data in TURNS[name] * 2:
        pipeline.feed(data)
    assert len(made) < 100
    for data in behind:
        pipeline.feed(data)
    pipeline.close()
    assert not made[-1].short
    assert not pipeline.error
    check(b"".join([*TURNS[name], *behind]), asked(target, *WEATHER), "chat", target)
