"""openai's own accumulator reads what we send: a judge that raises on much that other clients accept."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest

from tests.patterns import all_patterns, recorded_patterns
from tests.patterns.irregular import REQUEST, more
from tests.patterns.kimi import CITY, ONE
from tests.support.cuts import DEEP
from tests.support.judges.chat import read
from tests.support.regular_streams import REGULAR
from tests.support.streams import body_of, pieces, play, stream
from toolmend.pipeline.pipeline import Pipeline


def pipeline(asked: dict[str, Any] | None = REQUEST) -> Pipeline:
    numbers = iter(range(1000))
    return Pipeline(asked, new_id=lambda: f"call_{next(numbers)}")



def accumulate(body: Iterator[bytes]) -> Any:
    """What openai's own accumulator makes of a stream. It raises on much that other clients accept."""
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    client = httpx2.Client(transport=httpx2.MockTransport(lambda _: answer))
    sdk = openai.OpenAI(api_key="none", base_url="http://test", http_client=client)
    with sdk.chat.completions.stream(model="m", messages=[{"role": "user", "content": "x"}]) as events:
        for _ in events:
            pass
        return events.get_final_completion().choices[0]


def folded(final: Any) -> tuple[list[tuple[str, str, str]], str, str]:
    calls = [(call.id, call.function.name, call.function.arguments) for call in final.message.tool_calls or ()]
    return calls, final.message.content or "", final.finish_reason


PATTERNS = all_patterns() if DEEP else recorded_patterns()


@pytest.mark.parametrize("name", [name for name, pattern in PATTERNS.items() if pattern.expected_finish != "length"])
def test_the_sdk_understands_what_was_mended(name: str) -> None:
    pattern = PATTERNS[name]
    client = play(lambda: pipeline(pattern.request), [body_of(pattern)])
    choice = read(client).only
    expected = [(call.id, call.name, call.arguments) for call in choice.calls], choice.content, choice.finish_reasons[0]
    assert folded(accumulate(iter([client]))) == expected
    assert [call[1:] for call in expected[0]] == [call[1:] for call in pattern.calls]


@pytest.mark.parametrize("name", ["openai", "azure", "vllm", "sglang", "groq", "fireworks", "gemini", "deepseek", "mistral", "dashscope"])
def test_the_sdk_understands_what_is_regular(name: str) -> None:
    calls, _, finish = folded(accumulate(iter([play(pipeline, [REGULAR[name]])])))
    assert finish == "tool_calls"
    assert all(call[1] == "task" and json.loads(call[2]) is not None for call in calls)


def test_the_sdk_reads_a_mended_stream_byte_by_byte() -> None:
    native = {"index": 4, "id": "call_a", "type": "function", "function": {"name": "task", "arguments": "{}"}}
    body = stream([*pieces(f"Look: {ONE}", 1), {"tool_calls": [native]}, more("```", 4)])
    made = pipeline(None)
    parts = [made.feed(body[at : at + 1]) for at in range(len(body))] + [made.close()]
    calls, content, finish = folded(accumulate(part[at : at + 1] for part in parts for at in range(len(part))))
    assert calls == [("functions.get_weather:0", "get_weather", CITY), ("call_a", "task", "{}")]
    assert (content, finish) == ("Look: ", "tool_calls")
