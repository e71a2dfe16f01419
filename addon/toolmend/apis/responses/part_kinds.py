"""The vocabulary of a Responses stream: its items, the texts they are made of, and what its events are called.

    {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "Hi", …}

Rule of this file: one row per kind of text; whoever reads or writes one goes by its row.
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
    """How one kind of text is written: `{events}.delta` and `.done`, for a part inside `{frame}.added` and `.done`.

    `part` is its type, "" for what a call is made with. The whole of it stands in `member`; `holder` is the list of its
    item that the part goes to, and `index` tells its place there.
    """

    item: str
    part: str
    events: str
    frame: str
    member: str
    holder: str
    index: str

    @property
    def beside(self) -> dict[str, Any]:
        """What else the SDK's types ask for in `.delta` and `.done`."""
        return {"logprobs": []} if self.part == "output_text" else {}

    def index_in(self, data: Mapping[str, Any]) -> int:
        """The place of the part that an event is of."""
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
"""The client's search for tools, as it is written: its arguments are an object, and no event tells a piece of them."""

BUILTIN: dict[Kind, PartKind] = {form.kind: PartKind(form.item, "", "", "", form.member, "", "") for form in FORMS}
"""Calls of the tools that the API describes and the client runs, by their kind: as a whole, too."""

WHOLE = (SEARCHED, *BUILTIN.values())

SHAPES = (TEXT, REFUSAL, SUMMARY, THOUGHT, ARGUMENTS, INPUT)
PARTS = {shape.part: shape for shape in SHAPES if shape.part}
CALLS = {shape.item: shape for shape in SHAPES if not shape.part}
PREFIXES = {"message": "msg_", "reasoning": "rs_", "function_call": "fc_", "custom_tool_call": "ctc_"}
"""The items that are understood, and what their ids begin with."""
WRITTEN = {**PREFIXES, SEARCHED.item: "tsc_", "web_search_call": "ws_", "compaction": "cmp_"}
WRITTEN |= {"local_shell_call": "lsh_", "shell_call": "sh_", "apply_patch_call": "apc_"}
"""The same of those that are written."""

DELTAS = {f"{shape.events}.delta": shape for shape in SHAPES}
DONES = {f"{shape.events}.done": shape for shape in SHAPES}
FRAMES = frozenset({f"{shape.frame}.{end}" for shape in SHAPES if shape.frame for end in ("added", "done")})
"""What the events are called that say a text, that say all of it, and that announce and say its part."""

SAYS = FRAMES | DELTAS.keys() | DONES.keys() | {"response.in_progress", "response.output_item.added", "response.output_item.done"}
"""What no response begins with."""

ENDS = ("completed", "incomplete", "failed", "cancelled")
TERMINAL = frozenset({f"response.{end}" for end in (*ENDS, "done")})
"""The statuses of a response that is over, and what its last event may be called."""

OTHERWISE = {f"response.reasoning_part.{end}": f"{THOUGHT.frame}.{end}" for end in ("added", "done")}
"""What events are called by vLLM alone, and by OpenAI; its SDK in JavaScript fails at a name that it does not know."""

_OLDER = {
    f"response.{older}.{end}": f"{shape.events}.{end}"
    for older, shape in (("reasoning", THOUGHT), ("reasoning_summary", SUMMARY))
    for end in ("delta", "done")
}
"""What events of reasoning were called at first. Their deltas are strings or objects with a text."""


@mutable
class Part:
    """A text that is being said. `head`: its delta events up to the delta; `said`: its `done` has gone out.

    `framed`: the client was told that it begins, and is to be told that it ends.
    """

    shape: PartKind
    head: str = ""
    pieces: list[str] = field(default_factory=list)
    said: bool = False
    framed: bool = True
    annotations: list[Any] = field(default_factory=list)

    def wire(self) -> dict[str, Any]:
        """As it stands in its item."""
        text = {"type": self.shape.part, self.shape.member: "".join(self.pieces)}
        return {**text, "annotations": self.annotations, **self.shape.beside} if self.shape is TEXT else text


@mutable
class Item:
    """An item that was announced at output_index `place`; `part` is what is open of it."""

    place: int
    wire: dict[str, Any]
    part: Part | None = None
    done: bool = False

    def at(self, shape: PartKind) -> dict[str, Any]:
        """Where an event of its open part belongs."""
        at = {"item_id": self.wire.get("id"), "output_index": self.place}
        return {**at, shape.index: len(self.wire.get(shape.holder, ()))} if shape.part else at

    def broken_off(self) -> dict[str, Any]:
        """As it stands while it is open."""
        wire, part = {**self.wire, "status": "incomplete"}, self.part
        if part is None:
            return wire
        if part.shape.part:
            wire[part.shape.holder] = [*wire.get(part.shape.holder, ()), part.wire()]
        else:
            wire[part.shape.member] = "".join(part.pieces)
        return wire


def newer(data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The type of an event and its data, as they are today."""
    type_ = _OLDER.get(data["type"])
    if type_ is None:
        return data["type"], data
    delta = data.get("delta")
    return type_, {**data, "delta": delta.get("text") if isinstance(delta, dict) else delta}


def understood(wire: Any) -> TypeGuard[dict[str, Any]]:
    """Whether an item is one that events speak of."""
    return isinstance(wire, dict) and isinstance(wire.get("type"), str) and wire["type"] in PREFIXES


def parts_of(wire: Mapping[str, Any], holder: str) -> list[Any]:
    """The parts of an item. Its text may stand there bare, or in a part of the type that other APIs have."""
    given = wire.get(holder)
    listed = [given] if isinstance(given, str) and given else given if isinstance(given, list) else []
    kind = next((shape.part for shape in SHAPES if (shape.item, shape.holder) == (wire.get("type"), holder)), "")
    return [_part(part, kind) for part in listed]


def _part(part: Any, kind: str) -> Any:
    if isinstance(part, str):
        return {"type": kind, "text": part}
    return {**part, "type": kind} if isinstance(part, dict) and part.get("type") == "text" else part


def encrypted(seal: ReasoningState) -> str:
    """A seal as `encrypted_content`: the upstream's own, or in our envelope."""
    if seal.kind == "encrypted":
        try:
            content = json_text.loads(seal.data.encode(errors="surrogatepass")).get("encrypted_content")
        except (json_text.NotJSON, AttributeError):
            content = None
        if isinstance(content, str):
            return content
    return envelope(seal)
