"""What proves a model's reasoning, or a call, to the upstream that made it: the envelope in which clients of another API keep it.

    kind "signature"  of an Anthropic thinking block
         "redacted"   the data of an Anthropic redacted_thinking block, which has no text
         "encrypted"  of a Responses reasoning item: JSON text of {"id", "encrypted_content"}
         "details"    of Chat Completions: JSON text of the list `reasoning_details`, as OpenRouter sends it
         "call"       of the call behind it, in Chat Completions as Gemini speaks it: JSON text of {"id", "extra_content"}
         "plain"      nothing: the reasoning is text alone, and the upstream wants that back
         "summary"    of the conversation up to here: the text of a `compaction` item, see requests/compaction.py

Rule of this file: a seal is opaque, and comes back byte for byte. Clients return what stands in `signature` (Messages) or
`encrypted_content` (Responses) unread, so any other kind travels there in an envelope of ours.
"""

import base64
import binascii
from typing import Literal, get_args

from .fastclass import value

type Kind = Literal["signature", "redacted", "encrypted", "details", "call", "plain", "summary"]

MARK = "toolmend1."
"""What every envelope begins with."""
_KINDS = frozenset(get_args(Kind.__value__))


@value
class ReasoningState:
    """`data` is as the upstream spelt it."""

    kind: Kind
    data: str = ""


def envelope(seal: ReasoningState) -> str:
    """A seal as one word of ASCII: `toolmend1.details.W3sid…`."""
    return f"{MARK}{seal.kind}.{base64.urlsafe_b64encode(seal.data.encode(errors='surrogatepass')).decode()}"


def opened(text: str) -> ReasoningState | None:
    """The seal that an envelope holds; None if it is none of ours."""
    kind, dot, data = text.removeprefix(MARK).partition(".")
    if not (text.startswith(MARK) and dot and kind in _KINDS):
        return None
    try:
        return ReasoningState(kind, base64.urlsafe_b64decode(data).decode(errors="surrogatepass"))  # type: ignore[arg-type]
    except (binascii.Error, ValueError):
        return None
