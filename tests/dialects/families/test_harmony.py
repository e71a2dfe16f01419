"""Harmony: agreement with an oracle, and what must hold for all text, however it is cut."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patterns.gpt_oss import (
    CALL,
    CHANNEL,
    CONSTRAIN,
    END,
    HEADER,
    JSON,
    MESSAGE,
    OTHER_MODEL,
    READ,
    REQUEST,
    RETURN,
    START,
    THOUGHT,
    TIME,
    call,
    said,
)
from tests.support.judges.chat import Choice, read
from tests.support.markup import NAMES, TEXT, VALUES, cut
from tests.support.streams import play, request, stream, tool
from toolmend.dialects.engine.markup_parser import MAX_HELD
from toolmend.pipeline.pipeline import Pipeline


def answer(pieces: list[str], asked: dict[str, Any] = REQUEST, field: str = "content") -> Choice:
    """What a client makes of the deltas."""
    numbers = iter(range(1000))
    upstream = stream([piece for piece in pieces if piece], field=field)
    return read(play(lambda: Pipeline(asked, new_id=lambda: f"call_{next(numbers)}"), [upstream])).only


def so_far(pieces: list[str], asked: dict[str, Any] = REQUEST) -> Choice:
    """What a client has while the stream goes on."""
    events = stream(pieces, finish=None).split(b"\n\n")[:-3]  # no usage, no [DONE]
    return read(Pipeline(asked).feed(b"".join(event + b"\n\n" for event in events))).only


Found = tuple[str, str, list[tuple[str, str]]]  # content, reasoning, calls


def found(choice: Choice) -> Found:
    return choice.content, choice.reasoning, [(call.name, call.arguments) for call in choice.calls]


READS, TELLS = ("read_file", READ), ("get_time", TIME)
FORMS: dict[str, tuple[str, Found]] = {
    "no-prefix": (call("read_file", READ).replace("functions.", ""), ("", "", [READS])),
    "name-with-minus-and-dot": (call("web-browsing.open", "{}"), ("", "", [("web-browsing.open", "{}")])),
    "recipient-alone": (f" to=functions.get_time{CHANNEL}analysis code{MESSAGE}{TIME}{CALL}", (" ", "", [TELLS])),
    "no-message-token": (f"{HEADER} {JSON}{READ}{CALL}ok", ("ok", "", [READS])),
    "word-that-is-no-type": (f"{START}prose {MESSAGE}Hello.", (f"{START}prose {MESSAGE}Hello.", "", [])),
    "other-type": (f"{CHANNEL}final {CONSTRAIN}text{MESSAGE}Hello.", ("Hello.", "", [])),
    "other-type-of-a-call": (f"{CHANNEL}commentary to=functions.get_time text{MESSAGE}{TIME}", ("", "", [TELLS])),
    "no-ends": (said("analysis", THOUGHT, "") + said("final", "Hello.", ""), ("Hello.", THOUGHT, [])),
    "no-channel": (f"{START}{MESSAGE}Hello.{RETURN}", ("Hello.", "", [])),
    "json": (f"{CHANNEL}final {JSON}{MESSAGE}{TIME}{RETURN}", (TIME, "", [])),
    "empty": (said("analysis", "") + START + said("commentary", "") + START + said("final", "Hi"), ("Hi", "", [])),
    "two-ends": (said("final", "Hello.") + f"{END}\n{RETURN}{END}", ("Hello.", "", [])),
    "text-behind": (f"{call('read_file', READ, end='')} and {CALL} more", (" and  more", "", [READS])),
    "stripped": (f"commentary to=read_file {READ}\nanalysis to=functions.get_timecode{TIME}", ("", "", [READS, TELLS])),
    "stripped-recipient": (
        f"analysisHm.assistant to=functions.read_file commentary json {READ}assistant to=get_timecommentary json{TIME}",
        ("", "Hm.", [READS, TELLS]),
    ),
    "stripped-final": ("assistantfinalHello.", ("Hello.", "", [])),
    "stripped-amid-a-text": ("It says assistantfinal there.", ("It says assistantfinal there.", "", [])),
    "stripped-half": (f"to=functions.read_file json{READ[:-9]}", ("", "", [("read_file", READ[:-9])])),
    "stripped-no-thought": ("analysisResult = assistant  # final", ("analysisResult = assistant  # final", "", [])),
    "stripped-other-recipient": ("assistantanalysis to=python code{}", ("", " to=python code{}", [])),
}


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str) -> None:
    text, expected = FORMS[name]
    for pieces in ([text], list(text), cut(text, [7] * 40)):
        assert found(answer(pieces)) == expected


def test_stripped_tokens_in_reasoning_are_thoughts() -> None:
    text = f"commentary to=functions.read_file json{READ}"
    assert found(answer([text], field="reasoning")) == ("", text, [])


def test_a_channel_ends_with_its_field() -> None:
    deltas: list[Any] = [{"reasoning": f"{CHANNEL}analysis{MESSAGE}{THOUGHT}"}, "Hello."]
    assert found(answer(deltas)) == ("Hello.", THOUGHT, [])


def oracle(text: str) -> Found:
    """Of well-formed messages."""
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
    header = f"{START}{blank}{to + channel if first else channel + to}{CONSTRAIN}{blank}json"
    return f"{header}{MESSAGE}{blank}{arguments}{blank}{CALL}"


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
    text = ""
    for head, body in messages:
        value = json.dumps(body, ensure_ascii=ascii_)
        text += START + said(head, body) if isinstance(body, str) else directed(blank, head, value, first)
    names = {head for head, body in messages if not isinstance(body, str)}
    choice = answer(cut(text, sizes), request(*map(tool, names or {"a"}), model="gpt-oss-20b"), field)
    content, reasoning, calls = oracle(text)
    assert [(call.name, call.arguments) for call in choice.calls] == calls
    assert "".join(choice.content.split()) == "".join(content.split())
    assert "".join(choice.reasoning.split()) == "".join(reasoning.split())
    assert choice.faults == []


FRAGMENTS = st.sampled_from([
    START, "<|start|>", CHANNEL, CONSTRAIN, MESSAGE, END, CALL, RETURN, CHANNEL[:6], MESSAGE[:4], "<", "<|", "assistant",
    "analysis", "commentary", "final", "to=", "functions.", "read_file", "get_time", "x", "json", "code", " ", "\n", "`",
    "```", READ, "{", "}", '"', "\\", "null", "user", said("analysis", "", ""), START + said("final", "", ""), f"{HEADER}{MESSAGE}",
    "to=functions.read_file json{", "assistantfinal", "analysisWe", "é", "prose ",
])  # fmt: skip


NAMED = re.compile(r"<\|(?:start|channel|constrain)\|>\s*prose|to=.*?<\|message\|>", re.DOTALL)
"""Where a word may be a header's: its role, channel, recipient or type."""


@given(st.lists(FRAGMENTS, max_size=20), SIZES, st.sampled_from(["content", "reasoning"]))
def test_any_text_any_cut(parts: list[str], sizes: list[int], field: str) -> None:
    """Nothing raises, the cut does not matter, and what is in no token is kept."""
    text = "".join(parts)
    whole = answer([text], field=field)
    assert answer(cut(text, sizes), field=field) == whole
    assert whole.faults == []
    kept = whole.content + whole.reasoning + "".join(call.arguments for call in whole.calls)
    assert kept.count("é") == text.count("é")
    named = "".join(NAMED.findall(text)).count("prose")
    assert text.count("prose") - named <= kept.count("prose") <= text.count("prose")


@pytest.mark.parametrize("piece", ["It", " to", " a", "\nassist", " final", " analysis is", "com", "="])
def test_prose_of_other_models_is_never_delayed(piece: str) -> None:
    assert so_far([piece], OTHER_MODEL).content == piece


def test_channels_stream() -> None:
    assert so_far(cut(f"{CHANNEL}analysis{MESSAGE}half a sen", [7] * 9)).reasoning == "half a sen"
    assert so_far(cut(f"{CHANNEL}final{MESSAGE}half a sen", [7] * 9)).content == "half a sen"


def test_what_is_held_has_a_bound() -> None:
    text = f'{HEADER}{MESSAGE}"' + "x" * MAX_HELD
    choice = answer([*cut(text, [65536] * 20), f"\n{call('read_file', READ)}"])
    assert found(choice) == (text + "\n", "", [READS])


def test_a_glued_channel_is_held_for_a_doubt() -> None:
    """Then it is a thought; and if no other message follows, it was the answer, and is emitted as content, too."""
    text = "We look at it. " * 40
    assert so_far(["analysis" + text]).reasoning == text
    assert so_far(["analysis" + text[:300]]).reasoning == ""
    for pieces in ([f"analysis{text}assistantfinalHi"], [*f"analysis{text}assistantfinalHi"]):
        assert found(answer(pieces)) == ("Hi", text, [])
    for pieces in (["analysis" + text], [*f"analysis{text}"]):
        assert found(answer(pieces)) == ("analysis" + text, text, [])
    assert found(answer(["analysis" + text[:300]])) == ("analysis" + text[:300], "", [])


def test_a_header_has_a_bound() -> None:
    assert so_far([HEADER + "x" * 200]).content == HEADER + "x" * 200
    assert so_far([f"{CHANNEL}final"] * 60).content.startswith(f"{CHANNEL}final")
