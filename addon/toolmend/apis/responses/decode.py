"""A Responses stream, however irregular → neutral events.

    {"type": "response.output_item.added", "output_index": 1,
     "item": {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_time", "arguments": ""}}
    {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 1, "delta": "{\\"zone\\""}
    {"type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 1, "arguments": "{\\"zone\\":1}"}

All content comes up to four times: in deltas, in a `done`, in output_item.done, and in the output of the last event. Some
upstreams send only one of them; LM Studio sends the `done` without deltas.

1. Each event emits what is new in it, by item.
2. Emitted events are final: if a `done` contradicts the deltas, the deltas stand, and such a call gets no end.
"""

from collections.abc import Mapping
from typing import Any

from ...core import json_text
from ...core.events import (
    Citation,
    Compaction,
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
)
from ...core.fold import BETWEEN
from ...core.reasoning_state import ReasoningState
from ...core.text_state import ANYTHING, IN_STRING, TextState
from ..codec import Reply
from ..shared.call_identity import is_other, offered_name, only_fitting
from ..shared.error_words import error_in
from ..shared.logprobs import tokens_in, wants_logprobs
from ..shared.named_arguments import named_arguments
from ..shared.translation_notes import CITED, OTHER
from ..shared.web_search import CALL, MAX_LINKS, read_citation, read_search
from .item_state import ItemIndex, ItemState, UnclaimedText
from .items import MAX_KEPT
from .missing_events import MissingEvents
from .part_kinds import (
    ARGUMENTS,
    CALLS,
    DELTAS,
    DONES,
    ENDS,
    FRAMES,
    INPUT,
    PARTS,
    TERMINAL,
    TEXT,
    PartKind,
    parts_of,
    understood,
)
from .usage import fails_irregularly, finish_reason, miscounted, read_error, read_usage, response_in, shows_error

_TEXT_EVENTS: dict[str, type[TextDelta | RefusalDelta | ReasoningDelta]] = {"output_text": TextDelta, "refusal": RefusalDelta}
_TEXT_EVENTS |= {"summary_text": ReasoningDelta, "reasoning_text": ReasoningDelta}


_COMPACTION = ("compaction", "compaction_summary")


class ResponsesDecoder:
    """Decodes one response.

    Attributes:
        regular: Clients of this API find what they need in the last event.
        size: Characters emitted.
        text_state: After a call's delta, the lexical state of its arguments, if known.
    """

    def __init__(self, reply: Reply) -> None:
        self._tools = reply.tools
        self._new_id = reply.new_id
        self._fired = reply.fired
        self._note = reply.note
        self._translates = reply.translates
        self._repairs = reply.repairs
        self._missing = MissingEvents(self._mended, watching=not reply.translates, bare_end=reply.bare_end)
        self._items = ItemIndex()
        self._unclaimed = UnclaimedText()
        self._seals: set[str] = set()
        self._texts = 0  # text parts so far
        self._unsealed = False  # the last content is reasoning without a seal
        self._cited: set[tuple[int, Citation]] = set()  # with `id()` of the item
        self._searched: set[str] = set()  # ids of web searches
        self._wants_logprobs = reply.translates and wants_logprobs(reply.request)
        self._had_logprobs = False  # deltas had them
        self._events: list[Event] = []
        self._started = False
        self._first = True
        self._over = False
        self._calls = 0
        self.size = 0
        self.regular = True
        self.text_state: TextState | None = None

    def feed(self, type_: str, data: Mapping[str, Any]) -> tuple[Event, ...]:
        """Decodes the data of one SSE event."""
        self._events = []
        self.regular, self.text_state = True, None
        if self._over:
            return ()
        if self._first:
            self._first = False
            self._missing.first_event(type_, data.get("sequence_number"))
        delta, done = DELTAS.get(type_), DONES.get(type_)
        if (shape := delta or done) and self._items.of_other_kind(data.get("item_id"), shape.item):
            self._mended("arguments_type")  # LiteLLM, for a custom call: its input in JSON here, and plain when the item ends
        elif delta:
            self._delta(delta, data)
        elif done:
            item = self._item(data, done)
            self._missing.text_done(item, done, data, data.get(done.member))
            self._done(done, item, data)
            item.part_done = True
        elif type_ in FRAMES:
            self._part_event(data, ended=type_.endswith("done"))
        elif type_ in ("response.output_item.added", "response.output_item.done"):
            wire = data.get("item")
            if understood(wire):
                new = type_.endswith("added")
                call_id = wire.get("call_id", "")
                item = self._items.find(wire.get("id"), data.get("output_index"), wire["type"], new=new, call_id=call_id)
                if new:
                    self._item_added(item, wire, data.get("output_index"))
                else:
                    self._missing.check_position(item, wire.get("id"), data.get("output_index"))
                    self._item_done(item, wire)
            elif isinstance(wire, dict) and wire.get("type"):
                self._missing.other_item(data.get("output_index"))
                self._other(wire, over=type_.endswith("done"))
        elif type_ == "response.output_text.annotation.added" and self._translates:
            self._cite(self._items.find(data.get("item_id"), data.get("output_index"), TEXT.item), [data.get("annotation")])
        elif type_ in TERMINAL:
            if type_ == "response.done" and self._missing.watching:
                self._mended("event_name")
            response = response_in(data)
            if not isinstance(response, dict) and error_in(data):
                response = {"error": error_in(data)}
            status = response.get("status") if isinstance(response, dict) else None
            # some upstreams use one event name for every end
            self._last(status if status in ENDS else type_.partition(".")[2], response)
        elif type_ in ("error", "response.error") or (not type_ and error_in(data)):
            self._over = True
            self._events.append(read_error(error_in(data) or data, data))
            if not shows_error(data):
                self._mended("error_form")
        elif type_ in ("response.created", "response.in_progress", "response.queued"):
            self._start()
            self._missing.response_begins(data.get("response"))
        elif data.get("object") == "response":  # a whole response as the only event
            self._missing.watching = False
            self._last(data.get("status"), data)
        return tuple(self._events)

    @property
    def is_new_id(self) -> bool:
        """Whether the last event used an id that no item had."""
        return self._items.is_new_id

    def done(self) -> tuple[Event, ...]:
        """Ends the stream at `[DONE]`, which this API does not have."""
        self.regular = True
        if self._over:
            return ()
        self._over = True
        if self._translates:  # translated, it may be incomplete at any point
            return (StreamError("server_error", "The upstream's answer was cut off: response.completed is missing."),)
        if self._started and self._missing.watching:
            self._mended("response_output")
        return (MessageEnd(),)

    def message(self, response: Mapping[str, Any]) -> tuple[Event, ...]:
        """Decodes a whole response."""
        if response.get("error"):
            return (read_error(response["error"]),)
        self._check_usage(response)
        output = response.get("output")
        self._missing.check_message(output if isinstance(output, list) else [])
        self._last(response.get("status"), response)
        return tuple(event for event in self._events if not isinstance(event, MessageEnd))

    def _check_usage(self, response: Mapping[str, Any]) -> None:
        """Reports a usage with missing counts."""
        if self._missing.watching and miscounted(response.get("usage")):
            self._mended("usage")

    def _start(self) -> None:
        if not self._started:
            self._started = True
            self._events.append(MessageStart())

    def _item(self, data: Mapping[str, Any], shape: PartKind) -> ItemState:
        item = self._items.find(data.get("item_id"), data.get("output_index"), shape.item)
        self._missing.check_position(item, data.get("item_id"), data.get("output_index"))
        return item

    def _delta(self, shape: PartKind, data: Mapping[str, Any]) -> None:
        delta = data.get("delta")
        if delta is None:
            self._mended("block_text")
        elif isinstance(delta, str) and delta:
            item = self._item(data, shape)
            self._missing.check_index(item, shape, data)
            item.last = (shape.part, shape.index_in(data))
            now = item.continue_initial(delta)
            if now is None:
                self._mended("arguments")
                return
            if shape is TEXT and self._wants_logprobs:
                self._logprobs(data.get("logprobs"), live=True)
            self._append(item, shape, item.last[1], now, live=True, named=item.id != "" and data.get("item_id") == item.id)

    def _append(
        self, item: ItemState, shape: PartKind, index: int, text: str, *, live: bool = False, named: bool = False
    ) -> None:
        """Emits a piece of an item.

        Args:
            item: The item.
            shape: The kind of its part.
            index: The index of its part.
            text: The piece.
            live: It is from a delta.
            named: The event has the item's id. Only then it may follow complete arguments: as another call, or a repetition.
        """
        if item.ended or (item.arguments.complete and not named):
            return
        if item.part is not shape:
            self._missing.text_begins(item, shape, live=live)
        self.size += len(text)
        if self.size > MAX_KEPT:
            self._over = True
            self._events.append(StreamError("server_error", "The upstream's answer is too long to be read."))
            return
        new = not any(item.received.get((shape.part, index), ()))
        item.received.setdefault((shape.part, index), []).append(text)
        if not item.placed:
            self._unclaimed.add(shape.part, text)
        self._start()
        if new and shape is TEXT:
            apart = not any(part == shape.part and other != index and any(text) for (part, other), text in item.received.items())
            self._events += [TextStart(apart)] if self._texts and self._translates else []
            self._texts += 1
        thinks = shape.item == "reasoning"
        if new and thinks and self._unsealed and self._translates:
            self._events.append(ReasoningDelta(BETWEEN))
        self._unsealed = thinks
        if shape.part:
            self._events.append(_TEXT_EVENTS[shape.part](text))
        elif shape is INPUT:
            self.text_state = ANYTHING
            self._add_arguments(item, text)
        else:
            item.arguments.as_is = not self._repairs
            sent, trailing = item.arguments.feed(text)
            self.text_state = IN_STRING if item.arguments.in_string else None
            if sent != text:
                self._mended(item.arguments.rule)
            self._add_arguments(item, sent)
            self._further_calls(item, item.trailing.feed(trailing) if trailing else [])

    def _further_calls(self, item: ItemState, found: list[str]) -> None:
        """Emits calls for the objects after the arguments of a call."""
        for arguments in found:
            if is_other(arguments, item.twins[-1] if item.twins else "".join(item.sent)):
                item.twins.append(arguments)
                self._second_call(item, arguments)

    def _add_arguments(self, item: ItemState, text: str) -> None:
        """Emits a piece of a call's arguments."""
        if text:
            item.sent.append(text)
            if item.index >= 0:
                self._events.append(ToolCallDelta(item.index, text))

    def _second_call(self, item: ItemState, arguments: str) -> None:
        """Emits a further call found after the arguments of another, once that has started."""
        if item.index >= 0:
            self._mended("tool_call_index")
            index, self._calls = self._calls, self._calls + 1
            self._events.append(ToolCallStart(index, self._new_id(), item.name))
            self._events += (ToolCallDelta(index, arguments), ToolCallEnd(index))

    def _complete_text(self, item: ItemState, shape: PartKind, index: int, text: Any) -> bool:
        """Emits what the whole text has beyond its deltas. Returns whether it agrees with them."""
        if not isinstance(text, str):
            return True
        pieces = item.pieces_at(shape.part, index, text)
        pieces[:] = ["".join(pieces)]
        if not pieces[0] and item.placed and shape.part:
            pieces[0] = self._unclaimed.claim(shape.part, text)
        if not text.startswith(pieces[0]):
            return False
        # the same text may have come as the other kind of reasoning
        if shape.item == "reasoning" and any(
            part != shape.part and "".join(texts) == text for (part, _), texts in item.received.items()
        ):
            return True
        if len(text) > len(pieces[0]):
            self._append(item, shape, index, text[len(pieces[0]) :])
        return True

    def _done(self, shape: PartKind, item: ItemState, data: Mapping[str, Any], *, complete: bool = True) -> None:
        text = data.get(shape.member)
        if shape.part:
            self._complete_text(item, shape, shape.index_in(data), text)
            return
        self._begin(item)
        if text is not None and not isinstance(text, str):
            text = json_text.dumps(text)  # some upstreams send an object
            self._mended("arguments_type")
        self._end(item, shape, text, complete=complete)

    def _part_event(self, data: Mapping[str, Any], *, ended: bool) -> None:
        """Decodes the start or end of a part."""
        part = data.get("part")
        shape = PARTS.get(str(part.get("type"))) if isinstance(part, dict) else None
        if not shape or not isinstance(part, dict):
            self._missing.checks_index = False  # parts of unknown types count, too
            return
        item, index = self._item(data, shape), shape.index_in(data)
        if ended:
            self._missing.text_done(item, shape, data, part.get(shape.member))
            self._complete_text(item, shape, index, part.get(shape.member))
            self._missing.part_done(item, shape)
        else:
            self._missing.part_added(item, shape, data)

    def _mended(self, rule: str) -> None:
        self._fired(rule)
        self.regular = False

    # items

    def _item_added(self, item: ItemState, wire: Mapping[str, Any], place: Any) -> None:
        self._start()
        self._missing.item_added(item, place, wire)
        if item.type not in CALLS:
            return
        self._read_name(item, wire)
        arguments = wire.get(CALLS[item.type].member)
        item.initial = arguments if isinstance(arguments, str) else ""
        if not item.name:
            self._mended("tool_call_name")
        self._begin(item)

    def _item_done(self, item: ItemState, wire: Mapping[str, Any]) -> None:
        """Decodes the end of an item."""
        self._whole(item, wire)
        self._missing.item_done(item, wire)

    def _whole(self, item: ItemState, wire: Mapping[str, Any]) -> None:
        """Decodes a complete item."""
        self._start()
        if item.type in CALLS:
            self._read_name(item, wire)
            self._done(CALLS[item.type], item, wire, complete=wire.get("status") != "incomplete")
            self._infer_tool(item, complete=wire.get("status") != "incomplete")
            if (status := wire.get("status")) == "completed" or item.arguments.holds:
                self._complete_call(item, complete=status != "incomplete")
            return
        for holder in ("summary", "content"):
            parts = parts_of(wire, holder)
            if wire.get(holder) and parts != wire[holder]:
                self._mended("block_type")
            stray_indices = item.stray_indices(len(parts))
            for index, part in enumerate(parts):
                shape = PARTS.get(str(part.get("type"))) if isinstance(part, dict) else None
                if shape and (shape.item, shape.holder) == (item.type, holder):
                    place = next(stray_indices[shape.part]) if shape.part in stray_indices else index
                    if shape is TEXT and self._wants_logprobs:
                        self._logprobs(part.get("logprobs"), live=False)
                    self._complete_text(item, shape, place, part.get(shape.member))
                    self._cite(item, part.get("annotations"))
        content = wire.get("encrypted_content")
        if item.type == "reasoning" and isinstance(content, str) and content and not (item.sealed or content in self._seals):
            item.sealed = True
            self._seals.add(content)
            data = json_text.dumps({"id": wire.get("id"), "encrypted_content": content})
            self._unsealed = False
            self._events.append(ReasoningSeal(ReasoningState("encrypted", data)))

    def _logprobs(self, content: Any, *, live: bool) -> None:
        """Emits log probabilities: those of deltas, or of whole parts (`live` False), which repeat them."""
        if (tokens := tokens_in(content)) and (live or not self._had_logprobs):
            self._had_logprobs |= live
            self._start()
            self._events.append(LogProbs(tokens))

    def _cite(self, item: ItemState, annotations: Any) -> None:
        """Emits the citations of an item's text, each once: they come in events of their own, and again in each `done`."""
        if not self._translates:
            return
        for annotation in annotations if isinstance(annotations, list) else ():
            citation = read_citation(annotation)
            if citation is None:
                self._note(CITED)
            elif (id(item), citation) not in self._cited and len(self._cited) < MAX_LINKS:
                self._cited.add((id(item), citation))
                self._start()
                self._events.append(citation)

    def _other(self, wire: Mapping[str, Any], *, over: bool) -> None:
        """Decodes an item of another type: only web searches are emitted."""
        search = read_search(wire) if wire.get("type") == CALL and self._translates else None
        if wire.get("type") in _COMPACTION and self._translates:
            self._compaction(wire, over=over)
        elif search is None:
            self._note(OTHER)
        elif over and wire.get("status") != "in_progress" and search.id not in self._searched:
            self._searched.add(search.id)
            self._start()
            self._events.append(search)

    def _compaction(self, wire: Mapping[str, Any], *, over: bool) -> None:
        """Emits a summary of the conversation that the upstream made without being asked for one."""
        sealed = wire.get("encrypted_content")
        if over and isinstance(sealed, str) and sealed and sealed not in self._seals:
            self._seals.add(sealed)
            self._start()
            kept = {name: wire[name] for name in ("id", "type", "encrypted_content") if name in wire}
            self._events.append(Compaction("", json_text.dumps(kept), alone=False))

    def _read_name(self, item: ItemState, wire: Mapping[str, Any]) -> None:
        self._items.record_name(item, wire)
        if item.index < 0 and (name := offered_name(item.name, self._tools)) != item.name:
            self._mended("tool_call_name")
            item.arguments.named = named_arguments(item.name, name, self._tools)
            item.name = name
        if not item.call_id and item.index < 0 and item.name:
            self._mended("tool_call_id")
            item.call_id = item.id or self._new_id()

    def _begin(self, item: ItemState) -> None:
        """Starts a call once its name is known, with the arguments received before."""
        if item.index >= 0 or item.ended or not item.name:
            return
        item.index = self._calls
        item.arguments.demands = self._tools.requires(item.name)
        self._calls += 1
        self._start()
        kind: Any = "custom" if item.type == INPUT.item else "function"
        self._events.append(ToolCallStart(item.index, item.call_id or item.id or self._new_id(), item.name, kind=kind))
        if held := "".join(item.sent):
            self._events.append(ToolCallDelta(item.index, held))
        for arguments in item.twins:
            self._second_call(item, arguments)

    def _end(self, item: ItemState, shape: PartKind, arguments: str | None, *, complete: bool) -> None:
        if item.ended:
            return
        if arguments is None:
            arguments = "" if item.received.get(("", 0)) else item.initial + item.early
        if item.arguments.waits and arguments:
            item.received["", 0] = []  # `{}` was a placeholder
        same = self._complete_text(item, shape, 0, arguments) or not arguments
        if item.index < 0:
            return  # its name may come with output_item.done
        received, whole = _value("".join(item.sent)), _value(arguments)
        # a final `{}` may be a placeholder
        if not same and (shape is INPUT or (received != whole and not (received and whole == {}))):
            self._fired("arguments")
            complete = False
        if shape is not INPUT:
            self._add_arguments(item, item.arguments.end(broken=not complete, last=False))
            complete = complete and (item.arguments.complete or isinstance(_value("".join(item.sent)), dict))
        item.ended = True
        if complete:
            self._events.append(ToolCallEnd(item.index))
            self._further_calls(item, item.trailing.end())

    def _complete_call(self, item: ItemState, *, complete: bool) -> None:
        """Adds missing brackets to a call that the upstream calls completed; else emits what is held because of them."""
        if item.type == ARGUMENTS.item and item.index >= 0 and item.ended:
            arguments = item.arguments
            rest = arguments.closing("".join(item.sent), self._tools, item.name) if complete else arguments.end(broken=True)
            if rest:
                self._mended(item.arguments.rule)
                self._add_arguments(item, rest)
                if arguments.complete:
                    self._events.append(ToolCallEnd(item.index))

    def _infer_tool(self, item: ItemState, *, complete: bool) -> None:
        """Ends a call without a name: it belongs to the only tool that its arguments fit, or becomes text."""
        if item.index >= 0 or item.ended:
            return
        self._mended("tool_call_name")
        text = "".join(item.sent)
        item.name = only_fitting(text, self._tools)
        if item.name:
            self._begin(item)
            self._end(item, CALLS[item.type], None, complete=complete)
        else:
            item.ended = True
            self._events += [TextDelta(text)] if text else []

    def _last(self, status: Any, response: Any) -> None:
        """Decodes the last event: the content that is new in it, and the finish reason."""
        response = response if isinstance(response, dict) else {}
        if status in ("failed", "cancelled") or response.get("error"):
            self._over = True
            error = response.get("error") or {"type": status, "message": f"The upstream's answer is {status}."}
            self._events.append(read_error(error, response))
            if self._missing.watching and fails_irregularly(response):
                self._mended("error_form")
            return
        if status in ("queued", "in_progress"):
            self._over = True
            self._events.append(StreamError("server_error", f"The upstream's answer is not there yet: it is {status}."))
            return
        output = response.get("output")
        self._check_usage(response)
        self._missing.response_ends(response)
        self._output(output if isinstance(output, list) else [], complete=status != "incomplete")
        self._start()
        if status in ("completed", "incomplete"):
            self._over = True
            self._events.append(Finish(finish_reason(status, response, called=self._calls > 0)))
        if isinstance(response.get("usage"), dict):
            self._events.append(read_usage(response["usage"], response.get("tool_usage")))
        self._events.append(MessageEnd())

    def _output(self, output: list[Any], *, complete: bool) -> None:
        """Decodes the output of the last event. Calls that it omits end, too."""
        known = self._items.items[:]
        self._missing.last_event(known, [wire for wire in output if understood(wire)])
        wires: list[tuple[ItemState, Mapping[str, Any]]] = []
        found: set[int] = set()
        for place, wire in enumerate(output):
            if understood(wire):
                item = self._items.find_call(wire, place, found)
                found.add(id(item))
                wires.append((item, wire))
            elif isinstance(wire, dict) and wire.get("type"):
                self._other(wire, over=True)
        for item in known:
            if item.placed and id(item) not in found:
                for (part, _), pieces in item.received.items():
                    self._unclaimed.add(part, "".join(pieces))
        for item, wire in wires:
            self._whole(item, wire)
        for item in self._items.items:
            if item.type in CALLS:
                self._end(item, CALLS[item.type], None, complete=complete)
                self._infer_tool(item, complete=complete)
                if item.arguments.holds:
                    self._complete_call(item, complete=complete)


def _value(text: str) -> Any:
    """Parses arguments; None if they are not JSON."""
    try:
        # UTF-16 joins the halves of a character that deltas split
        return json_text.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode())
    except json_text.NotJSON:
        return None
