"""Neutral events → OpenAI Responses, for a client whose upstream speaks another API.

    created → in_progress → { output_item.added → parts → output_item.done }* → completed | incomplete | failed

1. The last event waits for the end of the upstream's message, because usage follows the finish reason.
2. An answer or a call that was cut off never looks like a success.
"""

from collections.abc import Sequence
from typing import Any

from ...core import json_text
from ...core.events import Compacting, Event, Finish, MessageEnd, StreamError, Usage
from ..codec import Reply
from ..shared.errors import Fault, write_error
from ..shared.numbers import has_counts
from .items import MAX_KEPT, Output
from .usage import ENDS, estimate, failed_response, finished_response, new_response

SOURCES = "web_search_call.action.sources"
"""The value of `include` that requests the sources of web searches."""

_NO_SUMMARY = "The upstream wrote no summary of the conversation."
_EMPTY = "The upstream's answer is empty."
"""Codex would take an empty answer for the end of the turn, and show nothing; at this error it retries."""

_CUT_OFF = "The upstream's answer was cut off."
_BROKEN_CALL = "A tool call of the upstream's answer was broken off."


class ResponsesWriter:
    """Writes one response. Keeps at most MAX_KEPT characters of it."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        include = reply.request.get("include")
        self._output = Output(reply.new_id, sources=isinstance(include, list) and SOURCES in include)
        self._response: dict[str, Any] = {}
        self._finish: Finish | None = None
        self._usage: Usage | None = None
        self._over = False

    def write(self, events: Sequence[Event]) -> bytes:
        """Returns the SSE events for the events of one frame."""
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
        """Returns a comment; while a summary is awaited an event, because Codex ignores comments."""
        if self._reply.compacts and not self._over:
            return self.write((Compacting(),))
        return b"" if self._over else b": keep-alive\n\n"

    def close(self, why: StreamError | None = None) -> bytes:
        """Ends the stream, with an error if the message is incomplete."""
        if not self._over:
            self._begin()
            if why and not self._finish:
                self._fail(why)
            else:
                self._end(ended_well=False)
        return self._output.take()

    def fail(self, message: str) -> bytes:
        """Ends the stream with an error of toolmend."""
        if not self._over:
            self._begin()
            self._fail(StreamError("server_error", message))
        return self._output.take()

    def message(self, events: Sequence[Event]) -> bytes:
        """Returns a whole response as JSON; it may lack a finish reason."""
        self.write(events)
        if not self._over:
            self._begin()
            self._end(ended_well=True)
        if self._reply.compacts == "response":
            return self._compacted()
        return json_text.dumps(self._response).encode()

    def _compacted(self) -> bytes:
        """Returns the response of `/responses/compact`; an error if there is no summary."""
        if (error := self._response.get("error")) or not self._response["output"]:
            return write_error(Fault(502, (error or {}).get("message") or _NO_SUMMARY), "responses", "")[1]
        kept = {"id": self._response["id"], "object": "response.compaction", "created_at": self._response["created_at"]}
        kept |= {"output": [*self._reply.kept, *self._response["output"]], "usage": self._response["usage"]}
        return json_text.dumps(kept).encode()

    def _begin(self) -> None:
        if not self._response:
            self._response = new_response(self._reply)
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
                self._output.feed(event)

    def _end(self, *, ended_well: bool) -> None:
        """Ends the response. `ended_well`: the upstream ended the message."""
        output = self._output
        reason = self._finish.finish_reason if self._finish else "stop"
        status = ENDS.get(reason, ("completed", ""))[0]
        if self._finish is None and not (ended_well and output.items):
            self._fail(StreamError("server_error", _CUT_OFF))
        elif status == "failed":
            self._fail(StreamError("server_error", "The upstream ended its answer with an error."))
        elif self._reply.codex and status == "completed" and not output.items:
            self._fail(StreamError("server_error", _EMPTY))
        elif output.has_open_call and (status == "completed" or output.holds_content):
            self._fail(StreamError("server_error", _BROKEN_CALL))
        else:
            output.close(status)
            usage = self._usage or estimate(self._reply, output.size)
            self._last(finished_response(self._response, reason, output.output(), usage))

    def _fail(self, error: StreamError) -> None:
        self._output.break_off()
        self._last(failed_response(self._response, error, self._output.output(), self._usage))

    def _last(self, response: dict[str, Any]) -> None:
        self._response = response
        self._output.event(f"response.{response['status']}", response=response)
        self._over = True
