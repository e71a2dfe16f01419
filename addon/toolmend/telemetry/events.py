"""What happens to streams, as events, for those who count: Prometheus, OpenTelemetry, a script of the user's.

    def toolmend_events(event):                      # in a script of your own: mitmdump -s addon/main.py -s counts.py
        if type(event).__name__ == "StreamFinished":
            print(event.about.model, event.seconds, event.usage)

    StreamStarted ─► RuleFired* ─► FailedOpen? ─► StreamFinished            RecordingLost, whenever one is

Who counts is told from a thread of its own (metering.py): it may take its time, and it is not waited for. Events are told apart
best by their class's name: whoever touches main.py gets new classes.

Rule of this file: values only, and not a word of what was said, unless an observer brings a `render` for it (otel.py).
"""

from typing import Any

from ..core.events import Usage
from ..core.fastclass import value


@value
class About:
    """Which stream it is. `at`: when it was asked for, in seconds since 1970; `host`: who answers, with a port if it is unusual.

    `api` is the client's; `profile` the model's family, as `toolmend providers` names it; `status` HTTP's; `stream`: what the
    upstream answers with.
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
    """The headers of the response are in."""

    about: About


@value
class RuleFired:
    """A rule was at work in the stream; told once for each, at its end."""

    about: About
    rule: str


@value
class FailedOpen:
    """Something of ours failed, and the stream went on without it."""

    about: About
    error: str


@value
class StreamFinished:
    """The end, however it came: `state` as in meta.json. Bytes are without content coding, times in seconds since it was asked.

    `first_token` is None of a whole body, and where none came. `calls` and `usage` are None where the answer could not be read,
    or says nothing of them. `error_type`: empty, or what went wrong in a word: a status, a state, the upstream's own.
    `suspects`: how much looks like a tool call and was not made one.
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
    """A recording is incomplete, or not there at all."""

    reason: str


type Event = StreamStarted | RuleFired | FailedOpen | StreamFinished | RecordingLost
