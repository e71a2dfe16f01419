"""Whole responses of Gemini and what the pipeline makes of one."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.support.other_api_streams import code_assist, gemini_array, gemini_sse

FRAMINGS: dict[str, Callable[[Iterable[dict[str, Any]]], bytes]] = {
    "sse": gemini_sse,
    "array": gemini_array,
    "code-assist": code_assist,
}

NATIVE = {"functionCall": {"name": "get_weather", "args": {"city": "Beijing"}}, "thoughtSignature": "c2ln"}
