"""Writes a GenerateContentResponse anew for the events that now speak for it.

Rule of this file: what is not understood stays, and a finish reason stays where it is. A part of a candidate goes only if all
that it said was taken from it, and so does a chunk. What a part had beside its text (its thoughtSignature) goes with the first
text of its kind that is left, or else with the call that the text became.
"""

from collections import deque
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from ...core import json_text
from ...core.events import Event, Finish, MessageEnd, ReasoningDelta, StreamError, TextDelta, Usage
from ..shared.indices import index_of
from ..shared.whole_calls import WholeCall, WholeCalls
from .usage import MALFORMED

_CHUNK = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId", "createTime"})
"""Members of a chunk that are said again by the next one: a chunk with nothing else says nothing."""

_CANDIDATE = frozenset({"index", "content", "safetyRatings", "tokenCount", "avgLogprobs", "logprobsResult"})

UNSIGNED = "skip_thought_signature_validator"
"""For the first call of a step, which Gemini 3 takes back with a signature alone: of one that it did not write as a call. Source:
ai.google.dev/gemini-api/docs/thought-signatures."""

AHEAD = 8
"""Texts of a candidate among which one that is told is looked for: those in front of it have become calls."""

_COMMON = ("modelVersion", "responseId", "createTime")
_WORDS = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}

type _Part = dict[str, Any]


class GeminiBuilder:
    """The chunks of one response. `read`: the choices whose events are told, others stay as they are. `model`: the request's."""

    def __init__(self, read: Container[int], model: str) -> None:
        self._read = read
        self._signs = "gemini-3" in model
        self._signed: set[int] = set()  # choices whose first call has its signature
        self._calls = WholeCalls()
        self._made: set[int] = set()  # choices with a call that was found in the text, or whose name was set right
        self._unknown: set[int] = set()  # choices with a call that names no tool

    def unknown(self, choice: int) -> None:
        """A call of the upstream's names no tool."""
        self._unknown.add(choice)

    def belies(self, events: Sequence[Event]) -> bool:
        """Whether a finish reason is not all: a call breaks off with it; or it says of one that was read that it is malformed."""
        if self._calls.broken_by(events):
            return True
        read = self._made - self._unknown
        ends = (event for event in events if isinstance(event, Finish) and event.choice in read)
        return any(event.finish_reason.upper() in MALFORMED for event in ends)

    def chunk(self, data: bytes, events: Iterable[Event], *, whole: bool) -> bytes:
        """The upstream's chunk for these events; b"" where nothing is left of it. `whole`: then it stays, with an empty text."""
        chunk = json_text.loads(data)
        response = inner(chunk)
        given = response.get("candidates")
        sources: dict[int, Mapping[str, Any]] = {}
        for place, source in enumerate(given if isinstance(given, list) else ()):
            if isinstance(source, dict):
                sources[index_of(source.get("index"), place)] = source
        by_choice = _by_choice(events, sources)
        built = [self._candidate(sources.get(choice), choice, some) for choice, some in by_choice.items()]
        candidates = [candidate for candidate in built if whole or _says(candidate)]
        if not candidates and not any(value for name, value in response.items() if name not in _CHUNK):
            return b""
        for candidate in candidates:
            if parts_of(candidate) == [] and isinstance(candidate.get("content"), dict):
                candidate["content"]["parts"] = [{"text": ""}]  # as Google itself ends; clients go through the parts
        if response is chunk:
            return json_text.replace_member(data.decode(), "candidates", json_text.dumps(candidates)).encode()
        text = json_text.dumps({**response, "candidates": candidates})
        return json_text.replace_member(data.decode(), "response", text).encode()

    def more(self, last: bytes, events: Iterable[Event], ended: Iterable[int]) -> bytes:
        """A chunk of our own, as the `last` one; b"" where there is nothing to say. `ended`: choices that have their reason.

        Without events: what is left of all choices.
        """
        chunk = json_text.loads(last)
        response = inner(chunk)
        by_choice = _by_choice(events, ()) or {choice: [Finish("", choice)] for choice in self._calls.choices}
        candidates = []
        for choice, some in by_choice.items():
            candidate = self._candidate(None, choice, some)
            reason = next((event.finish_reason for event in some if isinstance(event, Finish)), "")
            if reason and choice not in ended:
                candidate["finishReason"] = _WORDS.get(reason, "STOP")
                candidate["content"]["parts"] = parts_of(candidate) or [{"text": ""}]
            if _says(candidate):
                candidates.append(candidate)
        if not candidates:
            return b""
        told = {"candidates": candidates, **{name: response[name] for name in _COMMON if name in response}}
        rest = {name: value for name, value in chunk.items() if name != "response" and isinstance(value, str)}
        return json_text.dumps(told if response is chunk else {"response": told, **rest}).encode()

    def _candidate(self, source: Mapping[str, Any] | None, choice: int, events: Iterable[Event]) -> dict[str, Any]:
        """A candidate from the upstream's own and the events that now speak for it."""
        if source and choice not in self._read:
            return dict(source)
        own = parts_of(source or {})
        parts = self._parts(choice, events, own)
        if self._signs and choice not in self._signed and (first := next(filter(is_call, parts), None)):
            self._signed.add(choice)
            first.setdefault("thoughtSignature", UNSIGNED)
        content = (source or {}).get("content")
        content = content if isinstance(content, dict) else {"role": "model"}
        candidate: dict[str, Any] = {"index": choice} if source is None else dict(source)
        if parts or own or source is None:
            candidate["content"] = {**content, "parts": parts}
        if choice in self._made - self._unknown and candidate.get("finishReason") in MALFORMED:
            candidate["finishReason"] = "STOP"
            candidate.pop("finishMessage", None)
        return candidate

    def _parts(self, choice: int, events: Iterable[Event], own: Sequence[Any]) -> list[_Part]:
        """The parts for these events, among those of the upstream's `own` that they do not speak of."""
        parts = _Parts(own)
        for event in events:
            match event:
                case TextDelta() | ReasoningDelta():
                    parts.say(event.text, thought=isinstance(event, ReasoningDelta))
                case Finish():
                    for broken in self._calls.rest(choice):
                        parts.say(broken.text)
                case _:
                    if call := self._calls.feed(event):
                        self._call(parts, call)
        return parts.all()

    def _call(self, parts: "_Parts", call: WholeCall) -> None:
        if call.arguments is None:
            parts.say(call.text)
            return
        own = (call.start.extra or {}).get("part")
        if own is None or own["functionCall"]["name"] != call.start.name:
            self._made.add(call.start.choice)
        if own is None:
            parts.add({"functionCall": {"name": call.start.name, "args": call.arguments}})
            return
        made = {**own["functionCall"], "name": call.start.name}
        if made.get("id"):
            made["id"] = call.start.id
        if call.arguments or "args" in made:
            made["args"] = call.arguments
        parts.add({**own, "functionCall": made}, own)


class _Parts:
    """The parts of a candidate that is written anew. One of the upstream's whose text is the same stays where it was."""

    def __init__(self, own: Sequence[Any]) -> None:
        self._own = own
        self._at = 0  # up to here they have been told
        self._made: list[_Part] = []
        self._fresh: list[_Part] = []  # of these, the ones that are not the upstream's
        self._texts = deque(part for part in own if is_text(part))  # of which one may be next
        self._lost: list[_Part] = []  # those whose text has become something else

    def say(self, text: str, *, thought: bool = False) -> None:
        """A text. It goes on with the last part, if that is of the same kind."""
        for ahead, part in enumerate(islice(self._texts, AHEAD)):
            if part["text"] == text and (part.get("thought") is True) == thought:
                self._lost += (self._texts.popleft() for _ in range(ahead))
                self.add(part, self._texts.popleft())
                return
        last = self._made[-1] if self._made else None
        if last is not None and self._fresh and last is self._fresh[-1] and "text" in last and ("thought" in last) == thought:
            last["text"] += text
        else:
            self.add({"text": text} | ({"thought": True} if thought else {}))

    def add(self, part: _Part, own: Any = None) -> None:
        """A part, in the place of one of the upstream's `own`; else in front of the next of which events speak."""
        end = self._at
        while end < len(self._own) and self._own[end] is not own and (own is not None or not _spoken(self._own[end])):
            end += 1
        self._pass(end)
        self._at += own is not None
        self._made.append(part)
        if part is not own:
            self._fresh.append(part)

    def all(self) -> list[_Part]:
        """All of them; those that are new have what the texts had beside them that they were made of."""
        self._pass(len(self._own))
        _dress(self._fresh, [*self._lost, *self._texts])
        return self._made

    def _pass(self, end: int) -> None:
        self._made += (part for part in self._own[self._at : end] if not _spoken(part))
        self._at = end


def inner(chunk: dict[str, Any]) -> dict[str, Any]:
    """The response itself; Code Assist wraps it."""
    wrapped = chunk.get("response")
    return wrapped if isinstance(wrapped, dict) else chunk


def parts_of(candidate: Mapping[str, Any]) -> list[Any]:
    """The parts of a candidate."""
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    return parts if isinstance(parts, list) else []


def is_text(part: Any) -> bool:
    """Whether a part says a text. An empty one says nothing, and may carry a signature."""
    return isinstance(part, dict) and isinstance(part.get("text"), str) and bool(part["text"])


def is_call(part: Any) -> bool:
    """Whether a part is a call. XX one that Vertex streams in `partialArgs`, for a client that asked for it, is not read."""
    call = part.get("functionCall") if isinstance(part, dict) else None
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return False
    return not (call.get("willContinue") or "partialArgs" in call)


def _by_choice(events: Iterable[Event], choices: Iterable[int]) -> dict[int, list[Event]]:
    found: dict[int, list[Event]] = {choice: [] for choice in choices}
    for event in events:
        if not isinstance(event, Usage | StreamError | MessageEnd):
            found.setdefault(event.choice, []).append(event)
    return found


def _says(candidate: Mapping[str, Any]) -> bool:
    """Whether a candidate says anything: a part, its end, or what is not understood."""
    return bool(parts_of(candidate)) or any(value for name, value in candidate.items() if name not in _CANDIDATE)


def _spoken(part: Any) -> bool:
    """Whether events speak of a part."""
    return is_text(part) or is_call(part)


def _dress(made: Sequence[_Part], own: Iterable[Mapping[str, Any]]) -> None:
    """Puts what the upstream's texts had beside them where they went."""
    call = next((new for new in made if "functionCall" in new), None)
    heirs = {
        thought: next((new for new in made if "text" in new and bool(new.get("thought")) == thought), call)
        for thought in (False, True)
    }
    for part in own:
        beside = {name: value for name, value in part.items() if name not in ("text", "thought")}
        heir = heirs[part.get("thought") is True]
        if beside and heir is not None:
            heir.update({name: value for name, value in beside.items() if name not in heir})
