r"""GLM-4.5 to 5.x, also Ling3, Spark2.5, poolside.

    <tool_call>read_file
    <arg_key>path</arg_key>
    <arg_value>a.md</arg_value>
    </tool_call>

4.7 and later write no newlines, and a call without arguments is `<tool_call>get_time</tool_call>`. Some write the two characters
`\` `n` for each newline. Source: the GLM-4.5 and GLM-4.6 chat templates.
"""

import re

from .tag import Tag
from .tags import TagDialect

NAME = re.compile(r"(?P<name>[^\s<>{}\\]+)")
_NAME_CHARACTERS = re.compile(r"[^<>{}\\]*")
_KEY = re.compile(r"(?P<name>[^<>]+)")
_KEY_CHARACTERS = re.compile(r"[^<>]*")
_GAPS = ("", "\n", "\\n", " ", "\r\n")


def pair(prefix: str = "", suffixes: tuple[str, ...] = ("",)) -> Tag:
    """The tags of a key and its value; the prefix stands before, one of the suffixes behind the names of all."""
    return Tag(
        tuple(f"{gap}<{prefix}arg_key{suffix}>" for suffix in suffixes for gap in ("", "\\n")),
        tuple(f"</{prefix}arg_key{suffix}>{gap}<{prefix}arg_value{suffix}>" for suffix in suffixes for gap in _GAPS),
        tuple(f"</{prefix}arg_value{suffix}>{gap}" for suffix in suffixes for gap in ("", "\\n")),
        _KEY,
        _KEY_CHARACTERS,
    )


GLM = TagDialect(
    "glm",
    call=Tag(("<tool_call>",), end=("</tool_call>", "\\n</tool_call>"), header=NAME, characters=_NAME_CHARACTERS),
    arguments="parameters",
    parameter=pair(),
    ambiguous=True,
)
