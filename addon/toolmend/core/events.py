"""The neutral events: what every wire API is decoded to and encoded from, and the frame that carries them.

1. Values only, no behaviour.
2. A tool call is one `ToolCallStart`, any number of `ToolCallDelta`, and a `ToolCallEnd` once its arguments are complete. A call
   that is cut off has no end.
3. All events of one SSE event travel in one frame. A frame that is not touched is sent as the bytes that it was read from; an SSE
   event that is not understood is a frame without events.
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
    """A piece of the visible response."""

    text: str
    choice: int = 0


@value
class ReasoningDelta:
    """A piece of the model's reasoning: `reasoning_content`, `reasoning`, a thinking block."""

    text: str
    choice: int = 0


@value
class ReasoningSeal:
    """Ends the preceding reasoning, if any; the upstream wants `seal` back with it: see reasoning_state.py."""

    seal: ReasoningState
    choice: int = 0


@value
class RefusalDelta:
    """A piece of the model's refusal."""

    text: str
    choice: int = 0


@value
class TextStart:
    """The text that follows is a part of its own. `Citation` counts characters from here; without it, from the first text.

    `apart`: the part is a message of its own.
    """

    apart: bool = False
    choice: int = 0


@value
class LogProbs:
    """Log probabilities of the text that follows, as OpenAI's APIs have them: {token, logprob, bytes, top_logprobs}.

    Emitted only for a client of another API that requested them.
    """

    tokens: tuple[Mapping[str, Any], ...]
    choice: int = 0


@value
class Citation:
    """A web page that the text cites. `start` and `end` count characters of the text part; `end` None: up to here.

    `cited`: the passage of the page, as far as the upstream quotes it.
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
    """A completed web search of the upstream. `error`: an error code of Messages, empty if it succeeded."""

    id: str
    queries: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    error: str = ""
    choice: int = 0


@value
class Compacting:
    """The upstream is writing a summary of the conversation, which it sends as a whole later: a sign of life."""

    choice: int = 0


@value
class Compaction:
    """A summary that replaces the messages so far.

    `sealed`: the upstream's own item as JSON, which only its provider can read; `summary` is then empty. `alone`: only the end
    of the stream follows, because the client asked for nothing else.
    """

    summary: str
    sealed: str = ""
    alone: bool = True
    choice: int = 0


type Kind = Literal["function", "custom", "search", "local_shell", "shell", "apply_patch"]
"""Of a call: the arguments are JSON ("function"), bare text ("custom"), or JSON of a tool search or of a tool that the Responses
API defines (builtin_tools.py).
"""


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
    """A piece of the JSON text of the arguments; for a custom call, a piece of its bare input."""

    index: int
    arguments: str
    choice: int = 0


@value
class ToolCallEnd:
    """The arguments of this call are complete."""

    index: int
    choice: int = 0


@value
class Finish:
    """Why the model stopped, as Chat Completions names it: stop, length, tool_calls, content_filter …

    `stop_sequence`: the matched stop sequence, if the upstream reports it. `explanation`, `category`: the reason of a refusal, as
    Messages has it.
    """

    finish_reason: str
    choice: int = 0
    stop_sequence: str | None = None
    explanation: str = ""
    category: str = ""


@value
class MessageEnd:
    """The upstream's end marker: `[DONE]`, `message_stop`, `response.completed`."""


@value
class Usage:
    """Token counts. `input_tokens` includes tokens read from and written to a cache. `searches` counts web searches."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    searches: int = 0


@value
class StreamError:
    """An error that the upstream reports inside the stream. `status`: the HTTP status that it stands for, 0 if unknown."""

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
    | LogProbs
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
    """One SSE event of the upstream and its neutral events.

    `touched`: the events were changed, so the frame is encoded from `sse` and `events`. `sse` is None for events after the
    upstream's last SSE event.
    """

    sse: ServerSentEvent | None
    events: tuple[Event, ...] = ()
    touched: bool = False
