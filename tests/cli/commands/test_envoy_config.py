"""`toolmend envoy-config`: the configuration and its notes, or what is wrong."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.support.envoy_plans import ONE, ROUTER
from toolmend.cli import main
from toolmend.proxy.envoy.bootstrap import bootstrap
from toolmend.proxy.envoy.bootstrap_text import plain

LISTEN = ("--listen", "8080=https://api.moonshot.ai")


def say(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    assert main(["envoy-config", *words]) == code
    out, err = capsys.readouterr()
    return out, err


def test_it_prints_what_was_planned(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, err = say(capsys, *LISTEN, "--ca", "ca.pem")
    assert err == ""
    assert out.startswith("# Envoy for toolmend's workers")
    assert YAML(typ="safe").load(out) == plain(bootstrap(replace(ONE, ca="ca.pem")))
    assert json.loads(say(capsys, *LISTEN, "--ca", "ca.pem", "--json")[0]) == YAML(typ="safe").load(out)
    file = tmp_path / "toolmend.toml"
    file.write_text('[[route]]\nfrom = "https://api.moonshot.ai"\nto = "https://openrouter.ai/api/v1/chat/completions"\n')
    words = ("--worker", "18711", "--worker", "10.0.0.7:18711", "--admin", "9902", "--tls", "c.pem", "k.pem", "--fail-closed")
    out, err = say(capsys, *LISTEN, *words, "--ca", "ca.pem", "--config", str(file), "--json")
    workers, tls = (("127.0.0.1", 18711), ("10.0.0.7", 18711)), (Path("c.pem"), Path("k.pem"))
    planned = replace(ONE, workers=workers, targets=(ROUTER,), admin=("127.0.0.1", 9902), tls=tls, ca="ca.pem", fail_open=False)
    assert json.loads(out) == plain(bootstrap(planned))


@pytest.mark.parametrize(
    ("words", "code", "wrong"),
    [
        ((), 2, "Missing option '--listen'"),
        (("--listen", "8080"), 2, "not a provider"),
        (("--listen", "8080=api.moonshot.ai"), 2, "not a provider"),
        (("--listen", "8080=https://api.moonshot.ai/v1"), 2, "not a provider"),
        (("--listen", "8080=https://key@api.moonshot.ai"), 2, "not a provider"),
        (("--listen", "8080=https://[x"), 2, "not a provider"),
        (("--listen", "8080=https://*.moonshot.ai"), 2, "not a provider"),
        (("--listen", "8080=https://api.moonshot.ai:0"), 2, "not a provider"),
        (("--listen", "0=https://api.moonshot.ai"), 2, "not an address"),
        (("--listen", "65536=https://api.moonshot.ai"), 2, "not an address"),
        ((*LISTEN, "--worker", "there"), 2, "not an address"),
        ((*LISTEN, "--admin", "1:2:3"), 2, "not an address"),
        ((*LISTEN, "--config", "not-there.toml"), 4, "not-there.toml"),
        ((*LISTEN, "--validate", "/no/envoy"), 3, "/no/envoy cannot be run"),
        ((*LISTEN, "--validate", "/bin/false"), 1, "Envoy does not accept it"),
    ],
)
def test_what_is_wrong_is_told(words: tuple[str, ...], code: int, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = say(capsys, *words, code=code)
    assert out == ""
    assert wrong in err
    assert "\ntry: " in err
    assert "key@" not in err


@pytest.mark.parametrize(
    ("listen", "note"),
    [
        ("8080=https://api.moonshot.ai", ""),
        ("[::1]:8080=https://api.moonshot.ai", ""),
        ("8080=https://llm.example.com", "--set toolmend_hosts=llm.example.com"),
        ("8080=http://127.0.0.1:5555", "--set toolmend_hosts=127.0.0.1:5555"),
        ("8080=http://127.0.0.1:8000", ""),
        ("0.0.0.0:8080=https://api.moonshot.ai", "unencrypted"),
    ],
)
def test_what_is_noted(listen: str, note: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = say(capsys, "--listen", listen)
    assert note in err
    assert bool(err) == bool(note)


def test_without_xds_protos_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf.json_format", None)
    out, err = say(capsys, *LISTEN, code=3)
    assert out == ""
    assert "pip install 'toolmend[envoy]'" in err
