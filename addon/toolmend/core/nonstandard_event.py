"""An event that is not in the form that its API's SDKs read. Gemini's and Ollama's codecs put it in theirs.

Rule of this file: what is to be written is `data`, and what came is `raw`; how the one is written is for the API to say.
"""

from .events import Event
from .fastclass import value
from .sse import ServerSentEvent


@value
class BentEvent(ServerSentEvent):
    """`told`: what it says, unless that needs mending, too."""

    told: tuple[Event, ...] | None = None

    @property
    def plain(self) -> bytes:
        """It in their form; nothing where it has no data."""
        return self.with_data(self.data) if self.data else b""
