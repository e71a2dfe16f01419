"""OpenAI Chat Completions, as requests: both ways."""

from .chat_read import read
from .chat_write import write

__all__ = ["read", "write"]
