"""Muse: Anthropic's markup with the prefix `atem:`.

    <atem:function_calls><atem:invoke name="read_file"><atem:parameter name="path">a.md</atem:parameter></atem:invoke>
    </atem:function_calls>

Source: the Muse chat template.
"""

from ..engine.tag import ATTRIBUTE, Tag
from ..engine.tags import TagDialect

MUSE = TagDialect(
    "muse",
    wrapper=Tag(("<atem:function_calls>",), end=("</atem:function_calls>",)),
    call=Tag(("<atem:invoke",), (">",), ("</atem:invoke>",), ATTRIBUTE),
    arguments="parameters",
    parameter=Tag(("<atem:parameter",), (">",), ("</atem:parameter>",), ATTRIBUTE),
)
