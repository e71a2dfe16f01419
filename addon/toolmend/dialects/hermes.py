"""Hermes envelopes: Qwen2.5, Qwen3, QwQ, Nous Hermes, Granite 4, MiniCPM, Ernie 4.5 and many fine-tunes.

    <tool_call>
    {"name": "read_file", "arguments": {"path": "a.md", "limit": 20}}
    </tool_call>

Source: the chat templates of Qwen and NousResearch.
"""

from .tag import Tag
from .tags import TagDialect

HERMES = TagDialect(
    "hermes", call=Tag(("<tool_call>",), end=("</tool_call>",)), arguments="envelope", ambiguous=True
)
