"""The neutral form of a request: each reader returns a `Conversation`, each writer takes one.

1. A field exists here if at least two APIs have it. Fields of one API stand in `rest`: they stay if the upstream has the client's
   API, and otherwise the writer leaves them out with a note.
2. Parts of a turn keep the model's order.
3. Tool results are a separate turn (role `tool`), directly after the assistant's turn with the calls. Other content of the same
   user message is the turn after the results.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from ..core.fastclass import value
from ..core.reasoning_state import ReasoningState

type Cache = Mapping[str, Any] | None
"""The client's `cache_control`, unchanged."""


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
    """Reasoning of an earlier turn; `seal` is the provider state that has to go back to its upstream."""

    text: str
    seal: ReasoningState | None = None


@value
class RefusalPart:
    """The text of an earlier refusal."""

    text: str


@value
class ToolUse:
    """An earlier call.

    `arguments` is JSON text, or the bare input of a custom call. `extra`: further members of the call from its upstream.
    """

    id: str
    name: str
    arguments: str
    kind: Literal["function", "custom"] = "function"
    cache: Cache = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@value
class ToolResult:
    """The result of the call with this id."""

    id: str
    parts: tuple[TextPart | Image | Document, ...] = ()
    is_error: bool = False
    kind: Literal["function", "custom"] = "function"
    cache: Cache = None


@value
class Other:
    """A part that only the API `api` has, unchanged."""

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
        """Whether this is a system turn; newer OpenAI models call the role `developer`."""
        return self.role in ("system", "developer")


@value
class Tool:
    """`schema`: the JSON schema of the parameters, None if the client sent none. A custom tool has a `format` instead."""

    name: str
    description: str | None = None
    schema: Mapping[str, Any] | None = None
    strict: bool | None = None
    kind: Literal["function", "custom"] = "function"
    format: Mapping[str, Any] | None = None
    cache: Cache = None


@value
class ToolChoice:
    """`names`: the tool that must be called (mode `tool`), or the tools that may be called (modes auto and required)."""

    mode: Literal["auto", "required", "none", "tool"]
    names: tuple[str, ...] = ()


@value
class Reasoning:
    """How much the model is to reason. `budget` counts tokens; `enabled` is None if the client sets nothing.

    `summary`: `reasoning.summary` of Responses, how much of the reasoning the client wants to see; empty if unset.
    """

    enabled: bool | None = None
    effort: str = ""
    budget: int | None = None
    summary: str = ""


@value
class Format:
    """The required format of the answer: any JSON object, or one that fits a schema."""

    kind: Literal["json_object", "json_schema"]
    schema: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    strict: bool | None = None
    description: str = ""


@value
class Conversation:
    """A request; fields that the client did not set are None or empty.

    Attributes:
        api: The client's API.
        cache: A cache breakpoint for the whole request.
        options: Members with the same meaning in several APIs, by their Chat Completions names; see options.py.
        rest: Members that only the client's API has.
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
