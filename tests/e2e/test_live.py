"""What is no answer of an LLM: tools over MCP, a response that is fetched again, another API's stream, a download.

In a proxy of ours they are as live as without it. In a mitmproxy of the user's own it is left to mitmproxy, as anything else.
"""

from itertools import product

import pytest

from tests.e2e.broken_streams import H1, H2
from tests.e2e.clients import PROSE, Raw, Serve, Start, chunks, parse, request_bytes
from toolmend.cli.proxies import scripts
from toolmend.recordings.playback.server import Script

OTHERS = (
    ("GET", "/v1/responses/resp_1?stream=true", "text/event-stream"),
    ("POST", "/v1/other", "text/event-stream"),
    ("GET", "/v1/files/f/content", "application/octet-stream"),
    ("POST", "/v1/other", "application/x-ndjson"),
)


def test_other_answers_come_at_once(start: Start, serve: Serve, subtests: pytest.Subtests) -> None:
    sent, proxy = chunks(PROSE), start(scripts())
    for (method, path, kind), alpn in product(OTHERS, (H1, H2)):
        with subtests.test(path=path, kind=kind, alpn=alpn):
            upstream = serve(Script(sent[:2], rest=sent[2:], empty_frame=3, headers=(("content-type", kind),)), alpn=alpn)
            with Raw(proxy, upstream.url) as raw:
                raw.send(request_bytes(path, host=raw.host, method=method, Connection="close"))
                before = raw.read_until(b"A marker")
                upstream.release()
                reply = parse(before + raw.read_to_end())
            assert reply.terminated
            assert reply.body == PROSE
