"""The page beside a command: it says where it is, and ends with the command."""

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from toolmend.cli.launcher import page


def ended(base: str) -> bool:
    time.sleep(0.1)
    try:
        httpx.get(base, timeout=5)
    except httpx.TransportError:  # refused, or cut off in its last moment
        return True
    return False


def test_it_is_there_as_long_as_the_command(tmp_path: Path) -> None:
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "CI": "1"}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as command:
        url = page.start(str(tmp_path / "flows"), command.pid, env, opens=True)
        base, _, token = url.partition("/#")
        assert httpx.post(f"{base}/api/open", json={"token": token}).status_code == 200
        command.communicate(b"\n")
    assert any(ended(base) for _ in range(100))


def test_what_cannot_start_is_told(tmp_path: Path) -> None:
    with pytest.raises(page.PageError):
        page.start(str(tmp_path), os.getpid(), {"PYTHONHOME": str(tmp_path)}, opens=False)
