"""What an agent's run is to a test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """What an agent did: its exit code, what it said, and the folder it worked in."""

    code: int
    said: str
    folder: Path


type Agent = Callable[[Sequence[str], dict[str, str]], Run]
"""Runs a command with more variables."""
