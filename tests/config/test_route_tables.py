"""The tables `[[route]]`: the routes they make, the sentence for each thing that is wrong, and what a route takes."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.routes import CHAT, MESSAGES, SECRET, parsed, table
from toolmend.config.settings import SettingsError
from toolmend.providers.routes import Origin, Route, api_of, match
from toolmend.requests.prompted import DEFAULT

OPENROUTER = Origin("https", "openrouter.ai", 443)
FIELDS = "from, model, to, api, use_model, key, tools, template"


def made(folder: Path, **fields: Any) -> Route:
    given = {
        "where": f"{folder / 'toolmend.toml'}:1",
        "source": MESSAGES,
        "target": CHAT,
        "scheme": "https",
        "host": "api.anthropic.com",
        "port": 443,
        "path": "/v1/messages",
        "client": "messages",
        "to": OPENROUTER,
        "to_path": "/api/v1/chat/completions",
        "upstream": "chat",
    }
    return Route(**given | fields)


RIGHT: list[tuple[dict[str, str], dict[str, Any]]] = [
    ({}, {}),
    ({"model": "Claude-*", "use_model": "moonshotai/Kimi-K2.5"}, {"model": "claude-*", "use_model": "moonshotai/Kimi-K2.5"}),
    ({"key": "env:ROUTE_KEY"}, {"key_from": "env:ROUTE_KEY", "key": SECRET}),
    ({"key": "file:key.txt"}, {"key_from": "file:key.txt", "key": SECRET}),
    ({"tools": "native"}, {}),
    ({"tools": "prompt"}, {"template": DEFAULT}),
    ({"tools": "prompt", "template": "tools.txt"}, {"template": "Tools:\n{tools}\n"}),
    ({"from": "https://api.anthropic.com"}, {"source": "https://api.anthropic.com", "path": "*", "client": ""}),
    ({"from": "https://api.anthropic.com/*"}, {"source": "https://api.anthropic.com/*", "path": "/*", "client": ""}),
    (
        {"from": "*.corp.example:8443/llm/v1/responses/"},
        {
            "source": "*.corp.example:8443/llm/v1/responses/",
            "scheme": "",
            "host": "*.corp.example",
            "port": 8443,
            "path": "/llm/v1/responses",
            "client": "responses",
        },
    ),
    (
        {"from": "http://LLM.invalid", "to": "http://localhost:8000/v1/chat/completions?api-version=1"},
        {
            "source": "http://LLM.invalid",
            "target": "http://localhost:8000/v1/chat/completions?api-version=1",
            "scheme": "http",
            "host": "llm.invalid",
            "port": 80,
            "path": "*",
            "client": "",
            "to": Origin("http", "localhost", 8000),
            "to_path": "/v1/chat/completions?api-version=1",
        },
    ),
    (
        {"to": "https://[::1]:8443/anything", "api": "responses"},
        {
            "target": "https://[::1]:8443/anything",
            "to": Origin("https", "::1", 8443),
            "to_path": "/anything",
            "upstream": "responses",
        },
    ),
    (
        {"from": "[::1]:9/v1/chat/completions"},
        {
            "source": "[::1]:9/v1/chat/completions",
            "scheme": "",
            "host": "::1",
            "port": 9,
            "path": "/v1/chat/completions",
            "client": "chat",
        },
    ),
]

WRONG = [
    # the file, and the sentence behind "<file>:"
    ("route = 1", "1: route: it is not a list of tables, write [[route]] and its fields below"),
    (f'\n[route]\nkey = "{SECRET}"\n', "2: route: it is not a list of tables, write [[route]] and its fields below"),
    ("[[routes]]\n", "1: routes is not a setting (did you mean route?), write one of: "),
    ("\n[[route]]\n", '2: route: it has no from, write from = "https://api.anthropic.com/v1/messages"'),
    (table(to=""), '1: route: it has no to, write to = "https://openrouter.ai/api/v1/chat/completions"'),
    (table() + "\n" + table(to=""), '5: route: it has no to, write to = "https://openrouter.ai/api/v1/chat/completions"'),
    (table() + "modle = 'x'\n", f"4: modle is not a field of a route (did you mean model?), write some of: {FIELDS}"),
    (table() + f"api_key = '{SECRET}'\n", f"4: api_key is not a field of a route (did you mean key?), write some of: {FIELDS}"),
    (table() + "model = 1\n", '4: model: 1 is not understood, write model = "claude-*"'),
    (table() + "model = ' '\n", '4: model: \' \' is not understood, write model = "claude-*"'),
    (table(api="chats"), "4: api: 'chats' is not understood (did you mean chat?), write api = "),
    (table(tools="off"), '4: tools: \'off\' is not understood, write tools = "native" or "prompt"'),
    (table(**{"from": "https://a b/"}), "2: from: 'https://a b/' is not a URL with globs, write from = "),
    (table(**{"from": "ftp://a.example/v1/messages"}), "2: from: 'ftp://a.example/v1/messages' is not a URL with globs, write "),
    (table(**{"from": "https://a.example:99999/v1/messages"}), "2: from: 'https://a.example:99999/v1/messages' is not a URL "),
    (table(**{"from": f"https://me:{SECRET}@a.example/v1/messages"}), "2: from: it is not a URL with globs, write from = "),
    (table(**{"from": f"https://a.example/v1/messages?key={SECRET}"}), "2: from: it is not a URL with globs, write from = "),
    (table(**{"from": "https://a.example/v1/embeddings"}), "2: from: the path of 'https://a.example/v1/embeddings' belongs to no "),
    (table(to="openrouter.ai/api/v1/chat/completions"), "3: to: 'openrouter.ai/api/v1/chat/completions' is not a URL, write to = "),
    (table(to="https://*.example/v1/messages"), "3: to: 'https://*.example/v1/messages' is not a URL, write to = "),
    (table(to="https://a.example:x/v1/messages"), "3: to: 'https://a.example:x/v1/messages' is not a URL, write to = "),
    (table(to="https://a.example/v1/messages#x"), "3: to: 'https://a.example/v1/messages#x' is not a URL, write to = "),
    ('[[route]]\nfrom = "a.example"\nto = "https://a.example/v1/messages\\r\\nx: y"\n', "3: to: "),
    ('[[route]]\nfrom = "a.example"\nto = "https://a.example\\u0000/v1/messages"\n', "3: to: "),
    ('[[route]]\nfrom = "a.example"\nto = "https://a.example/v1/\\u00a0messages"\n', "3: to: "),
    (table(to=f"https://me:{SECRET}@a.example/v1/messages"), "3: to: the URL contains a key, remove it and write key = "),
    (table(to=f"https://a.example/v1/messages?api_key={SECRET}"), "3: to: the URL contains a key, remove it and write key = "),
    (table(to=f"https://a.example/{SECRET}/v1/messages"), "3: to: the URL contains a key, remove it and write key = "),
    (table(to="https://a.example/llm"), "3: to: the path of 'https://a.example/llm' does not determine the API, write the whole path, "),
    (table(key=SECRET), '4: key: a key is never written here itself, write key = "env:OPENROUTER_API_KEY" or "file:PATH"'),
    (table() + "key = ['" + SECRET + "']\n", '4: key: it is not understood, write key = "env:OPENROUTER_API_KEY"'),
    (table(key="env:"), "4: key: a key is never written here itself, write key = "),
    (table(key="env:NO_SUCH_KEY"), "4: key: the variable NO_SUCH_KEY is not set, export NO_SUCH_KEY before the proxy starts"),
    (table(key="env:BLANK_KEY"), "4: key: the variable BLANK_KEY is not set, "),
    (table(key="env:SPLIT_KEY"), "4: key: env:SPLIT_KEY is not a key: a key is one word of at most "),
    (table(key="file:none.txt"), "4: key: "),
    (table(key="file:open.txt"), "4: key: others can read "),
    (table(key="file:blank.txt"), "4: key: file:blank.txt is not a key: "),
    (table(key="file:bytes.txt"), "4: key: "),
    (table(template="tools.txt"), '4: template: a template is for prompted tools only, write tools = "prompt", too'),
    (table(tools="prompt", template="none.txt"), "5: template: "),
    (table(tools="prompt", template="key.txt"), "5: template: "),
    ('[[route]]\nfrom = "a.example"\nto = "https://a.example/v1/messages"\nuse_model = "a\\r\\nb"\n', "4: use_model: "),
    (table() + "\n" + table(model="claude-*"), "5: route: it is never reached, the one at "),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the file is to lie, with what it may name."""
    for name, text in (("ROUTE_KEY", SECRET), ("BLANK_KEY", " "), ("SPLIT_KEY", f"{SECRET}\r\nx: y")):
        monkeypatch.setenv(name, text)
    for file, mode, data in (
        ("key.txt", 0o600, f"{SECRET}\n".encode()),
        ("open.txt", 0o640, SECRET.encode()),
        ("blank.txt", 0o400, b"\n"),
        ("bytes.txt", 0o600, b"\xff\xfe"),
        ("tools.txt", 0o644, b"Tools:\n{tools}\n"),
    ):
        path = tmp_path / file
        path.write_bytes(data)
        path.chmod(mode)
    return tmp_path


@pytest.mark.parametrize(("fields", "route"), RIGHT)
def test_right(fields: dict[str, str], route: dict[str, Any], folder: Path) -> None:
    (one,) = parsed(table(**fields), folder)
    assert one == made(folder, **route)
    assert SECRET not in repr(one)


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_wrong(text: str, sentence: str, folder: Path) -> None:
    with pytest.raises(SettingsError) as raised:
        parsed(text, folder)
    assert str(raised.value).startswith(f"{folder / 'toolmend.toml'}:{sentence}")
    assert SECRET not in str(raised.value)
    assert os.linesep not in str(raised.value)


def test_none(folder: Path) -> None:
    assert parsed("hosts = []\n", folder) == ()


TABLES = "\n".join(
    (
        table(model="claude-haiku-*", to="https://a.example/v1/responses"),
        table(model="claude-*"),
        table(**{"from": "llm.invalid", "to": "https://b.example/v1/messages"}),
        table(**{"from": "http://*.corp.example:8080/*/chat/completions"}),
    )
)

TAKEN = [
    # where a request goes, its model, and which route takes it as which API
    ("https", "api.anthropic.com", 443, "/v1/messages", "claude-haiku-4-5", (0, "messages")),
    ("https", "API.anthropic.com.", 443, "/v1/messages/?beta=true", "Claude-Opus-4-5[1m]", (1, "messages")),
    ("https", "api.anthropic.com", 443, "/v1/messages", None, (0, "messages")),
    ("https", "api.anthropic.com", 443, "/v1/messages", "gpt-5", None),
    ("https", "api.anthropic.com", 443, "/v1/messages", "", None),
    ("https", "api.anthropic.com", 443, "/v1/messages/count_tokens", "claude-haiku-4-5", None),
    ("https", "api.anthropic.com", 8443, "/v1/messages", "claude-haiku-4-5", None),
    ("http", "api.anthropic.com", 443, "/v1/messages", "claude-haiku-4-5", None),
    ("https", "api.anthropic.com.evil.example", 443, "/v1/messages", "claude-haiku-4-5", None),
    ("https", "llm.invalid", 443, "/v1/messages", "", (2, "messages")),
    ("http", "llm.invalid", 8000, "/v1/responses", "x", (2, "responses")),
    ("http", "llm.invalid", 8000, "/v1/chat/completions", "x", (2, "chat")),
    ("http", "llm.invalid", 8000, "/v1/embeddings", "x", None),
    ("http", "a.corp.example", 8080, "/team/chat/completions", "x", (3, "chat")),
    ("http", "corp.example", 8080, "/team/chat/completions", "x", None),
]


@pytest.mark.parametrize(("scheme", "host", "port", "path", "model", "taken"), TAKEN)
def test_which_one_takes_a_request(
    scheme: str, host: str, port: int, path: str, model: str | None, taken: tuple[int, str] | None, folder: Path
) -> None:
    rows = parsed(TABLES, folder)
    found = match(rows, scheme, host, port, path, model)
    assert (found and (rows.index(found[0]), found[1])) == taken


@pytest.mark.parametrize(
    ("path", "host", "api"),
    [
        ("/v1/messages", "", "messages"),
        ("/v1/messages", "api.openai.com", None),
        ("/backend-api/codex/responses", "chatgpt.com", "responses"),
        ("/v1beta/models/g:generateContent", "", None),
    ],
)
def test_the_api_of_a_path(path: str, host: str, api: str | None) -> None:
    assert api_of(path, host) == api


@pytest.mark.parametrize(
    ("origin", "netloc"),
    [
        (OPENROUTER, "openrouter.ai"),
        (Origin("http", "localhost", 8000), "localhost:8000"),
        (Origin("http", "a.example", 443), "a.example:443"),
        (Origin("https", "::1", 443), "[::1]"),
    ],
)
def test_netloc(origin: Origin, netloc: str) -> None:
    assert origin.netloc == netloc
