"""The values that a recording is made from: the exchange, and the chunks of its response. No files, no threads."""

from collections import deque
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from .fastclass import value

type Chunks = deque[Any]
"""A flat sequence of three entries per chunk: what arrived and when, what was sent for it, and the size of the bytes it keeps.

Not a tuple per chunk: thousands wait when forty streams are recorded, and the garbage collector runs after as many new tuples,
for up to 50 ms, which stops all streams.
"""

REPLAYED_FROM = "replayed_from"
"""The setting in meta.json that marks an exchange recorded during playback. Such a copy is not played next to its original."""


@value
class ExchangeRecord:
    """A flow once its response headers are known. `path` includes the query; bodies are stored without content encoding.

    Attributes:
        status: 0 while only the request is known.
        api, stream: Of the upstream; stream: whether the response is a stream.
        client_api, client_stream: Of the client, set only if they differ.
        route: The name of the route taken.
        notes: What a translation left out.
        refused: The upstream's error for the request before it was changed and sent once more.
        learnt: The changes made because an upstream refuses the request without them.
        wait_ms: From the request to the first byte of the response headers.
        scheme: Of the URL that the client used.
        transport: Set if it is not plain HTTP: "websocket".
        session: See session_ids.py; on disk its ids are hashes.
    """

    flow_id: str
    provider: str
    api: str
    model: str
    method: str
    host: str
    path: str
    http_version: str
    status: int
    request_headers: tuple[tuple[str, str], ...]
    response_headers: tuple[tuple[str, str], ...]
    request: bytes
    upstream_request: bytes | None
    stream: bool
    settings: Mapping[str, str]
    client_api: str = ""
    client_stream: bool | None = None
    route: str = ""
    notes: tuple[str, ...] = ()
    wait_ms: float | None = None
    scheme: str = ""
    transport: str = ""
    session: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    learnt: tuple[str, ...] = ()
