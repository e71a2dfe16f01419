"""What happens to streams, as events for Prometheus, OpenTelemetry and the user's scripts.

    def toolmend_events(event):                      # in a script of your own: mitmdump -s addon/main.py -s counts.py
        if type(event).__name__ == "StreamFinished":
            print(event.about.model, event.seconds, event.usage)

    StreamStarted ─► RuleFired* ─► FailedOpen? ─► StreamFinished            RecordingLost, at any time

Each receiver runs in a thread of its own (metering.py), so it may be slow. Compare events by class name: when main.py changes,
the classes are reloaded.

Values only. They contain no text of a conversation, unless an observer has a `render` for it (otel.py).
"""

from typing import Any

from ..core.events import Usage
from ..core.fastclass import value


@value
class About:
    """Which stream an event is about.

    Attributes:
        at: When the request was sent, in seconds since 1970.
        host: The upstream, with its port if unusual.
        api: The client's API.
        profile: The model's family, as in `toolmend providers`.
        status: The HTTP status.
        stream: Whether the upstream's response is a stream.
    """

    flow_id: str
    at: float
    host: str
    provider: str
    api: str
    upstream_api: str
    model: str
    profile: str
    status: int
    stream: bool


@value
class StreamStarted:
    """The response headers have arrived."""

    about: About


@value
class RuleFired:
    """A rule fired in the stream; published once per rule, at the end."""

    about: About
    rule: str


@value
class FailedOpen:
    """toolmend failed, and the stream passed without it."""

    about: About
    error: str


@value
class StreamFinished:
    """The end of a stream, complete or not.

    Attributes:
        state: As in meta.json.
        received, sent: Bytes without content encoding.
        seconds, first_byte: From the request.
        first_token: From the request; None for a whole body, and if there was none.
        calls, usage: None if the response could not be parsed, or has none.
        error_type: Empty, or the error in a word: a status, a state, the upstream's own.
        suspects: How many texts look like a tool call and were not made one.
    """

    about: About
    state: str
    received: int
    sent: int
    seconds: float
    first_byte: float
    first_token: float | None = None
    calls: int | None = None
    usage: Usage | None = None
    finish_reasons: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    error_type: str = ""
    failed_open: bool = False
    response_id: str = ""
    response_model: str = ""
    content: Any = None
    suspects: int = 0


@value
class RecordingLost:
    """A recording is incomplete or missing."""

    reason: str


type Event = StreamStarted | RuleFired | FailedOpen | StreamFinished | RecordingLost
