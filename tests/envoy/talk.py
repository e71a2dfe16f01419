"""Envoy's side of one exchange, without an Envoy: it sends the messages that Envoy would, and does what it is answered.

    talk = Talk(hooks); talk.ask(body) → what the upstream gets; talk.answer(chunks) → what the client gets

Rule of this file: it is as strict as Envoy was seen to be: an empty reply, one that was not asked for, or a length that is not the
body's is a failure.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from envoy.config.core.v3.base_pb2 import HeaderMap, HeaderValue, HeaderValueOption
from envoy.extensions.filters.http.ext_proc.v3.processing_mode_pb2 import ProcessingMode
from envoy.service.ext_proc.v3.external_processor_pb2 import (
    CommonResponse,
    HeaderMutation,
    HttpBody,
    HttpHeaders,
    HttpTrailers,
    ProcessingRequest,
    ProcessingResponse,
)

from tests.support.addon import LEAK
from tests.support.streams import WEATHER, play
from toolmend.pipeline.pipeline import Pipeline
from toolmend.providers.routes import Origin
from toolmend.proxy.envoy.exchange import EnvoyExchange
from toolmend.proxy.envoy.master import Headless

type Pairs = tuple[tuple[str, str], ...]

HOST, PATH = "openrouter.ai", "/api/v1/chat/completions"
SSE = (("content-type", "text/event-stream"),)
JSON = (("content-type", "application/json"),)
ID = "6f1c2a3e-0d52-4b6f-9d38-1f5f6a7b8c9d"


def header_map(pairs: Iterable[tuple[str, str]]) -> HeaderMap:
    return HeaderMap(headers=[HeaderValue(key=name, raw_value=value.encode()) for name, value in pairs])


@dataclass
class Message:
    """A request or response as it goes on; pseudo-headers are among the headers. `here`: the worker answered it itself."""

    headers: list[tuple[str, str]]
    body: bytes = b""
    pieces: list[bytes] = field(default_factory=list)
    ended: bool = False
    here: bool = False
    rerouted: bool = False

    def __getitem__(self, name: str) -> str:
        return dict(self.headers)[name]

    def get(self, name: str) -> str | None:
        return dict(self.headers).get(name)

    def all(self, name: str) -> list[str]:
        return [value for other, value in self.headers if other == name]

    @property
    def status(self) -> int:
        return int(self[":status"])


class Talk:
    """`limit`: bytes that Envoy's buffer holds. `hooks`: the addon's."""

    def __init__(self, hooks: Headless, upstream: Origin | None = None, *, limit: int = 1 << 25) -> None:
        self.exchange = EnvoyExchange(hooks, upstream)
        self.limit = limit
        self.mode = ProcessingMode(response_header_mode=ProcessingMode.SEND)  # as FLEET's configuration has it

    # what Envoy does with a reply

    def send(self, **given: Any) -> list[ProcessingResponse]:
        replies = self.exchange.receive(ProcessingRequest(**given))
        for reply in replies:
            assert reply.WhichOneof("response"), "an empty reply: Envoy would let all pass unmended"
        return replies

    def one(self, step: str, **given: Any) -> ProcessingResponse:
        (reply,) = self.send(**given)
        assert reply.WhichOneof("response") in (step, "immediate_response")
        if reply.HasField("mode_override"):
            assert step.endswith("headers"), "Envoy takes no override here"
            self.mode = reply.mode_override
        return reply

    # one exchange

    def ask(
        self,
        body: bytes | None = b"",
        headers: Pairs = JSON,
        *,
        method: str = "POST",
        host: str = HOST,
        path: str = PATH,
        scheme: str = "https",
        length: bool = True,
    ) -> Message:
        """Sends a request; returns what the upstream gets, or the worker's own answer. `body` None: it has none."""
        pairs = [(":method", method), (":scheme", scheme), (":authority", host), (":path", path), *headers, ("x-request-id", ID)]
        if body is not None and length:
            pairs.append(("content-length", str(len(body))))
        request = Message(pairs)
        reply = self.one("request_headers", request_headers=HttpHeaders(headers=header_map(pairs), end_of_stream=body is None))
        if reply.HasField("immediate_response"):
            return immediate(reply)
        assert reply.request_headers.response.status == CommonResponse.CONTINUE
        change(request, reply.request_headers.response)
        mode = self.mode.request_body_mode
        if body is None or mode == ProcessingMode.NONE:
            request.body = body or b""
            return request
        assert mode in (ProcessingMode.BUFFERED, ProcessingMode.BUFFERED_PARTIAL)
        whole = len(body) <= self.limit
        if mode == ProcessingMode.BUFFERED and not whole:
            return Message([(":status", "413")], here=True)
        reply = self.one("request_body", request_body=HttpBody(body=body[: self.limit], end_of_stream=whole))
        if reply.HasField("immediate_response"):
            return immediate(reply)
        buffered(request, reply.request_body.response, body, partial=mode == ProcessingMode.BUFFERED_PARTIAL)
        return request

    def begin(self, headers: Pairs = SSE, status: int = 200, *, empty: bool = False) -> Message:
        """The response's headers; returns what the client gets of it so far."""
        pairs = [(":status", str(status)), *headers]
        response = Message(pairs)
        if self.mode.response_header_mode == ProcessingMode.SKIP:
            response.ended = empty
            return response
        reply = self.one("response_headers", response_headers=HttpHeaders(headers=header_map(pairs), end_of_stream=empty))
        if reply.HasField("immediate_response"):
            return immediate(reply)
        given = reply.response_headers.response
        change(response, given)
        if given.status == CommonResponse.CONTINUE_AND_REPLACE:
            response.body, response.ended = given.body_mutation.body, True
        else:
            assert not given.HasField("body_mutation")
            response.ended = empty
        return response

    @property
    def streams(self) -> bool:
        mode = self.mode.response_body_mode
        assert mode != ProcessingMode.FULL_DUPLEX_STREAMED or self.mode.response_trailer_mode == ProcessingMode.SEND
        return bool(mode == ProcessingMode.FULL_DUPLEX_STREAMED)

    def piece(self, response: Message, data: bytes, *, last: bool = False) -> None:
        """A piece of a body that is streamed."""
        for reply in self.send(response_body=HttpBody(body=data, end_of_stream=last)):
            taken(response, reply)

    def answer(self, chunks: Iterable[bytes], headers: Pairs = SSE, status: int = 200, *, trailers: bool = False) -> Message:
        """A whole response; returns what the client gets."""
        chunks = list(chunks)
        response = self.begin(headers, status, empty=not chunks)
        if response.ended or response.here:
            return response
        if self.mode.response_body_mode == ProcessingMode.NONE:
            response.body, response.ended = b"".join(chunks), True
            return response
        if self.streams:
            for data in chunks[: None if trailers else -1]:
                self.piece(response, data)
            if not trailers:
                self.piece(response, chunks[-1], last=True)
                return response
            *before, end = self.send(response_trailers=HttpTrailers())
            for reply in before:
                taken(response, reply)
            assert end.HasField("response_trailers")
            assert not response.ended
            response.ended = True
            return response
        body = b"".join(chunks)
        whole = len(body) <= self.limit
        mode = self.mode.response_body_mode
        if mode == ProcessingMode.BUFFERED and not whole:
            return Message([(":status", "500")], here=True)
        reply = self.one("response_body", response_body=HttpBody(body=body[: self.limit], end_of_stream=whole))
        if reply.HasField("immediate_response"):
            return immediate(reply)
        buffered(response, reply.response_body.response, body, partial=mode == ProcessingMode.BUFFERED_PARTIAL)
        response.ended = True
        return response


def taken(response: Message, reply: ProcessingResponse) -> None:
    """A piece goes to the client."""
    assert not response.ended, "behind the end"
    assert reply.HasField("response_body")
    given = reply.response_body.response.body_mutation
    assert given.HasField("streamed_response")
    response.pieces.append(given.streamed_response.body)
    response.body += given.streamed_response.body
    response.ended = given.streamed_response.end_of_stream


def buffered(message: Message, given: CommonResponse, body: bytes, *, partial: bool) -> None:
    """A body that came at once goes on."""
    change(message, given)
    message.body = given.body_mutation.body if given.HasField("body_mutation") else body
    if partial and given.HasField("body_mutation"):
        message.headers = [(name, value) for name, value in message.headers if name != "content-length"]
    if (length := message.get("content-length")) is not None:
        assert int(length) == len(message.body), "Envoy would answer with 500"


def change(message: Message, given: CommonResponse) -> None:
    """Does what is to be done to the headers."""
    message.headers = changed(message.headers, given.header_mutation)
    message.rerouted |= given.clear_route_cache


def changed(headers: Iterable[tuple[str, str]], given: HeaderMutation) -> list[tuple[str, str]]:
    """As Envoy does: first what is removed, then what is set, in turn."""
    found = [(name, value) for name, value in headers if name not in given.remove_headers]
    for one in given.set_headers:
        name, value = one.header.key, one.header.raw_value.decode()
        if one.append_action == HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD:
            found = [field for field in found if field[0] != name]
        else:
            assert one.append_action == HeaderValueOption.APPEND_IF_EXISTS_OR_ADD
        found.append((name, value))
    return found


def immediate(reply: ProcessingResponse) -> Message:
    given = reply.immediate_response
    headers: Mapping[str, str] | list[tuple[str, str]] = changed([(":status", str(given.status.code))], given.headers)
    return Message(list(headers), given.body, ended=True, here=True)


ASK = json.dumps(WEATHER).encode()

EVENTS = [event + b"\n\n" for event in LEAK.split(b"\n\n") if event]
MENDED = play(lambda: Pipeline(WEATHER), EVENTS)


def headless(**options: str) -> Headless:
    """The addon, and its options without their prefix."""

    async def make() -> Headless:
        return Headless({f"toolmend_{name}": value for name, value in ({"flows": "off", "config": "off"} | options).items()})

    return asyncio.run(make())


def length(body: bytes) -> tuple[str, str]:
    return ("content-length", str(len(body)))
