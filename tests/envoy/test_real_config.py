"""What a real Envoy makes of the printed configuration, by itself: no worker is there, and all passes.

Rule of this file: a provider sees what it would see without Envoy, but for the id; nobody else gets to it.
"""

import json
import ssl
from pathlib import Path

import httpx
import pytest

from tests.envoy.deploy import CHAT, LEAK, ask, deployed, origin
from tests.support.streams import WEATHER
from toolmend.cli import main
from toolmend.cli.launcher.process import free_port
from toolmend.providers.routes import Origin
from toolmend.proxy.envoy.bootstrap import ALERTS, Listener
from toolmend.recordings.playback.server import Script, Upstream, make_certificate

WHOLE = [Script(((0.0, LEAK),))]


@pytest.mark.parametrize(
    "more", [(), ("--fail-closed",), ("--worker", "18711", "--worker", "worker.invalid:18711"), ("--config", "toolmend.toml")]
)
def test_envoy_takes_what_is_printed(
    binary: Path, more: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate: tuple[Path, Path]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("toolmend.toml").write_text(
        '[[route]]\nfrom = "https://a.invalid/v1/messages"\nto = "https://openrouter.ai/api/v1/chat/completions"\n'
    )
    listens = ("--listen", "8080=https://a.invalid", "--listen", "[::1]:8081=http://127.0.0.1:8000")
    tls = ("--tls", *map(str, certificate))
    assert main(["envoy-config", *listens, *more, *tls, "--ca", str(certificate[0]), "--validate", str(binary)]) == 0
    assert main(["envoy-config", *listens, "--ca", "/not/there.pem", "--validate", str(binary)]) == 1


def test_the_provider_sees_the_clients_request(binary: Path, tmp_path: Path) -> None:
    with deployed(binary, tmp_path, WHOLE, workers=0) as team:
        reply = ask(
            team.envoy,
            path=f"{CHAT}?key=hidden",
            Authorization="Bearer x",
            x_toolmend_upstream="https://evil.invalid",
            x_request_id="mine",
            x_envoy_upstream_rq_timeout_ms="1",
        )
        assert reply.body == LEAK
        (seen,) = team.upstream.requests
        assert seen.path == f"{CHAT}?key=hidden"
        headers = dict(seen.headers)
        id_ = headers.pop("x-request-id")
        assert headers.pop("host") == f"localhost:{team.upstream.port}"
        assert headers == {"content-type": "application/json", "content-length": str(len(seen.body)), "authorization": "Bearer x"}
        assert json.loads(seen.body) == WEATHER
        assert {*reply.headers} == {"content-type", "date", "transfer-encoding"}
        (line,) = [json.loads(line) for line in team.envoy.wait_for_output(lambda lines: len(lines) == 1)]
        assert (line["request_id"], line["path"], line["status"], line["flags"]) == (id_, CHAT, 200, "-")
        assert id_ != "mine"
        assert "hidden" not in str(line)


def test_no_client_chooses_where_it_goes(binary: Path, tmp_path: Path) -> None:
    """A route's target is reached by the worker's word alone, also while no worker is there."""
    with Upstream([Script(((0.0, b"data: other\n\n"),))]) as other:
        with deployed(binary, tmp_path, WHOLE, workers=0, targets=(origin(other),)) as team:
            reply = ask(team.envoy, x_toolmend_upstream=other.url)
        assert reply.body == LEAK
        assert other.requests == []


@pytest.mark.parametrize("trust", ["of the certificate", "of another CA", "of another name", "by an address"])
def test_the_providers_certificate(binary: Path, tmp_path: Path, certificate: tuple[Path, Path], trust: str) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    pair = make_certificate(folder, hosts=["other.invalid"]) if trust == "of another name" else certificate
    with Upstream(WHOLE, tls=pair, alpn=["http/1.1"]) as upstream:
        host = "127.0.0.1" if trust == "by an address" else "localhost"
        listeners = (Listener("127.0.0.1", 0, Origin("https", host, upstream.port)),)
        ca = make_certificate(folder)[0] if trust == "of another CA" else pair[0]
        with deployed(binary, tmp_path, WHOLE, workers=0, listeners=listeners, ca=str(ca)) as team:
            reply = ask(team.envoy)
            assert (reply.status == 200) == (trust in ("of the certificate", "by an address")), reply
            if reply.status == 200:
                assert dict(upstream.requests[0].headers)["host"] == f"{host}:{upstream.port}"
            else:
                assert upstream.requests == []
                assert any(team.envoy.stats("ssl.fail_verify_error", "ssl.fail_verify_san").values())


def test_a_client_with_tls_and_http2(binary: Path, tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    with deployed(binary, tmp_path, WHOLE, workers=0, files=certificate) as team:
        trusting = ssl.create_default_context(cafile=str(certificate[0]))
        with httpx.Client(http2=True, verify=trusting, trust_env=False) as client:
            answer = client.post(f"https://localhost:{team.envoy.port()}{CHAT}", json=WEATHER)
            assert (answer.http_version, answer.content) == ("HTTP/2", LEAK)


def test_a_client_with_http2_alone(binary: Path, tmp_path: Path) -> None:
    with deployed(binary, tmp_path, WHOLE, workers=0) as team, httpx.Client(http1=False, http2=True, trust_env=False) as client:
        answer = client.post(f"{team.envoy.url}{CHAT}", json=WEATHER)
        assert (answer.http_version, answer.content) == ("HTTP/2", LEAK)


def test_a_host_that_does_not_exist(binary: Path, tmp_path: Path) -> None:
    """Clients may be given one, where routes lead all that is asked of it elsewhere."""
    listeners = (Listener("127.0.0.1", 0, Origin("https", "agents.invalid", 443)),)
    with deployed(binary, tmp_path, WHOLE, workers=0, listeners=listeners) as team:
        assert ask(team.envoy).status == 503


def test_many_listeners_and_a_port_that_is_given(binary: Path, tmp_path: Path) -> None:
    port = free_port()
    with Upstream([Script(((0.0, b"data: two\n\n"),))]) as two, Upstream(WHOLE) as one:
        listeners = (Listener("127.0.0.1", 0, origin(one)), Listener("127.0.0.1", port, origin(two)))
        with deployed(binary, tmp_path, WHOLE, workers=0, listeners=listeners) as team:
            assert team.envoy.port(1) == port
            assert [ask(team.envoy, listener=at).body for at in (0, 1)] == [LEAK, b"data: two\n\n"]


def test_what_to_alert_on_is_there(binary: Path, tmp_path: Path) -> None:
    """By the names that are told; and one of them rises, as no worker is there."""
    with deployed(binary, tmp_path, WHOLE, workers=0) as team:
        assert ALERTS.keys() <= team.envoy.stats().keys()
        ask(team.envoy)
        after = team.envoy.stats()
        assert after["http.toolmend.ext_proc.failure_mode_allowed"] == 1
        assert after["cluster.toolmend.membership_healthy"] == 0
