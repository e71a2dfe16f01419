"""Reader and writer of OpenAI Chat Completions requests."""

from .read import read
from .write import write

__all__ = ["read", "write"]
