"""Arguments in the name of a native call, where the upstream's parser took all of the markup for the name.

    {"name": "read<arg_key>path</arg_key><arg_value>a.md</arg_value>", "arguments": "{}"}     (zai-org/GLM-5#84)
    {"name": "bash\\n<parameter=command>ls</parameter>", "arguments": ""}
    {"name": "read {\\"path\\": \\"a.md\\"}", "arguments": "{}"}

They count only if the tool declares all of them, and none that it requires is missing; the call's own arguments take
precedence.
"""

import re

from ...core import json_text
from ...core.schema_values import to_json, types_of
from ...core.tools import Tools

MAX_NAME = 64 * 1024
"""Characters of a name that are read: a model does not write longer arguments there."""

_KEY_AND_VALUE = re.compile(r"<arg_key>\s*([^<>]*?)\s*</arg_key>\s*<arg_value>(.*?)(?:</arg_value>|\Z)", re.DOTALL)
_PARAMETER = re.compile(
    r"""<[^<>=]{0,16}\b(?:parameter|param)(?:=|\s[^<>]*?name\s*=\s*)["']?([\w.-]+)["']?[^<>]*>\n?(.*?)(?:\n?</[^<>]{0,16}\b(?:parameter|param)>|\Z)""",
    re.DOTALL,
)


def named_arguments(upstream_name: str, name: str, tools: Tools) -> str:
    """Returns the JSON of the arguments in a name; "" if there are none.

    Args:
        upstream_name: The name as the upstream sent it.
        name: The name of the tool.
        tools: The offered tools.
    """
    rest = upstream_name.partition(name)[2].strip() if name in tools.schemas and len(upstream_name) <= MAX_NAME else ""
    if not rest:
        return ""
    begin, end = rest.find("{"), rest.rfind("}")
    found = _KEY_AND_VALUE.findall(rest) or _PARAMETER.findall(rest)
    if found:
        schema, properties = tools.schemas[name], tools.properties(name)
        values = {key: to_json(text, types_of(properties.get(key), schema)) for key, text in found}
        arguments = "{" + ", ".join(f"{json_text.quote(key)}: {text}" for key, text in values.items()) + "}"
    elif 0 <= begin < end:
        arguments = rest[begin : end + 1]
    else:
        return ""
    return arguments if tools.fits(name, arguments) else ""
