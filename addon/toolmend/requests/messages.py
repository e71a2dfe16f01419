"""Anthropic Messages, as requests: both ways."""

from .messages_read import read
from .messages_write import write

__all__ = ["read", "write"]
