"""The vocabulary of a Responses stream: item types, the kinds of text in them (a row each), and event names.

{"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "Hi", …}
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeGuard

from ...core import json_text
from ...core.builtin_tools import FORMS
from ...core.events import Kind
from ...core.fastclass import mutable, value
from ...core.reasoning_state import ReasoningState, envelope


@value
class PartKind:
    """How one kind of text is written: `{events}.delta` and `.done`, within `{frame}.added` and `.done` of a part.

    Attributes:
        item: The type of its item.
        part: The type of its part; "" for a call's arguments.
        events: The prefix of its events.
        frame: The prefix of its part's events.
        member: The member with the whole text.
        holder: The list of the item that has the part.
        index: The member of events with the part's index in that list.
    """

    item: str
    part: str
    events: str
    frame: str
    member: str
    holder: str
    index: str

    @property
    def extra_members(self) -> dict[str, Any]:
        """Further members that the SDK's types require in `.delta` and `.done`."""
        return {"logprobs": []} if self.part == "output_text" else {}

    def index_in(self, data: Mapping[str, Any]) -> int:
        """The index of the part that an event belongs to."""
        index = data.get(self.index)
        return index if type(index) is int else 0


TEXT = PartKind("message", "output_text", "response.output_text", "response.content_part", "text", "content", "content_index")
REFUSAL = PartKind("message", "refusal", "response.refusal", "response.content_part", "refusal", "content", "content_index")
SUMMARY = PartKind(
    "reasoning",
    "summary_text",
    "response.reasoning_summary_text",
    "response.reasoning_summary_part",
    "text",
    "summary",
    "summary_index",
)
THOUGHT = PartKind(
    "reasoning", "reasoning_text", "response.reasoning_text", "response.content_part", "text", "content", "content_index"
)
ARGUMENTS = PartKind("function_call", "", "response.function_call_arguments", "", "arguments", "", "")
INPUT = PartKind("custom_tool_call", "", "response.custom_tool_call_input", "", "input", "", "")

SEARCHED = PartKind("tool_search_call", "", "", "", "arguments", "", "")
"""The client's search for tools: its arguments are an object, and sent as a whole."""

BUILTIN: dict[Kind, PartKind] = {form.kind: PartKind(form.item, "", "", "", form.member, "", "") for form in FORMS}
"""Calls of the tools that the API describes and the client runs, by their kind: sent as a whole, too."""

WHOLE = (SEARCHED, *BUILTIN.values())

SHAPES = (TEXT, REFUSAL, SUMMARY, THOUGHT, ARGUMENTS, INPUT)
PARTS = {shape.part: shape for shape in SHAPES if shape.part}
CALLS = {shape.item: shape for shape in SHAPES if not shape.part}
PREFIXES = {"message": "msg_", "reasoning": "rs_", "function_call": "fc_", "custom_tool_call": "ctc_"}
"""The items that are decoded, and the prefix of their ids."""
WRITTEN = {**PREFIXES, SEARCHED.item: "tsc_", "web_search_call": "ws_", "compaction": "cmp_"}
WRITTEN |= {"local_shell_call": "lsh_", "shell_call": "sh_", "apply_patch_call": "apc_"}
"""The same for further items that are written."""

DELTAS = {f"{shape.events}.delta": shape for shape in SHAPES}
DONES = {f"{shape.events}.done": shape for shape in SHAPES}
FRAMES = frozenset({f"{shape.frame}.{end}" for shape in SHAPES if shape.frame for end in ("added", "done")})
"""The events that have a piece of a text, all of it, and those that begin and end its part."""

CONTENT_EVENTS = FRAMES | DELTAS.keys() | DONES.keys()
CONTENT_EVENTS |= {"response.in_progress", "response.output_item.added", "response.output_item.done"}
"""Events that cannot be the first one of a response."""

ENDS = ("completed", "incomplete", "failed", "cancelled")
TERMINAL = frozenset({f"response.{end}" for end in (*ENDS, "done")})
"""The statuses of a response that is over, and the names of its last event."""

RENAMED_EVENTS = {f"response.reasoning_part.{end}": f"{THOUGHT.frame}.{end}" for end in ("added", "done")}
"""Event names of vLLM, and OpenAI's names for them; OpenAI's SDK in JavaScript fails at an unknown name."""

_OLDER = {
    f"response.{older}.{end}": f"{shape.events}.{end}"
    for older, shape in (("reasoning", THOUGHT), ("reasoning_summary", SUMMARY))
    for end in ("delta", "done")
}
"""The first names of reasoning events. Their deltas are strings or objects with a text."""


@mutable
class OpenPart:
    """The open part of an item.

    Attributes:
        shape: Its kind.
        head: The start of its delta events, up to the delta.
        pieces: Its text.
        done_sent: Its `done` was sent.
        framed: The part's `added` was sent, so its `done` must be.
        annotations: Those sent so far.
        logprobs: Log probabilities of its text.
    """

    shape: PartKind
    head: str = ""
    pieces: list[str] = field(default_factory=list)
    done_sent: bool = False
    framed: bool = True
    annotations: list[Any] = field(default_factory=list)
    logprobs: list[Any] = field(default_factory=list)

    def wire(self) -> dict[str, Any]:
        """The part as it appears in its item."""
        text = {"type": self.shape.part, self.shape.member: "".join(self.pieces)}
        return {**text, "annotations": self.annotations, **self.extra_members} if self.shape is TEXT else text

    @property
    def extra_members(self) -> dict[str, Any]:
        """See PartKind, with the log probabilities so far."""
        return {"logprobs": self.logprobs} if self.logprobs else self.shape.extra_members


@mutable
class Item:
    """An item that was announced at output_index `place`."""

    place: int
    wire: dict[str, Any]
    part: OpenPart | None = None
    done: bool = False

    def at(self, shape: PartKind) -> dict[str, Any]:
        """The members that locate an event of the open part."""
        at = {"item_id": self.wire.get("id"), "output_index": self.place}
        return {**at, shape.index: len(self.wire.get(shape.holder, ()))} if shape.part else at

    def broken_off(self) -> dict[str, Any]:
        """The item as it is while open."""
        wire, part = {**self.wire, "status": "incomplete"}, self.part
        if part is None:
            return wire
        if part.shape.part:
            wire[part.shape.holder] = [*wire.get(part.shape.holder, ()), part.wire()]
        else:
            wire[part.shape.member] = "".join(part.pieces)
        return wire


def current_form(data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Returns the type of an event and its data in the current form of the API."""
    type_ = _OLDER.get(data["type"])
    if type_ is None:
        return data["type"], data
    delta = data.get("delta")
    return type_, {**data, "delta": delta.get("text") if isinstance(delta, dict) else delta}


def understood(wire: Any) -> TypeGuard[dict[str, Any]]:
    """Whether an item has a type that events represent."""
    return isinstance(wire, dict) and isinstance(wire.get("type"), str) and wire["type"] in PREFIXES


def parts_of(wire: Mapping[str, Any], holder: str) -> list[Any]:
    """The parts of an item. Its text may be a bare string, or in a part of the type that other APIs use."""
    content = wire.get(holder)
    listed = [content] if isinstance(content, str) and content else content if isinstance(content, list) else []
    kind = next((shape.part for shape in SHAPES if (shape.item, shape.holder) == (wire.get("type"), holder)), "")
    return [_part(part, kind) for part in listed]


def _part(part: Any, kind: str) -> Any:
    if isinstance(part, str):
        return {"type": kind, "text": part}
    return {**part, "type": kind} if isinstance(part, dict) and part.get("type") == "text" else part


def encrypted(seal: ReasoningState) -> str:
    """A seal as `encrypted_content`: the upstream's own, or toolmend's envelope."""
    if seal.kind == "encrypted":
        try:
            content = json_text.loads(seal.data.encode(errors="surrogatepass")).get("encrypted_content")
        except (json_text.NotJSON, AttributeError):
            content = None
        if isinstance(content, str):
            return content
    return envelope(seal)
