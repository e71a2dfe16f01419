"""OpenRouter's `reasoning_details`, as a client sends them back: whole, or in the pieces in which they were streamed.

    [{"type": "reasoning.text", "text": "H", "index": 0}, {"type": "reasoning.text", "text": "m", "signature": "s", "index": 0}]
    →  [{"type": "reasoning.text", "text": "Hm", "signature": "s", "index": 0}]

Rule of this file: pieces are joined as apis/chat_details.py joins them while they stream.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..apis.chat.reasoning_details import DetailRun
from ..core import json_text


def joined(details: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The entries, whole. One that is signed is over."""
    entries: list[Mapping[str, Any]] = []
    run = DetailRun()
    for entry in details:
        run.add([entry])
        if entry.get("signature"):
            entries += _read(run)
            run = DetailRun()
    return entries + _read(run)


def _read(run: DetailRun) -> list[Mapping[str, Any]]:
    seal = run.seal()
    return json_text.loads(seal.data.encode(errors="surrogatepass")) if seal else []
