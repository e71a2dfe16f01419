"""`toolmend export`."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mitmproxy.io import read_flows_from_paths

from tests.support.judges.har import faults
from tests.support.paths import ADDON, FLOWS
from toolmend.cli import main
from toolmend.recordings.read.replay import find


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "flows"
    for number, folder in enumerate(find(FLOWS / "kimi")[:2], 1):
        shutil.copytree(folder, root / f"18340{number}-kimi-{number}")
    return root


def run(root: Path, *words: str) -> int:
    return main(["export", *words, "--flows", str(root)])


@pytest.mark.parametrize(("more", "sides"), [((), ["raw", "raw"]), (("--client",), ["rewritten", "rewritten"])])
def test_a_flow_file(root: Path, tmp_path: Path, more: tuple[str, ...], sides: list[str]) -> None:
    file = tmp_path / "out.flow"
    file.write_text("old")
    assert run(root, "183402", "183401", "-o", str(file), *more) == 0
    flows = read_flows_from_paths([str(file)])
    assert [flow.comment.partition(":")[0] for flow in flows] == sides
    assert ["183402-kimi-2" in flow.comment for flow in flows] == [True, False]
    assert file.stat().st_mode & 0o777 == 0o600
    first = file.read_bytes()
    assert run(root, "183402", "183401", "-o", str(file), *more) == 0
    assert file.read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] in (["flows", "out.flow"], ["out.flow", "flows"])


def test_what_is_no_file_is_written_into(root: Path, tmp_path: Path) -> None:
    """A pipe, as of `>(gzip)`, or a link to one: it is there behind it, too."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:  # nobody waits for the other end
            assert run(root, "183401", "--to", "har", "-o", str(path)) == 0
            assert faults(json.loads(reader.read())) == []
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_a_descriptor_is_written_into(root: Path, tmp_path: Path) -> None:
    words = ["export", "183401", "--to", "har", "-o", "/proc/self/fd/1", "--flows", str(root)]
    with (tmp_path / "out.har").open("wb") as file:
        subprocess.run([sys.executable, "-m", "toolmend", *words], stdout=file, check=True)
    assert faults(json.loads((tmp_path / "out.har").read_bytes())) == []


def test_a_har(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, "183401", "183402", "-o", str(tmp_path / "out.HAR")) == 0
    document = json.loads((tmp_path / "out.HAR").read_bytes())
    assert faults(document) == []
    assert [entry["_toolmend"]["side"] for entry in document["log"]["entries"]] == ["raw", "rewritten"] * 2
    assert run(root, "183401", "183402", "--to", "har") == 0
    assert json.loads(capsys.readouterr().out) == document


WRONG = {
    "no format": (["last"], 2, "add --to flow or --to har"),
    "an unknown suffix": (["last", "-o", "x.txt"], 2, "add --to flow or --to har"),
    "both sides": (["last", "--to", "har", "--client"], 2, "a HAR has both sides"),
    "no recording": (["1999", "--to", "har"], 2, "no such recording: '1999'"),
    "nothing": (["--to", "har"], 2, "Missing argument"),
    "no folder": (["last", "-o", "/no/such/folder/x.har"], 3, "cannot be written: No such file or directory"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(root: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    words, code, sentence = WRONG[name]
    assert run(root, *words) == code
    out, told = capsys.readouterr()
    assert out == ""
    assert sentence in told
    assert "try: " in told or code == 3


def test_one_that_cannot_be_read_costs_the_file(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "183402-kimi-2" / "upstream.sse").unlink()
    (root / "183402-kimi-2" / "client.sse").unlink()
    file = tmp_path / "out.flow"
    file.write_text("old")
    assert run(root, "183401", "183402", "-o", str(file)) == 3
    assert "183402-kimi-2" in capsys.readouterr().err
    assert file.read_text() == "old"


def test_a_terminal_gets_no_flow_file(root: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "toolmend", "export", "183401", "--to", "flow", "--flows", str(root)]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ADDON)}, check=False)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2
    assert b"try: toolmend export 183401-kimi-1 -o 183401-kimi-1.flow" in done.stderr
