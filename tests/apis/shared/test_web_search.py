"""Web searches and citations of an upstream's answer, as a client of another API reads them: streamed, cut anywhere, and whole."""

import json
from typing import Any

import pytest

from tests.support import legal_streams
from tests.support.answers import Answer
from tests.support.cuts import cuts
from tests.support.streams import META, chunk, event, play
from tests.support.upstream_answers import APIS, JUDGES, PAIRS, WEATHER, asked
from toolmend.pipeline.pipeline import Pipeline

URL, OTHER = "https://a.example/x", "https://b.example/y"
QUERY = "weather 日本"
TEXT = "Hi. 日本 is sunny"
SUNNY = (4, len(TEXT))

SEARCH_TOOL: dict[str, list[dict[str, Any]]] = {
    "messages": [{"type": "web_search_20250305", "name": "web_search"}],
    "responses": [{"type": "web_search"}],
    "chat": [],
}


def requested(target: str, **more: Any) -> dict[str, Any]:
    request = asked(target, *WEATHER, **more)
    question = {"role": "user", "content": f"Perform a web search for the query: {QUERY}"}
    request["input" if target == "responses" else "messages"] = [question]
    return {**request, "tools": [*request["tools"], *SEARCH_TOOL[target]]}


def pipeline(source: str, target: str, **more: Any) -> Pipeline:
    numbers = iter(range(1, 1000))
    return Pipeline(requested(target, **more), source=source, target=target, new_id=lambda: f"call_{next(numbers):032x}")


def read(source: str, target: str, body: bytes, **more: Any) -> Answer:
    """What the client reads, the same for every cut."""
    make = lambda: pipeline(source, target, **more)  # noqa: E731
    out = play(make, [body])
    for cut in cuts(body):
        assert play(make, cut) == out
    answer: Answer = JUDGES[target].read(out)
    whole = JUDGES[target].whole(pipeline(source, target, **more).folded(body))
    assert not (answer.faults or whole.faults), (answer.faults, whole.faults)
    assert (whole.text, whole.searches) == (answer.text, answer.searches)
    assert [cited[:2] for cited in whole.citations] == [cited[:2] for cited in answer.citations]
    return answer


# what upstreams say


def of_messages(*, error: str = "") -> bytes:
    results: Any = [
        {"type": "web_search_result", "url": url, "title": title, "encrypted_content": "enc", "page_age": None}
        for url, title in ((URL, "A"), (OTHER, "B"))
    ]
    if error:
        results = {"type": "web_search_tool_result_error", "error_code": error}
    cited = {"type": "web_search_result_location", "url": URL, "title": "A", "encrypted_index": "idx", "cited_text": "It is sunny."}
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    query = json.dumps({"query": QUERY})
    statement: list[dict[str, Any]] = legal_streams.text(TEXT[SUNNY[0] :])
    statement.insert(1, {"type": "content_block_delta", "delta": {"type": "citations_delta", "citation": cited}})
    blocks = [
        legal_streams.block(use, *({"type": "input_json_delta", "partial_json": piece} for piece in (query[:9], query[9:]))),
        legal_streams.block({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": results}),
        legal_streams.text(TEXT[: SUNNY[0]]),
        statement,
    ]
    return legal_streams.sse(legal_streams.messages(*blocks))


def of_responses(*, sources: bool = True, status: str = "completed") -> bytes:
    action = {"type": "search", "query": QUERY, "queries": [QUERY]}
    if sources:
        action["sources"] = [{"type": "url", "url": URL}, {"type": "url", "url": OTHER}]  # type: ignore[assignment]
    begin = {"type": "web_search_call", "id": "ws_1", "status": "in_progress"}
    states = [{"type": f"response.web_search_call.{state}"} for state in ("in_progress", "searching", "completed")]
    search = legal_streams.Item(begin, {**begin, "status": status, "action": action}, states)
    opened = {"type": "web_search_call", "id": "ws_2", "status": "completed", "action": {"type": "open_page", "url": URL}}
    annotation = {"type": "url_citation", "url": URL, "title": "A", "start_index": SUNNY[0], "end_index": SUNNY[1]}
    first, second = legal_streams.say("Let me look."), legal_streams.say(TEXT[:6], TEXT[6:])
    part = {"type": "output_text", "text": TEXT, "annotations": [annotation]}
    second.done["content"] = [part]
    second.events[-1]["part"] = part
    second.events = [
        *second.events[:-2],
        {"type": "response.output_text.annotation.added", "content_index": 0, "annotation_index": 0, "annotation": annotation},
        *second.events[-2:],
    ]
    return legal_streams.sse(legal_streams.responses(first, search, legal_streams.Item(begin | {"id": "ws_2"}, opened), second))


def of_chat(**last: Any) -> bytes:
    """The members of the last delta with text."""
    return b"".join(map(event, (chunk({"role": "assistant", "content": TEXT[:6]}), chunk({"content": TEXT[6:], **last}), chunk({}, "stop")))) + (
        b"data: [DONE]\n\n"
    )


NOTE = {"type": "url_citation", "url_citation": {"url": URL, "title": "A", "start_index": SUNNY[0], "end_index": SUNNY[1]}}
CITED = (URL, "A", TEXT[slice(*SUNNY)])


def test_a_search_of_messages() -> None:
    answer = read("messages", "responses", of_messages(), include=["web_search_call.action.sources"])
    assert (answer.searches, answer.text, answer.citations) == ([(QUERY, [URL, OTHER], "")], TEXT, [CITED])
    assert read("messages", "responses", of_messages()).searches == [(QUERY, [], "")], "sources that nobody asked for"
    answer = read("messages", "chat", of_messages())
    assert (answer.searches, answer.text, answer.citations) == ([], TEXT, [CITED])


def test_a_search_of_responses() -> None:
    answer = read("responses", "messages", of_responses())
    assert answer.searches == [(QUERY, [URL, OTHER], "")]
    assert answer.citations == [CITED]
    assert answer.order == ["text", "server_tool_use", "web_search_tool_result", "text"]
    assert answer.usage
    assert answer.usage["server_tool_use"] == {"web_search_requests": 1}
    answer = read("responses", "chat", of_responses())
    assert answer.text == f"Let me look.\n\n{TEXT}", "two messages are told apart"
    assert answer.citations == [CITED], "the range counts from where the part begins"


def test_a_search_that_failed() -> None:
    assert read("messages", "responses", of_messages(error="max_uses_exceeded")).searches == [(QUERY, [], "unavailable")]
    assert read("responses", "messages", of_responses(status="failed")).searches == [(QUERY, [], "unavailable")]


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_annotations_of_chat(target: str) -> None:
    """A search is reported to a client of Messages, which counts searches by their blocks: what it found is what is cited."""
    answer = read("chat", target, of_chat(annotations=[NOTE, NOTE]))
    assert (answer.text, answer.citations) == (TEXT, [CITED])
    assert answer.searches == ([(QUERY, [URL], "")] if target == "messages" else [])


@pytest.mark.parametrize("where", ["citations", "search_results", "web_search"])
def test_links_without_annotations(where: str) -> None:
    """Perplexity lists them in each chunk, Z.ai in one."""
    links: list[Any] = [URL, OTHER]
    if where != "citations":
        links = [{"url" if where == "search_results" else "link": url, "title": "T"} for url in links]
    chunks = [{**chunk({"role": "assistant", "content": "Hi "}), where: links}, {**chunk({"content": "[1]"}), where: links}, chunk({}, "stop")]
    body = b"".join(map(event, chunks)) + b"data: [DONE]\n\n"
    for target in ("messages", "responses"):
        answer = read("chat", target, body)
        assert [cited[0] for cited in answer.citations] == [URL, OTHER]
    assert read("chat", "messages", body).searches == [(QUERY, [URL, OTHER], "")]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_whole_answer(source: str, target: str) -> None:
    if source == "responses":
        body = of_responses().strip().rpartition(b"data: ")[2]
        whole = json.loads(body)["response"]
    elif source == "messages":
        events = [json.loads(line.removeprefix("data: ")) for line in of_messages().decode().splitlines() if line.startswith("data: ")]
        cited = next(each["delta"]["citation"] for each in events if each.get("delta", {}).get("type") == "citations_delta")
        blocks = [each["content_block"] for each in events if "content_block" in each]
        blocks[0]["input"] = {"query": QUERY}
        blocks[2]["text"], blocks[3]["text"], blocks[3]["citations"] = TEXT[: SUNNY[0]], TEXT[SUNNY[0] :], [cited]
        whole = {**events[0]["message"], "content": blocks, "stop_reason": "end_turn"}
    else:
        message = {"role": "assistant", "content": TEXT, "annotations": [NOTE]}
        whole = {**META, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    answer = JUDGES[target].whole(pipeline(source, target).message(json.dumps(whole).encode()))
    assert answer.faults == []
    assert answer.citations == [(URL, "A", "It is sunny.") if (source, target) == ("messages", "messages") else CITED]
    assert len(answer.searches) == (0 if target == "chat" or (source, target) == ("chat", "responses") else 1)


def test_an_answer_without_citations_reports_no_search() -> None:
    assert read("chat", "messages", of_chat()).searches == []


def test_a_client_that_offers_no_search_gets_none_for_citations() -> None:
    made = Pipeline(asked("messages", *WEATHER), source="chat", target="messages")
    answer = JUDGES["messages"].read(play(lambda: made, [of_chat(annotations=[NOTE])]))
    assert (answer.faults, answer.searches, answer.citations) == ([], [], [CITED])


@pytest.mark.parametrize("annotations", [{}, "x", [None, 1, {"type": "url_citation"}, {"url": 1}, {"url": URL, "start_index": "4"}]])
def test_annotations_that_are_none(annotations: Any) -> None:
    for target in ("messages", "responses"):
        assert read("chat", target, of_chat(annotations=annotations)).text == TEXT


@pytest.mark.parametrize("api", APIS)
def test_in_the_clients_own_api_nothing_changes(api: str) -> None:
    body = {"messages": of_messages(), "responses": of_responses(), "chat": of_chat(annotations=[NOTE])}[api]
    assert play(lambda: pipeline(api, api), [body]) == body


def test_messages_of_one_answer_stay_apart() -> None:
    body = legal_streams.sse(legal_streams.responses(legal_streams.say("I'll ", "look."), legal_streams.say("All ", "good.")))
    whole = body.strip().rpartition(b"data: ")[2]
    whole = json.dumps(json.loads(whole)["response"]).encode()
    assert read("responses", "chat", body).text == "I'll look.\n\nAll good."
    assert JUDGES["chat"].whole(pipeline("responses", "chat").message(whole)).text == "I'll look.\n\nAll good."
    assert read("responses", "messages", body).order == ["text", "text"]
    assert JUDGES["messages"].whole(pipeline("responses", "messages").message(whole)).order == ["text", "text"]
