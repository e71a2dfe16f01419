"""The contentview "LLM stream" of mitmproxy and mitmweb: what the events of a stream add up to, instead of the events.

    api: chat
    mended by: kimi_k2, finish_reason
    text: I will look.
    calls:
      - name: get_weather
        id: functions.get_weather:0
        arguments: {"city": "Beijing"}
    finish_reason: tool_calls
    usage: {"input_tokens": 10, "output_tokens": 5}

Rule of this file: it shows what the body says, and what toolmend noted in the flow, so a flow that was read from a file shows the
same. It is YAML, as mitmproxy colours that; whatever a model writes is a quoted text in it. mitmdump prints it as it is: no
character is in it that a terminal obeys.
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

MAX_SHOWN = 4 * 1024 * 1024
"""Characters of a response: eight times the longest answers."""

_OBEYED = re.compile("[\\0-\\x08\\v\\f\\x0e-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]|\\r(?!\\n)")
"""What steers a terminal, or turns the order of what it shows."""


class LLMStream(contentviews.Contentview):
    """One response, folded."""

    name = "LLM stream"
    syntax_highlight = "yaml"

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        api, noted = _noted(metadata)
        if api is None:
            raise ValueError("this is no response of an LLM API")
        answer, known = Answer(MAX_SHOWN), False
        for event in events_of(api, [data], stream=_is_stream(api, metadata.content_type or "", data)):
            answer.feed(event)
            known = True
        if not known:
            raise ValueError("nothing in it is understood")
        lines = [f"api: {api}"]
        mended = "would be mended by" if noted.get("observed") else "mended by"
        lines += [f"{mended}: {' '.join(', '.join(noted['rules']).split())}"] if noted.get("rules") else []
        lines += _field("went wrong", noted.get("error"))
        lines += _field("recorded in", noted.get("folder"))
        messages = answer.known()
        for number, message in enumerate(messages):
            lines += [f"--- # choice {number}"] if len(messages) > 1 else []
            lines += _lines(message)
        text = "\n".join(lines).encode(errors="replace").decode()
        return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)  # in JSON all of it is quoted

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        api, _ = _noted(metadata)
        if api is None or not data:
            return -1
        kind = metadata.content_type or ""
        if _is_stream(api, kind, data):
            return 2
        return 0.5 if kind == "application/json" else -1  # JSON has a view of its own


class Views:
    """The addon that adds the view to mitmproxy, and takes it away again."""

    name = "toolmend.cli.views"

    def __init__(self) -> None:
        self.view = LLMStream()

    def load(self, loader: Loader) -> None:
        contentviews.add(self.view)

    def done(self) -> None:
        views = contentviews.registry._by_name  # noqa: SLF001  there is no other way
        if views.get(self.view.name.lower()) is self.view:
            del views[self.view.name.lower()]


def _noted(metadata: contentviews.Metadata) -> tuple[str | None, dict[str, Any]]:
    """The API of a response, and what addon.py noted of it; a flow that toolmend never saw is told by its path."""
    flow = metadata.flow
    if not isinstance(flow, http.HTTPFlow) or metadata.http_message is not flow.response:
        return None, {}
    noted = flow.metadata.get("toolmend")
    noted = noted if isinstance(noted, dict) else {}
    api = noted.get("api") or (api_at(flow.request.path) if flow.request.method == "POST" else None)
    return (api if api in APIS else None), noted


def _is_stream(api: str, kind: str, data: bytes) -> bool:
    """Whether a body is a stream: by its type, and of what is called JSON, by how it looks."""
    if kind in ("text/event-stream", *NDJSON):
        return True
    return (api == "gemini" and data.lstrip()[:1] == b"[") or (api == "ollama" and b"\n{" in data)


def _lines(message: Message) -> Iterator[str]:
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
        first, *more = json.dumps(arguments, ensure_ascii=False, indent=None if len(call.arguments) < 80 else 2).split("\n")
        yield f"    arguments: {first}"
        yield from (f"      {line}" for line in more)
    if not call.complete:
        yield "    complete: false"


def _field(name: str, text: str | None, indent: str = "") -> Iterator[str]:
    """A text as it can be read: of many lines, each on its own, unless there is something in it that has to be an escape."""
    if not text:
        return
    if "\n" not in text.strip("\n") or _OBEYED.search(text):
        yield f"{indent}{name}: {text if _plain(text) else json.dumps(text, ensure_ascii=False)}"
        return
    deeper = " " * (len(indent) + 2)
    yield f"{indent}{name}: |{'2' if text[0].isspace() else ''}"
    yield from (f"{deeper}{line}" if line else "" for line in text.split("\n"))


def _plain(text: str) -> bool:
    """Whether YAML takes it as the text that it is, without quotes."""
    return text.replace("_", "").replace(" ", "").isalpha() and text == text.strip() and text.lower() not in _NO_TEXT


_NO_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
