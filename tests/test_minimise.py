"""A recording made small tests the same, and says nothing of what was said."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judge import read
from judge_messages import read as read_messages
from patterns.kimi import PATTERNS
from rows import part_of
from streams import WEATHER, body_of, chunk, event, request, stream, tool
from toolmend.recordings.fixtures import minimise as module
from toolmend.recordings.fixtures.fixture import golden
from toolmend.recordings.fixtures.minimise import minimise
from toolmend.recordings.read import replay
from toolmend.recordings.read.replay import Recording

FLOWS = Path(__file__).parents[1] / "flows"
RECORDINGS = {str(folder.relative_to(FLOWS)): folder for folder in replay.find(FLOWS)}


def recording(tmp_path: Path, body: bytes, asked: dict[str, Any], api: str = "chat", **meta: Any) -> Recording:
    """One that was recorded event by event, a tenth of a second each; a comment stays with the event behind it."""
    (tmp_path / "client.sse").touch()
    chunks = tuple(part + b"\n\n" for part in body.split(b"\n\n") if part)
    times = tuple(n / 10 for n in range(len(chunks)))
    made = Recording(tmp_path, {"api": api, "settings": {"dialects": "auto"}, **meta}, asked, chunks, times, b"", stream=True)
    client, rules, ids = golden(made)
    return replace(made, client=client, meta={**made.meta, "rules": rules, "ids": ids})


@pytest.mark.parametrize("name", part_of(RECORDINGS, 6))
def test_what_it_tests_stays(name: str) -> None:
    before = replay.load(RECORDINGS[name])
    small = minimise(before)
    assert small.whole
    after = small.recording
    assert len(b"".join(after.chunks)) <= len(b"".join(before.chunks))
    assert len(after.chunks) == len(after.times)
    assert {*after.times} <= {*before.times}
    client, rules, _ = golden(after)
    assert rules == before.meta["rules"]
    old, new = read(before.client), read(client)
    assert new.all_faults == old.all_faults
    assert (new.done, new.usage) == (old.done, old.usage)
    for choice, kept in zip(old.choices.values(), new.choices.values(), strict=True):
        assert [(call.id, call.name) for call in choice.calls] == [(call.id, call.name) for call in kept.calls]
        assert [type(call.value) for call in choice.calls] == [type(call.value) for call in kept.calls]
        assert [*map(keys, choice.calls)] == [*map(keys, kept.calls)]
        assert choice.finish_reasons == kept.finish_reasons
        assert bool(choice.content.strip()) == bool(kept.content.strip())


@pytest.mark.parametrize("name", [*RECORDINGS][::24])
def test_the_same_gives_the_same(name: str) -> None:
    before = replay.load(RECORDINGS[name])
    assert minimise(before) == minimise(before)


def keys(call: Any) -> list[str] | None:
    return list(call.value) if isinstance(call.value, dict) else None


def test_nothing_that_was_said_is_left(tmp_path: Path) -> None:
    """The text before and behind a call, its arguments, the request."""
    said = [f"Secret sentence number {n} about Ludwig. " for n in range(40)]
    call = PATTERNS["no-section"].deltas
    asked = request(
        tool("get_weather", city={"type": "string", "description": "Ludwig's town"}),
        *(tool(f"other_{n}", x={"type": "string"}) for n in range(20)),
        temperature=0.5,
    )
    asked["messages"] = [
        {"role": "system", "content": "You serve Ludwig."},
        *({"role": "user", "content": [{"type": "text", "text": f"Ludwig asks {n}"}]} for n in range(9)),
        {"role": "user", "content": "Is it raining where Ludwig lives?"},
    ]
    body = stream([*said, *call])
    assert b"Ludwig" in body
    before = recording(tmp_path, body, asked)
    assert before.meta["rules"] == ["kimi_k2", "finish_reason"]
    small = minimise(before).recording
    after, asks = b"".join(small.chunks), json.dumps(small.request)
    for word in ("Ludwig", "Secret", "sentence", "Beijing", "raining", "town"):
        assert word.encode() not in after
        assert word not in asks
    assert len(after) < len(body) / 2
    assert small.request == {
        "model": "kimi-k2.5",
        "stream": True,
        "messages": [{"role": "user", "content": "Xx xx xxxxxxx xxxxx Xxxxxx xxxxx?"}],
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": tool("", city={"type": "string"})["function"]["parameters"]}}],
        "temperature": 0.5,
    }  # fmt: skip
    assert {*json.loads(read(golden(small)[0]).only.calls[0].arguments)["city"]} == {*"Xx"}


@pytest.mark.parametrize(
    ("asked", "after"),
    [
        ({"system": "You are Ludwig"}, {"system": "Xxx xxx Xxxxxx"}),
        ({"instructions": "Be 12 Ünds"}, {"instructions": "Xx 11 éxxx"}),
        ({"input": "Hi"}, {"input": "Xx"}),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}]}]},
         {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "xxxx:xxxxx/xxx;xxxx11,xXXX"}}]}]}),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "a1", "function": {"name": "read", "arguments": '{"a": "b\\n", "n": 1e5, "t": true}'}}]}]},
         {"messages": [{"role": "assistant", "tool_calls": [{"id": "a1", "function": {"name": "read", "arguments": '{"x": "x\\n", "x": 1e5, "x": true}'}}]}]}),
        ({"user": "me", "stop": ["END"], "temperature": 1.5}, {"user": "me", "stop": ["END"], "temperature": 1.5}),
    ],
)  # fmt: skip
def test_the_request_becomes_filler(asked: dict[str, Any], after: dict[str, Any], tmp_path: Path) -> None:
    small = minimise(recording(tmp_path, stream(["Hello."]), asked)).recording
    assert small.request == after


def test_filler_keeps_the_length_and_the_escapes(tmp_path: Path) -> None:
    text = 'Zeile\\n "tab\\t" Grüße, 你好 \\u4f60 42 C:\\\\new'
    before = recording(tmp_path, event(chunk({"role": "assistant"})) + f'data: {{"choices":[{{"index":0,"delta":{{"content":"{text.replace(chr(34), chr(92) + chr(34))}"}}}}]}}\n\n'.encode(), WEATHER)
    (first, second) = minimise(before).recording.chunks
    assert first == before.chunks[0]
    assert len(second) == len(before.chunks[1])
    assert json.loads(second[6:])["choices"][0]["delta"]["content"] == 'Xxxxx\n "xxx\t" Xxéée, 字字 你 11 X:\\nxx'.replace("Xxéée", "Xxééx")


def test_chunks_that_hold_several_events_or_half_of_one(tmp_path: Path) -> None:
    body = body_of(PATTERNS["no-section"])
    events = recording(tmp_path, body, WEATHER)
    for size in (7, 100, 1000):
        chunks = tuple(body[at : at + size] for at in range(0, len(body), size))
        before = replace(events, chunks=chunks, times=tuple(range(len(chunks))))
        after = minimise(before).recording
        assert golden(after)[1] == events.meta["rules"]
        assert b"".join(after.chunks) == b"".join(minimise(events).recording.chunks)


def test_a_whole_response(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": "Ludwig says: " + "".join(PATTERNS["no-section"].deltas)}
    body = json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m",
                       "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()  # fmt: skip
    made = Recording(tmp_path, {"api": "chat"}, WEATHER, (body,), (0.0,), b"", stream=False)
    client, rules, _ = golden(made)
    made = replace(made, client=client, meta={**made.meta, "rules": rules})
    (small,) = minimise(made).recording.chunks
    assert rules == ["kimi_k2", "finish_reason"]
    assert len(small) == len(body)
    assert b"Xxxxxx xxxx: " in small
    assert b"Beijing" not in small


def test_a_translated_answer(tmp_path: Path) -> None:
    asked = {"model": "claude-x", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Ludwig?"}],
             "tools": [{"name": "get_weather", "description": "Ludwig", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]}  # fmt: skip
    body = stream(["Ludwig is here. ", *PATTERNS["no-section"].deltas])
    before = recording(tmp_path, body, asked, client_api="messages", route="r", host="x")
    small = minimise(before).recording
    assert b"Ludwig" not in b"".join(small.chunks)
    assert "Ludwig" not in json.dumps(small.request)
    assert [call.name for call in read_messages(golden(small)[0]).calls] == ["get_weather"]


def test_it_is_bounded_by_work_and_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORK", 60_000)
    before = recording(tmp_path, stream([f"word{n} " for n in range(200)]), WEATHER)
    small = minimise(before)
    assert not small.whole
    assert minimise(before) == small
    assert golden(small.recording)[1] == before.meta["rules"]


def test_what_is_not_played_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long stream of which nothing can be left out is not put together as often as it has events."""
    before = recording(tmp_path, stream(["<|tool_call_end|>"] * 400), WEATHER)
    made: list[int] = []
    with_events = module._with_events
    monkeypatch.setattr(module, "WORK", 600_000)
    monkeypatch.setattr(module, "_with_events", lambda now, events: made.append(len(events)) or with_events(now, events))
    assert not minimise(before).whole
    assert 0 < len(made) < 20
