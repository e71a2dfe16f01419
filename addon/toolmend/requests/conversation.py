"""A request, whichever API it is spoken in: what each reader makes of it and each writer reads.

Rule of this file: values only. A field is here because two APIs can say it; what only one can say stands in `rest`, stays
as it is where the upstream speaks the client's API, and is told in the notes by the writer where it does not.

Order within a turn is the model's own. Tool results are turns of their own (role `tool`), directly behind the assistant's
turn that made the calls; what else the user said in that message is the turn behind it.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from ..core.fastclass import value
from ..core.reasoning_state import ReasoningState

type Cache = Mapping[str, Any] | None
"""`cache_control`, as the client wrote it."""


@value
class TextPart:
    """Text."""

    text: str
    cache: Cache = None


@value
class Image:
    """Either `data` (base64) with its media type, or `url`, or `file_id`."""

    data: str = ""
    media_type: str = ""
    url: str = ""
    file_id: str = ""
    detail: str = ""
    cache: Cache = None


@value
class Document:
    """Either `data` (base64) with its media type, or `text`, or `url`, or `file_id`."""

    data: str = ""
    media_type: str = ""
    text: str = ""
    url: str = ""
    file_id: str = ""
    title: str = ""
    cache: Cache = None


@value
class ThinkingPart:
    """Reasoning of an earlier turn; `seal` is what its upstream wants back with it."""

    text: str
    seal: ReasoningState | None = None


@value
class RefusalPart:
    """An earlier turn's words of declining."""

    text: str


@value
class ToolUse:
    """An earlier call. `arguments` is JSON text; of a custom call, the bare input. `extra`: what its upstream had beside it."""

    id: str
    name: str
    arguments: str
    kind: Literal["function", "custom"] = "function"
    cache: Cache = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@value
class ToolResult:
    """What came of the call with this id."""

    id: str
    parts: tuple[TextPart | Image | Document, ...] = ()
    is_error: bool = False
    kind: Literal["function", "custom"] = "function"
    cache: Cache = None


@value
class Other:
    """A part that only the API it came in can say, as it was written."""

    api: str
    value: Mapping[str, Any]


type Part = TextPart | Image | Document | ThinkingPart | RefusalPart | ToolUse | ToolResult | Other


@value
class Turn:
    """One turn of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    parts: tuple[Part, ...] = ()
    name: str = ""

    @property
    def of_system(self) -> bool:
        """Whether it is the system's; OpenAI calls it the developer, too."""
        return self.role in ("system", "developer")


@value
class Tool:
    """`schema` is the JSON schema of the parameters; None where the client gave none. A custom tool has a `format` instead."""

    name: str
    description: str | None = None
    schema: Mapping[str, Any] | None = None
    strict: bool | None = None
    kind: Literal["function", "custom"] = "function"
    format: Mapping[str, Any] | None = None
    cache: Cache = None


@value
class ToolChoice:
    """`names`: the one tool that must be called (mode `tool`), or those that may be (modes auto and required)."""

    mode: Literal["auto", "required", "none", "tool"]
    names: tuple[str, ...] = ()


@value
class Reasoning:
    """How much the model is to think. `budget` counts tokens; `enabled` None: the client does not say.

    `summary`: the words of Responses for what the client wants to see of it; empty: the client does not say.
    """

    enabled: bool | None = None
    effort: str = ""
    budget: int | None = None
    summary: str = ""


@value
class Format:
    """What the answer must be: any JSON object, or one of a schema."""

    kind: Literal["json_object", "json_schema"]
    schema: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    strict: bool | None = None
    description: str = ""


@value
class Conversation:
    """A request. None and empty: the client does not say. `rest` is what only its own API can say, by field.

    `api` is the client's; `cache` is a breakpoint for the request as a whole. `options`: members with the same meaning in
    several APIs, by their names in Chat Completions; see options.py.
    """

    model: str = ""
    api: str = ""
    turns: tuple[Turn, ...] = ()
    tools: tuple[Tool | Other, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel: bool | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    reasoning: Reasoning | None = None
    format: Format | None = None
    user: str = ""
    stream: bool = False
    include_usage: bool = False
    cache: Cache = None
    options: Mapping[str, Any] = field(default_factory=dict)
    rest: Mapping[str, Any] = field(default_factory=dict)
