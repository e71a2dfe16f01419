"""Content codings: undone in any chunks, at once, and never beyond their bounds."""

import gc
import gzip
import random
import tracemalloc
import weakref
from collections.abc import Iterable, Iterator

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.content_encodings import BOMBS, CODERS
from toolmend.core.content_encoding import BURST, WHOLE, CodingError, decoder, whole
from toolmend.core.joined_chunks import sizes_of, together
from toolmend.recordings.playback.server import Coding, Script

TEXT = b"".join(b'data: {"n": %d, "text": "\xe6\x9c\x88"}\n\n' % n for n in range(300))
LIMIT = 16 * 1024 * 1024


VARIANTS = [(name.partition(" of ")[0].partition(" with ")[0].removesuffix(", raw"), name) for name in CODERS]


@pytest.mark.parametrize(("encoding", "coder"), VARIANTS)
@pytest.mark.parametrize("size", [1, 2, 7, 1000, 1 << 20])
def test_any_chunks(encoding: str, coder: str, size: int) -> None:
    body = CODERS[coder](TEXT)
    undo = decoder(encoding)
    assert undo
    assert b"".join(undo.feed(body[at : at + size]) for at in range(0, len(body), size)) == TEXT
    assert whole(body, encoding, LIMIT) == TEXT


@pytest.mark.parametrize(("encoding", "coder"), VARIANTS)
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("behind", [b"", b"\x07garbage"])
def test_chunks_that_are_one_piece(encoding: str, coder: str, size: int, behind: bytes) -> None:
    """Each is undone as if it had come alone, and so is what comes before one that fails."""
    body = CODERS[coder](TEXT) + behind
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    apart, broke = fed(encoding, chunks)
    (piece,), broken = fed(encoding, [together(chunks)])
    assert (piece, broken) == (b"".join(apart), broke)
    assert broke or [*sizes_of(piece)] == [len(plain) for plain in apart if plain]


def fed(encoding: str, chunks: Iterable[bytes]) -> tuple[list[bytes], bool]:
    """What each makes readable, and whether one failed."""
    undo = decoder(encoding)
    assert undo
    made = list[bytes]()
    try:
        made.extend(map(undo.feed, chunks))
    except CodingError as error:
        return [*made, error.decoded], True
    return made, False


def test_the_limit_is_that_of_the_whole_piece() -> None:
    undo = decoder("gzip", 100)
    assert undo
    with pytest.raises(CodingError, match="100 bytes"):
        undo.feed(together([gzip.compress(b"x" * 50)] * 3))


@given(st.binary(max_size=300), st.lists(st.sampled_from(["gzip", "deflate", "br", "zstd"]), max_size=3), st.data())
def test_any_body_and_stack(body: bytes, names: list[str], data: st.DataObject) -> None:
    coded = body
    for name in names:
        coded = CODERS[name](coded)
    cut = data.draw(st.integers(0, len(coded)))
    undo = decoder(", ".join(names))
    assert undo
    assert undo.feed(coded[:cut]) + undo.feed(coded[cut:]) == body


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_every_flush_is_readable_at_once(encoding: Coding) -> None:
    events = TEXT.splitlines(keepends=True)[:50]
    flushed, _ = Script(tuple((0.0, event) for event in events), coding=encoding).coded()
    undo = decoder(encoding)
    assert undo
    assert [undo.feed(data) for _, data in flushed] == events


@pytest.mark.parametrize("encoding", ["", "identity", "None", "UTF-8", "utf8, chunked", "binary", "text"])
def test_what_is_not_coded_stays_the_same_object(encoding: str) -> None:
    undo = decoder(encoding)
    assert undo
    assert undo.feed(TEXT) is TEXT
    assert whole(TEXT, encoding, LIMIT) is TEXT


@pytest.mark.parametrize("encoding", ["snappy", "gzip, snappy", "gzip, gzip, gzip, gzip", "x"])
def test_unknown_codings(encoding: str) -> None:
    assert decoder(encoding) is None
    with pytest.raises(CodingError, match="is not supported"):
        whole(b"...", encoding, LIMIT)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_garbage(encoding: str) -> None:
    with pytest.raises(CodingError):
        whole(b"plain text under a coded name, and no event\n\n" * 9, encoding, LIMIT)


TEXTS = (
    b'data: {"id":"chatcmpl-1","choices":[]}\n\n',
    b'event: message_start\ndata: {"type":"message_start"}\n\n',
    b": OPENROUTER PROCESSING\n\n",
    b'{"id":"chatcmpl-1","choices":[]}',
    b'\n\n{"model":"kimi-k2","done":false}\n',
)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, br"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_that_was_never_coded(encoding: str, text: bytes) -> None:
    assert whole(text, encoding, LIMIT) is text
    undo = decoder(encoding)
    assert undo
    assert [undo.feed(piece) for piece in (text, b"more", CODERS["gzip"](b"no coding"))][:2] == [text, b"more"]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, br"])
@pytest.mark.parametrize("text", [*TEXTS, b"retry: 3000\n\n", b'{\n  "candidates": []}', b'[{"candidates": []}]'])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 20])
def test_text_that_was_never_coded_and_comes_in_pieces(encoding: str, text: bytes, size: int) -> None:
    """Deflate without a header makes something of the first of them, but no text."""
    undo = decoder(encoding)
    assert undo
    assert b"".join(undo.feed(text[at : at + size]) for at in range(0, len(text), size)) == text


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_an_array_that_was_never_coded(encoding: str) -> None:
    """Brotli and deflate have no mark of their own, and take such a beginning for theirs."""
    assert whole(b'[{"candidates": []}]', encoding, LIMIT) == b'[{"candidates": []}]'


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_text_behind_something_coded_is_an_error(encoding: str) -> None:
    body = CODERS[encoding](TEXT)
    undo = decoder(encoding)
    assert undo
    undo.feed(body[:20])
    with pytest.raises(CodingError):
        undo.feed(b"".join(TEXTS * 20))


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_breaks_in_the_middle_gives_what_came_before(encoding: str) -> None:
    body = CODERS[encoding](TEXT) + b"\x07garbage behind it"
    assert b"".join(undone(body, encoding, 1)) == TEXT
    assert TEXT.startswith(b"".join(undone(body, encoding, 1 << 20)))


def undone(body: bytes, encoding: str, size: int) -> Iterator[bytes]:
    """What the chunks make readable, to the CodingError that must come, and with what that one still has."""
    undo = decoder(encoding)
    assert undo
    for at in range(0, len(body), size):
        try:
            yield undo.feed(body[at : at + size])
        except CodingError as error:
            yield error.decoded
            return
    raise AssertionError("nothing was wrong")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_ends_early_is_no_error(encoding: str) -> None:
    body = CODERS[encoding](TEXT)
    for end in range(0, len(body), 37):
        assert TEXT.startswith(whole(body[:end], encoding, LIMIT))


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_stop_at_the_bound(name: str) -> None:
    make, encoding = BOMBS[name]
    body = make()
    tracemalloc.start()
    try:
        burst = list(undone(body, encoding, 65536))
        with pytest.raises(CodingError):
            whole(body, encoding, LIMIT)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert burst[-1] == b""
    unbounded = "br" in encoding and not hasattr(brotli.Decompressor, "can_accept_more_data")  # of mitmproxy 12.2.0
    assert peak < LIMIT + (32 if unbounded else 4) * 1024 * 1024


@pytest.mark.parametrize(("size", "read"), [(WHOLE, True), (WHOLE + 1, False)], ids=["what any may become", "more"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_what_grows_out_of_all_proportion_is_a_bomb_under_any_limit(encoding: str, size: int, read: bool) -> None:
    body = CODERS[encoding](bytes(size))
    if read:
        assert whole(body, encoding, 8 * BURST) == bytes(size)
    else:
        with pytest.raises(CodingError, match="more than 2097152 bytes"):
            whole(body, encoding, 8 * BURST)


@pytest.mark.parametrize(
    ("text", "swells"),
    [
        (bytes(WHOLE), False),
        (bytes(WHOLE + 1), True),
        (bytes(WHOLE) + b"\n" + bytes(WHOLE), False),
        (bytes(WHOLE) + b"\n" + bytes(WHOLE + 1), True),
        (random.Random(0).randbytes(WHOLE).replace(b"\n", b"") * 3, False),
    ],
    ids=["as much as any may", "more", "lines", "a longer one", "in proportion"],
)
@pytest.mark.parametrize("size", [1000, 1 << 30])
def test_a_line_that_swells(text: bytes, size: int, *, swells: bool) -> None:
    undo, body = decoder("gzip"), gzip.compress(text)
    assert undo
    assert b"".join(undo.feed(body[at : at + size]) for at in range(0, len(body), size)) == text
    assert undo.swells == swells


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_long_session_is_read(encoding: str) -> None:
    """Twelve MiB, of which a tenth is news: a lot, and in proportion."""
    dice = random.Random(0)
    text = b"".join(dice.randbytes(50).hex().encode() + b" def read(path): return open(path).read() #" * 20 for _ in range(13_000))
    assert len(text) > BURST
    assert whole(CODERS[encoding](text), encoding, 8 * BURST) == text


@pytest.mark.parametrize("window_log", [17, 23, 24, 27, 31])
def test_a_window_that_no_content_coding_needs_is_refused(window_log: int) -> None:
    raw_block = (len(TEXT) << 3 | 1).to_bytes(3, "little") + TEXT
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([window_log - 10 << 3]) + raw_block  # RFC 8878, section 3.1.1
    if window_log <= 23:
        assert whole(frame, "zstd", LIMIT) == TEXT
    else:
        with pytest.raises(CodingError):
            whole(frame, "zstd", LIMIT)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129])
def test_the_limit_is_exact(size: int) -> None:
    for encoding in ("identity", "gzip", "br", "zstd", "deflate"):
        body = CODERS[encoding](b"x" * size)
        if size <= 128:
            assert whole(body, encoding, 128) == b"x" * size
        else:
            with pytest.raises(CodingError, match="128 bytes"):
                whole(body, encoding, 128)


def test_a_burst_of_real_events_is_no_bomb() -> None:
    event = (
        b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"choices":[{"delta":{"content":"%d"}}]}'
    )
    stream = b"".join(event % n + b"\n\n" for n in range(60_000))
    assert len(stream) < BURST
    for encoding in ("gzip", "br", "zstd"):
        undo = decoder(encoding)
        assert undo
        assert undo.feed(CODERS[encoding](stream)) == stream


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_break_behind_whole_pieces_costs_only_the_last_one(encoding: str) -> None:
    body = CODERS[encoding](TEXT * 100) + b"\x07garbage behind it"
    undo = decoder(encoding)
    assert undo
    with pytest.raises(CodingError) as raised:
        undo.feed(body)
    assert raised.value.decoded == TEXT * 100


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_what_broke_stays_broken(encoding: Coding) -> None:
    undo = decoder(encoding)
    assert undo
    for _ in range(2):
        with pytest.raises(CodingError):
            undo.feed(b"\xff\x00 no coding at all")


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, br"])
def test_windows_go_with_the_last_who_has_them(encoding: str, *, broken: bool) -> None:
    """They are of up to 16 MiB, and not collected: gone as soon as nobody has the decoder, or it is of no more use."""
    gc.disable()
    try:
        undo = decoder(encoding)
        assert undo
        stages = [weakref.ref(stage) for stage in undo._meters]
        if broken:
            with pytest.raises(CodingError):
                undo.feed(b"\xff" * 100)
        else:
            undo.feed(CODERS[encoding](TEXT)[:20])
            assert all(stage() for stage in stages)
            del undo
        assert not any(stage() for stage in stages)
    finally:
        gc.enable()
