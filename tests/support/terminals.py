"""What a command prints at a terminal: with colours, and as wide as the terminal is."""

import os
import pty
import subprocess
import sys

from tests.support.paths import ADDON


def at_terminal(*args: str, width: int, **variables: str) -> bytes:
    """All that `toolmend ARGS` says, on both channels; it must succeed."""
    ours, theirs = pty.openpty()
    env = os.environ | {"PYTHONPATH": str(ADDON), "COLUMNS": str(width), "TERM": "xterm-256color"} | variables
    with subprocess.Popen([sys.executable, "-m", "toolmend", *args], env=env, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        text = b""
        try:
            while data := os.read(ours, 65536):
                text += data
        except OSError:  # how Linux tells the end of a terminal
            pass
    os.close(ours)
    assert process.returncode == 0, text
    return text
