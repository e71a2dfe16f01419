"""body_capture.py: what is kept of a stream for mitmproxy, and that it is bounded."""

import gc
from collections.abc import Callable
from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.addons.save import Save
from mitmproxy.addons.view import View
from mitmproxy.test import taddons, tflow

from tests.support.streams import WEATHER, stream
from toolmend.proxy import body_capture
from toolmend.proxy.body_capture import KeepingStream, KeptBodies, is_saved_translation, show


def back(data: bytes) -> bytes | list[bytes]:
    """A stream's callable, as they are: it holds things back, and may give some at once."""
    return data.upper() if data != b"hold" else []


def response(stream: Callable[[bytes], object] | bool = True) -> http.Response:
    one = http.Response.make(200, b"", {"content-type": "text/event-stream"})
    one.data.content = None
    one.stream = stream  # type: ignore[assignment]
    return one


def body_of(kept: KeepingStream, *chunks: bytes) -> bytes | None:
    for chunk in chunks:
        assert kept(chunk) == back(chunk)
    show(one := response(kept))
    return one.raw_content


def test_all_that_the_client_got() -> None:
    assert body_of(KeptBodies().wrap(back), b"a", b"hold", b"bc", b"") == b"ABC"
    assert body_of(KeptBodies().wrap(lambda data: [b"x", b"y"] if data == b"2" else back(data))) == b""


def test_parts() -> None:
    kept = KeptBodies().wrap(lambda data: [data, b"", data])
    assert kept(b"ab") == [b"ab", b"", b"ab"]
    show(one := response(kept))
    assert one.raw_content == b"abab"


def test_what_mitmproxy_kept_stays() -> None:
    kept = KeptBodies().wrap(back)
    kept(b"a")
    one = response(kept)
    one.data.content = b"theirs"
    show(one)
    assert one.raw_content == b"theirs"


def test_other_responses_are_left_alone() -> None:
    for stream_ in (True, False, back):
        show(one := response(stream_))
        assert one.raw_content is None
    show(None)


def test_one_too_long_is_not_kept(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Not in part, either: what is replayed from a file would pass for the whole."""
    monkeypatch.setattr(body_capture, "MAX_BODY", 10)
    all_ = KeptBodies()
    assert body_of(all_.wrap(back), b"x" * 10) == b"X" * 10
    assert body_of(all_.wrap(back), b"x" * 10, b"y", b"z", b"") is None
    assert caplog.text.count("too long to be kept") == 1
    assert all_.reserve(body_capture.MAX_ALL)


def test_all_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_capture, "MAX_ALL", 10)
    all_ = KeptBodies()
    first, second = all_.wrap(back), all_.wrap(back)
    first(b"x" * 6)
    second(b"y" * 5)
    assert body_of(second) is None
    assert body_of(first, b"z") == b"XXXXXXZ"
    assert body_of(all_.wrap(back), b"x" * 10) == b"X" * 10


def test_one_that_never_ends_gives_its_room_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_capture, "MAX_ALL", 10)
    all_ = KeptBodies()
    all_.wrap(back)(b"x" * 10)
    gc.collect()
    assert body_of(all_.wrap(back), b"x" * 10) == b"X" * 10


def test_where_nobody_looks_nothing_is_kept(tmp_path: Path) -> None:
    with taddons.context(loadcore=False) as context:
        assert not body_capture.is_needed()
        context.master.addons.add(save := Save())
        assert not body_capture.is_needed()
        context.configure(save, save_stream_file=str(tmp_path / "out"))
        assert body_capture.is_needed()
        context.options.add_option("store_streamed_bodies", bool, True, "")
        assert not body_capture.is_needed()


@pytest.mark.parametrize(("detail", "wanted"), [(1, False), (3, True)])
def test_a_log_with_bodies_wants_them(detail: int, wanted: bool) -> None:
    with taddons.context(loadcore=False) as context:
        context.options.add_option("flow_detail", int, detail, "")
        assert body_capture.is_needed() is wanted


def test_a_user_interface_wants_them() -> None:
    with taddons.context(View(), loadcore=False):
        assert body_capture.is_needed()


CHAT = b'{"object":"chat.completion","choices":[]}'
MESSAGE = b': ping\n\nevent: message_start\ndata: {"type":"message_start","message":{}}\n\n'
RESPONSE = b'event: response.created\ndata: {"type":"response.created"}\n\n'


@pytest.mark.parametrize(
    ("body", "source", "target", "before"),
    [
        (MESSAGE, "chat", "messages", True),
        (MESSAGE, "messages", "messages", False),
        (MESSAGE, "responses", "chat", False),
        (b'{"type":"message"}', "chat", "messages", True),
        (RESPONSE, "chat", "responses", True),
        (b'{"object":"response"}', "messages", "responses", True),
        (CHAT, "messages", "chat", True),
        (stream(["a"]), "messages", "chat", True),
        (stream(["a"]), "chat", "messages", False),
        (b'{"error":{}}', "chat", "messages", False),
        (b"", "chat", "messages", False),
        (b"data: [1]\n\n", "chat", "messages", False),
    ],
)
def test_what_was_translated_before(body: bytes, source: str, target: str, before: bool) -> None:
    flow = tflow.tflow(req=http.Request.make("POST", "https://a.example", str(WEATHER)), resp=http.Response.make(200, body))
    assert not is_saved_translation(flow, source, target)
    flow.is_replay = "response"
    assert is_saved_translation(flow, source, target) is before
