"""Secrets that a request carries in every way there is, and an upstream that repeats them in every form: none is kept anywhere (R16).

Rule of this file: what is looked at is everything that leaves the proxy for anybody but the two it stands between: the files, its
log, its metrics, and what the commands write. It is read as a reader would: texts joined, escapes, percents, hex and base64 undone.
"""

import base64
import json
import os
import re
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tests.e2e.clients import LEAK, Raw, Serve, chunks, eventually, parse
from tests.support.key_samples import masked
from tests.support.paths import ADDON
from tests.support.streams import WEATHER, chunk, event
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script
from toolmend.recordings.write.recorded_text import texts_of

pytestmark = pytest.mark.slow

SHAPES = masked()
OPAQUE = ("550e8400-e29b-41d4-a716-446655440000", "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "c0rrect+h0rse/battery==")
"""Keys of no known shape: Azure's, Mistral's, a password. Only the place tells what they are."""

type Carried = tuple[str, dict[str, str], dict[str, Any]]  # what is added to the path, the headers, the body
CARRIERS: dict[str, Callable[[str], Carried]] = {
    "authorization": lambda key: ("", {"Authorization": f"Bearer {key}"}, {}),
    "x-api-key": lambda key: ("", {"X-Api-Key": key}, {}),
    "cookie": lambda key: ("", {"Cookie": f"a=b; session={key}"}, {}),
    "basic": lambda key: ("", {"Proxy-Authorization": "Basic " + base64.b64encode(f"me:{key}".encode()).decode()}, {}),
    "query": lambda key: (f"?alt=sse&key={quote(key)}", {}, {}),
    "body": lambda key: ("", {}, {"metadata": {"api_key": key}}),
    "a tool's header": lambda key: ("", {}, {"mcp_servers": [{"name": "x", "headers": {"X-Auth-Token": key}}]}),
    "userinfo": lambda key: ("", {}, {"mcp_servers": [{"url": f"https://me:{key}@mcp.example/sse"}]}),
    "path": lambda key: (f"/{quote(key)}", {}, {}),
    "message": lambda key: ("", {}, {"messages": [{"role": "user", "content": f"It says KEY={key}."}]}),
}
NAMED = [name for name in CARRIERS if name not in ("userinfo", "path", "message")]
"""Where the place alone tells that it is a secret."""


def said(text: str) -> bytes:
    return b"".join(event(chunk({"content": text[at : at + 4]})) for at in range(0, len(text), 4))


def echo(key: str) -> bytes:
    """The key whole, in deltas, as arguments, in the name, in the reasoning, in a comment, and in disguise."""
    call = json.dumps({"city": f"k {key} k"})
    calls = [{"index": 7, "id": f"call_{key}", "function": {"name": "get_weather", "arguments": ""}}]
    calls += [{"index": 7, "function": {"arguments": call[at : at + 4]}} for at in range(0, len(call), 4)]
    coded = base64.b64encode(f"user:{key}".encode()).decode()
    escaped = "".join(f"\\u{ord(char):04x}" for char in key)
    first, rest = LEAK.split(b"\n\n", 1)
    parts = [
        first + b"\n\n",
        event(chunk({"content": f"Whole: {key}. "}, system_fingerprint=key)),
        *(event(chunk({"reasoning_content": f"{key[:5]}"})), event(chunk({"reasoning_content": f"{key[5:]} "}))),
        *map(
            said,
            (
                f"Deltas: {key}. ",
                f"Basic {coded} ",
                f"{quote(key, safe='')} ",
                "".join(f"%{byte:02X}" for byte in key.encode()) + " ",
                f"{key.encode().hex()} ",
            ),
        ),
        said(f"{escaped} "),
        b'data: {"id":"c1","choices":[{"index":0,"delta":{"content":"' + escaped.encode() + b'"}}]}\n\n',
        f": {key}\n\n".encode(),
        *(event(chunk({"tool_calls": [one]})) for one in calls),
    ]
    return b"".join(parts) + rest


def request(path: str, host: str, headers: dict[str, str], body: dict[str, Any]) -> bytes:
    data = json.dumps(WEATHER | body).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {host}",
        "Content-Type: application/json",
        f"Content-Length: {len(data)}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode() + data


@pytest.fixture(scope="module")
def own(confdir: Path, options: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mitmdump, Path]]:
    flows = tmp_path_factory.mktemp("canary")
    with Mitmdump({**options, "toolmend_flows": str(flows), "toolmend_metrics": "0"}, confdir=confdir) as proxy:
        yield proxy, flows


def forms(text: str) -> Iterator[str]:
    """A text, and what it means."""
    yield text
    yield re.sub(r"\\+u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
    yield unquote(text)
    yield from (bytes.fromhex(run[: len(run) // 2 * 2]).decode("latin-1") for run in re.findall("[0-9a-f]{16,}", text))
    for run in re.findall(r"[A-Za-z0-9+/_-]{16,}", text):
        for skipped in range(4):
            data = run[skipped:].replace("-", "+").replace("_", "/")
            yield base64.b64decode(data[: len(data) // 4 * 4]).decode("latin-1")


def found(key: str, file: str, data: bytes) -> list[str]:
    """Where a file holds it, or all but a few of its characters."""
    core = key[2:-3]
    texts = {"": data.decode(errors="replace"), **{path: "".join(text.pieces) for path, text in texts_of(file, data).items()}}
    return [f"{file} ({path})" for path, text in texts.items() if any(core in form for form in forms(text))]


def toolmend(flows: Path, here: Path, *words: str) -> bytes:
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("KEY", "TOKEN", "SECRET"))}
    env = kept | {
        "PYTHONPATH": str(ADDON),
        "TOOLMEND_FLOWS": str(flows),
        "XDG_DATA_HOME": str(here),
    }
    done = subprocess.run([sys.executable, "-m", "toolmend", *words], env=env, cwd=here, capture_output=True, check=False)
    return done.stdout + done.stderr


def ask(own: tuple[Mitmdump, Path], serve: Serve, carrier: str, key: str, case: str) -> Path:
    """One exchange; the folder of its recording."""
    proxy, flows = own
    before = {file.parent for file in flows.glob("*/*/meta.json")}
    more, headers, body = CARRIERS[carrier](key)
    path = "/v1/chat/completions" + more if not more.startswith("/") else more + "/v1/chat/completions"
    error = json.dumps({"error": {"message": f"Incorrect API key provided: {key}.", "code": key, "type": "x"}}).encode()
    plain = json.dumps(
        {
            **chunk(),
            "choices": [{"index": 0, "message": {"role": "assistant", "content": f"It is {key}"}, "finish_reason": "stop"}],
        }
    ).encode()
    scripts = {
        "stream": Script(
            chunks(echo(key)), headers=(("x-key", key), ("x-request-id", key), ("content-type", "text/event-stream"))
        ),
        "error": Script(
            ((0, error),), status=401, headers=(("content-type", "application/json"), ("www-authenticate", f"Bearer {key}"))
        ),
        "whole": Script(((0, plain),), headers=(("content-type", "application/json"),)),
        "cut": Script(chunks(echo(key)[:-200]), end="reset", headers=(("content-type", "text/event-stream"),)),
    }
    upstream = serve(scripts[case])
    with Raw(proxy, upstream.url) as raw:
        raw.send(request(path, raw.host, headers, {**body, "stream": case not in ("whole", "error")}))
        got = parse(raw.read_to_end())
    assert (
        key
        in "".join(one for text in texts_of("client.sse", got.raw).values() for one in ("".join(text.pieces),)) + got.raw.decode()
    )

    def look() -> Path | None:
        for file in flows.glob("*/*/meta.json"):
            if file.parent not in before and json.loads(file.read_bytes())["sha256"]:
                return file.parent
        return None

    return eventually(look)


def check(key: str, folder: Path, log: str) -> None:
    files = {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()} | {"log.txt": log.encode()}
    assert [place for name, data in files.items() for place in found(key, name, data)] == []
    assert key not in str(folder)


CASES = [
    (carrier, key, "stream")
    for carrier in CARRIERS
    for key in (SHAPES if carrier in ("authorization", "message") else SHAPES[:3])
]
CASES += [(carrier, key, "stream") for carrier in NAMED for key in OPAQUE]
CASES += [("userinfo", OPAQUE[1], "stream")]
CASES += [(carrier, SHAPES[0], case) for carrier in CARRIERS for case in ("error", "whole", "cut")]


@pytest.mark.parametrize(("carrier", "key", "case"), CASES)
def test_nothing_is_kept(own: tuple[Mitmdump, Path], serve: Serve, carrier: str, key: str, case: str) -> None:
    folder = ask(own, serve, carrier, key, case)
    check(key, folder, own[0].log)


@pytest.mark.parametrize("carrier", ["authorization", "query", "a tool's header", "message"])
def test_no_command_tells_it(own: tuple[Mitmdump, Path], serve: Serve, carrier: str, tmp_path: Path) -> None:
    """The pages, the exports, the metrics, the report and the fixture."""
    proxy, flows = own
    key = OPAQUE[2] if carrier in NAMED else SHAPES[2]
    folder = str(ask(own, serve, carrier, key, "stream"))
    commands = {
        "flows.json": ("flows", "--json"),
        "show.txt": ("show", folder, "--all"),
        "show.json": ("show", folder, "--json"),
        "page.html": ("show", folder, "--html", "-"),
        "explain.txt": ("explain", folder),
        "har.json": ("export", folder, "--to", "har"),
        "flow.txt": ("export", folder, "--to", "flow"),
        "client.txt": ("export", folder, "--to", "flow", "--client"),
        "promote.txt": ("promote", folder, "a/b", "--into", "made"),
        "report.txt": ("bug-report", folder, "--with-content", "--yes", "-o", "report.zip"),
    }
    out = {name: toolmend(flows, tmp_path, *words) for name, words in commands.items()}
    assert all(out.values())
    address = re.search(r"http://127\.0\.0\.1:\d+/metrics", proxy.log)
    assert address
    with urllib.request.urlopen(address[0]) as metrics:  # noqa: S310  # loopback
        out["metrics.txt"] = metrics.read()
    for file in (tmp_path / "made").rglob("*.*"):
        out[f"made-{file.name}"] = file.read_bytes()
    assert "made-client.sse" in out, out["promote.txt"]
    with zipfile.ZipFile(tmp_path / "report.zip") as report:
        out |= {f"report-{name.rpartition('/')[2]}": report.read(name) for name in report.namelist()}
    assert [place for name, data in out.items() for place in found(key, name, data)] == []
