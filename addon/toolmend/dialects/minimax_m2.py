"""MiniMax M2, M2.1, M2.5, M2.7.

    <minimax:tool_call>
    <invoke name="read_file">
    <parameter name="path">a.md</parameter>
    <parameter name="limit">20</parameter>
    </invoke>
    </minimax:tool_call>

Values are raw text: no entity is decoded. Without the wrapper it is what anthropic.py reads. Source: MiniMax-M2 chat template and
docs/tool_calling_guide.md.
"""

from .anthropic import CALL, PARAMETER
from .tag import Tag
from .tags import TagDialect

MINIMAX_M2 = TagDialect(
    "minimax_m2",
    wrapper=Tag(("<minimax:tool_call>",), end=("</minimax:tool_call>",)),
    call=CALL,
    arguments="parameters",
    parameter=PARAMETER,
    bare=False,
)
