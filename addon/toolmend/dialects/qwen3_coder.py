"""Qwen3-Coder and its kin (Qwen3.5 to 3.8, Nemotron 3, Step-3.5, MiMo), and Seed-OSS.

    <tool_call>
    <function=read_file>
    <parameter=path>
    a.md
    </parameter>
    </function>
    </tool_call>

The opening `<tool_call>` is often missing (3 of 16 turns). One newline before and one behind each value is markup; Seed-OSS
writes none, so there newlines are data. Source: the chat templates of Qwen3-Coder and Seed-OSS.
"""

from .tag import Tag
from .tags import TagDialect

_CALL = Tag(("<function=",), (">",), ("</function>",))

QWEN3_CODER = TagDialect(
    "qwen3_coder",
    wrapper=Tag(("<tool_call>",), end=("</tool_call>",)),
    call=_CALL,
    arguments="parameters",
    parameter=Tag(("<parameter=",), (">\n", ">\r\n", ">"), ("\n</parameter>", "\r\n</parameter>", "</parameter>")),
    ambiguous=True,
)
SEED_OSS = TagDialect(
    "seed_oss",
    wrapper=Tag(("<seed:tool_call>",), end=("</seed:tool_call>",)),
    call=_CALL,
    arguments="parameters",
    parameter=Tag(("<parameter=",), (">",), ("</parameter>",)),
    bare=False,
)
