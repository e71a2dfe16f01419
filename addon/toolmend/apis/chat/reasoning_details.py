"""`reasoning_details`: OpenRouter's list of a model's reasoning and the proofs of it, in pieces.

    {"type": "reasoning.text", "text": "Hm.", "signature": "s", "format": "anthropic-claude-v1", "index": 0}
    {"type": "reasoning.summary", "summary": "Hm.", "index": 0}
    {"type": "reasoning.encrypted", "data": "gAAAA…", "id": "rs_1", "index": 1}

The list of one run of reasoning, its pieces joined, is the run's seal (kind "details"). A client whose upstream speaks another
API gets one entry per run, which it sends back and requests/chat/read.py opens:

    {"type": "reasoning.text", "text": "Hm.", "signature": ENVELOPE, "index": 0}    text in pieces, then the envelope
    {"type": "reasoning.encrypted", "data": ENVELOPE, "index": 1}                   a run without text

1. Joining the pieces of an entry loses nothing.
2. Every entry that toolmend writes has an index, and repeats no string but `type`: the openai SDK merges pieces by index, and
   concatenates all strings except that.
"""

from collections.abc import Mapping
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, ReasoningSeal, RefusalDelta, TextDelta, ToolCallDelta, ToolCallStart
from ...core.reasoning_state import ReasoningState, envelope

MAX_DETAILS = 4 * 1024 * 1024
"""Characters kept of one run's list. Encrypted reasoning takes some 100 KiB; a longer run gets no seal."""

_ENDS_RUN = (TextDelta, RefusalDelta, ReasoningSeal, ToolCallStart, ToolCallDelta, Finish)
_JOINED = ("text", "summary", "data")
_TEXT = ("text", "summary")


def text_of(details: Any) -> str:
    """The readable text of a list."""
    return "".join(_text(entry) for entry in _entries(details))


def with_text(details: Any, text: str) -> list[Any]:
    """Replaces the text of a list. The first entry that had text gets all of it; other entries are dropped if nothing is left."""
    out: list[Any] = []
    for entry in details:
        name = _text_member(entry) if isinstance(entry, dict) else None
        if not name:
            out.append(entry)
            continue
        if text or entry.get("signature") or entry.get("data"):
            out.append({**entry, name: text})
        text = ""
    return out


class DetailRun:
    """Joins the list of one run from its pieces. The pieces of one entry follow each other."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._pieces: list[dict[str, list[str]]] = []  # of the texts of each entry
        self._size = 0

    def add(self, details: Any) -> None:
        """Adds the list of one delta."""
        for entry in _entries(details):
            self._size += _size(entry)
            if self._size > MAX_DETAILS:
                self._entries.clear()
                self._pieces.clear()
                return
            if not (self._entries and _is_continued(self._entries[-1], entry)):
                self._entries.append({})
                self._pieces.append({})
            whole, pieces = self._entries[-1], self._pieces[-1]
            for name, value in entry.items():
                if name in _JOINED and isinstance(value, str):
                    pieces.setdefault(name, []).append(value)
                    whole.setdefault(name, "")
                elif whole.get(name) is None:
                    whole[name] = value

    def seal(self) -> ReasoningState | None:
        """The whole list as a seal; None if there is none."""
        entries = [
            {**whole, **{name: "".join(texts) for name, texts in pieces.items()}}
            for whole, pieces in zip(self._entries, self._pieces, strict=True)
        ]
        return ReasoningState("details", json_text.dumps(entries)) if entries else None


def put_seal(runs: dict[int, DetailRun], choice: int, events: list[Event], first: int, *, whole: bool) -> None:
    """Inserts the seal of a choice's run before the first event that ends the run.

    Args:
        runs: The open runs by choice; the run is removed when it ends.
        choice: The choice.
        events: Where the seal is inserted.
        first: Index of the first event that may end the run.
        whole: The events are a whole message, so the run ends after them at the latest.
    """
    ends = (at for at in range(first, len(events)) if isinstance(events[at], _ENDS_RUN))
    at = next(ends, len(events) if whole else None)
    if at is not None and (seal := runs.pop(choice).seal()):
        events.insert(at, ReasoningSeal(seal, choice))


def text_entry(text: str, run: int) -> dict[str, Any]:
    """The entry for a piece of a run's text."""
    return {"type": "reasoning.text", "text": text, "index": run}


def sealed(seal: ReasoningState, run: int, *, has_text: bool) -> list[Any]:
    """The list that seals a run for a client. `has_text`: the client was sent text of the run."""
    if seal.kind == "details":
        try:
            return _entries(json_text.loads(seal.data.encode(errors="surrogatepass")))
        except json_text.NotJSON:
            return []
    if has_text:
        return [{"type": "reasoning.text", "signature": envelope(seal), "index": run}]
    return [{"type": "reasoning.encrypted", "data": envelope(seal), "index": run}]


def _size(entry: Mapping[str, Any]) -> int:
    try:
        return len(json_text.dumps([entry]))
    except RecursionError:  # nested too deeply to be serialised
        return MAX_DETAILS + 1


def _is_continued(whole: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Whether an entry continues the one before it."""
    if any(whole.get(name) != entry.get(name) for name in ("type", "index")):
        return False
    ids = whole.get("id"), entry.get("id")
    if None not in ids and ids[0] != ids[1]:
        return False
    return "data" not in entry or entry.get("index") is not None  # two secrets are separate unless they share an index


def _text(entry: Mapping[str, Any]) -> str:
    name = _text_member(entry)
    return str(entry[name]) if name else ""


def _text_member(entry: Mapping[str, Any]) -> str | None:
    """The name of the member that holds an entry's text; None if there is none."""
    return next((name for name in _TEXT if isinstance(text := entry.get(name), str) and text), None)


def _entries(details: Any) -> list[Any]:
    return [entry for entry in details if isinstance(entry, dict)] if isinstance(details, list) else []
