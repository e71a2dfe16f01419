"""A disk that goes bad while it is recorded on, and no file descriptors: the client's stream is the same, and the next is kept."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.clients import LEAK, PROSE, Raw, Serve, Start, ask, chunks, eventually, parse, recording, request_bytes
from tests.e2e.mended import MENDED, check
from toolmend.cli.launcher.proxy import addon_path
from toolmend.recordings.playback.server import Script

EVENTS = chunks(LEAK)
LONG = PROSE * 200

MOUNT = """
import os, subprocess
os.unshare(os.CLONE_NEWNS)  # nobody else sees it, and it goes with the process
def mount(*words):
    subprocess.run(["mount", *words], check=True)
mount("--make-rprivate", "/")
mount("-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", "{root}")

def request(flow):
    if "x-read-only" in flow.request.headers:
        mount("-o", "remount,ro", "{root}")
    if "x-writable" in flow.request.headers:
        mount("-o", "remount,rw", "{root}")
"""
"""A script of mitmdump's: its recordings come to lie on a disk of 64 KiB."""

NO_FILES = """
import os, resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

def responseheaders(flow):
    if "x-no-files" in flow.request.headers:
        resource.setrlimit(resource.RLIMIT_NOFILE, (os.dup(0), hard))  # the lowest number that was free

def response(flow):
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
"""
"""From the response's headers to its end not one more file can be opened."""


@pytest.mark.parametrize("what", ["the recording", "the day", "all of them"])
def test_a_folder_that_goes(start: Start, serve: Serve, tmp_path: Path, path: str, what: str) -> None:
    root = tmp_path / "flows"
    proxy = start()
    upstream = serve(Script(EVENTS[:6], end="stall"), Script(EVENTS))
    with Raw(proxy, upstream.url) as raw:
        raw.send(request_bytes(path, host=raw.host, Connection="close"))
        file = eventually(lambda: next((one for one in root.glob("*/*/upstream.sse") if one.stat().st_size), None))
        shutil.rmtree({"the recording": file.parent, "the day": file.parent.parent, "all of them": root}[what])
        upstream.release()
        assert parse(raw.read_to_end()).terminated
    proxy.wait_for("recording incomplete")
    assert ask(proxy, upstream.url, path=f"/next{path}").body == MENDED
    assert recording(root, f"/next{path}").meta["state"] == "complete"
    assert proxy.log.count("recording incomplete") == 1


def may_mount() -> bool:
    """Whether this is a root that may have a file system of its own."""
    if sys.platform != "linux" or not shutil.which("unshare"):
        return False
    command = [shutil.which("unshare") or "", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="it takes a root that may mount")
def test_a_disk_that_is_full_and_one_that_is_read_only(start: Start, serve: Serve, tmp_path: Path, path: str) -> None:
    """ENOSPC and EROFS themselves. Each costs the recording that meets it, is said once, and is over when the disk is well again."""
    root = tmp_path / "flows"
    root.mkdir()
    script = tmp_path / "mount.py"
    script.write_text(MOUNT.replace("{root}", str(root)))
    proxy = start([script, addon_path()])
    seen = Path(f"/proc/{proxy.pid}/root{root}")
    upstream = serve(*(Script(chunks(body)) for body in (LEAK, LONG, LEAK, LEAK)))
    check(ask(proxy, upstream.url, path=f"/first{path}").body)
    assert recording(seen, f"/first{path}").meta["state"] == "complete"

    assert ask(proxy, upstream.url, path=f"/long{path}").body == LONG
    proxy.wait_for("recording incomplete: No space left on device")
    for body in seen.glob("*/*/*.sse"):
        if body.parent != recording(seen, f"/first{path}").folder:
            os.truncate(body, 0)  # the folder stays: it may not be finished yet

    check(ask(proxy, upstream.url, path=f"/read-only{path}", X_Read_Only="1").body)
    proxy.wait_for("recording incomplete: Read-only file system")
    check(ask(proxy, upstream.url, path=f"/last{path}", X_Writable="1").body)
    kept = recording(seen, f"/last{path}")
    assert (kept.meta["state"], kept.read("upstream.sse")) == ("complete", LEAK)
    assert proxy.log.count("recording incomplete") == 2
    assert "Traceback" not in proxy.log


def test_no_more_files(start: Start, serve: Serve, tmp_path: Path, path: str) -> None:
    """EMFILE, as soon as there is something to be recorded: what is not to be opened is mended all the same."""
    script = tmp_path / "files.py"
    script.write_text(NO_FILES)
    proxy = start([script, addon_path()])
    upstream = serve(Script(chunks(LEAK, 0.02)), Script(chunks(LEAK)))
    assert ask(proxy, upstream.url, path=f"/none{path}", X_No_Files="1").body == MENDED
    proxy.wait_for("recording incomplete: Too many open files")
    assert ask(proxy, upstream.url, path=f"/next{path}").body == MENDED
    assert recording(tmp_path / "flows", f"/next{path}").meta["state"] == "complete"
    assert len(re.findall("recording incomplete", proxy.log)) == 1
    assert "Traceback" not in proxy.log
