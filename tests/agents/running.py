"""What an agent's run is to a test, and what must hold of each."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from provider import KEY

from toolmend.upstream import Upstream

OWN_KEY = "sk-the-agents-own-key"


@dataclass(frozen=True)
class Run:
    """What an agent did: its exit code, what it said, and the folder it worked in."""

    code: int
    said: str
    folder: Path


type Agent = Callable[[Sequence[str], dict[str, str]], Run]
"""Runs a command with more variables."""


def check(run: Run, provider: Upstream, flows: Path) -> None:
    """The call ran, its result went back, the answer was shown; every key stayed where it belongs."""
    assert run.code == 0, run.said
    assert "The shell says mended, and that is all." in run.said
    assert (run.folder / "proof.txt").read_text() == "mended\n"
    assert "<|" not in run.said
    asked = [request for request in provider.requests if request.path.endswith("/chat/completions")]
    assert len(asked) >= 2
    for request in asked:
        assert request.header("authorization") == f"Bearer {KEY}"
        assert OWN_KEY not in str(request)
        assert json.loads(request.body)["model"] == "moonshotai/kimi-k2.5"
    assert any("kimi_k2" in json.loads(meta.read_bytes())["rules"] for meta in flows.rglob("meta.json"))
    for file in flows.rglob("*"):
        if file.is_file():
            assert not [key for key in (KEY, OWN_KEY) if key.encode() in file.read_bytes()]
