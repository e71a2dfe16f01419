"""Granite 3.0 to 3.3, and granite-20b: JSON envelopes after a token.

    <|tool_call|>[{"name": "read_file", "arguments": {"path": "a.md"}}]          no end token
    <function_call> {"name": "read_file", "arguments": {"path": "a.md"}}         granite-20b
    <|tool_call|>[{"name": "read_file", "arguments": {…}}]<|/tool_call|>          Phi-4-mini, in its template

Granite 3.1 also writes `<tool_call>[…]`, which hermes.py parses. Source: the Granite chat templates.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect

GRANITE = TagDialect(
    "granite", call=Tag(("<|tool_call|>", "<function_call>"), end=("</function_call>", "<|/tool_call|>")), arguments="envelope"
)
