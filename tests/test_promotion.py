"""A recording becomes a fixture: what is taken out, what is refused, what it holds."""

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from judge import read
from streams import WEATHER, stream
from toolmend.recordings.fixtures.promotion import prepare, put
from toolmend.recordings.fixtures.verification import Result, check
from toolmend.recordings.read import replay

FLOWS = Path(__file__).parents[1] / "flows"
SAMPLES = ("kimi/no-section", "kimi/prose-about-markers", "irregular/equal-ids-no-index", "reasoning/call-behind")
KEY = "sk-ant-api03-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9"
CALL = ["<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>", '{"city": "Bonn"}', "<|tool_call_end|>"]


def made(folder: Path, deltas: list[str], request: dict[str, Any] = WEATHER, **meta: Any) -> Path:
    """A recording as a careless recorder would have left it: with everything in it."""
    shutil.copytree(FLOWS / "kimi" / "no-section", folder)
    known = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps(known | meta))
    (folder / "request.json").write_text(json.dumps(request))
    body = stream(deltas)
    (folder / "upstream.sse").write_bytes(body)
    lines, at = [], 0
    for part in body.split(b"\n\n")[:-1]:
        lines.append(json.dumps({"off": at, "len": len(part) + 2, "t_ms": float(len(lines))}))
        at += len(part) + 2
    (folder / "upstream.idx").write_text("\n".join(lines) + "\n")
    (folder / "client.sse").write_bytes(replay.replay(replay.load(folder))[0])
    return folder


def everything(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.iterdir()))


def as_written(text: str) -> list[bytes]:
    """A text, and the ways to write it."""
    plain = text.encode()
    return [
        plain,
        base64.b64encode(plain),
        quote(text, safe="").encode(),
        "".join(f"%{byte:02x}" for byte in plain).encode(),
        "".join(f"\\u{ord(char):04x}" for char in text).encode(),
    ]


def test_error_does_not_contain_the_place_of_its_route(tmp_path: Path) -> None:
    fault = "the upstream's answer is empty (status 200)"
    source, target = made(tmp_path / "a", [], fault=f"{fault}; the route is the one at /home/user/toolmend.toml:3"), tmp_path / "b"
    assert b"/home/user" in (source / "client.sse").read_bytes()
    put(prepare(source, {}), target)
    assert b"/home/user" not in everything(target)
    assert json.loads((target / "client.sse").read_bytes())["error"]["message"] == fault
    assert check(target).passed


@pytest.mark.parametrize("name", SAMPLES)
def test_a_recording_comes_out_as_it_was(name: str, tmp_path: Path) -> None:
    """With the files that are there, byte for byte, but for what says when and how it was made."""
    source, target = FLOWS / name, tmp_path / "case"
    promotion = prepare(source, {})
    assert promotion.findings == ()
    put(promotion, target)
    for file in ("upstream.sse", "client.sse", "request.json"):
        assert (target / file).read_bytes() == (source / file).read_bytes()
    old, new = (replay.load(folder) for folder in (source, target))
    assert (new.chunks, new.times) == (old.chunks, old.times)
    kept = {name: value for name, value in old.meta.items() if name not in ("sha256", "toolmend")}
    assert {name: new.meta[name] for name in kept} == kept
    assert set(new.meta["sha256"]) == {"client.sse", "message.json", "request.json", "upstream.idx", "upstream.sse"}
    assert check(target).passed
    assert promotion.notes == (() if promotion.rules else ("no rule is at work: the fixture says that nothing is to be done",))
    message = json.loads((target / "message.json").read_text())
    assert [call["name"] for call in message["tool_calls"]] == [call.name for call in read(old.client).only.calls]


PLANTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # what meta.json and the request have more
    "header": ({"request_headers": [["x-api-key", KEY], ["accept", "*/*"]]}, {}),
    "bearer": ({"request_headers": [["Authorization", f"Bearer {KEY}"]]}, {}),
    "cookie": ({"request_headers": [["Cookie", f"a=b; session={KEY}"]]}, {}),
    "query": ({"path": f"/v1/chat/completions?key={KEY}&x=1"}, {}),
    "body": ({}, {"api_key": KEY}),
    "deep in the body": ({}, {"extra": {"headers": [{"x-api-key": KEY}]}}),
}


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("place", PLANTED)
def test_a_planted_key_and_its_echo_are_taken_out(place: str, small: bool, tmp_path: Path) -> None:
    meta, more = PLANTED[place]
    echo = [KEY[at : at + 4] for at in range(0, len(KEY), 4)]
    source = made(tmp_path / "source", ["Your key is ", *echo, ". ", *CALL], WEATHER | more, **meta)
    assert KEY.encode() in everything(source)
    promotion = prepare(source, {}, small=small)
    assert promotion.findings == ()
    put(promotion, tmp_path / "case")
    told = json.loads((tmp_path / "case" / "message.json").read_text())["text"].encode() + everything(tmp_path / "case")
    for written in as_written(KEY):
        assert written not in told
    assert read((tmp_path / "case" / "client.sse").read_bytes()).only.calls[0].name == "get_weather"
    assert check(tmp_path / "case").passed


REFUSED: dict[str, Callable[[Path], Path]] = {
    # what the request did not carry as a credential
    "stream": lambda folder: made(folder, ["Use ", *(KEY[at : at + 4] for at in range(0, len(KEY), 4)), *CALL]),
    "arguments": lambda folder: made(folder, [CALL[0], '{"city": "', KEY[:9], KEY[9:], '"}', CALL[2]]),
    "prompt": lambda folder: made(folder, CALL, WEATHER | {"messages": [{"role": "user", "content": f"My key: {base64.b64encode(KEY.encode()).decode()}"}]}),
    "member": lambda folder: made(folder, CALL, WEATHER | {"logit_bias": {KEY: 1}}),
}  # fmt: skip


@pytest.mark.parametrize("place", [place for place in REFUSED if place != "member"])
def test_what_else_looks_like_a_key_is_refused(place: str, tmp_path: Path) -> None:
    source = REFUSED[place](tmp_path / "source")
    findings = prepare(source, {}).findings
    assert findings
    assert {finding.file for finding in findings} <= {"request.json", "upstream.sse", "client.sse"}
    assert all("sk-" in finding.what and KEY not in str(finding) for finding in findings)


def test_known_keys_in_the_request_are_redacted_wherever_they_stand(tmp_path: Path) -> None:
    promotion = prepare(REFUSED["member"](tmp_path / "source"), {})
    assert promotion.findings == ()
    assert json.loads(promotion.files["request.json"])["logit_bias"] == {"[REDACTED]": 1}


def test_the_values_of_variables_are_refused(tmp_path: Path) -> None:
    source = made(tmp_path / "source", ["It is corr", "ect-hor", "se. ", *CALL])
    assert prepare(source, {"HOME": "correct-horse"}).findings == ()
    assert {str(finding) for finding in prepare(source, {"DB_PASSWORD": "correct-horse"}).findings} == {
        f"{file}:3 (choices.0.delta.content): the value of $DB_PASSWORD" for file in ("upstream.sse", "client.sse")
    }
    assert prepare(source, {"DB_PASSWORD": "correct-horse"}, small=True).findings == ()


def test_what_was_made_by_an_older_mending_expects_what_comes_today(tmp_path: Path) -> None:
    source = made(tmp_path / "source", CALL, state="client_closed")
    (source / "client.sse").write_bytes((source / "upstream.sse").read_bytes())
    promotion = prepare(source, {})
    assert promotion.notes == (
        "the recording is client_closed",
        "the client gets something else today than it got then; the fixture expects what it gets today",
    )
    put(promotion, tmp_path / "case")
    assert check(tmp_path / "case") == Result(tmp_path / "case")


def test_a_whole_response(tmp_path: Path) -> None:
    source = made(tmp_path / "source", CALL)
    message = {"role": "assistant", "content": "".join(CALL)}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    for file in ("upstream.sse", "upstream.idx", "client.sse"):
        (source / file).unlink()
    (source / "upstream.json").write_text(json.dumps(body))
    (source / "client.json").write_text("{}")
    (source / "upstream_request.json").write_text(json.dumps(WEATHER | {"api_key": KEY}))
    put(prepare(source, {}), tmp_path / "case")
    names = {path.name for path in (tmp_path / "case").iterdir()}
    assert names == {"client.json", "message.json", "meta.json", "request.json", "upstream.json", "upstream_request.json"}
    assert KEY.encode() not in everything(tmp_path / "case")
    assert check(tmp_path / "case").passed


def test_the_recording_is_left_as_it_is(tmp_path: Path) -> None:
    source = made(tmp_path / "source", CALL, WEATHER | {"api_key": KEY})
    before = everything(source)
    prepare(source, {}, small=True)
    assert everything(source) == before


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(replay.RecordingError):
        prepare(tmp_path, {})
