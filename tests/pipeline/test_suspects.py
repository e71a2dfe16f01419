"""What looks like a call and was not made one is found, and texts about tools are not."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.recorder import EXCHANGE
from tests.support.recordings import in_events, keep
from tests.support.streams import stream, tool
from toolmend.cli import main
from toolmend.cli.commands import run
from toolmend.cli.commands.rewrite import _line
from toolmend.cli.doctor import Machine, disk
from toolmend.core.fastclass import replace
from toolmend.core.tools import Tools
from toolmend.pipeline.suspects import MOST_SUSPECTS, MOST_TEXT, SuspectContext, find_suspects, in_texts, remedy
from toolmend.recordings.harmless import texts
from toolmend.recordings.read.library import entry
from toolmend.recordings.write.recorder import Recorder

READ = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["path"]}
BASH = {"type": "object", "properties": {"command": {"type": "string"}, "timeout": {"type": "integer"}}, "required": ["command"]}
OFFERED = {"read_file": READ | {"additionalProperties": False}, "bash": BASH, "get_time": {"type": "object", "properties": {}}}
TOOLS = Tools(OFFERED)
ENVELOPE = '{"name": "read_file", "arguments": {"path": "a.md"}}'

SUSPECTS = {
    f"<tool_call>{ENVELOPE}</tool_call>": ("read_file", "doubtful", "hermes"),
    "<tool_call>\n<function=read_file>\n<parameter=path>\na.md\n</parameter>\n</function>\n</tool_call>": ("read_file", "not_looked_for", "qwen3_coder"),
    f"I'll read it.\n{ENVELOPE}": ("read_file", "not_looked_for", "json_object"),
    f"Let me look at it. <tool_call>{ENVELOPE}</tool_call>": ("read_file", "doubtful", "hermes"),
    '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.': ("read_file", "cut_off", "hermes"),
    "<tool_call>\n<function=read_file>\n<parameter=path>\na.m": ("read_file", "cut_off", "qwen3_coder"),
    '<tool_call>{"name": "read_file", "arguments": {"limit": 3}}</tool_call>': ("read_file", "does_not_fit", "hermes"),
    '<tool_call>{"name": "readFile", "arguments": {"path": "a"}}</tool_call>': ("readFile", "not_offered", ""),
    "TOOL: read_file\nPATH: a.md\n": ("read_file", "unknown_markup", ""),
    'CALL read_file WITH {"path": "a.md"}': ("read_file", "unknown_markup", ""),
    '@read_file {"path":"a.md"}': ("read_file", "unknown_markup", ""),
    "@@tool:bash@@\ncommand: ls\n@@end@@": ("bash", "unknown_markup", ""),
    '<use tool="read_file" path="a.md"/>': ("read_file", "unknown_markup", ""),
    '<tool>read_file</tool>\n<input>{"path": "a.md"}</input>': ("read_file", "unknown_markup", ""),
    '<|tool_start|>read_file<|tool_args|>{"path": "a.md"}<|tool_stop|>': ("read_file", "unknown_markup", ""),
    "<|call:read_file|>path=a.md<|/call|>": ("read_file", "unknown_markup", ""),
    '{"tool_use": {"tool": "read_file", "kwargs": {"path": "a.md"}}}': ("read_file", "unknown_markup", ""),
    '<invoke>{"fn": "read_file", "params": {"path": "a.md"}}</invoke>': ("read_file", "unknown_markup", ""),
    'functions.read_file({"path": "a.md"})': ("read_file", "unknown_markup", ""),
    'Sure.\nread_file(path="a.md")': ("read_file", "unknown_markup", ""),
    'Let me see: [[read_file(path="a.md")]]': ("read_file", "unknown_markup", ""),
    '⟦call⟧ read_file ⟦args⟧ {"path": "a.md"} ⟦end⟧': ("read_file", "unknown_markup", ""),
    '```json\n{"tool": "bash", "command": "ls"}\n```': ("bash", "unknown_markup", ""),
    '⟦tools/bash⟧{"command": "ls"}⟦end⟧': ("bash", "unknown_markup", ""),
    "<tool_call>bash<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call>": ("bash", "not_looked_for", "glm"),
    "/read_file path=a.md limit=3": ("read_file", "unknown_markup", ""),
    "tool: bash\narguments:\n  command: ls -la\n": ("bash", "unknown_markup", ""),
    "### CALL bash\ncommand = ls -la\n### END": ("bash", "unknown_markup", ""),
    "<|plugin_begin|>": ("", "unknown_token", ""),
    "ACTION bash\n- command: ls\nEND ACTION": ("bash", "unknown_markup", ""),
    ">>> tool: read_file\n>>> path = a.md\n>>> run": ("read_file", "unknown_markup", ""),
    '<call>{"api": "read_file", "args_json": "{\\"path\\": \\"a.md\\"}"}</call>': ("read_file", "unknown_markup", ""),
    '@tool/functions::read_file({"path": "a.md"})': ("read_file", "unknown_markup", ""),
    '⟨工具⟩bash⟨参数⟩{"command": "ls"}⟨结束⟩': ("bash", "unknown_markup", ""),
    'Let me run it.\n```tool_code\nbash(command="ls")\n```': ("bash", "not_looked_for", "tool_code"),
    '<tool_call>{"name": "bash", "arguments": {"cmd": "ls"}}</tool_call>': ("bash", "does_not_fit", "hermes"),
    'Using tool: bash\nInput: {"command": "ls"}': ("bash", "unknown_markup", ""),
    'I will.\n{"tool_calls": [{"type": "function", "function": {"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}}]}': ("bash", "not_looked_for", "json_object"),
}
HARMLESS = (
    "result = read_file(path='a.md')\nprint(result)",
    '{"name": "my-app", "version": "1.0", "bash": {"command": "x"}}',
    "bash -c 'ls' (command: ls)",
    "type T = { read_file: (path: string) => string; bash: (command: string) => void }",
    "[12:00] read_file path=a.md took 3 ms\n",
    "They are <|tool_calls_section_begin|> and <|tool_calls_section_end|>.",
    f"<tool_call> is how it begins, and `<tool_call>{ENVELOPE}</tool_call>` is all of it.",
    "It is over.<|im_end|>",
    'RUN bash -c "command"\nCMD ["read_file", "path"]\n',
    "const { read_file, bash } = tools;\nread_file({ path });\nbash({ command, timeout });\n",
    "expect(bash).toHaveBeenCalledWith({ command: 'ls' });\n",
    "registry.register('read_file', {\"path\": str}, open)\nlogger.info(\"bash\", command=c)\n",
    '[tools.bash]\ncommand = "ls"\ntimeout = 3\n\n[bash]\ncommand = ls\n',
    "<bash command={cmd} />\n<read_file path={p} />\n",
    "read_file(path) → file\nbash(command) → shell\n",
    'bash = ["bash", "-c"]\ncommand = "ls"\n',
    'read_file{path="a"} 3\nbash{command="b"} 4\n',
    "bash: {command}\nread_file: {path}\n\nare the templates of the labels.",
    '"bash" and "read_file" are shown as bash(command) and read_file(path) in the log.',
    '{"hooks": [{"matcher": "bash", "hooks": [{"type": "command", "command": "x"}]}]}',
    "read_file: {path: string}\nbash: {command: string}\n\nAll other tools are as before.",
    "timeout: 3\nbash: none\ncommand: none\n",
    '{"name": "bash", "command": "ls", "created": "2026-01-01"} is one row of the table.',
    "[bash](command)\n[read_file](path)\n",
    "usage: bash [-l] [command]\n\noptions:\n  command: what to run\n",
    '{"read_file": {"path": "a"}, "bash": {"command": "b"}}',
    "bash:\n  command: ls\n  timeout: 3\n\nThat is the YAML of the settings.",
    "I searched, and listed the files (bash command=ls).",
    "interface Tools {\n  read_file(path: string): string;\n  bash(command: string): Result;\n}\n",
    "INFO [tool:read_file] path=/a\nINFO [tool:bash] command=ls\n",
    '<div class="read_file"><input name="path"/></div>\n',
    '<tool name="bash"> is an element of the file; <param name="command"> is in it.',
    'bash(command: "npm test") failed twice. read_file(path) worked.',
    "Call read_file(path='a.md') in the REPL:\n\n>>> read_file(path='a.md')\n'text'\n",
    '@@\n-bash(command=["ls"])\n+bash(command=["ls", "-la"])\n',
    "tools = [\n  {'name': 'read_file', 'args': ['path']},\n  {'name': 'bash', 'args': ['command']},\n]",
)


@pytest.mark.parametrize("text", SUSPECTS)
def test_what_looks_like_a_call_is_suspected(text: str) -> None:
    first = find_suspects(text, TOOLS, armed=["hermes"])[0]
    assert (first.name, first.kind, first.dialect) == SUSPECTS[text]
    assert first.why
    assert find_suspects("Fine.", TOOLS, reasoning=text)


def test_harmless_texts_are_not_suspected() -> None:
    every = [*HARMLESS, *texts(TOOLS)]
    assert [text for text in every if find_suspects(text, TOOLS)] == []


def test_nothing_is_suspected_without_tools() -> None:
    for tools in (Tools(), Tools(known=False), Tools(OFFERED, forbidden=True)):
        assert find_suspects(f"<tool_call>{ENVELOPE}</tool_call>", tools) == []


def test_what_is_searched_and_found_is_bounded() -> None:
    text = f"<tool_call>{ENVELOPE}</tool_call>"
    assert find_suspects(text + " " * MOST_TEXT, TOOLS) == []
    many = "\n".join(text.replace("a.md", f"{number}") for number in range(50))
    assert len(in_texts([(many, many)], SuspectContext(TOOLS))) == MOST_SUSPECTS


def test_what_would_mend_it() -> None:
    missed = find_suspects(f"<tool_call>{ENVELOPE}</tool_call>", TOOLS)[0]
    assert remedy(missed, "my-model", ("glm",)) == '[[provider]] with name = "my-model", models = ["my-model"], dialects = ["glm", "hermes"]'
    assert "learn" in remedy(find_suspects('@read_file {"path":"a.md"}', TOOLS)[0], "", ())


def test_rewrite_tells_the_suspects_of_a_line() -> None:
    request = {"model": "gpt-5.5", "messages": [], "tools": [tool("read_file", path={"type": "string"})]}
    answers = []
    for text in ('CALL read_file WITH {"path": "a.md"}', "Fine."):
        line = {"id": 1, "chunks": [stream([text]).decode()], "request": request}
        answers.append(json.loads(_line(json.dumps(line).encode(), {"set": {}})))
    assert [[one["name"] for one in answer["suspects"]] for answer in answers] == [["read_file"], []]
    assert answers[0]["suspects"][0].keys() == {"name", "why"}


LEAK = 'CALL read_file WITH {"path": "a.md"}'
ASKED = {"model": "my-model", "messages": [], "tools": [tool("read_file", path={"type": "string"})]}


def test_a_recording_tells_its_suspects(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, print)
    recording = recorder.start(replace(EXCHANGE, request=json.dumps(ASKED).encode(), model="my-model"))
    recording.passed(stream([LEAK]), stream([LEAK]))
    recording.finish("complete", sought=SuspectContext(TOOLS))
    recorder.close()
    (told,) = json.loads((recording.folder / "meta.json").read_bytes())["suspects"]
    assert (told["name"], told["kind"], told["text"]) == ("read_file", "unknown_markup", LEAK)
    assert entry(recording.folder).suspects == (told,)


@pytest.fixture
def flows(tmp_path: Path) -> Path:
    suspects = [one.to_json() for one in find_suspects(LEAK, TOOLS)]
    now = datetime.now(UTC).isoformat()
    keep(tmp_path / "one", in_events(stream([LEAK])), ASKED, model="my-model", suspects=suspects, recorded_at=now)
    keep(tmp_path / "two", in_events(stream(["Fine."])), ASKED, model="my-model", recorded_at=now)
    return tmp_path


def test_commands_tell_the_suspects(flows: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*args: str) -> str:
        assert main([*args, "--flows", str(flows)]) == 0
        return capsys.readouterr().out

    def words(*args: str) -> str:
        return " ".join(said(*args).split())

    assert [line.split("\t")[0] for line in said("flows", "--suspect").splitlines()] == ["flow", "one"]
    assert said("flows", "--suspect").endswith("\tread_file\n")
    for shown in (words("explain", "one"), words("show", "one")):
        assert LEAK in shown
        assert "markup that no dialect has" in shown
        assert "toolmend learn" in shown
    assert json.loads(said("explain", "one", "--json"))["suspects"][0]["name"] == "read_file"
    assert "uspected" not in said("explain", "two")
    monkeypatch.setenv("TOOLMEND_FLOWS", str(flows))
    (finding,) = disk.suspects(Machine.here(flows, None))
    assert (finding.state, finding.text.split(" contain")[0]) == ("warning", "1 of 2 answers of the last 7 days")
    run._print_suspects(str(flows), datetime.fromtimestamp(0, UTC))
    assert "1 answer with text that looks like a tool call and was not made one; toolmend explain one" in capsys.readouterr().err
