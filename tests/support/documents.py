"""Documents of recordings, and the recordings themselves."""

import json
from pathlib import Path
from typing import Any

from toolmend.recordings.read import replay
from toolmend.recordings.read.document import document
from toolmend.recordings.read.library import entry


def view(folder: Path, forwarded: dict[str, Any] | None = None) -> dict[str, Any]:
    shown = document(entry(folder), replay.load(folder), forwarded)
    again: dict[str, Any] = json.loads(json.dumps(shown))  # it is all JSON
    return again


KIMI = "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
END = "<|tool_call_end|><|tool_calls_section_end|>"


def column(shown: dict[str, Any], name: str) -> list[Any]:
    return [row[name] for row in shown["events"]]


CALL = [KIMI[:12], KIMI[12:40], KIMI[40:] + '{"city": "Os', 'lo"}', END]
