"""contentview.py: what mitmproxy shows of a stream."""

import json
import re
from io import StringIO
from typing import Any

import pytest
from mitmproxy import contentviews, http
from mitmproxy.test import taddons, tflow
from ruamel.yaml import YAML

from tests.support.other_api_streams import gemini_array, gemini_chunks, gemini_sse, ollama_lines
from tests.support.streams import chunk, event, stream
from tests.support.upstream_answers import APIS, Asked, Text, Thought, speak, tell
from toolmend.proxy.contentview import LLMStream, Views

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
PARTS = [Thought("Hm.\nLet me see."), Text("I will look:\n\n  - here\n"), Asked("call_1", "get_weather", '{"city": "Beijing"}')]
SSE, JSON = "text/event-stream; charset=utf-8", "application/json"


def flow(body: bytes, kind: str = SSE, path: str = PATHS["chat"], method: str = "POST", **noted: Any) -> http.HTTPFlow:
    one = tflow.tflow(req=http.Request.make(method, f"https://llm.example{path}"), resp=http.Response.make(200, body, {"content-type": kind}))
    if noted:
        one.metadata["toolmend"] = noted
    return one


def shown(one: http.HTTPFlow, view: str = "auto") -> contentviews.ContentviewResult:
    """As mitmproxy asks for it."""
    assert one.response
    with taddons.context(Views()):
        return contentviews.prettify_message(one.response, one, view)


def as_yaml(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(StringIO(text))


@pytest.mark.parametrize("api", APIS)
def test_a_stream(api: str) -> None:
    result = shown(flow(speak(api, PARTS, "tool_calls"), path=PATHS[api], api=api, rules=["kimi_k2"], folder="/f/x", error=None))
    assert (result.view_name, result.syntax_highlight) == ("LLM stream", "yaml")
    value = as_yaml(result.text)
    assert value["usage"].items() >= {"input_tokens": 10, "output_tokens": 5}.items()
    del value["usage"]
    assert value == {
        "api": api,
        "mended by": "kimi_k2",
        "recorded in": "/f/x",
        "reasoning": "Hm.\nLet me see.\n",
        "text": "I will look:\n\n  - here\n",
        "calls": [{"name": "get_weather", "id": "call_1", "arguments": {"city": "Beijing"}}],
        "finish_reason": "tool_calls",
    }


LEAK = [{"text": "Hm", "thought": True}, "Hi"]
OTHER = {
    # name: (API, body, content type, path)
    "gemini": ("gemini", gemini_sse(gemini_chunks(LEAK)), "text/event-stream", "/v1beta/models/g:streamGenerateContent"),
    "gemini, an array": ("gemini", gemini_array(gemini_chunks(LEAK)), "application/json", "/v1beta/models/g:streamGenerateContent"),
    "ollama": ("ollama", ollama_lines([{"thinking": "Hm"}, "Hi"]), "application/x-ndjson", "/api/chat"),
    "ollama, as JSON": ("ollama", ollama_lines([{"thinking": "Hm"}, "Hi"]), "application/json", "/api/chat"),
}


@pytest.mark.parametrize("name", OTHER)
def test_streams_of_other_apis(name: str) -> None:
    api, body, kind, path = OTHER[name]
    one = flow(body, kind, path)
    assert shown(one).view_name == "LLM stream"
    value = as_yaml(shown(one).text)
    assert value == {"api": api, "reasoning": "Hm", "text": "Hi", "finish_reason": "stop", "usage": {"input_tokens": 10, "output_tokens": 5}}


@pytest.mark.parametrize("api", APIS)
def test_a_whole_answer_is_shown_to_who_asks(api: str) -> None:
    """JSON has a view of its own."""
    one = flow(tell(api, PARTS, "tool_calls"), JSON, PATHS[api])
    assert shown(one).view_name == "JSON"
    assert as_yaml(shown(one, "LLM stream").text)["calls"][0]["arguments"] == {"city": "Beijing"}


NOT_OURS = {
    "another path": flow(stream(["a"]), path="/events"),
    "no POST": flow(stream(["a"]), method="GET"),
    "another content": flow(b"<p>", "text/html"),
    "nothing": flow(b""),
    "an API that is not read": flow(b"data: {}\n\n", api="cohere", rules=[], folder=None, error=None),
}


@pytest.mark.parametrize("name", NOT_OURS)
def test_what_is_none(name: str) -> None:
    assert shown(NOT_OURS[name]).view_name != "LLM stream"


def test_a_request_is_none() -> None:
    one = flow(stream(["a"]))
    one.request.headers["content-type"] = SSE
    one.request.content = stream(["a"])
    with taddons.context(Views()):
        assert contentviews.prettify_message(one.request, one).view_name != "LLM stream"


def test_what_is_no_answer_is_shown_as_it_is() -> None:
    result = shown(flow(b"data: nonsense\n\n"))
    assert (result.view_name, result.text) == ("Raw", "data: nonsense\n\n")
    assert "the response has no known event" in shown(flow(b"data: nonsense\n\n"), "LLM stream").text


TEXTS = ["true", "a: b", "- a", "  indented\nmore", "'", '"', "#", "tab\there", "\n", "\n\nx", "ümläut 日本", "x" * 5000, "|", "{", "\ud800 half", "a\r\nb", " "]
OBEYED = ["\x1b]52;c;aGk=\x07", "\x9b31m", "\x1b[2J\nmore", "a\rb", "a\r\nb\rc", "\u202etxt.\u2066", "a\nb\u2028c\u0085d", "\0\x7f\x08\v\f."]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_a_text(text: str) -> None:
    """Half a surrogate pair, which is none, becomes a question mark; of line ends at the end one is as good as many."""
    got = as_yaml(shown(flow(stream([text]))).text)["text"]
    assert got.rstrip("\n") == text.replace("\ud800", "?").replace("\r\n", "\n").rstrip("\n")


ENDS = {
    "cut off": (stream(["Hm"], finish=None)[:-14], {"ended": False}),
    "a refusal": (stream([{"refusal": "No."}]), {"refusal": "No."}),
    "an error": (
        event(chunk({"content": "Hm"})) + event({"error": {"message": "Overloaded", "type": "server_error", "code": 529}}),
        {"text": "Hm"},
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_how_it_ends(name: str) -> None:
    body, expected = ENDS[name]
    value = as_yaml(shown(flow(body)).text)
    assert value.items() >= expected.items()
    assert ("error" in value) == (name == "an error")


def test_a_call_that_is_broken() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":'}}
    value = as_yaml(shown(flow(event(chunk({"tool_calls": [call]})))).text)
    assert value["calls"] == [{"name": "f", "id": "c", "arguments": '{"a":', "complete": False}]


def test_long_arguments_have_lines() -> None:
    arguments = json.dumps({"path": "a" * 80, "lines": [1, {"b": None}]})
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    text = shown(flow(stream([{"tool_calls": [call]}], finish="tool_calls"))).text
    assert '        "path": "aaa' in text
    assert as_yaml(text)["calls"][0]["arguments"] == json.loads(arguments)


def test_choices() -> None:
    body = event(chunk({"content": "a"})) + event(chunk({"content": "b"}, index=1))
    text = shown(flow(body)).text
    assert [line for line in text.splitlines() if line.startswith(("---", "text"))] == ["--- # choice 0", "text: a", "--- # choice 1", "text: b"]


def test_it_comes_and_goes_with_the_addon() -> None:
    """Also where a new one came before the old one went, as when another script brings one."""
    old, new = Views(), Views()
    name = LLMStream.name.lower()
    with taddons.context() as context:
        context.master.addons.add(old)
        assert contentviews.registry[name] is old.view
        context.master.addons.remove(old)
        assert name not in contentviews.registry
        context.master.addons.add(new)
        old.done()
        assert contentviews.registry[name] is new.view
        new.done()
    assert name not in contentviews.registry.available_views()


@pytest.mark.parametrize("text", OBEYED)
def test_nothing_in_it_steers_a_terminal(text: str) -> None:
    """In the stream it was an escape, which steers none; mitmdump prints what it is given."""
    call = {"index": 0, "id": text, "type": "function", "function": {"name": text, "arguments": json.dumps({text: text})}}
    body = event(chunk({"content": text, "reasoning_content": text})) + event(chunk({"tool_calls": [call]}, text))
    shown_text = shown(flow(body, api="chat", rules=[text], folder=text, error=text)).text
    assert not re.search("[\0-\x08\v-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", shown_text)
    value = as_yaml("\n".join(line for line in shown_text.split("\n") if not line.startswith("mended by: ")))
    assert [value[name] for name in ("text", "reasoning", "went wrong", "recorded in")] == [text] * 4
    assert value["calls"] == [{"name": text, "id": text, "arguments": {text: text}}]
