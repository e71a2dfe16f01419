"""What a soak plays: streams of every API, mended and translated, whole messages, errors, streams that break off, clients that leave.

    SCENARIOS["gzip"].answer(dice)  →  what the upstream says     .path, .request  what the client asks     .leaves  it does not stay

Rule of this file: it is a table. What a row plays is drawn anew each time, but always the same for the same number.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tests.patterns import all_patterns
from tests.support import upstream_answers
from tests.support.streams import body_of
from toolmend.recordings.playback.server import Script

from . import bodies
from .load import directive

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}

ROUTES = [(client, upstream) for client in bodies.APIS for upstream in bodies.APIS if client != upstream]
"""Who asks in one API and is answered in another."""

JSON = (("content-type", "application/json"),)


@dataclass(frozen=True)
class Scenario:
    """`client` and `upstream` are APIs. `complete`: the client must get a whole answer."""

    answer: Callable[[random.Random, str], Script]
    client: str = "chat"
    upstream: str = "chat"
    leaves: bool = False
    complete: bool = True

    @property
    def path(self) -> str:
        """What the client calls; a route's begins with where it goes."""
        prefix = f"/to-{self.upstream}" if self.client != self.upstream else ""
        return prefix + PATHS[self.client]

    def request(self, name: str, number: int) -> bytes:
        """The client's request, in whose text the upstream reads what to play."""
        asked = bodies.request(self.client)
        words = [{"role": "user", "content": directive(f"{name} {number}")}]
        return json.dumps(asked | {"input" if self.client == "responses" else "messages": words}).encode()


def routes(port: int) -> str:
    """The routes, as the configuration has them."""
    rows = [
        f'from = "https://localhost:{port}/to-{up}{PATHS[me]}"\nto = "https://localhost:{port}{PATHS[up]}"\n' for me, up in ROUTES
    ]
    return "".join(f"[[route]]\n{row}" for row in rows)


def _stream(body: bytes, dice: random.Random, **more: Any) -> Script:
    pause = dice.choice((0.0, 0.001, 0.005))
    return Script(tuple((pause, chunk) for chunk in bodies.chunks(body, dice.choice((1, 1, 3, 20)))), **more)


def _parts(dice: random.Random) -> list[upstream_answers.Part]:
    text = bodies.filler(dice.choice((100, 1000, 4000)))
    arguments = json.dumps({"description": bodies.filler(dice.choice((10, 500, 8000)))})
    parts: list[upstream_answers.Part] = [upstream_answers.Thought("Hm."), upstream_answers.Text(text), upstream_answers.Asked("call_1", "task", arguments)]
    return parts[dice.randrange(2) : dice.randrange(2, 4)]


def _said(dice: random.Random, api: str) -> Script:
    parts = _parts(dice)
    stop = "tool_calls" if isinstance(parts[-1], upstream_answers.Asked) else "stop"
    return _stream(upstream_answers.speak(api, parts, stop, seed=dice.randrange(99)), dice)


def _markup(dice: random.Random, _: str) -> Script:
    return _stream(dice.choice(_leaks()), dice)


@cache
def _leaks() -> list[bytes]:
    """Every documented way to leave markup in a text."""
    return [body_of(pattern) for pattern in all_patterns().values() if pattern.rules]


def _gzip(dice: random.Random, api: str) -> Script:
    return replace(_said(dice, api), coding=dice.choice(("gzip", "br", "deflate")))


def _whole(dice: random.Random, api: str) -> Script:
    return Script(((0.0, upstream_answers.tell(api, _parts(dice)[:2])),), headers=JSON, framing="content-length")


def _error(dice: random.Random, _: str) -> Script:
    body = b'{"error":{"message":"slow down","type":"rate_limit_error","code":null}}'
    return Script(((0.0, body),), status=dice.choice((400, 429, 500, 503)), headers=JSON, framing="content-length")


def _broken(dice: random.Random, api: str) -> Script:
    script = _said(dice, api)
    return replace(script, chunks=script.chunks[: max(1, len(script.chunks) // 2)], end=dice.choice(("drop", "reset")))


def _long(dice: random.Random, api: str) -> Script:
    return _stream(upstream_answers.speak(api, [upstream_answers.Text(bodies.filler(60_000))]), dice)


SCENARIOS: dict[str, Scenario] = {
    **{f"{api}": Scenario(_said, api, api) for api in bodies.APIS},
    **{f"{client} from {upstream}": Scenario(_said, client, upstream) for client, upstream in ROUTES},
    "markup": Scenario(_markup),
    "markup for messages": Scenario(_markup, "messages"),
    "markup for responses": Scenario(_markup, "responses"),
    **{f"{api}, coded": Scenario(_gzip, api, api) for api in bodies.APIS},
    **{f"{api}, whole": Scenario(_whole, api, api) for api in bodies.APIS},
    **{f"{api}, error": Scenario(_error, api, api) for api in bodies.APIS},
    "error, translated": Scenario(_error, "messages"),
    **{f"{api}, broken off": Scenario(_broken, api, api, complete=False) for api in bodies.APIS},
    "broken off, translated": Scenario(_broken, "messages", complete=False),
    **{f"{api}, client leaves": Scenario(_long, api, api, leaves=True) for api in bodies.APIS},
    "client leaves, translated": Scenario(_long, "messages", leaves=True),
}
