"""`reasoning_details`: the list in which OpenRouter puts what a model thinks and what proves it, in pieces.

    {"type": "reasoning.text", "text": "Hm.", "signature": "s", "format": "anthropic-claude-v1", "index": 0}
    {"type": "reasoning.summary", "summary": "Hm.", "index": 0}
    {"type": "reasoning.encrypted", "data": "gAAAA…", "id": "rs_1", "index": 1}

The list of a run of reasoning, its pieces joined, is the seal of it (kind "details"). A client whose upstream speaks another
API gets one entry for each run, which comes back as it was and is opened by requests/chat_read.py:

    {"type": "reasoning.text", "text": "Hm.", "signature": ENVELOPE, "index": 0}    text comes in pieces, the envelope behind it
    {"type": "reasoning.encrypted", "data": ENVELOPE, "index": 1}                   a run without text

Rule of this file: nothing of an entry is lost but where it was cut. Every entry of ours has an index, and says nothing twice
but its type: the openai SDK puts pieces together by index, and joins all strings but that.
"""

from collections.abc import Mapping
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, ReasoningSeal, RefusalDelta, TextDelta, ToolCallDelta, ToolCallStart
from ...core.reasoning_state import ReasoningState, envelope

MAX_DETAILS = 4 * 1024 * 1024
"""Characters of one run's list that are kept. Encrypted reasoning takes some 100 KiB; a run that is longer has no seal."""

_BEHIND = (TextDelta, RefusalDelta, ReasoningSeal, ToolCallStart, ToolCallDelta, Finish)
_JOINED = ("text", "summary", "data")
_TEXT = ("text", "summary")


def text_of(details: Any) -> str:
    """What a list lets the user read."""
    return "".join(_text(entry) for entry in _entries(details))


def with_text(details: Any, text: str) -> list[Any]:
    """A list with another text, which stands in the first entry that had any. Entries that say nothing then are left out."""
    out: list[Any] = []
    for entry in details:
        name = _named(entry) if isinstance(entry, dict) else None
        if not name:
            out.append(entry)
            continue
        if text or entry.get("signature") or entry.get("data"):
            out.append({**entry, name: text})
        text = ""
    return out


class DetailRun:
    """The list of one run as it comes in pieces: those of one entry follow each other."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._pieces: list[dict[str, list[str]]] = []  # of the texts of each entry
        self._size = 0

    def add(self, details: Any) -> None:
        """One delta's list."""
        for entry in _entries(details):
            self._size += _size(entry)
            if self._size > MAX_DETAILS:
                self._entries.clear()
                self._pieces.clear()
                return
            if not (self._entries and _goes_on(self._entries[-1], entry)):
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
        """The whole list."""
        entries = [
            {**whole, **{name: "".join(texts) for name, texts in pieces.items()}}
            for whole, pieces in zip(self._entries, self._pieces, strict=True)
        ]
        return ReasoningState("details", json_text.dumps(entries)) if entries else None


def put_seal(runs: dict[int, DetailRun], choice: int, events: list[Event], first: int, *, whole: bool) -> None:
    """Ends the run of a choice where one of the events, from the `first` on, says something else; a whole message at its end."""
    ends = (at for at in range(first, len(events)) if isinstance(events[at], _BEHIND))
    at = next(ends, len(events) if whole else None)
    if at is not None and (seal := runs.pop(choice).seal()):
        events.insert(at, ReasoningSeal(seal, choice))


def text_entry(text: str, run: int) -> dict[str, Any]:
    """A piece of the text of a run, for a client."""
    return {"type": "reasoning.text", "text": text, "index": run}


def sealed(seal: ReasoningState, run: int, *, spoken: bool) -> list[Any]:
    """The list that seals a run, for a client; `spoken`: there was text."""
    if seal.kind == "details":
        try:
            return _entries(json_text.loads(seal.data.encode(errors="surrogatepass")))
        except json_text.NotJSON:
            return []
    if spoken:
        return [{"type": "reasoning.text", "signature": envelope(seal), "index": run}]
    return [{"type": "reasoning.encrypted", "data": envelope(seal), "index": run}]


def _size(entry: Mapping[str, Any]) -> int:
    try:
        return len(json_text.dumps([entry]))
    except RecursionError:  # it is nested too deeply to be written
        return MAX_DETAILS + 1


def _goes_on(whole: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Whether an entry is a piece of the one before it."""
    if any(whole.get(name) != entry.get(name) for name in ("type", "index")):
        return False
    ids = whole.get("id"), entry.get("id")
    if None not in ids and ids[0] != ids[1]:
        return False
    return "data" not in entry or entry.get("index") is not None  # two secrets are two, unless their index says one


def _text(entry: Mapping[str, Any]) -> str:
    name = _named(entry)
    return str(entry[name]) if name else ""


def _named(entry: Mapping[str, Any]) -> str | None:
    """The member of an entry that holds its text; None if there is none."""
    return next((name for name in _TEXT if isinstance(text := entry.get(name), str) and text), None)


def _entries(details: Any) -> list[Any]:
    return [entry for entry in details if isinstance(entry, dict)] if isinstance(details, list) else []
