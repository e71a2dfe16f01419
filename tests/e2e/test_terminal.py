"""`toolmend run` at a real terminal (a pty), and under signals: the command decides, and nothing stays behind.

Rule of this file: what a command says is waited for before it is sent anything, and processes are known by their ids.
"""

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.clients import eventually
from tests.e2e.user import TOOLMEND, environment

LEADS = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Makes its standard input the terminal of its session."""

SPEAKS = """
import os, signal, sys
print("pid", os.getpid(), flush=True)
print("proxy", os.environ["HTTPS_PROXY"], flush=True)
"""
HEEDS = """
def heard(number, frame):
    os.write(1, f"heard {signal.Signals(number).name}\\n".encode())  # print may be interrupted in a print
    sys.exit(42)
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGQUIT"):
    signal.signal(getattr(signal, name), heard)
print("ready", flush=True)
while True:
    signal.pause()
"""
WAITS = """
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path, TERM="xterm")


def run(code: str) -> list[str]:
    return [*TOOLMEND, "run", "--", sys.executable, "-c", SPEAKS + code]


class Terminal:
    """A terminal, and a program in it that is the leader of its session."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.fd, theirs = pty.openpty()
        line = [sys.executable, "-c", LEADS, *command]
        self._process = subprocess.Popen(line, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def wait_for(self, pattern: str, seconds: float = 30.0) -> re.Match[str]:
        """What is shown from here on until it has this in it; that is taken out of `seen`."""
        until = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.fd], [], [], until - time.monotonic())
            assert ready, f"{pattern!r} never came: {self.seen}"
            data = b""
            with suppress(OSError):  # Linux says EIO when nobody has the other side any more
                data = os.read(self.fd, 65536)
            assert data, f"{pattern!r} never came, and it ended: {self.seen}"
            self.seen += data.decode(errors="replace")
        self.seen = self.seen[found.end() :]
        return found

    def ended(self) -> int:
        """Its exit code, once it has ended; it shows all it has to say meanwhile."""
        with suppress(OSError):
            while data := os.read(self.fd, 65536):
                self.seen += data.decode(errors="replace")
        return self._process.wait()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self.fd)


@pytest.fixture
def terminal(home: dict[str, str]) -> Iterator[Callable[[list[str]], Terminal]]:
    made: list[Terminal] = []

    def terminal(command: list[str]) -> Terminal:
        made.append(Terminal(command, home))
        return made[-1]

    yield terminal
    for one in made:
        one.close()


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def nobody_at(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) != 0


def port_is_given_up(port: int) -> None:
    eventually(lambda: nobody_at(port), 20)


def test_the_command_has_the_terminal(terminal: Callable[[list[str]], Terminal]) -> None:
    code = """
print([os.isatty(n) for n in (0, 1, 2)], os.get_terminal_size(), os.tcgetpgrp(0) == os.getpgrp())
print("typed", input())
"""
    shown = terminal(run(code))
    termios.tcsetwinsize(shown.fd, (33, 77))
    shown.wait_for(r"\[True, True, True\] os.terminal_size\(columns=77, lines=33\) True")
    shown.type("hello\n")
    shown.wait_for("typed hello")
    shown.wait_for("toolmend: no LLM answer")
    assert shown.ended() == 0


@pytest.mark.parametrize(("key", "name"), [("\x03", "SIGINT"), ("\x1c", "SIGQUIT")])
def test_a_key_that_interrupts_is_the_commands(key: str, name: str, terminal: Callable[[list[str]], Terminal]) -> None:
    shown = terminal(run(HEEDS))
    proxy = shown.wait_for(r"proxy (http\S+)")[1]
    shown.wait_for("ready")
    shown.type(key)
    shown.wait_for(f"heard {name}")
    assert shown.ended() == 42
    assert shown.seen.count("heard") == 0  # once
    assert "toolmend: no LLM answer" in shown.seen
    port_is_given_up(port_of(proxy))


def test_a_command_that_an_interrupt_ends(terminal: Callable[[list[str]], Terminal]) -> None:
    shown = terminal(run("signal.signal(signal.SIGINT, signal.SIG_DFL)" + WAITS))
    shown.wait_for("ready")
    shown.type("\x03")
    assert shown.ended() == 130


def test_a_job_of_a_shell(terminal: Callable[[list[str]], Terminal]) -> None:
    """Ctrl-Z stops it, the shell has the terminal again, and `fg` goes on where it was."""
    shown = terminal(["bash", "--norc", "--noprofile", "-i"])
    code = "print('re' + 'ady', flush=True); print('got', input(), flush=True); sys.exit(5)"
    shown.type(f"PS1='$ '; toolmend() {{ '{sys.executable}' -m toolmend \"$@\"; }}\n")
    shown.type(f"toolmend run -- '{sys.executable}' -c \"import os, sys; {code}\"\n")
    shown.wait_for("\nready")
    shown.type("\x1a")
    shown.wait_for("Stopped")
    shown.type("echo shell is $((40 + 2))\n")
    shown.wait_for("shell is 42")
    shown.type("fg\n")
    shown.wait_for(r"toolmend")
    shown.type("a line\n")
    shown.wait_for("got a line")
    shown.wait_for("toolmend: no LLM answer")
    shown.type("echo it ended with $?\n")
    shown.wait_for("it ended with 5")
    shown.type("exit\n")
    assert shown.ended() == 0


@pytest.fixture
def piped(home: dict[str, str]) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Runs without a terminal, in a session of their own, and with pipes."""
    made: list[subprocess.Popen[str]] = []

    def piped(code: str) -> subprocess.Popen[str]:
        made.append(
            subprocess.Popen(
                run(code), env=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
            )
        )
        return made[-1]

    yield piped
    for one in made:
        one.kill()
        one.communicate()


def said(process: subprocess.Popen[str], word: str) -> str:
    assert process.stdout
    while line := process.stdout.readline():
        if line.startswith(word):
            return line.removeprefix(word).strip()
    pytest.fail(f"{word} was never said")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"])
def test_a_signal_that_is_sent_to_us_is_passed_on(name: str, piped: Callable[[str], subprocess.Popen[str]]) -> None:
    process = piped(HEEDS)
    said(process, "ready")
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=30)
    assert (out, process.returncode) == (f"heard {name}\n", 42), err
    assert "toolmend: no LLM answer" in err


def test_a_command_that_a_signal_ends(piped: Callable[[str], subprocess.Popen[str]]) -> None:
    process = piped(WAITS)
    pid = int(said(process, "pid"))
    said(process, "ready")
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode == 137


def test_a_run_that_is_killed_leaves_no_proxy(piped: Callable[[str], subprocess.Popen[str]], tmp_path: Path) -> None:
    process = piped("import time; print('ready', flush=True); sys.stdin.read()")
    pid, proxy = int(said(process, "pid")), said(process, "proxy")
    said(process, "ready")
    assert not nobody_at(port_of(proxy))
    process.kill()
    try:
        port_is_given_up(port_of(proxy))
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert not list((tmp_path / "tmp").iterdir())


def test_a_proxy_that_dies_is_told(piped: Callable[[str], subprocess.Popen[str]]) -> None:
    process = piped("print('ready', flush=True); sys.stdin.read()")
    proxy = said(process, "proxy")
    said(process, "ready")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("the ids of children are not told here")
    for pid in children.read_text().split():
        if "mitmdump" in Path(f"/proc/{pid}/cmdline").read_text():
            os.kill(int(pid), signal.SIGKILL)
    port_is_given_up(port_of(proxy))
    _, err = process.communicate("", timeout=30)
    assert process.returncode == 0
    assert "toolmend: the proxy ended while the command ran (signal 9)" in err


def test_pipes_are_the_commands_own(home: dict[str, str]) -> None:
    """What goes in comes out, byte for byte; a reader that leaves is the command's matter."""
    data = os.urandom(1 << 20)
    done = subprocess.run([*TOOLMEND, "run", "--", "cat"], env=home, input=data, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout == data) == (0, True)
    line = f"'{sys.executable}' -m toolmend run -- yes | head -1; echo ${{PIPESTATUS[*]}}"
    done = subprocess.run(["/bin/bash", "-c", line], env=home, capture_output=True, timeout=60, check=False)
    assert done.stdout == b"y\n141 0\n"
