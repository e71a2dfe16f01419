"""What a request asks for, as it is compared with what others asked for.

    {"model": "Kimi-K2.5", "stream": true, "messages": [
      {"role": "system", "content": "You are … Today is 2026-11-20."},
      {"role": "user", "content": [{"type": "text", "text": "Look.\n", "cache_control": {…}}]},
      {"role": "assistant", "tool_calls": [{"id": "call_018e…", "function": {…}}]},        Ask("chat", "kimi-k2.5", stream=True,
      {"role": "tool", "tool_call_id": "call_018e…", "content": "10:31 main.py"}]}             turns=(…, …, …), new=1, …)

Compared is what an agent says again in a second run, so not: instructions (they hold the day, the folder, the version), what
VOLATILE and SHED name, and what a recording redacts. A host and a base path do not count either: `/api/v1/chat/completions` at
one is `/v1/chat/completions` at another.

Rule of this file: it is pure; requests are a stranger's JSON, and nothing in them raises.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from . import json_text
from .hosts import ANYWHERE, PROVIDERS
from .redaction import Redactor

SHED = frozenset(
    (
        *("call_id", "id", "tool_call_id", "tool_use_id"),  # what a proxy or a provider draws at random
        *("encrypted_content", "reasoning", "reasoning_content", "reasoning_details", "signature", "thinking"),
        *("cache_control", "prompt_cache_key", "status"),
    )
)
"""Keys whose values differ from run to run, at any depth of a message."""

_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
VOLATILE = (
    # what an agent puts around the user's words: the day, the folder, the state of its lists
    (re.compile(r"<(system-reminder|environment_context|environment_details|env)>.*?</\1>", re.DOTALL), ""),
    (re.compile(r"x-anthropic-billing-header:[^\n]*"), ""),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "[id]"),
    (re.compile(r"\b(?:call|chatcmpl|fc|msg|req|resp|rs|toolu)[_-]\w{8,}"), "[id]"),
    (re.compile(r"\b[0-9a-f]{16,}\b", re.IGNORECASE), "[id]"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?!\d)|\b\d{1,2}/\d{1,2}/\d{4}\b"), "[date]"),
    (re.compile(rf"\b{_MONTH} +\d{{1,2}}(?:,? \d{{4}})?\b|\b\d{{1,2}} {_MONTH} \d{{4}}\b"), "[date]"),
    (re.compile(r"\[date\][T ](?=\d\d:)"), "[date] "),
    (re.compile(r"\b\d{1,2}:\d\d(?!\d)(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d| ?[AP]M\b)?"), "[time]"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?|milliseconds?)\b"), "[time]"),  # how long a tool took
    (re.compile(r"\s+"), " "),
)
"""Parts of texts that differ from run to run, and what stands for them."""

MAX_TEXT = 256 * 1024
"""Characters of a text in which they are looked for: what is longer is a file or an image, and compared as it is."""

MAX_SHOWN = 2000
"""Characters kept of a new message, to say where it differs."""

_REDACTOR = Redactor(())
_MODEL_IN_PATH = re.compile(r"/(?:models?|deployments)/([^/:]+)")  # Gemini, Bedrock, Azure


@dataclass(frozen=True, slots=True)
class Ask:
    """What of a request decides who answers it. `turns`: a digest of each message; the last `new` are not answered yet."""

    api: str
    model: str = ""
    stream: bool = False
    turns: tuple[bytes, ...] = ()
    new: int = 0
    shown: tuple[str, ...] = ()
    tools: frozenset[str] = frozenset()

    @property
    def last(self) -> tuple[bytes, ...]:
        return self.turns[len(self.turns) - self.new :]


def spoken(path: str) -> str | None:
    """The API that is spoken at a path, whatever the host."""
    path = path.partition("?")[0].rstrip("/")
    ends = (*ANYWHERE, *(end for provider in PROVIDERS for end in provider.paths))
    return next((api for api, end in ends if fnmatchcase(path, f"*{end}")), None)


def ask_of(api: str, path: str, request: Mapping[str, Any]) -> Ask:
    """What a request asks for."""
    in_path = _MODEL_IN_PATH.search(path)
    turns = list(_turns(request))
    new = next((count for count, (by_model, _) in enumerate(reversed(turns)) if by_model), len(turns)) or min(1, len(turns))
    return Ask(
        api,
        str(request.get("model") or (in_path[1] if in_path else "")),
        request.get("stream") is True or "stream" in path.partition("?")[0].rpartition("/")[2].lower(),
        tuple(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest() for _, text in turns),
        new,
        tuple(text[:MAX_SHOWN] for _, text in turns[len(turns) - new :]),
        frozenset(_tools(request)),
    )


def _turns(request: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    """Each message or item: whether the model wrote it, and the text that is compared."""
    given = next((request[key] for key in ("messages", "input", "contents", "prompt") if request.get(key)), dict(request))
    for turn in given if isinstance(given, list) else [given]:
        role, kind = (turn.get("role"), str(turn.get("type") or "")) if isinstance(turn, dict) else ("user", "")
        if role in ("system", "developer") or kind == "reasoning":
            continue
        yield role in ("assistant", "model") or kind.endswith("_call"), _compared(turn)


def _compared(turn: Any) -> str:
    """A message as the text that is compared."""
    try:
        return json_text.dumps(_plain(_REDACTOR.value(turn)))
    except RecursionError:
        return "too deep"


def _plain(value: Any) -> Any:
    """A message without what differs from run to run, its keys in one order, a text in one form."""
    match value:
        case str():
            return _text(value)
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return _text(text)
        case dict():
            return {key: _plain(value[key]) for key in sorted(value) if key not in SHED}
        case list():
            parts = [part for item in value if (part := _plain(item)) != ""]
            return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
    return value


def _text(text: str) -> str:
    if len(text) <= MAX_TEXT:
        for pattern, instead in VOLATILE:
            text = pattern.sub(instead, text)
    return text.strip()


def _tools(request: Mapping[str, Any]) -> Iterator[str]:
    tools = request.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            function = tool.get("function")
            yield str((function if isinstance(function, dict) else tool).get("name") or tool.get("type") or "")
