"""Seals: opaque data that proves reasoning, or a call, to the upstream that made it, and the envelope that carries it.

    kind "signature"  of an Anthropic thinking block
         "redacted"   the data of an Anthropic redacted_thinking block, which has no text
         "encrypted"  of a Responses reasoning item: JSON text of {"id", "encrypted_content"}
         "details"    of Chat Completions: JSON text of the list `reasoning_details`, as OpenRouter sends it
         "call"       of the following call, in Gemini's Chat Completions: JSON text of {"id", "extra_content"}
         "plain"      empty: the reasoning is only text, and the upstream wants that back
         "summary"    of the conversation up to here: the text of a `compaction` item, see requests/compaction.py
         "compacted"  JSON text of a `compaction` item of Responses that only its provider can read

A seal is returned to its upstream byte for byte. Clients return `signature` (Messages) and `encrypted_content` (Responses)
unchanged, so seals of other kinds travel there in an envelope of toolmend.
"""

import base64
import binascii
from typing import Literal, get_args

from .fastclass import value

type Kind = Literal["signature", "redacted", "encrypted", "details", "call", "plain", "summary", "compacted"]

MARK = "toolmend1."
"""The prefix of every envelope."""
_KINDS = frozenset(get_args(Kind.__value__))


@value
class ReasoningState:
    """`data`: as the upstream wrote it."""

    kind: Kind
    data: str = ""


def envelope(seal: ReasoningState) -> str:
    """Returns a seal as one word of ASCII: `toolmend1.details.W3sid…`."""
    return f"{MARK}{seal.kind}.{base64.urlsafe_b64encode(seal.data.encode(errors='surrogatepass')).decode()}"


def opened(text: str) -> ReasoningState | None:
    """Returns the seal in an envelope; None if the text is not an envelope."""
    kind, dot, data = text.removeprefix(MARK).partition(".")
    if not (text.startswith(MARK) and dot and kind in _KINDS):
        return None
    try:
        return ReasoningState(kind, base64.urlsafe_b64decode(data).decode(errors="surrogatepass"))  # type: ignore[arg-type]
    except (binascii.Error, ValueError):
        return None
