"""Jamba and Hunyuan A13B: a JSON array of envelopes in a tag.

    <tool_calls>[{"name": "read_file", "arguments": {"path": "a.md"}}]</tool_calls>

Source: the Jamba and Hunyuan-A13B chat templates.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect

JAMBA = TagDialect("jamba", call=Tag(("<tool_calls>",), end=("</tool_calls>",)), arguments="envelope")
