"""OpenAI Responses, as requests: both ways."""

from .responses_read import read
from .responses_write import write

__all__ = ["read", "write"]
