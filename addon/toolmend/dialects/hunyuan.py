"""Hunyuan V3 and V4.

    <tool_calls><tool_call>read_file<tool_sep><arg_key>path</arg_key><arg_value>a.md</arg_value></tool_call></tool_calls>

Source: the Hunyuan chat templates.
"""

from .glm import NAME, pair
from .tag import Tag
from .tags import TagDialect

HUNYUAN = TagDialect(
    "hunyuan",
    wrapper=Tag(("<tool_calls>",), end=("</tool_calls>",)),
    call=Tag(("<tool_call>",), ("<tool_sep>",), ("</tool_call>",), header=NAME),
    arguments="parameters",
    parameter=pair(""),
    bare=False,
)
