"""Requests for a summary of the conversation: what the upstream is asked, what the client gets, and the summary that comes back."""

import json
from typing import Any

import pytest
from mitmproxy import http

from tests.support.addon import Proxy, answered, proxy
from tests.support.addon import asked as posted
from tests.support.answers import Answer
from tests.support.cuts import cuts
from tests.support.routed_flows import Routes, routed
from tests.support.streams import play
from tests.support.upstream_answers import JUDGES, WEATHER, Asked, Counts, Text, Thought, asked, counts_of, speak, tell
from toolmend.core.reasoning_state import ReasoningState, envelope, opened
from toolmend.pipeline.pipeline import Pipeline
from toolmend.recordings.read import replay
from toolmend.requests import compaction, translate
from toolmend.requests.conversation import Conversation, ToolResult, ToolUse, Turn
from toolmend.requests.conversation import TextPart as Said
from toolmend.requests.request_limits import Quirks
from toolmend.requests.strip_envelopes import without_envelopes

__all__ = ["proxy", "routed"]

GOAL = "Goal: the colour is «teal». 日本\n1. done: a.py"
QUESTION = {"role": "user", "content": "My colour is teal."}
ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": envelope(ReasoningState("summary", GOAL))}
BLOCK = {"type": "compaction", "content": GOAL, "encrypted_content": None, "signature": envelope(ReasoningState("summary"))}
NATIVE = {"type": "compaction", "id": "cmp_2", "encrypted_content": "gAAAAB"}
HISTORY = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "My colour is teal."}]},
    {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Rome"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
    {"type": "compaction_trigger"},
]

REQUESTS: dict[str, dict[str, Any]] = {
    "responses": {"input": HISTORY, "reasoning": {"effort": "high"}, "text": {"verbosity": "low", "format": {"type": "json_object"}}},
    "messages": {"compaction": {"type": "summarize"}, "stop_sequences": ["x"]},
}


def requested(client: str, **more: Any) -> dict[str, Any]:
    return asked(client, *WEATHER, **{**REQUESTS[client], **more})


def pipeline(source: str, target: str) -> Pipeline:
    numbers = iter(range(1, 1000))
    request = requested(target)
    made = translate(request, target, source)
    return Pipeline(request, source=source, target=target, translated=made, new_id=lambda: f"call_{next(numbers):032x}")


def read(source: str, target: str, body: bytes) -> Answer:
    """What the client reads, the same for every cut."""
    make = lambda: pipeline(source, target)  # noqa: E731
    out = play(make, [body])
    for cut in cuts(body):
        assert play(make, cut) == out
    answer: Answer = JUDGES[target].read(out)
    assert not answer.faults, answer.faults
    return answer


def summary_of(client: str, answer: Answer) -> str:
    (given,) = answer.summaries
    seal = opened(given)
    return seal.data if client == "responses" and seal else given


CLIENTS = [("chat", "responses"), ("messages", "responses"), ("chat", "messages"), ("responses", "messages"), ("responses", "responses")]
SPOKEN = [Thought("Hm."), Text("<analysis>so\nfar</analysis>\n" + GOAL), Asked("call_1", "get_weather", "{}")]


@pytest.mark.parametrize(("source", "target"), CLIENTS)
def test_a_summary(source: str, target: str) -> None:
    answer = read(source, target, speak(source, SPOKEN, "tool_calls", Counts(900, 40)))
    assert summary_of(target, answer) == GOAL
    assert (answer.order, answer.text, answer.calls, answer.reasoning) == (["compaction"], "", [], "")
    assert answer.stop_reason == ("completed" if target == "responses" else "compaction")
    assert answer.usage
    assert counts_of(target, answer.usage) == Counts(900, 40)
    whole = JUDGES[target].whole(pipeline(source, target).message(tell(source, SPOKEN, "tool_calls")))
    assert not whole.faults
    assert summary_of(target, whole) == GOAL
    assert summary_of(target, JUDGES[target].read(pipeline(source, target).as_stream(tell(source, SPOKEN, "tool_calls")))) == GOAL


@pytest.mark.parametrize(("source", "target"), CLIENTS)
@pytest.mark.parametrize(("said", "stop"), [("", "stop"), (" \n", "stop"), (GOAL, "length"), (GOAL, "content_filter")])
def test_no_summary_is_an_error(source: str, target: str, said: str, stop: str) -> None:
    parts = [Thought("Hm."), *([Text(said)] if said else [])]
    for answer in (read(source, target, speak(source, parts, stop)), JUDGES[target].whole(pipeline(source, target).message(tell(source, parts, stop)))):
        assert answer.error
        assert not answer.summaries
        assert answer.error.get("code", answer.error.get("type")) in ("server_error", "api_error")  # Codex asks again


@pytest.mark.parametrize(("source", "target"), CLIENTS)
def test_a_summary_that_was_cut_is_an_error(source: str, target: str) -> None:
    body = speak(source, [Text(GOAL)])
    answer = JUDGES[target].read(play(lambda: pipeline(source, target), [body[: body.find("日".encode("unicode-escape"))]]))
    assert answer.error
    assert not answer.summaries


def test_signs_of_life() -> None:
    """Codex waits for an event, which a comment is not."""
    mend = pipeline("chat", "responses")
    assert b"response.output_item.added" in mend.feed(b": OPENROUTER PROCESSING\n\n")
    assert b"response.compaction.compacting" in mend.feed(b": OPENROUTER PROCESSING\n\n")
    answer = JUDGES["responses"].read(play(lambda: pipeline("chat", "responses"), [speak("chat", [Thought("Hm. " * 900), Text(GOAL)])]))
    assert (answer.faults, answer.pings) == ([], 4)
    answer = JUDGES["messages"].read(play(lambda: pipeline("chat", "messages"), [speak("chat", [Text(GOAL * 90)])]))
    assert answer.pings > 3


# what the upstream is asked


def test_the_upstream_is_asked_in_words() -> None:
    for upstream in ("chat", "messages"):
        made = translate(requested("responses"), "responses", upstream, model="claude-opus-4-8", host="api.anthropic.com")
        last = made.request["messages"][-1]
        assert last["role"] == "user"
        assert compaction.PROMPT in json.dumps(last, ensure_ascii=False).replace("\\n", "\n")
        assert len(made.request["tools"]) == 2
        choice = made.request["tool_choice"]
        assert choice in ("none", {"type": "none"})
        assert not {"response_format", "verbosity", "stop", "parallel_tool_calls", "compaction"} & made.request.keys()
        assert "high" not in json.dumps(made.request)
        assert "compaction_trigger" not in json.dumps(made.request)
        assert "sunny" in json.dumps(made.request)
        assert made.compacts == "item"
    for instructions, prompt in ((" Be brief. ", "Be brief."), (" ", compaction.PROMPT)):
        request = requested("messages", compaction={"type": "summarize", "instructions": instructions})
        made = translate(request, "messages", "responses")
        assert made.request["input"][-1]["content"][-1] == {"type": "input_text", "text": prompt}
        assert made.notes == ()


def test_the_servers_own_edit_that_pauses() -> None:
    def edit(**more: Any) -> dict[str, Any]:
        edits = [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50}, **more}]
        return asked("messages", *WEATHER, context_management={"edits": edits})

    assert translate(edit(pause_after_compaction=True), "messages", "chat").compacts == "item"
    assert translate(edit(pause_after_compaction=True, trigger=None), "messages", "chat").compacts == "", "below 150,000"
    made = translate(edit(), "messages", "chat")
    assert (made.compacts, len(made.notes)) == ("", 1)


def test_a_request_in_its_own_api_stays() -> None:
    request = requested("responses")
    made = translate(request, "responses", "responses", host="api.openai.com")
    assert (made.request, made.compacts) == (request, "")


def test_an_answer_that_nobody_asked_in_words_stays() -> None:
    body = speak("responses", [Text("Hi")])
    assert play(lambda: Pipeline(requested("responses"), source="responses", target="responses"), [body]) == body


def test_a_conversation_that_is_too_long() -> None:
    turns = [Turn("system", (Said("Be kind."),))]
    for at in range(4):
        turns.append(Turn("assistant", (ToolUse(f"call_{at}", "ls", "{}"),)))
        turns.append(Turn("tool", (ToolResult(f"call_{at}", (Said(f"{at} " * 20_000),)),)))
    notes: list[str] = []
    asking = compaction.with_summary_prompt(Conversation(turns=tuple(turns)), Quirks(context=50_000), {}, notes)
    sizes = [len(part.parts[0].text) for turn in asking.turns for part in turn.parts if isinstance(part, ToolResult)]  # type: ignore[union-attr]
    assert (sizes[0] < 500, sizes[-1], len(asking.turns), len(notes)) == (True, 40_000, 10, 1)
    asking = compaction.with_summary_prompt(Conversation(turns=tuple(turns)), Quirks(context=600), {}, notes)
    assert (asking.turns[0].role, len(asking.turns) < 10) == ("system", True)
    assert compaction.with_summary_prompt(Conversation(turns=tuple(turns)), Quirks(), {}, []).turns[:-1] == tuple(turns)


# the summary in later requests


@pytest.mark.parametrize("upstream", ["chat", "messages"])
@pytest.mark.parametrize("kind", ["compaction", "compaction_summary", "context_compaction"])
def test_an_item_is_the_users_text(upstream: str, kind: str) -> None:
    request = asked("responses", *WEATHER, input=[QUESTION, {**ITEM, "type": kind}, {"role": "user", "content": "Which colour?"}])
    made = translate(request, "responses", upstream)
    (message,) = made.request["messages"]
    text = json.dumps(message, ensure_ascii=False)
    assert text.index("teal.") < text.index("Summary of") < text.index("«teal»") < text.index("Which")
    assert made.notes == ()


@pytest.mark.parametrize("upstream", ["chat", "messages"])
def test_an_item_that_nobody_can_read_is_a_note(upstream: str) -> None:
    made = translate(asked("responses", *WEATHER, input=[QUESTION, NATIVE]), "responses", upstream)
    assert compaction.SEALED in json.dumps(made.request)
    assert "gAAAAB" not in json.dumps(made.request)
    assert len(made.notes) == 1
    made = translate(asked("responses", *WEATHER, input=[QUESTION, {"type": "context_compaction"}]), "responses", upstream)
    assert len(made.request["messages"]) == 1


def test_an_item_at_openai() -> None:
    request = {"input": [QUESTION, ITEM, NATIVE]}
    assert without_envelopes(request, "responses", "api.openai.com")["input"] == [
        QUESTION,
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": compaction.SUMMARY.format(GOAL)}]},
        NATIVE,
    ]


def test_a_block_takes_the_place_of_what_stands_before_it() -> None:
    messages = [QUESTION, {"role": "assistant", "content": [BLOCK, {"type": "text", "text": "And on."}]}, QUESTION]
    for upstream in ("chat", "responses"):
        made = translate(asked("messages", *WEATHER, messages=messages), "messages", upstream)
        text = json.dumps(made.request, ensure_ascii=False)
        assert (text.count("My colour is teal."), text.count("«teal»"), made.notes) == (1, 1, ())
        assert "And on." in text
    empty = [QUESTION, {"role": "assistant", "content": [{**BLOCK, "content": None}, {"type": "text", "text": "And on."}]}, QUESTION]
    text = json.dumps(translate(asked("messages", *WEATHER, messages=empty), "messages", "chat").request)
    assert text.count("My colour is teal.") == 2


def test_a_block_at_anthropic() -> None:
    request = {"messages": [QUESTION, {"role": "assistant", "content": [BLOCK]}, QUESTION]}
    summary = {"role": "user", "content": compaction.SUMMARY.format(GOAL)}
    assert without_envelopes(request, "messages", "api.anthropic.com") == {"messages": [summary, QUESTION]}
    own = {"messages": [{"role": "assistant", "content": [{**BLOCK, "signature": "Erc"}]}, QUESTION]}
    assert without_envelopes(own, "messages", "api.anthropic.com") is own


# /responses/compact


def posted_to(path: str, **more: Any) -> http.HTTPFlow:
    request = {"model": "gpt-5", "input": HISTORY[:3], "instructions": "Be kind.", **more}
    return posted(host="api.openai.com", path=path, body=json.dumps(request).encode())


def get(client: Proxy, flow: http.HTTPFlow, body: bytes) -> http.Response:
    response = answered(flow, body, content_type="application/json")
    client.addon.responseheaders(flow)
    client.addon.response(flow)
    return response


@pytest.mark.parametrize("upstream", ["chat", "messages", "responses"])
def test_the_path_of_its_own(routed: Routes, upstream: str) -> None:
    to = "https://llm.example.com/v1/" + {"chat": "chat/completions"}.get(upstream, upstream)
    client = routed(**{"from": "https://api.openai.com/v1/responses", "to": to})
    flow = posted_to("/v1/responses/compact")
    client.ask(flow)
    assert flow.request.url == to
    sent = json.loads(flow.request.content or b"")
    assert compaction.PROMPT in json.dumps(sent).replace("\\n", "\n")
    assert "stream" not in sent
    response = get(client, flow, tell(upstream, [Text(GOAL)], "stop", Counts(90, 4)))
    body = json.loads(response.content or b"")
    assert (body["object"], body["id"][:5]) == ("response.compaction", "resp_")
    message, item = body["output"]
    assert (message["role"], message["content"]) == ("user", HISTORY[0]["content"])
    assert opened(item["encrypted_content"]) == ReasoningState("summary", GOAL)
    assert body["usage"]["total_tokens"] == 94
    client.addon.done()
    (folder,) = replay.find(client.flows)
    assert replay.replay(replay.load(folder))[0] == response.content


def test_the_path_of_its_own_fails(routed: Routes) -> None:
    client = routed(**{"from": "https://api.openai.com/v1/responses", "to": "https://llm.example.com/v1/chat/completions"})
    flow = posted_to("/v1/responses/compact")
    client.ask(flow)
    response = get(client, flow, tell("chat", [Text(GOAL)], "length"))
    assert response.status_code >= 500
    assert json.loads(response.content or b"")["error"]["message"]


def test_the_path_of_its_own_at_an_upstream_of_responses(routed: Routes) -> None:
    to = "https://openrouter.ai/api/v1/responses?v=1"
    client = routed(**{"from": "https://api.openai.com/v1/responses", "to": to, "use_model": ""})
    flow = posted_to("/v1/responses/compact", input=[ITEM])
    client.ask(flow)
    assert flow.request.url == "https://openrouter.ai/api/v1/responses/compact?v=1"
    assert "«teal»" in (flow.request.text or "")
    body = json.dumps({"id": "resp_1", "object": "response.compaction", "output": [HISTORY[0], NATIVE], "usage": {}}).encode()
    response = get(client, flow, body)
    assert response.content == body
