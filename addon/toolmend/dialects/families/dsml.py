"""DeepSeek V3.2, V4 and V4.1 (DSML): the leak with the most evidence.

    <｜DSML｜function_calls>
    <｜DSML｜invoke name="read_file">
    <｜DSML｜parameter name="path" string="true">a.md</｜DSML｜parameter>
    <｜DSML｜parameter name="limit" string="false">20</｜DSML｜parameter>
    </｜DSML｜invoke>
    </｜DSML｜function_calls>

`｜` is U+FF5C. In the wild the bars are one or two of `｜`, `|` and `‖`, with or without blanks around them, and each model also
writes the block names of the others. Source: the encoding and template of DeepSeek-V3.2, and leaks in cline#13348,
GenericAgent#804 and others.
"""

from itertools import product

from ..engine.tag import ATTRIBUTE, Tag
from ..engine.tags import TagDialect

_BARS = ("｜", "|", "‖", "｜｜", "||", "‖‖")
_SPLIT = (("", "", "", "\n"), ("", "", "", "\n "))
"""A tag over two lines (deepseek-web-api#11)."""

_BLANKS = (*((a, b, b, d) for a, b, d in product(("", " "), repeat=3)), *_SPLIT)
"""Blanks before and after the first bar, before and after the second bar."""
_UNSPACED = (("", "", "", ""), ("", "", "", " "))
_BLOCKS = ("function_calls", "tool_calls", "toolcalls", "tool_use", "calls", "tool")


def _marks(slash: str, *names: str, blanks: tuple[tuple[str, ...], ...] = _BLANKS) -> tuple[str, ...]:
    """All spellings of the beginning of a tag."""
    return tuple(f"<{slash}{a}{bars}{b}DSML{c}{bars}{d}{name}" for name, bars, (a, b, c, d) in product(names, _BARS, blanks))


DSML = TagDialect(
    "dsml",
    wrapper=Tag(  # its begin tag may lack the `>` (openclaw#114888)
        (*_marks("", *(f"{block}>" for block in _BLOCKS)), *_marks("", *_BLOCKS, blanks=_UNSPACED)),
        end=_marks("/", *(f"{block}>" for block in _BLOCKS)),
    ),
    call=Tag(_marks("", "invoke"), (">",), _marks("/", "invoke>"), ATTRIBUTE),
    arguments="parameters",
    parameter=Tag(_marks("", "parameter"), (">",), _marks("/", "parameter>"), ATTRIBUTE),
)
