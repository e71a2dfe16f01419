"""Harmony: agreement with an oracle, and what must hold for all text, however it is cut."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge import Choice, read
from patterns.gpt_oss import CALL, CHANNEL, CONSTRAIN, END, MESSAGE, OTHER_MODEL, READ, REQUEST, RETURN, START, said
from streams import play, request, stream, tool
from test_reader import NAMES, TEXT, VALUES, cut

from toolmend.pipeline import Pipeline
from toolmend.reader import MAX_HELD


def answer(pieces: list[str], asked: dict[str, Any] = REQUEST, field: str = "content") -> Choice:
    numbers = iter(range(1000))
    upstream = stream([piece for piece in pieces if piece], field=field)
    return read(play(lambda: Pipeline(asked, new_id=lambda: f"call_{next(numbers)}"), [upstream])).only


def oracle(text: str) -> tuple[str, str, list[tuple[str, str]]]:
    """Content, reasoning and calls of well-formed messages."""
    content, reasoning, calls = "", "", []
    for header, body in re.findall(r"(.*?)<\|message\|>(.*?)(?:<\|(?:end|call|return)\|>|\Z)", text, re.DOTALL):
        recipient = re.search(r"to=functions\.([\w.-]+)", header)
        if recipient:
            calls.append((recipient[1], body.strip() or "{}"))
        elif "analysis" in header:
            reasoning += body
        else:
            content += body
    return content, reasoning, calls


def directed(blank: str, name: str, arguments: str, first: bool) -> str:
    """A call, its recipient before the channel or behind it."""
    to, channel = f"to=functions.{name}{blank}", f"{CHANNEL}{blank}{'analysis' if first else 'commentary'}{blank or ' '}"
    return f"{START}{blank}{to + channel if first else channel + to}{CONSTRAIN}{blank}json{MESSAGE}{blank}{arguments}{blank}{CALL}"


BLANKS = st.sampled_from(["", " ", "\n", " \n "])
ARGUMENTS = st.dictionaries(TEXT, VALUES, max_size=4)
MESSAGES = st.lists(
    st.tuples(st.sampled_from(["analysis", "commentary", "final"]), TEXT) | st.tuples(NAMES, ARGUMENTS), max_size=5
)
SIZES = st.lists(st.integers(1, 12), max_size=200)


@given(MESSAGES, BLANKS, st.booleans(), st.booleans(), st.sampled_from(["content", "reasoning_content"]), SIZES)
def test_agrees_with_the_oracle(
    messages: list[tuple[str, Any]], blank: str, first: bool, ascii_: bool, field: str, sizes: list[int]
) -> None:
    text = "".join(
        START + said(head, body) if isinstance(body, str) else directed(blank, head, json.dumps(body, ensure_ascii=ascii_), first)
        for head, body in messages
    )
    names = {head for head, body in messages if not isinstance(body, str)}
    choice = answer(cut(text, sizes), request(*map(tool, names or {"a"}), model="gpt-oss-20b"), field)
    content, reasoning, calls = oracle(text)
    assert [(call.name, call.arguments) for call in choice.calls] == calls
    assert "".join(choice.content.split()) == "".join(content.split())
    assert "".join(choice.reasoning.split()) == "".join(reasoning.split())
    assert choice.faults == []


FRAGMENTS = st.sampled_from([
    START, "<|start|>", CHANNEL, CONSTRAIN, MESSAGE, END, CALL, RETURN, CHANNEL[:6], MESSAGE[:4], "<", "<|", "assistant", "analysis",
    "commentary", "final", "to=", "functions.", "read_file", "get_time", "x", "json", "code", " ", "\n", "`", "```", READ, "{", "}",
    '"', "\\", "null", "user", f"{CHANNEL}analysis{MESSAGE}", f"{START}{CHANNEL}final{MESSAGE}", "to=functions.read_file json{",
    f"{CHANNEL}commentary to=functions.get_time {CONSTRAIN}json{MESSAGE}", "assistantfinal", "analysisWe", "é", "prose ",
])  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=20), SIZES, st.sampled_from(["content", "reasoning"]))
def test_any_text_any_cut(parts: list[str], sizes: list[int], field: str) -> None:
    """Nothing raises, the cut does not matter, and what is in no call and no token is kept."""
    text = "".join(parts)
    whole = answer([text], field=field)
    assert answer(cut(text, sizes), field=field) == whole
    assert whole.faults == []
    kept = whole.content + whole.reasoning + "".join(call.arguments for call in whole.calls)
    assert kept.count("é") == text.count("é")
    assert kept.count("prose") == text.count("prose")


@pytest.mark.parametrize("piece", ["It", " to", " a", "\nassist", " final", " analysis is", "com", "="])
def test_prose_of_other_models_is_never_delayed(piece: str) -> None:
    assert answer_so_far(OTHER_MODEL, piece).endswith(piece)


def answer_so_far(asked: dict[str, Any], piece: str) -> str:
    """What the client has, with the stream still open."""
    body = stream([piece], finish=None)
    pipeline = Pipeline(asked)
    return read(pipeline.feed(body[: body.index(b'"choices": [], "usage"')])).only.content


def test_reasoning_and_content_stream() -> None:
    for channel in ("analysis", "final"):
        assert "half a sen" in json.dumps(vars(read(open_stream(f"{CHANNEL}{channel}{MESSAGE}half a sen")).only), default=str)


def open_stream(text: str) -> bytes:
    pipeline = Pipeline(REQUEST)
    return pipeline.feed(stream(cut(text, [7] * 99), finish=None).rpartition(b"data: {")[0])


@pytest.mark.parametrize("before", ["analysisWe", f"{CHANNEL}commentary to=functions.read_file{MESSAGE}" + '"'])
def test_what_is_held_has_a_bound(before: str) -> None:
    text = before + "x" * MAX_HELD
    choice = answer([*cut(text, [65536] * 20), f"\n{CHANNEL}commentary to=functions.read_file{MESSAGE}{READ}"])
    assert choice.content == text + "\n"
    assert [(call.name, call.arguments) for call in choice.calls] == [("read_file", READ)]


def test_a_header_has_a_bound() -> None:
    text = f"{CHANNEL}commentary to=functions.{'x' * 400}"
    assert answer_so_far(REQUEST, text) == text
