"""LongCat-Flash: Hermes envelopes in unmistakable tags.

    <longcat_tool_call>
    {"name": "read_file", "arguments": {"path": "a.md"}}
    </longcat_tool_call>

Source: the LongCat-Flash chat template.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect

LONGCAT = TagDialect(
    "longcat", call=Tag(("<longcat_tool_call>",), end=("</longcat_tool_call>",)), arguments="envelope"
)
