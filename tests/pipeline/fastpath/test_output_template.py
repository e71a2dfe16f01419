"""output_template.py: what went out around a text is what goes out around another; or it cannot be told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmend.core.json_text import inside
from toolmend.core.text_state import IN_LEAKED_STRING, Escapes
from toolmend.pipeline.fastpath.output_template import TEXT, OutputTemplate, learn_output, quoted

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
    wrap = learn_output(said(form, texts[0], n, escapes), quoted(texts[0], escapes=escapes))
    assert wrap
    assert wrap.render(texts[1], (), count, escapes=escapes) == said(form, texts[1], n + count, escapes)


@pytest.mark.parametrize("name", UNTOLD)
def test_what_cannot_be_told(name: str) -> None:
    assert learn_output(said(UNTOLD[name], "~", 7), b'"~"') is None


def test_a_text_that_overlaps_itself() -> None:
    assert learn_output(b'{"a":":"}', b'":"') is None


def test_which_are_alike() -> None:
    """The same around another text; where the text stands twice, one and the same text tells nothing."""
    once, twice, numbered = (
        [learn_output(said(FORMS[name], text, n), quoted(text, escapes=None)) for n, text in enumerate(("a~", "a~", "b~"))]
        for name in ("once", "twice", "numbered")
    )
    assert all(each and each.same_around(once[0]) for each in once)
    assert [bool(each and each.same_around(twice[0])) for each in twice] == [False, False, True]
    assert all(each and each.same_around(numbered[0]) for each in numbered)
    made = OutputTemplate((b'"a"',), (b"x", b"y"), (TEXT,), 1, b"}")
    other = made._replace(values=(b'"b"',), number=2)
    assert other.same_around(made)
    differences: list[dict[str, Any]] = [{"parts": (b"x", b"z")}, {"varies": (0,)}, {"end": b"]"}]
    for each in differences:
        assert not other._replace(**each).same_around(made)


MEMBERS = b'data: {"id":"c7","created": 7,"n":[%b],"sequence_number":7,"x":"7"}\n\n'
OTHERS = [(0, b'data: {"id":"', b"c7"), (1, b'","created": ', b"7"), (3, b'"],"sequence_number":', b"7")]


@pytest.mark.parametrize(
    ("given_", "varies"),
    [
        (MEMBERS % b'"~"', (0, 1, TEXT)),
        (MEMBERS.replace(b"c7", b"c77") % b'"~"', (1, TEXT)),
        (MEMBERS.replace(b": 7", b": 77") % b'"~"', (0, TEXT)),
        (MEMBERS.replace(b'"created"', b'"x":{"created": 78},"created"') % b'"~"', (0, 1, TEXT)),
        (MEMBERS % b'"~","~"', (0, 1, TEXT, TEXT)),
        (MEMBERS % b'"~",{"id":"c7"}', None),
        (MEMBERS % b'"~",{"id":"c8"}', (0, 1, TEXT)),
    ],
    ids=["as they came", "another id", "another time", "the beginning of another", "the text twice", "an id twice", "two ids"],
)
def test_what_else_varies(given_: bytes, varies: tuple[int, ...] | None) -> None:
    """It is found where its member stands once, as it came; its number is told by counting."""
    wrap = learn_output(given_, b'"~"', OTHERS)
    assert (wrap and wrap.varies) == varies
    if wrap:
        assert wrap.holes
        assert wrap.render("~", [b"c7", b"7", b"~", b"7"], 0, escapes=None) == given_
        changed = given_.replace(b'"~"', b'"!"').replace(b": 7,", b": 9," if 1 in wrap.varies else b": 7,")
        changed = changed.replace(b'{"id":"c7"', b'{"id":"d"' if 0 in wrap.varies else b'{"id":"c7"')
        assert wrap.render("!", [b"d", b"9", b"~", b"7"], 0, escapes=None) == changed


def test_what_did_not_vary_may_stand_there_by_chance() -> None:
    wraps = [learn_output(b'{"id":"%b","t":"%b"}' % (id_, id_), b'"%b"' % id_, [(0, b'{"id":"', id_)]) for id_ in (b"a", b"b")]
    assert wraps == [None, None]
    same, other = [learn_output(b'{"id":"c","t":"%b"}' % text, b'"%b"' % text, [(0, b'{"id":"', b"c")]) for text in (b"a", b"b")]
    assert same
    assert other
    assert not same.same_around(other)


def test_missing_variable_part_is_filled_if_it_repeats() -> None:
    once, again, another = [learn_output(b'{"t":"a"}', b'"a"', [(0, b'{"id":"', id_)]) for id_ in (b"c", b"c", b"d")]
    assert once
    assert again
    assert another
    assert not again.same_around(once)
    assert another.same_around(once)
