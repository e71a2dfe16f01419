"""An event that is not in the form that its API's SDKs read.

`raw` is what arrived, `data` what is sent in the form of the API; the codecs of Gemini and Ollama implement `with_data`.
"""

from .events import Event
from .fastclass import value
from .sse import ServerSentEvent


@value
class NonstandardEvent(ServerSentEvent):
    """`events`: its neutral events, unless these need mending, too."""

    events: tuple[Event, ...] | None = None

    @property
    def plain(self) -> bytes:
        """The event in the API's form; empty if it has no data."""
        return self.with_data(self.data) if self.data else b""
