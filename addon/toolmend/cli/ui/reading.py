"""A recording's folder, as the index keeps it: one row, and on request the parts of its request and its answer.

    row_of(folder)      all columns of a recording              whole_of(row)      [Part(kind="text", role="user", …), …]

A part is what a conversation is made of: a text, a call, a result, a system prompt, the list of tools. The same part has the same
hash in all requests, so it is kept, searched and compared once.

Rule of this file: it reads and raises for nothing: what cannot be read is empty. `ROW` names the columns, in their order.
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
    "changed": "REAL",  # of meta.json, seconds
    "at": "REAL",  # when it was asked, seconds
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
    "rules": "TEXT",  # between spaces
    "observed": "INTEGER",
    "error": "TEXT",
    "tokens_in": "INTEGER",  # cached and written ones too
    "tokens_out": "INTEGER",
    "cached": "INTEGER",
    "cache_write": "INTEGER",
    "reasoning": "INTEGER",
    "cost": "REAL",
    "wait": "REAL",  # to the first byte, ms
    "waited": "REAL",  # in vain, ms
    "last": "REAL",  # from the first byte to the last, ms
    "gap": "REAL",  # the longest silence, ms
    "size": "INTEGER",
    "pinned": "INTEGER",
    "session": "TEXT",
    "sub": "TEXT",  # the subagent
    "parent": "TEXT",
    "sub_name": "TEXT",
    "kind": "TEXT",
    "turn": "TEXT",
    "title": "TEXT",  # first words of the user
    "tools": "INTEGER",  # how many are offered
    "calls": "TEXT",  # the tools that the answer calls, between spaces
    "said": "TEXT",  # the answer's last words
    "suspect": "TEXT",
    "tip": "TEXT",  # of the conversation, for those without a session's id
    "whole": "INTEGER",  # its parts are read
}

SAID = 200
"""Characters of the last words, and of the title."""

MAX_REQUEST = 64 * 1024 * 1024
"""Bytes of a request that are read."""

_INJECTED = re.compile(r"\s*<(system-reminder|environment_context|user_instructions|(?:local-)?command-[a-z]+|INSTRUCTIONS)\b")
"""What agents put in front of the user's words, as the user."""

_PER_REQUEST = re.compile(r"x-anthropic-billing-header:")
"""A system text that is another in each request."""

_MS = re.compile(rb'"t_ms":([0-9.]+)')
ANSWER = 1_000_000
"""The place of the answer behind all parts of the request."""


class Files:
    """The files of a folder, each read once."""

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
        """An object; empty where there is none."""
        try:
            value = json_text.loads(self.read(name))
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}


def row_of(folder: Path) -> Row | None:
    """A recording; None where there is none any more."""
    try:
        files = Files(folder)
        changed = files.found["meta.json"].stat(follow_symlinks=False).st_mtime
    except (OSError, KeyError):
        return None
    try:
        return _row(entry_of(folder, files), files, changed)
    except Exception as error:  # who knows what others have written there
        return _row(Entry(folder, error=type(error).__name__), Nothing(), changed)


class Nothing(Files):
    """The files of what cannot be read."""

    def __init__(self) -> None:
        self.found: dict[str, os.DirEntry[str]] = {}
        self._read: dict[tuple[str, int], bytes] = {}


def _row(entry: Entry, files: Files, changed: float) -> Row:
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
        **_answered(message, entry.model, entry.provider, entry.host, entry.recorded_at),
        "suspect": "; ".join(_suspected(one) for one in entry.suspects),
        "tip": "" if session.get("id") else "?",
        "whole": 0,
    }


def _answered(message: Mapping[str, Any], model: str, provider: str, host: str, at: datetime) -> Row:
    """The columns that the answer fills."""
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
        "said": text[-SAID:],
    }


def is_alive(pid: Any) -> bool:
    """Whether a process is there; one that cannot be asked is."""
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
class Part:
    """`value` is what is shown; `text` what is searched. `cls`: what of the context it is."""

    kind: str
    role: str
    value: Mapping[str, Any]
    text: str
    cls: str

    @property
    def hash(self) -> str:
        """The same for the same part."""
        text = json.dumps([self.kind, self.role, self.value], sort_keys=True)
        return sha256(text.encode()).hexdigest()[:24]


@dataclass(slots=True)
class Whole:
    """What takes longer to read. `columns`: changed ones of the row; `tips`: of all that the conversation begins with."""

    parts: list[tuple[int, Part]]
    columns: Row
    tips: list[str] = field(default_factory=list)


def whole_of(row: Row) -> Whole:
    """The parts of the request and the answer; none of what cannot be read."""
    try:
        return _whole_of(row)
    except Exception:
        return Whole([], {"whole": 1})


def _whole_of(row: Row) -> Whole:
    from ...recordings.read.turns import folded  # noqa: PLC0415  slow: every API's requests

    columns: Row = {"whole": 1}
    try:
        files = Files(Path(row["path"]))
        size = files.found["request.json"].stat().st_size if "request.json" in files else 0
        request = json_text.loads(safe_read.read(files.found["request.json"].path)) if 0 < size <= MAX_REQUEST else {}
    except (OSError, ValueError):
        return Whole([], columns)
    shown = folded(request, row["client_api"] or row["api"]) if isinstance(request, dict) else {"turns": [], "tools": []}
    parts = list(enumerate(_parts(shown)))
    message = files.json("message.json")
    if not message and row["state"] not in NO_ANSWER:  # it was cut, or made by something else
        message = _folded(files, row["client_api"] or row["api"])
        asked = datetime.fromtimestamp(row["at"], UTC)
        columns |= _answered(message, row["model"], row["provider"], row["host"], asked)
    if message:
        parts.append((ANSWER, answer_part(message)))
    columns["title"] = _title(part for _, part in parts)
    columns["tools"] = len(shown["tools"])
    columns["gap"] = _gap(files)
    if row["state"] == "complete" and row["status"] < 400 and "suspects" not in files.json("meta.json"):
        columns["suspect"] = _suspect(message, shown["tools"])  # of before they were told
    tips = []
    if row["tip"]:
        tip = sha256(f"{row['agent']}\n{row['host']}\n{row['model']}".encode()).hexdigest()
        for _, part in parts:
            if part.kind not in ("tools", "answer"):
                tip = sha256(f"{tip}{part.hash}".encode()).hexdigest()[:32]
                tips += [tip] if part.role != "system" else []
        columns["tip"] = tips[-1] if tips else "-"
    return Whole(parts, columns, tips[:-1])


def _suspected(suspect: Mapping[str, str]) -> str:
    """In words: "read_file: markup that is not known"."""
    return ": ".join(filter(None, (suspect.get("name", ""), suspect.get("why", ""))))


def _suspect(message: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> str:
    """What looks like a call in an answer and was not made one."""
    from ...core.tools import Tools  # noqa: PLC0415
    from ...pipeline.suspects import find_suspects  # noqa: PLC0415  slow

    schemas = {str(tool["name"]): _object(tool.get("schema")) for tool in tools if tool.get("kind") == "function"}
    found = find_suspects(str(message.get("text") or ""), Tools(schemas), reasoning=str(message.get("reasoning") or ""))
    return "; ".join(_suspected(one.to_json()) for one in found)


def _object(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _folded(files: Files, api: str) -> dict[str, Any]:
    """The answer, of the bytes that the client got."""
    from ...recordings.read.message_json import message_of  # noqa: PLC0415  slow: every API's answers

    for name, stream in (("client.sse", True), ("client.json", False)):
        with suppress(OSError):
            if name in files:
                with safe_read.opened(files.found[name].path) as body:
                    return message_of(api, body, stream=stream) or {}
    return {}


def answer_part(message: Mapping[str, Any]) -> Part:
    """The folded answer."""
    texts = [str(message.get(name) or "") for name in ("reasoning", "text", "refusal")]
    calls = message.get("tool_calls")
    found = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    texts += [f"{call.get('name')} {call.get('arguments')}" for call in found]
    return Part("answer", "assistant", message, "\n".join(filter(None, texts)), "answer")


def _parts(shown: Mapping[str, Any]) -> Iterator[Part]:
    if shown["tools"]:
        tools = shown["tools"]
        text = "\n".join(f"{tool['name']}\n{tool['description']}" for tool in tools)
        yield Part("tools", "system", {"tools": tools}, text, "tools")
    for turn in shown["turns"]:
        system = turn["role"] in ("system", "developer")
        role = "system" if system else turn["role"]
        for part in turn["parts"]:
            value = {name: part[name] for name in ("id", "name", "error", "text", "images") if part.get(name)}
            text = str(value.get("text", ""))
            if system and _PER_REQUEST.match(text):
                continue
            yield Part(part["kind"], role, value, f"{value.get('name', '')} {text}".strip(), _class(part["kind"], role))


def _class(kind: str, role: str) -> str:
    if role == "system":
        return "system"
    if kind in ("result", "file"):
        return "results" if kind == "result" else "files"
    if kind == "thinking":
        return "reasoning"
    return "calls" if kind == "call" else "user" if role == "user" else "assistant"


def _title(parts: Iterator[Part]) -> str:
    for part in parts:
        if part.role == "user" and part.kind == "text" and not _INJECTED.match(part.text):
            return " ".join(part.text[: 4 * SAID].split())[:SAID]
    return ""


def _gap(files: Files) -> float | None:
    try:
        times = [float(found) for found in _MS.findall(files.read("upstream.idx"))]
    except (OSError, ValueError):
        return None
    return max((after - before for before, after in pairwise(times)), default=None)
