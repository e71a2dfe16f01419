"""What an answer loses on its way to a client of another API, in the words of a note.

Rule of this file: the words are ours. An upstream may name things as it likes, and as many as it likes.
"""

from collections.abc import Callable, Mapping
from typing import Any

FIELDS = frozenset({"audio", "images", "reasoning_opaque", "thinking_blocks"})
"""Members of a chunk of Chat Completions, of a delta or a message, that are not translated: of OpenAI, OpenRouter, Perplexity,
Copilot and LiteLLM. Of `reasoning_opaque` and `thinking_blocks` it is what proves the reasoning; the text is read elsewhere."""

CITED = "Citations of documents and files are left out of the answer: another API only cites web pages"
OTHER = "What is neither text nor reasoning nor a call of the client's tools is left out of the answer: it is not translated"


def note_fields(of: Mapping[str, Any], note: Callable[[str], None]) -> None:
    """Tells of the members that have a value."""
    for name in sorted(FIELDS & of.keys()):
        if of[name]:
            note(f"`{name}` of the answer is left out: it is not translated")
