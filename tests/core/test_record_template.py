"""record_template.py: what stands in a row is found as far as it is alike, byte for byte, whatever stands behind it."""

import re
from itertools import chain

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolmend.core.record_template import RecordTemplate, common_prefix

TEXT = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+')
NUMBER = re.compile(rb"\d++")

ONE = (b'{"a%":1,"say":"', [(TEXT, b'","n":0}\n\n')])
TWO = (b'{"say":"', [(TEXT, b'","n":'), (NUMBER, b"}\n\n")])

SAID = st.sampled_from([b"", b"a", b"hello ", b'\\"', b"%b", b"7", b"x" * 40, b"\n", b"\0", "é".encode()])


def put(form: tuple[bytes, list[tuple[re.Pattern[bytes], bytes]]], said: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Things that are alike, with so many texts; and their parts."""
    head, rest = form
    parts = [[text, b"%d" % n][: len(rest)] for n, text in enumerate(said)]
    return [head + b"".join(part + literal for part, (_, literal) in zip(each, rest, strict=True)) for each in parts], [
        *chain(*parts)
    ]


@pytest.mark.parametrize("form", [ONE, TWO], ids=["one part", "two"])
@given(
    said=st.lists(SAID, max_size=12),
    before=st.binary(max_size=9),
    behind=st.binary(max_size=30),
    other=st.integers(0, 60),
    bad=st.booleans(),
)
@example(said=[b"a"], before=b"", behind=b'{"say":"a', other=0, bad=False)
@example(said=[b"a", b"b"], before=b"", behind=b"", other=5, bad=True)
@example(said=[b"a", b"\0"], before=b"", behind=b"", other=60, bad=True)
@example(said=[b""], before=b"", behind=b"", other=0, bad=False)
def test_a_row(
    form: tuple[bytes, list[tuple[re.Pattern[bytes], bytes]]],
    said: list[bytes],
    before: bytes,
    behind: bytes,
    other: int,
    *,
    bad: bool,
) -> None:
    """Up to the first one that is another, or is cut off."""
    cut = RecordTemplate(*form)
    things, parts = put(form, said)
    if bad and things:  # one byte of the last is another
        last = things.pop()
        at = other % len(last)
        behind = last[:at] + bytes([last[at] ^ 1]) + last[at + 1 :] + behind
        assert cut.whole(b"".join(things) + behind) != parts
    body = b"".join(things)
    data = before + body + behind
    found, end = cut.row(data, len(before), len(data))
    assert cut.size(found) == end - len(before)
    width = cut.width
    again = [
        form[0] + b"".join(part + literal for part, (_, literal) in zip(found[at : at + width], form[1], strict=True))
        for at in range(0, len(found), width)
    ]
    assert data.startswith(b"".join(again), len(before))
    assert list(found[: len(things) * width]) == parts[: len(things) * width]
    assert list(cut.whole(body)) == parts[: len(things) * width]
    for count in range(len(things)):
        short = len(before) + len(b"".join(things[: count + 1])) - 1  # all but a byte of the next one
        found, end = cut.row(data[:short], len(before), len(data))
        assert len(found) == count * width
        assert end == len(before) + len(b"".join(things[:count]))


@pytest.mark.parametrize("form", [ONE, TWO], ids=["one part", "two"])
@pytest.mark.parametrize("garbage", [b"x", b'"', b'","n":', b"7", b'{"say":"'])
def test_what_is_not_alike_is_not_searched(form: tuple[bytes, list[tuple[re.Pattern[bytes], bytes]]], garbage: bytes) -> None:
    """From each of its bytes on, that would take ten minutes."""
    cut = RecordTemplate(*form)
    one = put(form, [b"a"])[0][0]
    data = one * 3 + form[0] + garbage * (1_000_000 // len(garbage))
    assert cut.row(data, 0, len(data)) == (tuple(put(form, [b"a"])[1]) * 3, 3 * len(one))
    assert not cut.whole(data)


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40))
def test_what_two_begin_with(same: bytes, one: bytes, other: bytes) -> None:
    size = common_prefix(same + one, same + other)
    assert size >= len(same)
    assert (same + one)[:size] == (same + other)[:size]
    assert (same + one)[size : size + 1] != (same + other)[size : size + 1] or size in (len(same + one), len(same + other))
