"""Requests that a web page has a browser send: none is routed with the route's key, and programs are served as before."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.proxy.mode_specs import ProxyMode

from tests.support.addon import Log, Proxy, asked, log, proxy
from tests.support.routes import SECRET, table
from toolmend.providers.hosts import has_one_owner
from toolmend.providers.web_origin import is_of, page_of
from toolmend.proxy import origin_check
from toolmend.recordings.playback.playback import Player
from toolmend.recordings.playback.request_matching import Shelf
from toolmend.recordings.playback.server import Request

__all__ = ["log", "proxy"]

BODY = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}).encode()


@pytest.fixture
def routed(proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """One route for all hosts, and one for a host by its name."""
    monkeypatch.setenv("ROUTE_KEY", SECRET)
    monkeypatch.setattr("toolmend.proxy.origin_check._machine", lambda: "box.lab.dev")
    proxy.context.options.add_option("connection_strategy", str, "lazy", "of another addon")
    proxy.context.options.add_option("stream_large_bodies", str | None, None, "of another addon")
    file = tmp_path / "toolmend.toml"
    named = table(**{"from": "llm.named.com", "to": "https://route.example/v1/messages", "key": "env:ROUTE_KEY"})
    file.write_text(named + table(**{"from": "*", "to": "https://route.example/v1/messages", "key": "env:ROUTE_KEY"}))
    proxy.set(config=str(file), hosts="proxy.team.com *.corp.com:8080 *.co.uk api.*")
    yield proxy
    proxy.set(config="", hosts="")


def send(proxy: Proxy, called: str, mode: str = "reverse:http://up.stream.com:9", *, direct: bool = True, method: str = "POST", **headers: str) -> http.HTTPFlow:
    flow = asked(host="up.stream.com" if direct else called, path="/v1/messages", method=method, body=BODY)
    for name, value in headers.items():
        flow.request.headers[name.replace("_", "-")] = value
    flow.request.scheme = "http"
    flow.client_conn.proxy_mode = ProxyMode.parse(mode)
    vars(flow.request)["toolmend_called"] = (called, direct)
    return proxy.ask(flow)


def taken(flow: http.HTTPFlow) -> bool:
    """Whether the route's key went along; else it is refused in words of the client's API."""
    if flow.response is None:
        assert SECRET in str(flow.request.headers.fields)
        return True
    assert flow.response.status_code == 403
    assert SECRET not in str(flow.get_state())
    assert not [name for name in flow.response.headers if name.lower().startswith("access-control")]
    error = json.loads(flow.response.content or b"")["error"]
    assert error["type"] == "permission_error"
    assert "web page" in error["message"]
    return False


EVIL = "https://evil.com"
OWN = ("localhost", "localhost:8080", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080", "192.168.1.5:8080", "10.0.0.1", "toolmend", "nas.local", "llm.localhost", "host.docker.internal:8080", "box.lab.dev", "")
NAMED = ("up.stream.com", "up.stream.com:9", "llm.named.com", "proxy.team.com:8080", "a.corp.com:8080")
KNOWN = ("api.anthropic.com", "openrouter.ai")
STRANGE = ("evil.com", "evil.com:8080", "127.0.0.1.nip.io", "localhost.evil.com", "localhost.com", "evil.com.", "up.stream.com.evil.com", "evil.example", "evil.test", "evil.co.uk", "api.evil.com", "a.corp.com:81", "xn--e1afmkfd.com", "box.lab.dev.evil.com")


@pytest.mark.parametrize("mode", ["reverse:http://up.stream.com:9", "reverse:https://up.stream.com"])
def test_a_client_of_this_proxy_calls_it_by_a_trusted_name(subtests: pytest.Subtests, routed: Proxy, mode: str) -> None:
    for called in (*OWN, *NAMED, *KNOWN, *STRANGE):
        with subtests.test(called):
            assert taken(send(routed, called, mode)) == (called not in STRANGE)


def test_origin_form_request_in_regular_mode_is_direct(subtests: pytest.Subtests, routed: Proxy) -> None:
    for called in (*STRANGE, *KNOWN):
        with subtests.test(called):
            assert taken(send(routed, called, "regular", direct=True)) == (called in KNOWN)
            assert taken(send(routed, called, "regular", direct=False))  # a program's: a page that is not proxied cannot send it


PAGES: dict[str, tuple[dict[str, str], bool]] = {
    # what a browser, or a program, says to localhost:8080; whether it is served
    "a program": ({}, True),
    "curl": ({"user-agent": "curl/8"}, True),
    "a site": ({"origin": EVIL}, False),
    "a site by http": ({"origin": "http://evil.com"}, False),
    "a site in capitals": ({"origin": "HTTPS://EVIL.COM"}, False),
    "a site with a port": ({"origin": "https://evil.com:8080"}, False),
    "a sandboxed frame": ({"origin": "null"}, False),
    "a frame with more": ({"origin": "null", "sec-fetch-site": "cross-site"}, False),
    "another server here": ({"origin": "http://localhost:3000", "sec-fetch-site": "same-site"}, False),
    "this host by another name": ({"origin": "http://127.0.0.1:8080"}, False),
    "this host by another scheme": ({"origin": "https://localhost"}, False),
    "an image": ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, False),
    "a subdomain's": ({"sec-fetch-site": "same-site"}, False),
    "a form": ({"origin": EVIL, "content-type": "text/plain", "sec-fetch-mode": "no-cors"}, False),
    "its own page": ({"origin": "http://localhost:8080", "sec-fetch-site": "same-origin"}, True),
    "its own page, in capitals": ({"origin": "http://LOCALHOST:8080"}, True),
    "the address bar": ({"sec-fetch-site": "none"}, True),
    "VS Code": ({"origin": "vscode-file://vscode-app", "sec-fetch-site": "cross-site"}, True),
    "an Electron app": ({"origin": "app://obsidian.md", "sec-fetch-site": "cross-site"}, True),
    "Tauri": ({"origin": "tauri://localhost"}, True),
    "an extension": ({"origin": "chrome-extension://abcdefghijklmnop", "sec-fetch-site": "none"}, True),
    "an app's name on the web": ({"http-referer": "https://cline.bot", "referer": "https://opencode.ai/", "x-title": "Cline"}, True),
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_of_others_are_refused(routed: Proxy, name: str) -> None:
    headers, served = PAGES[name]
    given = {name.replace("-", "_"): value for name, value in headers.items()}
    assert taken(send(routed, "localhost:8080", **given)) == served


def test_a_page_behind_the_proxy_is_refused_at_its_own_site(routed: Proxy) -> None:
    """With `from = "*"` and a browser that is proxied, it need not even rebind a name."""
    for mode, direct in (("regular", False), ("transparent", False), ("upstream:http://company:3128", False)):
        assert not taken(send(routed, "evil.com", mode, direct=direct, origin="http://evil.com"))
        assert not taken(send(routed, "evil.com", mode, direct=direct, origin=EVIL))
        assert not taken(send(routed, "api.anthropic.com", mode, direct=direct, origin=EVIL))
        assert taken(send(routed, "llm.named.com", mode, direct=direct, origin="http://llm.named.com"))
        assert taken(send(routed, "evil.com", mode, direct=direct))


def test_two_origins_are_one_of_a_page(routed: Proxy) -> None:
    flow = asked(host="localhost", path="/v1/messages", body=BODY)
    flow.request.headers.fields += ((b"Origin", b"app://a"), (b"ORIGIN", b"https://evil.com"))
    assert not taken(routed.ask(flow))


@pytest.mark.parametrize("method", ["OPTIONS", "GET", "HEAD"])
def test_what_comes_before_the_request_is_refused_too(routed: Proxy, method: str) -> None:
    """A preflight, the handshake of a WebSocket: the upstream would allow the one."""
    more: dict[str, Any] = {"upgrade": "websocket"} if method == "GET" else {}
    flow = send(routed, "localhost:8080", method=method, origin=EVIL, access_control_request_method="POST", **more)
    assert flow.response
    assert flow.response.status_code == 403
    assert "access-control-allow-origin" not in flow.response.headers


def test_what_no_route_takes_passes(routed: Proxy) -> None:
    flow = asked(host="evil.com", path="/index.html", method="GET", body=b"")
    vars(flow.request)["toolmend_called"] = ("evil.com", True)
    flow.request.headers["origin"] = EVIL
    assert routed.ask(flow).response is None


def test_it_is_told_in_the_log(routed: Proxy, log: Log) -> None:
    send(routed, "evil.com:8080")
    level, said = log()[-1]
    assert level == "WARNING"
    assert "evil.com:8080 is not a name of this machine" in said
    assert "toolmend_hosts" in said


def test_whose_a_glob_is() -> None:
    ours = ("llm.example.com", "*.example.com", "a*.example.com", "example.co.uk", "*.example.co.uk", "localhost", "::1")
    anybodys = ("*", "*.com", "api.*", "*example.com", "llm.exampl?.com", "*.co.uk", "*.*", "llm.[a-z]x.com", "a.b.*")
    assert [glob for glob in (*ours, *anybodys) if has_one_owner(glob)] == [*ours]


def test_the_ports_of_a_page() -> None:
    assert is_of("http://localhost", "localhost:80", "http")
    assert is_of("https://a.com", "a.com", "https")
    assert not is_of("https://a.com", "a.com", "http")
    assert not is_of("http://a.com:1", "a.com:2", "http")
    assert not is_of("null", "null", "http")
    assert page_of([("ORIGIN", " https://a.com ")]) == "https://a.com"
    assert origin_check._machine()


def test_recordings_are_not_played_to_a_page() -> None:
    player = Player(Shelf(()), "client")
    for origin, status in ((EVIL, 403), ("null", 403), ("http://localhost:9", 404), ("app://x", 404)):
        request = Request("POST", "/v1/none", "HTTP/1.1", (("host", "localhost:9"), ("origin", origin)), BODY)
        assert player(request).status == status
