"""A user of the command line, with a home of their own: the environment, and a run of toolmend in it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from toolmend.cli.launcher.proxy import addon_path

TOOLMEND = [sys.executable, "-m", "toolmend"]
URL = "https://api.openai.com/v1/chat/completions"

_THEIRS = ("PROXY", "CERT", "CA_", "CAINFO", "BUNDLE", "XDG", "NODE", "TOOLMEND", "OPENAI", "ANTHROPIC", "PYTHON")
"""What in a name says that it would lead a client elsewhere."""


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Variables of a user whose home and temporary files are below a folder."""
    given = {name: value for name, value in os.environ.items() if not any(word in name.upper() for word in _THEIRS)}
    places = {"HOME": folder / "home", "TMPDIR": folder / "tmp"}
    for place in places.values():
        place.mkdir(parents=True)
    return given | {name: str(place) for name, place in places.items()} | {"PYTHONPATH": str(addon_path().parent), **more}


def toolmend(env: dict[str, str], *words: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command line to its end."""
    return subprocess.run([*TOOLMEND, *map(str, words)], env=env, text=True, capture_output=True, timeout=100, check=False, **more)


def routed(folder: Path, to: str) -> Path:
    """Settings by which the proxy fetches URL, and Anthropic's, from an upstream."""
    sources = (URL, "https://api.anthropic.com/v1/messages")
    file = folder / "toolmend-routes.toml"
    file.write_text("".join(f'[[route]]\nfrom = "{source}"\nto = "{to}/v1/chat/completions"\n' for source in sources))
    return file
