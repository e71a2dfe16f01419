"""translate.py: what is left alone, what is prompted, names and their way back; that a request survives the way there and back."""

import copy
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from anthropic.types import MessageCreateParams
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import CompletionCreateParams
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from tests.support.generated_requests import ANTHROPIC, OPENAI, ROUTER, messages_requests
from tests.support.request_tables import chat as chat_table
from tests.support.request_tables import messages as messages_table
from toolmend.core.tools import of_chat, of_messages
from toolmend.requests import RequestError, translate
from toolmend.requests.billing import without_billing_line
from toolmend.requests.prompted import DEFAULT

APIS = ("chat", "messages", "responses")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
WEATHER = {"name": "get_weather", "description": "The weather", "input_schema": SCHEMA}
HI = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize("api", APIS)
def test_the_same_api_is_left_alone(api: str) -> None:
    request = {"model": "a", "n": 5, "messages": [{"role": "bot"}], "input": [], "tools": [], "what_comes_next": {"x": 1}}
    before = copy.deepcopy(request)
    assert translate(request, api, api).request == before
    translated = translate(request, api, api, model="b", host=ROUTER)
    assert list(translated.request.items()) == [*{**before, "model": "b"}.items()]
    assert (translated.names, translated.custom, translated.notes, translated.prompted) == ({}, frozenset(), (), False)
    assert request == before


BILLED = {"type": "text", "text": "x-anthropic-billing-header: cch=1;"}


@pytest.mark.parametrize("system", [None, 7, "Be", ["Be"], [], [{"type": "text", "text": 7}], [{"type": "text", "text": ""}]])
def test_what_bills_nobody_is_the_very_request(system: Any) -> None:
    request = {"model": "m", "system": system}
    assert without_billing_line(request, "llm.example") is request


def test_only_what_bills_goes() -> None:
    """Whatever else is there is for the upstream to refuse."""
    rest = [7, {"type": "text", "text": 7}, {"type": "text", "text": "Be"}]
    assert without_billing_line({"system": [BILLED, *rest]}, "llm.example") == {"system": rest}
    assert without_billing_line({"system": [BILLED]}, "llm.example") == {"system": []}
    assert without_billing_line({"system": BILLED["text"]}, "llm.example") == {"system": ""}


def test_the_tools_are_those_of_the_upstream() -> None:
    request = {"model": "m", "max_tokens": 5, "messages": [HI], "tools": [{**WEATHER, "name": "a.b"}]}
    translated = translate(request, "messages", "chat")
    assert translated.tools == of_chat(translated.request)
    assert "a_b" in translated.tools and "a.b" not in translated.tools
    assert translated.names == {"a_b": "a.b"}
    assert translate(request, "messages", "messages").tools == of_messages(request)


def test_the_model_and_its_quirks_are_the_upstreams() -> None:
    request = {"model": "claude-opus-4-6", "max_tokens": 5, "messages": [HI]}
    assert translate(request, "messages", "chat", model="gpt-5").request == {
        "model": "gpt-5",
        "messages": [HI],
        "max_completion_tokens": 5,
    }


TALK: dict[str, Any] = {
    "model": "m",
    "max_tokens": 5,
    "system": "Be",
    "tools": [WEATHER],
    "tool_choice": {"type": "any"},
    "messages": [
        HI,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "Bonn"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "Sunny"}]},
    ],
}


@pytest.mark.parametrize("upstream", APIS)
def test_prompted(upstream: str) -> None:
    translated = translate(TALK, "messages", upstream, template=DEFAULT)
    assert translated.prompted
    assert list(translated.tools.schemas) == ["get_weather"]
    assert translated.tools.properties("get_weather") == SCHEMA["properties"]
    assert not {"tools", "tool_choice", "functions", "parallel_tool_calls"} & translated.request.keys()
    said = json.dumps(translated.request)
    assert "get_weather" in said and "Bonn" in said and "Sunny" in said
    assert not re.search("tool_use|tool_result|tool_calls|tool_call_id|function_call", said)


def test_prompted_offers_what_the_client_does() -> None:
    request = {"model": "m", "messages": [HI], "functions": [{"name": "a.b", "parameters": SCHEMA}]}
    translated = translate(request, "chat", "chat", template=DEFAULT)
    assert translated.tools == of_chat(request) and translated.tools.legacy
    assert translated.names == {} and "functions" not in translated.request


def test_prompted_expects_no_call_that_is_forbidden() -> None:
    translated = translate({**TALK, "tool_choice": {"type": "none"}}, "messages", "chat", template=DEFAULT)
    assert not translated.tools.offered


def test_stop_sequences_beyond_the_limit_are_looked_for_in_the_answer() -> None:
    asked = {**TALK, "stop_sequences": list("abcdef")}
    translated = translate(asked, "messages", "chat", host="api.openai.com")
    assert (translated.request["stop"], translated.stop) == (list("abcd"), ("e", "f"))
    assert translate(asked, "messages", "responses").stop == tuple("abcdef")


def test_prompted_keeps_what_it_does_not_concern() -> None:
    more = {"thinking": {"type": "between_tools"}, "what_comes_next": {"x": 1}, "output_config": {"effort": "low", "new": 2}}
    translated = translate({**TALK, **more}, "messages", "messages", model="b", template=DEFAULT)
    assert {key: translated.request[key] for key in (*more, "max_tokens", "model")} == {**more, "max_tokens": 5, "model": "b"}


def test_freeform_tools_stay_where_they_are_known() -> None:
    form = {"type": "grammar", "syntax": "lark", "definition": "start: /x+/"}
    request = {"model": "gpt-5", "input": "Hi", "tools": [{"type": "custom", "name": "patch", "format": form}]}
    known = translate(request, "responses", "chat", host="api.openai.com")
    nested = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /x+/"}}
    assert known.request["tools"] == [{"type": "custom", "custom": {"name": "patch", "format": nested}}]
    assert known.custom == frozenset()
    unknown = translate(request, "responses", "chat", host=ROUTER)
    assert unknown.request["tools"][0]["function"]["parameters"]["required"] == ["input"]
    assert unknown.custom == {"patch"}
    assert translate(request, "responses", "chat", host="api.openai.com", template=DEFAULT).custom == {"patch"}


def test_names_are_renamed_everywhere() -> None:
    name = "mcp__" + "x" * 80
    tool = {**WEATHER, "name": name}
    talk = json.loads(json.dumps(TALK).replace('"get_weather"', json.dumps(name)))
    request = {**talk, "tools": [tool], "tool_choice": {"type": "tool", "name": name}}
    translated = translate(request, "messages", "chat")
    ((short, client),) = translated.names.items()
    assert client == name and len(short) == 64
    assert translated.request["tool_choice"]["function"]["name"] == short
    assert translated.request["messages"][2]["tool_calls"][0]["function"]["name"] == short
    assert name not in json.dumps(translated.request)


# There and back. Both APIs can say all that these strategies make.


@given(messages_requests())
def test_messages_there_and_back(request: dict[str, Any]) -> None:
    before = copy.deepcopy(request)
    there = translate(request, "messages", "chat", host=ROUTER)
    back = translate(there.request, "chat", "messages", host=ANTHROPIC)
    own = 0 < json.dumps(request).count("cache_control") <= 4
    look = (lambda value: value) if own else chat_table.unmarked
    assert look(back.request) == look(request)
    assert request == before
    assert (there.notes, there.names, back.names) == ((), {}, {})
    assert back.notes == () or json.dumps(request).count("cache_control") > 4


@given(messages_requests())
def test_chat_there_and_back(request: dict[str, Any]) -> None:
    """What chat says of it survives the way to Messages and back."""
    said = translate(request, "messages", "chat", host=ROUTER).request
    said = json.loads(json.dumps(said))
    there = translate(said, "chat", "messages", host=ANTHROPIC)
    own = 0 < json.dumps(said).count("cache_control") <= 4
    look = (lambda value: value) if own else chat_table.unmarked
    assert look(translate(there.request, "messages", "chat", host=ROUTER).request) == look(said)


# Whatever a client sends, it is answered with a request or a RequestError.

_KEYS = (
    "model messages input system instructions tools tool_choice type role content text name function arguments parameters input_schema "
    "id tool_use_id tool_call_id call_id tool_calls function_call thinking signature data source url media_type image_url file "
    "reasoning reasoning_details reasoning_effort output_config effort format budget_tokens max_tokens stop stop_sequences "
    "metadata user user_id stream stream_options cache_control n custom allowed_tools mode parallel_tool_calls output summary"
)
_SAID = (
    "user assistant system developer tool function text image document thinking redacted_thinking tool_use tool_result custom "
    "base64 url file enabled adaptive auto any none required image_url message function_call function_call_output reasoning "
    "input_text output_text json_schema allowed_tools"
)
KEYS, SAID = _KEYS.split(), _SAID.split()
RUBBISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([*SAID, "", "{", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=12,
)
PART = st.dictionaries(st.sampled_from(KEYS), RUBBISH, max_size=4).flatmap(
    lambda fields: st.sampled_from(SAID).map(lambda kind: {**fields, "type": kind})
)
TURN = st.builds(
    lambda role, content, more: {**more, "role": role, "content": content},
    st.sampled_from(SAID[:6]),
    st.lists(PART, max_size=3) | RUBBISH,
    st.dictionaries(st.sampled_from(["tool_calls", "function_call", "reasoning_details", "tool_call_id", "name"]), st.lists(PART, max_size=2) | RUBBISH),
)
REQUESTS = RUBBISH | st.builds(
    lambda fields, turns, items: {**fields, "messages": turns, "input": items},
    st.dictionaries(st.sampled_from(KEYS), RUBBISH | st.lists(PART, max_size=2), max_size=5),
    st.lists(TURN, max_size=3),
    st.lists(PART | TURN, max_size=3),
)


@given(REQUESTS, st.sampled_from(APIS), st.sampled_from(APIS), st.sampled_from(["", DEFAULT]), st.sampled_from([ROUTER, "api.openai.com", "api.deepseek.com", ""]))
def test_rubbish(request: Any, client: str, upstream: str, template: str, host: str) -> None:
    try:
        translated = translate(request, client, upstream, host=host, template=template)
    except RequestError:
        return
    assert isinstance(translated.request, dict)
    assert all(isinstance(note, str) and note for note in translated.notes)


PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"}
FULL = {
    **TALK,
    "system": [{"type": "text", "text": "Be", "cache_control": {"type": "ephemeral"}}],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": SCHEMA}},
    "stop_sequences": ["a"],
    "metadata": {"user_id": "me"},
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "document", "title": "A", "source": PDF}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "b64"},
                *TALK["messages"][1]["content"],
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "Sunny"}], "is_error": True},
                {"type": "image", "source": {"type": "url", "url": "https://e.com"}},
            ],
        },
    ],
}
WRONG: list[Any] = [None, True, -5, 0.5, float("inf"), "", "x", "\ud800", [], [5], [[]], {}, {"type": 5}, {"x": {}}, [{}], [{"type": "text"}]]


def changed(value: Any) -> Any:
    """A JSON value with each of its values wrong, one at a time."""
    yield from WRONG
    if isinstance(value, dict):
        yield {**value, "what_comes_next": [5]}
        for key, inner in value.items():
            yield {other: what for other, what in value.items() if other != key}
            yield from ({**value, key: other} for other in changed(inner))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in changed(inner))


@pytest.mark.parametrize("client", APIS)
@pytest.mark.parametrize("upstream", APIS)
def test_one_thing_is_wrong(client: str, upstream: str) -> None:
    request = translate(FULL, "messages", client, host=ROUTER).request
    served = 0
    for wrong in changed(request):
        try:
            translated = translate(wrong, client, upstream, host=ROUTER, template=DEFAULT if client == upstream else "")
        except RequestError as error:
            assert str(error)  # noqa: PT017 (either is right)
        else:
            served += 1
            assert isinstance(translated.request, dict)
    assert served


@pytest.mark.parametrize("request_", [None, [], "x", 5])
def test_no_object(request_: Any) -> None:
    with pytest.raises(RequestError, match="not a JSON object"):
        translate(request_, "messages", "chat")


def test_nested_too_deeply() -> None:
    schema: dict[str, Any] = {}
    for _ in range(100_000):
        schema = {"anyOf": [schema]}
    with pytest.raises(RequestError, match="nested too deeply"):
        translate({"model": "m", "messages": [HI], "tools": [{"name": "a", "input_schema": schema}]}, "messages", "chat")


SDK_TYPES = {"chat": TypeAdapter(CompletionCreateParams), "messages": TypeAdapter(MessageCreateParams)}
WRITTEN = [
    *(("messages", "chat", OPENAI, {"messages": row[1]}, row[0]) for row in messages_table.MESSAGES),
    *(("messages", "chat", OPENAI, {"model": row[2], **row[3]}, row[0]) for row in messages_table.FIELDS if row[1] == OPENAI),
    *(("chat", "messages", ANTHROPIC, {"messages": row[1]}, row[0]) for row in chat_table.MESSAGES),
    *(("chat", "messages", ANTHROPIC, {"model": row[1], **row[2]}, row[0]) for row in chat_table.FIELDS),
]


@pytest.mark.filterwarnings("ignore::UserWarning")  # pydantic's, where an iterable is written as a list
@pytest.mark.parametrize(
    ("client", "upstream", "host", "given_"), [row[:4] for row in WRITTEN], ids=[f"{row[1]}: {n} {row[4]}" for n, row in enumerate(WRITTEN)]
)
def test_what_is_written_fits_the_types_of_the_sdks(client: str, upstream: str, host: str, given_: dict[str, Any]) -> None:
    request = translate({"model": "m", "max_tokens": 9, "messages": [HI], **given_}, client, upstream, host=host).request
    to_jsonable_python(SDK_TYPES[upstream].validate_python(request))  # raises; lists are read while they are written


def test_the_request_is_not_changed() -> None:
    request = {**TALK, "output_config": {"effort": "high"}, "stop_sequences": ["a"]}
    before = copy.deepcopy(request)
    translated = translate(request, "messages", "chat")
    assert request == before
    assert replace(translated, request={}) == replace(translate(request, "messages", "chat"), request={})


def test_of_much_that_is_left_out_a_hundred_things_are_told() -> None:
    results = [{"role": "tool", "tool_call_id": f"c{at}", "content": "r"} for at in range(200)]
    notes = translate({"model": "m", "messages": [{"role": "user", "content": "Hi"}, *results]}, "chat", "messages").notes
    assert (len(notes), notes[-1]) == (100, "further notes are omitted")
