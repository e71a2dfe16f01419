"""MiniMax M2, M2.1, M2.5, M2.7: Anthropic's `<invoke>` in another wrapper, or without one.

    <minimax:tool_call>
    <invoke name="read_file">
    <parameter name="path">a.md</parameter>
    <parameter name="limit">20</parameter>
    </invoke>
    </minimax:tool_call>

Values are raw text: no entity is decoded. The wrapper may be missing (`minimax_invoke`); then only a profile distinguishes calls
from other XML. Source: MiniMax-M2 chat template and docs/tool_calling_guide.md.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect
from .anthropic import CALL, PARAMETER

_WRAPPER = Tag(("<minimax:tool_call>",), end=("</minimax:tool_call>",))

MINIMAX_M2 = TagDialect("minimax_m2", CALL, _WRAPPER, "parameters", PARAMETER, bare=False)
MINIMAX_INVOKE = TagDialect("minimax_invoke", CALL, _WRAPPER, "parameters", PARAMETER, ambiguous=True)
