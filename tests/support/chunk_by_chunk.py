"""Whether two ways through the pipeline are one to the client: what goes out for each chunk, and beside it."""

import json
import re
from typing import Any

COMMENT = re.compile(rb"^:.*\n\n", re.MULTILINE)
"""Goes out where it came in between: that differs with the cuts."""

_TEXTS = ("content", "reasoning_content", "reasoning", "arguments", "text", "thinking", "partial_json", "delta")


_BOTH = re.compile(rb'(?<="delta":\{)("content":"(?:[^"\\]|\\.)*"),("reasoning_content":"(?:[^"\\]|\\.)*")(?=\})')


def same(quick: tuple[Any, ...], plain: tuple[Any, ...], body: bytes) -> None:
    """Whether what goes out is the same, chunk by chunk; what was held and is mended then may leave in one piece."""
    assert quick[1:] == plain[1:]
    if quick[0] != plain[0]:
        assert [bool(out) for out in quick[0]] == [bool(out) for out in plain[0]]
        assert list(map(_told, quick[0])) == list(map(_told, plain[0]))
        assert b"".join(plain[0]) != body


_DATA = re.compile(rb"^data: ?", re.MULTILINE)


def _told(out: bytes) -> list[tuple[str, list[str]]]:
    """The events, each with its texts; several in a row that are the same around them are one.

    What is held may leave as one event with two texts, as long as the one that ended before the other began is reasoning.
    """
    found: list[tuple[str, list[str]]] = []
    texts: list[str] = []

    def blank(value: dict[str, Any]) -> dict[str, Any]:
        texts.extend(value[name] for name in _TEXTS if isinstance(value.get(name), str))
        return {name: "" if name in _TEXTS and isinstance(each, str) else each for name, each in value.items() if name != "sequence_number"}

    out = out.replace(b"\r\n", b"\n")
    blocks = [_BOTH.sub(part, whole) for whole in out.split(b"\n\n") for part in ((rb"\2", rb"\1") if _BOTH.search(whole) else (b"",))]
    for block in blocks:
        texts = []
        *_, data = _DATA.split(block)
        try:
            around = json.dumps(json.loads(data, object_hook=blank))
        except ValueError:
            around = repr(block)
        if found and found[-1][0] == around:
            texts = list(map("".join, zip(found.pop()[1], texts, strict=True)))
        found.append((around, texts))
    return found
