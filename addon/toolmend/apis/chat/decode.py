"""Chunks of a Chat Completions stream, however irregular, or a whole message → neutral events.

    {"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": null}     regular
    {"delta": {"content": "Hi"}, "finish_reason": ""}                                        the same events, but no index, no
                                                                                             role, and no reason

What every client understands is regular. Every other form that is understood is corrected under the name of a rule; the rest is
ignored.
"""

from collections.abc import Mapping
from typing import Any

from ...core.events import Citation, Event, Finish, LogProbs, MessageStart, ReasoningDelta, RefusalDelta, StreamError, TextDelta
from ..codec import Reply
from ..shared.call_identity import entries_of
from ..shared.logprobs import tokens_in, wants_logprobs
from ..shared.numbers import MAX_CHOICES, index_of, is_index
from ..shared.reasons import standard_reason
from ..shared.translation_notes import CITED, note_fields
from ..shared.web_search import MAX_LINKS, read_citation, read_links
from .chunk_form import is_text, number_of, repeats, speaks_as_assistant
from .content_parts import parts_of
from .delta_shape import REASONING, entry_of_legacy
from .reasoning_details import DetailRun, put_seal, text_of
from .tool_calls import Calls
from .usage import chunk_usage, insert_errors, stop_sequence_of

_REASONING_TRANSLATED = (*REASONING, "reasoning_text")
"""Members that carry reasoning when the output is written from events: Copilot's, too."""

_KINDS = {
    "reasoning": (*_REASONING_TRANSLATED, "reasoning_details"),
    "text": ("content",),
    "refusal": ("refusal",),
    "calls": ("tool_calls", "function_call"),
}
"""The members of a delta or a message by kind of content."""

_CONTENT = tuple(name for kind, names in _KINDS.items() if kind != "calls" for name in names)
"""All kinds but calls."""

_NO_REASON = ("", "null", "None")
"""Strings that stand for "no reason yet": of Go and xAI, of DashScope's own API, of Python."""


class ChatDecoder:
    """Decodes one response. Most methods return whether the upstream's spelling of what they read is regular.

    Attributes:
        calls: The calls of each choice that has any.
        choices: The choices that are decoded.
        begun: The choices that have begun.
        waits: The events of the last chunk may depend on the next one.
        legacy: A `function_call` stays one.
        reasoning_field: Where reasoning found in the content goes, until a chunk shows the provider's own field.
        lone: The request asked for one choice, so every choice without an index is choice 0: Copilot spreads text and calls
            over
            several (gptel#1284, mini-swe-agent#804).
    """

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._fired = reply.fired
        self._patient = reply.translates
        self.calls: dict[int, Calls] = {}
        self.choices: set[int] = set()
        self.begun: set[int] = set()
        self.waits = False
        # a client that offers `functions`, or whose tools are unknown, may expect a `function_call`
        self.legacy = reply.tools.legacy or not reply.tools.known
        self.reasoning_field = reply.reasoning_field
        self.lone = self._patient or (reply.tools.known and reply.request.get("n") in (None, 1))
        self._seen: set[tuple[int, str]] = set()  # (choice, kind of content) found so far
        self._finished: set[int] = set()
        self._early: dict[int, str] = {}  # by choice: a finish reason in a chunk with calls
        self._answering: int | None = None  # when one choice is translated: its index
        self._runs: dict[int, DetailRun] = {}  # reasoning in details, by choice
        self._parts: set[int] = set()  # choices whose calls belong to the translated one
        self._failed = False
        self._wants_logprobs = self._patient and wants_logprobs(reply.request)
        self._links: dict[str, Citation] = {}  # pages listed by chunks, by URL, to be cited after the text
        self._cited: set[Citation] = set()

    def feed(self, chunk: Mapping[str, Any], key: str, *, named: bool = False) -> tuple[list[Event], bool]:
        """Decodes a chunk or a whole message.

        Args:
            chunk: Its JSON.
            key: Where a choice has its content: "delta" or "message".
            named: The SSE event is called `error`: see usage.errors_of.

        Returns:
            The events, and whether the chunk is regular.
        """
        events: list[Event] = []
        regular, self.waits = True, False
        if self._patient:
            note_fields(chunk, self._reply.note)
            self._list(read_links(chunk))
        choices = chunk.get("choices")
        choices = choices if isinstance(choices, list) else []
        for place, choice in enumerate(choices):
            if isinstance(choice, dict):
                regular &= self._choice(choice, 0 if self.lone else place, key, events)
        if len(choices) > 1 and repeats(choices, lone=self.lone):
            regular = self._mended("choice_index")
        if usage := chunk_usage(chunk):
            events.append(usage)
        failed, self._failed = self._failed, insert_errors(chunk, events, failed=self._failed, named=named)
        if self._failed and not failed and (held := self.broken_off()):
            at = next(at for at, event in enumerate(events) if isinstance(event, StreamError))
            events[at:at] = held
            regular = False
        return events, regular

    def end_of_message(self) -> tuple[list[Event], bool]:
        """Ends a message without a finish reason. Returns the events, and whether they need not be sent."""
        events: list[Event] = []
        for choice in tuple(self._runs):
            put_seal(self._runs, choice, events, 0, whole=True)
        events += self._uncited()
        closed = [calls.close(self._early.get(choice, ""), last=True) for choice, calls in self.calls.items()]
        return [*events, *(event for ends, _ in closed for event in ends)], all(as_sent for _, as_sent in closed)

    def broken_off(self) -> list[Event]:
        """Ends the choices without a finish reason, whose message was incomplete."""
        ends = [calls.close("" if choice in self._finished else "error")[0] for choice, calls in sorted(self.calls.items())]
        return [event for events in ends for event in events]

    def _choice(self, choice: Mapping[str, Any], place: int, key: str, events: list[Event]) -> bool:
        regular = True
        delta = choice.get(key)
        if delta is None and key == "message" and "delta" in choice:
            delta = choice["delta"]
            regular = self._mended("delta")
        index = index_of(choice.get("index"), place)
        if self._patient:
            index = self._mapped_index(index, has_content=_has_content(choice, delta))
            if isinstance(delta, dict) and self._is_part(index, delta):  # one answer was requested
                index, choice, delta = 0, {"index": 0}, {"tool_calls": delta["tool_calls"]}
        if not is_index(choice.get("index")):
            regular = self._mended("choice_index")
        if index not in self.choices:
            if len(self.choices) == MAX_CHOICES:
                return regular
            self.choices.add(index)
        if self._patient and isinstance(text := choice.get("text"), str) and not (delta or choice.get("message")):
            delta = {"role": "assistant", "content": text}  # the form of the legacy completions API
            regular = self._mended("delta")
        if (outside := choice.get("tool_calls")) and not (isinstance(delta, dict) and delta.get("tool_calls")):
            delta = {**(delta if isinstance(delta, dict) else {}), "tool_calls": outside}
            regular = self._mended("delta")
        if isinstance(delta, dict) and any(delta.get(name) for name in _CONTENT):
            regular &= self._settle(index, events)
        if self._wants_logprobs and (tokens := tokens_in((choice.get("logprobs") or {}).get("content"))):
            events.append(LogProbs(tokens, index))
        first = len(events)
        regular &= self._choice_events(choice, delta, index, key, events)
        regular &= self._ended(choice, delta, index, key, events)
        if index in self._runs:
            put_seal(self._runs, index, events, first, whole=key == "message")
        return regular

    def _mapped_index(self, index: int, *, has_content: bool) -> int:
        """The index of a choice in a translated answer: choice 0 and the first one with content trade places."""
        if self._answering is None and (has_content or index == 0):
            self._answering = index
            if index in self.begun:
                self.begun.add(0)
        return index if self._answering is None else 0 if index == self._answering else self._answering if index == 0 else index

    def _is_part(self, index: int, delta: Mapping[str, Any]) -> bool:
        """Whether another choice has the calls that belong to the text of the translated one, as Copilot sends them."""
        if not (delta.get("tool_calls") and index and self._answering is not None and self._reply.request.get("n") in (None, 1)):
            return False
        if index not in self._parts and 0 in self.calls:
            return False
        self._parts.add(index)
        return True

    def _settle(self, index: int, events: list[Event]) -> bool:
        """Starts the calls that wait, because other content follows. Returns whether there were none."""
        first = len(events)
        if index in self.calls:
            events += self.calls[index].settle()
        if index in self._runs:
            put_seal(self._runs, index, events, first, whole=False)
        return len(events) == first

    def _choice_events(self, choice: Mapping[str, Any], delta: Any, index: int, key: str, events: list[Event]) -> bool:
        """Decodes the content of a choice: its delta, and of a message in a chunk the kinds that no delta contained."""
        regular, is_delta = True, isinstance(delta, dict)
        whole = choice.get("message")
        message: Mapping[str, Any] = whole if isinstance(whole, dict) else {}
        self._seen.update((index, kind) for kind in _kinds(delta))
        new = {kind for kind in _kinds(message) if (index, kind) not in self._seen}
        has_message = bool(new) or (whole is message and not (is_delta or index in self.begun))
        if is_delta and not (has_message and not any(delta.values())):
            last = key == "message" or bool(choice.get("finish_reason"))
            regular = self._delta(delta, index, key, events, last=last and not has_message)
        if has_message:
            old = {name for kind, names in _KINDS.items() if kind not in new for name in names}
            self._mended("delta")
            self._delta({name: value for name, value in message.items() if name not in old}, index, "message", events, last=True)
            self._seen.update((index, kind) for kind in new)
            return False
        if is_delta:
            return regular
        return bool(delta) or key != "delta" or "text" in choice or self._mended("delta")  # PHP's empty object is []

    def _ended(self, choice: Mapping[str, Any], delta: Any, index: int, key: str, events: list[Event]) -> bool:
        """Decodes the finish reason of a choice."""
        reason = choice.get("finish_reason")
        if reason is None and key == "delta":  # not yet
            return True
        regular = reason is None or (isinstance(reason, str) and reason not in _NO_REASON) or self._mended("finish_reason")
        reason = reason if isinstance(reason, str) and reason not in _NO_REASON else ""
        meaning = standard_reason(reason) or reason
        if index in self.calls and (reason or key == "message"):
            # a reason in every chunk, or after each call (jcode#1326), ends nothing
            early = (isinstance(delta, dict) and "tool_calls" in delta) or (meaning == "stop" and self.calls[index].lacks)
            wait = key == "delta" and (self._patient or early)
            if early:
                self._early[index] = meaning
            ends, as_sent = self.calls[index].close(meaning, wait=wait, last=key != "delta" or not early)
            events += ends
            regular &= as_sent
        if reason == "function_call" and not self.legacy:
            reason = "tool_calls"
            regular = self._mended("finish_reason")
        elif meaning != reason and (self._patient or meaning != "error"):  # the API has no finish reason for an error
            regular &= self._patient or self._mended("finish_reason")
            reason = meaning
        elif not reason and key == "message" and index in self.calls and self.calls[index].complete:  # xAI
            reason = "tool_calls"
            regular = self._mended("finish_reason")
        if reason:
            events += self._uncited()
            self._finished.add(index)
            events.append(Finish(reason, index, stop_sequence_of(choice) if reason == "stop" else None))
        return regular

    def _delta(self, delta: Mapping[str, Any], index: int, key: str, events: list[Event], *, last: bool) -> bool:
        regular = True
        if index not in self.begun and delta:
            self.begun.add(index)
            events.append(MessageStart(index))
            if delta.get("role") is None:
                regular = self._mended("role")
        if not speaks_as_assistant(delta):
            regular = self._mended("role")
        if self._patient:
            note_fields(delta, self._reply.note)
            self._list(read_links(delta))
        details = delta.get("reasoning_details")
        for name in _REASONING_TRANSLATED if self._patient else REASONING:
            reasoning = delta.get(name)
            if (text := number_of(reasoning)) is not None:
                reasoning, regular = text, self._mended("content_type")
            if isinstance(reasoning, str) and reasoning:
                self.reasoning_field = name
                events.append(ReasoningDelta(reasoning, index))
                break  # both fields have the same text
        else:
            if details and (text := text_of(details)):
                events.append(ReasoningDelta(text, index))
        if details:
            self._runs.setdefault(index, DetailRun()).add(details)
            self.waits = True  # the next chunk may end the run
        content = delta.get("content")
        if isinstance(content, str) and content:
            events.append(TextDelta(content, index))
        elif isinstance(content, list | dict):
            events += parts_of(content, index)
            if is_text(content):
                regular = self._mended("content_type")
        elif (text := number_of(content)) is not None:
            events.append(TextDelta(text, index))
            regular = self._mended("content_type")
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            events.append(RefusalDelta(refusal, index))
        if self._patient and delta.get("annotations"):
            self._cite(delta["annotations"], index, events)
        entries = delta.get("tool_calls")
        legacy = delta.get("function_call")
        if entries and (not isinstance(entries, list) or any(isinstance(entry, list) for entry in entries)):
            entries = entries_of(entries)
            regular = self._mended("tool_calls")
        if entries:
            if key == "message":  # in a message, calls stand in order, without index
                entries = [{**entry, "index": n} for n, entry in enumerate(entries) if isinstance(entry, dict)]
        elif legacy and isinstance(legacy, dict) and not self.legacy:
            entries = [entry_of_legacy(legacy)]
            regular = self._mended("function_call")
        else:
            return regular and (entries is None or entries == [] or self._mended("tool_calls"))
        calls, as_sent = self._calls_of(index).feed(entries, last=last)
        events += calls
        self.waits |= not as_sent
        return regular and as_sent

    def _cite(self, annotations: Any, index: int, events: list[Event]) -> None:
        """Emits the citations of a delta, each once: some providers repeat them in each."""
        for annotation in annotations if isinstance(annotations, list) else ():
            citation = read_citation(annotation, index)
            if citation is None:
                self._reply.note(CITED)
            elif citation not in self._cited and len(self._cited) < MAX_LINKS:
                self._cited.add(citation)
                events.append(citation)

    def _list(self, citations: list[Citation]) -> None:
        for citation in citations:
            if len(self._links) < MAX_LINKS:
                self._links.setdefault(citation.url, citation)

    def _uncited(self) -> list[Citation]:
        """The listed pages that no annotation cited."""
        links, self._links = self._links, {}
        known = {citation.url for citation in self._cited}
        self._cited.update(links.values())
        return [citation for url, citation in links.items() if url not in known]

    def _calls_of(self, choice: int) -> Calls:
        if choice not in self.calls:
            reply = self._reply
            more = {"patient": self._patient, "repairs": reply.repairs}
            self.calls[choice] = Calls(reply.tools, choice, reply.new_id, self._fired, **more)
        return self.calls[choice]

    def _mended(self, rule: str) -> bool:
        """Reports a rule. Returns False: what it names is not regular."""
        self._fired(rule)
        return False


def _kinds(of: Any) -> list[str]:
    """The kinds of content of a delta or a message."""
    return [kind for kind, names in _KINDS.items() if any(of.get(name) for name in names)] if isinstance(of, dict) else []


def _has_content(choice: Mapping[str, Any], delta: Any) -> bool:
    """Whether a choice has more than a beginning."""
    if choice.get("finish_reason") or choice.get("text") or choice.get("message"):
        return True
    return bool(_kinds(delta))
