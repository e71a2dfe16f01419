"""Neutral events → Anthropic Messages, for a client whose upstream speaks another API. See docs/dev/wire-apis.md.

    message_start → ping → { content_block_start → deltas → content_block_stop }* → message_delta → message_stop
                                                    … → error, and nothing after it

1. The output is legal for the strictest client, for any input.
2. The stop reason and the counts wait for the end of the message, because usage follows the finish reason. Without either, or
   with a call that cannot be parsed, the end is an error.
3. Arguments that were cut off by the length of the answer or a filter stay incomplete, under `max_tokens` or `refusal`, as
   Anthropic sends them: they are neither completed nor `{}`. A whole message, whose `input` is an object, omits such a call.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core import json_text
from ...core.events import Citation, Compacting, Event, Finish, MessageEnd, StreamError, Usage, WebSearch
from ...core.fastclass import replace
from ...core.fold import Message, fold
from ...core.ids import with_prefix
from ...core.reasoning_state import ReasoningState, envelope
from ..codec import Reply
from ..shared.numbers import has_counts
from ..shared.web_search import MAX_QUOTED, blocks_of, from_citations, location_of
from .blocks import BROKEN_CALL, Blocks, compaction_of, event
from .errors import error_body, error_type
from .tool_input import input_of
from .usage import CUT_OFF, stop_of, write_usage

MAX_SILENT = 64
"""Events without output after which a ping is sent. A count, no clock: the output depends on the input alone."""

_PING = event("ping", '{"type":"ping"}')
_COMPACTED: dict[str, Any] = {"stop_reason": "compaction", "stop_sequence": None}
_NOTHING = Finish("length")
"""Copilot's answer without a choice, when one token was requested (cc-switch#4923)."""

_EMPTY = "the upstream's answer is empty"
_CHARACTERS = 4
"""Characters per token, for estimates."""


class MessagesWriter:
    """Writes one response."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._blocks = Blocks(reply.new_id)
        self._started = self._over = False
        self._silent = 0
        self._finish: Finish | None = None
        self._usage: Usage | None = None
        self._searches = 0  # sent so far
        self._citations: list[Citation] = []

    def write(self, events: Sequence[Event]) -> bytes:
        """Returns the SSE events for the events of one frame; b"" if nothing can be sent yet."""
        out: list[str] = []
        over = self._over
        try:
            for each in events:
                if not self._over and getattr(each, "choice", 0) == 0:
                    self._write(each, out)
            return "".join(out).encode()
        except Exception:
            self._over = over  # the end was not sent
            raise

    def ping(self) -> bytes:
        """Returns a sign of life: a comment if message_start was not sent yet."""
        if self._over:
            return b""
        return _PING.encode() if self._started else b": ping\n\n"

    def close(self, why: StreamError | None = None) -> bytes:
        """Ends the stream, once; with an error if the message is incomplete."""
        out: list[str] = []
        if not self._over and (self._finish or (self._reply.brief and has_counts(self._usage) and not self._blocks.count)):
            self._end(out)
        elif not self._over and why:
            self._write(why, out)
        elif not self._over:
            self._fail("api_error", "the upstream's answer was cut off" if self._started else _EMPTY, out)
        return "".join(out).encode()

    def fail(self, message: str) -> bytes:
        """Ends the stream with an error of toolmend. Held content is dropped: it may be the cause."""
        if self._over:
            return b""
        self._over = True
        return event("error", error_body("api_error", message)).encode()

    def message(self, events: Sequence[Event]) -> bytes:
        """Returns a whole response as JSON: an error object if there is no answer, or a call that cannot be parsed."""
        message = fold(events)
        if search := self._unreported(message.citations, message.usage, len(message.searches)):
            message.searches.append(search)
        self._searches = len(message.searches)
        blocks, refused, problem = _content(message, self._reply)
        if not (blocks or message.finish) and self._reply.brief:
            message.finish = _NOTHING
        if message.error:
            return _error(message.error).encode()
        if problem or not (blocks or message.finish):
            return error_body("api_error", problem or _EMPTY).encode()
        called = any(block["type"] == "tool_use" for block in blocks)
        stop = stop_of(message.finish, called=called, refused=refused, refusal=message.refusal)
        return json_text.dumps(
            {
                **self._head(),
                "content": blocks,
                **(_COMPACTED if message.compaction and message.compaction.alone else stop),
                "usage": self._counts(message.usage, message.size),
            }
        ).encode()

    def _write(self, each: Event, out: list[str]) -> None:
        if isinstance(each, StreamError):
            self._break_off(_error(each), out)
            return
        if isinstance(each, MessageEnd):
            self._end(out)
            return
        self._begin(out)
        if isinstance(each, Finish):
            self._finish = each
        elif isinstance(each, Compacting):
            out.append(_PING)
        elif isinstance(each, Usage):
            self._usage = each if has_counts(each) else self._usage
        else:
            self._searches += isinstance(each, WebSearch)
            self._citations += [each] if isinstance(each, Citation) else []
            self._blocks.feed(each)
        self._send(out)

    def _begin(self, out: list[str]) -> None:
        if not self._started:
            self._started = True
            usage = write_usage(Usage(max(1, self._reply.input_tokens)))
            start = {"type": "message_start", "message": {**self._head(), "usage": usage}}
            out.append(event("message_start", json_text.dumps(start)) + _PING)

    def _unreported(self, citations: Sequence[Citation], usage: Usage | None, searches: int) -> WebSearch | None:
        """The search that the upstream ran and did not report, if the client offers one. Its results are the cited pages."""
        if self._reply.query is None or searches or not (citations or (usage and usage.searches)):
            return None
        return from_citations(self._reply.new_id().removeprefix("call_"), self._reply.query, citations)

    def _send(self, out: list[str]) -> None:
        """Sends the output of the blocks, or a ping after a long silence."""
        text = self._blocks.take()
        self._silent = 0 if text else self._silent + 1
        if self._silent == MAX_SILENT:
            self._silent = 0
            text = _PING
        if text:
            out.append(text)
        if self._blocks.error or self._blocks.invalid:
            self._fail("api_error", self._blocks.error or _unreadable(self._blocks.invalid), out)

    def _end(self, out: list[str]) -> None:
        """Ends the message, as the upstream requested."""
        finish = self._finish
        if finish is None and self._reply.brief and not self._blocks.count:
            finish = _NOTHING
            self._begin(out)
        if finish and finish.finish_reason == "error":
            self._fail("api_error", "the upstream's answer ended in an error", out)
            return
        if search := self._unreported(self._citations, self._usage, self._searches):
            self._searches = 1
            self._blocks.feed(search)
        self._blocks.finish(cut=_cut(finish))
        self._send(out)
        if not (self._over or finish or self._blocks.count):
            self._fail("api_error", _EMPTY, out)
        if self._over:
            return
        delta = {
            "type": "message_delta",
            "delta": _stop(finish, self._blocks),
            "usage": self._counts(self._usage, self._blocks.characters),
        }
        out.append(event("message_delta", json_text.dumps(delta)) + event("message_stop", '{"type":"message_stop"}'))
        self._over = True  # set last: after an exception here an error is still sent

    def _fail(self, name: str, message: str, out: list[str]) -> None:
        self._break_off(error_body(name, message), out)

    def _break_off(self, error: str, out: list[str]) -> None:
        """Ends the stream with an error, after held content."""
        self._over = True
        self._blocks.break_off()
        out.append(self._blocks.take() + event("error", error))

    def _head(self) -> dict[str, Any]:
        """The members of an empty message."""
        model = self._reply.request.get("model")
        return {
            "id": with_prefix("msg_", self._reply.new_id()),
            "type": "message",
            "role": "assistant",
            "model": model if isinstance(model, str) and model else "unknown",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    def _counts(self, usage: Usage | None, characters: int) -> Mapping[str, Any]:
        """The token counts, estimated if the upstream sends none: clients plan their context by them."""
        if not has_counts(usage):
            self._reply.fired("usage_estimated")
            usage = Usage(max(1, self._reply.input_tokens), -(-characters // _CHARACTERS))
        return write_usage(replace(usage, searches=usage.searches or self._searches))


def _content(message: Message, reply: Reply) -> tuple[list[dict[str, Any]], bool, str]:
    """The content of a whole message.

    Returns:
        The blocks (thinking, searches, text, calls), whether the message is a refusal, and what is wrong with it ("" if
        nothing).
    """
    blocks: list[dict[str, Any]] = []
    for run in message.thinking:
        seal = run.seal or ReasoningState("plain")
        redacted = seal.kind == "redacted"
        signature = seal.data if seal.kind == "signature" else envelope(ReasoningState("plain") if redacted else seal)
        if run.text or (seal.data and not redacted):
            blocks.append({"type": "thinking", "thinking": run.text, "signature": signature})
        if redacted and seal.data:
            blocks.append({"type": "redacted_thinking", "data": seal.data})
    blocks += [block for search in message.searches for block in blocks_of(search, reply.new_id())]
    blocks += _texts(message)
    if message.compaction:
        blocks.insert(0, compaction_of(message.compaction))
    problem = ""
    ids: set[str] = set()
    for _, call in sorted(message.calls.items()):
        value = input_of(call.arguments, complete=call.complete)
        if call.arguments and not (call.complete or _cut(message.finish)):
            problem = BROKEN_CALL
        elif value is not None:
            id_ = call.id if call.id and call.id not in ids else with_prefix("toolu_", reply.new_id())
            ids.add(id_)
            blocks.append({"type": "tool_use", "id": id_, "name": call.name, "input": value})
        elif call.complete or not _cut(message.finish):
            problem = _unreadable(call.name)
    if message.finish and message.finish.finish_reason == "error":
        problem = "the upstream's answer ended in an error"
    return blocks, bool(message.refusal), problem


def _texts(message: Message) -> Iterator[dict[str, Any]]:
    """Yields the text blocks, one for each message that the upstream made of the text."""
    whole = message.text + message.refusal
    ends, starts = [end for end, _ in message.apart], [start for _, start in message.apart]
    for start, end in zip([0, *starts], [*ends, len(whole)], strict=True):
        cited = [
            location_of(citation, whole[citation.start : citation.end][:MAX_QUOTED])
            for citation in message.citations
            if start <= citation.start < max(end, start + 1)
        ]
        if text := whole[start:end]:
            yield {"type": "text", "text": text, **({"citations": cited} if cited else {})}


def _stop(finish: Finish | None, blocks: Blocks) -> dict[str, Any]:
    if blocks.compacted:
        return _COMPACTED
    return stop_of(finish, called=blocks.called, refused=blocks.refused, refusal=blocks.refusal)


def _cut(finish: Finish | None) -> bool:
    """Whether the message was cut off, so that a call may be incomplete."""
    return finish is not None and finish.finish_reason in CUT_OFF


def _unreadable(name: str) -> str:
    return f"the arguments of the upstream's call of {name} are no JSON object"


def _error(error: StreamError) -> str:
    return error_body(error_type(error.status, error.type, error.message), error.message)
