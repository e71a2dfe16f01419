"""Writes the content of Chat Completions messages: text and parts, results of tools, reasoning of earlier turns.

    "Hi"        [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,…"}}]

Content is a string wherever that is equivalent. A text names each part that the upstream cannot read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core import json_text
from ...core.reasoning_state import ReasoningState
from ..conversation import Document, Image, Other, Part, TextPart, ThinkingPart, ToolResult
from ..fields import add_note
from ..request_limits import Quirks
from ..server_tools import as_text
from ..stand_ins import EMPTY_RESULT, ERROR

type Entry = dict[str, Any]

SHOWN = "Shown by the tools above:"

_PLAIN = {"type", "text"}
_BETWEEN = "\n\n"
_ANTHROPIC = "anthropic-claude-v1"
_OPENAI = "openai-responses-v1"


class Content:
    """Writes the content of messages for one upstream."""

    def __init__(self, quirks: Quirks, notes: list[str]) -> None:
        self.quirks = quirks
        self.notes = notes

    def of(self, parts: Sequence[Part]) -> str | list[Entry]:
        """The content for the parts of a message."""
        if len(parts) == 1 and isinstance(text := parts[0], TextPart) and not text.cache:
            return text.text
        return self._short([entry for part in parts for entry in self._entries(part)], parts=self.quirks.parts)

    def of_result(self, result: ToolResult, shown: list[Entry]) -> str | list[Entry]:
        """The text of a tool result. Images and files are appended to `shown`, for the next user message."""
        entries: list[Entry] = []
        for entry in (entry for part in result.parts for entry in self._entries(part)):
            if entry["type"] == "text":
                entries.append(entry)
                continue
            if not shown:
                shown.append(_text(SHOWN))
            shown.append(entry)
            kind = "image" if entry["type"] == "image_url" else "file"
            entries.append(_text(f"[{kind} {len(shown) - 1} of those shown below]"))
        if result.is_error:
            if entries:
                entries[0] = {**entries[0], "text": ERROR + entries[0]["text"]}
            else:
                entries = [_text(ERROR + "the tool failed")]
        if not entries and not self.quirks.empty_results:
            entries = [_text(EMPTY_RESULT)]
        if entries and result.cache and self.quirks.cache_control:
            entries[-1] = {**entries[-1], "cache_control": dict(result.cache)}
        return self._short(entries, parts=self.quirks.result_parts)

    def _short(self, entries: list[Entry], *, parts: bool) -> str | list[Entry]:
        if len(entries) > 1 and parts:
            return entries
        plain = all(entry.keys() == _PLAIN for entry in entries)
        return _BETWEEN.join([entry["text"] for entry in entries]) if plain else entries

    def _entries(self, part: Part) -> list[Entry]:
        match part:
            case TextPart():
                return [self._cached(_text(part.text), part)] if part.text else []
            case Image():
                return [self._cached(entry, part) for entry in self._image(part)]
            case Document():
                return [self._cached(entry, part) for entry in self._document(part)]
            case Other(api="chat"):
                return [dict(part.value)]
            case Other():
                if text := as_text(part.value):
                    return [_text(text)]
                kind = part.value.get("type")
                add_note(self.notes, f"A block of the type {kind} is left out: Chat Completions has no such part")
        return []

    def _cached(self, entry: Entry, part: TextPart | Image | Document) -> Entry:
        return {**entry, "cache_control": dict(part.cache)} if part.cache and self.quirks.cache_control else entry

    def _image(self, image: Image) -> list[Entry]:
        if not self.quirks.images:
            return self._unseen("An image", "this upstream sees none")
        if not (image.file_id or image.data or image.url):
            return self._unseen("An image", "it is empty")
        if image.file_id:
            return self._unseen("An image that is a file of the provider's", "another provider has no such file")
        url = f"data:{image.media_type};base64,{image.data}" if image.data else image.url
        detail = {"detail": image.detail} if image.detail else {}
        return [{"type": "image_url", "image_url": {"url": url, **detail}}]

    def _document(self, document: Document) -> list[Entry]:
        if document.text or not (document.data or document.url or document.file_id):
            title = f"{document.title}\n\n" if document.title else ""
            return [_text(title + document.text)]
        if document.url:
            add_note(self.notes, "A document of which only the address is known is told as that: Chat Completions fetches none")
            return [_text(" ".join(filter(None, ("[document", document.title, document.url))) + "]")]
        if not self.quirks.documents:
            return self._unseen("A document", "this upstream reads none")
        if document.file_id:
            return self._unseen("A document that is a file of the provider's", "another provider has no such file")
        data = f"data:{document.media_type};base64,{document.data}"
        return [{"type": "file", "file": {"filename": document.title or "document.pdf", "file_data": data}}]

    def _unseen(self, part: str, why: str) -> list[Entry]:
        note = f"{part} is left out: {why}"
        add_note(self.notes, note)
        return [_text(f"[{note}]")]


def _text(text: str) -> Entry:
    return {"type": "text", "text": text}


def replay_members(thoughts: Sequence[ThinkingPart], quirks: Quirks, notes: list[str]) -> Entry:
    """The members with the reasoning of an earlier turn, in the upstream's form."""
    if not quirks.replay:
        add_note(notes, "Reasoning of earlier turns is left out: this upstream takes none")
        return {}
    text = "".join(thought.text for thought in thoughts)
    if quirks.replay == "details":
        members: Entry = {"reasoning": text} if text else {}
        details = [entry for index, thought in enumerate(thoughts) for entry in _details(thought, index, notes)]
        return {**members, "reasoning_details": details} if details else members
    kinds = [thought.seal.kind if thought.seal else "" for thought in thoughts]
    if "redacted" in kinds or "encrypted" in kinds or not text:
        add_note(notes, "Encrypted reasoning of earlier turns is left out: this upstream did not make it")
    given = [thought for thought, kind in zip(thoughts, kinds, strict=True) if kind == "details" and quirks.details]
    details = [entry for index, thought in enumerate(given) for entry in _details(thought, index, notes)]
    return ({quirks.replay: text} if text else {}) | ({"reasoning_details": details} if details else {})


def _details(thought: ThinkingPart, index: int, notes: list[str]) -> list[Mapping[str, Any]]:
    """The entries of `reasoning_details` for one ThinkingPart; the original entries if its seal has them.

    Entries need different indices, because entries with one index are deltas of one text.
    """
    match thought.seal:
        case ReasoningState("details", data):
            try:
                entries = json_text.loads(data.encode(errors="surrogatepass"))
            except ValueError:
                entries = None
            if isinstance(entries, list):
                return entries
            add_note(notes, "Reasoning of earlier turns is left out: its seal is broken")
        case ReasoningState("signature", data):
            return [{"type": "reasoning.text", "text": thought.text, "signature": data, "format": _ANTHROPIC, "index": index}]
        case ReasoningState("redacted", data):
            return [{"type": "reasoning.encrypted", "data": data, "format": _ANTHROPIC, "index": index}]
        case ReasoningState("encrypted", data):
            try:
                item = json_text.loads(data.encode(errors="surrogatepass"))
            except ValueError:
                item = None
            if isinstance(item, Mapping) and isinstance(item.get("encrypted_content"), str):
                entry = {"type": "reasoning.encrypted", "data": item["encrypted_content"], "format": _OPENAI, "index": index}
                return [{**entry, "id": item["id"]} if isinstance(item.get("id"), str) else entry]
            add_note(notes, "Reasoning of earlier turns is left out: its seal is broken")
    return []
