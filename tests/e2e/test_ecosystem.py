"""mitmproxy's own ways to save, replay and show flows: what they make of mended streams, and of recordings that were exported."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from mitmproxy import contentviews, http
from mitmproxy.io import FlowReader, FlowWriter
from mitmproxy.test import taddons, tflow

from tests.e2e.clients import (
    CHAT,
    LEAK,
    PROSE,
    Raw,
    Serve,
    Start,
    ask,
    chunks,
    context_for,
    eventually,
    http2_options,
    parse,
    recording,
    request_bytes,
)
from tests.e2e.mended import MENDED
from tests.patterns.kimi import ONE
from tests.support.paths import FLOWS
from tests.support.streams import WEATHER as STREAMED
from tests.support.upstream_answers import APIS, JUDGES, WEATHER, Heard, Text, asked, check, speak, tell
from toolmend.cli import main
from toolmend.cli.launcher import proxy as running
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.proxy.contentview import Views
from toolmend.recordings.playback.server import Script

DEAD, GONE = "https://llm.invalid", "https://upstream.invalid"
"""Hosts that no name server knows: RFC 6761."""
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
KINDS = {True: "text/event-stream", False: "application/json"}
PARTS = [Text(f"I will look.{ONE}")]
EXPECTED = Heard("I will look.", calls=[(None, "get_weather", {"city": "Beijing"})], stop="tool_calls")
CASES = list(product(APIS, APIS, (True, False)))


def read(file: Path) -> list[http.HTTPFlow]:
    with file.open("rb") as data:
        return [flow for flow in FlowReader(data).stream() if isinstance(flow, http.HTTPFlow)]


def place(client: str, upstream: str, streamed: bool) -> str:
    return f"/{client}-{upstream}-{streamed}".lower()


@pytest.fixture(scope="module")
def replaying(tmp_path_factory: pytest.TempPathFactory, confdir: Path) -> Iterator[Mitmdump]:
    """A proxy with -S, for flows of each API that were saved as they came; the client speaks each, and routes do the rest."""
    folder = tmp_path_factory.mktemp("replaying")
    routes = []
    with (folder / "saved.flow").open("wb") as file:
        writer = FlowWriter(file)
        for client, upstream, streamed in CASES:
            at = place(client, upstream, streamed)
            body = speak(upstream, PARTS) if streamed else tell(upstream, PARTS)
            host = DEAD if client == upstream else GONE
            request = http.Request.make("POST", f"{host}{at}{PATHS[upstream]}", "{}", {"content-type": "application/json"})
            response = http.Response.make(200, body, {"content-type": KINDS[streamed]})
            writer.add(tflow.tflow(req=request, resp=response))
            if client != upstream:
                routes.append(f'[[route]]\nfrom = "{DEAD}{at}{PATHS[client]}"\nto = "{GONE}{at}{PATHS[upstream]}"\n')
    (folder / "toolmend.toml").write_text("\n".join(routes))
    options = {
        "toolmend_hosts": "llm.invalid",
        "toolmend_flows": str(folder / "flows"),
        "toolmend_config": str(folder / "toolmend.toml"),
        "server_replay": str(folder / "saved.flow"),
        "server_replay_reuse": "true",
        "server_replay_ignore_content": "true",
    }
    with Mitmdump(options, confdir=confdir) as proxy:
        yield proxy
    assert "Traceback" not in proxy.log


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
@pytest.mark.parametrize(("client", "upstream", "streamed"), CASES)
def test_a_flow_from_a_file_is_mended(replaying: Mitmdump, client: str, upstream: str, streamed: bool, http2: bool) -> None:
    plain: dict[str, Any] = {"proxy": replaying.url, "verify": context_for(replaying.ca), "trust_env": False}
    with httpx.Client(**(http2_options(replaying) if http2 else plain)) as caller:
        url = f"{DEAD}{place(client, upstream, streamed)}{PATHS[client]}"
        answer = caller.post(url, json=asked(client, *WEATHER, stream=streamed))
    assert (answer.status_code, answer.http_version) == (200, "HTTP/2" if http2 else "HTTP/1.1")
    assert answer.headers["content-type"].startswith(KINDS[streamed])
    judge = JUDGES[client]
    check(client, judge.read(answer.content) if streamed else judge.whole(answer.content), EXPECTED)


@pytest.fixture
def export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Path]:
    """Runs `toolmend export` for the last recording."""

    def export(name: str, *more: str) -> Path:
        file = tmp_path / name
        code = main(["export", "last", "--flows", str(tmp_path / "flows"), "-o", str(file), *more])
        assert code == 0, capsys.readouterr().err
        return file

    return export


@pytest.fixture
def plain(confdir: Path) -> Callable[[Path], Any]:
    """A mitmdump without the addon that replays a file."""

    def plain(file: Path) -> Mitmdump:
        return Mitmdump({"server_replay": str(file)}, confdir=confdir, scripts=[], ready="listening at")

    return plain


def post(proxy: Mitmdump, url: str, request: dict[str, Any], **headers: str) -> bytes:
    """As SDKs do: the request is compact JSON."""
    with httpx.Client(proxy=proxy.url, verify=context_for(proxy.ca), trust_env=False) as caller:
        return caller.post(url, json=request, headers=headers).content


def test_an_export_replays(start: Start, serve: Serve, export: Callable[..., Path], plain: Callable[[Path], Any], tmp_path: Path) -> None:
    """Raw bytes where no addon is, mended ones where one is; and of the client's side the mended ones in any case."""
    upstream = serve(Script(chunks(LEAK), coding="gzip"))
    url = f"{upstream.url}/a{CHAT}?beta=true"
    assert post(start(), url, STREAMED, authorization="Bearer sk-0123456789abcdef") == MENDED
    recording(tmp_path / "flows", f"/a{CHAT}?beta=true")
    raw, client = export("raw.flow"), export("client.flow", "--client")
    (flow,) = read(raw)
    assert (flow.request.url, flow.response and flow.response.raw_content) == (url, LEAK)
    assert flow.request.headers["authorization"] == "[REDACTED]"
    for file, body in ((raw, LEAK), (client, MENDED)):
        with plain(file) as proxy:
            assert post(proxy, url, STREAMED) == body
        assert post(start(server_replay=str(file), toolmend_flows=str(tmp_path / "again")), url, STREAMED) == MENDED
    assert len(upstream.requests) == 1


def test_an_export_of_a_route_replays(start: Start, serve: Serve, export: Callable[..., Path], tmp_path: Path) -> None:
    """It is the upstream's side; the route translates it once more."""
    upstream = serve(Script(chunks(speak("chat", PARTS))))
    config = tmp_path / "toolmend.toml"
    config.write_text(f'[[route]]\nfrom = "{DEAD}/v1/messages"\nto = "{upstream.url}{CHAT}"\n')
    request = asked("messages", *WEATHER)

    def answer(**options: str) -> bytes:
        return post(start(toolmend_config=str(config), **options), f"{DEAD}/v1/messages", request)

    live = answer()
    check("messages", JUDGES["messages"].read(live), EXPECTED)
    recording(tmp_path / "flows", "/v1/messages")
    raw = export("raw.flow")
    assert read(raw)[0].request.url == f"{upstream.url}{CHAT}"
    assert read(export("client.flow", "--client"))[0].request.url == f"{DEAD}/v1/messages"
    again = answer(server_replay=str(raw), toolmend_flows=str(tmp_path / "again"), server_replay_extra="404")
    check("messages", JUDGES["messages"].read(again), EXPECTED)
    assert len(upstream.requests) == 1


def test_what_w_saves(start: Start, serve: Serve, tmp_path: Path) -> None:
    """The body that the client got, of what is streamed, too; and of what breaks off as much as there was."""
    whole = tell("chat", PARTS)
    json_script = Script(((0, whole),), headers=(("content-type", "application/json"),), framing="content-length")
    upstream = serve(Script(chunks(LEAK), coding="br"), Script(chunks(PROSE)), json_script, Script(chunks(PROSE)[:3], end="drop"))
    file = tmp_path / "out.flow"
    proxy = start(save_stream_file=str(file))
    got = [ask(proxy, upstream.url, path=f"/{number}{CHAT}").body for number in range(4)]
    assert got[:2] == [MENDED, PROSE]
    flows = eventually(lambda: flows if len(flows := read(file)) == 4 else None)
    assert [flow.response and flow.response.raw_content for flow in flows] == got
    assert [bool(flow.error) for flow in flows] == [False, False, False, True]
    assert [flow.metadata["toolmend"]["api"] for flow in flows] == ["chat"] * 4
    again = start(server_replay=str(file), toolmend_flows=str(tmp_path / "again"))
    assert [ask(again, upstream.url, path=f"/{number}{CHAT}").body for number in range(3)] == got[:3]
    assert len(upstream.requests) == 4


def test_what_w_saves_of_a_stream_that_is_not_mended(start: Start, serve: Serve, tmp_path: Path) -> None:
    """As it came: with its coding."""
    upstream = serve(Script(chunks(PROSE), coding="gzip"))
    proxy = start(save_stream_file=str(tmp_path / "out.flow"), toolmend_dialects="off")
    got = ask(proxy, upstream.url, accept_encoding="gzip").body
    (flow,) = eventually(lambda: read(tmp_path / "out.flow"))
    assert flow.response
    assert (flow.response.raw_content, flow.response.content) == (got, PROSE)
    assert got != PROSE


def test_what_w_saves_when_the_client_leaves(start: Start, serve: Serve, tmp_path: Path) -> None:
    upstream = serve(Script(chunks(PROSE)[:3], end="stall"))
    proxy = start(save_stream_file=str(tmp_path / "out.flow"))
    with Raw(proxy, upstream.url) as raw:
        raw.send(request_bytes(CHAT, host=raw.host))
        got = parse(raw.read_until(b"marker")).body
    (flow,) = eventually(lambda: read(tmp_path / "out.flow"))
    assert flow.error
    assert flow.response
    assert (flow.response.raw_content or b"").startswith(got)


def test_w_saves_what_the_client_of_a_route_got(start: Start, serve: Serve, tmp_path: Path) -> None:
    upstream = serve(Script(chunks(speak("chat", PARTS))))
    config = tmp_path / "toolmend.toml"
    config.write_text(f'[[route]]\nfrom = "{DEAD}/v1/messages"\nto = "{upstream.url}{CHAT}"\n')
    proxy = start(toolmend_config=str(config), save_stream_file=str(tmp_path / "out.flow"))
    got = post(proxy, f"{DEAD}/v1/messages", asked("messages", *WEATHER))
    (flow,) = eventually(lambda: read(tmp_path / "out.flow"))
    assert flow.response
    assert flow.response.raw_content == got
    with taddons.context(Views()):
        shown = contentviews.prettify_message(flow.response, flow)
    assert (shown.view_name, shown.text.splitlines()[0]) == ("LLM stream", "api: messages")
    options = {"server_replay": str(tmp_path / "out.flow"), "toolmend_flows": str(tmp_path / "again")}
    again = start(toolmend_config=str(config), **options)
    assert post(again, f"{DEAD}/v1/messages", asked("messages", *WEATHER)) == got
    assert len(upstream.requests) == 1


SHOWN = """\
api: chat
mended by: kimi_k2, finish_reason
recorded in: {folder}
text: "I will look."
calls:
  - name: get_weather
    id: "functions.get_weather:0"
    arguments: {{"city": "Beijing"}}
finish_reason: tool_calls
usage: {{"input_tokens": 10, "output_tokens": 5}}"""


@pytest.fixture
def mitmweb(start: Start, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Mitmdump, httpx.Client]]]:
    """Starts a mitmweb with the addon, and a client of its interface."""
    monkeypatch.setattr(running, "COMMAND", (*running.COMMAND[:-1], "from mitmproxy.tools.main import mitmweb; mitmweb()"))
    with ExitStack() as stack:

        def mitmweb(script: Path | None = None, **options: str) -> tuple[Mitmdump, httpx.Client]:
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = str(free.getsockname()[1])
            proxy = start([script] if script else None, web_open_browser="false", web_port=port, web_password="secret", **options)
            web = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False))
            web.headers.update({"authorization": "Bearer secret", "x-xsrftoken": "ab" * 16})
            web.cookies.update(dict.fromkeys(("_xsrf", "_mitmproxy_xsrf"), "ab" * 16))  # it is the same: that is all they look at
            return proxy, web

        yield mitmweb


def test_mitmweb(mitmweb: Callable[..., tuple[Mitmdump, httpx.Client]], serve: Serve, tmp_path: Path) -> None:
    """It shows a stream folded and knows the commands; both are still there after a reload of the script."""
    script = tmp_path / "main.py"
    script.write_bytes(running.addon_path().read_bytes())
    (tmp_path / "toolmend").symlink_to(running.addon_path().parent / "toolmend")
    proxy, web = mitmweb(script)
    upstream = serve(Script(chunks(LEAK)))

    def command(name: str, *arguments: str) -> Any:
        return web.post(f"/commands/{name}", json={"arguments": arguments}).json()

    for number in (1, 2):
        ask(proxy, upstream.url, path=f"/{number}{CHAT}")
        kept = recording(tmp_path / "flows", f"/{number}{CHAT}")
        flow = web.get("/flows").json()[-1]
        for view in ("auto", "LLM%20stream"):
            shown = web.get(f"/flows/{flow['id']}/response/content/{view}.json").json()
            assert (shown["view_name"], shown["text"]) == ("LLM stream", SHOWN.format(folder=json.dumps(str(kept.folder))))
        assert [row[0] for row in command("toolmend.flows")["value"]][:2] == ["name", kept.folder.name]
        rows = dict(command("toolmend.stats")["value"])
        del rows["since"]
        counts = {"responses": "1", "mended": "1", "went wrong": "0", "rule finish_reason": "1", "rule kimi_k2": "1"}
        assert rows == counts  # from the reload on
        later = script.stat().st_mtime + 2
        os.utime(script, (later, later))
        proxy.wait_for("(?s)" + "toolmend: listens.*" * number + "toolmend: listens", 20)
    assert "selects 2 recordings: select one" in command("toolmend.promote", "@all", "a")["error"]
    assert "not a case's name" in command("toolmend.promote", "last", "x/../y")["error"]
    assert "rror" not in proxy.log


def test_mitmweb_opens_an_export(mitmweb: Callable[..., tuple[Mitmdump, httpx.Client]], tmp_path: Path) -> None:
    """A flow file and a HAR; what is shown of them is folded, too."""
    folder = next(iter(sorted((FLOWS / "kimi").iterdir())))
    expected = {"last.flow": ["raw"], "last.har": ["raw", "rewritten"]}
    for name, sides in expected.items():
        assert main(["export", str(folder), "-o", str(tmp_path / name)]) == 0
        _, web = mitmweb(rfile=str(tmp_path / name))
        flows = eventually(lambda web=web, sides=sides: got if len(got := web.get("/flows").json()) == len(sides) else None)
        for flow, side in zip(flows, sides, strict=True):
            body = (folder / ("upstream.sse" if side == "raw" else "client.sse")).read_bytes()
            assert web.get(f"/flows/{flow['id']}/response/content.data").content == body
            assert web.get(f"/flows/{flow['id']}/response/content/auto.json").json()["view_name"] == "LLM stream"
