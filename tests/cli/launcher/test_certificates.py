"""Files of CAs: nothing that was trusted is lost, and each certificate is in them once."""

import os
import stat
import time
from pathlib import Path

import pytest

from toolmend.cli.launcher import certificates
from toolmend.cli.launcher.certificates import REPLACING, ca_pem, cached_bundle, named_files, write_bundle
from toolmend.recordings.playback.server import make_certificate


def certificate(folder: Path) -> Path:
    folder.mkdir()
    return make_certificate(folder)[0]


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = certificate(tmp_path / "system")
    monkeypatch.setattr(certificates, "SYSTEM", ("/nowhere/ca.pem", str(file)))
    return file


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    return certificate(tmp_path / "ours")


@pytest.mark.parametrize("name", [*REPLACING, "NODE_EXTRA_CA_CERTS"])
def test_a_company_s_own_is_with_the_systems_and_ours(name: str, system: Path, ours: Path, tmp_path: Path) -> None:
    company = certificate(tmp_path / "company")
    text = ca_pem({name: str(company), "HOME": "/"}, ours)
    assert text == system.read_bytes() + company.read_bytes() + ours.read_bytes()


def test_each_is_in_it_once_and_ours_is_the_last(system: Path, ours: Path, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(b"# a comment\r\n" + ours.read_bytes() + b"junk" + system.read_bytes())
    given = {"SSL_CERT_FILE": str(both), "CURL_CA_BUNDLE": str(both), "REQUESTS_CA_BUNDLE": str(system)}
    assert ca_pem(given, ours) == system.read_bytes() + ours.read_bytes()
    assert named_files(given) == [both, system]


@pytest.mark.parametrize("content", [None, b"", b"\x30\x82\x01 no PEM", b"-----BEGIN CERTIFICATE-----\ntorn"])
def test_a_file_that_is_none_is_left_out(content: bytes | None, system: Path, ours: Path, tmp_path: Path) -> None:
    file = tmp_path / "file.pem"
    if content is not None:
        file.write_bytes(content)
    for name in (str(file), str(tmp_path)):
        assert ca_pem({"SSL_CERT_FILE": name}, ours) == system.read_bytes() + ours.read_bytes()


@pytest.mark.usefixtures("system")
def test_ours_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ca_pem({}, tmp_path / "none.pem")


def test_a_system_without_such_a_file_has_mozillas(ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "SYSTEM", ())
    bundle = write_bundle(tmp_path / "bundle.pem", ours, given={}).read_bytes()
    assert bundle.count(b"BEGIN CERTIFICATE") > 50
    assert bundle.endswith(ours.read_bytes())


@pytest.mark.usefixtures("system")
def test_a_kept_one_is_named_by_what_is_in_it(ours: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    bundle = cached_bundle(folder, {}, ours)
    assert bundle.read_bytes() == ca_pem({}, ours)
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    day = time.time() - 86400
    os.utime(bundle, (day * 0, day * 0))
    assert cached_bundle(folder, {}, ours) == bundle
    assert bundle.stat().st_mtime > day  # it is in use
    other = cached_bundle(folder, {}, ours, certificate(tmp_path / "other"))
    assert sorted(folder.iterdir()) == sorted([bundle, other])
    os.utime(bundle, (0, 0))
    third = cached_bundle(folder, {})
    assert sorted(folder.iterdir()) == sorted([other, third])
