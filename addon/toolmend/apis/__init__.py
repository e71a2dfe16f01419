"""The wire APIs that are spoken: a row each. See codec.py for what a codec and a writer do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .. import sse
from .chat import Chat
from .chat_fresh import ChatWriter
from .codec import Codec, Decoder, Reply, Writer
from .messages import Messages
from .messages_write import MessagesWriter
from .responses import Responses
from .responses_write import ResponsesWriter


@dataclass(frozen=True, slots=True)
class Api:
    """How the codec of a response is made, its writer (None: no client of another API is served), and what cuts its bytes."""

    codec: Callable[[Reply], Codec]
    writer: Callable[[Reply], Writer] | None
    decoder: Callable[[], Decoder] = sse.Decoder


APIS: Mapping[str, Api] = {
    "chat": Api(
        lambda reply: Chat(
            reply.tools, reply.new_id, reply.fired, reasoning_field=reply.reasoning_field, patient=reply.translates
        ),
        ChatWriter,
    ),
    "messages": Api(Messages, MessagesWriter),
    "responses": Api(Responses, ResponsesWriter),
}
