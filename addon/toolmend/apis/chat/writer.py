"""Neutral events → Chat Completions, for a client whose upstream speaks another API: all is written from the events alone.

    data: {"id":"chatcmpl-018e…","object":"chat.completion.chunk","created":1,"model":"m",
           "choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
    … {"reasoning_content":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm.","index":0}]} …
    … {"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"ls","arguments":""}}]} …
    … {"delta":{},"finish_reason":"tool_calls"} …
    data: {…,"choices":[],"usage":{…}}          if the client asked for it
    data: [DONE]

The finish reason, the usage and [DONE] are sent together once the message is known to be over. An error is the last event of a
stream; a message that was cut off, or a call in it, ends in one. See docs/dev/wire-apis.md.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...core import ids, json_text
from ...core.events import (
    Citation,
    Event,
    Finish,
    LogProbs,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    ReasoningSeal,
    RefusalDelta,
    StreamError,
    TextDelta,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from ...core.fold import BETWEEN, Call, Message, Thinking, fold, in_part
from ..codec import Reply
from ..shared.errors import Fault, write_error
from ..shared.numbers import has_counts
from ..shared.web_search import nested_annotation
from .reasoning_details import sealed, text_entry
from .tool_calls import BROKEN_OFF
from .usage import write_usage

PING = b": keep-alive\n\n"

_CUT_OFF = StreamError("server_error", "The upstream broke off before the message was complete.", 502)
_EMPTY = StreamError("server_error", "The upstream's message is empty.", 502)
_BROKEN_CALL = StreamError("server_error", "A tool call of the upstream's answer was broken off.", 502)
_ENDED = StreamError("server_error", "The upstream ended with an error.", 502)


class ChatWriter:
    """Writes one response."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        id_, model = reply.new_id(), reply.request.get("model")
        self._common = {
            "id": f"chatcmpl-{id_.removeprefix('call_')}",
            "object": "chat.completion.chunk",
            "created": ids.seconds(id_),
            "model": model if isinstance(model, str) else "",
        }
        self._head = f"data: {json_text.dumps(self._common)[:-1]},"
        options = reply.request.get("stream_options")
        self._include_usage = isinstance(options, Mapping) and bool(options.get("include_usage"))
        self._begun = False  # the role was sent
        self._over = False  # the end was sent
        self._calls: dict[int, _Open] = {}  # open calls by the index of the events
        self._called = 0  # calls started so far
        self._ids: set[str] = set()  # of all calls
        self._size = 0  # characters sent, for an estimate of the tokens
        self._text = self._part = 0  # characters of text, and where the upstream's last part begins
        self._ends_blank = False  # the text ends in white space
        self._run = 0  # sealed runs of reasoning
        self._thinking = False  # the current run has text
        self._thought = False  # any run has text
        self._logprobs: list[Mapping[str, Any]] = []  # of the text that follows
        self._finish: Finish | None = None
        self._usage: Usage | None = None

    def write(self, events: Sequence[Event]) -> bytes:
        """Returns the chunks for the events of one frame."""
        out: list[bytes] = []
        for event in events:
            if not self._over and getattr(event, "choice", 0) == 0:
                self._event(event, out)
        return b"".join(out)

    def ping(self) -> bytes:
        """Returns a sign of life."""
        return b"" if self._over else PING

    def close(self, why: StreamError | None = None) -> bytes:
        """Ends the stream, with an error if there was no finish reason."""
        out: list[bytes] = []
        if not self._over:
            if self._finish:
                self._end(out)
            else:
                self._fail(why or _CUT_OFF, out)
        return b"".join(out)

    def fail(self, message: str) -> bytes:
        """Ends the stream with an error of toolmend."""
        out: list[bytes] = []
        if not self._over:
            self._fail(StreamError("server_error", message, 500), out)
        return b"".join(out)

    def message(self, events: Sequence[Event]) -> bytes:
        """Returns a whole response as JSON."""
        whole = fold(events)
        reason = _reason(whole.finish, whole.size, len(whole.calls))
        error = whole.error or (reason if isinstance(reason, StreamError) else None)
        if reason not in BROKEN_OFF and any(_is_broken(call) for call in whole.calls.values()):
            error = error or _BROKEN_CALL
        if error:
            return _error(error)
        logprobs = {"content": whole.logprobs, "refusal": None} if whole.logprobs else None
        choice = {"index": 0, "message": self._message(whole), "logprobs": logprobs, "finish_reason": reason}
        choice |= stop_details(whole.finish)
        answer = {
            **self._common,
            "object": "chat.completion",
            "choices": [choice],
            "usage": self._count(whole.usage, whole.size),
        }
        return json_text.dumps(answer).encode()

    def _event(self, event: Event, out: list[bytes]) -> None:
        match event:
            case MessageStart():
                if not self._begun:
                    self._delta({}, out)
            case LogProbs(tokens):
                self._logprobs += tokens
            case TextDelta(text) if text:
                self._text += len(text)
                self._ends_blank = text[-1].isspace()
                self._sized_delta({"content": text}, text, out)
            case TextStart():
                if event.apart and self._text and not self._ends_blank:
                    self._text += len(BETWEEN)
                    self._sized_delta({"content": BETWEEN}, BETWEEN, out)
                self._part = self._text
            case Citation():
                self._delta({"annotations": [nested_annotation(in_part(event, self._part, self._text))]}, out)
            case RefusalDelta(text) if text:
                self._sized_delta({"refusal": text}, text, out)
            case ReasoningDelta(text) if text:
                before = BETWEEN if self._thought and not self._thinking else ""
                self._thinking = self._thought = True
                details = [text_entry(text, self._run)]
                self._sized_delta({self._reply.reasoning_field: before + text, "reasoning_details": details}, text, out)
            case ReasoningSeal(seal):
                if details := sealed(seal, self._run, has_text=self._thinking):
                    self._delta({"reasoning_details": details}, out)
                self._run += 1
                self._thinking = False
            case ToolCallStart():
                self._start(event, out)
            case ToolCallDelta() if event.arguments and (call := self._calls.get(event.index)):
                self._arguments(call, event.arguments, out)
            case ToolCallEnd() if call := self._calls.pop(event.index, None):
                self._complete(call, out)
            case Finish():
                self._finish = event
            case Usage() if has_counts(event):
                self._usage = event
            case StreamError():
                self._fail(event, out)
            case MessageEnd():
                self._end(out)
            case _:
                pass

    def _start(self, event: ToolCallStart, out: list[bytes]) -> None:
        call = self._calls[event.index] = _Open(self._called, event.kind)
        self._called += 1
        inner = {"name": event.name, call.field: ""}
        id_ = self._own_id(event.id)
        self._delta({"tool_calls": [{"index": call.index, "id": id_, "type": event.kind, event.kind: inner}]}, out)

    def _own_id(self, id_: str) -> str:
        """Returns the id of a call, or a new one if another call of the answer has it."""
        id_ = id_ if id_ and id_ not in self._ids else self._reply.new_id()
        self._ids.add(id_)
        return id_

    def _sized_delta(self, delta: Mapping[str, Any], text: str, out: list[bytes]) -> None:
        self._size += len(text)
        self._delta(delta, out)

    def _arguments(self, call: "_Open", arguments: str, out: list[bytes]) -> None:
        call.has_arguments = True
        self._sized_delta({"tool_calls": [{"index": call.index, call.kind: {call.field: arguments}}]}, arguments, out)

    def _complete(self, call: "_Open", out: list[bytes]) -> None:
        """Completes a function call without arguments by an empty object."""
        if not call.has_arguments and call.kind == "function":
            self._arguments(call, "{}", out)

    def _delta(self, delta: Mapping[str, Any], out: list[bytes], reason: str | None = None, more: str = "") -> None:
        if not self._begun:
            self._begun = True
            delta = {"role": "assistant", "content": "", **delta}
        if self._logprobs and (delta.get("content") or reason):
            tokens, self._logprobs = self._logprobs, []
            more += f',"logprobs":{json_text.dumps({"content": tokens, "refusal": None})}'
        finish = json_text.dumps(reason)
        out.append(self._chunk(f'[{{"index":0,"delta":{json_text.dumps(delta)},"finish_reason":{finish}{more}}}]'))

    def _chunk(self, choices: str, rest: str = "") -> bytes:
        return f'{self._head}"choices":{choices}{rest}}}\n\n'.encode()

    def _end(self, out: list[bytes]) -> None:
        """Ends the message: finish reason, usage, [DONE]."""
        reason = _reason(self._finish, self._size, self._called)
        if isinstance(reason, StreamError):
            self._fail(reason, out)
            return
        if reason not in BROKEN_OFF:
            if any(call.has_arguments and call.kind == "function" for call in self._calls.values()):
                self._fail(_BROKEN_CALL, out)
                return
            for call in self._calls.values():
                self._complete(call, out)
        self._over = True
        self._delta({}, out, reason, _details_of(self._finish))
        if self._include_usage:
            out.append(self._chunk("[]", f',"usage":{json_text.dumps(self._count(self._usage, self._size))}'))
        out.append(b"data: [DONE]\n\n")

    def _fail(self, error: StreamError, out: list[bytes]) -> None:
        self._over = True
        out.append(b"data: " + _error(error) + b"\n\n")

    def _count(self, usage: Usage | None, size: int) -> dict[str, Any]:
        if not has_counts(usage):
            self._reply.fired("usage_estimated")
            usage = Usage(self._reply.input_tokens, -(-size // 4))  # some four characters a token
        # about four characters a token
        return write_usage(usage)

    def _message(self, whole: Message) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": whole.text or None, "refusal": whole.refusal or None}
        if whole.citations:
            message["annotations"] = [nested_annotation(citation) for citation in whole.citations]
        if whole.reasoning:
            message[self._reply.reasoning_field] = whole.reasoning
        if details := [entry for run, thinking in enumerate(whole.thinking) for entry in _details(thinking, run)]:
            message["reasoning_details"] = details
        if whole.calls:
            broken = whole.finish is not None and whole.finish.finish_reason in BROKEN_OFF
            message["tool_calls"] = [
                _call(call, self._own_id(call.id), broken=broken and not call.complete) for call in whole.calls.values()
            ]
        return message


class _Open:
    """An open call. `index` is the client's."""

    __slots__ = ("field", "has_arguments", "index", "kind")

    def __init__(self, index: int, kind: str) -> None:
        self.index = index
        self.kind = kind
        self.field = "input" if kind == "custom" else "arguments"
        self.has_arguments = False  # arguments were sent


def _reason(finish: Finish | None, size: int, calls: int) -> str | StreamError:
    """The finish reason, or the error to send in its place. Calls decide, unless the upstream's own reason is in BROKEN_OFF."""
    if finish is None and not (size or calls):
        return _EMPTY
    reason = finish.finish_reason if finish else ""
    if reason == "error":
        return _ENDED
    return reason if reason in BROKEN_OFF else "tool_calls" if calls else "stop"


def stop_details(finish: Finish | None) -> dict[str, Any]:
    """Why the model declined, in the member that Messages has."""
    if finish is None or not (finish.explanation or finish.category):
        return {}
    return {"stop_details": {"type": "refusal", "category": finish.category or None, "explanation": finish.explanation or None}}


def _details_of(finish: Finish | None) -> str:
    """The same as JSON text to append to a member."""
    return "".join(f',"{name}":{json_text.dumps(value)}' for name, value in stop_details(finish).items())


def _is_broken(call: Call) -> bool:
    return call.kind == "function" and not call.complete and bool(call.arguments)


def _error(error: StreamError) -> bytes:
    return write_error(Fault(error.status or 500, error.message or error.type, error.type), "chat", "")[1]


def _details(thinking: Thinking, run: int) -> list[Any]:
    """The entries of one run in a whole message: text and envelope share an entry."""
    if thinking.seal is None:
        return [text_entry(thinking.text, run)] if thinking.text else []
    details = sealed(thinking.seal, run, has_text=bool(thinking.text))
    return [text_entry(thinking.text, run) | details[0]] if thinking.text and thinking.seal.kind != "details" else details


def _call(call: Call, id_: str, *, broken: bool) -> dict[str, Any]:
    if call.kind == "custom":
        return {"id": id_, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    arguments = call.arguments or ("" if broken else "{}")
    return {"id": id_, "type": "function", "function": {"name": call.name, "arguments": arguments}}
