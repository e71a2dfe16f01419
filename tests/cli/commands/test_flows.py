"""`toolmend flows`, and what all commands that take recordings have in common."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import no_settings, say  # noqa: F401  the fixture works by being here
from tests.support.paths import ADDON
from tests.support.recording_folders import make
from tests.support.terminals import at_terminal
from toolmend.cli import COMPLETE, main

HEAD = ["flow", "time", "agent", "host", "model", "status", "tokens", "first byte", "rules", "suspects"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Four recordings, a day each."""
    root = tmp_path / "flows"
    first = make(root / "2026-11-20", "183401-openrouter-1", wait_ms=812.4)
    (first / "message.json").write_text('{"usage": {"input_tokens": 1234, "output_tokens": 56}}')
    mail = {"recorded_at": "2026-11-19T10:00:00+00:00", "request_headers": [["user-agent", "codex_exec/0.169.0"]]}
    make(root / "2026-11-19", "100000-openai-2", **mail, host="api.openai.com", model="gpt-5", rules=[], state="client_closed")
    cut = {"recorded_at": "2026-11-18T10:00:00+00:00", "state": "partial", "rules": ["qwen3_coder"], "request_headers": []}
    (make(root / "2026-11-18", "100000-qwen-3", **cut) / "pinned").touch()
    make(root / "2026-11-17", "torn", "{")
    return root


def names(capsys: pytest.CaptureFixture[str], root: Path, *args: str) -> list[str]:
    document = json.loads(say(capsys, "flows", "--flows", str(root), "--json", *args))
    return [one["name"] for one in document["recordings"]]


def test_lines_for_who_is_no_terminal(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kimi = ["openrouter.ai", "moonshotai/kimi-k2.5"]
    assert [line.split("\t") for line in say(capsys, "flows", "--flows", str(root)).splitlines()] == [
        HEAD,
        ["183401-openrouter-1", "2026-11-20 18:34:01", "Claude Code", *kimi, "200", "1234/56", "0.81 s", "kimi_k2, finish_reason", ""],
        ["100000-openai-2", "2026-11-19 10:00:00", "Codex", "api.openai.com", "gpt-5", "200 client closed", "", "", "", ""],
        ["100000-qwen-3", "2026-11-18 10:00:00", "", *kimi, "200 partial pinned", "", "", "qwen3_coder", ""],
        ["torn", "", "", "", "", "unreadable", "", "", "", ""],
    ]


def test_as_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(say(capsys, "flows", "--flows", str(root), "--json"))
    first, second, third, torn = document.pop("recordings")
    assert document == {"format": 1, "folder": str(root), "found": 4}
    folder = root / "2026-11-20" / "183401-openrouter-1"
    assert first == {
        "name": folder.name,
        "flow_id": None,
        "folder": str(folder),
        "state": "complete",
        "error": None,
        "recorded_at": "2026-11-20T18:34:01.000+00:00",
        "agent": "Claude Code",
        "host": "openrouter.ai",
        "provider": "openrouter",
        "model": "moonshotai/kimi-k2.5",
        "api": "chat",
        "client_api": "chat",
        "route": None,
        "status": 200,
        "stream": True,
        "rules": ["kimi_k2", "finish_reason"],
        "observed": False,
        "notes": [],
        "suspects": [],
        "tokens": {"input": 1234, "output": 56},
        "cached_tokens": None,
        "waited_ms": None,
        "first_byte_ms": 812.4,
        "last_byte_ms": None,
        "bytes": sum(file.stat().st_size for file in folder.iterdir()),
        "pinned": False,
    }
    assert (second["state"], second["tokens"], third["pinned"]) == ("client_closed", None, True)
    assert (torn["state"], torn["recorded_at"], torn["status"]) == ("unreadable", None, None)
    assert torn["error"]


NEW, CODEX, CUT, TORN = "183401-openrouter-1", "100000-openai-2", "100000-qwen-3", "torn"
FILTERS = {
    "": [NEW, CODEX, CUT, TORN],
    "--host OpenAI": [CODEX],
    "--host open": [NEW, CODEX, CUT],
    "--host *.openai.com": [CODEX],
    "--host *.openai": [],
    "--model KIMI": [NEW, CUT],
    "--model gpt-?": [CODEX],
    "--agent claude": [NEW],
    "--rule *": [NEW, CUT],
    "--rule finish": [NEW],
    "--rule kimi_k2 --host openai": [],
    "--state partial --state unreadable": [CUT, TORN],
    "--since 2026-11-19": [NEW, CODEX],
    "--since 2026-11-19T10:00:01": [NEW],
    "--since 2026-11-19T11:00:00+02:00": [NEW, CODEX],
    "--since 1s": [],
    "--limit 2": [NEW, CODEX],
    "--limit 0": [NEW, CODEX, CUT, TORN],
}


@pytest.mark.parametrize("args", FILTERS)
def test_filters(args: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert names(capsys, root, *args.split()) == FILTERS[args]


@pytest.mark.parametrize(("since", "ages"), [("90m", [1]), ("2h", [1]), ("3h", [1, 2]), ("1d", [1, 2]), ("1w", [1, 2, 100])])
def test_so_long_ago(since: str, ages: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for hours in (1, 2, 100, 300):
        when = datetime.now(UTC) - timedelta(hours=hours, minutes=1)
        make(tmp_path, str(hours), recorded_at=when.isoformat())
    assert names(capsys, tmp_path, "--since", since) == [str(age) for age in ages]


WRONG = {
    "--since yesterday": "'yesterday' is not a time: write it as in 30m, 2h, 3d, 2026-11-20 or 2026-11-20T18:30",
    "--since 2m30": "'2m30' is not a time",
    "--limit -1": "-1 is not in the range",
    "--state open": "'open' is not one of",
}


@pytest.mark.parametrize("args", WRONG)
def test_what_is_not_understood(args: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flows", "--flows", str(root), *args.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert WRONG[args] in err
    assert err.endswith("try: toolmend flows --help\n")


def test_none(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = tmp_path / "nowhere"
    say(capsys, "flows", "--flows", str(nowhere), err=f"no recording in {nowhere}\n")
    say(capsys, "flows", "--flows", str(root), "--rule", "x", err="none of 4 recordings matches\n")
    empty = {"format": 1, "folder": str(nowhere), "found": 0, "recordings": []}
    assert json.loads(say(capsys, "flows", "--flows", str(nowhere), "--json")) == empty


def test_what_comes_from_outside_is_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path, "x", host="a\tb\nc", model="\x1b]0;boo\x07\u202e[red]", rules=["\x9b31m"])
    cells = say(capsys, "flows", "--flows", str(tmp_path)).splitlines()[1].split("\t")
    mark = "\N{REPLACEMENT CHARACTER}"
    assert cells[3:5] + cells[-2:-1] == [f"a{mark}b{mark}c", f"{mark}]0;boo{mark}{mark}[red]", f"{mark}31m"]
    text = terminal(tmp_path, "--limit", "1", width=190).decode()
    assert f"{mark}]0;boo{mark}{mark}[red]" in text


def terminal(root: Path, *args: str, width: int = 80, **variables: str) -> bytes:
    """What a terminal gets."""
    return at_terminal("flows", "--flows", str(root), *args, width=width, **variables)


def test_at_a_narrow_terminal(root: Path) -> None:
    lines = terminal(root, NO_COLOR="1").decode().splitlines()
    plain = [re.sub("\x1b\\[[0-9;]*m", "", line).rstrip() for line in lines]
    assert max(map(len, plain)) <= 80
    assert [line.split() for line in plain[:5]] == [
        ["flow", "model", "status", "tokens"],
        ["time", "host", "agent", "first", "byte"],
        ["rules"],
        [NEW, "moonshotai/kimi-k2.5", "200", "1234/56"],
        ["2026-11-20", "18:34:01", "openrouter.ai", "Claude", "Code", "0.81", "s"],
    ]


def test_at_a_wide_terminal(root: Path) -> None:
    lines = terminal(root, width=190, NO_COLOR="1").decode().splitlines()
    assert len(lines) == 5
    assert all(title in lines[0] for title in HEAD)
    assert "partial" in next(line for line in lines if CUT in line)


def test_color_where_it_is_seen_alone(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert b"\x1b[33m200 partial pinned" in terminal(root)
    assert b"\x1b[31m200 client closed" in terminal(root)
    assert b"\x1b[3" not in terminal(root, NO_COLOR="1")
    assert "\x1b" not in say(capsys, "flows", "--flows", str(root))


def test_a_terminal_gets_a_screen_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for i in range(31):
        make(tmp_path, f"name-{i}")
    assert terminal(tmp_path, width=190).count(b"name-") == 30
    assert b"the newest 30; --limit 0 shows all" in terminal(tmp_path)
    assert terminal(tmp_path, "--limit", "0", width=190).count(b"name-") == 31
    assert say(capsys, "flows", "--flows", str(tmp_path)).count("name-") == 31


# where the recordings lie


def test_the_folder(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The option, then the variable, then the settings, then where the addon records by default."""

    def folder(*args: str) -> Path:
        return Path(json.loads(say(capsys, "flows", "--json", *args))["folder"])

    assert folder() == tmp_path / "data" / "toolmend" / "flows"
    config = tmp_path / "toolmend.toml"
    config.write_text('flows = "kept"')
    monkeypatch.setenv("TOOLMEND_CONFIG", str(config))
    assert folder() == tmp_path / "kept"
    monkeypatch.setenv("TOOLMEND_FLOWS", str(tmp_path / "variable"))
    assert folder() == tmp_path / "variable"
    assert folder("--flows", str(root)) == root


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('flows = "off"', "recordings are switched off by {}:1\ntry: toolmend flows --flows FOLDER"),
        ("flow = 1", "{}:1: flow is not a setting (did you mean flows?), write one of: "),
    ],
)
def test_settings_that_name_no_folder(
    text: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "toolmend.toml"
    config.write_text(text)
    monkeypatch.setenv("TOOLMEND_CONFIG", str(config))
    assert main(["flows"]) == 4
    assert capsys.readouterr().err.startswith("error: " + wrong.format(config))


def test_a_list_imports_nothing_slow(root: Path) -> None:
    code = "import sys; from toolmend.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    env = os.environ | {"PYTHONPATH": str(ADDON), "TOOLMEND_FLOWS": str(root)}
    done = subprocess.run([sys.executable, "-c", code, "flows"], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 5
    assert not {"mitmproxy", "rich", "asyncio", "toolmend.config.settings", "toolmend.pipeline.pipeline"} & set(done.stderr.split())


# FLOW


def test_a_recording_that_is_not_there(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for word, wrong in {"xx": f"no such recording: 'xx' in {root}", "100": "'100' is the beginning of 2 recordings: "}.items():
        assert main(["pin", word, "--flows", str(root)]) == 2  # wherever the option stands
        err = capsys.readouterr().err
        assert err.startswith(f"error: {wrong}")
        assert err.endswith(f"try: toolmend flows --flows {root}\n")
    assert main(["pin", "last"]) == 2
    assert capsys.readouterr().err.endswith("try: toolmend flows\n")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("pin ", ["last", NEW, CODEX, CUT, TORN]),
        ("pin 100", [CODEX, CUT]),
        ("pin l", ["last"]),
        ("fl", ["flows"]),
        ("nonsense fl", ["flows"]),
    ],
)
def test_completion(
    words: str, completed: list[str], root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOOLMEND_FLOWS", str(root))
    before, _, last = f"toolmend {words}".rpartition(" ")
    variables: dict[str, Any] = {COMPLETE: "bash_complete", "COMP_WORDS": f"{before} {last}", "COMP_CWORD": len(before.split())}
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    assert main([]) == 0
    out, err = capsys.readouterr()
    assert [line.partition(",")[2] for line in out.splitlines()] == completed
    assert err == ""


def test_completion_in_another_folder(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in {COMPLETE: "bash_complete", "COMP_WORDS": f"toolmend pin --flows {root} t", "COMP_CWORD": "4"}.items():
        monkeypatch.setenv(name, value)
    assert main([]) == 0
    assert capsys.readouterr().out == "plain,torn\n"
