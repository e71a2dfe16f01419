"""PLaMo 3: name and JSON arguments between tokens.

    <|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>read_file<|plamo:end_tool_name:plamo|>
    <|plamo:begin_tool_arguments:plamo|>{"path": "a.md"}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>

Newlines between the tokens are optional. Source: the PLaMo 3 chat template.
"""

import re

from ..engine.tag import NAME, Tag
from ..engine.tags import TagDialect


def _token(name: str) -> str:
    return f"<|plamo:{name}:plamo|>"


PLAMO3 = TagDialect(
    "plamo3",
    wrapper=Tag(
        (_token("begin_tool_requests"), _token("begin_tool_request")),
        end=(_token("end_tool_request"), _token("end_tool_requests")),
    ),
    call=Tag(
        (_token("begin_tool_name"),),
        tuple(f"{_token('end_tool_name')}{gap}{_token('begin_tool_arguments')}" for gap in ("", "\n")),
        (_token("end_tool_arguments"),),
        NAME,
        re.compile(r"[^<>{}]*"),
    ),
)
