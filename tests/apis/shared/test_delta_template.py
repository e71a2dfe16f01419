"""delta_template.py: an event matches only if everything but its holes is the same, byte for byte."""

import re
from typing import Any

import pytest

from toolmend.apis.shared.delta_template import DeltaTemplate, text_of
from toolmend.apis.shared.json_spans import ANY_TEXT
from toolmend.core.events import TextDelta
from toolmend.core.sse import ServerSentEvent, parse

ONE = DeltaTemplate(b'{"content":"', ((ANY_TEXT, b'"}'),), TextDelta)
NUMBER = re.compile(rb"\d+")
TWO = DeltaTemplate(b'{"n":', ((NUMBER, b',"content":"'), (ANY_TEXT, b'"}')), TextDelta)
AGAIN = DeltaTemplate(b'{"a":"', ((ANY_TEXT, b'","b":"'), (ANY_TEXT, b'"}')), TextDelta)


@pytest.mark.parametrize(
    ("template", "data", "text"),
    [
        (ONE, b'{"content":"Hi"}', "Hi"),
        (ONE, b'{"content":"\\u00e9\\n"}', "é\n"),
        (ONE, b'{"content":""}', None),
        (ONE, b'{"content":"Hi"} ', None),
        (ONE, b'{"content":"Hi","x":1}', None),
        (ONE, b'{"contents":"Hi"}', None),
        (TWO, b'{"n":12,"content":"Hi"}', "Hi"),
        (TWO, b'{"n":x,"content":"Hi"}', None),
        (AGAIN, b'{"a":"Hi","b":"Hi"}', "Hi"),
        (AGAIN, b'{"a":"Hi","b":"Ho"}', None),
    ],
)
def test_text(template: DeltaTemplate, data: bytes, text: str | None) -> None:
    assert template.text(data) == text


def test_span_begins_anywhere() -> None:
    data = b'xx{"content":"Hi"}{"content":"a"}'
    first, last, end = ONE.span(data, 2) or (0, 0, 0)
    assert (data[first:last], data[end:]) == (b"Hi", b'{"content":"a"}')
    assert ONE.span(data) is None


@pytest.mark.parametrize(
    ("template", "varies", "place", "again", "least"),
    [(ONE, False, 0, 0, 14), (TWO, True, 1, 1, len(b'{"n":,"content":""}')), (AGAIN, True, 0, 1, len(b'{"a":"","b":""}'))],
)
def test_places(template: DeltaTemplate, varies: bool, place: int, again: int, least: int) -> None:
    assert (template.varies, template.place, template.again, template.least) == (varies, place, again, least)


@pytest.mark.parametrize(
    ("template", "data"),
    [(ONE, b'{"content":"100 %"}'), (TWO, b'{"n":7,"content":"Hi"}'), (AGAIN, b'{"a":"x","b":"x"}')],
)
def test_parts_make_the_event_again(template: DeltaTemplate, data: bytes) -> None:
    assert template.form % template.parts(data) == data
    changed = template.form % template.parts(data, b"new")
    assert template.text(changed) == "new"


def test_other_holes() -> None:
    assert TWO.others(b'{"n":7,"content":"Hi"}') == [(0, b'{"n":', b"7")]
    assert ONE.others(b'{"content":"Hi"}') == []


@pytest.mark.parametrize("head", [b"data: ", b"data:", b"event: x\ndata: ", b"id: 7\ndata: "])
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
def test_whole_events(head: bytes, end: bytes) -> None:
    head = head.replace(b"\n", end[: len(end) // 2])
    raw = head + b'{"content":"Hi"}' + end
    whole = ONE.raw(parse(raw, raw))
    assert whole is not None
    other = raw.replace(b"Hi", b"Ho").replace(b"id: 7", b"id: 8")
    first, last, length = whole.span(other) or (0, 0, 0)
    assert (other[first:last], length) == (b"Ho", len(other))


@pytest.mark.parametrize("raw", [b'data: {"content":"Hi"}\n: comment\n\n', b'retry: 1\ndata: {"content":"Hi"}\n\n', b'data: {"content":\ndata: "Hi"}\n\n'])
def test_events_of_another_form_have_no_template(raw: bytes) -> None:
    assert ONE.raw(parse(raw, raw)) is None
    assert ONE.raw(ServerSentEvent(b": comment\n\n")) is None


@pytest.mark.parametrize(("inside", "text"), [(b"a", "a"), (b"\\u0041", "A"), (b"", None), (b"\\", None), (b"\\x", None), (b"\xff", None)])
def test_text_of(inside: bytes, text: Any) -> None:
    assert text_of(inside) == text
