"""Qwen3-Coder and its kin: Qwen3.5 to 3.8, Nemotron 3, Step-3.5, MiMo.

    <tool_call>
    <function=read_file>
    <parameter=path>
    a.md
    </parameter>
    </function>
    </tool_call>

The opening `<tool_call>` is often missing (3 of 16 turns). One newline before and one behind each value is markup. Source:
the Qwen3-Coder chat template.
"""

from .tag import QUOTED, Tag
from .tags import TagDialect

CALL = Tag(("<function=",), (">",), ("</function>",), QUOTED)

QWEN3_CODER = TagDialect(
    "qwen3_coder",
    wrapper=Tag(("<tool_call>",), end=("</tool_call>",)),
    call=CALL,
    arguments="parameters",
    parameter=Tag(("<parameter=",), (">\n", ">\r\n", ">"), ("\n</parameter>", "\r\n</parameter>", "</parameter>"), QUOTED),
    ambiguous=True,
)
