"""delta_run.py, text_state.py: what goes out unread is what would have gone out, chunk by chunk, and so is what follows."""

import json
import re
from collections.abc import Callable, Sequence
from itertools import batched, product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.patterns import all_patterns
from tests.patterns.irregular import REQUEST
from tests.support import legal_streams
from tests.support.chunk_by_chunk import same
from tests.support.example_counts import examples
from tests.support.fastpath import check, run, without_runs
from tests.support.regular_streams import REGULAR
from tests.support.rows import batches, each_of, some_of
from tests.support.runs import KIMI, PROSE
from tests.support.streams import body_of, chunk, event, pieces, stream
from tests.support.upstream_answers import APIS, PAIRS, WEATHER, Asked, Text, Thought, asked, speak
from toolmend.apis.shared import delta_template_learner
from toolmend.apis.shared.delta_template import text_of
from toolmend.apis.shared.delta_template_learner import learn
from toolmend.core.events import TextDelta
from toolmend.core.json_text import inside
from toolmend.core.literal_search import openers
from toolmend.core.text_state import ANYTHING, IN_LEAKED_STRING, IN_STRING, escaped, without
from toolmend.dialects.engine.opener_index import opener_index
from toolmend.pipeline.dialect_choice import armed
from toolmend.pipeline.fastpath import delta_run
from toolmend.pipeline.pipeline import Pipeline
from toolmend.providers.model_profiles import profile_for

SAME = [(api, api) for api in APIS]


PATTERNS = all_patterns()


@batches([*REGULAR, *PATTERNS])
def test_patterns(names: Sequence[str], subtests: pytest.Subtests) -> None:
    def check_row(name: str) -> None:
        pattern = PATTERNS.get(name)
        body, request = (body_of(pattern), pattern.request) if pattern else (REGULAR[name], REQUEST)
        if body.replace(b"\n\n", b"").find(b"\n") < 0:
            for target in some_of(APIS, name):
                check(body, request if target == "chat" else asked(target, *WEATHER, model=request["model"]), "chat", target)

    each_of(((name, name) for name in names), subtests, check_row)


@pytest.mark.parametrize("name", sorted({*legal_streams.MESSAGES, *legal_streams.RESPONSES}))
def test_legal_streams(name: str) -> None:
    for source, streams in (("messages", legal_streams.MESSAGES), ("responses", legal_streams.RESPONSES)):
        for target in APIS if name in streams else ():
            check(legal_streams.sse(streams[name]), asked(target, *WEATHER), source, target)


CODE = "def f(x):\n    \"\"\"Says 'hi'.\"\"\"\n    return {'a': [x, \"b\\n\"], \"é\": `1 < 2`}  # → 🌤\u2028 <b>ok</b>\n" * 12
QWEN = "<tool_call>\n<function=task>\n<parameter=description>\n{}\n</parameter>\n</function>\n</tool_call>"
LEAKS = {
    "kimi": ("kimi-k2.5", KIMI.format(json.dumps({"description": CODE}, ensure_ascii=False))),
    "qwen": ("qwen3-coder", QWEN.format(CODE)),
    "raw": ("kimi-k2.5", KIMI.format('{"description": "' + CODE.replace("\\", "\\\\").replace('"', '\\"') + '"}')),
    "python": ("llama-3.3", f"[task(description={CODE!r})]"),
    "prose": ("kimi-k2.5", PROSE + "<|tool_call_begin|> is a token. " + PROSE),
}


@pytest.mark.parametrize(("source", "target"), [*SAME, *PAIRS])
@pytest.mark.parametrize("name", LEAKS)
def test_leaks_in_every_api(name: str, source: str, target: str) -> None:
    model, text = LEAKS[name]
    parts = [Thought(PROSE), Text(PROSE), Text(text)]
    share = check(speak(source, parts), asked(target, *WEATHER, model=model), source, target)
    assert share < 0.8, "hardly anything went out unread"


VARYING: dict[str, Callable[[int], dict[str, Any]]] = {
    "an id": lambda n: {"id": f"c{n}"},
    "a time": lambda n: {"created": 1_700_000_000 + n},
    "filler": lambda n: {"obfuscation": "xyz"[: n % 4]},
    "all of them": lambda n: {"id": f"c%{n}", "created": n, "obfuscation": "x" * (n % 9)},
    "of two of a name, one": lambda n: {"id": f"c{n}", "of": {"id": "c"}},
    "some of them": lambda n: {"id": f"c{n // 3}", "created": n // 50},
}


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("varies", VARYING)
def test_leaks_in_what_varies(name: str, varies: str) -> None:
    """What goes out varies as what came."""
    model, text = LEAKS[name]
    events = speak("chat", [Thought(PROSE), Text(PROSE), Text(text)]).split(b"\n\n")[:-2]
    chunks = [json.loads(event.removeprefix(b"data: ")) | VARYING[varies](n) for n, event in enumerate(events)]
    body = b"".join(b"data: " + json.dumps(one, ensure_ascii=False).encode() + b"\n\n" for one in chunks)
    share = check(body + b"data: [DONE]\n\n", asked("chat", *WEATHER, model=model))
    assert share < 0.8 or varies in ("some of them", "of two of a name, one"), "hardly anything went out unread"


LATER: dict[str, Callable[[int], dict[str, Any]]] = {
    "nothing, then a time": lambda n: {"at": max(n - 12, 0)},
    "filler, then a time as well": lambda n: {"obfuscation": "xyz"[: n % 4], "at": max(n - 12, 0)},
    "a time, then for a while none": lambda n: {"at": n} if n % 9 < 6 else {},
}


@pytest.mark.parametrize(("source", "target"), [*SAME, *PAIRS])
@pytest.mark.parametrize("varies", LATER)
def test_leaks_in_what_varies_later(varies: str, source: str, target: str) -> None:
    """And does not go out, in some of the APIs."""
    events = []
    for n, each in enumerate(speak(source, [Text(LEAKS["kimi"][1][:900])]).split(b"\n\n")[:-1]):
        head, begins, data = each.rpartition(b"data: ")
        said = data if data == b"[DONE]" else json.dumps(json.loads(data) | LATER[varies](n)).encode()
        events.append(head + begins + said + b"\n\n")
    check(b"".join(events), asked(target, *WEATHER, model="kimi-k2.5"), source, target)


def _call(entry: dict[str, Any]) -> Callable[[str], dict[str, Any]]:
    def delta(text: str) -> dict[str, Any]:
        return {"tool_calls": [entry | {"function": entry.get("function", {}) | {"arguments": text}}]}

    return delta


_WORDS: Callable[[str], dict[str, Any]] = lambda text: {"content": text}  # noqa: E731
IRREGULAR: dict[str, tuple[Callable[[str], dict[str, Any]], dict[str, Any]]] = {
    "regular": (_call({"index": 0}), {}),
    "no index": (_call({}), {}),
    "an index too high": (_call({"index": 1}), {}),
    "the id again": (_call({"index": 0, "id": "call_1"}), {}),
    "another id": (_call({"index": 0, "id": "call_2"}), {}),
    "id and name again": (_call({"index": 0, "id": "call_1", "type": "function", "function": {"name": "task"}}), {}),
    "the name again": (_call({"index": 0, "function": {"name": "task"}}), {}),
    "an id that is none": (_call({"index": 0, "id": 7}), {}),
    "function_call": (lambda text: {"function_call": {"arguments": text}}, {}),
    "a call that is no list": (lambda text: {"tool_calls": {"index": 0, "function": {"arguments": text}}}, {}),
    "chunks without an id": (_call({"index": 0}), {"id": None}),
    "chunks without anything, the id again": (_call({"index": 0, "id": "call_1"}), {"id": None, "object": None, "model": None}),
    "no choice index": (_call({"index": 0}), {"choice": None}),
    "text in chunks without an id": (_WORDS, {"id": None}),
    "text in choices without an index": (_WORDS, {"choice": None}),
    "text with an empty finish reason": (_WORDS, {"finish_reason": ""}),
    "reasoning in chunks without a model": (lambda text: {"reasoning_content": text}, {"model": None}),
}
SLOW = ("function_call",)
"""What waits for an id, where it is translated."""


@pytest.mark.parametrize("target", APIS)
@pytest.mark.parametrize("name", IRREGULAR)
def test_what_is_irregular_in_each_delta(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is mended as where each is read; and hardly any is."""
    delta, more = IRREGULAR[name]
    texts = ['{"description": "', *[f"some é \\\\n {n}" for n in range(60)], '"}']
    start = {"role": "assistant", "content": None}
    start |= {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "task", "arguments": ""}}]}
    start = {"role": "assistant", "content": ""} if "content" in str(delta("")) else start
    start = {"role": "assistant", "function_call": {"name": "task", "arguments": ""}} if "function_call" in delta("") else start
    chunks = []
    for n, each in enumerate([start, *map(delta, texts), {}]):
        made = json.loads(event(chunk(each, None if n <= len(texts) else "tool_calls"))[6:]) | more
        choice = made["choices"][0]
        if "choice" in made:
            del choice["index"], made["choice"]
        if "finish_reason" in made and n <= len(texts):
            choice["finish_reason"] = made["finish_reason"]
        made.pop("finish_reason", None)
        chunks.append({key: value for key, value in made.items() if value is not None})
    body = b"".join(event(json.dumps(each, ensure_ascii=False)) for each in chunks) + event("[DONE]")
    request = asked(target, *WEATHER, model="m")
    share = check(body, request, "chat", target)
    assert share < 0.3 or name in SLOW, "hardly anything went out unread"
    quick, _ = run([body], request, "chat", target, runs=False)
    monkeypatch.setattr(delta_template_learner, "MOST_MISSES", 0)
    plain, _ = run([body], request, "chat", target, runs=False)
    assert quick == plain


ESCAPES = {"go": {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"}, "php": {b"/": b"\\/"}}


@batches(PATTERNS)
def test_escapes_that_json_does_not_need(names: Sequence[str], subtests: pytest.Subtests) -> None:
    """Some write `<` as `\\u003c`: what ends a call is told by its bytes as well."""

    def check_row(case: tuple[str, str]) -> None:
        name, way = case
        pattern = PATTERNS[name]
        pieced = [part for delta in pattern.deltas for part in (pieces(delta, 1, (3,)) if isinstance(delta, str) else [delta])]
        body = stream(pieced, finish=pattern.finish, field=pattern.field)
        for byte, escape in ESCAPES[way].items():
            body = body.replace(byte, escape)
        events = [part + b"\n\n" for part in body.split(b"\n\n") if part]
        for size in some_of((1, 3, 30), f"{name} {way}"):
            chunks = [b"".join(some) for some in batched(events, size)]
            quick, plain = (run(chunks, pattern.request, "chat", "chat", runs=fast)[0] for fast in (True, False))
            same(quick, plain, body)

    each_of(((f"{name} {way}", (name, way)) for name in names for way in some_of([*ESCAPES], name)), subtests, check_row)


CHINESE = "\u4f60\u597d\uff0c\u6211\u6765\u770b\u770b\u8fd9\u4e2a\u6587\u4ef6\u3002 Let\u2019s see it\u2026 "


@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
def test_characters_told_by_number_are_as_quiet_as_others(upper: bool) -> None:
    """Many write all but ASCII as `\\u4f60`; a stream of nothing else has runs, too."""
    deltas = [{"role": "assistant"}, *({"content": text} for text in pieces(CHINESE * 20, 1, (1, 2, 3, 5)))]
    events = [b"data: " + json.dumps(chunk(delta)).encode() + b"\n\n" for delta in deltas]
    if upper:
        events = [re.sub(rb"(?<=\\u)[0-9a-f]{4}", lambda code: code[0].upper(), each) for each in events]
    made = Pipeline(REQUEST)
    told = 0
    for each in events:
        given_ = made.try_fast(each)
        told += given_ is not None
        assert (made.feed(each) if given_ is None else given_) == each
    assert told == len(events) - 2, "but the first of them, and what the shape is learnt from"
    assert made.close() == b""


def test_half_a_character_is_none_of_those_told_by_number() -> None:
    """The one half ends a delta, and the other one begins the next."""
    texts = ["def", " f(", "x):", " # ", "\ud83c", "\udf24", " and", " so", " on", " \ud83c", "\udf24\u2028", "."] * 3
    events = legal_streams.responses(legal_streams.custom("call_1", "patch", *texts))
    check(b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in events), asked("responses", *WEATHER), "responses", "responses")


def test_arguments_that_end_behind_an_escape() -> None:
    """GLM's `</arg_value>`, with `<` as Go writes it, in a chunk with what is in front of it."""
    text = "<tool_call>task\n<arg_key>description</arg_key>\n<arg_value>" + "aa bb cc " * 4
    body = stream([*pieces(text, 1, (3,)), "</arg_value>", "\n</tool_call>"]).replace(b"<", b"\\u003c").replace(b">", b"\\u003e")
    check(body, asked("chat", *WEATHER, model="glm-4.6"))


@pytest.mark.parametrize("wrong", [b"\\x", b"\xed\xa0\xbc"])
def test_input_that_is_no_json_amid_what_is_mended(wrong: bytes) -> None:
    """It passes as it came, which does not say that what follows does."""
    leak = legal_streams.say('<|channel|>commentary to=functions.task<|message|>{"a":1}<|call|>')
    events = legal_streams.responses(leak, legal_streams.custom("c1", "patch", "aa", "bb", "cc~", "dd", "ee", "ff"))
    check(legal_streams.sse(events).replace(b"~", wrong), asked("responses", *WEATHER, model="gpt-oss-120b"), "responses", "responses")


M2 = '<minimax:tool_call>\n<invoke name="task">\n<parameter name="description">\n{}\n</parameter>\n</invoke>\n</minimax:tool_call>'
OLD = "[TOOL_CALLS][{}]"
ARGUMENTS_FIRST = OLD.format(json.dumps({"arguments": {"description": CODE * 2}, "name": "task"}))
HELD = {
    "may have begun as reasoning": ("minimax-m2", [Text(PROSE + M2.format(CODE * 2))]),
    "began as reasoning": ("minimax-m2", [Text(PROSE + "</think>" + M2.format(CODE) + PROSE)]),
    "is broken off": ("minimax-m2", [Text(M2.format(CODE)[:-90])]),
    "waits for its id": ("mistral-large", [Text(PROSE + OLD.format(json.dumps({"name": "task", "arguments": {"description": PROSE}, "id": "a"})))]),
    "waits in vain": ("mistral-large", [Text(OLD.format(json.dumps({"name": "task", "arguments": {"description": PROSE}})[:-9]))]),
    "is none": ("mistral-large", [Text(OLD.format(json.dumps({"arguments": {"description": PROSE}, "name": "nothing"})) + PROSE)]),
    "is in the reasoning": ("minimax-m3", [Thought(M2[20:-21].format(CODE) + PROSE)]),
    "is in the reasoning, and blanks behind it": ("minimax-m3", [Thought(M2[20:-21].format(CODE) + PROSE), Text(" \n" * 40)]),
    "was a thought": ("minimax-m3", [Thought(M2[20:-21].format(CODE) + PROSE), Text(PROSE)]),
}

IN_DOUBT = ("may have begun as reasoning", "is broken off")
"""A call that may be a thought: it is live, and each of its deltas is read while the doubt lasts."""


@pytest.mark.parametrize(("source", "target"), [*SAME, *PAIRS])
@pytest.mark.parametrize("name", HELD)
def test_what_is_held_in_every_api(name: str, source: str, target: str) -> None:
    model, parts = HELD[name]
    share = check(speak(source, parts), asked(target, *WEATHER, model=model), source, target)
    assert share < 0.62 or source == "responses" or name in IN_DOUBT, "hardly anything went in unread"


HELD_DELTAS = st.lists(
    st.sampled_from(["a", " look", "<", "</", "invoke>", "\n</parameter>", "</think>", '<parameter name="x">', '"', "\\", "\\n", "}", "\n", "`", "```",
                     '{"a": "', "[TOOL_CALLS]", '[{"name": "task", "arguments": {"description": "', '<invoke name="task">', "x" * 300, "x" * 600,
                     "<minimax:tool_call>", '<parameter name="description">', "</minimax:tool_call>", "é", "\u2028", "\ud83c", "\udf24"])
    | st.text(max_size=6),
    max_size=40,
)  # fmt: skip


@examples(0.8)
@example(deltas=['[{"name": "task", "arguments": {"description": "', "", "a"], begun="", model="mistral-large", ascii_=False, fields=("content", "content"))
@example(  # a doubt is given up inside of a value
    deltas=["a", "a", "a", "a", "[TOOL_CALLS]", "a", " look"], begun=M2[20:80], model="minimax-m2", ascii_=False, fields=("reasoning_content", "content")
)
@example(  # reasoning and text are held together, and leave in one event
    deltas=["a", "</think>", "a"], begun='[TOOL_CALLS][{"name": "task", "arguments": {"description": "', model="minimax-m2", ascii_=False, fields=("content", "content")
)
@given(
    deltas=HELD_DELTAS,
    begun=st.sampled_from(["", "<minimax:tool_call>\n" + M2[20:80], M2[20:80], '[TOOL_CALLS][{"name": "task", "arguments": {"description": "']),
    model=st.sampled_from(["minimax-m2", "minimax-m3", "mistral-large"]),
    ascii_=st.booleans(),
    fields=st.sampled_from([("content", "content"), ("reasoning_content", "reasoning_content"), ("reasoning_content", "content")]),
)
def test_any_held_deltas(deltas: list[str], *, begun: str, model: str, ascii_: bool, fields: tuple[str, str]) -> None:
    texts = [*pieces(begun, 1), *deltas]
    many = [chunk({fields[at > len(texts) - 6]: text}) for at, text in enumerate(texts)]
    raw = [json.dumps(each, ensure_ascii=ascii_).encode(errors="replace") for each in [chunk({"role": "assistant"}), *many, chunk({}, "stop")]]
    body = b"".join(b"data: " + each + b"\n\n" for each in raw)
    check(body, asked("chat", *WEATHER, model=model))
    check(body, asked("messages", *WEATHER, model=model), "chat", "messages")


@pytest.mark.parametrize(
    ("model", "field", "begun"),
    [("mistral-large", "content", ARGUMENTS_FIRST[:60]), ("minimax-m3", "reasoning_content", M2[20 : M2.index("{}")])],
    ids=["a call", "a doubt"],
)
def test_what_is_held_is_bounded(model: str, field: str, begun: str) -> None:
    """However long it is, it is read in runs; and of what more may be held than there is room for, each delta is."""
    texts = [*pieces(begun, 1), *(["a" * 10] * 2000), *(["a" * 400] * 3000), *(["a" * 70_000] * 4)]
    when, runs = [], [0]
    for fast in (True, False):
        made = Pipeline(asked("chat", *WEATHER, model=model))
        if not fast:
            without_runs(made)
        made.feed(event(chunk({"role": "assistant"})))
        for at, text in enumerate(texts):
            if made.feed(event(chunk({field: text}))):
                when.append(at)
                break
            runs.append(len(made._reader._run._run) if fast and made._reader._run else 0)
        assert made.rules == ["hold_limit"]
    assert when[0] == when[1]
    assert max(runs) == delta_run.MOST


@pytest.mark.parametrize("name", ["run", "read"])
@pytest.mark.parametrize("size", [1, 3])
def test_an_error_in_what_is_held_loses_nothing(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event(chunk({"content": text})) for text in pieces(ARGUMENTS_FIRST, 1)]
    chunks = [event(chunk({"role": "assistant"})), *map(b"".join, batched(events, size))]
    made, out = Pipeline(asked("chat", *WEATHER, model="mistral-large")), []
    for at, data in enumerate(chunks):
        if at == 15:
            assert made._reader._run
            assert made._reader._run.holds
            monkeypatch.setattr(delta_run.DeltaRun, name, lambda *_: 1 / 0)
        out.append(made.feed(data))
    assert b"".join(out) + made.close() == b"".join(chunks)
    assert made.error
    assert made.error.startswith("ZeroDivisionError")


@pytest.mark.parametrize("end", ["close", "give_up", "comment"])
def test_what_is_held_unread_is_not_lost(end: str) -> None:
    """It leaves as it came; a comment goes ahead of it."""
    made = Pipeline(asked("chat", *WEATHER, model="mistral-large"))
    deltas = [{"role": "assistant"}, {"content": ARGUMENTS_FIRST[:60]}, *({"content": f" a{n}"} for n in range(9))]
    events = [event(chunk(delta)) for delta in deltas]
    assert [made.feed(data) for data in events] == [events[0], *[b""] * 10]
    assert made._reader._run
    assert not made._reader._run.empty
    comment = b": hi\n\n" if end == "comment" else b""
    assert (made.feed(comment) if comment else b"") == comment
    assert (made.give_up("it is time") if end == "give_up" else b"") + made.close() == b"".join(events[1:])


@pytest.mark.parametrize(("source", "target"), [*SAME, *PAIRS])
def test_native_calls_in_every_api(source: str, target: str) -> None:
    arguments = json.dumps({"description": CODE})
    parts = [Text(PROSE), Asked("call_1", "task", arguments), Asked("call_2", "task", '{"description": "x"}')]
    assert check(speak(source, parts, "tool_calls"), asked(target, *WEATHER), source, target) < 0.6


@pytest.mark.parametrize(("source", "target"), [*SAME, *PAIRS])
@pytest.mark.parametrize("seed", range(4))
def test_arguments_that_come_again(seed: int, source: str, target: str) -> None:
    parts = [Asked("call_1", "task", json.dumps({"description": "a b c d " * 6}))]
    events = [block + b"\n\n" for block in speak(source, parts, "tool_calls", seed=seed).split(b"\n\n") if block]
    deltas = [at for at, each in enumerate(events) if b'"arguments": "' in each or b"arguments.delta" in each or b"input_json_delta" in each]
    for at in deltas:
        for to in some_of(range(deltas[-1] - 1, len(events)), f"{at} {seed}"):
            bent = [*events[:to], *events[at : at + 1] * 3, *events[to:]]
            check(b"".join(bent), asked(target, *WEATHER), source, target)


DELTAS = st.lists(
    st.sampled_from(["a", " look", "<", "<|tool_call_begin|>", "functions.task:0", "<|tool_call_argument_begin|>", '{"description": "',
                     '"', "\\", "\\n", "n", "}", "<|tool_call_end|>", "\n", "`", "```", "f", "functools", "[", "é", "\u2028", "🌤", "\ud83c", "\udf24",
                     "\x7f", "\t", "/", " "]) | st.text(max_size=6),
    max_size=60,
)  # fmt: skip


@examples(0.8)
@given(deltas=DELTAS, ascii_=st.booleans(), varies=st.booleans(), field=st.sampled_from(["content", "reasoning_content", "arguments"]))
def test_any_deltas(deltas: list[str], *, ascii_: bool, varies: bool, field: str) -> None:
    def delta(text: str) -> dict[str, Any]:
        entry = {"index": 0, "function": {"arguments": text}}
        return {"tool_calls": [entry]} if field == "arguments" else {field: text}

    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "task", "arguments": '{"description": "'}}
    first = [chunk({"tool_calls": [call]})] if field == "arguments" else []
    more = [{"obfuscation": "x" * (n % 5)} if varies else {} for n in range(len(deltas))]
    chunks = [chunk({"role": "assistant"}), *first, *(chunk(delta(text), **rest) for text, rest in zip(deltas, more, strict=True))]
    texts = [json.dumps(each, ensure_ascii=ascii_).encode(errors="replace") for each in [*chunks, chunk({}, "stop")]]
    body = b"".join(b"data: " + text + b"\n\n" for text in texts)
    check(body, asked("chat", *WEATHER))
    check(body, asked("messages", *WEATHER), "chat", "messages")


INSIDE = st.lists(
    st.sampled_from(["", "a", " look", "\\n", "\n", "\\", "\\\\", "n", "\\t \\", "\t", '\\"', "\\'", "\\d", "\\x4", "1", "\\1", "2", "\\u00e", "9", "\\ud83c",
                     "\\udf24", "\\\n", "\r\n", "é", "\\é", "\u2028", "\x00", "🌤", "\ud83c", "/", "\\/", "<", "'", '"'])
    | st.text(max_size=6),
    min_size=6,
    max_size=60,
)  # fmt: skip


@pytest.mark.parametrize("target", APIS)
@pytest.mark.parametrize("text", [":", ",", ":{", "},{", "index", "arguments", "text", "delta", "0", "\\", "item"])
def test_texts_that_look_like_what_is_around_them(text: str, target: str) -> None:
    said = [text, text, "a", " look", text, text, text, "b", "c"]
    before, _, behind = KIMI.partition("{}")
    leak = [before, '{"description": "', *(part.replace("\\", "\\\\") for part in said), '"}', behind]
    for texts in (said, [*said, *leak], ["`", *said]):
        check(stream(texts), asked(target, *WEATHER, model="kimi-k2.5"), "chat", target)


@examples(0.25)
@given(deltas=INSIDE, ascii_=st.booleans())
@example(deltas=["a", "b", "", "c"], ascii_=True)  # what has no text passes, also in a call
@pytest.mark.parametrize("begin", ['{"description": "', "description='", 'description="', "description=r'", "description='''"])
def test_any_deltas_in_a_string(begin: str, deltas: list[str], *, ascii_: bool) -> None:
    model, head = ("llama-3.3", "[task(") if begin[0] == "d" else ("kimi-k2.5", KIMI.partition("{}")[0])
    texts = [head, begin, *deltas, "ab", "cd", "ef\\n", begin[-1] + "}", ")]", "<|tool_call_end|>"]
    chunks = [chunk({"role": "assistant"}), *(chunk({"content": text}) for text in texts), chunk({}, "stop")]
    lines = [json.dumps(each, ensure_ascii=ascii_).encode(errors="replace") for each in chunks]
    body = b"".join(b"data: " + line + b"\n\n" for line in lines)
    check(body, asked("chat", *WEATHER, model=model))
    check(body, asked("messages", *WEATHER, model=model), "chat", "messages")


CUT = ["a", ", \\", "n", "\\", '"', " b;\\", "\\", "c\\\\", "\\", "u00e9\\", "/", "d"]
"""Deltas of a string that end between a backslash and what it escapes."""


@pytest.mark.parametrize(("source", "target"), [*SAME, *PAIRS])
def test_escapes_that_are_cut(source: str, target: str) -> None:
    """Code in arguments is full of them; native calls pass, and what is leaked waits."""
    arguments = ['{"description": "', *CUT * 20, '"}']
    before, _, behind = KIMI.partition("{}")
    for parts in ([Text("So."), Asked("call_1", "task", "".join(arguments))], [Text(KIMI.format("".join(arguments)))]):
        whole = speak(source, parts)
        check(whole, asked(target, *WEATHER, model="kimi-k2.5"), source, target)
    leaked = [before, *arguments, behind]
    native = [{"tool_calls": [{"index": 0, "function": {"arguments": text}}]} for text in arguments]
    native[0]["tool_calls"][0] |= {"id": "call_1", "type": "function"}
    native[0]["tool_calls"][0]["function"] |= {"name": "task"}  # type: ignore[operator]
    usual = [before, '{"description": "', *["if ", "x;\\", "n", "say(\\", '"a', "b", "\\n", '\\"', ")"] * 20, '"}', behind]
    for deltas, most in ((native, 0.2), (leaked, 1.1), (usual, 0.3)):
        for varies in (False, True):
            more = [{"obfuscation": f"x{n}"} if varies else {} for n in range(len(deltas))]
            made = [chunk({"content": each} if isinstance(each, str) else each) for each in deltas]
            body = stream([each | filler for each, filler in zip(made, more, strict=True)])
            assert check(body, asked(target, *WEATHER, model="kimi-k2.5"), "chat", target) < most


@examples(0.25)
@given(deltas=INSIDE, more=st.sampled_from([{}, {"obfuscation": "x8"}, {"id": "c2"}]))
@pytest.mark.parametrize("target", APIS)
def test_any_deltas_in_a_string_of_a_native_call(target: str, deltas: list[str], more: dict[str, Any]) -> None:
    texts = ['{"description": "', "a", "b", "c", *deltas, "ab", "cd", 'ef"}']
    calls = [{"tool_calls": [{"index": 0, "function": {"arguments": text}}]} for text in texts]
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "task", "arguments": ""}}
    body = stream([{**chunk(delta), **more} for delta in ({"tool_calls": [first]}, *calls)], finish="tool_calls")
    check(body, asked(target, *WEATHER), "chat", target)


@pytest.mark.parametrize("target", ["chat", "responses"])
@pytest.mark.parametrize("odd", ["<", "f", "a <", "é", "\u2028", "\\", '"', "\n", "", "x" * 600, "<|tool_call_begin|>", "\ud83c"])
def test_bundles(odd: str, target: str) -> None:
    """An odd text anywhere in a bundle, its end among it."""
    request = asked(target, *WEATHER, model="kimi-k2.5")
    for varies in (False, True):
        for size, at in ((3, 0), (3, 1), (3, 2), (20, 19), (30, 23), (30, 24), (30, 29)):
            texts = [*(f" a{n}" for n in range(8 + size)), *["b", "c", "d"]]
            texts[8 + at] = odd
            more = [{"obfuscation": "x" * (n % 5)} if varies else {} for n in range(len(texts))]
            events = [event(chunk({"content": text}, **rest)) for text, rest in zip(texts, more, strict=True)]
            chunks = [*events[:8], b"".join(events[8:-3]), *events[-3:]]
            plain, _ = run(chunks, request, "chat", target, runs=False)
            quick, read = run(chunks, request, "chat", target, runs=True)
            assert quick == plain
            assert read < len(events)


@pytest.mark.parametrize("target", APIS)
@pytest.mark.parametrize("text", ["oo", "a <", " them <t", "`"])
@pytest.mark.parametrize("at", [0, 1, 2, 3, 20, 41])
def test_an_event_that_comes_again(at: int, text: str, target: str) -> None:
    """It is dropped where it is translated, number and all, wherever it stands; what is numbered anew says the same again."""
    texts = [f" w{n}" for n in range(42)]
    texts[at : at + 1] = [text, text]
    events = legal_streams.responses(legal_streams.say(*texts))
    deltas = [n for n, each in enumerate(events) if each["type"].endswith("text.delta")]
    for times in (1, 2, 5):
        again = [each for n, each in enumerate(events) for _ in range(times if n == deltas[at + 1] else 1)]
        check(legal_streams.sse(again), asked(target, *WEATHER, model="kimi-k2.5"), "responses", target)


def test_a_run_is_bounded() -> None:
    """However long a stream, it is read, in runs that fit into what has bounds."""
    made = Pipeline(REQUEST)
    made.feed(event(chunk({"role": "assistant"})))
    for size, many, glances in product((10, 400, 900, 5000, 70_000), (1, 20), (False, True)):
        data = event(chunk({"content": "a" * size})) * many
        for _ in range(max(3, min(2 * delta_run.MOST, 4 * delta_run.ROOM // size) // many)):  # past each bound several times
            given_ = made.try_fast(data) if glances else None
            assert (made.feed(data) if given_ is None else given_) == data
            assert made._reader._run is None or len(made._reader._run._run) < delta_run.MOST + 24
            assert made._reader._run is None or sum(map(len, made._reader._run._run)) < delta_run.ROOM


@pytest.mark.parametrize(("source", "target"), [*SAME, *PAIRS])
@pytest.mark.parametrize("many", [1, 20])
def test_a_long_run_is_read_seldom(many: int, source: str, target: str) -> None:
    """What is read late, and after thousands of deltas, is what was said: a fence that is open, a call behind it."""
    fence, lines = "`" * 3 + "\n", "".join(f" word{n}é\n" for n in range(1500))
    said = [lines, fence, lines, fence, *[KIMI.format('{"description": "x"}'), lines] * 2]
    events = speak(source, [Text("".join(said))], "stop").split(b"\n\n")
    chunks = [b"".join(part + b"\n\n" for part in parts) for parts in batched(events[:-1], many)]
    request = asked(target, *WEATHER, model="kimi-k2.5")
    plain, _ = run(chunks, request, source, target, runs=False)
    quick, read = run(chunks, request, source, target, runs=True)
    same(quick, plain, b"".join(chunks))
    assert "kimi_k2" in quick[1]
    assert read < len(events) / (20 if target == "responses" != source else 50)


@pytest.mark.parametrize(
    ("texts", "out"),
    [(["a <", "b"], [0, 2]), (["a f", "un", "ny"], [0, 0, 3]), (["a <", "|", "y", "c"], [0, 0, 3, 1]), (["a <", "y <", "y"], [0, 1, 2]),
     (["a", "f", "un"], [1, 1, 1]), (["a f", "or"], [0, 2])],
    ids=lambda value: " ".join(map(str, value)),
)  # fmt: skip
def test_what_may_begin_a_call_waits(texts: list[str], out: list[int]) -> None:
    """How many events go out for each chunk; not one of them was read, but where what waits is none that was waited with."""
    events = [event(chunk({"content": text})) for text in ["I", " see: ", *texts]]
    plain, _ = run([event(chunk({"role": "assistant"})), *events], REQUEST, "chat", "chat", runs=False)
    quick, _ = run([event(chunk({"role": "assistant"})), *events], REQUEST, "chat", "chat", runs=True)
    assert [given_.count(b"\n\n") for given_ in quick[0][3:-1]] == out
    assert quick == plain


def test_what_begins_and_goes_on_as_a_call_is_one() -> None:
    made = Pipeline(REQUEST)
    texts = ["a", "b", "<", "|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>", '{"city": "B', "c", "<", '"}<|tool_call_end|>']
    out = [given_ for text in texts for given_ in [made.try_fast(event(chunk({"content": text})))] for given_ in [made.feed(event(chunk({"content": text}))) if given_ is None else given_]]
    assert made.rules == ["role", "kimi_k2"]
    assert out[2] == b""
    assert b'"arguments":"<"' in out[6]


@pytest.mark.parametrize("more", [{"sequence_number": 98}, {"obfuscation": "x8"}, {"sequence_number": 9, "obfuscation": ""}], ids=str)
@pytest.mark.parametrize("odd", [{"sequence_number": "x"}, {"sequence_number": -1}, {"obfuscation": "a%b"}, {"obfuscation": 'a"'}, {"index": 3}], ids=str)
def test_what_varies_and_what_does_not(more: dict[str, Any], odd: dict[str, Any]) -> None:
    """Alone, and in chunks; a `%` may stand anywhere."""
    said = [{**chunk({"content": f" a{n} %b"}), "100%": "%d%%", **more} for n in range(40)]
    if "sequence_number" in more:
        said = [{**each, "sequence_number": n + 95} for n, each in enumerate(said)]
    said[30] |= odd
    for events in ([event(each) for each in said], [event({**odd, **each, "id": "c"}) for each in said]):
        for size in (1, 4):
            chunks = [event(chunk({"role": "assistant"})), *map(b"".join, batched(events, size))]
            plain, _ = run(chunks, REQUEST, "chat", "chat", runs=False)
            quick, read = run(chunks, REQUEST, "chat", "chat", runs=True)
            assert quick == plain
            assert read < 30


MARKS = ("</arg_value>", "\\n<arg_key>", "\n</arg_value>")
ARGUMENTS = without(MARKS, frozenset(), openers(MARKS).search)
ODD = ("\u25c1think", "\U0001f389")
BEYOND = without(ODD, frozenset(), openers(ODD).search)
OPENERS = opener_index(tuple(armed(None, profile_for("gpt-oss-20b", ""))))


@examples(5)
@given(
    st.text()
    | st.lists(
        st.sampled_from(["<", "|", "<|tool", "f", "func", "un", "[", "]", "a", "n", "o", '"', "\\", "/", "\n", "x ", "\u2019", "\u25c1", "\U0001f389", "\ud83c"])
    ).map("".join)
)
def test_what_is_quiet_stops_nothing(text: str) -> None:
    for state in (OPENERS.text_state, ARGUMENTS, BEYOND, IN_STRING, IN_LEAKED_STRING, escaped("'", inside), escaped('"', inside), ANYTHING):
        plain = json.dumps(text, ensure_ascii=False)
        told = json.dumps(text)
        upper = told if "\\" in text else re.sub(r"(?<=\\u)[0-9a-f]{4}", lambda code: code[0].upper(), told)
        for raw in (told, upper, *([] if "\ud83c" in text else [plain])):
            data = raw.encode()
            assert state.safe
            match = state.safe.match(data, 1)
            if match and match.end() == len(data) - 1 and text:
                assert text_of(data[1:-1]) == text
                assert not state.find_stop(text)


def test_half_a_character_in_what_stops() -> None:
    """A model may call an element so."""
    state = without(("</\ud83c>",), frozenset(), openers(("</\ud83c>",)).search)
    assert state.find_stop("a </\ud83c>")
    assert not state.find_stop("a </b>")


@pytest.mark.parametrize(
    ("more", "holes"),
    [({}, 1), ({"sequence_number": 7}, 2), ({"obfuscation": "x8"}, 2), ({"sequence_number": 7, "obfuscation": ""}, 3),
     ({"sequence_number": "7"}, 2), ({"sequence_number": "x"}, 1), ({"obfuscation": 'a"b'}, 1), ({"x": {"obfuscation": "a"}}, 1),
     ({"obfuscation": "a", "x": {"obfuscation": "a"}}, 2)],
)  # fmt: skip
def test_what_varies(more: dict[str, Any], holes: int) -> None:
    for value in ({**more, "delta": "Hi"}, {"delta": "Hi", **more}):
        data = json.dumps(value).encode()
        shape = learn(data, "Hi", ("delta",), TextDelta)
        assert shape
        assert len(shape.rest) == holes
        assert shape.text(data) == "Hi"
        assert shape.text(data.replace(b'"Hi"', b'"a\\nb"').replace(b": 7", b": 12")) == ("a\nb" if holes > 1 or ": 7" not in json.dumps(value) else None)
        assert shape.text(data.replace(b'"Hi"', b'""')) is None
        assert shape.text(data + b" ") is None


TWICE = {
    "both fields": lambda text, _: {"reasoning": text, "reasoning_content": text},
    "details": lambda text, _: {"role": "assistant", "content": "", "reasoning": text, "reasoning_details": [{"type": "reasoning.text", "text": text, "index": 0}]},
    "details alone": lambda text, _: {"reasoning_details": [{"text": text, "type": "reasoning.text", "format": "x", "index": 0}]},
    "another entry": lambda text, n: {"reasoning": text, "reasoning_details": [{"type": "reasoning.text", "text": text, "index": n // 60}]},
    "not the same": lambda text, n: {"reasoning": text, "reasoning_content": text + "!" * (n % 50 == 7)},
    "signed": lambda text, n: {"reasoning": text, "reasoning_details": [{"type": "reasoning.text", "text": text, "signature": "s" if n % 60 == 59 else None, "index": 0}]},
    "a summary": lambda text, _: {"reasoning": text, "reasoning_details": [{"type": "reasoning.summary", "summary": text, "index": 0}]},
}  # fmt: skip
OF_ITS_OWN = {
    "none": lambda _: {},
    "ids": lambda n: {"id": f"gen-{n}:a_B %d"},
    "ids that are odd": lambda n: {"id": ["a", 'a"b', "é", 7, None][n % 5]},
    "seconds": lambda n: {"created": 1760000000 + n // 50},
    "milliseconds": lambda n: {"created": 1760000000000 + n, "id": f"c{n}"},
}


@pytest.mark.parametrize("own", OF_ITS_OWN)
@pytest.mark.parametrize("twice", [None, *TWICE])
def test_what_providers_say_twice_or_anew(twice: str | None, own: str) -> None:
    """A text that stands in two places of a chunk, and members that are others in each."""
    thought, said = pieces(PROSE, 1, (3, 6, 9))[:70], pieces("So. " + PROSE, 2, (3, 6, 9))[:20]
    leak = pieces(KIMI.format('{"description": "a \\\\n b"}'), 3)
    deltas = [TWICE[twice](text, n) if twice else {"reasoning": text} for n, text in enumerate(thought)]
    parts = [{"role": "assistant"}, *deltas, *({"content": text} for text in (*said, *leak)), *deltas[:9]]
    many = [{**chunk(delta), **OF_ITS_OWN[own](n)} for n, delta in enumerate(parts)]
    body = b"".join(event(each) for each in (*many, chunk({}, "stop"))) + b"data: [DONE]\n\n"
    share = check(body, asked("chat", *WEATHER, model="kimi-k2.5"))
    if own in ("none", "ids"):
        check(body, asked("messages", *WEATHER, model="kimi-k2.5"), "chat", "messages")
    assert share < 0.8 or own == "ids that are odd" or twice == "not the same"


def test_numbers_go_on() -> None:
    """Events that are numbered here are numbered behind a run as well, and so is what the upstream does not number."""
    body = stream([*pieces(PROSE, 1), *pieces(KIMI.format('{"description": "x"}'), 2)])
    check(body, asked("responses", *WEATHER), "chat", "responses")
    numbered = legal_streams.sse(legal_streams.responses(legal_streams.say(*pieces(PROSE, 1), *pieces(LEAKS["kimi"][1], 2))))
    bare = legal_streams.sse([{k: v for k, v in each.items() if k != "sequence_number"} for each in legal_streams.responses(legal_streams.say(*pieces(PROSE, 1), *pieces(LEAKS["kimi"][1], 2)))])
    for given_ in (numbered, bare):
        check(given_, asked("responses", *WEATHER), "responses", "responses")
