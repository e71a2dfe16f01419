"""`toolmend_replay`: answers a client's LLM requests from recordings; none of them leaves this machine.

    POST https://api.anthropic.com/v1/messages          POST http://127.0.0.1:PORT/v1/messages
    host: api.anthropic.com                      ─►     host: api.anthropic.com
                                                        x-toolmend-take: SECRET/17/upstream

mitmproxy streams only what a server sends, so a local server on loopback plays the recordings; it requires the secret. Its
responses are handled like any other: chunk by chunk, with the recorded timing, mended, translated, recorded.

The recording for a request is found by the client's side of the recordings: API, model, last messages.
    recorded untranslated                plays the upstream's side, which is mended by the current toolmend
    recorded translated by a route       plays the upstream's side through a route, if one sends the request to that API now;
                                         else the client's side, which needs no route and is mended already
Other requests to an LLM host are answered by local_responses.py or with an error; those to a host on loopback are forwarded, as
other programs listen there.

1. If anything fails, a request that should be answered from recordings is not forwarded.
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
"""The request header that selects what the local server plays; present between the hooks of request and response."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")

MAX_LOGGED = 1000
"""Characters of a log line with a folder's name, or with the reason why a recording cannot be played."""


def reconfigure(running: "Offline | None", settings: Settings) -> "Offline | None":
    """Returns the replay for new settings, reusing the running one if its folder is the same.

    Raises:
        exceptions.OptionsError: There is nothing to play in the folder.
    """
    if running:
        if running.root == settings.replay:
            running.miss, running.globs = settings.replay_miss, settings.hosts
            return running
        running.close()
    return Offline(settings.replay, settings) if settings.replay else None


@value
class Play:
    """What answers a request. `routed`: through the route that takes it. `raw`: the upstream's side, which will be mended."""

    port: int
    ticket: str
    routed: bool
    raw: bool

    def send(self, flow: http.HTTPFlow) -> None:
        """Sends the request to the local server. The rest of the request is unchanged."""
        flow.request.headers[HEADER] = self.ticket
        flow.request.data.scheme, flow.request.data.host, flow.request.data.port = b"http", "127.0.0.1", self.port
        flow.server_conn.via = None  # not through an upstream proxy


def remove_header(flow: http.HTTPFlow) -> None:
    """Removes toolmend's header when the local server has read the request."""
    flow.request.headers.pop(HEADER, None)


class Offline:
    """The recordings of a folder and the local server that plays them."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.root, self.miss, self.globs = root, settings.replay_miss, settings.hosts
        self.shelf, skipped = shelf(entries(root), "client")
        for line in skipped:
            logger.info("toolmend: not played: %s", flow_info.printable(line, MAX_LOGGED))
        if not self.shelf.takes:
            raise exceptions.OptionsError(f"toolmend_replay: no playable recording in {root}")  # type: ignore[no-untyped-call]
        self._secret = secrets.token_hex(16)
        self._server = Upstream(self._serve)
        self._server.__enter__()
        logger.info("toolmend: requests are answered from the recordings in %s: %d", on_one_line(root), len(self.shelf.takes))

    def close(self) -> None:
        self._server.__exit__(None, None, None)

    def play(self, flow: http.HTTPFlow, exchange: LlmExchange | None, candidates: Sequence[Route]) -> Play | None:
        """Returns what answers a request, or None: then the flow has a response already, or goes to its own destination."""
        if not flow.live or flow.response:
            return None
        try:
            if exchange:
                return self._play(flow, exchange, candidates)
            self._other_request(flow, candidates)
        except Exception:
            message = "toolmend: the search for a recording failed"
            logger.exception(message)
            if exchange:
                self._answer(flow, exchange, refusal(Fault(500, message), exchange.api))
        return None

    def _play(self, flow: http.HTTPFlow, exchange: LlmExchange, candidates: Sequence[Route]) -> Play | None:
        body = flow_info.json_object(flow_info.decode_body(exchange.body, exchange.encoding))
        question = ask_of(exchange.api, flow.request.path, body or {})
        match = self.shelf.find(question) if body is not None else Miss("the request's body is not a readable JSON object")
        subject = flow_info.printable(f"{exchange.host} {question.model}".rstrip())
        if isinstance(match, Miss):
            suffix = "; it is forwarded" if self.miss == "forward" else ""
            logger.warning("toolmend: %s: %s%s", subject, flow_info.printable(match.words), suffix)
            if match.excerpt:
                logger.info("toolmend: %s: %s", subject, flow_info.printable(match.excerpt))
            if self.miss == "fail":
                self._answer(flow, exchange, refusal(fault_of(match), exchange.api))
            return None
        route = routed_request.find(flow, candidates, question.model)
        routed = route is not None and route[0].upstream == match.api
        side: Side = "upstream" if routed or match.api == match.client_api else "client"
        exchange.played = match.name
        logger.info("toolmend: %s: played from %s", subject, flow_info.printable(str(match.folder), MAX_LOGGED))
        return Play(self._server.port, f"{self._secret}/{self.shelf.takes.index(match)}/{side}", routed, side == "upstream")

    def _other_request(self, flow: http.HTTPFlow, candidates: Sequence[Route]) -> None:
        """Handles a request that is not an LLM request, such as a list of models."""
        names = [host for host, _ in flow_info.host_candidates(flow)]
        is_llm_host = any(hosts.known(f"{host}:{flow.request.port}", self.globs) for host in names)
        if not (is_llm_host or candidates) or any(host.strip("[]") in LOOPBACK for host in names):
            return
        request = flow.request
        body = flow_info.json_object(flow_info.decode_body(request.raw_content, flow_info.encoding(request)))
        response = local(request.method, request.path, flow_info.headers(request), body, self.shelf.takes)
        if response or self.miss == "fail":
            message = "toolmend: the recordings have no response to this request, and toolmend_replay forwards nothing"
            self._answer(flow, None, response or refusal(Fault(404, message), "chat"))

    def _answer(self, flow: http.HTTPFlow, exchange: LlmExchange | None, response: Script) -> None:
        if exchange:
            exchange.answered = True
        flow.response = http.Response.make(response.status, b"".join(data for _, data in response.chunks), dict(response.headers))

    def _serve(self, request: Request) -> Script:
        """Answers the local server's requests, in its thread."""
        self._server.requests.clear()  # a log for tests; unused here
        secret, _, rest = (request.header(HEADER) or "").partition("/")
        number, _, side = rest.partition("/")
        if not secrets.compare_digest(secret.encode(), self._secret.encode()):
            return refusal(Fault(404, "no such path"), "chat")
        take = self.shelf.takes[int(number)]
        return _script(take, "client" if side == "client" else "upstream")


def _script(take: Take, side: Side) -> Script:
    try:
        return script(load(take.folder), side)
    except (KeyError, TypeError, ValueError) as error:
        message = f"toolmend: the recording {take.name} cannot be played: {error}"
        return refusal(Fault(500, message), take.client_api if side == "client" else take.api)
