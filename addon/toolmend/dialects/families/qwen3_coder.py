"""Qwen3-Coder and models with the same markup: Qwen3.5 to 3.8, Nemotron 3, Step-3.5, MiMo.

    <tool_call>
    <function=read_file>
    <parameter=path>
    a.md
    </parameter>
    </function>
    </tool_call>

The opening `<tool_call>` is often missing (3 of 16 turns). One newline before and one after each value is markup. Source: the
Qwen3-Coder chat template. Models deviate from it: `<parameter=path=a.md</parameter>` (Qwen3-Coder#457), the end tag of an earlier
model's block (Qwen3.8#178), the first character of a tag missing (`function=read_file>`), and attributes:

    <tool_call><function name="read_file"><parameter name="path">a.md</parameter></function></tool_call>
"""

import re

from ..engine.tag import QUOTED, Tag
from ..engine.tags import TagDialect

CALL = Tag(("<function=", "<function =", "<function\n="), (">",), ("</function>",), QUOTED)
_WRAPPER = Tag(("<tool_call>",), end=("</tool_call>", "</function_invocation>"))
_SEPARATORS = (">\n", ">\r\n", ">")
_ENDS = ("\n</parameter>", "\r\n</parameter>", "</parameter>")
_NAMED = re.compile(r"""(?:name\s*+)?=\s*+["']?\s*+(?P<name>[^\s<>{}"'=]++)\s*+["']?(?:(?<!\w)\s.*)?""")

QWEN3_CODER = TagDialect(
    "qwen3_coder",
    wrapper=_WRAPPER,
    call=CALL,
    arguments="parameters",
    parameter=Tag(("<parameter=",), (*_SEPARATORS, "=>\n", "=>", "="), _ENDS, QUOTED, re.compile(r"[^<>{}=]*")),
    ambiguous=True,
)
QWEN3_CUT = TagDialect(
    "qwen3_cut",
    wrapper=_WRAPPER,
    call=Tag(("function=",), (">",), ("</function>", "/function>"), QUOTED),
    arguments="parameters",
    parameter=Tag(("<parameter=", "parameter="), _SEPARATORS, (*_ENDS, "\n/parameter>"), QUOTED, re.compile(r"[^<>{}=]*")),
    ambiguous=True,
    place="line",
)
QWEN3_NAMED = TagDialect(
    "qwen3_named",
    wrapper=_WRAPPER,
    call=Tag(("<function ",), (">",), ("</function>",), _NAMED),
    arguments="parameters",
    parameter=Tag(("<parameter",), _SEPARATORS, _ENDS, _NAMED),
    ambiguous=True,
)
