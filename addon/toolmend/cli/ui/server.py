"""The addresses of the page, on tornado, and the socket by which each page hears what changes.

    GET  /  /s/…  /r/…  /prompts …           one page, without any data        GET /assets/<hash>/…     what it is made of
    POST /api/open                           {"token": …} → a cookie, which all below want
    GET  /api/sessions|recordings|session/…|recording/…|search|prompts|part/…|facets|status
    WS   /api/live                           {"rows": […], "gone": […], "live": {"7": {"pieces": …}}}; sent: {"watch": [7]}
    POST /api/recording/NAME/pin|unpin|verify|play|promote                  with the header X-Toolmend: 1
    POST /api/session/ID/review|export                                      likewise

Rule of this file: gate.py decides who is answered, before anything else is looked at. A recording is named by its name, which is
looked up in the index: no path is made of it.
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
from .watching import Watcher

PAGE = Path(__file__).parent / "page"
MAX_BODY = 64 * 1024
"""Bytes of what a page may send."""

GATHER = 0.1
"""Seconds between two messages to a page: what changes meanwhile is told together."""

CLOSED = 60.0
"""Seconds without a page after which a server ends whose command has ended: a page that is loaded anew is gone for one."""

READS = 300
"""So many times GATHER it is waited until a session is read."""

FACETS = 5.0
"""Seconds for which it is kept what can be filtered by."""

MAX_WAITING = 200
"""Messages that wait for a page that does not read: then it is closed, and begins anew."""

type Json = dict[str, Any]


class Server:
    """One folder, served. `read_only`: nothing is written but the mark that somebody looks.

    `pid`: it ends when this process has, and no page is open any more. `asked` is called once, at the first new request.
    """

    def __init__(self, root: Path, *, read_only: bool = False, shown_as: str = "", pid: int | None = None) -> None:
        self.root, self.read_only, self.shown_as, self.pid = root, read_only, shown_as or str(root), pid
        self.asked: Callable[[], object] | None = None
        self.gate = Gate("0")
        self.index = Index(cache_file(root))
        self.sockets: set[Live] = set()
        self.watcher = Watcher(root, self.index, self.tell, lambda: bool(self.sockets))
        self.pool = ThreadPoolExecutor(2, "toolmend-ui-detail")
        self.assets = _assets()
        self.version = sha256(b"".join(body for _, body in self.assets.values())).hexdigest()[:12]
        self._facets: tuple[float, Json] = (0.0, {})
        self.left = 0.0  # when the last page went
        self.port = 0

    def listen(self, port: int, unix: Path | None = None) -> None:
        """Raises OSError."""
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
        """Until it is cancelled, or the process has ended that it is for, and the last page is closed for a while."""
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

    def tell(self, message: Json) -> None:
        """Every page hears of it."""
        if self.asked and any(row["live"] for row in message.get("rows", ())):
            asyncio.get_running_loop().run_in_executor(self.pool, self.asked)
            self.asked = None
        for socket in list(self.sockets):
            socket.hear(message)

    def facets(self) -> Json:
        """What can be filtered by, as it was some seconds ago."""
        if time.monotonic() > self._facets[0]:
            self._facets = time.monotonic() + FACETS, self.index.facets()
        return self._facets[1]

    def _application(self) -> Application:
        given = {"server": self}
        return Application(
            [
                (r"/assets/[0-9a-f]{12}/([a-z0-9./-]+)", Asset, given),
                (r"/api/open", Open, given),
                (r"/api/live", Live, given),
                (r"/api/recording/([^/]+)/(pin|unpin|verify|play|promote)", Action, given),
                (r"/api/session/([^/]+)/(review|export)", Share, given),
                (r"/api/part/([0-9]{1,15})/image/([0-9a-f]{24})", Picture, given),
                (r"/api/(.+)", Api, given),
                (r"/(?:|sessions|recordings|prompts|suspects|search|s/[^/]+|r/[^/]+)", Shell, given),
            ],
            default_handler_class=Missing,
            default_handler_args=given,
            log_function=lambda _: None,  # an address may hold what is searched for
            websocket_ping_interval=30,
            compress_response=True,
        )


class Base(RequestHandler):
    """What all addresses have in common."""

    def initialize(self, server: Server) -> None:
        self.own = server

    def set_default_headers(self) -> None:
        for name, text in HEADERS.items():
            self.set_header(name, text)
        self.set_header("Cache-Control", "no-store")

    def prepare(self) -> None:
        if not self.own.gate.is_own(self.request):
            self.refuse(403)

    def refuse(self, status: int) -> None:
        """Not a byte."""
        self.set_status(status)
        self.clear_header("Content-Type")
        self.finish()

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.refuse(status_code)

    @property
    def is_known(self) -> bool:
        return self.own.gate.is_known(self.get_cookie(self.own.gate.cookie))

    def say(self, value: Any) -> None:
        self.set_header("Content-Type", "application/json")
        self.write(json.dumps(value, separators=(",", ":")))


class Missing(Base):
    """Whatever else is asked for."""

    def prepare(self) -> None:
        self.refuse(404 if self.own.gate.is_own(self.request) else 403)


class Shell(Base):
    """The page, which asks for all that it shows."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.write(self.own.assets["index.html"][1].replace(b"{{version}}", self.own.version.encode()))

    head = get


class Asset(Base):
    """A file of ours."""

    def get(self, name: str) -> None:
        if name not in self.own.assets or name == "index.html":
            self.refuse(404)
            return
        kind, body = self.own.assets[name]
        self.set_header("Content-Type", kind)
        self.set_header("Cache-Control", "public, max-age=31536000, immutable")
        self.write(body)


class Open(Base):
    """The token becomes a cookie."""

    def post(self) -> None:
        try:
            token = json.loads(self.request.body)["token"]
        except (ValueError, KeyError, TypeError, RecursionError):
            token = None
        cookie = self.own.gate.opens(token)
        if cookie is None:
            self.refuse(401)
            return
        self.set_cookie(self.own.gate.cookie, cookie, httponly=True, samesite="Strict", path="/")
        self.say({"version": __version__})


class Known(Base):
    """An address that wants the cookie."""

    def prepare(self) -> None:
        super().prepare()
        if not (self._finished or self.is_known):
            self.refuse(401)

    async def thread(self, what: Callable[..., Any], *given: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.own.pool, what, *given)

    def found(self, name: str) -> Row | None:
        """A recording, by its number or its name."""
        index = self.own.index
        return (index.row(int(name)) if name.isascii() and name.isdigit() and len(name) < 16 else None) or index.by_name(name)


class Api(Known):
    """What a page shows."""

    async def get(self, path: str) -> None:
        what, _, rest = path.partition("/")
        answer: Callable[[str], Awaitable[Any]] | None = getattr(self, f"_{what}", None) if what in ADDRESSES else None
        value = await answer(rest) if answer else None
        if value is None:
            self.refuse(404)
        else:
            self.say(value)

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
        rows = self.own.index.sessions(before.partition(",")[0], limit, **self._filters())
        return {"sessions": rows, "live": self._live()}

    async def _recordings(self, _: str) -> Any:
        before, limit = self._page()
        rows = self.own.index.rows(before, limit, **self._filters())
        return {"recordings": [self.own.watcher.shown(row) for row in rows]}

    def _live(self) -> list[Row]:
        return [self.own.watcher.shown(one.row) for one in self.own.watcher.growing.values()]

    async def _status(self, _: str) -> Any:
        return {
            "version": __version__,
            "folder": self.own.shown_as,
            "recordings": self.own.index.count(),
            "reading": self.own.index.left(),
            "ready": not self.own.watcher.first,
            "read_only": self.own.read_only,
            "prices": prices.known(),
            "now": time.time(),
            "facets": self.own.facets(),
        }

    async def _session(self, key: str) -> Any:
        since = self.get_query_argument("since", "0")
        shown = details.session(self.own.index, key, float(since) if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", since) else 0.0)
        if shown:
            shown["recordings"] = [self.own.watcher.shown(row) for row in shown["recordings"]]
        return shown

    async def _recording(self, rest: str) -> Any:
        name, _, what = rest.partition("/")
        row = self.found(name)
        if row is None:
            return None
        match what.split("/"):
            case [""]:
                shown = await self.thread(details.recording, row)
                before, after = self.own.index.before(row), self.own.index.after(row)
                return shown | {"before": _brief(before), "after": _brief(after), "row": self.own.watcher.shown(row)}
            case ["parts"]:
                return {"parts": details.parts(self.own.index, row)}
            case ["context"]:
                return {"parts": details.context(self.own.index, row)}
            case ["diff"]:
                against = self.get_query_argument("against", "prev")
                other = self.own.index.before(row) if against == "prev" else self.found(against)
                return details.difference(self.own.index, row, other)
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
        return {"hits": self.own.index.search(text) if text.strip() else [], "reading": self.own.index.left()}

    async def _prompts(self, _: str) -> Any:
        return {"prompts": self.own.index.prompts()}

    async def _part(self, key: str) -> Any:
        key, _, other = key.partition("/")
        if not (key.isdecimal() and len(key) < 16):
            return None
        shown = details.part(self.own.index, int(key))
        if other and other.isdecimal() and len(other) < 16 and shown:
            one, two = self.own.index.part(int(other)), self.own.index.part(int(key))
            if one and two:
                shown["lines"] = await self.thread(details.lines, details._text(one), details._text(two))  # noqa: SLF001
        return shown


ADDRESSES = frozenset({"sessions", "recordings", "status", "session", "recording", "search", "prompts", "part"})
"""What can be asked for below /api/."""


class Asked(Known):
    """An address that a link, or a form, cannot ask for: it wants a header."""

    def prepare(self) -> None:
        super().prepare()
        if not self._finished and self.request.headers.get("X-Toolmend") != "1":
            self.refuse(403)

    @property
    def given(self) -> Json:
        """What the page sends."""
        try:
            body = json.loads(self.request.body or b"{}")
        except (ValueError, RecursionError):
            return {}
        return body if isinstance(body, dict) else {}


class Picture(Known):
    """An image of a part: nothing in it is obeyed, whatever it holds."""

    async def get(self, key: str, name: str) -> None:
        found = details.image(self.own.index, int(key), name)
        if found is None:
            self.refuse(404)
            return
        kind, body = found
        self.set_header("Content-Type", kind)
        self.set_header("Content-Security-Policy", "default-src 'none'; sandbox")
        self.set_header("Content-Disposition", "inline")
        self.set_header("Cache-Control", "private, max-age=86400, immutable")
        self.write(body)


class Share(Asked):
    """A session for somebody else: what is to be read first, and the page."""

    async def post(self, key: str, what: str) -> None:
        from . import sharing  # noqa: PLC0415  few want it

        for _ in range(READS):  # what is not read yet cannot be searched
            if not any(row["whole"] == 0 and not row["live"] for row in self.own.index.of_session(key)):
                break
            await asyncio.sleep(GATHER)
        else:
            self.refuse(503)
            return
        rows = self.own.index.firsts(key)
        if not rows:
            self.refuse(404)
            return
        if what == "review":
            self.say({"findings": await self.thread(sharing.review, rows)})
            return
        given = self.given
        allow, leave = ({one for one in given.get(name) or () if isinstance(one, int | str)} for name in ("allow", "leave"))
        title = self.own.index.sessions(session=key)[0].get("title") or ""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Disposition", "attachment; filename=session.html")
        self.write(await self.thread(sharing.page, title, rows, allow, leave))


class Action(Asked):
    """What a page has done with a recording."""

    async def post(self, name: str, what: str) -> None:
        row = self.found(name)
        if row is None:
            self.refuse(404)
            return
        if self.own.read_only and what in ("pin", "unpin", "promote"):
            self.refuse(403)
            return
        from . import actions  # noqa: PLC0415  slow: all of the mending

        told = await self.thread(getattr(actions, what), row, self.given)
        if what in ("pin", "unpin"):
            self.own.index.put([row | {"pinned": int(what == "pin")}])
            self.own.tell({"rows": [self.own.index.row(row["id"])]})
        self.say(told)


class Live(WebSocketHandler):
    """One page's socket: what changes, and of answers that it shows, what they say."""

    def initialize(self, server: Server) -> None:
        self.own = server
        self.watched: set[int] = set()
        self._rows: dict[int, Row] = {}
        self._rest: Json = {}
        self._pieces: dict[int, list[Any]] = {}
        self._live: Json = {}
        self._waits = False
        self._told = 0.0
        self._sending = 0

    def set_default_headers(self) -> None:
        for name, text in HEADERS.items():
            self.set_header(name, text)

    def prepare(self) -> None:
        known = self.own.gate.is_known(self.get_cookie(self.own.gate.cookie))
        if not (self.own.gate.is_own(self.request, socket=True) and known):
            self.set_status(403)
            self.finish()

    def check_origin(self, origin: str) -> bool:
        return True  # the gate has looked

    def get_compression_options(self) -> dict[str, Any] | None:
        return {}

    def open(self, *args: str, **kwargs: str) -> None:
        self.set_nodelay(True)
        self.own.sockets.add(self)
        self.hear({"hello": __version__, "now": time.time()})

    def on_close(self) -> None:
        self.own.sockets.discard(self)
        self.own.left = time.monotonic()

    async def on_message(self, message: str | bytes) -> None:
        try:
            keys = json.loads(message)["watch"]
            keys = {key for key in keys if isinstance(key, int)}
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        for key in keys - self.watched:
            if found := self.own.watcher.follow(key):
                self._pieces[key] = [["", ""], *found["pieces"]]  # anew
                self._live[str(key)] = {name: value for name, value in found.items() if name != "pieces"}
        self.watched = keys
        self._soon()

    def hear(self, message: Json) -> None:
        """Something has changed; it is told with what else changes now."""
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
        self._soon()

    def _soon(self) -> None:
        if not self._waits:
            self._waits = True
            loop = asyncio.get_running_loop()
            loop.call_at(max(loop.time(), self._told + GATHER), self._tell)

    def _tell(self) -> None:
        self._waits, self._told = False, asyncio.get_running_loop().time()
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
    """Every file of the page, by its name, with its kind."""
    kinds = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
    files = (path for path in sorted(PAGE.rglob("*")) if path.suffix in kinds and path.is_file())
    return {path.relative_to(PAGE).as_posix(): (f"{kinds[path.suffix]}; charset=utf-8", path.read_bytes()) for path in files}


def _brief(row: Row | None) -> Json | None:
    return row and {"id": row["id"], "name": row["name"]}
