"""The provider for a client that speaks Responses over WebSocket: each answer's events are frames, each request's items are added.

Codex begins with a request that is to generate nothing (`"generate": false`), and then sends what is new, with the id of the
response that it follows.
"""

import json
import ssl
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.server import ServerConnection, serve

from tests.agents.provider import Provider
from tests.agents.speaking import Call, Part, speak
from toolmend.recordings.playback.server import Request


class SocketProvider:
    """`requests`: each as the HTTP request that would have said the same."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.requests: list[Request] = []
        self.port = 0
        self._calls: set[str] = set()

    def __call__(self, socket: ServerConnection) -> None:
        asked = socket.request
        assert asked
        headers = tuple((name.lower(), value) for name, value in asked.headers.raw_items())
        items: list[Any] = []
        for message in socket:
            body = json.loads(message)
            items = (items if body.get("previous_response_id") else []) + body["input"]
            whole = {**body, "input": items}
            self.requests.append(Request("POST", asked.path, "HTTP/1.1", headers, json.dumps(whole, ensure_ascii=False).encode()))
            if self.provider.scenario.strict and (unknown := self._unknown(body["input"])):
                error = {"type": "invalid_request_error", "message": f"No tool call found for function call output with call_id {unknown}."}
                socket.send(json.dumps({"type": "error", "status": 400, "error": {**error, "code": None, "param": "input"}}))
                continue
            parts: list[Part] = [] if body.get("generate") is False else list(self.provider.parts(whole))
            self._calls |= {part.id for part in parts if isinstance(part, Call)}
            identity = f"resp_{uuid.uuid4().hex}"
            for _, data in speak("responses", parts, body["model"]):
                socket.send(data.replace("resp_1", identity))

    def _unknown(self, items: list[Any]) -> str | None:
        """The id of a result's call that neither this provider has made nor the client tells of."""
        told = {item["call_id"] for item in items if str(item.get("type")).endswith("_call")}
        results = (item["call_id"] for item in items if str(item.get("type")).endswith("_call_output"))
        return next((result for result in results if result not in self._calls | told), None)


@contextmanager
def listening(provider: SocketProvider, certificate: tuple[Path, Path]) -> Iterator[SocketProvider]:
    """Serves on 127.0.0.1 while the block runs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with serve(provider, "127.0.0.1", 0, ssl=context, max_size=None) as server:
        provider.port = server.socket.getsockname()[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
