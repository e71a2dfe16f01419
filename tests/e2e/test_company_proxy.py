"""Behind a company's proxy, which wants a password and shows certificates of its own: a second mitmdump plays it.

It answers for api.openai.com from the local upstream, and there is no other way to that host. Its CA is known to the user by
SSL_CERT_FILE alone, as in companies.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clients import CALL, LEAK, Serve, chunks
from tests.e2e.user import URL, environment, routed, toolmend
from tests.support.judges.chat import read
from tests.support.streams import WEATHER
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script, Upstream

SCRIPT = """
import logging
def http_connect(flow):
    logging.info(f"asked for {flow.request.host}:{flow.request.port}")
def request(flow):
    flow.request.scheme, flow.request.host, flow.request.port = "https", "localhost", %d
"""
CURL = ["curl", "-sS", "--fail-with-body", URL, "-H", "content-type: application/json", "--data-binary", "@-"]


@pytest.fixture
def upstream(serve: Serve) -> Upstream:
    return serve(Script(chunks(LEAK)))


@pytest.fixture
def company(upstream: Upstream, certificate: tuple[Path, Path], tmp_path: Path) -> Iterator[Mitmdump]:
    script = tmp_path / "corporate_proxy.py"
    script.write_text(SCRIPT % upstream.port)
    options = {"ssl_verify_upstream_trusted_ca": str(certificate[0]), "proxyauth": "me:p@ss word"}
    with Mitmdump(options, confdir=tmp_path / "company", scripts=[script], ready="listening") as proxy:
        yield proxy


def test_the_proxy_goes_through_it(company: Mitmdump, upstream: Upstream, tmp_path: Path) -> None:
    address = f"http://me:p%40ss%20word@127.0.0.1:{company.port}"
    env = environment(tmp_path, HTTPS_PROXY=address, https_proxy=address, SSL_CERT_FILE=str(company.ca))
    done = toolmend(env, "run", "--", *CURL, input=json.dumps(WEATHER))
    assert done.returncode == 0, done.stderr
    (call,) = read(done.stdout.encode()).only.calls
    assert (call.id, call.name, call.arguments) == CALL
    assert len(upstream.requests) == 1
    assert "asked for api.openai.com:443" in company.log
    assert "p@ss" not in done.stderr


def test_what_is_no_matter_of_the_company_does_not(
    company: Mitmdump, upstream: Upstream, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """A route that leads to a server on loopback."""
    address = f"http://me:p%40ss%20word@127.0.0.1:{company.port}"
    env = environment(tmp_path, HTTPS_PROXY=address, SSL_CERT_FILE=str(certificate[0]))
    done = toolmend(env, "run", "--config", routed(tmp_path, upstream.url), "--", *CURL, input=json.dumps(WEATHER))
    assert done.returncode == 0, done.stderr
    assert len(read(done.stdout.encode()).only.calls) == 1
    assert "asked for" not in company.log


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("socks5://me:secret@localhost:1080", r"socks5://localhost:1080, but toolmend can connect through"),
        ("http://me:secret@localhost:80x", r"http://localhost:80x, which is not the address"),
    ],
)
def test_one_that_cannot_be_gone_through_is_told(address: str, said: str, tmp_path: Path) -> None:
    done = toolmend(environment(tmp_path, ALL_PROXY=address), "run", "--", "true")
    assert (done.returncode, done.stdout) == (4, "")
    assert re.search(said, done.stderr)
    assert "secret" not in done.stderr
    assert "\ntry: " in done.stderr
