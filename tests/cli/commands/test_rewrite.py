"""`toolmend rewrite`: files and lines in, the client's bytes out; whatever a line holds, it and the next are answered."""

import base64
import json
import subprocess
import sys
from itertools import batched
from pathlib import Path
from typing import Any

import pytest

from tests.patterns.kimi import ONE
from tests.support.other_api_streams import (
    gemini_array,
    gemini_chunks,
    gemini_request,
    gemini_sse,
    ollama_lines,
    ollama_request,
    read_gemini,
    read_ollama,
)
from tests.support.paths import ADDON
from tests.support.streams import WEATHER, stream
from toolmend.cli import main

LEAK = stream(["x", "<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}<|tool_call_end|>"])
GOOD = {"id": 1, "request": WEATHER, "chunks": [LEAK.decode()]}
BAD = {
    "no JSON": b"{",
    "no object": b"[]",
    "not UTF-8": b'{"chunks": ["\xff"]}',
    "no chunks": b"{}",
    "no base64": b'{"chunks_b64": ["*"]}',
    "no such API": b'{"chunks": [], "from": "chta"}',
    "no such option": b'{"chunks": [], "set": {"toolmend_x": "1"}}',
    "too deep": b"[" * 200_000,
}


def test_a_bad_line_is_answered_and_so_is_the_next() -> None:
    command = [sys.executable, "-c", "from toolmend.cli import main; main(['rewrite', '--jsonl'])"]
    env = {"PYTHONPATH": str(ADDON)}
    good = json.dumps(GOOD).encode()
    done = subprocess.run(command, input=b"\n".join(part for line in BAD.values() for part in (line, good)), capture_output=True, env=env, check=True)
    answers = [*batched(map(json.loads, done.stdout.splitlines()), 2)]
    assert len(answers) == len(BAD)
    for name, (bad, after) in zip(BAD, answers, strict=True):
        assert bad["error"], name
        assert (after["id"], after["error"], after["rules"]) == (1, None, ["kimi_k2", "finish_reason"]), name
    assert done.stderr == b""


def test_a_line_may_hold_bytes(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    body = b"data: \xff\r\n\r\n" + LEAK
    line = {"chunks": None, "chunks_b64": [base64.b64encode(body).decode()], "request": None, "set": {"dialects": "off"}}
    (tmp_path / "lines").write_text(json.dumps(line))
    assert main(["rewrite", "--jsonl", str(tmp_path / "lines")]) == 0
    assert json.loads(capsysbinary.readouterr().out)["output"].encode(errors="surrogateescape") == body


def lines(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], line: object, *args: str) -> Any:
    """The answer to a line; a text is it as it stands."""
    (tmp_path / "lines").write_text(line if isinstance(line, str) else json.dumps(line))
    assert main(["rewrite", "--jsonl", str(tmp_path / "lines"), *args]) == 0
    return json.loads(capsysbinary.readouterr().out, parse_constant=pytest.fail)


def test_a_pair_that_is_cut_in_two_is_one(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    told = lines(tmp_path, capsysbinary, {"chunks": ["data: \ud83d", "\ude00", "\n\n\ud83d"]})
    assert told["output"].startswith("data: 😀\n\n")


@pytest.mark.parametrize("wrong", [{"chunks": "data"}, {"chunks": {"a": "b"}}, {"chunks": [], "from": []}, {"chunks": [], "set": []}, {"id": 1}], ids=str)
def test_a_line_of_wrong_types(wrong: dict[str, Any], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert lines(tmp_path, capsysbinary, wrong)["error"].startswith("TypeError: ")


def test_what_a_line_may_say(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """A number for an option, and an id that no float can hold."""
    assert lines(tmp_path, capsysbinary, {**GOOD, "set": {"toolmend_max_calls": 3}})["error"] is None
    assert lines(tmp_path, capsysbinary, '{"id": 1e999, "chunks": ["a"]}')["output"] == "a"


def test_what_a_line_does_not_say_is_as_the_options_have_it(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    leak = {"chunks": [LEAK.decode()]}
    (tmp_path / "request.json").write_text('{"model": "m", "messages": []}')
    for args in (["--set", "toolmend_dialects=off"], ["--request", str(tmp_path / "request.json")]):
        assert lines(tmp_path, capsysbinary, leak, *args)["output"] == LEAK.decode()
    assert "message_start" in lines(tmp_path, capsysbinary, leak, "--from", "chat", "--to", "messages")["output"]
    assert main(["rewrite", "--jsonl", str(tmp_path / "lines"), "--chunks", "7"]) == 2


@pytest.mark.parametrize("how", ["whole", "byte", "7", "random:3"])
def test_however_it_is_cut(how: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "leak.sse").write_bytes(LEAK)
    assert main(["rewrite", str(tmp_path / "leak.sse"), "--chunks", how]) == 0
    out = capsysbinary.readouterr().out
    assert b'"get_weather"' in out
    assert b"<|" not in out


LEAKED = ["Look. ", ONE]
OTHERS = {
    "gemini": ("gemini", gemini_request(), gemini_sse(gemini_chunks(LEAKED)), read_gemini),
    "gemini, an array": ("gemini", gemini_request(), gemini_array(gemini_chunks(LEAKED)), read_gemini),
    "gemini, no request": ("gemini", None, gemini_sse(gemini_chunks(LEAKED)), read_gemini),
    "ollama": ("ollama", ollama_request(), ollama_lines(LEAKED), read_ollama),
    "ollama, one line": ("ollama", ollama_request(), ollama_lines([], message={"role": "assistant", "content": "Look. " + ONE}), read_ollama),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_apis(name: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """The same from the command line and as a line of many."""
    api, request, body, read = OTHERS[name]
    line = {"request": request, "from": api, "to": api, "chunks": [body[:99].decode(), body[99:].decode()]}
    (tmp_path / "lines").write_text(json.dumps(line))
    (tmp_path / "request.json").write_text(json.dumps(request))
    (tmp_path / "body").write_bytes(body)
    assert main(["rewrite", "--jsonl", str(tmp_path / "lines")]) == 0
    told = json.loads(capsysbinary.readouterr().out)
    assert (told["error"], told["rules"]) == (None, ["kimi_k2"])
    asked = ["--request", str(tmp_path / "request.json")] if request else []
    assert main(["rewrite", str(tmp_path / "body"), "--from", api, "--chunks", "7", *asked]) == 0
    out = capsysbinary.readouterr().out
    assert out.decode() == told["output"]
    assert read(out).said == ("Look. ", "", [("get_weather", {"city": "Beijing"})])


@pytest.mark.parametrize(("args", "code"), [("--from gemini --to chat", 4), ("--from chat --to ollama", 4), ("--chunks 0", 2), ("--set x", 2), ("--set x=1", 4), ("--from chta", 4)])
def test_wrong_words(args: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "leak.sse").write_bytes(LEAK)
    assert main(["rewrite", str(tmp_path / "leak.sse"), *args.split()]) == code


def test_a_translation_is_the_same_however_it_is_cut(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Ids and times included: what was kept is always told in the same words."""
    tools = [{"name": "get_weather", "input_schema": {"type": "object"}}]
    request = {"model": "m", "max_tokens": 9, "stream": True, "messages": [], "tools": tools}
    (tmp_path / "request.json").write_text(json.dumps(request))
    (tmp_path / "leak.sse").write_bytes(LEAK)
    words = ["--request", str(tmp_path / "request.json"), "--from", "chat", "--to", "messages"]
    outs = []
    for how in ("whole", "byte", "7", "random:3"):
        assert main(["rewrite", str(tmp_path / "leak.sse"), *words, "--chunks", how]) == 0
        outs.append(capsysbinary.readouterr().out)
    assert b'"type":"tool_use"' in outs[0]
    assert outs[1:] == outs[:1] * 3


def test_a_request_that_the_upstream_cannot_be_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "request.json").write_text('{"model": "m", "input": "x", "previous_response_id": "resp_1"}')
    (tmp_path / "leak.sse").write_bytes(LEAK)
    words = ["--request", str(tmp_path / "request.json"), "--from", "chat", "--to", "responses"]
    assert main(["rewrite", str(tmp_path / "leak.sse"), *words]) == 2
    assert "previous_response_id" in capsys.readouterr().err
