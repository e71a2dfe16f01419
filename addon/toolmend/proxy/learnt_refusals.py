"""Remembers which members of a request upstreams have refused, and changes later requests accordingly.

    learnt.json   {"format": 1, "learnt": [{"host": "api.x.ai", "api": "chat", "model": "grok-4", "path": "reasoning_effort",
                   "edits": ["reasoning_effort"], "facts": {}, "date": "2026-11-29", "said": "Model … does not support …"}]}

An entry holds for one host, API and model, and expires after DAYS: providers change models under the same name. Another process,
such as `toolmend routes --forget`, may change the file at any time; what is read from it is checked like settings.

1. A file that cannot be read or written costs only what was learnt.
2. Entries are bounded in number and size.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.checks import SettingsError
from ..config.data_folder import data_folder, private
from ..core.fastclass import value
from ..requests.edits import edit_of
from ..requests.refusal_body import MAX_SHOWN
from ..requests.request_limits import SETTABLE, checked, quirks_for

if TYPE_CHECKING:
    from ..requests.refusal_rules import Remedy

NAME = "learnt.json"
FORMAT = 1
DAYS = timedelta(days=14)
MAX_ENTRIES, MAX_OF_ONE = 256, 16
"""For all upstreams, and for one host and model: no upstream refuses more members than a request has."""

MAX_NAME = 200
"""Characters of a host or a model."""

MAX_FILE = 1024 * 1024


@value
class RefusalScope:
    """What a refusal holds for: an upstream's host (with a port unless it is the default), its API, and the requested model."""

    host: str
    api: str
    model: str


@value
class LearntRefusal:
    """A refused member of requests.

    Attributes:
        scope: What it holds for.
        path: The member.
        edits: See Remedy.
        facts: See Remedy.
        date: The day it was learnt, ISO 8601.
        message: The upstream's error message, without values.
    """

    scope: RefusalScope
    path: str
    edits: tuple[str, ...]
    facts: Mapping[str, Any] = field(compare=False)
    date: str
    message: str

    @property
    def key(self) -> tuple[RefusalScope, str]:
        return self.scope, self.path

    @property
    def takes_line(self) -> str:
        """The line of a `[[provider]]` table that makes it permanent; its `refuses` includes the built-in one."""
        facts = dict(self.facts)
        if self.edits:
            facts["refuses"] = (*quirks_for(self.scope.api, self.scope.host, self.scope.model).refuses, *self.edits)
        return f"takes = {{ {', '.join(f'{name} = {_toml(given)}' for name, given in facts.items())} }}"

    @property
    def provider_table(self) -> str:
        """The whole `[[provider]]` table."""
        selectors = f"models = {_toml([self.scope.model])}\nhosts = {_toml([self.scope.host])}"
        name = _toml(f"{self.scope.host} {self.scope.model} {self.path}")
        return f"[[provider]]\nname = {name}\n{selectors}\n{self.takes_line}"


@value
class KnownRefusals:
    """What to change for an upstream: fields of Quirks, edits of the request, and both as `lines` of text."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    edits: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


class RefusalMemory:
    """The refusals of all upstreams. `file` None: they are not stored. `today` returns the current date."""

    def __init__(self, file: Path | None, today: Callable[[], date]) -> None:
        self.file, self._today = file, today
        self._entries: dict[tuple[RefusalScope, str], LearntRefusal] = {}
        self._useless: dict[tuple[RefusalScope, str], None] = {}
        self._read_at: tuple[int, int] | None = None

    def known_for(self, scope: RefusalScope) -> KnownRefusals:
        """Returns what to change for an upstream."""
        facts: dict[str, Any] = {}
        edits: list[str] = []
        entries = self.entries(scope) if self._entries or self.file else []
        for entry in entries:
            facts |= entry.facts
            edits += [edit for edit in entry.edits if edit not in edits]
        lines = tuple(f"{entry.path}, {entry.date}: {entry.takes_line} ({entry.message})" for entry in entries)
        return KnownRefusals(facts, tuple(edits), lines)

    def entries(self, scope: RefusalScope | None = None) -> list[LearntRefusal]:
        """Returns the entries that have not expired, oldest first; `key` None: of all upstreams."""
        self._read()
        first = self._today() - DAYS
        matching = (entry for entry in self._entries.values() if scope in (None, entry.scope))
        return [entry for entry in matching if date.fromisoformat(entry.date) >= first]

    def add(self, scope: RefusalScope, remedies: "Iterable[Remedy]", message: str) -> list[LearntRefusal]:
        """Adds remedies, except those that did not help before or concern one conversation. Returns the new entries."""
        if max(len(scope.host), len(scope.model)) > MAX_NAME:
            return []
        known = {entry.key: entry for entry in self.entries()}
        new: list[LearntRefusal] = []
        for remedy in remedies:
            entry = LearntRefusal(scope, remedy.path[:MAX_NAME], remedy.edits, remedy.facts, self._today().isoformat(), message)
            before = known.get(entry.key)
            full = before is None and sum(other.scope == scope for other in known.values()) >= MAX_OF_ONE
            same = before and (before.edits, before.facts) == (entry.edits, entry.facts)
            if not (remedy.once or same or full or entry.key in self._useless):
                known.pop(entry.key, None)
                known[entry.key] = entry
                new.append(entry)
        if new:
            self._keep(list(known.values())[-MAX_ENTRIES:])
        return new

    def drop(self, entries: Iterable[LearntRefusal]) -> None:
        """Removes entries that did not help. They are not learnt again in this process."""
        keys = [entry.key for entry in entries]
        self._useless |= dict.fromkeys(keys)
        while len(self._useless) > MAX_ENTRIES:
            del self._useless[next(iter(self._useless))]
        if any(key in self._entries for key in keys):
            self._keep([entry for entry in self.entries() if entry.key not in keys])

    def forget(self) -> int:
        """Removes all entries; returns how many there were."""
        count = len(self.entries())
        self._useless.clear()
        self._keep([])
        return count

    def _keep(self, entries: list[LearntRefusal]) -> None:
        self._entries = {entry.key: entry for entry in entries}
        if self.file is None:
            return
        rows = [
            {"host": entry.scope.host, "api": entry.scope.api, "model": entry.scope.model, "path": entry.path}
            | {"edits": list(entry.edits), "facts": dict(entry.facts), "date": entry.date, "said": entry.message}
            for entry in entries
        ]
        from ..config.private_file import private_file  # noqa: PLC0415  few requests are refused

        with suppress(OSError):
            private(self.file.parent)
            with private_file(self.file) as file:
                file.write(json.dumps({"format": FORMAT, "learnt": rows}, indent=1).encode())
        self._read_at = self._state()

    def _read(self) -> None:
        """Loads the file if it changed since it was read."""
        state = self._state()
        if self.file is None or state == self._read_at:
            return
        self._read_at = state
        rows: Any = []
        with suppress(AttributeError, OSError, ValueError, RecursionError), self.file.open("rb") as file:
            rows = json.loads(file.read(MAX_FILE)).get("learnt", [])
        self._entries = {entry.key: entry for entry in _entries(rows)}

    def _state(self) -> tuple[int, int] | None:
        try:
            stat = self.file.stat() if self.file else None
        except OSError:
            return None
        return (stat.st_mtime_ns, stat.st_ino) if stat else None


def remembered() -> RefusalMemory:
    """Returns the refusals stored for this user."""
    return RefusalMemory(learnt_file(), today)


def today() -> date:
    """Returns the local date."""
    return date.today()  # noqa: DTZ011  the local day


def learnt_file() -> Path | None:
    """Returns the path of the file, or None if there is no home folder."""
    try:
        return data_folder() / NAME
    except SettingsError:
        return None


def _entries(rows: Any) -> Iterator[LearntRefusal]:
    """Yields the valid rows."""
    for row in rows[:MAX_ENTRIES] if isinstance(rows, list) else ():
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            host, api, model, path = (str(row[name])[:MAX_NAME] for name in ("host", "api", "model", "path"))
            date.fromisoformat(row["date"])
            facts = {name: checked(name, given) for name, given in row["facts"].items() if name in SETTABLE}
            edits = tuple(edit for edit in row["edits"] if edit_of(edit))
            if len(edits) <= MAX_OF_ONE:
                scope, message = RefusalScope(host, api, model), str(row["said"])[:MAX_SHOWN]
                yield LearntRefusal(scope, path, edits, facts, row["date"], message)


def _toml(given: Any) -> str:
    return json.dumps(list(given) if isinstance(given, tuple) else given)
