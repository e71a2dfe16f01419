"""document.py: what is shown of a recording; and event_alignment.py, event_summary.py and turns.py, of which it is made."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.other_api_streams import converse, gemini_request, ollama_request
from tests.support.paths import FLOWS
from tests.support.recordings import META, in_events, keep
from tests.support.streams import WEATHER, chunk, event, request, stream
from tests.support.upstream_answers import APIS, PAIRS, Asked, Text, Thought, asked, speak, tell
from toolmend.cli.views.page import render
from toolmend.cli.views.terminal_view import print_view
from toolmend.recordings.read import replay
from toolmend.recordings.read.document import document
from toolmend.recordings.read.event_alignment import REACHING
from toolmend.recordings.read.event_summary import Summary
from toolmend.recordings.read.images import image_key
from toolmend.recordings.read.library import entry
from toolmend.recordings.read.turns import MAX_TEXT, folded

FRAMES = [converse((name, {})) for name in ("messageStart", "messageStop")]
GEMINI = gemini_request()
GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        *GEMINI["contents"],
        {
            "role": "model",
            "parts": [{"text": "Hm", "thought": True}, {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}}],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "get_weather", "response": {"output": "rain"}}},
                {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            ],
        },
    ],
    "tools": [*GEMINI["tools"], {"googleSearch": {}}],
}
OLLAMA = ollama_request() | {"stream": True}
OLLAMA["messages"] = [
    {"role": "system", "content": "Be brief."},
    *OLLAMA["messages"],
    {"role": "assistant", "content": "", "thinking": "Hm", "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]},
    {"role": "tool", "tool_name": "get_weather", "content": "rain"},
]
KIMI = "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
END = "<|tool_call_end|><|tool_calls_section_end|>"


def view(folder: Path, forwarded: dict[str, Any] | None = None) -> dict[str, Any]:
    shown = document(entry(folder), replay.load(folder), forwarded)
    again: dict[str, Any] = json.loads(json.dumps(shown))  # it is all JSON
    return again


def kept(tmp_path: Path, deltas: list[Any], *, finish: str = "stop", **more: Any) -> dict[str, Any]:
    return view(keep(tmp_path / "x", in_events(stream(deltas, finish=finish)), **more))


def column(shown: dict[str, Any], name: str) -> list[Any]:
    return [row[name] for row in shown["events"]]


def bytes_of(shown: dict[str, Any]) -> tuple[str, str]:
    return "".join(column(shown, "raw")), "".join(row["raw"] if row["sent"] is None else row["sent"] for row in shown["events"])


@pytest.mark.parametrize("folder", replay.find(FLOWS), ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_every_fixture(folder: Path) -> None:
    """No byte is lost on either side, what differs has its rule, and a rule is where it fired."""
    shown = view(folder)
    recording = replay.load(folder)
    raw, mended = bytes_of(shown)
    assert raw == b"".join(recording.chunks).decode(errors="backslashreplace")
    assert mended == recording.client.decode(errors="backslashreplace")
    assert shown["notices"] == []
    assert {rule["name"] for rule in shown["rules"]} == set(recording.meta["rules"])
    assert all(rule["why"] for rule in shown["rules"])
    for row in shown["events"]:
        assert (row["kind"] == "same") is (row["sent"] is None)
        if row["by"]:
            name, at = row["by"]
            assert name in shown["events"][at - 1]["rules"]
        elif row["kind"] in ("changed", "added"):
            assert not recording.meta["rules"], row
        if row["until"]:
            assert row["kind"] == "held"
            assert shown["events"][row["until"] - 1]["sent"]


CALL = [KIMI[:12], KIMI[12:40], KIMI[40:] + '{"city": "Os', 'lo"}', END]
SEEN = {
    "nothing to mend": (["Hi ", "there"], "same same same same same same", [], {}),
    "held and let go": (["a", " <|tool_calls_", "x", "b"], "same same held released same same same same", [], {}),
    "a call": (
        ["Let me.", *CALL],
        "same same held held changed changed held changed same same",
        [None, None, *[["kimi_k2", 5]] * 5, ["finish_reason", 8], None, None],
        {3: 5, 4: 5, 7: 8},
    ),
}


@pytest.mark.parametrize("name", SEEN)
def test_kinds_and_rules(name: str, tmp_path: Path) -> None:
    deltas, kinds, by, until = SEEN[name]
    shown = kept(tmp_path, deltas)
    assert column(shown, "kind") == kinds.split()
    assert column(shown, "by") == (by or [None] * len(kinds.split()))
    assert {row["n"]: row["until"] for row in shown["events"] if row["until"]} == (until or ({3: 4} if "held" in kinds else {}))
    assert column(shown, "n") == list(range(1, len(kinds.split()) + 1))


def test_what_goes_out_at_the_end(tmp_path: Path) -> None:
    body = in_events(stream(["a", "<|tool_calls_"], finish="stop"))[:3]
    shown = view(keep(tmp_path / "x", body))
    assert column(shown, "kind") == ["same", "same", "held", "released"]
    assert (shown["events"][3]["raw"], shown["events"][3]["gives"]) == ("", "text “<|tool_calls_”")


def test_a_comment_goes_ahead_and_parts_nothing(tmp_path: Path) -> None:
    parts = in_events(stream(CALL))
    shown = view(keep(tmp_path / "x", [*parts[:4], b": wait\n\n", *parts[4:]]))
    assert column(shown, "kind")[1:7] == ["held", "held", "changed", "same", "changed", "held"]
    assert column(shown, "by")[1:7] == [["kimi_k2", 4]] * 3 + [None] + [["kimi_k2", 4]] * 2
    assert column(shown, "says")[4] == "comment"


def test_rules_that_reach_are_rules() -> None:
    assert {"kimi_k2", "duplicate_call", "policy_drain", "stop_sequence"} <= REACHING
    assert not {"finish_reason", "usage", "role"} & REACHING


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_another_api(source: str, target: str, tmp_path: Path) -> None:
    """Each upstream event stands with the client's bytes that went out for it."""
    parts = [Thought("Hm."), Text("Let me look that up for you."), Asked("c1", "get_weather", '{"city":"Oslo"}')]
    ask = asked(target, ("get_weather", {"city": {"type": "string"}}))
    body = in_events(speak(source, parts, "tool_calls"))
    folder = keep(tmp_path / "x", body, ask, api=source, client_api=target, route="r", notes=["a thing was left out"])
    shown = view(folder, {"model": "other"})
    assert shown["notices"] == ["a thing was left out."]
    assert set(column(shown, "kind")) <= {"translated", "silent"}
    assert [row["sent"] == "" for row in shown["events"]] == [kind == "silent" for kind in column(shown, "kind")]
    assert bytes_of(shown) == (b"".join(body).decode(), replay.load(folder).client.decode())
    assert shown["forwarded"]["fields"] == {"model": '"other"'}
    for side in ("raw", "mended"):
        answer = shown["answer"][side]
        assert (answer["text"], answer["reasoning"]) == ("Let me look that up for you.", "Hm.")
        assert [call["name"] for call in answer["tool_calls"]] == ["get_weather"]
    assert any("call get_weather" in gives for gives in column(shown, "gives"))


WHOLE: dict[str, dict[str, Any]] = {
    "a whole answer": {"stream": False, "chunks": [tell("chat", [Text("Hi")])]},
    "for one that waits for a stream": {"stream": False, "client_stream": True, "client_api": "messages", "chunks": [tell("chat", [Text("Hi")])]},
    "a stream for one that waits for a whole": {"client_stream": False, "client_api": "messages", "chunks": in_events(speak("chat", [Text("Hi")]))},
    "an error": {"status": 429, "stream": False, "chunks": [b'{"error":{"message":"slow down","type":"rate_limit"}}']},
    "an error of another API": {"status": 429, "stream": False, "client_api": "messages", "route": "r", "chunks": [b'{"error":{"message":"slow down","type":"rate_limit"}}']},
    "no JSON": {"status": 502, "stream": False, "chunks": [b"<html>"]},
    "nothing": {"chunks": []},
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_no_stream_for_a_stream(name: str, tmp_path: Path) -> None:
    more = dict(WHOLE[name])
    chunks = more.pop("chunks")
    ask = asked(more.get("client_api", "chat"), ("get_weather", {}))
    folder = keep(tmp_path / "x", chunks, ask, client=b"" if name == "nothing" else None, **more)
    shown = view(folder)
    assert bytes_of(shown) == (b"".join(chunks).decode(), replay.load(folder).client.decode())
    assert shown["notices"] == []
    if "Hi" in str(chunks):
        assert [shown["answer"][side]["text"] for side in ("raw", "mended")] == ["Hi", "Hi"]


def test_one_that_was_cut_off(tmp_path: Path) -> None:
    """What the client had not got when it left is not shown as sent."""
    whole = replay.load(keep(tmp_path / "whole", in_events(stream(["Let me.", *CALL]))))
    short = whole.client[:700]
    folder = keep(tmp_path / "x", whole.chunks, client=short, state="client_closed", error="client disconnected")
    shown = view(folder)
    assert bytes_of(shown)[1] == short.decode()
    assert shown["notices"] == ["The recording is no whole answer, its state is client closed: client disconnected."]


def test_what_is_mended_otherwise_today_says_so(tmp_path: Path) -> None:
    folder = keep(tmp_path / "x", in_events(stream(["a"])), client=b"data: other\n\n")
    assert view(folder)["notices"] == ["The client got something else than is shown: the mending of today is not that of then."]


@pytest.mark.parametrize("more", [{"settings": {"dialects": "nonsense"}}, {"api": "gemini", "settings": {"dialects": "nonsense"}}])
def test_what_cannot_be_played(more: dict[str, Any], tmp_path: Path) -> None:
    body = in_events(stream(["a"]))
    shown = view(keep(tmp_path / "x", body, client=b"data: b\n\n", **more))
    assert shown["notices"][0].startswith("It cannot be played (")
    assert bytes_of(shown) == (b"".join(body).decode(), "data: b\n\n")


@pytest.mark.parametrize(("api", "body"), [("bedrock", FRAMES), ("cohere", [b"event: x\ndata: {}\n\n"])])
def test_an_api_that_is_not_read(api: str, body: list[bytes], tmp_path: Path) -> None:
    """Its events are shown by their names, as they came."""
    shown = view(keep(tmp_path / "x", body, client=b"".join(body), api=api))
    assert shown["notices"] == []
    assert [event["says"] for event in shown["events"]] == (["messageStart", "messageStop"] if api == "bedrock" else ["x"])
    assert {event["kind"] for event in shown["events"]} == {"same"}


OTHERS = {
    "gemini": ({"request": GEMINI, "model": "m"}, ["system", "user", "assistant", "tool", "user"], ["get_weather", "task", "googleSearch"]),
    "ollama": (OLLAMA, ["system", "user", "assistant", "tool"], ["get_weather", "task"]),
}


@pytest.mark.parametrize("api", OTHERS)
def test_requests_of_apis_that_are_not_translated(api: str) -> None:
    asked, roles, names = OTHERS[api]
    shown = folded(asked, api)
    assert [turn["role"] for turn in shown["turns"]] == roles
    assert [tool["name"] for tool in shown["tools"]] == names
    parts = [part for turn in shown["turns"] for part in turn["parts"]]
    kinds = ["text", "text", "thinking", "call", "result"] + ["file"] * (api == "gemini")
    assert [part["kind"] for part in parts] == kinds
    assert parts[3] == {"kind": "call", "id": "get_weather", "name": "get_weather", "text": '{"city":"Oslo"}'}
    assert shown["fields"].keys() == {"gemini": {"model"}, "ollama": {"model", "stream"}}[api]
    assert shown["notes"] == []


def test_an_unknown_rule(tmp_path: Path) -> None:
    shown = view(keep(tmp_path / "x", [b"data: [DONE]\n\n"], client=b"data: [DONE]\n\n", rules=["of_tomorrow"]))
    assert shown["rules"] == [{"name": "of_tomorrow", "what": "A rule that this version does not know.", "why": "", "events": []}]


def test_times(tmp_path: Path) -> None:
    folder = keep(tmp_path / "x", in_events(stream(["a", "b", "c"])), every=400.0)
    shown = view(folder)
    assert shown["times"] == {"wait": 812.4, "first_token": 400.0, "last": 2400.0, "longest_gap": 400.0, "tokens_per_second": 2.5}
    assert column(shown, "ms") == [400.0 * n for n in range(7)]
    assert [ms for _, _, ms in shown["chunks"]] == column(shown, "ms")
    assert sum(size for _, size, _ in shown["chunks"]) == shown["bytes"]["raw"]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    shown = view(keep(tmp_path / "x", [b"data: \xff\xfe\n\n", b"data: [DONE]\n\n"]))
    assert shown["events"][0]["raw"] == "data: \\xff\\xfe\n\n"


# the summary of an event

SAID = {
    "text": (chunk({"content": "Hel\nlo"}), "text “Hel⏎lo”"),
    "long": (chunk({"content": "x" * 100}), "text “" + "x" * 60 + "…”"),
    "reasoning": (chunk({"reasoning_content": "Hm"}), "reasoning “Hm”"),
    "call": (chunk({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}), "call f, arguments “{}”, end of call"),
    "finish": (chunk({}, "length"), "finish length"),
    "usage": ({"choices": [], "usage": {"prompt_tokens": 1200, "completion_tokens": 3}}, "usage 1,200 → 3"),
    "end": ("[DONE]", "end"),
    "error": ({"error": {"type": "overloaded", "message": "x"}}, "error overloaded"),
    "no JSON": ("hm", "data “hm”"),
    "of another kind": ({"type": "vendor.thing"}, "vendor.thing"),
    "without a kind": ({"x": 1}, "nothing for the answer"),
}


@pytest.mark.parametrize("name", SAID)
def test_summary(name: str) -> None:
    data, said = SAID[name]
    reading = Summary("chat", stream=True)
    assert reading.of(event(chunk({"role": "assistant"}))) == "start"
    assert reading.of(event(data)) == said


@pytest.mark.parametrize(("raw", "said"), [(b": hi\n\n", "comment"), (b"\n", "no data"), (b"event: x\n\n", "no data"), (b"", "")])
def test_summary_of_what_has_no_data(raw: bytes, said: str) -> None:
    assert Summary("chat", stream=True).of(raw) == said


@pytest.mark.parametrize("api", APIS)
def test_a_summary_is_a_line(api: str) -> None:
    reading = Summary(api, stream=True)
    parts = [Thought("a\tb\n" * 50), Text("c\nd" * 80), Asked("c1", "f", json.dumps({"x": "y" * 300}))]
    for raw in in_events(speak(api, parts, "tool_calls")):
        said = reading.of(raw)
        assert said
        assert len(said) <= 90
        assert "\n" not in said


# the request


@pytest.mark.parametrize("api", APIS)
def test_request(api: str) -> None:
    shown = folded(asked(api, ("get_weather", {"city": {"type": "string"}}), temperature=0.5), api)
    assert [turn["role"] for turn in shown["turns"]][-1] == "user"
    assert [tool["name"] for tool in shown["tools"]] == ["get_weather"]
    assert json.loads(shown["tools"][0]["schema"])["properties"] == {"city": {"type": "string"}}
    assert shown["fields"]["temperature"] == "0.5"
    assert not {"messages", "input", "system", "tools"} & set(shown["fields"])


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(6000)).decode()


def test_parts_of_a_conversation() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "x" * (MAX_TEXT + 5)}, {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PNG}}]},
        {"role": "assistant", "reasoning_content": "Hm", "tool_calls": [{"id": "c0", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}]},
        {"role": "tool", "tool_call_id": "c0", "content": "seen"},
    ]
    user, assistant, tool = folded(request(messages=messages), "chat")["turns"]
    assert user["parts"][0]["text"] == "x" * MAX_TEXT + "\n… 5 characters more"
    file = {"kind": "file", "text": "[image, image/png, 6,009 bytes]", "images": [image_key(PNG)]}
    assert user["parts"][1] == file
    assert {part["kind"]: part["text"] for part in assistant["parts"]} == {"thinking": "Hm", "call": '{"a":1}'}
    assert tool["parts"] == [{"kind": "result", "id": "c0", "name": "look", "error": False, "text": "seen"}]


def test_a_request_that_is_none_of_ours() -> None:
    why = ["The request cannot be read: `contents` is not a list of objects."]
    assert folded({"contents": [1]}, "gemini") == {"turns": [], "tools": [], "fields": {"contents": "[\n  1\n]"}, "notes": why}
    assert folded({"inputs": [1]}, "cohere") == {"turns": [], "tools": [], "fields": {"inputs": "[\n  1\n]"}, "notes": []}


def test_a_request_without_sense() -> None:
    for body in ({}, {"messages": 7}, {"messages": [7, {"role": 3}], "tools": {"a": 1}}):
        assert folded(body, "chat")["tools"] == []
    broken = folded({"model": "m", "messages": 7}, "chat")
    assert broken["notes"] == ["The request cannot be read: `messages` is not a list."]
    assert broken["fields"] == {"model": '"m"', "messages": "7"}


def test_a_request_that_was_not_kept(tmp_path: Path) -> None:
    folder = keep(tmp_path / "x", in_events(stream(["a"])))
    (folder / "request.json").unlink()
    assert view(folder)["request"] is None
    assert view(keep(tmp_path / "y", in_events(stream(["a"])), WEATHER))["request"]["turns"]


ODD: list[Any] = [None, 7, -1.5, "x", [], [1], [[1, 2, 3]], {}, {"a": [1]}, True, float("nan")]
KINDS: dict[str, type] = {
    **dict.fromkeys(("state", "recorded_at", "host", "method", "path", "http_version", "api", "client_api", "model", "route"), str),
    **dict.fromkeys(("request_headers", "response_headers", "rules", "ids"), list),
    "settings": dict,
    "status": int,
}
"""What is of another kind is told; what is not named here may be anything."""


@pytest.mark.parametrize("name", [*META, "client_api", "route"])
def test_a_recording_without_sense(name: str, tmp_path: Path) -> None:
    """Whatever stands in meta.json: it is shown, in all three ways, but for what is of another kind; that is told."""
    folder = keep(tmp_path / "x", in_events(stream(["a", *CALL])))
    meta = json.loads((folder / "meta.json").read_text())
    for value in ODD:
        (folder / "meta.json").write_text(json.dumps(meta | {name: value}))
        missing = name == "api" and value is None
        if missing or not isinstance(value, KINDS.get(name, object) | None):
            with pytest.raises(replay.RecordingError, match=rf"meta\.json: {name} is {'missing' if missing else 'no'}"):
                replay.load(folder)
            continue
        shown = document(entry(folder), replay.load(folder))
        json.dumps(shown, allow_nan=False)
        assert render(shown)
        print_view(shown, whole=True)


def test_a_request_that_is_no_object(tmp_path: Path) -> None:
    folder = keep(tmp_path / "x", in_events(stream(["a"])))
    (folder / "request.json").write_text("null")
    assert view(folder)["request"] is None
    for body in ("[]", "7", '"x"'):
        (folder / "request.json").write_text(body)
        with pytest.raises(replay.RecordingError, match=r"request\.json is no JSON object"):
            view(folder)
