"""reasoning_details.py: details of reasoning, which a client sends back as they were."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.chat_events import ROLE, thought, told
from tests.support.streams import chunk, event
from toolmend.apis.chat import reasoning_details
from toolmend.apis.chat.codec import Chat
from toolmend.apis.chat.reasoning_details import DetailRun, text_of
from toolmend.apis.codec import Reply
from toolmend.core import tools
from toolmend.core.events import Frame, MessageStart, ReasoningDelta, ReasoningSeal, TextDelta
from toolmend.core.reasoning_state import ReasoningState
from toolmend.core.sse import SseDecoder

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2), max_leaves=4)
NAMES = st.sampled_from(["type", "index", "id", "text", "summary", "data", "signature", "format", "x"])
DETAILS = JSON | st.lists(st.dictionaries(NAMES, JSON, max_size=5) | JSON, max_size=4)

TEXT = st.none() | st.text(max_size=3) | st.just([]) | st.just([None])


@given(st.lists(st.fixed_dictionaries({}, optional={"reasoning_details": DETAILS, "reasoning": TEXT, "content": TEXT, "refusal": JSON})))
def test_any_details_pass(deltas: list[dict[str, Any]]) -> None:
    """As they came, whatever they are; what they let the user read is reasoning, unless another field says it."""
    events = told([ROLE, *map(chunk, deltas), "[DONE]"])
    assert events[0] == MessageStart()
    reasoning = [event.text for event in events if isinstance(event, ReasoningDelta)]
    fields = [text if isinstance(text := delta.get("reasoning"), str) and text else text_of(delta.get("reasoning_details")) for delta in deltas]
    assert reasoning == [text for text in fields if text]
    seals = [json.loads(event.seal.data) for event in events if isinstance(event, ReasoningSeal)]
    entries = [entry for delta in deltas if isinstance(each := delta.get("reasoning_details"), list) for entry in each if isinstance(entry, dict)]
    kept = [entry for seal in seals for entry in seal]
    for name in ("text", "summary", "data"):
        texts = ["".join(text for entry in each if isinstance(text := entry.get(name), str)) for each in (kept, entries)]
        assert texts[0] == texts[1]


def test_details_cost_no_chunk_that_follows_them_its_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there were, text behind them is not parsed."""
    codec = Chat(Reply(tools.UNKNOWN, lambda: "call_0", lambda _: None))
    for data in [ROLE, *(chunk(thought(str(n))) for n in range(99)), chunk({"content": "a"}), chunk({"content": "b"})]:
        codec.decode(SseDecoder().feed(event(data))[0])
    monkeypatch.setattr("toolmend.core.json_text.loads", lambda _: pytest.fail("parsed"))
    (sse,) = SseDecoder().feed(event(chunk({"content": "c"})))
    assert codec.decode(sse) == Frame(sse, (TextDelta("c"),))


def test_a_list_that_cannot_be_written_is_no_seal() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    run = DetailRun()
    run.add([{"text": "a"}, {"text": "b", "x": deep}])
    assert run.seal() is None


def test_a_list_that_is_too_long_is_no_seal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasoning_details, "MAX_DETAILS", 60)
    run = DetailRun()
    run.add([{"text": "a" * 30}])
    assert run.seal() == ReasoningState("details", json.dumps([{"text": "a" * 30}], separators=(",", ":")))
    run.add([{"text": "a" * 30}])
    run.add([{"text": "b"}])
    assert run.seal() is None
