"""What each command listens at, as /proc tells it: loopback, and no port more than it says (R20)."""

import os
import re
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.e2e.listening import ports
from tests.e2e.user import TOOLMEND, environment, toolmend
from tests.support.machines import well
from tests.support.paths import FLOWS
from toolmend.cli.doctor import self_test

KIMI = FLOWS / "kimi"
LOOPBACK = "0100007F"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """Of a user whose files anybody could have."""
    return environment(tmp_path)


def tree(pid: int) -> set[int]:
    """A process, and those below it."""
    found = {pid}
    with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found |= tree(int(child))
    return found


def listening(pid: int) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for one in tree(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            found |= set(ports(one))
    return found


@contextmanager
def started(env: dict[str, str], *words: str, until: str) -> Iterator[int]:
    """A command line that runs, and has said this."""
    with subprocess.Popen(
        [*TOOLMEND, *words], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, umask=0
    ) as process:
        try:
            said = ""
            assert process.stdout
            while not re.search(until, said):
                line = process.stdout.readline()
                assert line, said
                said += line
            yield process.pid
        finally:
            process.terminate()
            process.communicate(timeout=60)


COMMANDS = {
    # a command line: what it says when it listens, and at how many ports
    "serve": (["serve", str(KIMI)], "Ctrl-C ends it", 1),
    "serve --tls": (["serve", "--tls", str(KIMI)], "SSL_CERT_FILE", 1),
    "run": (["run", "--set", "toolmend_hosts=localhost", "--", "sh", "-c", "echo here; read line"], "here", 1),
    "run with metrics": (["run", "--set", "toolmend_metrics=0", "--", "sh", "-c", "echo here; read line"], "here", 2),
    "demo": (["demo", "--keep-running", "--flows", "kept"], "What toolmend has to say", 2),
}


@pytest.mark.parametrize(
    ("words", "until", "count"),
    [pytest.param(*given, id=name, marks=[pytest.mark.slow] * (name in ("demo", "run"))) for name, given in COMMANDS.items()],
)
def test_a_command(
    home: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], until: str, count: int
) -> None:
    """And what it leaves, or has lying about, is for the user alone, whatever their umask."""
    monkeypatch.chdir(tmp_path)
    with started(home, *words, until=until) as pid:
        found = listening(pid)
        assert_private(tmp_path)
    assert {address for address, _ in found} == {LOOPBACK}
    assert len(found) == count
    assert_private(tmp_path)


def test_in_the_background(home: dict[str, str], tmp_path: Path) -> None:
    done = toolmend(home, "start", "--port", "0", umask=0)
    assert done.returncode == 0, done.stderr
    try:
        (pid,) = map(int, re.findall(r'"pid": (\d+)', (tmp_path / "home/.local/share/toolmend/proxy.json").read_text()))
        found = listening(pid)
        assert toolmend(home, "env", umask=0).returncode == 0
        assert_private(tmp_path)
    finally:
        assert toolmend(home, "stop").returncode == 0
    assert [address for address, _ in found] == [LOOPBACK]


def assert_private(folder: Path) -> None:
    """All but the two folders that the test has made."""
    open_to = {}
    for path in {*folder.rglob("*")} - {folder / "home", folder / "tmp"}:
        with suppress(FileNotFoundError):  # a draft
            mode = stat.S_IMODE(path.lstat().st_mode)
            if mode & 0o077 and path.name not in PUBLIC and not path.is_symlink():
                open_to[str(path)] = oct(mode)
    assert open_to == {}


PUBLIC = ("mitmproxy-ca-cert.pem", "mitmproxy-ca-cert.p12", "mitmproxy-ca-cert.cer", "mitmproxy-dhparam.pem", "cert.pem", "env")
"""What holds no secret, in folders that are out of others' reach."""


def test_the_doctors_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upstream and the proxy of the self-test, while it asks."""
    seen: list[set[tuple[str, str]]] = []
    before = listening(os.getpid())

    def look(*_: object) -> object:
        seen.append(listening(os.getpid()) - before)
        raise OSError("seen")

    monkeypatch.setattr("toolmend.cli.doctor.self_test.probe", look)
    with well(tmp_path / "box") as box:
        assert [one.state for one in self_test.self_test(box.machine)] == ["fault"]
    assert [address for address, _ in seen[0]] == [LOOPBACK, LOOPBACK]
