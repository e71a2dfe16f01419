"""proxies.py: options of a proxy that is to be started, from any folder, and what its log says of it."""

import os
from pathlib import Path

import pytest

from toolmend.cli import CliError, Exit, proxies


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "value", "made"),
    [
        ("toolmend_flows", "flows", "{here}/flows"),
        ("toolmend_flows", "off", "off"),
        ("toolmend_flows", "", ""),
        ("toolmend_flows", "s3://bucket/x", "s3://bucket/x"),
        ("TOOLMEND_CONFIG", "a.toml", "{here}/a.toml"),
        ("toolmend_replay", "/x", "/x"),
        ("toolmend_hosts", "flows", "flows"),
    ],
)
def test_paths_hold_from_any_folder(home: Path, name: str, value: str, made: str) -> None:
    assert proxies.absolute({name: value}) == {name: made.format(here=home)}


@pytest.mark.parametrize(
    ("log", "place"),
    [
        ("x\ntoolmend: listens to a.example; recordings in /home/a/flows\n", "/home/a/flows"),
        ("toolmend: listens to a.example; recordings in s3://bucket/x", "s3://bucket/x"),
        ("toolmend: listens to a.example; records nothing", None),
        ("", None),
    ],
)
def test_where_it_records(log: str, place: str | None) -> None:
    assert proxies.recordings_of(log) == place


@pytest.mark.parametrize(
    ("hosts", "named"),
    [("api.openai.com", []), ("localhost:8000", ["localhost"]), ("[::1]:8000, 127.0.0.1", ["127.0.0.1", "::1"]), ("", [])],
)
def test_hosts_on_loopback(hosts: str, named: list[str]) -> None:
    assert set(proxies.named_hosts(f"toolmend: listens to {hosts}; recordings in x")) == set(named)


@pytest.mark.parametrize(
    ("error", "wrong", "hint", "code"),
    [
        ("… OptionsError: toolmend_hosts: x is no host\n", "toolmend_hosts: x is no host", "toolmend config check", Exit.CONFIGURATION),
        ("toolmend: no such option: toolmend_host", "no such option: toolmend_host", "toolmend config check", Exit.CONFIGURATION),
        ("it ended", "the proxy did not start: it ended", "toolmend doctor", Exit.RUNTIME),
    ],
)
def test_why_it_did_not_start(error: str, wrong: str, hint: str, code: Exit) -> None:
    problem = proxies.start_problem(RuntimeError(error))
    assert (problem.message, problem.try_, problem.exit_code) == (wrong, hint, code)


def test_what_it_loads_is_there() -> None:
    assert all(path.is_file() for path in proxies.scripts())
    assert len(proxies.scripts()) == 2


def test_the_cas_of_programs_are_kept(home: Path) -> None:
    assert proxies.ca_bundle(os.environ).is_file()
    (home / "data").rename(home / "other")
    (home / "data").touch()
    with pytest.raises(CliError, match="cannot be"):
        proxies.ca_bundle(os.environ)
