"""The documents: their commands are commands, their links lead somewhere, their TOML is right, and no file cites what is not there."""

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import click
import pytest

from tests.support.paths import FLOWS, ROOT
from toolmend.cli import COMMANDS, cli
from toolmend.config.settings import parse

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
