"""The patterns that every dialect has, made from how it writes one call. Not a provider: it has no PATTERNS of its own."""

import json
from collections.abc import Callable
from typing import Any

from tests.support.streams import pieces, request, tool

from . import Pattern

TOOLS = (
    tool("read_file", path={"type": "string"}, limit={"type": "integer"}, deep={"type": "object"}),
    tool("get_time", zone={"type": "string"}),
    tool("write_file", path={"type": "string"}, content={"type": "string"}),
)
PATTERNS: dict[str, Pattern] = {}

type Write = Callable[[list[tuple[str, dict[str, Any]]]], str]


def family(name: str, write: Write, hard: str, *, model: str, rule: str = "", prose: str) -> dict[str, Pattern]:
    """The patterns of the dialect `rule` (by default `name`), made from how it writes calls.

    `hard` is a string full of the dialect's own marks, `prose` a text that mentions them.
    """
    offer = request(*TOOLS, model=model)
    rules = (rule or name, "finish_reason")

    def calls(*wanted: tuple[str, dict[str, Any]]) -> list[tuple[str | None, str, str]]:
        return [(None, tool_name, json.dumps(arguments, ensure_ascii=False)) for tool_name, arguments in wanted]

    read = ("read_file", {"path": "a.md", "limit": 20})
    time = ("get_time", {"zone": "UTC"})
    nested = ("read_file", {"deep": {"a": [1, {"b": None}], "c": "}"}, "path": 'é "q" \\ 🌤\n<p>'})
    full = ("write_file", {"path": "x", "content": hard})
    cut = write([full])
    cut = cut[: cut.index(hard[:4]) + 3]
    return {
        f"{name}-two": Pattern(
            offer, pieces(f"Let me see.\n{write([read, time])}\nDone.", 1), calls(read, time), content="Let me see.\n\nDone.", rules=rules
        ),
        f"{name}-three": Pattern(offer, pieces(write([time, read, time]), 2), calls(time, read, time), rules=rules),
        f"{name}-empty": Pattern(offer, pieces(write([("get_time", {})]), 3), calls(("get_time", {})), rules=rules),
        f"{name}-nested": Pattern(offer, pieces(write([nested]), 4), calls(nested), rules=rules),
        f"{name}-own-marks-in-a-string": Pattern(offer, pieces(write([full, time]), 5), calls(full, time), rules=rules),
        f"{name}-in-reasoning": Pattern(
            offer, pieces(f"So: {write([time])}", 6), calls(time), reasoning="So: ", field="reasoning_content", rules=rules
        ),
        f"{name}-broken-off": Pattern(
            offer, pieces(cut, 7), [(None, "write_file", json.dumps({"path": "x", "content": hard[:3]})[:-2])],
            finish="length", expected_finish="length", rules=rules[:1],
        ),
        f"{name}-prose": Pattern(offer, pieces(prose, 8), content=prose, expected_finish="stop"),
    }  # fmt: skip


def dumps(value: Any) -> str:
    """JSON as models write it."""
    return json.dumps(value, ensure_ascii=False)


def raw(value: Any) -> str:
    """A parameter's text: a string as it is, all else as JSON."""
    return value if isinstance(value, str) else dumps(value)
