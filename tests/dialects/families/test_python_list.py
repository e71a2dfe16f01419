"""Calls that are Python: agreement with Python's own reader, and what must hold for all text, however it is cut."""

import ast
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patterns.python_list import lfm2, listed, llama, olmo3
from tests.support.markup import TEXT, VALUES, Told, cut
from toolmend.core.events import ToolCallDelta, ToolCallEnd
from toolmend.core.tools import Tools
from toolmend.dialects import DIALECTS
from toolmend.dialects.engine.markup_parser import MarkupParser
from toolmend.dialects.engine.opener_index import opener_index

NAMES = ("python_list", "llama_python", "olmo3", "lfm2", "tool_code")
TOOLS = Tools({"f": {}, "g": {}, "h-2.x": {}})


def told(text: str, sizes: tuple[int, ...] | list[int] = (), tools: Tools = TOOLS) -> Told:
    return Told(cut(text, list(sizes)), tools, NAMES)


def oracle(text: str) -> list[tuple[str, Any]]:
    """The calls of a list, as Python reads it; the words of JSON are names to Python."""
    words = {"true": "True", "false": "False", "null": "None"}
    calls = ast.parse(text, mode="eval").body.elts  # type: ignore[attr-defined]
    for node in ast.walk(ast.List(calls)):
        if isinstance(node, ast.Name) and node.id in words:
            node.id = words[node.id]
    return [
        (ast.unparse(call.func), {part.arg: ast.literal_eval(ast.unparse(part.value)) for part in call.keywords})
        for call in calls
    ]


def _tripled(text: str) -> str:
    return '"""' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "\\r").replace("\0", "\\0") + '"""'


def _raw(text: str) -> str:
    return f"r'{text}'" if re.fullmatch(r"[^'\"\n\r\0]*[^'\"\n\r\0\\]", text) else repr(text)


QUOTE = st.sampled_from([repr, ascii, _tripled, _raw, lambda text: "u" + repr(text)])
COMMA = st.sampled_from([",", ", ", " ,\n  "])


@st.composite
def literals(draw: st.DrawFn, value: Any) -> str:
    """The source of a value, in one of many spellings."""
    match value:
        case str():
            return draw(QUOTE)(value)
        case bool() | None:
            return str(value) if draw(st.booleans()) else json.dumps(value)
        case list():
            inner = draw(COMMA).join(draw(literals(each)) for each in value)
            if draw(st.booleans()):
                return f"({inner},)" if inner else "()"
            return f"[ {inner}]"
        case dict():
            pairs = (f"{draw(QUOTE)(key)}:{draw(st.sampled_from(['', ' ']))}{draw(literals(each))}" for key, each in value.items())
            return f"{{{draw(COMMA).join(pairs)}}}"
        case _:
            return repr(value)


KEYS = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(lambda key: key.isidentifier() and key not in ("as", "is", "if", "in", "or"))
CALLS = st.lists(st.tuples(st.sampled_from("fg"), st.dictionaries(KEYS, VALUES, max_size=4)), min_size=1, max_size=3)


@given(st.data(), CALLS, COMMA, st.lists(st.integers(1, 12), max_size=200))
def test_it_agrees_with_python(data: st.DataObject, calls: list[tuple[str, dict[str, Any]]], comma: str, sizes: list[int]) -> None:
    def source(name: str, arguments: dict[str, Any]) -> str:
        return f"{name}({comma.join(f'{key}={data.draw(literals(value))}' for key, value in arguments.items())})"

    text = f"[{comma.join(source(*call) for call in calls)}]"
    try:
        expected = oracle(text)
    except SyntaxError:  # a keyword for a name
        return
    found = told(text + " ok", sizes)
    assert [[name, json.loads(arguments)] for _, name, arguments in found.calls] == json.loads(json.dumps(expected))
    assert len(found.ended) == len(calls)
    assert found.content == " ok"


@pytest.mark.parametrize("write", [listed, llama, olmo3, lfm2])
@given(calls=CALLS, before=TEXT, sizes=st.lists(st.integers(1, 12), max_size=200))
def test_what_is_written_is_read(write: Any, calls: list[tuple[str, dict[str, Any]]], before: str, sizes: list[int]) -> None:
    before = before.replace("`", "").replace("~", "").replace("[", "") + "\n"
    found = told(f"{before}{write(calls)}", sizes)
    assert [(name, json.loads(arguments)) for _, name, arguments in found.calls] == calls
    assert found.content == before


FRAGMENTS = st.sampled_from([
    "[", "]", "(", ")", "{", "}", ",", ":", "=", "==", "f", "f(", "g(a=", "h-2.x(", "rm(", "[f(a=", "x", "a=", "1", "-2.5e3", ".5", "None",
    "true", '"', "'", '"""', "'''", "r'", "\\", "\\x4", "\\u00", "\\1", "\\\r", " ", "\n", "é", "\ud83c", "<|python_start|>", "<|python_end|>",
    "<function_calls>", "</function_calls>", "<|tool_call_start|>", "<|tool_call_end|>", "<|tool", "</fun", '{"name": "f"', '"arguments": {', "`",
    "\n```tool_code\n", "```", "\n<tool_code>", "</tool_code>", "print(", "\nprint(default_api.", "default_api.", "f(a=1)",
])  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=30), st.lists(st.integers(1, 30), max_size=60))
def test_any_text_any_cut(parts: list[str], sizes: list[int]) -> None:
    """Nothing raises, nothing is lost, the cut does not matter, and what is complete is JSON."""
    text = "".join(parts)
    whole, found = told(text), told(text, sizes)
    assert whole.at == found.at == len(text)
    assert (found.content, found.markup, found.calls, found.ended) == (whole.content, whole.markup, whole.calls, whole.ended)
    if not whole.calls:
        assert whole.content == text
    for index, (_, _, arguments) in enumerate(whole.calls):
        if index in whole.ended:
            assert isinstance(json.loads(arguments), dict)


TEXTS = [  # text that is no call
    "[f(x)]", "[f(x, a=1)]", "[f(*x)]", "[f(**{'a': 1})]", "[f(a=x)]", "[f(a=g(1))]", "[f(a==1)]", "[f(x) for x in y]", "[f(a=x) for x in y]",
    "[f]", "[f (a=1)]", "[f()(1)]", "[f().x]", "[rm()]", "[]", "[1, 2]", "x = [f(a=1)]", "- [f(a=1)]", "f(a=1)", "[f(a=Nonexistent)]", "[f(a=b'x')]",
    "`[f(a=1)]`", "<function_calls><invoke name='f'></invoke></function_calls>", "<|python_start|>f = 1<|python_end|>", "<|tool_call_start|>{}",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_no_call(text: str) -> None:
    for at in range(len(text)):
        found = told(text, (at,))
        assert (found.content, found.calls, found.rules) == (text, [], [])


BROKEN = {  # what breaks off or turns out as code is never completed: the calls, and the rest of the text
    "[f(a='x": (['{"a": "x'], ""),
    "[f(a='x'": (['{"a": "x"'], ""),
    "[f(a=[1, 2": (['{"a": [1, 2'], ""),
    "[f(a='x' + 'y')]": (['{"a": "x"'], "+ 'y')]"),
    "[f(a=('x'))]": (['{"a": ["x"'], ")]"),
    "[f(a={'x'})]": (['{"a": {"x"'], "})]"),
    "[f(a=[,])]": (['{"a": ['], ",])]"),
    "[f(a=1, b=)]": (['{"a": 1, "b": '], ")]"),
    "[f(a=1, **b)]": (['{"a": 1, '], "**b)]"),
    "[f(a=1), g(a=": (['{"a": 1}'], ", g(a="),
    "[f(a=1), f(x)]": (['{"a": 1}'], ", f(x)]"),
    "<|python_start|>[f(a=1), x]<|python_end|> ok": (['{"a": 1}'], ", x] ok"),
    r"[f(a='\x4": (['{"a": "\\\\x4'], ""),
    "[f(a='\\": (['{"a": "'], "\\"),
}


@pytest.mark.parametrize("text", BROKEN)
def test_it_is_broken_off(text: str) -> None:
    expected = BROKEN[text]
    for at in range(len(text)):
        found = told(text, (at,))
        assert ([arguments for _, _, arguments in found.calls], found.content) == expected
        assert found.ended == [index for index, arguments in enumerate(expected[0]) if arguments.endswith("}")]


def test_a_name_is_an_offered_one_between_no_tokens() -> None:
    assert [name for _, name, _ in told("[functions.f(), h-2.x()]\n[i()]").calls] == ["f", "h-2.x"]
    assert [name for _, name, _ in told("<function_calls>functions.i()\nj.k-l()").calls] == ["i", "j.k-l"]
    assert told("<function_calls>é(a=1)").calls == []


@pytest.mark.parametrize(("head", "piece", "tail"), [
    ("[f(a='", "abc\\n", "')]"), ("[f(a='''", "a 'b' \n", "''')]"), ("[f(a=r'", "\\d ", "')]"), ("[f(a=[", "12, ", "])]"), ("[f(a=", "[", "]" * 5000 + ")]"),
])  # fmt: skip
def test_values_stream_and_nothing_grows(head: str, piece: str, tail: str) -> None:
    ops: list[Any] = []
    reader = MarkupParser(opener_index((DIALECTS["python_list"],)), TOOLS, 0, lambda: "call_0", ops.append)
    reader.feed(head)
    deltas = 0
    for _ in range(5000):
        deltas += sum(isinstance(op, ToolCallDelta) for op in reader.feed(piece))
        assert len(reader.scanner.text) < 20
    assert deltas > 4000
    assert any(isinstance(op, ToolCallEnd) for op in reader.feed(tail))
