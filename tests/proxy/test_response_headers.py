"""response_headers.py: headers of a response that is streamed."""

import tracemalloc

import pytest
from mitmproxy import http

from toolmend.proxy import flow_info, response_headers

ENDLESS = {
    # the fields, and how many are kept of them
    "many": ([(b"x-%d" % n, b"v" * 1000) for n in range(20_000)], range(900, 1050)),
    "short": ([(b"a", b"")] * 400_000, range(20_000, 33_000)),
    "one value": ([(b"x-long", b"v" * 40_000_000)], range(1)),
    "one name": ([(b"x" * 40_000_000, b"v")], range(1)),
    "one that is read": ([(b"content-type", b"text/event-stream," * 2_000_000)], range(1)),
    "many that are read": ([(b"content-encoding", b"gzip" * 15_000)] * 500, range(15, 18)),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_endless_headers_are_not_built_anew(name: str) -> None:
    fields, kept = ENDLESS[name]
    response = http.Response.make(200)
    response.headers.fields = tuple(fields)
    tracemalloc.start()
    found = flow_info.headers(response)
    notes = flow_info.omitted_headers(response, "response")
    flow_info.is_stream("chat", "/v1/chat/completions", {}, response)
    flow_info.encoding(response)
    response_headers.closes(response)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 12_000_000
    assert len(found) in kept
    assert sum(len(name) + len(value) for name, value in found) <= flow_info.MAX_HEADERS
    assert notes == (f"{len(fields) - len(found)} headers of the response are too long to be kept",)
