"""Notes on what an answer loses when it is translated to another API.

The texts are fixed, because an upstream may name members as it likes, and any number of them.
"""

from collections.abc import Callable, Mapping
from typing import Any

FIELDS = frozenset({"audio", "images", "reasoning_opaque", "thinking_blocks"})
"""Members of a chunk, delta or message of Chat Completions that are not translated: of OpenAI, OpenRouter, Perplexity, Copilot
and LiteLLM. `reasoning_opaque` and `thinking_blocks` prove the reasoning; its text is in other members.
"""

CITED = "Citations of documents and files are left out of the answer: another API only cites web pages"
OTHER = "What is neither text nor reasoning nor a call of the client's tools is left out of the answer: it is not translated"


def note_fields(of: Mapping[str, Any], note: Callable[[str], None]) -> None:
    """Notes each of these members that has a value."""
    for name in sorted(FIELDS & of.keys()):
        if of[name]:
            note(f"`{name}` of the answer is left out: it is not translated")
