"""Nemotron models based on Llama and Mistral (Nemotron Super and Ultra 1, Nano 4B and 8B): envelopes in `<TOOLCALL>`.

    <TOOLCALL>[{"name": "read_file", "arguments": {"path": "a.md"}}]</TOOLCALL>

Source: the Llama-Nemotron chat templates; leaks as in dynamo#10115.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect

NEMOTRON = TagDialect(
    "nemotron",
    call=Tag(("<TOOLCALL>",), end=("</TOOLCALL>", "</toolcall>", "</TOOL_CALL>", "</TOOLCALLS>")),
    arguments="envelope",
)
