"""OpenAI Chat Completions ⇄ neutral events: streams of `chat.completion.chunk` and whole messages.

    data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",
           "choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}

Rule of this file: a chunk that every client understands is regular, and its frame untouched; any other is mended under
a name that says what was wrong. What is not understood at all is none of our business. Source: the openai SDK's types,
and the irregular streams that were seen in the wild (missing index or role, `delta: null`, empty finish reasons …).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .. import json_text
from ..course import IN_STRING, Course
from ..events import (
    Event,
    Finish,
    Frame,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    RefusalDelta,
    StreamError,
    TextDelta,
    ToolCallDelta,
)
from ..sse import ServerSentEvent
from ..tools import Tools
from .call_identity import entries_of
from .chat_calls import Calls
from .chat_details import Run, put_seal, text_of
from .chat_parts import parts_of
from .chat_reports import put_errors, stop_sequence_of, usage_in
from .chat_shape import REASONING, Learnt, entry_of_legacy, learn_chunk, may_vary, with_arguments
from .chat_write import rewrite
from .indices import MAX_CHOICES, index_of, is_index
from .learning import Learning
from .lost import tell_fields
from .reasons import meant
from .shape import Shape

_COMMON = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
"""What every chunk of a stream has, and what it gets if none has it."""

_HEARD = (*REASONING, "reasoning_text")
"""Where reasoning is read from where all is written anew: Copilot's, too."""

_SAYS = (*_HEARD, "reasoning_details", "content", "refusal")
"""What a delta says that is no call."""


class Chat:
    """The codec of one response."""

    def __init__(
        self,
        tools: Tools,
        new_id: Callable[[], str],
        fired: Callable[[str], None],
        *,
        reasoning_field: str = REASONING[0],
        patient: bool = False,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._tools = tools
        self._patient = patient
        self._note = note
        self._new_id = new_id
        self._fired = fired
        # a client that offers `functions`, or of which nothing is known, may wait for a `function_call`
        self._legacy = tools.legacy or not tools.known
        self._calls: dict[int, Calls] = {}
        self._choices: set[int] = set()  # those that are read
        self._roles: set[int] = set()
        self._told: set[int] = set()  # those that said something; only the patient ask
        self._common: dict[str, Any] = {}
        self._reasoning_field = reasoning_field  # where reasoning goes that came as content, until a chunk shows better
        self._last: ServerSentEvent | None = None
        self._learning = Learning(may_vary)
        self._learnt: Learnt | None = None
        self._runs: dict[int, Run] = {}  # of reasoning that is told in details
        self._failed = False
        self._finished: set[int] = set()
        self._first: int | None = None  # the choice that is heard, where it is but one

    def decode(self, sse: ServerSentEvent) -> Frame:
        """One server-sent event → its frame. Raises json_text.NotJSON where the data is no JSON."""
        if not sse.data:
            return Frame(sse)
        if sse.ends:
            held, regular = self._held()
            return Frame(sse, (*held, MessageEnd()), touched=not regular)
        learnt = self._learnt
        text = learnt.shape.text(sse.data) if learnt else None
        if learnt and text is not None:
            self._learning.misses = 0
            if not learnt.more:
                return self._say(sse, learnt, text)
        chunk = json_text.loads(sse.data)
        if not isinstance(chunk, dict):
            return Frame(sse)
        events, regular = self._decode(chunk, "delta", named=sse.event == b"error")
        regular &= self._is_complete(chunk)
        if chunk.get("choices"):
            self._last = sse
        if text is not None:
            self._learnt = learnt
        elif found := learn_chunk(self._learning, sse.data, chunk, events, regular=regular):
            self._learnt = found
        return Frame(sse, tuple(events), touched=not regular)

    def _say(self, sse: ServerSentEvent, learnt: Learnt, text: str) -> Frame:
        """What a chunk of a shape says."""
        shape = learnt.shape
        if shape.kind is not ToolCallDelta:
            event = TextDelta if shape.kind is TextDelta else ReasoningDelta
            return Frame(sse, (event(text, shape.choice),), touched=not learnt.regular)
        calls = self._calls[shape.choice]
        more, regular = calls.feed([with_arguments(learnt.entry, text)]) if learnt.entry else calls.more(shape.key, text)
        return Frame(sse, tuple(more), touched=not (regular and learnt.regular))

    def course(self) -> tuple[Shape, Course | None] | None:
        """See codec.Flowing."""
        learnt = self._learnt
        if learnt is None:
            return None
        shape = learnt.shape
        if shape.kind is not ToolCallDelta:
            return shape, None
        calls = self._calls.get(shape.choice)
        return (shape, IN_STRING) if calls and calls.flows(shape.key, learnt.entry) else None

    def decode_message(self, body: bytes) -> Frame:
        """A whole `chat.completion` → one frame, whose data is the body. Raises json_text.NotJSON."""
        message = json_text.loads(body)
        if not isinstance(message, dict):
            raise json_text.NotJSON("no JSON object")
        events, regular = self._decode(message, "message")
        return Frame(ServerSentEvent(body, body), tuple(events), touched=not regular)

    def close(self) -> Frame:
        """The body is over: calls that waited behind a finish reason have no arguments; what waits of others was broken off."""
        return Frame(None, tuple(self._broken_off()), touched=True)

    def encode(self, frame: Frame) -> bytes:
        """A frame → the bytes of its server-sent event; none where nothing is left of it."""
        if not frame.touched and frame.sse is not None:
            return frame.sse.raw
        sse = frame.sse or self._last
        assert sse is not None
        assert sse.data is not None
        if frame.events and _is_alone(frame.events[-1], sse):  # in front of it a chunk for what came with it
            events = frame.events[:-1]
            before = self.encode(Frame(None, events, touched=True)) if events else b""
            return before + (frame.sse.raw if frame.sse else sse.with_data(b"[DONE]"))
        data = self._of_text(frame)
        if data is None:
            data = self._write(sse.data, frame, "delta")
        return sse.with_data(data.encode()) if data else b""

    def held(self) -> bytes:
        """Nothing: every frame leaves with what it says."""
        return b""

    def encode_message(self, frame: Frame) -> bytes:
        """A frame that `decode_message` made → the body."""
        assert frame.sse is not None
        if not frame.touched:
            return frame.sse.raw
        return self._write(frame.sse.raw, frame, "message").encode()

    def _write(self, data: bytes, frame: Frame, key: str) -> str:
        return rewrite(data, frame, key, self._choices, self._common, self._reasoning_field, legacy=self._legacy)

    def _of_text(self, frame: Frame) -> str | None:
        """A chunk of text that became a piece of arguments, or nothing: nearly all that is ever mended."""
        event = frame.events[0] if len(frame.events) == 1 else None
        learnt = self._learnt
        if (frame.events and not isinstance(event, ToolCallDelta)) or not learnt or frame.sse is None or not frame.sse.data:
            return None
        if learnt.shape.varies or learnt.shape.text(frame.sse.data) is None:
            return None
        if not isinstance(event, ToolCallDelta):
            if learnt.nothing is None:
                learnt.nothing = self._write(frame.sse.data, frame, "delta")
            return learnt.nothing
        wrap = learnt.wraps.get(event.index)
        if wrap is None:
            probe = self._write(frame.sse.data, replace(frame, events=(replace(event, arguments="?"),)), "delta")
            head, _, tail = probe.partition('"arguments":"?"')
            wrap = learnt.wraps[event.index] = (head + '"arguments":', tail)
        return wrap[0] + json_text.quote(event.arguments) + wrap[1]

    def _decode(self, chunk: Mapping[str, Any], key: str, *, named: bool = False) -> tuple[list[Event], bool]:
        events: list[Event] = []
        regular = True
        if self._patient:
            tell_fields(chunk, self._note)
        choices = chunk.get("choices")
        for place, choice in enumerate(choices if isinstance(choices, list) else ()):
            if isinstance(choice, dict):
                regular &= self._decode_choice(choice, place, key, events)
        if usage := usage_in(chunk):
            events.append(usage)
        failed, self._failed = self._failed, put_errors(chunk, events, failed=self._failed, named=named)
        if self._failed and not failed and (held := self._broken_off()):
            at = next(at for at, event in enumerate(events) if isinstance(event, StreamError))
            events[at:at] = held
            regular = False
        return events, regular

    def _is_complete(self, chunk: Mapping[str, Any]) -> bool:
        """Whether a chunk has what all have, and clients ask for. If not, it gets what the first had that had it."""
        choices = chunk.get("choices")
        if not isinstance(choices, list) or chunk.get("error"):
            return True
        speaks = any(isinstance(choice, dict) and "delta" in choice for choice in choices)
        if not speaks and not (self._roles and chunk.get("usage")):
            return True
        missing = [name for name in _COMMON if chunk.get(name) is None]
        if len(self._common) < len(_COMMON):
            if "id" in missing and not self._common:
                self._common["id"] = f"chatcmpl-{self._new_id().removeprefix('call_')}"
            for name, made in _COMMON.items():
                self._common.setdefault(name, made if name in missing else chunk[name])
        return not missing or self._mended("chunk_fields")

    def _decode_choice(self, choice: Mapping[str, Any], place: int, key: str, events: list[Event]) -> bool:
        regular = True
        delta = choice.get(key)
        index = index_of(choice.get("index"), place)
        if self._patient:
            index = self._heard(index, speaks=_speaks(choice, delta))
        if not is_index(choice.get("index")):
            regular = self._mended("choice_index")
        if index not in self._choices:
            if len(self._choices) == MAX_CHOICES:
                return regular
            self._choices.add(index)
        if self._patient and isinstance(said := choice.get("text"), str) and not (delta or choice.get("message")):
            delta = {"role": "assistant", "content": said}  # it answers as completions did that are no chat
            regular = self._mended("delta")
        if isinstance(delta, dict) and any(delta.get(name) for name in _SAYS):
            regular &= self._settle(index, events)
        first = len(events)
        message = choice.get("message")
        silent = self._patient and index not in self._told  # so far
        behind = silent and _speaks({}, message) and not _speaks({}, delta)
        if isinstance(delta, dict) and not behind:
            regular &= self._decode_delta(delta, index, key, events)
        elif isinstance(message, dict) and (behind or index not in self._roles):  # a whole answer, if need be behind a beginning
            regular = self._mended("delta")
            self._decode_delta(message, index, "message", events)
        elif delta is None and key == "delta" and "text" not in choice:
            regular = self._mended("delta")
        if silent and (_speaks({}, delta) or _speaks({}, message)):
            self._told.add(index)
        reason = choice.get("finish_reason")
        if reason == "":
            regular = self._mended("finish_reason")
        reason = reason if isinstance(reason, str) else ""
        means = meant(reason) or reason
        if index in self._calls and (reason or key == "message"):
            tells = isinstance(delta, dict) and "tool_calls" in delta  # as where each chunk has a reason
            ends, as_sent = self._calls[index].close(means, wait=key == "delta" and (self._patient or tells))
            events += ends
            regular &= as_sent
        if reason == "function_call" and not self._legacy:
            reason = "tool_calls"
            regular = self._mended("finish_reason")
        if reason:
            self._finished.add(index)
            reason = means if self._patient else reason  # else the client's to understand, as it came
            events.append(Finish(reason, index, stop_sequence_of(choice) if reason == "stop" else None))
        if index in self._runs:
            put_seal(self._runs, index, events, first, whole=key == "message")
        return regular

    def _heard(self, index: int, *, speaks: bool) -> int:
        """The index of a choice where all is written anew, and but one is heard: 0, or if another speaks before it, that one."""
        if self._first is None and (speaks or index == 0):
            self._first = index
            if index in self._roles:
                self._roles.add(0)
        return index if self._first is None else 0 if index == self._first else self._first if index == 0 else index

    def _settle(self, index: int, events: list[Event]) -> bool:
        """Something is said that is no call: those that wait come in front of it. Whether none did."""
        first = len(events)
        if index in self._calls:
            events += self._calls[index].settle()
        if index in self._runs:
            put_seal(self._runs, index, events, first, whole=False)
        return len(events) == first

    def _decode_delta(self, delta: Mapping[str, Any], index: int, key: str, events: list[Event]) -> bool:
        regular = True
        if index not in self._roles and delta:
            self._roles.add(index)
            events.append(MessageStart(index))
            if not delta.get("role"):
                regular = self._mended("role")
        if self._patient:
            tell_fields(delta, self._note)
        details = delta.get("reasoning_details")
        for name in _HEARD if self._patient else REASONING:
            reasoning = delta.get(name)
            if isinstance(reasoning, str) and reasoning:
                self._reasoning_field = name
                events.append(ReasoningDelta(reasoning, index))
                break  # the two fields say the same
        else:
            if details and (text := text_of(details)):
                events.append(ReasoningDelta(text, index))
        if details:
            self._runs.setdefault(index, Run()).add(details)
            self._learnt = None  # what comes next is to be seen: it may end the run
        content = delta.get("content")
        if isinstance(content, str) and content:
            events.append(TextDelta(content, index))
        elif isinstance(content, list | dict):
            events += parts_of(content, index)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            events.append(RefusalDelta(refusal, index))
        entries = delta.get("tool_calls")
        legacy = delta.get("function_call")
        if entries and not isinstance(entries, list):
            entries = entries_of(entries)
            regular = self._mended("tool_calls")
        if entries:
            if key == "message":  # here they stand in order, without index
                entries = [{**entry, "index": n} for n, entry in enumerate(entries) if isinstance(entry, dict)]
        elif legacy and isinstance(legacy, dict) and not self._legacy:
            entries = [entry_of_legacy(legacy)]
            regular = self._mended("function_call")
        else:
            return regular
        calls, as_sent = self._calls_of(index).feed(entries)
        events += calls
        if not as_sent:
            self._learnt = None  # a call may wait for what is said next
        return regular and as_sent

    def _calls_of(self, choice: int) -> Calls:
        if choice not in self._calls:
            self._calls[choice] = Calls(self._tools, choice, self._new_id, self._fired, patient=self._patient)
        return self._calls[choice]

    def _broken_off(self) -> list[Event]:
        """Nothing more comes, and the message was not over, but for the choices that have a finish reason."""
        ends = [calls.close("" if choice in self._finished else "error")[0] for choice, calls in sorted(self._calls.items())]
        return [event for events in ends for event in events]

    def _held(self) -> tuple[list[Event], bool]:
        """The message is over, and there was no finish reason to say so: what is left, and whether it need not be sent."""
        events: list[Event] = []
        for choice in tuple(self._runs):
            put_seal(self._runs, choice, events, 0, whole=True)
        closed = [calls.close("") for calls in self._calls.values()]
        return [*events, *(event for ends, _ in closed for event in ends)], all(as_sent for _, as_sent in closed)

    def _mended(self, rule: str) -> bool:
        """A rule fires; what it is about is not regular."""
        self._fired(rule)
        return False


def _speaks(choice: Mapping[str, Any], delta: Any) -> bool:
    """Whether a choice says more than that it begins."""
    if choice.get("finish_reason") or choice.get("text") or choice.get("message"):
        return True
    return isinstance(delta, dict) and any(delta.get(name) for name in (*_SAYS, "tool_calls", "function_call"))


def _is_alone(last: Event, sse: ServerSentEvent) -> bool:
    """Whether an event of the upstream's says but that the message is over, or an error: nothing else can stand in it."""
    if not isinstance(last, StreamError):
        return isinstance(last, MessageEnd)
    chunk = json_text.loads(sse.data or b"")
    return not (isinstance(chunk, dict) and chunk.get("choices"))
