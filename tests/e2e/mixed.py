"""Many streams at once, of every API and of translations: each client has a city of its own, and may hear of no other.

Rule of this file: what a client must have heard is told from its number alone, and read by judges that share no code with toolmend.
"""

import asyncio
import json
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.clients import PrefersHTTP2, context_for
from tests.patterns.kimi import ONE
from tests.support.judges.chat_strict import read as read_chat
from tests.support.judges.messages import read as read_messages
from tests.support.judges.responses import read as read_responses
from tests.support.other_api_streams import (
    gemini_chunks,
    gemini_request,
    gemini_sse,
    ollama_lines,
    ollama_request,
    read_gemini,
    read_ollama,
)
from tests.support.streams import pieces
from tests.support.upstream_answers import WEATHER, Text, asked, speak
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Request, Script, Upstream

PATHS = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    "ollama": "/api/chat",
}
PAIRS = [(api, api) for api in PATHS] + [("messages", "chat"), ("responses", "chat"), ("chat", "messages"), ("chat", "responses")]
"""What the client speaks, and its upstream."""

READERS: dict[str, Callable[[bytes], Any]] = {
    "chat": read_chat,
    "messages": read_messages,
    "responses": read_responses,
    "gemini": read_gemini,
    "ollama": read_ollama,
}
DELAY = 0.005
"""Seconds in front of each event."""

CITY = re.compile(rb"City-(\d+)")


@dataclass(frozen=True)
class Asking:
    """The `number`-th client: what it speaks, and what it is answered in."""

    number: int
    client: str
    upstream: str

    @property
    def routed(self) -> bool:
        return self.client != self.upstream

    @property
    def host(self) -> str:
        """The host that it calls: one of a route, or "" for the upstream itself."""
        return f"{self.client}-{self.upstream}.invalid" if self.routed else ""

    @property
    def path(self) -> str:
        return f"/n{self.number}{PATHS[self.client]}"

    @property
    def body(self) -> bytes:
        if self.client == "gemini":
            body = gemini_request()
        elif self.client == "ollama":
            body = ollama_request()
        else:
            body = asked(self.client, *WEATHER)
        return json.dumps(body).replace("in Beijing?", f"in City-{self.number}?").encode()

    def check(self, body: bytes) -> None:
        """The client has all of its own answer, mended, and nothing else."""
        answer = READERS[self.client](body)
        assert answer.faults == []
        text, calls = (answer.content, answer.calls) if self.client in ("gemini", "ollama") else (answer.text, answer.asked)
        assert (text, calls) == (said(self.number), [("get_weather", {"city": f"City-{self.number}"})])


def crowd(size: int) -> list[Asking]:
    return [Asking(number, *PAIRS[number % len(PAIRS)]) for number in range(size)]


def said(number: int) -> str:
    return f"For City-{number} I will look. " + "A word more. " * (10 + number % 7)


def streamed(api: str, number: int) -> bytes:
    """The upstream's answer: text, and a leaked call."""
    text = said(number) + ONE.replace("Beijing", f"City-{number}")
    if api == "gemini":
        return gemini_sse(gemini_chunks(pieces(text, number)))
    return ollama_lines(pieces(text, number)) if api == "ollama" else speak(api, [Text(text)], seed=number)


def chunks_of(api: str, number: int) -> tuple[tuple[float, bytes], ...]:
    """A chunk per event, or line."""
    end = b"\n" if api == "ollama" else b"\r\n\r\n" if api == "gemini" else b"\n\n"
    return tuple((DELAY, part + end) for part in streamed(api, number).split(end) if part)


def asked_for(request: Request) -> tuple[str, int]:
    """The API and the number of a request."""
    found = CITY.search(request.body)
    assert found
    api = next(name for name, path in PATHS.items() if request.path.endswith(path))
    return api, int(found[1])


def answer(request: Request) -> Script:
    """Of an upstream that speaks all of the APIs."""
    script = half(request)
    return replace(script, chunks=script.chunks + script.rest, rest=())


def half(request: Request) -> Script:
    """Of one that says two thirds of it before it is released."""
    api, number = asked_for(request)
    chunks = chunks_of(api, number)
    at = len(chunks) * 2 // 3
    kind = "application/x-ndjson" if api == "ollama" else "text/event-stream"
    return Script(chunks[:at], rest=chunks[at:], headers=(("content-type", kind),))


def routes(upstream: Upstream, file: Path) -> dict[str, str]:
    """The options of a proxy that translates for those who need it."""
    lines = []
    for one in (each for each in crowd(len(PAIRS)) if each.routed):
        lines += ["[[route]]", f'from = "https://{one.host}/*{PATHS[one.client]}"']
        lines += [f'to = "{upstream.url}{PATHS[one.upstream]}"', 'use_model = "kimi-k2.5"']
    file.write_text("\n".join(lines))
    return {"toolmend_config": str(file)}


async def ask_all(
    proxy: Mitmdump, upstream: Upstream, asking: list[Asking], *, http2: bool, then: Callable[[], None] = lambda: None
) -> list[bytes]:
    """What each gets, to whatever end; `then` is called when all have the beginning of an answer."""
    context = PrefersHTTP2(ssl.PROTOCOL_TLS_CLIENT) if http2 else context_for(proxy.ca)
    context.load_verify_locations(proxy.ca)
    begun: set[int] = set()

    async def ask(one: Asking) -> bytes:
        url = f"https://{one.host}{one.path}" if one.routed else f"{upstream.url}{one.path}"
        got = b""
        try:
            async with client.stream("POST", url, content=one.body, headers={"content-type": "application/json"}) as reply:
                async for data in reply.aiter_raw():
                    got += data
                    if one.number not in begun:
                        begun.add(one.number)
                        if len(begun) == len(asking):
                            await asyncio.to_thread(then)
        except httpx.TransportError:
            pass
        return got

    limits = httpx.Limits(max_connections=len(asking))
    async with httpx.AsyncClient(
        proxy=proxy.url, verify=context, http2=http2, trust_env=False, timeout=60, limits=limits
    ) as client:
        return await asyncio.gather(*(ask(one) for one in asking))
