"""The recordings below a folder, listed without reading their streams.

    entries(root)          newest first          find(root, "last")  find(root, "2026")  find(root, "flows/kimi/one-call")
    entry_of(folder, files)    one whose files are elsewhere: see store.py

Only small files are read (meta.json, message.json, the last line of upstream.idx), with few system calls, so that a thousand
recordings are listed quickly. No recording raises: one that cannot be read has the state "unreadable".
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from ...config.data_folder import on_one_line
from ...core import json_text
from ...core.fastclass import value
from . import safe_read

STATES = ("complete", "upstream_error", "client_closed", "partial", "waiting", "unanswered", "unreadable")
"""How a recording ended; `partial` and `waiting` ones are not finished, or were cut off by a crash or a shutdown."""

UNFINISHED = ("partial", "waiting")
"""States of a recording that is being written."""

NO_ANSWER = ("waiting", "unanswered")
"""States of a recording that only has a request."""

_AGENTS = (  # a part of the user-agent → the agent
    ("claude-cli", "Claude Code"),
    ("claude-code", "Claude Code"),
    ("codex", "Codex"),
    ("opencode", "opencode"),
    ("qwencode", "Qwen Code"),
    ("qwen-code", "Qwen Code"),
    ("kimi", "Kimi"),
    ("gemini", "Gemini CLI"),
    ("aider", "Aider"),
    ("crush", "Crush"),
    ("goose", "Goose"),
    ("copilot", "Copilot"),
    ("ai-sdk", "AI SDK"),
    ("openai/python", "openai-python"),
    ("asyncopenai/python", "openai-python"),
    ("openai/js", "openai-node"),
    ("anthropic/python", "anthropic-python"),
    ("anthropic/js", "anthropic-node"),
)
_NEVER = datetime.fromtimestamp(0, UTC)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
MAX_SMALL = 16 * 1024 * 1024
"""Bytes of a file that is read for a list."""

_TAIL = 256
"""Bytes at the end of an index that contain its last line."""

PINNED = "pinned"
"""A file of this name marks the recording in its folder as kept."""

type _Files = Mapping[str, os.DirEntry[str]]
"""The files of a folder by name."""


class RecordingFiles(Protocol):
    """The files of a recording, on disk or in a store. `size`: bytes of all together."""

    @property
    def size(self) -> int: ...

    def __contains__(self, name: object, /) -> bool: ...

    def read(self, name: str, tail: int = 0) -> bytes:
        """Returns a file, or the last bytes of it. Raises OSError."""
        ...


class NotFound(LookupError):
    """No recording, or more than one, matches; the message lists them."""


@value
class Entry:
    """A recording in a list; None is unknown.

    Attributes:
        wait_ms: From the request to the first byte.
        waited_ms: From the request to the end of one that was not answered.
        last_ms: From the first byte to the last.
        tokens: (input, output).
        cached: Input tokens read from a cache.
        client_api: Also set if it is the upstream's.
        suspects: What looks like a call and was not made one, as in suspects.py.
        url: Its place in a store; `folder` is then where it is fetched to.
    """

    folder: Path
    state: str = "unreadable"
    recorded_at: datetime = _NEVER
    agent: str = ""
    host: str = ""
    provider: str = ""
    model: str = ""
    api: str = ""
    client_api: str = ""
    route: str = ""
    status: int = 0
    stream: bool = False
    rules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    suspects: tuple[Mapping[str, str], ...] = ()
    error: str | None = None
    tokens: tuple[int, int] | None = None
    cached: int | None = None
    wait_ms: float | None = None
    waited_ms: float | None = None
    last_ms: float | None = None
    size: int = 0
    pinned: bool = False
    format: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    flow_id: str = ""
    url: str = ""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def place(self) -> str:
        """Its path or URL."""
        return self.url or str(self.folder)

    @property
    def observed(self) -> bool:
        """Whether nothing was changed, and `rules` are those that would have fired."""
        return self.settings.get("mode") == "observe"


def entries(root: Path) -> list[Entry]:
    """Returns all recordings below a folder, or the one that it is; newest first."""
    return newest_first(entry_of(Path(folder), _Disk(files)) for folder, files in _walk(root))


def newest(root: Path) -> Iterator[Entry]:
    """Yields the same one by one; those with a name of the recorder are only read when they are needed."""
    named: list[tuple[str, str]] = []
    with suppress(OSError):
        days = [file for file in _files(root).values() if file.is_dir(follow_symlinks=False)]
        if not days or (root / "meta.json").exists() or not all(_DAY.fullmatch(day.name) for day in days):
            yield from entries(root)
            return
        for day in days:
            with suppress(OSError):
                named += [(f"{day.name} {file.name[:6]}", file.path) for file in _files(day.path).values()]
    named.sort(reverse=True)
    for _, group in groupby(named, lambda row: row[0]):  # of one second
        found: list[Entry] = []
        for _, path in group:
            with suppress(OSError):
                files = _files(path)
                if "meta.json" in files:
                    found.append(entry_of(Path(path), _Disk(files)))
        yield from newest_first(found)


def newest_first(found: Iterable[Entry]) -> list[Entry]:
    """Returns recordings in the order of lists."""
    return sorted(found, key=lambda entry: (entry.recorded_at, entry.name), reverse=True)


def entry(folder: Path) -> Entry:
    """Returns one recording."""
    try:
        return entry_of(folder, _Disk(_files(folder)))
    except OSError as error:
        return Entry(folder, error=f"{type(error).__name__}: {error}")


def entry_of(folder: Path, files: RecordingFiles) -> Entry:
    """Returns a recording by its files."""
    try:
        meta = json_text.loads(files.read("meta.json"))
        tokens, cached = _tokens(files)
        return Entry(
            folder,
            state=STATES[STATES.index(meta["state"])],  # any other is a ValueError
            recorded_at=_time(meta["recorded_at"]),
            agent=agent_of(meta.get("request_headers")),
            host=str(meta.get("host") or ""),
            provider=str(meta.get("provider") or ""),
            model=str(meta.get("model") or ""),
            api=str(meta.get("api") or ""),
            client_api=str(meta.get("client_api") or meta.get("api") or ""),
            route=str(meta.get("route") or ""),
            status=int(meta.get("status") or 0),
            stream=bool(meta.get("stream")),
            rules=tuple(map(str, meta.get("rules") or ())),
            notes=tuple(map(str, meta.get("notes") or ())),
            suspects=tuple(_texts(suspect) for suspect in meta.get("suspects") or () if isinstance(suspect, dict)),
            error=str(meta["error"]) if meta.get("error") is not None else None,
            tokens=tokens,
            cached=cached,
            wait_ms=_number(meta.get("wait_ms")),
            waited_ms=_number(meta.get("waited_ms")),
            last_ms=_last_ms(files),
            size=files.size,
            pinned=PINNED in files,
            format=int(meta.get("format") or 0),
            settings=dict(meta.get("settings") or {}),
            flow_id=str(meta.get("flow_id") or ""),
        )
    except (OSError, ValueError, ArithmeticError, AttributeError, KeyError, TypeError) as error:
        return Entry(folder, error=f"{type(error).__name__}: {error}")


def find(root: Path, word: str) -> Entry:
    """Returns the recording of a folder's path, `last`, a name or its beginning, or a request's id. Raises NotFound."""
    path = Path(word)
    if (path / "meta.json").is_file():
        return entry(path)
    if word == "last" and (last := next(newest(root), None)):
        return last
    every = entries(root)
    fitting = [each for each in every if each.name == word] or [each for each in every if each.name.startswith(word)]
    return only(word, fitting or [each for each in every if each.flow_id == word], str(root))


def only(word: str, fitting: Sequence[Entry], where: str) -> Entry:
    """Returns the one that matches. Raises NotFound if none does, or several do."""
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(each.name for each in fitting[:4]) + (" …" if len(fitting) > 4 else "")
        raise NotFound(f"{word!r} is the beginning of {len(fitting)} recordings: {names}")
    raise NotFound(f"no such recording: {word!r} in {on_one_line(where)}")


def agent_of(headers: Any) -> str:
    """Returns the agent of a request by its user-agent; for an unknown one its first word."""
    pairs = [pair for pair in headers if isinstance(pair, list) and len(pair) == 2] if isinstance(headers, list) else []
    text = next((str(value) for name, value in pairs if str(name).lower() == "user-agent"), "")
    low = text.lower()
    return next((name for mark, name in _AGENTS if mark in low), re.split(r"[\s/]", text, maxsplit=1)[0][:40])


def _walk(root: Path) -> Iterator[tuple[str, _Files]]:
    """Yields the folders of all recordings, which are not nested; links are not followed."""
    waiting = [str(root)]
    while waiting:
        folder = waiting.pop()
        try:
            files = _files(folder)
            if "meta.json" in files:
                yield folder, files
            else:
                waiting += [file.path for file in files.values() if file.is_dir(follow_symlinks=False)]
        except OSError:  # unreadable, or removed meanwhile
            continue


def _files(folder: str | Path) -> _Files:
    with os.scandir(folder) as files:
        return {file.name: file for file in files}


class _Disk:
    """The files of a folder on disk."""

    def __init__(self, files: _Files) -> None:
        self._files = files

    @property
    def size(self) -> int:
        return sum(file.stat().st_size for file in self._files.values() if file.is_file())

    def __contains__(self, name: object, /) -> bool:
        return name in self._files

    def read(self, name: str, tail: int = 0) -> bytes:
        if name not in self._files:
            raise FileNotFoundError(name)
        if not tail and (size := self._files[name].stat().st_size) > MAX_SMALL:
            raise OSError(f"{name} has {size} bytes")
        return safe_read.read(self._files[name].path, tail)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and isfinite(value) else None


def _texts(suspect: dict[Any, Any]) -> dict[str, str]:
    return {str(name): str(text) for name, text in suspect.items()}


def _time(text: str) -> datetime:
    """Parses a time; one without a time zone could not be compared."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _last_ms(files: RecordingFiles) -> float | None:
    lines = files.read("upstream.idx", _TAIL).splitlines() if "upstream.idx" in files else []
    for line in reversed(lines):
        try:
            last = float(json.loads(line)["t_ms"])
            return last if isfinite(last) else None
        except (ValueError, KeyError, TypeError):
            continue  # torn by a crash
    return None


def _tokens(files: RecordingFiles) -> tuple[tuple[int, int] | None, int | None]:
    """Returns (input, output), and the input tokens read from a cache."""
    try:
        usage = json_text.loads(files.read("message.json"))["usage"]
        cached = usage.get("cached_tokens")
        return (int(usage["input_tokens"]), int(usage["output_tokens"])), None if cached is None else int(cached)
    except (OSError, ValueError, ArithmeticError, AttributeError, KeyError, TypeError):
        return None, None
