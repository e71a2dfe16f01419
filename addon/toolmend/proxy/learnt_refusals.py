"""What upstreams have refused, and what is changed for it in later requests: remembered here, and in the user's data folder.

    learnt.json   {"format": 1, "learnt": [{"host": "api.x.ai", "api": "chat", "model": "grok-4", "path": "reasoning_effort",
                   "edits": ["reasoning_effort"], "facts": {}, "date": "2026-11-29", "said": "Model … does not support …"}]}

An entry is for one host, API and model, and ends after DAYS: models change behind their names. Another process, such as
`toolmend routes --forget`, may change the file at any time; what is read from it is checked as settings are.

Rule of this file: what cannot be read or written costs only the memory of it. Entries are bounded in number and size.
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
"""Of all upstreams, and of one host and model: no upstream refuses more fields than a request has."""

MAX_NAME = 200
"""Characters of a host or a model."""

MAX_FILE = 1024 * 1024


@value
class Key:
    """Whose refusals: an upstream's host (with a port unless it is the scheme's own), its API, and the model asked for."""

    host: str
    api: str
    model: str


@value
class Entry:
    """`path`: what was refused. `edits` and `facts`: see Remedy. `said`: the upstream's words, without values."""

    of: Key
    path: str
    edits: tuple[str, ...]
    facts: Mapping[str, Any] = field(compare=False)
    date: str
    said: str

    @property
    def place(self) -> tuple[Key, str]:
        return self.of, self.path

    @property
    def takes(self) -> str:
        """What keeps it for good: a line of a `[[provider]]` table, in which `refuses` stands for the built-in one."""
        facts = dict(self.facts)
        if self.edits:
            facts["refuses"] = (*quirks_for(self.of.api, self.of.host, self.of.model).refuses, *self.edits)
        return f"takes = {{ {', '.join(f'{name} = {_toml(given)}' for name, given in facts.items())} }}"

    @property
    def table(self) -> str:
        """The whole `[[provider]]` table."""
        globs = f"models = {_toml([self.of.model])}\nhosts = {_toml([self.of.host])}"
        return f"[[provider]]\nname = {_toml(f'{self.of.host} {self.of.model} {self.path}')}\n{globs}\n{self.takes}"


@value
class Known:
    """What is changed for an upstream: fields of Quirks, edits of the request, and both in `lines` for people."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    edits: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


class Learnt:
    """`file`: None keeps nothing. `today` tells the day."""

    def __init__(self, file: Path | None, today: Callable[[], date]) -> None:
        self.file, self._today = file, today
        self._entries: dict[tuple[Key, str], Entry] = {}
        self._in_vain: dict[tuple[Key, str], None] = {}
        self._read_at: tuple[int, int] | None = None

    def of(self, key: Key) -> Known:
        """What holds for an upstream."""
        facts: dict[str, Any] = {}
        edits: list[str] = []
        entries = self.entries(key) if self._entries or self.file else []
        for entry in entries:
            facts |= entry.facts
            edits += [edit for edit in entry.edits if edit not in edits]
        return Known(facts, tuple(edits), tuple(f"{one.path}, {one.date}: {one.takes} ({one.said})" for one in entries))

    def entries(self, key: Key | None = None) -> list[Entry]:
        """Those that hold today, the oldest first; `key` None: of all upstreams."""
        self._read()
        first = self._today() - DAYS
        return [entry for entry in self._entries.values() if key in (None, entry.of) and date.fromisoformat(entry.date) >= first]

    def add(self, key: Key, remedies: "Iterable[Remedy]", said: str) -> list[Entry]:
        """Remembers remedies, but for those that were in vain or are of one conversation; returns the entries that are new."""
        if max(len(key.host), len(key.model)) > MAX_NAME:
            return []
        known = {entry.place: entry for entry in self.entries()}
        new: list[Entry] = []
        for remedy in remedies:
            entry = Entry(key, remedy.path[:MAX_NAME], remedy.edits, remedy.facts, self._today().isoformat(), said)
            before = known.get(entry.place)
            full = before is None and sum(one.of == key for one in known.values()) >= MAX_OF_ONE
            same = before and (before.edits, before.facts) == (entry.edits, entry.facts)
            if not (remedy.once or same or full or entry.place in self._in_vain):
                known.pop(entry.place, None)
                known[entry.place] = entry
                new.append(entry)
        if new:
            self._keep(list(known.values())[-MAX_ENTRIES:])
        return new

    def drop(self, entries: Iterable[Entry]) -> None:
        """These were in vain: they are not learnt again while this process runs."""
        gone = [entry.place for entry in entries]
        self._in_vain |= dict.fromkeys(gone)
        while len(self._in_vain) > MAX_ENTRIES:
            del self._in_vain[next(iter(self._in_vain))]
        if any(place in self._entries for place in gone):
            self._keep([entry for entry in self.entries() if entry.place not in gone])

    def forget(self) -> int:
        """Forgets all; returns how many entries there were."""
        count = len(self.entries())
        self._in_vain.clear()
        self._keep([])
        return count

    def _keep(self, entries: list[Entry]) -> None:
        self._entries = {entry.place: entry for entry in entries}
        if self.file is None:
            return
        rows = [
            {"host": one.of.host, "api": one.of.api, "model": one.of.model, "path": one.path, "edits": list(one.edits)}
            | {"facts": dict(one.facts), "date": one.date, "said": one.said}
            for one in entries
        ]
        from ..config.private_file import private_file  # noqa: PLC0415  few requests are refused

        with suppress(OSError):
            private(self.file.parent)
            with private_file(self.file) as file:
                file.write(json.dumps({"format": FORMAT, "learnt": rows}, indent=1).encode())
        self._read_at = self._state()

    def _read(self) -> None:
        """Takes what is in the file, if that is another one than was read."""
        state = self._state()
        if self.file is None or state == self._read_at:
            return
        self._read_at = state
        rows: Any = []
        with suppress(AttributeError, OSError, ValueError, RecursionError), self.file.open("rb") as file:
            rows = json.loads(file.read(MAX_FILE)).get("learnt", [])
        self._entries = {entry.place: entry for entry in _entries(rows)}

    def _state(self) -> tuple[int, int] | None:
        try:
            about = self.file.stat() if self.file else None
        except OSError:
            return None
        return (about.st_mtime_ns, about.st_ino) if about else None


def remembered() -> Learnt:
    """What is kept of this user's."""
    return Learnt(learnt_file(), today)


def today() -> date:
    """The day here."""
    return date.today()  # noqa: DTZ011  the day here


def learnt_file() -> Path | None:
    """Where it is kept; None where no home folder is known."""
    try:
        return data_folder() / NAME
    except SettingsError:
        return None


def _entries(rows: Any) -> Iterator[Entry]:
    """The rows that are right."""
    for row in rows[:MAX_ENTRIES] if isinstance(rows, list) else ():
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            host, api, model, path = (str(row[name])[:MAX_NAME] for name in ("host", "api", "model", "path"))
            date.fromisoformat(row["date"])
            facts = {name: checked(name, given) for name, given in row["facts"].items() if name in SETTABLE}
            edits = tuple(edit for edit in row["edits"] if edit_of(edit))
            if len(edits) <= MAX_OF_ONE:
                yield Entry(Key(host, api, model), path, edits, facts, row["date"], str(row["said"])[:MAX_SHOWN])


def _toml(given: Any) -> str:
    return json.dumps(list(given) if isinstance(given, tuple) else given)
