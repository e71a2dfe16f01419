"""Reads a recording's folder for the index: one row, and on request the parts of its request and answer.

    row_of(folder)      all columns of a recording              parts_of(row)      [ContextPart(kind="text", role="user", …), …]

A conversation consists of parts: texts, calls, results, the system prompt, the tool list. Equal parts have equal hashes in all
requests, so each is stored, searched and compared once.

Nothing here raises: what cannot be read is empty. `ROW` has the columns in order.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from ...core import json_text
from ...recordings.read import safe_read
from ...recordings.read.library import MAX_SMALL, NO_ANSWER, PINNED, UNFINISHED, Entry, entry_of
from .prices import cost

type Row = dict[str, Any]

ROW = {
    # column: its type in SQLite
    "path": "TEXT UNIQUE",
    "name": "TEXT",
    "changed": "REAL",  # modification time of meta.json, seconds
    "at": "REAL",  # time of the request, seconds
    "state": "TEXT",
    "live": "INTEGER",
    "agent": "TEXT",
    "host": "TEXT",
    "provider": "TEXT",
    "model": "TEXT",
    "api": "TEXT",
    "client_api": "TEXT",
    "route": "TEXT",
    "status": "INTEGER",
    "stream": "INTEGER",
    "rules": "TEXT",  # separated by spaces
    "observed": "INTEGER",
    "error": "TEXT",
    "tokens_in": "INTEGER",  # including cached and cache-written ones
    "tokens_out": "INTEGER",
    "cached": "INTEGER",
    "cache_write": "INTEGER",
    "reasoning": "INTEGER",
    "cost": "REAL",
    "wait": "REAL",  # until the first byte, ms
    "waited": "REAL",  # without a response, ms
    "last": "REAL",  # from the first byte to the last, ms
    "gap": "REAL",  # the longest silence, ms
    "size": "INTEGER",
    "pinned": "INTEGER",
    "session": "TEXT",
    "sub": "TEXT",  # the subagent's id
    "parent": "TEXT",
    "sub_name": "TEXT",
    "kind": "TEXT",
    "turn": "TEXT",
    "title": "TEXT",  # the user's first words
    "tools": "INTEGER",  # number of offered tools
    "calls": "TEXT",  # names of the tools that the answer calls, separated by spaces
    "said": "TEXT",  # the end of the answer's text
    "suspect": "TEXT",
    "tip": "TEXT",  # hash of the conversation, for recordings without a session id
    "whole": "INTEGER",  # whether its parts have been read
}

MAX_TITLE = 200
"""Characters of the answer's end, and of the title."""

MAX_REQUEST = 64 * 1024 * 1024
"""Bytes of a request that are parsed."""

_INJECTED = re.compile(r"\s*<(system-reminder|environment_context|user_instructions|(?:local-)?command-[a-z]+|INSTRUCTIONS)\b")
"""Texts that agents insert before the user's own, with role user."""

_PER_REQUEST = re.compile(r"x-anthropic-billing-header:")
"""A system text that differs in each request."""

_MS = re.compile(rb'"t_ms":([0-9.]+)')
ANSWER = 1_000_000
"""The position of the answer: after all parts of the request."""


class FileCache:
    """The files of a recording's folder, each read at most once."""

    def __init__(self, folder: Path) -> None:
        with os.scandir(folder) as files:
            self.found = {file.name: file for file in files}
        self._read: dict[tuple[str, int], bytes] = {}

    @property
    def size(self) -> int:
        files = (file for file in self.found.values() if file.is_file(follow_symlinks=False))
        return sum(file.stat(follow_symlinks=False).st_size for file in files)

    def __contains__(self, name: object, /) -> bool:
        return name in self.found

    def read(self, name: str, tail: int = 0) -> bytes:
        if (name, tail) not in self._read:
            if name not in self.found:
                raise FileNotFoundError(name)
            if not tail and self.found[name].stat(follow_symlinks=False).st_size > MAX_SMALL:
                raise OSError(f"{name} is too large")
            self._read[name, tail] = safe_read.read(self.found[name].path, tail)
        return self._read[name, tail]

    def json(self, name: str) -> dict[str, Any]:
        """Returns the object in a JSON file; empty if there is none."""
        try:
            value = json_text.loads(self.read(name))
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}


def row_of(folder: Path) -> Row | None:
    """Returns the row of a recording, or None if it is gone."""
    try:
        files = FileCache(folder)
        changed = files.found["meta.json"].stat(follow_symlinks=False).st_mtime
    except (OSError, KeyError):
        return None
    try:
        return _row(entry_of(folder, files), files, changed)
    except Exception as error:  # other programs may have written there
        return _row(Entry(folder, error=type(error).__name__), NoFiles(), changed)


class NoFiles(FileCache):
    """The files of a recording that cannot be read: none."""

    def __init__(self) -> None:
        self.found: dict[str, os.DirEntry[str]] = {}
        self._read: dict[tuple[str, int], bytes] = {}


def _row(entry: Entry, files: FileCache, changed: float) -> Row:
    meta, message = files.json("meta.json"), files.json("message.json")
    session = meta.get("session")
    session = {str(name): str(text) for name, text in session.items()} if isinstance(session, dict) else {}
    return {
        "path": str(entry.folder),
        "name": entry.name,
        "changed": changed,
        "at": entry.recorded_at.timestamp(),
        "state": entry.state,
        "live": int(entry.state in UNFINISHED and is_alive(meta.get("pid"))),
        **{name: getattr(entry, name) for name in ("agent", "host", "provider", "model", "api", "client_api", "route", "status")},
        "stream": int(entry.stream),
        "rules": " ".join(entry.rules),
        "observed": int(entry.observed),
        "error": entry.error or "",
        "wait": entry.wait_ms,
        "waited": entry.waited_ms,
        "last": entry.last_ms,
        "gap": None,
        "size": entry.size,
        "pinned": int(PINNED in files),
        "session": session.get("id") or entry.name,
        "sub": session.get("agent", ""),
        "parent": session.get("parent", ""),
        "sub_name": session.get("name", ""),
        "kind": session.get("kind", ""),
        "turn": session.get("turn", ""),
        "title": "",
        "tools": 0,
        **_answer_columns(message, entry.model, entry.provider, entry.host, entry.recorded_at),
        "suspect": "; ".join(_suspect_text(one) for one in entry.suspects),
        "tip": "" if session.get("id") else "?",
        "whole": 0,
    }


def _answer_columns(message: Mapping[str, Any], model: str, provider: str, host: str, at: datetime) -> Row:
    """Returns the columns that the answer fills."""
    usage = message.get("usage")
    number = {name: count for name, count in usage.items() if isinstance(count, int)} if isinstance(usage, dict) else {}
    calls = message.get("tool_calls")
    names = [str(call.get("name")) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    text = str(message.get("text") or message.get("refusal") or message.get("reasoning") or "")
    return {
        "tokens_in": number.get("input_tokens"),
        "tokens_out": number.get("output_tokens"),
        "cached": number.get("cached_tokens"),
        "cache_write": number.get("cache_write_tokens"),
        "reasoning": number.get("reasoning_tokens"),
        "cost": cost(model, provider, host, at, number) if number else None,
        "calls": " ".join(names),
        "said": text[-MAX_TITLE:],
    }


def is_alive(pid: Any) -> bool:
    """Returns whether a process runs; True if that cannot be found out."""
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@dataclass(frozen=True, slots=True)
class ContextPart:
    """A part of a request or the answer.

    Attributes:
        kind: text, call, result, file, thinking, tools or answer.
        role: Whose part it is.
        value: What is shown.
        text: What is searched.
        cls: Its share of the context: system, tools, user, assistant, calls, results, files, reasoning or answer.
    """

    kind: str
    role: str
    value: Mapping[str, Any]
    text: str
    cls: str

    @property
    def hash(self) -> str:
        """Equal for equal parts."""
        text = json.dumps([self.kind, self.role, self.value], sort_keys=True)
        return sha256(text.encode()).hexdigest()[:24]


@dataclass(slots=True)
class RecordingParts:
    """What is slow to read. `columns`: changed columns of the row; `tips`: hashes of each beginning of the conversation."""

    parts: list[tuple[int, ContextPart]]
    columns: Row
    tips: list[str] = field(default_factory=list)


def parts_of(row: Row) -> RecordingParts:
    """Returns the parts of the request and the answer; none if they cannot be read."""
    try:
        return _parts_of(row)
    except Exception:
        return RecordingParts([], {"whole": 1})


def _parts_of(row: Row) -> RecordingParts:
    from ...recordings.read.turns import folded  # noqa: PLC0415  slow: imports every API's requests

    columns: Row = {"whole": 1}
    try:
        files = FileCache(Path(row["path"]))
        size = files.found["request.json"].stat().st_size if "request.json" in files else 0
        request = json_text.loads(safe_read.read(files.found["request.json"].path)) if 0 < size <= MAX_REQUEST else {}
    except (OSError, ValueError):
        return RecordingParts([], columns)
    shown = folded(request, row["client_api"] or row["api"]) if isinstance(request, dict) else {"turns": [], "tools": []}
    parts = list(enumerate(_parts(shown)))
    message = files.json("message.json")
    if not message and row["state"] not in NO_ANSWER:  # interrupted, or written by another version
        message = _folded(files, row["client_api"] or row["api"])
        asked = datetime.fromtimestamp(row["at"], UTC)
        columns |= _answer_columns(message, row["model"], row["provider"], row["host"], asked)
    if message:
        parts.append((ANSWER, answer_part(message)))
    columns["title"] = _title(part for _, part in parts)
    columns["tools"] = len(shown["tools"])
    columns["gap"] = _gap(files)
    if row["state"] == "complete" and row["status"] < 400 and "suspects" not in files.json("meta.json"):
        columns["suspect"] = _find_suspects(message, shown["tools"])  # recorded before suspects were
    tips = []
    if row["tip"]:
        tip = sha256(f"{row['agent']}\n{row['host']}\n{row['model']}".encode()).hexdigest()
        for _, part in parts:
            if part.kind not in ("tools", "answer"):
                tip = sha256(f"{tip}{part.hash}".encode()).hexdigest()[:32]
                tips += [tip] if part.role != "system" else []
        columns["tip"] = tips[-1] if tips else "-"
    return RecordingParts(parts, columns, tips[:-1])


def _suspect_text(suspect: Mapping[str, str]) -> str:
    """Returns a suspect in words, as "read_file: markup that is not known"."""
    return ": ".join(filter(None, (suspect.get("name", ""), suspect.get("why", ""))))


def _find_suspects(message: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> str:
    """Returns what looks like a call in an answer and was not made one, in words."""
    from ...core.tools import Tools  # noqa: PLC0415
    from ...pipeline.suspects import find_suspects  # noqa: PLC0415  slow

    schemas = {str(tool["name"]): _object(tool.get("schema")) for tool in tools if tool.get("kind") == "function"}
    found = find_suspects(str(message.get("text") or ""), Tools(schemas), reasoning=str(message.get("reasoning") or ""))
    return "; ".join(_suspect_text(one.to_json()) for one in found)


def _object(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _folded(files: FileCache, api: str) -> dict[str, Any]:
    """Folds the answer from the bytes that the client got."""
    from ...recordings.read.message_json import message_of  # noqa: PLC0415  slow: imports every API's responses

    for name, stream in (("client.sse", True), ("client.json", False)):
        with suppress(OSError):
            if name in files:
                with safe_read.opened(files.found[name].path) as body:
                    return message_of(api, body, stream=stream) or {}
    return {}


def answer_part(message: Mapping[str, Any]) -> ContextPart:
    """Returns the part of the folded answer."""
    texts = [str(message.get(name) or "") for name in ("reasoning", "text", "refusal")]
    calls = message.get("tool_calls")
    found = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    texts += [f"{call.get('name')} {call.get('arguments')}" for call in found]
    return ContextPart("answer", "assistant", message, "\n".join(filter(None, texts)), "answer")


def _parts(shown: Mapping[str, Any]) -> Iterator[ContextPart]:
    if shown["tools"]:
        tools = shown["tools"]
        text = "\n".join(f"{tool['name']}\n{tool['description']}" for tool in tools)
        yield ContextPart("tools", "system", {"tools": tools}, text, "tools")
    for turn in shown["turns"]:
        system = turn["role"] in ("system", "developer")
        role = "system" if system else turn["role"]
        for part in turn["parts"]:
            value = {name: part[name] for name in ("id", "name", "error", "text", "images") if part.get(name)}
            text = str(value.get("text", ""))
            if system and _PER_REQUEST.match(text):
                continue
            yield ContextPart(part["kind"], role, value, f"{value.get('name', '')} {text}".strip(), _class(part["kind"], role))


def _class(kind: str, role: str) -> str:
    if role == "system":
        return "system"
    if kind in ("result", "file"):
        return "results" if kind == "result" else "files"
    if kind == "thinking":
        return "reasoning"
    return "calls" if kind == "call" else "user" if role == "user" else "assistant"


def _title(parts: Iterator[ContextPart]) -> str:
    for part in parts:
        if part.role == "user" and part.kind == "text" and not _INJECTED.match(part.text):
            return " ".join(part.text[: 4 * MAX_TITLE].split())[:MAX_TITLE]
    return ""


def _gap(files: FileCache) -> float | None:
    try:
        times = [float(found) for found in _MS.findall(files.read("upstream.idx"))]
    except (OSError, ValueError):
        return None
    return max((after - before for before, after in pairwise(times)), default=None)
