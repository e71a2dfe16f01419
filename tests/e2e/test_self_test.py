"""The doctor's proofs: the self-test, and the probe through proxies that run, against real ones."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clients import Start
from tests.support.machines import Box, make_ca, well
from tests.support.paths import FLOWS
from toolmend import __version__
from toolmend.cli.doctor import Finding, interception
from toolmend.cli.doctor.interception import probe, probe_without_tls
from toolmend.cli.doctor.self_test import self_test
from toolmend.cli.launcher import background, sample_stream
from toolmend.cli.launcher.environment import BEFORE, original
from toolmend.cli.launcher.proxy import OPTIONS, Mitmdump, addon_path
from toolmend.cli.launcher.trust import CA
from toolmend.cli.proxies import scripts

SILENT = """
import logging
class Idle:
    def running(self):
        logging.info("toolmend: listens to nothing")
addons = [Idle()]
"""
"""An addon that says what ours does, and does nothing."""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with well(tmp_path / "box") as box:
        yield box


def only(found: Iterator[Finding]) -> Finding:
    (finding,) = found
    return finding


def through(proxy: Mitmdump) -> interception.Proxy:
    return interception.Proxy("http", "127.0.0.1", proxy.port)


def shell(box: Box, proxy: Mitmdump, confdir: Path | None = None) -> Finding:
    """What is found where a shell points to a proxy."""
    box.set(HTTPS_PROXY=proxy.url)
    machine = box.machine
    return only(interception.shell(type(machine)(machine.environ, confdir or proxy.confdir, None)))


@pytest.mark.parametrize("ca", [True, False], ids=["the user's CA", "no CA yet"])
def test_a_leak_is_mended(ca: bool, box: Box) -> None:
    """Whatever this shell has set; and nothing is left behind."""
    if not ca:
        (box.confdir / CA).unlink()
    box.set(TOOLMEND_MODE="observe", HTTPS_PROXY="http://127.0.0.1:1", TOOLMEND_CONFIG="/no/such/file")
    original = sorted(box.folder.rglob("*"))
    found = only(self_test(box.machine))
    assert found.state == "ok", found
    assert found.text.startswith("a leaked call was mended through a real mitmdump, and recorded (")
    made = [path for path in box.folder.rglob("*") if path not in original]
    assert [path.name for path in made if path.parent != box.confdir] == []


def test_options_of_mitmproxy_that_are_in_the_way(box: Box) -> None:
    (box.confdir / "config.yaml").write_text("ignore_hosts: [openai]\n")
    well, found = self_test(box.machine)
    assert (well.state, found.state, found.try_) == ("ok", "warning", f"$EDITOR {box.confdir / 'config.yaml'}")
    assert found.text.startswith("mitmproxy's ignore_hosts excludes api.openai.com")


def test_an_addon_that_does_not_load(box: Box) -> None:
    broken = box.folder / "main.py"
    broken.write_text("import no_such_module")
    box.patch.setattr("toolmend.cli.launcher.proxy.addon_path", lambda: broken)
    found = only(self_test(box.machine))
    assert (found.state, found.try_) == ("fault", f"mitmdump -s {addon_path()}")
    assert "mitmdump does not start with the addon: " in found.text
    assert "\n" not in found.text


def test_an_addon_that_does_nothing(box: Box) -> None:
    idle = box.folder / "main.py"
    idle.write_text(SILENT)
    box.patch.setattr("toolmend.cli.launcher.proxy.addon_path", lambda: idle)
    found = only(self_test(box.machine))
    assert (found.state, found.try_) == ("fault", "toolmend bug-report")
    assert "was not mended (listens to nothing); the client got SampleAnswer(content='Let me look" in found.text


def test_a_probe_is_mended_by_a_proxy_that_runs(proxy: Mitmdump, flows: Path) -> None:
    original = sorted(flows.rglob("meta.json"))
    assert probe(through(proxy), proxy.ca) == (sample_stream.EXPECTED, f"{__version__} mend")
    assert probe_without_tls(through(proxy)) == (sample_stream.EXPECTED, f"{__version__} mend")
    assert sorted(flows.rglob("meta.json")) == original


def test_the_proxy_of_this_shell(box: Box, proxy: Mitmdump) -> None:
    found = shell(box, proxy)
    assert found.state == "ok"
    assert found.text == f"the proxy at {proxy.url} (HTTPS_PROXY) mends: a probe passed through it"


def test_a_proxy_with_another_ca(box: Box, proxy: Mitmdump) -> None:
    make_ca(box.folder / "mine")
    found = shell(box, proxy, box.folder / "mine")
    assert found.state == "fault"
    assert f"presents a certificate that is not signed by {box.folder / 'mine' / CA}" in found.text
    assert found.try_ == f"mitmdump --set confdir={box.folder / 'mine'}"


def test_a_ca_that_was_put_right(box: Box, proxy: Mitmdump) -> None:
    """Other clients are let through soon after they refused a certificate; for a probe nobody else has an answer."""
    make_ca(box.folder / "mine")
    for _ in range(3):
        assert shell(box, proxy, box.folder / "mine").state == "fault"
    assert shell(box, proxy).state == "ok"


def test_a_proxy_without_a_ca(box: Box, proxy: Mitmdump) -> None:
    found = shell(box, proxy, box.folder / "nothing")
    assert (found.state, found.try_) == ("fault", "toolmend ca path")


@pytest.mark.parametrize("sent", [True, False], ids=["by toolmend env", "by hand"])
def test_a_mitmdump_that_is_no_toolmend(sent: bool, box: Box, confdir: Path) -> None:
    """Another proxy on this machine may be a company's; where ours has to be, it is a fault."""
    if sent:
        box.set(**{BEFORE: "{}"})
    with Mitmdump({}, confdir=confdir, scripts=[], ready="listening") as proxy:
        found = shell(box, proxy)
    assert (found.state, found.try_) == (("fault", 'eval "$(toolmend env)"') if sent else ("warning", "toolmend run -- COMMAND"))
    assert ("does not respond like toolmend (" if sent else "is not toolmend (") in found.text


@pytest.mark.parametrize(
    ("options", "state", "text"),
    [
        ({"toolmend_dialects": "off"}, "fault", f"is toolmend {__version__}, but did not mend a leaked call: is it switched off?"),
        ({"toolmend_mode": "observe"}, "warning", "which only observes: nothing is mended"),
        ({"toolmend_policy": "drain"}, "ok", "mends: a probe passed through it"),
        ({"toolmend_hosts": "*"}, "ok", "mends: a probe passed through it"),
        ({"toolmend_replay": str(FLOWS)}, "ok", "mends: a probe passed through it"),
        ({"connection_strategy": "eager"}, "warning", f"is toolmend {__version__}, but refuses hosts that cannot be"),
    ],
    ids=["off", "observe", "drain", "all hosts", "replay", "eager"],
)
def test_proxies_that_are_told_something(
    options: dict[str, str], state: str, text: str, box: Box, start: Start, tmp_path: Path
) -> None:
    proxy = start(**options)
    found = shell(box, proxy)
    assert (found.state, text in found.text) == (state, True), found
    assert not (tmp_path / "flows").exists()


def test_the_proxy_in_the_background(box: Box, confdir: Path) -> None:
    assert only(interception.background(box.machine)).text == "no proxy runs in the background"
    running = background.start(0, OPTIONS, confdir, scripts(), original(os.environ))
    try:
        found = only(interception.background(box.machine))
    finally:
        background.stop(running)
    assert (found.state, found.text.endswith("mends: a probe passed through it")) == ("ok", True), found


def test_nothing_stays_behind_when_it_is_ended(box: Box, tmp_path: Path) -> None:
    """The mitmdump of the self-test is ended, and its folder removed, before the command itself is gone."""
    (tmp_path / "tmp").mkdir()
    box.set(PYTHONPATH=str(addon_path().parent), PYTHONUNBUFFERED="1", TMPDIR=str(tmp_path / "tmp"))
    with subprocess.Popen([sys.executable, "-m", "toolmend", "doctor"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            while (line := process.stdout.readline()) and "agents" not in line:
                pass
            process.send_signal(signal.SIGTERM)
            process.stdout.read()
            assert process.wait() in (143, 0)  # it may have been done by then
        finally:
            process.kill()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_whole_of_it(box: Box) -> None:
    """As a user runs it: nothing is wrong but that a program is on the port, which is no fault."""
    box.set(PYTHONPATH=str(addon_path().parent))
    done = subprocess.run([sys.executable, "-m", "toolmend", "doctor", "--json"], capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr, document["faults"]) == (0, "", 0), document
    assert [one["state"] for one in document["findings"] if one["check"] == "self-test"] == ["ok"]
