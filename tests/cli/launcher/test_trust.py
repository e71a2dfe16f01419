"""The trust stores of systems, as data, and in a folder."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.machines import DEBIAN, make_ca
from toolmend.cli.launcher import trust
from toolmend.cli.launcher.trust import CA, JAVA, STORES, System, certificates, contains, fingerprint, store_of

RELEASES = {
    # ID and ID_LIKE of /etc/os-release, as the systems have them
    "debian": ({"ID": "debian"}, "Debian, Ubuntu"),
    "ubuntu": ({"ID": "ubuntu", "ID_LIKE": "debian"}, "Debian, Ubuntu"),
    "mint": ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "Debian, Ubuntu"),
    "fedora": ({"ID": "fedora"}, "Fedora, RHEL"),
    "rocky": ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "Fedora, RHEL"),
    "manjaro": ({"ID": "manjaro", "ID_LIKE": "arch"}, "Arch"),
    "alpine": ({"ID": "alpine"}, "Alpine"),
    "tumbleweed": ({"ID": "opensuse-tumbleweed", "ID_LIKE": "opensuse suse"}, "openSUSE"),
    "another": ({"ID": "nixos"}, None),
}


@pytest.fixture
def ca(tmp_path: Path) -> Path:
    make_ca(tmp_path / "conf")
    return tmp_path / "conf" / CA


@pytest.mark.parametrize(("release", "name"), RELEASES.values(), ids=RELEASES)
def test_linux(release: dict[str, str], name: str | None) -> None:
    found = store_of("linux", release)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(("system", "name"), [("darwin", "macOS"), ("win32", "Windows"), ("freebsd14", None)])
def test_other_systems(system: str, name: str | None) -> None:
    found = store_of(system, {})
    assert (found.name if found else None) == name


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.name)
def test_every_store_can_be_asked_and_undone(store: trust.TrustStore, ca: Path, tmp_path: Path) -> None:
    """Every place of a command is filled, and what is written is named in what removes it."""
    system = System(store, tmp_path)
    commands = [*system.install(ca), *system.uninstall(ca)]
    assert not any("{" in word or not word for command in commands for word in command)
    assert bool(store.bundle) != bool(store.check)
    given = [system.anchor] if system.anchor else [ca, fingerprint_of(ca)]
    assert any(str(place) in command for place in given for command in system.uninstall(ca))
    assert system.anchor is None or system.anchor.is_relative_to(tmp_path)


def fingerprint_of(ca: Path) -> str:
    openssl = subprocess.run(["openssl", "x509", "-in", ca, "-noout", "-fingerprint", "-sha1"], capture_output=True, text=True, check=True)  # noqa: S607
    return openssl.stdout.strip().partition("=")[2].replace(":", "")


def test_root_is_asked_for(ca: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = System(DEBIAN, tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert [command[0] for command in system.install(ca)] == ["sudo", "sudo"]
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert [command[0] for command in system.install(ca)] == ["install", "update-ca-certificates"]


def test_what_is_trusted(ca: Path, tmp_path: Path) -> None:
    system = System(DEBIAN, tmp_path)
    bundle = tmp_path / DEBIAN.bundle.lstrip("/")
    bundle.parent.mkdir(parents=True)
    make_ca(tmp_path / "other")
    bundle.write_bytes((tmp_path / "other" / CA).read_bytes())
    assert not system.trusts(ca)
    bundle.write_bytes(b"# ours\n" + (tmp_path / "other" / CA).read_bytes() + ca.read_bytes().replace(b"\n", b"\r\n"))
    assert system.trusts(ca)
    assert contains(bundle, tmp_path / "other" / CA)
    bundle.unlink()
    with pytest.raises(FileNotFoundError):
        system.trusts(ca)


def test_what_a_command_says_is_trusted(ca: Path) -> None:
    assert System(trust.TrustStore("a", ("a",), (), (), check=("test", "-e", "{ca}"))).trusts(ca)
    assert not System(trust.TrustStore("a", ("a",), (), (), check=("test", "-d", "{ca}"))).trusts(ca)


def test_fingerprint_is_that_of_openssl(ca: Path) -> None:
    openssl = subprocess.run(["openssl", "x509", "-in", ca, "-noout", "-fingerprint", "-sha256"], capture_output=True, text=True, check=True)  # noqa: S607
    assert fingerprint(certificates(ca)[0]) == openssl.stdout.strip().partition("=")[2]


@pytest.mark.parametrize("text", ["", "nothing", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"])
def test_no_certificate(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(ValueError, match="contains no certificate"):
        certificates(tmp_path / "file")


@pytest.mark.skipif(not shutil.which("keytool"), reason="needs Java's keytool")
def test_java_forgets_as_well(ca: Path, tmp_path: Path) -> None:
    """Debian's ca-certificates-java adds what update-ca-certificates installs, and keeps what that removes."""
    system, keystore = System(DEBIAN, tmp_path), tmp_path / JAVA.lstrip("/")
    assert len(system.uninstall(ca)) == 2
    keystore.parent.mkdir(parents=True)
    given = ["-noprompt", "-storepass", "changeit", "-keystore", str(keystore), "-alias", "debian:toolmend.pem"]
    subprocess.run(["keytool", "-importcert", "-file", str(ca), *given], check=True)  # noqa: S607
    *_, forget = system.uninstall(ca)
    subprocess.run(forget[-len(trust.FORGET) :], check=True)
    listed = subprocess.run(["keytool", "-list", *given[1:5]], capture_output=True, text=True, check=True)  # noqa: S607
    assert "toolmend" not in listed.stdout
