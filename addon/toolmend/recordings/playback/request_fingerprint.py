r"""The fingerprint of a request, for comparison with recorded requests.

    {"model": "Kimi-K2.5", "stream": true, "messages": [
      {"role": "system", "content": "You are … Today is 2026-11-20."},
      {"role": "user", "content": [{"type": "text", "text": "Look.\n", "cache_control": {…}}]},
      {"role": "assistant", "tool_calls": [{"id": "call_018e…", "function": {…}}]},        Ask("chat", "kimi-k2.5", stream=True,
      {"role": "tool", "tool_call_id": "call_018e…", "content": "10:31 main.py"}]}             turns=(…, …, …), new=1, …)

It contains what an agent repeats in a second run. Left out are instructions (they contain date, folder and version), everything
that AROUND, FOLDER, VOLATILE and SHED match, and what a recording redacts. Host and base path do not count either:
`/api/v1/chat/completions` equals `/v1/chat/completions`.

Pure functions; requests are foreign JSON, and nothing in them raises.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ...core import json_text
from ...core.fastclass import value
from ...secrets.redactor import Redactor

SHED = frozenset(
    (
        *("call_id", "id", "tool_call_id", "tool_use_id"),  # random values of a proxy or provider
        *("encrypted_content", "reasoning", "reasoning_content", "reasoning_details", "signature", "thinking"),
        *("cache_control", "prompt_cache_key", "status", "thoughtSignature"),
    )
)
"""Keys whose values differ from run to run, at any depth of a message."""

AROUND = (
    *((f"<{tag}>", f"</{tag}>") for tag in ("system-reminder", "environment_context", "environment_details", "env")),
    ("x-anthropic-billing-header:", "\n"),
)
"""What an agent adds around the user's words, from marker to marker: the date, the folder, the state of its lists."""

_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_CLOCK = r"\d{1,2}:\d\d(?!\d)(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d| ?[AP]M\b)?"
VOLATILE = re.compile(
    r"\b(?:"
    rf"(?P<date>\d{{4}}-\d\d-\d\d(?!\d)(?:[T ]{_CLOCK})?|\d{{1,2}}/\d{{1,2}}/\d{{4}}\b"
    rf"|{_MONTH} +\d{{1,2}}(?:,? \d{{4}})?\b|\d{{1,2}} {_MONTH} \d{{4}}\b)"
    rf"|(?P<time>{_CLOCK}|\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?|milliseconds?)\b)"  # also the duration of a tool
    r"|(?P<id>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|[0-9a-fA-F]{16,}\b"
    r"|(?:call|chatcmpl|fc|msg|req|resp|rs|toolu)[_-]\w{8,}|Chunk ID: [0-9a-f]+\b|(?:session ID|PID|pid):? \d+))"  # Codex' shell
)
"""What differs from run to run anywhere; it is replaced by the name of its group."""

FOLDER = re.compile(r"/(?<![\w/.:<-]/)(?:[\w.@+~-]+/)+")
"""The folder of a file's path: the agent may run in another one."""

MAX_TEXT = 256 * 1024
"""Characters of a text that are normalised: a longer one is a file or an image and compared verbatim."""

MAX_SHOWN = 2000
"""Characters of a new message that are kept to show where it differs."""

MAX_CACHED = 32 * 1024
"""Characters of a text whose normal form is cached, for 1024 texts: a session repeats all texts in each request."""

_REDACTOR = Redactor(())
_MODEL_IN_PATH = re.compile(r"/(?:models?|deployments)/([^/:]+)")  # Gemini, Bedrock, Azure


@value
class Ask:
    """What decides which recording answers a request. `turns`: a digest of each message; the last `new` are unanswered."""

    api: str
    model: str = ""
    stream: bool = False
    turns: tuple[bytes, ...] = ()
    new: int = 0
    shown: tuple[str, ...] = ()
    tools: frozenset[str] = frozenset()

    @property
    def last(self) -> tuple[bytes, ...]:
        """The new messages."""
        return self.turns[len(self.turns) - self.new :]

    @property
    def before(self) -> tuple[bytes, ...]:
        """The earlier messages, the latest first."""
        return self.turns[: len(self.turns) - self.new][::-1]


def ask_of(api: str, path: str, request: Mapping[str, Any]) -> Ask:
    """Returns the fingerprint of a request."""
    in_path = _MODEL_IN_PATH.search(path)
    wrapped = request.get("request")
    asked = wrapped if api == "gemini" and isinstance(wrapped, dict) else request  # Code Assist wraps the request
    turns = list(_turns(asked))
    new = next((count for count, (by_model, *_) in enumerate(reversed(turns)) if by_model), len(turns)) or min(1, len(turns))
    return Ask(
        api,
        str(request.get("model") or (in_path[1] if in_path else "")),
        request.get("stream", api == "ollama") is True or "stream" in path.partition("?")[0].rpartition("/")[2].lower(),
        tuple(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest() for _, text, _ in turns),
        new,
        tuple(text[:MAX_SHOWN] for *_, text in turns[len(turns) - new :]),
        frozenset(_tools(asked)),
    )


def _turns(request: Mapping[str, Any]) -> Iterator[tuple[bool, str, str]]:
    """Yields for each message or item: whether the model wrote it, its normal form, and a text to show."""
    given = next((request[key] for key in ("messages", "input", "contents", "prompt") if request.get(key)), dict(request))
    for turn in given if isinstance(given, list) else [given]:
        role, kind = (turn.get("role"), str(turn.get("type") or "")) if isinstance(turn, dict) else ("user", "")
        if role in ("system", "developer") or kind == "reasoning":
            continue
        yield role in ("assistant", "model") or kind.endswith("_call"), *_compared(turn)


def _compared(turn: Any) -> tuple[str, str]:
    """Returns the normal form of a message, and a text to show."""
    try:
        plain = _plain(_REDACTOR.value(turn))
        text = json_text.dumps(plain)
    except RecursionError:
        return "too deep", "too deep"
    content = plain.get("content") if isinstance(plain, dict) else plain
    return text, content if isinstance(content, str) else text


def _plain(value: Any) -> Any:
    """Returns a message without what differs from run to run, with sorted keys, and texts in normal form."""
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
    return text if len(text) > MAX_TEXT else _cached(text) if len(text) <= MAX_CACHED else _normalised(text)


def _normalised(text: str) -> str:
    """Returns the part of a text that is the same in a second run."""
    text += "\n"
    for opening, closing in AROUND:
        text = "".join(_outside(text, opening, closing))
    text = VOLATILE.sub(lambda found: f"[{found.lastgroup}]", FOLDER.sub("[folder]/", text))
    return " ".join(text.split())


def _outside(text: str, opening: str, closing: str) -> Iterator[str]:
    """Yields the text outside of blocks; a block without an end counts as text. A regex is slow for a thousand of them."""
    at = 0
    while (start := text.find(opening, at)) >= 0 and (end := text.find(closing, start)) >= 0:
        yield text[at:start]
        at = end + len(closing)
    yield text[at:]


_cached = lru_cache(1024)(_normalised)


def _tools(request: Mapping[str, Any]) -> Iterator[str]:
    tools = request.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and isinstance(declared := tool.get("functionDeclarations"), list):
            yield from (str(entry.get("name") or "") for entry in declared if isinstance(entry, dict))
        elif isinstance(tool, dict):
            function = tool.get("function")
            yield str((function if isinstance(function, dict) else tool).get("name") or tool.get("type") or "")
