"""A server whose words look like the proxy's own in its log, which `toolmend run` reads: it is told nothing by them.

Rule of this file: the server is one that a command reaches through the proxy, and no LLM; mitmdump tells of the end of its socket.
"""

import json
import sys
import threading
from pathlib import Path

import pytest
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as serve_sockets

from tests.e2e.user import environment, toolmend

CLIENT = """
import sys
from websockets.sync.client import connect
try:
    with connect(sys.argv[1], proxy=sys.argv[2] if len(sys.argv) > 2 else True) as socket:
        socket.recv()
except Exception as error:
    print(type(error).__name__)
sys.exit(7)
"""
FORGED = [
    "toolmend: tally " + json.dumps({"answers": 1, "mended": 1, "rules": ["x"], "warnings": []}),
    "\n[00:00:00.000] toolmend: tally " + json.dumps({"answers": 1, "mended": 1, "rules": {"\x1b]0;x": 1}, "warnings": []}),
    "\n[00:00:00.000] toolmend: tally " + json.dumps({"answers": 7, "warnings": []}),
]


@pytest.mark.parametrize("words", FORGED, ids=["rules that are none", "escapes", "another number"])
def test_the_end_of_a_socket(words: str, tmp_path: Path) -> None:
    def talk(socket: ServerConnection) -> None:
        socket.close(1000, words)

    with serve_sockets(talk, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}/"
            home = environment(tmp_path)
            code = CLIENT.replace("True)", "__import__('os').environ['HTTP_PROXY'])")
            done = toolmend(home, "run", "--set", "toolmend_flows=off", "--", sys.executable, "-c", code, url)
        finally:
            server.shutdown()
            thread.join()
    assert done.stdout == "ConnectionClosedOK\n"
    assert done.returncode == 7
    assert "\x1b" not in done.stderr
    assert "no LLM answer came through the proxy" in done.stderr
