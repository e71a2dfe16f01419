"""The proxy that was there before: how mitmproxy is told of it, and what goes round it."""

from pathlib import Path

import pytest

from toolmend.cli.launcher.corporate_proxy import CorporateProxy, UnusableError, corporate_proxy, is_direct
from toolmend.cli.launcher.environment import variables

FOUND = [
    ("http://corp:3128", CorporateProxy("http", "corp", 3128), "upstream:http://corp:3128"),
    ("corp:3128", CorporateProxy("http", "corp", 3128), "upstream:http://corp:3128"),
    ("https://proxy.corp.example/", CorporateProxy("https", "proxy.corp.example", 443), "upstream:https://proxy.corp.example:443"),
    ("http://me:p%40ss%3A@corp", CorporateProxy("http", "corp", 80, "me:p@ss:"), "upstream:http://corp:80"),
    ("http://me@[::1]:3128", CorporateProxy("http", "::1", 3128, "me:"), "upstream:http://[::1]:3128"),
]


@pytest.mark.parametrize(("url", "found", "mode"), FOUND, ids=[url for url, *_ in FOUND])
def test_what_it_is(url: str, found: CorporateProxy, mode: str) -> None:
    assert corporate_proxy({"HTTPS_PROXY": url}) == found
    assert found.mode == mode
    assert "ss" not in repr(found).replace("class", "")


def test_ours_is_none() -> None:
    inside = variables("http://127.0.0.1:8665", Path("ca"), Path("bundle"), {"HTTPS_PROXY": "http://corp:3128"})
    assert corporate_proxy(inside) == CorporateProxy("http", "corp", 3128)
    assert corporate_proxy(variables("http://127.0.0.1:8665", Path("ca"), Path("bundle"), {})) is None


@pytest.mark.parametrize("url", ["socks5h://me:secret@corp:1080", "http://me:secret@corp:99999", "http://me:secret@", "ftp://corp"])
def test_what_cannot_be_used_is_told_without_its_password(url: str) -> None:
    with pytest.raises(UnusableError) as caught:
        corporate_proxy({"ALL_PROXY": url})
    assert "secret" not in str(caught.value)


DIRECT = [
    ("localhost", "", True),
    ("127.0.0.9", "", True),
    ("[::1]", "", True),
    ("api.openai.com", "", False),
    ("llm.corp.example", ".corp.example", True),
    ("llm.corp.example", "corp.example", True),
    ("llm.corp.example", "*.corp.example", True),
    ("LLM.corp.example.", "a, llm.corp.example:8443", True),
    ("llm.corp.example", "llm.corp.example:443", False),
    ("notcorp.example", "corp.example", False),
    ("fe80::1", "fe80::1", True),
]


@pytest.mark.parametrize(("host", "no_proxy", "direct"), DIRECT, ids=[f"{host} {no}" for host, no, _ in DIRECT])
def test_what_goes_round_it(host: str, no_proxy: str, direct: bool) -> None:
    assert is_direct({"NO_PROXY": no_proxy}, host, 8443) is direct
