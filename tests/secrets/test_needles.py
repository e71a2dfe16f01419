"""needles.py: where a secret stands in a text, in each of its forms, and where a text may go on as one."""

import base64
from itertools import pairwise
from urllib.parse import quote

import pytest

from toolmend.secrets.needles import MAX_NESTED, OVERLAP, PIECE, covered, ends_as_begins, escaped_spans, fold, needle_set, opening

KEY = "sk-Ab3/cD4+eF5&gH6"
GIVEN = needle_set(frozenset({KEY}))
FORMS = {
    "as it is": KEY,
    "in JSON, with escaped slashes": KEY.replace("/", "\\/"),
    "in JSON of .NET": KEY.replace("&", "\\u0026").replace("+", "\\u002B"),
    "in a URL": quote(KEY, safe=""),
    "in percents": "".join(f"%{byte:02x}" for byte in KEY.encode()),
    "in hex": KEY.encode().hex(),
    "in HEX": KEY.encode().hex().upper(),
    "in base64": base64.b64encode(KEY.encode()).decode(),
}


def found(text: bytes) -> list[bytes]:
    return [text[first:last] for first, last in sorted(covered(GIVEN.needles, text))]


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_covered(form: str) -> None:
    needle = FORMS[form].encode()
    assert needle in found(b"before " + needle + b" after")


@pytest.mark.parametrize("text", [b"", b"nothing of it", KEY[:-1].encode(), KEY[1:].encode(), KEY.lower().encode()])
def test_other_texts_are_not_covered(text: bytes) -> None:
    assert found(text) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_beginning_may_go_on(form: str) -> None:
    """From its first characters on, each text that ends in a head of a form is suspected."""
    text = FORMS[form].encode()
    head = max((head for head in GIVEN.heads if text.startswith(head)), key=len)
    for size in range(1, len(head)):
        assert ends_as_begins(GIVEN.heads, b"is " + head[:size]) <= 3, head[:size]


def test_an_end_that_begins_nothing() -> None:
    assert ends_as_begins(GIVEN.heads, b"is over.") == len(b"is over.")


@pytest.mark.parametrize("form", ["as it is", "in percents", "in hex"])
def test_begins_matches_before_a_quote(form: str) -> None:
    head = FORMS[form].encode()[:8]
    assert GIVEN.begins.search(b'{"content":"is ' + head + b'"}')
    assert not GIVEN.begins.search(b'{"content":"is over."}')


def test_a_long_secret_is_searched_in_pieces() -> None:
    secret = "".join(f"{at:04d}" for at in range(PIECE))
    given = needle_set(frozenset({secret}))
    text = b"x" + secret.encode() + b"x"
    spans = sorted(covered((needle for needle in given.needles if len(needle) == PIECE), text))
    assert (spans[0][0], spans[-1][1]) == (1, len(text) - 1)
    assert all(after[0] <= before[1] - OVERLAP for before, after in pairwise(spans))


def test_spared_characters_are_in_no_head() -> None:
    whole, cut = (needle_set(frozenset({"sk-proj-0123456789"}), spared) for spared in (0, 4))
    assert b"sk-proj-0123456789" in whole.heads
    assert b"sk-proj-0123456789" in cut.needles
    assert b"sk-proj-0123456789" not in cut.heads


@pytest.mark.parametrize(
    "written",
    [
        "".join(f"\\u{ord(char):04x}" for char in KEY),
        "".join(f"\\x{ord(char):02x}" for char in KEY),
        "".join(f"&#{ord(char)};" for char in KEY),
        "".join(f"&#x{ord(char):x};" for char in KEY),
        KEY.replace("&", "&amp;"),
        "".join(f"%25{ord(char):02x}" for char in KEY),
    ],
)
def test_escaped_spans(written: str) -> None:
    raw = f"a {written} b".encode()
    assert {raw[first:last].decode() for first, last in escaped_spans([KEY.encode()], raw)} == {written}


def test_escapes_are_decoded_to_a_depth() -> None:
    def nested(depth: int) -> bytes:
        return "".join(f"%{'25' * (depth - 1)}{ord(char):02x}" for char in KEY).encode()

    assert list(escaped_spans([KEY.encode()], nested(MAX_NESTED)))
    assert not list(escaped_spans([KEY.encode()], nested(MAX_NESTED + 1)))


def test_fold_lowers_encoded_digits_alone() -> None:
    assert fold(rb"ABC %2F \u00AB 0123456789ABCDEF") == rb"ABC %2f \u00ab 0123456789abcdef"


def test_opening_is_each_spelling_of_a_beginning() -> None:
    pattern = opening(frozenset({KEY}), 0, 4)
    for text in (b"sk-A", rb"\u0073k-A", b"%73k-A", rb"&#115;k-A"):
        assert pattern.match(text), text
    assert not pattern.match(b"sk-B")
