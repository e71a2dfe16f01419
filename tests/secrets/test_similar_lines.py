"""similar_lines.py: in which texts two lines differ, or that they do in something else; and where these stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmend.secrets.similar_lines import LONGEST, MOST, compare

FILLER = b'"obfuscation":"%b","sequence_number":%d'
ROWS: dict[str, tuple[bytes, bytes, list[bytes] | None]] = {  # a line, the next one, and the texts of that
    "a text": (b'{"a":"x","b":1}', b'{"a":"yy","b":1}', [b"yy"]),
    "one that goes on": (b'{"a":"x"}', b'{"a":"xy"}', [b"xy"]),
    "an empty one": (b'{"a":"x"}', b'{"a":""}', [b""]),
    "one in a list": (b'["x"]', b'["y"]', [b"y"]),
    "an escape": (b'{"a":"\\""}', b'{"a":"\\\\\\"y"}', [b'\\\\\\"y']),
    "two": (b'{"a":"x","b":[{"c":"x"}]}', b'{"a":"y","b":[{"c":"y"}]}', [b"y", b"y"]),
    "one of two in a list": (b'{"a":"x","b":["x"]}', b'{"a":"y","b":["y"]}', None),
    "as many as may be": (b'{"a":"x","b":"x","c":"x"}', b'{"a":"y","b":"z","c":"w"}', [b"y", b"z", b"w"]),
    "one more": (b'{"a":"x","b":"x","c":"x","d":"x"}', b'{"a":"y","b":"y","c":"y","d":"y"}', None),
    "two of one name": (b'{"a":"x","b":{"a":"x"}}', b'{"a":"y","b":{"a":"y"}}', None),
    "filler as well": (b'{"t":"x",' + FILLER % (b"a", 1) + b"}", b'{"t":"y",' + FILLER % (b"", 22) + b"}", [b"y"]),
    "filler alone": (b'{"t":"x",' + FILLER % (b"a", 1) + b"}", b'{"t":"x",' + FILLER % (b"bc", 2) + b"}", None),
    "an id as well": (b'{"id":"c1","t":"x"}', b'{"id":"c22","t":"y"}', [b"c22", b"y"]),
    "a time as well": (b'{"created":1,"t":"x"}', b'{"created":23,"t":"y"}', [b"y"]),
    "filler and none": (b'{"t":"x",' + FILLER % (b"a", 1) + b"}", b'{"t":"y"}', None),
    "nothing": (b'{"a":"x"}', b'{"a":"x"}', None),
    "a name": (b'{"a":"x"}', b'{"b":"x"}', None),
    "a name that goes on": (b'{"a" :"x"}', b'{"ab" :"x"}', None),
    "a number": (b'{"a":1,"b":"x"}', b'{"a":2,"b":"x"}', None),
    "a number behind all strings": (b'{"a":1}', b'{"a":2}', None),
    "no string": (b"{1}", b"{2}", None),
    "a string that does not end": (b'{"a":"x', b'{"a":"y', None),
    "one of them does not": (b'{"a":"x"', b'{"a":"y', None),
    "a line too long": (b'{"a":"x"}', b'{"a":"%b"}' % (b"y" * LONGEST), None),
    "the one before too long": (b'{"a":"%b"}' % (b"y" * LONGEST), b'{"a":"x"}', None),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_two_lines_have_in_common(name: str) -> None:
    """Wherever something is suspicious in the one, as long as a text of the other is another."""
    before, line, texts = ROWS[name]
    for place in (-1, *([line.index(b"y")] if texts and b"y" in line else [])):
        alike = compare(before, b"\n", line, place)
        if texts is None:
            assert alike is None
            continue
        assert alike
        row = alike.row(line + b"\n", 0)
        assert (row.count, row.end) == (1, len(line) + 1)
        assert [of_place[0] for of_place in row.texts] == texts


@pytest.mark.parametrize("at", range(6, 9))
@pytest.mark.parametrize("text", [b"xyz", b"x", b""])
def test_lines_that_are_the_same(text: bytes, at: int) -> None:
    """Where something is suspicious in the text of one that comes again, that is what varies."""
    line = b'{"a":"%b","b":"x"}' % text
    alike = compare(line, b"\n", line, min(at, 6 + len(text)))
    if not text:
        assert alike is None
        return
    assert alike
    assert alike.literals == (b'{"a":"', b'","b":"x"}\n')


SAID = st.sampled_from([b"", b"x", b" tasks", b'\\"', b"\\u0073", "é".encode(), b"sk-", b"{}", b"%b"])
FORMS = {
    "a text": (b'{"t":"%(0)b"}', b"\n"),
    "events": (b'data: {"t":"%(0)b"}', b"\r\n\r\n"),
    "three, and what varies": (b'{"id":"i%(n)d","a":"%(0)b","obfuscation":"%(n)d","b":[{"d":"%(1)b"}],"created":%(n)d,"c":"%(2)b"}', b"\n"),
}


@pytest.mark.parametrize("name", FORMS)
@given(many=st.lists(st.tuples(*[SAID] * MOST), min_size=1, max_size=8), behind=st.sampled_from([b"", b'{"t":"', b"data: x", b'{"id":"i']))
def test_rows(name: str, many: list[tuple[bytes, ...]], behind: bytes) -> None:
    form, gap = FORMS[name]

    def put(texts: tuple[bytes, ...], n: int) -> bytes:
        return form % {b"0": texts[0], b"1": texts[1], b"2": texts[2], b"n": n}

    alike = compare(put((b"a", b"b", b"c"), 1), gap, put((b"d", b"e", b"f"), 2), -1)
    assert alike
    count = len(alike.places)
    lines = [put(texts, n) + gap for n, texts in enumerate(many)]
    row = alike.row(b": hi\n" + b"".join(lines) + behind, 5)
    assert row.count == len(many)
    assert row.texts == [tuple(texts[place] for texts in many) for place in range(count)]
    assert row.others == ([] if count == 1 else [b"%d" % n if place else b"i%d" % n for place in range(3) for n in range(len(many))])
    body = b": hi\n" + b"".join(lines)
    for at, texts in enumerate(many):
        start = 5 + len(b"".join(lines[:at]))
        assert row.start(at) == start
        assert [body[place : place + len(text)] for place, text in zip(row.places(at), texts, strict=False)] == list(texts[:count])
        assert all(start < place <= start + len(lines[at]) for place in row.places(at))
    assert row.start(len(many)) == row.end == len(body)
