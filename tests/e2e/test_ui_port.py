"""The port of `toolmend ui` through a real proxy."""

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.write.ui_mark import mark, unmark


class Page(BaseHTTPRequestHandler):
    """What stands for the page: it answers whoever comes."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "4")
        self.end_headers()
        self.wfile.write(b"page")

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1.2.3"])
def test_ui_port_is_refused(proxy: Mitmdump, flows: Path, host: str) -> None:
    with HTTPServer(("0.0.0.0", 0), Page) as server:  # noqa: S104  all of 127.0.0.0/8
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://{host}:{server.server_port}/"
        try:
            with httpx.Client(proxy=f"http://127.0.0.1:{proxy.port}") as client:
                flows.mkdir(exist_ok=True)
                mark(flows, server.server_port)
                refused = client.get(url)
                unmark(flows)
                passed = client.get(url)
        finally:
            unmark(flows)
            server.shutdown()
    assert (refused.status_code, b"page" in refused.content) == (502, False)
    assert (passed.status_code, passed.content) == (200, b"page")
