"""`toolmend ca`: in a home and a system of the test's own, whose update-ca-certificates is a script."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.machines import DEBIAN, Box, well
from toolmend.cli import main
from toolmend.cli.launcher import trust
from toolmend.cli.launcher.trust import CA, KEY, certificates

UPDATE = """#!/bin/sh
echo "updating $*"
cat {root}/base.pem {root}/usr/local/share/ca-certificates/*.crt > {bundle} 2>/dev/null || true
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with well(tmp_path) as box:
        root = tmp_path / "root"
        bundle = root / DEBIAN.bundle.lstrip("/")
        (root / "base.pem").write_bytes(bundle.read_bytes())
        box.program("update-ca-certificates", "")
        (tmp_path / "bin/update-ca-certificates").write_text(UPDATE.format(root=root, bundle=bundle))
        box.patch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
        box.patch.setattr(trust, "this_system", lambda: box.system)
        box.patch.setattr("os.geteuid", lambda: 0)
        yield box


def say(capfd: pytest.CaptureFixture[str], *args: str, code: int = 0) -> tuple[str, str]:
    assert main(["ca", *args]) == code
    out, err = capfd.readouterr()
    return out, err


def test_path(box: Box, capfd: pytest.CaptureFixture[str]) -> None:
    assert say(capfd, "path") == (f"{box.ca}\n", "")


def test_path_makes_a_ca(box: Box, capfd: pytest.CaptureFixture[str]) -> None:
    for file in box.confdir.iterdir():
        file.unlink()
    box.confdir.rmdir()
    assert say(capfd, "path") == (f"{box.ca}\n", "the CA was created\n")
    assert certificates(box.ca) == certificates(box.confdir / KEY)
    assert stat.S_IMODE((box.confdir / KEY).stat().st_mode) == 0o600
    assert stat.S_IMODE(box.confdir.stat().st_mode) == 0o700


def test_path_makes_none_beside_a_key(box: Box, capfd: pytest.CaptureFixture[str]) -> None:
    box.ca.unlink()
    _, err = say(capfd, "path", code=3)
    assert f"\ntry: openssl x509 -in {box.confdir / KEY} -out {box.ca}\n" in err


def test_install_and_undo(box: Box, capfd: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in (box.folder / "root").rglob("*") if path.is_file()}
    out, err = say(capfd, "install", "--yes")
    assert out == ""
    assert err.startswith(f"install -D -m 644 {box.ca} {box.system.anchor}\nupdate-ca-certificates\n")
    assert err.endswith("the CA is trusted; to undo it: toolmend ca uninstall\n")
    assert box.system.trusts(box.ca)
    assert say(capfd, "install", "--yes") == ("", f"this system (Debian, Ubuntu) already trusts {box.ca}\n")
    out, err = say(capfd, "uninstall", "--yes")
    assert err == f"rm -f {box.system.anchor}\nupdate-ca-certificates --fresh\nupdating --fresh\nthe CA is no longer trusted\n"
    assert {path: path.read_bytes() for path in (box.folder / "root").rglob("*") if path.is_file()} == before
    assert say(capfd, "uninstall", "--yes")[1].endswith("does not trust the CA: there is nothing to undo\n")


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_dry_run(verb: str, box: Box, capfd: pytest.CaptureFixture[str]) -> None:
    if verb == "uninstall":
        say(capfd, "install", "--yes")
    trusted = box.system.trusts(box.ca)
    out, err = say(capfd, verb, "--dry-run")
    assert err == ""
    assert len(out.splitlines()) == 2
    assert box.system.trusts(box.ca) == trusted


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_nobody_to_ask(verb: str, box: Box, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if verb == "uninstall":
        say(capfd, "install", "--yes")
    trusted = box.system.trusts(box.ca)
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        _, err = say(capfd, verb, code=2)
    assert err.endswith(f"error: this needs a confirmation, but standard input is not a terminal\ntry: toolmend ca {verb} --yes  (or --dry-run, and run them yourself)\n")
    assert box.system.trusts(box.ca) == trusted


@pytest.mark.parametrize(("answer", "done"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_asked(answer: str, done: bool, box: Box, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.openpty()
    os.write(writer, b"")
    os.write(reader, answer.encode())
    with os.fdopen(writer) as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        _, err = say(capfd, "install")
    os.close(reader)
    assert "and so any host that its key signs for? [y/N]:" in err
    assert ("nothing was changed" in err) != done
    assert box.system.trusts(box.ca) == done


def test_unknown_system(box: Box, capfd: pytest.CaptureFixture[str]) -> None:
    box.patch.setattr(trust, "this_system", lambda: None)
    _, err = say(capfd, "install", code=2)
    assert err.startswith("error: the trust store of this system is unknown\ntry: eval")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("exit 3", "error: update-ca-certificates ended with 3\ntry: update-ca-certificates"),
        ("exit 0", "error: the commands ran, but the CA is not trusted\ntry: toolmend doctor"),
    ],
)
def test_what_fails_is_told(script: str, told: str, box: Box, capfd: pytest.CaptureFixture[str]) -> None:
    (box.folder / "bin/update-ca-certificates").write_text(f"#!/bin/sh\n{script}\n")
    assert told in say(capfd, "install", "--yes", code=3)[1]


def test_a_command_that_is_not_there(box: Box, capfd: pytest.CaptureFixture[str]) -> None:
    box.patch.setenv("PATH", str(box.folder / "bin"))
    assert "error: install cannot be run: No such file or directory\ntry: " in say(capfd, "install", "--yes", code=3)[1]


def test_trust_that_is_not_ours_is_left_alone(box: Box, capfd: pytest.CaptureFixture[str]) -> None:
    bundle = box.folder / "root" / DEBIAN.bundle.lstrip("/")
    bundle.write_bytes(bundle.read_bytes() + (box.confdir / CA).read_bytes())
    _, err = say(capfd, "uninstall", "--yes", code=3)
    assert "is trusted, but was not installed by toolmend\ntry: look into " in err
