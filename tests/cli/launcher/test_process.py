"""A process by what it says: stdout apart from the log, and its end. What is true of any process, cli/launcher/test_proxy.py tries with mitmdump."""

import signal
import socket
import sys

import pytest

from toolmend.cli.launcher.process import Process, ProcessError, free_port, tail

TALKS = "import sys, time; print('one'); print('ready', file=sys.stderr); print('two', flush=True); time.sleep(3600)"


def test_stdout_is_apart() -> None:
    with Process("the talker", [sys.executable, "-c", TALKS], "ready") as process:
        assert process.wait_for_output(lambda lines: len(lines) == 2) == process.out == ["one\n", "two\n"]
        assert process.log == "ready\n"
        with pytest.raises(ProcessError, match=r"the talker did not print what was awaited; its last lines:\none\ntwo\n"):
            process.wait_for_output(lambda lines: len(lines) == 3, 0.1)
        process.signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert process.returncode == -signal.SIGKILL


def test_one_that_ends_at_the_start() -> None:
    code = "import sys; sys.exit('what is wrong')"
    with pytest.raises(ProcessError, match=r"the talker ended with exit code 1; the end of its log:\nwhat is wrong"), Process("the talker", [sys.executable, "-c", code], "ready"):
        pass


def test_tail() -> None:
    assert tail("a\nb\nc\n", 2) == "b\nc"


def test_a_free_port() -> None:
    socket.create_server(("127.0.0.1", free_port())).close()
