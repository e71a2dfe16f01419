"""The benchmark and the soak run from end to end, at the smallest sizes. What they measure is no matter of a test."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ADDON, ROOT

linux = pytest.mark.skipif(sys.platform != "linux", reason="other processes are measured with what only Linux tells")


def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, (ADDON, ROOT)))
    command = [sys.executable, "-P", "-m", module, *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": paths}, check=False)


def figures(file: Path) -> dict[str, Any]:
    told = json.loads(file.read_text(encoding="utf-8"))
    assert told["version"] == 1
    assert told["machine"]["mitmproxy"]
    return {table["title"]: table["rows"] for table in told["tables"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("only", "rows"),
    [
        ("nothing to mend, µs an event messages", {"messages: prose", "messages: prose, no tools", "messages: native calls"}),
        ("markup, µs a delta kimi_k2 in", {"kimi_k2 in messages", "kimi_k2 in responses"}),
        ("translating, µs an event chat → messages: p", {"chat → messages: prose"}),
    ],
)
def test_in_process(tmp_path: Path, only: str, rows: set[str]) -> None:
    file = tmp_path / "bench.json"
    ran = run("bench", "process", "--quick", "--only", only, "--json", str(file), "--markdown")
    assert ran.returncode == 0, ran.stderr
    found, rulers = figures(file).values()
    assert set(found) == rows
    assert len(rulers) == 4
    for cells in found.values():
        assert all(figure["value"] > 0 for name, figure in cells.items() if name != "over identity")
    assert ran.stdout.count("\n| ") == len(rows) + len(rulers) + 2


@linux
@pytest.mark.slow
def test_start(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    ran = run("bench", "start", "--quick", "--json", str(file))
    assert ran.returncode == 0, ran.stderr
    assert {"mitmdump", "mitmdump -s addon/main.py"} < set(figures(file)["start"])


def test_a_part_that_is_none() -> None:
    ran = run("bench", "proces")
    assert ran.returncode == 2
    assert "process" in ran.stderr


SMALL = """
import sys
from functools import partial
from pathlib import Path
from bench import end_to_end, memory
from bench.load import Load
from bench.proxies import compared
from toolmend.recordings.playback.server import make_certificate

folder = Path(sys.argv[1])
certificate = make_certificate(folder)
ca = certificate[0]
with Load(certificate) as load:
    small = end_to_end.Extent(few=30, many=60, generations=2, rounds=1, one=end_to_end.Paced(3, 1), crowd=end_to_end.Paced(3, 1, 2), firsts=1)
    tables = end_to_end.tables(partial(compared, folder, load.port, ca), load.port, ca, small, lambda _: None)
    tables += memory.tables(load, ca, folder, memory.Extent(long=1, other=1, streams=3, unread=1), lambda _: None)
print(*(len(table.rows) for table in tables))
assert len(list((folder / "flows").rglob("meta.json"))) > 10
"""


@linux
@pytest.mark.slow
@pytest.mark.timeout(300)  # a dozen proxies
def test_end_to_end_and_memory(tmp_path: Path) -> None:
    """With several proxies, and all that is played."""
    (tmp_path / "small.py").write_text(SMALL)
    paths = os.pathsep.join(map(str, (ADDON, ROOT)))
    ran = subprocess.run(
        [sys.executable, "-P", str(tmp_path / "small.py"), str(tmp_path)],
        capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": paths}, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["30", "9", "9", "8", "3", "3"]


@linux
@pytest.mark.slow
@pytest.mark.timeout(300)  # it waits for all to be closed
def test_soak(tmp_path: Path) -> None:
    """All is closed behind it, and every client got what it should; so short a time says nothing of memory."""
    file = tmp_path / "soak.json"
    ran = run("bench.soak", "--minutes", "0.05", "--json", str(file))
    assert ran.returncode in (0, 1), ran.stderr
    told = json.loads(file.read_text(encoding="utf-8"))
    assert told["wrong"] == []
    assert sum(told["streams"].values()) > 0
    assert all(told["table"]["rows"][name]["idle after"]["ok"] for name in ("files", "tasks", "threads"))
