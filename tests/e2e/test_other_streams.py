"""Gemini, Ollama and Bedrock through a real mitmdump: mended or not, live, recorded; and Google's and Ollama's own SDKs behind it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import ollama
import pytest
from google import genai
from google.genai import types

from tests.e2e.clients import Kept, Raw, Reply, Serve, context_for, parse, post, recording
from tests.patterns.kimi import ONE
from tests.support.other_api_streams import (
    AWS,
    JSON,
    NDJSON,
    SSE,
    Answer,
    code_assist,
    converse,
    gemini_array,
    gemini_chunks,
    gemini_request,
    gemini_sse,
    ollama_lines,
    ollama_request,
    read_gemini,
    read_ollama,
)
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.fixtures.verification import check
from toolmend.recordings.playback.server import Coding, Script, Upstream
from toolmend.recordings.read import replay

GEMINI = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"
DELTAS = ["Let me look. ", ONE[:30], ONE[30:70], ONE[70:]]
SAID = ("Let me look. ", "", [("get_weather", {"city": "Beijing"})])
NATIVE = {"functionCall": {"name": "get_weather", "args": {"city": "Beijing"}}, "thoughtSignature": "c2ln"}
NATIVE_LINE = {"tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Beijing"}}}]}
ASSIST = {"model": "gemini-2.5-pro", "project": "p", "request": gemini_request()}
FRAMES = converse(
    ("messageStart", {"role": "assistant"}),
    ("contentBlockDelta", {"delta": {"text": "Hi"}}),
    ("messageStop", {"stopReason": "end_turn"}),
)

type Read = Callable[[bytes], Answer]

KINDS: dict[str, tuple[str, dict[str, Any], str, bytes, bytes, Read]] = {
    # name: (path, request, content type, a stream with a leak, one without, a client)
    "gemini-sse": (f"{GEMINI}?alt=sse", gemini_request(), SSE, gemini_sse(gemini_chunks(DELTAS)), gemini_sse(gemini_chunks(["Hi ", NATIVE])), read_gemini),
    "gemini-array": (GEMINI, gemini_request(), JSON, gemini_array(gemini_chunks(DELTAS)), gemini_array(gemini_chunks(["Hi ", NATIVE])), read_gemini),
    "code-assist": (
        "/v1internal:streamGenerateContent?alt=sse", ASSIST, SSE, code_assist(gemini_chunks(DELTAS)), code_assist(gemini_chunks(["Hi ", NATIVE])), read_gemini
    ),
    "ollama": ("/api/chat", ollama_request(), NDJSON, ollama_lines(DELTAS), ollama_lines(["Hi ", NATIVE_LINE]), read_ollama),
    "ollama-json": ("/api/chat", ollama_request(), JSON, ollama_lines(DELTAS), ollama_lines(["Hi ", NATIVE_LINE]), read_ollama),
}  # fmt: skip


def ask_for(proxy: Mitmdump, upstream: Upstream, path: str, body: dict[str, Any]) -> Reply:
    with Raw(proxy, upstream.url) as raw:
        raw.send(post(path, body, raw.host, Connection="close"))
        return parse(raw.read_to_end())


def script(body: bytes, kind: str, **more: Any) -> Script:
    """In pieces of 90 bytes."""
    return Script(tuple((0, body[at : at + 90]) for at in range(0, len(body), 90)), headers=(("content-type", kind),), **more)


@pytest.fixture
def base(path: str) -> str:
    """The beginning of a path, by which the test's own recording is found."""
    return path.removesuffix("/v1/chat/completions")


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("name", KINDS)
def test_a_leak_is_mended(proxy: Mitmdump, serve: Serve, flows: Path, base: str, name: str, coding: Coding) -> None:
    path, request, kind, leak, _, read = KINDS[name]
    upstream = serve(script(leak, kind, coding=coding))
    reply = ask_for(proxy, upstream, base + path, request)
    assert reply.terminated
    answer = read(reply.body)
    assert answer.said == SAID
    assert answer.faults == []
    assert answer.finish in (["STOP"], ["stop"])
    assert reply.header("content-type") == kind
    kept = recording(flows, base + path)
    check_kept(kept, leak, reply.body)
    assert kept.meta["rules"] == ["kimi_k2"]
    assert kept.meta["model"] in ("gemini-2.5-pro", "kimi-k2")


@pytest.mark.parametrize("name", KINDS)
def test_what_needs_no_mending_is_the_same_bytes(proxy: Mitmdump, serve: Serve, flows: Path, base: str, name: str) -> None:
    path, request, kind, _, native, _ = KINDS[name]
    reply = ask_for(proxy, serve(script(native, kind)), base + path, request)
    assert reply.body == native
    kept = recording(flows, base + path)
    check_kept(kept, native, native)
    assert kept.meta["rules"] == []
    (call,) = json.loads(kept.read("message.json"))["tool_calls"]
    assert (call["name"], json.loads(call["arguments"])) == SAID[2][0]


def check_kept(kept: Kept, upstream: bytes, client: bytes) -> None:
    """A recording of a stream, that can be played and verified."""
    assert kept.meta["state"] == "complete"
    assert kept.meta["stream"]
    assert (kept.read("upstream.sse"), kept.read("client.sse")) == (upstream, client)
    assert json.loads(kept.read("message.json"))["usage"]["output_tokens"] == 5
    assert replay.replay(replay.load(kept.folder)) == (client, kept.meta["rules"])
    assert check(kept.folder, splits=8).passed


def test_an_array_is_live(proxy: Mitmdump, serve: Serve) -> None:
    """The client has the first element, whole, before the upstream says anything more."""
    first, *rest = gemini_chunks(["Hi ", "there."])
    begin = gemini_array([first]).removesuffix(b"\n]")
    upstream = serve(Script(((0, begin),), headers=(("content-type", JSON),), end="stall"))
    with Raw(proxy, upstream.url) as raw:
        raw.send(post(GEMINI, gemini_request(), raw.host, Connection="close"))
        before = raw.read_until(begin)
        upstream.release()
        assert parse(before + raw.read_to_end()).body == begin
    assert rest


def test_lines_are_live(proxy: Mitmdump, serve: Serve) -> None:
    first, _ = ollama_lines(["Hi "]).splitlines(keepends=True)
    upstream = serve(Script(((0, first),), headers=(("content-type", NDJSON),), end="stall"))
    with Raw(proxy, upstream.url) as raw:
        raw.send(post("/api/chat", ollama_request(), raw.host, Connection="close"))
        before = raw.read_until(first)
        upstream.release()
        assert parse(before + raw.read_to_end()).body == first


@pytest.mark.parametrize("name", ["gemini-array", "ollama"])
def test_a_whole_answer_is_mended(proxy: Mitmdump, serve: Serve, flows: Path, base: str, name: str) -> None:
    _, request, _, _, _, read = KINDS[name]
    if name == "ollama":
        path, request = "/api/chat", request | {"stream": False}
        body = (
            ollama_lines(["x"]).splitlines()[1].replace(b'"content": ""', b'"content": ' + json.dumps("".join(DELTAS)).encode())
        )
    else:
        path = "/v1beta/models/gemini-2.5-pro:generateContent"
        body = json.dumps(gemini_chunks(["".join(DELTAS)])[0]).encode()
    reply = ask_for(proxy, serve(script(body, JSON, framing="content-length")), base + path, request)
    assert read(b"[" + reply.body + b"]" if name == "gemini-array" else reply.body + b"\n").said == SAID
    kept = recording(flows, base + path)
    assert kept.read("client.json") == reply.body
    assert not kept.meta["stream"]


def test_an_error_is_the_same_bytes(proxy: Mitmdump, serve: Serve, flows: Path, base: str) -> None:
    body = b'[{"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}\n]'
    upstream = serve(script(body, JSON, status=429, framing="content-length"))
    assert ask_for(proxy, upstream, base + GEMINI, gemini_request()).body == body
    assert recording(flows, base + GEMINI).read("client.json") == body


@pytest.mark.parametrize(
    "path", ["/model/anthropic.claude-x/converse-stream", "/model/anthropic.claude-x/invoke-with-response-stream"]
)
def test_bedrock_passes_and_is_recorded(proxy: Mitmdump, serve: Serve, flows: Path, base: str, path: str) -> None:
    """The request is signed: not a header of it is touched."""
    upstream = serve(script(FRAMES, AWS))
    with Raw(proxy, upstream.url) as raw:
        given = {
            "Authorization": "AWS4-HMAC-SHA256 Credential=AKID/20261120",
            "X-Amz-Date": "20261120T0000Z",
            "Accept-Encoding": "gzip",
        }
        raw.send(post(base + path, {"messages": []}, raw.host, Connection="close", **given))
        reply = parse(raw.read_to_end())
    assert reply.body == FRAMES
    (request,) = upstream.requests
    assert request.header("accept-encoding") == "gzip"
    assert request.header("authorization") == given["Authorization"]
    kept = recording(flows, base + path)
    assert (kept.read("upstream.sse"), kept.read("client.sse")) == (FRAMES, FRAMES)
    assert kept.meta["model"] == "anthropic.claude-x"
    assert b"AKID" not in kept.read("meta.json")
    assert check(kept.folder, splits=8).passed


@pytest.mark.parametrize("deltas", [DELTAS, ["Let me look. ", NATIVE]], ids=["leak", "native"])
def test_google_sdk(proxy: Mitmdump, serve: Serve, deltas: list[Any]) -> None:
    upstream = serve(script(gemini_sse(gemini_chunks(deltas)), SSE))
    options = types.HttpOptions(
        base_url=upstream.url, client_args={"proxy": proxy.url, "verify": context_for(proxy.ca), "trust_env": False}
    )
    client = genai.Client(api_key="none", http_options=options)
    function = types.FunctionDeclaration(**gemini_request()["tools"][0]["functionDeclarations"][0])
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[function])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    told = list(client.models.generate_content_stream(model="gemini-2.5-pro", contents="Weather?", config=config))
    parts = [part for chunk in told for one in chunk.candidates or () for part in (one.content and one.content.parts) or ()]
    calls = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
    assert ("".join(part.text or "" for part in parts), "", calls) == SAID
    assert [one.finish_reason for chunk in told for one in chunk.candidates or () if one.finish_reason] == [
        types.FinishReason.STOP
    ]


@pytest.mark.parametrize("deltas", [DELTAS, ["Let me look. ", NATIVE_LINE]], ids=["leak", "native"])
def test_ollama_sdk(proxy: Mitmdump, serve: Serve, deltas: list[Any]) -> None:
    upstream = serve(script(ollama_lines(deltas), NDJSON))
    client = ollama.Client(upstream.url, proxy=proxy.url, verify=context_for(proxy.ca), trust_env=False)
    told = list(client.chat(**ollama_request(), stream=True))
    calls = [(call.function.name, dict(call.function.arguments)) for one in told for call in one.message.tool_calls or ()]
    assert ("".join(one.message.content or "" for one in told), "", calls) == SAID
    assert told[-1].done_reason == "stop"


def test_over_http2(serve: Serve, http2: httpx.Client) -> None:
    path, request, kind, leak, _, read = KINDS["gemini-array"]
    answer = http2.post(serve(script(leak, kind), alpn=("h2", "http/1.1")).url + path, json=request)
    assert answer.http_version == "HTTP/2"
    assert read(answer.content).said == SAID
