"""Offline: the LLM requests of a client are answered from recordings, and nothing of them goes out.

    POST https://api.anthropic.com/v1/messages          POST http://127.0.0.1:PORT/v1/messages
    host: api.anthropic.com                      ─►     host: api.anthropic.com
                                                        x-toolmend-take: SECRET/17/upstream

mitmproxy streams only what comes from a server, so there is one: here, on loopback, and it answers nobody who does not know the
secret. What comes from it goes the way of every response: chunk by chunk, in its time, mended, translated, recorded.

What is played for a request is told by the client's side of the recordings: its API, its model, its last messages.
    recorded as it came                  what the upstream said; it is mended by the toolmend of today
    recorded translated by a route       if a route takes the request to that API now: what the upstream said, through the route
                                         else: what the client got, which needs no route and is mended already
An LLM host's other requests are answered by local_responses.py, or get an error; those to a host on loopback go on, as other
programs listen there.

Rule of this file: whatever fails, a request that is to be answered from recordings does not go out.
"""

import logging
import secrets
from collections.abc import Sequence
from pathlib import Path

from mitmproxy import exceptions, http

from ..apis.shared.errors import Fault
from ..config.data_folder import on_one_line
from ..config.settings import Settings
from ..core.fastclass import value
from ..providers import hosts
from ..providers.routes import Route
from ..recordings.playback.playback import Side, fault_of, local, refusal, script, shelf
from ..recordings.playback.request_fingerprint import ask_of
from ..recordings.playback.request_matching import Miss, Take
from ..recordings.playback.server import Request, Script, Upstream
from ..recordings.read.library import entries
from ..recordings.read.replay import load
from . import flow_info, routed_request
from .exchange import LlmExchange

logger = logging.getLogger(__name__)

HEADER = "x-toolmend-take"
"""Tells our server what to play; it stands in the request between the hooks of request and response."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")

MAX_SAID = 1000
"""Characters of a line of the log that has a folder's name in it, or what is wrong with a recording."""


def switch(running: "Offline | None", settings: Settings) -> "Offline | None":
    """What is right for the settings. Raises exceptions.OptionsError."""
    if running:
        if running.root == settings.replay:
            running.miss, running.globs = settings.replay_miss, settings.hosts
            return running
        running.close()
    return Offline(settings.replay, settings) if settings.replay else None


@value
class Play:
    """What answers a request. `routed`: through the route that takes it. `raw`: it is the upstream's, and to be mended."""

    port: int
    ticket: str
    routed: bool
    raw: bool

    def send(self, flow: http.HTTPFlow) -> None:
        """Sends the request to our server; of the request itself nothing changes."""
        flow.request.headers[HEADER] = self.ticket
        flow.request.data.scheme, flow.request.data.host, flow.request.data.port = b"http", "127.0.0.1", self.port
        flow.server_conn.via = None  # an upstream proxy is not for us


def sent(flow: http.HTTPFlow) -> None:
    """The request has been read by our server: what we wrote into it goes."""
    flow.request.headers.pop(HEADER, None)


class Offline:
    """The recordings of a folder, and the server that plays them."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.root, self.miss, self.globs = root, settings.replay_miss, settings.hosts
        self.shelf, left_out = shelf(entries(root), "client")
        for line in left_out:
            logger.info("toolmend: not played: %s", flow_info.printable(line, MAX_SAID))
        if not self.shelf.takes:
            raise exceptions.OptionsError(f"toolmend_replay: there is no recording to play in {root}")  # type: ignore[no-untyped-call]
        self._secret = secrets.token_hex(16)
        self._server = Upstream(self._serve)
        self._server.__enter__()
        logger.info("toolmend: requests are answered from the recordings in %s: %d", on_one_line(root), len(self.shelf.takes))

    def close(self) -> None:
        self._server.__exit__(None, None, None)

    def play(self, flow: http.HTTPFlow, exchange: LlmExchange | None, candidates: Sequence[Route]) -> Play | None:
        """What answers a request; None: nothing does. Then it has a response, or goes where it always went."""
        if not flow.live or flow.response:
            return None
        try:
            if exchange:
                return self._play(flow, exchange, candidates)
            self._beside(flow, candidates)
        except Exception:
            wrong = "toolmend: no recording could be looked for"
            logger.exception(wrong)
            if exchange:
                self._answer(flow, exchange, refusal(Fault(500, wrong), exchange.api))
        return None

    def _play(self, flow: http.HTTPFlow, exchange: LlmExchange, candidates: Sequence[Route]) -> Play | None:
        body = flow_info.json_object(flow_info.decode_body(exchange.body, exchange.encoding))
        asked = ask_of(exchange.api, flow.request.path, body or {})
        found = self.shelf.find(asked) if body is not None else Miss("the request's body is no JSON object that can be read")
        about = flow_info.printable(f"{exchange.host} {asked.model}".rstrip())
        if isinstance(found, Miss):
            then = "; it is forwarded" if self.miss == "forward" else ""
            logger.warning("toolmend: %s: %s%s", about, flow_info.printable(found.words), then)
            if found.excerpt:
                logger.info("toolmend: %s: %s", about, flow_info.printable(found.excerpt))
            if self.miss == "fail":
                self._answer(flow, exchange, refusal(fault_of(found), exchange.api))
            return None
        route = routed_request.find(flow, candidates, asked.model)
        routed = route is not None and route[0].upstream == found.api
        side: Side = "upstream" if routed or found.api == found.client_api else "client"
        exchange.played = found.name
        logger.info("toolmend: %s: played from %s", about, flow_info.printable(str(found.folder), MAX_SAID))
        return Play(self._server.port, f"{self._secret}/{self.shelf.takes.index(found)}/{side}", routed, side == "upstream")

    def _beside(self, flow: http.HTTPFlow, candidates: Sequence[Route]) -> None:
        """A request that is none for a message."""
        places = [host for host, _ in flow_info.host_candidates(flow)]
        known = any(hosts.known(f"{host}:{flow.request.port}", self.globs) for host in places)
        if not (known or candidates) or any(host.strip("[]") in LOOPBACK for host in places):
            return
        request = flow.request
        body = flow_info.json_object(flow_info.decode_body(request.raw_content, flow_info.encoding(request)))
        given = local(request.method, request.path, flow_info.headers(request), body, self.shelf.takes)
        if given or self.miss == "fail":
            wrong = "toolmend: the recordings have no answer to this, and nothing goes out"
            self._answer(flow, None, given or refusal(Fault(404, wrong), "chat"))

    def _answer(self, flow: http.HTTPFlow, exchange: LlmExchange | None, given: Script) -> None:
        if exchange:
            exchange.answered = True
        flow.response = http.Response.make(given.status, b"".join(data for _, data in given.chunks), dict(given.headers))

    def _serve(self, request: Request) -> Script:
        """In the server's thread."""
        self._server.requests.clear()  # nobody reads them
        secret, _, rest = (request.header(HEADER) or "").partition("/")
        number, _, side = rest.partition("/")
        if not secrets.compare_digest(secret.encode(), self._secret.encode()):
            return refusal(Fault(404, "there is nothing here"), "chat")
        take = self.shelf.takes[int(number)]
        return _script(take, "client" if side == "client" else "upstream")


def _script(take: Take, side: Side) -> Script:
    try:
        return script(load(take.folder), side)
    except (KeyError, TypeError, ValueError) as error:
        wrong = f"toolmend: the recording {take.name} cannot be played: {error}"
        return refusal(Fault(500, wrong), take.client_api if side == "client" else take.api)
