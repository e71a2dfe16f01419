"""An agent's form of earlier calls in the prompt, which the model copies for new ones (oh-my-pi#92: Gemini 3).

    <call_record tool="read_file">
    <parameter name="path">a.md</parameter>
    </call_record>

Source: the issue above.
"""

import re

from ..engine.tag import Tag
from ..engine.tags import TagDialect
from .anthropic import PARAMETER

_TOOL = re.compile(r"""tool\s*=\s*["']?(?P<name>[^\s"'<>=]+)["']?(?:\s.*)?""")

CALL_RECORD = TagDialect(
    "call_record",
    call=Tag(("<call_record",), (">",), ("</call_record>",), _TOOL),
    arguments="parameters",
    parameter=PARAMETER,
    ambiguous=True,
    place="line",
)
