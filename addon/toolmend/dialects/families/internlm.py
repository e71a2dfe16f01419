"""InternLM2 and Intern-S1: a JSON envelope between tokens.

    <|action_start|><|plugin|>
    {"name": "read_file", "parameters": {"path": "a.md"}}<|action_end|>

There may be a blank between the tokens. Source: the InternLM2 chat format.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect

INTERNLM = TagDialect(
    "internlm",
    wrapper=Tag(("<|action_start|>",), end=("<|action_end|>",)),
    call=Tag(("<|plugin|>",)),
    arguments="envelope",
)
