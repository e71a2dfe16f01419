"""markup_parser.py with the scanner and the dialects: agreement with the oracle, and what must hold for all text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patterns import kimi
from tests.patterns.kimi import A, B, C, E, S
from tests.support import oracles
from tests.support.markup import NAMES, TEXT, VALUES, Told, cut
from toolmend.core.events import ToolCallDelta
from toolmend.core.tools import UNKNOWN, Tools
from toolmend.dialects import DIALECTS
from toolmend.dialects.engine.markup_parser import MAX_HELD, MarkupParser
from toolmend.dialects.engine.opener_index import opener_index
from toolmend.dialects.families.xml_call import XML_CALL

CALLS = st.lists(st.tuples(NAMES, st.dictionaries(TEXT, VALUES, max_size=4)), min_size=1, max_size=3)
BLANKS = st.sampled_from(["", " ", "\n", " \n "])


@given(CALLS, TEXT, TEXT, BLANKS, st.booleans(), st.booleans(), st.lists(st.integers(1, 12), max_size=200))
def test_kimi_agrees_with_the_oracle(
    calls: list[tuple[str, dict[str, Any]]], before: str, after: str, blank: str, section: bool, ascii_: bool, sizes: list[int]
) -> None:
    body = blank.join(
        f"{B}{blank}functions.{name}:{n}{blank}{A}{blank}{json.dumps(arguments, ensure_ascii=ascii_)}{blank}{C}"
        for n, (name, arguments) in enumerate(calls)
    )
    text = f"{before}{S}{blank}{body}{blank}{E}{after}" if section else f"{before}{body}{after}"
    told = Told(cut(text, sizes))
    expected = oracles.kimi_k2(text)
    assert [tuple(call) for call in told.calls] == expected.calls
    assert len(told.ended) == len(calls)
    assert "".join(told.content.split()) == "".join(expected.content.split())
    assert told.content.startswith(before)
    assert told.content.endswith(after.lstrip())
    assert told.at == len(text)


FRAGMENTS = st.sampled_from([
    S, E, B, A, C, S[:9], B[:12], A[:20], "<", "<|", "|>", "functions.a:0", "functions.", "a", ":3", "3", " ", "\n",
    "{", "}", '{"a":1}', '"', "\\", '\\"', "[", "]", "null", '"{}"', "<|im_end|>", "é", "prose ",
])  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=25), st.lists(st.integers(1, 30), max_size=60))
def test_any_text_any_cut(parts: list[str], sizes: list[int]) -> None:
    """Nothing raises, nothing is lost, and the cut does not matter."""
    text = "".join(parts)
    tools = Tools({"a": {"type": "object", "properties": {"a": {}}}})
    whole = Told([text], tools)
    assert whole.at == len(text)
    told = Told(cut(text, sizes), tools)
    assert (told.content, told.markup, told.calls, told.ended) == (whole.content, whole.markup, whole.calls, whole.ended)
    if not whole.calls:
        assert whole.content == text


@pytest.mark.parametrize("name", kimi.PATTERNS)
def test_the_cut_of_the_text_does_not_matter(name: str) -> None:
    text = "".join(kimi.PATTERNS[name].deltas)
    tools = Tools({"task": {}, "get_weather": {"properties": {"city": {}}}})
    whole = Told([text], tools)
    for at in range(1, len(text)):
        told = Told([text[:at], text[at:]], tools)
        assert (told.content, told.calls, told.ended) == (whole.content, whole.calls, whole.ended)


def test_arguments_stream_as_they_come() -> None:
    reader = Told([]).reader
    reader.feed(f"{B}functions.a:0{A}")
    assert [op.arguments for op in reader.feed('{"x": "') if isinstance(op, ToolCallDelta)] == ['{"x": "']
    for piece in ("a", "<", "|tool_call_end", "|> b"):
        assert [op.arguments for op in reader.feed(piece) if isinstance(op, ToolCallDelta)] == [piece]


def test_prose_is_never_delayed() -> None:
    reader = Told([]).reader
    for piece in ("Hello", " wor", "ld {", '"name": 1} [', "<b>"):
        assert reader.feed(piece) == [len(piece)]
    assert reader.feed("<|tool_call") == []
    assert reader.feed("s are") == [len("<|tool_calls are")]


@pytest.mark.parametrize("before", [S + "\n" * MAX_HELD, f"{B}functions.a:0{A}" + '"' + "x" * MAX_HELD, f"{B}3{A}" + '{"a":"' + "x" * MAX_HELD])
def test_what_is_held_has_a_bound(before: str) -> None:
    told = Told([*cut(before, [65536] * 20), f"\n{B}functions.a:1{A}{{}}{C}"])
    assert told.content.startswith(before)
    assert told.calls == [["functions.a:1", "a", "{}"]]
    assert told.rules == ["hold_limit", "kimi_k2"]


@pytest.mark.parametrize("reasoning", [False, True], ids=["content", "reasoning"])
def test_how_one_text_goes_on_says_nothing_of_the_other(reasoning: bool) -> None:
    reader = MarkupParser(opener_index((DIALECTS["kimi_k2"],)), UNKNOWN, 0, lambda: "call_0", lambda _: None)
    reader.feed("Hm.", reasoning)
    for held in (False, True):
        assert reader.text_state(reasoning=reasoning, held=held)
        assert reader.text_state(reasoning=not reasoning, held=held) is None


LFM2 = "<|tool_call_start|>"
PICK = Tools({"pick": {"type": "object", "properties": {"a": {"type": "string"}}}})
CALL = '{"name": "pick", "arguments": {"a": "b"}}'
WRAPPED = (
    ("kimi_k2", f"<|tool_calls_section_begin|>\n{CALL}\n<|tool_calls_section_end|>"),
    ("kimi_k2", f"<|tool_calls_section_begin|>[{CALL}]<|tool_calls_section_end|>"),
    ("kimi_k2", f"<|tool_calls_section_begin|>\n```json\n{CALL}\n```\n<|tool_calls_section_end|>"),
    ("deepseek_v3", f"<｜tool▁calls▁begin｜>```json\n{CALL}\n```<｜tool▁calls▁end｜>"),
    ("minimax_m2", f"<minimax:tool_call>\n{CALL}\n</minimax:tool_call>"),
    ("dsml", f"<｜DSML｜function_calls>\n{CALL}\n</｜DSML｜function_calls>"),
    ("mistral", f"[TOOL_CALLS]\n```json\n[{CALL}]\n```"),
    ("hermes", f"<tool_call>\n{CALL}</parameter>\n</function>\n</tool_call>"),
    ("mistral", f'[TOOL_CALLS] [{CALL}, {{"name": "pi'),
    ("xml_call", f"<pick>\n{CALL}\n</pick>"),
)
"""JSON in a wrapper that its own dialect fills in another way, and pieces of markup around it."""


@pytest.mark.parametrize(("dialect", "text"), WRAPPED)
def test_json_in_a_wrapper_is_a_call(dialect: str, text: str) -> None:
    for pieces in ([text], list(text)):
        told = Told(pieces, PICK, (dialect,), broken=False) if dialect != "xml_call" else xml_call(pieces)
        assert ([(name, json.loads(arguments)) for _, name, arguments in told.calls], told.content) == ([("pick", {"a": "b"})], "")


def xml_call(pieces: list[str], tools: Tools = PICK) -> Told:
    """`xml_call` has the names of the offered tools among its openers."""
    told = Told([], tools)
    told.text = "".join(pieces)
    told.reader = MarkupParser(opener_index((XML_CALL.of(tools),)), tools, 0, lambda: "call_0", told.rules.append)
    for piece in pieces:
        told.take(told.reader.feed(piece))
    told.take(told.reader.close())
    return told


@pytest.mark.parametrize(
    "text",
    [
        '<|tool_calls_section_begin|>\n{"name": "other", "arguments": {}}\n',
        '<|tool_calls_section_begin|>{"name": "pick"}',
        f"<|tool_calls_section_begin|> is followed by {CALL}",
        f"`<|tool_calls_section_begin|>{CALL}`",
        f"[TOOL_CALLS] {{}} and [{CALL}",
    ],
)
def test_other_json_in_a_wrapper_is_text(text: str) -> None:
    for pieces in ([text], list(text)):
        told = Told(pieces, PICK, ("kimi_k2", "mistral"), broken=False)
        assert (told.calls, told.content) == ([], text)


def test_an_array_that_breaks_off_far_behind_its_calls_is_text() -> None:
    rest = ', {"x": "' + "y" * 300
    told = Told([f"[TOOL_CALLS] [{CALL}{rest}"], PICK, ("mistral",))
    assert (len(told.calls), told.content) == (1, rest)


@pytest.mark.parametrize(("after", "content"), [(LFM2, ""), (f" {LFM2}\n", ""), (f" and {LFM2}", f" and {LFM2}"), (f"{LFM2} x", f"{LFM2} x")])
def test_a_token_that_begins_no_further_call_is_dropped(after: str, content: str) -> None:
    text = f'{LFM2}[pick(a="b")]<|tool_call_end|>{after}'
    for pieces in ([text], list(text)):
        told = Told(pieces, PICK, ("lfm2",), broken=False)
        assert ([call[2] for call in told.calls], told.content) == (['{"a": "b"}'], content)


WRITE = Tools({"write": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}})


@pytest.mark.parametrize(
    ("value", "end", "content"),
    [
        ("<div>x</div>", "", None),
        ("x</div>", "", None),
        ("<div>x</div>", "</write>", None),
        ("<p>x</p>", "</content></write>", "<p>x</p>"),
        ("x", "</contnt></write>", "x"),
        ("x", "</contnt>", "x"),
        ("x", "</parameter>\n</write>", "x"),
        ("x", "</file>\n<path>b</path>\n</write>", "x"),
    ],
)
def test_tags_of_a_value_are_not_its_end(value: str, end: str, content: str | None) -> None:
    text = f"<write>\n<path>a</path>\n<content>\n{value}{end}"
    for pieces in ([text], list(text)):
        told = xml_call(pieces, WRITE)
        assert [json.loads(arguments)["content"] for _, _, arguments in told.calls] == ([content] if content else []), text
        assert told.content == ("" if content else text)
