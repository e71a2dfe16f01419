"""gate.py: who has the token gets in, from a page of this server alone, by a name of this machine."""

from typing import Any

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest

from toolmend.cli.ui.gate import HEADERS, Gate

HOST = "127.0.0.1:8123"


def request(path: str = "/", method: str = "GET", **headers: Any) -> HTTPServerRequest:
    given = HTTPHeaders()
    for name, value in {"host": HOST, **headers}.items():
        for each in value if isinstance(value, list) else [value]:
            given.add(name.replace("_", "-"), each)
    return HTTPServerRequest(method, path, headers=given)


def test_the_token_opens_and_nothing_else() -> None:
    gate = Gate(HOST)
    session = gate.opens(gate.token)
    assert session
    assert gate.is_known(session)
    for wrong in ("", gate.token[:-1], gate.token + "x", session, None, 7, "\ud83d"):
        assert gate.opens(wrong) is None
    for cookie in (None, "", gate.token, session[:-1], "\ud83d"):
        assert not gate.is_known(cookie)


def test_two_servers_share_nothing() -> None:
    one, two = Gate("127.0.0.1:1"), Gate("127.0.0.1:2")
    assert len({one.token, two.token, one.opens(one.token), two.opens(two.token)}) == 4
    assert (one.cookie, two.cookie) == ("toolmend-127-0-0-1-1", "toolmend-127-0-0-1-2")


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({}, True),
        ({"host": "localhost:8123"}, True),
        ({"host": "[::1]:8123"}, True),
        ({"host": "evil.example:8123"}, False),
        ({"host": "127.0.0.1.evil.example"}, False),
        ({"host": []}, False),
        ({"origin": f"http://{HOST}"}, True),
        ({"origin": f"https://{HOST}"}, False),
        ({"origin": "http://localhost:8123"}, False),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": [f"http://{HOST}", "https://evil.example"]}, False),
        ({"sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}, True),
    ],
)
def test_pages_of_this_server(headers: dict[str, Any], own: bool) -> None:
    assert Gate(HOST).is_own(request(**headers)) == own


@pytest.mark.parametrize(("path", "method"), [("/api/rows", "GET"), ("/", "POST")])
def test_a_link_from_elsewhere_opens_pages_alone(path: str, method: str) -> None:
    assert not Gate(HOST).is_own(request(path, method, sec_fetch_site="cross-site", sec_fetch_mode="navigate"))


def test_a_path_begins_with_a_slash() -> None:
    assert not Gate(HOST).is_own(request("http://127.0.0.1:8123/"))


@pytest.mark.parametrize(("origin", "own"), [({}, False), ({"origin": f"http://{HOST}"}, True), ({"origin": "https://evil.example"}, False)])
def test_a_socket_names_its_origin(origin: dict[str, str], own: bool) -> None:
    assert Gate(HOST).is_own(request("/api/live", **origin), socket=True) == own


def test_headers_of_each_answer() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not any(name.startswith("Access-Control") for name in HEADERS)
