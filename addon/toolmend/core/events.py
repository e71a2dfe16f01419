"""The neutral events: what every wire API is decoded to and encoded from, and the frame that carries them.

Rule of this file: values only, no behaviour. A tool call is one `ToolCallStart`, any number of `ToolCallDelta`, and a
`ToolCallEnd` once its arguments are complete; a call that the stream breaks off has no end.

Events travel in frames, all events of one server-sent event together, because only
so can it be told that an event left as it came: a frame that nobody touched is sent as the bytes it was read from. That also
makes an `Opaque` event needless: what is not understood is a frame without events.
"""

from collections.abc import Mapping
from typing import Any, Literal

from .fastclass import value
from .reasoning_state import ReasoningState
from .sse import ServerSentEvent


@value
class MessageStart:
    """The first delta of a choice."""

    choice: int = 0


@value
class TextDelta:
    """A piece of the visible answer."""

    text: str
    choice: int = 0


@value
class ReasoningDelta:
    """A piece of what the model thinks: `reasoning_content`, `reasoning`, a thinking block."""

    text: str
    choice: int = 0


@value
class ReasoningSeal:
    """The reasoning in front of it, if any, is over, and this is what the upstream wants back with it: see reasoning_state.py."""

    seal: ReasoningState
    choice: int = 0


@value
class RefusalDelta:
    """A piece of why the model declines."""

    text: str
    choice: int = 0


@value
class TextStart:
    """Text that follows is a part of its own. `Citation` counts its characters from here; without one, from the first text.

    `apart`: it is a message of its own, and no more of the one before it.
    """

    apart: bool = False
    choice: int = 0


@value
class Citation:
    """A web page that the text refers to. `start` and `end` count characters of the part of text; `end` None: up to here.

    `cited`: what the page says, as far as the upstream quotes it.
    """

    url: str
    title: str = ""
    cited: str = ""
    start: int = 0
    end: int | None = None
    choice: int = 0


@value
class Source:
    """A result of a web search."""

    url: str
    title: str = ""


@value
class WebSearch:
    """A web search that the upstream ran and that is over. `error`: an error code of Messages, empty if it succeeded."""

    id: str
    queries: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    error: str = ""
    choice: int = 0


@value
class Compacting:
    """The upstream writes a summary of the conversation, which is sent as a whole: a sign of life."""

    choice: int = 0


@value
class Compaction:
    """A summary of the conversation, which takes the place of its messages so far. Nothing follows but the end."""

    summary: str
    choice: int = 0


type Kind = Literal["function", "custom", "search", "local_shell", "shell", "apply_patch"]
"""Of a call: its arguments are JSON, or bare text, or JSON by which the client of Responses searches for tools or runs those that
its API describes (builtin_tools.py)."""


@value
class ToolCallStart:
    """A call begins. `index` counts the calls of the choice, from 0; `extra` holds the provider's own fields."""

    index: int
    id: str
    name: str
    choice: int = 0
    kind: Kind = "function"
    extra: Mapping[str, Any] | None = None
    in_text: bool = False
    in_reasoning: bool = False


@value
class ToolCallDelta:
    """A piece of the JSON text of the arguments; of a custom call, a piece of its bare input."""

    index: int
    arguments: str
    choice: int = 0


@value
class ToolCallEnd:
    """The arguments are complete: nothing more follows for this index."""

    index: int
    choice: int = 0


@value
class Finish:
    """Why the model stopped, in the words of Chat Completions: stop, length, tool_calls, content_filter …

    `stop_sequence` is the one of the request's that was met, where the upstream tells it. `explanation` and `category`: why the
    model declined, as Messages has it.
    """

    finish_reason: str
    choice: int = 0
    stop_sequence: str | None = None
    explanation: str = ""
    category: str = ""


@value
class MessageEnd:
    """The upstream says that nothing more will come: `[DONE]`, `message_stop`, `response.completed`."""


@value
class Usage:
    """Token counts. `input_tokens` includes what was read from and written to a cache. `searches` counts web searches."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    searches: int = 0


@value
class StreamError:
    """The upstream reports an error inside the stream. `status` is the HTTP status it stands for, 0 if it says none."""

    type: str
    message: str
    status: int = 0


type Event = (
    MessageStart
    | TextDelta
    | ReasoningDelta
    | ReasoningSeal
    | RefusalDelta
    | TextStart
    | Citation
    | WebSearch
    | Compacting
    | Compaction
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | Finish
    | MessageEnd
    | Usage
    | StreamError
)


@value
class Frame:
    """One server-sent event of the upstream and what it says.

    `touched` is set by whoever changes the events: such a frame is written anew from `sse` and `events`. `sse` is None for
    events that come after the last one of the upstream.
    """

    sse: ServerSentEvent | None
    events: tuple[Event, ...] = ()
    touched: bool = False
