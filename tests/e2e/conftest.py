"""A real mitmdump process, a real upstream, real TLS on both sides.

How a test gets to an "LLM host" on loopback: it asks for https://localhost:PORT, the upstream's own address, and the
proxy has `toolmend_hosts=localhost`. So DNS, SNI, both handshakes and the verification of both certificates are real,
and nothing is mapped. 127.0.0.1:PORT is the same server under a name that is no LLM host.

Tests that need equal options share one mitmdump (`share`); what a test checks of the log or the recordings is its own flow. A test that
stops its proxy, reloads its script or looks at all that it logs starts one of its own (`start`): that takes a second of processor time.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.e2e.clients import CHAT, Serve, Share, Start, http2_options
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script, Upstream, make_certificate

NUMBERS = itertools.count()
IDENTITY = "def responseheaders(flow):\n    flow.response.stream = lambda data: data\n"


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("confdir")


@pytest.fixture(scope="session")
def options(certificate: tuple[Path, Path]) -> dict[str, str]:
    """What every proxy of these tests is told."""
    return {"toolmend_hosts": "localhost", "ssl_verify_upstream_trusted_ca": str(certificate[0])}


@pytest.fixture(scope="session")
def flows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the shared proxy records."""
    return tmp_path_factory.mktemp("flows")


@pytest.fixture(scope="session")
def pool(confdir: Path, flows: Path, options: dict[str, str]) -> Iterator[Share]:
    """Proxies by their options, each started for the first test that asks for it. They record in `flows`."""
    with ExitStack() as stack:
        proxies: dict[tuple[tuple[str, str], ...], Mitmdump] = {}

        def share(**more: str) -> Mitmdump:
            key = tuple(sorted(more.items()))
            if key not in proxies or proxies[key].returncode is not None:  # one that has died has failed its own test
                given = {**options, "toolmend_flows": str(flows), **more}
                proxies[key] = stack.enter_context(Mitmdump(given, confdir=confdir))
            return proxies[key]

        yield share


@pytest.fixture
def share(pool: Share) -> Iterator[Share]:
    """Returns the proxy of all tests that need these options. The test fails if the proxy dies or logs anything unexpected."""
    before: dict[Mitmdump, int] = {}

    def share(**more: str) -> Mitmdump:
        proxy = pool(**more)
        before.setdefault(proxy, len(proxy.log))
        return proxy

    yield share
    for proxy, length in before.items():
        logged = proxy.log[length:]
        assert proxy.returncode is None, logged
        assert "Traceback" not in logged, logged
        assert "has crashed" not in logged, logged


@pytest.fixture
def proxy(share: Share) -> Mitmdump:
    """The shared proxy without options of its own."""
    return share()


@pytest.fixture(scope="session")
def plain(confdir: Path, options: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mitmdump]:
    """mitmproxy's own way with a stream: no addon, but a callable that lets everything pass."""
    with _plain(tmp_path_factory.mktemp("plain"), confdir, options) as proxy:
        yield proxy


@pytest.fixture
def new_plain(confdir: Path, options: dict[str, str], tmp_path: Path) -> Iterator[Mitmdump]:
    """`plain`, of the test's own: what it took for others is not there to be used again."""
    with _plain(tmp_path, confdir, options) as proxy:
        yield proxy


def _plain(folder: Path, confdir: Path, options: dict[str, str]) -> Mitmdump:
    script = folder / "identity.py"
    script.write_text(IDENTITY)
    theirs = {name: value for name, value in options.items() if not name.startswith("toolmend")}
    return Mitmdump(theirs, confdir=confdir, scripts=[script], ready="proxy listening")


@pytest.fixture
def start(confdir: Path, options: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Starts a proxy of the test's own, which records in tmp_path/flows."""
    with ExitStack() as stack:

        def start(scripts: Sequence[Path] | None = None, **more: str) -> Mitmdump:
            given = {**options, "toolmend_flows": str(tmp_path / "flows"), **more}
            return stack.enter_context(Mitmdump(given, confdir=confdir, scripts=scripts))

        yield start


@pytest.fixture
def serve(certificate: tuple[Path, Path]) -> Iterator[Serve]:
    """Starts an upstream; over TLS, unless told otherwise."""
    with ExitStack() as stack:

        def serve(*scripts: Script, tls: bool = True, alpn: Sequence[str] = ("http/1.1",)) -> Upstream:
            return stack.enter_context(Upstream(scripts, tls=certificate if tls else None, alpn=alpn))

        yield serve


@pytest.fixture
def path() -> str:
    """A path of this test's own, to find its recording by."""
    return f"/test-{next(NUMBERS)}{CHAT}"


@pytest.fixture
def http2(proxy: Mitmdump) -> Iterator[httpx.Client]:
    """A client that speaks HTTP/2 through the shared proxy."""
    with httpx.Client(**http2_options(proxy)) as client:
        yield client
