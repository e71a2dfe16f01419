"""What Envoy is told to change, so that its headers are those of the flow."""

import pytest

pytest.importorskip("envoy.service.ext_proc.v3", reason="toolmend[envoy] is not installed")

from tests.envoy.talk import changed, header_map
from toolmend.proxy.envoy.header_maps import Fields, changes, length_of, read


def fields(text: str) -> Fields:
    """`a=1 a=2 b=3`"""
    pairs = (word.split("=") for word in text.split())
    return tuple((name.encode(), value.encode()) for name, value in pairs)


@pytest.mark.parametrize(
    ("before", "after", "puts", "removed"),
    [
        pytest.param("a=1 b=2", "a=1 b=2", 0, [], id="nothing"),
        pytest.param("a=1 b=2", "a=1 b=3", 1, [], id="another value"),
        pytest.param("a=1", "a=1 b=2", 1, [], id="one more"),
        pytest.param("a=1 b=2 c=3", "a=1", 0, ["b", "c"], id="fewer"),
        pytest.param("c=1 c=2 a=1", "c=1 c=3 a=1", 2, [], id="one of several"),
        pytest.param("c=1 c=2", "c=2", 1, [], id="one of several less"),
        pytest.param("c=1", "c=1 c=2 c=3", 3, [], id="several of one"),
        pytest.param("a=1 b=2", "b=2 a=1", 0, [], id="order is none of ours"),
        pytest.param("a=", "a=1 b=", 2, [], id="empty"),
        pytest.param("a=1 connection=x", "a=1 transfer-encoding=chunked upgrade=y", 0, [], id="of the connection"),
    ],
)
def test_changes(before: str, after: str, puts: int, removed: list[str]) -> None:
    mutation = changes(fields(before), fields(after), {})
    if not puts and not removed:
        assert mutation is None
        return
    assert mutation is not None
    assert (len(mutation.set_headers), list(mutation.remove_headers)) == (puts, removed)
    had = [(name.decode(), value.decode()) for name, value in fields(before)]
    wanted = [(name.decode(), value.decode()) for name, value in fields(after)]
    assert sorted(changed(had, mutation)) == sorted(wanted)


def test_pseudo_headers_are_set() -> None:
    mutation = changes((), (), {"path": b"/x", "authority": b"a.example"})
    assert mutation is not None
    assert changed([(":path", "/"), (":authority", "b.example")], mutation) == [(":path", "/x"), (":authority", "a.example")]


def test_bytes_that_are_no_text_pass() -> None:
    given = header_map([("x", "")])
    given.headers[0].raw_value = b"\xff\xfe"
    assert read(given)[1] == ((b"x", b"\xff\xfe"),)
    mutation = changes((), ((b"x", b"\xff\xfe"),), {})
    assert mutation is not None
    assert mutation.set_headers[0].header.raw_value == b"\xff\xfe"


def test_an_older_envoy_has_texts() -> None:
    given = header_map([(":path", "")])
    given.headers[0].value = "/x"
    assert read(given) == ({"path": b"/x"}, ())


@pytest.mark.parametrize(("told", "length"), [("12", 12), ("0", 0), ("", None), ("1e9", None), ("-1", None), ("²", None)])
def test_length(told: str, length: int | None) -> None:
    assert length_of(((b"content-length", told.encode()),)) == length
    assert length_of(()) is None
