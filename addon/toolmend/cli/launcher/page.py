"""The page of `toolmend ui` beside a command: a process of its own, which ends when that one has, and nobody looks any more.

    url = start(folder, os.getpid(), opens=True)      "http://127.0.0.1:43011/#TOKEN"

Rule of this file: the proxy and the command go on, whatever becomes of it.
"""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from select import select

ADDON = Path(__file__).parents[3]
CODE = f"import sys; sys.path.insert(0, {str(ADDON)!r}); from toolmend.cli import main; sys.exit(main(sys.argv[1:]))"
PATIENCE = 15.0
"""Seconds until it listens: it takes a third of one."""


class PageError(Exception):
    """It did not start; the message says why."""


def start(folder: str, pid: int, env: Mapping[str, str], *, opens: bool) -> str:
    """Where the recordings of a folder are shown as long as a process is there. Raises PageError."""
    words = ["ui", "--while", str(pid), "--open-when-asked" if opens else "--no-open", folder]
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", CODE, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            start_new_session=True,  # Ctrl+C is the command's
        )
    except OSError as error:
        raise PageError(error.strerror or str(error)) from None
    assert process.stdout
    ready, _, _ = select([process.stdout], [], [], PATIENCE)
    line = process.stdout.readline().decode().strip() if ready else ""
    process.stdout.close()
    if not line.startswith("http"):
        process.kill()
        process.wait()
        raise PageError("it did not begin to listen")
    return line
