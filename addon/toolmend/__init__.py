"""toolmend mends the tool calls in an LLM API's stream, between a coding agent and its provider.

Rule: imports nothing, so that whoever needs one module pays for one module.
"""

__version__ = "0.1.0"
