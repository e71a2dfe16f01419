"""The contentview "LLM stream" of mitmproxy and mitmweb: shows the message that a stream's events add up to.

    api: chat
    mended by: kimi_k2, finish_reason
    text: I will look.
    calls:
      - name: get_weather
        id: functions.get_weather:0
        arguments: {"city": "Beijing"}
    finish_reason: tool_calls
    usage: {"input_tokens": 10, "output_tokens": 5}

1. It uses only the body and toolmend's metadata in the flow, so a flow read from a file shows the same.
2. The output is YAML, which mitmproxy highlights; text of a model is quoted.
3. It has no terminal control characters, because mitmdump prints it unchanged.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from mitmproxy import contentviews, http
from mitmproxy.addonmanager import Loader

from ..apis import APIS
from ..core.fold import Answer, Call, Message
from ..pipeline.event_reader import events_of
from ..providers.hosts import api_at
from .flow_info import NDJSON
from .patches import contentview_registry

MAX_SHOWN = 4 * 1024 * 1024
"""Characters of a response: eight times the longest."""

_TERMINAL_CONTROLS = re.compile(
    "[\\0-\\x08\\v\\f\\x0e-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]|\\r(?!\\n)"
)
"""Terminal control characters, and characters that change the direction of text."""


class LLMStream(contentviews.Contentview):
    """Shows one response, folded."""

    name = "LLM stream"
    syntax_highlight = "yaml"

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        api, notes = _metadata_of(metadata)
        if api is None:
            raise ValueError("this is not a response of an LLM API")
        answer, has_events = Answer(MAX_SHOWN), False
        for event in events_of(api, [data], stream=_is_stream(api, metadata.content_type or "", data)):
            answer.feed(event)
            has_events = True
        if not has_events:
            raise ValueError("the response has no known event")
        lines = [f"api: {api}"]
        mended = "would be mended by" if notes.get("observed") else "mended by"
        lines += [f"{mended}: {' '.join(', '.join(notes['rules']).split())}"] if notes.get("rules") else []
        lines += _field("went wrong", notes.get("error"))
        lines += _field("recorded in", notes.get("folder"))
        messages = answer.known()
        for number, message in enumerate(messages):
            lines += [f"--- # choice {number}"] if len(messages) > 1 else []
            lines += _message_lines(message)
        text = "\n".join(lines).encode(errors="replace").decode()
        return _TERMINAL_CONTROLS.sub(
            lambda found: f"\\u{ord(found[0]):04x}", text
        )  # valid in JSON: these occur only in quoted text

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        api, _ = _metadata_of(metadata)
        if api is None or not data:
            return -1
        kind = metadata.content_type or ""
        if _is_stream(api, kind, data):
            return 2
        return 0.5 if kind == "application/json" else -1  # mitmproxy has a view for JSON


class Views:
    """The addon that adds the contentview to mitmproxy, and removes it at a reload."""

    name = "toolmend.cli.views"

    def __init__(self) -> None:
        self.view = LLMStream()

    def load(self, loader: Loader) -> None:
        contentviews.add(self.view)

    def done(self) -> None:
        contentview_registry.remove(self.view)


def _metadata_of(metadata: contentviews.Metadata) -> tuple[str | None, dict[str, Any]]:
    """Returns the API of a response and toolmend's metadata; for a flow that toolmend never saw, the API comes from its path."""
    flow = metadata.flow
    if not isinstance(flow, http.HTTPFlow) or metadata.http_message is not flow.response:
        return None, {}
    notes = flow.metadata.get("toolmend")
    notes = notes if isinstance(notes, dict) else {}
    api = notes.get("api") or (api_at(flow.request.path) if flow.request.method == "POST" else None)
    return (api if api in APIS else None), notes


def _is_stream(api: str, kind: str, data: bytes) -> bool:
    """Returns whether a body is a stream: by content type, or by its first bytes if that is JSON."""
    if kind in ("text/event-stream", *NDJSON):
        return True
    return (api == "gemini" and data.lstrip()[:1] == b"[") or (api == "ollama" and b"\n{" in data)


def _message_lines(message: Message) -> Iterator[str]:
    yield from _field("reasoning", message.reasoning)
    yield from _field("text", message.text)
    yield from _field("refusal", message.refusal)
    if message.calls:
        yield "calls:"
    for _, call in sorted(message.calls.items()):
        yield from _call(call)
    if message.finish:
        yield from _field("finish_reason", message.finish.finish_reason)
        yield from _field("stop_sequence", message.finish.stop_sequence)
    if message.usage:
        yield f"usage: {json.dumps({name: count for name, count in asdict(message.usage).items() if count})}"
    if message.error:
        yield f"error: {json.dumps(asdict(message.error), ensure_ascii=False)}"
    if not (message.finish or message.ended or message.error):
        yield "ended: false"
    if message.omitted:
        yield f"omitted_characters: {message.omitted}"


def _call(call: Call) -> Iterator[str]:
    yield from _field("name", call.name, "  - ")
    yield from _field("id", call.id, "    ")
    if call.kind != "function":
        yield from _field("kind", call.kind, "    ")
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        yield from _field("input" if call.kind == "custom" else "arguments", call.arguments, "    ")
    else:
        first, *rest = json.dumps(arguments, ensure_ascii=False, indent=None if len(call.arguments) < 80 else 2).split("\n")
        yield f"    arguments: {first}"
        yield from (f"      {line}" for line in rest)
    if not call.complete:
        yield "    complete: false"


def _field(name: str, text: str | None, indent: str = "") -> Iterator[str]:
    """Yields a field as YAML: a block of lines if the text has several and needs no escapes, else one line."""
    if not text:
        return
    if "\n" not in text.strip("\n") or _TERMINAL_CONTROLS.search(text):
        yield f"{indent}{name}: {text if _needs_no_quotes(text) else json.dumps(text, ensure_ascii=False)}"
        return
    deeper = " " * (len(indent) + 2)
    yield f"{indent}{name}: |{'2' if text[0].isspace() else ''}"
    yield from (f"{deeper}{line}" if line else "" for line in text.split("\n"))


def _needs_no_quotes(text: str) -> bool:
    """Returns whether YAML reads the unquoted text as a string."""
    return text.replace("_", "").replace(" ", "").isalpha() and text == text.strip() and text.lower() not in _YAML_WORDS


_YAML_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
