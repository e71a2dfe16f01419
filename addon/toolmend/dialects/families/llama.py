"""Llama 3.1, 3.2, 3.3 and 4, where the tag is there; without it the calls are JSON in the open (open_json.py).

    <|python_tag|>{"name": "read_file", "parameters": {"path": "a.md"}}; {"name": "get_time", "parameters": {"zone": "UTC"}}

Also `<function=read_file>{"path": "a.md"}</function>`, as Meta's prompts of Llama 3.1 ask for it, which qwen3_coder.py reads.
Separated by `;` or a newline, or a tag for each. Source: the Llama 3 model cards, and vLLM's and SGLang's readers.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect

LLAMA = TagDialect("llama", call=Tag(("<|python_tag|>",), end=("<|eom_id|>", "<|eot_id|>")), arguments="envelope")
