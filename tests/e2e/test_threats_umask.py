"""Files and ports that others on the machine could use: a proxy under umask 000, and links planted where it records (R20)."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clients import LEAK, Serve, ask, chunks, eventually, recording
from tests.e2e.listening import ports
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_nothing_is_for_others(serve: Serve, options: dict[str, str], tmp_path: Path) -> None:
    """The recordings, the key of the CA, and all that listens."""
    confdir, flows = tmp_path / "confdir", tmp_path / "flows"
    with Mitmdump({**options, "toolmend_flows": str(flows), "toolmend_metrics": "0"}, confdir=confdir) as proxy:
        ask(proxy, serve(Script(chunks(LEAK))).url)
        kept = recording(flows, "/v1/chat/completions")
        listening = ports(proxy.pid)
    made = [flows, *flows.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_file()} == {0o600}
    assert stat.S_IMODE((confdir / "mitmproxy-ca.pem").stat().st_mode) == 0o600
    assert kept.folder.is_relative_to(flows)
    assert len(listening) == 2  # the proxy's and that of the metrics
    assert {address for address, _ in listening} == {"0100007F"}


def test_a_link_in_the_place_of_a_day_is_not_followed(
    serve: Serve, options: dict[str, str], confdir: Path, tmp_path: Path
) -> None:
    """Nothing is written where it points; the client's stream is what it is."""
    flows, elsewhere = tmp_path / "flows", tmp_path / "elsewhere"
    elsewhere.mkdir()
    flows.mkdir(mode=0o700)
    with Mitmdump({**options, "toolmend_flows": str(flows)}, confdir=confdir) as proxy:
        ask(proxy, serve(Script(chunks(LEAK))).url, path="/first/v1/chat/completions")
        day = eventually(lambda: next(flows.glob("2*"), None))
        recording(flows, "/first/v1/chat/completions")
        day.rename(tmp_path / "kept")
        day.symlink_to(elsewhere)
        reply = ask(proxy, serve(Script(chunks(LEAK))).url)
        assert b"tool_calls" in reply.body
        proxy.wait_for("recording incomplete: it is a link, not a folder")
    assert list(elsewhere.iterdir()) == []
