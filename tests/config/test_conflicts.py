"""What mitmproxy's own options would keep from us, said at the start."""

from collections.abc import Sequence
from typing import Any

import pytest
from mitmproxy.addons.proxyserver import Proxyserver

from tests.support.addon import Log, Proxy, log, proxy
from tests.support.routes import table
from toolmend.config.conflicts import conflicts, loops
from toolmend.config.settings import Settings, load

__all__ = ["log", "proxy"]

HOSTS = Settings(hosts=("llm.example.com", "*.corp.example"))
SAID = {
    "nothing": ({}, Settings(), []),
    "a host is ignored": ({"ignore_hosts": [r"api\.openai\.com"]}, Settings(), ["mitmproxy's ignore_hosts excludes api.openai.com: its exchanges are neither recorded nor mended"]),
    "all are ignored": ({"ignore_hosts": [".*"]}, Settings(), ["mitmproxy's ignore_hosts excludes api.openai.com, chatgpt.com, api.anthropic.com and "]),
    "the user's own": ({"ignore_hosts": ["^LLM.EXAMPLE"]}, HOSTS, ["mitmproxy's ignore_hosts excludes llm.example.com: "]),
    "a stranger": ({"ignore_hosts": [r"pypi\.org"], "tcp_hosts": [r"pypi\.org"]}, Settings(), []),
    "raw TCP": ({"tcp_hosts": ["api.anthropic.com:443"]}, Settings(), ["mitmproxy's tcp_hosts excludes api.anthropic.com: "]),
    "others alone are allowed": ({"allow_hosts": [r"pypi\.org"]}, Settings(), ["mitmproxy's allow_hosts lets no LLM host through to toolmend: nothing is recorded or mended"]),
    "one is allowed": ({"allow_hosts": [r"api\.openai\.com"]}, Settings(), []),
    "large bodies": ({"stream_large_bodies": "3m"}, Settings(), ["mitmproxy's stream_large_bodies is 3m: a longer request passes unread, and its response unmended; a longer response "]),
}


@pytest.mark.parametrize(("options", "settings", "said"), SAID.values(), ids=SAID)
def test_what_is_said(proxy: Proxy, options: dict[str, Any], settings: Settings, said: Sequence[str]) -> None:
    proxy.context.options.add_option("stream_large_bodies", str | None, None, "of another addon")
    for name in ("ignore_hosts", "allow_hosts", "tcp_hosts"):
        if name not in proxy.context.options:
            proxy.context.options.add_option(name, Sequence[str], [], "of another addon")
    proxy.context.options.update(**options)
    found = list(conflicts(settings))
    assert len(found) == len(said)
    assert all(one.startswith(words) for one, words in zip(found, said, strict=True))


@pytest.mark.parametrize(
    ("listening", "to", "loop"),
    [
        (("127.0.0.1", 8080), "http://127.0.0.1:8080/v1/chat/completions", True),
        (("127.0.0.1", 8080), "http://localhost:8080/v1/chat/completions", True),
        (("", 8080), "http://[::1]:8080/v1/chat/completions", True),
        (("::", 443), "https://localhost/v1/chat/completions", True),
        (("127.0.0.1", 8080), "http://localhost:8081/v1/chat/completions", False),
        (("127.0.0.1", 443), "https://openrouter.ai/api/v1/chat/completions", False),
    ],
)
def test_a_route_into_the_proxy_itself(
    proxy: Proxy, log: Log, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, listening: tuple[str, int], to: str, loop: bool
) -> None:
    server = Proxyserver()
    monkeypatch.setattr(server, "listen_addrs", lambda: [listening])
    monkeypatch.setattr(proxy.context.master.addons, "get", {"proxyserver": server}.get)
    file = tmp_path / "own.toml"
    file.write_text(table(to=to))
    settings = load({"config": str(file)})
    assert list(loops(settings)) == ([f"{file}:1: route: {to} is this proxy itself, write where the upstream listens"] if loop else [])
    proxy.addon.lifecycle.settings = settings
    proxy.addon.running()
    assert any(level == "ERROR" and "is this proxy itself" in line for level, line in log()) is loop
