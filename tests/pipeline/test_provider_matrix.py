"""Which provider can do what, for which client: a table that one can read.

    rows       DeepSeek (V3.1), Qwen (Hermes), Qwen Coder (XML), Kimi (K2), standard (tool_calls as they should be)
    columns    single call … invalid arguments: `ANSWERS` and the tests below it
    clients    of Messages, where the answer is translated; of Chat Completions, where it is mended

Every provider is reached by Chat Completions, and writes its calls as it does when its server leaves them in the text.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.cuts import cuts
from tests.support.streams import META, event, pieces, play, stream
from tests.support.upstream_answers import JUDGES, Heard, asked, check
from toolmend.apis.shared.errors import translate_error
from toolmend.pipeline.pipeline import Pipeline
from toolmend.requests import translate

type Call = tuple[str, dict[str, Any]]

TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_weather", {"city": {"type": "string"}, "days": {"type": "integer"}}),
    ("read_file", {"path": {"type": "string"}}),
    ("edit", {"options": {"type": "object", "properties": {}}, "lines": {"type": "array"}}),
)

# how providers write calls


def deepseek(calls: Sequence[Call], _first: int) -> str:
    bodies = [f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{json.dumps(value)}<｜tool▁call▁end｜>" for name, value in calls]
    return f"<｜tool▁calls▁begin｜>{''.join(bodies)}<｜tool▁calls▁end｜>"


def qwen(calls: Sequence[Call], _first: int) -> str:
    return "\n".join(f"<tool_call>\n{json.dumps({'name': name, 'arguments': value})}\n</tool_call>" for name, value in calls)


def qwen_coder(calls: Sequence[Call], _first: int) -> str:
    def parameters(value: dict[str, Any]) -> str:
        texts = {key: each if isinstance(each, str) else json.dumps(each) for key, each in value.items()}
        return "".join(f"<parameter={key}>\n{text}\n</parameter>\n" for key, text in texts.items())

    return "\n".join(f"<tool_call>\n<function={name}>\n{parameters(value)}</function>\n</tool_call>" for name, value in calls)


def kimi(calls: Sequence[Call], first: int) -> str:
    bodies = [
        f"<|tool_call_begin|>functions.{name}:{at}<|tool_call_argument_begin|>{json.dumps(value)}<|tool_call_end|>"
        for at, (name, value) in enumerate(calls, first)
    ]
    return f"<|tool_calls_section_begin|>{''.join(bodies)}<|tool_calls_section_end|>"


@dataclass(frozen=True)
class Provider:
    """`write` None: calls are `tool_calls`. `malformed`: what is no call; of the standard, its arguments.

    `ambiguous`: its markup is believed where it names a tool that was offered.
    """

    model: str
    write: Callable[[Sequence[Call], int], str] | None
    malformed: str
    ambiguous: bool = False

    def deltas(self, text: str, calls: Sequence[Call], first: int = 0) -> list[Any]:
        """What a model says that has made `first` calls in earlier turns."""
        if self.write:
            return pieces(text + (self.write(calls, first) if calls else ""), 3)
        entries = [
            {"index": at, "id": f"call_{first + at}", "type": "function", "function": {"name": name, "arguments": json.dumps(value)}}
            for at, (name, value) in enumerate(calls)
        ]
        return [*pieces(text, 3), *({"tool_calls": [entry]} for entry in entries)]

    def stream(self, text: str, calls: Sequence[Call], first: int = 0) -> bytes:
        finish = "tool_calls" if calls and not self.write else "stop"
        return stream(self.deltas(text, calls, first), finish=finish)

    def completion(self, text: str, calls: Sequence[Call]) -> bytes:
        deltas = self.deltas(text, calls)
        message: dict[str, Any] = {"role": "assistant", "content": "".join(each for each in deltas if isinstance(each, str))}
        native = [entry for each in deltas if isinstance(each, dict) for entry in each["tool_calls"]]
        if native:
            message["tool_calls"] = native
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if native else "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return json.dumps({**META, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()


PROVIDERS = {
    "DeepSeek": Provider("deepseek-v3.1", deepseek, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>the weather, please<｜tool▁calls▁end｜>"),
    "Qwen": Provider("qwen3-32b", qwen, "<tool_call>\nthe weather, please\n</tool_call>", ambiguous=True),
    "Qwen Coder": Provider("qwen3-coder-plus", qwen_coder, "<tool_call>\n<function>the weather</function>\n</tool_call>", ambiguous=True),
    "Kimi": Provider("kimi-k2.5", kimi, "<|tool_calls_section_begin|><|tool_call_begin|>the weather, please<|tool_calls_section_end|>"),
    "standard": Provider("gpt-4.1", None, '{"city": Beijing}'),
}
CLIENTS = ("messages", "chat")

every_provider = pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
every_client = pytest.mark.parametrize("client", CLIENTS)

WEATHER: Call = ("get_weather", {"city": "Beijing", "days": 3})
FILE: Call = ("read_file", {"path": "a b/ä.md"})

ANSWERS: dict[str, tuple[str, list[Call]]] = {
    "single call": ("", [WEATHER]),
    "several calls": ("", [WEATHER, FILE, WEATHER]),
    "nested objects": ("", [("edit", {"options": {"owner": {"name": "x", "deep": {"er": True, "n": None}}, "list": [{"a": 1}]}})]),
    "array arguments": ("", [("edit", {"lines": [1, 2, [3, 4], {"old": "a", "new": "b\n"}, "]"]})]),
    "text beside calls": ("I will look. ", [WEATHER, FILE]),
    "text alone": ("There is nothing to call <here>.", []),
}


def pipeline(provider: Provider, client: str, request: dict[str, Any] | None = None) -> Pipeline:
    numbers = iter(range(1, 1000))
    request = request or {**asked(client, *TOOLS), "model": provider.model}
    return Pipeline(request, source="chat", target=client, new_id=lambda: f"call_{next(numbers):032x}")


def expected(text: str, calls: Sequence[Call]) -> Heard:
    return Heard(text, "", [(None, *call) for call in calls], "tool_calls" if calls else "stop")


@every_provider
@every_client
@pytest.mark.parametrize("name", ANSWERS)
def test_whole(client: str, provider: Provider, name: str) -> None:
    """Single and several calls, nested objects, array arguments, text beside calls: an answer that is no stream."""
    text, calls = ANSWERS[name]
    out = pipeline(provider, client).message(provider.completion(text, calls))
    check(client, JUDGES[client].whole(out), expected(text, calls))


@every_provider
@every_client
@pytest.mark.parametrize("name", ANSWERS)
def test_streamed(client: str, provider: Provider, name: str) -> None:
    """The same as a stream, however it is cut."""
    text, calls = ANSWERS[name]
    for cut in cuts(provider.stream(text, calls)):
        check(client, JUDGES[client].read(play(lambda: pipeline(provider, client), cut)), expected(text, calls))


@every_provider
@every_client
def test_malformed_call(client: str, provider: Provider) -> None:
    """What is no call is text, to the letter; arguments that cannot be read are the client's if it can be told them.

    A client of Chat Completions gets what its model wrote, one of Messages an error: it would be given something else.
    """
    if provider.write:
        answer = JUDGES[client].read(play(lambda: pipeline(provider, client), [provider.stream(f"Hm. {provider.malformed}", [])]))
        check(client, answer, Heard(f"Hm. {provider.malformed}"))
        return
    body = provider.stream("", [WEATHER]).replace(json.dumps(json.dumps(WEATHER[1])).encode(), json.dumps(provider.malformed).encode())
    answer = JUDGES[client].read(play(lambda: pipeline(provider, client), [body]))
    if client == "messages":
        check(client, answer, Heard(stop="error"))
    else:
        assert [(call.name, call.arguments) for call in answer.calls] == [("get_weather", provider.malformed)]


@every_provider
@every_client
def test_unknown_tool(client: str, provider: Provider) -> None:
    """A call of a tool that was not offered goes to the client, who can tell the model; ambiguous markup is then text."""
    calls: list[Call] = [("rm_all", {"path": "/"})]
    answer = JUDGES[client].read(play(lambda: pipeline(provider, client), [provider.stream("", calls)]))
    if provider.ambiguous:
        assert provider.write
        check(client, answer, Heard(provider.write(calls, 0)))
    else:
        check(client, answer, expected("", calls))


@every_provider
@every_client
def test_invalid_arguments(client: str, provider: Provider) -> None:
    """Arguments that the schema forbids are the client's to refuse: they come as the model wrote them."""
    calls: list[Call] = [("get_weather", {"days": "many", "unknown": "x"})]
    answer = JUDGES[client].read(play(lambda: pipeline(provider, client), [provider.stream("", calls)]))
    check(client, answer, expected("", calls))


# conversations


def history(client: str, *turns: tuple[str, Call, str]) -> list[dict[str, Any]]:
    """The messages of turns in which a call was made: (id, call, result)."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is the weather?"}]
    for id_, (name, value), result in turns:
        if client == "messages":
            messages.append({"role": "assistant", "content": [{"type": "tool_use", "id": id_, "name": name, "input": value}]})
            messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id_, "content": result}]})
        else:
            function = {"name": name, "arguments": json.dumps(value)}
            messages.append({"role": "assistant", "content": None, "tool_calls": [{"id": id_, "type": "function", "function": function}]})
            messages.append({"role": "tool", "tool_call_id": id_, "content": result})
    return messages


def told(request: dict[str, Any], client: str, provider: Provider) -> list[tuple[str, str, Any]]:
    """What the upstream is told: (role, id, name and arguments or content) of each message with a call or a result."""
    messages = translate({**request, "model": provider.model}, client=client, upstream="chat").request["messages"]
    found: list[tuple[str, str, Any]] = []
    for message in messages:
        calls = [(call["id"], call["function"]) for call in message.get("tool_calls") or ()]
        found += (("assistant", id_, (function["name"], json.loads(function["arguments"]))) for id_, function in calls)
        if message["role"] == "tool":
            found.append(("tool", message["tool_call_id"], message["content"]))
    return found


@every_provider
@every_client
def test_tool_result(client: str, provider: Provider) -> None:
    """The result stands behind its call, under the call's id, and the model's answer is the client's."""
    request = {**asked(client, *TOOLS), "model": provider.model, "messages": history(client, ("call_1", WEATHER, "sunny"))}
    (_, called, call), (role, answered, result) = told(request, client, provider)
    assert (call, role, result) == (WEATHER, "tool", "sunny")
    assert called == answered
    answer = JUDGES[client].read(play(lambda: pipeline(provider, client, request), [provider.stream("It is sunny.", [])]))
    check(client, answer, Heard("It is sunny."))


@every_provider
@every_client
def test_multi_turn(client: str, provider: Provider) -> None:
    """Two turns with calls and a third that calls again: every result beside its call, no id twice."""
    request = {**asked(client, *TOOLS), "model": provider.model}
    turns: list[tuple[str, Call, str]] = []
    numbers = iter(range(1, 1000))
    for call, result in ((WEATHER, "sunny"), (FILE, "# A file"), (WEATHER, "rain")):
        made = Pipeline(request, source="chat", target=client, new_id=lambda: f"call_{next(numbers):032x}")
        answer = JUDGES[client].read(play(lambda made=made: made, [provider.stream("", [call], len(turns))]))
        check(client, answer, expected("", [call]))
        turns.append((answer.calls[0].id, call, result))
        request = {**request, "messages": history(client, *turns)}
    assert len({id_ for id_, *_ in turns}) == len(turns)
    said = told(request, client, provider)
    assert [each for *_, each in said] == [each for _, call, result in turns for each in (call, result)]
    ids = [id_ for _, id_, _ in said]
    assert ids[::2] == ids[1::2]
    assert len(set(ids)) == len(turns)


# across providers

SPELLINGS = {
    "DeepSeek": ("deepseek-v3.1", "deepseek/deepseek-chat-v3.1:free", "accounts/fireworks/models/deepseek-v3p1"),
    "Qwen": ("qwen3-32b", "Qwen/Qwen3-235B-A22B-Instruct-2507", "qwen/qwen3-30b-a3b:free"),
    "Qwen Coder": ("qwen3-coder-plus", "Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen/qwen3-coder:free"),
    "Kimi": ("kimi-k2.5", "moonshotai/Kimi-K2-Instruct-0905", "accounts/fireworks/models/kimi-k2-instruct"),
    "standard": ("gpt-4.1", "openai/gpt-4.1", "claude-sonnet-4-5"),
}


@every_client
@pytest.mark.parametrize(("name", "model"), [(name, model) for name, models in SPELLINGS.items() for model in models])
def test_detection(client: str, name: str, model: str) -> None:
    """A provider is known by the model's name, however a gateway spells it."""
    request = {**asked(client, *TOOLS), "model": model}
    body = PROVIDERS[name].stream("Look: ", [WEATHER])
    answer = JUDGES[client].read(play(lambda: pipeline(PROVIDERS[name], client, request), [body]))
    check(client, answer, expected("Look: ", [WEATHER]))


@every_client
@every_provider
def test_a_stranger(client: str, provider: Provider) -> None:
    """From a model nobody knows, markup that is like no other is read; what could be an example in prose stays text."""
    request = {**asked(client, *TOOLS), "model": "nobody-knows-1"}
    answer = JUDGES[client].read(play(lambda: pipeline(provider, client, request), [provider.stream("Look: ", [WEATHER])]))
    if provider.ambiguous:
        assert provider.write
        check(client, answer, Heard("Look: " + provider.write([WEATHER], 0)))
    else:
        check(client, answer, expected("Look: ", [WEATHER]))


@every_client
def test_fallback(client: str) -> None:
    """A model nobody knows that does nothing odd is served as it is."""
    request, standard = {**asked(client, *TOOLS), "model": "nobody-knows-1"}, PROVIDERS["standard"]
    for text, calls in ANSWERS.values():
        body = standard.stream(text, calls)
        out = play(lambda: pipeline(standard, client, request), [body])
        check(client, JUDGES[client].read(out), expected(text, calls))
        assert client != "chat" or out == body


@every_provider
def test_fidelity(provider: Provider) -> None:
    """Anthropic → provider → Anthropic: a conversation goes there, the answer comes back, and goes there again unchanged."""
    system = [{"type": "text", "text": "Be brief."}]
    request = {**asked("messages", *TOOLS), "model": provider.model, "system": system}
    request["messages"] = history("messages", ("toolu_1", WEATHER, "sunny"))
    there = translate(request, client="messages", upstream="chat").request
    assert there["messages"][0]["content"] == "Be brief."
    assert [tool["function"]["name"] for tool in there["tools"]] == [name for name, _ in TOOLS]
    assert [tool["function"]["parameters"]["properties"] for tool in there["tools"]] == [properties for _, properties in TOOLS]
    back = JUDGES["messages"].read(play(lambda: pipeline(provider, "messages", request), [provider.stream("Now: ", [FILE])]))
    check("messages", back, expected("Now: ", [FILE]))
    call = back.calls[0]
    request["messages"] += [
        {"role": "assistant", "content": [{"type": "text", "text": back.text}, {"type": "tool_use", "id": call.id, "name": call.name, "input": call.value}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "# A file"}]},
    ]
    again = translate(request, client="messages", upstream="chat").request["messages"]
    assert again[: len(there["messages"])] == there["messages"]
    spoken, result = again[-2:]
    assert spoken["content"] == "Now: "
    assert json.loads(spoken["tool_calls"][0]["function"]["arguments"]) == FILE[1]
    assert (result["content"], result["tool_call_id"]) == ("# A file", spoken["tool_calls"][0]["id"])


@every_client
def test_streaming_state(client: str) -> None:
    """Answers of all providers that arrive at once, an event of each in turn, do not mix."""
    bodies = {name: provider.stream(f"{name}: ", [(("get_weather"), {"city": name})]) for name, provider in PROVIDERS.items()}
    made = {name: pipeline(provider, client) for name, provider in PROVIDERS.items()}
    outs = dict.fromkeys(PROVIDERS, b"")
    for at in range(0, max(map(len, bodies.values())), 7):
        for name, body in bodies.items():
            outs[name] += made[name].feed(body[at : at + 7])
    for name in PROVIDERS:
        answer = JUDGES[client].read(outs[name] + made[name].close())
        check(client, answer, expected(f"{name}: ", [("get_weather", {"city": name})]))


LIMITS = {
    "DeepSeek": (400, {"error": {"message": "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (66000 in the messages, 4000 in the completion).", "type": "invalid_request_error"}}, "70000 tokens > 65536 maximum"),
    "Qwen": (400, {"error": {"message": "Range of input length should be [1, 129024]", "type": "invalid_request_error", "code": "invalid_parameter_error"}}, "129025 tokens > 129024 maximum"),
    "Kimi": (400, {"error": {"message": "Invalid request: Your request exceeded model token limit: 262144 (requested: 270000)", "type": "invalid_request_error"}}, "270000 tokens > 262144 maximum"),
    "standard": (400, {"error": {"message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.", "type": "invalid_request_error", "code": "context_length_exceeded", "param": "messages"}}, "130000 tokens > 128000 maximum"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_context_limits(name: str) -> None:
    """A conversation that no longer fits: a client is told so in the words by which it knows to compact.

    As a response with a status, and as the first event of a stream.
    """
    status, body, words = LIMITS[name]
    raw = json.dumps(body).encode()
    told, _, out = translate_error(status, [], raw, "chat", "messages", now=datetime.now(UTC), new_id="call_1")
    answer = JUDGES["messages"].whole(out)
    assert (told, answer.faults) == (400, [])
    assert answer.error
    assert answer.error["type"] == "invalid_request_error"
    assert f"prompt is too long: {words}" in answer.error["message"]
    answer = JUDGES["messages"].read(play(lambda: pipeline(PROVIDERS[name], "messages"), [event(body)]))
    assert answer.faults == []
    assert answer.error
    assert answer.error["type"] == "invalid_request_error"
    assert f"prompt is too long: {words}" in answer.error["message"]
    answer = JUDGES["responses"].read(play(lambda: pipeline(PROVIDERS[name], "responses"), [event(body)]))
    assert answer.faults == []
    assert answer.error
    assert answer.error["code"] == "context_length_exceeded"
