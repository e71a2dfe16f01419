"""Seed-OSS: like Qwen3-Coder, with another wrapper, and newlines in values are data.

    <seed:tool_call>
    <function=read_file>
    <parameter=path>a.md</parameter>
    </function>
    </seed:tool_call>

Source: the Seed-OSS chat template.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect
from .qwen3_coder import CALL

SEED_OSS = TagDialect(
    "seed_oss",
    wrapper=Tag(("<seed:tool_call>",), end=("</seed:tool_call>",)),
    call=CALL,
    arguments="parameters",
    parameter=Tag(("<parameter=",), (">",), ("</parameter>",)),
    bare=False,
)
