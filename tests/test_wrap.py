"""wrap.py: what went out around a text is what goes out around another; or it cannot be told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmend.course import IN_LEAKED_STRING, Escapes
from toolmend.json_text import inside
from toolmend.wrap import Wrap, quoted, wrap_of

FORMS = {
    "once": 'data: {{"a":{text},"n":[1]}}\n\n',
    "twice": 'data: {{"a":{text},"b":[{text}]}}\n\n',
    "numbered": 'data: {{"a":{text},"sequence_number":{n},"x":0}}\n\n',
    "twice, and numbered": 'data: {{"a":{text},"b":{text},"sequence_number":{n}}}\n\n',
}
UNTOLD = {
    "nowhere": 'data: {{"a":1}}\n\n',
    "three times": "data: [{text},{text},{text}]\n\n",
    "a number in front": 'data: {{"sequence_number":{n},"a":{text}}}\n\n',
    "two numbers": 'data: {{"a":{text},"sequence_number":{n},"b":{{"sequence_number":1}}}}\n\n',
    "a number behind it, and one in front": 'data: {{"sequence_number":1,"a":{text},"sequence_number":{n}}}\n\n',
}


def said(form: str, text: str, n: int, escapes: Escapes | None = None) -> bytes:
    return form.format(text=quoted(text, escapes=escapes).decode(), n=n).encode()


@pytest.mark.parametrize("escapes", [None, IN_LEAKED_STRING.escapes, inside], ids=["none", "controls", "all"])
@pytest.mark.parametrize("name", FORMS)
@given(texts=st.tuples(st.text(), st.text()), n=st.integers(0, 99), count=st.integers(1, 600))
def test_around_another_text(name: str, escapes: Escapes | None, *, texts: tuple[str, str], n: int, count: int) -> None:
    form, texts = FORMS[name], (f"~{texts[0]}", texts[1])
    wrap = wrap_of(said(form, texts[0], n, escapes), quoted(texts[0], escapes=escapes))
    assert wrap
    assert wrap.around(texts[1], count, escapes=escapes) == said(form, texts[1], n + count, escapes)


@pytest.mark.parametrize("name", UNTOLD)
def test_what_cannot_be_told(name: str) -> None:
    assert wrap_of(said(UNTOLD[name], "~", 7), b'"~"') is None


def test_a_text_that_overlaps_itself() -> None:
    assert wrap_of(b'{"a":":"}', b'":"') is None


def test_which_are_alike() -> None:
    """The same around another text; where the text stands twice, one and the same text tells nothing."""
    once, twice, numbered = (
        [wrap_of(said(FORMS[name], text, n), quoted(text, escapes=None)) for n, text in enumerate(("a~", "a~", "b~"))]
        for name in ("once", "twice", "numbered")
    )
    assert all(each and each.alike(once[0]) for each in once)
    assert [bool(each and each.alike(twice[0])) for each in twice] == [False, False, True]
    assert all(each and each.alike(numbered[0]) for each in numbered)
    assert not Wrap(b'"a"', (b"x", b"y")).alike(Wrap(b'"b"', (b"x", b"z")))
    assert not Wrap(b'"a"', (b"x", b"y", b"z")).alike(Wrap(b'"b"', (b"x", b"y")))
    assert not Wrap(b'"a"', (b"x", b"y"), 1, b"}").alike(Wrap(b'"b"', (b"x", b"y"), 2, b"]"))
