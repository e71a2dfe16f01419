"""What the agents go through, as a table: how the model writes its calls, how they are sent, and which API the provider has.

Rule of this file: a scenario is all that the provider and the proxy have to know of a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tests.agents.markup import KIMI, MARKUPS, Markup
from tests.agents.wire import Wire

type Api = Literal["chat", "messages", "responses"]
type Where = Literal["content", "reasoning"]
WHERE: Sequence[Where] = ("content", "reasoning")


@dataclass(frozen=True)
class Scenario:
    """`markup` None: the model's calls are real ones. `upstream`: the API of a route's provider; None: there is no route.

    `turns`: answers with calls before the last one. `calls`: of each of them. `file`: the first call writes a long file, by
    the tool for that. `framed`: with thoughts in tags, and text behind the call. `broken_off`: the first answer ends in the
    middle. `socket`: the provider speaks WebSocket, and requests bring only what is new; `strict`: it refuses the result of
    a call that it knows nothing of. `refuses`: a field that the provider takes in no request. `alias`: the model's id, where it
    gives no hint of the model. `launcher`: how the agent is started, by hand with the proxy's variables or so.
    """

    markup: Markup | None = None
    where: Where = "content"
    wire: Wire = field(default_factory=Wire)
    upstream: Api | None = None
    turns: int = 1
    calls: int = 1
    file: bool = False
    framed: bool = False
    broken_off: bool = False
    socket: bool = False
    strict: bool = False
    refuses: str = ""
    alias: str = ""
    launcher: Literal["variables", "toolmend run"] = "variables"

    @property
    def routed(self) -> bool:
        """Whether the provider is another one than the agent calls, with a key of its own."""
        return self.upstream is not None or self.launcher == "toolmend run"

    @property
    def model(self) -> str:
        return self.alias or (self.markup.model if self.markup else KIMI)


def on_own_line(markup: Markup) -> Markup:
    """The markup as models' templates write it after text; with an unknown model it is a call only there."""
    return replace(markup, write=lambda name, arguments: f"\n{markup.write(name, arguments)}\n")


K2, CODER, DSML = MARKUPS["kimi-k2"], MARKUPS["qwen3-coder"], MARKUPS["dsml"]
ROUGH = Wire("odd", "\r\n", noise=True, coding="gzip")

CORE = {
    "real calls": Scenario(),
    "real calls, byte by byte, gzip": Scenario(wire=Wire("byte", coding="gzip")),
    "real calls, CRLF, noise": Scenario(wire=ROUGH, turns=2),
    "Kimi tokens": Scenario(K2, turns=2),
    "Kimi tokens in the reasoning": Scenario(K2, "reasoning"),
    "Kimi tokens, byte by byte": Scenario(K2, wire=Wire("byte")),
    "Hermes envelope, all in one chunk": Scenario(MARKUPS["hermes"], wire=Wire("whole")),
    "Qwen3-Coder XML, CRLF, noise, gzip": Scenario(CODER, wire=ROUGH),
    "DSML in the reasoning, byte by byte, CRLF": Scenario(DSML, "reasoning", Wire("byte", "\r\n")),
    "GLM, noise, zstd": Scenario(MARKUPS["glm"], wire=Wire(noise=True, coding="zstd")),
    "MiniMax, br": Scenario(MARKUPS["minimax-m2"], wire=Wire("odd", coding="br")),
    "JSON in a fence": Scenario(MARKUPS["json-fence"]),
    "a long file, Qwen3-Coder XML": Scenario(CODER, wire=Wire("odd"), file=True, turns=2),
    "<think> and text around the call, Kimi tokens": Scenario(K2, framed=True, wire=Wire("odd"), turns=2),
    "broken off in the call, then whole, Kimi tokens": Scenario(K2, broken_off=True),
    "two calls in one answer, DeepSeek tokens": Scenario(MARKUPS["deepseek-v3"], wire=Wire("odd"), calls=2),
    "Hermes envelope, a model id without a hint": Scenario(on_own_line(MARKUPS["hermes"]), wire=Wire("odd"), alias="coder"),
    "Qwen3-Coder XML, a model id without a hint": Scenario(on_own_line(CODER), wire=Wire("odd"), alias="my-model", turns=2),
}
"""For every agent."""

RUN = {"Kimi tokens, started by `toolmend run`": Scenario(K2, turns=2, launcher="toolmend run")}
"""For every agent whose API has routes."""

SOCKETS = {
    "real calls over WebSocket": Scenario(socket=True, turns=2),
    "Kimi tokens over WebSocket": Scenario(K2, socket=True, turns=2),
    "Kimi tokens over WebSocket, strict provider": Scenario(K2, socket=True, strict=True, turns=2),
    "DSML in the reasoning over WebSocket": Scenario(DSML, "reasoning", socket=True),
    "two calls in one answer over WebSocket, DeepSeek tokens": Scenario(MARKUPS["deepseek-v3"], socket=True, calls=2),
    "WebSocket refused, provider speaks Chat, Kimi tokens": Scenario(K2, upstream="chat", turns=2),
}
"""For Codex, where it may use them."""

APIS: Sequence[Api] = ("chat", "messages", "responses")
ROUTES = {
    f"{what}, provider speaks {api.title()}": Scenario(markup, upstream=api, turns=2)
    for api in APIS
    for what, markup in (("real calls", None), ("Kimi tokens", K2))
} | {
    "a field is refused, provider speaks Chat": Scenario(upstream="chat", turns=2, refuses="stream_options"),
    "a field is refused, provider speaks Responses": Scenario(upstream="responses", turns=2, refuses="store"),
}
"""For every agent that speaks another of these APIs."""

DIALECTS = {
    f"{name} in the {where}": Scenario(markup, where, Wire("odd"))
    for where in WHERE
    for name, markup in MARKUPS.items()
    if where == "content" or markup.thought
}
"""For one agent of each API, and with --full for all."""
DIALECT_ROWS = [f"every dialect in the {where}" for where in WHERE]
"""What the table calls them."""
