"""The stream callable alone: what it costs an event, beside a callable that returns what it gets, and beside reading JSON.

Rule of this file: what is measured is what mitmproxy calls, `stream.Mend`, with chunks as they come off the wire. What comes out
is looked at first, in a smaller stream: a fast wrong answer is no figure.
"""

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from openai._streaming import SSEDecoder

from tests.support.judges.chat import read
from toolmend.core import content_encoding
from toolmend.dialects import DIALECTS
from toolmend.pipeline.pipeline import Pipeline
from toolmend.proxy.stream_callbacks import Mend

from . import bodies
from .clock import Run, best
from .table import Figure, Table

NOTHING = "nothing to mend, µs an event"
MENDING = "mending markup, µs a delta"
TRANSLATING = "translating, µs an event"

COLUMNS = ("{0} KB", "{1} KB", "{2} KB", "growth", "20 a chunk", "identity", "over identity", "× orjson", "× json")
TARGETS = {
    NOTHING: "at most 1 µs a chunk over identity",
    MENDING: "at most 8 µs a delta at every length, growth at most 1.2",
    TRANSLATING: "chat → messages at most 6 µs an event",
}
"""On a machine on which orjson takes MEASURE: on this one, as many times as much as that takes here."""

RULER, MEASURE = "orjson, there and back", 0.90
"""Microseconds an event of prose, on the machine that the targets were set on."""


@dataclass(frozen=True)
class Case:
    """A row: the body with so many bytes of text or arguments; from one API to another."""

    table: str
    name: str
    body: Callable[[int], bodies.Body]
    source: str = "chat"
    target: str = "chat"

    def callable(self, request: dict[str, Any]) -> Mend:
        undo = content_encoding.decoder("")
        assert undo
        return Mend(Pipeline(request, source=self.source, target=self.target), undo, None, None, [])


def tables(
    sizes: Sequence[int], rounds: int, progress: Callable[[str], None], only: str = "", dialects: Iterable[str] = DIALECTS
) -> list[Table]:
    """Every case whose title and name have `only` in them; `sizes` in bytes, the first is the measure of growth."""
    columns = [column.format(*(size // 1024 for size in sizes)) for column in COLUMNS]
    progress("rulers")
    measured = rulers(sizes[1], rounds)
    scale = measured.rows[RULER][0].value / MEASURE
    where = f", times {scale:.2f}: orjson takes {measured.rows[RULER][0].value:.2f} µs here, and {MEASURE:.2f} where this was set"
    found = {title: Table(title, columns, target + where) for title, target in TARGETS.items()}
    for case in cases(dialects):
        if only in f"{case.table} {case.name}":
            progress(case.name)
            found[case.table].add(case.name, *row(case, sizes, rounds, scale))
    return [table for table in (*found.values(), measured) if table.rows]


def cases(dialects: Iterable[str]) -> Iterator[Case]:
    """All rows."""
    for api in bodies.APIS:
        yield Case(NOTHING, f"{api}: prose", lambda size, api=api: bodies.prose(api, size), api, api)  # type: ignore[misc]
        yield Case(NOTHING, f"{api}: prose, no tools", lambda size, api=api: _without_tools(bodies.prose(api, size)), api, api)  # type: ignore[misc]
        yield Case(NOTHING, f"{api}: native calls", lambda size, api=api: bodies.native(api, size), api, api)  # type: ignore[misc]
    yield Case(NOTHING, "chat: prose, tokens counted", lambda size: _counted(bodies.prose("chat", size)))
    for name in dialects:
        yield Case(MENDING, name, lambda size, name=name: _leak(name)(size))  # type: ignore[misc]
    yield Case(MENDING, "kimi_k2, tokens counted", lambda size: _counted(_leak("kimi_k2")(size)))
    for api in ("messages", "responses"):
        yield Case(MENDING, f"kimi_k2 in {api}", lambda size, api=api: _leak_of(api, api)(size), api, api)  # type: ignore[misc]
    for source in bodies.APIS:
        for target in bodies.APIS:
            if source != target:
                for kind, make in (("prose", bodies.prose), ("calls", bodies.native)):
                    yield Case(TRANSLATING, f"{source} → {target}: {kind}", _asked(make, source, target), source, target)
    yield Case(TRANSLATING, "chat → messages: markup", _leak_of("chat", "messages"), "chat", "messages")


def _without_tools(body: bodies.Body) -> bodies.Body:
    """Its client asks for no calls."""
    return bodies.Body({name: value for name, value in body.request.items() if name != "tools"}, body.stream)


def _asked(make: Callable[[str, int], bodies.Body], source: str, target: str) -> Callable[[int], bodies.Body]:
    """The client asks in its API, the upstream answers in its own."""
    return lambda size: bodies.Body(bodies.request(target), make(source, size).stream)


def _counted(body: bodies.Body) -> bodies.Body:
    """Each chunk tells how many tokens there are so far."""
    parts = body.stream.split(b',"choices":[{')
    counts = [b',"usage":{"prompt_tokens":10,"completion_tokens":%d,"total_tokens":%d},"choices":[{' % (n, n + 10) for n in range(len(parts))]
    return bodies.Body(body.request, b"".join(part for pair in zip(parts, counts, strict=True) for part in pair).removesuffix(counts[-1]))


@functools.cache
def _leak(dialect: str, api: str = "chat") -> Callable[[int], bodies.Body]:
    """Streams with a dialect's markup, by the bytes of an argument."""
    sample, newline = bodies.fitting(_samples().get(dialect, ()), _mended)
    return lambda size: bodies.leaked(sample, size, newline, api)


_samples = functools.cache(bodies.samples)


def _leak_of(source: str, target: str) -> Callable[[int], bodies.Body]:
    """A client of an API gets Kimi's markup."""

    def body(size: int) -> bodies.Body:
        leak = _leak("kimi_k2", source)(size)
        offered = [tool["function"] for tool in leak.request["tools"]]
        named = {"messages": "input_schema", "responses": "parameters"}[target]
        tools = [{"type": "function", "name": tool["name"], named: tool["parameters"]} for tool in offered]
        return bodies.Body({**bodies.request(target), "tools": tools, "model": leak.request["model"]}, leak.stream)

    return body


def _mended(body: bodies.Body, argument: str) -> bool:
    """Whether the long argument arrives in a call."""
    pipeline = Pipeline(body.request)
    out = b"".join([pipeline.feed(chunk) for chunk in bodies.chunks(body.stream, 7)]) + pipeline.close()
    calls = [call.value for choice in read(out).choices.values() for call in choice.calls]
    said = [text.strip() for value in calls if isinstance(value, dict) for text in value.values() if isinstance(text, str)]
    return pipeline.error is None and argument.strip() in said


def row(case: Case, sizes: Sequence[int], rounds: int, scale: float) -> list[Figure]:
    """The figures of a case, as `COLUMNS` has them; what is aimed at is `scale` times as much as TARGETS says."""
    small, middle, _ = sizes
    runs: dict[str, Run] = {}
    events: dict[str, int] = {}
    for size in sizes:
        body = case.body(size)
        one = bodies.chunks(body.stream, 1)
        if size == small:
            _check(case, body.request, one)
        events[f"{size}"] = len(one)
        runs[f"{size}"] = _run(lambda request=body.request: case.callable(request), one)  # type: ignore[misc]
        if size == middle:
            twenty = bodies.chunks(body.stream, 20)
            runs["20"] = _run(lambda request=body.request: case.callable(request), twenty)  # type: ignore[misc]
            runs |= {
                "identity": _run(lambda: _identity, one),
                "orjson": _run(lambda: _ORJSON, one),
                "json": _run(lambda: _JSON, one),
            }
    ns = best(runs, rounds)
    many = events[f"{middle}"]
    us = {name: ns[name] / events.get(name, many) / 1000 for name in runs}
    growth = us[f"{sizes[2]}"] / us[f"{small}"]
    over = us[f"{middle}"] - us["identity"]
    limit = {MENDING: 8.0 * scale, TRANSLATING: 6.0 * scale if case.name.startswith("chat → messages") else None}.get(case.table)
    lengths = [Figure(us[f"{size}"], limit) for size in sizes]
    return [
        *lengths,
        Figure(growth, 1.2 if case.table == MENDING else None),
        Figure(us["20"]),
        Figure(us["identity"]),
        Figure(over, 1.0 * scale if case.table == NOTHING else None),
        Figure(us[f"{middle}"] / us["orjson"]),
        Figure(us[f"{middle}"] / us["json"]),
    ]


def _check(case: Case, request: dict[str, Any], chunks: Sequence[bytes]) -> None:
    """What must come of it, as far as it can be told at any length."""
    mend = case.callable(request)
    given = [mend(chunk) for chunk in (*chunks, b"")]
    out = b"".join(data if isinstance(data, bytes) else b"".join(data) for data in given)
    error = mend._pipeline.error
    assert error is None, (case.name, error)
    whole = b"".join(chunks)
    assert (out == whole) == (case.table == NOTHING), case.name


def _run(make: Callable[[], Callable[[bytes], object]], chunks: Sequence[bytes]) -> Run:
    """All chunks and the end, through a callable that is made anew each time."""

    def ready() -> Callable[[], object]:
        feed = make()

        def run() -> None:
            for chunk in chunks:
                feed(chunk)
            feed(b"")

        return run

    return ready


def _identity(data: bytes) -> bytes:
    return data


def _there_and_back(loads: Callable[[bytes], Any], dumps: Callable[[Any], object]) -> Callable[[bytes], bytes]:
    """Reads and writes the JSON of each event, and nothing else."""

    def run(data: bytes) -> bytes:
        for part in data.split(b"\n\n"):
            at = part.find(b"{")
            if at >= 0:
                dumps(loads(part[at:]))
        return data

    return run


_ORJSON = _there_and_back(orjson.loads, orjson.dumps)
_JSON = _there_and_back(json.loads, json.dumps)


def rulers(size: int, rounds: int) -> Table:
    """What others cost for the same events: the prose of Chat Completions."""
    stream = bodies.prose("chat", size).stream
    cut = {1: bodies.chunks(stream, 1), 20: bodies.chunks(stream, 20)}
    each: dict[str, Callable[[list[bytes]], object]] = {
        "identity": lambda chunks: [_identity(chunk) for chunk in chunks],
        RULER: lambda chunks: [_ORJSON(chunk) for chunk in chunks],
        "json, there and back": lambda chunks: [_JSON(chunk) for chunk in chunks],
        "openai's SSE decoder": lambda chunks: list(SSEDecoder().iter_bytes(iter(chunks))),
    }
    runs: dict[str, Run] = {
        f"{name} {many}": lambda use=use, chunks=chunks: lambda: use(chunks)  # type: ignore[misc]
        for name, use in each.items()
        for many, chunks in cut.items()
    }
    ns = best(runs, rounds)
    table = Table("rulers, µs an event", ("1 a chunk", "20 a chunk"))
    for name in each:
        table.add(name, *(Figure(ns[f"{name} {many}"] / len(cut[1]) / 1000) for many in cut))
    return table
