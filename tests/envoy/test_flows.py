"""Envoy's messages as flows."""

import pytest

pytest.importorskip("envoy.service.ext_proc.v3", reason="toolmend[envoy] is not installed")

from toolmend.providers.routes import Origin
from toolmend.proxy import flow_info
from toolmend.proxy.envoy.flows import origin, request_flow, set_response

MOONSHOT = Origin("https", "api.moonshot.ai", 443)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://api.moonshot.ai", MOONSHOT),
        ("https://API.moonshot.ai:443/", MOONSHOT),
        ("http://localhost:8000", Origin("http", "localhost", 8000)),
        ("http://localhost", Origin("http", "localhost", 80)),
        ("https://[::1]:8443", Origin("https", "::1", 8443)),
        ("", None),
        ("api.moonshot.ai", None),
        ("ftp://x", None),
        ("https://x:0", None),
        ("https://x:70000", None),
        ("https://x:y", None),
        ("https://user@x", None),
        ("https://x/path", None),
        ("https://:443", None),
    ],
)
def test_origin(text: str, expected: Origin | None) -> None:
    assert origin(text) == expected


@pytest.mark.parametrize(
    ("authority", "scheme", "upstream", "places", "host"),
    [
        ("openrouter.ai", "https", None, [("openrouter.ai", 443)], "openrouter.ai"),
        ("openrouter.ai:8443", "https", None, [("openrouter.ai", 8443)], "openrouter.ai:8443"),
        ("localhost:8000", "http", None, [("localhost", 8000)], "localhost:8000"),
        ("[::1]:8000", "http", None, [("[::1]", 8000)], "[::1]:8000"),
        ("api.openai.com", "http", MOONSHOT, [("api.moonshot.ai", 443)], "api.moonshot.ai"),
        ("x:y", "https", None, [("x:y", 0)], "x:y"),
        ("", "", None, [], ""),
    ],
)
def test_where_a_request_goes(authority: str, scheme: str, upstream: Origin | None, places: object, host: str) -> None:
    pseudo = {"method": b"POST", "scheme": scheme.encode(), "authority": authority.encode(), "path": b"/v1/x?a=b"}
    flow = request_flow(pseudo, ((b"a", b"1"), (b"a", b"2")), upstream)
    assert list(flow_info.host_candidates(flow)) == places or authority == "x:y"
    assert flow.request.headers["host"] == host
    assert flow.request.headers.get_all("a") == ["1", "2"]
    assert (flow.request.method, flow.request.path, flow.live) == ("POST", "/v1/x?a=b", True)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("6f1c2a3e-0d52-4b6f-9d38-1f5f6a7b8c9d", True),
        ("req_0123456789", True),
        ("short", False),
        ("../../../../etc/passwd", False),
        ("x" * 65, False),
        ("6f1c2a3e 0d52", False),
        ("", False),
    ],
)
def test_what_a_flow_is_called_by(given: str, taken: bool) -> None:
    flow = request_flow({}, ((b"x-request-id", given.encode()),), None)
    assert (flow.id == given) == taken
    assert len(flow.id) >= 8


def test_a_response() -> None:
    flow = request_flow({"method": b"POST"}, (), MOONSHOT)
    response = set_response(flow, {"status": b"429"}, ((b"retry-after", b"3"),))
    assert flow.response is response
    assert (response.status_code, response.reason, response.raw_content) == (429, "Too Many Requests", None)
    assert flow_info.wait_ms(flow.request, response) is not None
    assert flow_info.end_state(flow, f"{flow_info.EARLY_END}: x") == "partial"
