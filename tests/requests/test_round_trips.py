"""A request there and back, between all APIs: nothing is lost that both can say.

What each can say is a table. A conversation is made of what two have in common, written in the one, translated to the
other and back, and read at each station: it must be the same.
"""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.example_counts import examples
from tests.support.streams import chunk, event
from toolmend.core import json_text
from toolmend.core.reasoning_state import ReasoningState, envelope
from toolmend.pipeline.pipeline import Pipeline
from toolmend.requests.conversation import (
    Conversation,
    Document,
    Format,
    Image,
    Part,
    Reasoning,
    RefusalPart,
    TextPart,
    ThinkingPart,
    Tool,
    ToolChoice,
    ToolResult,
    ToolUse,
    Turn,
)
from toolmend.requests.request_limits import quirks_for
from toolmend.requests.translate import APIS, translate

FEATURES = """alone custom developer refusal order signature redacted encrypted details result_images is_error detail document_url
    text_document system_parts named strict format_name json_object allowed parallel sampling hot top_k stop effort budget off summary"""
"""What not every API can say."""

SAYS = {  # the API, a host that takes as much of it as any, and what it can say; `alone`: only to itself
    "OpenAI chat": ("chat", "api.openai.com", "custom developer refusal detail system_parts named strict format_name json_object parallel sampling hot stop"),
    "OpenRouter": ("chat", "openrouter.ai", "refusal details detail system_parts named strict format_name json_object parallel sampling hot top_k stop effort budget off"),
    "Messages": ("messages", "api.anthropic.com", "order signature redacted result_images is_error text_document document_url system_parts strict sampling top_k stop effort budget off"),
    "Responses": ("responses", "api.openai.com", "custom developer refusal order encrypted result_images detail document_url strict format_name json_object allowed parallel sampling hot effort summary"),
}  # fmt: skip

WORDS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12).filter(str.strip)  # blank text is refused
LINES = WORDS.filter(lambda text: text.strip() == text)  # and so are stop sequences of blanks
NAMES = st.text("abXY09_-", min_size=1, max_size=8).map("t{}".format)
BASE64 = st.sampled_from(["iVBORw0KGgo=", "JVBERi0xLjcK", "AAAA"])
VALUES = st.sampled_from([None, True, -1, 0.5, 10**20, "", '\u2028\\"é', [], [{"a": [None]}], {}, {"b": {"c": "d"}}])
SCHEMAS = st.dictionaries(NAMES, st.sampled_from([{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]), max_size=2).map(
    lambda properties: {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
)


class Making:
    """A conversation of what may be said."""

    def __init__(self, draw: Any, can: frozenset[str]) -> None:
        self.draw = draw
        self.can = can
        self.tools = self.draw(st.lists(self.tool(), max_size=3, unique_by=lambda tool: tool.name))
        self.calls = 0

    def some(self, *features: str) -> bool:
        return self.can.issuperset(features) and self.draw(st.booleans())

    def tool(self) -> st.SearchStrategy[Tool]:
        description = st.none() | WORDS
        strict = st.booleans()
        function = st.builds(Tool, NAMES, description, SCHEMAS, strict)
        custom = st.builds(Tool, NAMES, description, kind=st.just("custom"), format=st.just({"type": "text"}))
        return st.one_of(function, *([custom] if "custom" in self.can else []))

    def visible(self) -> Part:
        """Text, an image or a document."""
        data = self.draw(BASE64)
        choices: list[Part] = [
            TextPart(self.draw(WORDS)),
            Image(data=data, media_type="image/png"),
            Image(url="https://a.example/a.png"),
            Document(data=data, media_type="application/pdf", title="a.pdf"),
        ]
        choices += [Image(url="https://a.example/a.png", detail="high")] if "detail" in self.can else []
        choices += [Document(url="https://a.example/a.pdf")] if "document_url" in self.can else []
        choices += [Document(text=self.draw(WORDS), title="t")] if "text_document" in self.can else []
        return self.draw(st.sampled_from(choices))

    def user(self) -> Turn:
        return Turn("user", tuple(self.visible() for _ in range(self.draw(st.integers(1, 3)))), "Ann" if self.some("named", "alone") else "")

    def assistant(self) -> list[Turn]:
        """A turn of the model's, and the results of its calls."""
        seals = {
            "signature": ReasoningState("signature", "c2ln"),
            "redacted": ReasoningState("redacted", "cmVk"),
            "encrypted": ReasoningState("encrypted", json_text.dumps({"id": "rs_1", "encrypted_content": "gAA"})),
            "details": ReasoningState("details", json_text.dumps([{"type": "reasoning.text", "text": "t", "signature": "s", "format": "f"}])),
        }
        parts: list[Part] = []
        if "alone" in self.can and (kinds := [kind for kind in seals if kind in self.can]) and self.draw(st.booleans()):
            seal = seals[self.draw(st.sampled_from(kinds))]
            parts.append(ThinkingPart("" if seal.kind == "redacted" else self.draw(WORDS), seal))
        texts: list[Part] = [TextPart(self.draw(WORDS)) for _ in range(self.draw(st.integers(0, 2)))]
        texts += [RefusalPart(self.draw(WORDS))] if self.some("refusal") else []
        uses = [self.use() for _ in range(self.draw(st.integers(0 if texts else 1, 3)))]
        said: list[Part] = [*texts, *uses]
        if self.some("order"):
            said = self.draw(st.permutations(said))
        uses = [part for part in said if isinstance(part, ToolUse)]
        results = tuple(map(self.result, uses))
        return [Turn("assistant", (*parts, *said)), *([Turn("tool", results)] if results else [])]

    def use(self) -> ToolUse:
        self.calls += 1
        id_ = f"call_{self.calls}"
        if self.some("custom"):
            return ToolUse(id_, self.draw(NAMES), self.draw(WORDS), "custom")
        arguments = self.draw(st.dictionaries(WORDS, VALUES, max_size=2))
        return ToolUse(id_, self.draw(NAMES), json_text.dumps(arguments))

    def result(self, use: ToolUse) -> ToolResult:
        parts: list[Any] = [TextPart(text) for text in self.draw(st.lists(WORDS, max_size=2))]
        parts += [Image(data="AAAA", media_type="image/png")] if self.some("result_images") else []
        return ToolResult(use.id, tuple(parts), is_error=self.some("is_error"), kind=use.kind)

    def turns(self) -> list[Turn]:
        texts = self.draw(st.lists(WORDS, max_size=2 if "system_parts" in self.can else 1))
        turns = [Turn("system", tuple(map(TextPart, texts)))] if texts else []
        turns += [Turn("developer", (TextPart(self.draw(WORDS)),))] if self.some("developer") else []
        for _ in range(self.draw(st.integers(1, 3))):
            turns.append(self.user())
            turns += [Turn("system", (TextPart(self.draw(WORDS)),))] if self.draw(st.booleans()) else []  # where Messages takes it
            turns += self.assistant()
        return [*turns, self.user()]

    def choice(self) -> ToolChoice | None:
        names = st.sampled_from([tool.name for tool in self.tools])
        choices = [st.sampled_from([None, ToolChoice("auto"), ToolChoice("required"), ToolChoice("none")]), names.map(lambda name: ToolChoice("tool", (name,)))]
        if "allowed" in self.can:
            choices.append(names.map(lambda name: ToolChoice("required", (name,))))
        return self.draw(st.one_of(choices)) if self.tools else None

    def parallel(self) -> bool | None:
        return self.draw(st.sampled_from([None, False, True] if "parallel" in self.can else [None, False]))

    def reasoning(self) -> Reasoning | None:
        choices: list[Reasoning | None] = [None]
        efforts = [Reasoning(effort=word) for word in ("low", "medium", "high")]
        choices += efforts if "effort" in self.can else []
        choices += [Reasoning(enabled=True, budget=2000)] if "budget" in self.can and not self.calls else []  # no call without its thought
        choices += [Reasoning(enabled=False)] if "off" in self.can else []
        choices += [replace(effort, summary="auto") for effort in efforts] if "summary" in self.can else []
        return self.draw(st.sampled_from(choices))

    def form(self) -> Format | None:
        name, description, strict = (self.draw(NAMES), self.draw(WORDS), self.draw(st.booleans())) if "format_name" in self.can else ("", "", None)
        schema = Format("json_schema", self.draw(SCHEMAS), name, strict, description)
        return self.draw(st.sampled_from([None, schema, *([Format("json_object")] if "json_object" in self.can else [])]))

    def conversation(self) -> Conversation:
        turns = self.turns()
        reasoning = self.reasoning()
        form = self.form()
        if form and form.kind == "json_object":  # OpenAI wants the word
            turns[-1] = replace(turns[-1], parts=(*turns[-1].parts, TextPart("JSON")))
        thinks = reasoning is not None and reasoning.enabled is not False  # then Messages lets one set less
        choice = None if thinks else self.choice()
        numbers = st.none() | st.sampled_from([0, 0.25, 1, *([1.5] if "hot" in self.can else [])])
        return Conversation(
            model="m",
            turns=tuple(turns),
            tools=tuple(self.tools),
            tool_choice=choice,
            parallel=self.parallel() if self.tools and (choice is None or choice.mode != "none") else None,
            max_tokens=self.draw(st.integers(4000, 9000)),
            stop=tuple(self.draw(st.lists(LINES, max_size=4, unique=True))) if "stop" in self.can else (),
            temperature=None if thinks else self.draw(numbers),
            top_p=None if thinks else self.draw(st.none() | st.sampled_from([0.5, 1])),
            top_k=self.draw(st.none() | st.integers(1, 99)) if "top_k" in self.can and not thinks else None,
            reasoning=reasoning,
            format=form,
            user=self.draw(st.just("") | NAMES),
            stream=self.draw(st.booleans()),
        )


def same(read: Conversation, can: frozenset[str]) -> Conversation:
    """What was read, without what an API demands and the other cannot say: a name of a format, a choice of tools."""
    form = read.format
    if form and "format_name" not in can:
        form = replace(form, name="", strict=None)
    choice = None if read.tool_choice == ToolChoice("auto") else read.tool_choice
    reasoning = read.reasoning
    if reasoning and "summary" not in can:  # what is shown of it; and an effort turns thinking on
        reasoning = replace(reasoning, summary="", enabled=None if reasoning.effort else reasoning.enabled)
    options = {key: given for key, given in read.options.items() if key != "prompt_cache_key"}  # made of who asks
    tools = tuple(replace(tool, strict=tool.strict or None, cache=None) for tool in read.tools if isinstance(tool, Tool))
    turns = tuple(replace(turn, parts=tuple(map(unmarked, turn.parts))) for turn in read.turns)
    given = replace(read, api="", rest={}, include_usage=False, format=form, tool_choice=choice, reasoning=reasoning)
    return replace(given, options=options, tools=tools, turns=turns)


def unmarked(part: Part) -> Part:
    """A part without a breakpoint of the cache: none of the conversations has any."""
    return replace(part, cache=None) if hasattr(part, "cache") else part


def common(one: str, other: str) -> frozenset[str]:
    both = frozenset(SAYS[one][2].split()) & frozenset(SAYS[other][2].split())
    return both | {"alone"} if one == other else both


def test_the_table_names_what_there_is() -> None:
    for _, _, said in SAYS.values():
        assert set(said.split()) < set(FEATURES.split())


@pytest.mark.parametrize("name", SAYS)
@examples(0.25)
@given(data=st.data())
def test_what_is_written_is_read(name: str, data: st.DataObject) -> None:
    can = common(name, name)
    api, host, _ = SAYS[name]
    conversation = Making(data.draw, can).conversation()
    read, write = APIS[api]
    notes: list[str] = []
    request = write(conversation, quirks_for(api, host, "m"), notes)
    assert same(read(through_json(request), notes), can) == same(conversation, can)
    assert notes == []


@pytest.mark.parametrize(("here", "there"), [(here, there) for here in SAYS for there in SAYS if SAYS[here][0] != SAYS[there][0]])
@examples(0.25)
@given(data=st.data())
def test_there_and_back(here: str, there: str, data: st.DataObject) -> None:
    can = common(here, there)
    (api, host, _), (other, far, _) = SAYS[here], SAYS[there]
    conversation = Making(data.draw, can).conversation()
    request = APIS[api][1](conversation, quirks_for(api, host, "m"), [])
    gone = translate(through_json(request), api, other, host=far)
    assert same(APIS[other][0](through_json(gone.request), []), can) == same(conversation, can)
    back = translate(through_json(gone.request), other, api, host=host)
    assert same(APIS[api][0](through_json(back.request), []), can) == same(conversation, can)
    assert not gone.names and not gone.custom and not back.names and not back.custom


def through_json(request: Any) -> Any:
    """As it crosses the wire."""
    return json.loads(json_text.dumps(request))


USER = "What is the weather?"
ASKS = {  # a client's request that returns what it was given with an earlier turn
    "messages": lambda text, sealed: {
        "model": "m",
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": USER},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": text, "signature": sealed}, {"type": "tool_use", "id": "c1", "name": "a", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]},
        ],
    },
    "chat": lambda text, sealed: {
        "model": "m",
        "messages": [
            {"role": "user", "content": USER},
            {"role": "assistant", "reasoning_content": text, "reasoning_details": [{"type": "reasoning.text", "text": text, "signature": sealed}],
             "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
        ],
    },
    "responses": lambda text, sealed: {
        "model": "m",
        "input": [
            {"role": "user", "content": USER},
            {"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": sealed},
            {"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "x"},
        ],
    },
}  # fmt: skip

SEALED = [  # the upstream, its host, what it has sealed
    ("messages", "api.anthropic.com", ReasoningState("signature", "EqMB+/=")),
    ("messages", "api.anthropic.com", ReasoningState("redacted", "EmwKAhgB")),
    ("responses", "api.openai.com", ReasoningState("encrypted", '{"id":"rs_1","encrypted_content":"gAAA-_="}')),
    ("chat", "openrouter.ai", ReasoningState("details", '[{"type":"reasoning.encrypted","data":"x","id":"t","format":"google-gemini-v1","index":0}]')),
    ("chat", "openrouter.ai", ReasoningState("details", '[{"type":"reasoning.text","text":"hm\\u00e9","signature":null,"index":0,"n":1.0}]')),
]


@pytest.mark.parametrize(("client", "upstream", "host", "seal"), [(client, *row) for client in ASKS for row in SEALED if client != row[0]])
@given(text=WORDS)
@examples(0.1)
def test_what_an_upstream_has_sealed_comes_back_to_it(client: str, upstream: str, host: str, seal: ReasoningState, text: str) -> None:
    text = "" if seal.kind == "redacted" else text
    translated = translate(ASKS[client](text, envelope(seal)), client, upstream, host=host)
    thoughts = [part for turn in APIS[upstream][0](through_json(translated.request), []).turns for part in turn.parts if isinstance(part, ThinkingPart)]
    assert [thought.text for thought in thoughts] == [text]
    returned = thoughts[0].seal
    assert returned is not None and returned.kind == seal.kind
    assert returned.data == seal.data or json.loads(returned.data) == json.loads(seal.data)
    assert translated.notes == ()


PROOF = {"extra_content": {"google": {"thought_signature": "CiQB+/="}}}
GEMINI = "generativelanguage.googleapis.com"


def said_by_gemini(client: str, *, stream: bool) -> tuple[str, str]:
    """What a client keeps of a turn of two calls, of which the first is proven: the thought in front of them, and its seal."""
    tools = [{"type": "function", "function": {"name": "a"}}]
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "a", "arguments": "{}"}, **(PROOF if n == 1 else {})} for n in (1, 2)]
    pipeline = Pipeline({"model": "m", "tools": tools if client == "chat" else []}, source="chat", target=client)  # type: ignore[arg-type]
    if stream:
        body = pipeline.feed(b"".join(event(chunk({"reasoning_content": "hm"} if n else {"tool_calls": calls})) for n in (1, 0)))
        body += pipeline.feed(event(chunk({}, "tool_calls")) + b"data: [DONE]\n\n") + pipeline.close()
    else:
        message = {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": calls}
        body = pipeline.message(json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode())
    name = {"messages": "signature", "responses": "encrypted_content"}[client]
    (found,) = set(re.findall(f'"{name}": ?"(toolmend1[^"]+)"', body.decode()))
    return "hm", found


@pytest.mark.parametrize("client", ["messages", "responses"])
@pytest.mark.parametrize("stream", [True, False])
def test_what_gemini_has_beside_a_call_comes_back_to_it(client: str, stream: bool) -> None:
    request = ASKS[client](*said_by_gemini(client, stream=stream))
    back = translate(request, client, "chat", host=GEMINI)  # type: ignore[arg-type]
    assert back.request["messages"][1]["tool_calls"][0]["extra_content"] == PROOF["extra_content"]
    assert "toolmend1" not in json.dumps(back.request)
    elsewhere = translate(request, client, "chat", host="api.openai.com")  # type: ignore[arg-type]
    assert "extra_content" not in json.dumps(elsewhere.request)
    assert "`extra_content` of an earlier call is left out: this upstream did not make it" in elsewhere.notes


@pytest.mark.parametrize("data", ["{", '{"id": "c2", "extra_content": {"a": 1}}', '{"id": "c1", "extra_content": 1}'])
def test_a_seal_of_no_call_is_left_out(data: str) -> None:
    for text in ("", "hm"):
        got = translate(ASKS["messages"](text, envelope(ReasoningState("call", data))), "messages", "chat", host=GEMINI)
        assert "extra_content" not in json.dumps(got.request)
        assert got.request["messages"][1]["tool_calls"]


@pytest.mark.parametrize("client", ["messages", "responses"])
def test_reasoning_without_a_seal_goes_where_it_is_wanted(client: str) -> None:
    for seal in (ReasoningState("plain"), ReasoningState("details", '[{"type":"reasoning.text","text":"hm"}]')):
        translated = translate(ASKS[client]("hm", envelope(seal)), client, "chat", host="api.deepseek.com")
        assert translated.request["messages"][1]["reasoning_content"] == "hm"
