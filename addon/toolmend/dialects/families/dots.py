"""dots: Anthropic's `<invoke>` in another wrapper.

    <dots_function_call><invoke name="read_file"><parameter name="path">a.md</parameter></invoke></dots_function_call>

Source: the dots chat template.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect
from .anthropic import CALL, PARAMETER

DOTS = TagDialect(
    "dots",
    wrapper=Tag(("<dots_function_call>",), end=("</dots_function_call>",)),
    call=CALL,
    arguments="parameters",
    parameter=PARAMETER,
    bare=False,
)
