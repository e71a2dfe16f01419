"""Joins OpenRouter's `reasoning_details` in a client's history: some clients send back the deltas of the stream.

    [{"type": "reasoning.text", "text": "H", "index": 0}, {"type": "reasoning.text", "text": "m", "signature": "s", "index": 0}]
    →  [{"type": "reasoning.text", "text": "Hm", "signature": "s", "index": 0}]

apis/chat/reasoning_details.py joins them while they stream.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..apis.chat.reasoning_details import DetailRun
from ..core import json_text


def joined_details(details: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Returns the complete entries; a signature ends an entry."""
    entries: list[Mapping[str, Any]] = []
    run = DetailRun()
    for entry in details:
        run.add([entry])
        if entry.get("signature"):
            entries += _entries(run)
            run = DetailRun()
    return entries + _entries(run)


def _entries(run: DetailRun) -> list[Mapping[str, Any]]:
    seal = run.seal()
    return json_text.loads(seal.data.encode(errors="surrogatepass")) if seal else []
