"""The callables in a stream: whatever fails below them, each byte comes out, in order, and never an early b""."""

import gzip
import json
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest
from mitmproxy.proxy.layers.http._events import ResponseData, ResponseEndOfMessage

from tests.support.streams import WEATHER, chunk, event, stream
from toolmend.apis.decode_failure_event import UNREADABLE as BROKEN
from toolmend.config.settings import Settings
from toolmend.core.content_encoding import WHOLE, CodingError, decoder
from toolmend.core.joined_chunks import chunks_of, together
from toolmend.pipeline.pipeline import Pipeline
from toolmend.proxy.stream_callbacks import Mend, ResponseStream, Tee, reason
from toolmend.recordings.playback.server import Script

UNREADABLE = BROKEN["chat"]

BODY = stream(["Hello ", "there, ", "<|tool_", "what?"])
SHORT = BODY.removesuffix(b"data: [DONE]\n\n")
CHUNKS = [BODY[at : at + 50] for at in range(0, len(BODY), 50)]
EVENTS = [event + b"\n\n" for event in BODY.split(b"\n\n")[:-1]]
CODED = [data for _, data in Script(tuple((0.0, data) for data in CHUNKS), coding="gzip").coded()[0]]


class Kept:
    """A recording in memory, which may break."""

    folder = Path()

    def __init__(self, good_for: int = 1000) -> None:
        self.good_for = good_for
        self.came: list[bytes] = []
        self.went: list[bytes] = []

    def passed(self, received: bytes, sent: bytes) -> None:
        self.good_for -= 1
        if self.good_for < 0:
            raise OSError(28, "No space left on device")
        self.came += [received] if received else []
        self.went.append(sent)


class Failing(Pipeline):
    """A pipeline that breaks its promise, at the nth call of a method."""

    def __init__(self, method: str, good_for: int) -> None:
        super().__init__(WEATHER)
        self.method, self.good_for = method, good_for

    def _may_fail(self, method: str) -> None:
        if method == self.method:
            self.good_for -= 1
            if self.good_for < 0:
                raise RuntimeError("injected")

    def feed(self, data: bytes) -> bytes:
        self._may_fail("feed")
        return super().feed(data)

    def close(self) -> bytes:
        self._may_fail("close")
        return super().close()


def mend(pipeline: Pipeline, encoding: str = "", recording: Any = None, then: Any = None) -> tuple[Mend, list[str]]:
    errors: list[str] = []
    undo = decoder(encoding)
    assert undo
    return Mend(pipeline, undo, recording, then, errors), errors


def tee(encoding: str, recording: Any) -> tuple[Tee, list[str]]:
    errors: list[str] = []
    undo = decoder(encoding)
    assert undo
    return Tee(undo, recording, None, errors), errors


@pytest.mark.parametrize("make", [mend, tee], ids=["mended", "as it is"])
@pytest.mark.parametrize(("encoding", "sent"), [("", CHUNKS), ("", [BODY[:-50]] * 200), ("gzip", CODED)], ids=["plain", "large", "gzip"])
def test_what_was_read_at_once_is_recorded_in_its_chunks(make: Any, encoding: str, sent: list[bytes]) -> None:
    apart, at_once = Kept(), Kept()
    for kept, pieces in ((apart, sent), (at_once, [together(sent)])):
        given = (Pipeline(WEATHER), encoding) if make is mend else (encoding,)
        callable_, errors = make(*given, recording=kept)
        for piece in pieces:
            callable_(piece)
        assert not errors
    (piece,) = at_once.came
    assert chunks_of(piece) == apart.came


def play(callable_: ResponseStream, chunks: Iterable[bytes]) -> bytes:
    out = []
    for data in chunks:
        given = callable_(data)
        assert given != b""
        out.append(given if isinstance(given, bytes) else b"".join(given))
    end = callable_(b"")
    assert isinstance(end, bytes)
    assert callable_(b"") == b""
    return b"".join(out) + end


def test_held_text_is_no_early_end() -> None:
    held = BODY.index(b"<|tool_") + 7
    callable_, _ = mend(Pipeline(WEATHER))
    assert callable_(BODY[:held])
    assert callable_(BODY[held : held + 1]) == []


def test_both_ends_are_recorded() -> None:
    kept = Kept()
    callable_, errors = mend(Pipeline(WEATHER), recording=kept)
    out = play(callable_, CHUNKS)
    assert (kept.came, b"".join(kept.went), errors, callable_.state) == (CHUNKS, out, [], "complete")
    assert out == BODY


MARKUP = "<|tool_calls_section_begin|> <|tool_call_begin|> functions.get_weather:0 <|tool_call_argument_begin|> {} <|tool_call_end|>"
CALL = stream(["Hello ", *MARKUP.split(" "), "<|tool_calls_section_end|>", " there"])


@pytest.mark.parametrize("good_for", range(10))
def test_a_chunk_of_what_was_read_at_once_fails_alone(good_for: int) -> None:
    chunks = [event + b"\n\n" for event in CALL.split(b"\n\n")[:-1]]
    apart, at_once = (mend(Failing("feed", good_for), then=bytes)[0] for _ in range(2))
    given = [apart(chunk) for chunk in chunks]
    assert at_once(together(chunks)) == b"".join(part for part in given if isinstance(part, bytes))


@pytest.mark.parametrize("good_for", range(4))
def test_a_recording_that_fails_costs_no_byte_and_is_said_once(good_for: int) -> None:
    callable_, errors = mend(Pipeline(WEATHER), recording=Kept(good_for))
    assert play(callable_, CHUNKS) == BODY
    assert errors == ["the recording failed: [Errno 28] No space left on device"]
    other, errors = tee("", Kept(good_for))
    assert play(other, CHUNKS) == BODY
    assert len(errors) == 1


@pytest.mark.parametrize("method", ["feed", "close"])
@pytest.mark.parametrize("good_for", range(8))
def test_a_pipeline_that_raises_costs_no_byte(method: str, good_for: int) -> None:
    callable_, errors = mend(Failing(method, good_for))
    assert play(callable_, CHUNKS) == BODY
    fails = good_for < {"feed": len(CHUNKS), "close": 1}[method]
    assert errors == (["the mending failed: RuntimeError"] if fails else [])


@pytest.mark.parametrize("good_for", range(8))
def test_of_a_coded_stream_what_is_undone_goes_on(good_for: int) -> None:
    callable_, errors = mend(Failing("feed", good_for), "gzip")
    assert play(callable_, CODED) == BODY
    assert errors == (["the mending failed: RuntimeError"] if good_for < len(CODED) else [])


class Counted:
    """A watcher and a meter; one that breaks is `good_for` so many chunks."""

    def __init__(self, good_for: int = 1000) -> None:
        self.good_for = good_for
        self.came = self.went = self.saw = b""

    def sent(self, data: bytes) -> None:
        self.saw += data

    def passed(self, received: bytes, sent: bytes) -> None:
        self.good_for -= 1
        if self.good_for < 0:
            raise OSError(28, "No space left on device")
        self.came += received
        self.went += sent


ALIKE = [data for data in stream(["a"] * 9).splitlines(keepends=True) if data.strip()]
ALIKE = [data + b"\n" for data in ALIKE]


@pytest.mark.parametrize("chunks", [CHUNKS, ALIKE], ids=["any", "events alike"])
@pytest.mark.parametrize("good_for", [1000, 0, 5])
def test_who_watches_and_counts_is_told_all_or_left_out(chunks: list[bytes], good_for: int) -> None:
    """Of chunks at which one look was enough, too."""
    body = b"".join(chunks)
    for recording in (None, Kept()):
        counted = Counted(good_for)
        pipeline = Pipeline(WEATHER)
        callable_, errors = mend(pipeline, recording=recording)
        callable_.watcher = callable_.meter = cast("Any", counted)
        assert play(callable_, chunks) == body
        if good_for == 1000:
            assert (counted.came, counted.went, counted.saw, errors) == (body, body, body, [])
            assert recording is None or (b"".join(recording.came), b"".join(recording.went)) == (body, body)
        else:
            assert body.startswith(counted.came)
            assert errors == ["the recording failed: [Errno 28] No space left on device"]
    (other, errors), counted = tee("", None), Counted()
    other.watcher = other.meter = cast("Any", counted)
    assert play(other, chunks) == body == counted.went == counted.saw
    assert errors == []


class Breaking(Pipeline):
    """One that fails where nothing of ours is expected to: at a first look, or as it is asked whether all is said."""

    def __init__(self, where: str, good_for: int) -> None:
        self.where, self.good_for = "", good_for
        super().__init__(WEATHER)
        self.where = where

    def __getattribute__(self, name: str) -> Any:
        if name != "where" and name == self.where:
            self.good_for -= 1
            if self.good_for < 0:
                raise RuntimeError("injected")
        return super().__getattribute__(name)


@pytest.mark.parametrize("where", ["try_fast", "done"])
@pytest.mark.parametrize("good_for", [0, 1, 4])
def test_wherever_it_fails_no_byte_is_lost_or_doubled(where: str, good_for: int) -> None:
    for chunks in (CHUNKS, EVENTS, ALIKE):
        kept = Kept()
        callable_, errors = mend(Breaking(where, good_for), recording=kept)
        assert play(callable_, chunks) == b"".join(chunks)
        assert errors
        assert b"".join(chunks).startswith(b"".join(kept.went))


class Odd:
    """A meter that nobody can ask whether it is there."""

    def __bool__(self) -> bool:
        raise MemoryError


def test_what_fails_behind_what_was_told_at_once_costs_nothing() -> None:
    callable_, errors = mend(Pipeline(WEATHER))
    events = iter(ALIKE)
    before = b"".join(cast("bytes", callable_(next(events))) for _ in range(4))
    callable_.meter = cast("Any", Odd())
    assert before + play(callable_, events) == b"".join(ALIKE)
    assert errors == ["the recording failed: MemoryError"]


def test_an_empty_frame_is_no_end() -> None:
    """HTTP/2 has such; what mitmproxy is at tells: end_of_stream.py."""
    for callable_ in (mend(Pipeline(WEATHER))[0], tee("", Kept())[0]):
        out = cast("bytes", callable_(EVENTS[0]))
        event: object = ResponseData(1, b"")
        assert callable_(b"") == []
        event = ResponseEndOfMessage(1)
        assert event
        assert out + play(callable_, EVENTS[1:]) == BODY


LONG_LINE = b"data: " + bytes(WHOLE + 1)
TRANSLATED = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}


@pytest.mark.parametrize("before", [b"", BODY[:-20]], ids=["at once", "behind others"])
def test_a_line_that_swells_passes_unread_as_what_is_behind_it(before: bytes) -> None:
    kept, body = Kept(), before + LONG_LINE + b"\n\n" + BODY
    coded = [gzip.compress(part) for part in (before, LONG_LINE, b"\n\n" + BODY) if part]
    callable_, errors = mend(Pipeline(WEATHER), "gzip", recording=kept)
    assert play(callable_, coded) == body
    assert b"".join(kept.came) == before
    assert [error.partition(":")[0] for error in errors] == ["the recording ends early", "the mending failed"]
    told, kept = list[str](), Kept()
    undo = decoder("gzip")
    assert undo
    assert play(Tee(undo, cast("Any", kept), None, told), coded) == b"".join(coded)
    assert b"".join(kept.came) == before
    assert told == errors[:1]


def test_where_it_is_translated_the_answer_is_cut_off() -> None:
    callable_, errors = mend(Pipeline(TRANSLATED, target="messages"), "gzip")
    given = play(callable_, [gzip.compress(LONG_LINE), gzip.compress(BODY)])
    assert b"event: error" in given
    assert len(errors) == 2


@pytest.mark.parametrize("target", ["chat", "messages"])
def test_a_chunk_that_takes_too_long_is_given_up_on_the_way(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmend.proxy.stream_callbacks.PIECE", 300)
    monkeypatch.setattr("toolmend.proxy.stream_callbacks.LONG", 0.0)
    kept, body = Kept(), b"".join(ALIKE)
    callable_, errors = mend(Pipeline(WEATHER if target == "chat" else TRANSLATED, target=target), recording=kept)
    given = play(callable_, [body, body])
    assert (given == body * 2) if target == "chat" else b"event: error" in given
    assert (b"".join(kept.came), b"".join(kept.went)) == (body * 2, given)
    assert errors == ["the mending failed: a chunk takes more than 0 s"]


class BreakingMend(Pipeline):
    """One whose nth piece is worth an exception, that nothing of ours should raise."""

    good_for = 0

    def feed(self, data: bytes) -> bytes:
        self.good_for -= 1
        if self.good_for < 0:
            raise MemoryError
        return super().feed(data)


@pytest.mark.parametrize("good_for", range(6))
def test_a_piece_that_fails_is_the_first_that_passes_as_it_came(good_for: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmend.proxy.stream_callbacks.PIECE", 300)
    pipeline, kept = BreakingMend(WEATHER), Kept()
    pipeline.good_for = good_for
    callable_, errors = mend(pipeline, recording=kept)
    body = b"".join(ALIKE)
    assert play(callable_, [body, body]) == body * 2 == b"".join(kept.went) == b"".join(kept.came)
    assert errors == ["the mending failed: MemoryError"]


class BreakingDecoder:
    """A decoder that fails for want of memory, at the nth chunk."""

    swells = False

    def __init__(self, encoding: str, good_for: int) -> None:
        real = decoder(encoding)
        assert real
        self.real, self.coded, self.good_for = real, real.coded, good_for

    def feed(self, data: bytes) -> bytes:
        self.good_for -= 1
        if self.good_for < 0:
            raise MemoryError
        return self.real.feed(data)


@pytest.mark.parametrize("good_for", range(len(CHUNKS)))
def test_a_decoder_that_raises(good_for: int) -> None:
    errors: list[str] = []
    undo: Any = BreakingDecoder("", good_for)
    assert play(Mend(Pipeline(WEATHER), undo, None, None, errors), CHUNKS) == BODY
    assert errors == ["the mending failed: MemoryError"]
    undo, kept = BreakingDecoder("gzip", good_for), Kept()
    assert play(Tee(undo, cast("Any", kept), None, errors), CODED) == b"".join(CODED)
    assert b"".join(kept.came) == b"".join(CHUNKS[:good_for])
    undo = BreakingDecoder("gzip", good_for)
    out = play(Mend(Pipeline(WEATHER), undo, None, None, errors), CODED)
    assert out.removesuffix(UNREADABLE).removesuffix(b"\n\n") == b"".join(CHUNKS[:good_for]).removesuffix(b"\n\n")
    assert errors[2] == "the content encoding is broken: MemoryError"


class Lost(Pipeline):
    """A pipeline that fails for good: what it holds is lost, and nothing else."""

    def feed(self, data: bytes) -> bytes:
        if b"there" in data:
            raise RuntimeError
        return super().feed(data)

    def close(self) -> bytes:
        raise RuntimeError

    def give_up(self, why: str) -> bytes:
        raise RuntimeError


def test_a_pipeline_that_fails_for_good() -> None:
    callable_, errors = mend(Lost(WEATHER))
    assert play(callable_, EVENTS) == BODY
    assert errors == ["the mending failed: RuntimeError"]


THEN: dict[str, tuple[Callable[[bytes], Any], bytes]] = {
    "bytes": (bytes.upper, BODY.upper()),
    "a list": (lambda data: [data[:1], data[1:]], BODY),
    "a generator": (lambda data: (data[at : at + 1] for at in range(len(data))), BODY),
    "an addition at the end": (lambda data: data or b": end\n", BODY + b": end\n"),
    "nothing": (lambda _: [], b""),
}


@pytest.mark.parametrize("name", THEN)
def test_another_callable_gets_what_we_give(name: str) -> None:
    then, out = THEN[name]
    callable_, errors = mend(Pipeline(WEATHER), then=then)
    assert b"".join(_joined(callable_(data)) for data in [*CHUNKS, b""]) == out
    assert errors == []


def _joined(given: bytes | list[bytes]) -> bytes:
    return given if isinstance(given, bytes) else b"".join(given)


@pytest.mark.parametrize("wrong", ["raises", None, "text", 7, ["text"]])
def test_another_callable_that_fails_is_left_out(wrong: Any) -> None:
    def then(_: bytes) -> Any:
        if wrong == "raises":
            raise ValueError("theirs")
        return wrong

    callable_, errors = mend(Pipeline(WEATHER), then=then)
    assert play(callable_, CHUNKS) == BODY
    (error,) = errors
    assert error.startswith("another addon's stream callable failed: ")


def coded(body: bytes) -> bytes:
    deflater = zlib.compressobj(wbits=31)
    return deflater.compress(body) + deflater.flush(zlib.Z_SYNC_FLUSH)


@pytest.mark.parametrize(
    ("before", "out"),
    [
        (b"", UNREADABLE),
        (SHORT, SHORT + UNREADABLE),
        (SHORT.replace(b"\n", b"\r\n"), SHORT.replace(b"\n", b"\r\n") + UNREADABLE),
        (SHORT[:-1], SHORT[:-1] + b"\n\n" + UNREADABLE),
        (BODY[:-30], BODY[:-30] + b"\n\n" + UNREADABLE),
    ],
)
def test_a_coding_that_breaks(before: bytes, out: bytes) -> None:
    kept = Kept()
    callable_, errors = mend(Pipeline(WEATHER), "gzip", kept)
    broken = [coded(before), b"\xff" * 50, b"and more"] if before else [b"\xff" * 50, b"and more"]
    assert play(callable_, broken) == out
    assert b"".join(kept.went) == out
    assert callable_.state == "upstream_error"
    (error,) = errors
    assert error.startswith("the content encoding is broken: ")


@pytest.mark.parametrize("before", [BODY, BODY.replace(b"\n", b"\r\n"), BODY[:-1]])
@pytest.mark.parametrize("apart", [True, False])
def test_a_coding_that_breaks_behind_the_end_of_the_message(before: bytes, apart: bool) -> None:
    kept = Kept()
    callable_, errors = mend(Pipeline(WEATHER), "gzip", kept)
    chunks = [gzip.compress(before), b"garbage", b"more"] if apart else [gzip.compress(before) + b"garbage", b"more"]
    assert play(callable_, chunks) == b"".join(kept.went) == before
    assert (callable_.state, errors) == ("complete", [])


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_a_coding_that_breaks_behind_the_end_of_a_translated_message(target: str) -> None:
    callable_, errors = mend(Pipeline({"max_tokens": 1}, source="chat", target=target), "gzip")
    assert b"error" not in play(callable_, [gzip.compress(BODY), b"garbage", b"more"]).replace(b'"error":null', b"")
    assert (callable_.state, errors) == ("complete", [])


@pytest.mark.parametrize("api", BROKEN)
def test_a_coding_that_breaks_is_told_in_the_clients_api(api: str) -> None:
    tool = {"name": "x", "type": "function", "input_schema": {}, "function": {"name": "x"}, "functionDeclarations": [{"name": "x"}]}
    callable_, _ = mend(Pipeline({"tools": [tool]}, source=api, target=api), "gzip")
    lines = [line.removeprefix(b"data: ") for line in play(callable_, [b"\xff" * 50]).splitlines()]
    (data,) = [line for line in lines if line.startswith(b"{")]
    assert "content coding" in str(json.loads(data))


def test_lines_are_never_empty() -> None:
    """Ollama's clients fail at one."""
    body = b'{"message": {"role": "assistant", "content": "Hi"}}\n{"mess'
    tool = {"type": "function", "function": {"name": "x"}}
    callable_, _ = mend(Pipeline({"tools": [tool]}, source="ollama", target="ollama"), "gzip")
    assert play(callable_, [coded(body), b"\xff" * 50]) == body + b"\n" + BROKEN["ollama"]


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_a_translated_answer_whose_coding_breaks_is_cut_off(target: str) -> None:
    callable_, _ = mend(Pipeline({"max_tokens": 1}, source="chat", target=target), "gzip")
    out = play(callable_, [coded(CHUNKS[0] + CHUNKS[1]), b"\xff" * 50, b"more"])
    assert b"error" in out
    assert b"chat.completion" not in out


def test_what_the_breaking_chunk_still_gave_is_sent() -> None:
    callable_, _ = mend(Pipeline(WEATHER), "gzip")
    assert play(callable_, [gzip.compress(SHORT) + b"garbage"]) == SHORT + UNREADABLE


def test_output_of_the_failing_chunk_is_sent() -> None:
    callable_, errors = mend(Failing("feed", 0), "gzip")
    assert play(callable_, [gzip.compress(SHORT) + b"garbage"]) == SHORT + UNREADABLE
    assert [error.partition(":")[0] for error in errors] == ["the mending failed", "the content encoding is broken"]


def test_a_coding_that_breaks_in_what_a_codec_fails_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the client has all is not known then: it is told, and gets every byte."""
    monkeypatch.setattr("toolmend.proxy.stream_callbacks.events_of", lambda *_, **__: 1 / 0)
    callable_, errors = mend(Pipeline(WEATHER), "gzip")
    assert play(callable_, [gzip.compress(SHORT) + b"garbage"]) == SHORT + UNREADABLE
    assert [error.partition(":")[0] for error in errors] == ["the content encoding is broken"]


def test_the_headers_of_a_coding_are_no_early_end() -> None:
    body = gzip.compress(BODY)
    callable_, _ = mend(Pipeline(WEATHER), "gzip")
    assert callable_(body[:10]) == []
    assert play(callable_, [body[10:]]) == BODY


def test_a_tee_passes_the_coded_bytes_and_records_the_others() -> None:
    kept, body = Kept(), gzip.compress(BODY)
    callable_, errors = tee("gzip", kept)
    assert play(callable_, [body[at : at + 20] for at in range(0, len(body), 20)]) == body
    assert b"".join(kept.came) == b"".join(kept.went) == BODY
    assert errors == []


class Full(deque[bytes]):
    """A queue for which there is no memory, once."""

    full = True

    def append(self, item: bytes, /) -> None:
        if self.full:
            self.full = False
            raise MemoryError
        super().append(item)


def test_a_tee_without_memory_passes_the_chunk_all_the_same() -> None:
    kept = Kept()
    callable_, errors = tee("", kept)
    callable_._out = Full()
    assert play(callable_, CHUNKS) == BODY
    assert (errors, kept.came) == (["the recording failed: MemoryError"], [])


def test_a_tee_on_a_broken_coding_ends_the_recording_alone() -> None:
    kept = Kept()
    callable_, errors = tee("gzip", kept)
    assert play(callable_, [coded(BODY), b"\xff" * 50, b"more"]) == coded(BODY) + b"\xff" * 50 + b"more"
    assert kept.came == [BODY]
    (error,) = errors
    assert error.startswith("the recording ends early")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (CodingError("it is broken"), "it is broken"),
        (UnicodeDecodeError("utf-8", b"sk-secret", 0, 1, "sk-secret"), "UnicodeDecodeError"),
        (KeyError("sk-secret"), "KeyError"),
    ],
)
def test_an_error_tells_no_secret(error: Exception, told: str) -> None:
    assert reason(error) == told


@pytest.mark.parametrize("then", [None, THEN["an addition at the end"][0]], ids=["alone", "with another callable"])
def test_a_response_that_is_done_ends_before_its_upstream(then: Any) -> None:
    text = "<|tool_call_begin|>functions.task:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    kept = Kept()
    pipeline = Pipeline(WEATHER, settings=Settings(policy="first"), let_go=True)
    callable_, errors = mend(pipeline, recording=kept, then=then)
    assert callable_(stream([text], finish=None).removesuffix(event("[DONE]")))
    assert not callable_.ended
    given = callable_(event(chunk({"content": "and so on"})))
    assert isinstance(given, list)
    assert given[-1] == b""  # for mitmproxy, the end of the body
    assert all(given[:-1])
    assert b"".join(given).endswith(event("[DONE]") + (b": end\n" if then else b""))
    assert callable_.ended
    assert (callable_(event(chunk({"content": "and on"}))), callable_(b"")) == ([], b"")
    assert b"".join(kept.went).endswith(event("[DONE]"))
    assert (errors, callable_.state) == ([], "complete")


def test_a_translation_that_fails_ends_with_its_upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is ended earlier is ended twice, and the client takes the second one for its next answer, unless it has to leave."""
    pipeline = Pipeline(TRANSLATED, target="messages")
    callable_, _ = mend(pipeline)
    monkeypatch.setattr(pipeline._chain, "translate_event", Mock(side_effect=MemoryError))
    given = [callable_(data) for data in EVENTS]
    assert b"".join(map(_joined, given)).count(b"event: error") == 1
    assert not any(b"" in pieces for pieces in given if isinstance(pieces, list))
    assert (callable_.ended, callable_(b"")) == (False, b"")
