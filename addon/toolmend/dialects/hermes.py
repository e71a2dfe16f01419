"""Hermes envelopes: Qwen2.5, Qwen3, QwQ, Nous Hermes, Granite 4, MiniCPM, Ernie 4.5 and many fine-tunes.

    <tool_call>
    {"name": "read_file", "arguments": {"path": "a.md", "limit": 20}}
    </tool_call>

Some put the envelope in a fence, within the tags. Source: the chat templates of Qwen and NousResearch.
"""

from .tag import Tag
from .tags import TagDialect

_FENCES = ("", "\n```json\n", "\n```\n", "```json\n", "```\n")

HERMES = TagDialect(
    "hermes",
    call=Tag(
        tuple(f"<tool_call>{fence}" for fence in _FENCES), end=("</tool_call>", "```</tool_call>", "```\n</tool_call>")
    ),
    arguments="envelope",
    ambiguous=True,
)
