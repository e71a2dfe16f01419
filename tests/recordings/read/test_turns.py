"""turns.py: a request as turns of a conversation, for people."""

import base64
import json
from pathlib import Path

import pytest

from tests.support.documents import view
from tests.support.other_api_streams import gemini_request, ollama_request
from tests.support.recordings import in_events, keep
from tests.support.streams import WEATHER, request, stream
from tests.support.upstream_answers import APIS, asked
from toolmend.recordings.read import replay
from toolmend.recordings.read.images import image_key
from toolmend.recordings.read.turns import MAX_TEXT, folded

GEMINI = gemini_request()
GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        *GEMINI["contents"],
        {
            "role": "model",
            "parts": [{"text": "Hm", "thought": True}, {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}}],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "get_weather", "response": {"output": "rain"}}},
                {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            ],
        },
    ],
    "tools": [*GEMINI["tools"], {"googleSearch": {}}],
}
OLLAMA = ollama_request() | {"stream": True}
OLLAMA["messages"] = [
    {"role": "system", "content": "Be brief."},
    *OLLAMA["messages"],
    {"role": "assistant", "content": "", "thinking": "Hm", "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]},
    {"role": "tool", "tool_name": "get_weather", "content": "rain"},
]

OTHERS = {
    "gemini": ({"request": GEMINI, "model": "m"}, ["system", "user", "assistant", "tool", "user"], ["get_weather", "task", "googleSearch"]),
    "ollama": (OLLAMA, ["system", "user", "assistant", "tool"], ["get_weather", "task"]),
}


@pytest.mark.parametrize("api", OTHERS)
def test_requests_of_apis_that_are_not_translated(api: str) -> None:
    asked, roles, names = OTHERS[api]
    shown = folded(asked, api)
    assert [turn["role"] for turn in shown["turns"]] == roles
    assert [tool["name"] for tool in shown["tools"]] == names
    parts = [part for turn in shown["turns"] for part in turn["parts"]]
    kinds = ["text", "text", "thinking", "call", "result"] + ["file"] * (api == "gemini")
    assert [part["kind"] for part in parts] == kinds
    assert parts[3] == {"kind": "call", "id": "get_weather", "name": "get_weather", "text": '{"city":"Oslo"}'}
    assert shown["fields"].keys() == {"gemini": {"model"}, "ollama": {"model", "stream"}}[api]
    assert shown["notes"] == []


@pytest.mark.parametrize("api", APIS)
def test_request(api: str) -> None:
    shown = folded(asked(api, ("get_weather", {"city": {"type": "string"}}), temperature=0.5), api)
    assert [turn["role"] for turn in shown["turns"]][-1] == "user"
    assert [tool["name"] for tool in shown["tools"]] == ["get_weather"]
    assert json.loads(shown["tools"][0]["schema"])["properties"] == {"city": {"type": "string"}}
    assert shown["fields"]["temperature"] == "0.5"
    assert not {"messages", "input", "system", "tools"} & set(shown["fields"])


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(6000)).decode()


def test_parts_of_a_conversation() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "x" * (MAX_TEXT + 5)}, {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PNG}}]},
        {"role": "assistant", "reasoning_content": "Hm", "tool_calls": [{"id": "c0", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}]},
        {"role": "tool", "tool_call_id": "c0", "content": "seen"},
    ]
    user, assistant, tool = folded(request(messages=messages), "chat")["turns"]
    assert user["parts"][0]["text"] == "x" * MAX_TEXT + "\n… 5 characters more"
    file = {"kind": "file", "text": "[image, image/png, 6,009 bytes]", "images": [image_key(PNG)]}
    assert user["parts"][1] == file
    assert {part["kind"]: part["text"] for part in assistant["parts"]} == {"thinking": "Hm", "call": '{"a":1}'}
    assert tool["parts"] == [{"kind": "result", "id": "c0", "name": "look", "error": False, "text": "seen"}]


def test_a_request_that_is_none_of_ours() -> None:
    why = ["The request cannot be read: `contents` is not a list of objects."]
    assert folded({"contents": [1]}, "gemini") == {"turns": [], "tools": [], "fields": {"contents": "[\n  1\n]"}, "notes": why}
    assert folded({"inputs": [1]}, "cohere") == {"turns": [], "tools": [], "fields": {"inputs": "[\n  1\n]"}, "notes": []}


def test_a_request_without_sense() -> None:
    for body in ({}, {"messages": 7}, {"messages": [7, {"role": 3}], "tools": {"a": 1}}):
        assert folded(body, "chat")["tools"] == []
    broken = folded({"model": "m", "messages": 7}, "chat")
    assert broken["notes"] == ["The request cannot be read: `messages` is not a list."]
    assert broken["fields"] == {"model": '"m"', "messages": "7"}


def test_a_request_that_was_not_kept(tmp_path: Path) -> None:
    folder = keep(tmp_path / "x", in_events(stream(["a"])))
    (folder / "request.json").unlink()
    assert view(folder)["request"] is None
    assert view(keep(tmp_path / "y", in_events(stream(["a"])), WEATHER))["request"]["turns"]


def test_a_request_that_is_no_object(tmp_path: Path) -> None:
    folder = keep(tmp_path / "x", in_events(stream(["a"])))
    (folder / "request.json").write_text("null")
    assert view(folder)["request"] is None
    for body in ("[]", "7", '"x"'):
        (folder / "request.json").write_text(body)
        with pytest.raises(replay.RecordingError, match=r"request\.json is not a JSON object"):
            view(folder)
