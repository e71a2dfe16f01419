"""MiniCPM5: XML elements, with CDATA around parameters or without.

    <function name="read_file"><param name="path"><![CDATA[a.md]]></param></function>

Source: the MiniCPM5 chat template.
"""

from ..engine.tag import ATTRIBUTE, Tag
from ..engine.tags import TagDialect


class MiniCPM(TagDialect):
    """A tag dialect that requires the name of an offered tool, as its tag is plain XML."""

    @property
    def offered_only(self) -> bool:
        return True


MINICPM = MiniCPM(
    "minicpm",
    call=Tag(("<function ",), (">",), ("</function>",), ATTRIBUTE),
    arguments="parameters",
    parameter=Tag(("<param ",), (">",), ("</param>",), ATTRIBUTE),
)
