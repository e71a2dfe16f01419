"""Under umask 000, what commands write is for the user alone; and no link that was planted leads them elsewhere (R20).

e2e/test_threats_umask.py has what a proxy writes, recordings/write/test_spool.py what waits for a store.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import FLOWS
from toolmend.cli import main
from toolmend.cli.launcher.certificates import cached_bundle, write_bundle
from toolmend.recordings.fixtures import fixture
from toolmend.recordings.playback.server import make_certificate

NAME = "kimi-no-section"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the user is, with a recording of theirs."""
    shutil.copytree(FLOWS / "kimi/no-section", tmp_path / "recorded" / "2026-11-20" / NAME)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TOOLMEND_FLOWS", "recorded")
    monkeypatch.setattr("toolmend.recordings.fixtures.fixture.home", lambda: Path("flows"))
    for name in list(os.environ):
        if "TOKEN" in name or "KEY" in name or "SECRET" in name:
            monkeypatch.delenv(name)
    before = os.umask(0)
    yield tmp_path
    os.umask(before)


def private(*made: Path) -> None:
    for path in made:
        assert path.exists()
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


WRITING = {
    # a command line: what it makes
    "promote NAME a/b": "flows",
    "promote NAME a/b --into deep/flows": "deep",
    "promote NAME a/b --minimise": "flows",
    "export NAME -o out.har": "out.har",
    "export NAME -o out.mitm": "out.mitm",
    "show NAME --html out": "out",
    "show NAME --html": f"{NAME}.html",
    "bug-report NAME --yes -o out": "out",
}


@pytest.mark.parametrize(("line", "made"), WRITING.items(), ids=WRITING)
def test_what_a_command_writes(here: Path, line: str, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmend.cli.commands.bug_report.examine", lambda _: [])
    assert main(line.replace("NAME", NAME).split()) == 0
    private(here / made, *(here / made).rglob("*"))


def test_what_a_command_writes_anew(here: Path) -> None:
    """What it was for is kept."""
    assert main(["promote", NAME, "a/b"]) == 0
    folder = here / "flows/a/b"
    (folder / "client.sse").chmod(0o640)
    fixture.replace(folder, {"client.sse": b"x", "meta.json": b"{}"})
    private(folder / "meta.json")
    assert stat.S_IMODE((folder / "client.sse").stat().st_mode) == 0o640


def test_files_of_cas(here: Path) -> None:
    """Whoever can write one is trusted by all clients."""
    certificate, key = make_certificate(here)
    data = here / "a/b/c"
    private(
        key,
        write_bundle(here / "bundle.pem", certificate),
        cached_bundle(data, {}, certificate),
        data,
        data.parent,
        data.parent.parent,
    )


LINKS = {
    # where a link lies: the command line that would write there
    "out.har": "export NAME -o out.har",
    "page.html": "show NAME --html page.html",
    ".page.html.new": "show NAME --html page.html",
    "report.zip": "bug-report NAME --yes -o report.zip",
}


@pytest.mark.parametrize(("link", "line"), LINKS.items(), ids=LINKS)
def test_a_link_is_not_followed(here: Path, link: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmend.cli.commands.bug_report.examine", lambda _: [])
    theirs = here / "theirs"
    theirs.write_bytes(b"theirs")
    (here / link).symlink_to(theirs)
    assert main(line.replace("NAME", NAME).split()) == 0
    assert theirs.read_bytes() == b"theirs"


def test_a_fixture_that_came_with_links(here: Path) -> None:
    """A repository brings them where the next file would be written."""
    theirs = here / "theirs"
    theirs.write_bytes(b"theirs")
    folder = here / "flows"
    folder.mkdir()
    for name in ("client.sse", ".client.sse.new", ".meta.json.new"):
        (folder / name).symlink_to(theirs)
    fixture.replace(folder, {"client.sse": b"ours", "meta.json": b"ours"})
    assert theirs.read_bytes() == b"theirs"
    assert {(folder / name).read_bytes() for name in ("client.sse", "meta.json")} == {b"ours"}


def test_a_link_in_the_place_of_a_fixture(here: Path) -> None:
    (here / "flows/a").mkdir(parents=True)
    (here / "flows/a/b").symlink_to(here / "elsewhere")
    assert main(["promote", NAME, "a/b"]) != 0
    assert not (here / "elsewhere").exists()


def test_pruning_follows_no_link(here: Path) -> None:
    """Neither a day's nor a recording's: what they point to stays."""
    (here / "recorded/2026-11-20").rename(here / "elsewhere")
    (here / "recorded/2026-11-20").symlink_to(here / "elsewhere")
    (here / "recorded/2026-11-21").mkdir()
    (here / "recorded/2026-11-21" / NAME).symlink_to(here / "elsewhere" / NAME)
    main(["prune", "--keep", "1d", "--yes"])
    assert (here / "elsewhere" / NAME / "meta.json").exists()
