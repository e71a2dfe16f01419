"""A recording made small, and its words made none of anybody's business, while it still tests what it tested.

    {"content": "Let me read src/secret/plan.md. <|tool_calls_section_begin|>…"}
    {"content": "Xxx xx xxxx xxx/xxxxxx/xxxx.xx. <|tool_calls_section_begin|>…"}

Events are dropped; of texts the words become filler of the same length, so that what is cut stays cut where it was. From the
request go earlier messages, tools that are not called, descriptions. What must not change is the sense of it: the rules that
fire, the markup, the calls, texts and ends that the client gets. Every step is tried by a replay, and what changes the sense is
not done.

Rule of this file: the same recording gives the same result; it is bounded by bytes that are played, not by a clock.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any

from .. import json_text
from ..apis import decoder_of
from ..decoded import events_of
from ..dialects import DIALECTS
from ..fold import Answer, Message
from ..replay import Recording
from ..value import replace, value
from .filler import KEPT, filled, names_in, says, with_filler, words_of
from .fixture import golden

WORK = 96 * 1024 * 1024
"""Bytes that are played at most, half a minute or so; a usual answer needs a second."""

A_REPLAY = 4096
"""Bytes that a replay costs beside those of the stream: a pipeline is made."""

MAX_TEXT = 1024 * 1024
"""Characters of an answer that are compared."""

@value
class Minimised:
    """The small recording. `words` were not made filler, since something hangs on them; `whole`: there was no time for all."""

    recording: Recording
    words: int
    whole: bool


type _Piece = tuple[bytes, tuple[int, float]]
"""A part of an event, the chunk that it came in, and when."""
type _Event = tuple[_Piece, ...]


@value
class _Sense:
    """What a recording tests: `fixed` stays as it is; `marks`, the punctuation of texts and arguments, may become fewer."""

    fixed: tuple[Any, ...]
    marks: tuple[frozenset[str], ...]

    def is_that_of(self, other: "_Sense") -> bool:
        """Whether a smaller recording has it."""
        return self.fixed == other.fixed and all(fewer <= more for more, fewer in zip(self.marks, other.marks, strict=True))


def minimise(recording: Recording) -> Minimised:
    """The recording without what does not matter."""
    return _Minimiser(recording).run()


class _Minimiser:
    def __init__(self, recording: Recording) -> None:
        self._now = recording
        fired = [DIALECTS[rule] for rule in recording.meta.get("rules", ()) if rule in DIALECTS]
        self._markup = sorted({text for one in fired or DIALECTS.values() for text in (*one.openers, *one.inner, *one.closers)})
        self._sense = _sense(recording, self._markup)
        self._left = WORK

    def run(self) -> Minimised:
        if self._now.stream:
            events = _events(self._now)
            self._shrink(events, [_says(event) for event in events], lambda some: _with_events(self._now, some))
        self._request()
        words = self._words()
        return Minimised(self._now, words, self._left > 0)

    def _try(self, candidate: Recording) -> bool:
        """Takes a recording if it tests the same."""
        self._left -= A_REPLAY + sum(map(len, candidate.chunks))
        if self._left <= 0 or not self._sense.is_that_of(_sense(candidate, self._markup)):
            return False
        self._now = candidate
        return True

    def _shrink[T](self, items: Sequence[T], may_go: Sequence[bool], make: Callable[[Sequence[T]], Recording]) -> None:
        """Leaves out as many of the items as can be and may be, by runs that get shorter."""
        numbers = list(range(len(items)))
        size = len(items)
        while size:
            at = 0
            while at < len(numbers) and self._left > 0:  # to make what is not played costs as much
                run = numbers[at : at + size]
                stay = [n for n in run if not may_go[n]]
                fewer = numbers[:at] + stay + numbers[at + size :] if len(stay) < len(run) else []
                if fewer and self._try(make([items[n] for n in fewer])):
                    numbers = fewer
                else:
                    at += size
            size //= 2

    def _request(self) -> None:
        """The request with fewer messages and tools, and with filler."""
        for name in ("messages", "input"):
            items = (self._now.request or {}).get(name)
            if isinstance(items, list):
                self._shrink(items, [True] * len(items), lambda some, name=name: self._asking({name: some}))  # type: ignore[misc]
        tools = (self._now.request or {}).get("tools")
        if isinstance(tools, list):
            called = golden(self._now)[0]
            self._shrink(tools, [_name_of(tool) not in called for tool in tools], lambda some: self._asking({"tools": some}))
        for name, given in (self._now.request or {}).items():
            self._try(self._asking({name: filled(given, name)}))

    def _asking(self, fields: Mapping[str, Any]) -> Recording:
        return replace(self._now, request={**(self._now.request or {}), **fields})

    def _words(self) -> int:
        """Makes words filler, all that can be; returns how many cannot."""
        body = b"".join(self._now.chunks)
        words = sorted({word for word, _ in words_of(body)} - KEPT - names_in((self._now.request or {}).get("tools")))
        filler: set[bytes] = set()
        rest = [words]
        kept = 0
        while rest:
            some = rest.pop()
            if not some:
                continue
            if self._try(_with_body(self._now, with_filler(body, filler.union(some)))):
                filler.update(some)
            elif len(some) == 1 or self._left <= 0:
                kept += len(some)
            else:
                rest += [some[len(some) // 2 :], some[: len(some) // 2]]
        return kept


def _sense(recording: Recording, markup: Sequence[str]) -> _Sense:
    client, rules, _ = golden(recording)
    body = b"".join(recording.chunks)
    api = recording.meta["api"]
    came = "".join(message.text + message.reasoning for message in _messages(api, body, recording.stream))
    messages = _messages(recording.meta.get("client_api") or api, client, (recording.folder / "client.sse").exists())
    told = tuple(
        (
            bool(message.text.strip()),
            bool(message.reasoning.strip()),
            bool(message.refusal),
            tuple((call.kind, call.id, call.name, call.complete, _shape(call.arguments)) for call in message.calls.values()),
            message.finish and message.finish.finish_reason,
            message.error and message.error.type,
            message.ended,
        )
        for message in messages
    )
    texts = [text for one in messages for text in (one.text, one.reasoning, *(call.arguments for call in one.calls.values()))]
    marks = tuple(frozenset(re.findall(r"\W", text)) for text in texts)
    return _Sense((tuple(rules), client != body, tuple(map(came.count, markup)), told), marks)


def _messages(api: str, body: bytes, stream: bool) -> list[Message]:
    answer = Answer(MAX_TEXT)
    for event in events_of(api, [body], stream=stream):
        answer.feed(event)
    return list(answer.known())


def _shape(arguments: str) -> Any:
    """The names and types of a call's arguments; None if they are broken."""
    try:
        return _types(json_text.loads(arguments.encode(errors="surrogatepass")))
    except (json_text.NotJSON, RecursionError):
        return None


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _types(item) for name, item in value.items()}
    return [_types(item) for item in value] if isinstance(value, list) else type(value).__name__


def _name_of(tool: Any) -> bytes:
    function = tool.get("function") if isinstance(tool, dict) else None
    name = (function if isinstance(function, dict) else tool if isinstance(tool, dict) else {}).get("name")
    return name.encode(errors="replace") if isinstance(name, str) else b""


def _says(event: _Event) -> bool:
    """Whether an event holds a piece of text, or nothing at all: others give the stream its form."""
    raw = b"".join(data for data, _ in event)
    return raw.startswith(b":") or says(raw)


def _events(recording: Recording) -> list[_Event]:
    """The events of a stream, each in the pieces that it came in."""
    body, decoder = b"".join(recording.chunks), decoder_of(recording.meta["api"])
    chunks = [*enumerate(recording.times)]
    ends = [*accumulate(map(len, recording.chunks))]
    events: list[_Event] = []
    at = n = 0
    for event in [*decoder.feed(body), *decoder.close()]:
        pieces: list[_Piece] = []
        end = at + len(event.raw)
        while at < end:
            until = min(end, ends[n])
            pieces.append((body[at:until], chunks[n]))
            at = until
            n += at == ends[n]
        events.append(tuple(pieces))
    return events


def _with_events(recording: Recording, events: Sequence[_Event]) -> Recording:
    """A recording of these events alone, in the chunks that they came in."""
    pieces = [piece for event in events for piece in event]
    chunks = [(chunk, b"".join(data for data, _ in run)) for chunk, run in groupby(pieces, key=lambda piece: piece[1])]
    times = tuple(time for (_, time), _ in chunks)
    return replace(recording, chunks=tuple(data for _, data in chunks), times=times)


def _with_body(recording: Recording, body: bytes) -> Recording:
    """A recording of another body of the same length."""
    chunks, at = [], 0
    for chunk in recording.chunks:
        chunks.append(body[at : at + len(chunk)])
        at += len(chunk)
    return replace(recording, chunks=tuple(chunks))
