"""`toolmend run` with real clients that have no setting of their own: each calls https://api.openai.com, and what it gets is mended.

The clients call the provider's own URL. A route in the settings has the proxy fetch it from the local upstream, whose certificate
is trusted because SSL_CERT_FILE names it, as it would a company's. So a client that went round the proxy could not get an answer.
"""

import json
import re
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.clients import CALL, LEAK, Serve, chunks
from tests.e2e.user import TOOLMEND, URL, environment, routed, toolmend
from tests.support.judges.chat import read
from tests.support.streams import WEATHER
from toolmend.recordings.playback.server import Script, Upstream

PYTHON_HEAD = f"import json, os, sys; url, body = {URL!r}, json.loads(os.environ['BODY']); "
NODE_HEAD = f"const url = {URL!r}, body = process.env.BODY, headers = {{'content-type': 'application/json'}};"
NODE = {
    "fetch": "fetch(url, {method: 'POST', headers, body}).then(r => r.text()).then(t => process.stdout.write(t))",
    "fetch that was kept": "const kept = fetch; kept(url, {method: 'POST', headers, body}).then(r => r.text())"
    ".then(async t => process.stdout.write(t || await (await kept(url, {method: 'POST', headers, body})).text()))",
    "https.request": "const r = require('https').request(url, {method: 'POST', headers}, a => a.pipe(process.stdout)); r.end(body)",
    "an agent of its own": "const https = require('https'), agent = new https.Agent({keepAlive: true});"
    "const r = https.request(url, {method: 'POST', headers, agent}, a => { a.pipe(process.stdout); a.on('end', () => agent.destroy()) });"
    "r.end(body)",
    "a worker": "const {Worker} = require('worker_threads');"
    "new Worker(`fetch(${JSON.stringify(url)}, {method: 'POST', headers: ${JSON.stringify(headers)}, body: process.env.BODY})"
    ".then(r => r.text()).then(t => process.stdout.write(t))`, {eval: true})",
}
PYTHON = {
    "openai": "import openai; stream = openai.OpenAI(api_key='none').chat.completions.create(**body);"
    "[print('data: ' + chunk.to_json(indent=None) + '\\n') for chunk in stream]; print('data: [DONE]\\n')",
    "requests": "import requests; print(requests.post(url, json=body).text)",
    "urllib": "from urllib.request import *; r = Request(url, os.environ['BODY'].encode(), {'content-type': 'application/json'});"
    "print(urlopen(r).read().decode())",
    "httpx": "import httpx; print(httpx.post(url, json=body).text)",
    "aiohttp": """
import asyncio, aiohttp
async def ask():
    async with aiohttp.ClientSession(trust_env=True) as session, session.post(url, json=body) as answer:
        print(await answer.text())
asyncio.run(ask())""",
}
CURL = ["curl", "-sS", "--fail-with-body", URL, "-H", "content-type: application/json", "--data-binary", "@-"]
COMMANDS: dict[str, Sequence[str]] = {
    "curl": CURL,
    **{f"node: {name}": ["node", "-e", NODE_HEAD + code] for name, code in NODE.items()},
    **{f"python: {name}": [sys.executable, "-c", PYTHON_HEAD + code] for name, code in PYTHON.items()},
}


@pytest.fixture
def upstream(serve: Serve) -> Upstream:
    return serve(Script(chunks(LEAK)))


@pytest.fixture
def home(tmp_path: Path, certificate: tuple[Path, Path]) -> dict[str, str]:
    """The environment of a user who trusts the upstream's certificate."""
    return environment(tmp_path, SSL_CERT_FILE=str(certificate[0]), BODY=json.dumps(WEATHER), OPENAI_API_KEY="none", ANTHROPIC_API_KEY="none")


@pytest.fixture
def config(tmp_path: Path, upstream: Upstream) -> Path:
    return routed(tmp_path, upstream.url)


EACH = """
import json, subprocess, sys
for name, command in json.loads(sys.argv[1]).items():
    done = subprocess.run(command, input=sys.argv[2], capture_output=True, text=True)
    print(json.dumps([name, done.stdout, done.stderr, done.returncode]), flush=True)
"""


def test_clients_with_no_setting_of_their_own(home: dict[str, str], config: Path, upstream: Upstream, subtests: pytest.Subtests) -> None:
    """One `toolmend run` for them all."""
    there = {name: command for name, command in COMMANDS.items() if shutil.which(command[0]) and ("aiohttp" not in name or find_spec("aiohttp"))}
    done = toolmend(home, "run", "--config", config, "--", sys.executable, "-c", EACH, json.dumps(there), json.dumps(WEATHER))
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, *_ in answers] == [*there]
    for name, out, error, code in answers:
        with subtests.test(name):
            assert code == 0, error
            (call,) = read(out.encode()).only.calls
            assert (call.id, call.name, call.arguments) == CALL
    assert len(upstream.requests) == len(there)
    assert f"toolmend: mended {len(there)} of {len(there)} answers (kimi_k2" in done.stderr
    assert not list(Path(home["TMPDIR"]).iterdir())


def test_the_anthropic_sdk(home: dict[str, str], config: Path) -> None:
    code = """
import anthropic, sys
tool = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
message = anthropic.Anthropic(max_retries=0).messages.create(
    model="claude-sonnet-5", max_tokens=9, tools=[tool], messages=[{"role": "user", "content": "Weather?"}], stream=True)
print([event.content_block.name for event in message if event.type == "content_block_start" and event.content_block.type == "tool_use"])
"""
    done = toolmend(home, "run", "--config", config, "--", sys.executable, "-c", code)
    assert done.stdout == "['get_weather']\n", done.stderr


def test_one_run_in_another_goes_round_it(home: dict[str, str], config: Path) -> None:
    inner = [*TOOLMEND, "run", "--config", str(config), "--", *CURL]
    done = toolmend(home, "run", "--config", config, "--", *inner, input=json.dumps(WEATHER))
    assert len(read(done.stdout.encode()).only.calls) == 1, done.stderr
    assert re.findall(r"^toolmend: (mended 1|no LLM answer)", done.stderr, re.MULTILINE) == ["mended 1", "no LLM answer"]


def test_the_first_run_says_what_this_is_and_later_ones_what_was_done(home: dict[str, str], config: Path, tmp_path: Path) -> None:
    command = ("run", "--config", config, "--", *COMMANDS["curl"])
    first = toolmend(home, *command, input=json.dumps(WEATHER)).stderr.splitlines()
    assert len(first) <= 8
    for word in ("intercepted", "changed", "recorded", "stop", "undo"):
        assert [line for line in first if line.split()[0] == word], word
    second = toolmend(home, *command, input=json.dumps(WEATHER)).stderr.splitlines()
    assert second == first[-1:]
    flows = tmp_path / "home/.local/share/toolmend/flows"
    assert re.fullmatch(rf"toolmend: mended 1 of 1 answer \(kimi_k2.*\), recorded in {flows}; toolmend show last", second[0])
    assert toolmend(home, "show", "last").returncode == 0

    elsewhere = toolmend(home, "run", "--flows", tmp_path / "a b", *command[1:], input=json.dumps(WEATHER)).stderr
    assert f"recorded in {tmp_path}/a b; toolmend show last --flows '{tmp_path}/a b'" in elsewhere
    off = toolmend(home, "run", "--set", "toolmend_flows=off", *command[1:], input=json.dumps(WEATHER)).stderr
    assert re.fullmatch(r"toolmend: mended 1 of 1 answer \([^)]*\)\n", off)
    idle = toolmend(home, "run", "true").stderr
    assert idle.startswith("toolmend: no LLM answer came through the proxy; ")


def test_a_host_on_loopback_that_is_named_is_reached(home: dict[str, str], upstream: Upstream) -> None:
    """NO_PROXY has loopback in it, but for what the user has named."""
    curl = [upstream.url + "/v1/chat/completions" if word == URL else word for word in CURL]
    done = toolmend(home, "run", "--set", f"toolmend_hosts=localhost:{upstream.port}", "--", *curl, input=json.dumps(WEATHER))
    assert len(read(done.stdout.encode()).only.calls) == 1, done.stderr


def test_what_is_no_llm_host_fails_as_it_would_without(home: dict[str, str]) -> None:
    done = toolmend(home, "run", "--", "curl", "-sS", "https://nothing.invalid/")
    assert done.returncode != 0
    assert done.stdout == ""


def test_a_client_that_refuses_the_certificate_is_told(home: dict[str, str], config: Path, certificate: tuple[Path, Path]) -> None:
    done = toolmend(home, "run", "--config", config, "--", *CURL, "--cacert", certificate[0], input=json.dumps(WEATHER))
    assert done.returncode == 60
    (warning,) = re.findall(r"^  warning: (.*)", done.stderr, re.MULTILINE)
    assert warning.startswith("api.openai.com: a client rejects toolmend's certificate")


WRONG = [
    ("run --set toolmend_hosts -- true", 2, "error: not NAME=VALUE: --set toolmend_hosts"),
    ("run --set toolmend_dialekts=off -- true", 4, "did you mean toolmend_dialects"),
    ("run --set ssl_insecur=true -- true", 4, "error: no such option: ssl_insecur (did you mean ssl_insecure?)"),
    ("run --config nowhere.toml -- true", 4, "nowhere.toml"),
    ("run", 2, "error: Missing argument 'COMMAND...'"),
    ("run --confg x -- true", 2, "--config"),
    ("run -- nosuchcommand", 127, "error: no such command: 'nosuchcommand'"),
    ("run -- ./notthere", 127, "error: no such command: './notthere'"),
    ("run -- ./plain", 126, "error: ./plain is not executable\ntry: chmod +x ./plain"),
    ("run -- ./tmp", 126, "error: ./tmp is a folder"),
    ("run -- ./noscript", 126, "error: ./noscript cannot be run: Exec format error"),
]


@pytest.mark.parametrize(("line", "code", "said"), WRONG, ids=[line for line, *_ in WRONG])
def test_what_is_wrong_is_said(line: str, code: int, said: str, home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    (tmp_path / "noscript").write_bytes(b"\0\1\2")
    (tmp_path / "noscript").chmod(0o755)
    done = toolmend(home, *line.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "\ntry: " in done.stderr
    assert "Traceback" not in done.stderr
