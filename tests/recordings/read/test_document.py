"""document.py: what is shown of a recording; and event_alignment.py, event_summary.py and turns.py, of which it is made."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import CALL, column, view
from tests.support.other_api_streams import converse
from tests.support.paths import FLOWS
from tests.support.recordings import META, in_events, keep
from tests.support.streams import stream
from tests.support.upstream_answers import PAIRS, Asked, Text, Thought, asked, speak, tell
from toolmend.cli.views.page import render
from toolmend.cli.views.terminal_view import print_view
from toolmend.recordings.read import replay
from toolmend.recordings.read.document import document
from toolmend.recordings.read.library import entry

FRAMES = [converse((name, {})) for name in ("messageStart", "messageStop")]


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
    assert shown["notices"] == ["The recording is not a complete response, its state is client closed: client disconnected."]


def test_what_is_mended_otherwise_today_says_so(tmp_path: Path) -> None:
    folder = keep(tmp_path / "x", in_events(stream(["a"])), client=b"data: other\n\n")
    assert view(folder)["notices"] == ["The client got other bytes than are shown: the mending has changed since."]


@pytest.mark.parametrize("more", [{"settings": {"dialects": "nonsense"}}, {"api": "gemini", "settings": {"dialects": "nonsense"}}])
def test_what_cannot_be_played(more: dict[str, Any], tmp_path: Path) -> None:
    body = in_events(stream(["a"]))
    shown = view(keep(tmp_path / "x", body, client=b"data: b\n\n", **more))
    assert shown["notices"][0].startswith("It cannot be replayed (")
    assert bytes_of(shown) == (b"".join(body).decode(), "data: b\n\n")


@pytest.mark.parametrize(("api", "body"), [("bedrock", FRAMES), ("cohere", [b"event: x\ndata: {}\n\n"])])
def test_an_api_that_is_not_read(api: str, body: list[bytes], tmp_path: Path) -> None:
    """Its events are shown by their names, as they came."""
    shown = view(keep(tmp_path / "x", body, client=b"".join(body), api=api))
    assert shown["notices"] == []
    assert [event["says"] for event in shown["events"]] == (["messageStart", "messageStop"] if api == "bedrock" else ["x"])
    assert {event["kind"] for event in shown["events"]} == {"same"}


def test_an_unknown_rule(tmp_path: Path) -> None:
    shown = view(keep(tmp_path / "x", [b"data: [DONE]\n\n"], client=b"data: [DONE]\n\n", rules=["of_tomorrow"]))
    assert shown["rules"] == [{"name": "of_tomorrow", "what": "A rule of another version.", "why": "", "events": []}]


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


# the request


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
