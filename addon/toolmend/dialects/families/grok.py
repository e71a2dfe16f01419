"""Grok: XML elements with the prefix `xai:`.

    <xai:function_call name="read_file"><parameter name="path">a.md</parameter></xai:function_call>

The prefix is unmistakable. Source: leaks of Grok 4 and Grok Code.
"""

from ..engine.tag import ATTRIBUTE, Tag
from ..engine.tags import TagDialect
from .anthropic import PARAMETER

GROK = TagDialect(
    "grok",
    wrapper=Tag(("<xai:function_calls>",), end=("</xai:function_calls>",)),
    call=Tag(("<xai:function_call ",), (">",), ("</xai:function_call>",), ATTRIBUTE),
    arguments="parameters",
    parameter=PARAMETER,
)
