"""Hunyuan V3 and V4: like GLM, with a token between name and arguments.

    <tool_calls><tool_call>read_file<tool_sep><arg_key>path</arg_key><arg_value>a.md</arg_value></tool_call></tool_calls>

The tags of a checkpoint may carry a label: `<tool_call:opensource>`. Source: the Hunyuan chat templates.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect
from .glm import NAME, pair

_SUFFIXES = ("", ":opensource")

HUNYUAN = TagDialect(
    "hunyuan",
    wrapper=Tag(tuple(f"<tool_calls{s}>" for s in _SUFFIXES), end=tuple(f"</tool_calls{s}>" for s in _SUFFIXES)),
    call=Tag(
        tuple(f"<tool_call{s}>" for s in _SUFFIXES),
        tuple(f"<tool_sep{s}>" for s in _SUFFIXES),
        tuple(f"</tool_call{s}>" for s in _SUFFIXES),
        header=NAME,
    ),
    arguments="parameters",
    parameter=pair(suffixes=_SUFFIXES),
    bare=False,
)
