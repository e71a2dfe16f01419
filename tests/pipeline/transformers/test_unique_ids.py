"""unique_ids.py: a call's id that stands in the history is another for the client, the same on each replay."""

import json
from typing import Any

import pytest

from tests.support.streams import play
from tests.support.upstream_answers import APIS, JUDGES, WEATHER, Asked, asked, speak, tell
from toolmend.pipeline.pipeline import Pipeline
from toolmend.requests import translate

ID = "get_weather:0"
ARGUMENTS = '{"city": "Rome"}'


def history(api: str, id_: str = ID) -> dict[str, Any]:
    if api == "messages":
        use = {"type": "tool_use", "id": id_, "name": "get_weather", "input": {"city": "Rome"}}
        result = {"type": "tool_result", "tool_use_id": id_, "content": "sunny"}
        return {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]}
    if api == "chat":
        call = {"id": id_, "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
        result = {"role": "tool", "tool_call_id": id_, "content": "sunny"}
        return {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}, result]}
    call = {"type": "function_call", "call_id": id_, "name": "get_weather", "arguments": ARGUMENTS}
    return {"input": [{"role": "user", "content": "Hi"}, call, {"type": "function_call_output", "call_id": id_, "output": "sunny"}]}


def ids(source: str, target: str, *calls: str, **more: Any) -> list[str]:
    request = asked(target, *WEATHER, **{**history(target), **more})
    parts = [Asked(id_, "get_weather", ARGUMENTS) for id_ in calls]
    answer = JUDGES[target].read(play(lambda: Pipeline(request, source=source, target=target), [speak(source, parts, "tool_calls")]))
    whole = JUDGES[target].whole(Pipeline(request, source=source, target=target).message(tell(source, parts, "tool_calls")))
    assert not (answer.faults or whole.faults)
    assert [call.id for call in whole.calls] == [call.id for call in answer.calls]
    return [call.id for call in answer.calls]


@pytest.mark.parametrize("target", APIS)
def test_an_id_of_the_history(target: str) -> None:
    for source in APIS:
        if source != target or target == "messages":
            assert ids(source, target, ID, "new") == [f"{ID}_1", "new"]


def test_an_id_that_would_be_there_as_well() -> None:
    first, *rest = history("messages")["messages"]
    more = history("messages", f"{ID}_1")["messages"][1:]
    # of two calls so far, the next is the third
    assert ids("chat", "messages", ID, messages=[first, *rest, *more]) == [f"{ID}_2"]


def test_in_the_clients_own_api_others_stay() -> None:
    for api in ("chat", "responses"):
        assert ids(api, api, ID) == [ID]


@pytest.mark.parametrize("client", APIS)
def test_ids_that_a_client_repeats_go_up_apart(client: str) -> None:
    first, second = history(client), history(client)
    name = "input" if client == "responses" else "messages"
    request = asked(client, *WEATHER, **{name: [*first[name], *second[name][1:]]})
    for upstream in APIS:
        if upstream != client:
            text = json.dumps(translate(request, client, upstream).request)
            assert text.count("sunny") == 2
            assert "no result" not in text
