"""The routes of the page, on tornado, and the socket that pushes changes to each page.

    GET  /  /s/…  /r/…  /prompts …           one page, without any data        GET /assets/<hash>/…     its files
    POST /api/open                           {"token": …} → a cookie, which all routes below require
    GET  /api/sessions|recordings|session/…|recording/…|search|prompts|part/…|facets|status
    WS   /api/live                           {"rows": […], "gone": […], "live": {"7": {"pieces": …}}}; received: {"watch": [7]}
    POST /api/recording/NAME/pin|unpin|verify|play|promote                  with the header X-Toolmend: 1
    POST /api/session/ID/review|export                                      likewise

1. gate.py checks a request before anything else happens.
2. A recording is looked up in the index by its name: no path is built from a request.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets, bind_unix_socket
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from ... import __version__
from . import details, prices
from .gate import HEADERS, Gate
from .index import PAGE as PAGE_ROWS
from .index import Index, cache_file
from .reading import Row, is_alive
from .watching import FolderWatcher

PAGE = Path(__file__).parent / "page"
MAX_BODY = 64 * 1024
"""Bytes of a request's body."""

GATHER = 0.1
"""Seconds between two messages to a page: changes in between are joined."""

CLOSED = 60.0
"""Seconds without a page after which a server ends if its command has ended: reloading a page closes it for a second."""

READS = 300
"""How many times GATHER an export waits until a session's parts are read."""

FACETS = 5.0
"""Seconds for which the filter values are cached."""

MAX_WAITING = 200
"""Messages queued for a page that does not read: beyond, its socket is closed, and the page reconnects."""

type Json = dict[str, Any]


class Server:
    """The server of one folder.

    Args:
        root: The folder.
        read_only: Whether actions may write nothing. (The mark that a page is open is written anyway.)
        shown_as: The folder's name on the page.
        pid: A process; the server ends when it has ended and no page is open.

    `asked` is called once, at the first new request.
    """

    def __init__(self, root: Path, *, read_only: bool = False, shown_as: str = "", pid: int | None = None) -> None:
        self.root, self.read_only, self.shown_as, self.pid = root, read_only, shown_as or str(root), pid
        self.on_first_request: Callable[[], object] | None = None
        self.gate = Gate("0")
        self.index = Index(cache_file(root))
        self.sockets: set[LiveSocket] = set()
        self.watcher = FolderWatcher(root, self.index, self.broadcast, lambda: bool(self.sockets))
        self.pool = ThreadPoolExecutor(2, "toolmend-ui-detail")
        self.assets = _assets()
        self.version = sha256(b"".join(body for _, body in self.assets.values())).hexdigest()[:12]
        self._facets: tuple[float, Json] = (0.0, {})
        self.left = 0.0  # when the last page was closed
        self.port = 0

    def listen(self, port: int, unix: Path | None = None) -> None:
        """Starts to listen on a port of 127.0.0.1 or a socket. Raises OSError."""
        server = HTTPServer(self._application(), max_body_size=MAX_BODY, max_header_size=16 * 1024, idle_connection_timeout=300)
        if unix:
            server.add_socket(bind_unix_socket(str(unix), mode=0o600))
            self.gate.cookie += f"-{sha256(str(unix).encode()).hexdigest()[:8]}"
        else:
            sockets = bind_sockets(port, "127.0.0.1")
            self.port = self.watcher.port = sockets[0].getsockname()[1]
            self.gate.cookie = f"toolmend-{self.port}"
            server.add_sockets(sockets)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/#{self.gate.token}"

    async def run(self) -> None:
        """Runs until it is cancelled, or until process `pid` has ended and the last page has been closed for a while."""
        task = asyncio.create_task(self.watcher.run())
        try:
            while self.pid is None or is_alive(self.pid) or self.sockets or (self.left and time.monotonic() - self.left < CLOSED):
                done, _ = await asyncio.wait({task}, timeout=1)
                if done:
                    task.result()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
            self.index.close()

    def broadcast(self, message: Json) -> None:
        """Sends a change to every page."""
        if self.on_first_request and any(row["live"] for row in message.get("rows", ())):
            asyncio.get_running_loop().run_in_executor(self.pool, self.on_first_request)
            self.on_first_request = None
        for socket in list(self.sockets):
            socket.enqueue(message)

    def facets(self) -> Json:
        """Returns the values that can be filtered by, at most some seconds old."""
        if time.monotonic() > self._facets[0]:
            self._facets = time.monotonic() + FACETS, self.index.facets()
        return self._facets[1]

    def _application(self) -> Application:
        arguments = {"server": self}
        return Application(
            [
                (r"/assets/[0-9a-f]{12}/([a-z0-9./-]+)", AssetHandler, arguments),
                (r"/api/open", OpenHandler, arguments),
                (r"/api/live", LiveSocket, arguments),
                (r"/api/recording/([^/]+)/(pin|unpin|verify|play|promote)", RecordingActionHandler, arguments),
                (r"/api/session/([^/]+)/(review|export)", ShareHandler, arguments),
                (r"/api/part/([0-9]{1,15})/image/([0-9a-f]{24})", ImageHandler, arguments),
                (r"/api/(.+)", DataHandler, arguments),
                (r"/(?:|sessions|recordings|prompts|suspects|search|s/[^/]+|r/[^/]+)", PageHandler, arguments),
            ],
            default_handler_class=NotFoundHandler,
            default_handler_args=arguments,
            log_function=lambda _: None,  # a URL may contain a search text
            websocket_ping_interval=30,
            compress_response=True,
        )


class BaseHandler(RequestHandler):
    """The base of all handlers."""

    def initialize(self, server: Server) -> None:
        self.ui_server = server

    def set_default_headers(self) -> None:
        for name, text in HEADERS.items():
            self.set_header(name, text)
        self.set_header("Cache-Control", "no-store")

    def prepare(self) -> None:
        if not self.ui_server.gate.is_own(self.request):
            self.refuse(403)

    def refuse(self, status: int) -> None:
        """Responds without a body."""
        self.set_status(status)
        self.clear_header("Content-Type")
        self.finish()

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.refuse(status_code)

    @property
    def is_known(self) -> bool:
        return self.ui_server.gate.is_known(self.get_cookie(self.ui_server.gate.cookie))

    def write_json(self, value: Any) -> None:
        self.set_header("Content-Type", "application/json")
        self.write(json.dumps(value, separators=(",", ":")))


class NotFoundHandler(BaseHandler):
    """All other paths."""

    def prepare(self) -> None:
        self.refuse(404 if self.ui_server.gate.is_own(self.request) else 403)


class PageHandler(BaseHandler):
    """The page, which requests all data that it shows."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.write(self.ui_server.assets["index.html"][1].replace(b"{{version}}", self.ui_server.version.encode()))

    head = get


class AssetHandler(BaseHandler):
    """A file of the page."""

    def get(self, name: str) -> None:
        if name not in self.ui_server.assets or name == "index.html":
            self.refuse(404)
            return
        kind, body = self.ui_server.assets[name]
        self.set_header("Content-Type", kind)
        self.set_header("Cache-Control", "public, max-age=31536000, immutable")
        self.write(body)


class OpenHandler(BaseHandler):
    """Exchanges the token for a cookie."""

    def post(self) -> None:
        try:
            token = json.loads(self.request.body)["token"]
        except (ValueError, KeyError, TypeError, RecursionError):
            token = None
        cookie = self.ui_server.gate.opens(token)
        if cookie is None:
            self.refuse(401)
            return
        self.set_cookie(self.ui_server.gate.cookie, cookie, httponly=True, samesite="Strict", path="/")
        self.write_json({"version": __version__})


class AuthorizedHandler(BaseHandler):
    """The base of handlers that require the cookie."""

    def prepare(self) -> None:
        super().prepare()
        if not (self._finished or self.is_known):
            self.refuse(401)

    async def thread(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.ui_server.pool, function, *args)

    def recording_row(self, name: str) -> Row | None:
        """Returns a recording by id or name, or None."""
        index = self.ui_server.index
        return (index.row(int(name)) if name.isascii() and name.isdigit() and len(name) < 16 else None) or index.by_name(name)


class DataHandler(AuthorizedHandler):
    """The data of the pages."""

    async def get(self, path: str) -> None:
        resource, _, rest = path.partition("/")
        answer: Callable[[str], Awaitable[Any]] | None = getattr(self, f"_{resource}", None) if resource in ADDRESSES else None
        value = await answer(rest) if answer else None
        if value is None:
            self.refuse(404)
        else:
            self.write_json(value)

    def _filters(self) -> dict[str, str]:
        names = ("q", "state", "rule", "model", "agent", "host", "session")
        return {name: self.get_query_argument(name, "")[:200] for name in names}

    def _page(self) -> tuple[str, int]:
        limit, before = self.get_query_argument("limit", "200"), self.get_query_argument("before", "")
        try:
            [float(word) for word in before.split(",") if before]
        except ValueError:
            before = ""
        return before[:60], int(limit) if limit.isdecimal() and len(limit) < 6 else PAGE_ROWS

    async def _sessions(self, _: str) -> Any:
        before, limit = self._page()
        rows = self.ui_server.index.sessions(before.partition(",")[0], limit, **self._filters())
        return {"sessions": rows, "live": self._live()}

    async def _recordings(self, _: str) -> Any:
        before, limit = self._page()
        rows = self.ui_server.index.rows(before, limit, **self._filters())
        return {"recordings": [self.ui_server.watcher.shown(row) for row in rows]}

    def _live(self) -> list[Row]:
        return [self.ui_server.watcher.shown(one.row) for one in self.ui_server.watcher.growing.values()]

    async def _status(self, _: str) -> Any:
        return {
            "version": __version__,
            "folder": self.ui_server.shown_as,
            "recordings": self.ui_server.index.count(),
            "reading": self.ui_server.index.count_unread(),
            "ready": not self.ui_server.watcher.first,
            "read_only": self.ui_server.read_only,
            "prices": prices.price_table(),
            "now": time.time(),
            "facets": self.ui_server.facets(),
        }

    async def _session(self, key: str) -> Any:
        since = self.get_query_argument("since", "0")
        shown = details.session(self.ui_server.index, key, float(since) if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", since) else 0.0)
        if shown:
            shown["recordings"] = [self.ui_server.watcher.shown(row) for row in shown["recordings"]]
        return shown

    async def _recording(self, rest: str) -> Any:
        name, _, resource = rest.partition("/")
        row = self.recording_row(name)
        if row is None:
            return None
        match resource.split("/"):
            case [""]:
                shown = await self.thread(details.recording, row)
                before, after = self.ui_server.index.before(row), self.ui_server.index.after(row)
                return shown | {"before": _brief(before), "after": _brief(after), "row": self.ui_server.watcher.shown(row)}
            case ["parts"]:
                return {"parts": details.parts(self.ui_server.index, row)}
            case ["context"]:
                return {"parts": details.context(self.ui_server.index, row)}
            case ["diff"]:
                against = self.get_query_argument("against", "prev")
                other = self.ui_server.index.before(row) if against == "prev" else self.recording_row(against)
                return details.difference(self.ui_server.index, row, other)
            case ["events"]:
                first, count = (self.get_query_argument(name, "1") for name in ("from", "n"))
                if not (first.isdecimal() and count.isdecimal()):
                    return None
                return {"events": await self.thread(details.events, row, int(first[:9]), int(count[:9]))}
            case ["curl"]:
                return {"text": await self.thread(details.curl, row)}
            case _:
                return None

    async def _search(self, _: str) -> Any:
        text = self.get_query_argument("q", "")[:200]
        return {"hits": self.ui_server.index.search(text) if text.strip() else [], "reading": self.ui_server.index.count_unread()}

    async def _prompts(self, _: str) -> Any:
        return {"prompts": self.ui_server.index.prompts()}

    async def _part(self, key: str) -> Any:
        key, _, other = key.partition("/")
        if not (key.isdecimal() and len(key) < 16):
            return None
        shown = details.part(self.ui_server.index, int(key))
        if other and other.isdecimal() and len(other) < 16 and shown:
            one, two = self.ui_server.index.part(int(other)), self.ui_server.index.part(int(key))
            if one and two:
                shown["lines"] = await self.thread(details.lines, details._text(one), details._text(two))  # noqa: SLF001
        return shown


ADDRESSES = frozenset({"sessions", "recordings", "status", "session", "recording", "search", "prompts", "part"})
"""The routes below /api/."""


class ActionBase(AuthorizedHandler):
    """The base of handlers that require a header, which links and forms cannot send."""

    def prepare(self) -> None:
        super().prepare()
        if not self._finished and self.request.headers.get("X-Toolmend") != "1":
            self.refuse(403)

    @property
    def body(self) -> Json:
        """The JSON object in the request's body; empty if there is none."""
        try:
            body = json.loads(self.request.body or b"{}")
        except (ValueError, RecursionError):
            return {}
        return body if isinstance(body, dict) else {}


class ImageHandler(AuthorizedHandler):
    """An image in a part, sent so that nothing in it is executed."""

    async def get(self, key: str, name: str) -> None:
        found = details.image(self.ui_server.index, int(key), name)
        if found is None:
            self.refuse(404)
            return
        kind, body = found
        self.set_header("Content-Type", kind)
        self.set_header("Content-Security-Policy", "default-src 'none'; sandbox")
        self.set_header("Content-Disposition", "inline")
        self.set_header("Cache-Control", "private, max-age=86400, immutable")
        self.write(body)


class ShareHandler(ActionBase):
    """Exports a session for somebody else: first a review, then the page."""

    async def post(self, key: str, action: str) -> None:
        from . import sharing  # noqa: PLC0415  rarely used

        for _ in range(READS):  # unread parts cannot be scanned for secrets
            if not any(row["whole"] == 0 and not row["live"] for row in self.ui_server.index.of_session(key)):
                break
            await asyncio.sleep(GATHER)
        else:
            self.refuse(503)
            return
        rows = self.ui_server.index.firsts(key)
        if not rows:
            self.refuse(404)
            return
        if action == "review":
            self.write_json({"findings": await self.thread(sharing.review, rows)})
            return
        body = self.body
        allow, leave = ({one for one in body.get(name) or () if isinstance(one, int | str)} for name in ("allow", "leave"))
        title = self.ui_server.index.sessions(session=key)[0].get("title") or ""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Disposition", "attachment; filename=session.html")
        self.write(await self.thread(sharing.page, title, rows, allow, leave))


class RecordingActionHandler(ActionBase):
    """Runs an action on a recording."""

    async def post(self, name: str, action: str) -> None:
        row = self.recording_row(name)
        if row is None:
            self.refuse(404)
            return
        if self.ui_server.read_only and action in ("pin", "unpin", "promote"):
            self.refuse(403)
            return
        from . import actions  # noqa: PLC0415  slow: imports the whole pipeline

        outcome = await self.thread(getattr(actions, action), row, self.body)
        if action in ("pin", "unpin"):
            self.ui_server.index.put([row | {"pinned": int(action == "pin")}])
            self.ui_server.broadcast({"rows": [self.ui_server.index.row(row["id"])]})
        self.write_json(outcome)


class LiveSocket(WebSocketHandler):
    """The socket of one page: sends changes, and the text of the answers that the page shows."""

    def initialize(self, server: Server) -> None:
        self.ui_server = server
        self.watched: set[int] = set()
        self._rows: dict[int, Row] = {}
        self._rest: Json = {}
        self._pieces: dict[int, list[Any]] = {}
        self._live: Json = {}
        self._scheduled = False
        self._sent_at = 0.0
        self._sending = 0

    def set_default_headers(self) -> None:
        for name, text in HEADERS.items():
            self.set_header(name, text)

    def prepare(self) -> None:
        known = self.ui_server.gate.is_known(self.get_cookie(self.ui_server.gate.cookie))
        if not (self.ui_server.gate.is_own(self.request, socket=True) and known):
            self.set_status(403)
            self.finish()

    def check_origin(self, origin: str) -> bool:
        return True  # checked by the gate

    def get_compression_options(self) -> dict[str, Any] | None:
        return {}

    def open(self, *args: str, **kwargs: str) -> None:
        self.set_nodelay(True)
        self.ui_server.sockets.add(self)
        self.enqueue({"hello": __version__, "now": time.time()})

    def on_close(self) -> None:
        self.ui_server.sockets.discard(self)
        self.ui_server.left = time.monotonic()

    async def on_message(self, message: str | bytes) -> None:
        try:
            keys = json.loads(message)["watch"]
            keys = {key for key in keys if isinstance(key, int)}
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        for key in keys - self.watched:
            if found := self.ui_server.watcher.follow(key):
                self._pieces[key] = [["", ""], *found["pieces"]]  # from the beginning
                self._live[str(key)] = {name: value for name, value in found.items() if name != "pieces"}
        self.watched = keys
        self._schedule()

    def enqueue(self, message: Json) -> None:
        """Queues a change; it is sent together with others that occur now."""
        self._rows |= {row["id"]: row for row in message.get("rows", ())}
        for key, one in message.get("live", {}).items():
            if int(key) in self.watched:
                self._pieces.setdefault(int(key), []).extend(one["pieces"])
            self._live[key] = {name: value for name, value in one.items() if name != "pieces"}
        for name, value in message.items():
            if name == "gone":
                self._rest["gone"] = [*self._rest.get("gone", []), *value]
            elif name not in ("rows", "live"):
                self._rest[name] = value
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            loop = asyncio.get_running_loop()
            loop.call_at(max(loop.time(), self._sent_at + GATHER), self._flush)

    def _flush(self) -> None:
        self._scheduled, self._sent_at = False, asyncio.get_running_loop().time()
        message = dict(self._rest)
        if self._rows:
            message["rows"] = list(self._rows.values())[:1000]
        if self._live or self._pieces:
            message["live"] = {str(key): {} for key in self._pieces} | self._live
            for key, pieces in self._pieces.items():
                message["live"][str(key)]["pieces"] = pieces
        self._rows, self._rest, self._pieces, self._live = {}, {}, {}, {}
        if not message:
            return
        if self._sending > MAX_WAITING:
            self.close()
            return
        self._sending += 1
        task = asyncio.ensure_future(self._send(json.dumps(message, separators=(",", ":"))))
        task.add_done_callback(lambda _: None)

    async def _send(self, text: str) -> None:
        with suppress(WebSocketClosedError, StreamClosedError):
            await self.write_message(text)
        self._sending -= 1


def _assets() -> dict[str, tuple[str, bytes]]:
    """Returns every file of the page by name, with its content type."""
    kinds = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
    files = (path for path in sorted(PAGE.rglob("*")) if path.suffix in kinds and path.is_file())
    return {path.relative_to(PAGE).as_posix(): (f"{kinds[path.suffix]}; charset=utf-8", path.read_bytes()) for path in files}


def _brief(row: Row | None) -> Json | None:
    return row and {"id": row["id"], "name": row["name"]}
