"""call_identity.py: names, and calls told apart in whatever way index, id and name are spelt."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patterns.irregular import REQUEST, ZONE, entry
from tests.support.judges.chat import read
from tests.support.streams import chunk, event, request, tool
from toolmend.apis.shared.call_identity import join_name, may_continue, offered_name, only_fitting
from toolmend.core import tools
from toolmend.core.tools import UNKNOWN
from toolmend.pipeline.pipeline import Pipeline

LONG = tools.of_chat(request(tool("get"), tool("get_weather", city={}), tool("functions.odd"), tool("a-b.c")))
NAMES = {
    "get": "get", " get\n": "get", "functions.get": "get", "functions.odd": "functions.odd", "functions.other": "functions.other",
    "get<|channel|>commentary": "get", "functions.a-b.c <|end|>": "a-b.c", "<|x|>": "", "": "",
    "get\n<function=get": "get", "a-b.c<arg_key>x</arg_key>": "a-b.c", "other<br>": "other<br>",
    'get {"a": 1}': "get", 'get("a")': "get", "functions.get<x>": "functions.get<x>", "get it": "get it",
    "default_api.get": "get", "default_api:a-b.c": "a-b.c", "default_api.functions.get": "default_api.functions.get",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
    assert offered_name(name, LONG) == NAMES[name]


def test_names_that_may_go_on() -> None:
    assert [name for name in ("get", "get_", "g", "a-b", "func", "functions.", "functions.ge", "defa", "default_api:g", "weather", "x") if may_continue(name, LONG)] == [
        "get_", "g", "a-b", "func", "functions.", "functions.ge", "defa", "default_api:g",
    ]  # fmt: skip
    assert not may_continue("func", UNKNOWN)
    assert (join_name("get", "get", LONG), join_name("get_", "weather", LONG)) == ("get", "get_weather")
    doubled = tools.of_chat(request(tool("bye"), tool("byebye")))
    assert join_name("bye", "bye", doubled) == "byebye"
    assert (only_fitting('{"city": 1}', LONG), only_fitting("{", LONG), only_fitting("[]", LONG)) == ("get_weather", "", "")


ARGUMENTS = st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers() | st.none(), min_size=1, max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from(["get_weather", "get_time", "task"]), ARGUMENTS), min_size=1, max_size=3)
INDICES = {
    "right": lambda n: n,
    "from one": lambda n: n + 1,
    "zero": lambda _: 0,
    "gaps": lambda n: 3 * n,
    "none": lambda _: None,
    "a string": str,
}


@given(
    CALLS,
    st.sampled_from(sorted(INDICES)),
    st.sampled_from(["whole", "missing", "empty", "late", "on each"]),
    st.sampled_from(["whole", "split", "on each", "residue", "markup"]),
    st.sampled_from(["pieces", "object", "fence", "twice", "tail", "at once"]),
    st.integers(1, 12),
    st.booleans(),
)
def test_any_calls_in_any_spelling(
    calls: list[tuple[str, dict[str, Any]]], index: str, ids: str, names: str, form: str, size: int, one_chunk: bool
) -> None:
    if names == "on each" and ids in ("missing", "empty") and index in ("zero", "none"):
        # nothing tells the second of two equal calls from the first said again
        calls = [call for n, call in enumerate(calls) if call not in calls[:n]]
    deltas: list[dict[str, Any]] = []
    for number, (name, value) in enumerate(calls):
        text = json.dumps(value)
        written = {"fence": f"```json\n{text}\n```", "twice": text + text, "tail": text + "</tool_call>"}.get(form, text)
        parts: list[Any] = [value] if form == "object" else [written[at : at + size] for at in range(0, len(written), size)]
        parts = [written] if form == "at once" else parts
        said = f"id{number}"
        key = INDICES[index](number)
        spoken = {"split": [name[:2], name[2:]], "residue": [name + "<|channel|>x"], "markup": [f"{name}\n<function={name}"]}.get(names, [name])
        deltas += [entry(key, {"whole": said, "on each": said, "empty": ""}.get(ids) if not at else None, part, "")
                   for at, part in enumerate(spoken)]  # fmt: skip
        if ids == "late":
            deltas.append(entry(key, said))
        deltas += [entry(key, said if ids == "on each" else None, name if names == "on each" else None, part) for part in parts]
    chunks = [deltas] if one_chunk else [[delta] for delta in deltas]
    body = b"".join(event(chunk({"role": "assistant", "tool_calls": entries})) for entries in chunks)
    numbers = iter(range(100))
    made = Pipeline(REQUEST, new_id=lambda: f"made{next(numbers)}")
    answer = read(made.feed(body + event(chunk({}, "stop")) + event("[DONE]")) + made.close())
    assert made.error is None
    assert answer.all_faults == []
    assert [(call.name, call.value) for call in answer.only.calls] == calls
    assert len({call.id for call in answer.only.calls}) == len(calls)
    if ids in ("whole", "on each", "late"):
        assert [call.id for call in answer.only.calls] == [f"id{number}" for number in range(len(calls))]
    assert answer.only.finish_reasons == ["tool_calls"]


ODD = st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "a", "get_", "task", "{", "}", '{"x":1}', [], {}, {"x": 1}])
ENTRIES = st.fixed_dictionaries(
    {}, optional={"index": ODD, "id": ODD, "type": ODD, "function": ODD | st.fixed_dictionaries({}, optional={"name": ODD, "arguments": ODD})}
)


@given(st.lists(ODD | st.lists(ENTRIES | ODD, max_size=3), max_size=8), st.sampled_from(["stop", "length", None]))
def test_whatever_comes_what_goes_out_is_legal(deltas: list[Any], finish: str | None) -> None:
    body = b"".join(event(chunk({"role": "assistant", "tool_calls": entries})) for entries in ["", *deltas])
    made = Pipeline(REQUEST)
    out = made.feed(body + event(chunk({}, finish)) + event("[DONE]")) + made.close()
    assert made.error is None, made.error
    answer = read(out)
    assert [fault for fault in answer.all_faults if "behind complete" not in fault or "{" in fault] == []
    for call in answer.only.calls:
        assert call.name and call.id
    assert ZONE not in answer.only.content
