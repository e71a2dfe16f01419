"""K2-Horizon: like GLM, with the prefix `ifm|`.

    <ifm|tool_calls><ifm|tool_call>read_file<ifm|arg_key>path</ifm|arg_key><ifm|arg_value>a.md</ifm|arg_value></ifm|tool_call>
    </ifm|tool_calls>

Source: the K2-Horizon chat template.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect
from .glm import NAME, pair

K2_HORIZON = TagDialect(
    "k2_horizon",
    wrapper=Tag(("<ifm|tool_calls>",), end=("</ifm|tool_calls>",)),
    call=Tag(("<ifm|tool_call>",), end=("</ifm|tool_call>",), header=NAME),
    arguments="parameters",
    parameter=pair("ifm|"),
)
