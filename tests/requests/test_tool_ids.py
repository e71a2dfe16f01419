"""tool_ids.py: ids of calls, in the style of the upstream."""

import pytest

from tests.support.request_tables.messages import HI, MISTRAL, MOONSHOT, OPENAI, VLLM, assistant, result, use, user
from toolmend.requests import translate
from toolmend.requests.tool_ids import STYLES

IDS = [
    ("kept", VLLM, "m", ["toolu_01", "functions.a:0", "x" * 80], ["toolu_01", "functions.a:0", "x" * 80]),
    ("of OpenAI", OPENAI, "m", ["toolu_01", "x" * 41], ["toolu_01", None]),
    ("of Kimi", MOONSHOT, "kimi-k2.5", ["toolu_01", "functions.read:1", "toolu_02"], ["functions.read:0", "functions.read:1", "functions.read:2"]),
    ("of Kimi, taken", MOONSHOT, "kimi-k2.5", ["functions.read:1", "toolu_01"], ["functions.read:1", "functions.read:2"]),
    ("of Mistral", MISTRAL, "m", ["toolu_01", "abcDEF123"], [None, "abcDEF123"]),
    ("twice", OPENAI, "m", ["a", "a"], ["a", None]),
    ("none", OPENAI, "m", [""], [None]),
]
STYLE = {VLLM: "any", OPENAI: "40", MOONSHOT: "kimi", MISTRAL: "mistral"}


@pytest.mark.parametrize(("host", "model", "given", "expected"), [row[1:] for row in IDS], ids=[row[0] for row in IDS])
def test_ids(host: str, model: str, given: list[str], expected: list[str | None]) -> None:
    messages = [HI]
    for at, id_ in enumerate(given):
        messages += [assistant(use(id_, "read", n=at)), user(result(str(at), id_))]
    request = {"model": model, "max_tokens": 9, "messages": messages}
    said = translate(request, "messages", "chat", host=host).request["messages"]
    assert said == translate(request, "messages", "chat", host=host).request["messages"]
    ids = [call["id"] for message in said for call in message.get("tool_calls") or ()]
    assert [message["tool_call_id"] for message in said if message["role"] == "tool"] == ids
    assert [message["content"] for message in said if message["role"] == "tool"] == [str(at) for at in range(len(given))]
    assert len(set(ids)) == len(ids)
    assert all(STYLES[STYLE[host]].legal.fullmatch(id_) for id_ in ids)
    assert [id_ if wanted else None for id_, wanted in zip(ids, expected, strict=True)] == expected
