"""MiniMax M2, M2.1, M2.5, M2.7; and dots and Muse, which differ in the names of the tags alone.

    <minimax:tool_call>
    <invoke name="read_file">
    <parameter name="path">a.md</parameter>
    <parameter name="limit">20</parameter>
    </invoke>
    </minimax:tool_call>

Values are raw text: no entity is decoded. The wrapper may be missing, which only a profile can tell from other XML. Source:
MiniMax-M2 chat template and docs/tool_calling_guide.md.
"""

from .tag import ATTRIBUTE, Tag
from .tags import TagDialect

_INVOKE = Tag(("<invoke",), (">",), ("</invoke>",), ATTRIBUTE)
_PARAMETER = Tag(("<parameter",), (">",), ("</parameter>",), ATTRIBUTE)
_WRAPPER = Tag(("<minimax:tool_call>",), end=("</minimax:tool_call>",))

MINIMAX_M2 = TagDialect(
    "minimax_m2", wrapper=_WRAPPER, call=_INVOKE, arguments="parameters", parameter=_PARAMETER, bare=False
)
MINIMAX_INVOKE = TagDialect(
    "minimax_invoke", wrapper=_WRAPPER, call=_INVOKE, arguments="parameters", parameter=_PARAMETER, ambiguous=True
)
DOTS = TagDialect(
    "dots",
    wrapper=Tag(("<dots_function_call>",), end=("</dots_function_call>",)),
    call=_INVOKE,
    arguments="parameters",
    parameter=_PARAMETER,
    bare=False,
)
MUSE = TagDialect(
    "muse",
    wrapper=Tag(("<atem:function_calls>",), end=("</atem:function_calls>",)),
    call=Tag(("<atem:invoke",), (">",), ("</atem:invoke>",), ATTRIBUTE),
    arguments="parameters",
    parameter=Tag(("<atem:parameter",), (">",), ("</atem:parameter>",), ATTRIBUTE),
)
