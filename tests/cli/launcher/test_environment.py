"""The variables: what is set, what of the user's is kept, and what they were before."""

from pathlib import Path

import pytest

from toolmend.cli.launcher.environment import BEFORE, NAMES, PRELOAD, TABLE, company_url, confdir, original, restored, variables

REQUIRED = f'--require="{PRELOAD}"' if " " in str(PRELOAD) else f"--require={PRELOAD}"

URL = "http://127.0.0.1:4711"
CA, BUNDLE = Path("/conf/ca.pem"), Path("/data/bundle.pem")


def of(given: dict[str, str], **more: list[str]) -> dict[str, str]:
    return variables(URL, CA, BUNDLE, given, **more)


def test_a_user_who_has_set_nothing() -> None:
    found = of({"HOME": "/home/me"})
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"):
        assert found[name] == URL
    assert found["NO_PROXY"] == found["no_proxy"] == "localhost,127.0.0.1,::1"
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "CODEX_CA_CERTIFICATE", "DENO_CERT"):
        assert found[name] == str(BUNDLE)
    assert found["NODE_EXTRA_CA_CERTS"] == str(CA)
    assert found["NODE_USE_ENV_PROXY"] == "1"
    assert found["NODE_OPTIONS"] == REQUIRED
    assert found[BEFORE] == "{}"
    assert set(found) == {*NAMES, BEFORE}
    assert len(set(NAMES)) == len(NAMES)
    assert all(row.why for row in TABLE)


KEPT = [
    ({"NO_PROXY": "a.example, .corp.example"}, "NO_PROXY", "a.example,.corp.example,localhost,127.0.0.1,::1"),
    ({"no_proxy": "localhost 10.0.0.1"}, "NO_PROXY", "localhost,10.0.0.1,127.0.0.1,::1"),
    ({"no_proxy": "*"}, "no_proxy", "localhost,127.0.0.1,::1"),
    ({"NODE_OPTIONS": "--max-old-space-size=99"}, "NODE_OPTIONS", f"--max-old-space-size=99 {REQUIRED}"),
    ({"HTTP_PROXY": "http://corp:3128"}, "http_proxy", "http://corp:3128"),
    ({"HTTP_PROXY": "http://corp:3128", "HTTPS_PROXY": "http://corp:3128"}, "http_proxy", URL),
    ({"NODE_EXTRA_CA_CERTS": __file__}, "NODE_EXTRA_CA_CERTS", str(BUNDLE)),
    ({"NODE_EXTRA_CA_CERTS": "/nowhere"}, "NODE_EXTRA_CA_CERTS", str(CA)),
]


@pytest.mark.parametrize(("given", "name", "value"), KEPT, ids=[f"{name} of {given}" for given, name, _ in KEPT])
def test_what_the_user_had_is_kept(given: dict[str, str], name: str, value: str) -> None:
    assert of(given)[name] == value


def test_a_host_on_loopback_that_is_named_is_reached() -> None:
    assert of({}, proxied_hosts=["localhost"])["NO_PROXY"] == "127.0.0.1,::1"


def test_a_path_with_blanks_is_what_node_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmend.cli.launcher.environment.PRELOAD", Path('/a b/"c".cjs'))
    assert of({})["NODE_OPTIONS"] == r'--require="/a b/\"c\".cjs"'


GIVEN = {"HTTPS_PROXY": "http://me:secret@corp:3128", "NO_PROXY": ".corp", "SSL_CERT_FILE": "/corp.pem", "HOME": "/me", "NODE_OPTIONS": "-r x"}


def test_it_can_be_undone_and_done_twice() -> None:
    once = GIVEN | of(GIVEN)
    assert original(once) == GIVEN
    assert company_url(original(once)) == GIVEN["HTTPS_PROXY"]
    twice = once | variables("http://127.0.0.1:1", CA, BUNDLE, once)
    assert original(twice) == GIVEN
    assert twice == once | {name: value.replace("4711", "1") if value == URL else value for name, value in once.items()}


@pytest.mark.parametrize("said", ["", "{", "[]", "null", "3"])
def test_what_is_not_ours_is_the_users(said: str) -> None:
    assert original({BEFORE: said, "HTTPS_PROXY": "x"}) == {BEFORE: said, "HTTPS_PROXY": "x"}


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({}, ""),
        ({"HTTP_PROXY": "a"}, ""),
        ({"ALL_PROXY": "a"}, "a"),
        ({"HTTPS_PROXY": "a", "all_proxy": "b"}, "a"),
        ({"HTTPS_PROXY": "a", "https_proxy": "b"}, "b"),
        ({"HTTPS_PROXY": "", "ALL_PROXY": "b"}, "b"),
        ({"HTTPS_PROXY": "a", "NO_PROXY": "*"}, ""),
    ],
    ids=str,
)
def test_the_proxy_that_https_goes_through(given: dict[str, str], url: str) -> None:
    assert company_url(given) == url


def test_a_command_has_what_the_launcher_has_taken() -> None:
    given = {"_TOOLMEND_PYTHONPATH": "/my/lib", "_TOOLMEND_CDPATH": "/my", BEFORE: "{}", "HOME": "/me"}
    assert restored(given) == {"PYTHONPATH": "/my/lib", "CDPATH": "/my", BEFORE: "{}", "HOME": "/me"}


def test_the_ca_is_mitmproxys_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert confdir() == Path("/home/me/.mitmproxy")
