"""A command in the foreground: signals that come when it is over. tests/e2e/test_terminal.py has the rest, in a real terminal."""

import os
import subprocess
import sys

LATE = """
import os, signal, sys
from toolmend.cli.launcher.foreground import Foreground

wait = os.waitpid

def waitpid(pid, options):
    found = wait(pid, options)
    signal.raise_signal(signal.SIGCONT)  # as where a thread beside this one was given it
    return found

os.waitpid = waitpid
with Foreground() as foreground:
    foreground.take_signals()
    sys.exit(foreground.run([sys.executable, "-c", "raise SystemExit(5)"], os.environ))
"""


def test_a_signal_that_is_told_when_the_command_is_over() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", LATE], env=environment, check=False).returncode == 5
