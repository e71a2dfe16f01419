"""The mask of echoed secrets, against an oracle that joins the texts when all is over; every case under every cut."""

import base64
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.echoes import KEY, SECRETS, chat, cuts, texts
from toolmend.secrets import echo_mask
from toolmend.secrets.echo_mask import EchoMask
from toolmend.secrets.encodings import spellings
from toolmend.secrets.needles import PIECE, SUSPICIOUS
from toolmend.secrets.similar_lines import LineTemplate


def masked(chunks: Iterable[bytes], secrets: Sequence[str] = (KEY,)) -> bytes:
    """The body as it comes to lie on the disk. What is under suspicion on the way is never there unmasked."""
    mask = EchoMask(secrets)
    disk = bytearray()
    for chunk in [*chunks, None]:
        disk += mask.close() if chunk is None else mask.feed(chunk)
        for offset, piece in mask.restored:
            assert disk[offset : offset + len(piece)] in (b"*" * len(piece), piece)
            disk[offset : offset + len(piece)] = piece
        mask.restored.clear()
    return bytes(disk)


def alike(text: str, filler: str = "x") -> bytes:
    """A line with a text and filler."""
    return b'{"t":"%s","obfuscation":"%s"}\n\n' % (text.encode(), filler.encode())


def two_alike(*texts: tuple[str, str]) -> bytes:
    """Lines with two texts each."""
    return b"".join(b'{"t":"%s","u":"%s"}\n' % (one.encode(), other.encode()) for one, other in texts)


def parts(text: str) -> list[str]:
    return [text[at : at + 11] for at in range(0, len(text), 11)]


def ranked(*tokens: Sequence[str]) -> bytes:
    """Deltas with the alternatives to each token, the likeliest first."""
    return b"".join(chat(said, logprobs={"top_logprobs": [{"token": one, "logprob": -0.1} for one in (said, *others)]}) for said, *others in tokens)


STARS = "*" * len(KEY)
CODED = "c2stYW50LWFwaTAzLUFiQ185L3hZeg"
BASIC = "dXNlcjpzay1hbnQtYXBpMDMtQWJDXzkveFl6"
"""In base64: the key, and `user:` and the key."""
PERCENTS = "".join(f"%{ord(char):02x}" for char in KEY)
ESCAPES = "".join(f"\\u{ord(char):04x}" for char in KEY)
HEX = KEY.encode().hex()
CASES = {  # (what came in, what is to lie on the disk)
    "one piece": (chat(f"key: {KEY}!"), chat(f"key: {STARS}!")),
    "two deltas": (chat("is sk-an", f"{KEY[5:]}, ok"), chat("is *****", f"{STARS[5:]}, ok")),
    "a delta for each character": (chat(*KEY), chat(*STARS)),
    "twice, end to end": (chat(*KEY, KEY), chat(*STARS, STARS)),
    "begun, then begun anew": (chat("sk-ant-", *KEY), chat("sk-ant-", *STARS)),
    "innocent words": (chat("Files", " of tasks", "k-", "s", "sk", "x"), None),
    "innocent to the end": (chat("Write the files"), None),
    "most of a key at the end": (chat("is ", KEY[:-1]), chat("is ", STARS[:-1])),
    "a short beginning at the end": (chat("is ", KEY[: SUSPICIOUS - 1]), None),
    "between empty deltas": (chat(KEY[:4], "", KEY[4:]), chat(STARS[:4], "", STARS[4:])),
    "between comments": (
        chat(KEY[:4]) + b": keep-alive s\n\n" + chat(KEY[4:]),
        chat(STARS[:4]) + b": keep-alive s\n\n" + chat(STARS[4:]),
    ),
    "two choices in turn": (
        chat(KEY[:4]) + chat(KEY[:9], choice=1) + chat(KEY[4:]) + chat(KEY[9:], choice=1),
        chat(STARS[:4]) + chat(STARS[:9], choice=1) + chat(STARS[4:]) + chat(STARS[9:], choice=1),
    ),
    "two choices that are no key together": (chat(KEY[:4]) + chat(KEY[4:], choice=1), None),
    "index behind the text": (
        b'{"a":[{"text":"sk-ant","index":1},{"text":"sk-x","index":2}]}\n{"a":[{"text":"-api03-AbC_9/xYz","index":1}]}\n',
        b'{"a":[{"text":"******","index":1},{"text":"sk-x","index":2}]}\n{"a":[{"text":"****************","index":1}]}\n',
    ),
    "index 0 is no index": (
        b'{"a":[{"index":0,"text":"sk-ant"}]}\n{"a":[{"text":"-api03-AbC_9/xYz"}]}\n',
        b'{"a":[{"index":0,"text":"******"}]}\n{"a":[{"text":"****************"}]}\n',
    ),
    "parts without index": (  # Gemini: the parts of a list are joined, in one event and over several
        b'data: {"parts":[{"text":"sk-"},{"text":"ant-"}]}\r\n\r\ndata: {"parts":[{"text":"api03-AbC_9/xYz"}]}\r\n\r\n',
        b'data: {"parts":[{"text":"***"},{"text":"****"}]}\r\n\r\ndata: {"parts":[{"text":"***************"}]}\r\n\r\n',
    ),
    "strings in a list": (
        b'{"a":["s","k-ant-api03-AbC_9/xYz",["sk-"],"x"]}',
        b'{"a":["*","*********************",["sk-"],"x"]}',
    ),
    "the alternatives to each token": (
        ranked(("is ", "the s"), ("sk-ant", "s"), ("-api03", "k", ""), ("-AbC_9/xYz", ".", "sk-"), (" so", "!", "ant")),
        ranked(("is ", "the s"), ("******", "s"), ("******", "k", ""), ("**********", ".", "sk-"), (" so", "!", "ant")),
    ),
    "alternatives of several tokens in one delta": (
        b'{"a":[{"top_logprobs":[{"t":"sk-"},{"t":"x"}]},{"top_logprobs":[{"t":"ant-api03-AbC_9/xYz"},{"t":"s"}]}]}',
        b'{"a":[{"top_logprobs":[{"t":"***"},{"t":"x"}]},{"top_logprobs":[{"t":"*******************"},{"t":"s"}]}]}',
    ),
    "strings in two lists": (b'{"a":["sk-ant-"],"b":["api03-AbC_9/xYz"]}', None),
    "a bare string": (
        b'data: "sk-ant-"\n\ndata: "api03-AbC_9/xYz"\n\n',
        b'data: "*******"\n\ndata: "***************"\n\n',
    ),
    "Messages, from the start of a block into its deltas": (
        b'{"index":1,"content_block":{"text":"sk-"}}\n\n{"index":1,"delta":{"text":"ant-api03-AbC_9/xYz"}}\n\n',
        b'{"index":1,"content_block":{"text":"***"}}\n\n{"index":1,"delta":{"text":"*******************"}}\n\n',
    ),
    "Responses, two calls in turn": (
        b"""data: {"output_index":1,"delta":"sk-ant-"}\n
data: {"output_index":2,"delta":"api03-AbC_9/xYz"}\n
data: {"output_index":1,"delta":"api03-AbC_9/xYz"}\n""",
        b"""data: {"output_index":1,"delta":"*******"}\n
data: {"output_index":2,"delta":"api03-AbC_9/xYz"}\n
data: {"output_index":1,"delta":"***************"}\n""",
    ),
    "escapes": (
        rb'{"a":"\u0073k\u002Dant-api03-AbC_9\/xYz\n"}',
        rb'{"a":"*********************************\n"}',
    ),
    "escapes in deltas": (
        rb'{"a":"\u0073"} {"a":"k-ant-\u0061pi03-AbC_9"} {"a":"\/xYz sk\u002d"} {"a":"\"s"} {"a":"\n"}',
        rb'{"a":"******"} {"a":"**********************"} {"a":"***** sk\u002d"} {"a":"\"s"} {"a":"\n"}',
    ),
    "arguments, a JSON text in a JSON text": (
        rb'{"arguments":"{\"path\": \"sk-ant-api03-AbC_9\\/xYz\"}"}',
        rb'{"arguments":"{\"path\": \"************************\"}"}',
    ),
    "an escape in a member that is never joined": (
        rb'{"id":"\u0073k-ant-api03-AbC_9/xYz","model":"tests"}',
        rb'{"id":"***************************","model":"tests"}',
    ),
    "a plain member that is never joined": (
        b'{"model":"sk-ant-api03-AbC_9/xYz"}',
        b'{"model":"**********************"}',
    ),
    "members that end as a key begins": (chat("x", model="kimi-plus", provider="Fireworks", object="chunks"), None),
    "the name of a member": (b'{"sk-ant-api03-AbC_9/xYz":1}', b'{"**********************":1}'),
    "a comment": (b": sk-ant-api03-AbC_9/xYz\n\n", b": **********************\n\n"),
    "a field and data that is no JSON": (
        b"event: sk-ant-api03-AbC_9/xYz\rdata: {sk-ant-api03-AbC_9/xYz\r\r",
        b"event: **********************\rdata: {**********************\r\r",
    ),
    "in a URL": (b'{"a":"?key=sk-ant-api03-AbC_9%2FxYz&b"}', b'{"a":"?key=************************&b"}'),
    "in base64": (chat(*parts(f"it is {CODED}==")), chat(*parts(f"it is {'*' * 30}=="))),
    "inside of base64": (chat(*parts(BASIC)), chat(*parts("dXNlcjp" + "*" * 29))),
    "in percents": (chat(*parts("?q=" + PERCENTS)), chat(*parts("?q=" + "*" * 66))),
    "in hex": (chat(*parts(f"it is {HEX}, {HEX.upper()}.")), chat(*parts(f"it is {'*' * 44}, {'*' * 44}."))),
    "in escapes of a text in a text": (chat(*parts(ESCAPES)), chat(*("*" * (len(json.dumps(part)) - 2) for part in parts(ESCAPES)))),
    "cut inside the last string": (
        chat("sk-ant-") + b'data: {"choices":[{"index":0,"delta":{"content":"api03-AbC_9/xYz',
        chat("*******") + b'data: {"choices":[{"index":0,"delta":{"content":"***************',
    ),
    "cut inside an escaped key": (rb'{"a":"\u0073k-ant-api03-AbC_9/xYz\u', rb'{"a":"***************************\u'),
    "cut inside a key": (b'{"a":"so sk-ant-api03-AbC', b'{"a":"so ****************'),
    "broken brackets": (
        b'data: }]{"a":"sk-ant-"}}}\n\ndata: }]{"a":"api03-AbC_9/xYz"\n\n',
        b'data: }]{"a":"*******"}}}\n\ndata: }]{"a":"***************"\n\n',
    ),
    "lines alike": (
        b"".join(alike(text) for text in ("a", "is", "sk", "-ant-api03", "-AbC_9/xYz, so", "k", "s")),
        b"".join(alike(text) for text in ("a", "is", "**", "**********", "**********, so", "k", "s")),
    ),
    "lines alike, and another text under suspicion": (
        b"".join(b'{"index":%d,"t":"%s"}\n' % line for line in ((0, b"a"), (0, b"as"), (1, b"sk-"), (0, b"b"), (1, KEY[3:].encode()))),
        b"".join(b'{"index":%d,"t":"%s"}\n' % line for line in ((0, b"a"), (0, b"as"), (1, b"***"), (0, b"b"), (1, b"*" * 19))),
    ),
    "lines alike, a key in what nobody reads": (
        b"".join(alike(text, filler) for text, filler in (("a", "xs"), ("as", "yk"), ("b", ""), ("b", CODED), ("s", "k"))),
        b"".join(alike(text, filler) for text, filler in (("a", "xs"), ("as", "yk"), ("b", ""), ("b", "*" * 30), ("s", "k"))),
    ),
    "lines alike, and one that goes on behind": (
        alike("a") + alike("as") + alike("s")[:-2] + b',{"t":"k-ant-api03-AbC_9/xYz"}\n',
        alike("a") + alike("as") + alike("*")[:-2] + b',{"t":"*********************"}\n',
    ),
    "lines alike, a key in front of all": (
        b"".join(KEY.encode() + b' {"t":"%d"}\n' % at for at in range(4)),
        b"".join(STARS.encode() + b' {"t":"%d"}\n' % at for at in range(4)),
    ),
    "bare strings in lines of their own": (b'"sk-ant-"\n"api03-AbC_9"\n"/xYz"\n', b'"*******"\n"***********"\n"****"\n'),
    "a key alone": (KEY.encode(), STARS.encode()),
    "lines alike, a key with escapes in an id": (
        b"".join(b'{"id":"s\\u006b-ant-api03-AbC_9/xYz 1","created":%d,"t":"%d"}\n' % (at, at) for at in range(4)),
        b"".join(b'{"id":"*************************** 1","created":%d,"t":"%d"}\n' % (at, at) for at in range(4)),
    ),
    "lines alike, a key with escapes in filler": (
        b"".join(alike(text, "s\\u006b-ant-api03-AbC_9/xYz 1") for text in ("x", "y", "x", "x")),
        b"".join(alike(text, "*" * 27 + " 1") for text in ("x", "y", "x", "x")),
    ),
    "lines alike, what went on otherwise is over": (
        b"".join(map(alike, ("a", "as", "sk-", " no"))) + b": hi\n\n" + b"".join(map(alike, ("ant-api03-AbC_9/xYz", "x"))),
        None,
    ),
    "lines alike, a key in the first text, and a beginning behind it in the second": (
        two_alike(("a", "b"), ("as", "bs"), ("c", "c"), ("sk-ant", "d"), ("-api03-AbC_9/xYz", "e"), ("f", "f"), ("g", "s")),
        two_alike(("a", "b"), ("as", "bs"), ("c", "c"), ("******", "d"), ("****************", "e"), ("f", "f"), ("g", "s")),
    ),
    "lines alike, a key in the second text, and a beginning behind it in the first": (
        two_alike(("a", "b"), ("as", "bs"), ("c", "c"), ("d", "sk-ant"), ("e", "-api03-AbC_9/xYz"), ("f", "f"), ("s", "g")),
        two_alike(("a", "b"), ("as", "bs"), ("c", "c"), ("d", "******"), ("e", "****************"), ("f", "f"), ("s", "g")),
    ),
    "behind lines that are alike": (chat("a", "b", "d", *KEY), chat("a", "b", "d", *STARS)),
    "behind lines that are the same": (chat(" x", " x", " x", *KEY, " x"), chat(" x", " x", " x", *STARS, " x")),
    "between lines that are alike": (
        chat("a", "b", KEY[:5]) + b": " + KEY.encode() + b"\r: sk-\r\n" + chat(KEY[5:], "d"),
        chat("a", "b", STARS[:5]) + b": " + STARS.encode() + b"\r: sk-\r\n" + chat(STARS[5:], "d"),
    ),
    "in what is the same in all lines": (chat("a", "b", "d", user=KEY), chat("a", "b", "d", user=STARS)),
    "where many lines are others": (
        chat("a", "b", "d") + b": y\n" * 9 + chat(*KEY) + b": z\n" * 9 + chat("e", "g"),
        chat("a", "b", "d") + b": y\n" * 9 + chat(*STARS) + b": z\n" * 9 + chat("e", "g"),
    ),
    "nothing": (b"", None),
    "line ends alone": (b"\r\n\n\r\r\n", None),
}


@pytest.mark.parametrize("case", CASES)
def test_under_every_cut(case: str) -> None:
    body, expected = CASES[case]
    for chunks in cuts(body):
        assert masked(chunks) == (body if expected is None else expected)


ALIKE = [
    b'data: {"object":"chunks","delta":{"content":"%(text)b"},"sequence_number":%(n)d}\n\n',
    b'event: delta\ndata: {"item_id":"tasks","delta":"%(text)b","sequence_number":%(n)d,"obfuscation":"ask"}\n\n',
    b'{"model":"tasks","message":{"content":"%(text)b"},"sequence_number":%(n)d}\r\n',
]
TWICE = b'data: {"id":"s%(n)d","created":%(n)d,"delta":{"reasoning":"%(text)b","details":[{"text":"%(text)b"}]}}\n\n'
WORDS = (b"tasks", b" of s", b"k", b" files", b"", b' \\"sk-', b"\\u0073", b"x")


@pytest.mark.parametrize(("event", "words"), [*product(ALIKE, (WORDS, (b" tasks",))), (TWICE, WORDS)])
def test_of_lines_alike_those_are_read_that_may_hold_a_secret(
    event: bytes, words: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bytes] = []
    of = EchoMask._read

    def watched(self: EchoMask, lines: bytes, start: int, end: int, out: bytearray) -> object:
        read.append(lines[start:end])
        return of(self, lines, start, end, out)

    monkeypatch.setattr(EchoMask, "_read", watched)
    body = b"".join(event % {b"text": words[at % len(words)], b"n": at} for at in range(800))
    assert masked([body]) == body
    assert len(read) < 40


@pytest.mark.parametrize("event", [b'{"id":"s%d","a":"%b","b":[{"c":"%b"}]}\n', b'data: {"b":[{"c":"%b"}],"a":"%b"}\n\n'])
@pytest.mark.parametrize("size", [1, 4, 100])
@pytest.mark.parametrize("place", [0, 1])
def test_of_lines_alike_each_text_is_looked_at(event: bytes, size: int, place: int) -> None:
    """The secret is in one of them alone, in pieces; and most of it, which is not all."""
    said = [b"%d tasks" % at for at in range(40)] + [KEY[at : at + size].encode() for at in range(0, len(KEY), size)] + [b" end"] * 9 + [b"ask-", KEY[:12].encode(), b"x"] * 3
    lines, hidden = list[bytes](), list[bytes]()
    for at, text in enumerate(said):
        for out, shown in ((lines, text), (hidden, b"*" * len(text) if 40 <= at < len(said) - 18 else text)):
            other = b"w%d" % at if at % 50 < 49 else b"ask-"
            texts = (shown, other) if place == 0 else (other, shown)
            out.append(event % ((at, *texts) if b"id" in event else texts))
    body, expected = b"".join(lines), b"".join(hidden)
    for chunks in ([body], lines, [body[at : at + 7] for at in range(0, len(body), 7)]):
        assert masked(chunks) == expected


@pytest.mark.parametrize("texts", [(" item",), (" it", "em")])
def test_lines_alike_are_searched_for_their_texts_alone(texts: tuple[str, ...]) -> None:
    """What they have in common was searched once; the same lines, too."""
    lines = [chat(texts[at % len(texts)], created=at % 7) for at in range(400)]
    mask = EchoMask((KEY,))
    mask.feed(b"".join(lines[:4]))
    searched: list[int] = []
    begins = mask._begins

    class Watched:
        def search(self, data: bytes, start: int = 0, end: int = sys.maxsize) -> object:
            searched.append(len(data[start:end]))
            return begins.search(data, start, end)

    mask._begins = Watched()  # type: ignore[assignment]
    data = b"".join(lines)
    assert mask.feed(data) is data
    assert sum(searched) < len(data) / 10


@pytest.mark.parametrize("first", ["", "as", "sk-ant-"])
def test_lines_that_are_alike_by_threes_are_not_cut_apart_time_and_again(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time all that comes behind them is cut, too."""
    cut: list[int] = []
    of = LineTemplate.row

    def watched(self: LineTemplate, lines: bytes, at: int) -> object:
        cut.append(at)
        return of(self, lines, at)

    monkeypatch.setattr(LineTemplate, "row", watched)
    body = chat("a", "b", "d") + (chat(first) if first else b"") + (chat("x", "y", "x") + b'{"other":1}\n') * 500
    assert masked([chat("a", "b"), body]) == chat("a", "b") + body
    assert len(cut) < 20


def test_without_secrets_the_same_object_passes() -> None:
    mask, data = EchoMask(()), b'data: {"a":"'
    assert mask.feed(data) is data
    assert mask.close() == b""


def test_a_clean_line_passes_as_the_same_object() -> None:
    mask, data = EchoMask((KEY,)), chat("hello", provider="Together")
    assert mask.feed(data) is data


def test_a_whole_body_on_many_lines() -> None:
    def body(text: str) -> bytes:
        return json.dumps({"choices": [{"index": 0, "message": {"content": text}}]}, indent=2).encode()

    for chunks in cuts(body(f"a {KEY} b")):
        assert masked(chunks) == body(f"a {STARS} b")


def test_a_line_that_is_too_long_is_masked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo_mask, "MAX_EVENT", 100)
    rest = b"x" * 100 + b"\n\r\ny: " + chat("sk", "x")
    for chunks in cuts(b"x" * 101 + b"\n" + rest):
        assert masked(chunks) == b"*" * 101 + b"\n" + rest
    assert masked([b"a" * 60, b"a" * 60, b"a" * 60]) == b"*" * 180
    assert masked([b"y\n" + b"x" * 101 + b"\n"]) == b"y\n" + b"*" * 101 + b"\n"


def test_a_line_with_too_many_suspicions_is_masked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo_mask, "MAX_STRINGS", 3)
    line = b'["s","s","s","s"]'
    assert masked([line[:-5] + b"]\n", line, b"\n", line]) == line[:-5] + b"]\n" + b"*" * 17 + b"\n" + b"*" * 17


def test_a_line_with_too_many_suspicions_amid_lines_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo_mask, "MAX_STRINGS", 0)
    *lines, last = [alike(text) for text in ("a", "b", "s", "c", "as")]
    assert masked([b"".join((*lines, last))]) == b"".join((*lines, b"*" * (len(last) - 2), b"\n\n"))


@pytest.mark.parametrize("before", ["", "]}]}]}"])
def test_texts_in_the_depth_are_one(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    body = before + '{"a":{"b":{"%s":{"t":"sk-ant-"}}}}\n' + before + '{"a":{"b":{"%s":{"t":"api03-AbC_9/xYz"}}}}\n'
    assert masked([(body % ("c", "d")).encode()]) == (body % ("c", "d")).encode()
    monkeypatch.setattr(echo_mask, "MAX_DEPTH", 2)
    expected = (body % ("c", "d")).replace("sk-ant-", "*" * 7).replace("api03-AbC_9/xYz", "*" * 15)
    assert masked([(body % ("c", "d")).encode()]) == expected.encode()


def test_a_deep_line_is_read() -> None:
    deep = b"[" * 5000 + b'"sk-","ant-api03-AbC_9/xYz"' + b"]" * 5000 + b',{"a":"sk-ant"}\n{"a":"-api03-AbC_9/xYz"}'
    parts = b'"***","*******************"', b'"******"', b'"****************"'
    expected = b"[" * 5000 + parts[0] + b"]" * 5000 + b',{"a":' + parts[1] + b'}\n{"a":' + parts[2] + b"}"
    assert masked([deep]) == expected


@pytest.mark.parametrize(
    ("secret", "texts", "expected"),
    [
        ("hunter22", ["is hun"], ["is hun"]),
        ("hunter22", ["is h", "unt"], ["is *", "***"]),  # half of a short secret
        ("hunter2hunter2", ["hunter2" * 3, "x"], ["*" * 21, "x"]),
        ("hunter2hunter2", ["hunter2hun", "ter2", "x"], ["*" * 10, "****", "x"]),
        ("aaaaaaab", ["a" * 9, "b"], ["aa" + "*" * 7, "*"]),
        ("aaaaaaab", ["a"] * 9 + ["b"], ["a", "a"] + ["*"] * 8),
    ],
)
def test_other_secrets(secret: str, texts: list[str], expected: list[str]) -> None:
    for chunks in cuts(chat(*texts)):
        assert masked(chunks, (secret,)) == chat(*expected)


LONG = "".join(f"{n:x}G" for n in range(PIECE))
"""Longer than a piece; no part of it is like another."""


@pytest.mark.parametrize("length", [*range(PIECE - 1, PIECE + 6), 2 * PIECE - 4, 2 * PIECE - 3, len(LONG)])
def test_a_long_secret_is_masked_whole(length: int) -> None:
    secret = LONG[:length]
    coded = base64.b64encode(secret.encode()).decode().rstrip("=")
    for said in (secret, coded, "".join(f"%{ord(char):02x}" for char in secret)):
        for size in (3, 100, len(said)):
            texts = [said[at : at + size] for at in range(0, len(said), size)]
            got = masked([chat("It is ", *texts, ".")], (secret,))
            kept = "".join(json.loads(line[6:])["choices"][0]["delta"]["content"] for line in got.split(b"\n\n") if line)
            assert kept.removeprefix("It is ").removesuffix(".").strip("*") in ("", coded[-1])


def test_what_tells_texts_apart_is_bounded() -> None:
    """It is kept for each text that is under suspicion."""
    mask = EchoMask((KEY,))
    mask.feed(b'{"%b":{"index":%b,%b"t":"%b"}}\n' % (b"n" * 10**6, b"1" * 10**6, b'"index":1,' * 10**5, KEY[:9].encode()))
    assert mask._tails
    assert all(len(part) <= 2 * echo_mask.MAX_NAME for path in mask._tails for part in path)


def test_texts_under_suspicion_are_bounded() -> None:
    """The oldest is judged first: innocent if short, masked if it is most of a key. What is judged is not joined."""
    paths = [b'{"a%d":"%s"}\n' % (i, b"s" if i % 2 else KEY[:-1].encode()) for i in range(echo_mask.MAX_TAILS + 2)]
    first = b'{"a0":"%s"}\n{"a1":"%s"}\n' % (KEY[-1:].encode(), KEY[1:].encode())
    mask = EchoMask((KEY,))
    out = bytearray(mask.feed(b"".join(paths) + first) + mask.close())
    for offset, piece in mask.restored:
        out[offset : offset + len(piece)] = piece
    assert bytes(out) == b"".join(paths).replace(KEY[:-1].encode(), STARS[:-1].encode()) + first


# the property


@dataclass(frozen=True)
class Piece:
    """A JSON string: which text it goes on with, and its characters, each with its spelling."""

    choice: int
    member: str
    characters: list[tuple[str, bytes]]


def spelled(character: str) -> st.SearchStrategy[tuple[str, bytes]]:
    """A character in any way that JSON allows."""
    ways = {json.dumps(character)[1:-1].encode(), json.dumps(character, ensure_ascii=False)[1:-1].encode()}
    code = character.encode("utf-16-be").hex()
    escaped = "".join(f"\\u{code[i : i + 4]}" for i in range(0, len(code), 4))
    ways |= {escaped.encode(), escaped.upper().replace("U", "u").encode()}
    if character == "/":
        ways.add(b"\\/")
    return st.sampled_from(sorted(ways)).map(lambda way: (character, way))


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, bytes, tuple[str, ...]]:
    """A stream, the same with what the oracle masks, and the secrets."""
    pieces: list[Piece] = []
    for _ in range(draw(st.integers(1, 2))):
        choice, member = draw(st.sampled_from([0, 1, 12])), draw(st.sampled_from(["content", "reasoning"]))
        text, plain = draw(texts()), draw(st.booleans())
        characters = [(c, json.dumps(c)[1:-1].encode()) if plain else draw(spelled(c)) for c in text]
        while characters:
            size = draw(st.integers(0, 4))
            pieces.append(Piece(choice, member, characters[:size]))
            characters = characters[size:]
    if draw(st.booleans()):
        pieces = draw(st.permutations(pieces))
    quiet = [Piece(0, "content", [(word, word.encode())]) for word in draw(st.sampled_from(["", "xxx", "uvwxyz"]))]
    pieces = quiet + pieces  # lines are known to be alike before anything is suspicious
    body = bytearray()
    places = defaultdict[tuple[int, str], list[tuple[str, int, int]]](list)
    ends = draw(st.sets(st.sampled_from([b"\n\n", b"\r\n\r\n", b"\n: sk-\n\n", b"\r\r", b"\n\nevent: ask\n"]), min_size=1, max_size=3))
    more, again, another, own = (draw(st.booleans()) for _ in range(4))  # that varies in each line
    for number, piece in enumerate(pieces):
        body += b'data: {"object":"chunks",' + (b'"id":"sk-%d","created":%d,' % (number, number) if own else b"")
        body += b'"choices":[{"index":%d,"delta":{"%s":"' % (piece.choice, piece.member.encode())
        for member, said in ((piece.member, piece), ("again", pieces[-1 - number] if another else piece))[: 1 + again]:
            body += b'","details":[{"again":"' if member == "again" else b""
            for character, way in said.characters:
                places[piece.choice, member].append((character, len(body), len(way)))
                body += way
        body += b'"' + b"}]" * again + b'}}],"x":[1,null,"y"]'
        if more:
            filler = draw(st.sampled_from([b"", b"x8Zr", b"aaaaaaa", b"sk-", b"hunter2"]))
            body += b',"sequence_number":%d,"obfuscation":"%b"' % (number, filler)
        body += b"}" + draw(st.sampled_from(sorted(ends)))
    secrets = draw(st.sets(st.sampled_from(SECRETS), max_size=3))
    needles = {spelling for secret in secrets for spelling in spellings(secret)}
    expected = bytearray(body)
    for units in places.values():
        joined = "".join(character for character, _, _ in units)
        hidden: set[int] = set()
        for needle in needles:
            for start in range(len(joined)):
                if joined.startswith(needle, start):
                    hidden.update(range(start, start + len(needle)))
        begun = [i for i in range(len(joined)) if any(needle.startswith(joined[i:]) for needle in needles)]
        if begun:  # the longest beginning of a secret that the text ends with
            size = len(joined[begun[0] :].encode())
            guilty = [needle for needle in needles if needle.startswith(joined[begun[0] :])]
            if any(size >= min(SUSPICIOUS, len(needle.encode()) // 2) for needle in guilty):
                hidden.update(range(begun[0], len(joined)))
        for i in hidden:
            _, at, size = units[i]
            expected[at : at + size] = b"*" * size
    return bytes(body), bytes(expected), tuple(sorted(secrets))


@given(streams(), st.data())
def test_as_the_oracle(stream: tuple[bytes, bytes, tuple[str, ...]], data: st.DataObject) -> None:
    body, expected, secrets = stream
    assert masked([body], secrets) == expected
    assert masked([bytes([byte]) for byte in body], secrets) == expected
    places = sorted(data.draw(st.sets(st.integers(0, len(body)), max_size=8)))
    chunks = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]
    assert masked(chunks, secrets) == expected


@given(st.binary(), st.lists(st.integers(1, 9), min_size=1))
def test_any_bytes_pass(body: bytes, sizes: list[int]) -> None:
    """Whatever it is, nothing is raised, the length stays, and the cuts change nothing."""
    whole = masked([body], SECRETS)
    assert len(whole) == len(body)
    chunks, rest = [], body
    for size in sizes:
        chunks.append(rest[:size])
        rest = rest[size:]
    assert masked([*chunks, rest], SECRETS) == whole


JSON_LIKE = st.lists(
    st.sampled_from(
        [b'"', b"\\", b"s", b"k-", b"{", b"}", b"[", b"]", b":", b",", b"index", b"1", b"\n", b"\r", b"a", b"\\u0073"]
    )
).map(b"".join)


@given(JSON_LIKE, st.integers(0, 100))
def test_anything_like_json_passes(body: bytes, cut: int) -> None:
    whole = masked([body], ("sk-sk-sk-", "aaaaaaab", '"},"aaaa'))
    assert len(whole) == len(body)
    assert masked([body[:cut], body[cut:]], ("sk-sk-sk-", "aaaaaaab", '"},"aaaa')) == whole
