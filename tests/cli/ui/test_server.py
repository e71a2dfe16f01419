"""Who is answered by `toolmend ui`, and with what."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from tests.support.recordings import in_events, keep
from tests.support.streams import WEATHER, stream
from toolmend.cli import main
from toolmend.cli.commands.ui import _unix
from toolmend.cli.ui.gate import HEADERS
from toolmend.cli.ui.server import Server

CANARY = "the-words-of-the-recording"


@asynccontextmanager
async def serving(root: Path, **options: Any) -> AsyncIterator[Server]:
    server = Server(root, **options)
    server.listen(0)
    task = asyncio.create_task(server.run())
    while server.watcher.first or server.index.count_unread():
        await asyncio.wait({task}, timeout=0.01)
    yield server
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ask = {**WEATHER, "messages": [{"role": "user", "content": CANARY}]}
    keep(tmp_path / "flows" / "2026-11-28" / "120000-openrouter-1", in_events(stream(["Hello."])), ask)
    return tmp_path / "flows"


def run(root: Path, test: Callable[[Server, httpx.AsyncClient], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def serve() -> None:
        async with serving(root, **options) as server, httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as client:
            await test(server, client)

    asyncio.run(asyncio.wait_for(serve(), 30))


async def opened(server: Server, client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/open", json={"token": server.gate.token})
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict", f"toolmend-{server.port}"))
    assert server.gate.token not in cookie


PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.mark.parametrize(("body", "shown"), [(PICTURE, True), (b"<svg onload=alert(1)>" + bytes(40), False)])
def test_images_are_served_by_their_signature(root: Path, body: bytes, shown: bool) -> None:
    data = base64.b64encode(body).decode()
    content = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}]
    ask = {**WEATHER, "messages": [{"role": "user", "content": content}]}
    keep(root / "2026-11-28" / "130000-openrouter-2", in_events(stream(["A picture."])), ask)

    async def test(server: Server, client: httpx.AsyncClient) -> None:
        path = "/api/recording/130000-openrouter-2/parts"
        assert (await client.get(path)).status_code == 401
        await opened(server, client)
        [part] = [part for part in (await client.get(path)).json()["parts"] if part["kind"] == "file"]
        key = part.get("images", [sha256(data.encode()).hexdigest()[:24]])[0]
        answer = await client.get(f"/api/part/{part['part']}/image/{key}")
        assert ("images" in part, answer.status_code, answer.content) == ((True, 200, body) if shown else (False, 404, b""))
        if shown:
            assert answer.headers["content-type"] == "image/png"
            assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert (await client.get(f"/api/part/{part['part']}/image/{'0' * 24}")).status_code == 404
        client.cookies.clear()
        assert (await client.get(f"/api/part/{part['part']}/image/{key}")).status_code == 401

    run(root, test)


def test_any_two_requests_are_compared(root: Path) -> None:
    ask = {**WEATHER, "messages": [{"role": "user", "content": "something else"}]}
    keep(root / "2026-11-28" / "140000-openrouter-3", in_events(stream(["Yes."])), ask)

    async def test(server: Server, client: httpx.AsyncClient) -> None:
        await opened(server, client)
        answer = await client.get("/api/recording/140000-openrouter-3/diff", params={"against": "120000-openrouter-1"})
        assert answer.json()["against"]["name"] == "120000-openrouter-1"
        assert [part["text"] for part in answer.json()["added"]] == ["something else"]

    run(root, test)


REFUSED = {
    "a rebound host": {"host": "evil.example"},
    "a rebound host with the port": {"host": "evil.example:{port}"},
    "a name under localhost": {"host": "localhost.evil.example:{port}"},
    "another page": {"origin": "https://evil.example"},
    "another port": {"origin": "http://127.0.0.1:1"},
    "a sandboxed page": {"origin": "null"},
    "another site, as the browser says": {"sec-fetch-site": "cross-site"},
    "another port, as the browser says": {"sec-fetch-site": "same-site"},
}


def test_who_has_no_cookie_gets_nothing(root: Path) -> None:
    async def test(server: Server, client: httpx.AsyncClient) -> None:
        for path in ("sessions", "recordings", "status", "recording/1", "session/x", "search?q=the", "prompts", "part/1", "nothing"):
            answer = await client.get(f"/api/{path}")
            assert (answer.status_code, answer.content) == (401, b""), path
        for body in (b"", b"{", b'{"token": 5}', b'{"token": "x"}', b"[]"):
            assert (await client.post("/api/open", content=body)).status_code == 401
        page = await client.get("/")
        assert page.status_code == 200
        assert CANARY not in page.text
        assert server.gate.token not in page.text

    run(root, test)


@pytest.mark.parametrize("name", REFUSED)
def test_who_comes_from_elsewhere_gets_no_byte(root: Path, name: str) -> None:
    async def test(server: Server, client: httpx.AsyncClient) -> None:
        await opened(server, client)
        headers = {key: value.format(port=server.port) for key, value in REFUSED[name].items()}
        for method, path in (("GET", "/"), ("GET", "/api/sessions"), ("POST", "/api/open"), ("GET", "/assets/x"), ("GET", "/nothing")):
            answer = await client.request(method, path, headers=headers, json={"token": server.gate.token} if method == "POST" else None)
            assert (answer.status_code, answer.content) == (403, b""), path
            assert "set-cookie" not in answer.headers

    run(root, test)


def test_every_answer_has_the_headers(root: Path) -> None:
    async def test(server: Server, client: httpx.AsyncClient) -> None:
        await opened(server, client)
        for path in ("/", "/s/x", "/api/status", f"/assets/{server.version}/main.js", "/nothing", "/api/recording/none"):
            answer = await client.get(path)
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
            assert not [name for name in answer.headers if name.startswith("access-control")]
            assert not answer.is_success or "inline" not in answer.headers["content-security-policy"]
        shell = (await client.get("/")).text
        assert "<style" not in shell
        assert "onclick" not in shell

    run(root, test)


def test_what_a_page_is_answered(root: Path) -> None:
    async def test(server: Server, client: httpx.AsyncClient) -> None:
        await opened(server, client)

        async def get(path: str) -> Any:
            answer = await client.get(f"/api/{path}")
            assert answer.status_code == 200, path
            return answer.json()

        [row] = (await get("recordings"))["recordings"]
        [session] = (await get("sessions"))["sessions"]
        assert (row["title"], session["title"]) == (CANARY, CANARY)
        name = row["name"]
        assert (await get(f"session/{session['session']}"))["turns"][0]["answer"]["text"] == "Hello."
        assert (await get(f"recording/{name}"))["events"] > 0
        for what in ("parts", "context", "diff", "events?from=1&n=3", "curl"):
            await get(f"recording/{name}/{what}")
        assert (await get("search?q=words-of"))["hits"][0]["name"] == name
        assert (await get("status"))["recordings"] == 1
        assert (await get("prompts")) is not None
        for path in ("recording/none", "recording/..%2f..%2fetc", "recording/%2e%2e", "session/none", "part/x", "part/9", "__init__/x", f"recording/{name}/path"):
            assert (await client.get(f"/api/{path}")).status_code == 404, path
        for path in ("/assets/000000000000/../server.py", "/assets/000000000000/index.html", "/r/a/b", "/.git/config"):
            assert (await client.get(path)).status_code == 404, path

    run(root, test)


def test_actions_want_their_header(root: Path) -> None:
    async def test(server: Server, client: httpx.AsyncClient) -> None:
        await opened(server, client)
        name = "120000-openrouter-1"
        url, own = f"/api/recording/{name}", {"X-Toolmend": "1"}
        assert (await client.post(f"{url}/pin")).status_code == 403
        assert not (root / "2026-11-28" / name / "pinned").exists()
        assert (await client.post(f"{url}/pin", headers=own)).status_code == 200
        assert (root / "2026-11-28" / name / "pinned").exists()
        assert (await client.post(f"{url}/unpin", headers=own)).status_code == 200
        assert not (root / "2026-11-28" / name / "pinned").exists()
        assert (await client.post(f"{url}/verify", headers=own)).json()["done"]
        assert (await client.post(f"{url}/play", headers=own, json={"dialects": "all"})).json()["same"] is True
        assert (await client.post(f"{url}/promote", headers=own, json={"case": "../x"})).json()["problem"]
        assert (await client.post("/api/recording/none/pin", headers=own)).status_code == 404
        assert (await client.post(f"{url}/remove", headers=own)).status_code in (404, 405)

    run(root, test)


def test_a_session_is_shared_without_what_looks_like_a_secret(root: Path) -> None:
    key = "ghp_" + "Ab3dE6gH9jK2mN5pQ8sT" * 2
    ask = {**WEATHER, "messages": [{"role": "user", "content": f"Use {key[:40]} <script>"}]}
    keep(root / "2026-11-28" / "130000-openrouter-2", in_events(stream(["It is <b>sunny</b>."])), ask, session={"id": "s2", "from": "x"})

    async def test(server: Server, client: httpx.AsyncClient) -> None:
        await opened(server, client)
        own = {"X-Toolmend": "1"}
        assert (await client.post("/api/session/s2/export")).status_code == 403
        [finding] = (await client.post("/api/session/s2/review", headers=own)).json()["findings"]
        assert key[4:30] not in json.dumps(finding)
        page = (await client.post("/api/session/s2/export", headers=own, json={"leave": ["tools"]})).text
        assert key[4:30] not in page
        assert "left out" in page
        assert "It is &lt;b&gt;sunny&lt;/b&gt;." in page
        allowed = (await client.post("/api/session/s2/export", headers=own, json={"allow": [finding["part"]]})).text
        assert "&lt;script&gt;" in allowed
        assert "<script" not in allowed
        assert (await client.post("/api/session/none/export", headers=own)).status_code == 404

    run(root, test)


def test_read_only(root: Path) -> None:
    async def test(server: Server, client: httpx.AsyncClient) -> None:
        await opened(server, client)
        for what, status in (("pin", 403), ("promote", 403), ("play", 200)):
            answer = await client.post(f"/api/recording/120000-openrouter-1/{what}", headers={"X-Toolmend": "1"})
            assert answer.status_code == status

    run(root, test, read_only=True)


def test_a_page_hears_what_changes(root: Path) -> None:
    async def test(server: Server, client: httpx.AsyncClient) -> None:
        await opened(server, client)
        origin, cookie = f"http://127.0.0.1:{server.port}", f"{server.gate.cookie}={client.cookies[server.gate.cookie]}"
        url = f"ws://127.0.0.1:{server.port}/api/live"
        for headers in ({"Cookie": cookie}, {"Origin": origin}, {"Origin": "https://evil.example", "Cookie": cookie}, {"Origin": origin, "Cookie": cookie, "Host": "evil.example"}):
            with pytest.raises(HTTPClientError, match="403"):
                await websocket_connect(HTTPRequest(url, headers=headers))
        socket = await websocket_connect(HTTPRequest(url, headers={"Origin": origin, "Cookie": cookie}))
        assert "hello" in json.loads(str(await socket.read_message()))
        for rubbish in ("{", "[]", '{"watch": 5}', '{"watch": ["x", 99]}'):
            await socket.write_message(rubbish)
        await client.post("/api/recording/120000-openrouter-1/pin", headers={"X-Toolmend": "1"})
        told = json.loads(str(await socket.read_message()))
        assert [row["pinned"] for row in told["rows"]] == [1]
        socket.close()

    run(root, test)


def test_where_it_listens() -> None:
    assert _unix(None) is None
    assert _unix("unix:/x/y") == Path("/x/y")


@pytest.mark.parametrize("word", ["none-such", "12"])
def test_a_recording_that_is_not_there_is_told(root: Path, word: str, capfd: pytest.CaptureFixture[str]) -> None:
    code = main(["ui", "--no-open", "--flows", str(root), "--while", "1", *(["--listen", "x"] if word == "12" else []), word])
    assert code in (2, 3)
    assert "error:" in capfd.readouterr().err
