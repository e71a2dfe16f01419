"""The wire APIs that are spoken: a row each. See codec.py for what a codec and a writer do."""

from collections.abc import Callable, Mapping

from ..core import json_text, sse
from ..core.aws_event_stream import FrameDecoder
from ..core.fastclass import value
from ..core.json_array import GeminiDecoder
from ..core.ndjson import LineDecoder
from .chat.codec import Chat
from .chat.writer import ChatWriter
from .codec import Codec, Decoder, Reply, Writer
from .gemini.codec import Gemini
from .messages.codec import Messages
from .messages.writer import MessagesWriter
from .ollama.codec import Ollama
from .responses.codec import Responses
from .responses.writer import ResponsesWriter


@value
class Api:
    """How the codec of a response is made, its writer (None: no client of another API is served), and what cuts its bytes.

    `tells_calls`: whether it has a finish reason of its own for an answer with calls. `comments`: whether its clients read any;
    Google's own of Gemini end the stream at the first. `ends`: what an event can end with; the first is how one is ended here.
    """

    codec: Callable[[Reply], Codec]
    writer: Callable[[Reply], Writer] | None
    decoder: Callable[[], Decoder] = sse.SseDecoder
    tells_calls: bool = True
    comments: bool = True
    ends: tuple[bytes, ...] = (b"\n\n", b"\r\r", b"\n\r\n")


APIS: Mapping[str, Api] = {
    "chat": Api(Chat, ChatWriter),
    "messages": Api(Messages, MessagesWriter),
    "responses": Api(Responses, ResponsesWriter),
    "gemini": Api(Gemini, None, GeminiDecoder, tells_calls=False, comments=False),
    "ollama": Api(Ollama, None, LineDecoder, tells_calls=False, ends=(b"\n",)),  # its clients fail at an empty line
}

_UNREAD = {"bedrock": FrameDecoder}
"""What cuts the streams of APIs that pass as they are."""


def decoder_for(body: bytes) -> Decoder:
    """What cuts a body whose API is not at hand: told by how it begins."""
    match body.lstrip()[:1]:
        case b"[":
            return GeminiDecoder()
        case b"{" if json_text.is_json(body.lstrip().partition(b"\n")[0]):
            return LineDecoder()
        case b"\0":
            return FrameDecoder()
    return sse.SseDecoder()


def decoder_of(api: str) -> Decoder:
    """What cuts a stream of an API, known or not."""
    return APIS[api].decoder() if api in APIS else _UNREAD.get(api, sse.SseDecoder)()
