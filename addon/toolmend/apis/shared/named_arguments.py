"""Arguments that a native call has in its name, where the upstream's parser took all of the markup for the name.

    {"name": "read<arg_key>path</arg_key><arg_value>a.md</arg_value>", "arguments": "{}"}     (zai-org/GLM-5#84)
    {"name": "bash\\n<parameter=command>ls</parameter>", "arguments": ""}
    {"name": "read {\\"path\\": \\"a.md\\"}", "arguments": "{}"}

They count only where the tool declares all of them and misses none that it requires; the call's own arguments come first.
"""

import re

from ...core import json_text
from ...core.schema_values import to_json, types_of
from ...core.tools import Tools

MAX_NAME = 64 * 1024
"""Characters of a name that are read: more are no arguments that a model put there."""

_KEY_AND_VALUE = re.compile(r"<arg_key>\s*([^<>]*?)\s*</arg_key>\s*<arg_value>(.*?)(?:</arg_value>|\Z)", re.DOTALL)
_PARAMETER = re.compile(
    r"""<[^<>=]{0,16}\b(?:parameter|param)(?:=|\s[^<>]*?name\s*=\s*)["']?([\w.-]+)["']?[^<>]*>\n?(.*?)(?:\n?</[^<>]{0,16}\b(?:parameter|param)>|\Z)""",
    re.DOTALL,
)


def named_arguments(said: str, name: str, tools: Tools) -> str:
    """The JSON of the arguments in `said`, the upstream's name of a call of the tool `name`; "" if there are none."""
    rest = said.partition(name)[2].strip() if name in tools.schemas and len(said) <= MAX_NAME else ""
    if not rest:
        return ""
    begin, end = rest.find("{"), rest.rfind("}")
    found = _KEY_AND_VALUE.findall(rest) or _PARAMETER.findall(rest)
    if found:
        schema, properties = tools.schemas[name], tools.properties(name)
        given = {key: to_json(text, types_of(properties.get(key), schema)) for key, text in found}
        arguments = "{" + ", ".join(f"{json_text.quote(key)}: {text}" for key, text in given.items()) + "}"
    elif 0 <= begin < end:
        arguments = rest[begin : end + 1]
    else:
        return ""
    return arguments if tools.fits(name, arguments) else ""
