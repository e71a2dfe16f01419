"""recorded_text.py: the texts of a recorded file by their paths, joined as a client joins them, each with its lines."""

import base64
import json
from typing import Any

import pytest

from toolmend.recordings.write.recorded_text import A_NAME, last_name, texts_of


def stream(*data: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in data)


def joined(name: str, data: bytes) -> dict[str, str]:
    return {path: "".join(text.pieces) for path, text in texts_of(name, data).items()}


def delta(content: str, index: int = 0) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": {"content": content}}]}


def test_deltas_are_joined() -> None:
    data = stream(delta("Your key is s"), delta("k-AB"), delta("other", 1))
    found = {path: (text.pieces, text.lines) for path, text in texts_of("upstream.sse", data).items()}
    assert found["choices.0.delta.content"] == (["Your key is s", "k-AB"], [1, 3])
    assert found["choices.1.delta.content"] == (["other"], [5])


def test_line_of_a_character() -> None:
    text = texts_of("upstream.sse", stream(delta("ab"), delta("c")))["choices.0.delta.content"]
    assert [text.line_at(at) for at in range(4)] == [1, 1, 3, 3]


def test_a_document_has_each_string_apart() -> None:
    found = joined("request.json", json.dumps({"messages": [{"content": "a"}, {"content": "b"}]}).encode())
    assert {path: text.strip() for path, text in found.items()} == {"messages[0].content": "a", "messages[1].content": "b"}


def test_odd_names_are_texts() -> None:
    found = joined("request.json", b'{"sk-0123456789": {"a b": "x"}}')
    assert all("sk-0123456789" not in path for path in found)
    assert {line for text in found.values() for line in text.split("\n") if line} == {"sk-0123456789", "a b", "x"}
    assert {last_name(path) for path in found} <= {A_NAME, "x"}


def test_what_is_no_json_has_no_path() -> None:
    (text,) = texts_of("request.json", b"one\ntwo").values()
    assert (text.pieces, text.lines) == (["one\n", "two\n"], [1, 2])
    assert "".join(texts_of("upstream.sse", b"data: no JSON\n\n")[""].pieces).startswith("data: no JSON")


def test_messages_of_bedrock_are_decoded() -> None:
    inner = base64.b64encode(json.dumps({"delta": {"text": "hidden"}}).encode()).decode()
    assert joined("upstream.sse", stream({"bytes": inner}))["delta.text"] == "hidden"


@pytest.mark.parametrize(("path", "name"), [("a.b.c", "c"), ("a", "a"), ("a.b[2]", "b"), ("", "")])
def test_last_name(path: str, name: str) -> None:
    assert last_name(path) == name
