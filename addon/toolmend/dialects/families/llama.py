"""Llama 3.1, 3.2, 3.3 and 4, with their tag. Without it, calls are bare JSON (open_json.py).

    <|python_tag|>{"name": "read_file", "parameters": {"path": "a.md"}}; {"name": "get_time", "parameters": {"zone": "UTC"}}

Also `<function=read_file>{"path": "a.md"}</function>`, the form in Meta's prompts for Llama 3.1, which qwen3_coder.py parses.
Calls are separated by `;` or a newline, or each has a tag. Source: the Llama 3 model cards, and vLLM's and SGLang's parsers.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect

LLAMA = TagDialect("llama", call=Tag(("<|python_tag|>",), end=("<|eom_id|>", "<|eot_id|>")), arguments="envelope")
