"""The recorder, on a real disk: what lies there at the end, after a failure, and after a kill."""

import errno
import hashlib
import itertools
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from tests.support.paths import ADDON, ROOT
from tests.support.recorder import EXCHANGE, KEY, REQUEST, all_done, event, files, log, meta, record, recorder, wait_for
from toolmend import __version__
from toolmend.config.retention import Keep
from toolmend.core.joined_chunks import together
from toolmend.recordings.read import safe_read
from toolmend.recordings.write import recorder as recorder_module
from toolmend.recordings.write import safe_write
from toolmend.recordings.write.folder import MOST_DELAYED, Folder
from toolmend.recordings.write.recorder import (
    BUSY,
    END_COST,
    FLUSH_BYTES,
    MAX_WAITING,
    YIELD,
    YIELD_AFTER,
    Recorder,
)

__all__ = ["log", "recorder"]


# what lies there


ASKED = replace(EXCHANGE, status=0, http_version="", response_headers=(), stream=False)
"""The same, as it is known before it is answered."""


def test_a_recording_begins_with_its_request(recorder: Recorder) -> None:
    recording = recorder.start(ASKED)
    wait_for((recording.folder / "request.json").exists)
    told = meta(recording.folder)
    assert (told["state"], told["pid"], told["status"]) == ("waiting", os.getpid(), 0)
    assert KEY not in str(files(recording.folder))
    recording.answered(EXCHANGE)
    recording.passed(event("hi"), event("hi"))
    wait_for((recording.folder / "upstream.sse").exists)
    assert meta(recording.folder)["state"] == "partial"
    recording.finish("complete")
    recorder.close()
    told = meta(recording.folder)
    assert (told["state"], told["status"], told["http_version"]) == ("complete", 200, "HTTP/2.0")
    assert "pid" not in told
    assert set(told["sha256"]) == {"request.json", "upstream.sse", "upstream.idx", "client.sse", "message.json"}
    assert told["recorded_at"][:10] == recording.folder.parent.name


def test_an_early_and_a_late_beginning_are_alike(recorder: Recorder) -> None:
    early = recorder.start(ASKED)
    early.answered(EXCHANGE)  # in one go with it
    early.passed(event("hi"), b"")
    early.passed(b"", event("hi"))
    early.finish("complete")
    late = record(recorder)
    recorder.close()
    one, other = meta(early.folder), meta(late.folder)
    del one["recorded_at"], other["recorded_at"], one["sha256"]["upstream.idx"], other["sha256"]["upstream.idx"]
    assert one == other
    assert sorted(files(early.folder)) == sorted(files(late.folder))


def test_a_request_that_nobody_answers(recorder: Recorder) -> None:
    recording = recorder.start(ASKED)
    recording.finish("unanswered", end=f"waited 9.0 s, the client gave up with {KEY}", waited_ms=9000.0)
    recorder.close()
    told = meta(recording.folder)
    assert (told["state"], told["waited_ms"], told["rules"]) == ("unanswered", 9000.0, [])
    assert told["error"].startswith("waited 9.0 s, the client gave up with ")
    assert KEY not in told["error"]
    assert sorted(files(recording.folder)) == ["meta.json", "request.json"]


def test_a_request_that_is_no_json_is_answered(recorder: Recorder) -> None:
    recording = recorder.start(replace(ASKED, request=b"no JSON"))
    wait_for((recording.folder / "meta.json").exists)
    recording.answered(replace(EXCHANGE, request=b"no JSON"))
    recording.finish("complete")
    recorder.close()
    assert meta(recording.folder)["omitted"] == ["request.json"]


def test_a_stream(recorder: Recorder, log: list[str]) -> None:
    chunks = [event("a"), event("key: sk-ant"), event(f"{KEY[6:]}, b") + event("c")[:20], b"", event("c")[20:]]
    recording = recorder.start(EXCHANGE)
    recording.passed(together(chunks[:2]), b"")  # as they were read
    for number, chunk in enumerate(chunks):
        recording.passed(chunk if number > 1 else b"", b"")
        recording.passed(b"", chunk.upper())
    recording.finish("complete", rules=["kimi_k2", "finish_reason"], ids=["call_1", KEY], error=f"none, {KEY}")
    recorder.close()
    found = files(recording.folder)
    stars = "*" * len(KEY)
    upstream = event("a") + event("key: ******") + event(f"{stars[6:]}, b") + event("c")
    assert found["upstream.sse"] == upstream
    assert found["client.sse"] == b"".join(chunks).upper()  # in capitals it is another text
    assert json.loads(found["request.json"]) == {
        **REQUEST,
        "messages": [{"role": "user", "content": "my key is [REDACTED]"}],
    }
    rows = [json.loads(line) for line in found["upstream.idx"].splitlines()]
    assert [row["len"] for row in rows] == [len(chunk) for chunk in chunks if chunk]
    assert [row["off"] for row in rows] == [sum(row["len"] for row in rows[:i]) for i in range(len(rows))]
    times = [row["t_ms"] for row in rows]
    assert times[0] == 0
    assert times == sorted(times)
    assert sorted(found) == ["client.sse", "meta.json", "request.json", "upstream.idx", "upstream.sse"]
    told = json.loads(found.pop("meta.json"))
    assert told["recorded_at"].endswith("+00:00")
    expected = {
        "format": 1,
        "state": "complete",
        "recorded_at": told["recorded_at"],
        "host": "openrouter.ai",
        "method": "POST",
        "path": "/api/v1/chat/completions?key=[REDACTED]&sig=[REDACTED]&beta=1",
        "status": 200,
        "http_version": "HTTP/2.0",
        "api": "chat",
        "provider": "openrouter",
        "model": "moonshotai/kimi-k2",
        "stream": True,
        "flow_id": EXCHANGE.flow_id,
        "request_headers": [
            ["authorization", "[REDACTED]"],
            ["content-type", "application/json"],
            ["x-title", "[REDACTED]"],
        ],
        "response_headers": [
            ["content-type", "text/event-stream"],
            ["set-cookie", "[REDACTED]"],
            ["server", "s [REDACTED]"],
        ],
        "toolmend": __version__,
        "settings": {"dialects": "auto"},
        "rules": ["kimi_k2", "finish_reason"],
        "ids": ["call_1", "[REDACTED]"],
        "error": "none, [REDACTED]",
        "omitted": [],
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in found.items()},
    }
    assert list(told.items()) == list(expected.items())
    assert log == []


@pytest.mark.parametrize("busy", [-1, 10**6], ids=["always", "never"])
def test_chunks_lie_there_in_the_order_in_which_they_came(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, busy: int
) -> None:
    """However many of them the thread takes at once, and whatever lies between."""
    monkeypatch.setattr("toolmend.recordings.write.recorder.BUSY", busy)
    recording, beside = recorder.start(EXCHANGE), recorder.start(EXCHANGE)
    chunks = [event(f"chunk {number}") for number in range(100)]
    for number, chunk in enumerate(chunks):
        recording.passed(chunk, chunk)
        beside.passed(chunk, b"")
        beside.passed(b"", chunk.upper())
        if number % 10 == 5:
            recording.client_message(b"{}", number)
        if number == 50:
            all_done(recorder)
    recording.finish("complete")
    beside.finish("complete")
    recorder.close()
    for one, client in ((recording, chunks), (beside, [chunk.upper() for chunk in chunks])):
        found = files(one.folder)
        assert found["upstream.sse"] == b"".join(chunks)
        assert found["client.sse"] == b"".join(client)
        rows = [json.loads(line) for line in found["upstream.idx"].splitlines()]
        assert [row["len"] for row in rows] == [len(chunk) for chunk in chunks]


def test_a_stream_that_is_another_one_as_of_somewhere(recorder: Recorder) -> None:
    """A secret that is on its way there, and what only looks like one, are known on both sides of it."""
    both = event("my key is sk-ant") + event("-other files")
    rest = event(" go"), event(f" come, {KEY[:9]}") + event(KEY[9:])
    recordings = [recorder.start(EXCHANGE) for _ in both]
    for at, recording in enumerate(recordings):
        first = both[:at]
        recording.passed(first, first)
    all_done(recorder)
    for at, recording in enumerate(recordings):
        recording.passed(both[at:] + rest[0], both[at:])
        recording.passed(rest[1], rest[1])
        recording.finish("complete")
    recorder.close(60)
    masked = event(" come, " + "*" * 9) + event("*" * len(KEY[9:]))
    for recording in recordings:
        found = files(recording.folder)
        assert found["upstream.sse"] == both + rest[0] + masked
        assert found["client.sse"] == both + masked


ECHO = event(f"it is {KEY}") + event("files")
LATER = {  # what comes and goes out chunk by chunk; whether it is one stream to the end, written together and one by one
    "an event in two chunks": ([(ECHO[:30], b""), (ECHO[30:], ECHO)], True, True),
    "one byte at a time": ([*((ECHO[at : at + 1], b"") for at in range(29)), (ECHO[29:], ECHO)], True, True),
    "the end of one and the beginning of the next": ([(ECHO + ECHO[:30], ECHO), (ECHO[30:] + ECHO[:9], ECHO), (ECHO[9:], ECHO)], True, True),
    "in smaller pieces": ([(ECHO, ECHO[:20]), (b"", ECHO[20:30]), (b"", ECHO[30:])], True, False),
    "a whole event that is held": ([(ECHO, ECHO), (event("<"), b""), (event("b"), event("<") + event("b"))], True, False),
    "what never goes out": ([(ECHO, ECHO), (b"data: {", b"")], False, False),
    "what goes out in the place of it": ([(ECHO + ECHO[:30], ECHO), (ECHO[30:], event(f"no {KEY}")), (ECHO, ECHO)], False, False),
    "what goes out before it comes": ([(ECHO[:30], ECHO[:40]), (ECHO[30:], ECHO[40:])], False, False),
    "too much": ([(b"data: " + b"x" * (MOST_DELAYED // 2), b"")] * 3 + [(b"\n", (b"data: " + b"x" * (MOST_DELAYED // 2)) * 3 + b"\n")], False, False),
}


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("case", LATER)
def test_a_stream_that_the_client_gets_a_little_later(recorder: Recorder, case: str, one_by_one: bool) -> None:
    """What is cut within an event goes out with the rest of it. The files are the same as those of two streams."""
    chunks, *alike = LATER[case]
    recording, upstream, client = recorder.start(EXCHANGE), recorder.start(EXCHANGE), recorder.start(EXCHANGE)
    for received, sent in chunks:
        recording.passed(received, sent)
        upstream.passed(received, received)
        client.passed(sent, sent)
        if one_by_one:
            all_done(recorder)
    for one in (recording, upstream, client):
        one.finish("complete")
    recorder.close()
    found, came, went = files(recording.folder), files(upstream.folder), files(client.folder)
    assert found["upstream.sse"] == came["upstream.sse"]
    assert found["client.sse"] == went["client.sse"]
    assert meta(recording.folder)["sha256"] == {
        name: hashlib.sha256(data).hexdigest() for name, data in sorted(found.items()) if name != "meta.json"
    }
    assert recording._folder._identical is alike[one_by_one]


@pytest.mark.parametrize("loses", [False, True])
def test_what_the_client_has_not_had_is_there_where_bytes_are_missing(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, loses: bool
) -> None:
    recording = recorder.start(EXCHANGE)
    recording.passed(ECHO + b"event: x\n", ECHO)
    all_done(recorder)
    if loses:
        monkeypatch.setattr("toolmend.recordings.write.recorder.MAX_WAITING", -1)
        recording.passed(b"lost", b"")
    else:
        recording.cut()
    recording.finish("complete")
    recorder.close()
    found = files(recording.folder)
    assert found["upstream.sse"] == found["client.sse"] + b"event: x\n"
    assert meta(recording.folder)["state"] == "partial"


def test_a_whole_body(recorder: Recorder) -> None:
    body = json.dumps({"choices": [{"message": {"content": f"it is {KEY}"}}]}).encode()
    recording = recorder.start(replace(EXCHANGE, stream=False))
    for part in (body[:50], body[50:]):
        recording.passed(part, b"")
    recording.passed(b"", body)
    recording.finish("complete")
    recorder.close()
    found = files(recording.folder)
    assert sorted(found) == ["client.json", "message.json", "meta.json", "request.json", "upstream.json"]
    assert found["upstream.json"] == found["client.json"] == body.replace(KEY.encode(), b"*" * len(KEY))
    assert json.loads(found["message.json"])["text"] == f"it is {'*' * len(KEY)}"


@pytest.mark.parametrize("ending", ["complete", "upstream_error", "client_closed", "partial"])
def test_each_state(recorder: Recorder, ending: str) -> None:
    recording = recorder.start(EXCHANGE)
    recording.finish(ending)
    recorder.close()
    assert meta(recording.folder)["state"] == ending
    assert meta(recording.folder)["error"] is None
    assert files(recording.folder)["upstream.sse"] == b""


def test_only_the_first_end_counts(recorder: Recorder) -> None:
    recording = record(recorder)
    recording.passed(b"late", b"")
    recording.passed(b"", b"late")
    recording.finish("client_closed", error="late")
    recorder.close()
    assert meta(recording.folder)["state"] == "complete"
    assert files(recording.folder)["upstream.sse"] == files(recording.folder)["client.sse"] == event("hi")


def test_the_forwarded_request_where_it_differs(recorder: Recorder) -> None:
    same = record(recorder, replace(EXCHANGE, upstream_request=EXCHANGE.request))
    other = record(recorder, replace(EXCHANGE, upstream_request=b'{"model":"other","api_key":"hunter2hunter2"}'))
    recorder.close()
    assert "upstream_request.json" not in files(same.folder)
    assert json.loads(files(other.folder)["upstream_request.json"]) == {"model": "other", "api_key": "[REDACTED]"}


@pytest.mark.parametrize("body", [b"", b"\xff\x00no JSON, " + KEY.encode(), b"[" * 100_000])
def test_a_request_that_is_no_json_is_not_kept(recorder: Recorder, log: list[str], body: bytes) -> None:
    recording = record(recorder, replace(EXCHANGE, request=body, upstream_request=body + b" "))
    recorder.close()
    assert meta(recording.folder)["omitted"] == ["request.json", "upstream_request.json"]
    assert not [name for name in files(recording.folder) if "request" in name]
    assert log == []


def test_what_is_written_comes_to_lie_there_while_the_stream_flows(recorder: Recorder) -> None:
    recording = recorder.start(EXCHANGE)
    recording.passed(event("files"), b"")  # ends as a key begins
    upstream = recording.folder / "upstream.sse"
    all_done(recorder)
    assert upstream.read_bytes() == event("file*")
    assert meta(recording.folder)["state"] == "partial"
    recording.passed(event(" and folders"), b"")
    all_done(recorder)
    assert upstream.read_bytes() == event("files") + event(" and folder*")
    recording.finish("complete")
    recorder.close()
    assert upstream.read_bytes() == event("files") + event(" and folders")


def test_open_recordings_are_partial_after_a_shutdown(recorder: Recorder) -> None:
    recording = recorder.start(EXCHANGE)
    recording.passed(event("a") + b"data: {", b"")
    recorder.close()
    recording.passed(b"late", b"")
    recording.finish("complete")
    late = record(recorder)
    assert recorder._queue.empty()
    recorder.close()
    assert meta(recording.folder)["state"] == "partial"
    assert meta(recording.folder)["error"] == "the proxy was shut down"
    assert files(recording.folder)["upstream.sse"] == event("a") + b"data: {"
    assert not late.folder.exists()


def test_idle_recorder_starts_no_thread(tmp_path: Path, log: list[str]) -> None:
    before = {*threading.enumerate()}
    Recorder(tmp_path / "flows", log.append).close()
    assert {*threading.enumerate()} <= before
    assert not list(tmp_path.iterdir())


def test_a_translated_stream(recorder: Recorder) -> None:
    """Each side in its own API; what is not set is not told."""
    recording = recorder.start(replace(EXCHANGE, api="gemini", client_api="chat", route="1", notes=(f"seed {KEY} was left out",)))
    recording.passed(b"another API's", b"")
    recording.passed(b"", event("hi"))
    recording.finish("complete")
    plain = record(recorder)
    recorder.close()
    told, untranslated = meta(recording.folder), meta(plain.folder)
    assert (told["api"], told["client_api"], told["route"], told["notes"]) == ("gemini", "chat", "1", ["seed [REDACTED] was left out"])
    assert told.keys() - untranslated.keys() == {"client_api", "route", "notes"}
    assert json.loads(files(recording.folder)["message.json"])["text"] == "hi"


@pytest.mark.parametrize(("stream", "client_stream"), [(True, False), (False, True)])
def test_a_side_that_is_no_stream(recorder: Recorder, stream: bool, client_stream: bool) -> None:
    recording = recorder.start(replace(EXCHANGE, stream=stream, client_stream=client_stream))
    whole = b'{"choices": [{"message": {"content": "hi"}}]}'
    recording.passed(event("hi") if stream else whole, b"")
    recording.passed(b"", event("hi") if client_stream else whole)
    recording.finish("complete")
    recorder.close()
    found = files(recording.folder)
    assert found[f"upstream.{'sse' if stream else 'json'}"] == (event("hi") if stream else whole)
    assert found[f"client.{'sse' if client_stream else 'json'}"] == (event("hi") if client_stream else whole)
    assert json.loads(found["message.json"])["text"] == "hi"
    assert meta(recording.folder)["client_stream"] is client_stream


# the message


def test_the_message_holds_no_secret(recorder: Recorder, log: list[str]) -> None:
    """Neither one that is masked in the stream, nor one that has the shape of a key."""
    google = "AIza" + "x" * 35
    recording = recorder.start(EXCHANGE)
    for text in ("key: ", KEY[:9], KEY[9:], f", {google[:20]}", google[20:], ", \ud800"):
        recording.passed(b"", event(text))
    recording.finish("complete")
    recorder.close()
    found = files(recording.folder)
    assert json.loads(found["message.json"])["text"] == f"key: {'*' * len(KEY)}, [REDACTED], \ud800"
    assert meta(recording.folder)["sha256"]["message.json"] == hashlib.sha256(found["message.json"]).hexdigest()
    assert log == []


def test_the_message_of_a_stream_that_is_cut_off(recorder: Recorder) -> None:
    cut = recorder.start(EXCHANGE)
    cut.passed(b"", event("hello") + event("world")[:-9])
    open_ = recorder.start(EXCHANGE)
    open_.passed(b"", event("hello"))
    cut.finish("upstream_error", error="reset")
    recorder.close()
    for recording in (cut, open_):
        told = json.loads(files(recording.folder)["message.json"])
        assert (told["text"], told["finish_reason"], told["ended"]) == ("hello", None, False)


@pytest.mark.parametrize(("api", "body"), [("chat", b""), ("chat", b"<html>"), ("chat", b"data: {"), ("cohere", event("hi"))])
def test_no_message_where_none_is_understood(recorder: Recorder, api: str, body: bytes) -> None:
    recording = record(recorder, replace(EXCHANGE, api=api), body)
    recorder.close()
    assert "message.json" not in files(recording.folder)
    assert meta(recording.folder)["omitted"] == []
    assert meta(recording.folder)["state"] == "complete"


def test_an_error_in_a_codec_costs_the_message_alone(recorder: Recorder, log: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("toolmend.recordings.write.folder.folding", broken)
    recording = record(recorder)
    recorder.close()
    assert "message.json" not in files(recording.folder)
    told = meta(recording.folder)
    assert (told["omitted"], told["state"], told["error"]) == (["message.json"], "complete", None)
    assert sorted(told["sha256"]) == ["client.sse", "request.json", "upstream.idx", "upstream.sse"]
    assert log == []


def test_no_place_where_there_is_no_recording(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk a folder can be made, and no file in it."""
    create = safe_write.create

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    first = record(recorder)
    all_done(recorder)
    assert first.place == str(first.folder)
    monkeypatch.setattr(safe_write, "create", full)
    second = record(recorder)
    all_done(recorder)
    third = recorder.start(EXCHANGE)
    assert (first.place, second.place, third.place) == (str(first.folder), None, None)
    all_done(recorder)
    assert not [*second.folder.iterdir(), *third.folder.iterdir()]
    monkeypatch.setattr(safe_write, "create", create)
    fourth = record(recorder)
    all_done(recorder)
    assert fourth.place == str(fourth.folder)
    assert recorder.start(EXCHANGE).place


def test_the_first_recording_is_begun_at_once(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "FLUSH_INTERVAL", 1000)
    recording = recorder.start(EXCHANGE)
    wait_for(lambda: recorder.failing is False)
    assert recording.place


def test_a_first_recording_on_a_full_disk_has_no_place(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end may come sooner than the writer thread tries to make the folder."""

    def full(*_: object) -> None:
        time.sleep(0.01)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(safe_write, "create", full)
    assert record(recorder).place is None


def test_a_disk_that_hangs_is_waited_for_once(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = list[float | None]()
    hanging = threading.Event()
    monkeypatch.setattr(safe_write, "create", lambda *_: hanging.wait())
    monkeypatch.setattr(recorder.first_tried, "wait", waits.append)
    first, second = record(recorder), record(recorder)
    assert (first.place, second.place) == (None, None)
    assert recorder.first_tried.is_set()
    hanging.set()


# names and rights


@pytest.mark.parametrize(
    ("provider", "flow_id"),
    [
        ("../../etc", "../../../passwd"),
        ("a/b\\c:d\0e\n", "/" * 50),
        ("..", "."),
        ("", ""),
        ("x" * 5000, "y" * 5000),
        ("Möönshot AI 月之暗面", "<script>alert(1)</script>"),
        ("-rf", "--help"),
        ("a..b", "c...d"),
        ("con.", "\ud800"),
    ],
)
def test_names_are_safe(recorder: Recorder, tmp_path: Path, log: list[str], provider: str, flow_id: str) -> None:
    recording = record(recorder, replace(EXCHANGE, provider=provider, flow_id=flow_id, model="../\0\ud800"))
    recorder.close()
    name = recording.folder.name
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    assert ".." not in name
    assert name[:6].isdigit()
    assert len(name) < 80
    assert recording.folder.parent.parent == tmp_path / "flows"
    assert meta(recording.folder)["state"] == "complete"
    assert meta(recording.folder)["model"] == "../\0\ud800"
    assert log == []


def test_equal_flows_get_folders_of_their_own(recorder: Recorder) -> None:
    recordings = [record(recorder, body=event(str(i))) for i in range(20)]
    recorder.close()
    assert len({recording.folder for recording in recordings}) == 20
    assert all(files(r.folder)["upstream.sse"] == event(str(i)) for i, r in enumerate(recordings))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_files_are_for_the_user_alone(tmp_path: Path, log: list[str], umask: int) -> None:
    root = tmp_path / "new" / "flows"
    recorder = Recorder(root, log.append)
    before = os.umask(umask)
    try:
        recording = record(recorder)
        recorder.close()
    finally:
        os.umask(before)
    assert meta(recording.folder)["state"] == "complete"
    folders = [recording.folder, *recording.folder.parents][:4]
    assert folders[-1] == tmp_path / "new"
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in recording.folder.iterdir()} == {0o600}


def test_the_root_may_be_a_link(tmp_path: Path, log: list[str]) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "flows").symlink_to("real")
    recorder = Recorder(tmp_path / "flows", log.append)
    record(recorder)
    recorder.close()
    assert list(tmp_path.glob("real/*/*/client.sse"))


def test_what_is_below_the_root_may_not_be_a_link(tmp_path: Path, log: list[str]) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "flows").mkdir()
    for days in (0, 1):
        day = datetime.now(UTC) + timedelta(days)
        (tmp_path / "flows" / f"{day:%Y-%m-%d}").symlink_to(tmp_path / "elsewhere")
    recorder = Recorder(tmp_path / "flows", log.append)
    folder = record(recorder).folder
    recorder.close()
    assert not list((tmp_path / "elsewhere").iterdir())
    assert log == [f"recording incomplete: it is a link, not a folder: {folder}"]


def test_a_link_in_the_place_of_a_file_is_not_followed(recorder: Recorder, tmp_path: Path, log: list[str]) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    recording = recorder.start(EXCHANGE)
    upstream = recording.folder / "upstream.sse"
    all_done(recorder)
    upstream.unlink()
    upstream.symlink_to(victim)
    recording.passed(event("a"), b"")
    recording.finish("complete")
    recorder.close()
    assert victim.read_bytes() == b"mine"
    assert meta(recording.folder)["state"] == "partial"
    assert meta(recording.folder)["error"].startswith("recording incomplete: ")
    assert len(log) == 1


@pytest.mark.parametrize("other", [b"", event("hi") + b"more"])
def test_a_file_that_another_program_changes(recorder: Recorder, log: list[str], other: bytes) -> None:
    """There would be a hole in it, or too much."""
    recording = recorder.start(EXCHANGE)
    recording.passed(event("hi"), event("hi"))
    all_done(recorder)
    (recording.folder / "upstream.sse").write_bytes(other)
    recording.passed(event("ho"), event("ho"))
    recording.finish("complete")
    recorder.close()
    assert meta(recording.folder)["state"] == "partial"
    assert "another program has changed it" in log[0]


@pytest.mark.parametrize("name", ["upstream.sse", "request.json"])
def test_a_pipe_in_the_place_of_a_file(recorder: Recorder, log: list[str], name: str) -> None:
    """Nobody reads there: who opens it to write alone waits for ever."""
    recording = recorder.start(EXCHANGE)
    recording.passed(event("hi"), event("hi"))
    all_done(recorder)
    (recording.folder / name).unlink()
    os.mkfifo(recording.folder / name)
    recording.passed(event("ho"), event("ho"))
    recording.finish("complete")
    recorder.close()
    assert meta(recording.folder)["state"] == "partial"
    assert len(log) == 1


def test_two_processes_that_call_a_recording_the_same(recorder: Recorder, tmp_path: Path, log: list[str]) -> None:
    other = Recorder(recorder._root, log.append)
    for one in (recorder, other):
        recording = one.start(EXCHANGE)
        recording.passed(event("a"), b"")
        recording.finish("complete")
        one.close()
    states = [json.loads(path.read_bytes())["state"] for path in tmp_path.rglob("meta.json")]
    assert (states, log) == (["complete"] * 2, [])


def test_nothing_that_stands_there_is_written_into(recorder: Recorder, tmp_path: Path, log: list[str]) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    recording = recorder.start(EXCHANGE)
    all_done(recorder)
    (recording.folder / "meta.json.new").hardlink_to(victim)
    recording.finish("complete")
    recorder.close()
    assert victim.read_bytes() == b"mine"
    assert meta(recording.folder)["state"] == "partial"
    assert log == [f"recording incomplete: File exists: {recording.folder}"]


def test_the_time_that_the_client_waited(recorder: Recorder) -> None:
    waited, at_once, unknown = (record(recorder, replace(EXCHANGE, wait_ms=wait)) for wait in (812.4, 0.0, None))
    recorder.close()
    assert meta(waited.folder)["wait_ms"] == 812.4
    assert meta(at_once.folder)["wait_ms"] == 0.0
    assert "wait_ms" not in meta(unknown.folder)


# what is kept


def old(root: Path, number: int) -> Path:
    """A recording of another day, that is long finished."""
    folder = root / "2026-01-01" / f"10000{number}-kimi-{number}"
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text('{"state": "complete"}')
    (folder / "upstream.sse").write_bytes(b"x" * 10**6)
    return folder


def test_old_ones_go_when_something_is_recorded(tmp_path: Path, log: list[str]) -> None:
    root = tmp_path / "flows"
    first, second, pinned, fixture = old(root, 1), old(root, 2), old(root, 3), root / "kimi" / "case"
    (pinned / "pinned").touch()
    fixture.mkdir(parents=True)
    (fixture / "meta.json").write_text('{"state": "complete"}')
    recorder = Recorder(root, log.append, Keep(1_500_000))
    recording = recorder.start(EXCHANGE)
    wait_for(lambda: not first.exists())
    recording.finish("complete")
    recorder.close()
    assert [folder.exists() for folder in (second, pinned, fixture)] == [True, True, True]
    assert meta(recording.folder)["state"] == "complete"
    assert log == []


def test_old_ones_go_when_a_recording_is_finished(tmp_path: Path, log: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is open stays, be it too large; the limits may change meanwhile."""
    monkeypatch.setattr("toolmend.recordings.write.pruning.EVERY", 0)
    root = tmp_path / "flows"
    recorder = Recorder(root, log.append)
    there, open_, finished = old(root, 1), recorder.start(EXCHANGE), record(recorder)
    all_done(recorder)
    assert there.exists()
    recorder.keep = Keep(1)
    open_.passed(event("a"), b"")
    wait_for(lambda: not (there.exists() or finished.folder.exists()))
    open_.passed(event("b"), b"")
    all_done(recorder)
    assert files(open_.folder)["upstream.sse"] == event("a") + event("b")
    open_.finish("complete")
    all_done(recorder)
    recorder.start(EXCHANGE)
    wait_for(lambda: not open_.folder.exists())
    recorder.close()
    assert log == []


def test_no_limit_unless_one_is_set(tmp_path: Path, log: list[str]) -> None:
    there = old(tmp_path / "flows", 1)
    recorder = Recorder(tmp_path / "flows", log.append)
    record(recorder)
    recorder.close()
    assert there.exists()


def test_old_ones_that_cannot_go_cost_a_line(tmp_path: Path, log: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def stubborn(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("toolmend.recordings.write.pruning.shutil.rmtree", stubborn)
    monkeypatch.setattr("toolmend.recordings.write.pruning.EVERY", 0)
    root = tmp_path / "flows"
    old(root, 1)
    recorder = Recorder(root, log.append, Keep(None, timedelta(days=1)))
    for _ in range(3):
        recording = record(recorder)
        all_done(recorder)
    wait_for(lambda: bool(log))
    recorder.close()
    assert meta(recording.folder)["state"] == "complete"
    assert log == [f"old recordings stay: Permission denied: {root}"]


# failures


def test_a_root_that_cannot_be_is_said_once_and_tried_again(tmp_path: Path, log: list[str]) -> None:
    root = tmp_path / "flows"
    root.write_text("a file")
    recorder = Recorder(root, log.append)
    lost = [record(recorder), record(recorder)]
    all_done(recorder)
    lost.append(record(recorder))
    all_done(recorder)
    root.unlink()
    kept = record(recorder)
    recorder.close()
    assert not any(recording.folder.exists() for recording in lost)
    assert meta(kept.folder)["state"] == "complete"
    assert log == [f"recording incomplete: Not a directory: {lost[0].folder}"]


def test_a_failure_after_a_success_is_said_again(tmp_path: Path, log: list[str]) -> None:
    root = tmp_path / "flows"
    recorder = Recorder(root, log.append)
    for times in (1, 2):
        root.write_text("a file")
        record(recorder)
        all_done(recorder)
        assert len(log) == times
        root.unlink()
        kept = record(recorder)
        all_done(recorder)
        assert meta(kept.folder)["state"] == "complete"
        root.rename(tmp_path / f"kept{times}")
    recorder.close()
    assert len(log) == 2


def test_a_folder_that_is_gone_costs_this_recording_only(recorder: Recorder, tmp_path: Path, log: list[str]) -> None:
    gone, kept = recorder.start(EXCHANGE), recorder.start(EXCHANGE)
    all_done(recorder)
    gone.folder.rename(tmp_path / "moved")
    for recording in (gone, kept):
        for text in "abc":
            recording.passed(event(text), b"")
            recording.passed(b"", event(text))
        recording.finish("complete")
    recorder.close()
    assert log == [f"recording incomplete: No such file or directory: {gone.folder}"]
    assert meta(kept.folder)["state"] == "complete"
    assert meta(tmp_path / "moved")["state"] == "partial"
    assert not gone.folder.exists()


def test_an_error_of_ours_costs_the_recording_and_tells_no_secret(recorder: Recorder, log: list[str]) -> None:
    broken = record(recorder, replace(EXCHANGE, model={KEY}))  # type: ignore[arg-type]
    kept = record(recorder)
    recorder.close()
    assert log == [f"recording incomplete: TypeError: {broken.folder}"]
    assert meta(kept.folder)["state"] == "complete"


def test_a_log_that_fails_harms_nothing(tmp_path: Path) -> None:
    def log(message: str) -> None:
        raise RuntimeError(message)

    root = tmp_path / "flows"
    root.write_text("a file")
    recorder = Recorder(root, log)
    record(recorder)
    all_done(recorder)
    root.unlink()
    kept = record(recorder)
    recorder.close()
    assert meta(kept.folder)["state"] == "complete"


def test_a_disk_that_hangs_costs_data_and_not_memory(tmp_path: Path) -> None:
    """The writer thread hangs in `log` as it would in a write."""
    hanging, go_on = threading.Event(), threading.Event()
    log: list[str] = []

    def hang(message: str) -> None:
        log.append(message)
        hanging.set()
        go_on.wait()

    root = tmp_path / "flows"
    recorder = Recorder(root, hang)
    root.write_text("a file")
    record(recorder)
    hanging.wait()
    root.unlink()
    recording = recorder.start(EXCHANGE)
    chunk = event("x" * (1 << 20))  # the very same object each time
    fit = MAX_WAITING // len(chunk) - 1
    for _ in range(fit + 5):
        recording.passed(chunk, b"")
    recording.passed(b"", b"x")
    recording.finish("complete")
    late = record(recorder)
    waiting = recorder._put - recorder._done
    assert waiting < MAX_WAITING + len(chunk)
    go_on.set()
    recorder.close(timeout=60)
    told = meta(recording.folder)
    assert (told["state"], told["error"]) == ("partial", "recording incomplete: the disk did not keep up")
    found = files(recording.folder)
    assert found["client.sse"] == b""
    assert found["upstream.sse"] == chunk * (len(found["upstream.sse"]) // len(chunk))
    assert fit - 1 <= len(found["upstream.sse"]) // len(chunk) <= fit + 1
    assert meta(late.folder)["state"] == "complete"  # it was small enough
    assert log[1:] == [f"recording incomplete: the disk did not keep up: {recording.folder}"]


def test_who_does_not_wait_for_the_end(recorder: Recorder) -> None:
    """A reload, say, while streams flow: what is open is finished behind it."""
    ending, go_on = threading.Event(), threading.Event()
    ended, open_ = recorder.start(EXCHANGE), recorder.start(EXCHANGE)
    folder_end = ended._folder.end

    def end() -> Iterator[None]:
        ending.set()
        go_on.wait()
        yield from folder_end()

    ended._folder.end = end  # type: ignore[method-assign]
    ended.finish("complete")
    ending.wait()
    recorder.close(timeout=0)
    assert meta(ended.folder)["state"] == "partial"
    go_on.set()
    wait_for(lambda: meta(ended.folder)["state"] == "complete" and bool(meta(open_.folder)["error"]))
    assert meta(open_.folder)["error"] == "the proxy was shut down"


def test_a_disk_that_takes_long_to_keep_one_does_not_keep_others_waiting(
    recorder: Recorder, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gigabyte takes it seconds: what flows meanwhile is written, and what ends meanwhile is finished behind it."""
    syncing, go_on = threading.Event(), threading.Event()
    fsync = os.fsync

    def slow(number: int) -> None:
        syncing.set()
        go_on.wait()
        fsync(number)

    monkeypatch.setattr("toolmend.recordings.write.safe_write.os.fsync", slow)
    other, long = recorder.start(EXCHANGE), record(recorder)
    syncing.wait()
    for text in ("one", "two", "three"):
        other.passed(event(text), event(text))
        wait_for(lambda: recorder._put == recorder._done)
        assert files(other.folder)["upstream.sse"].endswith(event(text))
    other.finish("complete")
    wait_for(lambda: recorder._put == recorder._done and not recorder._ends)
    assert [meta(each.folder)["state"] for each in (long, other)] == ["partial", "partial"]
    go_on.set()
    all_done(recorder)
    assert [meta(each.folder)["state"] for each in (long, other)] == ["complete", "complete"]
    assert [sorted(each.folder.glob("*.new")) for each in (long, other)] == [[], []]
    assert log == []


def test_a_disk_that_cannot_keep_it(recorder: Recorder, log: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not kept never says that it is whole."""

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("toolmend.recordings.write.safe_write.os.fsync", fail)
        lost = [record(recorder), record(recorder)]
        all_done(recorder)
    kept = record(recorder)
    recorder.close()
    assert [meta(each.folder)["state"] for each in (*lost, kept)] == ["partial", "partial", "complete"]
    assert log == [f"recording incomplete: Input/output error: {lost[0].folder}"]


def test_a_long_end_does_not_keep_others_from_being_written(recorder: Recorder) -> None:
    long, other = recorder.start(EXCHANGE), recorder.start(EXCHANGE)
    for _ in range(30):
        long.passed(b"", event("x") * 1000)
    all_done(recorder)

    def ending() -> Iterator[None]:
        yield from folder_end()
        other.passed(event("hi"), event("hi"))
        while not (other.folder / "upstream.sse").exists() or not files(other.folder)["upstream.sse"]:
            time.sleep(0.001)
            yield  # the writer thread goes on with what flows

    folder_end, long._folder.end = long._folder.end, ending  # type: ignore[method-assign]
    long.finish("complete")
    wait_for(lambda: meta(long.folder)["state"] == "complete")
    other.finish("complete")
    all_done(recorder)
    assert meta(other.folder)["state"] == "complete"
    assert json.loads((long.folder / "message.json").read_bytes())["text"] == "x" * 30_000


def test_of_many_that_end_one_is_open_at_once(recorder: Recorder) -> None:
    """A file of each would be all that the proxy has."""
    hanging, go_on = threading.Event(), threading.Event()
    recordings = [recorder.start(EXCHANGE) for _ in range(40)]
    all_done(recorder)
    begun, most = set[int](), 0

    def ending(number: int, end: Callable[[], Iterator[None]]) -> Iterator[None]:
        nonlocal most
        hanging.set()
        go_on.wait()
        begun.add(number)
        most = max(most, len(begun))
        yield from end()
        begun.remove(number)

    for number, each in enumerate(recordings):
        each._folder.end = partial(ending, number, each._folder.end)  # type: ignore[method-assign]
        each.finish("complete")
    hanging.wait()
    go_on.set()
    all_done(recorder)
    assert [meta(each.folder)["state"] for each in recordings] == ["complete"] * len(recordings)
    assert most == 1


class Queue(SimpleQueue[Any]):
    no_memory = False

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        if self.no_memory:
            raise MemoryError
        super().put(item)


def test_what_there_was_no_memory_for_is_not_waited_for(recorder: Recorder) -> None:
    queue = recorder._queue = Queue()
    recording = recorder.start(EXCHANGE)
    queue.no_memory = True
    with pytest.raises(MemoryError):
        recording.passed(b"x" * 1000, b"")
    with pytest.raises(MemoryError):
        recording.cut()
    queue.no_memory = False
    recording.cut()
    all_done(recorder)


def test_slow_writer_costs_recordings_not_memory(recorder: Recorder, log: list[str]) -> None:
    """Ends that wait count like bytes."""
    hanging, go_on = threading.Event(), threading.Event()

    def end() -> Iterator[None]:
        hanging.set()
        go_on.wait()
        yield

    first = recorder.start(EXCHANGE)
    first._folder.end = end  # type: ignore[method-assign]
    first.finish("complete")
    hanging.wait()
    recorder._put += MAX_WAITING  # what other ends would count as
    late = record(recorder)
    recorder._put -= MAX_WAITING
    go_on.set()
    all_done(recorder)
    assert meta(first.folder)["state"] == "complete"
    assert not late.folder.exists()
    assert "the disk did not keep up" in log[0]


def test_an_end_that_waits_counts_until_it_is_done(recorder: Recorder) -> None:
    before = recorder._put
    record(recorder)
    assert recorder._put - before > END_COST
    all_done(recorder)
    assert recorder._put == recorder._done


def test_forty_that_end_together_do_not_hold_the_event_loop_up(
    tmp_path: Path, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    recorder = Recorder(tmp_path, log.append)
    recorder._thread = threading.current_thread()  # it does nothing
    monkeypatch.setattr("toolmend.recordings.write.recorder.time.sleep", slept.append)
    recordings = [recorder.start(EXCHANGE) for _ in range(40)]
    for recording in recordings:
        recording.passed(bytes(FLUSH_BYTES // 40), b"")
    for recording in recordings:
        recording.finish("complete")
        recording.finish("partial")
    assert not slept
    recorder._thread = None
    recorder.put(Folder(tmp_path), lambda: None)  # starts one
    all_done(recorder)


@pytest.mark.parametrize(("waiting", "timeout", "yields"), [(0, None, 2), (BUSY + 1, None, 0), (0, 0, 2), (0, 5.0, 0)])
def test_the_writer_thread_yields_between_steps(
    tmp_path: Path, log: list[str], monkeypatch: pytest.MonkeyPatch, waiting: int, timeout: float | None, yields: int
) -> None:
    """Not where it is far behind, nor where the event loop waits for it to end."""
    now, happened = 0.0, list[str]()

    def step(name: str, seconds: float) -> None:
        nonlocal now
        happened.append(name)
        now += seconds

    recorder = Recorder(tmp_path, log.append)
    monkeypatch.setattr("toolmend.recordings.write.recorder.time.thread_time", lambda: now)
    monkeypatch.setattr("toolmend.recordings.write.recorder.time.sleep", lambda seconds: happened.append(f"sleep {seconds}"))
    if timeout is not None:
        recorder.close(timeout)
    recorder._put = waiting
    folder = Folder(tmp_path)
    times = {"a": 1.0, "b": YIELD_AFTER / 2, "c": YIELD_AFTER}
    recorder._do(deque((folder, partial(step, name, seconds), 0) for name, seconds in times.items()))
    first, second = ([f"sleep {YIELD}"] * (yields > at) for at in (0, 1))
    assert happened == ["a", *first, "b", "c", *second]


def test_no_two_files_are_written_in_one_step(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty streams that begin or end at once would hold up all that flow."""
    happened: list[str] = []
    kept: list[str] = []
    for module, name in (
        *((safe_write, name) for name in ("create", "append", "keep")),
        (safe_read, "opened"),
    ):
        act = getattr(module, name)

        def noted(path: Path, *given: Any, name: str = name, act: Callable[..., Any] = act) -> Any:
            if threading.current_thread() is recorder._thread:
                happened.append(f"{name} {path.name}")
            else:
                kept.append(path.name)
            return act(path, *given)

        monkeypatch.setattr(module, name, noted)
    monkeypatch.setattr(recorder, "_yield", lambda: happened.append("turn"))
    recording = recorder.start(replace(EXCHANGE, upstream_request=b"{}"))
    recording.passed(event("one"), event("two"))
    recording.client_message(b"{}", 1.0)
    recording.finish("complete")
    recorder.close()
    files_opened = [each for each in happened if each != "turn"]
    assert files_opened == [
        *("create meta.json.new", "create request.json", "create upstream_request.json"),
        *("create upstream.sse", "create client.sse", "create upstream.idx", "create client_messages.jsonl"),
        *("opened client.sse", "create message.json", "create meta.json.new"),
    ]
    assert set(kept) == {"meta.json.new", *(path.name for path in recording.folder.iterdir())}
    assert [pair for pair in itertools.pairwise(happened) if "turn" not in pair] == []


def test_an_event_loop_that_is_faster_than_the_writer_yields(
    tmp_path: Path, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    recorder = Recorder(tmp_path, log.append)
    recorder._thread = threading.current_thread()  # it does nothing
    monkeypatch.setattr("toolmend.recordings.write.recorder.time.sleep", slept.append)
    recorder.put(Folder(tmp_path), lambda: None, BUSY)
    assert slept == []
    recorder.put(Folder(tmp_path), lambda: None, 1)
    assert slept == [YIELD]
    recorder._done = recorder._put
    recorder.put(Folder(tmp_path), lambda: None, 1)
    assert slept == [YIELD]


@pytest.mark.parametrize("apart", [False, True])
def test_sums_of_what_was_written_anew(recorder: Recorder, apart: bool) -> None:
    """A text that ends as a key begins is masked until it goes on; `apart`: from there on the client gets something else."""
    recording = recorder.start(EXCHANGE)
    for text in ("it is s", "o on", " and on"):
        recording.passed(event(text), event(text.upper() if apart and text != "it is s" else text))
        all_done(recorder)
    recording.finish("complete")
    recorder.close()
    found = files(recording.folder)
    assert b"it is s" in found["upstream.sse"]
    assert b"it is s" in found["client.sse"]
    assert meta(recording.folder)["sha256"] == {
        name: hashlib.sha256(data).hexdigest() for name, data in found.items() if name != "meta.json"
    }


def test_a_request_larger_than_all_that_may_wait(tmp_path: Path) -> None:
    """It costs neither its own recording, nor one that begins beside it, nor more than one such request's memory."""
    hanging, go_on = threading.Event(), threading.Event()
    log: list[str] = []

    def hang(message: str) -> None:
        log.append(message)
        hanging.set()
        go_on.wait()

    root = tmp_path / "flows"
    recorder = Recorder(root, hang)
    root.write_text("a file")
    record(recorder)
    hanging.wait()
    root.unlink()
    body = json.dumps(REQUEST | {"image": "x" * 2 * MAX_WAITING}).encode()
    large, beside, second = (record(recorder, replace(EXCHANGE, request=part)) for part in (body, EXCHANGE.request, body))
    go_on.set()
    recorder.close(timeout=60)
    assert [meta(each.folder)["state"] for each in (large, beside)] == ["complete", "complete"]
    assert json.loads(files(large.folder)["request.json"])["model"] == REQUEST["model"]
    assert files(large.folder)["upstream.sse"] == event("hi")
    assert not second.folder.exists()
    assert log[1:] == [f"recording incomplete: the disk did not keep up: {second.folder}"]


# other processes: limits and kills

PRELUDE = f"""
import sys, time, resource, threading

from pathlib import Path
sys.path[:0] = [{str(ADDON)!r}, {str(ROOT)!r}]
from tests.support.recorder import *
from toolmend.recordings.write.recorder import Recorder
root = Path(sys.argv[1])
log = []
recorder = Recorder(root, log.append)
"""


def child(tmp_path: Path, script: str) -> list[str]:
    """What a process prints that has the prelude's recorder."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script, str(tmp_path / "flows")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_disk_that_takes_only_a_part(tmp_path: Path) -> None:
    """A write that is cut short, then EFBIG."""
    said = child(
        tmp_path,
        """
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
big, small = recorder.start(EXCHANGE), recorder.start(EXCHANGE)
for i in range(100):
    big.passed(event(str(i) * 50), b"")
    big.passed(b"", event(str(i) * 50))
small.passed(event("a"), b"")
big.finish("complete", rules=["r"], error="e")
small.finish("complete")
recorder.close()
print(big.folder, small.folder, *log, sep="\\n")
""",
    )
    big, small = Path(said[0]), Path(said[1])
    assert said[2:] == [f"recording incomplete: File too large: {big}"]
    told = meta(big)
    assert (told["state"], told["error"]) == ("partial", "e; recording incomplete: File too large")
    assert told["rules"] == ["r"]
    whole = b"".join(event(str(i) * 50) for i in range(100))
    assert whole.startswith(files(big)["upstream.sse"])
    assert meta(small)["state"] == "complete"


def test_no_disk_at_all(tmp_path: Path) -> None:
    """Not one byte can be written: nothing says "complete", and when there is room again recording goes on."""
    said = child(
        tmp_path,
        """
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, limit[1]))
lost = [record(recorder).folder for _ in range(3)]
all_done(recorder)
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
kept = record(recorder).folder
recorder.close()
print(kept, *log, sep="\\n")
""",
    )
    assert len(said) == 2
    assert said[1].startswith("recording incomplete: File too large: ")
    kept = Path(said[0])
    assert meta(kept)["state"] == "complete"
    assert [path.parent for path in kept.parent.glob("*/meta.json")] == [kept]


def test_no_descriptors(tmp_path: Path) -> None:
    """A process that has no descriptor left loses a recording, and the recorder holds none between its writes."""
    said = child(
        tmp_path,
        """
import os
def descriptors():
    return len(os.listdir("/dev/fd"))
first = recorder.start(EXCHANGE)
all_done(recorder)
before = descriptors()
many = [recorder.start(EXCHANGE) for _ in range(50)]
for recording in many:
    recording.passed(event("a"), b"")
all_done(recorder)
print(descriptors() - before)
limit = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, limit[1]))
first.passed(event("a"), b"")
all_done(recorder)
resource.setrlimit(resource.RLIMIT_NOFILE, limit)
first.finish("complete")
for recording in many:
    recording.finish("complete")
recorder.close()
print({meta(r.folder)["state"] for r in many}, meta(first.folder)["error"], *log, sep="\\n")
""",
    )
    assert said[:3] == ["0", "{'complete'}", "recording incomplete: Too many open files"]
    assert len(said) == 4


def test_no_threads(tmp_path: Path) -> None:
    said = child(
        tmp_path,
        """
size = threading.stack_size(1 << 46)
recording = recorder.start(EXCHANGE)
recording.passed(event("a"), b"")
threading.stack_size(size)
recording.passed(event("b"), b"")
recording.finish("complete")
recorder.close()
print(files(recording.folder)["upstream.sse"] == event("a") + event("b"), *log, sep="\\n")
""",
    )
    assert said == ["True", "recording waits: can't start new thread"]


def test_no_second_thread(tmp_path: Path) -> None:
    """Then the writer thread waits for the disk itself."""
    said = child(
        tmp_path,
        """
recording = recorder.start(EXCHANGE)
recording.passed(event("a"), b"")
all_done(recorder)
size = threading.stack_size(1 << 46)
recording.finish("complete")
all_done(recorder)
threading.stack_size(size)
print(meta(recording.folder)["state"], *log)
second = record(recorder)
recorder.close()
print(meta(second.folder)["state"], *log)
""",
    )
    assert said == ["complete", "complete"]


KILLED = """
recordings = [recorder.start(EXCHANGE) for _ in range(3)]
i = 0
while True:
    for recording in recordings:
        data = event(f"text {i} s") if i % 10 else event(f"sk-ant-") + event(KEY[7:])
        recording.passed(data[:15], b"")
        recording.passed(data[15:], b"")
        recording.passed(b"", data)
    i += 1
    if i == 20:
        all_done(recorder)
        print("\\n".join(str(recording.folder) for recording in recordings), flush=True)
    time.sleep(0.001)
"""


@pytest.mark.parametrize("delay", [0, 90, 240, 410])
def test_killed(tmp_path: Path, delay: int) -> None:
    """Killed at any moment: every recording loads, says "partial", is a part of the truth, and holds no secret."""
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + KILLED, str(tmp_path / "flows")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    with process.stdout:
        folders = [Path(process.stdout.readline().rstrip()) for _ in range(3)]
        time.sleep(delay / 1000)
        process.send_signal(signal.SIGKILL)
        process.wait()
    early = sum(len(event(f"text {i} s") if i % 10 else event("sk-ant-") + event(KEY[7:])) for i in range(20))
    for folder in folders:
        check_partial(folder, early)


def check_partial(folder: Path, early: int) -> None:
    """`early`: bytes that had been written before the kill."""
    told = meta(folder)
    assert (told["state"], told["sha256"]) == ("partial", {})
    found = files(folder)
    size = max(len(found["upstream.sse"]), len(found["client.sse"]))
    truth, i = b"", 0
    while len(truth) < size:
        stars = event("*******") + event("*" * len(KEY[7:]))
        truth += event(f"text {i} s") if i % 10 else stars
        i += 1
    for name in ("upstream.sse", "client.sse"):
        body = found[name]
        assert len(body) >= early
        # the last text may be under suspicion, or not yet be cleared of it
        assert len(body) == len(truth[: len(body)])
        wrong = [at for at, byte in enumerate(body) if byte != truth[at]]
        assert {body[at : at + 1] for at in wrong} <= {b"*"}
        assert KEY.encode() not in body
        joined = "".join(
            json.loads(line[6:])["choices"][0]["delta"]["content"]
            for line in body.split(b"\n")
            if line.startswith(b"data: ")
        )
        assert "sk-ant-" not in joined
        assert KEY[7:] not in joined
    rows, torn = found["upstream.idx"].rsplit(b"\n", 1)
    end = 0
    for row in map(json.loads, rows.splitlines()):
        assert row["off"] == end
        end += row["len"]
    assert torn == b"" or torn.startswith(b"{")
