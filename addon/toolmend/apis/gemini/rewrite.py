"""Rewrites a GenerateContentResponse for the events that replaced its own.

1. What is not decoded stays, and a finish reason stays in its chunk.
2. A part of a candidate is dropped only if all of its content was taken, and so is a chunk.
3. Other members of a text part (its thoughtSignature) move to the first remaining text of the same kind, or else to the call
   that the text became.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...core import json_text
from ...core.events import Event, Finish, MessageEnd, ReasoningDelta, StreamError, TextDelta, Usage
from ..shared.numbers import index_of
from ..shared.whole_calls import WholeCall, WholeCalls
from .usage import MALFORMED

if TYPE_CHECKING:
    from .decode import CandidateDecoder

_CHUNK_MEMBERS = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId", "createTime"})
"""Members that the next chunk repeats: a chunk with nothing else has no content."""

_CANDIDATE_MEMBERS = frozenset({"index", "content", "safetyRatings", "tokenCount", "avgLogprobs", "logprobsResult"})

UNSIGNED = "skip_thought_signature_validator"
"""The signature for the first call of a step that the model did not write as a call: Gemini 3 accepts such calls only with a
signature. Source: ai.google.dev/gemini-api/docs/thought-signatures.
"""

AHEAD = 8
"""Texts of a candidate among which the next one is searched: those before it have become calls."""

_COPIED = ("modelVersion", "responseId", "createTime")
_FINISH_REASONS = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}

type _Part = dict[str, Any]


class GeminiRewriter:
    """Writes the chunks of one response. `model`: the request's. Choices that are not decoded stay as they are."""

    def __init__(self, decoder: "CandidateDecoder", model: str) -> None:
        self._decoder = decoder
        self._signs = "gemini-3" in model
        self._signed: set[int] = set()  # choices whose first call has a signature
        self._calls = WholeCalls()
        self._made: set[int] = set()  # choices with a call found in text, or renamed

    def contradicts_finish(self, events: Sequence[Event]) -> bool:
        """Whether a finish reason is wrong: it breaks off a call, or calls a call malformed that was decoded."""
        if self._calls.broken_by(events):
            return True
        read = self._made - self._decoder.unknown
        ends = (event for event in events if isinstance(event, Finish) and event.choice in read)
        return any(event.finish_reason.upper() in MALFORMED for event in ends)

    def chunk(self, data: bytes, events: Iterable[Event], *, whole: bool) -> bytes:
        """Returns the upstream's chunk for these events.

        Args:
            data: The chunk.
            events: The events that replace its own.
            whole: Keep it, with an empty text, even if nothing is left.

        Returns:
            The chunk; b"" if nothing is left of it.
        """
        chunk = json_text.loads(data)
        response = inner(chunk)
        listed = response.get("candidates")
        sources: dict[int, Mapping[str, Any]] = {}
        for place, source in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(source, dict):
                sources[index_of(source.get("index"), place)] = source
        by_choice = _by_choice(events, sources)
        built = [self._candidate(sources.get(choice), choice, some) for choice, some in by_choice.items()]
        candidates = [candidate for candidate in built if whole or _has_content(candidate)]
        if not candidates and not any(value for name, value in response.items() if name not in _CHUNK_MEMBERS):
            return b""
        for candidate in candidates:
            if parts_of(candidate) == [] and isinstance(candidate.get("content"), dict):
                candidate["content"]["parts"] = [{"text": ""}]  # as Google itself ends a response; clients iterate over the parts
        if response is chunk:
            return json_text.replace_member(data.decode(), "candidates", json_text.dumps(candidates)).encode()
        text = json_text.dumps({**response, "candidates": candidates})
        return json_text.replace_member(data.decode(), "response", text).encode()

    def extra_chunk(self, last: bytes, events: Iterable[Event], ended: Iterable[int]) -> bytes:
        """Returns a further chunk; b"" if it would have no content.

        Args:
            last: The upstream's last chunk, for common members.
            events: Its events; if empty, all open calls are written as text.
            ended: Choices with a finish reason.
        """
        chunk = json_text.loads(last)
        response = inner(chunk)
        by_choice = _by_choice(events, ()) or {choice: [Finish("", choice)] for choice in self._calls.choices}
        candidates = []
        for choice, some in by_choice.items():
            candidate = self._candidate(None, choice, some)
            reason = next((event.finish_reason for event in some if isinstance(event, Finish)), "")
            if reason and choice not in ended:
                candidate["finishReason"] = _FINISH_REASONS.get(reason, "STOP")
                candidate["content"]["parts"] = parts_of(candidate) or [{"text": ""}]
            if _has_content(candidate):
                candidates.append(candidate)
        if not candidates:
            return b""
        response_out = {"candidates": candidates, **{name: response[name] for name in _COPIED if name in response}}
        rest = {name: value for name, value in chunk.items() if name != "response" and isinstance(value, str)}
        return json_text.dumps(response_out if response is chunk else {"response": response_out, **rest}).encode()

    def _candidate(self, source: Mapping[str, Any] | None, choice: int, events: Iterable[Event]) -> dict[str, Any]:
        """Builds a candidate from the upstream's own and the events that replace its content."""
        if source and choice not in self._decoder.choices:
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
        if choice in self._made - self._decoder.unknown and candidate.get("finishReason") in MALFORMED:
            candidate["finishReason"] = "STOP"
            candidate.pop("finishMessage", None)
        return candidate

    def _parts(self, choice: int, events: Iterable[Event], own: Sequence[Any]) -> list[_Part]:
        """Builds the parts for events, in between the `own` parts of the upstream that have no events."""
        parts = _Parts(own)
        for event in events:
            match event:
                case TextDelta() | ReasoningDelta():
                    parts.add_text(event.text, thought=isinstance(event, ReasoningDelta))
                case Finish():
                    for broken in self._calls.rest(choice):
                        parts.add_text(broken.text)
                case _:
                    if call := self._calls.feed(event):
                        self._call(parts, call)
        return parts.all()

    def _call(self, parts: "_Parts", call: WholeCall) -> None:
        if call.arguments is None:
            parts.add_text(call.text)
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
    """The parts of a rewritten candidate. A part of the upstream with the same text stays in its place."""

    def __init__(self, own: Sequence[Any]) -> None:
        self._own = own
        self._at = 0  # own parts before this index are done
        self._made: list[_Part] = []
        self._new: list[_Part] = []  # those that are not the upstream's
        self._texts = deque(part for part in own if is_text(part))  # own texts that may come next
        self._replaced: list[_Part] = []  # own texts that became something else

    def add_text(self, text: str, *, thought: bool = False) -> None:
        """Adds text, to the last part if that is of the same kind."""
        for ahead, part in enumerate(islice(self._texts, AHEAD)):
            if part["text"] == text and (part.get("thought") is True) == thought:
                self._replaced += (self._texts.popleft() for _ in range(ahead))
                self.add(part, self._texts.popleft())
                return
        last = self._made[-1] if self._made else None
        if last is not None and self._new and last is self._new[-1] and "text" in last and ("thought" in last) == thought:
            last["text"] += text
        else:
            self.add({"text": text} | ({"thought": True} if thought else {}))

    def add(self, part: _Part, own: Any = None) -> None:
        """Adds a part: in the place of an `own` one, else before the next own part that has events."""
        end = self._at
        while end < len(self._own) and self._own[end] is not own and (own is not None or not _is_decoded(self._own[end])):
            end += 1
        self._keep_until(end)
        self._at += own is not None
        self._made.append(part)
        if part is not own:
            self._new.append(part)

    def all(self) -> list[_Part]:
        """Returns all parts. New ones take the other members of the texts that they replaced."""
        self._keep_until(len(self._own))
        _move_members(self._new, [*self._replaced, *self._texts])
        return self._made

    def _keep_until(self, end: int) -> None:
        self._made += (part for part in self._own[self._at : end] if not _is_decoded(part))
        self._at = end


def inner(chunk: dict[str, Any]) -> dict[str, Any]:
    """The response itself, which Code Assist wraps."""
    wrapped = chunk.get("response")
    return wrapped if isinstance(wrapped, dict) else chunk


def parts_of(candidate: Mapping[str, Any]) -> list[Any]:
    """The parts of a candidate."""
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    return parts if isinstance(parts, list) else []


def is_text(part: Any) -> bool:
    """Whether a part has text. An empty text is not decoded, and may carry a signature."""
    return isinstance(part, dict) and isinstance(part.get("text"), str) and bool(part["text"])


def is_call(part: Any) -> bool:
    """Whether a part is a call. XX a call that Vertex streams in `partialArgs`, if the client requests it, is not decoded."""
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


def _has_content(candidate: Mapping[str, Any]) -> bool:
    """Whether a candidate has content: a part, its end, or unknown members."""
    return bool(parts_of(candidate)) or any(value for name, value in candidate.items() if name not in _CANDIDATE_MEMBERS)


def _is_decoded(part: Any) -> bool:
    """Whether a part has events."""
    return is_text(part) or is_call(part)


def _move_members(made: Sequence[_Part], own: Iterable[Mapping[str, Any]]) -> None:
    """Moves the other members of replaced texts to the parts that replaced them."""
    call = next((new for new in made if "functionCall" in new), None)
    heirs = {
        thought: next((new for new in made if "text" in new and bool(new.get("thought")) == thought), call)
        for thought in (False, True)
    }
    for part in own:
        members = {name: value for name, value in part.items() if name not in ("text", "thought")}
        heir = heirs[part.get("thought") is True]
        if members and heir is not None:
            heir.update({name: value for name, value in members.items() if name not in heir})
