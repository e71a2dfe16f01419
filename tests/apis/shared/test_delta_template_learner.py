"""delta_template_learner.py, json_spans.py: what varies in the deltas of a stream, and what is irregular in each, costs no more than is told."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.fastpath import check, run
from tests.support.rows import some_of
from tests.support.streams import chunk
from tests.support.upstream_answers import APIS, WEATHER, Asked, Part, Text, Thought, asked, speak
from toolmend.apis.shared import delta_template_learner
from toolmend.apis.shared.delta_template_learner import MOST_MISSES, SEVERAL, TemplateLearner, learn
from toolmend.apis.shared.json_spans import MOST, value_spans
from toolmend.core.events import TextDelta

type Change = Callable[[dict[str, Any], int], Any]

PROSE = "We “look” at it é, and then we decide: [1] %d 'x' 天 🎉 – for sure. " * 18 + "\n\\n"
CALL = json.dumps({"city": PROSE}, ensure_ascii=False)
LEAK = f"<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{CALL}<|tool_call_end|>"
ANSWERS: dict[str, list[Part]] = {
    "reasoning": [Thought(PROSE), Text("So.")],
    "text": [Text(PROSE)],
    "a call": [Text("So."), Asked("call_1", "get_weather", CALL)],
    "a leaked call": [Text("So. " + LEAK)],
}


def _choice(data: dict[str, Any]) -> dict[str, Any]:
    return data["choices"][0]  # type: ignore[no-any-return]


def _says(data: dict[str, Any]) -> str:
    delta = data["delta"] if "delta" in data else _choice(data)["delta"]
    while isinstance(delta, dict):
        delta = [value for name, value in delta.items() if name != "type" and isinstance(value, str | dict | list)][-1]
        delta = delta[0] if isinstance(delta, list) else delta
    return str(delta)


def _token(text: str, n: int) -> dict[str, Any]:
    return {"token": text, "logprob": -0.25 * (n % 7), "bytes": list(text.encode()), "top_logprobs": []}


VARIES: dict[str, dict[str, Change]] = {
    "chat": {
        "usage": lambda data, n: data.update(usage={"prompt_tokens": 9, "completion_tokens": n, "total_tokens": 9 + n}),
        "usage, at first the same": lambda data, n: data.update(usage={"prompt_tokens": 9, "completion_tokens": max(9, n)}),
        "usage in a choice": lambda data, n: _choice(data).update(usage={"prompt_tokens": 9, "completion_tokens": n}),
        "usage of Groq": lambda data, n: data.update(x_groq={"id": f"req_{n}", "usage": {"completion_tokens": n}}),
        "the same usage": lambda data, _: data.update(usage={"prompt_tokens": 9, "completion_tokens": 0}),
        "log probabilities": lambda data, n: _choice(data).update(logprobs={"content": [_token(_says(data), n)], "refusal": None}),
        "token ids": lambda data, n: _choice(data).update(token_ids=[n] if n % 9 else []),
        "timings": lambda data, n: data.update(timings={"ms": n * 1.5e-7, "tokens": n, "share": [1, -2.5, n]}),
        "ids, odd ones": lambda data, n: data.update(id=f'"{n}\\é\U0001f389\ud83c'),
        "the text again": lambda data, _: data.update(x=_says(data), y=[{"z": _says(data)}]),
        "a call that is no list": lambda data, _: _unlist(_choice(data)["delta"]),
    },
    "messages": {
        "no index": lambda data, _: data.pop("index"),
        "an index that is none": lambda data, _: data.update(index="0"),
        "another index": lambda data, _: data.update(index=7),
        "no type of a delta": lambda data, _: data["delta"].pop("type"),
        "usage": lambda data, n: data.update(usage={"output_tokens": n}),
        "filler": lambda data, n: data.update(p="abcdef"[: n % 7]),
    },
    "responses": {
        "ids, always others": lambda data, n: data.update(item_id=f"msg_{n}/+="),
        "no id": lambda data, _: data.pop("item_id"),
        "log probabilities": lambda data, n: data.update(logprobs=[_token(_says(data), n)]),
        "numbers that are texts": lambda data, n: data.update(sequence_number=str(n)),
        "filler": lambda data, n: data.update(obfuscation="abcdef"[: n % 7]),
        "no numbers": lambda data, _: data.pop("sequence_number"),
        "no place": lambda data, _: data.pop("output_index"),
    },
}


WRITTEN_ANEW = ("timings", "ids, odd ones", "the text again")
"""What goes out for these may be no more what came."""


def _unlist(delta: dict[str, Any]) -> None:
    if "tool_calls" in delta:
        delta["tool_calls"] = delta["tool_calls"][0]


def _is_more(data: dict[str, Any]) -> bool:
    """Whether it is a delta, and not the first of a call."""
    if "type" in data:
        return data["type"] == "content_block_delta" or (data["type"].startswith("response") and data["type"].endswith("delta"))
    delta = data["choices"][0]["delta"] if data.get("choices") else {}
    return len(delta) == 1 and "id" not in delta.get("tool_calls", [{}])[0]


def body_of(api: str, parts: list[Part], change: Change, *, named: bool = True) -> bytes:
    """The stream of an answer in which each delta is changed."""
    out = []
    for n, each in enumerate(speak(api, parts).split(b"\n\n")[:-1]):
        *_, line = each.split(b"\n")
        said = line.removeprefix(b"data: ")
        data = json.loads(said) if said != b"[DONE]" else {}
        if _is_more(data):
            change(data, n)
        name = f"event: {data['type']}\n" if named and "type" in data else ""
        out.append(f"{name}data: {json.dumps(data) if data else '[DONE]'}\n\n".encode())
    return b"".join(out)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(("source", "name"), [(source, name) for source, names in VARIES.items() for name in names])
def test_what_varies_goes_out_unread(source: str, name: str, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it would if each delta were read."""
    for target in some_of(APIS, f"{source} {name} {answer}"):
        body = body_of(source, ANSWERS[answer], VARIES[source][name])
        request = asked(target, *WEATHER, model="kimi-k2.5")
        anew = answer == "a leaked call" and source == target and name in WRITTEN_ANEW
        assert check(body, request, source, target) < (1.1 if anew else 0.5), target
        quick, _ = run([body], request, source, target, runs=False)
        with monkeypatch.context() as patch:
            patch.setattr(delta_template_learner, "MOST_MISSES", 0)
            plain, _ = run([body], request, source, target, runs=False)
        assert quick == plain, target


@pytest.mark.parametrize("source", ["messages", "responses"])
def test_events_without_names(source: str) -> None:
    for answer in ANSWERS.values():
        for target in APIS:
            body = body_of(source, answer, lambda *_: None, named=False)
            assert check(body, asked(target, *WEATHER, model="kimi-k2.5"), source, target) < 0.5


FRONTS: dict[str, tuple[Callable[[int], bytes], float]] = {
    "no blank": (lambda _: b"data:", 0.5),
    "a name": (lambda _: b"event: message\ndata: ", 0.5),
    "a name without a blank": (lambda _: b"event:message\r\ndata:", 0.5),
    "a number": (lambda n: b"id: %d\ndata: " % n, 0.5),
    "a number and a name": (lambda n: b"id:%d\nevent:result\ndata:" % n, 0.5),
    "a number of another kind at times": (lambda n: b"id: %b\ndata: " % (b"x" if n % 9 == 8 else b"%d" % n), 1.1),
    "the name first": (lambda n: b"event: message\nid: %d\ndata: " % n, 1.1),
    "a comment": (lambda _: b":HTTP_STATUS/200\ndata: ", 1.1),
    "a time to wait": (lambda n: b"retry: %d\ndata: " % n, 1.1),
}


@pytest.mark.parametrize("target", APIS)
@pytest.mark.parametrize("name", FRONTS)
def test_what_stands_in_front_of_the_data(name: str, target: str) -> None:
    front, most = FRONTS[name]
    for answer in ANSWERS.values():
        events = speak("chat", answer).split(b"\n\n")[:-1]
        body = b"".join(each.replace(b"data: ", front(n), 1) + b"\n\n" for n, each in enumerate(events))
        request = asked(target, *WEATHER, model="kimi-k2.5")
        share = check(body, request, "chat", target)
        assert share < (1.1 if answer is ANSWERS["a leaked call"] and target == "chat" else most)


def test_items_told_by_their_ids_alone() -> None:
    """At one place, as vLLM has them: an id that is known is no id that varies."""
    delta = {"type": "response.function_call_arguments.delta", "output_index": 0}
    added = {"type": "response.output_item.added", "output_index": 0}
    calls = [{"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": "get_weather", "arguments": ""} for n in range(2)]
    texts = ['{"city": "', *(f"some {n} " for n in range(40)), '"}']
    events: list[dict[str, Any]] = [{**added, "item": call} for call in calls]
    events += [{**delta, "item_id": f"fc_{n}", "delta": text} for text in texts for n in range(2)]
    events += [{"type": "response.output_item.done", "output_index": 0, "item": {**call, "arguments": "".join(texts)}} for call in calls]
    body = b"".join(f"event: {each['type']}\ndata: {json.dumps({**each, 'sequence_number': n})}\n\n".encode() for n, each in enumerate(events))
    for target in APIS:
        check(body, asked(target, *WEATHER), "responses", target)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def flat(value: Any, path: tuple[Any, ...] = ()) -> dict[Any, Any]:
    if isinstance(value, dict):
        return {at: said for name, each in value.items() for at, said in flat(each, (*path, name)).items()}
    if isinstance(value, list) and not all(type(each) in (int, float) for each in value):
        return {at: said for n, each in enumerate(value) for at, said in flat(each, (*path, n)).items()}
    return {path: value}


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4), st.booleans(), st.sampled_from([(",", ":"), (", ", ": "), (" , ", " :\n")]))
@example({"a": [], "b": [1, 2.5], "c": [1, "x"], "\ud83c\\": {"": "\n"}}, True, (", ", ": "))
def test_where_values_stand(value: dict[str, Any], ascii_: bool, separators: tuple[str, str]) -> None:
    text = json.dumps(value, ensure_ascii=ascii_, separators=separators)
    data = text.encode(errors="surrogatepass")
    found = {}
    for path, (first, end) in value_spans(data).items():
        is_row = isinstance(_at(value, path), list)
        shown = data[first - 1 : end + 1] if is_row or data[first - 1 : first] == b'"' else data[first:end]
        found[path] = json.loads(shown.decode(errors="surrogatepass"))
    told = flat(value)
    # rows of numbers that are odd, or oddly written, stand there one by one
    assert {path: said for path, said in found.items() if path in told} == {path: said for path, said in told.items() if path in found}
    assert all(_at(value, path) == said for path, said in found.items())
    assert {path for path, said in told.items() if not isinstance(said, list)} <= found.keys()


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@pytest.mark.parametrize(
    "data",
    ['{"a": 1, "a": 1}', '{"a": {"b": 1}, "a": {}}', json.dumps({str(n): n for n in range(MOST + 1)}), json.dumps({"a": ["x"] * (MOST + 1)}), '{"a":' * 13 + "1" + "}" * 13, '"a"', "1"],
    ids=["twice", "within what is there twice", "many members", "many elements", "deep", "a text", "a number"],
)  # fmt: skip
def test_what_has_no_places(data: str) -> None:
    assert value_spans(data.encode()) == {}
    assert learn(data.encode(), "x", ("x",), TextDelta) is None


@pytest.mark.parametrize(
    ("odd", "fits"),
    [('"b"', True), ('"\\u00e9\\n"', True), ('"é天🎉"', True), (b'"\xc3"', False), (b'"\xed\xa0\xbd"', False), (b'"\xf5\x80\x80\x80"', False), (b'"\xc0\x80"', False),
     ('"\\x"', False), ('"a', False), ("7", False), ("null", False), ('"a"b"', False)],
)  # fmt: skip
def test_a_string_that_varies(odd: str | bytes, fits: bool) -> None:
    shape = learn(b'{"id":"a","delta":"Hi"}', "Hi", ("delta",), TextDelta, varies=lambda path, _: path == ("id",))
    assert shape
    data = b'{"id":%b,"delta":"Hi"}' % (odd if isinstance(odd, bytes) else odd.encode())
    assert shape.text(data) == ("Hi" if fits else None)


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [("1", "-0.5e-3", True), ("1", "01", False), ("1", "1e999", False), ("1", "1" * 19, False), ("1", '"1"', False), ("1", "-", False), ("1.5", "2", True),
     ("[]", "[1, 2.5,-3]", True), ("[7]", "[]", True), ("[7]", "[1,]", False), ("[7]", "[[1]]", False), ("true", "false", False), ("true", "true", True)],
)  # fmt: skip
def test_a_number_that_varies(first: str, second: str, fits: bool) -> None:
    data = '{"n":%s,"delta":"Hi"}'
    shape = learn((data % first).encode(), "Hi", ("delta",), TextDelta, varies=lambda path, _: path == ("n",))
    assert shape
    assert shape.text((data % second).encode()) == ("Hi" if fits else None)


@pytest.mark.parametrize("value", [[97, 97], [1.0, 2], "\u00e9", 1.5, 1e-7, 0.1 + 0.2, 2.0, -0.0, 0, -3, 10**14, [], "a/b <c>"], ids=str)
def test_what_is_written_anew_may_be_written_otherwise(value: Any) -> None:
    """So a lane is not open for it, where what goes out is not what came."""
    texts = [*"abcdefgh", LEAK[: LEAK.find("{")], '{"city": "', *(f"w{n} " for n in range(30)), '"}<|tool_call_end|>']
    plain: list[Any] = [7, [97], "x", 0.5]
    same = next(each for each in plain if type(each) is type(value)) if type(value) is not list else [97]
    chunks = [chunk({"content": text}) | {"x": value if n % 9 == 8 else [n] if same == [97] else f"{same}{n}" if same == "x" else n + same} for n, text in enumerate(texts)]
    for spaced in (False, True):
        lines = [json.dumps(each, separators=None if spaced else (",", ":")) for each in chunks]
        check("".join(f"data: {line}\n\n" for line in lines).encode(), asked("chat", *WEATHER, model="kimi-k2.5"))


def test_what_is_another_at_times_does_not_vary() -> None:
    """As a time that passes: what is learnt from are deltas in a row."""
    made = TemplateLearner(lambda path: path != ("delta",))
    data = [b'{"created":%d,"delta":"Hi"}' % n for n in range(9)]
    for n in range(SEVERAL):
        shape = made.learn(data[n], "Hi", ("delta",), TextDelta)
        assert shape
        assert not shape.varies
    shape = made.learn(data[SEVERAL], "Hi", ("delta",), TextDelta)
    assert shape
    assert shape.varies
    made.misses = 0
    shape = made.learn(data[SEVERAL], "Hi", ("delta",), TextDelta)
    assert shape
    assert shape.varies, "it is known"
    for _ in range(MOST_MISSES):
        made.learn(data[0], "Hi", ("delta",), TextDelta)
    assert made.learn(data[0], "Hi", ("delta",), TextDelta) is None
    made.misses = 0
    assert made.learn(data[0], "Hi", ("delta",), TextDelta)
    made.stop()
    assert made.learn(data[0], "Hi", ("delta",), TextDelta) is None
