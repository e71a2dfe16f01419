"""Phi-4-mini: a JSON array of envelopes after the word `functools`.

    functools[{"name": "read_file", "arguments": {"path": "a.md"}}]

Source: vLLM's phi4mini parser.
"""

from ..engine.tag import Tag
from ..engine.tags import TagDialect

PHI = TagDialect("phi", call=Tag(("functools",)), arguments="envelope", place="word")
