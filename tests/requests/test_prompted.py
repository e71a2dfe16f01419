"""Tools told in a prompt: what the model reads, what is refused, and that its answer becomes calls."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.support.cuts import cuts
from tests.support.judges.chat import read
from tests.support.streams import pieces, play, request, stream, tool
from toolmend.config.settings import Settings
from toolmend.core.events import Finish
from toolmend.core.fold import fold
from toolmend.dialects import OPEN_JSON
from toolmend.pipeline.event_reader import events_of
from toolmend.pipeline.pipeline import Pipeline
from toolmend.requests import RequestError, translate
from toolmend.requests.conversation import (
    Conversation,
    Document,
    Image,
    Other,
    Part,
    TextPart,
    ThinkingPart,
    Tool,
    ToolChoice,
    ToolResult,
    ToolUse,
    Turn,
)
from toolmend.requests.prompted import DEFAULT, MAX_PROMPT, MAX_TOOLS, check, left_out, prompted

READ = Tool("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
TIME = Tool("get_time")
TOLD = """\
{"name":"read_file","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}
{"name":"get_time","parameters":{"type":"object","properties":{}}}"""
PROMPT = DEFAULT.replace("{tools}", TOLD)
IMAGE = Image(data="iVBOR", media_type="image/png")
CACHE = {"type": "ephemeral"}


def system(*parts: str) -> Turn:
    return Turn("system", tuple(map(TextPart, parts)))


def user(*parts: Part | str) -> Turn:
    return Turn("user", tuple(TextPart(part) if isinstance(part, str) else part for part in parts))


def assistant(*parts: Part | str) -> Turn:
    return Turn("assistant", tuple(TextPart(part) if isinstance(part, str) else part for part in parts))


def results(*parts: ToolResult) -> Turn:
    return Turn("tool", parts)


def result(id_: str, *parts: TextPart | Image | Document | str, **more: Any) -> ToolResult:
    return ToolResult(id_, tuple(TextPart(part) if isinstance(part, str) else part for part in parts), **more)


USED = (
    user("What is in a.md?"),
    assistant("I will look.", ToolUse("c1", "read_file", '{"path": "a.md"}')),
    results(result("c1", "Hello")),
)
USED_TOLD = (
    user("What is in a.md?"),
    assistant('I will look.\n\n[{"name": "read_file", "arguments": {"path": "a.md"}}]'),
    user("The function read_file returned:\nHello"),
)


# the four cases


def test_tools_only() -> None:
    given = Conversation("m", turns=(system("Be kind."), user("Hi")), tools=(READ, TIME), tool_choice=ToolChoice("auto"), parallel=True, max_tokens=9)
    told = prompted(given)
    assert told == Conversation("m", turns=(system(f"Be kind.\n\n{PROMPT}"), user("Hi")), max_tokens=9)


def test_results_only() -> None:
    told = prompted(Conversation("m", turns=(system("Be kind."), *USED)))
    assert told == Conversation("m", turns=(system("Be kind."), *USED_TOLD))


def test_both() -> None:
    told = prompted(Conversation("m", turns=USED, tools=(READ, TIME)))
    assert told == Conversation("m", turns=(system(PROMPT), *USED_TOLD))


def test_neither() -> None:
    given = Conversation("m", turns=(system("Be kind."), user("Hi"), user("Ho")), tool_choice=ToolChoice("auto"))
    assert prompted(given) is given
    given = Conversation("m", turns=(user("Hi"), assistant("Ho")))
    assert prompted(given, system=False) is given


# where the prompt goes

PLACES: dict[str, tuple[bool, tuple[Turn, ...], tuple[Turn, ...]]] = {
    "no system turn": (True, (user("Hi"),), (system("P"), user("Hi"))),
    "a developer's": (True, (Turn("developer", (TextPart("D"),)), user("Hi")), (Turn("developer", (TextPart("D\n\nP"),)), user("Hi"))),
    "two system turns": (True, (system("A"), system("B"), user("Hi")), (system("A\n\nP\n\nB"), user("Hi"))),
    "one that comes late": (True, (user("Hi"), system("A")), (system("P"), user("Hi"), system("A"))),
    "nothing at all": (True, (), (system("P"),)),
    "no role: the user": (False, (user("Hi"), assistant("Ho")), (user("P\n\nHi"), assistant("Ho"))),
    "no role: the system's text": (False, (system("A"), user("Hi")), (user("A\n\nP\n\nHi"),)),
    "no role: late system text": (False, (user("Hi"), assistant("Ho"), system("A")), (user("P\n\nHi"), assistant("Ho"), user("A"))),
    "no role: an image first": (False, (user(IMAGE, "Hi"),), (user("P", IMAGE, "Hi"),)),
    "no role: the assistant first": (False, (assistant("Ho"),), (user("P"), assistant("Ho"))),
    "no role: nothing at all": (False, (), (user("P"),)),
}


@pytest.mark.parametrize("name", PLACES)
def test_places(name: str) -> None:
    has_system, turns, expected = PLACES[name]
    told = prompted(Conversation(turns=turns, tools=(TIME,)), "P{tools}", system=has_system)
    line = '{"name":"get_time","parameters":{"type":"object","properties":{}}}'
    turns = tuple(replace(turn, parts=tuple(_without(part, line) for part in turn.parts)) for turn in told.turns)
    assert turns == expected
    assert sum(line in part.text for turn in told.turns for part in turn.parts if isinstance(part, TextPart)) == 1


def _without(part: Part, line: str) -> Part:
    return replace(part, text=part.text.replace(f"P{line}", "P")) if isinstance(part, TextPart) else part


def test_a_model_without_system_turns_gets_none_even_without_tools() -> None:
    assert prompted(Conversation(turns=(system("A"), user("Hi"))), system=False).turns == (user("A\n\nHi"),)


def test_the_cache_ends_where_it_did() -> None:
    turns = (Turn("system", (TextPart("A", CACHE), TextPart("B"))), user("Hi"))
    told = prompted(Conversation(turns=turns, tools=(replace(TIME, cache=CACHE), READ)), "P {tools}")
    first, second = told.turns[0].parts
    assert first == TextPart("A", CACHE)
    assert isinstance(second, TextPart)
    assert (second.text[:6], second.cache) == ("B\n\nP {", CACHE)


# the choice

CHOICES: list[tuple[ToolChoice | None, bool | None, str]] = [
    (None, None, ""),
    (None, True, ""),
    (ToolChoice("auto"), None, ""),
    (ToolChoice("none"), False, "Do not call a function now: answer in words."),
    (ToolChoice("required"), None, "Now you must call a function, whatever else you would say."),
    (ToolChoice("tool", ("get_time",)), None, "Now you must call the function get_time, whatever else you would say."),
    (ToolChoice("auto", ("a", "b")), None, "Now you may call only: a, b."),
    (ToolChoice("required", ("a",)), None, "Now you must call a function, whatever else you would say. Now you may call only: a."),
    (None, False, "Call one function at a time: the array holds one object."),
]


@pytest.mark.parametrize(("choice", "parallel", "words"), CHOICES)
def test_choice(choice: ToolChoice | None, parallel: bool | None, words: str) -> None:
    told = prompted(Conversation(turns=(user("Hi"),), tools=(READ, TIME), tool_choice=choice, parallel=parallel))
    assert told.turns[0] == system(f"{PROMPT}\n\n{words}" if words else PROMPT)
    assert (told.tool_choice, told.parallel) == (None, None)


# what happened so far

CALL, OTHER = ToolUse("c1", "read_file", '{"path": "a"}'), ToolUse("c2", "get_time", "")
BOTH = assistant('[{"name": "read_file", "arguments": {"path": "a"}}, {"name": "get_time", "arguments": {}}]')
HISTORY: dict[str, tuple[tuple[Turn, ...], tuple[Turn, ...]]] = {
    "two calls": (
        (assistant(CALL, OTHER), results(result("c2", "noon"), result("c1", "A"))),
        (BOTH, user("The function get_time (call 2 of 2) returned:\nnoon\n\nThe function read_file (call 1 of 2) returned:\nA")),
    ),
    "results in turns of their own, and the user": (
        (assistant(CALL, OTHER), results(result("c1", "A")), results(result("c2", "noon")), user("Go on.")),
        (BOTH, user("The function read_file (call 1 of 2) returned:\nA\n\nThe function get_time (call 2 of 2) returned:\nnoon\n\nGo on.")),
    ),
    "calls in turns of their own": (
        (assistant(CALL), assistant(OTHER), results(result("c2", "noon"))),
        (
            assistant('[{"name": "read_file", "arguments": {"path": "a"}}]\n\n[{"name": "get_time", "arguments": {}}]'),
            user("The function get_time (call 2 of 2) returned:\nnoon"),
        ),
    ),
    "an error": ((assistant(OTHER), results(result("c2", "no clock", is_error=True))), (assistant('[{"name": "get_time", "arguments": {}}]'), user("The function get_time failed:\nno clock"))),
    "nothing said": ((results(result("x"), result("y", "", is_error=True)),), (user("A function that was called earlier returned, and said nothing.\n\nA function that was called earlier failed, and said nothing."),)),
    "an id that is used again": (
        (assistant(CALL), results(result("c1", "A")), assistant(replace(OTHER, id="c1")), results(result("c1", "noon"))),
        (
            assistant('[{"name": "read_file", "arguments": {"path": "a"}}]'),
            user("The function read_file returned:\nA"),
            assistant('[{"name": "get_time", "arguments": {}}]'),
            user("The function get_time returned:\nnoon"),
        ),
    ),
    "an image": (
        (assistant(CALL), results(result("c1", "It is", IMAGE, "this.")), user("Well?")),
        (assistant('[{"name": "read_file", "arguments": {"path": "a"}}]'), user("The function read_file returned:\nIt is\nthis.", IMAGE, "Well?")),
    ),
    "an image alone": ((results(result("c1", IMAGE)),), (user("A function that was called earlier returned:", IMAGE),)),
    "thinking and text around": (
        (assistant(ThinkingPart("hm"), "one", CALL, "two", OTHER),),
        (assistant(ThinkingPart("hm"), 'one\n\n[{"name": "read_file", "arguments": {"path": "a"}}]\n\ntwo\n\n[{"name": "get_time", "arguments": {}}]'),),
    ),
    "a custom call": (
        (assistant(ToolUse("c1", "apply_patch", '*** "x"\n', kind="custom")), results(result("c1", "ok", kind="custom"))),
        (assistant('[{"name": "apply_patch", "arguments": {"input":"*** \\"x\\"\\n"}}]'), user("The function apply_patch returned:\nok")),
    ),
    "arguments that are broken off": ((assistant(ToolUse("c1", "read_file", '{"path": "')),), (assistant('[{"name": "read_file", "arguments": "{\\"path\\": \\""}]'),)),
    "half a surrogate pair": ((assistant(ToolUse("c1", "read_file", "\ud800")),), (assistant('[{"name": "read_file", "arguments": "\\ud800"}]'),)),
    "a cache in the middle": (
        (assistant(CALL), results(ToolResult("c1", (TextPart("A"),), cache=CACHE)), user("Go on.")),
        (assistant('[{"name": "read_file", "arguments": {"path": "a"}}]'), user(TextPart("The function read_file returned:\nA", CACHE), "Go on.")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HISTORY)
def test_history(name: str) -> None:
    turns, expected = HISTORY[name]
    assert prompted(Conversation(turns=turns)).turns == expected


def test_a_custom_tool_is_told_as_a_function() -> None:
    patch = Tool("apply_patch", "Patches.", kind="custom", format={"type": "grammar", "syntax": "lark", "definition": "start: X"})
    [told] = prompted(Conversation(tools=(patch,)), "{tools}").turns[0].parts
    assert isinstance(told, TextPart)
    function = json.loads(told.text)
    assert (function["name"], function["parameters"]["required"]) == ("apply_patch", ["input"])
    assert "start: X" in function["description"]


def test_what_a_prompt_cannot_say_is_left_out_and_told() -> None:
    search = Other("messages", {"type": "web_search_20250305", "name": "web_search"})
    given = Conversation(turns=(user("Hi"),), tools=(search, Other("responses", {"type": "mcp"})))
    assert prompted(given) == Conversation(turns=(user("Hi"),))
    notes = left_out(replace(given, tools=(*given.tools, replace(TIME, strict=True), READ)))
    assert [note.partition(":")[0] for note in notes] == [
        "the tool web_search is left out",
        "the tool mcp is left out",
        "the arguments are not made to fit the schema, strict as it is, of",
    ]
    assert left_out(Conversation(tools=(READ, TIME))) == ()


# templates and limits


@pytest.mark.parametrize(
    ("template", "wrong"),
    [
        ("", "the template has no place for the tools"),
        ("Tools: %s", "the template has no place for the tools"),
        ("{ tools }", "the template has no place for the tools"),
        ("{tools} and {tools}", "the template has 2 places for the tools"),
        ('Say {"x": {{tools}}}', "the template has {{tools}}, with two braces on each side"),
    ],
)
def test_a_wrong_template(template: str, wrong: str) -> None:
    right = "write {tools} once, where the tools are to stand; other braces stand for themselves"
    with pytest.raises(ValueError, match=f"^{re.escape(f'{wrong}: {right}')}$"):
        check(template)


@pytest.mark.parametrize("template", [DEFAULT, "{tools}", '{"tools": [{tools}]} {} {0} {x} } { %s [{"name": "n", "parameters": {}}]'])
def test_a_right_template(template: str) -> None:
    check(template)
    tricky = Tool("a", "{tools} \\1 {0} %s")
    [told] = prompted(Conversation(tools=(tricky,)), template).turns[0].parts
    before, after = template.split("{tools}")
    assert told == TextPart(f'{before}{{"name":"a","description":"{{tools}} \\\\1 {{0}} %s","parameters":{{"type":"object","properties":{{}}}}}}{after}')


def sized(size: int) -> Tool:
    """The one tool that makes a prompt of so many bytes."""
    return Tool("a", "ä" * ((size - 60) // 2) + "x" * ((size - 60) % 2), {"type": "object"})


LIMITS: list[tuple[tuple[Tool, ...], str]] = [
    (tuple(Tool(f"t{n}") for n in range(MAX_TOOLS + 1)), "the request has 1001 tools, and a prompt may describe 1000: offer fewer, or route it"),
    ((TIME, Tool("x" * 65)), f"the tool name '{'x' * 65}' has 65 characters, and may have 64: shorten it, or route it"),
    ((sized(MAX_PROMPT + 1),), "the tools make a prompt of 1048577 bytes, and it may have 1048576: offer fewer tools, or shorter descr"),
]


@pytest.mark.parametrize(("tools", "wrong"), LIMITS)
def test_limits(tools: tuple[Tool, ...], wrong: str) -> None:
    with pytest.raises(RequestError, match=f"^{re.escape(wrong)}.* a model that has tools of its own$"):
        prompted(Conversation(tools=tools), "{tools}")


def test_at_the_limits() -> None:
    for tools in (tuple(Tool(f"t{n}".rjust(64, "x")) for n in range(MAX_TOOLS)), (sized(MAX_PROMPT),)):
        [told] = prompted(Conversation(tools=tools), "{tools}").turns[0].parts
        assert isinstance(told, TextPart)
        assert told.text.count("\n") == len(tools) - 1
    assert len(told.text.encode()) == MAX_PROMPT


# the answer

OFFER = request(tool("read_file", path={"type": "string"}), tool("get_time", zone={"type": "string"}), model="some/model")
ARMED = Settings(dialects=tuple(dialect.name for dialect in OPEN_JSON))
ARRAY = '[{"name": "read_file", "arguments": {"path": "a.md"}}, {"name": "get_time", "arguments": {}}]'
CALLS = [("read_file", '{"path": "a.md"}'), ("get_time", "{}")]
ANSWERS: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "the array": (ARRAY, CALLS, ""),
    "behind words": (f"I will look.\n\n{ARRAY}", CALLS, "I will look.\n\n"),
    "in a fence": (f"I will look.\n```json\n{ARRAY}\n```", CALLS, "I will look.\n"),
    "one object": ('{"name": "get_time", "arguments": {"zone": "UTC"}}', [("get_time", '{"zone": "UTC"}')], ""),
    "parameters": ('[{"name": "get_time", "parameters": {"zone": "UTC"}}]', [("get_time", '{"zone": "UTC"}')], ""),
    "the example itself": (DEFAULT.splitlines()[6], [], DEFAULT.splitlines()[6]),
    "words": ("The list [1, 2] is {short}.", [], "The list [1, 2] is {short}."),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_becomes_calls(name: str) -> None:
    text, calls, content = ANSWERS[name]
    body = stream(pieces(text, 1))
    for chunks in cuts(body):
        choice = read(play(lambda: Pipeline(OFFER, settings=ARMED), chunks)).only
        assert [(call.name, call.arguments) for call in choice.calls] == calls
        assert choice.content == content
        assert choice.finish_reasons == ["tool_calls" if calls else "stop"]
        assert choice.faults == []
        assert all(re.fullmatch("call_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}", call.id) for call in choice.calls)
        assert len({call.id for call in choice.calls}) == len(calls)


FUNCTIONS = {"read_file": {"type": "object", "properties": {"path": {"type": "string"}}}, "get_time": {"type": "object"}}
ASK: dict[str, dict[str, Any]] = {
    "chat": {
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in FUNCTIONS.items()],
        "tool_choice": "auto",
    },
    "messages": {
        "max_tokens": 99,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"name": name, "input_schema": schema} for name, schema in FUNCTIONS.items()],
        "tool_choice": {"type": "auto"},
    },
    "responses": {
        "input": "Hi",
        "tools": [{"type": "function", "name": name, "parameters": schema} for name, schema in FUNCTIONS.items()],
        "tool_choice": "auto",
    },
}


@pytest.mark.parametrize("client", ASK)
def test_there_and_back(client: str) -> None:
    """A client of any API, and a chat upstream whose model has no tools."""
    asked = {"model": "some/model", "stream": True, **ASK[client]}
    translated = translate(asked, client=client, upstream="chat", template=DEFAULT)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & translated.request.keys()
    first, last = translated.request["messages"]
    assert (first["role"], last) == ("system", {"role": "user", "content": "Hi"})
    assert [json.loads(line)["name"] for line in first["content"].splitlines() if line.startswith('{"name"')] == [*FUNCTIONS]
    body = stream(pieces(f"I will look.\n\n{ARRAY}", 1))
    for chunks in cuts(body):
        out = play(lambda: Pipeline(asked, source="chat", target=client, translated=translated), chunks)
        message = fold(events_of(client, [out], stream=True))
        assert [(call.name, json.loads(call.arguments)) for call in message.calls.values()] == [("read_file", {"path": "a.md"}), ("get_time", {})]
        assert message.text.strip() == "I will look."
        assert message.finish == Finish("tool_calls")
        assert len({call.id for call in message.calls.values() if re.search("_[0-9a-f]{12}7[0-9a-f]{19}$", call.id)}) == 2


def test_who_speaks_keeps_the_name() -> None:
    said = [{"role": role, "name": name, "content": name} for role, name in (("user", "Ann"), ("assistant", "Bob"), ("user", "Eve"))]
    translated = translate({"model": "m", **ASK["chat"], "messages": said}, client="chat", upstream="chat", template=DEFAULT)
    assert translated.request["messages"][1:] == said


def test_earlier_calls_are_in_the_form_that_is_read() -> None:
    """A model that copies what it finds in the conversation writes calls."""
    turn = prompted(Conversation(turns=(assistant(ToolUse("a", "read_file", '{"path": "a.md"}'), ToolUse("b", "get_time", "")),))).turns[0]
    [told] = turn.parts
    assert isinstance(told, TextPart)
    assert told.text == ARRAY
    assert DEFAULT.splitlines()[6].startswith('[{"name": ')
