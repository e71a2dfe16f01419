"""A stream through the pipeline, whole and in chunks, and what must hold of what comes out."""

import re
from collections.abc import Sequence
from typing import Any

from samples import asked
from tests.support import upstream_answers
from tests.support.chunk_by_chunk import same
from toolmend.config.settings import Settings
from toolmend.core.fold import Answer, Message
from toolmend.core.ids import ids_for
from toolmend.pipeline.chunk_reader import ChunkReader
from toolmend.pipeline.event_reader import events_of
from toolmend.pipeline.pipeline import Pipeline

_OF_THE_MODEL = re.compile("no JSON object|a delta behind complete arguments")
_COMMENT = re.compile(rb"^:.*?(?:\r\n|\n|\r)+|^event: ping\ndata: {[^\n]*}\n\n", re.MULTILINE)
"""Or what is one in another API: how many go out for upstreams that say nothing depends on the chunks, see sse.py."""
_EVENT_END = re.compile(rb"(?:\r\n|\r|\n){2,}")
_DATA = re.compile(rb"(?:\A|[\r\n])data")


def run(
    source: str,
    target: str,
    chunks: list[bytes],
    body: bytes,
    request: dict[str, Any] | None = None,
    settings: Settings = Settings(),
) -> tuple[bytes, set[str]]:
    """What goes out, and the rules that fired; for these chunks and for the body whole it must be the same."""

    def out(parts: list[bytes]) -> tuple[bytes, set[str]]:
        made = Pipeline(request or asked(target), source=source, target=target, settings=settings, new_id=ids_for(body))
        sent = b"".join(made.feed(part) for part in parts) + made.close()
        assert not made.error, made.error
        return sent, set(made.rules)

    pieces, whole = out(chunks), out([body])
    assert _without_comments(pieces[0]) == _without_comments(whole[0])  # a comment may overtake what is held
    assert pieces[1] == whole[1]
    return whole


def same_without_runs(source: str, target: str, cuttings: Sequence[list[bytes]], request: dict[str, Any]) -> tuple[bytes, set[str]]:
    """What goes out, and the rules that fired: the same however it is cut, and chunk by chunk without the fast path."""

    def out(chunks: list[bytes], *, runs: bool) -> tuple[list[bytes], *tuple[object, ...]]:
        made = Pipeline(request, source=source, target=target, new_id=ids_for(b""))
        if not runs:
            made._reader = ChunkReader(made._decoder, made._process, made._undelivered)
        told = ((part, made.try_fast(part) if runs else None) for part in chunks)
        sent = [made.feed(part) if given is None else given for part, given in told]
        assert not made.error, made.error
        return [*sent, made.close()], set(made.rules), made.notes, made.ids, made.error

    plain = [out(chunks, runs=False) for chunks in cuttings]
    for chunks, each in zip(cuttings, plain, strict=True):
        same(out(chunks, runs=True), each, b"".join(chunks))
        assert _without_comments(b"".join(each[0])) == _without_comments(b"".join(plain[0][0]))
        assert each[1:] == plain[0][1:]
    return b"".join(plain[0][0]), set(plain[0][1])


def answered(api: str, chunks: list[bytes]) -> list[Message]:
    """What who looks on makes of a stream, message by message."""
    answer = Answer(1 << 24)
    for event in events_of(api, chunks, stream=True):
        answer.feed(event)
    return answer.known()


def _without_comments(body: bytes) -> bytes:
    return _COMMENT.sub(b"", body)


def with_data(body: bytes) -> list[bytes]:
    """The events of a stream that say something."""
    return [event for event in _EVENT_END.split(body) if _DATA.search(event)]


def legal(target: str, source: str, out: bytes) -> None:
    """What goes out is legal where all of it is ours: in an API that the upstream does not speak."""
    if source == target:
        return
    answer = upstream_answers.JUDGES[target].read(out)
    # where arguments are a string, what a model got wrong is the client's to tell it
    faults = [fault for fault in answer.faults if target == "messages" or not _OF_THE_MODEL.search(fault)]
    assert not faults, (faults, out.decode(errors="replace"))
