"""Mistral, old and new."""

from dataclasses import replace
from typing import Any

from tests.support.streams import pieces, request

from . import Pattern
from .family import TOOLS, dumps, family

type Calls = list[tuple[str, dict[str, Any]]]

OFFER = request(*TOOLS, model="mistralai/devstral-small")
READ, TIME = '{"path": "a.md", "limit": 20}', '{"zone": "UTC"}'
BOTH = [(None, "read_file", READ), (None, "get_time", TIME)]
RULES = ("mistral", "finish_reason")


def old(calls: Calls) -> str:
    return f"[TOOL_CALLS] [{', '.join(dumps({'name': name, 'arguments': given}) for name, given in calls)}]"


def new(calls: Calls) -> str:
    return "".join(f"[TOOL_CALLS]{name}[ARGS]{dumps(given)}" for name, given in calls)


def wild(text: str, seed: int, calls: list[tuple[str | None, str, str]] = BOTH, **more: Any) -> Pattern:
    return Pattern(OFFER, pieces(text, seed), calls, rules=RULES, **more)


def _held(patterns: dict[str, Pattern]) -> dict[str, Pattern]:
    """An id may stand behind the arguments, so these are held; a call that is broken off is given back, and is a bare array."""
    broken = patterns["old-broken-off"]
    return {**patterns, "old-broken-off": replace(broken, rules=("json_array",))}


PATTERNS: dict[str, Pattern] = {
    **_held(
        family("old", old, "a [TOOL_CALLS] b [ARGS] }]", model="mistralai/mistral-7b-v0.3", rule="mistral", prose="[TOOL_CALLS] is a token, [TOOL_ no.")
    ),
    **family("new", new, "a [TOOL_CALLS]x[ARGS]{ b", model="mistralai/devstral-small", rule="mistral", prose="[TOOL_CALLS]name[ARGS] is how it goes."),
    "ids-behind-the-arguments": wild(
        '[TOOL_CALLS][{"name": "read_file", "arguments": ' + READ + ', "id": "VvvODy9mT"}, {"id": "abcdefghi", "name": "get_time", "arguments": ' + TIME + "}]",
        1, [("VvvODy9mT", *BOTH[0][1:]), ("abcdefghi", *BOTH[1][1:])],
    ),
    "call-id": wild(f"[TOOL_CALLS]get_time[CALL_ID]VvvODy9mT[ARGS]{TIME}", 2, [("VvvODy9mT", "get_time", TIME)]),
    "blanks": wild(f"[TOOL_CALLS] read_file [ARGS] {READ}\n[TOOL_CALLS] get_time\n[ARGS]\n{TIME} ", 3),
    "no-args-token": wild(f"[TOOL_CALLS]read_file{READ}[TOOL_CALLS]get_time{TIME}", 4),
    "one-object": wild('[TOOL_CALLS]{"name": "get_time", "arguments": ' + TIME + "} ok", 5, BOTH[1:], content=" ok"),
    "no-comma": wild('[TOOL_CALLS] [{"name": "read_file", "arguments": ' + READ + '} {"name": "get_time", "arguments": ' + TIME + "}]", 6),
    "no-bracket": wild('[TOOL_CALLS] [{"name": "read_file", "arguments": ' + READ + '}, {"name": "get_time", "arguments": ' + TIME + "}", 7),
    "closing-token": wild(f"[TOOL_CALLS]get_time[ARGS]{TIME}[/TOOL_CALLS]", 8, BOTH[1:]),
    "not-offered": Pattern(
        OFFER, pieces("[TOOL_CALLS]rm[ARGS]{}", 9), content="[TOOL_CALLS]rm[ARGS]{}", expected_finish="stop"
    ),
    "bare-array": Pattern(
        OFFER, pieces(old([("get_time", {"zone": "UTC"})])[13:], 10), BOTH[1:], rules=("json_array", "finish_reason")
    ),
}  # fmt: skip
