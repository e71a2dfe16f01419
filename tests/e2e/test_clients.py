"""The clients that agents are built from: what they make of a mended stream without knowing of it."""

import asyncio

import httpx
import pytest
from openai import OpenAI

from tests.e2e.clients import CALL, CHAT, LEAK, PROSE, Serve, chunks, context_for, http2_options
from tests.support.judges.chat import read
from tests.support.streams import WEATHER
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script

H2 = ("h2", "http/1.1")


@pytest.fixture
def openai(proxy: Mitmdump, serve: Serve) -> OpenAI:
    """The SDK, at an upstream that leaks."""
    upstream = serve(Script(chunks(LEAK, 0.002)))
    http = httpx.Client(proxy=proxy.url, verify=context_for(proxy.ca), trust_env=False)
    return OpenAI(base_url=f"{upstream.url}/v1", api_key="sk-none", http_client=http, max_retries=0)


def test_openai_sdk_gets_the_call_in_deltas(openai: OpenAI) -> None:
    call_id, name, arguments, content, reasons, pieces = "", "", "", "", [], 0
    with openai.chat.completions.create(**WEATHER) as stream:
        for chunk in stream:
            for choice in chunk.choices:
                content += choice.delta.content or ""
                reasons += [choice.finish_reason] if choice.finish_reason else []
                for call in choice.delta.tool_calls or ():
                    assert call.index == 0
                    assert call.function
                    call_id += call.id or ""
                    name += call.function.name or ""
                    arguments += call.function.arguments or ""
                    pieces += bool(call.function.arguments)
    assert (call_id, name, arguments) == CALL
    assert (content, reasons) == ("I will look.", ["tool_calls"])
    assert pieces > 2


def test_openai_sdk_accumulates_the_stream(openai: OpenAI) -> None:
    request = {key: value for key, value in WEATHER.items() if key != "stream"}
    with openai.chat.completions.stream(**request) as stream:
        completion = stream.get_final_completion()
    (choice,) = completion.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "I will look."
    assert choice.message.tool_calls
    (call,) = choice.message.tool_calls
    assert (call.id, call.function.name, call.function.arguments) == CALL
    assert completion.usage
    assert completion.usage.total_tokens == 15


def test_streams_side_by_side_on_one_http2_connection(proxy: Mitmdump, serve: Serve) -> None:
    """A dozen at once, every other one with a leak: none gets anything of its neighbour."""
    upstream = serve(*[Script(chunks(body, 0.002)) for body in (LEAK, PROSE) * 6], alpn=H2)

    async def ask_all() -> list[bytes]:
        async with httpx.AsyncClient(**http2_options(proxy)) as client:
            posts = [client.post(f"{upstream.url}{CHAT}", json=WEATHER) for _ in range(12)]
            answers = await asyncio.gather(*posts)
        assert {answer.http_version for answer in answers} == {"HTTP/2"}
        return [answer.content for answer in answers]

    bodies = asyncio.run(ask_all())
    assert bodies.count(PROSE) == 6
    calls = [
        [(call.id, call.name, call.arguments) for call in read(body).only.calls] for body in bodies if body != PROSE
    ]
    assert calls == [[CALL]] * 6
