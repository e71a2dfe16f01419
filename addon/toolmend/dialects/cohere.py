"""Cohere Command R and Command A.

    <|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read_file", "parameters": {"path": "a.md"}}]<|END_ACTION|>

The id is in the text. Source: the Command R7B and Command A chat templates.
"""

from .tag import Tag
from .tags import TagDialect

COHERE = TagDialect("cohere", call=Tag(("<|START_ACTION|>",), end=("<|END_ACTION|>",)), arguments="envelope")
