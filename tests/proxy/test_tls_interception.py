"""Whose TLS is opened, by mode, by where the client goes and by the name it asks for; and which failures mean a refusal."""

from pathlib import Path

import pytest
from mitmproxy.proxy.mode_specs import ProxyMode

from toolmend.config.settings import Settings, parse
from toolmend.proxy.tls_interception import is_wanted, sign_of
from toolmend.proxy.tls_rejections import Sign

ROUTE = """
[[route]]
from = "https://gone.example"
to = "https://openrouter.ai/api/v1/chat/completions"
"""
NO_TRUST = "The client may not trust the proxy's certificate for a.b"
LLM, OTHER, IP = ("api.openai.com", 443), ("example.com", 443), ("192.0.2.7", 443)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    file = tmp_path / "toolmend.toml"
    file.write_text(ROUTE)
    return parse({"config": str(file), "hosts": "llm.corp, 192.0.2.9, *.gpu:8443", "flows": "off"})


@pytest.mark.parametrize(
    ("mode", "address", "sni", "opened"),
    [
        ("regular", LLM, "api.openai.com", True),
        ("regular", LLM, "API.OpenAI.com", True),
        ("regular", LLM, None, True),
        ("regular", OTHER, "example.com", False),
        ("regular", OTHER, None, False),
        ("regular", ("ab.chatgpt.com", 443), "ab.chatgpt.com", False),
        ("regular", ("llm.corp", 443), "llm.corp", True),
        ("regular", ("a.gpu", 8443), "a.gpu", True),
        ("regular", ("a.gpu", 443), "a.gpu", False),
        ("regular", ("gone.example", 443), "gone.example", True),
        ("regular", ("probe.toolmend.invalid", 443), "probe.toolmend.invalid", True),
        # one name in front of another: neither is for the other
        ("regular", OTHER, "api.openai.com", False),
        ("regular", LLM, "example.com", False),
        ("regular", LLM, "api.anthropic.com", True),
        # a client that looks names up itself
        ("socks5", IP, "api.openai.com", True),
        ("regular", IP, "example.com", False),
        ("regular", ("192.0.2.9", 443), "example.com", True),
        ("regular", ("192.0.2.9", 443), None, True),
        ("regular", ("2001:db8::1", 443), "api.openai.com", True),
        ("regular", ("127.0.0.1", 11434), None, True),
        # there is no proxy that the client knows of
        *((mode, IP, "api.openai.com", True) for mode in ("transparent", "wireguard", "local")),
        *((mode, IP, "example.com", False) for mode in ("transparent", "wireguard", "local")),
        *((mode, IP, None, False) for mode in ("transparent", "wireguard", "local")),
        ("upstream:http://proxy.corp:8080", LLM, "api.openai.com", True),
        ("upstream:http://proxy.corp:8080", OTHER, "example.com", False),
        # the user has named the host
        ("reverse:https://api.openai.com", LLM, "localhost", True),
        ("reverse:https://api.openai.com", LLM, None, True),
        ("reverse:https://llm.corp", None, "localhost", True),
        ("reverse:https://example.com", OTHER, "api.openai.com", False),
        ("reverse:http://example.com", OTHER, "localhost", True),
    ],
)
def test_whose_tls_is_opened(
    settings: Settings, mode: str, address: tuple[str, int] | None, sni: str | None, *, opened: bool
) -> None:
    assert is_wanted(settings, ProxyMode.parse(mode), address, sni) is opened


@pytest.mark.parametrize(
    ("error", "sign"),
    [
        (f"{NO_TRUST} (tlsv1 alert unknown ca)", Sign.REFUSED),
        (f"{NO_TRUST} (ssl/tls alert bad certificate)", Sign.REFUSED),
        (f"{NO_TRUST} (OpenSSL Error([('SSL routines', '', 'sslv3 alert certificate unknown')]))", Sign.REFUSED),
        (f"{NO_TRUST} (OpenSSL Error([('SSL routines', '', 'no shared cipher')]))", Sign.REFUSED),
        (
            "The client disconnected during the handshake. If this happens consistently for a.b, this may indicate that …",
            Sign.LEFT,
        ),
        (f"{NO_TRUST}alert.example (OpenSSL Error([('SSL routines', '', 'unexpected message')]))", None),
        ("Cannot parse ClientHello: 16030100", None),
        ("connection closed early", None),
        ("", None),
    ],
)
def test_what_a_failed_handshake_means(error: str, sign: Sign | None) -> None:
    assert sign_of(error) is sign
