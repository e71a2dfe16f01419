"""The wire APIs, a row each: codec, writer, decoder of the bytes. codec.py describes the interfaces."""

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
    """What toolmend knows of one wire API.

    Attributes:
        codec: Makes the codec of a response.
        writer: Makes the writer that serves this API from another; None: no client of this API is translated for.
        decoder: Makes what splits the bytes of a stream into SSE events.
        has_calls_reason: The API has a finish reason of its own for an answer with tool calls.
        comments: Its clients skip SSE comments. Google's SDK for Gemini ends the stream at the first one.
        ends: Bytes that an event can end with. The first one is what toolmend writes.
    """

    codec: Callable[[Reply], Codec]
    writer: Callable[[Reply], Writer] | None
    decoder: Callable[[], Decoder] = sse.SseDecoder
    has_calls_reason: bool = True
    comments: bool = True
    ends: tuple[bytes, ...] = (b"\n\n", b"\r\r", b"\n\r\n")


APIS: Mapping[str, Api] = {
    "chat": Api(Chat, ChatWriter),
    "messages": Api(Messages, MessagesWriter),
    "responses": Api(Responses, ResponsesWriter),
    "gemini": Api(Gemini, None, GeminiDecoder, has_calls_reason=False, comments=False),
    "ollama": Api(Ollama, None, LineDecoder, has_calls_reason=False, ends=(b"\n",)),  # its clients fail at an empty line
}

_PASSED_DECODERS = {"bedrock": FrameDecoder}
"""Decoders for the streams of APIs that pass unchanged."""


def decoder_for(body: bytes) -> Decoder:
    """Returns a decoder for a body of an unknown API, chosen by the first bytes."""
    match body.lstrip()[:1]:
        case b"[":
            return GeminiDecoder()
        case b"{" if json_text.is_json(body.lstrip().partition(b"\n")[0]):
            return LineDecoder()
        case b"\0":
            return FrameDecoder()
    return sse.SseDecoder()


def decoder_of(api: str) -> Decoder:
    """Returns a decoder for a stream of an API, supported or not."""
    return APIS[api].decoder() if api in APIS else _PASSED_DECODERS.get(api, sse.SseDecoder)()
