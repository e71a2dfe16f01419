"""The configuration that `toolmend envoy-config` prints: Envoy's own messages take it, and it says what it has to.

What a real Envoy makes of it: tests/envoy/.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.paths import ROOT
from toolmend.cli import main
from toolmend.providers.routes import Origin
from toolmend.proxy.envoy.bootstrap import ALERTS, Listener, Plan, bootstrap
from toolmend.proxy.envoy.bootstrap_clusters import origin_name
from toolmend.proxy.envoy.bootstrap_text import BootstrapError, Why, check, plain, yaml

pytest.importorskip("envoy.config.bootstrap.v3.bootstrap_pb2", reason="xds-protos is not installed")

KIMI, ROUTER = Origin("https", "api.moonshot.ai", 443), Origin("https", "openrouter.ai", 443)
LOCAL, SIX = Origin("http", "127.0.0.1", 8000), Origin("https", "::1", 8443)
ONE = Plan((("127.0.0.1", 18711),), (Listener("127.0.0.1", 8080, KIMI),))
PLANS = {
    "one of each": ONE,
    "two workers": replace(ONE, workers=(("127.0.0.1", 18711), ("worker.example", 18711))),
    "two listeners for one provider": replace(ONE, listeners=(*ONE.listeners, Listener("127.0.0.1", 8081, KIMI))),
    "addresses": replace(ONE, listeners=(Listener("::1", 8080, LOCAL), Listener("127.0.0.1", 8081, SIX))),
    "a route that leads to a listener's provider": replace(ONE, targets=(KIMI, ROUTER)),
    "closed": replace(ONE, fail_open=False),
    "TLS": replace(ONE, tls=(Path("cert.pem"), Path("key.pem"))),
    "parts of seconds": replace(ONE, message_timeout=0.3, idle_timeout=2.5),
}


def parts(value: Any, name: str) -> Iterator[Any]:
    """What stands under a name, wherever that is."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key == name:
            yield one
        yield from parts(one, name)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_envoys_messages_take_it(plan: Plan) -> None:
    made = bootstrap(plan)
    check(made)
    assert YAML(typ="safe").load(yaml(made, "a head\n\nof three lines")) == plain(made)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_every_cluster_that_is_named_is_there_once(plan: Plan) -> None:
    made = plain(bootstrap(plan))
    clusters = [cluster["name"] for cluster in made["static_resources"]["clusters"]]
    assert len(clusters) == len(set(clusters))
    named = {route["cluster"] for route in parts(made, "route")}
    assert {*named, "toolmend"} == set(clusters)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_providers_certificate_is_checked_and_its_name_too(plan: Plan) -> None:
    for cluster in plain(bootstrap(plan))["static_resources"]["clusters"]:
        scheme, _, netloc = cluster["name"].partition("://")
        assert ("transport_socket" in cluster) == (scheme == "https")
        for context in parts(cluster, "validation_context"):
            (name,) = context["match_typed_subject_alt_names"]
            assert name["matcher"]["exact"] in netloc
            assert context["trusted_ca"] == {"filename": plan.ca}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_listener_tells_the_worker_its_provider(plan: Plan) -> None:
    listeners = plain(bootstrap(plan))["static_resources"]["listeners"]
    said = [next(parts(listener, "initial_metadata")) for listener in listeners]
    assert said == [[{"key": "toolmend-upstream", "value": origin_name(one.upstream)}] for one in plan.listeners]
    assert {mode["response_body_mode"] for mode in parts(listeners, "processing_mode")} == {"NONE"}
    assert {*parts(listeners, "failure_mode_allow")} == {plan.fail_open}


def test_a_target_is_taken_by_the_workers_header_alone() -> None:
    made = plain(bootstrap(replace(ONE, targets=(ROUTER,))))
    *known, unknown, default = next(parts(made, "routes"))
    assert unknown["match"]["headers"] == [{"name": "x-toolmend-upstream", "present_match": True}]  # its key is for nobody else
    assert unknown["direct_response"]["status"] == 500
    routes = [*known, default]
    assert [one["route"]["cluster"] for one in routes] == ["https://api.moonshot.ai", "https://openrouter.ai", "https://api.moonshot.ai"]
    assert [one["match"].get("headers", [{}])[0].get("name") for one in routes] == ["upgrade", "x-toolmend-upstream", None]
    assert [one["route"]["host_rewrite_literal"] for one in routes] == ["api.moonshot.ai", "openrouter.ai", "api.moonshot.ai"]
    assert all("x-toolmend-upstream" in one["request_headers_to_remove"] for one in routes)
    assert {"remove": "x-toolmend-upstream"} in next(parts(made, "mutations"))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"no_such_field": 1}, "no_such_field"),
        ({"static_resources": {"clusters": [{"name": "x", "type": "NO_SUCH_TYPE"}]}}, "NO_SUCH_TYPE"),
        ({"admin": {"address": {"socket_address": {"port_value": "many"}}}}, "many"),
        ({"static_resources": {"clusters": [{"connect_timeout": "soon"}]}}, "soon"),
        ({"typed": {"@type": "type.googleapis.com/no.such.Message"}}, "typed"),
    ],
    ids=["field", "enum", "number", "duration", "type"],
)
def test_what_envoys_messages_do_not_take(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(BootstrapError, match=named):
        check(wrong)


def test_a_reason_stands_once_beside_its_value() -> None:
    text = yaml({"one": Why(1, "why"), "two": Why({"three": 3}, "not so"), "four": [{"five": Why(5, "why")}]})
    assert text == "one: 1 # why\ntwo: {three: 3} # not so\nfour:\n  - five: 5\n"


def test_the_page_names_what_to_alert_on() -> None:
    page = (ROOT / "docs" / "envoy.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` | {what} |" in page for name, what in ALERTS.items())


# the command


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
        (("--listen", "8080"), 2, "it names no provider"),
        (("--listen", "8080=api.moonshot.ai"), 2, "it names no provider"),
        (("--listen", "8080=https://api.moonshot.ai/v1"), 2, "it names no provider"),
        (("--listen", "8080=https://key@api.moonshot.ai"), 2, "it names no provider"),
        (("--listen", "8080=https://[x"), 2, "it names no provider"),
        (("--listen", "8080=https://*.moonshot.ai"), 2, "it names no provider"),
        (("--listen", "8080=https://api.moonshot.ai:0"), 2, "it names no provider"),
        (("--listen", "0=https://api.moonshot.ai"), 2, "that is no address"),
        (("--listen", "65536=https://api.moonshot.ai"), 2, "that is no address"),
        ((*LISTEN, "--worker", "there"), 2, "that is no address"),
        ((*LISTEN, "--admin", "1:2:3"), 2, "that is no address"),
        ((*LISTEN, "--config", "not-there.toml"), 4, "not-there.toml"),
        ((*LISTEN, "--validate", "/no/envoy"), 3, "/no/envoy cannot be run"),
        ((*LISTEN, "--validate", "/bin/false"), 1, "Envoy does not take it"),
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
