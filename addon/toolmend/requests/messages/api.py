"""Anthropic Messages, as requests: both ways."""

from .read import read
from .write import write

__all__ = ["read", "write"]
