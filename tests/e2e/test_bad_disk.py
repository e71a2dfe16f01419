"""A folder that goes while it is recorded in, and a process without file descriptors: the client's stream is the same, and the next is kept."""

import shutil
from pathlib import Path

import pytest
from clients import LEAK, Raw, Serve, Start, ask, chunks, eventually, parse, recording, request_bytes
from test_wire import MENDED

from toolmend.upstream import Script

EVENTS = chunks(LEAK)


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
