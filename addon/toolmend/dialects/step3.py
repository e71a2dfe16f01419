"""Step3, and MiniCPM5, whose parameters may stand in CDATA.

    <｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="read_file">
    <steptml:parameter name="path">a.md</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>

    <function name="read_file"><param name="path"><![CDATA[a.md]]></param></function>

`｜` is U+FF5C; the underscore is plain. Source: the chat templates of Step3 and MiniCPM5.
"""

from .tag import ATTRIBUTE, Tag
from .tags import TagDialect

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
MINICPM = TagDialect(
    "minicpm",
    call=Tag(("<function ",), (">",), ("</function>",), ATTRIBUTE),
    arguments="parameters",
    parameter=Tag(("<param ",), (">", "><![CDATA["), ("</param>", "]]></param>"), ATTRIBUTE),
)
