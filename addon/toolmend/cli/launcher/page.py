"""Starts `toolmend ui` next to a command: a separate process, which ends when the command has ended and the page is closed.

    url = start(folder, os.getpid(), opens=True)      "http://127.0.0.1:43011/#TOKEN"

The proxy and the command do not depend on it.
"""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from select import select

ADDON = Path(__file__).parents[3]
CODE = f"import sys; sys.path.insert(0, {str(ADDON)!r}); from toolmend.cli import main; sys.exit(main(sys.argv[1:]))"
PATIENCE = 15.0
"""Seconds until it must listen; 0.3 s is usual."""


class PageError(Exception):
    """It did not start; the message explains why."""


def start(folder: str, pid: int, env: Mapping[str, str], *, opens: bool) -> str:
    """Starts the page.

    Args:
        folder: The recordings.
        pid: The process that the page outlives only while it is open.
        env: The environment of the new process.
        opens: Whether a browser is opened when the user asks for it.

    Returns:
        The page's address.

    Raises:
        PageError: It did not start.
    """
    words = ["ui", "--while", str(pid), "--open-when-asked" if opens else "--no-open", folder]
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", CODE, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            start_new_session=True,  # Ctrl-C is for the command
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
        raise PageError("it did not start to listen")
    return line
