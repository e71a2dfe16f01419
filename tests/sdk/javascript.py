"""The JavaScript clients read what is legal, and what we translate, as the judges do. Slow: run by scripts/test-sdks.

A server on loopback plays the streams; one node process asks for each by a path of its own (fold.mjs).
"""

import itertools
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patterns import all_patterns
from tests.support import legal_streams
from tests.support.answers import Answer
from tests.support.streams import body_of, play, stream
from tests.support.upstream_answers import JUDGES, PAIRS, WEATHER, Asked, Counts, Part, Text, Thought, asked, speak
from toolmend.pipeline.pipeline import Pipeline
from toolmend.recordings.playback.server import Request, Script, Upstream
from toolmend.requests import translate

type Ask = Callable[[str, bytes, list[str]], dict[str, Any]]

SDKS = {
    "messages": ("anthropic", "ai-anthropic"),
    "responses": ("responses", "ai-responses"),
    "chat": ("chat", "ai-chat", "ai-compatible"),
}

CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
LEGAL: dict[str, dict[str, bytes]] = {
    "messages": {name: legal_streams.sse(events) for name, events in legal_streams.MESSAGES.items()},
    "responses": {name: legal_streams.sse(events) for name, events in legal_streams.RESPONSES.items()},
    "chat": {
        "text": stream(["Hel", "lo"]),
        "all": stream([{"reasoning_content": "Hm"}, "Let me.", {"tool_calls": [CALL]}], finish="tool_calls"),
    },
}
BROKEN_OFF = {"broken off by length"}
"""Arguments that end early: legal, and each client has its own way out ({}, an invalid call)."""

STOPS = {"end_turn": "stop", "tool_use": "tool-calls", "max_tokens": "length", "stop_sequence": "stop", "refusal": "content-filter"}
STOPS |= {"incomplete/max_output_tokens": "length", "incomplete/content_filter": "content-filter", "tool_calls": "tool-calls", "content_filter": "content-filter"}
"""The Vercel AI SDK's words."""


@pytest.fixture(scope="session")
def ask() -> Iterator[Ask]:
    bodies: dict[str, bytes] = {}
    numbers = itertools.count()

    def answer(request: Request) -> Script:
        body = bodies[request.path.split("/")[1]]
        return Script(tuple((0.0, part + b"\n\n") for part in body.split(b"\n\n") if part))

    node = subprocess.Popen(
        ["node", "fold.mjs"], cwd=Path(__file__).parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True  # noqa: S607
    )
    assert node.stdin
    assert node.stdout
    stdin, stdout = node.stdin, node.stdout
    with Upstream(answer) as upstream, node:

        def ask(sdk: str, body: bytes, tools: list[str]) -> dict[str, Any]:
            place = str(next(numbers))
            bodies[place] = body
            stdin.write(json.dumps({"sdk": sdk, "baseURL": f"http://127.0.0.1:{upstream.port}/{place}", "tools": tools}) + "\n")
            stdin.flush()
            folded: dict[str, Any] = json.loads(stdout.readline())
            return folded

        yield ask
        stdin.close()


def compare(sdk: str, api: str, folded: dict[str, Any], judged: Answer) -> None:
    """What an SDK says of a stream is what the judge says."""
    assert judged.faults == []
    assert ("error" in folded) == bool(judged.error), folded
    if judged.error:
        return
    vercel = sdk.startswith("ai-")
    assert folded["calls"] == [[call.id, call.name, call.value] for call in judged.calls]
    assert folded["text"] == judged.text + (judged.refusal if vercel else "")
    if sdk not in ("chat", "ai-chat"):  # which ignore it
        assert folded["reasoning"] == judged.reasoning
    if not vercel and sdk != "chat":
        assert folded["seals"] == judged.seals
    reason = judged.stop_reason or ""
    if not vercel:
        assert folded["stop"] == reason.partition("/")[0]
    elif reason == "completed":
        assert folded["stop"] == ("tool-calls" if judged.calls else "content-filter" if judged.refusal else "stop")
    else:
        assert folded["stop"] == STOPS.get(reason, reason)
    names = {"chat": ("prompt_tokens", "completion_tokens")}.get(api, ("input_tokens", "output_tokens"))
    usage = judged.usage or {}
    counts = [usage.get(name) for name in names]
    if sdk == "ai-anthropic":
        counts[0] += sum(usage.get(f"cache_{kind}_input_tokens") or 0 for kind in ("read", "creation"))
    assert folded["usage"] == counts


@pytest.mark.parametrize(
    ("api", "sdk", "name"), [(api, sdk, name) for api, sdks in SDKS.items() for sdk in sdks for name in LEGAL[api] if name not in BROKEN_OFF]
)
def test_what_is_legal_is_read(ask: Ask, api: str, sdk: str, name: str) -> None:
    judged = JUDGES[api].read(LEGAL[api][name])
    compare(sdk, api, ask(sdk, LEGAL[api][name], [call.name for call in judged.calls]), judged)


def translated(source: str, target: str, request: dict[str, Any], body: bytes) -> bytes:
    numbers = itertools.count(1)
    return play(lambda: Pipeline(request, source=source, target=target, new_id=lambda: f"call_{next(numbers):032x}"), [body])


HM, SAY = Thought("Hm, 日本."), Text("Let me look.\nNow 🙂.")
FIRST, SECOND = Asked("call_a", "get_weather", '{"city":"Beijing"}'), Asked("call_b", "task", '{"description": "\\"日本\\"\\n"}')
ANSWERS: dict[str, tuple[list[Part], str]] = {
    "text": ([SAY], "stop"),
    "limit": ([SAY], "length"),
    "filtered": ([SAY], "content_filter"),
    "everything": ([HM, SAY, FIRST, SECOND], "tool_calls"),
    "thought between calls": ([HM, FIRST, Thought("And now?"), SECOND], "tool_calls"),
    "text between calls": ([FIRST, Text("And now:"), SECOND], "tool_calls"),
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(("source", "api", "sdk"), [(source, api, sdk) for source, api in PAIRS for sdk in SDKS[api]])
def test_what_is_translated_is_read(ask: Ask, source: str, api: str, sdk: str, name: str) -> None:
    parts, stop = ANSWERS[name]
    body = translated(source, api, asked(api, *WEATHER), speak(source, parts, stop, Counts(100, 50, 20)))
    compare(sdk, api, ask(sdk, body, ["get_weather", "task"]), JUDGES[api].read(body))


@pytest.mark.parametrize(("api", "sdk"), [(api, sdk) for api in ("messages", "responses") for sdk in SDKS[api]])
@pytest.mark.parametrize("name", [name for name, pattern in all_patterns().items() if pattern.expected_finish == "tool_calls"])
def test_what_was_a_leak_is_read(ask: Ask, api: str, sdk: str, name: str) -> None:
    pattern = all_patterns()[name]
    request = translate(pattern.request, client="chat", upstream=api).request
    body = translated("chat", api, request, body_of(pattern))
    judged = JUDGES[api].read(body)
    compare(sdk, api, ask(sdk, body, [call.name for call in judged.calls]), judged)


@pytest.mark.parametrize(("source", "api", "sdk"), [(source, api, sdk) for source, api in PAIRS for sdk in SDKS[api]])
def test_what_is_cut_off_is_an_error(ask: Ask, source: str, api: str, sdk: str) -> None:
    body = translated(source, api, asked(api, *WEATHER), speak(source, [SAY, FIRST], "tool_calls")[:-600])
    assert "error" in ask(sdk, body, ["get_weather", "task"])
