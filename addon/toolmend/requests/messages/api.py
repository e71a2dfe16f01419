"""Reader and writer of Anthropic Messages requests."""

from .read import read
from .write import write

__all__ = ["read", "write"]
