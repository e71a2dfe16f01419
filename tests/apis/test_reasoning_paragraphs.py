"""Parts of a summary and items of reasoning are paragraphs where Responses is translated, streamed and whole, for every cut."""

import json
from typing import Any

import pytest

from tests.support import legal_streams
from tests.support.judges import chat_strict
from tests.support.judges import messages as messages_judge
from tests.support.streams import play
from toolmend.pipeline.pipeline import Pipeline

JUDGES = {"chat": chat_strict.read, "messages": messages_judge.read}
REQUESTS: dict[str, dict[str, Any]] = {"chat": {"messages": []}, "messages": {"max_tokens": 9, "messages": []}}


def item(place: int, *parts: str, sealed: bool) -> list[dict[str, Any]]:
    """The events of a reasoning item with these parts."""
    id_, kind = f"rs_{place}", "response.reasoning_summary"
    wire: dict[str, Any] = {"type": "reasoning", "id": id_, "summary": []}
    events = [{"type": "response.output_item.added", "output_index": place, "item": wire}]
    for index, text in enumerate(parts):
        at = {"output_index": place, "item_id": id_, "summary_index": index}
        events.append({"type": f"{kind}_part.added", **at, "part": {"type": "summary_text", "text": ""}})
        events += [{"type": f"{kind}_text.delta", **at, "delta": piece} for piece in (text[:3], text[3:])]
        events.append({"type": f"{kind}_text.done", **at, "text": text})
        events.append({"type": f"{kind}_part.done", **at, "part": {"type": "summary_text", "text": text}})
    done = {**wire, "summary": [{"type": "summary_text", "text": text} for text in parts]}
    return [*events, {"type": "response.output_item.done", "output_index": place, "item": {**done, **({"encrypted_content": f"s{place}"} if sealed else {})}}]


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("items", [[("**One**", "**Two**")], [("**One**",), ("**Two**",)], [("**One**", "**Two**"), ("**Three**",)]])
@pytest.mark.parametrize("target", JUDGES)
def test_reasoning_is_in_paragraphs(target: str, items: list[tuple[str, ...]], sealed: bool) -> None:
    stream = [*legal_streams.responses(legal_streams.say("Hi"))]
    events = [event for place, parts in enumerate(items) for event in item(place, *parts, sealed=sealed)]
    output = [event["item"] for event in events if event["type"].endswith("item.done")]
    moved = json.loads(json.dumps(stream[2:-1]).replace('"output_index": 0', f'"output_index": {len(items)}'))
    last = json.loads(json.dumps(stream[-1]))
    last["response"]["output"] = [*output, *last["response"]["output"]]
    body = legal_streams.sse(legal_streams.numbered([*stream[:2], *events, *moved, last]))
    request = {"model": "m", "stream": True, **REQUESTS[target]}
    # a thinking block of its own is a paragraph, too
    want = "\n\n".join(text for parts in items for text in parts)
    if sealed and target == "messages":
        want = "".join("\n\n".join(parts) for parts in items)
    for parts in ([body], [body[at : at + 1] for at in range(len(body))]):
        answer = JUDGES[target](play(lambda: Pipeline(request, source="responses", target=target), parts))
        assert (answer.reasoning, answer.text, answer.faults) == (want, "Hi", [])
    whole = json.loads(Pipeline(request, source="responses", target=target).message(json.dumps(last["response"]).encode()))
    if target == "chat":
        assert whole["choices"][0]["message"]["reasoning_content"] == want
    else:
        assert "".join(block.get("thinking", "") for block in whole["content"]) == want
