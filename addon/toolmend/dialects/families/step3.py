"""Step3: XML elements with the prefix `steptml:`, between tokens.

    <｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="read_file">
    <steptml:parameter name="path">a.md</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>

`｜` is U+FF5C; the underscore is plain. Source: the Step3 chat template.
"""

from ..engine.tag import ATTRIBUTE, Tag
from ..engine.tags import TagDialect

STEP3 = TagDialect(
    "step3",
    wrapper=Tag(
        ("<｜tool_calls_begin｜>", "<｜tool_call_begin｜>function<｜tool_sep｜>"),
        end=("<｜tool_call_end｜>", "<｜tool_calls_end｜>"),
    ),
    call=Tag(("<steptml:invoke",), (">",), ("</steptml:invoke>",), ATTRIBUTE),
    arguments="parameters",
    parameter=Tag(("<steptml:parameter",), (">",), ("</steptml:parameter>",), ATTRIBUTE),
)
