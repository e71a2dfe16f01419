"""What a running mitmdump takes: memory, open files, threads, tasks. Linux.

Rule of this file: figures are the kernel's, or the event loop's own; a peak is since `reset`, not what a look now and then sees.
"""

import sys
from pathlib import Path

import httpx
import pytest

from toolmend.cli.launcher.proxy import Mitmdump

if sys.platform != "linux":
    pytest.skip("what a process takes is read from /proc", allow_module_level=True)

MIB = 1024 * 1024

PROBE = """
import asyncio, gc
from mitmproxy import http

def request(flow):
    if flow.request.host == "probe.invalid":
        gc.collect()
        flow.response = http.Response.make(200, str(len(asyncio.all_tasks())))
"""
"""A script of mitmdump's that tells how many tasks there are."""


def memory(proxy: Mitmdump, name: str = "VmRSS") -> int:
    """Bytes: VmRSS is what it has now, VmHWM the most since `reset`."""
    lines = Path(f"/proc/{proxy.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def reset(proxy: Mitmdump) -> None:
    Path(f"/proc/{proxy.pid}/clear_refs").write_text("5")


def files(proxy: Mitmdump) -> int:
    return len(list(Path(f"/proc/{proxy.pid}/fd").iterdir()))


def threads(proxy: Mitmdump) -> int:
    return len(list(Path(f"/proc/{proxy.pid}/task").iterdir()))


def tasks(proxy: Mitmdump) -> int:
    """Of its event loop; PROBE must be one of its scripts."""
    return int(httpx.get("http://probe.invalid/", proxy=proxy.url, trust_env=False).text)
