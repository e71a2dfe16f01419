"""Built-in dialects as `[[dialect]]` tables, from which a table of one's own can start.

    table_of(DIALECTS["hermes"])    → {"name": "my-hermes", "arguments": "envelope", "begin": ["<tool_call>"], …}
    table_of(DIALECTS["harmony"])   → None; NO_TABLE["harmony"] has the reason and a similar dialect

A dialect of tags is translated. PLAIN_FORMS has the usual form of those with rules of their own, without these rules.
"""

from collections.abc import Mapping
from typing import Any

from ..dialects.engine.dialect import Dialect
from ..dialects.engine.tag import ATTRIBUTE, Tag
from ..dialects.engine.tags import TagDialect

PLAIN_FORMS: Mapping[str, Mapping[str, Any]] = {
    "kimi_k2": {
        "arguments": "json",
        "begin": ["<|tool_call_begin|>"],
        "separator": ["<|tool_call_argument_begin|>"],
        "end": ["<|tool_call_end|>"],
        "pattern": r"(?:functions\.)?(?P<name>[\w./-]+?)(?::\d{1,4})?\s?",
        "wrapper": {"begin": ["<|tool_calls_section_begin|>"], "end": ["<|tool_calls_section_end|>"]},
    },
    "deepseek_v3": {
        "arguments": "json",
        "begin": ["<｜tool▁call▁begin｜>"],
        "separator": ["<｜tool▁sep｜>"],
        "end": ["<｜tool▁call▁end｜>"],
        "wrapper": {"begin": ["<｜tool▁calls▁begin｜>"], "end": ["<｜tool▁calls▁end｜>"]},
    },
    "dsml": {
        "arguments": "parameters",
        "begin": ['<｜DSML｜invoke name="'],
        "separator": ['">'],
        "end": ["</｜DSML｜invoke>"],
        "wrapper": {"begin": ["<｜DSML｜function_calls>"], "end": ["</｜DSML｜function_calls>"]},
        "parameter": {
            "begin": ['<｜DSML｜parameter name="'],
            "separator": [">"],
            "end": ["</｜DSML｜parameter>"],
            "pattern": r'(?P<name>[\w.:-]+)" string="(?P<string>true|false)"',
        },
    },
    "hunyuan": {
        "arguments": "parameters",
        "begin": ["<tool_call>"],
        "separator": ["<tool_sep>"],
        "end": ["</tool_call>"],
        "wrapper": {"begin": ["<tool_calls>"], "end": ["</tool_calls>"]},
        "parameter": {
            "begin": ["<arg_key>"],
            "separator": ["</arg_key>\n<arg_value>", "</arg_key><arg_value>"],
            "end": ["</arg_value>"],
        },
    },
    "mistral": {"arguments": "json", "begin": ["[TOOL_CALLS]"], "separator": ["[ARGS]"]},
    "claude": {
        "arguments": "parameters",
        "begin": ['<invoke name="'],
        "separator": ['">'],
        "end": ["</invoke>"],
        "wrapper": {"begin": ["<function_calls>"], "end": ["</function_calls>"]},
        "parameter": {"begin": ['<parameter name="'], "separator": ['">'], "end": ["</parameter>"]},
    },
    "qwen3_named": {
        "arguments": "parameters",
        "begin": ['<function name="'],
        "separator": ['">'],
        "end": ["</function>"],
        "wrapper": {"begin": ["<tool_call>"], "end": ["</tool_call>"]},
        "parameter": {"begin": ['<parameter name="'], "separator": ['">'], "end": ["</parameter>"]},
    },
    "minicpm": {
        "arguments": "parameters",
        "begin": ['<function name="'],
        "separator": ['">'],
        "end": ["</function>"],
        "parameter": {"begin": ['<param name="'], "separator": ['">'], "end": ["</param>"]},
    },
    "call_record": {
        "arguments": "parameters",
        "begin": ['<call_record tool="'],
        "separator": ['">'],
        "end": ["</call_record>"],
        "parameter": {"begin": ['<parameter name="'], "separator": ['">'], "end": ["</parameter>"]},
    },
    "glm": {
        "arguments": "parameters",
        "begin": ["<tool_call>"],
        "end": ["</tool_call>"],
        "parameter": {
            "begin": ["<arg_key>"],
            "separator": ["</arg_key>\n<arg_value>", "</arg_key><arg_value>"],
            "end": ["</arg_value>"],
        },
    },
    "minimax_m3": {
        "arguments": "parameters",
        "begin": [']<]minimax[>[<invoke name="'],
        "separator": ['">'],
        "end": ["]<]minimax[>[</invoke>"],
        "wrapper": {"begin": ["]<]minimax[>[<tool_call>"], "end": ["]<]minimax[>[</tool_call>"]},
        "parameter": {"begin": ["]<]minimax[>[<"], "separator": [">"], "end": ["]<]minimax[>[</{key}>"]},
    },
    "inkling": {
        "arguments": "envelope",
        "begin": ["<|content_invoke_tool_json|>"],
        "end": ["<|end_message|>"],
        "keys": {"name": ["name"], "arguments": ["args"]},
    },
    "json_tools": {"arguments": "envelope", "begin": ["<tools>"], "end": ["</tools>"]},
}
"""Dialect → the fields of its usual form, but for name, place and strict. Damaged and rare forms need the built-in dialect."""

_JSON = "its calls are JSON that no tag marks"
_LITERALS = "its arguments are not JSON, but in the notation of a language"
_MESSAGES = "its calls are messages, with the tool's name in the header"

NO_TABLE: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("json_array", "json_object", "fence", "hermes_openerless", "cohere_action"), (_JSON, "json_tools")),
    **dict.fromkeys(("llama_python", "olmo3", "lfm2", "python_list", "tool_code", "minimax_arrow"), (_LITERALS, "internlm")),
    **dict.fromkeys(("gemma4", "functiongemma", "gemini", "gemma_stripped", "gemma_headless"), (_LITERALS, "internlm")),
    **dict.fromkeys(("harmony", "harmony_stripped", "harmony_recipient"), (_MESSAGES, "kimi_k2")),
    **dict.fromkeys(("xml_call", "xml_misspelt"), ("its tags are the names of the tools and parameters", "call_record")),
    "apertus": ("the tool's name is the key of its arguments", "nemotron"),
    "kimi_k3": ("its tags have several attributes, and state the types of the values", "seed_oss"),
}
"""Dialect → why no table can describe it, and a similar dialect that has a table."""


def table_of(dialect: Dialect) -> dict[str, Any] | None:
    """Returns the table fields that describe a built-in dialect; None for one in NO_TABLE."""
    plain = PLAIN_FORMS.get(dialect.name)
    fields = dict(plain) if plain else _of_tags(dialect) if type(dialect) is TagDialect else None
    if fields is None:
        return None
    head = {"name": f"my-{dialect.name}".replace(".", "-")}
    return head | fields | {"place": "line" if dialect.ambiguous else "any"} | ({} if dialect.ambiguous else {"strict": False})


def _of_tags(dialect: TagDialect) -> dict[str, Any] | None:
    parameter = _tag_fields(dialect.parameter) if dialect.arguments == "parameters" else {}
    call = _tag_fields(dialect.call)
    if call is None or parameter is None or (dialect.arguments != "envelope" and not call.get("begin")):
        return None
    fields: dict[str, Any] = {"arguments": dialect.arguments, **call}
    if dialect.wrapper.begin or dialect.wrapper.end:
        parts = {"begin": dialect.wrapper.begin, "end": dialect.wrapper.end}
        fields["wrapper"] = {part: list(texts) for part, texts in parts.items() if texts}
    return fields | ({"parameter": parameter} if parameter else {})


def _tag_fields(tag: Tag) -> dict[str, Any] | None:
    """Returns the fields of a tag, with an attribute's name in `begin`; None if a table cannot describe its header."""
    begin, separator = tag.begin, tag.separator
    if tag.header.pattern == ATTRIBUTE.pattern:
        begin = tuple(f'{text} name="' for text in begin)
        separator = tuple(f'"{text}' for text in separator)
    elif "(?=" in tag.header.pattern or "(?:" in tag.header.pattern:
        return None
    found = {"begin": list(begin), "separator": list(separator), "end": list(tag.end)}
    return {part: texts for part, texts in found.items() if texts}
