"""Gemma's notation: agreement with an oracle, and what must hold for all text, however it is cut."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patterns.gemini_text import gemini
from tests.patterns.gemma import Q, functiongemma, gemma4, literal, stripped
from tests.support.markup import VALUES, Told, cut
from toolmend.core.events import ToolCallDelta, ToolCallEnd
from toolmend.core.tools import Tools
from toolmend.dialects import DIALECTS
from toolmend.dialects.engine.markup_parser import MarkupParser
from toolmend.dialects.engine.opener_index import opener_index

NAMES = ("gemma4", "functiongemma", "gemini", "gemma_stripped")
STRING, NUMBER = {"type": "string"}, {"type": "integer"}
TOOLS = Tools({"f": {"properties": {"a": STRING, "b": STRING, "n": NUMBER, "o": {"type": "object"}}}, "g": {}, "h-2.x": {}})


def told(text: str, sizes: tuple[int, ...] | list[int] = ()) -> Told:
    return Told(cut(text, list(sizes)), TOOLS, NAMES)


def oracle(text: str) -> list[tuple[str, Any]]:
    """Strings are every second part between their tokens; what is left becomes JSON by quoting the keys."""
    calls = []
    for body in re.findall(r"<\|tool_call>(call:.*?)<tool_call\|>", text, re.DOTALL):
        name, _, rest = body.removeprefix("call:").partition("{")
        parts = ("{" + rest).split(Q)
        parts[1::2] = [json.dumps(part) for part in parts[1::2]]
        parts[::2] = [re.sub(r"([{,])\s*([A-Za-z_]\w*)\s*:", r'\1"\2":', part) for part in parts[::2]]
        calls.append((name, json.loads("".join(parts))))
    return calls


KEYS = st.from_regex(r"[A-Za-z_][a-z0-9_]{1,8}", fullmatch=True)  # none that TOOLS declares


def keyed(value: Any) -> Any:
    """The value with keys that may stand without quotes."""
    if isinstance(value, dict):
        return {f"k{n}": keyed(inner) for n, inner in enumerate(value.values())}
    return [keyed(inner) for inner in value] if isinstance(value, list) else value


CALLS = st.lists(st.tuples(st.sampled_from("fg"), st.dictionaries(KEYS, VALUES.map(keyed), max_size=4)), min_size=1, max_size=3)
GAPS = st.sampled_from(["", " ", "\n"])


@given(CALLS, GAPS, st.lists(st.integers(1, 12), max_size=200))
def test_it_agrees_with_the_oracle(calls: list[tuple[str, dict[str, Any]]], gap: str, sizes: list[int]) -> None:
    text = f"Hm.{gap}{gap.join(f'<|tool_call>call:{name}{literal(given_)}<tool_call|>' for name, given_ in calls)}{gap}ok"
    found = told(text, sizes)
    assert [(name, json.loads(arguments)) for _, name, arguments in found.calls] == oracle(text) == calls
    assert len(found.ended) == len(calls)
    assert found.content == f"Hm.{gap}{gap}ok"


@pytest.mark.parametrize("write", [gemma4, functiongemma, stripped, gemini])
@given(calls=CALLS, sizes=st.lists(st.integers(1, 12), max_size=200))
def test_what_is_written_is_read(write: Any, calls: list[tuple[str, dict[str, Any]]], sizes: list[int]) -> None:
    found = told(write(calls), sizes)
    assert [(name, json.loads(arguments)) for _, name, arguments in found.calls] == calls
    assert found.content == ""


FRAGMENTS = st.sampled_from([
    "<|tool_call>", "<|tool_call|>", "<tool_call|>", "<|tool_response>", "<|tool", "call:", "f", "f{", "call:f{", "call:g{a:", "h-2.x(", "rm{",
    "<start_function_call>", "<end_function_call>", "<escape>", "<esc",
    "call:default_api:", "<call:default_api:f{", "<ctrl46>", "/>", Q, Q[:3], "{", "}", "[", "]", "(", ")", ",", ":", "=", "a", "a:", ",b:", "n:",
    "1", "-2.5", "None", "true", "x y", '"', "'", "\\", "\\u00", "\n", " ", "é", "\ud83c", "`",
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


FORMS = {  # one call: the text, its arguments
    "<|tool_call>call:f{}<tool_call|>": "{}",
    "<|tool_call>call:f()<tool_call|>": "{}",
    "<|tool_call>call:f({})<tool_call|>": "{}",
    "<|tool_call>call:f<|tool_response>": "{}",
    "<|tool_call>call:f {\n a : 1,\n}": '{"a": 1}',
    "<|tool_call>call:f{a:}<tool_call|>": '{"a": ""}',
    "<|tool_call>call:f{a:[],b:{}}": '{"a": [], "b": {}}',
    "<|tool_call>call:f{o:{a:{b:[[1],{c:[]}]}},n:2}": '{"o": {"a": {"b": [[1], {"c": []}]}}, "n": 2}',
    "<|tool_call>call:f{o:{a:[1,2": None,
    "<|tool_call>call:f{o:{a:[1,2<tool_call|>": '{"o": {"a": [1, 2]}}',
    f"<|tool_call>call:f{{a:{Q}x<tool_call|>": None,
    f"<|tool_call>call:f{{a:{Q}x{Q}": None,
    "<|tool_call>call:f{a:1": None,
    f"<|tool_call>call:f{{a:{Q}{Q},b:{Q}<|{Q}}}": '{"a": "", "b": "<|"}',
    "<|tool_call>call:f{a:12:30,b:http://x/?q=1}": '{"a": "12:30", "b": "http://x/?q=1"}',
    "<|tool_call>call:f{a:1.0,b:-0,c:1e3,d:007,e:0x1f}": '{"a": 1.0, "b": -0, "c": 1e3, "d": "007", "e": 31}',
    "<|tool_call>call:f{a:one, two,b:three}": '{"a": "one, two", "b": "three"}',
    "<|tool_call>call:g{a:one, two,b:three}": '{"a": "one, two", "b": "three"}',
    "<|tool_call>call:g{a:[one, two {3}, 4]}": '{"a": ["one", "two {3}", 4]}',
    '<|tool_call>call:g{a:["x",\'y\\n\',' + Q + "z" + Q + "]}": '{"a": ["x", "y\\n", "z"]}',
    "<|tool_call>call:g(a=[1], b={c: None})": '{"a": [1], "b": {"c": null}}',
    "<|tool_call>f{a:1}": '{"a": 1}',
    "<|tool_call>call:g{a:1 <tool_call|>": '{"a": 1}',
    "<start_function_call>call:g{a:<escape>{}, }<escape>,b:[<escape><esc<escape>]}<end_function_call>": '{"a": "{}, }", "b": ["<esc"]}',
    "call:f{a:12,n:12}": '{"a": "12", "n": 12}',
    "call:f{a:{x},b:[1]}": '{"a": "{x}", "b": "[1]"}',
    "call:f{a:n, x: 1, b :2}": '{"a": "n, x: 1", "b": "2"}',
    "call:f{n:1, x:2}": '{"n": 1, "x": 2}',
    "call:f{a:it's \"x\", 'b': y}": '{"a": "it\'s \\"x\\"", "b": "y"}',
    "call:default_api:f{a:<ctrl46>x}, b:1<ctrl46>,n:2}": '{"a": "x}, b:1", "n": 2}',
    "<call:default_api:f{a:x}/>": '{"a": "x"}',
    "<call:default_api:f{a:x}": '{"a": "x"}',
    "call:default_api:f{}": "{}",
    "call:f(a=x, b=y)": '{"a": "x", "b": "y"}',
    'call:f({"a": "x"})': '{"a": "x"}',
    'call:f{a:"}",b:x}': '{"a": "}", "b": "x"}',
    "call:f{a:(}'},b:)}": '{"a": "(}\'}", "b": ")"}',
}  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_forms(text: str) -> None:
    for at in range(len(text)):
        found = told(text, (at,))
        assert found.content == ""
        (call,) = found.calls
        if FORMS[text] is None:
            assert found.ended == []
            with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
                json.loads(call[2])
        else:
            assert call[2] == FORMS[text]
            assert found.ended == [0]


TEXTS = [  # text that is no call
    "<|tool_call>", "<|tool_call>call:", "<|tool_call>call:f", "<|tool_call>call:f x", "<|tool_call>rm{a:1}", "<|tool_call>f", "<|tool_call>call:f{…}<tool_call|>",
    "<|tool_call>call:{a:1}", "<|tool_call>call:é{a:1}", "<|tool_call>call:f(x)", "<|tool_call>call:f[1]", "<|tool_call|>[1]", "<tool_call|>",
    "call:f", "call:f x", "call: f{a:1}", "call:f {a:1}", "call:rm{a:1}", "call:f{x}", "- call:f{a:1}", "`call:f{a:1}`", "recall:f{a:1}",
    "call:f<tool_call|>", "<start_function_call>call:f", "<escape>",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_no_call(text: str) -> None:
    for at in range(len(text)):
        found = told(text, (at,))
        assert (found.content, found.calls, found.rules) == (text, [], [])


@pytest.mark.parametrize(("name", "head", "piece", "tail"), [
    ("gemma4", f"<|tool_call>call:f{{a:{Q}", 'a}, <|" b\n', f"{Q}}}<tool_call|>"), ("gemma4", "<|tool_call>call:g{a:[", "12, ", "1]}<tool_call|>"),
    ("functiongemma", "<start_function_call>call:f{a:<escape>", "<b>", "<escape>}<end_function_call>"), ("gemma4", "<|tool_call>call:g{a:", "{a:", "}}}"),
])  # fmt: skip
def test_values_stream_and_nothing_grows(name: str, head: str, piece: str, tail: str) -> None:
    rules: list[str] = []
    reader = MarkupParser(opener_index((DIALECTS[name],)), TOOLS, 0, lambda: "call_0", rules.append)
    reader.feed(head)
    deltas = 0
    for _ in range(5000):
        deltas += sum(isinstance(op, ToolCallDelta) for op in reader.feed(piece))
        assert len(reader.scanner.text) < 20
    assert deltas > 4000
    if not tail.startswith("}"):
        assert any(isinstance(op, ToolCallEnd) for op in reader.feed(tail))


def test_text_without_quotes_is_held_but_not_read_again() -> None:
    reader = MarkupParser(opener_index((DIALECTS["gemma_stripped"],)), TOOLS, 0, lambda: "call_0", lambda _: None)
    reader.feed("call:f{a:")
    for _ in range(5000):
        reader.feed("x, y {1}: ")
        assert len(reader.scanner.text) < 30
    told_ = [op.arguments for op in [*reader.feed("}"), *reader.close()] if isinstance(op, ToolCallDelta)]
    assert told_ == [json.dumps(("x, y {1}: " * 5000).strip()), "}"]
