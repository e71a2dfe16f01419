"""dots.

    <dots_function_call><invoke name="read_file"><parameter name="path">a.md</parameter></invoke></dots_function_call>

Source: the dots chat template.
"""

from .anthropic import CALL, PARAMETER
from .tag import Tag
from .tags import TagDialect

DOTS = TagDialect(
    "dots",
    wrapper=Tag(("<dots_function_call>",), end=("</dots_function_call>",)),
    call=CALL,
    arguments="parameters",
    parameter=PARAMETER,
    bare=False,
)
