"""Neutral events → OpenAI Responses, for a client of it whose upstream speaks another API.

    created → in_progress → { output_item.added → parts → output_item.done }* → completed | incomplete | failed

Rule of this file: the last event waits for the end of the upstream's message, for usage comes behind the finish reason;
and an answer that was cut off, or a call that was, never looks like a success.
"""

from collections.abc import Sequence
from typing import Any

from ...core import json_text
from ...core.events import Compacting, Event, Finish, MessageEnd, StreamError, Usage
from ..codec import Reply
from ..shared.counts import has_counts
from ..shared.errors import Fault, write_error
from .items import MAX_KEPT, Output
from .usage import ENDS, begun, ended, estimate, failed

SOURCES = "web_search_call.action.sources"
"""What `include` asks for to get the sources of web searches."""

_NO_SUMMARY = "The upstream wrote no summary of the conversation."
_EMPTY = "The upstream's answer is empty."
"""Codex would take it for a turn that is over, and show nothing; now it asks again."""

_CUT_OFF = "The upstream's answer was cut off."
_BROKEN_CALL = "A tool call of the upstream's answer was broken off."


class ResponsesWriter:
    """One response. Keeps at most MAX_KEPT characters of it."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        include = reply.request.get("include")
        self._output = Output(reply.new_id, sources=isinstance(include, list) and SOURCES in include)
        self._response: dict[str, Any] = {}
        self._finish: Finish | None = None
        self._usage: Usage | None = None
        self._over = False

    def write(self, events: Sequence[Event]) -> bytes:
        """The events of one frame → server-sent events."""
        if not events or self._over:
            return b""
        self._begin()
        for event in events:
            self._event(event)
            if self._output.size > MAX_KEPT:
                self._fail(StreamError("server_error", "The upstream's answer is too long to be kept."))
            if self._over:
                break
        return self._output.take()

    def skip(self, count: int) -> None:
        """See codec.Numbered."""
        self._output.sequence += count

    def ping(self) -> bytes:
        """A comment; where a summary is awaited, an event: Codex takes no comment for a sign of life."""
        if self._reply.compacts and not self._over:
            return self.write((Compacting(),))
        return b"" if self._over else b": keep-alive\n\n"

    def close(self, why: StreamError | None = None) -> bytes:
        """The upstream's body is over."""
        if not self._over:
            self._begin()
            if why and not self._finish:
                self._fail(why)
            else:
                self._end(ended_well=False)
        return self._output.take()

    def fail(self, message: str) -> bytes:
        """Something broke on our side."""
        if not self._over:
            self._begin()
            self._fail(StreamError("server_error", message))
        return self._output.take()

    def message(self, events: Sequence[Event]) -> bytes:
        """A whole response; one without a finish reason is whole as well."""
        self.write(events)
        if not self._over:
            self._begin()
            self._end(ended_well=True)
        if self._reply.compacts == "response":
            return self._compacted()
        return json_text.dumps(self._response).encode()

    def _compacted(self) -> bytes:
        """The response of `/responses/compact`; an error where there is no summary."""
        if (error := self._response.get("error")) or not self._response["output"]:
            return write_error(Fault(502, (error or {}).get("message") or _NO_SUMMARY), "responses", "")[1]
        kept = {"id": self._response["id"], "object": "response.compaction", "created_at": self._response["created_at"]}
        kept |= {"output": [*self._reply.kept, *self._response["output"]], "usage": self._response["usage"]}
        return json_text.dumps(kept).encode()

    def _begin(self) -> None:
        if not self._response:
            self._response = begun(self._reply)
            self._output.event("response.created", response=self._response)
            self._output.event("response.in_progress", response=self._response)

    def _event(self, event: Event) -> None:
        match event:
            case Usage():
                self._usage = event if has_counts(event) else self._usage
            case StreamError():
                self._fail(event)
            case MessageEnd():
                self._end(ended_well=True)
            case _ if event.choice:
                pass
            case Finish():
                self._finish = event
            case _:
                self._output.say(event)

    def _end(self, *, ended_well: bool) -> None:
        """`ended_well`: the upstream said that nothing more will come."""
        output = self._output
        reason = self._finish.finish_reason if self._finish else "stop"
        status = ENDS.get(reason, ("completed", ""))[0]
        if self._finish is None and not (ended_well and output.items):
            self._fail(StreamError("server_error", _CUT_OFF))
        elif status == "failed":
            self._fail(StreamError("server_error", "The upstream ended its answer with an error."))
        elif self._reply.codex and status == "completed" and not output.items:
            self._fail(StreamError("server_error", _EMPTY))
        elif output.broken and (status == "completed" or output.stuck):
            self._fail(StreamError("server_error", _BROKEN_CALL))
        else:
            output.close(status)
            usage = self._usage or estimate(self._reply, output.size)
            self._last(ended(self._response, reason, output.output(), usage))

    def _fail(self, error: StreamError) -> None:
        self._output.break_off()
        self._last(failed(self._response, error, self._output.output(), self._usage))

    def _last(self, response: dict[str, Any]) -> None:
        self._response = response
        self._output.event(f"response.{response['status']}", response=response)
        self._over = True
