"""GigaChat 3: a JSON envelope after a token.

    <|function_call|>{"name": "read_file", "arguments": {"path": "a.md"}}

Source: the GigaChat 3 chat template; some servers write the token as the words `function call`.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect

GIGACHAT = TagDialect(
    "gigachat", call=Tag(("<|function_call|>", "function call<|role_sep|>")), arguments="envelope", place="word"
)
