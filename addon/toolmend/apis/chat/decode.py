"""What the chunks of a Chat Completions stream say, however irregular, or a whole message, as neutral events.

    {"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": null}     regular
    {"delta": {"content": "Hi"}, "finish_reason": ""}                                        the same events, but no index, no
                                                                                             role, and no reason

Rule of this file: what every client understands is regular; anything else is mended under a name that says what was wrong. What
is not understood at all is none of our business.
"""

from collections.abc import Mapping
from typing import Any

from ...core.events import Citation, Event, Finish, MessageStart, ReasoningDelta, RefusalDelta, StreamError, TextDelta
from ..codec import Reply
from ..shared.call_identity import entries_of
from ..shared.indices import MAX_CHOICES, index_of, is_index
from ..shared.reasons import meant
from ..shared.translation_notes import CITED, note_fields
from ..shared.web_search import MAX_LINKS, cited, linked
from .chunk_form import is_text, number_of, repeats, speaks_as_assistant
from .content_parts import parts_of
from .delta_shape import REASONING, entry_of_legacy
from .reasoning_details import DetailRun, put_seal, text_of
from .tool_calls import Calls
from .usage import put_errors, stop_sequence_of, usage_in

_HEARD = (*REASONING, "reasoning_text")
"""Where reasoning is read from where all is written anew: Copilot's, too."""

_KINDS = {
    "reasoning": (*_HEARD, "reasoning_details"),
    "text": ("content",),
    "refusal": ("refusal",),
    "calls": ("tool_calls", "function_call"),
}
"""What a delta or a message says, by the members that say it."""

_SAYS = tuple(name for kind, names in _KINDS.items() if kind != "calls" for name in names)
"""Those that are no call."""

_NO_REASON = ("", "null", "None")
"""How it is told in texts that there is none yet: in Go and by xAI, in DashScope's own API, in Python."""


class ChatDecoder:
    """One response. Its methods tell whether the upstream spells what they read as is regular.

    `calls`: of each choice that has any. `choices`: those that are read. `begun`: those that have begun. `waits`: what the last
    chunk said may wait for what is said next. `legacy`: a `function_call` stays one. `reasoning_field`: where reasoning goes that
    came as content, until a chunk shows better. `lone`: one choice was asked for, so all without an index are that one: Copilot
    puts text and calls into several (gptel#1284, mini-swe-agent#804).
    """

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._fired = reply.fired
        self._patient = reply.translates
        self.calls: dict[int, Calls] = {}
        self.choices: set[int] = set()
        self.begun: set[int] = set()
        self.waits = False
        # a client that offers `functions`, or of which nothing is known, may wait for a `function_call`
        self.legacy = reply.tools.legacy or not reply.tools.known
        self.reasoning_field = reply.reasoning_field
        self.lone = self._patient or (reply.tools.known and reply.request.get("n") in (None, 1))
        self._told: set[tuple[int, str]] = set()  # choices, and the kinds of what they said
        self._finished: set[int] = set()
        self._first: int | None = None  # the choice that is heard, where it is but one
        self._runs: dict[int, DetailRun] = {}  # of reasoning that is told in details
        self._parts: set[int] = set()  # choices whose calls are those of the one that is heard
        self._failed = False
        self._links: dict[str, Citation] = {}  # pages that chunks list, by URL, to be cited when the text is over
        self._cited: set[Citation] = set()

    def feed(self, chunk: Mapping[str, Any], key: str, *, named: bool = False) -> tuple[list[Event], bool]:
        """A chunk or a whole message, whose choices say something in their `key`: delta or message. `named`: see chat_reports."""
        events: list[Event] = []
        regular, self.waits = True, False
        if self._patient:
            note_fields(chunk, self._reply.note)
            self._list(linked(chunk))
        choices = chunk.get("choices")
        choices = choices if isinstance(choices, list) else []
        for place, choice in enumerate(choices):
            if isinstance(choice, dict):
                regular &= self._choice(choice, 0 if self.lone else place, key, events)
        if len(choices) > 1 and repeats(choices, lone=self.lone):
            regular = self._mended("choice_index")
        if usage := usage_in(chunk):
            events.append(usage)
        failed, self._failed = self._failed, put_errors(chunk, events, failed=self._failed, named=named)
        if self._failed and not failed and (held := self.broken_off()):
            at = next(at for at, event in enumerate(events) if isinstance(event, StreamError))
            events[at:at] = held
            regular = False
        return events, regular

    def over(self) -> tuple[list[Event], bool]:
        """The message is over, and there was no finish reason to say so: what is left, and whether it need not be sent."""
        events: list[Event] = []
        for choice in tuple(self._runs):
            put_seal(self._runs, choice, events, 0, whole=True)
        events += self._listed()
        closed = [calls.close("") for calls in self.calls.values()]
        return [*events, *(event for ends, _ in closed for event in ends)], all(as_sent for _, as_sent in closed)

    def broken_off(self) -> list[Event]:
        """Nothing more comes, and the message was not over, but for the choices that have a finish reason."""
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
            index = self._heard(index, speaks=_speaks(choice, delta))
            if isinstance(delta, dict) and self._is_part(index, delta):  # of one answer, where one was asked for
                index, choice, delta = 0, {"index": 0}, {"tool_calls": delta["tool_calls"]}
        if not is_index(choice.get("index")):
            regular = self._mended("choice_index")
        if index not in self.choices:
            if len(self.choices) == MAX_CHOICES:
                return regular
            self.choices.add(index)
        if self._patient and isinstance(said := choice.get("text"), str) and not (delta or choice.get("message")):
            delta = {"role": "assistant", "content": said}  # it answers as completions did that are no chat
            regular = self._mended("delta")
        if (beside := choice.get("tool_calls")) and not (isinstance(delta, dict) and delta.get("tool_calls")):
            delta = {**(delta if isinstance(delta, dict) else {}), "tool_calls": beside}
            regular = self._mended("delta")
        if isinstance(delta, dict) and any(delta.get(name) for name in _SAYS):
            regular &= self._settle(index, events)
        first = len(events)
        regular &= self._choice_events(choice, delta, index, key, events)
        regular &= self._ended(choice, delta, index, key, events)
        if index in self._runs:
            put_seal(self._runs, index, events, first, whole=key == "message")
        return regular

    def _heard(self, index: int, *, speaks: bool) -> int:
        """The index of a choice where all is written anew, and but one is heard: 0, or if another speaks before it, that one."""
        if self._first is None and (speaks or index == 0):
            self._first = index
            if index in self.begun:
                self.begun.add(0)
        return index if self._first is None else 0 if index == self._first else self._first if index == 0 else index

    def _is_part(self, index: int, delta: Mapping[str, Any]) -> bool:
        """Whether another choice has the calls that belong to the text of the one that is heard, as Copilot sends them."""
        if not (delta.get("tool_calls") and index and self._first is not None and self._reply.request.get("n") in (None, 1)):
            return False
        if index not in self._parts and 0 in self.calls:
            return False
        self._parts.add(index)
        return True

    def _settle(self, index: int, events: list[Event]) -> bool:
        """Something is said that is no call: those that wait come in front of it. Whether none did."""
        first = len(events)
        if index in self.calls:
            events += self.calls[index].settle()
        if index in self._runs:
            put_seal(self._runs, index, events, first, whole=False)
        return len(events) == first

    def _choice_events(self, choice: Mapping[str, Any], delta: Any, index: int, key: str, events: list[Event]) -> bool:
        """What a choice says: in its delta, or in a message that stands in a chunk, of which that counts that no delta said."""
        regular, is_delta = True, isinstance(delta, dict)
        given = choice.get("message")
        message: Mapping[str, Any] = given if isinstance(given, dict) else {}
        self._told.update((index, kind) for kind in _kinds(delta))
        new = {kind for kind in _kinds(message) if (index, kind) not in self._told}
        beside = bool(new) or (given is message and not (is_delta or index in self.begun))
        if is_delta and not (beside and not any(delta.values())):
            last = key == "message" or bool(choice.get("finish_reason"))
            regular = self._delta(delta, index, key, events, last=last and not beside)
        if beside:
            said = {name for kind, names in _KINDS.items() if kind not in new for name in names}
            self._mended("delta")
            self._delta({name: value for name, value in message.items() if name not in said}, index, "message", events, last=True)
            self._told.update((index, kind) for kind in new)
            return False
        if is_delta:
            return regular
        return bool(delta) or key != "delta" or "text" in choice or self._mended("delta")  # PHP's empty object is []

    def _ended(self, choice: Mapping[str, Any], delta: Any, index: int, key: str, events: list[Event]) -> bool:
        """Why a choice ends, if it does."""
        reason = choice.get("finish_reason")
        if reason is None and key == "delta":  # it goes on
            return True
        regular = reason is None or (isinstance(reason, str) and reason not in _NO_REASON) or self._mended("finish_reason")
        reason = reason if isinstance(reason, str) and reason not in _NO_REASON else ""
        means = meant(reason) or reason
        if index in self.calls and (reason or key == "message"):
            tells = isinstance(delta, dict) and "tool_calls" in delta  # as where each chunk has a reason
            tells |= means == "stop" and self.calls[index].lacks  # or where one comes behind each (jcode#1326)
            wait = key == "delta" and (self._patient or tells)
            ends, as_sent = self.calls[index].close(means, wait=wait, last=key != "delta" or not tells)
            events += ends
            regular &= as_sent
        if reason == "function_call" and not self.legacy:
            reason = "tool_calls"
            regular = self._mended("finish_reason")
        elif means != reason and (self._patient or means != "error"):  # for that the API has no word
            regular &= self._patient or self._mended("finish_reason")
            reason = means
        elif not reason and key == "message" and index in self.calls and self.calls[index].complete:  # xAI
            reason = "tool_calls"
            regular = self._mended("finish_reason")
        if reason:
            events += self._listed()
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
            self._list(linked(delta))
        details = delta.get("reasoning_details")
        for name in _HEARD if self._patient else REASONING:
            reasoning = delta.get(name)
            if (text := number_of(reasoning)) is not None:
                reasoning, regular = text, self._mended("content_type")
            if isinstance(reasoning, str) and reasoning:
                self.reasoning_field = name
                events.append(ReasoningDelta(reasoning, index))
                break  # the two fields say the same
        else:
            if details and (text := text_of(details)):
                events.append(ReasoningDelta(text, index))
        if details:
            self._runs.setdefault(index, DetailRun()).add(details)
            self.waits = True  # what comes next may end the run
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
            if key == "message":  # here they stand in order, without index
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
        """The citations of a delta, each once: some repeat them in each."""
        for given in annotations if isinstance(annotations, list) else ():
            citation = cited(given, index)
            if citation is None:
                self._reply.note(CITED)
            elif citation not in self._cited and len(self._cited) < MAX_LINKS:
                self._cited.add(citation)
                events.append(citation)

    def _list(self, citations: list[Citation]) -> None:
        for citation in citations:
            if len(self._links) < MAX_LINKS:
                self._links.setdefault(citation.url, citation)

    def _listed(self) -> list[Citation]:
        """The pages that were listed and not cited by an annotation."""
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
        """A rule fires; what it is about is not regular."""
        self._fired(rule)
        return False


def _kinds(of: Any) -> list[str]:
    """The kinds of what a delta or a message says."""
    return [kind for kind, names in _KINDS.items() if any(of.get(name) for name in names)] if isinstance(of, dict) else []


def _speaks(choice: Mapping[str, Any], delta: Any) -> bool:
    """Whether a choice says more than that it begins."""
    if choice.get("finish_reason") or choice.get("text") or choice.get("message"):
        return True
    return bool(_kinds(delta))
