"""Reader and writer of OpenAI Responses requests."""

from .read import read
from .write import write

__all__ = ["read", "write"]
