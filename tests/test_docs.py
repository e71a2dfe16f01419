"""The documents: their commands are commands, their links lead somewhere, their TOML is right, and no file cites what is not there."""

import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import click
import pytest

from tests.support.cli import no_settings  # noqa: F401  the fixture works by being here
from tests.support.paths import FLOWS, ROOT
from toolmend.cli import COMMANDS, Exit, cli, main
from toolmend.config.settings import parse
from toolmend.recordings.fixtures import fixture

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
CITED = re.compile(r"\b((?:DESIGN|architecture|carried|dialects|glossary|mitmproxy|style|targets|upstreams|[a-z]+(?:-[a-z]+)+)\.md)\b")
COMMAND = re.compile(r"(?:^|[`($ ])(?:scripts/)?toolmend ([^`\n|&)>]+)")


def commands() -> list[tuple[str, str]]:
    found = [(name, line) for name, text in TEXTS.items() for kind, block in BLOCK.findall(text) if kind == "sh" for line in block.splitlines()]
    lines = [(name, line.split("#")[0]) for name, line in found]
    return [(name, match[1].strip()) for name, line in lines for match in COMMAND.finditer(line)]


@pytest.mark.parametrize(("page", "line"), sorted(set(commands())))
def test_documented_command_is_one(page: str, line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Click accepts its name, options and arguments; files that it names are there."""
    name, *arguments = shlex.split(line.removesuffix('"').rstrip('"'))
    if name.startswith("-"):
        return
    assert name in COMMANDS, f"{page}: toolmend {line}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shutil.copytree(FLOWS / "kimi" / "bare-counter", tmp_path / "data" / "toolmend" / "flows" / "2026-11-29" / "one")
    for file in ("request.json", "upstream.sse", "toolmend.toml", "FILE", "A.json", "A.sse", "envoy.yaml"):
        (tmp_path / file).write_text("{}" if file.endswith("json") else "", encoding="utf-8")
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        command = command.get_command(click.Context(command), arguments.pop(0))
        assert command is not None, f"{page}: toolmend {line}"
    with command.make_context(name, arguments, resilient_parsing=False):
        pass


ELSEWHERE = {
    "demo": "tests/cli/commands/test_demo.py",
    "doctor": "tests/cli/commands/test_doctor.py",
    "env": "tests/e2e/test_background.py",
    "envoy-config": "tests/envoy/test_real_config.py",
    "run": "tests/e2e/test_run.py",
    "serve-envoy": "tests/envoy/test_worker.py",
    "start": "tests/e2e/test_background.py",
    "status": "tests/e2e/test_background.py",
    "stop": "tests/e2e/test_background.py",
    "ui": "tests/cli/ui/test_server.py",
}
"""Commands that start a program or talk to one, and the tests that run them."""

ENDS = {"learn --suspect": Exit.FINDINGS, "bug-report last": Exit.USAGE}
"""Exit codes other than 0: the one recording that is there has no suspects, and there is no terminal to confirm at."""


@pytest.mark.parametrize("line", sorted({line for _, line in commands() if line.split()[0] not in ELSEWHERE}))
def test_documented_command_runs(line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a folder with the files that the documents name, and one recording."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-none")
    monkeypatch.setattr(fixture, "home", lambda: tmp_path / "fixtures")  # else the checkout's
    recording = tmp_path / "data" / "toolmend" / "flows" / "2026-11-29" / "120000-kimi-1"
    for place in (recording, tmp_path / "fixtures" / "kimi" / "one"):
        shutil.copytree(FLOWS / "kimi" / "bare-counter", place)
    route = next(block for kind, block in BLOCK.findall(TEXTS["README.md"]) if kind == "toml" and "[[route]]" in block)
    for file in ("toolmend.toml", "FILE"):
        if file in line:  # routes of a file that lies here and is not named are refused
            (tmp_path / file).write_text(route, encoding="utf-8")
    shutil.copy(recording / "upstream.sse", tmp_path)
    messages = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
    asked = json.dumps(messages).encode() if line.startswith("translate") else (recording / "request.json").read_bytes()
    (tmp_path / "request.json").write_bytes(asked)
    code = main(shlex.split(line))
    assert (code, "Traceback" in "".join(capsys.readouterr())) == (ENDS.get(line, Exit.OK), False)


def test_other_documented_commands_are_run_by_their_tests() -> None:
    for name, file in ELSEWHERE.items():
        assert name in COMMANDS
        assert re.search(rf'["/ ]{name}["\s]', (ROOT / file).read_text(encoding="utf-8")), f"{file} does not run {name}"


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page: str) -> None:
    missing = [link for link in LINK.findall(TEXTS[page]) if not ((ROOT / page).parent / link).exists()]
    assert missing == []


def test_documented_settings_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-none")
    for page, text in TEXTS.items():
        for kind, block in BLOCK.findall(text):
            if kind == "toml" and ("[[provider]]" in block or "[[route]]" in block):
                tomllib.loads(block)
                (tmp_path / "toolmend.toml").write_text(block, encoding="utf-8")
                assert parse({"config": str(tmp_path / "toolmend.toml")}), page


def test_readme_is_read_in_one_sitting() -> None:
    assert len(TEXTS["README.md"].splitlines()) <= 150


def test_cited_documents_are_in_the_repository() -> None:
    names = {page.name for page in [*ROOT.rglob("*.md")] if not {".venv", "node_modules"} & set(page.parts)}
    cited = {
        f"{file.relative_to(ROOT)}: {name}"
        for folder in ("addon", "tests")
        for file in (ROOT / folder).rglob("*.py")
        for name in CITED.findall(file.read_text(encoding="utf-8"))
        if name not in names
    }
    assert cited == set()
