"""What a recording is told: the exchange that it is of, and the chunks of its answer.

Rule of this file: values, which know neither files nor threads.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from .fastclass import value

type Chunks = deque[Any]
"""In a row, of each chunk: what came and when, what went to the client for it, and the bytes that it keeps alive.

Not a tuple for each: thousands wait where forty flow, and Python looks for garbage whenever as many more tuples have been made,
for up to 50 ms, in which all of them stand still.
"""

REPLAYED_FROM = "replayed_from"
"""The setting in meta.json of what was recorded while a recording was played. Beside that one it is not played: it is a copy."""


@value
class ExchangeRecord:
    """A flow as it is known when the response headers are in. `path` has the query; bodies have no content coding.

    `status` is 0 as long as only the request is known.
    `api` is the upstream's, `stream` whether it answers with one; `client_api` and `client_stream` are told where the client's
    are others. `route` names the route taken, `notes` says what a translation left out. `refused`: what
    the upstream said of the request before it was changed and sent once more; `learnt`: what was changed in it as an upstream has
    refused it before, or did so now. `wait_ms`: from the
    request to the first byte of the answer, which is of its headers. `scheme` is what the client called `host` by. `transport` is
    told where it is not HTTP's own: "websocket". `session`: as session_ids.py tells it; on the disk its ids are hashes.
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
