"""Streams that are played with a fault in them, and what a client may have got in the end.

    play(case)                            the bytes for the client, and what was told of it
    play(case, Lines(at, error))          the same, where `error` is raised in front of the `at`-th line of ours that runs
    play(case, allocation(at))            where the `at`-th allocation fails
    wrong(case, played)                   what is wrong with it; None: every byte is there, once, or the client was told

    python -m tests.support.faults NAME FIRST END STEP  what goes wrong where each of those allocations fails, in a process of one thread: it forks

Rule of this file: it judges by the whole stream. A stream that is cut behind any of its events says what goes out for those, and
which of the upstream's bytes that does not answer for; a fault may lead to one of those, and from there on to the raw bytes.
"""

import faulthandler
import json
import linecache
import os
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import batched, count
from pathlib import Path
from types import CodeType
from typing import Any
from unittest.mock import patch

import toolmend
from tests.support import legal_streams, upstream_answers
from tests.support.judges import messages as messages_judge
from tests.support.streams import WEATHER, stream
from toolmend.apis.decode_failure_event import UNREADABLE
from toolmend.core.content_encoding import decoder
from toolmend.pipeline.pipeline import Pipeline
from toolmend.pipeline.stall_guard import PIECE
from toolmend.proxy import stream_callbacks
from toolmend.proxy.stream_callbacks import Mend

PACKAGE = str(Path(toolmend.__file__).parent)
TOOL = 4  # of sys.monitoring: none of those that have a name

ERRORS = (MemoryError, RecursionError, ValueError, OSError, UnicodeError)
MESSAGES = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "stream": True,
    "tools": [{"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}],
    "messages": [{"role": "user", "content": "Weather?"}],
}
LEAK = stream(
    [
        *("I ", "will ", "look <", "now>.", "日本 "),
        *("<|tool_calls_section_begin|>", "<|tool_call_begin|>", " functions", ".get_weather", ":", "0"),
        *("<|tool_call_argument_begin|>", ' {"', "city", '": "', "Bei", "jing", " and", " so", " on", '"}'),
        *("<|tool_call_end|>", "<|tool_calls_section_end|>"),
    ]
)
PIECES = ("<", "|tool", " is <", "b> and", " so", " on", " 日本", " then", " <|tool_call_begin|>", " is", " nothing", ".")
PROSE = stream(["A marker, ", "<|tool_call_begin|>", " say,", " is", " <b>", "日本", " and ", "<|tool_calls_section", " is", " nothing."])


@dataclass(frozen=True)
class Case:
    """A stream: the chunks as they come, and what mends them. `coded`: they are gzip on the wire. `piece`: bytes of one."""

    chunks: tuple[bytes, ...]
    make: Callable[[], Pipeline]
    coded: bool = False
    piece: int = PIECE

    @property
    def wire(self) -> list[bytes]:
        if not self.coded:
            return list(self.chunks)
        deflater = zlib.compressobj(wbits=31)
        wire = [deflater.compress(data) + deflater.flush(zlib.Z_SYNC_FLUSH) for data in self.chunks]
        return [*wire, deflater.flush()]


def events(body: bytes) -> tuple[bytes, ...]:
    return tuple(event + b"\n\n" for event in body.split(b"\n\n")[:-1])


def bundles(body: bytes, size: int) -> tuple[bytes, ...]:
    return tuple(map(b"".join, batched(events(body), size)))


def cut(body: bytes, size: int) -> tuple[bytes, ...]:
    return tuple(body[at : at + size] for at in range(0, len(body), size))


def mending() -> Pipeline:
    return Pipeline(WEATHER)


def within(api: str) -> Callable[[], Pipeline]:
    return lambda: Pipeline(upstream_answers.asked(api, ("get_weather", {"city": {"type": "string"}})), source=api, target=api)


def translating() -> Pipeline:
    numbers = count()
    return Pipeline(MESSAGES, source="chat", target="messages", new_id=lambda: f"call_{next(numbers)}")


CASES = {
    "nothing to mend": Case(events(PROSE), mending),
    "a call": Case(events(LEAK), mending),
    "a call, in chunks that cut events": Case(cut(LEAK, 333), mending),
    "a call, many events in a chunk": Case(cut(LEAK, 2000), mending),
    "a call, in gzip": Case(events(LEAK), mending, coded=True),
    "a call, in gzip, much of it at once": Case(bundles(LEAK, 6), mending, coded=True, piece=500),
    "nothing to mend in Messages": Case(events(legal_streams.sse(legal_streams.messages(legal_streams.text(*PIECES)))), within("messages")),
    "nothing to mend in Responses": Case(events(legal_streams.sse(legal_streams.responses(legal_streams.say(*PIECES)))), within("responses")),
    "translated": Case(events(LEAK), translating),
    "translated, in chunks that cut events": Case(cut(LEAK, 333), translating),
    "translated, much of it at once": Case(cut(LEAK, 2000), translating, piece=500),
}


class Kept:
    """A recording in memory."""

    folder = Path()

    def __init__(self) -> None:
        self.came: list[bytes] = []
        self.went: list[bytes] = []

    def passed(self, received: bytes, sent: bytes) -> None:
        self.came.append(received)
        self.went.append(sent)


@dataclass
class Played:
    """What became of a stream. `escaped`: an exception reached mitmproxy; `early`: b"" was returned before the end."""

    body: bytes = b""
    told: tuple[str, ...] = ()
    escaped: bool = False
    early: bool = False


def play(case: Case, fault: AbstractContextManager[object] | None = None) -> Played:
    """As mitmproxy plays it; the fault is there while the stream is, and not while it is set up."""
    errors: list[str] = []
    undo = decoder("gzip" if case.coded else "")
    assert undo
    recording: Any = Kept()
    pipeline, played, wire = case.make(), Played(), case.wire
    mend = Mend(pipeline, undo, recording, None, errors)
    out: list[Any] = [None] * (len(wire) + 1)
    with patch.object(stream_callbacks, "PIECE", case.piece), fault or nullcontext():
        for at, data in enumerate([*wire, b""]):
            try:
                out[at] = mend(data)
            except Exception:  # mitmproxy goes on, too, with the chunk lost
                played.escaped = True
    played.early = b"" in out[:-1]
    played.body = b"".join(given if isinstance(given, bytes) else b"".join(given or ()) for given in out)
    played.told = (*errors, *filter(None, [pipeline.error]))
    return played


class Lines:
    """Raises in front of a line of ours; or, told none, counts them. A line that is but a `try:` does nothing that could fail."""

    def __init__(self, at: int = 0, error: type[Exception] = MemoryError) -> None:
        self.at, self.error = at, error
        self.ran = 0
        self.where = ""

    def __enter__(self) -> None:
        sys.monitoring.use_tool_id(TOOL, "torture")
        sys.monitoring.register_callback(TOOL, sys.monitoring.events.LINE, self._line)
        sys.monitoring.set_events(TOOL, sys.monitoring.events.LINE)

    def __exit__(self, *_: object) -> None:
        sys.monitoring.set_events(TOOL, 0)
        sys.monitoring.free_tool_id(TOOL)

    def _line(self, code: CodeType, line: int) -> Any:
        if not _counts(code.co_filename, line):
            return sys.monitoring.DISABLE
        self.ran += 1
        if self.ran == self.at:
            self.where = f"{Path(code.co_filename).name}:{line} {code.co_name}"
            if self.error is UnicodeError:
                raise UnicodeDecodeError("utf-8", b"x", 0, 1, "injected")
            raise self.error("injected")
        return None


@cache
def _counts(file: str, line: int) -> bool:
    return file.startswith(PACKAGE) and linecache.getline(file, line).strip() != "try:"


@contextmanager
def allocation(at: int) -> Iterator[None]:
    """The `at`-th allocation from here on fails, and no other."""
    import _testcapi  # noqa: PLC0415  not every Python has it

    _testcapi.set_nomemory(at, at + 1)
    try:
        yield
    finally:
        _testcapi.remove_mem_hooks()


@cache
def _may_be(case: Case) -> tuple[frozenset[bytes], bytes]:
    """What a client of the same API may get, and what it gets without a fault."""
    came, pipeline = events(b"".join(case.chunks)), case.make()
    out, may_be = b"", set()
    for at in range(len(came) + 1):
        other = case.make()
        before, out = out, b"".join(other.feed(data) for data in came[:at])
        may_be.add(out + other.give_up("") + b"".join(came[at:]))
        # several frames may leave at once, one for each of the last events: it may fail between any two of them
        left = events(out.removeprefix(before))
        may_be |= {before + b"".join((*left[:n], *came[at - len(left) + n :])) for n in range(1, len(left))}
    whole = b"".join(pipeline.feed(data) for data in came) + pipeline.close()
    return frozenset(may_be | {whole} if whole != b"".join(came) else {whole}), whole


def wrong(case: Case, played: Played) -> str | None:
    """What is wrong with it."""
    if played.escaped or played.early:
        return "an exception reached mitmproxy" if played.escaped else "the body ended early"
    may_be, whole = _may_be(case)
    if played.body == whole:
        return None
    if not played.told:
        return "nothing was told"
    if case.make().translates:
        return _wrong_message(played.body, whole)
    if case.coded and played.body.endswith(UNREADABLE["chat"]):
        got = played.body.removesuffix(UNREADABLE["chat"])
        return None if any(body.startswith(got) for body in may_be) else "what came before the error is wrong"
    return None if played.body in may_be else "bytes are lost, or there twice"


def _wrong_message(body: bytes, whole: bytes) -> str | None:
    got, expected = messages_judge.read(body), messages_judge.read(whole)
    if got.faults:
        return f"illegal: {got.faults}"
    if not got.error and (got.text, got.asked) != (expected.text, expected.asked):
        return "cut off without an error"
    said = got.text.partition("<|")[0]  # markup that was held is text to a client that gets an error behind it
    return None if expected.text.startswith(said) else "text is lost, or there twice"


CRASHED = "Python itself crashed"


def failing_allocations(name: str, tried: range) -> Counter[str]:
    """What goes wrong where an allocation fails, and how often."""
    case = CASES[name]
    play(case)  # what is made once for all is made
    assert wrong(case, play(case)) is None
    return Counter(fails for at in tried if (fails := in_a_child(case, at)))


def in_a_child(case: Case, at: int) -> str:
    """What goes wrong where the `at`-th allocation fails; empty if nothing does."""
    read, write = os.pipe()
    if pid := os.fork():
        os.close(write)
        with os.fdopen(read, "rb") as told:
            said = told.read().decode()
        _, status = os.waitpid(pid, 0)
        crashed = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGSEGV, signal.SIGABRT)
        return said or (CRASHED if crashed else f"the process ended with status {status}" if status else "")
    try:
        faulthandler.disable()
        sys.unraisablehook = lambda _: None
        played = play(case, allocation(at))
        os.write(write, (wrong(case, played) or "").encode())
        os._exit(0)
    finally:
        os._exit(1)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(failing_allocations(sys.argv[1], range(*map(int, sys.argv[2:])))))
